"""Plots as SVG or PNG, by matplotlib."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence

import numpy

from .._files import write_whole
from .result import Measured
from .shown import sizes

try:
    import matplotlib
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError("failed to draw a picture: it needs the package matplotlib, which "
                      "`pip install latchkey[plot]` installs") from error


def save(path: str, settings: Sequence[tuple[str, Measured]]) -> None:
    """Writes FILE.svg or FILE.png, whole or not at all. ``settings`` with what they are called.

    Raises FileError.
    """
    with matplotlib.rc_context({"svg.hashsalt": "latchkey", "text.parse_math": False}):
        figure = _draw(settings)
        suffix = os.path.splitext(path)[1]
        drawn = io.BytesIO()
        figure.savefig(drawn, format=suffix[1:],
                       metadata={"Date": None} if suffix == ".svg" else None)
    write_whole(path, drawn.getvalue(), "a picture")


def _draw(settings: Sequence[tuple[str, Measured]]) -> Figure:
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, one in settings:
        ns = numpy.sort(one.ns[one.settled]) / 1e6
        left.step(ns, numpy.arange(1, len(ns) + 1) / len(ns) * 100, where="post", label=name)
        points = sizes(one)
        right.plot([size.elements for size in points], [size.median_ms for size in points], "o",
                   markersize=3, label=name)
    left.set(xscale="log", xlabel="latency of known shapes, ms", ylabel="% of the requests",
             ylim=(0, 100))
    right.set(xlabel="elements of all inputs", ylabel="median of a size, ms")
    right.set_yscale("log")
    right.set_xlim(left=0)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    left.legend(fontsize="small")
    return figure
