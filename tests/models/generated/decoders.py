"""Decoders of text: GPT-2 with and without its cache, Llama (arXiv:2302.13971) with grouped heads
and rotary places, T5 (arXiv:1910.10683)."""

import math

import numpy

from .builder import BOOL, FLOAT, INT64, LAST, LOWEST
from .model import integers, numbers, spelled

WORDS, PLACES, SIZE, LAYERS = 400, 256, 32, 2


def gelu_tanh(b, x):
    """GPT-2's Gelu, as it is written out."""
    cube = b.op("Mul", b.op("Pow", x, 3.0), 0.044715)
    inner = b.op("Mul", b.op("Add", x, cube), math.sqrt(2 / math.pi))
    return b.op("Mul", b.op("Mul", x, 0.5), b.op("Add", b.op("Tanh", inner), 1.0))


# ---- GPT-2 ----

def conv1d(b, x, n, s, n_in, n_out):
    """GPT-2's linear layer: a Gemm of the flattened tensor."""
    flat = b.view(x, -1, n_in)
    made = b.op("Gemm", flat, b.weight(n_in, n_out, fan_in=n_in), b.bias(n_out), alpha=1.0,
                beta=1.0)
    return b.view(made, n, s, n_out)


def gpt2_layer(b, x, n, s, width, past=None):
    """Causal by a buffer of bool that is sliced to the sizes, as it was stored in GPT-2."""
    count = width // SIZE
    q, k, v = (b.heads(one, n, s, count, SIZE) for one in b.split(
        conv1d(b, b.layer_norm(x, width), n, s, width, 3 * width), [width] * 3, 2))
    if past:
        k, v = (b.op("Concat", old, new, axis=-2) for old, new in zip(past, (k, v)))
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.op("Div", scores, math.sqrt(SIZE))
    keys, queries = b.size(k, 2), b.size(q, 2)
    triangle = b.constant(numpy.tril(numpy.ones((1, 1, PLACES, PLACES), bool)))
    start, end = b.dims(b.op("Sub", keys, queries)), b.dims(keys)
    allowed = b.op("Slice", b.op("Slice", triangle, start, end, [2], [1]), [0], end, [3], [1])
    scores = b.op("Where", b.op("Cast", allowed, to=BOOL), scores, LOWEST)
    mixed = b.merged(b.op("MatMul", b.op("Softmax", scores, axis=-1), v), n, s, width)
    x = b.op("Add", conv1d(b, mixed, n, s, width, width), x)
    inner = gelu_tanh(b, conv1d(b, b.layer_norm(x, width), n, s, width, 4 * width))
    return b.op("Add", x, conv1d(b, inner, n, s, 4 * width, width)), (k, v)


def gpt2(b, scale, cached=False):
    width = 256 * scale
    count = width // SIZE
    ids = b.input("input_ids", INT64, ["n", "s"])
    pasts = [[b.input(f"past_{i}_{kind}", FLOAT, ["n", count, "p", SIZE]) for kind in "kv"]
             for i in range(LAYERS)] if cached else [None] * LAYERS
    n, s = b.size(ids, 0), b.size(ids, 1)
    start = b.size(pasts[0][0], 2) if cached else 0
    end = b.op("Add", s, start) if cached else s
    places = b.op("Unsqueeze", b.arange(end, start), [0])
    words = b.weight(WORDS, width)
    x = b.op("Add", b.op("Gather", words, ids), b.embed(places, PLACES, width))
    presents = []
    for past in pasts:
        x, present = gpt2_layer(b, x, n, s, width, past)
        presents.append(present)
    logits = b.op("MatMul", b.layer_norm(x, width), b.op("Transpose", words, perm=[1, 0]))
    b.output(logits, FLOAT, ["n", "s", WORDS], "logits")
    if cached:
        for i, present in enumerate(presents):
            for kind, value in zip("kv", present):
                b.output(value, FLOAT, ["n", count, "t", SIZE], f"present_{i}_{kind}")
    return b.model()


def gpt2_cache(b, scale):
    return gpt2(b, scale, cached=True)


# ---- Llama ----

def rotated(b, x, cos, sin):
    half = SIZE // 2
    turned = b.op("Concat", b.op("Neg", b.slice(x, 3, half, LAST, 1)), b.slice(x, 3, 0, half, 1),
                  axis=-1)
    return b.op("Add", b.op("Mul", x, cos), b.op("Mul", turned, sin))


def repeated(b, x, n, keys, groups, each):
    """Each head of keys or values for the heads of queries that share it."""
    wide = b.op("Expand", b.unsqueeze(x, 2), b.dims(n, groups, each, keys, SIZE))
    return b.view(wide, n, groups * each, keys, SIZE)


