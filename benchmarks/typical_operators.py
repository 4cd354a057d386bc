"""How long do operators take beside ONNX Runtime's, on sizes that no test model has?

What `operators` measures, of a list: every family of operators, some 250 nodes of sizes that are
usual for it. Several copies of a node in one model, one thread, both engines in turns, on the same
memory; the shapes of the outputs are compared first.

    benchmarks/run typical_operators                         all of them
    .venv/bin/python benchmarks/typical_operators.py -- ...  some: their operators
"""

import json

import common
import numpy
import onnxruntime
import operators
from onnx import TensorProto, helper, numpy_helper

QUESTION = __doc__.splitlines()[0]
_draw = numpy.random.default_rng(0)


class Constant:
    """An input that is an initializer."""

    def __init__(self, *value, dtype=None):
        self.array = numpy.asarray(value[0] if len(value) == 1 else value, dtype)


def f32(*shape):
    return _draw.standard_normal(shape).astype(numpy.float32)


def positive(*shape):
    return numpy.abs(f32(*shape)) + numpy.float32(0.1)


def i64(most, *shape):
    return _draw.integers(0, most, shape)


def u8(*shape):
    return _draw.integers(0, 256, shape).astype(numpy.uint8)


def i8(*shape):
    return _draw.integers(-128, 128, shape).astype(numpy.int8)


def bools(*shape):
    return _draw.random(shape) < 0.5


def cases():
    """Operator, inputs, and what else a node has."""
    rows, image = (8, 128, 256), (1, 64, 56, 56)
    yield from element_wise(rows, image)
    yield from reductions(rows, image)
    yield from moves(rows, image)
    yield from images(image)
    yield from norms_and_products(rows, image)
    yield from quantized(rows, image)
    yield from others(rows)


def element_wise(rows, image):
    for op in ("Abs Neg Exp Sigmoid Tanh Erf Sin Cos Tan Asin Atan Sinh Softplus Softsign Elu Selu "
               "Celu LeakyRelu HardSigmoid HardSwish Mish Ceil Round Sign Reciprocal IsNaN "
               "IsInf").split():
        yield op, [f32(*rows)]
    yield "Gelu", [f32(*rows)], {"opset": 20}
    for op in ("Log", "Sqrt"):
        yield op, [positive(*rows)]
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less"):
        for tag, shape in {"same": rows, "row": rows[-1:], "column": (*rows[:-1], 1)}.items():
            yield op, [f32(*rows), f32(*shape)], {"tag": tag}
        yield op, [f32(*image), f32(1, 64, 1, 1)], {"tag": "channel"}
    for power in (0.5, 2, 3):
        yield ("Pow", [positive(*rows), Constant(power, dtype=numpy.float32)],
               {"tag": f"to {power}"})
    yield "Pow", [positive(*rows), f32(*rows)]
    yield "PRelu", [f32(*image), f32(64, 1, 1)]
    yield "Not", [bools(*rows)]
    for op in ("And", "Or", "Xor"):
        yield op, [bools(*rows), bools(*rows)]
    yield "And", [bools(*rows), bools(rows[-1])], {"tag": "row"}
    yield "Where", [bools(*rows), f32(*rows), f32(*rows)]
    yield "Where", [bools(*rows[1:]), f32(*rows), Constant(0, dtype=numpy.float32)], {"tag": "mask"}
    for op in ("Add", "Mul", "Mod", "Equal", "Less", "BitwiseAnd"):
        yield op, [i64(99, *rows), i64(9, *rows) + 1], {"tag": "i64"}
    for name in ("FLOAT16", "INT64", "INT32", "UINT8", "DOUBLE", "BOOL"):
        yield "Cast", [f32(*rows)], {"tag": f"to {name}", "to": getattr(TensorProto, name)}
    for name, array in {"i64": i64(99, *rows), "f16": f32(*rows).astype(numpy.float16),
                        "bool": bools(*rows), "u8": u8(*rows)}.items():
        yield "Cast", [array], {"tag": f"of {name}", "to": TensorProto.FLOAT}
    yield "Clip", [f32(*rows), Constant(0, dtype="f4"), Constant(6, dtype="f4")]
    yield "Sum", [f32(*rows), f32(*rows), f32(*rows)]
    yield "Mean", [f32(*rows), f32(*rows), f32(*rows)]
    yield ("BitShift", [i64(99, *rows).astype("u8"), i64(9, *rows).astype("u8")],
           {"direction": "LEFT"})


