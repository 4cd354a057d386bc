"""Runs as spans of OpenTelemetry.

    import latchkey.spans
    latchkey.spans.register(session, "ocr")

It needs the package opentelemetry-api: ``pip install latchkey[spans]``; what becomes of the spans
is for the program to set up, with a tracer provider of opentelemetry-sdk say. A run that is not
sampled is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

try:
    from opentelemetry import trace as _opentelemetry
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
except ImportError as error:
    raise ImportError("failed to import latchkey.spans: it needs the package opentelemetry-api, "
                      "which `pip install latchkey[spans]` installs") from error

from . import _check
from ._errors import OutOfMemoryError, exception_of, text
from ._native import lib
from ._text import shape_text
from ._session import Session
from ._trace import Trace

__all__ = ["register", "unregister"]

_DO = "make spans of the runs of a session"
_RARE = ("build run plan", "wait for other runs", "wait for processors",
         "wait for another thread's build")
_EVENTS = 8192  # half a megabyte
_OF_RUN = ("run", "execute")  # whose time is that of the span


def register(session: Session, name: str, *, operators: bool = False,
             tracer_provider: TracerProvider | None = None) -> None:
    """Makes a span of each run of the session from now on, and of each of its clones.

    A span is named ``latchkey.run`` and is a child of the caller's. Its attributes are
    ``latchkey.session``, ``latchkey.inputs`` (each as ``name: 1x3x48x320``),
    ``latchkey.run_plan`` (``"built"`` or ``"found"``), ``latchkey.dropped_events`` where a run had
    more events than were kept, and ``error.type`` where it failed. Its children are what made the
    run wait or build: ``latchkey.build_run_plan``, ``latchkey.wait_for_processors`` and so on.
    Runs that are traced by :meth:`Session.trace` have neither children nor ``latchkey.run_plan``.

    :param name: the attribute ``latchkey.session`` of its spans.
    :param operators: each step of an operator is a span too, with what docs/trace.md says of it as
        attributes.
    :param tracer_provider: ``None``: the program's.
    :raises TypeError: an argument is of another kind.
    :raises ValueError: the session is closed.
    """
    if _check.instance(_DO, "session", session, Session).closed:
        raise _check.wrong_value(_DO, "session", session, "an open one")
    if tracer_provider is not None and not hasattr(tracer_provider, "get_tracer"):
        raise _check.wrong_kind(_DO, "tracer_provider", tracer_provider, "a TracerProvider")
    session._spans = Spans(_check.text(_DO, "name", name),
                           _check.flag(_DO, "operators", operators), tracer_provider)


def unregister(session: Session) -> None:
    """Ends what :func:`register` has begun. Runs that are on keep their span.

    :raises TypeError: it is no session.
    """
    _check.instance("end the spans of a session", "session", session, Session)._spans = None


class Spans:
    """What the runs of a session make spans with. Any number of threads may run at once."""

    def __init__(self, name: str, operators: bool, tracer_provider: TracerProvider | None) -> None:
        self._name, self._operators = name, operators
        self._tracer = _opentelemetry.get_tracer("latchkey", text(lib.lk_py_api().version_text()),
                                                 tracer_provider)
        self._idle: list[Trace] = []  # one for each run at the same time

    def run(self, session: Session, run: Callable[[], int], options: Any,
            inputs: Mapping[str, Any], error: Any) -> int:
        """The status of ``run()``, which is called in a span. ``options`` are its
        ``lk_run_options``, and ``error`` its ``lk_error``."""
        with self._tracer.start_as_current_span("latchkey.run", kind=SpanKind.INTERNAL) as span:
            if not span.is_recording():
                return run()
            span.set_attribute("latchkey.session", self._name)
            span.set_attribute("latchkey.inputs", [f"{name}: {_shape(value)}"
                                                   for name, value in inputs.items()])
            trace = self._take(session)
            if trace is not None:
                options.trace = trace._native()
            try:
                status = run()
                if status:
                    span.set_attribute("error.type", exception_of(status).__name__)
                    span.set_status(Status(StatusCode.ERROR, text(error.message)))
                if trace is not None:
                    self._tell(span, trace)
                return status
            finally:
                if trace is not None:
                    trace.clear()
                    self._idle.append(trace)

    def _take(self, session: Session) -> Trace | None:
        """What this run alone notes its events in; ``None``: nothing."""
        if session._trace is not None:
            return None  # somebody else's has them
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return Trace(session.context, _EVENTS)
        except OutOfMemoryError:
            return None  # the run matters more

    def _tell(self, span: Span, trace: Trace) -> None:
        found = trace.to_json()
        was_built = '"build run plan"' in found
        span.set_attribute("latchkey.run_plan", "built" if was_built else "found")
        if not (self._operators or any(f'"{name}"' in found for name in _RARE)):
            return
        document = json.loads(found)
        dropped = trace.info()["dropped"]
        if dropped:
            span.set_attribute("latchkey.dropped_events", dropped)
        ahead_ns = document["otherData"]["realtime_ahead_ns"]
        for parent, event in _nested(span, document["traceEvents"], self._is_shown):
            begin_ns = round(event["ts"] * 1e3) + ahead_ns
            child = self._tracer.start_span(
                f"latchkey.{_label(event['name'])}", _opentelemetry.set_span_in_context(parent),
                attributes=_attributes(event), start_time=begin_ns)
            child.end(begin_ns + round(event["dur"] * 1e3))
            event["span"] = child

    def _is_shown(self, event: Mapping[str, Any]) -> bool:
        name = event["name"]
        return name in _RARE or (self._operators and name not in _OF_RUN)


def _nested(root: Span, events: list[dict[str, Any]], is_shown: Callable[[Mapping[str, Any]], bool]
            ) -> Iterator[tuple[Span, dict[str, Any]]]:
    """Intervals with the span of the shown one that they lie in, in the order of their begin.
    Intervals of a thread lie in each other, or apart."""
    open_on: dict[int, list[dict[str, Any]]] = {}
    for event in events:
        if event["ph"] != "X" or not is_shown(event):
            continue
        outer = open_on.setdefault(event["tid"], [])
        while outer and outer[-1]["ts"] + outer[-1]["dur"] <= event["ts"]:
            outer.pop()
        yield outer[-1]["span"] if outer else root, event
        outer.append(event)


def _label(name: str) -> str:
    return name.replace("'", "").replace(" ", "_")


def _attributes(event: Mapping[str, Any]) -> dict[str, Any]:
    return {f"latchkey.{name}": value if isinstance(value, (str, int, float)) else str(value)
            for name, value in event.get("args", {}).items() if name != "run"}


def _shape(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return shape_text(shape) if shape is not None else type(value).__name__
