"""What does oneDNN make of models of bf16 and f16, beside the native engine and f32?

Stacks of one layer each, in f32 and in a half type, by both engines of this library, beside ONNX
Runtime's f32. The native engine computes half types as f32, and converts what comes and goes; the
engine of oneDNN computes them as they are where the processor has instructions for it. Outputs of
both engines are compared.
"""

import contextlib
import json
import pathlib
import tempfile

import common
import graphs
import numpy
from onnx import TensorProto

QUESTION = __doc__.splitlines()[0]
TYPES = {"bf16": TensorProto.BFLOAT16, "f16": TensorProto.FLOAT16}
LAYERS = 4


def products(builder, x, rows, half):
    """rows x 768 through 768x768, `LAYERS` times."""
    for _ in range(LAYERS):
        weights = half(builder.weights(768, 768, fan_in=768))
        x = builder.node("Relu", builder.node("MatMul", x, weights))
    return x


def convolutions(builder, x, channels, kernel, half):
    pads = [kernel // 2] * 4
    for _ in range(LAYERS):
        weights = half(builder.weights(channels, channels, kernel, kernel,
                                       fan_in=channels * kernel * kernel))
        x = builder.node("Relu", builder.node("Conv", x, weights, pads=pads))
    return x


def cases():
    """(name, dimensions of x, what makes the layers)."""
    for rows in (1, 8, 32, 128, 512):
        yield (f"MatMul {rows}x768x768", [rows, 768],
               lambda b, x, half, rows=rows: products(b, x, rows, half))
    for channels, size, kernel in ((64, 56, 3), (256, 14, 3), (256, 56, 1), (512, 7, 1)):
        yield (f"Conv {kernel}x{kernel} {channels} channels {size}x{size}",
               [1, channels, size, size],
               lambda b, x, half, of=(channels, kernel): convolutions(b, x, *of, half))


def make(path, dims, layers, dtype):
    """x and y are of f32, also where all between them is of a half type."""
    builder = graphs.Builder("halves", dims)

    def half(name):
        return name if dtype is None else builder.node("Cast", name, to=dtype)
    y = layers(builder, half("x"), half)
    if dtype is not None:
        y = builder.node("Cast", y, to=TensorProto.FLOAT)
    return builder.save(y, path)


def worker(model, threads, engine):
    return common.latchkey(model, threads, LATCHKEY_ENGINE=engine)


def first_output(model, shape, engine, folder):
    file = pathlib.Path(folder) / "output.npy"
    with common.peer("latchkey", model, 1, LATCHKEY_ENGINE=engine) as asked:
        asked.ask("save", shape, file)
    return numpy.load(file)


def check(model, shape, name, folder):
    """Each layer may round to a neighbour, of 8 bits or of 11, in either engine."""
    of_native, of_onednn = (first_output(model, shape, engine, folder)
                            for engine in ("native", "onednn"))
    worst = numpy.abs(of_native - of_onednn).max()
    assert worst <= 0.05 * max(of_native.std(), 1e-6), f"{name}: outputs differ by {worst}"


def measure(folder, name, dims, layers, half, threads, blocks, seconds):
    shape = "x".join(map(str, dims))
    models = {kind: make(folder / f"{kind}.onnx", dims, layers, dtype)
              for kind, dtype in (("f32", None), (half, TYPES[half]))}
    check(models[half], shape, name, folder)
    with contextlib.ExitStack() as stack:
        workers = {f"onednn {half}": worker(models[half], threads, "onednn"),
                   f"native {half}": worker(models[half], threads, "native"),
                   "onednn f32": worker(models["f32"], threads, "onednn"),
                   "native f32": worker(models["f32"], threads, "native"),
                   "onnxruntime f32": common.peer("onnxruntime", models["f32"], threads)}
        for each in workers.values():
            stack.enter_context(each)
        return common.compare(workers, shape, blocks, seconds)


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.05), (11, 0.1), (41, 0.3))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for half in TYPES:
            for name, dims, layers in cases():
                found = measure(pathlib.Path(folder), name, dims, layers, half, 1, blocks, seconds)
                results.append({"case": name, "type": half, **found})
    if chosen.json:
        print(json.dumps({"machine": common.machine(), "cases": results}))
        return
    for half in TYPES:
        ours = f"onednn {half}"
        others = (f"native {half}", "onednn f32", "native f32", "onnxruntime f32")
        print(f"  {half}, one thread, p50 ms, and {ours} by each")
        common.table(["case", ours, *(f"/ {other}" for other in others)],
                     [[r["case"], f"{r['p50_ms'][ours]:.3f}",
                       *(f"{r['ratio'][other]:.2f}" for other in others)]
                      for r in results if r["type"] == half])


if __name__ == "__main__":
    main()
