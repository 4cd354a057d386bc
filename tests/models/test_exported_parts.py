"""Rare parts of exported models: what ONNX Runtime's CPU provider gives, both routes give."""

import random

import numpy
import onnxruntime
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper

import latchkey
import latchkey.ort

DRAW = numpy.random.default_rng(7)


def draw(*dims, dtype=numpy.float32):
    return DRAW.standard_normal(dims).astype(dtype)


def model_of(nodes, feeds, outputs, constants=(), opset=17):
    """Of symbolic dimensions. `outputs`: names, as ONNX Runtime infers their types."""
    inputs = [helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(value.dtype),
        [f"{name}_{i}" for i in range(value.ndim)]) for name, value in feeds.items()]
    graph = helper.make_graph(
        nodes, "part", inputs, [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants])
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])


def open_onnxruntime(model, claim=None):
    """`claim`: with the provider, and this option."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    providers = ["CPUExecutionProvider"]
    if claim is not None:
        latchkey.ort.register()
        providers.insert(0, ("LatchkeyExecutionProvider", {"claim": claim}))
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers,
                                        enable_fallback=0)


def routes(model, feeds):
    """What each gives, as lists in the order of the outputs."""
    with latchkey.Session(model.SerializeToString()) as session:
        own = session.run(feeds)
    found = {"own": [own[output.name] for output in model.graph.output]}
    for claim in ("gains", "all"):
        found[claim] = open_onnxruntime(model, claim).run(None, feeds)
    return found


def check(model, feeds, right=None, **close):
    if right is None:
        right = open_onnxruntime(model).run(None, feeds)
    for outputs in routes(model, feeds).values():
        for found, expected in zip(outputs, right, strict=True):
            assert found.shape == expected.shape
            assert_close(found, expected, **close)


# ---- BatchNormalization in training mode ----


@pytest.mark.parametrize("opset", [14, 15, 22])
@pytest.mark.parametrize("n_read", [1, 3])
@pytest.mark.parametrize("dims", [(5, 3), (2, 3, 7), (2, 4, 3, 5), (1, 2, 2, 3, 2)])
def test_batch_normalization_of_the_batch(opset, n_read, dims):
    feeds = {"x": draw(*dims) * 2 + 5}
    channels = dims[1]
    constants = [("s", draw(channels)), ("b", draw(channels)), ("m", draw(channels)),
                 ("v", numpy.abs(draw(channels)))]
    outputs = ["y", "running_mean", "running_var"]
    node = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], outputs, epsilon=1e-3,
                            momentum=0.75, training_mode=1)
    model = model_of([node], feeds, outputs[:n_read], constants, opset)
    check(model, feeds, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [numpy.float64, numpy.float16])
def test_batch_normalization_of_the_batch_in_other_types(dtype):
    x = draw(3, 4, 5, dtype=dtype)
    ones = numpy.ones(4, dtype)
    node = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "m1", "v1"],
                            training_mode=1)
    model = model_of([node], {"x": x}, ["y", "m1", "v1"],
                     [("s", ones), ("b", ones), ("m", ones), ("v", ones)])
    wide = x.astype(numpy.float64)
    mean, variance = wide.mean((0, 2)), wide.var((0, 2))
    y = (wide - mean[:, None]) / numpy.sqrt(variance[:, None] + 1e-5) + 1
    right = [y, 0.9 + 0.1 * mean, 0.9 + 0.1 * variance]
    with latchkey.Session(model.SerializeToString()) as session:
        found = session.run({"x": x})
    for name, expected in zip(["y", "m1", "v1"], right):
        assert found[name].dtype == dtype
        assert_close(found[name], expected.astype(dtype),
                     rtol=2e-3 if dtype == numpy.float16 else 1e-6)


def test_standardized_weights():
    """As timm's StdConv2d: the weights of a convolution, normalized row by row."""
    feeds = {"x": draw(2, 3, 6, 6)}
    weights = draw(8, 3, 3, 3) * 3 + 1
    ones, zeros = numpy.ones(8, numpy.float32), numpy.zeros(8, numpy.float32)
    constants = [("w", weights.reshape(1, 8, -1)), ("shape", numpy.array(weights.shape)),
                 ("s", ones), ("b", zeros), ("m", zeros), ("v", ones)]
    nodes = [helper.make_node("BatchNormalization", ["w", "s", "b", "m", "v"], ["n", "m1", "v1"],
                              training_mode=1, epsilon=1e-6),
             helper.make_node("Reshape", ["n", "shape"], ["weights"]),
             helper.make_node("Conv", ["x", "weights"], ["y"], pads=[1, 1, 1, 1])]
    check(model_of(nodes, feeds, ["y"], constants), feeds, rtol=1e-4, atol=1e-4)


