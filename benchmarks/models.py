"""How long does a whole model take here, beside ONNX Runtime's CPU provider and OpenVINO?

Each engine has a process of its own, since threads of one engine that spin while they wait
would take the processors from another within one. The processes take turns in short blocks,
with a pause before each for the threads of the last to fall asleep: what disturbs the machine for
longer than a block disturbs all of them. The ratio is the median of the blocks' own ratios.

Each engine keeps its own way of waiting. With two threads a machine that has other work says
little: every engine waits for the slowest of its threads at every operator.
"""

import contextlib
import json
import tempfile

import common
import light_models
from ocr_models import RECOGNITION

QUESTION = __doc__.splitlines()[0]
ENGINES = ("latchkey", "onnxruntime", "openvino")
TARGET = 1.15


def measure(model, shape, threads, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {"latchkey": stack.enter_context(common.latchkey(model, threads))}
        for engine in ENGINES[1:]:
            workers[engine] = stack.enter_context(common.peer(engine, model, threads))
        return common.compare(workers, shape, blocks, seconds)


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.15), (11, 0.5), (41, 0.5))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        cases = [("PP-OCRv4 recognition", RECOGNITION, "1x3x48x320"),
                 ("light_resnet50", light_models.save("resnet50", folder), "1x3x224x224")]
        for name, model, shape in cases:
            for threads in common.thread_counts():
                figures = measure(model, shape, threads, blocks, seconds)
                results.append({"model": name, "shape": shape, "threads": threads, **figures})
    if chosen.json:
        print(json.dumps({"target": TARGET, "models": results}))
        return
    common.table(["p50 ms (best)", "threads", *ENGINES, "/ onnxruntime", "/ openvino", "target"],
                 [[f"{r['model']} {r['shape']}", r["threads"],
                   *(f"{r['p50_ms'][e]:.2f} ({r['best_ms'][e]:.2f})" for e in ENGINES),
                   f"{r['ratio']['onnxruntime']:.3f}", f"{r['ratio']['openvino']:.3f}",
                   "met" if r["ratio"]["onnxruntime"] <= TARGET else f"MISSED (<= {TARGET})"]
                  for r in results])


if __name__ == "__main__":
    main()
