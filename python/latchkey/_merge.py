"""A trace of the provider and ONNX Runtime's own profile on one timeline."""

from __future__ import annotations

import json
from typing import Any

from ._errors import FileError

# ONNX Runtime's times are whole microseconds, cut off: what lies within an event may seem to end
# this much later.
_CUT_OFF_US = 2.0


class _NotThereError(FileError, FileNotFoundError):
    """A file that is to be read is not there."""


def _read(path: str, what: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        kind = _NotThereError if isinstance(error, FileNotFoundError) else FileError
        raise kind(f"failed to read {what} '{path}': {error.strerror}", "LK_IO") from None
    except ValueError as error:
        raise ValueError(f"failed to read {what} '{path}': it is not JSON: {error}") from error


def _extend(events: list[dict[str, Any]], runs: list[dict[str, Any]]) -> None:
    """Lengthens events that a run within them outlasts by what was cut off: a viewer shows
    intervals of a thread that lie within each other, or apart."""
    around: dict[int, list[dict[str, Any]]] = {}
    owners = {id(event) for event in events}
    for event in sorted((*events, *runs), key=lambda one: (one["ts"], -one["dur"])):
        is_open = around.setdefault(event["tid"], [])
        is_open[:] = [one for one in is_open if one["ts"] + one["dur"] > event["ts"]]
        if id(event) in owners:
            is_open.append(event)
            continue
        end = event["ts"] + event["dur"]
        for one in is_open:
            if 0 < end - one["ts"] - one["dur"] <= _CUT_OFF_US:
                one["dur"] = end - one["ts"]


def merge(trace: str, profile: str, start_ns: int) -> dict[str, Any]:
    """The trace with the profile's events, in the trace's time."""
    whole = _read(trace, "a trace")
    if (not isinstance(whole, dict)
            or whole.get("otherData", {}).get("schema") != "latchkey-trace-1"):
        raise ValueError(f"failed to read a trace '{trace}': its schema is not latchkey-trace-1")
    found = _read(profile, "a profile of ONNX Runtime")
    if not isinstance(found, list) or not all(
            isinstance(event, dict) and event.keys() >= {"ph", "name"} for event in found):
        raise ValueError(f"failed to read a profile of ONNX Runtime '{profile}': it is not a list "
                         "of events")
    shift_us = (start_ns - whole["otherData"]["realtime_ahead_ns"]) / 1000
    theirs = [{**event, "ts": event["ts"] + shift_us} if "ts" in event else event
              for event in found]
    runs = [event for event in whole["traceEvents"] if event["name"] == "run"]
    _extend([event for event in theirs if event["ph"] == "X"], runs)
    whole["traceEvents"] += theirs
    return whole
