"""Steps of intervals: each as its node says, in the node's own type."""

from __future__ import annotations

import math

import ml_dtypes
import numpy

import interval
import sums
from interval import WIDE, Array, Interval

erf_of_each = numpy.vectorize(math.erf, otypes=[numpy.float64])


def _has_zero(of: Interval) -> Array:
    return (of.lo <= 0) & (of.hi >= 0)


def _has_infinity(of: Interval) -> Array:
    return numpy.isinf(of.lo) | numpy.isinf(of.hi)


def add(a: Interval, b: Interval) -> Interval:
    return interval.pair(a, b, numpy.add)


def sub(a: Interval, b: Interval) -> Interval:
    return interval.pair(a, b, numpy.subtract)


def mul(a: Interval, b: Interval) -> Interval:
    found = interval.pair(a, b, numpy.multiply)
    if a.is_exact and b.is_exact:
        return found
    unsure = (a.lo != a.hi) | (b.lo != b.hi)
    for one, other in ((a, b), (b, a)):  # 0 times infinity lies at no end, or at the ends alone
        found = interval.opened(found, unsure & _has_zero(one) & _has_infinity(other))
    return found


def div(a: Interval, b: Interval) -> Interval:
    found = interval.pair(a, b, numpy.divide)
    for one, other in ((a, b), (b, a)):  # of two zeros, or infinities: as in mul
        if not one.is_exact:
            zero = _has_zero(one) & ((other.lo == 0) | (other.hi == 0) | (one is b))
            found = interval.opened(found, zero & (one.lo != one.hi))
            found = interval.opened(found, _has_infinity(one) & _has_infinity(other))
    return found


def _zeros(found: Interval, a: Interval, b: Interval) -> Interval:
    """Nobody says which zero the largest or smallest of two zeros is."""
    return any_zero(found, _has_zero(a) & _has_zero(b))


def any_zero(found: Interval, unsure: Array | bool = True) -> Interval:
    """With zeros of either sign."""
    zero = numpy.zeros((), found.dtype)
    if not (unsure & ((found.lo == 0) | (found.hi == 0))).any():
        return found
    return Interval(numpy.where(unsure & (found.lo == 0), -zero, found.lo),
                    numpy.where(unsure & (found.hi == 0), zero, found.hi), found.open)


def smallest(a: Interval, b: Interval) -> Interval:
    return _zeros(interval.pair(a, b, numpy.minimum), a, b)


def with_limits(of: Interval) -> Interval:
    """Without a bound: where a type's own ends are the bounds, infinity is its largest number."""
    limits = ml_dtypes.finfo(of.dtype)
    lo = numpy.where(of.lo > limits.max, limits.max, of.lo).astype(of.dtype)
    hi = numpy.where(of.hi < limits.min, limits.min, of.hi).astype(of.dtype)
    return of if (lo == of.lo).all() and (hi == of.hi).all() else Interval(lo, hi, of.open)


def largest(a: Interval, b: Interval) -> Interval:
    return _zeros(interval.pair(a, b, numpy.maximum), a, b)


def number(value, dtype: numpy.dtype) -> Interval:
    return interval.exact(numpy.asarray(value).astype(dtype))


def negative(of: Interval) -> Interval:
    return interval.each(of, numpy.negative, falls=True)


def magnitude(of: Interval) -> Interval:
    if of.is_exact:
        return interval.each(of, numpy.abs)
    ends = numpy.abs(of.lo), numpy.abs(of.hi)
    zero = numpy.zeros((), of.dtype)
    lo = numpy.where((of.lo <= 0) & (of.hi >= 0), zero, interval.lower(*ends))
    return Interval(lo, interval.upper(*ends), of.open)


def square_root(of: Interval) -> Interval:
    return interval.each(of, numpy.sqrt)


def reciprocal(of: Interval) -> Interval:
    return div(number(1, of.dtype), of)


