"""Products of bytes."""

import numpy
from onnx.reference.ops.op_conv import _conv_implementation

from case import Case, pick, row, values

BYTES = ["UINT8", "INT8"]


def integers(rng, dims, kind):
    info = numpy.iinfo(kind.lower())
    return values(rng, dims, kind, low=info.min, high=info.max)


def some_constants(rng, given):
    """Weights and what belongs to them may be initializers."""
    return {i for i in given if rng.random() < 0.5}


def matrices(rng, largest=40):
    """Shapes that can be multiplied; numpy.matmul's rules."""
    m, k, n = (int(rng.integers(1, largest)) for _ in range(3))
    k = 0 if rng.random() < 0.03 else k
    m = 0 if rng.random() < 0.03 else m
    batch = [int(rng.integers(1, 4)) for _ in range(int(rng.integers(0, 3)))]
    a, b = [*batch, m, k], [*batch, k, n]
    if batch and rng.random() < 0.5:
        b = b[-2:] if rng.random() < 0.5 else [1] * len(batch) + b[-2:]
    if batch and rng.random() < 0.2:
        a = a[-2:]
    if rng.random() < 0.1:
        a, b = a[-1:], b[-2:]
    return a, b


def of_columns(rng, b):
    """The shape of what B has for each column, or as a whole."""
    if rng.random() < 0.5:
        return pick(rng, [[], [1]])
    return [b[-1]] if len(b) == 2 else [*b[:-2], 1, b[-1]]


def by_numpy(inputs):
    """MatMulInteger, for what ONNX Runtime refuses: zero points of each row."""
    a, b, *zeros = inputs
    zeros = [0 if zero is None else zero.astype(numpy.int64) for zero in zeros] + [0, 0]
    if numpy.size(zeros[0]) == 1:
        zeros[0] = numpy.reshape(zeros[0], ())  # of A, whose rank it may exceed
    elif numpy.ndim(zeros[0]) == 1:
        zeros[0] = zeros[0][:, None]
    product = (a.astype(numpy.int64) - zeros[0]) @ (b.astype(numpy.int64) - zeros[1])
    return [numpy.asarray(product).astype(numpy.int32)]


@row("MatMulInteger")
def matmul_integer(rng):
    a, b = matrices(rng)
    kinds = [pick(rng, BYTES), pick(rng, BYTES)]
    inputs = [integers(rng, a, kinds[0]), integers(rng, b, kinds[1])]
    if rng.random() < 0.8:
        rows = pick(rng, [[], [1]])
        if len(a) > 1 and rng.random() < 0.4:
            rows = [a[0]] if len(a) == 2 else [*a[:-1], 1]
        inputs.append(integers(rng, rows, kinds[0]))
        if rng.random() < 0.8:
            inputs.append(integers(rng, of_columns(rng, b), kinds[1]))
    return Case(inputs, constants=some_constants(rng, range(1, len(inputs))),
                opset=int(rng.integers(10, 29)), expected=by_numpy)


def scale(rng, dims, low=0.01, high=0.1):
    return values(rng, dims, low=low, high=high)


def requantize(sums, factor, zero):
    """As ONNX Runtime does: in f32, clipped and then rounded to even."""
    info = numpy.iinfo(zero.dtype)
    zero = int(numpy.reshape(zero, ())) if zero.size == 1 else zero
    real = sums.astype(numpy.float32) * factor.astype(numpy.float32)
    low, high = numpy.float32(info.min - zero), numpy.float32(info.max - zero)
    return (numpy.rint(numpy.clip(real, low, high)) + zero).astype(info.dtype)


def qlinear_matmul_by_numpy(inputs):
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = inputs
    sums = by_numpy([a, b, a_zero, b_zero])[0]
    a_scale, b_scale, y_scale = (one.astype(numpy.float32) for one in (a_scale, b_scale, y_scale))
    return [requantize(sums, a_scale.reshape(()) * b_scale / y_scale.reshape(()), y_zero)]


@row("QLinearMatMul")
def qlinear_matmul(rng):
    a, b = matrices(rng)
    kinds = [pick(rng, BYTES) for _ in range(3)]
    columns, ones = of_columns(rng, b), pick(rng, [[], [1]])
    inputs = [integers(rng, a, kinds[0]), scale(rng, ones), integers(rng, ones, kinds[0]),
              integers(rng, b, kinds[1]), scale(rng, columns), integers(rng, columns, kinds[1]),
              scale(rng, ones, 0.2, 4), integers(rng, ones, kinds[2])]
    return Case(inputs, constants=some_constants(rng, range(1, 8)),
                opset=int(rng.integers(10, 29)), expected=qlinear_matmul_by_numpy)


