"""What a pass may round in another place than its nodes say, as its row in passes/ states.

Behind a sum of products, arithmetic with one number a channel may be a part of the weights and the
bias (pass "scale_shift"), and a tensor that is added may be the first term of the sum (pass
"residual"). Both are as good as another order of the sum: a rounding for each of its terms. A sum
whose terms are whole numbers rounds nothing then, too; only the sign of a 0 is open."""

from __future__ import annotations

import dataclasses

import numpy

import interval
import sums
from interval import Array, Interval

LARGEST_SHIFT = 1024  # times what the weights are together: beyond it, nothing is folded


@dataclasses.dataclass
class Terms:
    """Of a sum that has not been used but by arithmetic."""
    mass: Array  # of each element: the sum without signs
    count: int
    is_whole: bool
    sizes: Array | None = None  # of each channel: its weights, without signs; None: nothing folds


def terms_of(terms: Array, sizes: Array | None = None) -> Terms:
    return Terms(sums.finite_size(terms).sum(-1), terms.shape[-1],
                 bool((terms == numpy.floor(terms)).all()), sizes)


def _widened(found: Interval, terms: Terms) -> Interval:
    kind = terms.mass.dtype
    exact = terms.is_whole & (terms.mass < 2.0 ** 23)
    bound = numpy.where(exact, 0, (terms.count + 3) * 2.0 ** -24 * terms.mass) + 1.4e-45
    lo, hi = found.lo.astype(kind) - bound, found.hi.astype(kind) + bound
    lo, hi = (end.astype(found.dtype) for end in (lo, hi))
    finite = numpy.isfinite(found.lo) & numpy.isfinite(found.hi)
    lo, hi = numpy.where(finite, lo, found.lo), numpy.where(finite, hi, found.hi)
    beyond = terms.mass > 0.4 * sums.LARGEST.get(found.dtype.name, 3.4e38)
    return interval.opened(Interval(lo, hi, found.open), beyond)


def _is_power_of_two(number: Array) -> Array:
    return numpy.abs(numpy.frexp(number)[0]) == 0.5


def _fold(terms: Terms, op: str, number: Array, number_first: bool) -> Terms | None:
    """None: the pass leaves it."""
    size, sizes = numpy.abs(number), terms.sizes
    assert sizes is not None
    whole = terms.is_whole and bool((number == numpy.floor(number)).all())
    if op in ("Add", "Sub"):
        if not ((size <= LARGEST_SHIFT * sizes) | (sizes == 0)).all():
            return None
        return Terms(terms.mass + size, terms.count + 1, whole, sizes)
    if op == "Div":
        if number_first or not _is_power_of_two(number).all():
            return None
        size = 1 / size
    elif op != "Mul":
        return None
    return Terms(terms.mass * size, terms.count, whole and op == "Mul", sizes * size)


def follow(terms: Terms, step, found: Interval) -> tuple[Interval, Terms | None]:
    """What `found`, which a step makes of such a sum as its node says, may be, and the terms that
    it has then."""
    if step.copies:
        return found, terms
    if step.arithmetic is None or found.dtype.name != "float32":
        return found, None
    op, number, number_first = step.arithmetic
    wide = sums.wide(number)
    if number.size == 1:
        return found, None
    if number.shape == found.lo.shape:
        if op != "Add":
            return found, None
        return _widened(found, Terms(terms.mass + sums.finite_size(wide), terms.count + 1,
                                     False)), None
    if terms.sizes is None:  # one vector that is added is rounded by itself
        kept = Terms(terms.mass + sums.finite_size(wide), terms.count + 1, False)
        return found, kept if op == "Add" else None
    folded = _fold(terms, op, wide, number_first) if numpy.isfinite(wide).all() else None
    return (found, None) if folded is None else (_widened(found, folded), folded)