def reductions(rows, image):
    for op in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSumExp", "SumSquare"):
        for axes in ([-1], [1], [0], [0, 1, 2]):
            yield f"Reduce{op}", [f32(*rows), Constant(axes)], {"tag": f"along {axes}"}
    yield "ReduceMean", [f32(*image), Constant([2, 3])], {"tag": "of images"}
    for op in ("ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax"):
        for axis in (-1, 1):
            yield op, [f32(*rows)], {"tag": f"along {axis}", "axis": axis}
    for axis in (1, 2):
        yield "CumSum", [f32(*rows), Constant(axis)], {"tag": f"along {axis}"}
    for most in (1, 5, 50):
        yield "TopK", [f32(*rows), Constant([most])], {"tag": f"{most} of 256", "outputs": 2}
    yield "TopK", [f32(1, 8400), Constant([300])], {"tag": "300 of 8400", "outputs": 2}


def moves(rows, image):
    for order in ((0, 2, 1), (2, 1, 0), (1, 0, 2)):
        yield "Transpose", [f32(*rows)], {"tag": str(order), "perm": order}
    for order in ((0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2)):
        yield "Transpose", [f32(*image)], {"tag": str(order), "perm": order}
    for mode in ("constant", "reflect", "edge"):
        pads = Constant([0, 0, 2, 2, 0, 0, 2, 2])
        yield "Pad", [f32(*image), pads], {"tag": mode, "mode": mode}
    yield "Tile", [f32(*rows), Constant([1, 2, 1])]
    yield "Expand", [f32(1, 128, 1), Constant(rows)]
    for axis in (0, 2):
        yield "Concat", [f32(*rows), f32(*rows)], {"tag": f"along {axis}", "axis": axis}
    yield "Concat", [f32(*image), f32(*image)], {"tag": "of channels", "axis": 1}
    yield "Split", [f32(*rows)], {"axis": 2, "num_outputs": 2, "outputs": 2}
    for tag, (start, end, axis, step) in {"step 2": (0, 256, 2, 2), "rows": (5, 100, 1, 1),
                                          "backwards": (-1, -1000, 2, -1)}.items():
        numbers = [Constant([number]) for number in (start, end, axis, step)]
        yield "Slice", [f32(*rows), *numbers], {"tag": tag}
    yield "Gather", [f32(30522, 256), i64(30000, 8, 128)], {"tag": "rows", "axis": 0}
    yield "Gather", [f32(*rows), i64(256, 64)], {"tag": "elements", "axis": 2}
    for axis in (1, 2):
        yield ("GatherElements", [f32(*rows), i64(rows[axis], *rows)],
               {"tag": f"along {axis}", "axis": axis})
    pairs = numpy.stack([i64(8, 500), i64(128, 500)], 1)
    yield "GatherND", [f32(*rows), pairs]
    yield "ScatterND", [f32(*rows), pairs, f32(500, 256)]
    for reduction in ("none", "add"):
        yield ("ScatterElements", [f32(*rows), i64(256, 8, 128, 64), f32(8, 128, 64)],
               {"tag": reduction, "axis": 2, "reduction": reduction})
    yield "OneHot", [i64(100, 4096), Constant(100), Constant([0, 1], dtype="f4")], {"axis": -1}
    yield "Trilu", [f32(8, 256, 256)]
    yield "EyeLike", [f32(256, 256)]
    yield "DepthToSpace", [f32(*image)], {"tag": "DCR", "blocksize": 2}
    yield "DepthToSpace", [f32(*image)], {"tag": "CRD", "blocksize": 2, "mode": "CRD"}
    yield "SpaceToDepth", [f32(*image)], {"blocksize": 2}


