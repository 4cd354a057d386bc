"""The requests of a recording: latency, sizes as a heat map, and why the slowest were slow."""

from __future__ import annotations

import bisect
import math
import statistics as numbers
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._explain import shapes_text
from .._text import time_text

_MOST_POINTS = 20_000
_MOST_BINS = 24
_MANY_TIMES = 1.5  # what takes so many times the median of others asks for a reason
_LITTLE = 0.1  # a part of a request's time that explains nothing
_ENOUGH, _NEAR = 5, 15  # for a median; requests of about the same size, on each side

Json = dict[str, Any]


def quantile(ordered: Sequence[float], part: float) -> float | None:
    """The smallest that at least this part of them does not exceed; ``None``: there are none."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None


def label(size: Sequence[Mapping[str, Any]]) -> str:
    """``x 1x3x48x320``."""
    return shapes_text({"inputs": size, "values": []})


def view(recording: Mapping[str, Any]) -> Json:
    """Requests, sizes, heat map and slowest requests, as the page draws them."""
    kept = [dict(zip(recording["requests"]["fields"], row))
            for row in recording["requests"]["rows"]]
    sizes = recording["sizes"]["rows"]
    axes = _axes(sizes)
    built = _builds(recording["statistics"])
    by_size: dict[int, list[int]] = {}
    for one in kept:
        if one["size"] is not None:
            by_size.setdefault(one["size"], []).append(one["ns"])
    ordered = sorted(one["ns"] for one in kept)
    usual = _Usual(kept, axes)
    axis, values = axes[0] if axes else ("seconds since the beginning", None)
    points = [[one["begin_ns"] / 1e9 if values is None else values[one["size"]], one["ns"],
               one["size"], one["first"]]
              for one in kept if values is None or one["size"] is not None]
    points = [point for point in points if point[0] is not None]
    return {
        "count": recording["requests"]["count"], "failed": recording["requests"]["failed"],
        "p50_ns": quantile(ordered, 0.5), "p90_ns": quantile(ordered, 0.9),
        "p99_ns": quantile(ordered, 0.99),
        "longest_ns": max([*ordered, *(one["ns"] for one in recording["slowest"])], default=None),
        "axis": axis, "points": points[::max(1, math.ceil(len(points) / _MOST_POINTS))],
        "sizes": [_size_row(number, size, sorted(by_size.get(number, ())), built)
                  for number, size in enumerate(sizes)],
        "heat": _heat(kept, axes, recording["duration_ns"]),
        "slowest": [_slow(one, recording, usual, built) for one in recording["slowest"]]}


def _key(size: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Of a size in a recording and in statistics, whose types have other names."""
    return tuple(sorted((one["name"], tuple(one["shape"])) for one in size))


def _builds(statistics: Mapping[str, Any]) -> dict[tuple[Any, ...], Mapping[str, Any]]:
    return {_key(size["inputs"]): size for size in statistics["session"]["sizes"]
            if size["part"] == "run"}


