"""What the benchmarks in Python share: paths, child processes, options, tables of numbers."""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("LATCHKEY_BUILD", ROOT / "build/development"))
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "tests/harness")]  # what tests use

from close import assert_close  # noqa: E402, by that path


def options(question):
    """Parses --json, --quick and --long, and prints the question that the program answers."""
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="fewer repeats: a look, no figures")
    extent.add_argument("--long", action="store_true", help="more repeats, in its own time")
    chosen = parser.parse_args()
    if not chosen.json:
        print(question, flush=True)
    return chosen


def by_extent(chosen, quick, short, long):
    return quick if chosen.quick else long if chosen.long else short


class Worker:
    """A child process that takes commands by line and answers each with a line of JSON."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, **environment})

    def send(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def receive(self):
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args} ended with {self.process.wait()}")
        return json.loads(answer)

    def ask(self, *words):
        self.send(*words)
        return self.receive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def latchkey(model, threads, inter=0, **environment):
    """`inter`: branches at once on so many threads; 0: operators one after the other."""
    return Worker(BUILD / "benchmarks/worker", model, threads, inter, **environment)


def several(models, threads, **environment):
    """One process that holds all of `models`, (path, shape), in one context."""
    words = [word for model in models for word in model]
    return Worker(BUILD / "benchmarks/many_worker", threads, *words, **environment)


def host(engine):
    """A host of ONNX Runtime: `provider` or `cpu`."""
    return Worker(BUILD / "benchmarks/ort_worker", engine)


def peer(engine, model, threads, **environment):
    peer_file = pathlib.Path(__file__).with_name("peer.py")
    return Worker(sys.executable, peer_file, engine, model, threads, **environment)


def thread_counts():
    return [1] + ([2] if len(os.sched_getaffinity(0)) > 1 else [])


def settle():
    """Waits until threads that spin after their last run have gone to sleep."""
    time.sleep(0.03)


def median(values):
    return statistics.median(values)


def percentile(values, percent):
    """The nearest of `values`: of fewer than 100 the 99th is the largest."""
    return sorted(values)[max(0, math.ceil(percent / 100 * len(values)) - 1)]


# ---- engines side by side ----

def alternate(engines, blocks, measure):
    """What `measure(engine, block)` gives: a list for each engine. They take turns in short blocks,
    with a pause before each, so that what disturbs the machine for longer than a block disturbs
    all."""
    found = {engine: [] for engine in engines}
    for block in range(blocks):
        for turn in range(len(engines)):
            engine = engines[(block + turn) % len(engines)]
            settle()
            found[engine].append(measure(engine, block))
    return found


def ratio(ours, theirs):
    """The median of the blocks' own ratios."""
    return median([a / b for a, b in zip(ours, theirs, strict=True)])


def figures(times):
    """Of blocks of nanoseconds for each engine, of which the first is ours."""
    flat = {engine: [ns for block in blocks for ns in block] for engine, blocks in times.items()}
    mid = {engine: [median(block) for block in blocks] for engine, blocks in times.items()}
    ours, *theirs = times
    return {"p50_ms": {engine: median(values) / 1e6 for engine, values in flat.items()},
            "p99_ms": {engine: percentile(values, 99) / 1e6 for engine, values in flat.items()},
            "best_ms": {engine: min(values) / 1e6 for engine, values in flat.items()},
            "ratio": {engine: ratio(mid[ours], mid[engine]) for engine in theirs}}


def compare(workers, shape, blocks, seconds, command="time"):
    """figures() of workers that run one shape as `command`, in blocks of about `seconds`."""
    runs = {}
    for engine, worker in workers.items():
        warm = worker.ask(command, 5, shape)["ns"]
        runs[engine] = max(3, min(400, int(seconds * 1e9 / median(warm[1:]))))
    return figures(alternate(list(workers), blocks, lambda engine, _: workers[engine].ask(
        command, runs[engine], shape)["ns"]))


def check_outputs(engines, model, shape, folder):
    """Raises an AssertionError if the engines' first outputs for one seeded input differ by more
    than f32 and its order of additions explain: of models of any size, so from how far apart the
    outputs of the first engine lie."""
    expected = None
    for engine in engines:
        file = pathlib.Path(folder) / "output.npy"
        with peer(engine, model, 1) as worker:
            worker.ask("save", shape, file)
        output = numpy.load(file)
        if expected is None:
            expected = output
        assert_close(output, expected, f"{model} {shape}: {engine} beside {engines[0]}", 1e-3,
                     max(1e-6, 3e-4 * expected.std()))


def machine():
    """The processor, and the instructions that kernels may use."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    words = set(re.search(r"^flags\s*: (.*)$", text, re.M)[1].split())
    kinds = [kind for kind in ("avx2", "avx512f", "avx512_vnni") if kind in words]
    return f"{re.search(r'^model name.*: (.*)$', text, re.M)[1]}, {', '.join(kinds)}"


def mib(count):
    return f"{count / 2**20:.1f} MiB"


def table(header, rows):
    cells = [header] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  " + "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                               for i, (cell, w) in enumerate(zip(row, widths))), flush=True)
