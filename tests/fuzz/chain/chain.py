"""A chain: an operator and 2 to 8 steps, made of a seed."""

from __future__ import annotations

import dataclasses

import numpy

import blocks
import exceptions
import numbers_of
import quantized
import sources as of
import steps
from builder import Builder
from interval import Interval
from sources import Source
from steps import Step

# Kinds of operators and their shares.
SOURCES = ((of.none, 3), (of.unary, 2), (of.binary, 2), (of.conv, 5), (of.conv_transpose, 2),
           (of.matmul, 4), (of.gemm, 3), (of.pool, 2), (of.reduction, 2), (of.norm, 1),
           (blocks.tree, 4), (blocks.attention, 1), (quantized.source, 3))
OF_F32_ALONE = (quantized.source,)
NOT_OF_F64 = (of.conv, of.conv_transpose)
TYPES = ("f32",) * 6 + ("f16", "bf16", "f64")


@dataclasses.dataclass
class Chain:
    seed: int
    source: Source
    steps: list[Step]
    has_free_dims: bool

    def build(self, prefix: str) -> Builder:
        b = Builder(prefix, self.has_free_dims)
        b.output = self.source.build(b)
        for step in self.steps:
            b.output = step.build(b, b.output)
        if not self.steps and not b.nodes:
            b.output = b.node("Identity", [b.output])
        return b

    def right(self, by_ort: bool = False) -> Interval:
        """`by_ort`: nodes may run in ONNX Runtime's own kernels."""
        with numpy.errstate(all="ignore"):
            value, terms = self.source.value, self.source.terms
            for step in self.steps:
                evaluate = step.evaluate_by_ort if by_ort else None
                value = (evaluate or step.evaluate)(value)
                if terms is not None:
                    value, terms = exceptions.follow(terms, step, value)
        return value

    def show(self) -> str:
        lines = [f"{self.source.place.dtype.name}{list(self.source.place.shape)}"
                 f"{' with a free dimension' if self.has_free_dims else ''}", self.source.text]
        return "\n    ".join(lines + [step.text for step in self.steps])


def grow(seed: int) -> Chain:
    rng = numpy.random.default_rng(seed)
    dtype = numbers_of.TYPES[TYPES[rng.integers(len(TYPES))]]
    many = [kind for kind, share in SOURCES for _ in range(share)
            if dtype.name == "float32" or kind not in OF_F32_ALONE]
    if dtype.name == "float64":
        many = [kind for kind in many if kind not in NOT_OF_F64]
    count = rng.integers(2, 9)
    with numpy.errstate(all="ignore"):
        source = many[rng.integers(len(many))](rng, dtype)
        drawn = [steps.draw(rng, source.place) for _ in range(count)]
    return Chain(seed, source, drawn, bool(rng.random() < 0.2))
