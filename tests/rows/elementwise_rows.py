"""Element-wise operators."""

import math

import ml_dtypes
import numpy
import onnx

from case import (ALL_TYPES, FLOATS, INTEGERS, Case, broadcast, dtype_of, opset_of, pick, row,
                  shape, type_of, values)


def dims_of(rng, most=8):
    """A shape of any rank, with fewer elements in each dimension where there are many."""
    return shape(rng) if rng.random() < 0.7 else shape(rng, low=5, high=most, largest=3)


def number(rng, low, high):
    return round(float(rng.uniform(low, high)), 3)


# ---- one input ----

# The range of inputs where it is not -3 .. 3, and attributes with their range. No infinities for
# gates, which are 0 at minus infinity, where others multiply it by 0.
UNARY = {
    "Abs": {}, "Acos": {"low": -1, "high": 1}, "Acosh": {"low": 1, "high": 50},
    "Asin": {"low": -1, "high": 1}, "Asinh": {"low": -50, "high": 50}, "Atan": {"high": 20},
    "Atanh": {"low": -1, "high": 1}, "BitwiseNot": {}, "Ceil": {}, "Cos": {"high": 50}, "Cosh": {},
    "Exp": {}, "Floor": {}, "HardSwish": {"low": -6, "high": 6, "special": 0}, "IsNaN": {},
    "Log": {"low": 0, "high": 50}, "Mish": {"low": -9, "high": 9, "special": 0}, "Neg": {},
    "Not": {}, "Reciprocal": {}, "Relu": {}, "Round": {"low": -9, "high": 9},
    "Sigmoid": {"low": -20}, "Sign": {}, "Sin": {"high": 50}, "Sinh": {},
    "Softplus": {"low": -20, "high": 20},
    "Sqrt": {"low": 0, "high": 50}, "Tan": {"high": 50}, "Tanh": {},
    "Celu": {"alpha": (0.2, 2)}, "Elu": {"alpha": (0.2, 2)},
    "HardSigmoid": {"alpha": (0.1, 1), "beta": (0, 1)}, "LeakyRelu": {"alpha": (0, 1)},
    "Selu": {"alpha": (0.5, 2), "gamma": (0.5, 2)}, "Swish": {"alpha": (0.2, 2), "special": 0},
    "ThresholdedRelu": {"alpha": (0, 2)},
}


def of_one(op_type, rule):
    span = {"low": rule.get("low", -3), "high": rule.get("high", 3)}

    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        # integers have two complements: the least has no other sign
        special = rule.get("special", 0.1) if kind not in INTEGERS else 0
        attributes = {name: number(rng, *bounds) for name, bounds in rule.items()
                      if name not in (*span, "special") and rng.random() < 0.7}
        return Case([values(rng, dims_of(rng), kind, special=special, **span)], attributes,
                    opset=opset, widens=0)

    return draw


for operator, rule_of_it in UNARY.items():
    row(operator)(of_one(operator, rule_of_it))


@row("IsInf")
def is_inf(rng):
    opset = opset_of(rng, "IsInf")
    kind = type_of(rng, "IsInf", opset)
    return Case([values(rng, dims_of(rng), kind, special=0.4)],
                {"detect_negative": pick(rng, [0, 1]), "detect_positive": pick(rng, [0, 1])},
                opset=opset)


@row("Shrink")
def shrink(rng):
    kind = type_of(rng, "Shrink", 9)
    x = values(rng, dims_of(rng), kind, low=0 if kind.startswith("U") else -9, high=9)
    lambd, bias = int(rng.integers(0, 5)), int(rng.integers(-3, 4))
    if kind in FLOATS:
        lambd, bias = lambd + 0.5, bias + 0.25
    return Case([x], {"lambd": float(lambd), "bias": float(bias)}, opset=pick(rng, [9, 21]),
                widens=0, expected=lambda inputs: [_shrunk(inputs[0], lambd, bias)])


