"""Operators on quantized tensors that are those on real numbers in between, each step in f32."""

import numpy
from onnx import helper
from onnx.reference import ReferenceEvaluator

from case import Case, axis, broadcast, pick, row, shape, values


def integers(rng, dims, kind):
    info = numpy.iinfo(kind.lower())
    return values(rng, dims, kind, low=info.min, high=info.max)


def quantizer(rng, kind, powers=False):
    """A scale and a zero point, which may be absent. Powers of 2 make all that follows exact."""
    size = pick(rng, [[], [1]])
    scale = values(rng, size, low=0.01, high=0.5)
    if powers:
        scale = numpy.full(size, pick(rng, [0.125, 0.25, 0.5, 1.0]), numpy.float32)
    return [scale, integers(rng, size, kind)]


def real(x, scale, zero):
    offset = 0 if zero is None else zero.astype(numpy.int32).reshape(())
    return (x.astype(numpy.int32) - offset).astype(numpy.float32) * scale.reshape(())


def quantized(y, scale, zero, kind):
    info = numpy.iinfo(kind)
    offset = numpy.float32(0 if zero is None else zero.reshape(()))
    whole = numpy.rint(y.astype(numpy.float32) / scale.reshape(())) + offset
    return numpy.asarray(numpy.clip(whole, info.min, info.max)).astype(kind)


def binary(rng, function):
    kind = pick(rng, ["UINT8", "INT8"])
    first, second = broadcast(rng, shape(rng))
    inputs = [integers(rng, first, kind), *quantizer(rng, kind), integers(rng, second, kind),
              *quantizer(rng, kind), *quantizer(rng, kind)]
    for i in (2, 5):
        if rng.random() < 0.2:
            inputs[i] = None

    def right(given):
        found = function(real(*given[:3]), real(*given[3:6]))
        return [quantized(found, given[6], given[7], given[0].dtype)]

    return Case(inputs, expected=right)


@row("QLinearAdd", "com.microsoft")
def qlinear_add(rng):
    return binary(rng, numpy.add)


@row("QLinearMul", "com.microsoft")
def qlinear_mul(rng):
    return binary(rng, numpy.multiply)


def unary(rng, function, attributes=None):
    kind = pick(rng, ["UINT8", "INT8"])
    inputs = [integers(rng, shape(rng), kind), *quantizer(rng, kind), *quantizer(rng, kind)]
    if rng.random() < 0.2:
        inputs[2] = None
    return Case(inputs, attributes or {}, expected=lambda given: [
        quantized(function(real(*given[:3])), given[3], given[4], given[0].dtype)])


@row("QLinearSigmoid", "com.microsoft")
def qlinear_sigmoid(rng):
    return unary(rng, lambda x: 1 / (1 + numpy.exp(-x.astype(numpy.float64))))


@row("QLinearLeakyRelu", "com.microsoft")
def qlinear_leaky_relu(rng):
    alpha = pick(rng, [0.01, 0.25])
    return unary(rng, lambda x: numpy.where(x < 0, numpy.float32(alpha) * x, x), {"alpha": alpha})


@row("QLinearSoftmax", "com.microsoft")
def qlinear_softmax(rng):
    """Before opset 13, over all dimensions from the axis on."""
    kind = pick(rng, ["UINT8", "INT8"])
    dims = shape(rng, low=1)
    at, opset = axis(rng, len(dims)), int(pick(rng, [11, 13]))
    attributes = {"axis": at, "opset": opset}
    if opset == 13 and rng.random() < 0.2:
        del attributes["axis"]
        at = -1
    inputs = [integers(rng, dims, kind), *quantizer(rng, kind), *quantizer(rng, kind)]
    # The least scale, by which all of the range is used.
    inputs[3] = numpy.full(inputs[3].shape, 1 / 256, numpy.float32)
    if rng.random() < 0.2:
        inputs[2] = None

    def right(given):
        x = real(*given[:3]).astype(numpy.float64)
        over = tuple(range(at % x.ndim, x.ndim)) if opset < 13 else (at % x.ndim,)
        if x.size:
            x = numpy.exp(x - x.max(over, keepdims=True))
            x = x / x.sum(over, keepdims=True)
        return [quantized(x, given[3], given[4], given[0].dtype)]

    return Case(inputs, attributes, expected=right)


@row("QLinearConcat", "com.microsoft")
def qlinear_concat(rng):
    kind = pick(rng, ["UINT8", "INT8"])
    dims = shape(rng, low=1)
    at = axis(rng, len(dims))
    inputs = quantizer(rng, kind)
    for _ in range(int(rng.integers(1, 5))):
        dims = list(dims)
        dims[at] = int(rng.integers(0, 5))
        inputs += [integers(rng, dims, kind), *quantizer(rng, kind)]

    def right(given):
        parts = [real(*given[i:i + 3]) for i in range(2, len(given), 3)]
        return [quantized(numpy.concatenate(parts, at), given[0], given[1], given[2].dtype)]

    return Case(inputs, {"axis": at}, expected=right)


@row("QLinearAveragePool", "com.microsoft")
def qlinear_average_pool(rng):
    spatial = int(rng.integers(1, 4))
    kind = pick(rng, ["UINT8", "INT8"])
    dims = [int(rng.integers(1, 4)) for _ in range(2)]
    dims += [int(rng.integers(4, 9)) for _ in range(spatial)]
    attributes = {"kernel_shape": [int(rng.integers(2, 5)) for _ in range(spatial)],
                  "count_include_pad": int(rng.integers(0, 2))}
    if rng.random() < 0.5:
        attributes["strides"] = [int(rng.integers(1, 4)) for _ in range(spatial)]
    if rng.random() < 0.5:
        attributes["pads"] = [int(rng.integers(0, 2)) for _ in range(2 * spatial)]
    inputs = [integers(rng, dims, kind), *quantizer(rng, kind, True), *quantizer(rng, kind, True)]

    def right(given):
        node = helper.make_node("AveragePool", ["x"], ["y"], **attributes)
        kinds = [helper.make_tensor_value_info(name, 1, [None] * len(dims)) for name in "xy"]
        model = helper.make_model(helper.make_graph([node], "pool", kinds[:1], kinds[1:]),
                                  opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
        found = ReferenceEvaluator(model).run(None, {"x": real(*given[:3])})[0]
        return [quantized(found, given[3], given[4], given[0].dtype)]

    return channels_last(rng, Case(inputs, attributes, expected=right))


def channels_last(rng, case):
    """The same, or half the time with channels as the last dimension."""
    if rng.random() < 0.5:
        return case
    right = case.expected(case.inputs)
    case.inputs[0] = numpy.ascontiguousarray(numpy.moveaxis(case.inputs[0], 1, -1))
    case.attributes = case.attributes | {"channels_last": 1}
    case.expected = lambda _: [numpy.moveaxis(right[0], 1, -1)]
    return case


@row("QLinearGlobalAveragePool", "com.microsoft")
def qlinear_global_average_pool(rng):
    kind = pick(rng, ["UINT8", "INT8"])
    dims = [int(rng.integers(1, 9)) for _ in range(int(rng.integers(3, 6)))]
    inputs = [integers(rng, dims, kind), *quantizer(rng, kind, True), *quantizer(rng, kind, True)]

    def right(given):
        mean = real(*given[:3]).astype(numpy.float64)
        mean = mean.mean(tuple(range(2, given[0].ndim)), keepdims=True)
        return [quantized(mean, given[3], given[4], given[0].dtype)]

    return channels_last(rng, Case(inputs, expected=right))
