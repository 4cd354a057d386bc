"""A recording over time: requests, memory and counters of a session, for ``latchkey report``."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy

from . import _check, _fork, _recording, _source
from ._cancel import Cancel
from ._explain import explain
from ._files import write_whole
from ._profile import Profile
from ._session import Session
from ._text import json_text

if TYPE_CHECKING:
    from onnx import ModelProto

_DO = "record a session"
_SAMPLING_SHARE = 50  # a sample may take this part of the time between two


class Recorder:
    """Records what a session does between two moments, into one file for ``latchkey report``::

        with latchkey.Recorder(session, path="run.json") as recorder:
            for x in inputs:
                recorder.run({"x": x})

    Requests are those of :meth:`run`; what else runs the session shows in the samples only. Any
    threads may call it at once. The file has a limited size however long the recording is:
    docs/report.md says what is kept. It is written when the ``with`` block ends, also by an
    exception, whole or not at all.

    :param session: must stay open until the recording has ended.
    :param path: the file that the end of the block writes; ``None``: none, see :meth:`to_json`.
    :param interval: seconds between two samples of memory and counters, at least 0.001. It becomes
        longer where taking a sample takes more than a fiftieth of it, and where samples become
        more than 2,000.
    :param model: what the session was opened from, its ONNX file, bytes or ``onnx.ModelProto``: of
        which of its nodes each node was made. Needs the package ``onnx``. ``None``: that is left
        out.
    :param name: what the report calls the recording; ``None``: the file name of ``model``.
    :param profile_every: one in so many runs is profiled, which costs it a few percent; 0: none.
        A run is passed over while another one is profiled.
    :param requests: the most requests that are kept, chosen at random among all.
    :param slowest: the most of the slowest requests, which are kept besides.
    :raises ValueError: a number is out of range, or ``model`` is not an ONNX file.
    """

    def __init__(self, session: Session, *, path: str | os.PathLike[str] | None = None,
                 interval: float = 0.05,
                 model: str | os.PathLike[str] | bytes | ModelProto | None = None,
                 name: str | None = None, profile_every: int = 16, requests: int = 10_000,
                 slowest: int = 50) -> None:
        self._session = _check.instance(_DO, "session", session, Session)
        if session.closed:
            raise _check.wrong_value(_DO, "session", session, "an open one")
        self._path = None if path is None else _check.path(_DO, "path", path)
        self._interval = _check.real(_DO, "interval", interval, 0.001, 3600.0,
                                     "a number of seconds")
        source = None if model is None else _source.read(_DO, "model", model)
        if name is None:
            name = os.path.basename(source) if isinstance(source, str) else ""
        self._name = _check.text(_DO, "name", name)
        self._profile_every = _check.whole(_DO, "profile_every", profile_every, 0, 2**31)
        self._requests = _recording.Requests(
            _check.whole(_DO, "requests", requests, 1, 1_000_000),
            _check.whole(_DO, "slowest", slowest, 0, 10_000))
        self._origins = None if source is None else _recording.read_origins(source)
        self._samples = _recording.Samples()
        self._steps = _recording.Steps()
        self._profile = Profile() if self._profile_every else None
        self._profiling = threading.Lock()  # held by the run that has the profile
        self._lock = _fork.lock()  # guards all of the rest, for short moments
        self._runs = self._running = 0
        self._begin_ns = self._end_ns = 0
        self._began = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._ended_by: str | None = None
        _fork.tell(self)

    def _after_fork(self) -> None:
        """The thread that takes samples, and the runs of other threads, stayed in the parent, which
        also writes the file."""
        self._profiling = threading.Lock()
        self._running = 0
        self._path = None
        if self._thread is not None:
            self._stop = threading.Event()
            self._stop.set()

    def start(self) -> None:
        """Begins to record, as the beginning of a ``with`` block does.

        :raises RuntimeError: it has begun before.
        """
        if self._thread is not None:
            raise RuntimeError("failed to start a recording: it was started before, each needs a "
                               "recorder of its own")
        self._began, self._begin_ns = time.time(), time.monotonic_ns()
        self._thread = threading.Thread(target=self._sample_until_stopped, daemon=True,
                                        name="latchkey recorder")
        self._take_sample()
        self._thread.start()

    def stop(self) -> None:
        """Ends the recording; what :meth:`run` does from now on is not recorded. Ending it twice
        is allowed. It writes nothing: see :meth:`save`.

        :raises RuntimeError: it was never started.
        """
        if self._thread is None:
            raise RuntimeError("failed to stop a recording: it was not started")
        self._stop.set()
        self._thread.join()
        if self._end_ns == 0:
            if not self._session.closed:
                self._take_sample()
            self._end_ns = time.monotonic_ns()

    def run(self, inputs: Mapping[str, Any], outputs: Iterable[str] | None = None,
            out: Mapping[str, numpy.ndarray] | None = None, timeout: float | None = None,
            profile: Profile | None = None,
            cancel: Cancel | None = None) -> dict[str, numpy.ndarray]:
        """Runs the session as :meth:`Session.run` does, with its arguments and exceptions, and
        records the request. A failed one is counted, and not kept."""
        if self._thread is None or self._stop.is_set():
            return self._session.run(inputs, outputs, out, timeout, profile, cancel)
        with self._lock:
            number, others = self._runs, self._running
            self._runs += 1
            self._running += 1
        own = self._profile if (self._profile is not None and profile is None and
                                number % self._profile_every == 0 and
                                self._profiling.acquire(blocking=False)) else None
        steps: list[dict[str, Any]] | None = None
        failed = True
        begin = time.monotonic_ns()
        try:
            results = self._session.run(inputs, outputs, out, timeout, own or profile, cancel)
            failed = False
        finally:
            ns = time.monotonic_ns() - begin
            try:
                if own is not None:
                    steps = own.entries() if not failed else None
                    own.clear()
            finally:
                if own is not None:
                    self._profiling.release()
                with self._lock:
                    self._running -= 1
                    if failed:
                        self._requests.failed += 1
                    else:
                        self._steps.add(steps)
                        self._requests.add(begin - self._begin_ns, ns, inputs, others, steps)
        return results

    def to_json(self) -> dict[str, Any]:
        """The recording so far, as data for a JSON file: ``latchkey-recording-1`` of
        docs/report.md.

        :raises ValueError: the session is closed.
        :raises RuntimeError: the recording was not started.
        """
        if self._thread is None:
            raise RuntimeError("failed to read a recording: it was not started")
        statistics = self._session.statistics()
        with self._lock:
            end = self._end_ns or time.monotonic_ns()
            return {
                "schema": _recording.SCHEMA, "version": statistics["version"],
                "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._began)),
                "duration_ns": end - self._begin_ns, "ended_by": self._ended_by,
                "machine": _recording.machine(statistics["process"]["processors"]),
                "model": _recording.model(self._session, self._name),
                "options": _recording.options(self._session, statistics["context"]),
                "nodes": _recording.nodes(statistics["session"]["nodes"], self._origins),
                "samples": self._samples.to_json(),
                "sizes": self._requests.sizes_to_json(),
                "requests": self._requests.to_json(),
                "slowest": self._requests.slowest_to_json(),
                "profile": self._steps.to_json(),
                "statistics": statistics,
                "explanation": explain(statistics).to_json()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes :meth:`to_json` to a file, whole or not at all.

        :raises FileError: writing failed; a file that was there is as it was.
        """
        path = _check.path("write a recording", "path", path)
        write_whole(path, json_text(self.to_json(), indent=None) + "\n", "a recording")

    def __enter__(self) -> Recorder:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended_by = kind.__name__ if kind is not None else None
        self.stop()
        if self._path is not None:
            self.save(self._path)

    __reduce_ex__ = _check.not_pickled

    def __repr__(self) -> str:
        state = ("not started" if self._thread is None else
                 "ended" if self._stop.is_set() else "recording")
        return f"<latchkey.Recorder, {state}, {self._requests.count} requests>"

    def _take_sample(self) -> None:
        statistics = self._session.statistics()
        with self._lock:
            self._samples.add(time.monotonic_ns() - self._begin_ns, statistics)

    def _sample_until_stopped(self) -> None:
        taken = 0.0
        while not self._stop.wait(max(self._interval * self._samples.stride,
                                      taken * _SAMPLING_SHARE)):
            begin = time.monotonic()
            try:
                self._take_sample()
            except ValueError:  # the session was closed
                return
            taken = time.monotonic() - begin
