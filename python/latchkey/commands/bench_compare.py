"""latchkey bench-compare: whether one measurement is faster or slower than another."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .._bench import BadFile, Result, read
from .._bench.verdict import TOO_FEW, Verdict, compare, unlike
from .._text import escape, json_text, table
from .front import FAILED, OK, USAGE, CommandError
from .options import bounded

ARGUMENTS = "A.json B.json | A.json... --with B.json..."
DESCRIPTION = """\
Compares two files of 'latchkey bench --latencies FILE.json': for each setting of
engine, threads, callers and batch, for known and for new shapes, and for each
metric it says whether B is faster or slower than A, or that the data shows no
difference, with the 95 % interval of the ratio. With several files of each, the
interval is that of how files differ, which one file of each cannot show."""

EPILOG = """\
The exit code is 1 when something is slower beyond the threshold, which means
that the whole interval of its ratio is. Two runs of the same program may differ
by more than either of them shows: measure each side several times, by turns.

Examples:
  latchkey bench-compare before.json after.json --threshold 1.05
  latchkey bench-compare a1.json a2.json a3.json --with b1.json b2.json b3.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("files", metavar="FILE.json", nargs="+",
                        help="what is compared with; without --with: that, and what is judged")
    parser.add_argument("--with", dest="judged", metavar="B.json", nargs="+", default=[],
                        help="what is judged, where each side has two files or more; as many as "
                             "of the other side are pairs, in their order")
    parser.add_argument("--threshold", metavar="X", type=bounded(float, 1, 1000), default=1.02,
                        help="fail when something is slower by more than the factor X (default: "
                             "1.02)")
    parser.add_argument("--unlike", action="store_true",
                        help="compare although machine, model or requests are not the same")
    parser.add_argument("--json", action="store_true", help="print JSON")


def work(arguments: argparse.Namespace) -> int:
    """Compares, and shows what was found."""
    before, after = _sides(arguments)
    try:
        a, b = [read(path) for path in before], [read(path) for path in after]
    except BadFile as error:
        raise CommandError(str(error)) from None
    differences = _differences(a, b, arguments.unlike)
    verdicts = compare(a, b)
    if not verdicts:
        raise CommandError(f"failed to compare '{a[0].path}' with '{b[0].path}': no setting of "
                           "engine, threads, callers and batch was measured in "
                           f"{'both' if len(a) == 1 else 'all files'}")
    slower = [one for one in verdicts if one.is_slower_beyond(arguments.threshold)]
    if arguments.json:
        print(json_text({"threshold": arguments.threshold, "unlike": differences,
                         "only_in_one": _only_in_some([*a, *b]), "slower_beyond": len(slower),
                         "verdicts": [one.to_json() for one in verdicts]}))
    else:
        _print(a, b, differences, verdicts, slower, arguments.threshold)
    return FAILED if slower else OK


def _sides(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The paths of both sides."""
    files, judged = arguments.files, arguments.judged
    if not judged and len(files) == 2:
        return files[:1], files[1:]
    if not judged:
        raise _wrong("two files are needed, or --with and the files that are judged", files)
    if len(files) == len(judged) == 1:
        return files, judged
    if 1 in (len(files), len(judged)):
        raise _wrong("--with needs two files or more of each side, or one of each", files, judged)
    return files, judged


def _wrong(rule: str, *sides: Sequence[str]) -> CommandError:
    counts = " and ".join(str(len(side)) for side in sides)
    return CommandError(f"failed to read the command line: {counts} given, {rule}, see --help",
                        USAGE)


def _differences(a: Sequence[Result], b: Sequence[Result], is_allowed: bool) -> list[str]:
    """What :func:`unlike` says of each file beside the first one."""
    all_grave, all_told = dict[str, None](), dict[str, None]()
    for other in (*a[1:], *b):
        grave, told = unlike(a[0], other)
        if grave and not is_allowed:
            raise CommandError(f"failed to compare '{a[0].path}' with '{other.path}': "
                               f"{'; '.join(grave)}; --unlike compares them nevertheless")
        all_grave.update(dict.fromkeys(grave))
        all_told.update(dict.fromkeys(told))
    return [*all_grave, *all_told]


def _only_in_some(files: Sequence[Result]) -> list[str]:
    everywhere = set.intersection(*({one.setting for one in file.settings} for file in files))
    return [f"{one} is only in {_files_with(one, files)}" for one in dict.fromkeys(
        str(one) for file in files for one in file.settings if one.setting not in everywhere)]


def _files_with(setting: str, files: Sequence[Result]) -> str:
    return ", ".join(file.path for file in files
                     if setting in {str(one) for one in file.settings})


def _print(a: Sequence[Result], b: Sequence[Result], differences: Sequence[str],
           verdicts: Sequence[Verdict], slower: Sequence[Verdict], threshold: float) -> None:
    for name, file in (*(("A", one) for one in a), *(("B", one) for one in b)):
        report = file.report
        print(escape(f"{name}: {file.path}, {report.get('model')}, Latchkey "
                     f"{report.get('latchkey')}, {report.get('date')}"))
    for difference in [*differences, *_only_in_some([*a, *b])]:
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