# ---- Dropout in training mode ----


def dropout(ratio, feeds):
    return model_of([helper.make_node("Dropout", ["x", "ratio", "mode"], ["y", "mask"])], feeds,
                    ["y", "mask"], [("ratio", numpy.float32(ratio)), ("mode", numpy.array(True))])


def test_dropout_that_drops_nothing():
    feeds = {"x": draw(3, 4)}
    check(dropout(0, feeds), feeds, rtol=0, atol=0)


def test_dropout_that_drops_is_refused():
    feeds = {"x": draw(3, 4)}
    with pytest.raises(latchkey.UnsupportedError, match="training_mode: it is true.*for inference"):
        latchkey.Session(dropout(0.5, feeds).SerializeToString()).run(feeds)
    found, mask = open_onnxruntime(dropout(0.5, feeds), "all").run(None, feeds)
    assert_close(found, numpy.where(mask, feeds["x"] * 2, 0))


# ---- windows of poolings that are larger than the input ----


def pooling(seed, opset):
    """A pooling, and an input for it. Windows that have nothing but padding are left out: ONNX
    Runtime makes zeros and least numbers of them."""
    pick = random.Random(seed)
    op, rank = pick.choice(["MaxPool", "AveragePool", "LpPool"]), pick.choice([1, 2, 3])
    kernel = [pick.randint(1, 9) for _ in range(rank)]
    attributes = {"kernel_shape": kernel, "strides": [pick.randint(1, 9) for _ in range(rank)]}
    if pick.random() < 0.3:
        attributes["pads"] = [pick.randint(0, k // 2) for k in kernel * 2]
    dims = [pick.randint(max(1, k // 2), 9) for k in kernel]
    if op == "MaxPool" and "pads" not in attributes:
        attributes["dilations"] = [pick.choice([1, 1, 2]) for _ in range(rank)]
    if op != "LpPool" or opset >= 18:
        attributes["ceil_mode"] = pick.randint(0, 1)
    if op == "AveragePool":
        attributes["count_include_pad"] = pick.randint(0, 1)
    return helper.make_node(op, ["x"], ["y"], **attributes), {"x": draw(2, 3, *dims)}


@pytest.mark.parametrize("opset", [13, 17, 19, 22])
def test_windows_larger_than_their_input(opset):
    counts = {"right": 0, "empty": 0, "refused": 0}
    for seed in range(150):
        node, feeds = pooling(seed, opset)
        model = model_of([node], feeds, ["y"], opset=opset)
        try:
            right = open_onnxruntime(model).run(None, feeds)
        except Exception:  # its class depends on the version of ONNX Runtime
            with pytest.raises(latchkey.Error, match=r"the window of \d+ must exceed"):
                latchkey.Session(model.SerializeToString()).run(feeds)
            counts["refused"] += 1
            continue
        with latchkey.Session(model.SerializeToString()) as session:
            found = session.run(feeds)["y"]
        assert found.shape == right[0].shape, node
        assert_close(found, right[0], rtol=1e-5, atol=1e-5)
        counts["empty" if found.size == 0 else "right"] += 1
    assert min(counts.values()) > 2, counts


def test_a_classifier_for_larger_images():
    """AvgPool2d(7) on a map of 5 by 5, as `nn.AvgPool2d` counts padding."""
    feeds = {"x": draw(1, 3, 10, 10)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("AveragePool", ["r"], ["p"], kernel_shape=[7, 7], strides=[7, 7],
                              count_include_pad=1),
             helper.make_node("Flatten", ["p"], ["y"])]
    check(model_of(nodes, feeds, ["y"], [("w", draw(4, 3, 3, 3))]), feeds, rtol=1e-5, atol=1e-5)


def test_a_convolution_larger_than_its_input_is_refused():
    feeds = {"x": draw(1, 1, 5)}
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], strides=[7])], feeds, ["y"],
                     [("w", draw(1, 1, 7))])
    with pytest.raises(latchkey.Error, match="the window of 7 must not exceed"):
        latchkey.Session(model.SerializeToString()).run(feeds)


# ---- fused operators in f16 ----


def check_half(node, feeds, constants, outputs=("y",), onnxruntime_has_it=True):
    """Against the same in f32: of inputs that are of f16, and outputs that are rounded to it."""
    def of(dtype):
        def cast(value):
            value = numpy.asarray(value)
            return value.astype(dtype) if value.dtype == numpy.float16 else value
        given = {name: cast(value) for name, value in feeds.items()}
        held = [(name, cast(value)) for name, value in constants]
        return model_of([node], given, outputs, held), given

    model, given = of(numpy.float32)
    if onnxruntime_has_it:
        right = open_onnxruntime(model).run(None, given)
    else:
        right = [latchkey.Session(model.SerializeToString()).run(given)[name] for name in outputs]
    half, given = of(numpy.float16)
    found = latchkey.Session(half.SerializeToString()).run(given)
    for name, expected in zip(outputs, right, strict=True):
        is_real = expected.dtype == numpy.float32
        assert found[name].dtype == (numpy.float16 if is_real else expected.dtype)
        assert_close(found[name].astype(expected.dtype), expected, rtol=2e-3, atol=2e-3)


HALF = numpy.float16


def embed_layer_norm_parts():
    tables = [("word", draw(20, 8, dtype=HALF)), ("position", draw(6, 8, dtype=HALF)),
              ("segment", draw(2, 8, dtype=HALF)), ("gamma", draw(8, dtype=HALF)),
              ("beta", draw(8, dtype=HALF))]
    ids = DRAW.integers(0, 20, (2, 5)).astype(numpy.int32)
    feeds = {"ids": ids, "segments": ids % 2, "mask": (ids > 3).astype(numpy.int32)}
    return feeds, tables


def test_embed_layer_normalization_in_f16():
    feeds, tables = embed_layer_norm_parts()
    names = [name for name, _ in tables]
    node = helper.make_node("EmbedLayerNormalization", ["ids", "segments", *names, "mask"],
                            ["y", "mask_index", "sum"], domain="com.microsoft")
    check_half(node, feeds, tables, ["y", "mask_index", "sum"])


def test_embed_layer_normalization_of_tables_that_come_with_a_run():
    """Which ONNX Runtime takes in no model whose dimensions are open."""
    feeds, tables = embed_layer_norm_parts()
    node = helper.make_node("EmbedLayerNormalization",
                            ["ids", "", "word", "position", "", "gamma", "beta"],
                            ["y", "mask_index"], domain="com.microsoft")
    given = {name: table for name, table in tables if name != "segment"}
    check_half(node, {"ids": feeds["ids"], **given}, [], ["y", "mask_index"],
               onnxruntime_has_it=False)


@pytest.mark.parametrize("more", [{}, {"unidirectional": 1}])
def test_attention_in_f16(more):
    feeds = {"x": draw(2, 5, 8, dtype=HALF), "past": draw(2, 2, 2, 3, 4, dtype=HALF)}
    constants = [("w", draw(8, 24, dtype=HALF)), ("b", draw(24, dtype=HALF))]
    node = helper.make_node("Attention", ["x", "w", "b", "", "past"], ["y", "present"],
                            domain="com.microsoft", num_heads=2, **more)
    check_half(node, feeds, constants, ["y", "present"])


def test_products_of_bytes_in_f16():
    feeds = {"a": DRAW.integers(0, 255, (3, 8)).astype(numpy.uint8)}
    constants = [("b", DRAW.integers(-99, 99, (8, 6)).astype(numpy.int8)),
                 ("sa", HALF(0.01)), ("sb", HALF(0.02)), ("za", numpy.uint8(100)),
                 ("zb", numpy.int8(3)), ("bias", draw(6, dtype=HALF))]
    node = helper.make_node("MatMulIntegerToFloat", ["a", "b", "sa", "sb", "za", "zb", "bias"],
                            ["y"], domain="com.microsoft")
    check_half(node, feeds, constants)


def test_quantized_attention_in_f16():
    feeds = {"x": DRAW.integers(0, 255, (2, 5, 8)).astype(numpy.uint8)}
    constants = [("w", DRAW.integers(-99, 99, (8, 24)).astype(numpy.int8)),
                 ("b", draw(24, dtype=HALF)), ("sx", HALF(0.01)), ("sw", HALF(0.02)),
                 ("zx", numpy.uint8(100)), ("zw", numpy.int8(0))]
    node = helper.make_node("QAttention", ["x", "w", "b", "sx", "sw", "", "zx", "zw"], ["y"],
                            domain="com.microsoft", num_heads=2)
    check_half(node, feeds, constants)


@pytest.mark.parametrize("parameters", [HALF, numpy.float32])
def test_group_norms_in_f16(parameters):
    """ONNX Runtime has them for other processors alone: their parameters may be of another type."""
    vectors = [("gamma", draw(4, dtype=parameters)), ("beta", draw(4, dtype=parameters))]
    feeds = {"x": draw(2, 3, 3, 4, dtype=HALF), "skip": draw(2, 3, 3, 4, dtype=HALF)}
    attributes = {"domain": "com.microsoft", "groups": 2, "activation": 1}
    check_half(helper.make_node("GroupNorm", ["x", "gamma", "beta"], ["y"], **attributes),
               {"x": feeds["x"]}, vectors, onnxruntime_has_it=False)
    check_half(helper.make_node("SkipGroupNorm", ["x", "gamma", "beta", "skip"], ["y", "sum"],
                                **attributes),
               feeds, vectors, ["y", "sum"], onnxruntime_has_it=False)


# ---- types ----


def test_types_are_checked_when_a_model_is_opened():
    x = draw(3)
    add = helper.make_node("Add", ["v", "wide"], ["y"])
    model = model_of([helper.make_node("Relu", ["x"], ["v"]), add], {"x": x}, ["y"],
                     [("wide", numpy.ones(3))])
    with pytest.raises(latchkey.Error, match=r"'y' \(Add\).*f32 and f64, which must be equal"):
        latchkey.Session(model.SerializeToString())
    model = model_of([helper.make_node("Elu", ["x"], ["y"])], {"x": x.astype(numpy.int32)}, ["y"])
    with pytest.raises(latchkey.UnsupportedError,
                       match=r"'y' \(Elu\).*input 0 \('x'\) is of type i32"):
        latchkey.Session(model.SerializeToString())


# ---- reductions of scatters before opset 18 ----


@pytest.mark.parametrize("opset", [16, 17, 18])
@pytest.mark.parametrize("reduction", ["max", "min", "add", "mul"])
def test_scatters_that_reduce(opset, reduction):
    feeds = {"x": draw(4, 5), "i": DRAW.integers(0, 4, (3, 5)), "u": draw(3, 5)}
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], reduction=reduction)
    check(model_of([node], feeds, ["y"], opset=opset), feeds)
    feeds = {"x": draw(4, 5), "i": DRAW.integers(0, 4, (6, 1)), "u": draw(6, 5)}
    node = helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction=reduction)
    check(model_of([node], feeds, ["y"], opset=opset), feeds)


