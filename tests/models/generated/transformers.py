"""Pictures by attention: ViT (arXiv:2010.11929), Swin (arXiv:2103.14030), DETR
(arXiv:2005.12872)."""

import math

import numpy

from .builder import FLOAT, LAST
from .convnets import picture, pictures
from .encoders import SIZE
from .model import numbers, spelled


# ---- ViT ----

def vit(b, scale):
    width = 256 * scale
    count = width // SIZE
    x = b.input("picture", FLOAT, ["n", 3, 64, 64])
    n = b.size(x, 0)
    x = b.conv(x, 3, width, 8, stride=8, pad=0)
    first = b.op("Slice", b.op("Shape", x), [0], [2], [0])
    x = b.op("Reshape", x, b.op("Concat", first, [-1], axis=0))
    x = b.op("Transpose", x, perm=[0, 2, 1])
    token = b.expand(b.weight(1, 1, width), n, -1, -1)
    x = b.op("Add", b.op("Concat", token, x, axis=1), b.weight(1, 65, width, gain=0.3))
    for _ in range(2):
        h = b.layer_norm(x, width, 1e-12)
        n, s = b.size(h, 0), b.size(h, 1)
        q, k, v = (b.heads(b.linear(h, width, width), n, s, count, SIZE) for _ in range(3))
        mixed = b.merged(b.attention(q, k, v, SIZE), n, s, width)
        x = b.op("Add", b.linear(mixed, width, width), x)
        h = b.gelu(b.linear(b.layer_norm(x, width, 1e-12), width, 4 * width))
        x = b.op("Add", b.linear(h, 4 * width, width), x)
    x = b.op("Gather", b.layer_norm(x, width, 1e-12), 0, axis=1)
    b.output(b.linear(x, width, 50), FLOAT, ["n", 50])
    return b.model()


# ---- Swin ----

WINDOW = 4


def rolled(b, x, by, side):
    for axis in (1, 2):
        by %= side
        x = b.op("Concat", b.slice(x, axis, by, LAST), b.slice(x, axis, 0, by), axis=axis)
    return x


