"""Arithmetic by numbers is rounded as the nodes say, and what is not finite goes where they put it:
small models on both routes, against ONNX's reference evaluator."""

import latchkey
import latchkey.ort
import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

WHOLE = numpy.arange(-300, 301, dtype=numpy.float32)
EDGES = numpy.float32([0, -0.0, 1, -1, 0.3, 1.5, 2.5, -3, 3, 1e-40, -1e-40, 1e-30, 1e30, -40, 3e38,
                       -3e38, numpy.inf, -numpy.inf, numpy.nan])


def chain(*steps, x):
    """A model of x behind Relu or Add, and then steps: (operator, number, whether it is first)."""
    nodes, constants, value = [helper.make_node("Abs", ["x"], ["v"])], [], "v"
    for i, (op, *numbers) in enumerate(steps):
        inputs = [value]
        if numbers:
            constants.append(numpy_helper.from_array(numpy.float32(numbers[0]), f"c{i}"))
            inputs = [f"c{i}", value] if numbers[1:] == [True] else [value, f"c{i}"]
        value = f"v{i}"
        nodes.append(helper.make_node(op, inputs, [value]))
    return _model(nodes, {"x": x}, value, constants), {"x": x}


def _model(nodes, feeds, output, constants):
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
              for name, value in feeds.items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(
        output, TensorProto.FLOAT, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def routes(model, feeds, alone=False):
    """`alone`: without what ONNX Runtime folds before the provider sees it."""
    latchkey.ort.register()
    data = model.SerializeToString()
    with latchkey.Session(data) as session:
        own = next(iter(session.run(feeds).values()))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if alone:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = [("LatchkeyExecutionProvider", {"claim": "all"}), "CPUExecutionProvider"]
    ort = onnxruntime.InferenceSession(data, options, providers=providers)
    return {"own": numpy.asarray(own), "provider": ort.run(None, feeds)[0]}


def check(model, feeds, exact=True):
    with numpy.errstate(all="ignore"):
        right = ReferenceEvaluator(model).run(None, feeds)[0]
    for route, found in routes(model, feeds).items():
        if exact:
            numpy.testing.assert_array_equal(found, right, err_msg=route)
            numbers = ~numpy.isnan(right)
            assert (numpy.signbit(found) == numpy.signbit(right))[numbers].all(), route
        else:
            numpy.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6, err_msg=route)


@pytest.mark.parametrize("steps", [
    (("Sub", 2), ("Div", 15), ("Ceil",)),
    (("Div", 41), ("Floor",)),
    (("Add", 12582912), ("Sub", 12582912)),
    (("Sub", 200, True), ("Sub", 200, True)),
    (("Mul", 1e-30), ("Mul", 1e-30), ("Mul", 1e30)),
    (("Mul", 1e30), ("Mul", 1e30), ("Mul", 1e-30)),
    (("Div", 3), ("Mul", 3), ("Floor",)),
    (("Div", 1e-40),), (("Div", 0),), (("Div", -0.0),), (("Div", numpy.float32(2) ** 127),),
    (("Mul", -1), ("Add", 0)), (("Mul", -1), ("Sub", 0)), (("Mul", -2), ("Mul", 0.5)),
    (("Mul", 2), ("Sub", 1)), (("Mul", 0.5), ("Add", 0.5)), (("Mul", 3), ("Add", 1)),
])
def test_steps_by_numbers(steps):
    for x in (WHOLE, 15 * WHOLE + 2, 41 * WHOLE, EDGES):
        check(*chain(*steps, x=x.astype(numpy.float32)))


@pytest.mark.parametrize("steps", [
    (("Sub", 2), ("Div", 15), ("Ceil",)), (("Div", 41), ("Floor",)),
    (("Add", 12582912), ("Sub", 12582912)),
])
@pytest.mark.parametrize("scale", [1, 0.25])
def test_steps_behind_a_convolution(steps, scale):
    model, feeds = chain(*steps, x=scale * WHOLE.reshape(1, 1, -1))
    model.graph.node[0].CopyFrom(helper.make_node("Conv", ["x", "w"], ["v"]))
    weights = numpy.float32([[[1]], [[2]]])
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    check(model, feeds)


@pytest.mark.parametrize("op", ["HardSwish", "Mish"])
def test_activations_of_what_is_not_finite(op):
    x = EDGES[~((abs(EDGES) > 0) & (abs(EDGES) < 1e-20))]
    nodes = [helper.make_node(op, ["x"], ["y"])]
    model = _model(nodes, {"x": x}, "y", [])
    model.opset_import[0].version = 18
    check(model, {"x": x}, exact=False)