# ---- bodies that do not run ----


def test_loop_without_iterations():
    """As nn.EmbeddingBag on a batch of 0: rows picked and added up in a Loop."""
    table = draw(7, 6)
    body = helper.make_graph(
        [helper.make_node("Gather", ["ids", "i"], ["row"]),
         helper.make_node("Gather", ["table", "row"], ["rows"]),
         helper.make_node("ReduceSum", ["rows", "axis"], ["bag"], keepdims=0),
         helper.make_node("Identity", ["go"], ["on"])],
        "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                 helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("bag", TensorProto.FLOAT, None)])
    nodes = [helper.make_node("Shape", ["ids"], ["n"], start=0, end=1),
             helper.make_node("Squeeze", ["n"], ["count"]),
             helper.make_node("Loop", ["count", ""], ["y"], body=body)]
    constants = [("table", table), ("axis", numpy.array([0]))]
    for rows in (0, 3):
        feeds = {"ids": DRAW.integers(0, 7, (rows, 4))}
        right = [table[feeds["ids"]].sum(1)]
        check(model_of(nodes, feeds, ["y"], constants), feeds, right, rtol=1e-5, atol=1e-5)


# ---- what optimized models have ----


def test_optimized_at_level_all():
    """The sentence says where such operators come from."""
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], domain="com.microsoft.nchwc")],
                     {"x": draw(1, 8, 3, 3)}, ["y"], [("w", draw(8, 8, 1, 1))])
    model.opset_import.append(helper.make_opsetid("com.microsoft.nchwc", 1))
    with pytest.raises(latchkey.UnsupportedError, match="level all.*level extended"):
        latchkey.Session(model.SerializeToString())


