"""Does a model take longer when it takes turns with two others in one process and context?

Each model runs alone in a process of its own, back to back, and in turns with the two others, run
by run, in one process and one context that hold all three.

What a model finds in turns is not what it finds alone, whoever runs it: the others have read more
than the processor's caches hold, and its weights and activations come from memory again. That is
shown apart: `alone, cold` is the model alone once more, but before each run (not timed) its threads
read as many bytes of other memory as the others have constants and activations. What is left beside
that is what one process and one context cost.
"""

import contextlib
import json
import pathlib
import tempfile

import common
import graphs
import light_models
from ocr_models import RECOGNITION

QUESTION = __doc__.splitlines()[0]
ALONE, COLD, TURNS = "alone", "alone, cold", "in turns"
TARGET = 1.03


def models(folder):
    return {"PP-OCRv4 recognition": (RECOGNITION, "1x3x48x320"),
            "light_resnet50": (light_models.save("resnet50", folder), "1x3x224x224"),
            "perceptron": (graphs.perceptron(folder / "perceptron.onnx", 128, 256, 8), "128x256")}


def measure(cases, threads, blocks, seconds):
    """For each model: blocks of nanoseconds by way."""
    with contextlib.ExitStack() as stack:
        together = stack.enter_context(common.several(list(cases.values()), threads))
        single = [stack.enter_context(common.several([case], threads)) for case in cases.values()]
        numbers = range(len(single))
        together.ask("turns", 3)
        for worker in single:
            worker.ask("time", 0, 3)
        size = [worker.ask("bytes", 0)["bytes"] for worker in single]
        others = [sum(size) - own for own in size]
        taken = [common.median(times) for times in together.ask("turns", 5)["ns"]]
        rounds = max(2, int(seconds * 1e9 / sum(taken)))

        def run(way, _):
            if way == TURNS:
                return together.ask("turns", rounds)["ns"]
            kind, number = way
            read = 0 if kind == ALONE else others[number]
            return single[number].ask("time", 0, rounds, read)["ns"]

        ways = [TURNS] + [(kind, number) for number in numbers for kind in (ALONE, COLD)]
        found = common.alternate(ways, blocks, run)
        return [common.figures({TURNS: [times[number] for times in found[TURNS]],
                                ALONE: found[ALONE, number], COLD: found[COLD, number]})
                for number in numbers]


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.2), (9, 0.2), (101, 0.4))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        cases = models(pathlib.Path(folder))
        for threads in common.thread_counts():
            found = measure(cases, threads, blocks, seconds)
            results += [{"model": name, "shape": cases[name][1], "threads": threads, **figures}
                        for name, figures in zip(cases, found, strict=True)]
    if chosen.json:
        print(json.dumps({"target": TARGET, "models": results}))
        return
    common.table(["p50 ms", "threads", ALONE, COLD, TURNS, f"/ {ALONE}", "target", f"/ {COLD}"],
                 [[f"{r['model']} {r['shape']}", r["threads"],
                   *(f"{r['p50_ms'][way]:.3f}" for way in (ALONE, COLD, TURNS)),
                   f"{r['ratio'][ALONE]:.3f}",
                   "met" if r["ratio"][ALONE] <= TARGET else f"MISSED (<= {TARGET})",
                   f"{r['ratio'][COLD]:.3f}"] for r in results])


if __name__ == "__main__":
    main()
