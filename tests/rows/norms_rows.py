"""Norms over dimensions, channels and groups."""

import numpy

from case import Case, axis, doubled, halved, pick, row, shape, values


EPSILON = float(numpy.float32(1e-3))  # as an attribute holds it


def layer(rng, scales, opset, before=0, domain_axis=True):
    """A tensor, others of its shape, and scales that broadcast to it."""
    dims = shape(rng, low=1, high=6, largest=6, empty=0)
    dims[-1] = int(rng.integers(1, 70))
    attributes = {"epsilon": float(pick(rng, [1e-5, 1e-3, 0.5]))}
    at = -1
    if domain_axis:
        at = axis(rng, len(dims))
        attributes["axis"] = at
    inputs = [values(rng, dims) for _ in range(1 + before)]
    inputs += [values(rng, dims[at:]) for _ in range(scales)]
    return Case(inputs, attributes, opset=opset, tolerance=1e-4)


@row("LayerNormalization")
def layer_normalization(rng):
    case = layer(rng, int(rng.integers(1, 3)), 17)
    case.n_outputs = int(rng.integers(1, 4))
    if (wide := doubled(rng, case)) is not None:
        if wide.n_outputs > 1:  # those are f32
            wide.tolerance = 2e-5
        return wide
    return halved(rng, case)


@row("RMSNormalization")
def rms_normalization(rng):
    case = layer(rng, 1, 23)
    return doubled(rng, case) or halved(rng, case)


@row("SimplifiedLayerNormalization")
def simplified_layer_normalization(rng):
    case = layer(rng, 1, 17)
    case.expected = by_rms(case, 0)
    return doubled(rng, case) or halved(rng, case)


def by_rms(case, before):
    """What divides by the root of the mean of squares; `before`: inputs that are added."""

    def expected(inputs):
        x = inputs[0].astype(numpy.float64)
        for other in inputs[1:1 + before]:
            x = x + other
        first = case.attributes.get("axis", -1) % x.ndim
        axes = tuple(range(first, x.ndim))
        mean = numpy.mean(x * x, axis=axes, keepdims=True)
        epsilon = float(numpy.float32(case.attributes["epsilon"]))
        y = x / numpy.sqrt(mean + epsilon) * inputs[1 + before]
        return [y.astype(inputs[0].dtype)]

    return expected


def by_sum(is_centered):
    """What normalizes a sum, whose f64 ONNX Runtime's schema does not allow."""

    def expected(inputs):
        x, skipped, scale, *others = inputs
        shift = others.pop(0) if is_centered and others else 0
        x = x + skipped + (others[0] if others else 0)
        if is_centered:
            x = x - x.mean(axis=-1, keepdims=True)
        return [x / numpy.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * scale + shift]

    return expected


def skip(rng, scales, is_centered):
    case = layer(rng, scales, 17, before=1, domain_axis=False)
    batch, length, width = (int(rng.integers(1, 6)) for _ in range(3))
    case.inputs = [values(rng, [batch, length, width]) for _ in range(2)]
    case.inputs += [values(rng, [width]) for _ in range(scales)]
    case.attributes["epsilon"] = EPSILON
    if (wide := doubled(rng, case)) is not None:
        wide.expected = by_sum(is_centered)
        return wide
    return halved(rng, case)


@row("SkipLayerNormalization", "com.microsoft")
def skip_layer_normalization(rng):
    return skip(rng, int(rng.integers(1, 4)), True)


@row("SkipSimplifiedLayerNormalization", "com.microsoft")
def skip_simplified_layer_normalization(rng):
    return skip(rng, int(rng.integers(1, 3)), False)


@row("InstanceNormalization")
def instance_normalization(rng):
    dims = shape(rng, low=3, high=5, largest=9, empty=0)
    inputs = [values(rng, dims), values(rng, dims[1:2]), values(rng, dims[1:2])]
    return halved(rng, Case(inputs, {"epsilon": 1e-3}, opset=17, tolerance=1e-4))


def grouped(rng):
    """The shape of an input, and its groups."""
    groups, each = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    return [int(rng.integers(1, 4)), groups * each] + shape(rng, 1, 3, 6, 0), groups


@row("GroupNormalization")
def group_normalization(rng):
    dims, groups = grouped(rng)
    opset = pick(rng, [18, 21])
    scales = [groups if opset == 18 else dims[1]]
    inputs = [values(rng, dims), values(rng, scales), values(rng, scales)]
    return halved(rng, Case(inputs, {"num_groups": groups, "epsilon": 1e-3}, opset=opset,
                            tolerance=1e-4))


@row("GroupNormalization", "latchkey")
def group_normalization_fused(rng):
    dims, groups = grouped(rng)

    def expected(inputs):
        x, scale, bias = inputs
        flat = x.reshape(dims[0], groups, -1)
        flat = flat - flat.mean(axis=-1, keepdims=True)
        normal = flat / numpy.sqrt((flat * flat).mean(axis=-1, keepdims=True) + 1e-3)
        return [normal.reshape(dims) * scale + bias]

    scales = [dims[1]] + [1] * (len(dims) - 2)
    inputs = [values(rng, dims), values(rng, scales), values(rng, scales)]
    return halved(rng, Case(inputs, {"num_groups": groups, "epsilon": 1e-3}, tolerance=1e-4,
                            expected=expected))


@row("BatchNormalization")
def batch_normalization(rng):
    dims = shape(rng, low=2, high=5, largest=9, empty=0.02)
    inputs = [values(rng, dims), *(values(rng, dims[1:2]) for _ in range(3)),
              values(rng, dims[1:2], low=0.1, high=3)]
    constants = {i for i in range(1, 5) if rng.random() < 0.5}
    case = Case(inputs, {"epsilon": 1e-3}, constants, opset=pick(rng, [9, 14, 15]),
                tolerance=1e-4)
    return doubled(rng, case) or halved(rng, case)


@row("LRN")
def lrn(rng):
    dims = shape(rng, low=3, high=5, largest=9, empty=0)
    attributes = {"size": int(rng.integers(0, 4)) * 2 + 1, "alpha": 0.1, "bias": 1.5}
    return halved(rng, Case([values(rng, dims)], attributes, opset=13, tolerance=1e-4,
                            expected=lambda inputs: [by_lrn(inputs[0], attributes)]))


def by_lrn(x, attributes):
    size = attributes["size"]
    squares = numpy.zeros(x.shape)
    for c in range(x.shape[1]):
        first, end = max(0, c - (size - 1) // 2), c + size // 2 + 1
        squares[:, c] = numpy.sum(x[:, first:end].astype(numpy.float64) ** 2, axis=1)
    factor = (attributes["bias"] + attributes["alpha"] / size * squares) ** 0.75
    return (x / factor).astype(numpy.float32)