# ---- what the provider claims ----


def test_ranks_that_only_a_run_tells():
    """9 is more than Latchkey takes: such nodes are left, where a run may bring it."""
    nodes = [helper.make_node("Add", ["x", "x"], ["v"]), helper.make_node("Relu", ["v"], ["y"])]
    model = model_of(nodes, {"x": draw(3)}, ["y"])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    for claim in ("gains", "all"):
        session = open_onnxruntime(model, claim)
        for rank in (0, 3, 9):
            x = draw(*[1] * (rank - 1), 3) if rank else draw()
            found, = session.run(None, {"x": x})
            assert_close(found, numpy.maximum(x + x, 0))


def body_of(nodes, inputs, outputs):
    return helper.make_graph(
        nodes, "body",
        [helper.make_tensor_value_info(*one, None if one[1] == TensorProto.FLOAT else [])
         for one in inputs], [helper.make_tensor_value_info(*one, None) for one in outputs])


def growing_loop():
    """Each turn adds a dimension."""
    body = body_of([helper.make_node("Unsqueeze", ["a", "zero"], ["b"]),
                    helper.make_node("Neg", ["b"], ["c"]), helper.make_node("Neg", ["c"], ["d"]),
                    helper.make_node("Identity", ["go"], ["on"])],
                   [("i", TensorProto.INT64), ("go", TensorProto.BOOL), ("a", TensorProto.FLOAT)],
                   [("on", TensorProto.BOOL), ("d", TensorProto.FLOAT)])
    return [helper.make_node("Size", ["s"], ["n"]),
            helper.make_node("Loop", ["n", "", "x"], ["v"], body=body)]


