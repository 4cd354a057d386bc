"""latchkey bench-compare: whether one measurement is faster or slower than another."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .._bench import BadFile, Result, read
from .._bench.verdict import TOO_FEW, Verdict, compare, unlike
from .._text import escape, json_text, table
from .front import FAILED, OK, CommandError
from .options import bounded

ARGUMENTS = "A.json B.json"
DESCRIPTION = """\
Compares two files of 'latchkey bench --latencies FILE.json': for each setting of
threads, callers and batch, for known and for new shapes, and for each metric it
says whether B is faster or slower than A, or that the data shows no difference,
with the 95 % interval of the ratio."""

EPILOG = """\
The exit code is 1 when something is slower beyond the threshold, which means
that the whole interval of its ratio is. Two runs of the same program may differ
by more than either of them shows: measure each side several times, by turns.

Example:
  latchkey bench-compare before.json after.json --threshold 1.05"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("a", metavar="A.json", help="what is compared with")
    parser.add_argument("b", metavar="B.json", help="what is judged")
    parser.add_argument("--threshold", metavar="X", type=bounded(float, 1, 1000), default=1.02,
                        help="fail when something is slower by more than the factor X (default: "
                             "1.02)")
    parser.add_argument("--unlike", action="store_true",
                        help="compare although machine, model or requests are not the same")
    parser.add_argument("--json", action="store_true", help="print JSON")


def work(arguments: argparse.Namespace) -> int:
    """Compares, and shows what was found."""
    try:
        a, b = read(arguments.a), read(arguments.b)
    except BadFile as error:
        raise CommandError(str(error)) from None
    grave, told = unlike(a, b)
    if grave and not arguments.unlike:
        raise CommandError(f"failed to compare '{a.path}' with '{b.path}': {'; '.join(grave)}; "
                           "--unlike compares them nevertheless")
    verdicts = compare(a, b)
    if not verdicts:
        raise CommandError(f"failed to compare '{a.path}' with '{b.path}': no setting of threads, "
                           "callers and batch was measured in both")
    slower = [one for one in verdicts if one.is_slower_beyond(arguments.threshold)]
    if arguments.json:
        print(json_text({"threshold": arguments.threshold, "unlike": [*grave, *told],
                         "only_in_one": _only_in_one(a, b), "slower_beyond": len(slower),
                         "verdicts": [one.to_json() for one in verdicts]}))
    else:
        _print(a, b, [*grave, *told], verdicts, slower, arguments.threshold)
    return FAILED if slower else OK


def _only_in_one(a: Result, b: Result) -> list[str]:
    return [f"{one} is only in {side.path}" for side, other in ((a, b), (b, a))
            for one in side.settings if one.setting not in {its.setting for its in other.settings}]


def _print(a: Result, b: Result, differences: Sequence[str], verdicts: Sequence[Verdict],
           slower: Sequence[Verdict], threshold: float) -> None:
    for name, side in (("A", a), ("B", b)):
        report = side.report
        print(escape(f"{name}: {side.path}, {report.get('model')}, Latchkey "
                     f"{report.get('latchkey')}, {report.get('date')}"))
    for difference in [*differences, *_only_in_one(a, b)]:
        print(escape(f"unlike: {difference}"))
    for setting in dict.fromkeys(one.setting for one in verdicts):
        rows = [["shapes", "metric", "verdict", "A", "B", "B/A", "95 % interval"]]
        rows += [_row(one) for one in verdicts if one.setting == setting]
        print(f"{setting}:\n{table(rows, 3, 2)}")
    if slower:
        names = "; ".join(f"{one.metric} of {one.shapes} shapes, {one.setting}" for one in slower)
        print(f"slower by more than {threshold:g}: {names}")
    else:
        print(f"nothing is shown to be slower by more than {threshold:g}")


def _row(one: Verdict) -> list[str]:
    unit = "" if one.metric == "requests/s" else " ms"
    start = [one.shapes, one.metric + unit]
    if one.interval is None:
        fewest = min(one.requests)
        return [*start, f"{TOO_FEW}: {fewest} of {one.needs}", "-", "-", "-", "-"]
    low, high = one.interval
    return [*start, one.verdict, f"{one.a:.3f}", f"{one.b:.3f}", f"{one.ratio:.3f}",
            f"{low:.3f} to {high:.3f}"]