def images(image):
    scales = Constant([1, 1, 2, 2], dtype="f4")
    for mode in ("nearest", "linear", "cubic"):
        yield "Resize", [f32(*image), None, scales], {"tag": mode, "mode": mode}
    sizes = Constant([1, 64, 40, 40])
    yield "Resize", [f32(*image), None, None, sizes], {"tag": "smaller", "mode": "linear"}
    places = _draw.uniform(-1, 1, (1, 56, 56, 2)).astype(numpy.float32)
    for mode in ("linear", "nearest"):
        yield "GridSample", [f32(*image), places], {"tag": mode, "mode": mode, "opset": 20}
    yield "AffineGrid", [f32(4, 2, 3), Constant([4, 3, 64, 64])], {"opset": 20}
    three = {"kernel_shape": [3, 3], "pads": [1] * 4}
    yield "MaxPool", [f32(*image)], {"strides": [2, 2], **three}
    yield "MaxPool", [f32(*image)], {"tag": "5x5", "kernel_shape": [5, 5], "pads": [2] * 4}
    yield "MaxPool", [f32(1, 64, 2000)], {"tag": "1-D", "kernel_shape": [3], "strides": [2]}
    yield "AveragePool", [f32(*image)], {"strides": [2, 2], **three}
    yield "GlobalAveragePool", [f32(*image)]
    yield "GlobalMaxPool", [f32(*image)]
    yield "Col2Im", [f32(1, 64 * 9, 784), Constant([28, 28]), Constant([3, 3])], {"pads": [1] * 4}
    yield ("MaxUnpool", [f32(1, 64, 14, 14), numpy.arange(64 * 196).reshape(1, 64, 14, 14) * 4],
           {"kernel_shape": [2, 2], "strides": [2, 2]})
    corners = numpy.sort(_draw.random((100, 2, 2)).astype("f4"), axis=1).reshape(100, 4) * 50
    yield ("RoiAlign", [f32(1, 64, 50, 50), corners, Constant(numpy.zeros(100, numpy.int64))],
           {"output_height": 7, "output_width": 7, "sampling_ratio": 2})
    for tag, weights, attributes in (
            ("3x3", f32(64, 64, 3, 3), {"pads": [1] * 4}),
            ("1x1", f32(128, 64, 1, 1), {}),
            ("depthwise", f32(64, 1, 3, 3), {"pads": [1] * 4, "group": 64}),
            ("depthwise, stride 2", f32(64, 1, 3, 3),
             {"pads": [1] * 4, "strides": [2, 2], "group": 64}),
            ("8 groups", f32(64, 8, 3, 3), {"pads": [1] * 4, "group": 8}),
            ("dilated", f32(64, 64, 3, 3), {"pads": [2] * 4, "dilations": [2, 2]})):
        yield "Conv", [f32(*image), Constant(weights)], {"tag": tag, **attributes}
    yield "Conv", [f32(1, 64, 1000), Constant(f32(64, 64, 3))], {"tag": "1-D", "pads": [1, 1]}
    yield ("Conv", [f32(1, 3, 224, 224), Constant(f32(32, 3, 3, 3))],
           {"tag": "of colours", "pads": [1] * 4, "strides": [2, 2]})
    for side in (2, 4):
        yield ("ConvTranspose", [f32(1, 64, 28, 28), Constant(f32(64, 32, side, side))],
               {"tag": f"{side}x{side}", "strides": [2, 2], "pads": [side // 2 - 1] * 4})


def norms_and_products(rows, image):
    channels = [Constant(positive(64)) for _ in range(4)]
    yield "BatchNormalization", [f32(*image), *channels]
    yield "InstanceNormalization", [f32(*image), *channels[:2]]
    yield "GroupNormalization", [f32(*image), *channels[:2]], {"num_groups": 8, "opset": 21}
    yield "LRN", [f32(*image)], {"size": 5}
    width = [Constant(f32(rows[-1])) for _ in range(2)]
    yield "LayerNormalization", [f32(*rows), *width]
    yield "LpNormalization", [f32(*rows)]
    for op, inputs in {"SkipLayerNormalization": [f32(*rows), *width],
                       "SkipSimplifiedLayerNormalization": [f32(*rows), width[0]],
                       "FastGelu": [], "QuickGelu": [], "BiasGelu": width[:1]}.items():
        yield op, [f32(*rows), *inputs], {"domain": "com.microsoft"}
    yield "MatMul", [f32(128, 256), Constant(f32(256, 512))], {"tag": "128 rows"}
    yield "MatMul", [f32(1, 256), Constant(f32(256, 1024))], {"tag": "one row"}
    yield "MatMul", [f32(12, 128, 64), f32(12, 64, 128)], {"tag": "batch"}
    yield "Gemm", [f32(128, 256), Constant(f32(512, 256)), Constant(f32(512))], {"transB": 1}
    yield ("Einsum", [f32(4, 64, 8, 32), f32(4, 64, 8, 32)],
           {"equation": "bqhd,bkhd->bhqk"})
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        weights = [Constant(f32(1, gates * 128, 128) / 10) for _ in range(2)]
        yield (op, [f32(50, 4, 128), *weights, Constant(f32(1, 2 * gates * 128) / 10)],
               {"hidden_size": 128})
    for rows_of in (1, 4):
        numbers = Constant(u8(1024, 32, 16)), Constant(positive(1024 * 32))
        yield ("MatMulNBits", [f32(rows_of, 1024), *numbers],
               {"tag": f"{rows_of} rows", "domain": "com.microsoft", "K": 1024, "N": 1024,
                "bits": 4, "block_size": 32})


def quantized(rows, image):
    scale, zero = Constant(0.02, dtype="f4"), Constant(128, dtype="u1")
    by_zero = Constant(0, dtype="i1")
    each = Constant(numpy.full(64, 0.02, "f4")), Constant(numpy.zeros(64, numpy.int8))
    yield "QuantizeLinear", [f32(*rows), scale, zero]
    yield "QuantizeLinear", [f32(*image), *each], {"tag": "axis", "axis": 1}
    yield "DequantizeLinear", [u8(*rows), scale, zero]
    yield "DequantizeLinear", [i8(64, 64, 3, 3), *each], {"tag": "axis", "axis": 0}
    yield "DynamicQuantizeLinear", [f32(*rows)], {"outputs": 3}
    weights = Constant(i8(256, 512))
    yield "MatMulInteger", [u8(128, 256), weights, zero, by_zero]
    yield ("QLinearMatMul", [u8(128, 256), scale, zero, weights, scale, by_zero,
                             Constant(1, dtype="f4"), zero])
    for tag, filters, group in (("3x3", i8(64, 64, 3, 3), 1), ("depthwise", i8(64, 1, 3, 3), 64)):
        yield ("QLinearConv", [u8(1, 64, 28, 28), scale, zero, Constant(filters), scale, by_zero,
                               Constant(1, dtype="f4"), zero],
               {"tag": tag, "pads": [1] * 4, "group": group})
    own = {"domain": "com.microsoft"}
    other = Constant(0.03, dtype="f4"), zero
    for op in ("QLinearAdd", "QLinearMul"):
        yield op, [u8(*rows), scale, zero, u8(*rows), *other, *other], own
    for op in ("QLinearSigmoid", "QLinearLeakyRelu"):
        yield op, [u8(*rows), scale, zero, *other], own
    yield "QLinearGlobalAveragePool", [u8(*image), scale, zero, *other], own
    yield ("QLinearAveragePool", [u8(*image), scale, zero, *other],
           {"kernel_shape": [3, 3], "strides": [2, 2], **own})
    for tag, second in (("one scale", (scale, zero)), ("two scales", other)):
        yield ("QLinearConcat", [scale, zero, u8(*image), scale, zero, u8(*image), *second],
               {"tag": tag, "axis": 1, **own})


def others(rows):
    yield "DFT", [f32(4, 512, 1), None, Constant(1)], {"opset": 20}
    window = Constant(numpy.hanning(400).astype("f4"))
    yield "STFT", [f32(1, 16000, 1), Constant(160), window, Constant(400)], {"opset": 17}
    yield "Det", [f32(64, 16, 16)]
    tables = [Constant(f32(256, 32)) for _ in range(2)]
    yield ("RotaryEmbedding", [f32(1, 8, 128, 64), Constant(numpy.arange(128)[None]), *tables],
           {"domain": "com.microsoft"})
    yield ("MultiHeadAttention", [f32(1, 128, 256) for _ in range(3)],
           {"domain": "com.microsoft", "num_heads": 8})


def model_of(op, inputs, tag="", outputs=1, opset=18, domain="", **attributes):
    """A model of copies of one node, its feeds, and what the table calls it."""
    del tag
    nodes, feeds, constants = [], {}, []
    for copy in range(operators.COPIES):
        names = []
        for i, value in enumerate(inputs):
            if isinstance(value, Constant):
                names.append(f"c{i}")
                if copy == 0:
                    constants.append(numpy_helper.from_array(value.array, f"c{i}"))
            elif value is None:
                names.append("")
            else:
                names.append(f"x{i}_{copy}")
                feeds[names[-1]] = value.copy()
        nodes.append(helper.make_node(op, names, [f"y{i}_{copy}" for i in range(outputs)],
                                      name=f"copy_{copy}", domain=domain, **attributes))
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                           array.shape) for name, array in feeds.items()]
    results = [helper.make_empty_tensor_value_info(name) for node in nodes for name in node.output]
    graph = helper.make_graph(nodes, "typical", infos, results, constants)
    versions = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10), feeds


