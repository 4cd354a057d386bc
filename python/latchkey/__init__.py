"""Runs ONNX models on CPUs and builds nothing twice.

    session = latchkey.Session("model.onnx")
    result = session.run({"x": array})
"""

from __future__ import annotations

import typing

from ._cancel import Cancel
from ._context import UNLIMITED, Context, set_processors, threads_stats
from ._errors import (BusyError, CancelledError, DeadlineError, Error, FileError,
                      InvalidArgumentError, MalformedError, ModelNotFoundError, NotFoundError,
                      OutOfMemoryError, OutOfRangeError, UnsupportedError, text)
from ._explain import Explanation, Finding, explain
from ._model import NodeInfo, PassInfo, Refusal, ValueInfo
from ._native import lib
from ._profile import MachinePeak, Profile, machine_peak
from ._session import Session
from ._stats import Stats

if typing.TYPE_CHECKING:
    from ._compare import Comparison, Difference, PeerError, Verdict, Worst, compare
    from ._recorder import Recorder

__all__ = ["UNLIMITED", "BusyError", "Cancel", "CancelledError", "Comparison", "Context",
           "DeadlineError", "Difference", "Error", "Explanation", "FileError", "Finding",
           "InvalidArgumentError", "MachinePeak", "MalformedError", "ModelNotFoundError",
           "NodeInfo", "NotFoundError", "OutOfMemoryError", "OutOfRangeError", "PassInfo",
           "PeerError", "Profile", "Recorder", "Refusal", "Session", "Stats", "UnsupportedError",
           "ValueInfo", "Verdict", "Worst", "compare", "explain", "machine_peak",
           "set_processors", "threads_stats", "version"]


def version() -> str:
    """The library's version, with the instruction set that it uses."""
    return text(lib.lk_py_api().version_text())


def __getattr__(name: str) -> typing.Any:
    """Imports what most programs do not use when it is used: the command starts as quickly."""
    if name == "Recorder":
        from . import _recorder
        return _recorder.Recorder
    if name not in ("Comparison", "Difference", "PeerError", "Verdict", "Worst", "compare"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _compare
    return getattr(_compare, name)
