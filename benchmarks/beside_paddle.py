"""How fast is oneDNN by our keys, beside Paddle, which keeps its primitives in a cache of its own?

Fixed sizes with the engine `onednn` and with `auto`, by turns, outputs compared. Then random sizes,
each once: what a process grows by, with a limit of memory here, and there with the default of
Paddle's cache and without its limit. Models are of f32, made of what Paddle and ONNX have alike.
"""

import contextlib
import json
import random
import subprocess
import tempfile

import common
import graphs
import light_models
import numpy

QUESTION = __doc__.splitlines()[0]
AT_MOST = 0.9  # of Paddle's time
MEMORY = 256 << 20  # bytes, of the limit
PADDLE = {"PYTHONPATH": str(common.ROOT / "build/paddle"), "GLOG_minloglevel": "2"}


def ours(engine, **more):
    return {"LATCHKEY_ENGINE": engine, **more}


def cases(folder):
    """(name, model, whether images of any size go in)."""
    squeezenet = light_models.save("squeezenet", folder)
    return [("ResNet-50", light_models.save("resnet50", folder), False),
            ("MobileNetV2", graphs.mobilenet_v2(f"{folder}/mobilenet_v2.onnx"), True),
            ("SqueezeNet", graphs.save_open(squeezenet, f"{folder}/squeezenet_open.onnx"), True)]


def check(name, model, folder):
    outputs = []
    for engine, environment in (("paddle", PADDLE), ("latchkey", ours("onednn"))):
        file = f"{folder}/{engine}.npy"
        with common.peer(engine, model, 1, **environment) as worker:
            worker.ask("save", "1x3x224x224", file)
        outputs.append(numpy.load(file))
    common.assert_close(outputs[1].reshape(outputs[0].shape), outputs[0], f"{name} beside Paddle",
                        1e-3, max(1e-6, 3e-4 * outputs[0].std()))


def fixed(model, threads, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {engine: stack.enter_context(common.latchkey(model, threads, **ours(engine)))
                   for engine in ("onednn", "auto")}
        workers["paddle"] = stack.enter_context(common.peer("paddle", model, threads, **PADDLE))
        for worker in workers.values():
            worker.ask("time", 10, "1x3x224x224")  # for `auto`, a size that has come again
        found = common.compare(workers, "1x3x224x224", blocks, seconds)
    middle = found["p50_ms"]
    return {"p50_ms": middle, "ratio": found["ratio"]["paddle"],
            "auto_ratio": middle["auto"] / middle["paddle"]}


def growth(worker, sizes):
    worker.ask("time", 3, "1x3x224x224")
    before = worker.ask("stats")["rss"]
    times = worker.ask("shapes", len(sizes), ",".join(sizes))["ns"]
    return {"p50_ms": common.median(times) / 1e6, "growth": worker.ask("stats")["rss"] - before}


def varied(model, count):
    draw = random.Random(5)
    sizes = [f"1x3x{draw.randint(64, 256)}x{draw.randint(64, 256)}" for _ in range(count)]
    limited = ours("onednn", LATCHKEY_MEMORY_BYTES=str(MEMORY))
    with common.latchkey(model, 1, **limited) as worker:
        found = {f"onednn, {common.mib(MEMORY)}": growth(worker, sizes)}
    with common.latchkey(model, 1, **ours("auto")) as worker:
        found["auto"] = growth(worker, sizes)
    for name, capacity in (("paddle", ""), ("paddle, no limit", "0")):
        with common.peer("paddle", model, 1, PADDLE_CAPACITY=capacity, **PADDLE) as worker:
            found[name] = growth(worker, sizes)
    return found


def target(name, found):
    if not name.startswith("onednn"):
        return ""
    return "met" if found["growth"] <= MEMORY else "MISSED (the limit)"


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.1), (11, 0.3), (41, 0.5))
    subprocess.run([common.ROOT / "tools/install_paddle"], check=True)
    results, sizes = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model, is_open in cases(folder):
            check(name, model, folder)
            for threads in common.thread_counts():
                found = fixed(model, threads, blocks, seconds)
                results.append({"model": name, "threads": threads, **found})
            if is_open:
                sizes[name] = varied(model, common.by_extent(chosen, 20, 200, 1000))
    if chosen.json:
        print(json.dumps({"machine": common.machine(), "at_most": AT_MOST, "fixed": results,
                          "random": sizes}))
        return
    common.table(["p50 ms", "threads", "onednn", "auto", "paddle", "onednn / paddle",
                  "auto / paddle", "target"],
                 [[r["model"], r["threads"],
                   *(f"{r['p50_ms'][engine]:.2f}" for engine in ("onednn", "auto", "paddle")),
                   f"{r['ratio']:.3f}", f"{r['auto_ratio']:.3f}",
                   "met" if r["ratio"] <= AT_MOST else f"MISSED ({AT_MOST})"] for r in results])
    common.table(["random sizes, one thread", "p50 ms", "growth", "target"],
                 [[f"{model}, {name}", f"{found['p50_ms']:.2f}", common.mib(found["growth"]),
                   target(name, found)]
                  for model, of in sizes.items() for name, found in of.items()])


if __name__ == "__main__":
    main()
