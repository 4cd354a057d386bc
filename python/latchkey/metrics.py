"""Statistics as metrics, for prometheus_client and all that reads what it publishes.

    import latchkey.metrics, prometheus_client
    latchkey.metrics.register(session, "ocr")
    prometheus_client.start_http_server(8000)

It needs the package prometheus-client: ``pip install latchkey[metrics]``. Nothing is counted for
it that is not counted anyway: numbers are read when somebody asks for the metrics.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

try:
    from prometheus_client import REGISTRY, CollectorRegistry
    from prometheus_client.core import (CounterMetricFamily, GaugeMetricFamily,
                                        HistogramMetricFamily, Metric)
    from prometheus_client.registry import Collector
except ImportError as error:
    raise ImportError("failed to import latchkey.metrics: it needs the package prometheus-client, "
                      "which `pip install latchkey[metrics]` installs") from error

from . import _check, _fork
from ._session import Session

if TYPE_CHECKING:
    from ._context import Context

__all__ = ["SessionCollector", "register"]

_DO = "add a session to the metrics"
_COUNTS = {"hits": "Look-ups that found what they asked for",
           "misses": "Look-ups that did not",
           "builds": "Builds that succeeded",
           "failed_builds": "Builds that failed",
           "waits": "Look-ups that waited for another thread's build",
           "evictions": "Entries that had to go for others"}
_RUNS = {"runs": "Runs that came to their end",
         "run_plan_hits": "Runs that found their run plan",
         "run_plan_builds": "Run plans that were built",
         "parallel_runs": "Runs with branches at the same time",
         "waits": "Runs that waited because the session had no place free"}


_BUCKETS = 24  # of times, in statistics


def _buckets(times: Sequence[int]) -> list[tuple[str, float]]:
    """Counts up to each bound, in seconds, of counts by powers of two of microseconds. Empty
    buckets at the end may be left out."""
    bounds = [str(2**i / 1e6) for i in range(_BUCKETS - 1)] + ["+Inf"]
    return [(bound, sum(times[:i + 1])) for i, bound in enumerate(bounds)]


class _Families:
    """Metrics by name, each made when its first sample comes."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._made.values())

    def _family(self, kind: type, name: str, text: str, labels: dict[str, str]) -> Any:
        if name not in self._made:
            self._made[name] = kind(f"latchkey_{name}", text, labels=list(labels))
        return self._made[name]

    def count(self, name: str, text: str, labels: dict[str, str], number: float) -> None:
        self._family(CounterMetricFamily, name, text, labels).add_metric(
            list(labels.values()), number)

    def level(self, name: str, text: str, labels: dict[str, str], number: float | None) -> None:
        """``None``, a limit that is not there, has no sample."""
        if number is not None:
            self._family(GaugeMetricFamily, name, text, labels).add_metric(
                list(labels.values()), number)

    def times(self, name: str, text: str, labels: dict[str, str], times: Sequence[int],
              sum_ns: int) -> None:
        self._family(HistogramMetricFamily, name, text, labels).add_metric(
            list(labels.values()), _buckets(times), sum_ns / 1e9)


def _add_process(families: _Families, process: dict[str, Any]) -> None:
    families.level("processors", "Threads of the process that may compute at once", {},
                   process["processors"])
    families.level("threads_running", "Threads that compute", {}, process["running"])
    families.level("runs_waiting", "Runs that wait for processors", {}, process["waiting"])
    families.count("processor_waits", "Runs that have waited for processors", {},
                   process["waits"])


def _add_context(families: _Families, context: str, found: dict[str, Any]) -> None:
    labels = {"context": context}
    for kind, counts in found["cache"]["kinds"].items():
        of_kind = {**labels, "kind": kind}
        for name, text in _COUNTS.items():
            families.count(f"cache_{name}", text, of_kind, counts[name])
        families.level("cache_entries", "Entries in the cache", of_kind, counts["entries"])
        families.level("cache_bytes", "Bytes that they are charged", of_kind, counts["bytes"])
        families.times("cache_build_seconds", "What builds took", of_kind,
                       counts["build_times"], counts["build_ns"])
    families.level("cache_capacity_entries", "The most entries of all kinds", labels,
                   found["cache"]["capacity_entries"])
    families.level("cache_capacity_bytes", "The most bytes of all kinds", labels,
                   found["cache"]["capacity_bytes"])
    families.level("weights_bytes", "Bytes of packed weights", labels, found["weights"]["bytes"])
    families.count("weights_packed", "Constants that were packed", labels,
                   found["weights"]["packed"])
    families.count("weights_shared", "Times that a packed constant was found ready", labels,
                   found["weights"]["shared"])
    memory = found["memory"]
    for owner, held in memory["owners"].items():
        families.level("memory_bytes", "Bytes that the context holds, by owner",
                       {**labels, "owner": owner}, held)
    families.level("memory_peak_bytes", "The most bytes that the context has held", labels,
                   memory["peak_bytes"])
    families.level("memory_limit_bytes", "The most bytes that it may hold", labels,
                   memory["limit_bytes"])
    families.count("memory_refusals", "Blocks that did not fit", labels, memory["refusals"])


