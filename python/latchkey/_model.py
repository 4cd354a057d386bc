"""What a session says of its model: inputs, outputs, metadata, nodes and passes, as Python has it.

Each function takes an lk_py_session, which lives at least until the function returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from ._errors import fail, text
from ._native import ffi, lib
from ._tensor import numpy_dtype
from ._text import escape


class ValueInfo(NamedTuple):
    """An input or output of a model."""

    name: str
    dtype: numpy.dtype | None
    """None where the model leaves it open."""
    shape: tuple[int | str | None, ...] | None
    """None where the rank is open. A dimension that is not fixed is its name, or None."""


    def __str__(self) -> str:
        """``x: float32[n, 3, ?]``; a type or shape that is open is a ``?``."""
        return f"{escape(self.name)}: {self._type()}{self._dimensions()}"

    def _type(self) -> str:
        return self.dtype.name if self.dtype is not None else "?"

    def _dimensions(self) -> str:
        if self.shape is None:
            return "?"
        return "[" + ", ".join(escape(str(size)) if size is not None else "?"
                               for size in self.shape) + "]"


class NodeInfo(NamedTuple):
    """A node as it runs, after the passes."""

    op_type: str
    domain: str
    """``""``: ai.onnx."""
    name: str
    """What the model calls it, often ``""``."""
    output_name: str
    """The first output that it has."""
    fused: str
    """What was fused into it: ``"bias,relu"``; ``""``: nothing."""
    implementation: str
    """What it was bound to last; ``""`` before that, and where the shape depends on data."""


class PassInfo(NamedTuple):
    """A pass over the graph, which rewrote it when the model was opened."""

    name: str
    """What ``disabled_passes`` knows it by."""
    summary: str
    changes: int
    """How often it rewrote something in this model."""
    enabled: bool


class Refusal(NamedTuple):
    """A node that a pass has left as it is: its operators fit, and one condition does not hold."""

    pass_name: str
    """As :class:`PassInfo` has it."""
    op_type: str
    domain: str
    """``""``: ai.onnx."""
    node_name: str
    output_name: str
    """As :class:`NodeInfo` has them; all are ``""`` where it is of the model as a whole."""
    reason: str
    """What does not hold."""
    advice: str
    """What helps; ``""``: nothing is known to."""


@ffi.def_extern()
def lk_py_refusal(arg: Any, refusal: Any) -> None:
    """One more for the list of :func:`refusals`."""
    ffi.from_handle(arg).append(Refusal(text(getattr(refusal, "pass")), *(
        text(getattr(refusal, field)) for field in Refusal._fields[1:])))


def _each(session: Any, kind: str, count: Any, info: Any) -> Iterator[Any]:
    """Fills one struct of this kind again and again, and shows each."""
    native = lib.lk_py_session_get(session)
    out, error = ffi.new(f"{kind} *"), ffi.new("lk_error *")
    for i in range(count(native)):
        out.struct_size = ffi.sizeof(kind)
        status = info(native, i, out, error)
        if status:
            fail(status, error)
        yield out


def _values(session: Any, count: Any, info: Any) -> tuple[ValueInfo, ...]:
    found = []
    for value in _each(session, "lk_value_info", count, info):
        shape = None
        if value.rank >= 0:
            shape = tuple(
                value.dims[d] if value.dims[d] >= 0 else text(value.symbols[d]) or None
                for d in range(value.rank))
        found.append(ValueInfo(text(value.name), numpy_dtype(value.dtype), shape))
    return tuple(found)


def inputs(session: Any) -> tuple[ValueInfo, ...]:
    api = lib.lk_py_session_api()
    return _values(session, api.input_count, api.input_info)


def defaults(session: Any) -> tuple[ValueInfo, ...]:
    api = lib.lk_py_session_api()
    return _values(session, api.default_count, api.default_info)


def outputs(session: Any) -> tuple[ValueInfo, ...]:
    api = lib.lk_py_session_api()
    return _values(session, api.output_count, api.output_info)


def metadata(session: Any) -> dict[str, str]:
    api, native = lib.lk_py_session_api(), lib.lk_py_session_get(session)
    found, i = {}, 0
    while key := api.metadata_key(native, i):
        value = api.metadata_value(native, key)
        found[text(key)] = text(value) if value else ""
        i += 1
    return found


def nodes(session: Any) -> tuple[NodeInfo, ...]:
    api = lib.lk_py_session_api()
    return tuple(NodeInfo(*(text(getattr(node, field)) for field in NodeInfo._fields))
                 for node in _each(session, "lk_session_node", api.node_count, api.node_info))


def passes(session: Any) -> tuple[PassInfo, ...]:
    api = lib.lk_py_session_api()
    return tuple(PassInfo(text(one.name), text(one.summary), one.changes, bool(one.enabled))
                 for one in _each(session, "lk_session_pass", api.pass_count, api.pass_info))


def refusals(session: Any) -> tuple[Refusal, ...]:
    found: list[Refusal] = []
    handle, error = ffi.new_handle(found), ffi.new("lk_error *")
    status = lib.lk_py_session_api().refusals_visit(
        lib.lk_py_session_get(session), lib.lk_py_refusal, handle, error)
    if status:
        fail(status, error)
    return tuple(found)