@pytest.mark.parametrize(("op", "attributes"), [
    ("Celu", {"alpha": 0.3}), ("Celu", {"alpha": 3.0}), ("LeakyRelu", {"alpha": 0.0}),
    ("LeakyRelu", {"alpha": 0.3}), ("ThresholdedRelu", {"alpha": 0.0}), ("Sign", {}),
])
@pytest.mark.parametrize("behind", ["", "MatMul"])
def test_functions_keep_what_is_large_tiny_or_of_no_number(op, attributes, behind):
    x = EDGES[numpy.newaxis] if not behind else EDGES[:, numpy.newaxis]
    one = numpy_helper.from_array(numpy.ones((1, 1), numpy.float32), "one")
    nodes = [helper.make_node(behind, ["x", "one"], ["v"])] if behind else []
    nodes.append(helper.make_node(op, ["v" if behind else "x"], ["y"], **attributes))
    model = _model(nodes, {"x": x}, "y", [one] if behind else [])
    check(model, {"x": x}, exact=op != "Celu")


@pytest.mark.parametrize("dtype", [numpy.float16, numpy.float64])
def test_the_sign_of_zeros(dtype):
    x = numpy.array([-0.0, 0.0, -1e-5, numpy.nan, numpy.inf] * 7, dtype)
    model = _model([helper.make_node("Sign", ["x"], ["y"])], {"x": x}, "y", [])
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    check(model, {"x": x})


def test_swish_in_two_nodes():
    nodes = [helper.make_node("Sigmoid", ["x"], ["s"]), helper.make_node("Mul", ["x", "s"], ["y"])]
    check(_model(nodes, {"x": EDGES}, "y", []), {"x": EDGES}, exact=False)


@pytest.mark.parametrize("special", [numpy.nan, numpy.inf, -numpy.inf])
@pytest.mark.parametrize("where", ["q", "mask", "v"])
def test_the_guard_of_attention_zeroes_every_nan(special, where):
    nodes = [helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
             helper.make_node("MatMul", ["q", "t"], ["s"]),
             helper.make_node("Add", ["s", "mask"], ["a"]),
             helper.make_node("Softmax", ["a"], ["p"], axis=-1),
             helper.make_node("IsNaN", ["p"], ["n"]),
             helper.make_node("Where", ["n", "zero", "p"], ["w"]),
             helper.make_node("MatMul", ["w", "v"], ["y"])]
    rng = numpy.random.default_rng(0)
    feeds = {name: rng.normal(size=(1, 1, rows, 4)).astype(numpy.float32)
             for name, rows in (("q", 3), ("k", 5), ("v", 5))}
    feeds["mask"] = numpy.zeros((1, 1, 3, 5), numpy.float32)
    feeds["mask"][..., 0, :] = -numpy.inf
    feeds[where][0, 0, 1, 0] = special
    check(_model(nodes, feeds, "y", [numpy_helper.from_array(numpy.float32(0), "zero")]), feeds,
          exact=False)


# ---- what passes may round in another place, as their rows state ----

UNIT = 2.0 ** -24  # half a unit in the last place of 1


def _by_channel(*numbers):
    return numpy.float32(numbers).reshape(-1, 1, 1)


