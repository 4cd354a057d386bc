"""Do two threads of one process, in one session, get as far as two processes with one each?

Each run is on one thread, so two processors are what both ways have, and what one session takes
longer is what its threads wait for each other: locks, counters that both write, an allocator. Eight
threads take turns on them. One thread alone shows what the second processor adds; where the two
share a cache, memory or a clock rate, two processes do not double it either. Every way makes as
many runs in a block; the processes stay open and take turns. Outputs are compared with those of one
thread: from C, where threads either write into memory of their own or have it from the library, all
of them; in Python the last of each block.

The perceptron takes some microseconds. In Python most of that is under the interpreter's lock,
which two processes have twice; there the target is for models that take longer than that.
"""

import contextlib
import json
import pathlib
import tempfile
import time

import common
import graphs
import light_models
from ocr_models import RECOGNITION

QUESTION = __doc__.splitlines()[0]
ONE, PROCESSES, TWO, EIGHT = "1 thread", "2 processes", "2 threads", "8 threads"
TARGET = 0.97  # two threads, of the throughput of two processes
ONE_TARGET = 1.95  # two threads, of the throughput of one: of models that take milliseconds
EIGHT_TARGET = 1.0  # eight threads, of the throughput of two, to a hundredth


def seconds_of(workers, threads, runs, tail):
    """Until `workers`, who share threads and runs among them, are done."""
    start = time.perf_counter()
    for worker in workers:
        worker.send("threads", *tail(threads // len(workers), runs // threads))
    wrong = sum(worker.receive()["wrong"] for worker in workers)
    taken = time.perf_counter() - start
    if wrong > 0:
        raise RuntimeError(f"{wrong} outputs are not those of one thread")
    return taken


def measure(open_worker, tail, blocks, seconds):
    with contextlib.ExitStack() as stack:
        first, second = (stack.enter_context(open_worker()) for _ in range(2))
        ways = {ONE: ([first], 1), TWO: ([first], 2), PROCESSES: ([first, second], 2),
                EIGHT: ([first], 8)}
        runs = 8
        for workers, threads in ways.values():
            seconds_of(workers, threads, runs, tail)  # builds what is missing
        while (taken := seconds_of([first], 2, runs, tail)) < seconds / 4:
            runs *= 4
        runs = max(8, round(runs * seconds / taken / 8) * 8)
        found = common.alternate(list(ways), blocks, lambda way, _: seconds_of(
            *ways[way], runs, tail))
    return {"runs": runs, "runs_per_s": {way: runs / common.median(taken)
                                         for way, taken in found.items()},
            # of throughputs, so what is better stands below
            "one": common.ratio(found[ONE], found[TWO]),
            "two": common.ratio(found[PROCESSES], found[TWO]),
            "eight": common.ratio(found[TWO], found[EIGHT])}


def in_c(name, model, shape, mode, whose, blocks, seconds):
    found = measure(lambda: common.several([(model, shape)], 1, LATCHKEY_CACHE=mode),
                    lambda threads, runs: (0, threads, runs, whose), blocks, seconds)
    return {"model": name, "from": "C", "cache": mode, "outputs": whose, "judged": True, **found}


def in_python(name, model, shape, blocks, seconds):
    found = measure(lambda: common.peer("latchkey", model, 1),
                    lambda threads, runs: (threads, runs, shape), blocks, seconds)
    return {"model": name, "from": "Python", "cache": "shared", "outputs": "library",
            "judged": name != "perceptron", **found}


def verdict(result):
    if not result["judged"]:
        return ""
    missed = []
    if result["model"] != "perceptron" and result["one"] < ONE_TARGET:
        missed.append(f"2 / 1 >= {ONE_TARGET}")
    if result["two"] < TARGET:
        missed.append(f"2 >= {TARGET}")
    if round(result["eight"], 2) < EIGHT_TARGET:
        missed.append(f"8 >= {EIGHT_TARGET:.2f}")
    return f"MISSED ({', '.join(missed)})" if missed else "met"


def main():
    chosen = common.options(QUESTION)
    if len(common.thread_counts()) < 2:
        raise SystemExit("failed to measure two threads: two processors are needed, there is one")
    blocks, seconds = common.by_extent(chosen, (3, 0.1), (9, 0.2), (101, 0.4))
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = [("perceptron", graphs.perceptron(folder / "perceptron.onnx"), "1x64"),
                 ("PP-OCRv4 recognition", RECOGNITION, "1x3x48x320"),
                 ("light_resnet50", light_models.save("resnet50", folder), "1x3x224x224")]
        for case in cases:
            for mode in ("shared", "thread"):
                results.append(in_c(*case, mode, "caller", blocks, seconds))
        results.append(in_c(*cases[0], "shared", "library", blocks, seconds))
        results += [in_python(*case, blocks, seconds) for case in cases]
    if chosen.json:
        print(json.dumps({"target": TARGET, "one_target": ONE_TARGET,
                          "eight_target": EIGHT_TARGET, "results": results}))
        return
    common.table(["runs/s", "from", "cache", "outputs", ONE, PROCESSES, TWO, EIGHT, "2 / 1",
                  "2 / processes", "8 / 2", "target"],
                 [[r["model"], r["from"], r["cache"], r["outputs"],
                   *(f"{r['runs_per_s'][way]:.4g}" for way in (ONE, PROCESSES, TWO, EIGHT)),
                   *(f"{r[way]:.3f}" for way in ("one", "two", "eight")), verdict(r)]
                  for r in results])


if __name__ == "__main__":
    main()
