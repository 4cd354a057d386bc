"""Two answers of a process, one after the other, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._primitives import counts_of, engine_of
from .._text import escape, size_text, table

_MOST_NODES = 8
_COUNTS = ("runs", "run_plan_hits", "run_plan_builds", "waits")


class _Context(NamedTuple):
    number: int
    report: Mapping[str, Any]  # of one of its sessions


def summary(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Numbers of one moment: sessions, contexts and the process. Rates are those since ``before``,
    or ``None``."""
    seconds = (now["time_ns"] - before["time_ns"]) / 1e9 if before else 0.0
    old = {one["name"]: one for one in _sessions(before)} if before else {}
    old_contexts = {one["context"]: one for one in _contexts(before)} if before else {}
    sessions = list(_sessions(now))
    for one in sessions:
        one["runs_per_s"] = _rate(one, old.get(one["name"]), "runs", seconds)
        one["builds_per_s"] = _rate(one, old.get(one["name"]), "run_plan_builds", seconds)
    contexts = list(_contexts(now))
    for one in contexts:
        one["evictions_per_s"] = _rate(one, old_contexts.get(one["context"]), "evictions", seconds)
    process = now["reports"][0]["report"]["process"] if now["reports"] else {}
    return {"pid": now["pid"], "version": now["version"], "time_ns": now["time_ns"],
            "left_out": now["left_out"], "process": process, "contexts": contexts,
            "sessions": sessions, "nodes": list(_nodes(now))[:_MOST_NODES]}


def lines(found: Mapping[str, Any], width: int = 80, height: int = 10**6) -> list[str]:
    """At most ``height`` lines of at most ``width`` columns; what has no room is left out."""
    return [line[:width] for line in _lines(found)][:height]


def _rate(one: Mapping[str, Any], old: Mapping[str, Any] | None, name: str,
          seconds: float) -> float | None:
    if old is None or seconds <= 0 or one[name] < old[name]:
        return None
    return round(float(one[name] - old[name]) / seconds, 1)


def _parts(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What runs in a report: the session, or the subgraphs in ONNX Runtime."""
    return [report["session"]] if "session" in report else list(report.get("subgraphs", ()))


def _sessions(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in sorted(answer["reports"], key=lambda one: int(one["session"])):
        parts = _parts(one["report"])
        for number, part in enumerate(parts, 1):
            model = part.get("model") or one["report"].get("model") or ""
            place = f"{one['session']}" + (f".{number}" if len(parts) > 1 else "")
            yield {"name": f"{model.rpartition('/')[2] or 'session'} #{place}", "model": model,
                   "context": one["context"], **{name: part[name] for name in _COUNTS},
                   "sizes": len(part["sizes"]) + part["sizes_lost"]}


def _contexts(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    reports = {one["context"]: one["report"]["context"] for one in answer["reports"]}
    for number, report in sorted(reports.items()):
        kinds, memory = report["cache"]["kinds"].values(), report["memory"]
        sums = {name: sum(kind[name] for kind in kinds)
                for name in ("hits", "misses", "builds", "evictions", "build_ns")}
        yield {"context": number, "threads": report["threads"], "cache_mode": report["cache_mode"],
               **sums, "cache_bytes": report["cache"]["bytes"],
               "cache_limit": report["cache"]["capacity_bytes"], "memory_bytes": memory["bytes"],
               "memory_limit": memory["limit_bytes"], "owners": memory["owners"],
               "engine": engine_of(report), "primitives": _primitives(report)}


def _primitives(report: Mapping[str, Any]) -> dict[str, int] | None:
    """``None``: no engine was asked for one."""
    counts = counts_of(report)
    if counts is None:
        return None
    return {name: counts[name] for name in ("hits", "builds", "evictions", "bytes")}


def _nodes(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those that have taken the most time to be bound."""
    nodes = [{"node": node["name"] or node["output_name"], "operator": node["op_type"],
              "fused": node["fused"], "binds": node["binds"], "bind_ns": node["bind_ns"]}
             for one in answer["reports"] for part in _parts(one["report"])
             for node in part["nodes"] if node["binds"]]
    return sorted(nodes, key=lambda node: -int(node["bind_ns"]))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    process = found["process"]
    yield f"process {found['pid']}: latchkey {escape(found['version'])}"
    if process:
        yield (f"threads: {process['running']} of {process['processors']} compute, "
               f"{process['waiting']} runs wait ({process['waits']} so far)")
    if not found["sessions"]:
        yield "no session is open"
        return
    if found["left_out"]:
        yield f"{found['left_out']} sessions have no room here"
    yield ""
    rows = [("session", "runs", "runs/s", "hits", "builds", "builds/s", "sizes")]
    rows += [(escape(one["name"])[-30:], str(one["runs"]), _number(one["runs_per_s"]),
              str(one["run_plan_hits"]), str(one["run_plan_builds"]), _number(one["builds_per_s"]),
              str(one["sizes"])) for one in found["sessions"]]
    yield from table(rows, 1).splitlines()
    yield ""
    for one in found["contexts"]:
        yield from _context_lines(one)
    if found["nodes"]:
        yield ""
        yield "slowest to be bound to a new size:"
        nodes = [("node", "operator", "binds", "us each")]
        nodes += [(escape(node["node"])[-30:], escape(node["operator"]), str(node["binds"]),
                   f"{node['bind_ns'] / node['binds'] / 1e3:.1f}") for node in found["nodes"]]
        yield from table(nodes, 2, 2).splitlines()


def _context_lines(one: Mapping[str, Any]) -> Iterator[str]:
    limit = one["memory_limit"]
    owners = ", ".join(f"{name} {size_text(bytes_)}" for name, bytes_ in one["owners"].items()
                       if bytes_)
    yield (f"context {one['context']}: {one['threads']} threads, cache {one['cache_mode']}: "
           f"{one['hits']} hits, {one['builds']} builds, {one['evictions']} evictions")
    built = one["primitives"]
    if built:
        yield (f"  primitives of {escape(one['engine'])}: {built['hits']} hits, "
               f"{built['builds']} builds, {built['evictions']} evictions, "
               f"{size_text(built['bytes'])}")
    yield (f"  memory {size_text(one['memory_bytes'])} of "
           f"{size_text(limit) if limit else 'no limit'}{': ' if owners else ''}{owners}")
