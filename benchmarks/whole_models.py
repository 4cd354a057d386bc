"""How long do models as exporters write them take here and on the provider, beside ONNX Runtime?

The generated models of tests/models/generated, twice as wide as the tests have them, their int8
versions, and the exported ones of tests/models/exported; each with the largest of its requests, all
outputs, driven from Python. The outputs are compared first, as the tests compare them. The engines
take turns, each in a process of its own, see models.py. A model that our executor does not run has
no time of its own there. The provider and our executor are beside ONNX Runtime's CPU provider.
Where the provider misses its target, all engines are measured again, in new processes and for
longer, and that counts: what else runs on the machine makes some of many models look slow.
"""

import contextlib
import json
import logging
import pathlib
import tempfile

import common
import bounds  # where common looks
import exported_models
import generated
import generated.quantized
import latchkey
import numpy
import onnx

QUESTION = __doc__.splitlines()[0]
ENGINES = ("provider", "latchkey", "onnxruntime")
LONGER = 4  # times as many blocks
EACH = 1.03  # of the provider
MEDIANS = {("exported", "provider"): 0.95, ("exported", "latchkey"): 0.80,
           ("all", "provider"): 0.95, ("all", "latchkey"): None}  # None: no target, told


def largest(requests):
    return max(requests, key=lambda feeds: sum(array.size for array in feeds.values()))


def of_generated(name, scale, folder):
    """The model's file, its largest request, and what compares its outputs."""
    model = generated.MODELS[name.split("_int8_")[0]]
    proto = model.make(scale)
    feeds = [exported_models.draw(generated.fitted(proto, size), seed)
             for seed, size in enumerate(model.sizes)]
    if "_int8_" in name:
        proto = generated.quantized.quantized(name, model, proto)
    path = folder / f"{name}.onnx"
    onnx.save(proto, path)

    def compare(found, right):
        names = [output.name for output in proto.graph.output]
        generated.compare(dict(zip(names, found, strict=True)),
                          dict(zip(names, right, strict=True)), name)
    return path, largest(feeds), compare


def of_exported(name, scale, folder):
    path = exported_models.FOLDER / f"{name}.onnx"
    names = [output.name for output in onnx.load(path).graph.output]

    def compare(found, right):
        for output, one, other in zip(names, found, right, strict=True):
            bounds.check_output(one, other, name, output)
    return path, largest(exported_models.requests_of(name)), compare


def cases():
    """Title, and what opens it: a function of the scale and a folder."""
    for name in (*generated.MODELS, *generated.quantized.NAMES):
        yield name, lambda scale, folder, name=name: of_generated(name, scale, folder)
    for name in exported_models.NAMES:
        yield (f"exported {name}",
               lambda scale, folder, name=name: of_exported(name, scale, folder))


def engines_of(path):
    try:
        latchkey.Session(path).close()
    except latchkey.UnsupportedError:
        return [engine for engine in ENGINES if engine != "latchkey"]
    return list(ENGINES)


def outputs(worker, folder):
    file = folder / "outputs.npz"
    worker.ask("keep", file)
    with numpy.load(file) as arrays:
        return list(arrays.values())


def measure_once(path, feeds, compare, threads, blocks, seconds, folder):
    engines, runs = engines_of(path), {}
    file = folder / "feeds.npz"
    numpy.savez(file, **feeds)
    with contextlib.ExitStack() as stack:
        workers = {engine: stack.enter_context(common.peer(engine, path, threads))
                   for engine in engines}
        for worker in workers.values():
            worker.ask("load", file)
        right = outputs(workers["onnxruntime"], folder)
        for engine, worker in workers.items():
            compare(outputs(worker, folder), right)
            warm = worker.ask("loaded", 5)["ns"]
            runs[engine] = max(3, min(400, int(seconds * 1e9 / common.median(warm[1:]))))
        times = common.alternate(engines, blocks, lambda engine, _: workers[engine].ask(
            "loaded", runs[engine])["ns"])
        claims = workers["provider"].ask("stats")["claims"]
    middle = {engine: [common.median(block) for block in times[engine]] for engine in engines}
    p50 = {engine: common.median([ns for block in times[engine] for ns in block]) / 1e6
           for engine in engines}
    return {"p50_ms": p50, "claims": claims,
            "ratio": {engine: common.ratio(middle[engine], middle["onnxruntime"])
                      for engine in engines[:-1]}}


def measure(path, feeds, compare, threads, blocks, *others):
    found = measure_once(path, feeds, compare, threads, blocks, *others)
    if found["ratio"]["provider"] <= EACH:
        return found
    return measure_once(path, feeds, compare, threads, LONGER * blocks, *others)


def verdict(found, target):
    return "met" if found <= target else "MISSED"


def show(results):
    rows = []
    for result in results:
        ratio, p50, claims = result["ratio"], result["p50_ms"], result["claims"]
        rows.append([result["model"], result["threads"],
                     *(f"{p50[e]:.3f}" if e in p50 else "refused" for e in ENGINES),
                     *(f"{ratio[e]:.3f}" if e in ratio else "-" for e in ENGINES[:-1]),
                     verdict(ratio["provider"], EACH),
                     f"{claims['claimed']} of {claims['nodes']}"])
    common.table(["p50 ms", "threads", *ENGINES, *(f"{e} /" for e in ENGINES[:-1]),
                  "provider", "claimed"], rows)


def summaries(results):
    """The medians, of models and numbers of threads."""
    found = []
    for (of, engine), target in MEDIANS.items():
        ratios = [result["ratio"][engine] for result in results
                  if engine in result["ratio"] and (of == "all" or result["model"].startswith(of))]
        found.append({"of": of, "engine": engine, "median": common.median(ratios),
                      "target": target})
    return found


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (2, 0.01), (5, 0.05), (31, 0.3))
    counts = common.thread_counts()[:1] if chosen.quick else common.thread_counts()
    results = []
    logging.disable(logging.WARNING)  # the quantizer's, of each model
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, opened in cases():
            path, feeds, compare = opened(1 if chosen.quick else 2, folder)
            results += [{"model": title, "threads": threads,
                         **measure(path, feeds, compare, threads, blocks, seconds, folder)}
                        for threads in counts]
    worst = max(result["ratio"]["provider"] for result in results)
    found = summaries(results)
    if chosen.json:
        print(json.dumps({"worst": worst, "target": EACH, "medians": found, "models": results}))
        return
    show(results)
    print(f"  provider, each: {worst:.3f} of ONNX Runtime, target {EACH}: {verdict(worst, EACH)}")
    for one in found:
        target = one["target"]
        said = f", target {target}: {verdict(one['median'], target)}" if target else ""
        print(f"  {one['engine']}, median of {one['of']} models: {one['median']:.3f}{said}")


if __name__ == "__main__":
    main()
