"""The library's log lines, for Python's ``logging``."""

from __future__ import annotations

import os
import sys
from typing import Any

from ._errors import text
from ._native import ffi, lib

# By lk_log_level: what logging calls the level.
_LEVELS = {lib.LK_LOG_WARNING: 30, lib.LK_LOG_INFO: 20, lib.LK_LOG_DEBUG: 10}


def _logger() -> Any:
    """The logger, if the program has imported logging: others need not wait for that."""
    logging = sys.modules.get("logging")
    return logging and logging.getLogger("latchkey")


def wanted_level() -> int:
    """The lk_log_level that the logger lets through; -1, the library's default, without logging."""
    logger = _logger()
    if logger is None or not logger.hasHandlers():
        return -1
    return sum(logger.isEnabledFor(level) for level in _LEVELS.values())


def _write(level: int, line: str) -> None:
    logger = _logger()
    if logger is not None and logger.hasHandlers():
        logger.log(_LEVELS.get(level, 10), "%s", line)
    elif sys.stderr is not None:
        print(f"latchkey: {line}", file=sys.stderr)


def write_lines() -> None:
    """Hands on what the library has logged so far. Nothing is locked meanwhile: a handler may use
    the library."""
    lost = ffi.new("uint32_t *")
    first = ffi.gc(lib.lk_py_lines_take(lost), lib.lk_py_lines_free)
    line = first
    while line:
        _write(line.level, text(line.text))
        line = line.next
    if lost[0]:
        _write(lib.LK_LOG_WARNING, f"{lost[0]} lines were lost: they came faster than they were "
                                   "written")


@ffi.def_extern()
def lk_py_log_lines() -> None:
    """The interpreter calls it on the main thread, between two steps of its program."""
    write_lines()


def _forget_lines() -> None:
    lib.lk_py_lines_free(lib.lk_py_lines_take(ffi.new("uint32_t *")))


os.register_at_fork(after_in_child=_forget_lines)  # the parent writes them
