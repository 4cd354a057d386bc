"""Traces: what runs did and when, for Perfetto and Chrome."""

from __future__ import annotations

import json
import os
import weakref
from typing import TYPE_CHECKING, Any

from . import _check
from ._context import Context
from ._errors import fail
from ._native import ffi, lib
from ._text import encode_path

if TYPE_CHECKING:
    from ._session import Session


_DO = "trace a session"


class Trace:
    """What the runs of some sessions did and when: operators with kernel and tiles, run plans
    that were built, waits, what was evicted, threads and memory::

        with session.trace() as trace:
            session.run({"x": x})
        trace.save("trace.json")  # for https://ui.perfetto.dev or chrome://tracing

    The newest events are kept, in memory of the sessions' context. Any number of threads may run,
    read and save at the same time. A run that is not traced reads no clock. A child of ``os.fork``
    begins with an empty trace.

    :param context: that of the sessions.
    :param events: the most events that are kept, of 64 bytes each; ``None``: 65536.
    :raises OutOfMemoryError: they do not fit in the context's memory limit.
    """

    def __init__(self, context: Context, events: int | None = None) -> None:
        _check.instance(_DO, "context", context, Context)
        most = 0 if events is None else _check.whole(_DO, "events", events, 1)
        options = ffi.new("lk_trace_options *", {
            "struct_size": ffi.sizeof("lk_trace_options"),
            "events": most})
        made, error = ffi.new("lk_py_trace **"), ffi.new("lk_error *")
        status = lib.lk_py_trace_create(context._pointer, options, made, error)
        if status:
            fail(status, error)
        self.context = context
        self._api = lib.lk_py_session_api()
        self._pointer = ffi.gc(made[0], lib.lk_py_trace_release)
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()

    def _native(self) -> Any:
        return lib.lk_py_trace_get(self._pointer)

    def add(self, session: Session) -> None:
        """Traces the session too, from its next run on. What was attached to it before is not.

        :raises ValueError: it is closed, or of another context.
        """
        from ._session import Session
        if _check.instance(_DO, "session", session, Session).context is not self.context:
            raise ValueError("failed to trace a session: it is of another context than the trace")
        session._attach(self)
        self._sessions.add(session)

    def stop(self) -> None:
        """Ends the trace of all its sessions. What it has stays; runs that are on end traced."""
        for session in list(self._sessions):
            session._detach(self)
        self._sessions.clear()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *unused: object) -> None:
        self.stop()

    __reduce_ex__ = _check.not_pickled

    def clear(self) -> None:
        """Forgets all events."""
        self._api.trace_clear(self._native())

    def info(self) -> dict[str, int]:
        """``events`` that are kept, ``capacity``, the most that may be, and ``dropped``: how many
        had to go for newer ones, or had no memory."""
        info, error = ffi.new("lk_trace_info *"), ffi.new("lk_error *")
        info.struct_size = ffi.sizeof("lk_trace_info")
        status = self._api.trace_info(self._native(), info, error)
        if status:
            fail(status, error)
        return {"events": info.events, "capacity": info.capacity, "dropped": info.dropped}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all events to a file, which appears when it is complete.

        :raises FileError: it cannot be written.
        """
        file = _check.path("write a trace", "path", path)
        error = ffi.new("lk_error *")
        status = self._api.trace_save(self._native(), encode_path(file), error)
        if status:
            fail(status, error)

    def to_json(self) -> str:
        """The text of that file; docs/trace.md has the names."""
        made, error = ffi.new("char **"), ffi.new("lk_error *")
        trace = self._native()
        status = self._api.trace_text(trace, made, error)
        if status:
            fail(status, error)
        try:
            return str(ffi.string(made[0]).decode())
        finally:
            self._api.trace_text_release(trace, made[0])

    def events(self) -> list[dict[str, Any]]:
        """The events as dicts, in the order of their begin."""
        found: list[dict[str, Any]] = json.loads(self.to_json())["traceEvents"]
        return found

    def __len__(self) -> int:
        return self.info()["events"]

    def __bool__(self) -> bool:
        return True  # also before the first run

    def __repr__(self) -> str:
        info = self.info()
        return (f"<latchkey.Trace of {info['events']} events, at most {info['capacity']}, "
                f"{info['dropped']} dropped>")
