"""What an engine has offered for the works of nodes, and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from . import _check
from ._errors import text
from ._model import ValueInfo
from ._native import ffi

_RULES = ("none", "option", "estimates", "measured", "size_class")  # lk_choice_rule


class Choice(NamedTuple):
    """What an engine has offered for a work of a node, and what was chosen, when the node was bound
    last. docs/statistics.md says what each field is, under ``engine.choices``: ``number`` is
    ``index`` there, ``measured`` is ``is_measured``, ``of_class`` is ``is_of_class``, and
    ``taken`` is the engine where it has ``is_engine``."""

    node: str
    """The output that it has; cut after 63 bytes."""
    work: str
    """Its kind, such as ``"conv"``."""
    engine: str
    """The engine that was asked besides native."""
    native_ns: float
    """What a run takes by native: nanoseconds as measured, or else an estimate, of which only the
    ratio to the other one counts."""
    engine_ns: float
    """The same by the engine, with an estimate of what it takes to bring tensors into its layouts;
    0: it has no offer."""
    taken: str
    """Who computes it: ``"native"``, or the engine."""
    measured: bool
    reason: str
    """Why native computes it; ``""``: the engine does."""
    rule: str
    """What has decided: ``"option"``, the engine of the context computes all that it takes; of the
    engine ``auto`` ``"measured"`` times, ``"size_class"``, times of other works of the size class,
    or ``"estimates"``; ``"none"``: nothing, the engine left it, as ``reason`` says."""
    number: int
    """Among the works of the node, from 0."""
    estimated_native_ns: float
    """An estimate of ``native_ns``, also where it was measured; 0: the engine has no offer."""
    estimated_engine_ns: float
    """The same of ``engine_ns``."""
    reorder_ns: float
    """Of ``engine_ns``: what brings tensors into the layouts of the engine, estimated."""
    build_ns: float
    """What the engine takes to build for the work, estimated."""
    tensor_bytes: int
    """Of all tensors of the work; 0: the engine has no offer."""
    built_bytes: int
    """Of memory of what the engine has built for it; 0: nothing."""
    post_ops: int
    """Of the node, which the work may end with. Native takes all."""
    taken_post_ops: int
    """The first of these, that the engine would take."""
    of_class: bool
    """``native_ns`` is estimated, and the ratio of ``engine_ns`` to it was measured: of other works
    of the size class. Then ``measured`` is false."""


def choices(api: Any, context: Any) -> tuple[Choice, ...]:
    """Those of an lk_context, in the order in which nodes were bound first."""
    found: list[Choice] = []
    info = ffi.new("lk_engine_choice_info *")
    info.struct_size = ffi.sizeof("lk_engine_choice_info")
    while not api.engine_choice(context, len(found), info, ffi.NULL):
        engine = text(info.engine)
        found.append(Choice(text(info.node), text(info.work), engine, info.native_ns,
                            info.engine_ns, engine if info.is_engine else "native",
                            bool(info.is_measured), text(info.reason), _RULES[info.rule],
                            info.index, info.estimated_native_ns, info.estimated_engine_ns,
                            info.reorder_ns, info.build_ns, info.tensor_bytes, info.built_bytes,
                            info.n_post_ops, info.taken_post_ops, bool(info.is_of_class)))
    return tuple(found)


_OFFERS = "find offers"


def _shape(value: ValueInfo, given: Mapping[str, Any]) -> tuple[int, ...]:
    if value.name in given:
        shape, name = given[value.name], f"shapes[{value.name!r}]"
        if isinstance(shape, str) or not isinstance(shape, Sequence):
            raise _check.wrong_kind(_OFFERS, name, shape, "a tuple of sizes")
        return tuple(_check.whole(_OFFERS, name, size, 0, 2**31 - 1) for size in shape)
    fixed = tuple(size for size in value.shape or () if isinstance(size, int))
    if value.shape is None or len(fixed) < len(value.shape):
        raise ValueError(f"failed to {_OFFERS}: the model leaves open {value}, give it in 'inputs' "
                         "or 'shapes'")
    return fixed


def _zeros(value: ValueInfo, given: Mapping[str, Any]) -> Any:
    shape = _shape(value, given)
    try:
        return numpy.zeros(shape, value.dtype or numpy.float32)
    except (ValueError, MemoryError) as why:
        kind = MemoryError if isinstance(why, MemoryError) else ValueError
        raise kind(f"failed to {_OFFERS}: an array for {value.name!r} cannot be made, give it a "
                   f"smaller shape: {why}") from None


def sized(values: Sequence[ValueInfo], inputs: Mapping[str, Any],
          shapes: Mapping[str, Any]) -> dict[str, Any]:
    """``inputs``, and zeros for the others: of these shapes, or of those that the model fixes."""
    _check.mapping(_OFFERS, "inputs", inputs, "a dict {input name: array}")
    _check.mapping(_OFFERS, "shapes", shapes, "a dict {input name: shape}")
    names = [value.name for value in values]
    for name in shapes:
        if name in inputs or name not in names:
            why = "is in 'inputs' too" if name in inputs else "is no input of the model"
            raise ValueError(f"failed to {_OFFERS}: {name!r} of 'shapes' {why}, the model's inputs "
                             f"are {', '.join(map(repr, names))}")
    zeros = {value.name: _zeros(value, shapes) for value in values if value.name not in inputs}
    return {**inputs, **zeros}
