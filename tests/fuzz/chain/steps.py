"""The steps of a chain: what each is in a model, and what it makes of an interval.

A step keeps shape and type, so that a chain without it is a chain too."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import ml_dtypes
import numpy

import arithmetic as at
import interval
import numbers_of
from builder import Builder
from interval import Interval


@dataclasses.dataclass
class Place:
    """Where a step stands."""
    dtype: numpy.dtype
    shape: tuple[int, ...]
    channels: tuple[int, ...]  # the shape of a constant of one number a channel


@dataclasses.dataclass
class Step:
    text: str
    build: Callable[[Builder, str], str]
    evaluate: Callable[[Interval], Interval]
    arithmetic: tuple[str, numpy.ndarray, bool] | None = None  # operator, number, which is first
    copies: bool = False
    # of ONNX Runtime's own kernel, where that is known to differ
    evaluate_by_ort: Callable[[Interval], Interval] | None = None


def show(value: numpy.ndarray) -> str:
    flat = [repr(float(one)) for one in numpy.asarray(value, numpy.float64).ravel()]
    return flat[0] if value.ndim == 0 else "[" + ", ".join(flat) + "]"


def _node(op: str, evaluate, text: str | None = None, **attributes) -> Step:
    shown = ", ".join(f"{key}={value!r}" for key, value in attributes.items())
    return Step(text or f"{op}({shown})", lambda b, x: b.node(op, [x], **attributes), evaluate)


# ---- arithmetic ----

BINARY = {"Add": at.add, "Sub": at.sub, "Mul": at.mul, "Div": at.div, "Min": at.smallest,
          "Max": at.largest}


def _binary(op: str, what: str, number: numpy.ndarray, is_first: bool,
            put: Callable[[Builder, numpy.ndarray], str]) -> Step:
    other = interval.exact(number)
    if is_first:
        return Step(f"{op}({what}, x)", lambda b, x: b.node(op, [put(b, number), x]),
                    lambda x: BINARY[op](other, x), (op, number, True))
    return Step(f"{op}(x, {what})", lambda b, x: b.node(op, [x, put(b, number)]),
                lambda x: BINARY[op](x, other), (op, number, False))


def by_number(rng, place: Place) -> Step:
    """With one number, or one for each channel."""
    op = rng.choice(("Add", "Sub", "Mul", "Div", "Div", "Add", "Sub", "Mul", "Min", "Max"))
    shape = place.channels if rng.random() < 0.4 else ((), (1,))[rng.integers(2)]
    number = numbers_of.step_numbers(rng, shape, place.dtype)
    return _binary(op, show(number), number, rng.random() < 0.35, Builder.constant)


def by_tensor(rng, place: Place) -> Step:
    """With an input, or a constant, of the same shape."""
    op = rng.choice(("Add", "Add", "Add", "Sub", "Mul", "Div", "Max"))
    number = numbers_of.draw(rng, place.shape, place.dtype)
    put = Builder.constant if rng.random() < 0.3 else Builder.input
    return _binary(op, "tensor", number, rng.random() < 0.4, put)


def by_itself(rng, place: Place) -> Step:
    op = rng.choice(("Add", "Mul", "Sub"))

    def evaluate(x: Interval) -> Interval:
        if x.is_exact:
            return BINARY[op](x, x)
        if op == "Mul":
            size = at.magnitude(x)
            return interval.each(size, lambda v: v * v)
        return BINARY[op](x, x)
    return Step(f"{op}(x, x)", lambda b, x: b.node(op, [x, x]), evaluate)


def clip(rng, place: Place) -> Step:
    ends = numpy.sort(numbers_of.step_numbers(rng, (2,), place.dtype).astype(numpy.float64))
    ends = numpy.nan_to_num(ends, nan=1.0).astype(place.dtype)
    lo, hi = (end if rng.random() < 0.8 else None for end in (min(ends), max(ends)))

    def build(b: Builder, x: str) -> str:
        return b.node("Clip", [x] + ["" if end is None else b.constant(numpy.asarray(end))
                                     for end in (lo, hi)])

    def evaluate(x: Interval) -> Interval:
        if lo is not None:
            x = at.largest(x, at.number(lo, place.dtype))
        if hi is not None:
            x = at.smallest(x, at.number(hi, place.dtype))
        return at.with_limits(x) if lo is None or hi is None else x
    return Step(f"Clip(x, {lo}, {hi})", build, evaluate)


def power(rng, place: Place) -> Step:
    exponent = numpy.asarray(rng.choice((2, 2, 3, 0.5, 1, 0, -1, -2, 1.5)), place.dtype)
    number = float(exponent)
    ulps = {2: 0, 1: 0, 0: 0, 3: 2}.get(number, 4)

    def wide(x):
        # of 0.5 too: the root of -0 is another zero, that of -inf another number
        return numpy.power(x, x.dtype.type(number))

    def evaluate(x: Interval) -> Interval:
        if number in (0, 1):
            return interval.each(x, lambda v: v if number else numpy.ones_like(v))
        if number == 2:
            return interval.each(at.magnitude(x), lambda v: v * v)
        if number in (0.5, 1.5):  # by way of a root or not
            x = interval.opened(x, numpy.isinf(x.lo) & (x.lo < 0))
        if x.is_exact or number in (3, 0.5, 1.5):
            return at.function(x, wide, ulps)
        reached = interval.opened(at.function(at.magnitude(x), wide, ulps, falls=True), x.lo < 0)
        return interval.opened(reached, (x.lo <= 0) & (x.hi >= 0))
    return Step(f"Pow(x, {number})", lambda b, x: b.node("Pow", [x, b.constant(exponent)]),
                evaluate)


# ---- activations ----

def _leaky(alpha: float, place: Place):
    slope = at.number(numpy.float32(alpha), place.dtype)

    def evaluate(x: Interval) -> Interval:
        scaled = at.mul(x, slope)
        if place.dtype.name != "float32":  # the slope is a number of f32
            scaled = interval.widen(scaled, 1)
        return at.select(x, x.lo < 0, (x.lo < 0) != (x.hi < 0), scaled, x)
    return evaluate


def _hard_sigmoid(alpha: float, beta: float):
    return lambda x: at.hard_sigmoid(x, alpha, beta)


def _hard_swish():
    return lambda x: at.loose(at.mul(x, at.hard_sigmoid(x, 1 / 6, 0.5)))


def _elu(alpha: float, place: Place):
    def evaluate(x: Interval) -> Interval:
        below = at.smallest(x, at.number(0, place.dtype))
        steep = at.loose(at.sub(at.exp(below), at.number(1, place.dtype)))
        grown = at.loose(at.mul(steep, at.loose(at.number(numpy.float32(alpha), place.dtype))))
        return at.select(x, x.lo < 0, (x.lo < 0) != (x.hi < 0), grown, x)
    return evaluate


def _threshold(alpha: float, place: Place):
    limit = interval.widen(at.number(numpy.float32(alpha), place.dtype),
                           0 if place.dtype.name == "float32" else 1)

    def evaluate(x: Interval) -> Interval:
        jumps = (x.lo <= limit.hi) & (x.hi >= limit.lo)
        if limit.is_exact:
            jumps &= x.lo != x.hi
        return at.select(x, x.lo > limit.hi, jumps, x, at.number(0, place.dtype))
    return evaluate


def activation(rng, place: Place) -> Step:
    zero = at.number(0, place.dtype)
    number = float(numpy.float32(rng.choice((0.01, 0.1, 0.5, 1, 2))))
    return (
        lambda: _node("Relu", lambda x: at.largest(x, zero)),
        lambda: _node("LeakyRelu", _leaky(number, place), alpha=number),
        lambda: _node("Sigmoid", at.sigmoid),
        lambda: _node("Tanh", at.tanh),
        lambda: _node("HardSigmoid", _hard_sigmoid(number, 0.5), alpha=number, beta=0.5),
        lambda: _node("HardSwish", _hard_swish()),
        lambda: _node("Elu", _elu(number, place), alpha=number),
        lambda: _node("Softplus", at.softplus),
        lambda: _node("Erf", at.erf),
        lambda: _node("Exp", at.exp),
        lambda: _node("ThresholdedRelu", _threshold(number, place), alpha=number),
    )[rng.integers(11)]()


# ---- rounding, and what jumps ----

PLAIN = {"Neg": at.negative, "Abs": at.magnitude, "Sqrt": at.square_root,
         "Reciprocal": at.reciprocal, "Floor": lambda x: interval.each(x, numpy.floor),
         "Ceil": lambda x: interval.each(x, numpy.ceil),
         "Round": lambda x: interval.each(x, numpy.rint),
         "Sign": lambda x: interval.each(x, lambda v: numpy.sign(v) + numpy.zeros((), v.dtype))}


def plain(rng, place: Place) -> Step:
    op = ("Neg", "Abs", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "Floor", "Ceil",
          "Round")[rng.integers(10)]
    return _node(op, PLAIN[op])


COMPARE = {"Less": numpy.less, "Greater": numpy.greater, "LessOrEqual": numpy.less_equal,
           "GreaterOrEqual": numpy.greater_equal, "Equal": numpy.equal}


def where(rng, place: Place) -> Step:
    """x or a number, by a comparison of x."""
    op = list(COMPARE)[rng.integers(len(COMPARE))]
    limit, other = (numbers_of.step_numbers(rng, (), place.dtype) for _ in range(2))
    is_first, flips = rng.random() < 0.5, rng.random() < 0.2

    def build(b: Builder, x: str) -> str:
        sides = [b.constant(limit), x] if flips else [x, b.constant(limit)]
        values = [x, b.constant(other)] if is_first else [b.constant(other), x]
        return b.node("Where", [b.node(op, sides)] + values)

    def evaluate(x: Interval) -> Interval:
        holds = COMPARE[op](limit, x.lo) if flips else COMPARE[op](x.lo, limit)
        jumps = (x.lo <= limit) & (x.hi >= limit) & (x.lo != x.hi)
        values = [x, interval.exact(other)]
        if not is_first:
            values.reverse()
        return at.select(x, holds, jumps, *values)
    sides, values = f"x, {limit}", f"x, {other}"
    return Step(f"Where({op}({sides if not flips else f'{limit}, x'}), "
                f"{values if is_first else f'{other}, x'})", build, evaluate,
                # it adds 0 to what it chooses
                evaluate_by_ort=lambda x: at.any_zero(evaluate(x)))


CASTS = {"f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "f32": numpy.float32,
         "f64": numpy.float64, "i32": numpy.int32, "i64": numpy.int64, "u8": numpy.uint8,
         "bool": numpy.bool_}


def _to_odd(value):
    """f64 as f32, such that what is rounded to bf16 next is rounded once: what lies between two
    numbers becomes the odd one."""
    near = value.astype(numpy.float32)
    wide = near.astype(numpy.float64)
    is_beyond = numpy.isfinite(near) & (numpy.abs(wide) > numpy.abs(value))
    inner = numpy.where(is_beyond, numpy.nextafter(near, numpy.float32(0)), near)
    is_between = numpy.isfinite(near) & (wide != value)
    return (inner.view(numpy.uint32) | is_between.astype(numpy.uint32)).view(numpy.float32)


def cast(rng, place: Place) -> Step:
    """To another type and back."""
    name = list(CASTS)[rng.integers(len(CASTS))]
    target = numpy.dtype(CASTS[name])

    def there(value):
        if target.kind in "iu":  # beyond its range: anything
            value = value.astype(numpy.float64)
            value = numpy.where(numpy.abs(value) < 9.2e18, value, 0)
        return value.astype(target).astype(place.dtype)

    # ml_dtypes and ONNX Runtime round twice, to f32 before
    is_twice = target == CASTS["bf16"] and place.dtype == numpy.float64

    def there_once(value):
        return there(_to_odd(value) if is_twice else value)

    def evaluate(x: Interval, there: Callable = there_once) -> Interval:
        if target.kind == "b":
            one, zero = at.number(1, place.dtype), at.number(0, place.dtype)
            jumps = (x.lo <= 0) & (x.hi >= 0) & (x.lo != x.hi)
            return at.select(x, x.lo != 0, jumps, one, zero)
        found = interval.each(x, there)
        if target.kind in "iu":
            limits = numpy.iinfo(target)
            lo, hi = (numpy.trunc(end.astype(numpy.float64)) for end in (x.lo, x.hi))
            inside = (lo >= limits.min) & (hi <= min(limits.max, 9.2e18))
            found = interval.opened(found, ~inside)
        return found

    def evaluate_by_ort(x: Interval) -> Interval:
        once, twice = evaluate(x), evaluate(x, there)
        return Interval(interval.lower(once.lo, twice.lo), interval.upper(once.hi, twice.hi),
                        once.open)
    return Step(f"Cast({name}) and back",
                lambda b, x: b.cast(b.cast(x, target), place.dtype), evaluate,
                copies=target == place.dtype, evaluate_by_ort=evaluate_by_ort if is_twice else None)


# Kinds of steps and their shares.
KINDS = ((by_number, 10), (plain, 4), (activation, 3), (where, 2), (cast, 2), (clip, 2),
         (by_tensor, 2), (power, 1), (by_itself, 1))
_MANY = [kind for kind, share in KINDS for _ in range(share)]


def draw(rng, place: Place) -> Step:
    return _MANY[rng.integers(len(_MANY))](rng, place)
