"""Rows of tables: DLRM (arXiv:1906.00091), whose bags of embeddings are a Loop, and a perceptron
for columns of numbers and kinds."""

import numpy

from .builder import BOOL, FLOAT, INT64, LAST
from .model import integers, numbers, spelled

BAGS, WORDS = 6, 300


def tower(b, x, *widths, last="Relu"):
    """Gemm as PyTorch stores its weights: [out, in], transposed."""
    for n_in, n_out in zip(widths, widths[1:]):
        weight = b.weight(n_out, n_in, fan_in=n_in, gain=1.3)
        x = b.op("Gemm", x, weight, b.bias(n_out), alpha=1.0, beta=1.0, transB=1)
        x = b.op("Relu" if n_out != widths[-1] else last, x)
    return x


def bag(b, ids, offsets, width):
    """EmbeddingBag, as its older exporter has it: a Loop over the bags, each a Slice of the ids
    from its offset to the next one."""
    table = b.weight(WORDS, width, gain=0.4)
    ends = b.op("Concat", b.op("Slice", offsets, [1], [LAST], [0], [1]),
                b.op("Shape", ids), axis=0)
    body = b.body("bag")
    turn = body.input("turn_" + ids, INT64, [])
    body.input("cond_" + ids, BOOL, [])
    place = body.op("Unsqueeze", turn, [0])
    start, end = body.op("Gather", offsets, place), body.op("Gather", ends, place)
    inside = body.op("Slice", ids, start, end, [0])
    total = body.op("ReduceSum", body.op("Gather", table, inside), [0], keepdims=0)
    body.output(body.op("Identity", body.constant(True)), BOOL, [])
    body.output(total, FLOAT, [width])
    return b.op("Loop", b.op("Squeeze", b.op("Shape", offsets), [0]), b.constant(True),
                body=body.graph())


def dlrm(b, scale):
    """The products of every two of its features, by their places below the diagonal."""
    width = 32 * scale
    dense = b.input("dense", FLOAT, ["n", 13])
    offsets = b.input("offsets", INT64, ["n"])
    features = [tower(b, dense, 13, 256 * scale, 128 * scale, width)]
    for i in range(BAGS):
        ids = b.input(f"ids_{i}", INT64, [f"count_{i}"])
        features.append(bag(b, ids, offsets, width) if i < 2 else
                        b.op("ReduceSum", b.op("Gather", b.weight(WORDS, width), b.op(
                            "Unsqueeze", b.op("Gather", ids, offsets), [1])), [1], keepdims=0))
    n = b.size(dense, 0)
    count = BAGS + 1
    stacked = b.view(b.op("Concat", *features, axis=1), n, count, width)
    products = b.op("MatMul", stacked, b.op("Transpose", stacked, perm=[0, 2, 1]))
    rows, columns = numpy.tril_indices(count, -1)
    # Z[:, rows, columns]: both dimensions first and flat, one Gather, and back.
    flat = b.op("Flatten", b.op("Transpose", products, perm=[1, 2, 0]), axis=2)
    places = b.op("Add", b.op("Mul", rows, b.size(products, 2)), columns)
    chosen = b.op("Transpose", b.op("Gather", flat, places, axis=0), perm=[1, 0])
    x = b.op("Concat", features[0], chosen, axis=1)
    n_in = width + len(rows)
    b.output(tower(b, x, n_in, 256 * scale, 128 * scale, 1, last="Sigmoid"), FLOAT, ["n", 1])
    return b.model()


def tabular(b, scale):
    """Kinds become embeddings; BatchNormalization stays between Gemm and Relu."""
    width, columns = 256 * scale, 5
    x, kinds = b.input("numbers", FLOAT, ["n", 20]), b.input("kinds", INT64, ["n", columns])
    parts = [b.batch_norm(x, 20)]
    for i in range(columns):
        parts.append(b.embed(b.op("Gather", kinds, i, axis=1), 10 * (i + 1), 8))
    x = b.op("Concat", *parts, axis=1)
    n_in = 20 + 8 * columns
    for _ in range(3):
        x = b.op("Gemm", x, b.weight(width, n_in, fan_in=n_in), b.bias(width), alpha=1.0, beta=1.0,
                 transB=1)
        x = b.op("Relu", b.batch_norm(x, width))
        n_in = width
    x = b.op("Gemm", x, b.weight(10, width, fan_in=width), b.bias(10), transB=1)
    b.output(b.op("Softmax", x, axis=-1), FLOAT, ["n", 10])
    return b.model()


def clicks(n, each):
    """Offsets are not sorted: a bag that ends before it begins is empty."""
    return {"dense": numbers(n, 13), "offsets": integers(each, n),
            **{f"ids_{i}": integers(WORDS, each) for i in range(BAGS)}}


def rows(n):
    return {"numbers": numbers(n, 20, low=-2, high=2), "kinds": integers(10, n, 5)}


MODELS = [
    *spelled("dlrm", dlrm, [clicks(16, 40), clicks(1, 3), clicks(100, 200)], "torch17", "dynamo18"),
    *spelled("tabular", tabular, [rows(64), rows(1), rows(7)], "torch17", "dynamo18"),
]
