"""What the engine ``auto`` has chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._errors import text
from ._native import ffi


class Choice(NamedTuple):
    """What the engine ``auto`` has chosen for a work of a node, when it was bound last."""

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


def choices(api: Any, context: Any) -> tuple[Choice, ...]:
    """Those of an lk_context, in the order in which nodes were bound first."""
    found: list[Choice] = []
    info = ffi.new("lk_engine_choice_info *")
    info.struct_size = ffi.sizeof("lk_engine_choice_info")
    while not api.engine_choice(context, len(found), info, ffi.NULL):
        engine = text(info.engine)
        found.append(Choice(text(info.node), text(info.work), engine, info.native_ns,
                            info.engine_ns, engine if info.is_engine else "native",
                            bool(info.is_measured), text(info.reason)))
    return tuple(found)
