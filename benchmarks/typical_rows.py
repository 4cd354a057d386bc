"""How long do reductions, sorts and products by few columns take, beside ONNX Runtime's?

What `typical_operators` measures, of rows of many lengths and all types that they have: reductions,
running sums, largest elements, norms; TopK and Unique; scattered elements that are combined;
products by one to three columns that are not constant. What ONNX Runtime has no kernel for is left
out.

    benchmarks/run typical_rows                         all of them
    .venv/bin/python benchmarks/typical_rows.py -- ...  some: their operators
"""

import numpy
import typical_operators
from typical_operators import Constant, f32, i64

QUESTION = __doc__.splitlines()[0]
COUNT = 64_000
LENGTHS = (1, 2, 3, 4, 5, 8, 16, 17, 24, 32, 64, 256)
REALS = ("f4", "f2", "f8")
AXIS = Constant([1], dtype="i8")


def of_type(x, dtype):
    """Whole numbers are positive, and fit."""
    return x.astype(dtype) if dtype in REALS else (numpy.abs(x) * 20).astype(dtype)


def cases():
    """Operator, inputs, and what else a node has."""
    for dtype in (*REALS, "i4", "i8", "u1"):
        for length in LENGTHS:
            yield from rows(dtype, (COUNT // length, length), 1)
        yield from rows(dtype, (8, 200, 64), 1)
        yield from sorts(dtype)
    yield from sets()
    for dtype in ("f4", "f8", "i4", "i8"):
        yield from products(dtype)
    for dtype in ("f4", "f8", "i4", "i8", "f2"):
        yield from scattered(dtype)


def rows(dtype, shape, axis):
    x = of_type(f32(*shape), dtype)
    extra = {"tag": f"{dtype} {'x'.join(map(str, shape))}", "opset": 20}
    yield "ReduceMax", [x, AXIS], extra
    for op in ("ArgMax", "ArgMin"):
        yield op, [x], {**extra, "axis": axis}
    if dtype == "u1":
        return
    for op in "ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceProd".split():
        yield op, [x, AXIS], extra
    yield "CumSum", [x, Constant(1, dtype="i8")], extra
    if dtype not in REALS:
        return
    for op in "ReduceLogSum ReduceLogSumExp".split():
        yield op, [numpy.abs(x) + x.dtype.type(0.1), AXIS], extra
    for op in "Softmax LogSoftmax Hardmax".split():
        yield op, [x], {**extra, "axis": axis}
    scale = of_type(f32(shape[-1]), dtype)
    yield "LayerNormalization", [x, scale, scale], extra


def sorts(dtype):
    for k, count, inner in ((1, 16, 1), (3, 16, 1), (5, 1000, 1), (800, 800, 1), (800, 800, 5)):
        x = of_type(f32(COUNT // count // inner, count, inner), dtype)
        yield "TopK", [x, Constant([k], dtype="i8")], {
            "tag": f"{dtype}, {k} of {count}, {inner} behind", "outputs": 2, "axis": 1}


def sets():
    for most in (9, 1 << 40):
        for is_sorted in (0, 1):
            for count in (64, 5000, 50000):
                yield "Unique", [i64(most, count)], {
                    "tag": f"{count} below {most}, sorted={is_sorted}", "outputs": 4,
                    "sorted": is_sorted}
    for shape in ((12500, 4), (1000, 64)):
        yield "Unique", [i64(3, *shape)], {"tag": f"rows of {shape}", "outputs": 4, "axis": 0}


def scattered(dtype):
    shape = (8, 800, 6)
    for reduction in ("none", "add", "mul", "min", "max"):
        inputs = [of_type(f32(*shape), dtype), i64(800, *shape), of_type(f32(*shape), dtype)]
        yield "ScatterElements", inputs, {
            "tag": f"{dtype} {reduction}", "axis": 1, "reduction": reduction}


def products(dtype):
    for m, k in ((512, 512), (2000, 64), (100, 1024), (5000, 8)):
        for n in (1, 2, 3):
            yield "MatMul", [of_type(f32(m, k), dtype), of_type(f32(k, n), dtype)], {
                "tag": f"{dtype} {m}x{k} by {k}x{n}"}
    if dtype == "f4":
        yield "MatMul", [f32(400, 1, 32), f32(400, 32, 16)], {"tag": "400 of 1x32 by 32x16"}
        yield "Einsum", [f32(400, 2, 32), f32(400, 2, 32, 16)], {
            "tag": "rows by matrices", "equation": "nke,nked->nkd"}


if __name__ == "__main__":
    typical_operators.main(QUESTION, cases())
