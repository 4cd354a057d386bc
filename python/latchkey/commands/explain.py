"""latchkey explain: why runs are slow or memory grows, as far as statistics show it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from .._explain import Explanation, explain
from .._profile import Profile
from .._session import Session
from .._text import escape, json_text
from . import requests
from .front import OK, CommandError
from .options import add_engine, add_fix, add_limits
from .progress import Progress

ARGUMENTS = "MODEL"
DESCRIPTION = """\
Runs a series of requests twice and says what has cost time: sizes that were
new, and what changed in them; run plans that had been evicted; limits of memory;
nodes that no pass has fused, and why; primitives that an engine has built;
with --provider, nodes that are left to ONNX Runtime. Or says the same of
statistics that a service has written to a .json file, or of a recording."""

EPILOG = """\
Causes that cost time in each run come first, then those that have cost the
most. Each has what shows it, and what can be done.

Example:
  latchkey explain rec.onnx --shape 'x=1x3x48x{32..320}' --cache-bytes 2m"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("model", metavar="MODEL", help="an ONNX file, or a .json file of "
                        "session.statistics(), latchkey.ort.stats() or 'latchkey record'")
    requests.add_arguments(parser, 100, "run N requests, twice")
    library = parser.add_argument_group("Library")
    library.add_argument("--provider", action="store_true",
                         help="run the model in ONNX Runtime, on Latchkey's execution provider")
    add_limits(library, has_entries=True)
    add_engine(library, "; what onednn leaves to native and what it has built are causes, and so "
               "is what auto chooses")
    add_fix(library)
    parser.add_argument("--json", action="store_true", help="print JSON")


def work(arguments: argparse.Namespace) -> int:
    """Explains, and shows what was found."""
    found = _read(arguments.model) if arguments.model.endswith(".json") else _run(arguments)
    print(json_text(found.to_json()) if arguments.json else escape_lines(str(found)),
          end="\n" if arguments.json else "")
    return OK


def escape_lines(text: str) -> str:
    """Names of a model may hold any bytes; lines stay lines."""
    return "".join(escape(line) + "\n" for line in text.splitlines())


def _read(path: str) -> Explanation:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError as error:
        raise CommandError(f"failed to read '{path}': it is not JSON: {error}") from None
    if not isinstance(found, dict) or not str(found.get("schema", "")).startswith("latchkey-"):
        raise CommandError(f"failed to read '{path}': it has no statistics of Latchkey, whose "
                           "\"schema\" is latchkey-statistics-1 or latchkey-recording-1")
    try:
        return explain(found)
    except ValueError as error:
        raise CommandError(f"failed to read '{path}': {error}") from None


def _run(arguments: argparse.Namespace) -> Explanation:
    options = {name: value for name in ("cache", "cache_bytes", "cache_entries", "memory_bytes",
                                        "threads", "engine", "tuning")
               if (value := getattr(arguments, name)) is not None}
    fixed = dict(arguments.fixed_dims)
    drawn = requests.draw(arguments, {"fixed_dims": fixed})
    with Progress("running") as progress:
        if arguments.provider:
            return _run_in_onnxruntime(arguments.model, drawn, fixed, options, progress)
        with Session(arguments.model, fixed_dims=fixed, **options) as session:
            profile = Profile()
            _run_twice(lambda inputs: session.run(inputs, profile=profile), drawn, progress)
            return session.explain(profile)


def _run_twice(run: Any, drawn: Sequence[Mapping[str, numpy.ndarray]],
               progress: Progress) -> None:
    for turn in range(2):
        for number, inputs in enumerate(drawn):
            progress("running", turn * len(drawn) + number, 2 * len(drawn))
            run(inputs)


def _run_in_onnxruntime(model: str, drawn: Sequence[Mapping[str, numpy.ndarray]],
                        fixed: Mapping[str, int], options: Mapping[str, Any],
                        progress: Progress) -> Explanation:
    from .. import ort
    onnxruntime = ort._onnxruntime()
    ort.register()
    of_session = onnxruntime.SessionOptions()
    ort.append(of_session, run_statistics="on", **options)
    for name, size in fixed.items():
        of_session.add_free_dimension_override_by_name(name, size)
    try:
        session = onnxruntime.InferenceSession(model, of_session)
        _run_twice(lambda inputs: session.run(None, inputs), drawn, progress)
    except RuntimeError as error:  # as those of ONNX Runtime are
        raise CommandError(f"failed to run '{model}' in ONNX Runtime: {error}") from None
    return ort.explain(session)