@row("QGemm", "com.microsoft")
def qgemm(rng):
    m, k, n = (int(rng.integers(1, 60)) for _ in range(3))
    kinds = [pick(rng, BYTES)] + [pick(rng, BYTES)]
    trans_a, trans_b = int(rng.integers(0, 2)), int(rng.integers(0, 2))
    columns = pick(rng, [[], [n]])
    inputs = [integers(rng, [k, m] if trans_a else [m, k], kinds[0]), scale(rng, []),
              integers(rng, [], kinds[0]), integers(rng, [n, k] if trans_b else [k, n], kinds[1]),
              scale(rng, columns), integers(rng, columns, kinds[1])]
    bias = pick(rng, [None, [n], [1, n], [m, n], [m, 1], [1]])
    inputs.append(None if bias is None else values(rng, bias, "INT32", low=-9999, high=9999))
    if rng.random() < 0.6:
        inputs += [scale(rng, [], 0.2, 4), integers(rng, [], pick(rng, BYTES))]
    attributes = {"transA": trans_a, "transB": trans_b, "alpha": pick(rng, [1.0, 0.5])}
    return Case(inputs, attributes, constants=some_constants(rng, [3, 4, 5]),
                expected=lambda given: qgemm_by_numpy(given, attributes))


def qgemm_by_numpy(inputs, attributes):
    a, a_scale, a_zero, b, b_scale, b_zero, c, *y = inputs
    a = a.T if attributes["transA"] else a
    b = b.T if attributes["transB"] else b
    sums = by_numpy([a, b, a_zero, b_zero])[0] + (0 if c is None else c)
    factor = numpy.float32(attributes["alpha"]) * a_scale * b_scale
    if not y:
        return [(sums.astype(numpy.float32) * factor).astype(numpy.float32)]
    return [requantize(sums, factor / y[0], y[1])]


@row("MatMulIntegerToFloat", "com.microsoft")
def matmul_integer_to_float(rng):
    a, b = matrices(rng)
    kinds = [pick(rng, BYTES), pick(rng, BYTES)]
    columns = of_columns(rng, b)
    inputs = [integers(rng, a, kinds[0]), integers(rng, b, kinds[1]), scale(rng, []),
              scale(rng, columns)]
    inputs.append(integers(rng, [], kinds[0]) if rng.random() < 0.7 else None)
    inputs.append(integers(rng, columns, kinds[1]) if rng.random() < 0.7 else None)
    if rng.random() < 0.5:
        inputs.append(values(rng, [b[-1]]))

    def by_numpy_in_float(given):
        left, right, a_scale, b_scale, a_zero, b_zero, *bias = given
        sums = by_numpy([left, right, a_zero, b_zero])[0].astype(numpy.float32)
        return [(sums * (a_scale * b_scale) + (bias[0] if bias else 0)).astype(numpy.float32)]

    return Case(inputs, constants=some_constants(rng, [1, 3, 5, 6]) & set(range(len(inputs))),
                expected=by_numpy_in_float, tolerance=1e-4)


@row("DynamicQuantizeMatMul", "com.microsoft")
def dynamic_quantize_matmul(rng):
    a, b = matrices(rng)
    b = b[-2:]  # what ONNX Runtime takes
    a, b = [*a[:-1], max(1, a[-1])], [max(1, b[0]), b[1]]
    kind = pick(rng, BYTES)
    columns = pick(rng, [[1], [b[-1]]])
    # 7 bits with a sign: ONNX Runtime's sums of two products saturate on a processor without VNNI
    right = values(rng, b, kind, low=-64, high=63) if kind == "INT8" else integers(rng, b, kind)
    inputs = [values(rng, a), right, scale(rng, columns)]
    inputs.append(integers(rng, columns, kind) if rng.random() < 0.7 else None)
    if rng.random() < 0.5:
        inputs.append(values(rng, [b[-1]]))
    return Case(inputs, constants=some_constants(rng, [1, 2]), tolerance=1e-4)


# ---- convolutions ----


def of_weights(rng, w, kind):
    """A zero point: of the whole or of each channel, often 0."""
    dims = pick(rng, [[], [w[0]]])
    return numpy.zeros(dims, kind.lower()) if rng.random() < 0.5 else integers(rng, dims, kind)


