"""What a recording consists of, each part with a limit of its own: docs/report.md has the names.

Nothing here knows of threads: a recorder calls under its lock.
"""

from __future__ import annotations

import heapq
import os
import platform
import random
from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import FileError, ModelNotFoundError
from ._session import Session
from ._text import escape

SCHEMA = "latchkey-recording-1"
_MOST_SAMPLES = 2000
_MOST_SIZES = 4096  # as statistics have
_MOST_STEPS = 20_000
_MOST_TILES = 4  # of a step: it may have others for each size
_MOST_SLOW_STEPS = 20  # of a slow request, the longest
_OWNERS = {"cache": "cache_bytes", "weights": "weights_bytes", "arenas": "arenas_bytes",
           "spare": "spare_bytes", "other": "other_bytes"}
_STEP = ("node", "output", "operator", "fused", "step", "kind", "engine")  # what tells steps apart
_FIELDS = ("begin_ns", "ns", "size", "first", "others")

_Request = tuple[int, int, int, bool | None, int]  # _FIELDS
_Size = tuple[tuple[str, str, tuple[int, ...]], ...]


def _size_of(inputs: Mapping[str, Any]) -> _Size:
    """What tells it from others, of arrays and of whatever else has a shape."""
    return tuple(sorted((name, str(getattr(value, "dtype", "")).removeprefix("torch."),
                         tuple(int(dim) for dim in getattr(value, "shape", ())))
                        for name, value in inputs.items()))


class Requests:
    """A fair choice of all requests, and always the slowest."""

    def __init__(self, most: int, most_slowest: int) -> None:
        self.count = self.failed = 0
        self._most, self._most_slowest = most, most_slowest
        self._kept: list[_Request] = []
        self._slowest: list[tuple[int, int, _Request, Any]] = []  # a heap, the fastest first
        self._sizes: dict[_Size, int] = {}
        self._sizes_lost = 0
        self._random = random.Random(1)

    def add(self, begin_ns: int, ns: int, inputs: Mapping[str, Any], others: int,
            steps: Sequence[Mapping[str, Any]] | None) -> None:
        size = _size_of(inputs)
        first: bool | None = size not in self._sizes
        if first and len(self._sizes) < _MOST_SIZES:
            self._sizes[size] = len(self._sizes)
        elif first:
            first = None  # nobody knows whether it was seen since the list was full
            self._sizes_lost += 1
        request = begin_ns, ns, self._sizes.get(size, -1), first, others
        self._keep(request)
        if self._most_slowest:
            entry = ns, -self.count, request, steps
            if len(self._slowest) < self._most_slowest:
                heapq.heappush(self._slowest, entry)
            elif ns > self._slowest[0][0]:
                heapq.heapreplace(self._slowest, entry)
        self.count += 1

    def _keep(self, request: _Request) -> None:
        """Each request so far is kept with the same probability (Vitter's algorithm R)."""
        if len(self._kept) < self._most:
            self._kept.append(request)
            return
        place = self._random.randrange(self.count + 1)
        if place < self._most:
            self._kept[place] = request

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count, "failed": self.failed, "fields": _FIELDS,
                "rows": sorted(map(_row, self._kept))}

    def slowest_to_json(self) -> list[dict[str, Any]]:
        """The slowest first."""
        return [{**dict(zip(_FIELDS, _row(request))),
                 "steps": None if steps is None else [
                     {name: step[name] for name in ("node", "output", "operator", "fused", "kind",
                                                    "total_ms")}
                     for step in steps[:_MOST_SLOW_STEPS]]}
                for _, _, request, steps in sorted(self._slowest, reverse=True)]

    def sizes_to_json(self) -> dict[str, Any]:
        return {"lost": self._sizes_lost, "rows": [
            [{"name": name, "dtype": dtype, "shape": shape} for name, dtype, shape in size]
            for size in self._sizes]}


def _row(request: _Request) -> list[int | None]:
    """Its numbers; a size that is not in the list is ``None``."""
    begin_ns, ns, size, first, others = request
    return [begin_ns, ns, size if size >= 0 else None, None if first is None else int(first),
            others]


class Samples:
    """Memory and counters over time, in columns. Where they become many, every second one goes and
    from then on half as many are taken."""

    def __init__(self) -> None:
        self.stride = 1  # by how much the interval has become longer
        self._columns: dict[str, list[int | None]] = {}

    def add(self, at_ns: int, statistics: Mapping[str, Any]) -> None:
        for name, value in _sample(at_ns, statistics).items():
            self._columns.setdefault(name, []).append(value)
        if len(self._columns["at_ns"]) >= _MOST_SAMPLES:
            self._columns = {name: values[::2] for name, values in self._columns.items()}
            self.stride *= 2

    def to_json(self) -> dict[str, list[int | None]]:
        return {name: list(values) for name, values in self._columns.items()}