def _shrunk(x, lambd, bias):
    wide = x.astype(numpy.float64 if x.dtype.kind == "f" else numpy.int64)
    found = numpy.where(wide < -lambd, wide + bias, numpy.where(wide > lambd, wide - bias, 0))
    return found.astype(x.dtype)


# ---- Gelu and its kin ----

_erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def _gelu(x):
    return x * (1 + _erf(x / math.sqrt(2))) / 2


def _gelu_tanh(x):
    return x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))) / 2


def _by(function):
    """What a function of f64 makes of inputs."""
    return lambda inputs: [numpy.asarray(
        function(*(value.astype(numpy.float64) for value in inputs if value is not None))
    ).astype(inputs[0].dtype)]


@row("Erf")
def erf(rng):
    return Case([values(rng, dims_of(rng), pick(rng, FLOATS), special=0.1)],
                opset=pick(rng, [13, 28]), widens=0, expected=_by(_erf))


@row("Softsign")
def softsign(rng):
    return Case([values(rng, dims_of(rng), pick(rng, FLOATS))], opset=pick(rng, [7, 28]), widens=0,
                expected=_by(lambda x: x / (1 + abs(x))))


@row("Gelu")
def gelu(rng):
    approximate = pick(rng, ["none", "tanh"])
    return Case([values(rng, dims_of(rng), pick(rng, FLOATS), low=-9, high=9)],
                {"approximate": approximate}, opset=pick(rng, [20, 28]), widens=0,
                expected=_by(_gelu if approximate == "none" else _gelu_tanh))


@row("Gelu", "com.microsoft")
def gelu_microsoft(rng):
    return Case([values(rng, dims_of(rng), pick(rng, FLOATS))], widens=0, expected=_by(_gelu))


@row("QuickGelu", "com.microsoft")
def quick_gelu(rng):
    alpha = number(rng, 0.5, 2)
    return Case([values(rng, dims_of(rng), pick(rng, FLOATS))], {"alpha": alpha}, widens=0,
                expected=_by(lambda x: x / (1 + numpy.exp(-numpy.float32(alpha) * x))))


def _biased(function, is_needed):
    def draw(rng):
        x = values(rng, [*dims_of(rng, 7), 3], kind := pick(rng, FLOATS))
        inputs = [x, values(rng, [3], kind)] if is_needed or rng.random() < 0.7 else [x]
        return Case(inputs, widens=0, expected=_by(lambda x, bias=0: function(x + bias)))

    return draw


row("BiasGelu", "com.microsoft")(_biased(_gelu, True))
row("FastGelu", "com.microsoft")(_biased(_gelu_tanh, False))


@row("Gelu", "latchkey")
def gelu_fused(rng):
    return Case([values(rng, dims_of(rng), pick(rng, FLOATS))], widens=0, expected=_by(_gelu))


@row("GeluTanh", "latchkey")
def gelu_tanh_fused(rng):
    return Case([values(rng, dims_of(rng), pick(rng, FLOATS))], widens=0,
                expected=_by(_gelu_tanh))


@row("Swish", "latchkey")
def swish_fused(rng):
    return Case([values(rng, dims_of(rng), pick(rng, FLOATS))], {"alpha": 0.5}, widens=0,
                expected=_by(lambda x: x / (1 + numpy.exp(-0.5 * x))))


@row("SwiGLU")
def swiglu(rng):
    dims, kind = dims_of(rng), pick(rng, FLOATS)
    alpha = number(rng, 0.2, 2)
    return Case([values(rng, dims, kind), values(rng, dims, kind)], {"alpha": alpha}, opset=28,
                widens=0,
                expected=_by(lambda a, b: a / (1 + numpy.exp(-numpy.float32(alpha) * a)) * b))


# ---- two inputs ----


def _two(op_type, low=-3, special=0.1):
    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        first, second = broadcast(rng, dims_of(rng))
        return Case([values(rng, dims, kind, low=low, special=special) for dims in (first, second)],
                    opset=opset, widens=0)

    return draw


