"""How much of their threads the operators of a profile use, and what fewer threads would take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._load import others_now
from ._profile import Profile

FEWEST_RUNS = 10  # fewer say nothing
MOST_LONGER = 1.05  # that a run may take with fewer threads


class Step(NamedTuple):
    """What a step took of a run in the mean."""

    operator: str
    node: str
    output: str
    ns: float
    busy: float  # threads that computed, 1 at the least


class ThreadUse(NamedTuple):
    """Of runs that had several threads each."""

    threads: int
    run_ns: float
    steps: tuple[Step, ...]
    others: float = 0.0
    """Processors that others used meanwhile, where fewer threads seem enough."""

    def predicted_ns(self, threads: int) -> float:
        """A run with fewer threads. A step that kept so many busy or fewer takes as long as it
        did; any other one as much longer as more were busy."""
        longer = sum(step.ns * (step.busy / threads - 1)
                     for step in self.steps if step.busy > threads)
        return self.run_ns + longer

    def enough(self) -> int:
        """The fewest threads with which a run takes at most 5 % longer."""
        return next((n for n in range(1, self.threads)
                     if self.predicted_ns(n) <= MOST_LONGER * self.run_ns), self.threads)


def thread_use(profile: Profile) -> ThreadUse | None:
    """``None``: runs are too few, had one thread, or no step."""
    info, entries = profile.info(), profile.entries()
    threads = round(info["threads"])
    if info["runs"] < FEWEST_RUNS or threads < 2 or not entries:
        return None
    use = ThreadUse(threads, info["execute_ms"] * 1e6 / info["runs"],
                    _steps(entries, threads, info["runs"]))
    if use.enough() == threads:
        return use
    others = profile._others()
    return use._replace(others=others_now() if others is None else others)


def _steps(entries: Sequence[Mapping[str, Any]], threads: int, runs: int) -> tuple[Step, ...]:
    return tuple(Step(entry["operator"], entry["node"], entry["output"],
                      entry["total_ms"] * 1e6 / runs, max(1.0, threads * (1 - entry["waiting"])))
                 for entry in entries)
