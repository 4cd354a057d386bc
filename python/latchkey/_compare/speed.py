"""The speed of two sides, on the same inputs, turn by turn."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

_SECONDS, _FEWEST, _MOST = 1.0, 3, 100


@dataclasses.dataclass
class Speed:
    """Medians of one request, in milliseconds."""

    request: int
    runs: int
    ours_ms: float
    theirs_ms: float

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "ratio": self.theirs_ms / self.ours_ms}


def race(request: int, ours: Callable[[], object], theirs: Callable[[], object],
         runs: int | None) -> Speed:
    """Runs both by turns, and lets each begin as often as the other.

    The machine's state changes while one measures: so both see the same of it.

    :param runs: of each side; None: as many as one second has room for, 3 to 100.
    """
    times: tuple[list[float], list[float]] = ([], [])
    sides = list(zip((ours, theirs), times))
    for run, _ in sides:
        run()  # what only a first run does
    begin = time.perf_counter()
    done = 0
    while done < (runs or _MOST):
        for run, taken in sides if done % 2 == 0 else reversed(sides):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
        done += 1
        if runs is None and done >= _FEWEST and time.perf_counter() - begin > _SECONDS:
            break
    mine, others = (1000 * statistics.median(taken) for taken in times)
    return Speed(request, done, mine, others)