def convolution(rng):
    """X, W and attributes."""
    spatial = int(rng.integers(1, 4))
    groups = pick(rng, [1, 1, 2, 3])
    channels, outputs = (groups * int(rng.integers(1, 9)) for _ in range(2))
    if rng.random() < 0.2:  # depthwise, with a multiplier
        groups = channels = int(rng.integers(2, 40))
        outputs = groups * pick(rng, [1, 1, 2])
    elif rng.random() < 0.1:
        outputs = groups * int(rng.integers(20, 80))
    x = [int(rng.integers(1, 3)), channels, *(int(rng.integers(4, 10)) for _ in range(spatial))]
    w = [outputs, channels // groups, *(int(rng.integers(1, 4)) for _ in range(spatial))]
    attributes = {"group": groups}
    if rng.random() < 0.5:
        attributes["strides"] = [int(rng.integers(1, 4)) for _ in range(spatial)]
    if rng.random() < 0.5:
        attributes["pads"] = [int(rng.integers(0, 3)) for _ in range(2 * spatial)]
    elif rng.random() < 0.5:
        attributes["auto_pad"] = pick(rng, ["SAME_UPPER", "SAME_LOWER", "VALID"])
    if "auto_pad" not in attributes and rng.random() < 0.3:
        largest = min((x[2 + i] - 1) // max(1, w[2 + i] - 1) for i in range(spatial))
        attributes["dilations"] = [int(rng.integers(1, min(2, largest) + 1))
                                   for _ in range(spatial)]
    return x, w, attributes


def sums_of(x, w, x_zero, w_zero, attributes):
    """Exact, in f64, by ONNX's reference."""
    left = x.astype(numpy.float64) - (0 if x_zero is None else x_zero.astype(numpy.float64))
    right = w.astype(numpy.float64)
    if w_zero is not None:
        zero = w_zero.astype(numpy.float64)
        right = right - zero.reshape([-1] + [1] * (w.ndim - 1) if zero.ndim == 1 else ())
    get = attributes.get
    made = _conv_implementation(left, right, None, get("auto_pad", "NOTSET"), get("dilations"),
                                attributes["group"], list(w.shape[2:]), get("pads"),
                                get("strides"))
    return made.astype(numpy.int32)


@row("ConvInteger")
def conv_integer(rng):
    x, w, attributes = convolution(rng)
    kinds = [pick(rng, BYTES), pick(rng, BYTES)]
    inputs = [integers(rng, x, kinds[0]), integers(rng, w, kinds[1])]
    if rng.random() < 0.8:
        inputs.append(integers(rng, [], kinds[0]))
        if rng.random() < 0.8:
            inputs.append(of_weights(rng, w, kinds[1]))
    return Case(inputs, attributes, constants=some_constants(rng, range(1, len(inputs))),
                opset=int(rng.integers(10, 29)),
                expected=lambda given: [sums_of(*(given + [None, None])[:4], attributes)])


def qlinear_conv_by_numpy(inputs, attributes):
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, *bias = inputs
    sums = sums_of(x, w, x_zero, w_zero, attributes)
    channels = [1, -1] + [1] * (x.ndim - 2)
    if bias:
        sums = sums + bias[0].reshape(channels)
    factor = x_scale * w_scale / y_scale
    return [requantize(sums, factor.reshape(channels) if factor.ndim else factor, y_zero)]


@row("QLinearConv")
def qlinear_conv(rng):
    x, w, attributes = convolution(rng)
    kinds = [pick(rng, BYTES) for _ in range(3)]
    w_zero = of_weights(rng, w, kinds[1])
    inputs = [integers(rng, x, kinds[0]), scale(rng, []), integers(rng, [], kinds[0]),
              integers(rng, w, kinds[1]), scale(rng, w_zero.shape), w_zero,
              scale(rng, [], 0.2, 4), integers(rng, [], kinds[2])]
    if rng.random() < 0.6:
        inputs.append(values(rng, [w[0]], "INT32", low=-9999, high=9999))
    return Case(inputs, attributes, constants=some_constants(rng, range(1, len(inputs))),
                opset=int(rng.integers(10, 29)),
                expected=lambda given: qlinear_conv_by_numpy(given, attributes))


@row("DynamicQuantizeLinear")
def dynamic_quantize_linear(rng):
    dims = [int(rng.integers(1, 9)) for _ in range(int(rng.integers(0, 5)))]
    low = pick(rng, [-3, 0, 1, -9])
    x = values(rng, dims, low=low, high=low + 5)
    opset = int(rng.integers(11, 29))
    if rng.random() < 0.05:
        # ONNX Runtime's scale of nothing but 0 is 1; ONNX's reference has 1 / 255
        x, opset = numpy.zeros(dims, numpy.float32), 21
    return Case([x], n_outputs=3, opset=opset)
