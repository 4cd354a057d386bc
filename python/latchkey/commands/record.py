"""latchkey record: runs a series of requests and writes what happened to a file."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from .._recorder import Recorder
from .._session import Session
from . import requests
from .front import OK
from .options import add_engine, add_fix, add_limits, bounded
from .progress import Progress

ARGUMENTS = "MODEL"
DESCRIPTION = """\
Runs a series of requests and records how long each took, who had the memory,
what was built, and the time of each node, in one file. 'latchkey report' makes
a page of it."""

EPILOG = """\
Ctrl-C ends the recording; what has been recorded until then is written.

Example:
  latchkey record rec.onnx --shape 'x=1x3x48x{32..320}' -n 1000 -o run.json
  latchkey report run.json -o report.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    parser.add_argument("-o", "--output", metavar="FILE", required=True,
                        help="write the recording to FILE")
    parser.add_argument("--json", action="store_true", help="print JSON")
    requests.add_arguments(parser, 1000, "run N requests")
    how = parser.add_argument_group("Recording")
    how.add_argument("--interval", metavar="S", type=bounded(float, 0.001, 3600), default=0.05,
                     help="look at memory and counters every S seconds (default: 0.05)")
    how.add_argument("--profile-every", metavar="N", type=bounded(int, 0, 2**31), default=16,
                     help="profile one in N runs; 0: none (default: 16)")
    how.add_argument("--callers", metavar="N", type=bounded(int, 1, 1024), default=1,
                     help="send requests from N threads (default: 1)")
    library = parser.add_argument_group("Library")
    add_limits(library)
    add_engine(library)
    add_fix(library)


def work(arguments: argparse.Namespace) -> int:
    """Records, and says where the recording is."""
    options = {name: value for name in ("cache", "cache_bytes", "memory_bytes", "threads",
                                        "engine", "tuning")
               if (value := getattr(arguments, name)) is not None}
    options["fixed_dims"] = dict(arguments.fixed_dims)
    prepared = requests.Requests(arguments, {"fixed_dims": options["fixed_dims"]})
    has_onnx = importlib.util.find_spec("onnx") is not None  # else nodes do not say what made them
    with Progress("running") as progress, Session(arguments.model, **options) as session, Recorder(
            session, path=arguments.output, interval=arguments.interval,
            model=arguments.model if has_onnx else None, name=os.path.basename(arguments.model),
            profile_every=arguments.profile_every) as recorder:
        _run_all(recorder.run, prepared, arguments.callers, progress)
    if arguments.json:
        print(json.dumps({"file": arguments.output, "requests": len(prepared)}))
    else:
        print(f"{len(prepared)} requests are in {arguments.output}; 'latchkey report "
              f"{arguments.output} -o report.html' shows them")
    return OK


def _run_all(run: Callable[[Mapping[str, Any]], object], prepared: requests.Requests, callers: int,
             progress: Progress) -> None:
    """Each request once, in their order, by so many threads. Ctrl-C and the first failure end all
    of them, when their runs have ended."""
    numbers = iter(range(len(prepared)))
    taking, stop = threading.Lock(), threading.Event()

    def call() -> None:
        while not stop.is_set():
            with taking:
                number = next(numbers, None)
            if number is None:
                return
            progress("running", number, len(prepared))
            run(prepared[number])

    if callers == 1:  # on the main thread, where Ctrl-C ends a run and not only those after it
        call()
        return
    with ThreadPoolExecutor(callers) as threads:
        try:
            for done in as_completed([threads.submit(call) for _ in range(callers)]):
                done.result()
        finally:
            stop.set()
