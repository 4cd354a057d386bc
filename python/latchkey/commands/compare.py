"""latchkey compare: a model's results and speed beside those of ONNX Runtime, ONNX's reference or
another model."""

from __future__ import annotations

import argparse

from .. import compare
from . import requests
from .front import FAILED, OK, CommandError
from .options import add_engine, add_fix, bounded
from .progress import Progress

ARGUMENTS = "MODEL"
DESCRIPTION = """\
Compares what a model computes here with what ONNX Runtime, ONNX's reference or
another model computes from the same inputs: the largest absolute and relative
error of each output, the distance in units in the last place (ULP), and how
long a run takes. With --every-value it names the node where the results part."""

EPILOG = """\
Floats must be within ATOL + RTOL * |expected|; of bf16, which has fewer bits,
with 16 times the RTOL. NaN equals NaN, and an infinity itself. Integers must be
equal. The exit code is 1 when something differs.

Example:
  latchkey compare rec.onnx --shape x=1x3x48x320 --every-value -o faults"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    requests.add_arguments(parser, 1, "compare N requests, each with shapes and values of its own")
    what = parser.add_argument_group("What is compared")
    what.add_argument("--with", metavar="PEER", dest="expected", default="onnxruntime",
                      help="onnxruntime, reference (ONNX's own), or FILE.onnx: another model, "
                           "which runs here too and whose values are compared by name (default: "
                           "onnxruntime)")
    what.add_argument("--every-value", action="store_true",
                      help="compare the values between the nodes too, and run each node whose "
                           "value differs alone, to see whether it is at fault itself")
    what.add_argument("-o", "--output", metavar="DIR",
                      help="write a reduced model of each node that is at fault into DIR, as an "
                           "ONNX test case; 'latchkey test DIR' repeats them. Needs --every-value")
    what.add_argument("--rtol", metavar="X", type=bounded(float, 0), default=1e-3,
                      help="allow floats a relative difference of X (default: 1e-3)")
    what.add_argument("--atol", metavar="X", type=bounded(float, 0), default=1e-5,
                      help="allow floats an absolute difference of X (default: 1e-5)")
    what.add_argument("--runs", metavar="N", type=bounded(int, 0), default=None,
                      help="measure N runs of each side, by turns; 0: none (default: as many as a "
                           "second has room for, 3 to 100)")
    library = parser.add_argument_group("Library")
    library.add_argument("-t", "--threads", metavar="N", type=bounded(int, 1, 1024), default=None,
                         help="let both sides use at most N threads (default: the CPUs allowed)")
    library.add_argument("--disable-pass", metavar="NAME", action="append", default=[],
                         help="leave out this graph pass; may be repeated ('latchkey inspect' "
                              "lists them)")
    add_engine(library, ", here and in another model of --with; auto computes by native what has "
                        "not recurred, unless the model or --fix fixes all dimensions")
    add_fix(library)
    parser.add_argument("--json", action="store_true", help="print JSON")


def work(arguments: argparse.Namespace) -> int:
    """Compares, and shows what was found."""
    if arguments.output is not None and not arguments.every_value:
        raise CommandError("failed to read the command line: -o is given, --every-value is needed "
                           "for it", 2)
    options = {"threads": arguments.threads, "disabled_passes": arguments.disable_pass,
               "engine": arguments.engine, "tuning": arguments.tuning,
               "fixed_dims": dict(arguments.fixed_dims)}
    with Progress("opening") as progress:
        result = compare(arguments.model, requests.draw(arguments, options),
                         expected=arguments.expected, every_value=arguments.every_value,
                         rtol=arguments.rtol, atol=arguments.atol, runs=arguments.runs,
                         directory=arguments.output, progress=progress, **options)
    print(result.to_json(indent=2) if arguments.json else result)
    return OK if result else FAILED
