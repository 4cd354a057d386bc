"""Plots as text: in blocks and braille where the terminal speaks UTF-8, else in ASCII."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence

from .shown import Bin, Size

_WIDTH, _HEIGHT = 56, 14  # of a plot, in characters
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of braille, by row and column


def speaks_utf8(encoding: str | None, environment: Mapping[str, str] = os.environ) -> bool:
    """As the locale says, of which Python's own encoding of output is no proof: it takes UTF-8 in
    the locale C as well."""
    locale = next((environment[name] for name in ("LC_ALL", "LC_CTYPE", "LANG")
                   if environment.get(name)), "")
    words = locale.lower().replace("-", ""), (encoding or "").lower().replace("-", "")
    return all("utf8" in word for word in words)


def histogram(bins: Sequence[Bin], utf8: bool) -> str:
    """A bar for each bin."""
    most = max(one.requests for one in bins)
    lines = []
    for one in bins:
        bar = _bar(one.requests / most, utf8)
        lines.append(f"  {one.first:10.3f} ms |{bar:{_WIDTH}} {one.requests}")
    return "\n".join(lines)


def _bar(part: float, utf8: bool) -> str:
    """A part of the width; something where there is anything."""
    if not utf8:
        return "#" * max(round(part * _WIDTH), part > 0)
    eighths = max(round(part * _WIDTH * 8), part > 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def by_size(sizes: Sequence[Size], utf8: bool) -> str:
    """The median of each size as a dot. Times are on a logarithmic scale, so that one size which
    something has disturbed leaves the others apart."""
    right = sizes[-1].elements or 1
    top, bottom = (pick(max(one.median_ms, 1e-6) for one in sizes) for pick in (max, min))
    span = math.log(top / bottom) or 1.0
    # A character has 2 x 4 dots in braille.
    across, down = (2, 4) if utf8 else (1, 1)
    cells = [[0] * _WIDTH for _ in range(_HEIGHT)]
    for one in sizes:
        height = math.log(top / max(one.median_ms, 1e-6)) / span
        x = min(int(one.elements / right * _WIDTH * across), _WIDTH * across - 1)
        y = min(int(height * _HEIGHT * down), _HEIGHT * down - 1)
        cells[y // down][x // across] |= _DOTS[y % down][x % across]
    lines = []
    labels = {0: f"{top:10.3f} ms", _HEIGHT - 1: f"{bottom:10.3f} ms"}
    for row, cell in enumerate(cells):
        drawn = "".join((chr(0x2800 + dots) if utf8 else "*") if dots else " " for dots in cell)
        lines.append(f"  {labels.get(row, ''):13} |{drawn}".rstrip())
    lines.append(f"  {'':13} +{'-' * _WIDTH}")
    lines.append(f"  {'':14} 0{right:>{_WIDTH - 1}} elements")
    return "\n".join(lines)
