"""RNN, GRU, LSTM and DynamicQuantizeLSTM."""

import numpy

from case import Case, halved, opset_of, pick, row, values

# By name: the function of x, alpha and beta; whether it has these, and their defaults.
FUNCTIONS = {
    "Affine": (lambda x, a, b: a * x + b, 1, 0),
    "Relu": (lambda x, a, b: numpy.maximum(x, 0), None, None),
    "LeakyRelu": (lambda x, a, b: numpy.where(x < 0, a * x, x), 0.01, None),
    "ThresholdedRelu": (lambda x, a, b: numpy.where(x >= a, x, 0), 1, None),
    "Tanh": (lambda x, a, b: numpy.tanh(x), None, None),
    "ScaledTanh": (lambda x, a, b: a * numpy.tanh(b * x), 1, 1),
    "Sigmoid": (lambda x, a, b: 1 / (1 + numpy.exp(-x)), None, None),
    "HardSigmoid": (lambda x, a, b: numpy.clip(a * x + b, 0, 1), 0.2, 0.5),
    "Elu": (lambda x, a, b: numpy.where(x < 0, a * numpy.expm1(x), x), 1, None),
    "Softsign": (lambda x, a, b: x / (1 + abs(x)), None, None),
    "Softplus": (lambda x, a, b: numpy.log1p(numpy.exp(x)), None, None),
}
# Gates and the functions of a direction.
KINDS = {"RNN": (1, ["Tanh"]), "GRU": (3, ["Sigmoid", "Tanh"]),
         "LSTM": (4, ["Sigmoid", "Tanh", "Tanh"])}


def functions_of(op_type, attributes, directions):
    """The functions of each direction, of x alone."""
    names = attributes.get("activations", KINDS[op_type][1] * directions)
    alphas = list(attributes.get("activation_alpha", []))
    betas = list(attributes.get("activation_beta", []))

    def bind(name):
        function, alpha, beta = FUNCTIONS[name]
        alpha = alphas.pop(0) if alpha is not None and alphas else alpha
        beta = betas.pop(0) if beta is not None and betas else beta
        return lambda x: function(x, alpha, beta)

    found = [bind(name) for name in names]
    n = len(KINDS[op_type][1])
    return [found[i * n:(i + 1) * n] for i in range(directions)]


def step_rnn(x, h, c, w, r, b, p, fs, cut, attributes):
    return fs[0](cut(w @ x + r @ h + b.sum(axis=0).ravel())), c


def step_gru(x, h, c, w, r, b, p, fs, cut, attributes):
    wz, wr, wh = numpy.split(w @ x, 3)
    (rz, rr, rh), (bz, br, bh) = numpy.split(r, 3), b.sum(axis=0)
    z = fs[0](cut(wz + rz @ h + bz))
    reset = fs[0](cut(wr + rr @ h + br))
    if attributes.get("linear_before_reset", 0):
        candidate = wh + reset * (rh @ h + b[1, 2]) + b[0, 2]
    else:
        candidate = wh + rh @ (reset * h) + bh
    return (1 - z) * fs[1](cut(candidate)) + z * h, c


def step_lstm(x, h, c, w, r, b, p, fs, cut, attributes):
    i, o, f, g = numpy.split(w @ x + r @ h + b.sum(axis=0).ravel(), 4)
    i = fs[0](cut(i + p[0] * c))
    f = 1 - i if attributes.get("input_forget", 0) else fs[0](cut(f + p[2] * c))
    c = f * c + i * fs[1](cut(g))
    o = fs[0](cut(o + p[1] * c))
    return o * fs[2](c), c


STEPS = {"RNN": step_rnn, "GRU": step_gru, "LSTM": step_lstm}


