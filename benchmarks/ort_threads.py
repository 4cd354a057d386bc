"""Do eight threads in one session of ONNX Runtime get as far as two processes with four each?

Each thread runs 200 times, on 20 shapes in turn that the session has seen. The two processes share
nothing, so what one session takes longer is what its threads wait for each other. Outputs are
compared with those of one thread, in both ways.
"""

import json
import time

import common

QUESTION = __doc__.splitlines()[0]
ENGINES = ("provider", "cpu")
THREADS, RUNS = 8, 200
TARGET = 1.1


def seconds_of(workers):
    """Until all of `workers`, who share the threads among them, are done."""
    start = time.perf_counter()
    for worker in workers:
        worker.send("threads", THREADS // len(workers), RUNS)
    wrong = sum(worker.receive()["wrong"] for worker in workers)
    taken = time.perf_counter() - start
    if wrong > 0:
        raise RuntimeError(f"{wrong} outputs are not those of one thread")
    return taken


def measure(engine, blocks):
    with common.host(engine) as first, common.host(engine) as second:
        ways = {"one": [first], "two": [first, second]}
        for workers in ways.values():
            seconds_of(workers)  # opens the sessions, and shows them the shapes
        found = common.alternate(list(ways), blocks, lambda way, _: seconds_of(ways[way]))
    return {"engine": engine, "ratio": common.ratio(found["one"], found["two"]),
            "p50_ms": {way: 1e3 * common.median(times) for way, times in found.items()}}


def main():
    chosen = common.options(QUESTION)
    blocks = common.by_extent(chosen, 3, 31, 201)
    results = [measure(engine, blocks) for engine in ENGINES]
    if chosen.json:
        print(json.dumps({"target": TARGET, "threads": THREADS, "runs": RUNS, "engines": results}))
        return
    common.table([f"ms for {THREADS} x {RUNS} runs", "one session", "two processes", "one / two",
                  "target"],
                 [[r["engine"], f"{r['p50_ms']['one']:.1f}", f"{r['p50_ms']['two']:.1f}",
                   f"{r['ratio']:.3f}", "" if r["engine"] != "provider" else
                   "met" if r["ratio"] <= TARGET else f"MISSED (<= {TARGET})"] for r in results])


if __name__ == "__main__":
    main()
