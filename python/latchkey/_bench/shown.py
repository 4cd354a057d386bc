"""What plots show of a setting: how often which latency was seen, and latency by size."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from .result import Measured


@dataclass(frozen=True)
class Bin:
    """Requests from ``first`` to less than ``last`` ms."""

    first: float
    last: float
    requests: int


@dataclass(frozen=True)
class Size:
    """All requests of one size: the elements of their inputs together."""

    elements: int
    median_ms: float
    requests: int


def bins(ns: NDArray[numpy.int64], count: int) -> list[Bin]:
    """``count`` bins whose ends have equal ratios, so that slow requests stay in the picture."""
    low, high = math.log(max(1, ns.min())), math.log(max(1, ns.max()) + 1)
    edges = numpy.exp(numpy.linspace(low, high, count + 1))
    place = numpy.clip(numpy.searchsorted(edges, ns, side="right") - 1, 0, count - 1)
    numbers = numpy.bincount(place, minlength=count)
    return [Bin(edges[i] / 1e6, edges[i + 1] / 1e6, int(numbers[i])) for i in range(count)]


def sizes(one: Measured) -> list[Size]:
    """Requests of known shapes, the smallest first."""
    by_request = numpy.array([elements(shape) for shape in one.shapes], numpy.int64)
    ns, of = one.ns[one.settled], by_request[one.request[one.settled]]
    found = []
    for size in numpy.unique(of):
        times = ns[of == size]
        found.append(Size(int(size), float(numpy.median(times)) / 1e6, len(times)))
    return found


def elements(shape: str) -> int:
    """Of all inputs of a text such as ``x=1x3x48x320 mask=1x320``; a scalar is one."""
    return sum(math.prod(map(int, text.split("x"))) if text != "scalar" else 1
               for text in re.findall(r"=(\d+(?:x\d+)*|scalar)(?= |$)", shape))


def to_json(settings: Sequence[tuple[str, Measured]], count: int) -> list[dict[str, Any]]:
    """The same as numbers; ``settings`` with the path of their file."""
    return [{"file": path, "engine": one.engine, "threads": one.threads, "callers": one.callers,
             "batch": one.batch,
             "histogram": [vars(part) for part in bins(one.ns[one.settled], count)],
             "by_size": [vars(size) for size in sizes(one)]} for path, one in settings]
