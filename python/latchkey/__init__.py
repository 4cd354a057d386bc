"""Runs ONNX models on CPUs and builds nothing twice.

    session = latchkey.Session("model.onnx")
    result = session.run({"x": array})
"""

from __future__ import annotations

import importlib
import typing

from ._cancel import Cancel
from ._check import UNLIMITED
from ._context import Context, Option, set_processors, threads_stats
from ._errors import (BusyError, CancelledError, DeadlineError, Error, FileError,
                      InvalidArgumentError, MalformedError, ModelNotFoundError, NotFoundError,
                      OutOfMemoryError, OutOfRangeError, UnsupportedError, text)
from ._explain import Explanation, explain
from ._finding import Finding
from ._model import NodeInfo, PassInfo, Refusal, ValueInfo
from ._native import ffi, lib
from ._profile import MachinePeak, Profile, machine_peak
from ._session import Session
from ._stats import Stats
from ._trace import Trace
from ._tuning import Choice

if typing.TYPE_CHECKING:
    from ._compare import Comparison, Difference, PeerError, Verdict, Worst, compare
    from ._doctor import Diagnosis, Pitfall, doctor
    from ._recorder import Recorder

__all__ = ["UNLIMITED", "BusyError", "Cancel", "CancelledError", "Choice", "Comparison",
           "Context", "DeadlineError", "Diagnosis", "Difference", "Error", "Explanation",
           "FileError", "Finding", "InvalidArgumentError", "MachinePeak", "MalformedError",
           "ModelNotFoundError", "NodeInfo", "NotFoundError", "Option", "OutOfMemoryError",
           "OutOfRangeError", "PassInfo", "PeerError", "Pitfall", "Profile", "Recorder", "Refusal",
           "Session", "Stats", "Trace", "UnsupportedError", "ValueInfo", "Verdict", "Worst",
           "compare", "doctor", "explain", "machine_peak", "set_processors", "threads_stats",
           "version"]


if lib.lk_py_api() == ffi.NULL:
    raise ImportError("failed to import latchkey: liblatchkey is of another version than the "
                      "package, install both anew")

__version__: str = text(lib.lk_py_api().version_text()).partition(" ")[0]
"""The library's version alone, ``"0.1.0"``."""


def version() -> str:
    """The library's version, with the instruction set that it uses."""
    return text(lib.lk_py_api().version_text())


_LAZY = {"_compare": ("Comparison", "Difference", "PeerError", "Verdict", "Worst", "compare"),
         "_doctor": ("Diagnosis", "Pitfall", "doctor"),
         "_recorder": ("Recorder",)}


def __getattr__(name: str) -> typing.Any:
    """Imports what most programs do not use when it is used: the command starts as quickly."""
    for module, names in _LAZY.items():
        if name in names:
            return getattr(importlib.import_module(f".{module}", __name__), name)
    instead = (": latchkey.Session opens a model, and latchkey.ort adds the provider to a session "
               "of ONNX Runtime" if name == "InferenceSession" else "")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead}")
