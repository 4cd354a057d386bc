"""A process that runs one model in another engine as it is told.

peer.py ENGINE MODEL THREADS, then one command on each line of stdin, one line of JSON for each on
stdout. ENGINE: openvino; onnxruntime; onnxruntime_parallel, with branches in parallel on so many
threads; provider, ONNX Runtime with this build's provider; latchkey, the installed Python package;
paddle, with oneDNN, whose cache has room for PADDLE_CAPACITY sizes.
  time N D0xD1x...   runs N times on one seeded input: {"ns": [...], "sum": ...}
  bound N D0xD1x...  the same, into memory that stays (onnxruntime alone)
  shapes N S,S,...   runs once for each shape, N in all, cyclically: {"ns": [...], "sum": ...}
  save S FILE        runs once, and writes the output to a .npy file: {}
  threads T N S      T threads run T * N times on one input of shape S: {"wrong": how many of their
                     last outputs are not what one thread made}
  load FILE          reads an array for each input of the model from an .npz file: {}
  loaded N           runs N times on them, for all outputs (not openvino): {"ns": [...]}
  keep FILE          runs on them once, and writes the outputs in their order to an .npz file: {}
  stats              {"rss": bytes}, and of the provider its "claims"
"""

import concurrent.futures
import itertools
import json
import os
import resource
import sys
import time

import numpy

import common


def open_onnxruntime(path, threads, on_provider=False, is_parallel=False):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1 if is_parallel else threads
    options.inter_op_num_threads = threads if is_parallel else 1
    if is_parallel:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
    options.log_severity_level = 3
    claims = None
    if on_provider:
        os.environ["LK_TEST_BUILD"] = str(common.BUILD)
        sys.path.insert(0, str(common.ROOT / "tests/executor_glue/ort"))
        import provider

        onnxruntime.register_execution_provider_library("latchkey", provider.LIBRARY)
        session = provider.open_session(path, of_session=options)
        claims = provider.statistics(session)["claims"]
    else:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    wanted = [session.get_outputs()[0].name]

    def run(values):
        return session.run(wanted, {name: values})[0]
    run.session = session
    run.whole = lambda feeds: session.run(None, feeds)
    return run, claims


def bound(run, values):
    """`run`, of onnxruntime, into one array, which no run allocates or copies."""
    session, result = run.session, run(values)
    binding = session.io_binding()
    binding.bind_cpu_input(session.get_inputs()[0].name, values)
    binding.bind_output(session.get_outputs()[0].name, "cpu", 0, result.dtype, result.shape,
                        result.ctypes.data)

    def again(_):
        session.run_with_iobinding(binding)
        return result
    return again


def open_provider(path, threads):
    return open_onnxruntime(path, threads, on_provider=True)


def open_parallel(path, threads):
    return open_onnxruntime(path, threads, is_parallel=True)


def open_latchkey(path, threads):
    import latchkey

    session = latchkey.Session(path, threads=threads)
    name, wanted = session.inputs[0].name, [session.outputs[0].name]

    def run(values):
        return session.run({name: values}, wanted)[wanted[0]]
    run.whole = lambda feeds: list(session.run(feeds).values())
    return run, None


def open_openvino(path, threads):
    import openvino

    core = openvino.Core()
    # Its default on machines with bf16 is bf16: what is compared here is f32 with f32.
    model = core.compile_model(path, "CPU", {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    })
    request = model.create_infer_request()
    return lambda values: request.infer([values], share_inputs=True, share_outputs=True)[0], None


def open_paddle(path, threads):
    import paddle_model

    capacity = os.environ.get("PADDLE_CAPACITY")
    predictor = paddle_model.predictor(path, threads, int(capacity) if capacity else None)
    return lambda values: paddle_model.run(predictor, values), None


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Noise:
    """The same numbers for every shape: drawn once, as many as the largest has needed."""

    def __init__(self):
        self.drawn = numpy.empty(0, numpy.float32)

    def __call__(self, text):
        dims = tuple(int(dim) for dim in text.split("x"))
        count = numpy.prod(dims)
        if count > self.drawn.size:
            self.drawn = numpy.random.default_rng(1).uniform(-1, 1, count).astype(numpy.float32)
        return self.drawn[:count].reshape(dims)


class Crew:
    """Threads that stay between commands, as a cache of their own may be theirs."""

    def __init__(self):
        self.pools = []

    def __call__(self, count, work):
        while len(self.pools) < count:
            self.pools.append(concurrent.futures.ThreadPoolExecutor(max_workers=1))
        return [future.result() for future in [pool.submit(work) for pool in self.pools[:count]]]


def is_last_wrong(run, values, left, expected):
    result = expected
    for _ in left:  # which all threads share: none is at work alone at the end
        result = run(values)
    return not numpy.array_equal(result, expected)


ENGINES = {"latchkey": open_latchkey, "onnxruntime": open_onnxruntime,
           "onnxruntime_parallel": open_parallel, "openvino": open_openvino,
           "paddle": open_paddle, "provider": open_provider}


def main():
    engine, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    run, claims = ENGINES[engine](path, threads)
    noise, crew, expected, feeds = Noise(), Crew(), {}, {}
    for line in sys.stdin:
        command, *words = line.split()
        if command == "stats":
            answer = {"rss": resident_bytes(), "claims": claims}
        elif command == "threads":
            values = noise(words[2])
            if words[2] not in expected:
                expected[words[2]] = run(values)
            right = expected[words[2]]
            left = iter(range(int(words[0]) * int(words[1])))
            wrong = crew(int(words[0]), lambda: is_last_wrong(run, values, left, right))
            answer = {"wrong": sum(wrong)}
        elif command == "save":
            numpy.save(words[1], run(noise(words[0])))
            answer = {}
        elif command == "load":
            with numpy.load(words[0]) as file:
                feeds = dict(file)
            answer = {}
        elif command == "loaded":
            times = []
            for _ in range(int(words[0])):
                start = time.perf_counter_ns()
                run.whole(feeds)
                times.append(time.perf_counter_ns() - start)
            answer = {"ns": times}
        elif command == "keep":
            numpy.savez(words[0], *run.whole(feeds))
            answer = {}
        elif command in ("time", "bound", "shapes"):
            count, shapes = int(words[0]), words[1].split(",")
            once = bound(run, noise(shapes[0])) if command == "bound" else run
            times, total = [], 0.0
            for shape in itertools.islice(itertools.cycle(shapes), count):
                values = noise(shape)
                start = time.perf_counter_ns()
                result = once(values)
                times.append(time.perf_counter_ns() - start)
                total += float(result.flat[0])
            answer = {"ns": times, "sum": total}
        else:
            raise ValueError(f"unknown command: {line}")
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
