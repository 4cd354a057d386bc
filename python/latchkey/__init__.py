"""Runs ONNX models on CPUs and builds nothing twice.

    session = latchkey.Session("model.onnx")
    result = session.run({"x": array})
"""

from ._cancel import Cancel
from ._context import UNLIMITED, Context, set_processors, threads_stats
from ._errors import (BusyError, CancelledError, DeadlineError, Error, FileError,
                      InvalidArgumentError, MalformedError, ModelNotFoundError, NotFoundError,
                      OutOfMemoryError, OutOfRangeError, UnsupportedError, text)
from ._explain import Explanation, Finding, explain
from ._model import NodeInfo, PassInfo, ValueInfo
from ._native import lib
from ._profile import MachinePeak, Profile, machine_peak
from ._session import Session

__all__ = ["UNLIMITED", "BusyError", "Cancel", "CancelledError", "Context", "DeadlineError",
           "Error", "Explanation", "FileError", "Finding", "InvalidArgumentError", "MachinePeak",
           "MalformedError", "ModelNotFoundError", "NodeInfo", "NotFoundError", "OutOfMemoryError",
           "OutOfRangeError", "PassInfo", "Profile", "Session", "UnsupportedError", "ValueInfo",
           "explain", "machine_peak", "set_processors", "threads_stats", "version"]


def version() -> str:
    """The library's version, with the instruction set that it uses."""
    return text(lib.lk_py_api().version_text())