def reference(op_type, case):
    """ONNX's equations, a row and a step at a time, in f64."""
    step, (gates, _), attributes = STEPS[op_type], KINDS[op_type], case.attributes

    def expected(inputs):
        x, w, r, b, lengths, h0, c0, p = [*inputs, *[None] * (8 - len(inputs))]
        batch_first = attributes.get("layout", 0)
        directions, hidden = r.shape[0], r.shape[2]
        if batch_first:
            x = x.swapaxes(0, 1)
            h0, c0 = [None if v is None else v.swapaxes(0, 1) for v in (h0, c0)]
        length, batch = x.shape[:2]
        wide = numpy.float64
        b = numpy.zeros([directions, 2, gates, hidden]) if b is None else \
            b.astype(wide).reshape(directions, 2, gates, hidden)
        p = numpy.zeros([directions, 3, hidden]) if p is None else \
            p.astype(wide).reshape(directions, 3, hidden)
        fs = functions_of(op_type, attributes, directions)
        most = attributes.get("clip", numpy.inf)
        y = numpy.zeros([length, directions, batch, hidden])
        last = numpy.zeros([2, directions, batch, hidden])
        for d in range(directions):
            reverse = d == 1 or attributes.get("direction") == "reverse"
            for n in range(batch):
                count = length if lengths is None else int(lengths[n])
                if count == 0:
                    continue
                h, c = [numpy.zeros(hidden) if v is None else v[d, n].astype(wide)
                        for v in (h0, c0)]
                for t in reversed(range(count)) if reverse else range(count):
                    h, c = step(x[t, n].astype(wide), h, c, w[d].astype(wide), r[d].astype(wide),
                                b[d], p[d], fs[d], lambda v: numpy.clip(v, -most, most), attributes)
                    y[t, d, n] = h
                last[:, d, n] = h, c
        outputs = [y, *last]
        if batch_first:
            outputs = [y.transpose(2, 0, 1, 3), *last.swapaxes(1, 2)]
        return [value.astype(numpy.float32) for value in outputs[:case.n_outputs]]

    return expected


def functions(rng, op_type, directions):
    """Attributes that choose functions."""
    n = len(KINDS[op_type][1])
    names = [pick(rng, list(FUNCTIONS)) for _ in range(n * directions)]
    attributes = {"activations": names}
    for name, at in (("activation_alpha", 1), ("activation_beta", 2)):
        used = sum(FUNCTIONS[function][at] is not None for function in names)
        if rng.random() < 0.5:
            attributes[name] = [float(v) for v in rng.uniform(0.1, 0.9, rng.integers(0, used + 1))]
    return {name: value for name, value in attributes.items() if len(value) > 0}


def attributes_of(rng, op_type, direction, opset):
    attributes = {}
    if direction != "forward" or rng.random() < 0.5:
        attributes["direction"] = direction
    if opset >= 14 and rng.random() < 0.4:
        attributes["layout"] = int(rng.integers(0, 2))
    if rng.random() < 0.3:
        attributes["clip"] = float(rng.uniform(0.1, 2))
    if op_type == "LSTM" and rng.random() < 0.3:
        attributes["input_forget"] = int(rng.integers(0, 2))
    if op_type == "GRU" and rng.random() < 0.5:
        attributes["linear_before_reset"] = int(rng.integers(0, 2))
    if rng.random() < 0.4:
        attributes["clip"] = float(rng.uniform(0.5, 2))  # else states grow without end
        attributes |= functions(rng, op_type, 2 if direction == "bidirectional" else 1)
    return attributes


