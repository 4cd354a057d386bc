"""How long does a whole model take here, beside ONNX Runtime's CPU provider and OpenVINO?

Each engine has a process of its own, since teams of OpenMP and of ONNX Runtime that spin while they
wait would take the processors from each other within one. The processes take turns in short blocks,
with a pause before each for the threads of the last to fall asleep: what disturbs the machine for
longer than a block disturbs all of them. The ratio is the median of the blocks' own ratios.

Each engine keeps its own way of waiting. With two threads a machine that has other work says little:
a team of OpenMP waits for its slowest member at every operator, spinning.
"""

import json
import os
import sys
import tempfile

import common

sys.path.insert(0, str(common.ROOT / "tests/models"))
import light_models  # noqa: E402

QUESTION = __doc__.splitlines()[0]
ENGINES = ("latchkey", "onnxruntime", "openvino")
TARGET = 1.15


def measure(model, shape, threads, blocks, seconds):
    """p50 in ms of each engine, and the median over blocks of ours / theirs."""
    workers = {"latchkey": common.latchkey(model, threads)}
    for engine in ENGINES[1:]:
        workers[engine] = common.peer(engine, model, threads)
    try:
        runs = {}
        for engine, worker in workers.items():
            warm = worker.ask("time", 5, shape)["ns"]
            runs[engine] = max(3, min(400, int(seconds * 1e9 / common.median(warm[1:]))))
        times = {engine: [] for engine in ENGINES}
        for block in range(blocks):
            for turn in range(len(ENGINES)):
                engine = ENGINES[(block + turn) % len(ENGINES)]
                common.settle()
                times[engine].append(workers[engine].ask("time", runs[engine], shape)["ns"])
    finally:
        for worker in workers.values():
            worker.__exit__()
    mid = {engine: [common.median(block) for block in times[engine]] for engine in ENGINES}
    result = {"p50_ms": {}, "best_ms": {}, "ratio": {}}
    for engine in ENGINES:
        flat = [ns for block in times[engine] for ns in block]
        result["p50_ms"][engine] = common.median(flat) / 1e6
        result["best_ms"][engine] = min(flat) / 1e6
        if engine != "latchkey":
            ratios = [ours / theirs for ours, theirs in zip(mid["latchkey"], mid[engine])]
            result["ratio"][engine] = common.median(ratios)
    return result


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = (3, 0.15) if chosen.quick else (11, 0.5)
    threads_list = [1] + ([2] if len(os.sched_getaffinity(0)) > 1 else [])
    results = []
    with tempfile.TemporaryDirectory() as folder:
        cases = [("PP-OCRv4 recognition", common.recognition_model(), "1x3x48x320"),
                 ("light_resnet50", light_models.save("resnet50", folder), "1x3x224x224")]
        for name, model, shape in cases:
            for threads in threads_list:
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
