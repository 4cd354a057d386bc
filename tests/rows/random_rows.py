"""Random numbers, where only one number is possible; tests/python/test_random.py has the others."""

import numpy

from case import FLOATS, NUMBERS, Case, dtype_of, opset_of, pick, row, shape, values
from onnx import TensorProto


def _numbers(op_type):
    is_like = op_type.endswith("Like")

    def draw(rng):
        dims = shape(rng, low=0 if is_like else 1)
        kind = pick(rng, FLOATS)
        # whole numbers, which each type has
        only = float(rng.integers(-9, 10))
        names = ("mean", "scale") if "Normal" in op_type else ("low", "high")
        attributes = {names[0]: only, names[1]: 0.0 if "Normal" in op_type else only}
        given = values(rng, dims, kind)
        if is_like and rng.random() < 0.5:
            given = values(rng, dims, pick(rng, NUMBERS))
            attributes["dtype"] = getattr(TensorProto, kind)
        elif not is_like:
            attributes |= {"shape": numpy.array(dims, numpy.int64),
                           "dtype": getattr(TensorProto, kind)}
        if rng.random() < 0.5:
            attributes["seed"] = float(rng.integers(0, 100))
        return Case([given] if is_like else [], attributes, opset=22,
                    expected=lambda inputs: [numpy.full(dims, only, dtype_of(kind))])

    return draw


for operator in ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"):
    row(operator)(_numbers(operator))


@row("Bernoulli")
def bernoulli(rng):
    x = rng.integers(0, 2, shape(rng)).astype(dtype_of(pick(rng, FLOATS)))
    kind = pick(rng, NUMBERS + ("BOOL",))
    return Case([x], {"dtype": getattr(TensorProto, kind)}, opset=opset_of(rng, "Bernoulli"),
                expected=lambda inputs: [inputs[0].astype(dtype_of(kind))])


@row("Multinomial")
def multinomial(rng):
    rows, classes, samples = (int(rng.integers(1, 6)) for _ in range(3))
    x = numpy.full([rows, classes], -1e4).astype(dtype_of(pick(rng, FLOATS)))
    best = rng.integers(0, classes, [rows, 1])
    numpy.put_along_axis(x, best, 0, 1)
    kind = pick(rng, ["INT32", "INT64"])
    return Case([x], {"sample_size": samples, "dtype": getattr(TensorProto, kind)},
                opset=opset_of(rng, "Multinomial"),
                expected=lambda inputs: [numpy.repeat(best, samples, 1).astype(dtype_of(kind))])