def llama_layer(b, x, sizes, width, past, rotary, mask):
    n, s, keys = sizes
    count, groups = width // SIZE, width // SIZE // 3
    h = b.rms_norm(x, width)
    q = b.heads(b.linear(h, width, width, bias=False), n, s, count, SIZE)
    k, v = (b.heads(b.linear(h, width, groups * SIZE, bias=False), n, s, groups, SIZE)
            for _ in range(2))
    q, k = rotated(b, q, *rotary), rotated(b, k, *rotary)
    k, v = (b.op("Concat", old, new, axis=-2) for old, new in zip(past, (k, v)))
    mixed = b.attention(q, *(repeated(b, one, n, keys, groups, 3) for one in (k, v)), SIZE, mask)
    x = b.op("Add", x, b.linear(b.merged(mixed, n, s, width), width, width, bias=False))
    h = b.rms_norm(x, width)
    gate = b.silu(b.linear(h, width, 2 * width, bias=False))
    inner = b.op("Mul", gate, b.linear(h, width, 2 * width, bias=False))
    return b.op("Add", x, b.linear(inner, 2 * width, width, bias=False)), (k, v)


def llama(b, scale):
    width = 192 * scale
    groups = width // SIZE // 3
    ids = b.input("input_ids", INT64, ["n", "s"])
    pasts = [[b.input(f"past_{i}_{kind}", FLOAT, ["n", groups, "p", SIZE]) for kind in "kv"]
             for i in range(LAYERS)]
    n, s, p = b.size(ids, 0), b.size(ids, 1), b.size(pasts[0][0], 2)
    keys = b.op("Add", p, s)
    x = b.embed(ids, WORDS, width)
    places = b.arange(keys, p)
    # What is allowed: key <= place; Trilu of a full matrix would say the same.
    allowed = b.op("LessOrEqual", b.unsqueeze(b.arange(keys), 0),
                   b.unsqueeze(places, 1))
    mask = b.unsqueeze(b.op("Where", allowed, 0.0, LOWEST), 0, 1)
    steps = 10000 ** (-numpy.arange(0, SIZE, 2, dtype=numpy.float32) / SIZE)
    angles = b.op("Mul", b.op("Cast", b.unsqueeze(places, 0, 2), to=FLOAT),
                  b.initializer(steps))
    angles = b.op("Concat", angles, angles, axis=-1)
    rotary = [b.unsqueeze(b.op(kind, angles), 1) for kind in ("Cos", "Sin")]
    presents = []
    for past in pasts:
        x, present = llama_layer(b, x, (n, s, keys), width, past, rotary, mask)
        presents.append(present)
    logits = b.linear(b.rms_norm(x, width), width, WORDS, bias=False)
    b.output(logits, FLOAT, ["n", "s", WORDS], "logits")
    for i, present in enumerate(presents):
        for kind, value in zip("kv", present):
            b.output(value, FLOAT, ["n", groups, "t", SIZE], f"present_{i}_{kind}")
    return b.model()


# ---- T5 ----

def t5_bias(b, queries, keys, count, both_ways, start=None):
    """Relative places fall into 32 buckets: near ones apart, far ones by their logarithm."""
    rows = b.op("Unsqueeze", b.arange(queries), [1])
    if start:
        rows = b.op("Add", rows, start)
    apart = b.op("Sub", b.op("Unsqueeze", b.arange(keys), [0]), rows)
    buckets = 16 if both_ways else 32
    first = None
    if both_ways:
        first = b.op("Mul", b.op("Cast", b.op("Greater", apart, 0), to=INT64), buckets)
        distance = b.op("Abs", apart)
    else:
        zeros = b.filled(b.op("Shape", apart), 0)
        distance = b.op("Neg", b.op("Min", apart, zeros))
    near = buckets // 2
    far = b.op("Div", b.op("Log", b.op("Div", b.op("Cast", distance, to=FLOAT), float(near))),
               math.log(128 / near))
    far = b.op("Cast", b.op("Mul", far, float(buckets - near)), to=INT64)
    far = b.op("Add", far, near)
    most = numpy.array(buckets - 1)
    far = b.op("Min", far, b.op("Expand", most, b.op("Shape", far)))
    bucket = b.op("Where", b.op("Less", distance, near), distance, far)
    bucket = b.op("Add", first, bucket) if first else bucket
    return b.unsqueeze(b.op("Transpose", b.embed(bucket, 32, count), perm=[2, 0, 1]), 0)


