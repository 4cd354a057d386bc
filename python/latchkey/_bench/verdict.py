"""Whether one measurement is faster or slower than another, as far as the data shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from .bootstrap import MEAN, needs, ratios
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
    requests: tuple[int, int]
    needs: int  # requests of each side
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
    told = [text for key in ("latchkey", "cache", "seed", "options", "environment", "interrupted")
            for text in _differences(key, a.report.get(key), b.report.get(key))]
    return grave, told


def _differences(name: str, a: Any, b: Any) -> Iterator[str]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted({*a, *b}):
            yield from _differences(f"{name}.{key}", a.get(key), b.get(key))
    elif a != b:
        yield f"{name} is {a} and {b}"


def compare(a: Result, b: Result) -> list[Verdict]:
    """The verdicts of all settings that both have."""
    there = {one.setting: one for one in b.settings}
    return [verdict for one in a.settings if one.setting in there
            for verdict in _compare_settings(one, there[one.setting])]


def _compare_settings(a: Measured, b: Measured) -> Iterator[Verdict]:
    for shapes, mine, its in (("known", a.settled, b.settled), ("new", a.new, b.new)):
        if mine.any() or its.any():
            yield from _judge(str(a), shapes, a, mine, b, its)


def _judge(setting: str, shapes: str, a: Measured, mine: NDArray[numpy.bool_], b: Measured,
           its: NDArray[numpy.bool_]) -> Iterator[Verdict]:
    left, right = a.ns[mine], b.ns[its]
    requests = len(left), len(right)
    paired = _ran_the_same(a, mine, b, its)
    enough = {name: quantile for name, quantile in _METRICS.items()
              if min(requests) >= needs(quantile)}
    found = dict(zip(enough, ratios(left, right, list(enough.values()), paired))) if enough else {}
    for name, quantile in _METRICS.items():
        if name not in found:
            yield Verdict(setting, shapes, name, TOO_FEW, requests, needs(quantile))
            continue
        one = found[name]
        interval = one.low, one.high
        verdict = SLOWER if one.low > 1 else FASTER if one.high < 1 else SAME
        yield Verdict(setting, shapes, name, verdict, requests, needs(quantile), one.a / 1e6,
                      one.b / 1e6, one.ratio, interval)
        if name == "mean" and shapes == "known":  # all callers are busy all the time
            yield Verdict(setting, shapes, "requests/s", verdict, requests, needs(quantile),
                          a.callers * 1e9 / one.a, b.callers * 1e9 / one.b, one.a / one.b,
                          (1 / one.high, 1 / one.low))


def _ran_the_same(a: Measured, mine: NDArray[numpy.bool_], b: Measured,
                  its: NDArray[numpy.bool_]) -> bool:
    return a.shapes == b.shapes and numpy.array_equal(a.request[mine], b.request[its])
