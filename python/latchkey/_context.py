"""Contexts: the cache, the packed weights and the threads that sessions share."""

from __future__ import annotations

import json
import os
import threading
import weakref
from typing import Any, NamedTuple

from ._errors import fail, text
from ._log import wanted_level, write_lines
from ._native import ffi, lib
from ._stats import Stats

UNLIMITED: int = lib.LK_UNLIMITED
"""As a number of entries or bytes: no limit."""

_CACHE_MODES = {"off": lib.LK_CACHE_OFF, "thread": lib.LK_CACHE_THREAD,
                "shared": lib.LK_CACHE_SHARED}
_KINDS = ("name", "run", "user")  # lk_kind
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


def _number(value: int | None, option: str, unset: int, most: int) -> int:
    if value is None:
        return unset
    if not 0 <= value <= most:
        raise ValueError(f"failed to read option '{option}': {value}, 0 to {most}")
    return int(value)


def _verbose(value: int | None) -> int:
    if value is None and "LATCHKEY_VERBOSE" not in os.environ:
        return wanted_level()
    return _number(value, "verbose", -1, 2**31 - 1)


class Context:
    """A cache, its limits, and the number of threads: what sessions have in common.

    Options that are ``None`` come from the environment (``LATCHKEY_CACHE`` and so on), then from
    the defaults. Any number of sessions and threads may use a context at once. It lives until it
    and the last session in it are gone.

    :param cache: ``"shared"`` (one table for all threads), ``"thread"`` (each thread its own) or
        ``"off"`` (nothing is kept).
    :param cache_entries: limit of the cache in entries; 0 disables.
    :param cache_bytes: limit of the cache in bytes, without packed weights; 0 disables.
    :param weights_bytes: limit of packed weights in bytes.
    :param threads: the most threads of one run. It may get fewer while others run; the results are
        the same to the bit.
    :param memory_bytes: the most memory that the context holds, the default being the machine's;
        what does not fit is :class:`OutOfMemoryError`, after idle things were dropped.
    :param weights_apart: packed weights do not count for ``memory_bytes``.
    :param verbose: 0 nothing, 1 warnings, 2 information, 3 everything. Lines go to
        ``logging.getLogger("latchkey")`` where that has a handler, else to stderr. ``None``:
        ``LATCHKEY_VERBOSE``, then what that logger lets through, then 1.
    :param socket: where the process tells its statistics to ``latchkey top`` while the context
        lives: a path, a folder, or ``"default"``; ``""``: nowhere. ``None``: ``LATCHKEY_SOCKET``,
        then nowhere.
    """

    def __init__(self, *, cache: str | None = None, cache_entries: int | None = None,
                 cache_bytes: int | None = None, weights_bytes: int | None = None,
                 threads: int | None = None, verbose: int | None = None,
                 memory_bytes: int | None = None, weights_apart: bool = False,
                 socket: str | None = None) -> None:
        if cache is not None and cache not in _CACHE_MODES:
            raise ValueError(
                f"failed to read option 'cache': {cache!r}, one of off, thread, shared")
        # The library's own checks would let 0 and -1 pass: they mean "not given" there.
        if threads is not None and threads < 1:
            raise ValueError(f"failed to read option 'threads': {threads}, at least 1")
        if memory_bytes is not None and memory_bytes < 1:
            raise ValueError(f"failed to read option 'memory_bytes': {memory_bytes}, at least 1")
        where = ffi.NULL if socket is None else ffi.new("char[]", os.fsencode(socket))
        options = ffi.new("lk_context_options *", {
            "struct_size": ffi.sizeof("lk_context_options"),
            "cache_mode": lib.LK_CACHE_DEFAULT if cache is None else _CACHE_MODES[cache],
            "threads": _number(threads, "threads", 0, 2**31 - 1),
            "cache_entries": _number(cache_entries, "cache_entries", lib.LK_UNSET, UNLIMITED),
            "cache_bytes": _number(cache_bytes, "cache_bytes", lib.LK_UNSET, UNLIMITED),
            "weights_bytes": _number(weights_bytes, "weights_bytes", lib.LK_UNSET, UNLIMITED),
            "memory_bytes": _number(memory_bytes, "memory_bytes", lib.LK_UNSET, UNLIMITED),
            "weights_apart": int(weights_apart),
            "verbose": _verbose(verbose),
            "socket": where})
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

    def set_capacity(self, entries: int | None = None, bytes: int | None = None,
                     weights_bytes: int | None = None,
                     memory_bytes: int | None = None) -> None:
        """Changes limits; ``None`` leaves one as it is.

        Shrinking evicts before it returns, least recently used first. 0 empties and disables.
        ``memory_bytes``, at least 1, holds for what is allocated from then on.
        """
        error = ffi.new("lk_error *")
        status = self._api.cache_set_capacity(
            self._native(), ffi.NULL, _number(entries, "entries", lib.LK_UNSET, UNLIMITED),
            _number(bytes, "bytes", lib.LK_UNSET, UNLIMITED), error)
        if not status and weights_bytes is not None:
            status = self._api.cache_set_weights_capacity(
                self._native(), _number(weights_bytes, "weights_bytes", 0, UNLIMITED), error)
        if not status and memory_bytes is not None:
            status = self._api.memory_set_limit(
                self._native(), _number(memory_bytes, "memory_bytes", 0, UNLIMITED), error)
        if status:
            fail(status, error)

    def stats(self) -> Stats:
        """Counters since the context was made, and sizes now.

        ``["cache"][kind]`` for the kinds ``name`` (plans of nodes), ``run``
        (run plans of whole graphs) and ``user`` has hits, misses, builds, failed_builds, waits,
        evictions, entries, bytes and build_ns. ``["cache"]`` itself has the sums and the limits;
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


def set_processors(processors: int) -> None:
    """Sets how many threads of the process may compute at once while a run has more than one.

    Without it ``LATCHKEY_PROCESSORS`` decides, else the processors that the process may use.
    """
    error = ffi.new("lk_error *")
    status = lib.lk_py_api().processors_set(_number(processors, "processors", 0, 2**31 - 1), error)
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
_shared_lock = threading.Lock()
# A forked child has only the thread that forked: it must not find the lock with another one.
os.register_at_fork(before=_shared_lock.acquire, after_in_parent=_shared_lock.release,
                    after_in_child=_shared_lock.release)


def shared_context(options: dict[str, Any]) -> Context:
    """The context that sessions with these options share; it goes with the last of them."""
    key = tuple(sorted((name, value) for name, value in options.items() if value is not None))
    with _shared_lock:
        context = _shared.get(key)
        if context is None:
            context = _shared[key] = Context(**options)
        return context
