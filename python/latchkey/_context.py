"""Contexts: the cache, the packed weights and the threads that sessions share."""

from __future__ import annotations

import difflib
import json
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from . import _check, _fork
from ._errors import fail, text
from ._log import wanted_level, write_lines
from ._native import ffi, lib
from ._stats import Stats
from ._text import encode, encode_path
from ._tuning import Choice, choices

_CACHE_MODES = {"off": lib.LK_CACHE_OFF, "thread": lib.LK_CACHE_THREAD,
                "shared": lib.LK_CACHE_SHARED}
_KINDS = ("name", "run", "user", "value")  # lk_kind
_KIND_FIELDS = ("hits", "misses", "builds", "failed_builds", "waits", "evictions", "entries",
                "bytes", "build_ns")


_SOURCES = ("default", "argument", "environment", "machine", "cgroup", "call")  # lk_option_source


class Option(NamedTuple):
    """An option as it is in force."""

    name: str
    value: str
    source: str
    """``default``, ``argument``, ``environment``, ``machine`` (what it has, or the affinity of the
    process), ``cgroup`` (a limit of its control group) or ``call`` (changed since)."""
    variable: str
    """The environment variable that sets it; ``""``: none does."""


_OPEN = "open a context"


def _entries(do: str, name: str, value: Any) -> int:
    return _check.whole(do, name, value)


def _mode(do: str, name: str, value: Any) -> str:
    return _check.choice(do, name, value, ("off", "thread", "shared"))


def _memory(do: str, name: str, value: Any) -> int:
    return _check.size(do, name, value, 1)  # 0 means "not given" to the library


def _level(do: str, name: str, value: Any) -> int:
    return _check.whole(do, name, value, 0, 3)


def _socket(do: str, name: str, value: Any) -> bytes:
    wanted = "the path of a file or folder, 'default' or ''"
    return os.fsencode(_check.path(do, name, value, wanted))


def _engine(do: str, name: str, value: Any) -> bytes:
    return encode(_check.text(do, name, value))


def _tuning(do: str, name: str, value: Any) -> bytes:
    return encode_path(_check.path(do, name, value))


# What each option must be. None, "not given", is allowed for all.
_OPTIONS: dict[str, Callable[[str, str, Any], Any]] = {
    "cache": _mode, "cache_entries": _entries, "cache_bytes": _check.size,
    "weights_bytes": _check.size, "threads": _check.threads, "verbose": _level,
    "memory_bytes": _memory, "weights_apart": _check.flag, "socket": _socket, "engine": _engine,
    "tuning": _tuning}


def _checked(do: str, options: Mapping[str, Any], others: Iterable[str] = ()) -> dict[str, Any]:
    """The options that are given, as the library takes them. `others`: what else the caller has."""
    found = {}
    for name, value in options.items():
        if name not in _OPTIONS:
            known = [*_OPTIONS, *others]
            near = difflib.get_close_matches(name, known, 1)
            raise TypeError(f"failed to {do}: '{name}' is an unexpected keyword argument, "
                            f"{near[0] if near else 'one of ' + ', '.join(known)} is allowed")
        if value is not None:
            found[name] = _OPTIONS[name](do, name, value)
    return found


