"""A process that runs one model in another engine as it is told; see worker.cc for the protocol.

peer.py onnxruntime|openvino MODEL THREADS, then lines `time N D0xD1x...` on stdin.
"""

import json
import sys
import time

import numpy


def open_onnxruntime(path, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    wanted = [session.get_outputs()[0].name]
    return lambda values: session.run(wanted, {name: values})[0]


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
    return lambda values: request.infer([values], share_inputs=True, share_outputs=True)[0]


def main():
    engine, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    run = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}[engine](path, threads)
    for line in sys.stdin:
        _, count, shape = line.split()
        dims = tuple(int(dim) for dim in shape.split("x"))
        values = numpy.random.default_rng(1).uniform(-1, 1, dims).astype(numpy.float32)
        times, total = [], 0.0
        for _ in range(int(count)):
            start = time.perf_counter_ns()
            result = run(values)
            times.append(time.perf_counter_ns() - start)
            total += float(result.flat[0])
        print(json.dumps({"ns": times, "sum": total}), flush=True)


if __name__ == "__main__":
    main()
