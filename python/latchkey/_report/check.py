"""Whether a file has the parts that a page is made of, each of its kind.

The scripts of the page trust what they get: what they would stumble over is found here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._text import escape

_MOST_SHOWN = 40  # characters of a value in a sentence


OWNERS = ("cache", "weights", "arenas", "spare", "other")
"""Who has memory, as statistics name them."""


class _Or(NamedTuple):
    """Also ``null``, or not there."""

    kind: Any


# A kind is str, int (a number that is not negative, also with a fraction), a list of a kind, or an
# object by its fields, which may have others besides.
_SIZE = [{"name": str, "shape": [int]}]
_NODE = {"op_type": str, "domain": str, "name": str, "output_name": str, "fused": str,
         "implementation": str, "inputs": _Or([str]), "outputs": _Or([str])}
_COUNTED = {"binds": int, "bind_ns": int}
_SESSION = {
    "runs": int, "run_plan_builds": int, "nodes": [_NODE | _COUNTED],
    "sizes": [{"part": str, "inputs": _SIZE, "runs": int, "builds": int, "build_ns": int,
               "bytes": int}]}
_VALUES = dict.fromkeys(("builds", "build_ns", "hits", "misses", "waits", "failed_builds",
                         "evictions", "entries", "bytes"), int)
_CONTEXT = {
    "cache": {"kinds": {"run": {"build_ns": int, "evictions": int}, "value": _Or(_VALUES)},
              "capacity_bytes": _Or(int)},
    "engine": _Or({"name": str, "choices": _Or([{"node": str, "engine": str, "is_engine": int}])}),
    "memory": {"bytes": int, "peak_bytes": int, "limit_bytes": _Or(int),
               "owners": dict.fromkeys(OWNERS, int)}}
_STEP = {"node": str, "output": str, "kind": str, "total_ms": int}
_REQUEST = {"begin_ns": int, "ns": int, "size": _Or(int), "first": _Or(int), "others": int}
_SAMPLES = {name: [int] for name in ("at_ns", "bytes", "peak_bytes", "waiting", *(
    f"{owner}_bytes" for owner in OWNERS))} | {"limit_bytes": [_Or(int)]}
_RECORDING = {
    "version": str, "began": str, "duration_ns": int, "ended_by": _Or(str),
    "machine": {"processor": str, "processors": int, "memory_bytes": int, "system": str},
    "model": {"name": str}, "options": {},
    "nodes": [_NODE | {"made_of": _Or([{"op_type": str, "name": str}])}],
    "samples": _SAMPLES,
    "sizes": {"rows": [_SIZE]},
    "requests": {"count": int, "failed": int, "fields": [str], "rows": [[_Or(int)]]},
    "slowest": [_REQUEST | {"steps": _Or([_STEP | {"operator": str}])}],
    "profile": {"runs": int, "steps": [_STEP | {"tiles": [str], "engine": _Or(str)}]},
    "statistics": {"session": _SESSION, "context": _CONTEXT},
    "explanation": [{"text": str, "details": [str], "advice": str, "lost_ns": _Or(int)}]}
_STATISTICS = {"version": str, "context": _CONTEXT}
_LEFT = {"operator": str, "domain": str, "count": int, "reason": str}
_OF_ONNXRUNTIME = {"model": _Or(str), "subgraphs": [_SESSION | {"nodes_in_file": int}],
                   "claims": _Or({"claimed": int, "nodes": int, "subgraphs": int,
                                  "left": [_LEFT]})}


def wrong_in_recording(found: Mapping[str, Any]) -> str | None:
    """The first part that is missing or not what it should be, in words; ``None``: there is
    none."""
    return next(_wrong(found, _RECORDING, ""), None) or next(_apart(found), None)


def wrong_in_statistics(found: Mapping[str, Any]) -> str | None:
    """The same of statistics, of a session or of ONNX Runtime."""
    own = _OF_ONNXRUNTIME if "subgraphs" in found else {
        "session": _SESSION | {"nodes_in_file": int}}
    return next(_wrong(found, _STATISTICS | own, ""), None)


def _wrong(value: Any, kind: Any, where: str) -> Iterator[str]:
    if isinstance(kind, _Or):
        if value is not None:
            yield from _wrong(value, kind.kind, where)
    elif isinstance(kind, list):
        if isinstance(value, list):
            for number, one in enumerate(value):
                yield from _wrong(one, kind[0], f"{where}[{number}]")
        else:
            yield _sentence(where, value, "a list")
    elif isinstance(kind, dict):
        if isinstance(value, dict):
            yield from _wrong_fields(value, kind, where)
        else:
            yield _sentence(where, value, "an object")
    elif kind is str:
        if not isinstance(value, str):
            yield _sentence(where, value, "a text")
    elif not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0):
        yield _sentence(where, value, "a number that is not negative")


def _wrong_fields(value: Mapping[str, Any], fields: Mapping[str, Any],
                  where: str) -> Iterator[str]:
    for name, kind in fields.items():
        place = f"{where}.{name}" if where else name
        if name in value or isinstance(kind, _Or):
            yield from _wrong(value.get(name), kind, place)
        else:
            yield f"'{place}' is missing"


def _sentence(where: str, value: Any, allowed: str) -> str:
    text = escape(repr(value))
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    return f"'{where}' is {shown}, {allowed} is allowed"


def _apart(found: Mapping[str, Any]) -> Iterator[str]:
    """Parts that do not fit each other."""
    lengths = {len(found["samples"][name]) for name in _SAMPLES}
    if len(lengths) > 1 or 0 in lengths:
        yield "the lists of 'samples' are empty or differ in length"
    nodes, counted = len(found["nodes"]), len(found["statistics"]["session"]["nodes"])
    if nodes != counted:
        yield f"'nodes' has {nodes} nodes, 'statistics.session.nodes' has {counted}"
    fields, rows = found["requests"]["fields"], found["requests"]["rows"]
    for name in _REQUEST:
        if name not in fields:
            yield f"'requests.fields' has no '{name}'"
            return
    for number, row in enumerate(rows):
        if len(row) != len(fields):
            yield f"'requests.rows[{number}]' has {len(row)} fields, {len(fields)} are named"
            return
        one = dict(zip(fields, row))
        yield from _wrong({name: one[name] for name in _REQUEST}, _REQUEST,
                          f"requests.rows[{number}]")
        yield from _wrong_size(one["size"], found, f"requests.rows[{number}]")
    for number, one in enumerate(found["slowest"]):
        yield from _wrong_size(one.get("size"), found, f"slowest[{number}]")


def _wrong_size(size: int | None, found: Mapping[str, Any], where: str) -> Iterator[str]:
    sizes = len(found["sizes"]["rows"])
    if size is not None and not (isinstance(size, int) and size < sizes):
        yield f"'{where}.size' is {size}, 'sizes' has {sizes}"
