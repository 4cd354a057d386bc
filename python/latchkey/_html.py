"""Tables and pictures for notebooks. Colours are the page's own, or go with light and dark ones."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ._text import escape

_MOST_ROWS = 200  # a notebook keeps them in its file
_MOST_BARS = 16
_LABEL, _BAR, _NUMBER, _LINE = 240, 360, 120, 22  # of a chart, in pixels


def text(value: str) -> str:
    """Text of a model as part of a page."""
    return html.escape(escape(value))


def table(title: str, rows: Sequence[Sequence[str]], left: int, is_open: bool = True) -> str:
    """A table that can be folded.

    :param rows: the titles first.
    :param left: how many columns are aligned to the left; numbers follow them.
    """
    head, *body = rows
    lines = [_row("th", head, left), *(_row("td", row, left) for row in body[:_MOST_ROWS])]
    if len(body) > _MOST_ROWS:
        lines.append(f'<tr><td colspan="{len(head)}">and {len(body) - _MOST_ROWS} more</td></tr>')
    return (f"<details{' open' if is_open else ''}><summary>{text(title)}</summary>"
            f"<table>{''.join(lines)}</table></details>")


def _row(tag: str, cells: Sequence[str], left: int) -> str:
    return "<tr>" + "".join(
        f'<{tag} style="text-align:{"left" if i < left else "right"}">{text(cell)}</{tag}>'
        for i, cell in enumerate(cells)) + "</tr>"


def bars(title: str, items: Sequence[tuple[str, float, str]]) -> str:
    """A chart of lengths: (label, length from 0 on, number as text), the longest first."""
    shown = list(items[:_MOST_BARS])
    longest = max((length for _, length, _ in shown), default=0) or 1
    parts = []
    for i, (label, length, number) in enumerate(shown):
        middle, width = i * _LINE + _LINE * 0.7, max(1, length / longest * _BAR)
        cut = label if len(label) <= 34 else label[:31] + "..."
        parts.append(
            f'<g><title>{text(label)}: {text(number)}</title>'
            f'<text x="{_LABEL - 8}" y="{middle:.1f}" text-anchor="end">{text(cut)}</text>'
            f'<rect x="{_LABEL}" y="{i * _LINE + 3}" width="{width:.1f}" height="{_LINE - 6}" '
            'fill="#4c8fd6"/>'
            f'<text x="{_LABEL + width + 6:.1f}" y="{middle:.1f}">{text(number)}</text></g>')
    width, height = _LABEL + _BAR + _NUMBER, len(shown) * _LINE
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{text(title)}" '
            f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'style="max-width:100%" font-family="sans-serif" font-size="12" fill="currentColor">'
            f'{"".join(parts)}</svg>')
