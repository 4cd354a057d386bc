"""Sound and lines of text: Whisper (arXiv:2212.04356), whose decoder runs in a Loop, a model with
GRUs, CRNN (arXiv:1507.05717) with bidirectional LSTMs, WaveNet (arXiv:1609.03499)."""

import numpy

from .builder import BOOL, FLOAT, INT64, LAST
from .encoders import SIZE
from .model import integers, numbers, spelled

WORDS, BANDS = 120, 40


# ---- Whisper ----

def whisper_layer(b, x, width, others, past=None):
    """Attention to itself (and what was before, if any), to the sound if there is some, and two
    linear layers, each normalized before."""
    count, n, s = width // SIZE, b.size(x, 0), b.size(x, 1)
    h = b.layer_norm(x, width)
    q = b.heads(b.linear(h, width, width), n, s, count, SIZE)
    k = b.heads(b.linear(h, width, width, bias=False), n, s, count, SIZE)
    v = b.heads(b.linear(h, width, width), n, s, count, SIZE)
    if past:
        k, v = (b.op("Concat", old, new, axis=2) for old, new in zip(past, (k, v)))
    mixed = b.merged(b.attention(q, k, v, SIZE), n, s, width)
    x = b.op("Add", x, b.linear(mixed, width, width))
    if others:
        q = b.heads(b.linear(b.layer_norm(x, width), width, width), n, s, count, SIZE)
        mixed = b.merged(b.attention(q, *others, SIZE), n, s, width)
        x = b.op("Add", x, b.linear(mixed, width, width))
    inner = b.gelu(b.linear(b.layer_norm(x, width), width, 4 * width))
    return b.op("Add", x, b.linear(inner, 4 * width, width)), (k, v)


def whisper_sound(b, width):
    """Two convolutions, of which the second halves the time, places, and layers."""
    x = b.input("mel", FLOAT, ["n", BANDS, "t"])
    x = b.gelu(b.conv(x, BANDS, width, 3, dims=1))
    x = b.gelu(b.conv(x, width, width, 3, stride=2, dims=1))
    x = b.op("Transpose", x, perm=[0, 2, 1])
    places = b.weight(256, width, gain=0.3)
    end = b.dims(b.size(x, 1))
    x = b.op("Add", x, b.op("Slice", places, [0], end, [0]))
    for _ in range(2):
        x, _ = whisper_layer(b, x, width, None)
    return b.layer_norm(x, width)


def whisper_encoder(b, scale):
    width = 192 * scale
    b.output(whisper_sound(b, width), FLOAT, ["n", "s", width])
    return b.model()


def whisper(b, scale):
    """Greedy: a Loop takes the best token again and again, until all are ends or `most` are made;
    keys and values grow from one turn to the next."""
    width, layers = 192 * scale, 2
    count = width // SIZE
    sound = whisper_sound(b, width)
    most = b.input("most", INT64, [])
    n, s = b.size(sound, 0), b.size(sound, 1)
    crossed = [[b.heads(b.linear(sound, width, width), n, s, count, SIZE) for _ in range(2)]
               for _ in range(layers)]
    words, places = b.weight(WORDS, width), b.weight(64, width, gain=0.5)
    choice = b.weight(width, WORDS, fan_in=width)
    token = b.expand(b.constant(numpy.array([[1]])), n, 1)
    none = [b.filled(b.dims(n, count, 0, SIZE)) for _ in range(2 * layers)]

    body = b.body("decode")
    turn = body.input("turn", INT64, [])
    body.input("go_on", BOOL, [])
    last = body.input("token", INT64, ["n", 1])
    pasts = [body.input(f"past_{i}", FLOAT, ["n", count, None, SIZE]) for i in range(2 * layers)]
    place = body.op("Gather", places, body.op("Unsqueeze", turn, [0]))
    x = body.op("Add", body.op("Gather", words, last), place)
    presents = []
    for i in range(layers):
        x, present = whisper_layer(body, x, width, crossed[i], pasts[2 * i:2 * i + 2])
        presents += present
    logits = body.op("MatMul", body.layer_norm(x, width), choice)
    best = body.op("ArgMax", logits, axis=-1, keepdims=0)
    alive = body.op("ReduceMax", body.op("Cast", best, to=FLOAT),
                    keepdims=0)
    body.output(body.op("Greater", alive, 0.0), BOOL, [])
    body.output(best, INT64, ["n", 1])
    for present in presents:
        body.output(present, FLOAT, ["n", count, None, SIZE])
    body.output(body.op("Squeeze", best, [1]), INT64, ["n"])
    body.output(body.op("Squeeze", logits, [1]), FLOAT, ["n", WORDS])
    made = b.op("Loop", most, b.constant(True), token, *none, n=3 + 2 * layers, body=body.graph())
    b.output(b.op("Transpose", made[-2], perm=[1, 0]), INT64, ["n", "made"])
    b.output(made[-1], FLOAT, ["made", "n", WORDS])
    return b.model()


# ---- recurrent ----

