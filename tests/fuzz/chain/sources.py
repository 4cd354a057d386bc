"""What chains begin with: each kind of operator that takes post-ops, and none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy

import arithmetic as at
import exceptions
import interval
import numbers_of
import sums
from builder import Builder
from exceptions import Terms
from interval import Interval
from steps import Place, show


@dataclasses.dataclass
class Source:
    text: str
    place: Place
    build: Callable[[Builder], str]
    value: Interval
    terms: Terms | None = None  # of a sum of products


def place_of(shape, dtype) -> Place:
    if len(shape) < 3:
        return Place(dtype, tuple(shape), tuple(shape[-1:]))
    return Place(dtype, tuple(shape), (shape[1],) + (1,) * (len(shape) - 2))


def _of(text: str, dtype, value: Interval, build, terms: Terms | None = None) -> Source:
    return Source(text, place_of(value.lo.shape, dtype), build, value, terms)


def plain(value: Interval, dtype) -> Source:
    """Its value is what the model gets: only of an exact one."""
    return _of("input", dtype, value, lambda b: b.input(value.lo))


SHAPES = ((3, 21), (1, 3, 5, 7), (2, 3, 9), (4, 16), (1, 37), (1, 16, 2, 2), (70,))


def _shape(rng):
    return SHAPES[rng.integers(len(SHAPES))]


def none(rng, dtype) -> Source:
    return plain(interval.exact(numbers_of.draw(rng, _shape(rng), dtype)), dtype)


def unary(rng, dtype) -> Source:
    op, step = (("Abs", at.magnitude), ("Neg", at.negative),
                ("Relu", lambda x: at.largest(x, at.number(0, dtype))),
                ("Sqrt", at.square_root))[rng.integers(4)]
    x = numbers_of.draw(rng, _shape(rng), dtype)
    return _of(op, dtype, step(interval.exact(x)), lambda b: b.node(op, [b.input(x)]))


def binary(rng, dtype) -> Source:
    op, step = (("Add", at.add), ("Sub", at.sub), ("Mul", at.mul),
                ("Div", at.div))[rng.integers(4)]
    shape = _shape(rng)
    x, y = (numbers_of.draw(rng, shape, dtype) for _ in range(2))
    return _of(f"{op} of two", dtype, step(interval.exact(x), interval.exact(y)),
               lambda b: b.node(op, [b.input(x), b.input(y)]))


def conv(rng, dtype) -> Source:
    channels, group, kernel, pad = (
        (3, 1, (1, 1), 0), (3, 1, (3, 3), 1), (4, 4, (3, 3), 1), (4, 2, (3, 3), 0),
        (16, 16, (3, 3), 1), (16, 1, (1, 1), 0), (3, 1, (3,), 1), (8, 8, (5, 5), 2),
    )[rng.integers(8)]
    outputs = channels if group > 2 else int(rng.choice((2, 4, 16)))
    x = numbers_of.draw(rng, (1, channels) + (5, 7)[:len(kernel)], dtype)
    w = numbers_of.small_whole(rng, (outputs, channels // group) + kernel, dtype)
    bias = numbers_of.small_whole(rng, (outputs,), dtype, 20) if rng.random() < 0.4 else None
    terms = sums.conv_terms(sums.wide(x), sums.wide(w), pad, group)
    if bias is not None:
        more = sums.wide(bias).reshape(1, -1, *(1,) * len(kernel), 1)
        terms = numpy.concatenate([terms, numpy.broadcast_to(more, terms.shape[:-1] + (1,))], -1)

    def build(b: Builder) -> str:
        inputs = [b.input(x), b.constant(w)] + ([] if bias is None else [b.constant(bias)])
        return b.node("Conv", inputs, pads=[pad] * 2 * len(kernel), group=group)
    sizes = sums.wide(numpy.abs(w)).reshape(outputs, -1).sum(-1).reshape(-1, *(1,) * len(kernel))
    return _of(f"Conv({kernel}, group={group}, bias={bias is not None})", dtype,
               sums.of_terms(terms, dtype), build, exceptions.terms_of(terms, sizes))


def conv_transpose(rng, dtype) -> Source:
    channels, group, kernel, stride = ((3, 1, 2, 2), (4, 4, 3, 1), (4, 2, 3, 2),
                                       (3, 1, 1, 1))[rng.integers(4)]
    x = numbers_of.draw(rng, (1, channels, 3, 5), dtype)
    w = numbers_of.small_whole(rng, (channels, int(rng.choice((1, 2))), kernel, kernel), dtype)
    value, mass, whole = sums.transposed(sums.wide(x), sums.wide(w), stride, group)
    count = channels // group * kernel ** 2
    found = sums.of_sums(value, mass, whole, count, dtype)
    sizes = numpy.abs(sums.wide(w)).reshape(group, channels // group, w.shape[1], -1)
    sizes = sizes.sum((1, 3)).reshape(-1, 1, 1)
    return _of(f"ConvTranspose({kernel}, stride={stride}, group={group})", dtype, found,
               lambda b: b.node("ConvTranspose", [b.input(x), b.constant(w)],
                                strides=[stride] * 2, group=group),
               Terms(mass, count, bool(whole.all()), sizes))


def matmul(rng, dtype) -> Source:
    rows, terms, columns = ((4, 5, 7), (1, 16, 33), (3, 40, 16), (5, 3, 1))[rng.integers(4)]
    batch = (() if rng.random() < 0.7 else (2,))
    x = numbers_of.draw(rng, batch + (rows, terms), dtype)
    is_constant = rng.random() < 0.7
    w = numbers_of.small_whole(rng, (terms, columns), dtype)
    products = sums.wide(x)[..., None, :] * sums.wide(w).T
    return _of(f"MatMul({x.shape} by {w.shape}, constant={is_constant})", dtype,
               sums.of_terms(products, dtype),
               lambda b: b.node("MatMul", [b.input(x), (Builder.constant if is_constant else
                                                        Builder.input)(b, w)]),
               exceptions.terms_of(products))


def gemm(rng, dtype) -> Source:
    rows, terms, columns = ((4, 5, 7), (1, 16, 33))[rng.integers(2)]
    x = numbers_of.draw(rng, (rows, terms), dtype)
    w = numbers_of.small_whole(rng, (columns, terms), dtype)
    alpha, beta = (float(rng.choice((1, 1, 2, -1))) for _ in range(2))
    c = numbers_of.small_whole(rng, (columns,), dtype, 20) if rng.random() < 0.6 else None
    products = alpha * sums.wide(x)[:, None, :] * sums.wide(w)
    if c is not None:
        more = numpy.broadcast_to(beta * sums.wide(c)[:, None], products.shape[:-1] + (1,))
        products = numpy.concatenate([products, more], -1)

    def build(b: Builder) -> str:
        inputs = [b.input(x), b.constant(w)] + ([] if c is None else [b.constant(c)])
        return b.node("Gemm", inputs, transB=1, alpha=alpha, beta=beta)
    found = sums.of_terms(products, dtype)
    if alpha < 0:  # before the sum or behind it
        found = at.any_zero(found)
    return _of(f"Gemm(alpha={alpha}, beta={beta}, C={c is not None})", dtype, found, build,
               exceptions.terms_of(products))


def pool(rng, dtype) -> Source:
    x = numbers_of.draw(rng, (1, int(rng.choice((3, 16))), 6, 10), dtype)
    kind = rng.integers(3)
    seen = sums.patches(sums.wide(x), (2, 2), 0)[:, :, ::2, ::2].reshape(*x.shape[:2], 3, 5, 4)
    if kind == 0:
        found = interval.exact(seen.max(-1).astype(dtype))
        unsure = numpy.isnan(seen).any(-1) | ((seen == 0).sum(-1) > 1)
        return _of("MaxPool", dtype, interval.opened(found, unsure),
                   lambda b: b.node("MaxPool", [b.input(x)], kernel_shape=[2, 2], strides=[2, 2]))
    if kind == 1:
        return _of("AveragePool", dtype, _mean(seen, dtype),
                   lambda b: b.node("AveragePool", [b.input(x)], kernel_shape=[2, 2],
                                    strides=[2, 2]))
    flat = sums.wide(x)[:, :, :4, :8]
    return _of("GlobalAveragePool", dtype, _mean(flat.reshape(*x.shape[:2], 1, 1, 32), dtype),
               lambda b: b.node("GlobalAveragePool", [b.input(x[:, :, :4, :8])]))


def _mean(terms, dtype) -> Interval:
    n, mass = terms.shape[-1], sums.finite_size(terms).sum(-1)  # n is a power of two
    is_exact = (terms == numpy.floor(terms * n) / n).all(-1) & (mass < 2 ** 16)
    found = sums.of_sums(terms.sum(-1) / n, mass / n, is_exact, n, dtype)
    return interval.opened(found, mass > 0.4 * sums.LARGEST.get(dtype.name, 3.4e38))


def reduction(rng, dtype) -> Source:
    op = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
          "ReduceSumSquare")[rng.integers(6)]
    axis = int(rng.integers(1, 3))
    x = numbers_of.draw(rng, (5, 8, 16), dtype)
    terms = numpy.moveaxis(sums.wide(x), axis, -1)
    if op in ("ReduceMax", "ReduceMin"):
        best = (terms.max if op == "ReduceMax" else terms.min)(-1).astype(dtype)
        unsure = numpy.isnan(terms).any(-1) | ((terms == 0).sum(-1) > 1)
        found = interval.opened(interval.exact(best), unsure)
    elif op == "ReduceMean":
        found = _mean(terms, dtype)
    else:
        terms = {"ReduceSum": lambda t: t, "ReduceL1": numpy.abs,
                 "ReduceSumSquare": numpy.square}[op](terms)
        found = sums.of_terms(terms, dtype)
    return _of(f"{op}(axis {axis})", dtype, found,
               lambda b: b.node(op, [b.input(x), b.constant(numpy.array([axis]))], keepdims=0))


def norm(rng, dtype) -> Source:
    """Their own roundings are no matter of chains: they get a wide bound."""
    x = numbers_of.draw(rng, (1, 4, 5, 8), dtype, ("whole", "fractions", "whole_and_edges")[
        rng.integers(3)])
    ones = numpy.ones(4, dtype)
    kind = rng.integers(4) if dtype.name != "float64" else 2
    axes = ((3,), (2, 3), (3,), (1,))[kind]
    wide = sums.wide(x)
    if kind == 0:
        value, text = _standard(wide, axes, 1e-5), "LayerNormalization"
        scale = numpy.ones(8, dtype)
        def build(b): return b.node(text, [b.input(x), b.constant(scale)], axis=-1)
    elif kind == 1:
        value, text = _standard(wide, axes, 1e-5), "InstanceNormalization"
        def build(b): return b.node(text, [b.input(x), b.constant(ones), b.constant(0 * ones)])
    elif kind == 2:
        e = numpy.exp(wide - wide.max(3, keepdims=True))
        value, text = e / e.sum(3, keepdims=True), "Softmax"
        def build(b): return b.node(text, [b.input(x)], axis=-1)
    else:
        value, text = wide / numpy.sqrt(numpy.asarray(1 + 1e-5, wide.dtype)), "BatchNormalization"
        def build(b): return b.node(text, [b.input(x), b.constant(ones), b.constant(0 * ones),
                                           b.constant(0 * ones), b.constant(ones)])
    unsure = ~numpy.isfinite(wide)
    unsure |= numpy.abs(wide) > (1e4 if dtype.itemsize > 2 else 100)
    if kind < 3:
        unsure = numpy.broadcast_to(unsure.any(axes, keepdims=True), x.shape)
    epsilon = {"float64": 1e-14, "float32": 1e-5}.get(dtype.name, 2.0 ** -6)
    value = numpy.where(unsure, 0, value)
    found = interval.around(value, epsilon * (1 + numpy.abs(value)), dtype)
    terms = Terms(numpy.abs(value), 2, False, numpy.ones((4, 1, 1))) if kind == 3 else None
    return _of(text, dtype, interval.opened(found, unsure), build, terms)


def _standard(x, axes, epsilon):
    middle = x - x.mean(axes, keepdims=True)
    return middle / numpy.sqrt((middle ** 2).mean(axes, keepdims=True) + epsilon)
