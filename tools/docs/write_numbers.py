#!/usr/bin/env python3
"""Writes what the pages of the repository show of measured figures.

    .venv/bin/python tools/docs/write_numbers.py [--check]

Where README.md or a page of docs/ has a line `<!-- plot: NAME -->` or `<!-- table: NAME -->`, the
lines from there to `<!-- end -->` are made of docs/measured.json and docs/operator_times.json. A
plot is a picture in docs/pictures/, once for light pages and once for dark ones. --check writes
nothing, and fails where a file is not what would be written.
"""

from __future__ import annotations

import html
import os
import re
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import plots  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PICTURES = "docs/pictures"
COLUMNS = 120  # of a page's lines
TEXT = {"": "#1f2328", "_dark": "#e6edf3"}  # the colours of text on a light and a dark page


def picture(name: str, page: str, root: Path, made: dict[str, str]) -> str:
    """The block of a plot. Adds its files to `made`."""
    svg, _, caption = plots.plot(name, root)
    alt = caption.partition(". ")[0]
    for kind, colour in TEXT.items():
        made[f"{PICTURES}/{name}{kind}.svg"] = svg.replace("currentColor", colour)
    folder = os.path.relpath(PICTURES, Path(page).parent)
    shown = (f'<picture>\n<source media="(prefers-color-scheme: dark)" '
             f'srcset="{folder}/{name}_dark.svg">\n'
             f'<img alt="{html.escape(alt, quote=True)}" src="{folder}/{name}.svg">\n</picture>\n\n'
             f"{textwrap.fill(caption, COLUMNS)}\n")
    if name == "operators":
        return shown
    return (f"{shown}\n<details><summary>The numbers</summary>\n\n{plots.numbers(name, root)}\n\n"
            "</details>\n")


def wrapped(text: str) -> str:
    """The prose around a table in lines of a page."""
    return "".join(line + "\n" if line.startswith("|") else textwrap.fill(line, COLUMNS) + "\n"
                   for line in text.split("\n"))


def written(page: str, root: Path, made: dict[str, str]) -> str:
    """The page with its blocks as they must be."""

    def block(mark: re.Match[str]) -> str:
        text = (picture(mark[2], page, root, made) if mark[1] == "plot"
                else wrapped(plots.table(mark[2], root)))
        return f"<!-- {mark[1]}: {mark[2]} -->\n\n{text}\n<!-- end -->\n"

    return plots.BLOCK.sub(block, (root / page).read_text())


def files(root: Path) -> dict[str, str]:
    """Each file that shows figures, and its text."""
    made: dict[str, str] = {}
    pages = ["README.md", *(str(path.relative_to(root)) for path in (root / "docs").rglob("*.md"))]
    for page in sorted(pages):
        made[page] = written(page, root, made)
    return made


def outdated(root: Path, made: dict[str, str]) -> list[str]:
    """The files that are not as they must be, and pictures that nothing shows any more."""
    there = {str(path.relative_to(root)) for path in (root / PICTURES).glob("*")}
    return [name for name, text in made.items()
            if not (root / name).is_file() or (root / name).read_text() != text] + sorted(
                there - made.keys())


def main() -> None:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    made = files(ROOT)
    names = outdated(ROOT, made)
    if "--check" in sys.argv:
        if names:
            sys.exit(f"failed to check figures: {', '.join(names)} would change: run "
                     "tools/docs/write_numbers.py")
        return
    (ROOT / PICTURES).mkdir(exist_ok=True)
    for name in names:
        if name in made:
            (ROOT / name).write_text(made[name])
        else:
            (ROOT / name).unlink()


if __name__ == "__main__":
    main()
