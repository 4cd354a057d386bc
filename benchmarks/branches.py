"""Are models with branches faster when these run at once, and the others no slower for asking?

The parallel executor with two threads for branches, beside steps in their order, where operators
may have two threads, and where they have one. It decides by shapes, when it builds a run plan,
whether steps run at once, each on one thread; `at once` says what it did. ONNX Runtime has the same
choice, made by hand: ORT_SEQUENTIAL with two threads in each operator, or ORT_PARALLEL with two for
branches. Each has a process of its own, and they take turns. Ours are driven from C++ and ONNX
Runtime from Python, which adds some microseconds to a run of its: beside ours it says something of
the larger models only.
"""

import contextlib
import json
import pathlib
import tempfile

import common
import graphs
import light_models
from ocr_models import DETECTION, RECOGNITION

QUESTION = __doc__.splitlines()[0]
PARALLEL, IN_ORDER = "parallel, 2", "in order, 2"
PARALLEL_ONE, IN_ORDER_ONE = "parallel, 1", "in order, 1"
ORT_IN_ORDER, ORT_PARALLEL = "ort in order", "ort parallel"
TARGET = 1.03
SIZES = (4, 16, 32, 64)
LIGHT = ("inception_v1", "inception_v2", "squeezenet", "densenet121", "shufflenet", "resnet50")


def models(folder):
    """(name, path, shape): with width, from microseconds to milliseconds, and without."""
    for size in SIZES:
        yield (f"branches {size}", graphs.branches(folder / f"branches_{size}.onnx", size),
               f"1x16x{size}x{size}")
    for name in LIGHT:
        yield name, light_models.save(name, folder), "1x3x224x224"
    yield "PP-OCRv4 detection", DETECTION, "1x3x320x320"
    yield "PP-OCRv4 recognition", RECOGNITION, "1x3x48x320"
    yield "perceptron", graphs.perceptron(folder / "perceptron.onnx"), "1x64"


def measure(model, shape, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {PARALLEL: common.latchkey(model, 2, inter=2),
                   IN_ORDER: common.latchkey(model, 2),
                   PARALLEL_ONE: common.latchkey(model, 1, inter=2),
                   IN_ORDER_ONE: common.latchkey(model, 1),
                   ORT_IN_ORDER: common.peer("onnxruntime", model, 2),
                   ORT_PARALLEL: common.peer("onnxruntime_parallel", model, 2)}
        for worker in workers.values():
            stack.enter_context(worker)
        found = common.compare(workers, shape, blocks, seconds)
        p50 = found["p50_ms"]
        ratios = {PARALLEL: found["ratio"][IN_ORDER],
                  PARALLEL_ONE: p50[PARALLEL_ONE] / p50[IN_ORDER_ONE],
                  "ort": found["ratio"][ORT_IN_ORDER],
                  "ort_parallel": found["ratio"][ORT_PARALLEL]}
        return {"p50_ms": p50, "best_ms": found["best_ms"], "ratio": ratios,
                "at_once": {way: workers[way].ask("stats")["parallel_runs"] > 0
                            for way in (PARALLEL, PARALLEL_ONE)}}


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.05), (7, 0.06), (51, 0.3))
    with tempfile.TemporaryDirectory() as folder:
        results = [{"model": name, "shape": shape, **measure(model, shape, blocks, seconds)}
                   for name, model, shape in models(pathlib.Path(folder))]
    if chosen.json:
        print(json.dumps({"target": TARGET, "models": results}))
        return
    ways = (IN_ORDER, PARALLEL, IN_ORDER_ONE, PARALLEL_ONE, ORT_IN_ORDER, ORT_PARALLEL)
    common.table(["p50 ms; threads of an operator", *ways],
                 [[f"{r['model']} {r['shape']}", *(f"{r['p50_ms'][way]:.4g}" for way in ways)]
                  for r in results])
    print()
    common.table(["parallel, beside", *(title for way in (IN_ORDER, IN_ORDER_ONE)
                                        for title in (way, "at once", "target")),
                  ORT_IN_ORDER, ORT_PARALLEL],
                 [[r["model"], *(cell for way in (PARALLEL, PARALLEL_ONE) for cell in (
                     f"{r['ratio'][way]:.3f}", "yes" if r["at_once"][way] else "no",
                     "met" if r["ratio"][way] <= TARGET else f"MISSED (<= {TARGET})")),
                   f"{r['ratio']['ort']:.3f}", f"{r['ratio']['ort_parallel']:.3f}"]
                  for r in results])


if __name__ == "__main__":
    main()