def _add_session(families: _Families, labels: dict[str, str], found: dict[str, Any]) -> None:
    for name, text in _RUNS.items():
        families.count(f"session_{name}", text, labels, found[name])
    families.level("session_sizes", "Sizes that the session has seen", labels,
                   len(found["sizes"]) + found["sizes_lost"])
    for operator in found["operators"]:
        domain = operator["domain"]
        name = f"{domain}.{operator['op_type']}" if domain else operator["op_type"]
        families.times("operator_bind_seconds", "What binding operators to sizes took",
                       {**labels, "operator": name}, operator["bind_times"], operator["bind_ns"])


class SessionCollector(Collector):
    """Collects the metrics of some sessions, and of their contexts and the process once each.

    A session that is closed or gone is left out from then on. A context is called by the name of
    its first session, and keeps it when that session is closed; where another context that is still
    there has the name, ``-2`` follows, or ``-3`` and so on. Any thread may add sessions and
    collect.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, weakref.ref[Session]] = {}  # guarded by _lock, as the next
        self._contexts: weakref.WeakKeyDictionary[Context, str] = weakref.WeakKeyDictionary()

    def add(self, session: Session, name: str) -> None:
        """Adds a session, under the label ``session=name``.

        :raises TypeError: it is no session, or the name is no text.
        :raises ValueError: it is closed, or another session that is still there has this name.
        """
        if _check.instance(_DO, "session", session, Session).closed:
            raise _check.wrong_value(_DO, "session", session, "an open one")
        _check.text(_DO, "name", name)
        with _lock:
            old = self._sessions.get(name, lambda: None)()
            if old is not None and old is not session and not old.closed:
                raise ValueError(f"failed to {_DO}: there is one with the 'name' {name!r}, each "
                                 "needs a name of its own")
            self._sessions[name] = weakref.ref(session)
            if session.context not in self._contexts:
                self._contexts[session.context] = self._free_name(name)

    def _free_name(self, name: str) -> str:
        """For a context."""
        taken = set(self._contexts.values())
        return next(one for one in itertools.chain(
            [name], (f"{name}-{number}" for number in itertools.count(2))) if one not in taken)

    def describe(self) -> Iterable[Metric]:
        return ()  # which metrics there are is known when they are collected

    def collect(self) -> Iterable[Metric]:
        families = _Families()
        contexts: set[str] = set()
        for name, session in self._alive():
            try:
                found = session.statistics()
            except ValueError:  # it was closed just now
                continue
            if not contexts:
                _add_process(families, found["process"])
            context = self._contexts[session.context]
            if context not in contexts:
                contexts.add(context)
                _add_context(families, context, found["context"])
            _add_session(families, {"session": name, "context": context}, found["session"])
        return families

    def _alive(self) -> list[tuple[str, Session]]:
        with _lock:
            found = [(name, session) for name, reference in self._sessions.items()
                     if (session := reference()) is not None and not session.closed]
            self._sessions = {name: self._sessions[name] for name, _ in found}
            return found


_lock = _fork.lock()  # guards the next, and what collectors hold
_collectors: weakref.WeakKeyDictionary[CollectorRegistry, SessionCollector] = (
    weakref.WeakKeyDictionary())


def register(session: Session, name: str, registry: CollectorRegistry = REGISTRY) -> None:
    """Publishes a session's metrics in a registry of prometheus_client, until it is closed.

    :param name: the label ``session`` of its metrics.
    :param registry: the one of the process by default.
    :raises TypeError: an argument is of another kind.
    :raises ValueError: the session is closed, or another session has this name.
    """
    _check.instance(_DO, "registry", registry, CollectorRegistry)
    _check.instance(_DO, "session", session, Session)
    with _lock:
        collector = _collectors.get(registry)
        if collector is None:
            collector = SessionCollector()
            registry.register(collector)
            _collectors[registry] = collector
    collector.add(session, name)
