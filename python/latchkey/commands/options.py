"""Numbers and sizes as options, and the limits and engines that several commands take."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import Any

from .._check import parse_size


def bounded(kind: Callable[[str], Any], least: float,
            most: float = math.inf) -> Callable[[str], Any]:
    """What reads a number of an option that must lie in a range."""
    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most or math.isinf(value):
            limit = f"{least:g} to {most:g} is" if most < math.inf else f"at least {least:g} is"
            raise argparse.ArgumentTypeError(f"'{text}', {limit} needed")
        return value
    return read


def size(text: str) -> int:
    """Bytes, with k, m or g."""
    found = parse_size(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}', a number of bytes, with k, m or g, is needed")
    return found


def fixed_dim(text: str) -> tuple[str, int]:
    """A dimension and its size."""
    name, _, number = text.rpartition("=")
    if not name or re.fullmatch("[0-9]{1,18}", number, re.ASCII) is None:
        raise argparse.ArgumentTypeError(f"'{text}', NAME=SIZE is needed")
    return name, int(number)


def add_fix(library: argparse._ArgumentGroup) -> None:
    """The option ``--fix``, as ``fixed_dims``."""
    library.add_argument("--fix", metavar="NAME=SIZE", action="append", default=[],
                         type=fixed_dim, dest="fixed_dims",
                         help="give a dimension that the model leaves open this size: NAME as "
                              "'latchkey inspect' shows it, or INPUT[DIMENSION]; may be repeated")


def add_engine(library: argparse._ArgumentGroup, note: str = "") -> None:
    """The options ``--engine`` and ``--tuning``. ``note``: what the command makes of the engine."""
    library.add_argument("--engine", metavar="NAME", help="who computes: native, onednn or auto"
                         f"{note} (default: auto)")
    library.add_argument("--tuning", metavar="FILE", help="with the engine auto, choose by the "
                         "times in FILE, which 'latchkey tune' writes")


def add_limits(library: argparse._ArgumentGroup, has_entries: bool = False) -> None:
    """The options of a context: cache, memory and threads. ``has_entries``: the cache's entries
    too."""
    library.add_argument("--cache", metavar="MODE", choices=("shared", "thread", "off"),
                         help="shared: all threads use one cache; thread: each has one of its own; "
                              "off (default: shared)")
    library.add_argument("--cache-bytes", metavar="SIZE", type=size,
                         help="keep at most SIZE bytes, with k, m or g (default: 20m, or 256m with "
                              "--engine onednn)")
    if has_entries:
        library.add_argument("--cache-entries", metavar="N", type=bounded(int, 0, 2**63),
                             help="keep at most N entries")
    library.add_argument("--memory", metavar="SIZE", type=size, dest="memory_bytes",
                         help="hold at most SIZE bytes of memory in all, with k, m or g (default: "
                              "the machine's)")
    library.add_argument("-t", "--threads", metavar="N", type=bounded(int, 1, 1024),
                         help="let an operator use at most N threads (default: the CPUs allowed)")
