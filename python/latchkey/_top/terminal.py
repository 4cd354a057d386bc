"""The view on a terminal, again each second."""

from __future__ import annotations

import os
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .client import GoneError
from .view import lines, summary

_CLEAR = "\x1b[H\x1b[2J"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


def show(ask: Callable[[], Mapping[str, Any]], seconds: float) -> None:
    """Until q is pressed, or the process ends, which is said."""
    before, now = None, ask()
    try:
        with _keys() as pressed:
            while True:
                size = shutil.get_terminal_size()
                found = lines(summary(now, before), size.columns, size.lines - 2)
                sys.stdout.write(_CLEAR + "\n".join([*found, "", "q quits"[:size.columns]]))
                sys.stdout.flush()
                if pressed(seconds):
                    return
                before, now = now, ask()
    except GoneError:
        print("the process has ended, or has closed its socket")


@contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """Whether q was pressed within some seconds. The terminal is as it was afterwards."""
    is_terminal = sys.stdin.isatty()
    before = termios.tcgetattr(sys.stdin) if is_terminal else None

    def pressed(seconds: float) -> bool:
        if not is_terminal:
            time.sleep(seconds)
            return False
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        # not by sys.stdin, which reads ahead what select then does not see
        return bool(ready) and b"q" in (os.read(sys.stdin.fileno(), 64).lower() or b"q")

    try:
        if is_terminal:
            tty.setcbreak(sys.stdin)
        sys.stdout.write(_ENTER)
        yield pressed
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()
        if before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
