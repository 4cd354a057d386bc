"""How long does it take to open a model and to run it once, beside ONNX Runtime?

Each time in a fresh process, by turns: from before the session is made to the first output, with
the file in memory already and the libraries imported. Ratios are medians of the neighbouring
processes' own. Models that this library refuses are left out, and counted.
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
EXPORTED = common.ROOT.parent / "shared/models"  # README.md there; NAME.json has inputs
PROCESS = pathlib.Path(__file__).with_name("cold_process.py")


def image(*shape):
    return {"x": ["float32", list(shape), -1, 1]}



def exported(folder):
    for path in sorted(folder.glob("*.json")):
        yield path.stem, path.with_suffix(".onnx"), json.loads(path.read_text())["sizes"][0]


def cases(folder):
    yield "recognizer", RECOGNITION, image(1, 3, 48, 320)
    yield "detector", DETECTION, image(1, 3, 320, 320)
    yield "angle classifier", ANGLE, image(1, 3, 48, 192)
    for make, shape in ((graphs.resnet50, (1, 3, 224, 224)),
                        (graphs.mobilenet_v2, (1, 3, 224, 224)), (graphs.encoder, (1, 64, 256)),
                        (graphs.perceptron, (1, 64))):
        yield make.__name__, make(f"{folder}/{make.__name__}.onnx"), image(*shape)
    yield from exported(pathlib.Path(os.environ.get("LATCHKEY_MODELS", EXPORTED)))


def once(engine, path, threads, inputs):
    done = subprocess.run([sys.executable, PROCESS, engine, path, str(threads),
                           json.dumps(inputs)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(path, threads, inputs, repeats):
    found = {engine: [] for engine in ENGINES}
    for repeat in range(repeats):
        for engine in ENGINES if repeat % 2 == 0 else ENGINES[::-1]:
            found[engine].append(once(engine, path, threads, inputs))
            if "error" in found[engine][-1]:
                return {"error": found[engine][-1]["error"]}
    total = {e: [r["open_ns"] + r["run_ns"] for r in found[e]] for e in ENGINES}
    return {"open_ms": {e: common.median([r["open_ns"] for r in found[e]]) / 1e6 for e in ENGINES},
            "run_ms": {e: common.median([r["run_ns"] for r in found[e]]) / 1e6 for e in ENGINES},
            "ratio": common.ratio(*total.values())}


def main():
    chosen = common.options(QUESTION)
    repeats = common.by_extent(chosen, 1, 5, 15)
    threads = common.thread_counts()[-1]
    results, refused = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, inputs in cases(folder):
            figures = measure(path, threads, inputs, repeats)
            (refused if "error" in figures else results).append({"model": name, **figures})
    if chosen.json:
        print(json.dumps({"target": TARGET, "threads": threads, "models": results,
                          "refused": refused}))
        return
    common.table([f"ms, {threads} threads", *(f"{e} open + run" for e in ENGINES), "ratio",
                  "target"],
                 [[r["model"], *(f"{r['open_ms'][e]:.1f} + {r['run_ms'][e]:.1f}" for e in ENGINES),
                   f"{r['ratio']:.3f}", "met" if r["ratio"] <= TARGET else f"MISSED (<= {TARGET})"]
                  for r in results])
    if refused:
        print(f"  left out, refused: {', '.join(r['model'] for r in refused)}", flush=True)


if __name__ == "__main__":
    main()
