"""Who else computes on the machine while something runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

OTHERS = 0.25
"""Processors that others use, from which on a measurement shows them too."""

_LEAST = 0.05  # seconds between two looks: one takes some microseconds for each processor
_GAP = 0.05  # seconds without a run, which are not counted


class Ticks(NamedTuple):
    """Of all processors together."""

    busy: int
    """In which they computed."""
    stolen: int
    """That the hypervisor gave to others."""
    all: int


def ticks_of(stat: str) -> Ticks:
    """What /proc/stat says."""
    words = (stat.splitlines() or [""])[0].split()[1:9]
    ticks = [int(word) for word in words] + [0] * (8 - len(words))
    user, nice, system, idle, waits, irq, soft, steal = ticks
    return Ticks(user + nice + system + irq + soft, steal, sum(ticks))


def _read() -> str:
    # As bytes: the first use of an encoding imports it, and a child whose parent forks meanwhile
    # waits for ever for the lock of that import.
    try:
        with open("/proc/stat", "rb") as file:
            return file.readline().decode("latin-1")
    except OSError:
        return ""


class _Moment(NamedTuple):
    at: float
    own: float  # processor time of this process
    busy: float
    stolen: float


class Load:
    """Adds up what others have computed while runs were on, which begin and end one after the
    other: who has one holds a lock.

    :param read: gives the text of /proc/stat; ``None``: this machine's.
    """

    def __init__(self, read: Callable[[], str] | None = None) -> None:
        self._read = read or _read
        self._last: _Moment | None = None
        self._ended = 0.0
        self._seconds = self._others = self._stolen = 0.0

    def begin(self) -> None:
        """A run begins."""
        now = time.monotonic()
        if self._last is None or now - self._ended > _GAP:
            self._last = self._look()
        elif now - self._last.at > _LEAST:
            self._add(self._last)

    def end(self, least: float = _LEAST) -> None:
        """A run has ended. The next look is taken when so many seconds have passed."""
        self._ended = time.monotonic()
        if self._last is not None and self._ended - self._last.at > least:
            self._add(self._last)

    def others(self) -> float | None:
        """How many processors others have used in the mean; ``None``: nobody has looked."""
        return self._others / self._seconds if self._seconds > 0 else None

    def stolen(self) -> float | None:
        """How many the hypervisor has given to others."""
        return self._stolen / self._seconds if self._seconds > 0 else None

    def _add(self, last: _Moment) -> None:
        now = self._look()
        self._seconds += now.at - last.at
        self._others += max(0.0, now.busy - last.busy - (now.own - last.own))
        self._stolen += now.stolen - last.stolen
        self._last = now

    def _look(self) -> _Moment:
        ticks, second = ticks_of(self._read()), os.sysconf("SC_CLK_TCK")
        return _Moment(time.monotonic(), time.process_time(), ticks.busy / second,
                       ticks.stolen / second)


def others_now(seconds: float = 0.1) -> float:
    """How many processors others use now, as looked at for so long."""
    load = Load()
    load.begin()
    time.sleep(seconds)
    load.end(0.0)
    return load.others() or 0.0