def _sample(at_ns: int, statistics: Mapping[str, Any]) -> dict[str, int | None]:
    context, session = statistics["context"], statistics["session"]
    memory, run = context["memory"], context["cache"]["kinds"]["run"]
    return {
        "at_ns": at_ns, "bytes": memory["bytes"], "peak_bytes": memory["peak_bytes"],
        "limit_bytes": memory["limit_bytes"],
        **{name: memory["owners"][owner] for owner, name in _OWNERS.items()},
        "refusals": memory["refusals"], "runs": session["runs"],
        "run_plan_hits": session["run_plan_hits"], "run_plan_builds": session["run_plan_builds"],
        "waits": session["waits"], "evictions": run["evictions"], "build_ns": run["build_ns"],
        "running": statistics["process"]["running"], "waiting": statistics["process"]["waiting"]}


class Steps:
    """What the steps of the nodes took, summed up over the runs that were profiled."""

    def __init__(self) -> None:
        self._runs = 0
        self._steps: dict[tuple[Any, ...], dict[str, Any]] = {}

    def add(self, entries: Sequence[Mapping[str, Any]] | None) -> None:
        """What a profile of one run has; ``None``: the run had none."""
        if entries is None:
            return
        self._runs += 1
        for entry in entries:
            key = tuple(entry[name] for name in _STEP)
            known = self._steps.get(key)
            if known is None and len(self._steps) == _MOST_STEPS:
                continue
            if known is None:
                known = self._steps[key] = {
                    **{name: entry[name] for name in _STEP},
                    "tiles": [], "threads": 0, "executions": 0, "total_ms": 0.0}
            if entry["tiles"] not in ("", *known["tiles"]) and len(known["tiles"]) < _MOST_TILES:
                known["tiles"].append(entry["tiles"])
            known["executions"] += entry["executions"]
            known["total_ms"] += entry["total_ms"]
            known["threads"] = max(known["threads"], entry["threads"])

    def to_json(self) -> dict[str, Any]:
        return {"runs": self._runs,
                "steps": sorted((dict(step) for step in self._steps.values()),
                                key=lambda step: -step["total_ms"])}


# ---- what does not change ----


def machine(processors: int) -> dict[str, Any]:
    """``processors``: the budget."""
    return {"processors": processors, "processor": _processor_name(),
            "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            "system": f"{platform.system()} {platform.release()}"}


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.partition(":")[2].strip() for line in file
                         if line.startswith("model name")), "")
    except OSError:
        return ""


def model(session: Session, name: str) -> dict[str, Any]:
    def values(found: Sequence[Any]) -> list[dict[str, Any]]:
        return [{"name": value.name, "dtype": value.dtype.name if value.dtype is not None else None,
                 "shape": value.shape} for value in found]
    return {"name": name, "inputs": values(session.inputs), "outputs": values(session.outputs)}


def options(session: Session, context: Mapping[str, Any]) -> dict[str, Any]:
    """As set, or as they came from the environment and the defaults."""
    return {"cache": context["cache_mode"], "threads": context["threads"],
            "engine": context["engine"]["name"],
            "cache_entries": context["cache"]["capacity_entries"],
            "cache_bytes": context["cache"]["capacity_bytes"],
            "weights_bytes": context["weights"]["capacity_bytes"],
            "memory_bytes": context["memory"]["limit_bytes"],
            "disabled_passes": [one.name for one in session.passes if not one.enabled]}


# ---- nodes, and what they were made of ----


class Origins:
    """The nodes of a file, by the values that they make."""

    def __init__(self, graph: Any) -> None:
        self._nodes = [(node.op_type, node.name) for node in graph.node]
        self._inputs = [list(node.input) for node in graph.node]
        self._producer = {value: number for number, node in enumerate(graph.node)
                          for value in node.output if value}

    def of(self, outputs: Sequence[str], borders: frozenset[str]) -> list[dict[str, str]]:
        """The nodes that make ``outputs``, up to values that other nodes of the session make. Those
        that only hold a constant are left out."""
        found: set[int] = set()
        todo = list(outputs)
        while todo:
            number = self._producer.get(todo.pop())
            if number is None or number in found:
                continue
            found.add(number)
            todo += [value for value in self._inputs[number] if value not in borders]
        return [{"op_type": op_type, "name": name} for op_type, name in
                (self._nodes[number] for number in sorted(found)) if op_type != "Constant"]


def read_origins(model: str | bytes | bytearray | memoryview) -> Origins:
    """Reads a model by the package ``onnx``, without data that lies in other files."""
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    try:
        read = (onnx.load(model, load_external_data=False) if isinstance(model, str) else
                onnx.load_from_string(bytes(model)))
    except OSError as error:
        kind = ModelNotFoundError if isinstance(error, FileNotFoundError) else FileError
        raise kind(f"failed to read the nodes of model '{escape(str(model))}': {error.strerror}",
                   "LK_IO") from None
    except DecodeError as error:
        raise ValueError(f"failed to read the nodes of the model: {error}") from None
    return Origins(read.graph)


def nodes(found: Sequence[Mapping[str, Any]], origins: Origins | None) -> list[dict[str, Any]]:
    """The nodes as they run, with their edges. All of them are Latchkey's: ``claimed``."""
    borders = frozenset(name for node in found for name in node["outputs"])
    fields = ("op_type", "domain", "name", "output_name", "fused", "implementation", "inputs",
              "outputs")
    return [{**{field: node[field] for field in fields}, "claimed": True,
             **({} if origins is None else {"made_of": origins.of(node["outputs"], borders)})}
            for node in found]
