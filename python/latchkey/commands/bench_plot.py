"""latchkey bench-plot: what bench has measured, in the terminal or as a picture."""

from __future__ import annotations

import argparse
import os
import sys

from .._bench import BadFile, Measured, read
from .._bench.shown import bins, sizes, to_json
from .._bench.terminal import by_size, histogram, speaks_utf8
from .._text import escape, json_text
from .front import OK, USAGE, CommandError
from .options import bounded

ARGUMENTS = "FILE.json..."
DESCRIPTION = """\
Shows how long requests of known shapes took in files of 'latchkey bench
--latencies FILE.json': how often which latency was seen, and the median of each
size. In the terminal, or with -o as a picture of all files beside each other."""

EPILOG = """\
A picture has the part of the requests that took no longer than a time, and the
median of each size; it needs matplotlib: pip install 'latchkey[plot]'.

Example:
  latchkey bench-plot before.json after.json -o latency.svg"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("files", metavar="FILE.json", nargs="+", help="what bench has measured")
    parser.add_argument("-o", "--output", metavar="FILE", type=_picture,
                        help="write FILE.svg or FILE.png instead")
    parser.add_argument("--bins", metavar="N", type=bounded(int, 1, 200), default=16,
                        help="show latencies in N steps (default: 16)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _picture(path: str) -> str:
    if os.path.splitext(path)[1] not in (".svg", ".png"):
        raise argparse.ArgumentTypeError(f"'{path}', FILE.svg or FILE.png is needed")
    return path


def work(arguments: argparse.Namespace) -> int:
    """Draws."""
    if arguments.output is not None and arguments.json:
        raise CommandError("failed to read the command line: -o and --json are given, one is "
                           "needed", USAGE)
    settings = [(path, one) for path in arguments.files for one in _read(path)]
    if arguments.output is not None:
        from .._bench import picture
        picture.save(arguments.output, [(f"{escape(path)}: {one}", one) for path, one in settings])
        print(escape(arguments.output))
    elif arguments.json:
        print(json_text(to_json(settings, arguments.bins)))
    else:
        for path, one in settings:
            _print(path, one, arguments.bins)
    return OK


def _read(path: str) -> list[Measured]:
    try:
        found = [one for one in read(path).settings if one.settled.any()]
    except BadFile as error:
        raise CommandError(str(error)) from None
    if not found:
        raise CommandError(f"failed to plot '{path}': it has no request of known shapes")
    return found


def _print(path: str, one: Measured, count: int) -> None:
    utf8 = speaks_utf8(sys.stdout.encoding)
    ns = one.ns[one.settled]
    print(escape(f"{path}: {one}, {len(ns)} requests of known shapes"))
    print(histogram(bins(ns, count), utf8))
    points = sizes(one)
    if len(points) > 1:
        print(f"median of each of {len(points)} sizes:")
        print(by_size(points, utf8))
