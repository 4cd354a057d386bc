"""What does a run cost around its operators, from C and from Python, beside ONNX Runtime?

A perceptron of three layers on one row, which takes a fraction of a microsecond to compute. From
each language both engines are in one process, with one thread, and take turns in blocks of runs.
The ratio is the median of the blocks' own ratios.
"""

import json
import subprocess
import tempfile
import time

import numpy

import common
import graphs

QUESTION = __doc__.splitlines()[0]
SHAPE = (1, 64)
RUNS_IN_BLOCK = 1000
TARGETS = {"c_us": 3.0, "python_ratio": 1.0}


def from_c(path, output, blocks):
    done = subprocess.run([common.BUILD / "benchmarks/ort_calls", path, "x", output,
                           "x".join(map(str, SHAPE)), str(blocks)], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def block_ns(run):
    start = time.perf_counter_ns()
    for _ in range(RUNS_IN_BLOCK):
        run()
    return (time.perf_counter_ns() - start) / RUNS_IN_BLOCK


def from_python(path, output, blocks):
    import latchkey
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    theirs = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    ours = latchkey.Session(path, threads=1)
    values = numpy.random.default_rng(7).uniform(-1, 1, SHAPE).astype(numpy.float32)
    wanted = [output]
    runs = {"latchkey": lambda: ours.run({"x": values}, wanted)[output],
            "onnxruntime": lambda: theirs.run(wanted, {"x": values})[0]}
    common.assert_close(runs["latchkey"](), runs["onnxruntime"](), output)
    return common.alternate(list(runs), blocks, lambda engine, _: block_ns(runs[engine]))


def figures(times):
    return {"us": {engine: common.median(values) / 1e3 for engine, values in times.items()},
            "ratio": common.ratio(times["latchkey"], times["onnxruntime"])}


def verdict(language, found):
    if language == "C":
        is_met, target = found["us"]["latchkey"] <= TARGETS["c_us"], f"{TARGETS['c_us']} us"
    else:
        is_met, target = found["ratio"] <= TARGETS["python_ratio"], TARGETS["python_ratio"]
    return "met" if is_met else f"MISSED (<= {target})"


def main():
    chosen = common.options(QUESTION)
    blocks = common.by_extent(chosen, 5, 101, 1001)
    with tempfile.TemporaryDirectory() as folder:
        path = graphs.perceptron(f"{folder}/perceptron.onnx")
        _, output = graphs.ends(path)
        found = {"C": figures(from_c(path, output, blocks)),
                 "Python": figures(from_python(path, output, blocks))}
    if chosen.json:
        print(json.dumps({"targets": TARGETS, "languages": found}))
        return
    common.table(["us a run, from", "latchkey", "onnxruntime", "ratio", "target"],
                 [[language, f"{r['us']['latchkey']:.2f}", f"{r['us']['onnxruntime']:.2f}",
                   f"{r['ratio']:.3f}", verdict(language, r)] for language, r in found.items()])


if __name__ == "__main__":
    main()
