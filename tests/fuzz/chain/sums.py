"""What a sum of products may be, in any order: exact where no order rounds, else within a rounding
for each term."""

from __future__ import annotations

import numpy

import interval
from interval import WIDE, Array, Interval

EPSILON = {"float64": 2.0 ** -53}  # of sums; those of all other types are f32
LARGEST = {"float64": 1.7e308}
TINIEST = {"float64": 5e-324}


def wide(value: Array) -> Array:
    return value.astype(WIDE[value.dtype.name])


def finite_size(terms: Array) -> Array:
    return numpy.where(numpy.isfinite(terms), numpy.abs(terms), 0)


def of_terms(terms: Array, dtype: numpy.dtype) -> Interval:
    """Sums over the last axis of products that are exact in their wide type."""
    return of_sums(terms.sum(-1), finite_size(terms).sum(-1),
                   (terms == numpy.floor(terms)).all(-1), terms.shape[-1], dtype)


def of_sums(value: Array, mass: Array, is_whole: Array, n: int, dtype: numpy.dtype) -> Interval:
    """`mass`: the sum of finite terms without signs. Each term and each sum may be rounded."""
    epsilon = EPSILON.get(dtype.name, 2.0 ** -24)
    sure = ~numpy.isfinite(value) | (is_whole & (mass * epsilon * 2 <= 1))
    bound = numpy.where(sure, 0, (n + 2) * epsilon * mass + n * TINIEST.get(dtype.name, 1.4e-45))
    # a sum that overflows may meet an infinity of the other sign
    beyond = mass > 0.4 * LARGEST.get(dtype.name, 3.4e38)
    return interval.opened(interval.around(value, bound, dtype), beyond)


def patches(x: Array, kernel: tuple[int, ...], pad: int) -> Array:
    """[N, C, ...] to [N, C, ..., kernel]: what a window at each place sees."""
    padded = numpy.pad(x, [(0, 0)] * 2 + [(pad, pad)] * len(kernel))
    return numpy.lib.stride_tricks.sliding_window_view(
        padded, kernel, axis=tuple(range(2, x.ndim)))


def conv_terms(x: Array, w: Array, pad: int, group: int) -> Array:
    """[N, M, ..., terms] of a convolution."""
    n, channels = x.shape[:2]
    seen = patches(x, w.shape[2:], pad)
    places = seen.shape[2:x.ndim]
    seen = seen.reshape(n, group, 1, channels // group, *places, -1)
    weights = w.reshape(1, group, w.shape[0] // group, w.shape[1], *(1,) * len(places), -1)
    terms = numpy.moveaxis(seen * weights, 3, -2)
    return terms.reshape(n, w.shape[0], *places, -1)


def transposed(x: Array, w: Array, stride: int, group: int) -> tuple[Array, Array, Array]:
    """A ConvTranspose of two dimensions without pads: sums, mass, whether all terms are whole."""
    n, channels, height, width = x.shape
    per, kernel = w.shape[1], w.shape[2:]
    shape = (n, per * group, (height - 1) * stride + kernel[0], (width - 1) * stride + kernel[1])
    value, mass, whole = numpy.zeros(shape, x.dtype), numpy.zeros(shape, x.dtype), \
        numpy.ones(shape, bool)
    for c in range(channels):
        first = c // (channels // group) * per
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                at = (slice(None), slice(first, first + per),
                      slice(i, i + height * stride, stride), slice(j, j + width * stride, stride))
                at = at[:2] + tuple(slice(s.start, min(s.stop, size), s.step)
                                    for s, size in zip(at[2:], shape[2:]))
                term = x[:, c:c + 1] * w[c, :, i, j].reshape(1, per, 1, 1)
                value[at] += term
                mass[at] += finite_size(term)
                whole[at] &= term == numpy.floor(term)
    return value, mass, whole
