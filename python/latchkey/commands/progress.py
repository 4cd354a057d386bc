"""Progress on stderr, for whatever takes more than a second on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

_FIRST, _REDRAW = 1.0, 0.2  # seconds
_WIDTH = 32


class Progress:
    """Called with what is done, how much of it is done and how much there is; 0: not known.

    A thread of its own draws, so that what is measured meanwhile only stores three words. Without
    a terminal nothing is started and nothing is shown.
    """

    def __init__(self, label: str) -> None:
        self._state = label, 0, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._draw_until_stopped, daemon=True)

    def __call__(self, label: str, done: int, total: int) -> None:
        self._state = label, done, total

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _draw_until_stopped(self) -> None:
        begin = time.monotonic()
        if self._stop.wait(_FIRST):
            return
        while True:
            label, done, total = self._state
            bar = ""
            if total:
                filled = _WIDTH * done // total
                bar = f"[{'#' * filled:{_WIDTH}}] {done}/{total} "
            print(f"\r\x1b[K{label} {bar}{time.monotonic() - begin:.0f} s", end="",
                  file=sys.stderr, flush=True)
            if self._stop.wait(_REDRAW):
                break
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
