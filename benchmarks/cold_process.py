"""A fresh process that opens one model and runs it once, and says how long that took.

cold_process.py ENGINE MODEL THREADS INPUTS: ENGINE is latchkey (the installed Python package) or
onnxruntime; INPUTS a JSON object of {name: [type, shape, low, high]}. Prints {"open_ns", "run_ns"},
or {"error"} where the engine refuses the model. Importing libraries and drawing inputs is not
counted, nor is reading the file from the disk, since it is read once before.
"""

import importlib
import json
import pathlib
import sys
import time

import numpy


def open_latchkey(library, path, threads):
    session = library.Session(path, threads=threads)
    return session.run


def open_onnxruntime(library, path, threads):
    options = library.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = library.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


OPEN = {"latchkey": open_latchkey, "onnxruntime": open_onnxruntime}


def draw(kinds):
    random = numpy.random.default_rng(1)

    def one(dtype, shape, low, high):
        if dtype.startswith("float"):
            return random.uniform(low, high, shape).astype(dtype)
        return random.integers(low, high, shape).astype(dtype)
    return {name: one(*kind) for name, kind in kinds.items()}


def main():
    engine, path, threads, kinds = sys.argv[1:]
    library = importlib.import_module(engine)
    inputs = draw(json.loads(kinds))
    pathlib.Path(path).read_bytes()
    start = time.perf_counter_ns()
    try:
        run = OPEN[engine](library, path, int(threads))
        opened = time.perf_counter_ns()
        run(inputs)
    except Exception as error:  # each library has its own
        print(json.dumps({"error": str(error).splitlines()[0]}))
        return
    print(json.dumps({"open_ns": opened - start, "run_ns": time.perf_counter_ns() - opened}))


if __name__ == "__main__":
    main()
