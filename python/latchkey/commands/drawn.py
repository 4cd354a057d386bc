"""The numbers of random inputs: by their type, and integers by what reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy

from .._shapes import needed

# Where a large number is none that is allowed: it is an index, a length or a count of steps.
_SMALL = frozenset((
    "ArrayFeatureExtractor", "BitShift", "EmbedLayerNormalization", "GRU", "Gather",
    "GatherBlockQuantized", "GatherElements", "GatherND", "If", "LSTM", "Loop", "MaxUnpool",
    "NegativeLogLikelihoodLoss", "OneHot", "RNN", "ReverseSequence", "Scan", "Scatter",
    "ScatterElements", "ScatterND", "SequenceAt", "SequenceErase", "SequenceInsert", "SequenceMap",
    "SoftmaxCrossEntropyLoss", "TensorScatter", "Upsample"))
_DIVIDES = frozenset(("Div", "Mod"))
# Behind these are numbers that the model has made, in whatever range it takes them.
_MAKES_NEW = frozenset((
    "ArgMax", "ArgMin", "Attention", "Conv", "ConvInteger", "ConvTranspose", "FusedMatMul", "Gemm",
    "LayerNormalization", "MatMul", "MatMulInteger", "MatMulNBits", "MultiHeadAttention",
    "NonMaxSuppression", "QLinearConv", "QLinearMatMul", "Shape", "Size", "Softmax", "TopK"))


def integer_limits(nodes: Sequence[Mapping[str, Any]],
                   types: Mapping[str, numpy.dtype | None]) -> dict[str, tuple[int, int]]:
    """The least and the most of each input of whole numbers.

    :param nodes: of a session's statistics, in their order.
    :param types: of the inputs.
    """
    of_shapes, small, divisors = needed(nodes), _read_by(nodes, _SMALL), _read_by(nodes, _DIVIDES)
    found = {}
    for name, dtype in types.items():
        if dtype is None or dtype.kind not in "iu":
            continue
        limits = (0, 9)
        if name in of_shapes:  # any other number may be a shape that does not fit
            limits = (0, 0)
        elif name in small:
            limits = (0, 1)
        elif dtype.itemsize == 1:  # a picture, or a quantized value
            limits = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
        if name in divisors and limits[1] > 0:
            limits = max(1, limits[0]), limits[1]
        found[name] = limits
    return found


def _read_by(nodes: Sequence[Mapping[str, Any]], kinds: Collection[str]) -> set[str]:
    """Values that such nodes read, or that what they read is made of."""
    found: set[str] = set()
    for node in reversed(nodes):
        leads_on = node["op_type"] not in _MAKES_NEW and found.intersection(node["outputs"])
        if node["op_type"] in kinds or leads_on:
            found.update(node["inputs"])
    return found


def draw(dtype: numpy.dtype, shape: Sequence[int], limits: tuple[int, int],
         seed: Sequence[int]) -> numpy.ndarray:
    """Floats uniform in [0,1), of which each type has fewer than it has numbers; bools; integers
    between ``limits``, both included."""
    source = numpy.random.default_rng(seed)
    if dtype.kind == "b":
        return source.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return source.integers(*limits, shape, numpy.int64, endpoint=True).astype(dtype)
    bits = numpy.finfo(dtype).nmant if dtype.kind == "f" else 7  # bf16
    array: numpy.ndarray = numpy.floor(source.random(shape) * 2**(bits + 1)) / 2**(bits + 1)
    return array.astype(dtype)
