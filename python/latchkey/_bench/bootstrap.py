"""Ratios of means and percentiles of two series of latencies, with intervals.

The interval is that of a block bootstrap: Carlstein, "The use of subseries values for estimating
the variance of a general statistic from a stationary sequence", Annals of Statistics 14 (1986).
Whole blocks of successive requests are drawn again, since what disturbs one request disturbs those
beside it. Where both sides ran the same requests, the same blocks are drawn of both, so that a
difference between shapes is none between the sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

MEAN = 0.0  # in place of a quantile
_RESAMPLES = 2000
_AT_ONCE = 200  # of them, for the memory
_MOST_BLOCKS = 400
_MOST_VALUES = 4096  # that are told apart; of more, those within 0.1 % are one
_SEED = 1  # the same files have the same verdict


@dataclass(frozen=True)
class Ratio:
    """B by A: the statistic of both, in ns, their ratio, and its 95 % interval."""

    a: float
    b: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        return self.b / self.a if self.a > 0 else math.inf


def needs(quantile: float) -> int:
    """The fewest requests of a side: ten beyond the percentile; fifty for a mean."""
    return max(50, math.ceil(10 / (1 - quantile) - 1e-6))


def statistic(ns: NDArray[numpy.int64], quantile: float) -> float:
    """The mean, or a percentile by nearest rank."""
    if quantile == MEAN:
        return float(ns.mean())
    return float(numpy.sort(ns)[_rank(len(ns), quantile) - 1])


def ratios(a: NDArray[numpy.int64], b: NDArray[numpy.int64], quantiles: Sequence[float],
           paired: bool) -> list[Ratio]:
    """One for each quantile. ``paired``: both sides ran the same requests in the same order."""
    random = numpy.random.default_rng(_SEED)
    drawn: list[list[NDArray[numpy.float64]]] = [[] for _ in quantiles]
    left, right = _Blocks(a), _Blocks(b)
    for _ in range(_RESAMPLES // _AT_ONCE):
        picks = left.draw(random)
        other = picks if paired else right.draw(random)
        for parts, above, below in zip(drawn, right.statistics(other, quantiles),
                                       left.statistics(picks, quantiles)):
            parts.append(above / below)
    found = []
    for quantile, parts in zip(quantiles, drawn):
        low, high = numpy.quantile(numpy.concatenate(parts), [0.025, 0.975])
        found.append(Ratio(statistic(a, quantile), statistic(b, quantile), float(low),
                           float(high)))
    return found


def _rank(count: int, quantile: float) -> int:
    return max(1, math.ceil(count * quantile - 1e-9))


class _Blocks:
    """A series in blocks: how often each has each value."""

    def __init__(self, ns: NDArray[numpy.int64]) -> None:
        count = len(ns)
        ns = numpy.maximum(ns, 1)
        self._blocks = min(_MOST_BLOCKS, count // math.ceil(count ** (1 / 3)))
        block = numpy.arange(count) * self._blocks // count
        values, place = numpy.unique(ns, return_inverse=True)
        if len(values) > _MOST_VALUES:
            steps = numpy.floor(numpy.log(ns) / math.log(1.001))
            _, place = numpy.unique(steps, return_inverse=True)
            self._values = numpy.bincount(place, ns) / numpy.bincount(place)
        else:
            self._values = values.astype(numpy.float64)
        size = len(self._values)
        self._counts = numpy.bincount(block * size + place, minlength=self._blocks * size).reshape(
            self._blocks, size).astype(numpy.float64)

    def draw(self, random: numpy.random.Generator) -> NDArray[numpy.float64]:
        """How often each block is drawn, a row for each time."""
        return random.multinomial(self._blocks, [1 / self._blocks] * self._blocks,
                                  _AT_ONCE).astype(numpy.float64)

    def statistics(self, picks: NDArray[numpy.float64],
                   quantiles: Sequence[float]) -> Iterator[NDArray[numpy.float64]]:
        """Of each row of picks."""
        weights = picks @ self._counts
        sums = weights.cumsum(axis=1)
        for quantile in quantiles:
            if quantile == MEAN:
                yield weights @ self._values / sums[:, -1]
            else:
                ranks = numpy.maximum(1, numpy.ceil(sums[:, -1:] * quantile - 1e-9))
                yield self._values[(sums < ranks).sum(axis=1)]