def shifted_mask(side):
    """What a shifted window sees of its neighbours on the other edge: not to be attended to."""
    region = numpy.zeros((side, side))
    cuts = (slice(0, -WINDOW), slice(-WINDOW, -WINDOW // 2), slice(-WINDOW // 2, None))
    for i, rows in enumerate(cuts):
        for j, columns in enumerate(cuts):
            region[rows, columns] = 3 * i + j
    count = side // WINDOW
    windows = region.reshape(count, WINDOW, count, WINDOW).transpose(0, 2, 1, 3)
    windows = windows.reshape(-1, WINDOW ** 2)
    apart = windows[:, None] != windows[:, :, None]
    return numpy.where(apart, -100.0, 0.0).astype(numpy.float32)


def swin_block(b, x, n, side, width, shift):
    count, places = width // SIZE, WINDOW ** 2
    h = b.view(b.layer_norm(x, width), -1, side, side, width)
    if shift:
        h = rolled(b, h, shift, side)
    grid = (-1, side // WINDOW, WINDOW, side // WINDOW, WINDOW, width)
    h = b.view(b.op("Transpose", b.view(h, *grid), perm=[0, 1, 3, 2, 4, 5]), -1, places, width)
    q, k, v = (b.heads(b.linear(h, width, width), -1, places, count, SIZE) for _ in range(3))
    bias = b.weight(1, count, places, places)
    if shift:
        mask = b.initializer(shifted_mask(side)[None, :, None])
        mask = b.view(b.op("Expand", mask, b.dims(n, 1, 1, 1, 1)), -1, 1, places, places)
        bias = b.op("Add", bias, mask)
    h = b.linear(b.merged(b.attention(q, k, v, SIZE, bias), -1, places, width), width, width)
    grid = (-1, side // WINDOW, side // WINDOW, WINDOW, WINDOW, width)
    h = b.view(b.op("Transpose", b.view(h, *grid), perm=[0, 1, 3, 2, 4, 5]), -1, side, side, width)
    if shift:
        h = rolled(b, h, -shift, side)
    x = b.op("Add", x, b.view(h, -1, side * side, width))
    h = b.linear(b.gelu(b.linear(b.layer_norm(x, width), width, 4 * width)), 4 * width, width)
    return b.op("Add", h, x)


def swin(b, scale):
    width, side = 64 * scale, 16
    x = b.input("picture", FLOAT, ["n", 3, 64, 64])
    n = b.size(x, 0)
    x = b.view(b.conv(x, 3, width, 4, stride=4, pad=0), -1, width, side * side)
    x = b.layer_norm(b.op("Transpose", x, perm=[0, 2, 1]), width)
    for stage in range(2):
        if stage:
            x = b.view(x, -1, side, side, width)
            parts = [b.slice(b.slice(x, 1, i, LAST, 2), 2, j, LAST, 2)
                     for j in (0, 1) for i in (0, 1)]
            side //= 2
            x = b.view(b.op("Concat", *parts, axis=-1), -1, side * side, 4 * width)
            x = b.linear(b.layer_norm(x, 4 * width), 4 * width, 2 * width, bias=False)
            width *= 2
        for shift in (0, WINDOW // 2):
            x = swin_block(b, x, n, side, width, shift)
    x = b.reduce("ReduceMean", b.layer_norm(x, width), [1], keepdims=0)
    b.output(b.linear(x, width, 50), FLOAT, ["n", 50])
    return b.model()


# ---- DETR ----

def sine(b, x, width):
    """Places of a picture's points by CumSum of ones, as sines and cosines of several waves."""
    n, h, w = b.size(x, 0), b.size(x, 2), b.size(x, 3)
    ones = b.filled(b.dims(n, h, w), 1.0)
    waves = numpy.arange(width // 2, dtype=numpy.float32)
    waves = (10000 ** (2 * (waves // 2) / (width // 2))).astype(numpy.float32)
    made = []
    for axis in (1, 2):
        counted = b.op("CumSum", ones, axis)
        last = b.op("Add", b.slice(counted, axis, -1, LAST, 1), 1e-6)
        counted = b.op("Mul", b.op("Div", counted, last), 2 * math.pi)
        angles = b.op("Div", b.op("Unsqueeze", counted, [3]), waves)
        both = [b.op("Unsqueeze", b.op(kind, b.slice(angles, 3, start, LAST, 2)), [4])
                for kind, start in (("Sin", 0), ("Cos", 1))]
        made.append(b.view(b.op("Concat", *both, axis=4), n, h, w, width // 2))
    return b.op("Transpose", b.op("Concat", *made, axis=3), perm=[0, 3, 1, 2])


def many_heads(b, q, k, v, width):
    """torch.nn.MultiheadAttention of [s, n, width]: products of three dimensions."""
    n, count = b.size(q, 1), width // SIZE
    together = b.op("Mul", n, count)

    def parted(x):
        flat = b.view(b.linear(x, width, width), b.size(x, 0), together, SIZE)
        return b.op("Transpose", flat, perm=[1, 0, 2])

    q_s = b.size(q, 0)
    q, k, v = parted(q), parted(k), parted(v)
    scores = b.op("MatMul", b.op("Mul", q, SIZE ** -0.5), b.op("Transpose", k, perm=[0, 2, 1]))
    mixed = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[1, 0, 2])
    mixed = b.view(mixed, b.op("Mul", q_s, n), width)
    weight, bias = b.weight(width, width, fan_in=width), b.bias(width)
    mixed = b.op("Gemm", mixed, weight, bias, alpha=1.0, beta=1.0, transB=1)
    return b.view(mixed, q_s, n, width)


def added(b, x, y, width):
    return b.layer_norm(b.op("Add", x, y), width)


def inner(b, x, width):
    h = b.op("Relu", b.linear(x, width, 4 * width))
    return added(b, x, b.linear(h, 4 * width, width), width)


def detr(b, scale):
    width, asked = 192 * scale, 25
    x = picture(b)
    channels = 3
    for wide in (32, 64, 96, 128):
        x = b.op("Relu", b.conv(x, channels, wide, 3, stride=2))
        channels = wide
    place = sine(b, x, width)
    n = b.size(x, 0)

    def line(picture):
        flat = b.view(picture, n, width, -1)
        return b.op("Transpose", flat, perm=[2, 0, 1])

    x, place = line(b.conv(x, channels, width)), line(place)
    for _ in range(2):
        placed = b.op("Add", x, place)
        x = added(b, x, many_heads(b, placed, placed, x, width), width)
        x = inner(b, x, width)
    query = b.expand(b.op("Unsqueeze", b.weight(asked, width), [1]), -1, n, -1)
    y = b.filled(b.op("Shape", query))
    for _ in range(2):
        placed = b.op("Add", y, query)
        y = added(b, y, many_heads(b, placed, placed, y, width), width)
        y = added(b, y, many_heads(b, b.op("Add", y, query), b.op("Add", x, place), x, width),
                  width)
        y = inner(b, y, width)
    y = b.op("Transpose", y, perm=[1, 0, 2])
    b.output(b.linear(y, width, 20), FLOAT, ["n", asked, 20])
    for _ in range(2):
        y = b.op("Relu", b.linear(y, width, width))
    b.output(b.op("Sigmoid", b.linear(y, width, 4)), FLOAT, ["n", asked, 4])
    return b.model()


SQUARES = [{"picture": numbers(n, 3, 64, 64)} for n in (1, 3, 2)]

MODELS = [
    *spelled("vit", vit, SQUARES, "torch17", "dynamo20"),
    *spelled("swin", swin, SQUARES, "torch17", "dynamo18"),
    *spelled("detr", detr, pictures((1, 192, 256), (2, 96, 128), (1, 49, 33)), "torch17",
             "dynamo18"),
]
