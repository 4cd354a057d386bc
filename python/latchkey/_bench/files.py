"""Ratios of statistics of several files a side, with intervals of how files differ.

A file is one process: its memory lies elsewhere, and the machine does something else meanwhile, so
requests of one file have something in common, and only several files show how much that is. The
statistic of a file is one number here, its logarithm taken, and the interval that of Student's t
for the mean of the differences: of pairs, where both sides have as many files, measured by turns;
else by Welch, "The generalization of 'Student's' problem when several different population
variances are involved", Biometrika 34 (1947).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from .bootstrap import Ratio, statistic

_STEPS = 20001


def t_quantile(freedom: float) -> float:
    """The 97.5 % quantile of Student's t: its density by the angle whose tangent is
    t / sqrt(freedom) is a power of the cosine."""
    angle = numpy.linspace(0, math.pi / 2, _STEPS)
    density = numpy.cos(angle) ** (freedom - 1)
    area = numpy.concatenate([[0], numpy.cumsum(density[1:] + density[:-1])])
    at = float(numpy.interp(0.95 * area[-1], area, angle))
    return math.sqrt(freedom) * math.tan(at)


def ratio_of_files(a: Sequence[NDArray[numpy.int64]], b: Sequence[NDArray[numpy.int64]],
                   quantile: float) -> Ratio:
    """``a``, ``b``: what requests took, of two files or more a side."""
    left, right = _logarithms(a, quantile), _logarithms(b, quantile)
    mean = float(right.mean() - left.mean())
    if len(left) == len(right):
        error = float((right - left).std(ddof=1)) / math.sqrt(len(left))
        freedom = len(left) - 1.0
    else:
        parts = [float(side.var(ddof=1)) / len(side) for side in (left, right)]
        error = math.sqrt(sum(parts))
        squares = sum(part**2 / (len(side) - 1) for part, side in zip(parts, (left, right)))
        freedom = sum(parts)**2 / squares if squares > 0 else len(left) + len(right) - 2.0
    reach = t_quantile(freedom) * error
    return Ratio(math.exp(left.mean()), math.exp(right.mean()), math.exp(mean - reach),
                 math.exp(mean + reach))


def _logarithms(files: Sequence[NDArray[numpy.int64]], quantile: float) -> NDArray[numpy.float64]:
    return numpy.log([max(1.0, statistic(ns, quantile)) for ns in files])
