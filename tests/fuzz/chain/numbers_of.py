"""The numbers that chains are tried at."""

from __future__ import annotations

import ml_dtypes
import numpy

TYPES = {"f32": numpy.dtype(numpy.float32), "f16": numpy.dtype(numpy.float16),
         "bf16": numpy.dtype(ml_dtypes.bfloat16), "f64": numpy.dtype(numpy.float64)}
DIVISORS = (3, 5, 7, 10, 15, 41, 100, 255)
STEPS = (0, -0.0, 1, -1, 2, -2, 0.5, 4, 0.25, 3, 6, 7, 10, 15, 41, 200, 255, -3, 0.1, 0.3, 1 / 3,
         2 / 3, 1 / 255, 0.044715, 1.5, 2.5, -0.5, 1e-3, 1000, 65536, 8388608, 12582912, 16777216,
         2.0 ** 31, 1e-30, 1e30, 1e-40, 2.0 ** -126, 2.0 ** -130, 2.0 ** 127, 3e38, 1e-7, 6144,
         384, numpy.inf, -numpy.inf, numpy.nan)
EDGES = {"float16": (65504, 6.104e-5, 5.96e-8, 2048, 2049, 1024.5),
         "bfloat16": (3.39e38, 1.18e-38, 9.2e-41, 256, 257),
         "float32": (3.4028235e38, 1.1754944e-38, 1e-45, 16777216, 16777215, 8388607.5, 4194303.8),
         "float64": (1.797e308, 2.3e-308, 5e-324, 2.0 ** 53, 2.0 ** 52 - 0.5, 1e300, 1e-300)}


def _largest(dtype: numpy.dtype) -> float:
    return EDGES[dtype.name][0]


def step_number(rng: numpy.random.Generator, dtype: numpy.dtype) -> float:
    """What a step adds, divides by and so on; NaN and infinities are rare."""
    draw = rng.random()
    if draw < 0.5:
        return STEPS[rng.integers(len(STEPS) if draw < 0.1 else len(STEPS) - 3)]
    if draw < 0.8:
        return float(rng.integers(-40, 41))
    return float(rng.normal(0, 3))


def step_numbers(rng, shape, dtype) -> numpy.ndarray:
    found = numpy.array([step_number(rng, dtype) for _ in range(int(numpy.prod(shape)))])
    return found.reshape(shape).astype(dtype)


def _whole(rng, n, dtype):
    most = 40 if dtype.itemsize == 2 else 300
    return rng.integers(-most, most + 1, n).astype(float)


def _multiples(rng, n, dtype):
    return float(rng.choice(DIVISORS)) * rng.integers(-60, 61, n) + rng.integers(-2, 3)


def _halves(rng, n, dtype):
    return rng.integers(-60, 61, n) / 2


def _fractions(rng, n, dtype):
    return rng.normal(0, 3, n)


def _large(rng, n, dtype):
    return rng.uniform(-1, 1, n) * _largest(dtype) ** rng.uniform(0.5, 1, n)


def _tiny(rng, n, dtype):
    return rng.uniform(-1, 1, n) * _largest(dtype) ** -rng.uniform(0.5, 1.05, n)


def _edges(rng, n, dtype):
    edges = numpy.array((0, -0.0, 1, 0.3, 1.5, 2.5, 3, numpy.inf, numpy.nan) + EDGES[dtype.name])
    return rng.choice(edges, n) * rng.choice((1, -1), n)


def _whole_and_edges(rng, n, dtype):
    return numpy.where(rng.random(n) < 0.1, _edges(rng, n, dtype), _whole(rng, n, dtype))


def _mixed(rng, n, dtype):
    many = [kind(rng, n, dtype) for kind in (_whole, _fractions, _large, _tiny, _edges)]
    return numpy.choose(rng.integers(len(many), size=n), many)


KINDS = {"whole": (_whole, 5), "multiples": (_multiples, 4), "halves": (_halves, 1),
         "fractions": (_fractions, 2), "large": (_large, 1), "tiny": (_tiny, 1),
         "edges": (_edges, 2), "whole_and_edges": (_whole_and_edges, 4), "mixed": (_mixed, 2)}
_NAMES = [name for name, (_, share) in KINDS.items() for _ in range(share)]


def draw(rng, shape, dtype, kind: str | None = None) -> numpy.ndarray:
    """The numbers of an input; the kind is drawn, too."""
    kind = kind or _NAMES[rng.integers(len(_NAMES))]
    n = int(numpy.prod(shape))
    with numpy.errstate(all="ignore"):
        return numpy.asarray(KINDS[kind][0](rng, n, dtype)).reshape(shape).astype(dtype)


def small_whole(rng, shape, dtype, most: int = 3) -> numpy.ndarray:
    """Weights, of which sums are exact."""
    return rng.integers(-most, most + 1, shape).astype(dtype)
