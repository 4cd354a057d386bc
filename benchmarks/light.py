"""How long do light operators take, beside ONNX Runtime's own kernels?

Models of one operator each: poolings, softmax, reductions, transposes, concatenations, casts,
resizing, element-wise operators, normalizations, with sizes of models and random ones, seeded. One
thread; each engine has a process of its own, runs through its session, and writes to memory that
stays, so that neither allocates; they take turns, see models.py. The outputs of both are compared
before. Sizes are so large that the call of a session does not matter.
"""

import contextlib
import json
import pathlib
import random
import subprocess
import tempfile

import common
import graphs
import numpy
from onnx import TensorProto

QUESTION = __doc__.splitlines()[0]
TARGETS = {"median": 1.0, "most": 1.3}
RANDOM = 2  # sizes of each kind of operator
LEAST, MOST = 200_000, 2_000_000  # elements of a random size


def one(op, *constants, dtype=TensorProto.FLOAT, inputs=("x",), **attributes):
    """What makes the model of one operator; `constants` are made from the input's dimensions."""
    def save(dims, path):
        b = graphs.Builder(op, dims)
        made = [b.constant(*make(b, dims)) if make else "" for make in constants]
        return b.save(b.node(op, *inputs, *made, **attributes), path, dtype)
    return save


def channels(least, most):
    """Makes a random number for each channel."""
    return lambda b, dims: (b.random.uniform(least, most, dims[1]),)


def each_channel(b, dims):
    return (b.random.uniform(-1, 1, (dims[1], 1, 1)),)


def numbers(*values, dtype=numpy.float32):
    return lambda b, dims: (numpy.array(values), dtype)


def pool(op, size, stride, pad=0):
    return one(op, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)


def resize(mode, *scales):
    return one("Resize", None, numbers(1, 1, *scales), mode=mode)


# What it is, its model, and the size of a model that has it; random sizes have as many dimensions.
CASES = [
    ("MaxPool 3x3 s2", pool("MaxPool", 3, 2, 1), "1x64x112x112"),
    ("MaxPool 2x2 s2", pool("MaxPool", 2, 2), "1x64x224x224"),
    ("AveragePool 3x3", pool("AveragePool", 3, 1, 1), "1x192x35x35"),
    ("AveragePool 5x5 s3", pool("AveragePool", 5, 3), "1x768x17x17"),
    ("GlobalAveragePool", one("GlobalAveragePool"), "8x1024x14x14"),
    ("Softmax, last", one("Softmax", axis=-1), "12x512x512"),
    ("Softmax, channels", one("Softmax", axis=1), "8x19x64x128"),
    ("ReduceMean, last", one("ReduceMean", axes=[-1]), "512x512x8"),
    ("ReduceMean, first", one("ReduceMean", axes=[0]), "512x1024"),
    ("Transpose to NHWC", one("Transpose", perm=[0, 2, 3, 1]), "1x64x112x112"),
    ("Transpose of heads", one("Transpose", perm=[0, 2, 1, 3]), "8x128x12x64"),
    ("Transpose of a matrix", one("Transpose", perm=[1, 0]), "1024x768"),
    ("Concat, channels", one("Concat", inputs=("x", "x"), axis=1), "1x128x80x80"),
    ("Concat, last", one("Concat", inputs=("x", "x", "x"), axis=-1), "160x40x64"),
    ("Cast to f16", one("Cast", dtype=TensorProto.FLOAT16, to=TensorProto.FLOAT16), "8x150528"),
    ("Cast to i32", one("Cast", dtype=TensorProto.INT32, to=TensorProto.INT32), "8x150528"),
    ("Resize, nearest", resize("nearest", 2, 2), "1x96x80x80"),
    ("Resize, linear", resize("linear", 2, 2), "1x96x80x80"),
    ("Relu", one("Relu"), "1x256x56x56"),
    ("Clip", one("Clip", lambda b, dims: (0.0,), lambda b, dims: (6.0,)), "1x256x56x56"),
    ("Sigmoid", one("Sigmoid"), "1x256x56x56"),
    ("HardSigmoid", one("HardSigmoid"), "1x256x56x56"),
    ("HardSwish", one("HardSwish"), "1x120x56x56"),
    ("Add of itself", one("Add", inputs=("x", "x")), "1x256x56x56"),
    ("Mul, each channel", one("Mul", each_channel), "1x256x56x56"),
    ("BatchNormalization", one("BatchNormalization", channels(0.5, 1), channels(-1, 1),
                               channels(-1, 1), channels(0.5, 1)), "1x256x56x56"),
    ("LRN", one("LRN", size=5), "1x96x55x55"),
]


def random_shape(shape, rng):
    """As many dimensions, of LEAST to MOST elements in all."""
    rank = shape.count("x") + 1
    while True:
        dims = [rng.randint(1, 3)] if rank > 3 else []
        dims += [rng.randint(12, 400 if rank > 2 else 2000) for _ in range(rank - len(dims))]
        if LEAST <= numpy.prod(dims) <= MOST:
            return "x".join(map(str, dims))


def check(name, model, shape, folder):
    """Raises an AssertionError unless both engines make the same of one input."""
    import onnxruntime

    dims = [int(dim) for dim in shape.split("x")]
    values = numpy.random.default_rng(1).uniform(-1, 1, dims).astype(numpy.float32)
    numpy.save(folder / "x.npy", values)
    subprocess.run([common.BUILD / "latchkey", "run", model, "-i", f"x={folder / 'x.npy'}", "-o",
                    folder / "out"], check=True, stdout=subprocess.DEVNULL)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    output = session.get_outputs()[0].name
    ours = numpy.load(folder / "out" / f"{output}.npy")
    theirs = session.run([output], {"x": values})[0]
    common.assert_close(ours, theirs, f"{name} {shape}", 1e-4, 1e-5)  # sums of up to thousands


def measure(model, shape, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {"latchkey": stack.enter_context(common.latchkey(model, 1)),
                   "onnxruntime": stack.enter_context(common.peer("onnxruntime", model, 1))}
        return common.compare(workers, shape, blocks, seconds, "bound")


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (1, 0.02), (5, 0.03), (21, 0.1))
    results, rng = [], random.Random(12)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, save, usual in CASES:
            for shape in [usual, *(random_shape(usual, rng) for _ in range(RANDOM))]:
                model = save([int(dim) for dim in shape.split("x")], str(folder / "model.onnx"))
                check(what, model, shape, folder)
                results.append({"operator": what, "shape": shape,
                                **measure(model, shape, blocks, seconds)})
    ratios = sorted(r["ratio"]["onnxruntime"] for r in results)
    found = {"median": common.median(ratios), "most": ratios[-1]}
    if chosen.json:
        print(json.dumps({"targets": TARGETS, **found, "operators": results}))
        return
    common.table(["p50 us", "latchkey", "onnxruntime", "/ onnxruntime"],
                 [[f"{r['operator']} {r['shape']}",
                   *(f"{r['p50_ms'][e] * 1e3:.1f}" for e in ("latchkey", "onnxruntime")),
                   f"{r['ratio']['onnxruntime']:.3f}"] for r in results])
    for name, target in TARGETS.items():
        verdict = "met" if found[name] <= target else "MISSED"
        print(f"  {name} {found[name]:.3f}, target {target}: {verdict}", flush=True)


if __name__ == "__main__":
    main()
