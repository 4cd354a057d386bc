"""Is each layer, once it is tuned, as fast as by the better one of `native` and `onednn`?

The convolutions and products of the models of `models`, each alone: in a model of several copies
of it, one after the other, on one thread. A session of the engine `auto` is tuned on it, and runs
by turns with one of each engine, in short blocks. Outputs are compared.
"""

import contextlib
import json
import tempfile

import common
import latchkey
import models
import numpy
import onnx
import operators

QUESTION = __doc__.splitlines()[0]
ENGINES = ("auto", "native", "onednn")
AT_MOST = 1.03  # of the better of native and onednn
KINDS = {"Conv", "ConvTranspose", "MatMul", "Gemm"}
WORST = 10  # layers that are printed
SESSIONS = 5  # of a layer that is above


def layers(folder, chosen):
    """(model, shapes, a model of copies of one node, feeds): each node once."""
    seen = set()
    for name, path, shape in models.cases(folder, chosen):
        proto = onnx.load(path)
        constants = {each.name for each in proto.graph.initializer}
        first = next(each.name for each in proto.graph.input if each.name not in constants)
        draw = numpy.random.default_rng(7).standard_normal
        values, constants = operators.values_of(
            proto, {first: draw([int(dim) for dim in shape.split("x")], numpy.float32)})
        for node in proto.graph.node:
            if node.op_type not in KINDS:
                continue
            case = operators.alone(proto, node, values, constants)
            if case is None or (key := operators.key_of(node, values, constants)) in seen:
                continue
            seen.add(key)
            yield name, f"{node.op_type} {operators.shape_text(node, values)}", *case


def measure(model, feeds, blocks, seconds):
    """Nanoseconds of a layer by each engine, and the ratio of `auto` to the better one."""
    data = model.SerializeToString()
    with contextlib.ExitStack() as stack:
        sessions = {engine: stack.enter_context(latchkey.Session(data, threads=1, engine=engine))
                    for engine in ENGINES}
        sessions["auto"].tune(feeds, seconds=10 * blocks * seconds)
        outputs = {engine: session.run(feeds) for engine, session in sessions.items()}
        for name, right in outputs["native"].items():
            for engine in ENGINES:
                common.assert_close(outputs[engine][name], right, f"{name}: {engine} beside native",
                                    1e-3, max(1e-6, 3e-4 * right.std()))

        def once(engine, count):
            return operators.time_ours(sessions[engine], feeds, outputs[engine], count)
        counts = {engine: max(1, int(seconds * 1e9 / once(engine, 2))) for engine in ENGINES}
        times = {engine: [] for engine in ENGINES}
        for block in range(blocks):
            for turn in range(len(ENGINES)):
                engine = ENGINES[(block + turn) % len(ENGINES)]
                times[engine].append(once(engine, counts[engine]))
    return {"ns": {engine: common.median(times[engine]) / operators.COPIES for engine in ENGINES},
            "ratio": max(common.ratio(times["auto"], times[engine])
                         for engine in ("native", "onednn"))}


def measure_again(*case):
    """The middle one of several: two sessions of one engine may differ by as much as 0.1, by where
    their memory lies."""
    found = sorted((measure(*case) for _ in range(SESSIONS)), key=lambda one: one["ratio"])
    return found[SESSIONS // 2]


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (6, 0.002), (30, 0.004), (100, 0.01))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, layer, *case in layers(folder, chosen):
            results.append({"model": name, "layer": layer, **measure(*case, blocks, seconds)})
            if results[-1]["ratio"] > AT_MOST:
                results[-1].update(measure_again(*case, blocks, seconds))
    results.sort(key=lambda result: -result["ratio"])
    if chosen.json:
        print(json.dumps({"machine": common.machine(), "at_most": AT_MOST, "layers": results}))
        return
    common.table(["us", *ENGINES, "/ better", "target"],
                 [[f"{r['model']}: {r['layer']}", *(f"{r['ns'][e] / 1e3:.1f}" for e in ENGINES),
                   f"{r['ratio']:.3f}", "met" if r["ratio"] <= AT_MOST else "MISSED"]
                  for r in results[:WORST]])
    print(f"  {len(results)} layers: median {common.median([r['ratio'] for r in results]):.3f}, "
          f"{sum(r['ratio'] > AT_MOST for r in results)} above {AT_MOST}", flush=True)


if __name__ == "__main__":
    main()
