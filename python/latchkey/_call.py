"""The arguments of a run, which later runs of the same names use again."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy

from . import _check
from ._cancel import Cancel
from ._native import ffi, lib
from ._tensor import Input, Output
from ._text import encode


_MAIN_THREAD = threading.main_thread().ident
_interrupts: list[BaseException] = []  # of the main thread, which alone handles signals


def _keep_interrupt(_kind: Any, error: BaseException, _traceback: Any) -> None:
    _interrupts.append(error)


@ffi.def_extern(error=1, onerror=_keep_interrupt)
def lk_py_should_stop(_arg: Any) -> int:
    """Python handles signals where it begins a function: here, if one has come."""
    return 0


_OPTIONS = ffi.new("lk_run_options *", {"struct_size": ffi.sizeof("lk_run_options"),
                                        "exact_outputs": 1})
_MAIN_OPTIONS = ffi.new("lk_run_options *", _OPTIONS[0])
_MAIN_OPTIONS.should_stop = lib.lk_py_should_stop


def options_of_run() -> Any:
    """What is not to be written to: options of a run on this thread, which a signal's handler may
    end if it is the main thread."""
    return _MAIN_OPTIONS if threading.get_ident() == _MAIN_THREAD else _OPTIONS


def limits_of_run(timeout: float | None, cancel: Cancel | None) -> Any:
    """Options of one run on this thread that ends when ``timeout`` seconds have passed, or when
    ``cancel``, which must live as long, is set."""
    options = ffi.new("lk_run_options *", options_of_run()[0])
    limit("run", options, timeout, cancel)
    return options


def limit(doing: str, options: Any, timeout: float | None, cancel: Cancel | None) -> None:
    """Writes into ``options``, of a run or of opening a session, what ends it."""
    if timeout is not None:
        seconds = timeout
        if type(timeout) is not float or math.isnan(timeout):  # most are one, and have to be quick
            seconds = _check.real(doing, "timeout", timeout, -math.inf, what="a number of seconds")
        deadline = time.monotonic_ns() + seconds * 1e9
        if deadline < 2**63:  # else it never passes
            options.deadline_ns = int(max(1, deadline))
    if cancel is not None:
        _check.instance(doing, "cancel", cancel, Cancel)._give_to(options)


def raise_interrupt() -> None:
    """Raises what a signal's handler raised in the run that has ended on this thread, if any."""
    if _interrupts and threading.get_ident() == _MAIN_THREAD:
        raise _interrupts.pop()


def _tensors(names: tuple[str, ...], known: Mapping[str, Any], kept: list[Any]) -> Any:
    tensors = ffi.new("lk_named_tensor[]", len(names))
    for tensor, name in zip(tensors, names):
        text = known.get(name)
        if text is None:  # the library says that there is no such name
            text = ffi.new("char[]", encode(name))
            kept.append(text)
        tensor.name = text
    return tensors


class Call:
    """What one run at a time has: the tensors of its inputs and outputs, and room for an error.

    It is good for another run once results were taken; after a failure it is not.

    :param known: names of the model, as C strings; they must live as long as this.
    """

    __slots__ = ("_given", "_inputs", "_kept", "_outputs", "_results", "error", "names",
                 "wanted")

    def __init__(self, known: Mapping[str, Any], names: tuple[str, ...],
                 wanted: tuple[str, ...]) -> None:
        _check.names("run", "inputs", names)
        _check.names("run", "outputs", wanted)
        self.names, self.wanted = names, wanted
        self._kept: list[Any] = []
        self._given = _tensors(names, known, self._kept)
        self._results = _tensors(wanted, known, self._kept)
        self.error = ffi.new("lk_error *")
        self._inputs = [Input(named.tensor, name) for named, name in zip(self._given, names)]
        self._outputs = [Output(named.tensor, name) for named, name in zip(self._results, wanted)]

    def read_from(self, inputs: Mapping[str, Any]) -> list[numpy.ndarray]:
        """Points the inputs to arrays, and returns those, which must live as long as the run."""
        return [tensor.point_to(inputs[name]) for tensor, name in zip(self._inputs, self.names)]

    def write_to(self, out: Mapping[str, numpy.ndarray]) -> None:
        """Points some outputs to the caller's arrays; the library allocates the others."""
        for tensor, name in zip(self._outputs, self.wanted):
            if name in out:
                tensor.point_to(out[name])

    def run(self, session: Any, options: Any) -> int:
        """The status; ``error`` has the sentence of a failure."""
        return lib.lk_py_session_run(session, self._given, len(self._inputs), self._results,
                                     len(self._outputs), options, self.error)

    def take(self, release: Any) -> dict[str, numpy.ndarray]:
        """The results of a run, by name; see :meth:`Output.take`."""
        return {name: tensor.take(release) for tensor, name in zip(self._outputs, self.wanted)}
