"""latchkey doctor: what may keep a process from being fast, and what to do about it."""

from __future__ import annotations

import argparse

from .._doctor import doctor
from .._text import json_text
from .front import FAILED, OK, CommandError
from .options import add_engine, bounded

ARGUMENTS = "[MODEL]"
DESCRIPTION = """\
Looks at the machine, the options in force and where each comes from, what else
computes in the process, what the machine reaches beside what is expected, and
says which known pitfalls it has found, each with what to do."""

EPILOG = """\
The exit code is 1 when a pitfall is a problem, and not just a remark.

Examples:
  latchkey doctor
  latchkey doctor rec.onnx
  latchkey doctor rec.onnx --engine auto --tuning tuning
  latchkey doctor --pid 4242"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="look at this model too: what it "
                        "lacks, whether its sizes vary, its memory")
    parser.add_argument("--pid", metavar="PID", type=bounded(int, 1, 2**22),
                        help="look at another process: its libraries, variables and limits")
    parser.add_argument("--no-measure", action="store_true",
                        help="do not compute for 150 ms to see what the machine reaches")
    add_engine(parser.add_argument_group("Library"), ": whether it is there, and whether a tuning "
               "file fits")
    parser.add_argument("--json", action="store_true", help="print JSON")


def work(arguments: argparse.Namespace) -> int:
    """Looks, and shows what was found."""
    try:
        found = doctor(arguments.model, pid=arguments.pid, measure=not arguments.no_measure,
                       engine=arguments.engine, tuning=arguments.tuning)
    except OSError as error:
        if error.filename is not None:
            raise
        raise CommandError(str(error)) from None
    print(json_text(found) if arguments.json else found, end="\n" if arguments.json else "")
    return FAILED if found.has_problems else OK