for operator in ("Add", "Sub", "Mul", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
                 "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
    row(operator)(_two(operator))


def _divided(op_type):
    """No integer by 0, nor the least one by -1."""

    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        special = 0 if kind in INTEGERS else 0.1
        first, second = broadcast(rng, dims_of(rng))
        a = values(rng, first, kind, -20, 20, special)
        b = values(rng, second, kind, special=special)
        if kind in INTEGERS:
            b = numpy.where(b == 0, 1, b).astype(b.dtype)
        attributes = {}
        if op_type == "Mod":
            is_needed = kind not in INTEGERS and opset < 28
            attributes["fmod"] = 1 if is_needed else pick(rng, [0, 1])
        if op_type == "Mod" and kind not in INTEGERS and attributes["fmod"] == 0:
            with numpy.errstate(all="ignore"):
                return Case([a, b], attributes, opset=opset, widens=0,
                            expected=lambda inputs: [numpy.mod(*inputs)])
        return Case([a, b], attributes, opset=opset, widens=0)

    return draw


row("Div")(_divided("Div"))
row("Mod")(_divided("Mod"))


@row("Pow")
def power(rng):
    opset = opset_of(rng, "Pow")
    base, exponent = type_of(rng, "Pow", opset), type_of(rng, "Pow", opset, 1)
    if opset < 12:
        exponent = base
    low = 0 if base in INTEGERS or exponent not in INTEGERS else -2
    first, second = broadcast(rng, dims_of(rng))
    x, y = values(rng, first, base, low=low), values(rng, second, exponent, low=low, high=2)
    if low < 0:
        x = numpy.where(x == 0, 1, x).astype(x.dtype)

    def right(inputs):
        found = numpy.asarray(inputs[0].astype(numpy.float64) ** inputs[1].astype(numpy.float64))
        return [found.astype(inputs[0].dtype)]

    return Case([x, y], opset=opset, widens=0, expected=right)


@row("BitShift")
def bit_shift(rng):
    opset = opset_of(rng, "BitShift")
    kind = type_of(rng, "BitShift", opset)
    bits = dtype_of(kind).itemsize * 8
    first, second = broadcast(rng, dims_of(rng))
    x = values(rng, first, kind, low=-100, high=100, special=0.2)
    # from opset 28 on, any number of places
    few, most = (-2 if kind.startswith("I") else 0, bits + 2) if opset >= 28 else (0, bits - 1)
    places = values(rng, second, kind, low=few, high=most)
    direction = pick(rng, ["LEFT", "RIGHT"])

    def one(x, places):
        if places < 0 or places >= bits:
            return -1 if direction == "RIGHT" and x < 0 else 0
        return x >> places if direction == "RIGHT" else x << places

    def right(inputs):
        found = numpy.asarray(numpy.frompyfunc(one, 2, 1)(*(
            value.astype(object) for value in inputs)), object)
        least = -(1 << bits - 1) if kind.startswith("I") else 0
        wrapped = numpy.asarray((found - least) % (1 << bits) + least)
        return [wrapped.astype(inputs[0].dtype)]

    return Case([x, places], {"direction": direction}, opset=opset, expected=right)


@row("PRelu")
def prelu(rng):
    opset = opset_of(rng, "PRelu")
    kind = type_of(rng, "PRelu", opset)
    dims = dims_of(rng)
    return Case([values(rng, dims, kind, special=0.1), values(rng, broadcast(rng, dims)[1], kind)],
                opset=opset, widens=0)


# ---- more inputs ----


def _any_number(op_type):
    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        dims = dims_of(rng)
        count = int(rng.integers(1, 5) if rng.random() < 0.9 else rng.integers(16, 40))
        parts = broadcast(rng, dims, count) if opset >= 8 else [dims] * count
        return Case([values(rng, part, kind, special=0.05) for part in parts], opset=opset,
                    widens=0)

    return draw


for operator in ("Max", "Min", "Sum"):
    row(operator)(_any_number(operator))


@row("Mean")
def mean(rng):
    kind = pick(rng, FLOATS)
    count = int(rng.integers(1, 5) if rng.random() < 0.9 else rng.integers(16, 40))
    parts = broadcast(rng, dims_of(rng), count)
    # large enough for sums to matter that overflow f16
    high = 3 if rng.random() < 0.5 else 6e4
    return Case([values(rng, part, kind, high=high) for part in parts],
                opset=opset_of(rng, "Mean"), widens=0,
                expected=_by(lambda *inputs: sum(inputs) / len(inputs)))


@row("Where")
def where(rng):
    opset = opset_of(rng, "Where")
    kind = type_of(rng, "Where", opset, 1)
    first, second, third = broadcast(rng, dims_of(rng), 3)
    return Case([values(rng, first, "BOOL"), values(rng, second, kind, special=0.1),
                 values(rng, third, kind, special=0.1)], opset=opset, widens=1)


@row("Clip")
def clip(rng):
    opset = opset_of(rng, "Clip")
    kind = type_of(rng, "Clip", opset)
    # f16 has no infinities for the limits of f32 that opset 6 names
    is_old_half = opset < 11 and kind == "FLOAT16"
    x = values(rng, dims_of(rng), kind, low=-9, high=9, special=0 if is_old_half else 0.1)
    if opset < 11:
        attributes = {name: number(rng, *span) for name, span in
                      (("min", (-3, 0)), ("max", (0, 3))) if rng.random() < 0.7}
        return Case([x], attributes, opset=opset, widens=0)
    low = pick(rng, [None, 1 if kind.startswith("U") else -3])
    high = pick(rng, [None, 4])
    bounds = [None if bound is None else numpy.array(bound, dtype_of(kind))
              for bound in (low, high)]
    while bounds and bounds[-1] is None:
        bounds.pop()

    def right(inputs):
        # without a bound it is the least or largest number of the type
        info = (numpy.iinfo if kind in INTEGERS else ml_dtypes.finfo)(x.dtype)
        least = info.min if low is None else low
        most = info.max if high is None else high
        return [numpy.minimum(numpy.maximum(x, x.dtype.type(least)), x.dtype.type(most))]

    return Case([x, *bounds], opset=opset, expected=right,
                constants={1, 2} if rng.random() < 0.5 else set())


# ---- conversions ----


def _to(x, kind):
    with numpy.errstate(all="ignore"):
        wide = x.astype(numpy.float64) if x.dtype.name == "bfloat16" else x
        return [wide.astype(dtype_of(kind))]


def _convertible(rng, kind, to):
    """Numbers that the other type has."""
    low = 0 if to.startswith("U") or kind.startswith("U") else -100
    special = 0.1 if to in FLOATS or (kind in INTEGERS and to in INTEGERS) else 0
    return values(rng, dims_of(rng), kind, low=low, high=100, special=special)


@row("Cast")
def cast(rng):
    kind, to = pick(rng, ALL_TYPES), pick(rng, ALL_TYPES)
    attributes = {"saturate": pick(rng, [0, 1])} if rng.random() < 0.3 else {}
    return Case([_convertible(rng, kind, to)], {"to": _number_of(to)} | attributes, opset=21,
                expected=lambda inputs: _to(inputs[0], to))


@row("CastLike")
def cast_like(rng):
    kind, to = pick(rng, ALL_TYPES), pick(rng, ALL_TYPES)
    return Case([_convertible(rng, kind, to), values(rng, dims_of(rng), to)], opset=21,
                expected=lambda inputs: _to(inputs[0], to))


@row("BitCast")
def bit_cast(rng):
    kind = pick(rng, ALL_TYPES)
    to = pick(rng, [other for other in ALL_TYPES if other != "BOOL"
                    and dtype_of(other).itemsize == dtype_of(kind).itemsize])
    return Case([values(rng, dims_of(rng), kind, special=0.1)], {"to": _number_of(to)}, opset=26,
                expected=lambda inputs: [inputs[0].view(dtype_of(to))])


def _number_of(kind):
    return getattr(onnx.TensorProto, kind)