def branches_of_two_ranks():
    then = body_of([helper.make_node("Reshape", ["x", "s"], ["t"]),
                    helper.make_node("Neg", ["t"], ["t1"]),
                    helper.make_node("Neg", ["t1"], ["t2"])],
                   [], [("t2", TensorProto.FLOAT)])
    other = body_of([helper.make_node("Neg", ["x"], ["e"])], [], [("e", TensorProto.FLOAT)])
    return [helper.make_node("Size", ["s"], ["n"]),
            helper.make_node("Greater", ["n", "two"], ["big"]),
            helper.make_node("If", ["big"], ["v"], then_branch=then, else_branch=other)]


# What makes "v" of x, of 6 elements, and of s, a list whose length only a run tells.
OPEN_RANKS = {
    "Reshape": [helper.make_node("Reshape", ["x", "s"], ["v"])],
    "Reshape of what is computed": [helper.make_node("Add", ["s", "zero"], ["s1"]),
                                    helper.make_node("Exp", ["x"], ["x1"]),
                                    helper.make_node("Reshape", ["x1", "s1"], ["v"])],
    "Expand": [helper.make_node("Mul", ["s", "zero"], ["s0"]),
               helper.make_node("Add", ["s0", "one"], ["s1"]),
               helper.make_node("Expand", ["x", "s1"], ["v"])],
    "ConstantOfShape": [helper.make_node("ConstantOfShape", ["s"], ["v"])],
    "Unsqueeze": [helper.make_node("Size", ["s"], ["n"]),
                  helper.make_node("Range", ["first", "n", "step"], ["axes"]),
                  helper.make_node("Unsqueeze", ["x", "axes"], ["v"])],
    "ExpandDims": [helper.make_node("Reshape", ["x", "s"], ["r"]),
                   helper.make_node("Exp", ["r"], ["r1"]),
                   helper.make_node("ExpandDims", ["r1", "axis"], ["v"], domain="com.microsoft")],
    "Gather": [helper.make_node("ConstantOfShape", ["s"], ["i0"]),
               helper.make_node("Cast", ["i0"], ["i"], to=TensorProto.INT64),
               helper.make_node("Gather", ["x", "i"], ["v"])],
    "OneHot": [helper.make_node("ConstantOfShape", ["s"], ["i0"]),
               helper.make_node("Cast", ["i0"], ["i"], to=TensorProto.INT64),
               helper.make_node("OneHot", ["i", "two", "on_off"], ["v"])],
    "SequenceAt": [helper.make_node("Reshape", ["x", "s"], ["r"]),
                   helper.make_node("SequenceConstruct", ["r"], ["q"]),
                   helper.make_node("SequenceAt", ["q", "first"], ["v"])],
    "If": branches_of_two_ranks(),
    "Loop": growing_loop(),
}