def t5_attention(b, x, other, width, bias):
    """T5 does not divide its scores; `other` has the keys and values."""
    count, n, s, t = width // SIZE, b.size(x, 0), b.size(x, 1), b.size(other, 1)
    q = b.heads(b.linear(x, width, width, bias=False), n, s, count, SIZE)
    k = b.view(b.linear(other, width, width, bias=False), n, t, count, SIZE)
    v = b.heads(b.linear(other, width, width, bias=False), n, t, count, SIZE)
    scores = b.op("MatMul", b.op("Mul", q, 0.2), b.op("Transpose", k, perm=[0, 2, 3, 1]))
    scores = b.op("Add", scores, bias)
    weights = b.op("Cast", b.op("Softmax", b.op("Cast", scores, to=FLOAT), axis=-1), to=FLOAT)
    mixed = b.merged(b.op("MatMul", weights, v), n, s, width)
    return b.linear(mixed, width, width, bias=False)


def t5_inner(b, x, width):
    h = b.rms_norm(x, width)
    h = b.op("Relu", b.linear(h, width, 4 * width, bias=False))
    return b.op("Add", x, b.linear(h, 4 * width, width, bias=False))


def t5_encoder(b, scale):
    width = 192 * scale
    count = width // SIZE
    ids, mask = b.input("input_ids", INT64, ["n", "s"]), b.input("mask", INT64, ["n", "s"])
    n, s = b.size(ids, 0), b.size(ids, 1)
    x = b.embed(ids, WORDS, width)
    bias = b.op("Add", t5_bias(b, s, s, count, True), b.padding_mask(mask, n, s))
    for _ in range(LAYERS):
        h = b.rms_norm(x, width)
        x = t5_inner(b, b.op("Add", x, t5_attention(b, h, h, width, bias)), width)
    b.output(b.rms_norm(x, width), FLOAT, ["n", "s", width])
    return b.model()


def t5_decoder(b, scale):
    """Without a cache; its causal mask by Range, Expand and comparison of what is expanded."""
    width = 192 * scale
    count = width // SIZE
    ids = b.input("decoder_input_ids", INT64, ["n", "t"])
    mask = b.input("encoder_attention_mask", INT64, ["n", "s"])
    hidden = b.input("encoder_hidden_states", FLOAT, ["n", "s", width])
    n, t, s = b.size(ids, 0), b.size(ids, 1), b.size(mask, 1)
    x = b.embed(ids, WORDS, width)
    square = b.op("Expand", LOWEST, b.dims(t, t))
    causal = b.unsqueeze(b.op("Trilu", square, 1, upper=1), 0, 1)
    causal = b.op("Add", t5_bias(b, t, t, count, False), b.expand(causal, n, 1, -1, -1))
    cross = b.padding_mask(mask, n, s)
    for _ in range(LAYERS):
        h = b.rms_norm(x, width)
        x = b.op("Add", x, t5_attention(b, h, h, width, causal))
        x = b.op("Add", x, t5_attention(b, b.rms_norm(x, width), hidden, width, cross))
        x = t5_inner(b, x, width)
    x = b.op("Mul", b.rms_norm(x, width), width ** -0.5)
    b.output(b.linear(x, width, WORDS, bias=False), FLOAT, ["n", "t", WORDS])
    return b.model()


# ---- requests ----

def past(n, p):
    """As many heads as the model has."""
    return {f"past_{i}_{kind}": numbers(n, 0, p, SIZE) for i in range(LAYERS) for kind in "kv"}


BACK = {f"present_{i}_{kind}": f"past_{i}_{kind}" for i in range(LAYERS) for kind in "kv"}


def ids(n, s):
    return {"input_ids": integers(WORDS, n, s)}


def masked(n, s, low=0):
    return {**ids(n, s), "mask": integers(2, n, s, low=low)}


def one_more(n):
    return ids(n, 1)


def decoded(n, t, s):
    return {"decoder_input_ids": integers(WORDS, n, t),
            "encoder_attention_mask": integers(2, n, s, low=n == 1),
            "encoder_hidden_states": numbers(n, s, 192)}


CACHED = {"feedback": BACK, "next": one_more}

MODELS = [
    *spelled("gpt2", gpt2, [ids(1, 128), ids(2, 19), ids(1, 1)], "torch14", "dynamo18", "tf13"),
    *spelled("gpt2_cache", gpt2_cache,
             [{**ids(2, 9), **past(2, 0)}, {**ids(1, 1), **past(1, 100)},
              {**ids(1, 30), **past(1, 12)}], "torch17", "dynamo18", steps=6, **CACHED),
    *spelled("llama", llama, [{**ids(1, 20), **past(1, 0)}, {**ids(2, 1), **past(2, 64)}],
             "torch17", "dynamo20", steps=50, **CACHED),
    *spelled("t5_encoder", t5_encoder, [masked(2, 30), masked(1, 90), masked(3, 5, low=1)],
             "torch17", "dynamo18"),
    *spelled("t5_decoder", t5_decoder, [decoded(1, 1, 40), decoded(2, 25, 30), decoded(1, 70, 11)],
             "torch14", "dynamo18"),
]
