"""The execution provider for ONNX Runtime: its library, its registration, statistics, its cache.

    import onnxruntime, latchkey.ort
    latchkey.ort.register()
    session = onnxruntime.InferenceSession("model.onnx", providers=["LatchkeyExecutionProvider"])

ONNX Runtime is imported by the first call that needs it, not with this module.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from . import _border, _check, _fork, _source
from ._context import checked_limits
from ._errors import BusyError, Error, MalformedError, ModelNotFoundError
from ._explain import Explanation
from ._explain import explain as explain_statistics
from ._files import write_whole
from ._session import Session

if TYPE_CHECKING:
    import onnxruntime
    from onnx import ModelProto

__all__ = ["append", "border_cost", "clear", "explain", "explain_claims", "get_ep_name",
           "get_ep_names", "get_library_path", "merge_traces", "register", "set_capacity", "stats",
           "trim", "unregister"]

_EP_NAME = "LatchkeyExecutionProvider"
_MINIMUM = (1, 23)  # LK_ORT_API_VERSION in executor_glue/ort/ort_abi.h
_LOG_FATAL = 4
_APPEND = "add the provider to a session"

_lock = _fork.lock()
_border_ns: float | None = None  # as border_cost() has measured it; guarded by _lock
_registration: str | None = None  # the name that register() gave; guarded by _lock


def get_library_path() -> str:
    """The absolute path of the provider's library, for ``RegisterExecutionProviderLibrary``."""
    return os.path.abspath(Path(__file__).parent / "liblatchkey_ort.so")


def get_ep_name() -> str:
    """The provider's name, ``"LatchkeyExecutionProvider"``."""
    return _EP_NAME


def get_ep_names() -> list[str]:
    """The names of all providers in the library: one."""
    return [_EP_NAME]


def _onnxruntime() -> Any:
    """The module, new enough; ImportError says what is there and what is needed."""
    needed = ".".join(map(str, _MINIMUM))
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(f"failed to import onnxruntime: {error}; {_EP_NAME} needs ONNX Runtime "
                          f"{needed} or newer (pip install 'onnxruntime>={needed}')",
                          name="onnxruntime") from error
    found = getattr(onnxruntime, "__version__", "")
    version = re.match(r"(\d+)\.(\d+)", found)
    if version is None or tuple(map(int, version.groups())) < _MINIMUM:
        raise ImportError(f"failed to use onnxruntime {found}: {_EP_NAME} needs {needed} or newer "
                          f"(pip install 'onnxruntime>={needed}')", name="onnxruntime")
    return onnxruntime


def _devices(ort: Any) -> list[Any]:
    return [device for device in ort.get_ep_devices() if device.ep_name == _EP_NAME]


def register(name: str = "latchkey") -> None:
    """Registers the provider's library with ONNX Runtime, once, however often it is called.

    Does nothing when the provider is registered already, by whomever. Any number of threads may
    call it at once.

    :param name: what ONNX Runtime calls the registration; :func:`unregister` knows it.
    :raises ImportError: onnxruntime is missing, or older than 1.23.
    """
    global _registration
    _check.text("register the provider", "name", name)
    ort = _onnxruntime()
    with _lock:
        if _devices(ort):
            return
        ort.register_execution_provider_library(name, get_library_path())
        _registration = name


def _providers() -> int:
    """How many sessions of this process have the provider."""
    library = ctypes.CDLL(get_library_path())
    library.latchkey_ort_providers.restype = ctypes.c_uint32
    return int(library.latchkey_ort_providers())


def unregister() -> None:
    """Takes back what :func:`register` did. The provider can be registered again.

    Does nothing when :func:`register` did nothing.

    :raises BusyError: sessions that use the provider are there.
    """
    global _registration
    with _lock:
        if _registration is None:
            return
        left = _providers()
        if left > 0:
            raise BusyError(f"failed to unregister {_EP_NAME}: {left} "
                            f"session{'s use' if left > 1 else ' uses'} it, none may; delete "
                            f"{'them' if left > 1 else 'it'} first", "LK_BUSY")
        _onnxruntime().unregister_execution_provider_library(_registration)
        _registration = None


