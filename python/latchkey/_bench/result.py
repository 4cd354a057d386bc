"""Reads what ``latchkey bench --latencies FILE.json`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

_COLUMNS = {
    "latchkey-bench-latencies-1": ["pass", "request", "caller", "begin_ns", "ns", "new", "ok"],
    "latchkey-bench-latencies-2": ["pass", "request", "caller", "begin_ns", "ns", "late_ns", "new",
                                   "ok"],
}
"""Of each schema."""


class BadFile(Exception):
    """A sentence about a file that is not what is needed."""


@dataclass(frozen=True)
class Measured:
    """One setting of engine, threads, callers and batch, with what each request that succeeded
    took."""

    engine: str | None  # one of several in the file, else None
    threads: int
    callers: int
    batch: int | None
    shapes: list[str]  # of each request of the series
    turn: NDArray[numpy.int64]  # the pass, from 1; this and the next by when requests began
    request: NDArray[numpy.int64]  # in the series
    ns: NDArray[numpy.int64]
    new: NDArray[numpy.bool_]  # no request before it had its shapes
    has_rate: bool  # requests came at a rate, and ns counts from when one was due

    @property
    def setting(self) -> tuple[str | None, int, int, int | None]:
        """What tells it from the other settings of a file."""
        return self.engine, self.threads, self.callers, self.batch

    def __str__(self) -> str:
        engine = "" if self.engine is None else f"{self.engine}, "
        batch = "" if self.batch is None else f", batch {self.batch}"
        return (f"{engine}{self.threads} thread{'s' * (self.threads != 1)}, "
                f"{self.callers} caller{'s' * (self.callers != 1)}{batch}")

    @property
    def settled(self) -> NDArray[numpy.bool_]:
        """The requests of known shapes, without the first pass where there are others."""
        later = self.turn > 1
        found: NDArray[numpy.bool_] = ~self.new & (later | (not later.any()))
        return found


@dataclass(frozen=True)
class Result:
    """A file: the report, and each setting."""

    path: str
    report: Mapping[str, Any]  # as docs/command.md has it
    settings: list[Measured]


def read(path: str) -> Result:
    """Reads a file. Raises BadFile when it is something else, OSError when it cannot be read."""
    if path.endswith(".csv"):
        raise BadFile(f"failed to read '{path}': a .csv file does not say where its numbers come "
                      "from, what 'latchkey bench --latencies FILE.json' writes is needed")
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError as error:
        raise BadFile(f"failed to read '{path}': it is not JSON: {error}") from None
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema == "latchkey-bench-1":
        raise BadFile(f"failed to read '{path}': it has no latencies of requests, which "
                      "'latchkey bench --latencies FILE.json' writes")
    columns = _COLUMNS.get(str(schema))
    if columns is None:
        raise BadFile(f"failed to read '{path}': it is not what 'latchkey bench --latencies "
                      "FILE.json' writes")
    try:
        if found["columns"] != columns:
            raise ValueError(f"its columns are {found['columns']}")
        settings = [_read_setting(one, columns) for one in found["latencies"]]
        if not isinstance(found["report"], dict):
            raise TypeError("its report is not an object")
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise BadFile(f"failed to read '{path}': a part of it is missing or of another kind, "
                      f"{error!r}") from None
    return Result(path, found["report"], settings)


def _read_setting(one: Mapping[str, Any], columns: Sequence[str]) -> Measured:
    setting = one["setting"]
    shapes = [str(shape) for shape in setting["shapes"]]
    rows = numpy.array(one["rows"], numpy.int64).reshape(-1, len(columns))
    by_name = dict(zip(columns, rows[rows[:, -1] != 0].T))
    turn, request, ns, new = (by_name[name] for name in ("pass", "request", "ns", "new"))
    if len(ns) > 0 and not (0 <= request.min() and request.max() < len(shapes) and ns.min() >= 0):
        raise ValueError("a request has no shape, or a time below 0")
    engine = None if setting.get("engine") is None else str(setting["engine"])
    batch = None if setting["batch"] is None else int(setting["batch"])
    has_rate = "late_ns" in by_name and bool(by_name["late_ns"].any())
    return Measured(engine, int(setting["threads"]), int(setting["callers"]), batch, shapes, turn,
                    request, ns, new != 0, has_rate)