def recurrent(rng, op_type):
    opset, gates = max(opset_of(rng, op_type), 7), KINDS[op_type][0]
    direction = pick(rng, ["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    attributes = attributes_of(rng, op_type, direction, opset)
    length, batch = (0 if rng.random() < 0.02 else int(rng.integers(1, n)) for n in (9, 20))
    width = 0 if rng.random() < 0.02 else int(rng.integers(1, 20))
    hidden = pick(rng, [1, 2, 5, 8, 16, 33, 70])
    attributes["hidden_size"] = hidden
    states = [directions, batch, hidden]
    dims = [length, batch, width]
    if attributes.get("layout", 0):
        states, dims = [batch, directions, hidden], [batch, length, width]
    few = 1 / max(1, hidden) ** 0.5
    inputs = [values(rng, dims, low=-1, high=1),
              values(rng, [directions, gates * hidden, width], low=-0.5, high=0.5),
              values(rng, [directions, gates * hidden, hidden], low=-few, high=few),
              values(rng, [directions, 2 * gates * hidden], low=-0.5, high=0.5),
              rng.integers(0, length + 1, [batch]).astype(numpy.int32),
              values(rng, states, low=-1, high=1)]
    if op_type == "LSTM":
        inputs += [values(rng, states, low=-1, high=1),
                   values(rng, [directions, 3 * hidden], low=-0.5, high=0.5)]
    inputs[3:] = [value if rng.random() < 0.5 else None for value in inputs[3:]]
    while inputs[-1] is None:
        inputs.pop()
    constants = {i for i, value in enumerate(inputs[:4])
                 if i > 0 and value is not None and rng.random() < 0.5}
    case = Case(inputs, attributes, constants=constants,
                n_outputs=int(rng.integers(1, 4 if op_type == "LSTM" else 3)), opset=opset,
                tolerance=1e-4)
    # ONNX Runtime has no layout 1, takes other defaults of alpha and beta, and lacks new opsets,
    # where ONNX's own reference ignores most attributes
    if "layout" in attributes or "activations" in attributes or 0 in dims or opset > 21:
        case.expected = reference(op_type, case)
    return halved(rng, case, 0.2)


@row("RNN")
def rnn(rng):
    return recurrent(rng, "RNN")


@row("GRU")
def gru(rng):
    return recurrent(rng, "GRU")


@row("LSTM")
def lstm(rng):
    return recurrent(rng, "LSTM")


def quantizer(rng, columns, kind, directions):
    """A scale and a zero point of each direction, or of each of its columns: what ONNX Runtime
    takes then is a zero point that is the same for all columns, and 0 where it has a sign."""
    is_each = rng.random() < 0.5
    dims = [directions, columns] if is_each else [directions]
    zero = rng.integers(-9, 9, dims) if kind == "int8" else rng.integers(100, 156, dims)
    if is_each:
        zero[:] = 0 if kind == "int8" else zero[0, 0]
    return values(rng, dims, low=0.0005, high=0.002), zero.astype(kind)


@row("DynamicQuantizeLSTM", "com.microsoft")
def dynamic_quantize_lstm(rng):
    direction = pick(rng, ["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    attributes = attributes_of(rng, "LSTM", direction, 7)
    length, batch = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    width = int(rng.integers(1, 40))
    hidden = attributes["hidden_size"] = pick(rng, [1, 2, 5, 8, 16, 33, 70])
    # the defaults of these functions differ
    names = attributes.get("activations", [])
    if {"Affine", "ScaledTanh", "ThresholdedRelu"} & set(names):
        attributes = {name: value for name, value in attributes.items() if "activation" not in name}
    kind = pick(rng, ["int8", "uint8"])
    # 7 bits with a sign: ONNX Runtime's sums of two products saturate on a processor without VNNI
    low, high = (-64, 64) if kind == "int8" else (0, 256)
    states = [directions, batch, hidden]
    w, r = (rng.integers(low, high, [directions, rows, 4 * hidden]).astype(kind)
            for rows in (width, hidden))
    (w_scale, w_zero), (r_scale, r_zero) = (
        quantizer(rng, 4 * hidden, kind, directions) for _ in range(2))
    lengths = rng.integers(0, length + 1, [batch]).astype(numpy.int32)
    if lengths.max() == 0:
        lengths[0] = 1
    others = [values(rng, [directions, 8 * hidden], low=-0.5, high=0.5), lengths,
              values(rng, states, low=-1, high=1), values(rng, states, low=-1, high=1),
              values(rng, [directions, 3 * hidden], low=-0.5, high=0.5)]
    inputs = [values(rng, [length, batch, width], low=-1, high=1), w, r,
              *[value if rng.random() < 0.5 else None for value in others],
              w_scale, w_zero, r_scale, r_zero]
    constants = {i for i in (1, 2, 3, 8, 9, 10, 11)
                 if inputs[i] is not None and rng.random() < 0.5}
    # a sum that is rounded another way may change a byte of a state
    return Case(inputs, attributes, constants=constants, n_outputs=int(rng.integers(1, 4)),
                tolerance=2e-3)