def append(session_options: onnxruntime.SessionOptions, **provider_options: Any) -> None:
    """Adds the provider to the options of a session, and registers it where it is not registered.

    The same as ``providers=[("LatchkeyExecutionProvider", {...})]``, also for versions of ONNX
    Runtime whose ``InferenceSession`` does not take the name of a registered provider (1.23, 1.24).

    :param provider_options: each a text or a number, such as ``memory_bytes="2g"``;
        docs/onnxruntime.md has their names. What is not allowed is said when the session is made.
    :raises TypeError: an argument is of another kind.
    :raises ImportError: onnxruntime is missing, or older than 1.23.
    """
    ort = _onnxruntime()
    _check.instance(_APPEND, "session_options", session_options, ort.SessionOptions)
    options = {key: _option(key, value) for key, value in provider_options.items()}
    register()
    session_options.add_provider_for_devices(_devices(ort), options)


def _utf8(do: str, name: str, value: str) -> str:
    """ONNX Runtime takes no other texts."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _check.wrong_value(do, name, value, "a text that is UTF-8") from None
    return value


def _option(name: str, value: Any) -> str:
    if isinstance(value, str):
        return _utf8(_APPEND, name, _check.text(_APPEND, name, value))
    if isinstance(value, (bool, os.PathLike)):
        return "on" if value is True else "off" if value is False else _check.path(
            _APPEND, name, value)
    if isinstance(value, (float, numpy.floating)):
        return str(_check.real(_APPEND, name, value, -math.inf))
    return str(_check.whole(_APPEND, name, value, -2**63))


# ---- statistics ----

_NUMPY_TYPES = {
    "float": numpy.float32, "double": numpy.float64, "float16": numpy.float16, "bool": numpy.bool_,
    "int8": numpy.int8, "int16": numpy.int16, "int32": numpy.int32, "int64": numpy.int64,
    "uint8": numpy.uint8, "uint16": numpy.uint16, "uint32": numpy.uint32, "uint64": numpy.uint64,
    "string": numpy.object_}
# Types that NumPy does not have, as ONNX numbers them (TensorProto.DataType).
_ONNX_TYPES = {"bfloat16": 16, "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19,
               "float8e5m2fnuz": 20, "uint4": 21, "int4": 22}


def _feed(ort: Any, value: Any) -> Any:
    """A value that an input accepts: zeros, with size 1 for open dimensions."""
    tensor = re.fullmatch(r"tensor\((\w+)\)", value.type)
    kind = tensor[1] if tensor else None
    shape = [size if isinstance(size, int) and size >= 0 else 1 for size in value.shape]
    if kind == "string":
        return numpy.full(shape, "", numpy.object_)
    if kind in _NUMPY_TYPES:
        return numpy.zeros(shape, _NUMPY_TYPES[kind])
    if kind in _ONNX_TYPES:
        return ort.OrtValue.ortvalue_from_shape_and_type(shape, _ONNX_TYPES[kind])
    if value.type.startswith("seq("):
        return []
    if value.type.startswith("optional("):
        return None
    raise ValueError(f"failed to read statistics: input '{value.name}' has type {value.type}, for "
                     "which no value can be made")


def _require_provider(session: Any, what: str) -> None:
    _check.instance(what, "session", session, _onnxruntime().InferenceSession)
    providers = session.get_providers()
    if _EP_NAME not in providers:
        raise ValueError(f"failed to {what}: the session has no {_EP_NAME}, it has "
                         f"{', '.join(providers)}")


def stats(session: onnxruntime.InferenceSession) -> dict[str, Any]:
    """What the provider did in a session, and what its cache holds.

    The session must have the provider option ``run_statistics="on"``: the statistics come in a file
    that a run names, and not everybody who may run a session may write files.

    ``["claims"]``: ``nodes``, ``claimed``, ``subgraphs``, and ``left``, a list of what was left to
    ONNX Runtime, each with ``operator``, ``domain``, ``count`` and ``reason``. ``["subgraphs"]``:
    each with its ``name``, its ``runs``, ``nodes``, ``operators`` and ``sizes`` as
    :meth:`latchkey.Session.statistics` has them, and ``lent_shares``. ``["context"]``: the one
    that the session shares. Also ``provider`` and ``model``. docs/statistics.md has all names.

    Starts a run that is terminated before it computes; other runs may be under way.

    :raises ValueError: the session has no such provider.
    :raises RuntimeError: the session does not allow it.
    """
    ort = _onnxruntime()
    _require_provider(session, "read statistics")
    feeds = {value.name: _feed(ort, value) for value in session.get_inputs()}
    options = ort.RunOptions()
    options.terminate = True
    options.log_severity_level = _LOG_FATAL
    with tempfile.TemporaryDirectory(prefix="latchkey-") as folder:
        report = Path(folder, "statistics.json")
        options.add_run_config_entry("latchkey.stats", str(report))
        try:
            session.run(None, feeds, options)
        except Exception as error:  # a terminated run raises; the report shows that it began
            if not report.is_file():
                raise RuntimeError(f"failed to read statistics: {error}") from error
        found: dict[str, Any] = json.loads(report.read_text())
        return found


def explain(session: onnxruntime.InferenceSession) -> Explanation:
    """Why a session is slow or its memory grows, as far as the statistics show it: nodes that are
    left to ONNX Runtime, and what the borders around them cost; sizes that were new or had been
    evicted; limits. ``print`` shows it.

    As :func:`stats`, of which it takes what it says. Where nodes that are left split the model, it
    also calls :func:`border_cost`, and opens the model's file, if it is there, to see what
    ``claim="all"`` would claim.
    """
    found = stats(session)
    claims = found["claims"]
    if claims["left"] and claims["subgraphs"] > 1:
        claims["border_ns"] = border_cost()
        claims["subgraphs_of_all"] = _subgraphs_of_all(found["model"])
    return explain_statistics(found)


def _subgraphs_of_all(path: str) -> int | None:
    """How many there would be with ``claim="all"``; ``None``: the model cannot be opened again."""
    if not os.path.isfile(path):
        return None
    try:
        subgraphs: int = explain_claims(path, claim="all")["subgraphs"]
        return subgraphs
    except Exception:  # ONNX Runtime's have no class in common: the file may be another by now
        return None


def border_cost() -> float:
    """What it costs to hand a group of nodes to the provider, in nanoseconds of each run.

    Measures for some tenths of a second, at the first call in a process, how much longer a model
    takes in which 16 nodes are claimed, each as a group of its own, than the same model without the
    provider. What else the machine does changes the figure. Any number of threads may call it at
    once; they wait for the one that measures.

    :raises ImportError: onnxruntime is missing, or older than 1.23.
    """
    global _border_ns
    ort = _onnxruntime()
    register()  # before the lock, which it takes, too
    with _lock:
        if _border_ns is None:
            sessions = []
            for on_provider in (True, False):
                options = ort.SessionOptions()
                options.log_severity_level = _LOG_FATAL
                options.intra_op_num_threads = 1
                if on_provider:
                    options.add_provider_for_devices(_devices(ort), {"claim": "all"})
                sessions.append(ort.InferenceSession(_border.model(), options, enable_fallback=0))
            _border_ns = _border.cost_ns(*sessions)
        return _border_ns


def _raise_malformed(source: str | bytes | bytearray | memoryview, error: Exception) -> None:
    """Of what ONNX Runtime did not open: MalformedError where the file is not what it should be, of
    which ONNX Runtime says only that protobuf does not parse it."""
    try:
        Session(source, cache="off", threads=1).close()
    except MalformedError as mine:
        raise mine from error
    except Error:
        pass


def explain_claims(path: str | os.PathLike[str] | bytes | ModelProto,
                   **provider_options: Any) -> dict[str, Any]:
    """What the provider would take of a model, and what it would leave and why.

    Opens a session of the model, and closes it. ``nodes``, ``claimed``, ``subgraphs``, ``left``:
    see :func:`stats`. Nodes are counted as the provider sees them: after ONNX Runtime's own basic
    optimizations.

    :param path: of an ONNX file; or its bytes, or an ``onnx.ModelProto``.
    :param provider_options: such as ``cache="off"``, see docs/onnxruntime.md.
    :raises TypeError: an argument is of another kind.
    :raises ModelNotFoundError: there is no such file.
    :raises MalformedError: it is not an ONNX file, but a pointer of Git LFS, for example; what else
        keeps a model from being opened is an exception of ONNX Runtime's.
    :raises ImportError: onnxruntime is missing, or older than 1.23.
    """
    do = "explain what the provider claims"
    source = _source.read(do, "path", path)
    if isinstance(source, str) and not os.path.exists(_utf8(do, "path", source)):
        raise ModelNotFoundError(f"failed to {do}: there is no model '{source}'", "LK_NOT_FOUND")
    ort = _onnxruntime()
    options = ort.SessionOptions()
    options.log_severity_level = _LOG_FATAL
    append(options, **{**provider_options, "run_statistics": "on"})
    # Without a fallback: a session on ONNX Runtime's own providers would explain nothing.
    try:
        session = ort.InferenceSession(source if isinstance(source, str) else bytes(source),
                                       options, enable_fallback=0)
    except Exception as error:  # ONNX Runtime's have no class in common
        _raise_malformed(source, error)
        raise
    claims: dict[str, Any] = stats(session)["claims"]
    return claims


# ---- the timeline ----


def merge_traces(trace: str | os.PathLike[str], profile: str | os.PathLike[str], start_ns: int,
                 out: str | os.PathLike[str]) -> None:
    """Writes a trace of the provider and ONNX Runtime's own profile of the same session into one
    file, on one clock: what Latchkey did lies within the fused nodes that did it::

        options = onnxruntime.SessionOptions()
        options.enable_profiling = True
        latchkey.ort.append(options, trace_file="latchkey.json")
        session = onnxruntime.InferenceSession("model.onnx", options)
        session.run(None, feeds)
        start_ns, profile = session.get_profiling_start_time_ns(), session.end_profiling()
        del session  # which writes latchkey.json
        latchkey.ort.merge_traces("latchkey.json", profile, start_ns, "both.json")

    :param start_ns: when the profile began, by CLOCK_REALTIME: the session says it.
    :raises ValueError: a file is not what it should be.
    :raises FileError: a file could not be read, or the new one not written.
    """
    from ._merge import merge
    do = "merge traces"
    out = _check.path(do, "out", out)
    whole = merge(_check.path(do, "trace", trace), _check.path(do, "profile", profile),
                  _check.whole(do, "start_ns", start_ns))
    write_whole(out, json.dumps(whole), "a trace")


# ---- the cache ----

_DYNAMIC = {"entries": "cache_entries", "bytes": "cache_bytes"}


def _set_dynamic(session: Any, what: str, **entries: Any) -> None:
    _require_provider(session, what)
    if not hasattr(session, "set_ep_dynamic_options"):
        raise RuntimeError(f"failed to {what}: onnxruntime {_onnxruntime().__version__} has no "
                           "InferenceSession.set_ep_dynamic_options, 1.24 or newer has it")
    session.set_ep_dynamic_options({f"ep.{_EP_NAME.lower()}.{key}": str(value)
                                    for key, value in entries.items() if value is not None})


def set_capacity(session: onnxruntime.InferenceSession, entries: int | None = None,
                 bytes: int | str | None = None, weights_bytes: int | str | None = None,
                 memory_bytes: int | str | None = None) -> None:
    """Changes limits of a session's cache, and of all its memory; ``None`` leaves one as it is.
    Bytes are a number, or a text such as ``"2g"``.

    Sessions whose provider options are equal share the cache, and so the limits. Shrinking evicts
    before it returns, about the least recently used first. 0 empties and disables. Runs may be
    under way. Needs ONNX Runtime 1.24 or newer, as :func:`clear` and :func:`trim` do.

    :raises TypeError: an argument is of another kind.
    :raises ValueError: a number is not allowed, or the session has no such provider.
    """
    do = "change limits of the cache"
    given = checked_limits(do, entries, bytes, weights_bytes, memory_bytes)
    _require_provider(session, do)
    if given:
        _set_dynamic(session, do, **{_DYNAMIC.get(name, name): value
                                     for name, value in given.items()})


def clear(session: onnxruntime.InferenceSession) -> None:
    """Drops every entry of a session's cache; what is in use goes when its user is done.

    :raises ValueError: the session has no such provider.
    """
    _set_dynamic(session, "clear the cache", cache_action="clear")


def trim(session: onnxruntime.InferenceSession) -> None:
    """Gives freed memory back to the operating system. Takes milliseconds.

    :raises ValueError: the session has no such provider.
    """
    _set_dynamic(session, "trim the cache", cache_action="trim")