class Context:
    """A cache, its limits, and the number of threads: what sessions have in common.

    Options that are ``None`` come from the environment (``LATCHKEY_CACHE`` and so on), then from
    the defaults. Any number of sessions and threads may use a context at once. It lives until it
    and the last session in it are gone.

    :param cache: ``"shared"`` (one table for all threads), ``"thread"`` (each thread its own) or
        ``"off"`` (nothing is kept).
    :param cache_entries: limit of the cache in entries; 0 disables.
    :param cache_bytes: limit of the cache in bytes, without packed weights; 0 disables. Bytes are a
        number, or a text such as ``"512m"`` or ``"2g"`` (times 1024, 1024**2 or 1024**3 for k, m
        and g).
    :param weights_bytes: limit of packed weights in bytes.
    :param threads: the most threads of one run. It may get fewer while others run; the results are
        the same to the bit. With an engine other than native, those of contexts with other numbers
        may differ in their last bits.
    :param memory_bytes: the most memory that the context holds, the default being the machine's;
        what does not fit is :class:`OutOfMemoryError`, after idle things were dropped.
    :param weights_apart: packed weights do not count for ``memory_bytes``.
    :param verbose: 0 nothing, 1 warnings, 2 information, 3 everything. Lines go to
        ``logging.getLogger("latchkey")`` where that has a handler, else to stderr. ``None``:
        ``LATCHKEY_VERBOSE``, then what that logger lets through, then 1.
    :param engine: who computes: ``"native"``, kernels of the library's own that serve every size;
        ``"onednn"``, primitives of oneDNN, each built for one size and found by key, and native
        for the rest; or ``"auto"``, native, and oneDNN for sizes that are fixed or recur, where it
        takes less time, so that last bits change when a choice does (``docs/engines.md``).
        ``None``: ``LATCHKEY_ENGINE``, then auto.
    :param tuning: a file of :meth:`Session.tune` or ``latchkey tune``: ``"auto"`` chooses by the
        times in it. ``""``: none. ``None``: ``LATCHKEY_TUNING``, then none. A file that is not
        there is :class:`NotFoundError`; lines that are damaged are skipped, with a warning.
    :param socket: where the process tells its statistics to ``latchkey top`` while the context
        lives: a path, a folder, or ``"default"``; ``""``: nowhere. ``None``: ``LATCHKEY_SOCKET``,
        then nowhere.
    """

    def __init__(self, *, cache: str | None = None, cache_entries: int | None = None,
                 cache_bytes: int | str | None = None, weights_bytes: int | str | None = None,
                 threads: int | None = None, verbose: int | None = None,
                 memory_bytes: int | str | None = None, weights_apart: bool | None = None,
                 engine: str | None = None, tuning: str | os.PathLike[str] | None = None,
                 socket: str | os.PathLike[str] | None = None) -> None:
        self._open(_checked(_OPEN, {
            "cache": cache, "cache_entries": cache_entries, "cache_bytes": cache_bytes,
            "weights_bytes": weights_bytes, "threads": threads, "verbose": verbose,
            "memory_bytes": memory_bytes, "weights_apart": weights_apart, "engine": engine,
            "tuning": tuning, "socket": socket}))

    def _open(self, given: Mapping[str, Any]) -> None:
        """With options that were checked."""
        verbose = given.get("verbose")
        if verbose is None and "LATCHKEY_VERBOSE" not in os.environ:
            verbose = wanted_level()
        # The library takes 0 for "not given".
        level = lib.LK_LOG_DEFAULT if verbose is None else verbose or lib.LK_LOG_OFF
        where = ffi.new("char[]", given["socket"]) if "socket" in given else ffi.NULL
        engine = ffi.new("char[]", given["engine"]) if "engine" in given else ffi.NULL
        tuning = ffi.new("char[]", given["tuning"]) if "tuning" in given else ffi.NULL
        mode = _CACHE_MODES[given["cache"]] if "cache" in given else lib.LK_CACHE_DEFAULT
        limits = {name: given.get(name, lib.LK_UNSET) or lib.LK_NONE for name in (
            "cache_entries", "cache_bytes", "weights_bytes", "memory_bytes")}
        options = ffi.new("lk_context_options *", {
            "struct_size": ffi.sizeof("lk_context_options"), "cache_mode": mode,
            "threads": given.get("threads", 0), **limits,
            "weights_apart": given.get("weights_apart", False), "verbose": level,
            "socket": where, "engine": engine, "tuning": tuning})
        made, error = ffi.new("lk_py_context **"), ffi.new("lk_error *")
        status = lib.lk_py_context_create(options, made, error)
        if status:
            fail(status, error)
        self._pointer = ffi.gc(made[0], lib.lk_py_context_release)
        self._api = lib.lk_py_api()
        write_lines()

    def _native(self) -> Any:
        return lib.lk_py_context_get(self._pointer)

    @property
    def threads(self) -> int:
        """Threads of one run."""
        return int(self._api.context_threads(self._native()))

    @property
    def cache(self) -> str:
        """The cache mode in force."""
        mode = self._api.context_cache_mode(self._native())
        return next(name for name, value in _CACHE_MODES.items() if value == mode)

    @property
    def engine(self) -> str:
        """The name of the engine that is asked for works."""
        return str(ffi.string(self._api.engine_chosen(self._native())).decode())

    def choices(self) -> tuple[Choice, ...]:
        """What an engine besides native has offered for the nodes of all sessions of the context,
        and what was chosen, in the order in which they were bound first. The engine ``auto`` asks
        for sizes that are fixed or recur, ``native`` never. Some thousand are kept. Any thread may
        ask at any time."""
        return choices(self._api, self._native())

    def _save_tuning(self, path: Any) -> None:
        error = ffi.new("lk_error *")
        status = self._api.tuning_save(self._native(), path, ffi.NULL, error)
        if status:
            fail(status, error)

    __reduce_ex__ = _check.not_pickled

    def set_capacity(self, entries: int | None = None, bytes: int | str | None = None,
                     weights_bytes: int | str | None = None,
                     memory_bytes: int | str | None = None) -> None:
        """Changes limits; ``None`` leaves one as it is. Bytes are given as to :class:`Context`.

        Shrinking evicts before it returns, least recently used first. 0 empties and disables.
        ``memory_bytes``, at least 1, holds for what is allocated from then on.
        """
        given = checked_limits("change limits of a context", entries, bytes, weights_bytes,
                               memory_bytes)
        error = ffi.new("lk_error *")
        status = self._api.cache_set_capacity(
            self._native(), ffi.NULL, given.get("entries", lib.LK_UNSET),
            given.get("bytes", lib.LK_UNSET), error)
        if not status and "weights_bytes" in given:
            status = self._api.cache_set_weights_capacity(self._native(), given["weights_bytes"],
                                                          error)
        if not status and "memory_bytes" in given:
            status = self._api.memory_set_limit(self._native(), given["memory_bytes"], error)
        if status:
            fail(status, error)

    def stats(self) -> Stats:
        """Counters since the context was made, and sizes now.

        ``["cache"][kind]`` for the kinds ``name`` (plans of nodes), ``run``
        (run plans of whole graphs), ``user`` and ``value`` (what engines have built, such as
        primitives) has hits, misses, builds, failed_builds, waits, evictions, entries, bytes and
        build_ns. ``["cache"]`` itself has the sums and the limits;
        ``["weights"]`` the packed weights; ``["memory"]`` what ``memory_bytes`` limits. It is a
        dict, which shows itself as tables.
        """
        stats, error = ffi.new("lk_stats *"), ffi.new("lk_error *")
        stats.struct_size = ffi.sizeof("lk_stats")
        status = self._api.cache_stats(self._native(), ffi.NULL, stats, error)
        if status:
            fail(status, error)
        cache: dict[str, Any] = {
            name: {field: getattr(stats.kind[i], field) for field in _KIND_FIELDS}
            for i, name in enumerate(_KINDS)}
        for field in ("entries", "bytes", "peak_bytes", "unlinked_bytes", "capacity_entries",
                      "capacity_bytes", "reorders", "allocations"):
            cache[field] = getattr(stats, field)
        return Stats({"cache": cache, "weights": {
            "entries": stats.weights_entries, "bytes": stats.weights_bytes,
            "packed": stats.weights_packed, "shared": stats.weights_shared,
            "lent_bytes": stats.weights_lent_bytes,
            "capacity_bytes": stats.weights_capacity_bytes}, "memory": {
                name: getattr(stats, f"memory_{name}") for name in (
                    "bytes", "peak_bytes", "limit_bytes", "refusals", "refused_bytes")}})

    def statistics(self) -> dict[str, Any]:
        """All that is counted of the context and the process, as ``Session.statistics()`` has it
        but without ``session``: docs/statistics.md has the names. Any thread may ask at any
        time."""
        text_out, error = ffi.new("char **"), ffi.new("lk_error *")
        sessions, native = lib.lk_py_session_api(), self._native()
        status = sessions.context_report(native, text_out, error)
        if status:
            fail(status, error)
        try:
            found: dict[str, Any] = json.loads(ffi.string(text_out[0]))
            return found
        finally:
            sessions.context_report_release(native, text_out[0])

    def options(self) -> list[Option]:
        """The options as they are in force, and where each comes from; the last ones are the
        process's."""
        options: list[Option] = []
        info = ffi.new("lk_option_info *")
        info.struct_size = ffi.sizeof("lk_option_info")
        while not self._api.option_info(self._native(), len(options), info, ffi.NULL):
            options.append(Option(text(info.name), text(info.text), _SOURCES[info.source],
                                  text(info.variable)))
        return options

    def clear(self) -> None:
        """Drops every entry of the cache; what is in use goes when its user is done."""
        error = ffi.new("lk_error *")
        status = self._api.cache_clear(self._native(), ffi.NULL, error)
        if status:
            fail(status, error)

    def trim(self) -> None:
        """Gives freed memory back to the operating system. Takes milliseconds."""
        self._api.cache_trim(self._native())


