"""How long does it take to open a model and to run it once, beside ONNX Runtime?

Each time in a fresh process, by turns: from before the session is made to the first output, with
the file in memory already and the libraries imported. The ratio is the median of the ratios of
neighbours. Models that this library refuses are left out, and named.

LATCHKEY_MODELS names a folder of more models: NAME.onnx, and NAME.json with the inputs of one run
or several, {"sizes": [{input: [type, shape, low, high]}]}.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import common
import graphs
import light_models
from ocr_models import ANGLE, DETECTION, RECOGNITION

QUESTION = __doc__.splitlines()[0]
ENGINES = ("latchkey", "onnxruntime")
TARGET = 1.0
PROCESS = pathlib.Path(__file__).with_name("cold_process.py")
PICTURE = (1, 3, 224, 224)


def more(folder):
    for path in sorted(folder.glob("*.json")):
        yield path.stem, path.with_suffix(".onnx"), json.loads(path.read_text())["sizes"][0]


def cases(folder):
    """Name, model, and what its inputs are drawn from."""
    for name, path, shape in (
            ("recognizer", RECOGNITION, (1, 3, 48, 320)), ("detector", DETECTION, (1, 3, 320, 320)),
            ("angle classifier", ANGLE, (1, 3, 48, 192)),
            ("light_resnet50", light_models.save("resnet50", folder), PICTURE),
            ("ResNet-50", graphs.resnet50(f"{folder}/made_resnet50.onnx"), PICTURE),
            ("MobileNetV2", graphs.mobilenet_v2(f"{folder}/made_mobilenet_v2.onnx"), PICTURE),
            ("encoder", graphs.encoder(f"{folder}/encoder.onnx"), (1, 64, 256)),
            ("perceptron", graphs.perceptron(f"{folder}/perceptron.onnx"), (1, 64))):
        yield name, path, {graphs.ends(path)[0]: ["float32", shape, -1, 1]}
    if "LATCHKEY_MODELS" in os.environ:
        yield from more(pathlib.Path(os.environ["LATCHKEY_MODELS"]))


def once(engine, path, threads, inputs):
    done = subprocess.run([sys.executable, PROCESS, engine, path, str(threads),
                           json.dumps(inputs)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(path, threads, inputs, repeats):
    """Of each engine: all that it said. None: this library refuses the model."""
    found = {engine: [] for engine in ENGINES}
    for repeat in range(repeats):
        for engine in ENGINES if repeat % 2 == 0 else ENGINES[::-1]:
            answer = once(engine, path, threads, inputs)
            if "error" in answer:
                return None
            found[engine].append(answer)
    return found


def figures(found):
    def medians(member):
        return {e: common.median([r[member] for r in found[e]]) / 1e6 for e in ENGINES}
    total = [[r["open_ns"] + r["run_ns"] for r in found[e]] for e in ENGINES]
    return {"open_ms": medians("open_ns"), "run_ms": medians("run_ns"),
            "ratio": common.ratio(*total)}


def main():
    chosen = common.options(QUESTION)
    repeats = common.by_extent(chosen, 1, 5, 15)
    results, refused = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, inputs in cases(folder):
            for threads in common.thread_counts():
                found = measure(path, threads, inputs, repeats)
                if found is None:
                    refused.append(name)
                    break
                results.append({"model": name, "threads": threads, **figures(found)})
    if chosen.json:
        print(json.dumps({"target": TARGET, "models": results, "refused": refused}))
        return
    common.table(["ms to open + to run", "threads", *ENGINES, "ratio", "target"],
                 [[r["model"], r["threads"],
                   *(f"{r['open_ms'][e]:.1f} + {r['run_ms'][e]:.1f}" for e in ENGINES),
                   f"{r['ratio']:.3f}", "met" if r["ratio"] <= TARGET else f"MISSED (<= {TARGET})"]
                  for r in results])
    if refused:
        print(f"  refused and left out: {', '.join(refused)}", flush=True)


if __name__ == "__main__":
    main()
