"""What two runs have not in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MOST_NODES = 12
_SAME = 0.02  # relative: less is no difference of times

Json = dict[str, Any]

# Numbers of both: what the page calls them, what they are, and where they are in a view.
_NUMBERS = (
    ("requests", "count", ("requests", "count")),
    ("median latency", "time", ("requests", "p50_ns")),
    ("90 % within", "time", ("requests", "p90_ns")),
    ("99 % within", "time", ("requests", "p99_ns")),
    ("slowest", "time", ("requests", "longest_ns")),
    ("runs", "count", ("built", "runs")),
    ("run plans built", "count", ("built", "builds")),
    ("time of builds", "time", ("built", "build_ns")),
    ("evictions", "count", ("built", "evictions")),
    ("primitives built", "count", ("primitives", "builds")),
    ("time of their builds", "time", ("primitives", "build_ns")),
    ("primitives evicted", "count", ("primitives", "evictions")),
    ("primitives that are kept", "bytes", ("primitives", "bytes")),
    ("most memory", "bytes", ("memory", "peak_bytes")))


def differences(first: Json, second: Json) -> Json:
    """What two views differ in.

    ``rows``: numbers that both have, with the change; ``facts``: options and versions that differ;
    ``nodes``: those whose times differ most, or that only one of both has.
    """
    counts = [len(run["graph"]["nodes"]) for run in (first, second)]
    return {"rows": [*_rows(first, second), _row("nodes", "count", *counts)],
            "facts": list(_facts(first, second)), "nodes": _nodes(first["graph"], second["graph"])}


def _rows(first: Json, second: Json) -> Iterator[Json]:
    for name, kind, (part, field) in _NUMBERS:
        before, after = ((_part(run, part) or {}).get(field) for run in (first, second))
        is_told = part != "primitives" or before or after  # most runs have none
        if before is not None and after is not None and is_told:
            yield _row(name, kind, before, after)


def _part(run: Json, name: str) -> Json | None:
    found: Json | None = run["engines"][name] if name == "primitives" else run[name]
    return found


def _row(name: str, kind: str, before: float, after: float) -> Json:
    """``kind``: ``count``, ``time`` in nanoseconds, or ``bytes``."""
    if before == after:
        change = "the same"
    elif before == 0:
        change = "from nothing"
    else:
        change = f"{100 * (after - before) / before:+.1f} %"
    return {"name": name, "kind": kind, "first": before, "second": after, "change": change}


def _facts(first: Json, second: Json) -> Iterator[list[str]]:
    both = dict(first["facts"]), dict(second["facts"])
    for name in {**both[0], **both[1]}:
        values = [facts.get(name, "-") for facts in both]
        if name != "recorded" and values[0] != values[1]:
            yield [name, *values]


def _nodes(first: Json, second: Json) -> list[Json]:
    """``name``, ``first_ns``, ``second_ns`` and ``notes``, what else differs; those whose times
    differ most at first."""
    both = [{(node["op"], node["output"]): node for node in graph["nodes"]}
            for graph in (first, second)]
    found = []
    for key in {**both[0], **both[1]}:
        before, after = (nodes.get(key) for nodes in both)
        times = [(node or {}).get("ns") for node in (before, after)]
        apart = abs((times[1] or 0) - (times[0] or 0))
        notes = list(_notes(before, after))
        if notes or apart > _SAME * max(time or 0 for time in times):
            name = (before or after or {}).get("name") or key[1]
            found.append((apart, {"name": f"{key[0]} {name}", "first_ns": times[0],
                                  "second_ns": times[1], "notes": ", ".join(notes)}))
    found.sort(key=lambda one: -one[0])
    return [node for _, node in found[:_MOST_NODES]]


def _notes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[str]:
    if before is None or after is None:
        yield f"only in the {'second' if before is None else 'first'}"
        return
    for field, what in (("implementation", "runs on"), ("fused", "fused")):
        if before[field] != after[field]:
            yield f"{what}: {before[field] or '-'} \u2192 {after[field] or '-'}"
    most = [next((name for name, _ in node["engines"]), "-") for node in (before, after)]
    if most[0] != most[1]:
        yield f"engine: {most[0]} \u2192 {most[1]}"