def checked_limits(do: str, entries: Any, bytes: Any, weights_bytes: Any,
                   memory_bytes: Any) -> dict[str, int]:
    """Those that are given."""
    found = {}
    for name, value, check in (
            ("entries", entries, _entries), ("bytes", bytes, _check.size),
            ("weights_bytes", weights_bytes, _check.size), ("memory_bytes", memory_bytes, _memory)):
        if value is not None:
            found[name] = check(do, name, value)
    return found


def set_processors(processors: int) -> None:
    """Sets how many threads of the process may compute at once while a run has more than one.

    Without it ``LATCHKEY_PROCESSORS`` decides, else the processors that the process may use.
    """
    error = ffi.new("lk_error *")
    number = _check.threads("set the processors", "processors", processors)
    status = lib.lk_py_api().processors_set(number, error)
    if status:
        fail(status, error)


def threads_stats() -> dict[str, int]:
    """The process: its ``processors``, its threads that are ``running`` and their ``peak``, its
    runs that are ``waiting`` for processors, and how many have waited so far (``waits``)."""
    stats, error = ffi.new("lk_threads_stats *"), ffi.new("lk_error *")
    stats.struct_size = ffi.sizeof("lk_threads_stats")
    status = lib.lk_py_api().threads_stats(stats, error)
    if status:
        fail(status, error)
    return {name: getattr(stats, name)
            for name in ("processors", "running", "peak", "waiting", "waits")}


_shared: weakref.WeakValueDictionary[tuple[Any, ...], Context] = weakref.WeakValueDictionary()
_shared_lock = _fork.lock()


def shared_context(options: Mapping[str, Any], others: Iterable[str] = ()) -> Context:
    """The context that sessions with these options share; it goes with the last of them. `others`:
    the options that a session has itself."""
    given = _checked("open a session", options, others)
    key = tuple(sorted(given.items()))
    with _shared_lock:
        context = _shared.get(key)
        if context is None:
            context = Context.__new__(Context)
            context._open(given)
            _shared[key] = context
        return context
