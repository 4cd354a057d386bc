"""Profiles: what the operators of some runs took, and what the machine can do at the most."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import _check, _fork
from ._context import Context, shared_context
from ._errors import BusyError, CancelledError, DeadlineError, fail, text
from ._load import Load
from ._native import ffi, lib
from ._text import escape, table

_TEXTS = {"node": "node_name", "output": "output_name", "operator": "op_type", "fused": "fused",
          "kind": "kind", "tiles": "tiles", "engine": "engine"}
_NAME_WIDTH = 36
_LOOK_SECONDS = 0.04  # as often as a run of the library looks at what may end it


class MachinePeak(NamedTuple):
    """What a number of threads of this machine reach at the most, as measured."""

    threads: int
    gflops: float
    """10**9 multiplications and additions of float32 in a second, in registers."""
    gbytes: float
    """10**9 bytes in a second, read from memory behind the caches."""


def machine_peak(threads: int | None = None, context: Context | None = None) -> MachinePeak:
    """Measures for about 150 ms what this machine can do; whatever else runs makes it less.

    :param threads: how many take part; ``None``: those of the context.
    :param context: ``None``: the one of sessions without options.
    """
    do = "measure the machine"
    context = (shared_context({}) if context is None else
               _check.instance(do, "context", context, Context))
    most = 0 if threads is None else _check.threads(do, "threads", threads)
    peak, error = ffi.new("lk_machine_peak *"), ffi.new("lk_error *")
    peak.struct_size = ffi.sizeof("lk_machine_peak")
    status = context._api.machine_peak(
        context._native(), most, peak, error)
    if status:
        fail(status, error)
    return MachinePeak(peak.threads, peak.gflops, peak.gbytes)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _of_peak(rate: float, peak: float) -> str:
    return f"{rate:.1f} ({100 * _ratio(rate, peak):.0f}%)" if rate > 0 else "-"


def _operator(entry: dict[str, Any]) -> str:
    return "+".join(part for part in (entry["operator"], entry["fused"]) if part)


def _expected(entry: dict[str, Any]) -> list[str]:
    """What the works took, and what was expected. ``~``: by estimates."""
    if entry["expected_ms"] is None:
        return ["-", "-"]
    return [f"{entry['works_ms']:.4f}",
            f"{'' if entry['expected_is_measured'] else '~'}{entry['expected_ms']:.4f}"]


def _cut(name: str) -> str:
    name = escape(name)
    return name if len(name) <= _NAME_WIDTH else "..." + name[3 - _NAME_WIDTH:]


class Profile:
    """What each operator took, added up over the runs that it was given to::

        profile = latchkey.Profile()
        for x in inputs:
            session.run({"x": x}, profile=profile)
        print(profile)

    An operator has one entry for each kernel that it runs. Runs of any session may
    share a profile; they then take turns. A run without a profile reads no clock. In a forked child
    it has what it had, or nothing if a run was using it at the fork.
    """

    def __init__(self) -> None:
        self._api = lib.lk_py_session_api()
        self._pointer = self._make()
        # Held by the run that uses it, and by whoever reads it: once by a thread. A signal's
        # handler that comes while its thread has it must not wait for that.
        self._lock, self._depth = threading.RLock(), 0
        self._load = Load()  # of the machine while runs were on
        self._threads: int | None = None  # of the context of the newest run
        self._peak: MachinePeak | None = None

        _fork.tell(self)

    def _make(self) -> Any:
        made, error = ffi.new("lk_profile **"), ffi.new("lk_error *")
        status = self._api.profile_create(ffi.NULL, made, error)
        if status:
            fail(status, error)
        return ffi.gc(made[0], self._api.profile_destroy)

    def _after_fork(self) -> None:
        """A run that another thread had it for may have been writing to it: it begins anew, and
        what was written is left alone."""
        # locked() does not know yet of a thread that has it and waits for the interpreter.
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            ffi.gc(self._pointer, None)
            self._pointer, self._lock, self._depth = self._make(), threading.RLock(), 0

    @property
    def peak(self) -> MachinePeak:
        """What rates are compared with: measured when it is first asked for, with as many threads
        as the newest run could have."""
        if self._peak is None:
            self._peak = machine_peak(self._threads)
        return self._peak

    @peak.setter
    def peak(self, value: MachinePeak) -> None:
        self._peak = _check.instance("set the peak of a profile", "peak", value, MachinePeak)

    __reduce_ex__ = _check.not_pickled

    def info(self) -> dict[str, Any]:
        """The runs: ``runs``; ``binds``, those that built a run plan; ``bind_ms``, in which run
        plans were found or built; ``execute_ms`` without that; ``threads``, how many a run had in
        the mean; and ``waiting``, the part of their time in which these did not compute."""
        with self._held("read"):
            info = self._read_info()
        return {"runs": info.runs, "binds": info.binds, "bind_ms": info.bind_ns / 1e6,
                "execute_ms": info.execute_ns / 1e6,
                "threads": _ratio(info.thread_ns, info.execute_ns),
                "waiting": _ratio(info.wait_ns, info.thread_ns)}

    def entries(self) -> list[dict[str, Any]]:
        """The steps that ran, those that took longest first.

        ``node``, ``output``, ``operator`` and ``fused`` say whose ``step`` it is, by number;
        ``kind`` and ``tiles`` what ran, by which ``engine``, on how many ``threads``.
        ``executions`` took ``total_ms``, each ``ms`` in the mean and ``min_ms`` at least; ``share``
        is the part of all steps' time. ``gflops`` and ``gbytes`` are 10**9 operations and bytes of
        operands in a second. ``waiting`` is the part of the run's threads' time that they did not
        compute in. Where an engine was chosen for the operator, ``works_ms`` is what steps of its
        works took together, and ``expected_ms`` what they were expected to take, both with the one
        of them that computes most; ``None``: with the others, and where nothing is known. Unless
        ``expected_is_measured`` (:meth:`Session.tune`), it is an estimate of no machine in
        particular: only ratios to others count.
        """
        entry, error = ffi.new("lk_profile_entry *"), ffi.new("lk_error *")
        entry.struct_size = ffi.sizeof("lk_profile_entry")
        found = []
        with self._held("read"):
            for i in range(self._read_info().n_entries):
                status = self._api.profile_entry(self._pointer, i, entry, error)
                if status:
                    fail(status, error)
                found.append({
                    **{name: text(getattr(entry, field)) for name, field in _TEXTS.items()},
                    "step": entry.step, "threads": entry.threads, "executions": entry.executions,
                    "ms": entry.total_ns / entry.executions / 1e6, "min_ms": entry.min_ns / 1e6,
                    "total_ms": entry.total_ns / 1e6,
                    "gflops": _ratio(entry.flops, entry.total_ns),
                    "gbytes": _ratio(entry.bytes, entry.total_ns),
                    "waiting": _ratio(entry.wait_ns, entry.thread_ns),
                    "works_ms": (entry.works_ns / entry.executions / 1e6
                                 if entry.expected_ns > 0 else None),
                    "expected_ms": (entry.expected_ns / entry.executions / 1e6
                                    if entry.expected_ns > 0 else None),
                    "expected_is_measured": bool(entry.is_expected_measured)})
        total = sum(one["total_ms"] for one in found)
        for one in found:
            one["share"] = _ratio(one["total_ms"], total)
        return sorted(found, key=lambda one: -one["total_ms"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.entries())

    def __len__(self) -> int:
        with self._held("read"):
            return int(self._read_info().n_entries)

    def __bool__(self) -> bool:
        return True  # also before the first run

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`info`, :meth:`entries` as ``steps``, and :attr:`peak`."""
        indent = _check.indent("write a profile", indent)
        return json.dumps({**self.info(), "peak": self.peak._asdict(), "steps": self.entries()},
                          indent=indent)

    def __str__(self) -> str:
        """A table of the entries beside the machine's peak."""
        return "\n".join([*self._head(), table(self._rows(), left=4)])

    def _repr_html_(self) -> str:
        """The same for a notebook, below a chart of the time by operator."""
        from . import _html
        by_operator: dict[str, float] = {}
        for one in self.entries():
            operator = _operator(one)
            by_operator[operator] = by_operator.get(operator, 0.0) + one["total_ms"]
        total = sum(by_operator.values())
        chart = [(operator, ms, f"{ms:.3f} ms, {100 * _ratio(ms, total):.0f} %")
                 for operator, ms in sorted(by_operator.items(), key=lambda item: -item[1])]
        head = "<br>".join(map(_html.text, self._head()))
        return (f"<p>{head}</p>{_html.bars('time by operator', chart)}"
                f"{_html.table('steps', self._rows(), left=4)}")

    def _head(self) -> list[str]:
        info, peak = self.info(), self.peak
        return [f"profile of {info['runs']} run{'s' if info['runs'] != 1 else ''}: "
                f"{_ratio(info['execute_ms'], info['runs']):.3f} "
                f"ms each; threads waited {100 * info['waiting']:.0f} % of their time",
                f"this machine with {peak.threads} thread{'s' if peak.threads != 1 else ''}: "
                f"{peak.gflops:.1f} GFLOP/s of float32, {peak.gbytes:.1f} GB/s from memory"]

    def _rows(self) -> list[list[str]]:
        peak, entries = self.peak, self.entries()
        expects = any(one["expected_ms"] is not None for one in entries)
        rows = [["node", "operator", "step", "tiles", "ms", "%", "GFLOP/s (of peak)",
                 "GB/s (of peak)", "% waiting", *["works ms", "expected ms"] * expects]]
        for one in entries:
            rows.append([_cut(one["node"] or one["output"]), _cut(_operator(one)), one["kind"],
                         one['tiles'], f"{one['ms']:.4f}",
                         f"{100 * one['share']:.1f}", _of_peak(one["gflops"], peak.gflops),
                         _of_peak(one["gbytes"], peak.gbytes), f"{100 * one['waiting']:.0f}",
                         *_expected(one) * expects])
        return rows

    def __repr__(self) -> str:
        return f"<latchkey.Profile of {self.info()['runs']} runs, {len(self)} entries>"

    @contextlib.contextmanager
    def _held(self, doing: str) -> Iterator[None]:
        with self._lock:
            if self._depth > 0:
                raise BusyError(f"failed to {doing} a profile: the run that this thread has "
                                "interrupted uses it; a signal's handler needs a profile of its "
                                "own, or none", "LK_BUSY")
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    def _run(self, call: Callable[[], int], options: Any, threads: int) -> int:
        """The status of a run with these options, once its turn has come."""
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            if options.cancel and options.cancel[0]:
                raise CancelledError("failed to run: it was cancelled before its turn with the "
                                     "profile came", "LK_CANCELLED")
            if 0 < options.deadline_ns <= time.monotonic_ns():
                raise DeadlineError("failed to run: the deadline passed before its turn with the "
                                    "profile came", "LK_DEADLINE")
        try:
            with self._held("run with"):
                options.profile, self._threads = self._pointer, threads
                self._load.begin()
                status = call()
                self._load.end()
                return status
        finally:
            self._lock.release()

    def clear(self) -> None:
        """Forgets all runs."""
        with self._held("clear"):
            self._api.profile_clear(self._pointer)
            self._load = Load()

    def _others(self) -> float | None:
        """How many processors others used while the runs were on; ``None``: they were too short."""
        with self._held("read"):
            return self._load.others()

    def _read_info(self) -> Any:
        info, error = ffi.new("lk_profile_info *"), ffi.new("lk_error *")
        info.struct_size = ffi.sizeof("lk_profile_info")
        status = self._api.profile_info(self._pointer, info, error)
        if status:
            fail(status, error)
        return info
