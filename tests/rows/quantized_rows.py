"""Whole numbers for real ones."""

import numpy

from case import Case, axis, pick, row, shape, values


def scales(rng, dims, kind):
    """A scale and a zero point for a tensor, with the attributes that say how they lie."""
    at = axis(rng, len(dims))
    form = pick(rng, ["one", "axis", "blocks"])
    attributes, given = {}, []
    if form == "axis":
        given, attributes = [dims[at]], {"axis": at}
    if form == "blocks":
        block = pick(rng, [size for size in range(1, dims[at] + 1) if dims[at] % size == 0])
        attributes = {"axis": at, "block_size": block}
        given = list(dims)
        given[at] = dims[at] // block
    info = numpy.iinfo(kind.lower())
    scale = values(rng, given, low=0.01, high=0.5)
    return scale, values(rng, given, kind, low=info.min, high=info.max), attributes


@row("QuantizeLinear")
def quantize_linear(rng):
    dims = shape(rng, low=1, high=5, largest=8, empty=0)
    kind = pick(rng, ["UINT8", "INT8", "UINT16", "INT16"])
    scale, zero, attributes = scales(rng, dims, kind)
    x = values(rng, dims, low=-90, high=90)
    if rng.random() < 0.3 and kind == "UINT8":
        zero = None
    return Case([x, scale, zero], attributes, opset=21)


@row("DequantizeLinear")
def dequantize_linear(rng):
    dims = shape(rng, low=1, high=5, largest=8, empty=0)
    kind = pick(rng, ["UINT8", "INT8", "UINT16", "INT16"])
    scale, zero, attributes = scales(rng, dims, kind)
    info = numpy.iinfo(kind.lower())
    x = values(rng, dims, kind, low=info.min, high=info.max)
    return Case([x, scale, None if rng.random() < 0.3 else zero], attributes, opset=21)