def _size_row(number: int, size: Any, ordered: Sequence[int],
              built: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> Json:
    found = built.get(_key(size), {})
    return {"number": number, "label": label(size), "count": len(ordered),
            "p50_ns": quantile(ordered, 0.5), "p90_ns": quantile(ordered, 0.9),
            "longest_ns": ordered[-1] if ordered else None, "builds": found.get("builds"),
            "build_ns": found.get("build_ns"), "runs": found.get("runs")}


# ---- axes, and the heat map ----


def _axes(sizes: Sequence[Sequence[Mapping[str, Any]]]) -> list[tuple[str, list[int | None]]]:
    """Dimensions that vary, each with its value in every size; first those with most values."""
    columns: dict[str, list[int | None]] = {}
    for number, size in enumerate(sizes):
        for tensor in size:
            for place, dim in enumerate(tensor["shape"]):
                column = columns.setdefault(f"{tensor['name']}.dims[{place}]",
                                            [None] * len(sizes))
                column[number] = dim
    found: dict[tuple[int | None, ...], str] = {}
    for name, column in columns.items():
        found.setdefault(tuple(column), name)  # the same in two inputs is one axis
    ranked = sorted(found, key=lambda column: -len(set(column)))
    return [(found[column], list(column)) for column in ranked
            if len(set(column)) > 1 or column is ranked[0]]


def _bins(values: Sequence[float]) -> list[tuple[float, float, str]]:
    """Ranges (from, up to, label) that hold all values: each its own where they are few."""
    distinct = sorted(set(values))
    if len(distinct) <= _MOST_BINS:
        return [(value, value, f"{value:g}") for value in distinct]
    least, most = int(distinct[0]), int(distinct[-1])
    width = -(-(most - least + 1) // _MOST_BINS)
    return [(low, low + width - 1, f"{low}\u2013{low + width - 1}")
            for low in range(least, most + 1, width)]


def _place(bins: Sequence[tuple[float, float, str]], value: float) -> int:
    return next(i for i, (low, high, _) in enumerate(bins) if low <= value <= high)


def _heat(kept: Sequence[Mapping[str, Any]], axes: Sequence[tuple[str, list[int | None]]],
          duration_ns: int) -> Json | None:
    """How many requests had which sizes: by two dimensions, or by one and time."""
    if not axes:
        return None
    known = [one for one in kept if one["size"] is not None and
             all(values[one["size"]] is not None for _, values in axes[:2])]
    if not known:
        return None
    x_name, x_values = axes[0]
    xs = [x_values[one["size"]] or 0 for one in known]
    x_bins = _bins(xs)
    if len(axes) > 1:
        y_name, y_values = axes[1]
        ys: list[float] = [y_values[one["size"]] or 0 for one in known]
        y_bins = _bins(ys)
    else:
        y_name, step = "time", max(1, duration_ns) / 12
        ys = [min(11, one["begin_ns"] // step) for one in known]
        y_bins = [(i, i, f"{i * step / 1e9:.3g} s") for i in range(12)]
    cells = Counter((_place(x_bins, x), _place(y_bins, y)) for x, y in zip(xs, ys))
    return {"x": x_name, "y": y_name, "x_labels": [text for _, _, text in x_bins],
            "y_labels": [text for _, _, text in y_bins],
            "cells": [[x, y, count] for (x, y), count in sorted(cells.items())]}


# ---- the slowest ----


def _slow(one: Mapping[str, Any], recording: Mapping[str, Any], usual: _Usual,
          built: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> Json:
    size = None if one["size"] is None else recording["sizes"]["rows"][one["size"]]
    return {"begin_ns": one["begin_ns"], "ns": one["ns"], "first": one["first"],
            "others": one["others"], "size": "not kept" if size is None else label(size),
            "why": list(_reasons(one, recording, usual, built)),
            "steps": [{"node": step["node"] or step["output"], "operator": step["operator"],
                       "kind": step["kind"], "ns": step["total_ms"] * 1e6}
                      for step in one["steps"] or ()]}


def _reasons(one: Mapping[str, Any], recording: Mapping[str, Any], usual: _Usual,
             built: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> Iterator[str]:
    """What is known of why it took so long, the strongest reason first."""
    number = one["size"]
    found = {} if number is None else built.get(_key(recording["sizes"]["rows"][number]), {})
    builds = found.get("builds", 0)
    build_ns = found["build_ns"] / builds if builds else None
    known = False
    if one["first"] and build_ns is not None and build_ns < one["ns"] * _LITTLE:
        yield f"It was the first of its size, which costs no more than {time_text(build_ns)}."
    elif one["first"]:
        known = True
        yield "It was the first of its size: its run plan was built" + (
            f", which takes {time_text(build_ns)}." if build_ns is not None else ".")
    elif builds > 1 and build_ns is not None and build_ns >= one["ns"] * _LITTLE:
        known = True
        why = ("each thread builds its own" if recording["options"].get("cache") == "thread"
               else "it had been evicted or dropped")
        yield (f"The run plan of its size was built {builds} times, since {why}: it may have "
               "waited for that.")
    if one["others"]:
        known = True
        yield (f"{one['others']} other request{'s' if one['others'] > 1 else ''} had begun and not "
               "ended: they share the processors.")
    waiting = _waiting(recording["samples"], one["begin_ns"], one["begin_ns"] + one["ns"])
    if waiting:
        known = True
        yield f"{waiting} run{'s' if waiting > 1 else ''} waited for processors meanwhile."
    which, median = usual.of(one)
    if median is not None and one["ns"] < median * _MANY_TIMES:
        known = True
        yield f"{which} take {time_text(median)} in the median: it is large, not slow."
    elif median is not None:
        yield (f"{which} take {time_text(median)} in the median: it took "
               f"{_times_text(one['ns'] / median)} times that.")
    if one["steps"]:
        step = one["steps"][0]
        yield (f"Its longest step was {step['node'] or step['output']} ({step['kind']}), "
               f"{time_text(step['total_ms'] * 1e6)}.")
    if not known:
        yield "Nothing that is counted explains it: other programs may have used the processors."


def _times_text(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


class _Usual:
    """What requests like another one take."""

    def __init__(self, kept: Sequence[Mapping[str, Any]],
                 axes: Sequence[tuple[str, list[int | None]]]) -> None:
        values = axes[0][1] if axes else []
        self._values = values
        self._by_size: dict[int, list[Mapping[str, Any]]] = {}
        known = [one for one in kept if one["size"] is not None]
        for one in known:
            self._by_size.setdefault(one["size"], []).append(one)
        self._along = sorted(((values[one["size"]] or 0, one["ns"], one["begin_ns"])
                              for one in known), key=lambda item: item[:2]) if axes else []

    def of(self, one: Mapping[str, Any]) -> tuple[str, float | None]:
        """Which, and their median; without the request itself. ``None``: there are too few."""
        if one["size"] is None:
            return "", None
        same = [other["ns"] for other in self._by_size.get(one["size"], ())
                if other["begin_ns"] != one["begin_ns"]]
        if len(same) >= _ENOUGH:
            return "Requests of its size", numbers.median(same)
        if not self._along:
            return "", None
        value = self._values[one["size"]] or 0
        place = bisect.bisect_left(self._along, (value,))
        near = [ns for _, ns, begin in self._along[max(0, place - _NEAR):place + _NEAR]
                if begin != one["begin_ns"]]
        return (("Requests of about its size", numbers.median(near)) if len(near) >= _ENOUGH else
                ("", None))


def _waiting(samples: Mapping[str, Sequence[int]], begin: int, end: int) -> int:
    """The most runs that waited for processors between two moments."""
    return max((waiting for at, waiting in zip(samples["at_ns"], samples["waiting"])
                if begin <= at <= end), default=0)
