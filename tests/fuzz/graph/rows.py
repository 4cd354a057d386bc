"""Nodes to put into a graph: drawn by the generators of tests/rows, steered towards values that
the graph has."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import onnx

TESTS = Path(__file__).parents[2]
FOLDER = TESTS / "rows"
sys.path += [str(TESTS / "harness"), str(FOLDER)]
import case  # noqa: E402
from case import ROWS, Case, dtype_of  # noqa: E402

MODULES = [importlib.import_module(path.stem) for path in sorted(FOLDER.glob("*_rows.py"))]

def _kind(at: Case, index: int = 0) -> str:
    return at.inputs[index].dtype.kind + str(at.inputs[index].dtype.itemsize)


def _always(_: Case) -> bool:
    return True


def _hides_by_one_row(at: Case) -> bool:
    """An Attention that is causal, and has a mask of one row for all queries."""
    mask = at.inputs[3] if len(at.inputs) > 3 else None
    return bool(at.attributes.get("is_causal")) and mask is not None and mask.shape[-2:-1] == (1,)


# Where the reference evaluator (onnx.reference.ReferenceEvaluator) is no judge, and why. ONNX
# Runtime was asked about those where it is wrong, and gives what Latchkey gives.
LEFT_OUT: dict[str, tuple[str, Callable[[Case], bool]]] = {
    "AffineGrid": ("gives f32 for f64", lambda at: _kind(at) == "f8"),
    "Attention": ("gives products behind softcap for those before it, and takes one row of a mask "
                  "for the first when keys of the past are hidden", lambda at:
                  ("softcap" in at.attributes and at.n_outputs == 4) or _hides_by_one_row(at)),
    "BatchNormalization": ("is wrong before opset 14", lambda at: at.opset < 14),
    "Bernoulli": ("is random", _always),
    "Erf": ("computes f64 in f32", lambda at: _kind(at) == "f8"),
    "GRU": ("ignores clip, sequence_lens, directions and most activations", _always),
    "GlobalMaxPool": ("gives another rank", _always),
    "Gelu": ("computes f64 with numbers of f32", lambda at: _kind(at) == "f8"),
    "GridSample": ("computes f64 in f32", lambda at: _kind(at) == "f8"),
    "GroupNormalization": ("loses digits of groups far from 0", _always),
    "HannWindow": ("divides by 0 in a symmetric window of one value", _always),
    "LRN": ("sums other channels", _always),
    "LSTM": ("ignores clip, sequence_lens, directions and most activations", _always),
    "LayerNormalization": ("gives mean and deviation in f64", lambda at: _kind(at) == "f8"),
    "LpNormalization": ("sums with signs", lambda at: at.attributes.get("p") == 1),
    "MeanVarianceNormalization": ("takes roots of negatives that rounding leaves", _always),
    "MelWeightMatrix": ("has numbers for inputs that no data can stand for", _always),
    "Multinomial": ("is random", _always),
    "NegativeLogLikelihoodLoss": (
        "divides by ignored weights, too", lambda at: "ignore_index" in at.attributes),
    "NonMaxSuppression": (
        "takes boxes of negative size and thresholds below 0, which ONNX leaves open", _always),
    "OneHot": ("does not cut indices to whole numbers; its depth is a number", _always),
    "QLinearConv": ("gives images of one dimension two, and of three, wrong numbers",
                    lambda at: at.inputs[0].ndim != 4),
    "RNN": ("ignores clip, sequence_lens, directions and most activations", _always),
    "RandomNormal": ("is random", _always),
    "RandomNormalLike": ("is random", _always),
    "RandomUniform": ("is random", _always),
    "RandomUniformLike": ("is random", _always),
    "ReduceMean": (
        "makes NaN of nothing, which ONNX leaves open; of integers, whatever that becomes",
        lambda at: at.inputs[0].dtype.kind in "iu" or at.inputs[0].size == 0),
    "ReduceSumSquare": ("gives i64 for i32", lambda at: at.inputs[0].dtype.kind in "iu"),
    "RoiAlign": ("samples other points", _always),
    "Shrink": ("computes integers in f64", lambda at: at.inputs[0].dtype.kind in "iu"),
    "Slice": ("takes an end that is out of range for one from the end",
              lambda at: len(at.inputs) > 4),
    "Unique": ("gives another order without sorted", lambda at: at.attributes.get("sorted") == 0),
}


# Of minus infinity they are 0 here, which is the limit, and NaN there: minus infinity times 0.
GATES = ("Gelu", "HardSwish", "Mish", "SwiGLU", "Swish")
SCATTERS = ("ScatterElements", "ScatterND")


def is_pointwise(op_type: str) -> bool:
    """Whether an element of its outputs depends on one of each input, or on its place."""
    return ROWS["", op_type].__module__ in ("elementwise_rows", "moves_rows")


def takes_infinities(op_type: str) -> bool:
    """Whether it is said what becomes of infinities and NaN: not in a sum, a maximum, which Scatter
    may look for, a gate or a quantized number."""
    return is_pointwise(op_type) and op_type not in (*GATES, *SCATTERS)


# The reference evaluator knows which parts of a real signal's transform are 0. Others sum them up.
TRANSFORMS = ("DFT", "STFT")


def leaves_open(op_type: str, inputs: list[numpy.ndarray | None]) -> bool:
    """Whether ONNX does not say what these values become, or the reference evaluator is no judge of
    them: what is divided by a scale of 0, a product of which parts are too large, or too small, for
    their type, numbers of 0 and more beside a slope that is none (it multiplies them by 0), and a
    range whose size is counted with a number that overflows."""
    first = inputs[0]
    if op_type == "PRelu":
        return not numpy.isfinite(inputs[1]).all()
    if op_type == "Range":
        return any(numpy.abs(float(value)) > 2**40 for value in inputs)
    if op_type == "ReduceProd" and first is not None and first.dtype.kind == "f":
        sizes = numpy.abs(first.astype(numpy.float64))
        sizes = numpy.log2(sizes[(sizes > 0) & numpy.isfinite(sizes)])
        most = 900 if first.dtype == numpy.float64 else 120
        return bool(max(sizes[sizes > 0].sum(), -sizes[sizes < 0].sum(), 0) > most)
    scales = [value for value in inputs[1:] if value is not None and value.dtype.kind == "f"]
    return "Q" in op_type and any((scale == 0).any() for scale in scales)


@functools.cache
def operators() -> tuple[str, ...]:
    """Those of ai.onnx. The reference evaluator has no other domain of the table."""
    return tuple(sorted(name for domain, name in ROWS
                        if domain == "" and LEFT_OUT.get(name, ("", None))[1] is not _always))


@functools.cache
def _schema(op_type: str, opset: int) -> onnx.defs.OpSchema | None:
    try:
        return onnx.defs.get_schema(op_type, opset)
    except onnx.defs.SchemaError:
        return None


def is_same(op_type: str, opset: int, other: int) -> bool:
    """Whether two opsets have the same version of an operator."""
    schemas = _schema(op_type, opset), _schema(op_type, other)
    return None not in schemas and schemas[0].since_version == schemas[1].since_version


class Steering:
    """While it is on, generators get the wanted shape, type and opset where these are allowed."""

    def __init__(self, wanted: numpy.ndarray, opset: int):
        self.wanted, self.opset = wanted, opset
        self.saved: list[tuple[object, str, object]] = []

    def shape(self, rng, low=0, high=4, largest=5, empty=0.05):
        dims = self.wanted.shape
        if low <= len(dims) <= high and max(dims, default=0) <= max(largest, 12):
            return list(dims)
        return case.shape(rng, low, high, largest, empty)

    def pick(self, rng, choices):
        kinds = [name for name in choices
                 if isinstance(name, str) and name in case.ALL_TYPES
                 and dtype_of(name) == self.wanted.dtype] if len(choices) < 40 else []
        if kinds:
            return kinds[0]
        same = [one for one in choices if isinstance(one, int) and one == self.opset]
        return same[0] if same else case.pick(rng, choices)

    def broadcast(self, rng, dims, n=2):
        return [list(dims)] + case.broadcast(rng, dims, n - 1)

    def opset_of(self, rng, op_type):
        return self.opset

    def type_of(self, rng, op_type, opset, index=0):
        allowed = onnx.defs.get_schema(op_type, opset).inputs[index].types
        return self.pick(rng, sorted(case.SCHEMA_TYPES[name] for name in allowed
                                     if name in case.SCHEMA_TYPES))

    def __enter__(self):
        for module in MODULES:
            for name in ("shape", "pick", "broadcast", "opset_of", "type_of"):
                if getattr(module, name, None) is getattr(case, name):
                    self.saved.append((module, name, getattr(module, name)))
                    setattr(module, name, getattr(self, name))
        return self

    def __exit__(self, *_):
        for module, name, function in self.saved:
            setattr(module, name, function)


def draw(rng, op_type: str, wanted: numpy.ndarray, opset: int) -> Case | None:
    """A node of this operator that the opset has; None: none was drawn."""
    if _schema(op_type, opset) is None:
        return None
    _, is_left_out = LEFT_OUT.get(op_type, ("", None))
    with Steering(wanted, opset):
        for _ in range(6):
            try:
                found = ROWS["", op_type](rng)
            except (ArithmeticError, LookupError, RecursionError, ValueError):
                continue  # its operator has no node for such a shape, which it would not draw
            if is_left_out is not None and is_left_out(found):
                continue
            if is_same(op_type, found.opset, opset):
                return found
    return None
