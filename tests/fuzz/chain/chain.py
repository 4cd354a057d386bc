"""A chain: an operator and 2 to 8 steps, made of a seed."""

from __future__ import annotations

import dataclasses

import numpy

import numbers_of
import sources
import steps
from builder import Builder
from interval import Interval
from sources import Source
from steps import Step

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

    def right(self) -> Interval:
        with numpy.errstate(all="ignore"):
            value = self.source.value
            for step in self.steps:
                value = step.evaluate(value)
        return value

    def show(self) -> str:
        lines = [f"{self.source.place.dtype.name}{list(self.source.place.shape)}"
                 f"{' with a free dimension' if self.has_free_dims else ''}", self.source.text]
        return "\n    ".join(lines + [step.text for step in self.steps])


def grow(seed: int) -> Chain:
    rng = numpy.random.default_rng(seed)
    dtype = numbers_of.TYPES[TYPES[rng.integers(len(TYPES))]]
    source = sources.draw(rng, dtype)
    count = rng.integers(2, 9)
    with numpy.errstate(all="ignore"):
        many = [steps.draw(rng, source.place) for _ in range(count)]
    return Chain(seed, source, many, bool(rng.random() < 0.2))