def gather(listed, blocks, seconds, wanted):
    of_input, of_output = operators.run_costs(blocks, 10 * seconds)
    found = []
    for op, inputs, *rest in listed:
        if wanted and op not in wanted:
            continue
        extra = rest[0] if rest else {}
        model, feeds = model_of(op, inputs, **extra)
        times = operators.measure(model, feeds, blocks, seconds)
        if times is None:
            found.append({"operator": op, "what": extra.get("tag", "")})
            continue
        counts = len(model.graph.input), len(model.graph.output)
        times = {engine: (ns - counts[0] * of_input[engine] - counts[1] * of_output[engine])
                 / operators.COPIES for engine, ns in times.items()}
        found.append({"operator": op, "what": extra.get("tag", ""), **times,
                      "ratio": times["latchkey"] / times["onnxruntime"]})
    return found


def main(question, listed):
    """Measures what is listed, as cases() has it, and prints it."""
    chosen, wanted = operators.options(question)
    blocks, seconds = common.by_extent(chosen, (6, 0.001), (50, 0.001), (500, 0.001))
    rows = gather(listed, blocks, seconds, wanted)
    measured = [row for row in rows if "ratio" in row]
    if chosen.json:
        print(json.dumps({"target": operators.TARGET, "machine": common.machine(),
                          "onnxruntime": onnxruntime.__version__, "nodes": rows}))
        return
    common.table(["operator", "", "us", "onnxruntime's", "ratio", "target"],
                 [[row["operator"], row["what"], f"{row['latchkey'] / 1e3:.1f}",
                   f"{row['onnxruntime'] / 1e3:.1f}", f"{row['ratio']:.2f}",
                   "met" if row["ratio"] <= operators.TARGET
                   else f"MISSED (<= {operators.TARGET})"] for row in measured])
    left_out = sorted({row["operator"] for row in rows if "ratio" not in row})
    median = common.median([row["ratio"] for row in measured])
    print(f"{len(measured)} nodes, median {median:.2f}; not measured, for want of a kernel in "
          f"ONNX Runtime: {', '.join(left_out) or 'none'}")


if __name__ == "__main__":
    main(QUESTION, cases())