def function(of: Interval, wide, ulps: int, falls: bool = False) -> Interval:
    """One that is computed in a wider type, and of whose result some units of the last place are
    open; not where it is asked for an infinity or NaN."""
    kind = WIDE[of.dtype.name]
    found = interval.each(of, lambda x: numpy.asarray(wide(x.astype(kind))).astype(of.dtype), falls)
    sure = ~numpy.isfinite(of.lo.astype(kind)) & ~numpy.isfinite(of.hi.astype(kind))
    return interval.widen(found, ulps, sure)


def bounded(of: Interval, lo: float, hi: float) -> Interval:
    """What widening has moved out of a function's range."""
    bottom, top = numpy.asarray(lo).astype(of.dtype), numpy.asarray(hi).astype(of.dtype)
    return Interval(numpy.where(of.lo < bottom, bottom, of.lo),
                    numpy.where(of.hi > top, top, of.hi), of.open)


def tanh(of: Interval, ulps: int = 4) -> Interval:
    return bounded(function(of, numpy.tanh, ulps), -1, 1)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + numpy.exp(-x))


def sigmoid(of: Interval, ulps: int = 4) -> Interval:
    return bounded(function(of, _sigmoid, ulps), 0, 1)


def erf(of: Interval, ulps: int = 4) -> Interval:
    return bounded(function(of, lambda x: erf_of_each(x.astype(numpy.float64)), ulps), -1, 1)


def exp(of: Interval, ulps: int = 4) -> Interval:
    found = function(of, numpy.exp, ulps)
    return bounded(found, 0, numpy.inf)


def softplus(of: Interval, ulps: int = 4) -> Interval:
    return bounded(function(of, lambda x: numpy.logaddexp(x, x.dtype.type(0)), ulps), 0, numpy.inf)


def select(of: Interval, at_lo: Array, jumps: Array, yes: Interval, no: Interval) -> Interval:
    """`yes` where `at_lo` says so, else `no`; either where `jumps`. All of it from `of`."""
    found = _select(at_lo, jumps, yes, no)
    return found if of.open is None else interval.opened(found, of.open)


def _select(at_lo: Array, jumps: Array, yes: Interval, no: Interval) -> Interval:
    unknown = None
    if yes.open is not None or no.open is not None:
        some = [numpy.zeros(at_lo.shape, bool) if one.open is None else
                numpy.broadcast_to(one.open, at_lo.shape) for one in (yes, no)]
        unknown = numpy.where(at_lo, some[0], some[1])
    lo = numpy.where(at_lo, yes.lo, no.lo)
    if yes.is_exact and no.is_exact and not jumps.any():
        return Interval(lo, lo, unknown)
    certain = Interval(lo, numpy.where(at_lo, yes.hi, no.hi), unknown)
    both = interval.union(yes, no)
    opened = numpy.zeros(jumps.shape, bool)
    for one, where in ((certain.open, ~jumps), (both.open, jumps)):
        if one is not None:
            opened |= numpy.broadcast_to(one, jumps.shape) & where
    return Interval(numpy.where(jumps, both.lo, certain.lo),
                    numpy.where(jumps, both.hi, certain.hi), opened)


def loose(of: Interval) -> Interval:
    """After a rounding that an operator in the place of several nodes may leave out."""
    return interval.widen(of, 1)


def hard_sigmoid(of: Interval, alpha: float, beta: float) -> Interval:
    """Attributes are numbers of f32; HardSwish is written down by them, too."""
    steep, shift = loose(number(numpy.float32(alpha), of.dtype)), number(beta, of.dtype)
    line = loose(add(loose(mul(of, steep)), shift))
    return smallest(largest(line, number(0, of.dtype)), number(1, of.dtype))


def total(of: Interval) -> Interval:
    """The sum over the last axis, which stays as one of 1."""
    kind = WIDE[of.dtype.name]
    lo, hi = of.lo.astype(kind), of.hi.astype(kind)
    mass = sums.finite_size(numpy.maximum(numpy.abs(lo), numpy.abs(hi))).sum(-1, keepdims=True)
    ends = [sums.of_sums(end.sum(-1, keepdims=True), mass, numpy.zeros(mass.shape, bool),
                         end.shape[-1], of.dtype) for end in (lo, hi)]
    found = interval.union(*ends)
    if of.open is not None:
        found = interval.opened(found, of.open.any(-1, keepdims=True))
    return found
