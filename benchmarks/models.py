"""How long does a whole model take here, beside ONNX Runtime's CPU provider and OpenVINO?

Each engine has a process of its own, since threads of one engine that spin while they wait
would take the processors from another within one. The processes take turns in short blocks,
with a pause before each for the threads of the last to fall asleep: what disturbs the machine for
longer than a block disturbs all of them. The ratio is the median of the blocks' own ratios.

All are driven from Python. First they run one input, and their outputs are compared.

Each engine keeps its own way of waiting. With two threads a machine that has other work says
little: every engine waits for the slowest of its threads at every operator.
"""

import contextlib
import json
import tempfile

import common
import graphs
import light_models
from ocr_models import ANGLE, DETECTION, RECOGNITION

QUESTION = __doc__.splitlines()[0]
ENGINES = ("latchkey", "onnxruntime", "openvino")
TARGETS = {"each": 1.00, "median": 0.92}  # of the better of both peers


def cases(folder, chosen):
    """(name, model, shape); with --long every light model."""
    light = [name for name in light_models.NAMES
             if chosen.long or name in ("resnet50", "squeezenet")]
    return [("PP-OCRv4 recognition", RECOGNITION, "1x3x48x320"),
            ("PP-OCRv4 detection", DETECTION, "1x3x320x320"),
            ("PP-OCR angle", ANGLE, "1x3x48x192"),
            ("MobileNetV2", graphs.mobilenet_v2(f"{folder}/mobilenet_v2.onnx"), "1x3x224x224"),
            ("encoder", graphs.encoder(f"{folder}/encoder.onnx", spelled=True), "1x128x256"),
            *((f"light_{name}", light_models.save(name, folder), "1x3x224x224")
              for name in light)]


def of_better(result):
    return max(result["ratio"].values())


def measure(model, shape, threads, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {engine: stack.enter_context(common.peer(engine, model, threads))
                   for engine in ENGINES}
        return common.compare(workers, shape, blocks, seconds)


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.15), (11, 0.5), (41, 0.5))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model, shape in cases(folder, chosen):
            common.check_outputs(ENGINES[1:] + ENGINES[:1], model, shape, folder)
            for threads in common.thread_counts():
                figures = measure(model, shape, threads, blocks, seconds)
                results.append({"model": name, "shape": shape, "threads": threads, **figures})
    median = common.median([of_better(r) for r in results])
    if chosen.json:
        print(json.dumps({"targets": TARGETS, "median": median, "models": results}))
        return
    common.table(["p50 ms (best)", "threads", *ENGINES, "/ onnxruntime", "/ openvino", "target"],
                 [[f"{r['model']} {r['shape']}", r["threads"],
                   *(f"{r['p50_ms'][e]:.2f} ({r['best_ms'][e]:.2f})" for e in ENGINES),
                   f"{r['ratio']['onnxruntime']:.3f}", f"{r['ratio']['openvino']:.3f}",
                   "met" if of_better(r) <= TARGETS["each"] else "MISSED"]
                  for r in results])
    print(f"  median, of the better of both: {median:.3f}, target {TARGETS['median']}: "
          f"{'met' if median <= TARGETS['median'] else 'MISSED'}; each: {TARGETS['each']}",
          flush=True)


if __name__ == "__main__":
    main()