def recurrent(b, kind, x, n_in, hidden, gates, **attributes):
    """Both ways, as PyTorch's exporter writes one layer: [t, n, n_in] -> [t, n, 2 hidden]. Its
    zeros to begin with have the size of the batch."""
    n = b.size(x, 1)
    zeros = [b.filled(b.dims(2, n, hidden)) for _ in range(2 if kind == "LSTM" else 1)]
    made = b.op(kind, x, b.weight(2, gates * hidden, n_in, fan_in=n_in),
                b.weight(2, gates * hidden, hidden, fan_in=hidden),
                b.bias(2, 2 * gates * hidden), None, *zeros, n=3 if kind == "LSTM" else 2,
                direction="bidirectional", hidden_size=hidden, **attributes)
    turned = b.op("Transpose", made[0], perm=[0, 2, 1, 3])
    return b.op("Reshape", turned, [0, 0, -1])


def gru_speech(b, scale):
    """Pictures of sound through two convolutions and three layers of GRU."""
    hidden = 128 * scale
    x = b.input("spectrum", FLOAT, ["n", 1, BANDS, "t"])
    x = b.op("Relu", b.conv(x, 1, 16, 3, stride=2))
    x = b.op("Relu", b.conv(x, 16, 16, 3))
    n, t = b.size(x, 0), b.size(x, 3)
    x = b.view(x, n, 16 * BANDS // 2, t)
    x = b.op("Transpose", x, perm=[2, 0, 1])
    n_in = 16 * BANDS // 2
    for _ in range(3):
        x = recurrent(b, "GRU", x, n_in, hidden, 3, linear_before_reset=1)
        n_in = 2 * hidden
    x = b.op("LogSoftmax", b.linear(b.op("Transpose", x, perm=[1, 0, 2]), n_in, 29), axis=-1)
    b.output(x, FLOAT, ["n", "frames", 29])
    return b.model()


def crnn(b, scale):
    hidden = 128 * scale
    x = b.input("picture", FLOAT, ["n", 1, 32, "w"])
    channels = 1
    for wide, pool in ((32, [2, 2]), (64, [2, 2]), (96, [2, 1]), (128, [2, 1])):
        x = b.op("Relu", b.conv(x, channels, wide, 3))
        x = b.op("MaxPool", x, ceil_mode=0, kernel_shape=pool, strides=pool, pads=[0] * 4)
        channels = wide
    x = b.op("Conv", x, b.weight(128, 128, 2, 1, fan_in=256), b.bias(128), kernel_shape=[2, 1],
             dilations=[1, 1], group=1, strides=[1, 1], pads=[0] * 4)
    x = b.op("Transpose", b.op("Squeeze", x, [2]), perm=[2, 0, 1])
    n_in = 128
    for _ in range(2):
        x = recurrent(b, "LSTM", x, n_in, hidden, 4)
        n_in = 2 * hidden
    x = b.op("LogSoftmax", b.linear(x, n_in, 90), axis=-1)
    b.output(x, FLOAT, ["w", "n", 90])
    return b.model()


# ---- WaveNet ----

def wavenet(b, scale):
    """Causal: each convolution is padded on the left by what it looks back."""
    width = 64 * scale
    x = b.conv(b.input("sound", FLOAT, ["n", 1, "t"]), 1, width, dims=1)
    total = None
    for dilation in (1, 2, 4, 8, 16, 1, 2, 4, 8, 16):
        padded = b.op("Pad", x, [0, 0, dilation, 0, 0, 0], 0.0, mode="constant")
        both = b.conv(padded, width, 2 * width, 2, pad=0, dilation=dilation, dims=1)
        a, g = b.split(both, [width, width], 1)
        gated = b.op("Mul", b.op("Tanh", a), b.op("Sigmoid", g))
        skip = b.conv(gated, width, width, dims=1)
        total = b.op("Add", total, skip) if total else skip
        x = b.op("Add", b.conv(gated, width, width, dims=1), x)
    x = b.op("Relu", b.conv(b.op("Relu", total), width, width, dims=1))
    last = b.slice(b.conv(x, width, 64, dims=1), 2, -8, LAST)
    b.output(b.op("Softmax", last, axis=1), FLOAT, ["n", 64, "kept"])
    return b.model()


def mel(n, t, most=None):
    turns = {"most": integers(most + 1, low=most)} if most else {}
    return {"mel": numbers(n, BANDS, t), **turns}


def one(name, *shapes):
    return [{name: numbers(*shape)} for shape in shapes]


MODELS = [
    *spelled("whisper_encoder", whisper_encoder, [mel(1, 200), mel(2, 61)], "torch14", "dynamo18"),
    *spelled("whisper", whisper, [mel(1, 100, 20), mel(2, 37, 9), mel(1, 8, 1)], "torch17",
             "dynamo20"),
    *spelled("gru_speech", gru_speech,
             one("spectrum", (1, 1, BANDS, 120), (3, 1, BANDS, 41), (1, 1, BANDS, 1)), "torch14",
             "dynamo18"),
    *spelled("crnn", crnn, one("picture", (1, 1, 32, 160), (4, 1, 32, 64), (1, 1, 32, 5)),
             "torch17", "dynamo18"),
    *spelled("wavenet", wavenet, one("sound", (1, 1, 400), (3, 1, 77), (1, 1, 8)), "torch14",
             "dynamo18"),
]
