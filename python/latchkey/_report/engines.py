"""Who computed the nodes, and what engines have built for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from .._primitives import counts_of
from .._text import json_name

_NATIVE = "native"
_CHOICE_BYTES = 63  # of a node's name, which choices have cut

Json = dict[str, Any]


def of_nodes(nodes: Sequence[Mapping[str, Any]], profile: Mapping[str, Any] | None,
             context: Mapping[str, Any]) -> list[list[tuple[str, float]]]:
    """For each node the engines that computed it, each with its part of the node's time; where
    nothing was profiled, of the node's works when they were bound for the last time. Empty: nobody
    knows, or Latchkey does not compute it."""
    if "engine" not in context:
        return [[] for _ in nodes]
    works = _of_works(context)
    times = _of_steps(profile)
    return [_parts(times.get((node["name"], node["output_name"])) or
                   works.get(_cut(node["output_name"])) or {_NATIVE: 1.0})
            if node.get("claimed", True) else [] for node in nodes]


def view(nodes: Sequence[Json], context: Mapping[str, Any]) -> Json:
    """``rows``: for each engine its name, how many nodes it computed most of, the time of a run
    (``None``: not taken), and its part of all nodes' time or, without that, of all nodes.
    ``primitives``: counts of what engines have built, ``None``: of an older version."""
    is_timed = any(node["ns"] for node in nodes)
    count, ns = defaultdict[str, int](int), defaultdict[str, float](float)
    for node in nodes:
        for place, (name, part) in enumerate(node["engines"]):
            count[name] += place == 0
            ns[name] += part * (node["ns"] or 0.0)
    sums = ns if is_timed else count
    whole = sum(sums.values()) or 1
    rows = [[name, count[name], ns[name] if is_timed else None, sums[name] / whole]
            for name in sorted(count, key=lambda name: -sums[name])]
    return {"rows": rows, "primitives": _primitives(context)}


def _primitives(context: Mapping[str, Any]) -> Json | None:
    counts = context["cache"]["kinds"].get("value")
    if counts is None:
        return None
    capacity = context["cache"].get("capacity_bytes")
    return {**{name: counts[name] for name in (
        "builds", "build_ns", "hits", "misses", "waits", "failed_builds", "evictions", "entries",
        "bytes")}, "is_asked": counts_of(context) is not None,
        "filled": counts["bytes"] / capacity if capacity else None}


def _parts(sums: Mapping[str, float]) -> list[tuple[str, float]]:
    whole = sum(sums.values())
    return sorted(((name, one / whole if whole else 1 / len(sums)) for name, one in sums.items()),
                  key=lambda part: -part[1])


def _of_steps(profile: Mapping[str, Any] | None) -> dict[tuple[str, str], dict[str, float]]:
    """The time of each engine, by the names of a node. Older files do not have it."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for step in profile["steps"] if profile is not None else ():
        if step.get("engine"):
            sums = found.setdefault((step["node"], step["output"]), {})
            sums[step["engine"]] = sums.get(step["engine"], 0.0) + step["total_ms"]
    return found


def _of_works(context: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """How many works each engine has, by the name of a node's output."""
    found: dict[str, dict[str, float]] = {}
    for choice in context["engine"].get("choices", ()):
        name = choice["engine"] if choice["is_engine"] else _NATIVE
        sums = found.setdefault(choice["node"], {})
        sums[name] = sums.get(name, 0.0) + 1
    return found


def _cut(name: str) -> str:
    """As choices have it: cut within a character, it is not UTF-8."""
    return json_name(name.encode("utf-8", "surrogatepass")[:_CHOICE_BYTES].decode(
        "utf-8", "surrogateescape"))
