"""What a value of a chain may be: from `lo` to `hi`, in the type of the nodes.

A step that is rounded once, such as Add or Floor, never turns the order of two numbers around. So
what it makes of the ends of an interval are the ends of what it makes of the interval: while a
chain is exact both ends are one array, and the only right value is that one, to the sign of a zero.
A step that nobody has to round exactly, such as Tanh, moves the ends apart by some units in the
last place. No step has to be left out: Floor of an interval around 3 gives 2 to 3.

`open` marks elements of which nothing is known, such as the difference of two intervals that reach
to infinity. NaN is one of its own: both ends are NaN, or none is, or the element is open."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy

Array = numpy.ndarray
WIDE = {"float16": numpy.float64, "bfloat16": numpy.float64, "float32": numpy.float64,
        "float64": numpy.longdouble}


@dataclasses.dataclass
class Interval:
    lo: Array
    hi: Array  # the same object as `lo` while the chain is exact
    open: Array | None = None  # of bool

    @property
    def is_exact(self) -> bool:
        return self.hi is self.lo

    @property
    def dtype(self) -> numpy.dtype:
        return self.lo.dtype


def exact(value: Array) -> Interval:
    return Interval(value, value)


def is_nan(value: Array) -> Array:
    return value != value


def is_float(dtype: numpy.dtype) -> bool:
    return dtype.name in WIDE


def is_below(a: Array, b: Array) -> Array:
    """In order, with -0 before 0."""
    if not is_float(a.dtype):
        return a < b
    zeros = (a == 0) & (b == 0) & numpy.signbit(a) & ~numpy.signbit(b)
    return (a < b) | zeros


def lower(a: Array, b: Array) -> Array:
    return numpy.where(is_below(b, a), b, a)


def upper(a: Array, b: Array) -> Array:
    return numpy.where(is_below(a, b), b, a)


def _either(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return a if b is None else b
    return a | b


def _settle(lo: Array, hi: Array, unknown: Array | None) -> Interval:
    """Opens what is NaN at one end only."""
    if hi is not lo and is_float(lo.dtype):
        unknown = _either(unknown, is_nan(lo) != is_nan(hi))
    return Interval(lo, hi, unknown)


def each(of: Interval, step: Callable[[Array], Array], falls: bool = False) -> Interval:
    """A step that never turns the order around, or always."""
    lo = step(of.lo)
    if of.is_exact:
        return Interval(lo, lo, of.open)
    hi = step(of.hi)
    return _settle(hi, lo, of.open) if falls else _settle(lo, hi, of.open)


def pair(a: Interval, b: Interval, step: Callable[[Array, Array], Array]) -> Interval:
    """A step that in each of its two numbers, while the other stays, never turns the order
    around, or always."""
    unknown = _either(a.open, b.open)
    first = step(a.lo, b.lo)
    if a.is_exact and b.is_exact:
        return Interval(first, first, unknown)
    lo = hi = first
    nan = is_nan(first)
    mixed = numpy.zeros(first.shape, bool)
    for x, y in ((a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)):
        corner = step(x, y)
        mixed |= is_nan(corner) != nan
        lo, hi = lower(lo, corner), upper(hi, corner)
    return Interval(lo, hi, _either(unknown, mixed))


def union(a: Interval, b: Interval) -> Interval:
    if a.is_exact and b.is_exact and a.lo is b.lo:
        return a
    mixed = is_nan(a.lo) != is_nan(b.lo)
    return _settle(lower(a.lo, b.lo), upper(a.hi, b.hi), _either(_either(a.open, b.open), mixed))


def reshaped(of: Interval, shape: tuple[int, ...]) -> Interval:
    lo = of.lo.reshape(shape)
    return Interval(lo, lo if of.is_exact else of.hi.reshape(shape),
                    None if of.open is None else of.open.reshape(shape))


def opened(of: Interval, where: Array) -> Interval:
    return Interval(of.lo, of.hi, _either(of.open, where)) if where.any() else of


def _turn(value: Array, towards: float) -> Array:
    return numpy.nextafter(value, numpy.full_like(value, towards))


def widen(of: Interval, ulps: int, keep: Array | None = None) -> Interval:
    """By units in the last place, but where `keep` says that it is exact."""
    if ulps == 0:
        return of
    lo, hi = of.lo, of.hi
    for _ in range(ulps):
        lo, hi = _turn(lo, -numpy.inf), _turn(hi, numpy.inf)
    if keep is not None:
        lo, hi = numpy.where(keep, of.lo, lo), numpy.where(keep, of.hi, hi)
    return Interval(lo, hi, of.open)


def around(value: Array, bound: Array, dtype: numpy.dtype) -> Interval:
    """What is `bound` or less from a wide value, rounded to the type; exact where the bound is 0.
    Opens what may lie beyond the type's largest number, or not."""
    lo, hi = (value - bound).astype(dtype), (value + bound).astype(dtype)
    sure = bound == 0
    if sure.all():
        return exact(value.astype(dtype))
    mixed = ~sure & (numpy.isinf(lo) != numpy.isinf(hi))
    middle = value.astype(dtype)
    lo = numpy.where(sure | ~numpy.isfinite(middle), middle, lo)
    hi = numpy.where(sure | ~numpy.isfinite(middle), middle, hi)
    return Interval(lo, hi, mixed)


def wrong(found: Array, right: Interval) -> Array:
    """Which elements are not what they may be."""
    if right.is_exact:
        same = found == right.lo
        if is_float(found.dtype):
            same &= (found != 0) | (numpy.signbit(found) == numpy.signbit(right.lo))
            same |= is_nan(found) & is_nan(right.lo)
    elif is_float(found.dtype):
        same = ~is_below(found, right.lo) & ~is_below(right.hi, found)
        same &= is_nan(found) == is_nan(right.lo)
    else:
        same = (right.lo <= found) & (found <= right.hi)
    return ~same if right.open is None else ~(same | right.open)
