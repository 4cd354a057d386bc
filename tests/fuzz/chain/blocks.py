"""Trees of nodes that passes/patterns.inc makes one operator of: activations, norms, attention.

One operator rounds where several nodes did, or not: so each node of a tree opens one more unit in
the last place, and what follows from it. Not finite values go where the nodes put them."""

from __future__ import annotations

import ml_dtypes
import numpy

import arithmetic as at
import interval
import numbers_of
from builder import Builder
from interval import Interval
from sources import Source, place_of


class Tree:
    """Nodes, and what they make, side by side."""

    def __init__(self, b: Builder, dtype: numpy.dtype) -> None:
        self.b, self.dtype = b, dtype

    def number(self, value: float) -> tuple[str, Interval]:
        array = numpy.asarray(value, self.dtype)
        return self.b.constant(array), interval.exact(array)

    def vector(self, value: numpy.ndarray) -> tuple[str, Interval]:
        return self.b.constant(value), interval.exact(value)

    def pair(self, op: str, x, y) -> tuple[str, Interval]:
        step = {"Add": at.add, "Sub": at.sub, "Mul": at.mul, "Div": at.div}[op]
        x, y = (self.number(one) if isinstance(one, float) else one for one in (x, y))
        return self.b.node(op, [x[0], y[0]]), at.loose(step(x[1], y[1]))

    def one(self, op: str, x, **attributes) -> tuple[str, Interval]:
        step = {"Erf": at.erf, "Tanh": at.tanh, "Sigmoid": at.sigmoid, "Softplus": at.softplus,
                "Sqrt": lambda v: at.loose(at.square_root(v)),
                "Reciprocal": lambda v: at.loose(at.reciprocal(v)),
                "HardSigmoid": lambda v: at.hard_sigmoid(v, 1 / 6, 0.5)}[op]
        return self.b.node(op, [x[0]], **attributes), step(x[1])

    def square(self, x, by_pow: bool) -> tuple[str, Interval]:
        size = at.magnitude(x[1])
        made = [x[0], self.number(2.0)[0]] if by_pow else [x[0], x[0]]
        return (self.b.node("Pow" if by_pow else "Mul", made),
                at.loose(interval.each(size, lambda v: v * v)))

    def mean(self, x) -> tuple[str, Interval]:
        axis = self.b.constant(numpy.array([-1]))
        n = interval.exact(numpy.asarray(x[1].lo.shape[-1], self.dtype))
        return (self.b.node("ReduceMean", [x[0], axis], keepdims=1),
                at.loose(at.div(at.loose(at.total(x[1])), n)))


# ---- activations ----

def gelu(t: Tree, x, rng):
    half = rng.integers(3)
    inner = (t.pair("Div", x, 2.0 ** 0.5) if rng.random() < 0.5 else
             t.pair("Mul", x, 0.5 ** 0.5))
    grown = t.pair("Add", t.one("Erf", inner), 1.0)
    if half == 0:
        return t.pair("Mul", t.pair("Mul", x, grown), 0.5)
    if half == 1:
        return t.pair("Mul", t.pair("Mul", x, 0.5), grown)
    return t.pair("Mul", x, t.pair("Mul", grown, 0.5))


def gelu_tanh(t: Tree, x, rng):
    if rng.random() < 0.5:
        cube = t.pair("Mul", t.pair("Mul", x, x), x)
        inner = t.pair("Add", x, t.pair("Mul", cube, 0.044715))
        inner = t.pair("Mul", inner, 0.7978845608)
    else:
        square = t.pair("Mul", t.pair("Mul", x, x), 0.044715)
        inner = t.pair("Mul", t.pair("Mul", x, t.pair("Add", square, 1.0)), 0.7978845608)
    grown = t.pair("Add", t.one("Tanh", inner), 1.0)
    return t.pair("Mul", t.pair("Mul", x, grown), 0.5)


def swish(t: Tree, x, rng):
    if rng.random() < 0.5:
        return t.pair("Mul", x, t.one("Sigmoid", x))
    return t.pair("Mul", x, t.one("Sigmoid", t.pair("Mul", x, float(rng.choice((1.702, 1, -2))))))


def mish(t: Tree, x, rng):
    return t.pair("Mul", x, t.one("Tanh", t.one("Softplus", x)))


