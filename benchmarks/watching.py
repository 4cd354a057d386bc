"""What does it cost a model to be looked at: statistics once a second, a profile, a trace?

PP-OCRv4 recognition in one process, with 200 sizes seen before so that the statistics are long.
Blocks of a second each take turns: runs alone, runs while another thread reads the statistics
once, runs with a profile, runs that are traced. The ratio is the median of the blocks' own ratios
of time per run.
"""

import json
import threading
import time

import numpy

import common
from ocr_models import RECOGNITION

QUESTION = __doc__.splitlines()[0]
ALONE, STATISTICS, PROFILE, TRACE = "alone", "statistics", "profile", "trace"
TARGETS = {STATISTICS: 1.01, PROFILE: 1.03, TRACE: 1.05}
SIZES = 200


def ns_of_a_run(run, seconds):
    runs, start = 0, time.perf_counter_ns()
    end = start + int(seconds * 1e9)
    while (now := time.perf_counter_ns()) < end:
        run()
        runs += 1
    return (now - start) / runs


def measure(threads, blocks, seconds):
    import latchkey

    session = latchkey.Session(RECOGNITION, threads=threads)
    name = session.inputs[0].name
    for width in range(32, 32 + SIZES):
        session.run({name: numpy.zeros((1, 3, 48, width), numpy.float32)})
    values = {name: numpy.random.default_rng(7).random((1, 3, 48, 320), numpy.float32)}
    profile = latchkey.Profile()

    def block(way, _):
        if way == PROFILE:
            return ns_of_a_run(lambda: session.run(values, profile=profile), seconds)
        if way == TRACE:
            with session.trace():
                return ns_of_a_run(lambda: session.run(values), seconds)
        if way == ALONE:
            return ns_of_a_run(lambda: session.run(values), seconds)
        reader = threading.Timer(seconds / 2, session.statistics)
        reader.start()
        ns = ns_of_a_run(lambda: session.run(values), seconds)
        reader.join()
        return ns

    times = common.alternate([ALONE, *TARGETS], blocks, block)
    start = time.perf_counter_ns()
    length = len(json.dumps(session.statistics()))
    return {"threads": threads, "read_ms": (time.perf_counter_ns() - start) / 1e6,
            "statistics_bytes": length,
            "ms": {way: common.median(values) / 1e6 for way, values in times.items()},
            "ratio": {way: common.ratio(times[way], times[ALONE]) for way in TARGETS}}


def cell(result, way):
    ratio, target = result["ratio"][way], TARGETS[way]
    return f"{ratio:.3f}" + ("" if ratio <= target else f" MISSED (<= {target})")


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (2, 0.3), (9, 1.0), (31, 1.0))
    results = [measure(threads, blocks, seconds) for threads in common.thread_counts()]
    if chosen.json:
        print(json.dumps({"targets": TARGETS, "models": results}))
        return
    common.table(["PP-OCRv4 recognition 1x3x48x320", "threads", "ms alone", "statistics / alone",
                  "profile / alone", "trace / alone", "ms to read statistics"],
                 [["", r["threads"], f"{r['ms'][ALONE]:.3f}", *(cell(r, way) for way in TARGETS),
                   f"{r['read_ms']:.1f}"] for r in results])


if __name__ == "__main__":
    main()
