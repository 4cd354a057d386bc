"""The requests that a command runs: options for them, and their inputs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy

from .._session import Session
from .._text import json_name
from .drawn import draw as draw_numbers
from .drawn import integer_limits
from .front import CommandError
from .options import bounded
from .program import draw_shapes


def _file(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and path):
        raise argparse.ArgumentTypeError(f"'{text}', NAME=FILE.npy is needed")
    return name, path


def add_arguments(parser: argparse.ArgumentParser, count: int, what: str) -> None:
    """The options; ``count`` requests unless told otherwise, ``what`` says what becomes of them."""
    inputs = parser.add_argument_group("Inputs")
    inputs.add_argument(
        "-s", "--shape", metavar="NAME=SHAPE", action="append", default=[],
        help="draw a random input of this shape, for example 'x=1x3x48x{32..320}' (quote the "
             "braces). {a,b,c} is a list; {n:8..128} is a range that {n} repeats elsewhere. Floats "
             "are uniform in [0,1). Integers are from 0 to 9, of 8 bits any, 0 or 1 where they are "
             "indices or lengths, and 0 where shapes follow from them")
    inputs.add_argument("-i", "--input", metavar="NAME=FILE", action="append", default=[],
                        type=_file, help="read an input from a .npy file")
    inputs.add_argument("-n", "--requests", metavar="N", type=bounded(int, 1, 10000000),
                        default=count, help=f"{what} (default: {count})")
    inputs.add_argument("--seed", metavar="S", type=bounded(int, 0, 2**64 - 1), default=1,
                        help="draw shapes and values by this seed (default: 1)")


class Requests(Sequence[dict[str, numpy.ndarray]]):
    """The inputs of each request, which are drawn when they are asked for: always the same.

    :param arguments: what :func:`add_arguments` has read.
    :param options: of the session.
    """

    def __init__(self, arguments: argparse.Namespace, options: Mapping[str, Any]) -> None:
        files = dict(arguments.input)
        words = [f"--disable-pass={name}" for name in options.get("disabled_passes", ())]
        words += [f"--fix={name}={size}" for name, size in options.get("fixed_dims", {}).items()]
        words += ["--engine=native", "--tuning="]
        self._shapes = draw_shapes(arguments.model, arguments.shape,
                                   [f"{name}={path}" for name, path in arguments.input],
                                   arguments.requests, arguments.seed, words)
        # whoever computes: neither an engine's module nor a tuning file is read for this
        with Session(arguments.model, **{**options, "engine": "native", "tuning": ""}) as session:
            # by the names that the program and statistics have, of which the model's may differ
            self._names = {json_name(value.name): value.name for value in session.inputs}
            self._types = {json_name(value.name): value.dtype for value in session.inputs}
            self._limits = integer_limits(session.statistics()["session"]["nodes"], self._types)
        self._files = {name: _read(path) for name, path in files.items()}
        self._seed: int = arguments.seed

    def __len__(self) -> int:
        return len(self._shapes)

    @overload
    def __getitem__(self, number: int) -> dict[str, numpy.ndarray]: ...

    @overload
    def __getitem__(self, number: slice) -> list[dict[str, numpy.ndarray]]: ...

    def __getitem__(self, number: int | slice) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        return {self._names[name]: self._files[self._names[name]]
                if self._names[name] in self._files else
                self._draw(name, shape, (self._seed, number, place))
                for place, (name, shape) in enumerate(self._shapes[number].items())}

    def _draw(self, name: str, shape: Sequence[int], seed: Sequence[int]) -> numpy.ndarray:
        dtype = self._types[name]
        assert dtype is not None, "the program has refused an input without a type"
        return draw_numbers(dtype, shape, self._limits.get(name, (0, 0)), seed)


def draw(arguments: argparse.Namespace,
         options: Mapping[str, Any]) -> list[dict[str, numpy.ndarray]]:
    """The inputs of each request, all of them in memory: see :class:`Requests`."""
    return list(Requests(arguments, options))


def _read(path: str) -> numpy.ndarray:
    try:
        array: numpy.ndarray = numpy.load(path, allow_pickle=False)
        return array
    except (OSError, ValueError) as error:
        raise CommandError(f"failed to read '{path}': {error}") from None