def _near(of: Interval) -> Interval:
    """HardSwish adds 1/2 to x / 6, not 3 to x, which may round more: by a unit of a number
    about 6."""
    unit = interval.exact(numpy.asarray(6 * ml_dtypes.finfo(of.dtype).eps, of.dtype))
    lo, hi = at.sub(of, unit).lo, at.add(of, unit).hi
    return Interval(lo, hi, of.open)


def hard_swish(t: Tree, x, rng):
    if rng.random() < 0.5:
        return t.pair("Mul", x, t.one("HardSigmoid", x, alpha=1 / 6, beta=0.5))
    moved = t.pair("Add", x, 3.0)
    ends = [t.number(0.0), t.number(6.0)]
    clipped = (t.b.node("Clip", [moved[0], ends[0][0], ends[1][0]]),
               at.smallest(at.largest(_near(moved[1]), ends[0][1]), ends[1][1]))
    return (t.pair("Div", t.pair("Mul", x, clipped), 6.0) if rng.random() < 0.5 else
            t.pair("Mul", x, t.pair("Mul", clipped, 1 / 6)))


# ---- norms ----

def layer_norm(t: Tree, x, rng):
    n = x[1].lo.shape[-1]
    away = t.pair("Sub", x, t.mean(x))
    variance = t.mean(t.square(away, rng.random() < 0.5))
    deviation = t.one("Sqrt", t.pair("Add", variance, 1e-5))
    found = (t.pair("Div", away, deviation) if rng.random() < 0.7 else
             t.pair("Mul", away, t.one("Reciprocal", deviation)))
    found = t.pair("Mul", found, t.vector(rng.integers(-3, 4, n).astype(t.dtype)))
    return t.pair("Add", found, t.vector(rng.integers(-3, 4, n).astype(t.dtype)))


def rms_norm(t: Tree, x, rng):
    n = x[1].lo.shape[-1]
    deviation = t.one("Sqrt", t.pair("Add", t.mean(t.square(x, rng.random() < 0.5)), 1e-5))
    found = (t.pair("Div", x, deviation) if rng.random() < 0.5 else
             t.pair("Mul", x, t.one("Reciprocal", deviation)))
    return t.pair("Mul", found, t.vector(rng.integers(-3, 4, n).astype(t.dtype)))


