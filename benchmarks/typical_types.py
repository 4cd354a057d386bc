"""How long do element-wise operators and moves take in each type, beside ONNX Runtime's?

What `typical_operators` measures, of operators that have loops of their own for each type:
functions of f64 and f16, arithmetic of all integers, Resize, Pad, Tile and Range; and of kernels
with ways of their own for some sizes: DFT of prime lengths, Col2Im, RoiAlign of few channels,
convolutions of 1 x 1 in one and three dimensions, and transposed ones of few channels. What ONNX
Runtime has no kernel for is left out.

    benchmarks/run typical_types                         all of them
    .venv/bin/python benchmarks/typical_types.py -- ...  some: their operators
"""

import numpy
import typical_operators
from typical_operators import Constant, f32, i64

QUESTION = __doc__.splitlines()[0]
COUNT = 100_000
INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def cases():
    """Operator, inputs, and what else a node has."""
    for dtype in ("f8", "f2"):
        yield from functions(dtype)
        yield from arithmetic(dtype, lambda: numpy.abs(f32(COUNT)).astype(dtype) + 1)  # noqa: B023
    for dtype in INTEGERS:
        yield from whole_numbers(dtype)
    for dtype in ("f2", "u1", "i1", "i4"):
        yield from images(dtype)
    for dtype in ("f4", "f8", "f2", "u1"):
        yield from moves(dtype)
    yield from others()


def functions(dtype):
    for op in ("Abs Neg Sign Floor Ceil Round Reciprocal Sqrt Exp Log Sin Cos Tan Asin Acos Atan "
               "Sinh Cosh Asinh Atanh Tanh Erf Sigmoid Softplus Softsign Mish Gelu Relu "
               "LeakyRelu Elu Selu HardSigmoid HardSwish IsNaN IsInf").split():
        inside = numpy.clip(numpy.abs(f32(COUNT)), 0.01, 0.99).astype(dtype)
        yield op, [inside], {"tag": dtype, "opset": 20}
    for power in (0.5, 2, 3):
        yield "Pow", [f32(COUNT).astype(dtype), Constant(power, dtype=dtype)], {
            "tag": f"{dtype} to {power}"}
    yield "Mod", [f32(COUNT).astype(dtype), Constant(0.7, dtype=dtype)], {"tag": dtype, "fmod": 1}
    yield "Clip", [f32(COUNT).astype(dtype), Constant(-1, dtype=dtype), Constant(1, dtype=dtype)], {
        "tag": dtype}


def arithmetic(dtype, draw):
    for op in "Add Sub Mul Div Max Min Equal Less".split():
        yield op, [draw(), draw()], {"tag": dtype}
        yield op, [draw(), Constant(3, dtype=dtype)], {"tag": f"{dtype} and a number"}


def whole_numbers(dtype):
    def draw():
        return (i64(98, COUNT) + 1).astype(dtype)
    yield from arithmetic(dtype, draw)
    for op in "Abs Neg Sign Relu BitwiseNot".split():
        yield op, [draw()], {"tag": dtype}
    for fmod in (0, 1):
        yield "Mod", [draw(), draw()], {"tag": f"{dtype}, fmod {fmod}", "fmod": fmod}
        yield "Mod", [draw(), Constant(7, dtype=dtype)], {
            "tag": f"{dtype} and a number, fmod {fmod}", "fmod": fmod}
    yield "Clip", [draw(), Constant(2, dtype=dtype), Constant(60, dtype=dtype)], {"tag": dtype}
    yield "Where", [i64(2, COUNT) > 0, draw(), draw()], {"tag": dtype}
    yield "BitwiseAnd", [draw(), draw()], {"tag": dtype}


def images(dtype):
    for mode in ("linear", "cubic"):
        for scale in (0.5, 1.5, 2):
            x = numpy.abs(f32(2, 16, 32, 40) * 30).astype(dtype)
            yield "Resize", [x, None, Constant([1, 1, scale, scale], dtype="f4")], {
                "tag": f"{dtype}, {mode} by {scale}", "mode": mode}


def moves(dtype):
    for mode in ("constant", "reflect", "edge", "wrap"):
        for shape, pads in (((2, 16, 64, 64), (0, 0, 3, 3)), ((2, 8000), (0, 300)),
                            ((4000, 8), (0, 1))):
            x = numpy.abs(f32(*shape) * 30).astype(dtype)
            yield "Pad", [x, Constant(pads + pads, dtype="i8")], {
                "tag": f"{dtype}, {mode} of {shape}", "mode": mode, "opset": 19}
    for shape, repeats in (((20000, 2), (1, 3)), ((2000, 3), (1, 7)), ((64, 16, 16), (1, 4, 4)),
                           ((1000, 1), (1, 50)), ((20000, 2), (2, 1))):
        x = numpy.abs(f32(*shape) * 30).astype(dtype)
        yield "Tile", [x, Constant(repeats, dtype="i8")], {
            "tag": f"{dtype}, {shape} by {repeats}"}


def others():
    for dtype in ("i2", "i4", "i8", "f4", "f8"):
        ends = [numpy.array(number, dtype) for number in (0, 30000, 1)]
        yield "Range", ends, {"tag": dtype}
    for length in (64, 100, 127, 257, 509, 512, 1009, 4099):
        yield "DFT", [f32(4, length, 1)], {"tag": str(length), "axis": 1}
    image, window = Constant([64, 64]), Constant([3, 3])
    yield "Col2Im", [f32(2, 27, 4096), image, window], {"tag": "3x3", "pads": [1] * 4}
    corners = numpy.sort(numpy.abs(f32(100, 4)) * 20, axis=1)
    for mode in ("avg", "max"):
        for samples in (0, 1, 2):
            for channels in (4, 64):
                yield "RoiAlign", [f32(2, channels, 64, 64), corners, i64(2, 100)], {
                    "tag": f"{mode}, {channels} channels, {samples} samples", "mode": mode,
                    "output_height": 5, "output_width": 5, "sampling_ratio": samples,
                    "spatial_scale": 0.5}
    for channels, to, size, kernel, stride in ((32, 1, 32, 2, 2), (32, 1, 32, 3, 1),
                                               (64, 3, 32, 4, 2), (128, 1, 16, 4, 4),
                                               (32, 8, 32, 2, 2)):
        pads = [0 if kernel == stride else 1] * 4
        weights = Constant(f32(channels, to, kernel, kernel))
        yield "ConvTranspose", [f32(1, channels, size, size), weights], {
            "tag": f"{channels} to {to}, {kernel}x{kernel} s{stride}", "strides": [stride] * 2,
            "pads": pads}
    for channels, to, pixels in ((32, 32, (8, 24, 24)), (16, 64, (4, 16, 16)), (64, 16, (1024,)),
                                 (8, 8, (8192,)), (64, 2, (32, 32))):
        weights = Constant(f32(to, channels, *[1] * len(pixels)))
        yield "Conv", [f32(1, channels, *pixels), weights], {
            "tag": f"{channels} to {to}, 1x1 of {pixels}"}


if __name__ == "__main__":
    typical_operators.main(QUESTION, cases())
