"""Encoders of text: BERT (arXiv:1810.04805), DistilBERT (arXiv:1910.01108), RoBERTa
(arXiv:1907.11692)."""

import numpy

from .builder import BOOL, FLOAT, INT32, INT64, LAST
from .model import integers, spelled

WORDS, PLACES, SIZE = 500, 128, 32


def layer(b, x, n, s, width, mask, norm_after=True):
    """Attention and two linear layers, each added and normalized."""
    count = width // SIZE
    q, k, v = (b.heads(b.linear(x, width, width), n, s, count, SIZE) for _ in range(3))
    mixed = b.merged(b.attention(q, k, v, SIZE, mask), n, s, width)
    x = b.layer_norm(b.op("Add", b.linear(mixed, width, width), x), width, 1e-12)
    inner = b.linear(b.gelu(b.linear(x, width, 4 * width)), 4 * width, width)
    return b.layer_norm(b.op("Add", inner, x), width, 1e-12)


def tokens(b):
    ids = b.input("input_ids", INT64, ["n", "s"])
    mask = b.input("attention_mask", INT64, ["n", "s"])
    return ids, mask, b.size(ids, 0), b.size(ids, 1)


def bert(b, scale):
    width = 256 * scale
    ids, mask, n, s = tokens(b)
    kinds = b.input("token_type_ids", INT64, ["n", "s"])
    table = b.initializer(numpy.arange(PLACES, dtype=numpy.int64)[None])
    end = b.dims(s)
    places = b.op("Slice", table, [0], end, [1], [1])
    x = b.op("Add", b.embed(ids, WORDS, width), b.embed(kinds, 2, width))
    x = b.op("Add", x, b.embed(places, PLACES, width))
    x = b.layer_norm(x, width, 1e-12)
    mask = b.padding_mask(mask, n, s)
    for _ in range(2):
        x = layer(b, x, n, s, width, mask)
    first = b.op("Gather", x, 0, axis=1)
    pooled = b.op("Tanh", b.op("Gemm", first, b.weight(width, width, fan_in=width), b.bias(width),
                               alpha=1.0, beta=1.0, transB=1))
    b.output(x, FLOAT, ["n", "s", width])
    b.output(pooled, FLOAT, ["n", width])
    return b.model()


def distilbert(b, scale):
    """Its attention fills what is masked with minus infinity, by Where and Expand."""
    width = 256 * scale
    count = width // SIZE
    ids, mask, n, s = tokens(b)
    table = b.constant(numpy.arange(PLACES, dtype=numpy.int64)[None])
    places = b.op("Slice", table, [0], b.dims(s), [1], [1])
    x = b.op("Add", b.embed(ids, WORDS, width), b.embed(places, PLACES, width))
    x = b.layer_norm(x, width, 1e-12)
    for _ in range(3):
        n, s = b.size(x, 0), b.size(x, 1)
        q, k, v = (b.heads(b.linear(x, width, width), n, s, count, SIZE) for _ in range(3))
        q = b.op("Div", q, SIZE ** 0.5)
        scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
        hidden = b.view(b.op("Equal", mask, 0), n, 1, 1, s)
        hidden = b.op("Cast", b.op("Expand", hidden, b.op("Shape", scores)), to=BOOL)
        scores = b.op("Where", hidden, float("-inf"), scores)
        mixed = b.op("MatMul", b.op("Softmax", scores, axis=-1), v)
        mixed = b.linear(b.merged(mixed, n, s, width), width, width)
        x = b.layer_norm(b.op("Add", mixed, x), width, 1e-12)
        inner = b.linear(b.gelu(b.linear(x, width, 4 * width)), 4 * width, width)
        x = b.layer_norm(b.op("Add", inner, x), width, 1e-12)
    b.output(x, FLOAT, ["n", "s", width])
    return b.model()


def roberta(b, scale):
    """Places are counted over what is no padding (id 1), by CumSum."""
    width, padding = 256 * scale, 1
    ids, mask, n, s = tokens(b)
    real = b.op("Cast", b.op("Not", b.op("Equal", ids, padding)), to=INT32)
    counted = b.op("Cast", b.op("CumSum", real, 1), to=INT32)
    counted = b.op("Mul", b.op("Add", counted, numpy.int32(0)), real)
    places = b.op("Add", b.op("Cast", counted, to=INT64), padding)
    kinds = b.expand(b.filled(b.op("Shape", ids), 0), n, s)
    x = b.op("Add", b.embed(ids, WORDS, width), b.embed(kinds, 1, width))
    x = b.op("Add", x, b.embed(places, PLACES + 2, width))
    x = b.layer_norm(x, width, 1e-5)
    mask = b.padding_mask(mask, n, s)
    for _ in range(2):
        x = layer(b, x, n, s, width, mask)
    # A classifier of tokens, and one of the text, of its first token.
    first = b.op("Gather", b.op("Slice", x, [0], [LAST], [1]), 0, axis=1)
    b.output(b.linear(x, width, 9), FLOAT, ["n", "s", 9])
    b.output(b.op("Tanh", b.linear(first, width, 5)), FLOAT, ["n", 5])
    return b.model()


def asked(n, s, *more, low=0):
    """`low`: whether the mask hides anything."""
    inputs = {"input_ids": integers(WORDS, n, s), "attention_mask": integers(2, n, s, low=low)}
    return {**inputs, **{name: integers(2, n, s) for name in more}}


SIZES = [asked(2, 24, low=1), asked(1, 128), asked(3, 17), asked(1, 1, low=1)]
BERT_SIZES = [{**size, "token_type_ids": [*size["input_ids"][:2], 0, 2]} for size in SIZES]

MODELS = [
    *spelled("bert", bert, BERT_SIZES, "torch14", "torch17", "dynamo18", "dynamo23", "tf13"),
    *spelled("distilbert", distilbert, SIZES, "torch14", "dynamo18"),
    *spelled("roberta", roberta, SIZES, "torch14", "dynamo20"),
]
