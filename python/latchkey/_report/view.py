"""What the page shows of one file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .._explain import explain, shapes_text
from .._text import size_text, time_text
from . import engines, graph, requests
from .check import OWNERS, wrong_in_recording, wrong_in_statistics
from .read import ReportError, read

Json = dict[str, Any]


def view(path: str | os.PathLike[str]) -> Json:
    """Reads a file and makes the part of the page that is about it.

    :raises ReportError: the file is none that a report can be made of.
    :raises OSError: it cannot be read.
    """
    found = read(path)
    is_recording = found["schema"].startswith("latchkey-recording-")
    why = wrong_in_recording(found) if is_recording else wrong_in_statistics(found)
    if why is not None:
        raise ReportError(path, f"it is not what {found['schema']} is, {why}")
    try:  # explanations and options read more than what was looked at
        made = _of_recording(found) if is_recording else _of_statistics(found)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise ReportError(path, f"it is not what {found['schema']} is, {error!r} is missing or of "
                                "another kind") from None
    return {"file": os.path.basename(os.fspath(path)), **made}


def _of_recording(found: Mapping[str, Any]) -> Json:
    statistics, machine, options = found["statistics"], found["machine"], found["options"]
    asked = requests.view(found)
    samples = found["samples"]
    ended = f", ended by {found['ended_by']}" if found["ended_by"] else ""
    drawn = graph.view(found["nodes"], statistics["session"]["nodes"], found["profile"],
                       [statistics["session"]["runs"]] * len(found["nodes"]),
                       engines.of_nodes(found["nodes"], found["profile"], statistics["context"]))
    return {
        "name": found["model"]["name"] or "a model without a name",
        "facts": [
            ["recorded", f"{found['began']}, for {time_text(found['duration_ns'])}{ended}"],
            ["library", found["version"]],
            ["machine", f"{machine['processor']}, {machine['processors']} processors, "
                        f"{size_text(machine['memory_bytes'])}, {machine['system']}"],
            *([name.replace("_", " "), _option_text(name, value)]
              for name, value in options.items())],
        "memory": {
            "at_ns": samples["at_ns"], "limit_bytes": samples["limit_bytes"][-1],
            "peak_bytes": samples["peak_bytes"][-1], "bytes": samples["bytes"],
            "owners": {owner: samples[f"{owner}_bytes"] for owner in OWNERS}},
        "requests": asked,
        "graph": drawn, "engines": engines.view(drawn["nodes"], statistics["context"]),
        "built": _built(statistics["context"], [statistics["session"]]),
        "left": [], "explanation": _explanation(found["explanation"])}


def _of_statistics(found: Mapping[str, Any]) -> Json:
    """What a session or ONNX Runtime has counted: a moment, without requests and times of nodes."""
    context = found["context"]
    sessions = found["subgraphs"] if "subgraphs" in found else [found["session"]]
    nodes = [node for session in sessions for node in session["nodes"]]
    claims = found.get("claims")
    facts = [["library", found["version"]],
             ["cache", context["cache_mode"]], ["threads", str(context["threads"])],
             *([["engine", context["engine"]["name"]]] if context.get("engine") else []),
             ["nodes in the file", str(sum(one["nodes_in_file"] for one in sessions))]]
    if claims is not None:
        facts.append(["claimed", f"{claims['claimed']} of {claims['nodes']} nodes, in "
                                 f"{claims['subgraphs']} parts"])
    memory = context["memory"]
    drawn = graph.view(nodes, nodes, None,
                       [one["runs"] for one in sessions for _ in one["nodes"]],
                       engines.of_nodes(nodes, None, context))
    return {
        "name": os.path.basename(found.get("model") or "") or "statistics", "facts": facts,
        "memory": {"at_ns": [0], "limit_bytes": memory["limit_bytes"],
                   "peak_bytes": memory["peak_bytes"], "bytes": [memory["bytes"]],
                   "owners": {owner: [memory["owners"][owner]] for owner in OWNERS}},
        "requests": None,
        "sizes": [{"label": shapes_text(size), "runs": size["runs"],
                   "builds": size["builds"], "build_ns": size["build_ns"], "bytes": size["bytes"]}
                  for session in sessions for size in session["sizes"]],
        "graph": drawn, "engines": engines.view(drawn["nodes"], context),
        "built": _built(context, sessions),
        "left": [[one["operator"], one["domain"], one["count"], one["reason"]]
                 for one in (claims["left"] if claims is not None else ())],
        "explanation": _explanation(explain(found).to_json())}


def _built(context: Mapping[str, Any], sessions: Sequence[Mapping[str, Any]]) -> Json:
    """Counts of run plans."""
    run = context["cache"]["kinds"]["run"]
    runs = sum(session["runs"] for session in sessions)
    builds = sum(session["run_plan_builds"] for session in sessions)
    return {"runs": runs, "builds": builds, "build_ns": run["build_ns"],
            "evictions": run["evictions"], "known": max(0, runs - builds)}


def _explanation(findings: Sequence[Mapping[str, Any]]) -> list[Json]:
    return [{"text": one["text"], "details": list(one["details"]), "advice": one["advice"],
             "lost": None if one["lost_ns"] is None else time_text(one["lost_ns"])}
            for one in findings]


def _option_text(name: str, value: Any) -> str:
    if value is None:
        return "unlimited"
    if name.endswith("_bytes"):
        return size_text(value)
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
