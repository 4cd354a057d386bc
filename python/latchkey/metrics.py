"""Statistics as metrics, for prometheus_client and all that reads what it publishes.

    import latchkey.metrics, prometheus_client
    latchkey.metrics.register(session, "ocr")
    prometheus_client.start_http_server(8000)

It needs the package prometheus-client: ``pip install latchkey[metrics]``. Nothing is counted for
it that is not counted anyway: numbers are read when somebody asks for the metrics.
"""

from __future__ import annotations

import threading
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

if TYPE_CHECKING:
    from ._session import Session

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

    A session that is closed or gone is left out from then on. Any thread may add sessions and
    collect.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, weakref.ref[Session]] = {}

    def add(self, session: Session, name: str) -> None:
        """Adds a session, under the label ``session=name``.

        :raises ValueError: another session that is still there has this name.
        """
        with self._lock:
            old = self._sessions.get(name, lambda: None)()
            if old is not None and old is not session and not old.closed:
                raise ValueError(f"failed to add a session to the metrics: there is one named "
                                 f"{name!r}, each needs a name of its own")
            self._sessions[name] = weakref.ref(session)

    def describe(self) -> Iterable[Metric]:
        return ()  # which metrics there are is known when they are collected

    def collect(self) -> Iterable[Metric]:
        families = _Families()
        contexts: dict[int, str] = {}
        for name, session in self._alive():
            try:
                found = session.statistics()
            except ValueError:  # it was closed just now
                continue
            if not contexts:
                _add_process(families, found["process"])
            # All sessions of a context show it under the name of the first.
            if id(session.context) not in contexts:
                contexts[id(session.context)] = name
                _add_context(families, name, found["context"])
            _add_session(families, {"session": name, "context": contexts[id(session.context)]},
                         found["session"])
        return families

    def _alive(self) -> list[tuple[str, Session]]:
        with self._lock:
            found = [(name, session) for name, reference in self._sessions.items()
                     if (session := reference()) is not None and not session.closed]
            self._sessions = {name: self._sessions[name] for name, _ in found}
            return found


_collectors: weakref.WeakKeyDictionary[CollectorRegistry, SessionCollector] = (
    weakref.WeakKeyDictionary())
_collectors_lock = threading.Lock()


def register(session: Session, name: str, registry: CollectorRegistry = REGISTRY) -> None:
    """Publishes a session's metrics in a registry of prometheus_client, until it is closed.

    :param name: the label ``session`` of its metrics.
    :raises ValueError: another session has this name.
    """
    with _collectors_lock:
        collector = _collectors.get(registry)
        if collector is None:
            collector = SessionCollector()
            registry.register(collector)
            _collectors[registry] = collector
    collector.add(session, name)