@pytest.mark.parametrize("kind", OPEN_RANKS)
def test_ranks_that_nodes_make(kind):
    """A node that may meet a rank above 8 is left, whatever makes the rank."""
    nodes = [*OPEN_RANKS[kind], helper.make_node("Exp", ["v"], ["w"]),
             helper.make_node("Tanh", ["w"], ["z"]), helper.make_node("Add", ["z", "w"], ["y"])]
    x = numpy.arange(6, dtype=numpy.float32)
    constants = [("zero", numpy.int64([0])), ("one", numpy.int64([1])), ("two", numpy.int64(2)),
                 ("first", numpy.int64(0)), ("step", numpy.int64(1)),
                 ("on_off", numpy.float32([0, 1])), ("axis", numpy.int32(0))]
    model = model_of(nodes, {"x": x, "s": numpy.int64([6])}, ["y"], constants)
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "length"
    usual = open_onnxruntime(model)
    for claim in ("gains", "all"):
        session = open_onnxruntime(model, claim)
        for rank in (1, 3, 8, 9, 12):
            feeds = {"x": x, "s": numpy.int64([1] * (rank - 1) + [6])}
            for found, right in zip(session.run(None, feeds), usual.run(None, feeds), strict=True):
                assert found.shape == right.shape
                assert_close(found, right)


def test_one_hot_of_the_highest_rank():
    """Its output has one more: refused by its rank, and nothing is written behind a shape."""
    feeds = {"i": numpy.zeros([1] * 8, numpy.int64)}
    model = model_of([helper.make_node("OneHot", ["i", "depth", "on_off"], ["y"])], feeds, ["y"],
                     [("depth", numpy.int64(2)), ("on_off", numpy.float32([0, 1]))])
    with pytest.raises(latchkey.Error, match="the rank would be 9, at most 8 is supported"):
        latchkey.Session(model.SerializeToString()).run(feeds)
    for claim in ("gains", "all"):
        found, = open_onnxruntime(model, claim).run(None, feeds)
        assert found.shape == (1,) * 8 + (2,)


def test_ranks_that_readers_bound():
    """No rank above 4 gets to the convolution, so what is before it is claimed."""
    nodes = [helper.make_node("Reshape", ["x", "s"], ["v"]), helper.make_node("Exp", ["v"], ["w"]),
             helper.make_node("Conv", ["w", "f"], ["y"])]
    x = numpy.arange(16, dtype=numpy.float32)
    feeds = {"x": x, "s": numpy.int64([1, 1, 4, 4])}
    model = model_of(nodes, feeds, ["y"], [("f", numpy.ones((1, 1, 3, 3), numpy.float32))])
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "length"
    found = latchkey.ort.explain_claims(model, claim="all")
    assert found["claimed"] == found["nodes"], found
    found, = open_onnxruntime(model, "all").run(None, feeds)
    right, = open_onnxruntime(model).run(None, feeds)
    assert_close(found, right)


def test_nodes_that_onnxruntime_has_no_kernel_for():
    """With claim=all they are claimed, also where that gains nothing."""
    x = numpy.uint32([[3, 1, 2], [5, 9, 4]])
    node = helper.make_node("ArgMin", ["x"], ["y"], axis=1, keepdims=0)
    model = model_of([node], {"x": x}, ["y"])
    found, = open_onnxruntime(model, "all").run(None, {"x": x})
    numpy.testing.assert_array_equal(found, [1, 2])
