"""Whether one measurement is faster or slower than another, as far as the data shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from .bootstrap import MEAN, Ratio, needs, ratios
from .files import ratio_of_files
from .result import Measured, Result

FASTER, SLOWER, SAME, TOO_FEW = "faster", "slower", "no difference shown", "too few requests"
_METRICS = {"mean": MEAN, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True)
class Verdict:
    """Of one metric, in ms or requests/s; those of ``b`` by those of ``a`` as the ratio."""

    setting: str
    shapes: str  # "known" or "new"
    metric: str
    verdict: str
    requests: tuple[int, int]  # of the file that has the fewest, of each side
    needs: int  # requests of each file
    a: float | None = None  # this and the next are None with too few requests
    b: float | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None  # of the ratio, 95 %

    def is_slower_beyond(self, threshold: float) -> bool:
        """The whole interval is."""
        if self.interval is None:
            return False
        low, high = self.interval
        return 1 / high > threshold if self.metric == "requests/s" else low > threshold

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def unlike(a: Result, b: Result) -> tuple[list[str], list[str]]:
    """What differs between both: what makes them measurements of something else (machine, model,
    requests), and what may be what is compared (version, options)."""
    grave = [text for key in ("machine", "model_digest")
             for text in _differences(key, a.report.get(key), b.report.get(key))]
    there = {one.setting: one for one in b.settings}
    for one in a.settings:
        other = there.get(one.setting)
        if other is not None and one.shapes != other.shapes:
            grave.append(f"the requests have other shapes with {one}")
    told = [text for key in ("latchkey", "engine", "cache", "seed", "options", "environment",
                             "interrupted")
            for text in _differences(key, a.report.get(key), b.report.get(key))]
    return grave, told


def _differences(name: str, a: Any, b: Any) -> Iterator[str]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted({*a, *b}):
            yield from _differences(f"{name}.{key}", a.get(key), b.get(key))
    elif a != b:
        yield f"{name} is {a} and {b}"


def compare(a: Sequence[Result], b: Sequence[Result]) -> list[Verdict]:
    """The verdicts of all settings that all files have; one file a side, or several of both."""
    found: list[Verdict] = []
    for one in a[0].settings:
        sides = [[its for file in side for its in file.settings if its.setting == one.setting]
                 for side in (a, b)]
        if [len(side) for side in sides] == [len(a), len(b)]:
            found += _compare_settings(*sides)
    return found


def _compare_settings(a: Sequence[Measured], b: Sequence[Measured]) -> Iterator[Verdict]:
    for shapes in ("known", "new"):
        mine, its = ([one.settled if shapes == "known" else one.new for one in side]
                     for side in (a, b))
        if any(chosen.any() for chosen in (*mine, *its)):
            yield from _judge(shapes, a, mine, b, its)


def _judge(shapes: str, a: Sequence[Measured], mine: Sequence[NDArray[numpy.bool_]],
           b: Sequence[Measured], its: Sequence[NDArray[numpy.bool_]]) -> Iterator[Verdict]:
    left = [one.ns[chosen] for one, chosen in zip(a, mine)]
    right = [one.ns[chosen] for one, chosen in zip(b, its)]
    setting, requests = str(a[0]), (min(map(len, left)), min(map(len, right)))
    enough = {name: quantile for name, quantile in _METRICS.items()
              if min(requests) >= needs(quantile)}
    found: Mapping[str, Ratio]
    if len(left) > 1:
        found = {name: ratio_of_files(left, right, quantile) for name, quantile in enough.items()}
    else:
        paired = _ran_the_same(a[0], mine[0], b[0], its[0])
        found = dict(zip(enough, ratios(left[0], right[0], list(enough.values()), paired)
                         if enough else ()))
    for name, quantile in _METRICS.items():
        if name not in found:
            yield Verdict(setting, shapes, name, TOO_FEW, requests, needs(quantile))
            continue
        one = found[name]
        interval = one.low, one.high
        verdict = SLOWER if one.low > 1 else FASTER if one.high < 1 else SAME
        yield Verdict(setting, shapes, name, verdict, requests, needs(quantile), one.a / 1e6,
                      one.b / 1e6, one.ratio, interval)
        if name == "mean" and shapes == "known" and not (a[0].has_rate or b[0].has_rate):
            # all callers are busy all the time
            yield Verdict(setting, shapes, "requests/s", verdict, requests, needs(quantile),
                          a[0].callers * 1e9 / one.a, b[0].callers * 1e9 / one.b, one.a / one.b,
                          (1 / one.high, 1 / one.low))


def _ran_the_same(a: Measured, mine: NDArray[numpy.bool_], b: Measured,
                  its: NDArray[numpy.bool_]) -> bool:
    return a.shapes == b.shapes and numpy.array_equal(a.request[mine], b.request[its])
