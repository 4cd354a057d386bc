"""Does ONNX Runtime get slower when every second operator of a model runs on the provider?

Both kinds of operators want the same processors: a thread of either that spins while it waits, or
that has to be woken, is felt at every boundary, of which these models have 15. Each engine has a
process of its own, and they take turns.
"""

import contextlib
import json
import pathlib
import tempfile

import common
import graphs

QUESTION = __doc__.splitlines()[0]
ENGINES = ("provider", "onnxruntime")
TARGET = 1.05


def measure(model, shape, threads, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {engine: stack.enter_context(common.peer(engine, model, threads))
                   for engine in ENGINES}
        found = common.compare(workers, shape, blocks, seconds)
        return {**found, "claims": workers["provider"].ask("stats")["claims"]}


def verdict(result):
    """With one thread there are no two teams to get in each other's way."""
    if result["threads"] == 1:
        return ""
    return "met" if result["ratio"]["onnxruntime"] <= TARGET else f"MISSED (<= {TARGET})"


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.1), (15, 0.15), (101, 0.3))
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = [("MatMul, Selu", graphs.matmul_selu(folder / "matmul.onnx"), "128x256"),
                 ("Conv, Selu", graphs.conv_selu(folder / "conv.onnx"), "1x64x28x28")]
        for name, model, shape in cases:
            for threads in common.thread_counts():
                results.append({"model": name, "shape": shape, "threads": threads,
                                **measure(model, shape, threads, blocks, seconds)})
    if chosen.json:
        print(json.dumps({"target": TARGET, "models": results}))
        return
    common.table(["p50 ms (best)", "threads", *ENGINES, "claimed", "/ onnxruntime", "target"],
                 [[f"{r['model']} {r['shape']}", r["threads"],
                   *(f"{r['p50_ms'][e]:.3f} ({r['best_ms'][e]:.3f})" for e in ENGINES),
                   f"{r['claims']['claimed']} of {r['claims']['nodes']}",
                   f"{r['ratio']['onnxruntime']:.3f}",
                   verdict(r)]
                  for r in results])


if __name__ == "__main__":
    main()
