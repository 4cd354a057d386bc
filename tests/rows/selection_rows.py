"""Operators whose outputs are as large as the elements say."""

import numpy

from case import ALL_TYPES, Case, axis, pick, row, shape, values


@row("NonZero")
def non_zero(rng):
    kind = pick(rng, ["FLOAT", "INT32", "INT64", "UINT8", "BOOL"])
    return Case([values(rng, shape(rng, low=1, high=6), kind, low=0, high=1.5)], opset=13)


@row("Compress")
def compress(rng):
    dims = shape(rng, low=1, high=5)
    kind = pick(rng, [name for name in ALL_TYPES if name != "BFLOAT16"])
    at = axis(rng, len(dims))
    flat = rng.random() < 0.3
    length = int(numpy.prod(dims)) if flat else dims[at]
    condition = values(rng, [int(rng.integers(0, length + 1))], "BOOL")
    return Case([values(rng, dims, kind), condition], {} if flat else {"axis": at}, opset=11)


@row("Unique")
def unique(rng):
    dims = shape(rng, low=1, high=3, empty=0)
    kind = pick(rng, ["FLOAT", "DOUBLE", "INT64", "INT8"])
    attributes = {"sorted": int(rng.integers(0, 2))}
    if rng.random() < 0.5:
        attributes["axis"] = axis(rng, len(dims))
    x = numpy.round(values(rng, dims, kind, low=0, high=2)).astype(kind.lower().replace(
        "float", "float32").replace("double", "float64"))
    return Case([x], attributes, n_outputs=int(rng.integers(1, 5)), opset=11)


@row("NonMaxSuppression")
def non_max_suppression(rng):
    batches, classes, boxes = (int(rng.integers(1, size)) for size in (3, 4, 9))
    corners = values(rng, [batches, boxes, 4], low=0, high=1)
    scores = values(rng, [batches, classes, boxes], low=0, high=1)
    inputs = [corners, scores, numpy.array([rng.integers(0, 6)], numpy.int64),
              numpy.array([rng.uniform(0, 1)], numpy.float32),
              numpy.array([rng.uniform(0, 0.5)], numpy.float32)]
    return Case(inputs[:int(rng.integers(2, 6))],
                {"center_point_box": int(rng.integers(0, 2))}, opset=11)
