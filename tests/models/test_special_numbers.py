"""NaN, infinities and numbers that are too large: what they become is the same on the kernels of
every processor, in whole vectors and in what is left behind them.

A process chooses its kernels once, so each instruction set computes all cases in its own. No case
rounds a sum of products, which SSE2 rounds twice.
"""

import json
import os
import subprocess
import sys

import latchkey
import numpy
import pytest
from onnx import TensorProto, helper

LENGTHS = (1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 67)
SPECIAL = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 3e38, -3e38, 1e-40, -0.0, 300, -300,
                       2147483648.0, -2147483904.0, 1.5, -2.5, 70000], numpy.float32)
BYTES = {TensorProto.UINT8: numpy.uint8, TensorProto.INT8: numpy.int8}
CASTS = (TensorProto.UINT8, TensorProto.INT8, TensorProto.INT16, TensorProto.UINT16,
         TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16)


def compute(op, x, constants=(), output_type=TensorProto.FLOAT, domain="", **attributes):
    """A node of x, and of constants behind it: arrays."""
    names = [f"c{i}" for i in range(len(constants))]
    tensors = [helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(c.dtype), c.shape,
                                  c.tobytes(), raw=True)
               for name, c in zip(names, constants)]
    node = helper.make_node(op, ["x", *names], ["y"], domain=domain, **attributes)
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    graph = helper.make_graph([node], "special", [given],
                              [helper.make_tensor_value_info("y", output_type, None)], tensors)
    model = helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    return latchkey.Session(model.SerializeToString()).run({"x": x})["y"]


def draw(rng, length):
    x = (rng.standard_normal((2, length)) * 10).astype(numpy.float32)
    is_special = rng.random(x.shape) < 0.4
    x[is_special] = rng.choice(SPECIAL, is_special.sum())
    return x


def scalar(number, dtype=numpy.float32):
    return numpy.array(number, dtype)


def cases():
    """Name and result of each."""
    rng = numpy.random.default_rng(5)
    for length in LENGTHS:
        x = draw(rng, length)
        for op in ("Relu", "Floor", "Ceil", "Round", "Sign"):
            yield f"{op} {length}", compute(op, x)
        for op in ("ReduceMax", "ReduceMin"):
            yield f"{op} {length}", compute(op, x, axes=[1])
            yield f"{op} of columns {length}", compute(op, x, axes=[0])
        for op in ("ArgMax", "ArgMin"):
            yield f"{op} {length}", compute(op, x, axis=1, output_type=TensorProto.INT64)
        for op in ("Max", "Min"):
            yield f"{op} {length}", compute(op, x, [rng.choice(SPECIAL, length)])
        yield f"MaxPool {length}", compute("MaxPool", x.reshape(1, 2, 1, length),
                                           kernel_shape=[1, 3], pads=[0, 1, 0, 1])
        for to in CASTS:
            yield f"Cast to {to} {length}", compute("Cast", x, output_type=to, to=to)
        for to, dtype in BYTES.items():
            for shape in ((), (length,)):
                scales, zeros = numpy.full(shape, 0.5, numpy.float32), numpy.full(shape, 7, dtype)
                yield f"QuantizeLinear to {to} {shape} {length}", compute(
                    "QuantizeLinear", x, [scales, zeros], to)
        yield from of_bytes(rng, length)


def of_bytes(rng, length):
    """Scales that are no usual numbers."""
    x = rng.integers(0, 256, (2, length)).astype(numpy.uint8)
    w = rng.integers(0, 256, (length, 5)).astype(numpy.uint8)
    zero, half = scalar(7, numpy.uint8), scalar(0.5)
    for scale in (numpy.nan, numpy.inf, -1, 0):
        odd, u8 = scalar(scale), TensorProto.UINT8
        for op in ("QLinearAdd", "QLinearMul"):
            others = [half, zero, x[0], odd, zero, half, zero]
            yield f"{op} {scale} {length}", compute(op, x, others, u8, "com.microsoft")
        yield f"QLinearSigmoid {scale} {length}", compute("QLinearSigmoid", x,
                                                          [odd, zero, half, zero], u8,
                                                          "com.microsoft")
        yield f"DequantizeLinear {scale} {length}", compute("DequantizeLinear", x, [odd, zero])
        yield f"QLinearMatMul {scale} {length}", compute("QLinearMatMul", x,
                                                         [half, zero, w, odd, zero, half, zero], u8)


def results():
    return {name: [repr(number) for number in numpy.asarray(y).ravel().tolist()]
            for name, y in cases()}


@pytest.fixture(scope="module", name="best")
def compute_on_best():
    return results()


@pytest.mark.parametrize("isa", ["sse2", "avx2", "avx512_core", "avx512"])
def test_lesser_kernels_have_the_same_results(isa, best):
    done = subprocess.run([sys.executable, __file__], env={**os.environ, "LATCHKEY_MAX_ISA": isa},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout) == best


@pytest.mark.parametrize("to, least, most", [(TensorProto.UINT8, 0, 255),
                                             (TensorProto.INT8, -128, 127)])
def test_what_is_no_number_is_the_least_byte(to, least, most):
    rng = numpy.random.default_rng(6)
    for length in LENGTHS:
        x = draw(rng, length)
        held = numpy.clip(numpy.round(x.astype(numpy.float64) / 0.5) + 7, least, most)
        expected = numpy.where(numpy.isnan(held), least, held)
        for shape in ((), (length,)):
            zeros = numpy.full(shape, 7, BYTES[to])
            y = compute("QuantizeLinear", x, [numpy.full(shape, 0.5, numpy.float32), zeros], to)
            numpy.testing.assert_array_equal(y, expected, f"{length} {shape}")


if __name__ == "__main__":
    json.dump(results(), sys.stdout)
