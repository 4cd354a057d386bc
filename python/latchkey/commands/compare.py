"""latchkey compare: a model's results and speed beside those of ONNX Runtime, ONNX's reference or
another model."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from .._compare import compare
from .._session import Session
from .front import FAILED, OK, CommandError
from .program import draw_shapes
from .progress import Progress

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


def _bounded(kind: Callable[[str], Any], least: float,
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


def _file(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and path):
        raise argparse.ArgumentTypeError(f"'{text}', NAME=FILE.npy is needed")
    return name, path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    inputs = parser.add_argument_group("Inputs")
    inputs.add_argument(
        "-s", "--shape", metavar="NAME=SHAPE", action="append", default=[],
        help="draw a random input of this shape, for example 'x=1x3x48x{32..320}' (quote the "
             "braces). {a,b,c} is a list; {n:8..128} is a range that {n} repeats elsewhere. Floats "
             "are uniform in [0,1), integers and bools are zero")
    inputs.add_argument("-i", "--input", metavar="NAME=FILE", action="append", default=[],
                        type=_file, help="read an input from a .npy file")
    inputs.add_argument("-n", "--requests", metavar="N", type=_bounded(int, 1, 10000000), default=1,
                        help="compare N requests, each with shapes and values of its own "
                             "(default: 1)")
    inputs.add_argument("--seed", metavar="S", type=_bounded(int, 0, 2**64 - 1), default=1,
                        help="draw shapes and values by this seed (default: 1)")
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
    what.add_argument("--rtol", metavar="X", type=_bounded(float, 0), default=1e-3,
                      help="allow floats a relative difference of X (default: 1e-3)")
    what.add_argument("--atol", metavar="X", type=_bounded(float, 0), default=1e-5,
                      help="allow floats an absolute difference of X (default: 1e-5)")
    what.add_argument("--runs", metavar="N", type=_bounded(int, 0), default=None,
                      help="measure N runs of each side, by turns; 0: none (default: as many as a "
                           "second has room for, 3 to 100)")
    library = parser.add_argument_group("Library")
    library.add_argument("-t", "--threads", metavar="N", type=_bounded(int, 1, 1024), default=None,
                         help="let both sides use at most N threads (default: the CPUs allowed)")
    library.add_argument("--disable-pass", metavar="NAME", action="append", default=[],
                         help="leave out this graph pass; may be repeated ('latchkey inspect' "
                              "lists them)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def work(arguments: argparse.Namespace) -> int:
    """Compares, and shows what was found."""
    if arguments.output is not None and not arguments.every_value:
        raise CommandError("failed to read the command line: -o is given, --every-value is needed "
                           "for it", 2)
    options = {"threads": arguments.threads, "disabled_passes": arguments.disable_pass}
    with Progress("opening") as progress:
        result = compare(arguments.model, _requests(arguments, options),
                         expected=arguments.expected, every_value=arguments.every_value,
                         rtol=arguments.rtol, atol=arguments.atol, runs=arguments.runs,
                         directory=arguments.output, progress=progress, **options)
    print(result.to_json(indent=2) if arguments.json else result)
    return OK if result else FAILED


def _requests(arguments: argparse.Namespace,
              options: Mapping[str, Any]) -> list[dict[str, numpy.ndarray]]:
    files = {name: path for name, path in arguments.input}
    words = [f"--disable-pass={name}" for name in arguments.disable_pass]
    shapes = draw_shapes(arguments.model, arguments.shape,
                         [f"{name}={path}" for name, path in arguments.input], arguments.requests,
                         arguments.seed, words)
    with Session(arguments.model, **options) as session:
        types = {value.name: value.dtype for value in session.inputs}
    read = {name: _read(path) for name, path in files.items()}
    return [{name: read[name] if name in read else
             _draw(types[name], shape, (arguments.seed, number, place))
             for place, (name, shape) in enumerate(request.items())}
            for number, request in enumerate(shapes)]


def _read(path: str) -> numpy.ndarray:
    try:
        return numpy.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise CommandError(f"failed to read '{path}': {error}") from None


def _draw(dtype: numpy.dtype | None, shape: Sequence[int], seed: Sequence[int]) -> numpy.ndarray:
    """Floats uniform in [0,1), of which each type has fewer than it has numbers; zeros else."""
    assert dtype is not None, "the program has refused an input without a type"
    if dtype.kind in "iub":
        return numpy.zeros(shape, dtype)
    drawn = numpy.random.default_rng(seed).random(shape)
    bits = numpy.finfo(dtype).nmant if dtype.kind == "f" else 7  # bf16
    return (numpy.floor(drawn * 2**(bits + 1)) / 2**(bits + 1)).astype(dtype)