def group_norm(t: Tree, x, rng):
    """Of groups of two channels: InstanceNormalization of them as one, by itself a tree."""
    shape, dtype = x[1].lo.shape, t.dtype
    grouped = (shape[0], shape[1] // 2, int(numpy.prod(shape[2:])) * 2)

    def numbers(size):
        return rng.integers(-3, 4, size).astype(dtype)
    inner = Tree(Builder("unused"), dtype)
    flat = ("", interval.reshaped(x[1], grouped))
    away = inner.pair("Sub", flat, inner.mean(flat))
    deviation = inner.one("Sqrt", inner.pair("Add", inner.mean(inner.square(away, False)), 1e-5))
    normal = inner.pair("Div", away, deviation)[1]

    made = t.b.node("Reshape", [x[0], t.b.constant(numpy.array(grouped[:2] + (-1,)))])
    ones, zeros = (t.b.constant(numpy.full(grouped[1], one, dtype)) for one in (1, 0))
    made = t.b.node("InstanceNormalization", [made, ones, zeros], epsilon=1e-5)
    made = t.b.node("Reshape", [made, t.b.constant(numpy.array(shape))])
    found = (made, interval.reshaped(normal, shape))
    channels = (shape[1],) + (1,) * (len(shape) - 2)
    found = t.pair("Mul", found, t.vector(numbers(channels)))
    return t.pair("Add", found, t.vector(numbers(channels)))


TREES = {one.__name__: one for one in (gelu, gelu_tanh, swish, mish, hard_swish, layer_norm,
                                       rms_norm, group_norm)}


def tree(rng, dtype) -> Source:
    name = list(TREES)[rng.integers(len(TREES))]
    if dtype.name == "float64" and name == "group_norm":
        name = "layer_norm"  # InstanceNormalization has no f64
    shape = ((3, 21), (1, 3, 4, 16), (2, 40))[rng.integers(3)]
    if name == "group_norm":
        shape = ((1, 4, 3, 5), (2, 8, 2, 9))[rng.integers(2)]
    x, seed = numbers_of.draw(rng, shape, dtype), int(rng.integers(1 << 30))

    def grow(b: Builder):
        with numpy.errstate(all="ignore"):
            return TREES[name](Tree(b, dtype), (b.input(x), interval.exact(x)),
                               numpy.random.default_rng(seed))
    return Source(f"{name} of nodes", place_of(shape, dtype), lambda b: grow(b)[0],
                  grow(Builder("t"))[1])


# ---- attention ----

def _softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(rng, dtype) -> Source:
    """Step by step in the type of the nodes, and 1e-4 of the largest value around it, more where
    scores are large: what it finds are values of another kind."""
    def some(*shape):
        value = rng.normal(size=shape).astype(dtype)
        if rng.random() < 0.3:
            special = rng.choice((numpy.nan, numpy.inf, -numpy.inf, 1e4))
            value[tuple(rng.integers(shape))] = special
        return value
    q, k, v = some(1, 2, 3, 8), some(1, 2, 5, 8), some(1, 2, 5, 8)
    form, masked = rng.integers(4), rng.integers(4)
    a, b_ = (dtype.type(rng.choice((0.5, 0.25, 1e-3))) for _ in range(2))
    if form == 2 and dtype.name == "float32" and rng.random() < 0.3:
        q, a = (q * dtype.type(1e15)), dtype.type(1e-15)
        k, b_ = (k * dtype.type(1e15)), dtype.type(1e-15)
    mask = numpy.zeros((1, 1, 3, 5), dtype)
    mask[..., rng.random((3, 5)) < 0.3] = -numpy.inf
    if rng.random() < 0.3:
        mask[0, 0, 1] = rng.choice((-numpy.inf, numpy.nan, numpy.inf))
    keep, filler = rng.random((1, 1, 3, 5)) < 0.7, dtype.type(rng.choice((-numpy.inf, -1e4)))
    turned = numpy.swapaxes(k, -1, -2)
    score = {0: lambda: (q @ turned) * a, 1: lambda: (q * a) @ turned,
             2: lambda: (q * a) @ (turned * b_), 3: lambda: q @ turned}[form]()
    scores = {0: lambda: score, 1: lambda: score + mask, 2: lambda: score + mask,
              3: lambda: numpy.where(keep, score, filler)}[masked]()
    weights = _softmax(scores)
    if masked == 2:
        weights = numpy.where(numpy.isnan(weights), dtype.type(0), weights)
    value = weights @ v

    def build(b: Builder) -> str:
        names = [b.input(one) for one in (q, k, v)]
        t = b.node("Transpose", [names[1]], perm=[0, 1, 3, 2])
        one, other = b.constant(numpy.asarray(a)), b.constant(numpy.asarray(b_))
        x = {0: lambda: b.node("Mul", [b.node("MatMul", [names[0], t]), one]),
             1: lambda: b.node("MatMul", [b.node("Mul", [names[0], one]), t]),
             2: lambda: b.node("MatMul", [b.node("Mul", [names[0], one]),
                                          b.node("Mul", [t, other])]),
             3: lambda: b.node("MatMul", [names[0], t])}[form]()
        if masked in (1, 2):
            x = b.node("Add", [x, b.input(mask)])
        elif masked == 3:
            x = b.node("Where", [b.input(keep), x, b.constant(numpy.asarray(filler))])
        w = b.node("Softmax", [x], axis=-1)
        if masked == 2:
            zero = b.constant(numpy.asarray(0, dtype))
            w = b.node("Where", [b.node("IsNaN", [w]), zero, w])
        return b.node("MatMul", [w, names[2]])
    finite = numpy.where(numpy.isfinite(score), numpy.abs(score), 0).astype(numpy.float64)
    size = numpy.where(numpy.isfinite(v), numpy.abs(v), 0).astype(numpy.float64).max()
    epsilon = {"float32": 1e-5, "float64": 1e-5}.get(dtype.name, 2.0 ** -6)
    bound = numpy.minimum(epsilon * (1 + finite.max()), 2) * (size + 1)
    wide = value.astype(numpy.float64)
    found = interval.around(wide, numpy.where(numpy.isfinite(wide), bound, 0), dtype)
    # a product by a weight that is nearly 0, or 0, with an infinity
    unsure = ~numpy.isfinite(v).all(-2, keepdims=True) | numpy.zeros(value.shape, bool)
    return Source(f"attention of nodes (form {form}, mask {masked})", place_of(value.shape, dtype),
                  build, interval.opened(found, unsure & ~numpy.isnan(wide)))
