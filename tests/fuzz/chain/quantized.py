"""Operators between DequantizeLinear and QuantizeLinear, which passes/quantized.inc makes operators
on bytes.

Bytes are multiplied as whole numbers and scales once, where the nodes round numbers of f32: what is
quantized may be some roundings beside what the nodes make, and so a byte on the other side of a
half, or the same."""

from __future__ import annotations

import dataclasses

import numpy

import arithmetic as at
import exceptions
import interval
import sums
from builder import Builder
from interval import Interval
from sources import Source, place_of

F32 = numpy.dtype(numpy.float32)
SCALES = (1, 0.5, 0.25, 2.0 ** -7, 0.1, 0.02, 1 / 255, 0.037)


@dataclasses.dataclass
class Bytes:
    """A quantized tensor; `axis`: of scales, one for each index along it."""
    value: numpy.ndarray
    scale: numpy.ndarray
    zero: numpy.ndarray
    axis: int | None = None

    def real(self) -> numpy.ndarray:
        shape = [1] * self.value.ndim
        if self.axis is not None:
            shape[self.axis] = -1
        scale, zero = self.scale.reshape(shape), self.zero.reshape(shape).astype(numpy.int32)
        return ((self.value.astype(numpy.int32) - zero).astype(F32) * scale).astype(F32)

    def build(self, b: Builder, is_constant: bool) -> str:
        value = (b.constant if is_constant else b.input)(self.value)
        axis = {} if self.axis is None else {"axis": self.axis}
        return b.node("DequantizeLinear", [value, b.constant(self.scale), b.constant(self.zero)],
                      **axis)


def _scale(rng):
    return numpy.asarray(SCALES[rng.integers(len(SCALES))], F32)


def _some(rng, shape, dtype=numpy.uint8) -> Bytes:
    limits = numpy.iinfo(dtype)
    zero = numpy.asarray(rng.integers(limits.min, limits.max + 1), dtype)
    return Bytes(rng.integers(limits.min, limits.max + 1, shape).astype(dtype), _scale(rng), zero)


def _weights(rng, shape, axis) -> Bytes:
    each = axis is not None and rng.random() < 0.5
    n = shape[axis] if each else None
    scale = rng.choice(SCALES, n).astype(F32)
    return Bytes(rng.integers(-128, 128, shape).astype(numpy.int8), numpy.asarray(scale),
                 numpy.zeros(scale.shape, numpy.int8), axis if each else None)


def _quantize(of: Interval, scale, zero) -> Interval:
    limits = numpy.iinfo(zero.dtype)

    def step(x):
        whole = numpy.rint(x / scale) + float(zero)
        return numpy.clip(whole, limits.min, limits.max).astype(F32)
    return interval.each(of, lambda x: ((step(x) - F32.type(zero)) * scale).astype(F32))


def _sum(terms) -> Interval:
    """Roundings of scales reach each term; a sum of bytes itself is exact."""
    found = sums.of_terms(terms, F32)
    mass = sums.finite_size(terms).sum(-1)
    return interval.union(found, interval.around(terms.sum(-1), mass * 2.0 ** -21, F32))


def _near(of: Interval) -> Interval:
    return interval.widen(of, 6)


# ---- the operators: what is built and what it makes of real numbers, before QuantizeLinear ----

def _conv(rng):
    group = int(rng.choice((1, 4)))
    x, w = _some(rng, (1, 4, 5, 7)), _weights(rng, (4, 4 // group, 3, 3), 0)
    terms = sums.conv_terms(sums.wide(x.real()), sums.wide(w.real()), 1, group)
    sizes = numpy.abs(sums.wide(w.real())).sum((1, 2, 3))[:, None, None]
    return (lambda b: b.node("Conv", [x.build(b, False), w.build(b, True)], pads=[1] * 4,
                             group=group)), _sum(terms), exceptions.terms_of(terms, sizes)


def _matmul(rng):
    x, w = _some(rng, (3, 16)), _weights(rng, (16, 9), 1)
    terms = sums.wide(x.real())[..., None, :] * sums.wide(w.real()).T
    return (lambda b: b.node("MatMul", [x.build(b, False), w.build(b, True)])), _sum(
        terms), exceptions.terms_of(terms)


def _two(op, step):
    def draw(rng):
        x, y = _some(rng, (2, 3, 11)), _some(rng, (2, 3, 11))
        return (lambda b: b.node(op, [x.build(b, False), y.build(b, False)])), _near(
            at.add(step(interval.exact(x.real()), interval.exact(y.real())),
                   _slack(x.real(), y.real())))
    return draw


def _slack(*values) -> Interval:
    """Of a sum that may cancel: some roundings of its larger term."""
    size = numpy.maximum(*(numpy.abs(value) for value in values)) * F32.type(2.0 ** -21)
    return Interval(-size, size)


def _one(op, step, shape=(2, 3, 11), **attributes):
    def draw(rng):
        x = _some(rng, shape)
        return (lambda b: b.node(op, [x.build(b, False)], **attributes)), _near(
            step(interval.exact(x.real())))
    return draw


def _leaky(x):
    return at.select(x, x.lo < 0, numpy.zeros(x.lo.shape, bool),
                     at.mul(x, at.number(0.1, F32)), x)


def _windows(x, largest):
    seen = sums.patches(sums.wide(x.lo), (2, 2), 0)[:, :, ::2, ::2]
    seen = seen.reshape(seen.shape[:4] + (-1,))
    return interval.exact(seen.max(-1).astype(F32)) if largest else _sum(seen / 4)


POOLS = {"kernel_shape": [2, 2], "strides": [2, 2]}
KINDS = (_conv, _conv, _matmul, _matmul, _two("Add", at.add), _two("Mul", at.mul),
         _one("Sigmoid", at.sigmoid), _one("LeakyRelu", _leaky, alpha=0.1),
         _one("Relu", lambda x: at.largest(x, at.number(0, F32))),
         _one("MaxPool", lambda x: _windows(x, True), (1, 4, 6, 10), **POOLS),
         _one("AveragePool", lambda x: _windows(x, False), (1, 4, 6, 10), **POOLS))


def source(rng, dtype) -> Source:
    kind = KINDS[rng.integers(len(KINDS))]
    build, found, *terms = kind(rng)
    probe = Builder("t")
    build(probe)
    op = probe.nodes[-1].op_type
    scale = _scale(rng)
    zero = numpy.asarray(rng.integers(0, 256), numpy.uint8)
    if rng.random() < 0.25:  # back to real numbers without
        return Source(f"quantized {op}, not quantized again", place_of(found.lo.shape, F32), build,
                      found, *terms)

    def quantized(b: Builder) -> str:
        q = b.node("QuantizeLinear", [build(b), b.constant(scale), b.constant(zero)])
        return b.node("DequantizeLinear", [q, b.constant(scale), b.constant(zero)])
    return Source(f"quantized {op}", place_of(found.lo.shape, F32), quantized,
                  _quantize(found, scale, zero))