def _behind_a_convolution(steps, x, weights):
    """A 3 x 3 Conv of x, and steps: (operator, number of each channel)."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["v"])]
    constants, value = [numpy_helper.from_array(weights, "w")], "v"
    for i, (op, numbers) in enumerate(steps):
        constants.append(numpy_helper.from_array(numbers, f"c{i}"))
        nodes.append(helper.make_node(op, [value, f"c{i}"], [f"v{i}"]))
        value = f"v{i}"
    return _model(nodes, {"x": x}, value, constants)


def _conv_of(x, weights):
    """The sums of a 3 x 3 Conv, and the same without signs, in f64."""
    seen = numpy.lib.stride_tricks.sliding_window_view(x.astype(float), (3, 3), axis=(2, 3))
    found = [numpy.einsum("nchwij,ocij->nohw", one, other)
             for one, other in ((seen, weights.astype(float)), (abs(seen), abs(weights)))]
    return found[0], found[1]


@pytest.mark.parametrize("shift", [0.1, 1, 30])
@pytest.mark.parametrize("scale", [0.3, -7, 1e-3])
def test_scale_shift_is_within_its_bound(scale, shift):
    rng = numpy.random.default_rng(3)
    x, w = (rng.normal(size=shape).astype(numpy.float32)
            for shape in ((1, 4, 9, 9), (2, 4, 3, 3)))
    factor, added = _by_channel(scale, 2 * scale), _by_channel(shift, -shift)
    right, mass = _conv_of(x, w)
    right, mass = right * factor + added, mass * abs(factor) + abs(added)
    model = _behind_a_convolution([("Mul", factor), ("Add", added)], x, w)
    found = routes(model, {"x": x}, alone=True)
    for route, value in found.items():
        assert (abs(value - right) <= (36 + 3) * UNIT * mass).all(), route


@pytest.mark.parametrize("large", [4e4, 8388608, 12582912])
def test_a_shift_that_is_large_beside_the_weights_is_rounded_by_itself(large):
    rng = numpy.random.default_rng(4)
    x = (rng.integers(-40, 40, (1, 4, 9, 9)) / 4).astype(numpy.float32)
    w = rng.integers(-2, 3, (2, 4, 3, 3)).astype(numpy.float32) / 4
    added = _by_channel(large, large / 2)
    sums = _conv_of(x, w)[0].astype(numpy.float32)  # whole sixteenths: no order rounds them
    model = _behind_a_convolution([("Add", added), ("Sub", added)], x, w)
    for route, value in routes(model, {"x": x}, alone=True).items():
        numpy.testing.assert_array_equal(value, sums + added - added, err_msg=route)


@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_a_vector_that_is_added_to_a_product_is_rounded_by_itself(op, rows):
    rng = numpy.random.default_rng(5)
    x = (rng.integers(-40, 40, (rows, 48)) / 4).astype(numpy.float32)
    w = rng.integers(-2, 3, (48, 21)).astype(numpy.float32) / 4
    added = numpy.full(21, 12582912, numpy.float32)
    nodes = [helper.make_node(op, ["x", "w"], ["v"]), helper.make_node("Add", ["v", "c"], ["a"]),
             helper.make_node("Sub", ["a", "c"], ["y"])]
    constants = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(added, "c")]
    model = _model(nodes, {"x": x}, "y", constants)
    for route, value in routes(model, {"x": x}, alone=True).items():
        numpy.testing.assert_array_equal(value, x @ w + added - added, err_msg=route)


@pytest.mark.parametrize("number", [0.3, 1 / 3, 12582912])
@pytest.mark.parametrize("op", ["Mul", "Add", "Sub"])
def test_one_number_behind_a_convolution_is_rounded_by_itself(op, number):
    rng = numpy.random.default_rng(6)
    x = rng.integers(-40, 40, (1, 4, 9, 9)).astype(numpy.float32)
    w = rng.integers(-2, 3, (2, 4, 3, 3)).astype(numpy.float32)
    number = numpy.float32(number)
    sums = _conv_of(x, w)[0].astype(numpy.float32)
    right = {"Mul": numpy.multiply, "Add": numpy.add, "Sub": numpy.subtract}[op](sums, number)
    model = _behind_a_convolution([(op, number)], x, w)
    for route, value in routes(model, {"x": x}, alone=True).items():
        numpy.testing.assert_array_equal(value, right, err_msg=route)


@pytest.mark.parametrize("size", [1, 1000])
def test_residual_is_within_its_bound(size):
    rng = numpy.random.default_rng(7)
    x, w = (rng.normal(size=shape).astype(numpy.float32)
            for shape in ((1, 4, 9, 9), (4, 4, 3, 3)))
    other = (size * rng.normal(size=(1, 4, 7, 7))).astype(numpy.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["v"]),
             helper.make_node("Add", ["v", "r"], ["y"])]
    model = _model(nodes, {"x": x, "r": other}, "y", [numpy_helper.from_array(w, "w")])
    right, mass = _conv_of(x, w)
    for route, value in routes(model, {"x": x, "r": other}, alone=True).items():
        bound = (36 + 2) * UNIT * (mass + abs(other))
        assert (abs(value - right - other) <= bound).all(), route


@pytest.mark.parametrize("power", [10, 17])
def test_scores_are_scaled_behind_their_product(power):
    """Scores that are moderate when scaled are right as long as the product is finite."""
    rng = numpy.random.default_rng(8)
    q, k, v = (rng.normal(size=(1, 2, rows, 8)).astype(numpy.float32) for rows in (3, 5, 5))
    large, small = numpy.float32(10.0 ** power), numpy.float32(10.0 ** -power)
    nodes = [helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
             helper.make_node("Mul", ["q", "s"], ["a"]), helper.make_node("Mul", ["t", "s"], ["b"]),
             helper.make_node("MatMul", ["a", "b"], ["m"]),
             helper.make_node("Softmax", ["m"], ["w"], axis=-1),
             helper.make_node("MatMul", ["w", "v"], ["y"])]
    feeds = {"q": q * large, "k": k * large, "v": v}
    model = _model(nodes, feeds, "y", [numpy_helper.from_array(small, "s")])
    scores = q.astype(float) @ numpy.swapaxes(k, -1, -2).astype(float)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    right = weights / weights.sum(-1, keepdims=True) @ v
    for route, value in routes(model, feeds, alone=True).items():
        numpy.testing.assert_allclose(value, right, rtol=2e-6, atol=2e-6, err_msg=route)
