"""What does a size cost that was never seen before, beside ONNX Runtime and OpenVINO?

Requests of random sizes, all different, in one order for all. Each engine has a process of its own,
on one thread. They take turns in blocks of 20 sizes, so that what disturbs the machine disturbs
all; the second pass has the sizes of the first once more. Growth of resident memory is counted
from the first 20 sizes on.
"""

import contextlib
import json
import random
import tempfile

import common
import graphs
from ocr_models import ANGLE, DETECTION, RECOGNITION

QUESTION = __doc__.splitlines()[0]
ENGINES = ("latchkey", "onnxruntime", "openvino")
BLOCK = 20
TARGETS = {"second": 1.05, "onnxruntime": 1.0, "p99": 1.2, "growth_mib": 24}


def lines(count):
    """Pictures of one line of text: widths in pixels."""
    widths = random.Random(11).sample(range(32, 32 + 2 * count), count)
    return [f"1x3x48x{width}" for width in widths]


def pictures(count, least, step):
    """Heights and widths, multiples of `step`."""
    side = range(least, least + step * (int(count**0.5) + 3), step)
    all_sizes = [f"1x3x{height}x{width}" for height in side for width in side]
    return random.Random(11).sample(all_sizes, count)


def measure(model, shapes):
    """Of each engine: nanoseconds of both passes by blocks, growth, what was built."""
    blocks = [shapes[i:i + BLOCK] for i in range(0, len(shapes), BLOCK)]
    with contextlib.ExitStack() as stack:
        workers = {"latchkey": stack.enter_context(common.latchkey(model, 1))}
        for engine in ENGINES[1:]:
            workers[engine] = stack.enter_context(common.peer(engine, model, 1))

        def run(engine, block):
            sizes = blocks[block % len(blocks)]
            times = workers[engine].ask("shapes", len(sizes), ",".join(sizes))["ns"]
            if block == 0:
                start[engine] = workers[engine].ask("stats")
            if block == len(blocks) - 1:
                end[engine] = workers[engine].ask("stats")
            return times
        start, end = {}, {}
        times = common.alternate(ENGINES, 2 * len(blocks), run)
    ours = times["latchkey"]

    def sums(engine):
        return [sum(block) for block in times[engine]]

    def p99(engine):
        return common.percentile([ns for block in times[engine][:len(blocks)] for ns in block], 99)
    half = len(blocks)
    return {
        "seconds": {e: sum(sums(e)[:half]) / 1e9 for e in ENGINES},
        "second": common.ratio(sums("latchkey")[1:half], sums("latchkey")[half + 1:]),
        "ratio": {e: common.ratio(sums("latchkey")[:half], sums(e)[:half]) for e in ENGINES[1:]},
        "p99": p99("latchkey") / p99("onnxruntime"),
        "growth": {e: end[e]["rss"] - start[e]["rss"] for e in ENGINES},
        "builds": end["latchkey"]["value_builds"] - start["latchkey"]["value_builds"],
        "sizes": len(shapes), "first_ms": ours[0][0] / 1e6}


def is_met(figures):
    return (figures["second"] <= TARGETS["second"]
            and figures["ratio"]["onnxruntime"] <= TARGETS["onnxruntime"]
            and figures["p99"] <= TARGETS["p99"]
            and figures["growth"]["latchkey"] <= TARGETS["growth_mib"] * 2**20
            and figures["builds"] == 0)


def main():
    chosen = common.options(QUESTION)
    count = common.by_extent(chosen, 40, 400, 400)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        cases = [("recognizer", RECOGNITION, lines(count)),
                 ("detector", DETECTION, pictures(count, 64, 32)),
                 ("angle classifier", ANGLE, lines(count)),
                 ("ResNet-50", graphs.resnet50(f"{folder}/resnet50.onnx"),
                  pictures(count, 48, 8)),
                 ("MobileNetV2", graphs.mobilenet_v2(f"{folder}/mobilenet_v2.onnx"),
                  pictures(count, 48, 8))]
        for name, model, shapes in cases:
            results.append({"model": name, **measure(model, shapes)})
            if not chosen.json:
                r = results[-1]
                print(f"  {name}, {r['sizes']} sizes: " + ", ".join(
                    f"{e} {r['seconds'][e]:.2f} s and {common.mib(r['growth'][e])}"
                    for e in ENGINES), flush=True)
    if chosen.json:
        print(json.dumps({"targets": TARGETS, "models": results}))
        return
    common.table(["first pass", "/ second", "/ onnxruntime", "/ openvino", "p99 / onnxruntime",
                  "growth", "built", "targets"],
                 [[r["model"], f"{r['second']:.3f}", f"{r['ratio']['onnxruntime']:.3f}",
                   f"{r['ratio']['openvino']:.3f}", f"{r['p99']:.3f}",
                   common.mib(r["growth"]["latchkey"]), r["builds"],
                   "met" if is_met(r) else "MISSED"] for r in results])
    print(f"  targets: {TARGETS['second']} of the second pass, {TARGETS['onnxruntime']} of ONNX "
          f"Runtime's first, p99 {TARGETS['p99']}, growth {TARGETS['growth_mib']} MiB, nothing "
          "built after the first 20 sizes", flush=True)


if __name__ == "__main__":
    main()
