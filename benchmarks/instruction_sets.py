"""How long do whole models take with lesser instruction sets than this processor's own?

Each instruction set has a process of its own, by LATCHKEY_MAX_ISA; ONNX Runtime, which chooses for
itself, is beside them as a measure. They take turns in short blocks, on one thread. The ratio is
that to the best set, the median of the blocks' own ratios.
"""

import contextlib
import json
import tempfile

import common
import models

QUESTION = __doc__.splitlines()[0]
SETS = ("amx", "avx512", "avx512_core", "avx2", "sse2")  # as LATCHKEY_MAX_ISA has them


def measure(model, shape, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {name: stack.enter_context(common.latchkey(model, 1, LATCHKEY_MAX_ISA=name))
                   for name in SETS}
        workers["onnxruntime"] = stack.enter_context(common.peer("onnxruntime", model, 1))
        return common.compare(workers, shape, blocks, seconds)


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.15), (11, 0.4), (41, 0.5))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model, shape in models.cases(folder, chosen):
            figures = measure(model, shape, blocks, seconds)
            results.append({"model": name, "shape": shape, **figures})
    if chosen.json:
        print(json.dumps({"machine": common.machine(), "models": results}))
        return
    columns = [*SETS[1:], "onnxruntime"]
    common.table([f"p50 ms, {SETS[0]}; times of it", "", *columns],
                 [[f"{r['model']} {r['shape']}", f"{r['p50_ms'][SETS[0]]:.2f}",
                   *(f"{1 / r['ratio'][name]:.2f}" for name in columns)] for r in results])


if __name__ == "__main__":
    main()
