"""How far a value is from what was expected: absolute, relative, in units in the last place."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy

from .. import _check

_CHUNK = 1 << 20  # elements that are looked at together: their copies as f64 stay small
_FLOATS = {"float16": numpy.uint16, "bfloat16": numpy.uint16, "float32": numpy.uint32,
           "float64": numpy.uint64}
# bf16 has 8 bits: 1e-3 is less than its last one, and those who round after every step come out
# two of these apart.
_BF16_FACTOR = 16


class Tolerance(NamedTuple):
    """Floats may differ by ``atol + rtol * |expected|``; of bf16, by 16 times the ``rtol``."""

    rtol: float = 1e-3
    atol: float = 1e-5

    def relative(self, dtype: numpy.dtype) -> float:
        return self.rtol * (_BF16_FACTOR if dtype.name == "bfloat16" else 1)


@dataclasses.dataclass
class Worst:
    """The largest error of one kind, and the element that has it."""

    error: float | int
    request: int
    at: tuple[int, ...]
    found: Any
    expected: Any

    def to_dict(self) -> dict[str, Any]:
        return {"error": _number(self.error), "request": self.request, "at": list(self.at),
                "found": _number(self.found), "expected": _number(self.expected)}


@dataclasses.dataclass
class Difference:
    """A value of one name, over all requests.

    Relative errors are those of elements whose expected number is not 0, ULP those of floats.
    A NaN or an infinity where another number stands differs, and has none of the three errors.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    """Of the first request."""
    elements: int = 0
    differing: int = 0
    """Elements that leave the tolerance."""
    not_finite: int = 0
    """Of these, NaN and infinities that are on one side alone."""
    both_nan: int = 0
    """Elements that are NaN on both sides: they agree, and say nothing of the numbers."""
    absolute: Worst | None = None
    """None: no two elements differ."""
    relative: Worst | None = None
    ulp: Worst | None = None
    first: Worst | None = None
    """The first element that leaves the tolerance, with its absolute error."""
    problem: str | None = None
    """Why elements could not be compared: another type or shape, or a side that has none."""

    @property
    def differs(self) -> bool:
        return self.differing > 0 or self.problem is not None

    def add(self, other: Difference) -> None:
        """Takes in what was found for the same value in another request."""
        _check.instance("add a difference", "other", other, Difference)
        self.elements += other.elements
        self.differing += other.differing
        self.not_finite += other.not_finite
        self.both_nan += other.both_nan
        self.first = self.first or other.first
        self.problem = self.problem or other.problem
        for kind in ("absolute", "relative", "ulp"):
            mine, others = getattr(self, kind), getattr(other, kind)
            if others is not None and (mine is None or others.error > mine.error):
                setattr(self, kind, others)

    def to_dict(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in (
            "name", "dtype", "elements", "differing", "not_finite", "both_nan", "problem")}
        worst = {name: one.to_dict() if (one := getattr(self, name)) else None
                 for name in ("absolute", "relative", "ulp", "first")}
        return {**plain, "shape": list(self.shape), **worst}


def _number(value: Any) -> Any:
    """JSON has no NaN and no infinities: they are texts."""
    if isinstance(value, (bool, int)):
        return value
    return value if numpy.isfinite(value) else str(value)


def _is_float(dtype: numpy.dtype) -> bool:
    return dtype.name in _FLOATS


def _distance(left: numpy.ndarray, right: numpy.ndarray) -> numpy.ndarray:
    """|left - right| of integers, as the unsigned ones of their width, which hold it."""
    unsigned = numpy.dtype(f"u{left.dtype.itemsize}")
    distance: numpy.ndarray = numpy.where(
        left > right, left.astype(unsigned) - right.astype(unsigned),
        right.astype(unsigned) - left.astype(unsigned))
    return distance


def _in_order(values: numpy.ndarray) -> numpy.ndarray:
    """Floats as integers in the same order, neighbours one apart; both zeros are the same."""
    bits = values.view(_FLOATS[values.dtype.name])
    middle = bits.dtype.type(1 << (8 * bits.itemsize - 1))
    ordered: numpy.ndarray = numpy.where(bits & middle, middle - (bits & ~middle), middle + bits)
    return ordered


class _Chunk(NamedTuple):
    """What is known of some elements; the errors are 0 where there is none."""

    differs: numpy.ndarray
    not_finite: numpy.ndarray
    both_nan: int
    absolute: numpy.ndarray
    relative: numpy.ndarray
    ulp: numpy.ndarray | None


def _compare_floats(found: numpy.ndarray, expected: numpy.ndarray,
                    tolerance: Tolerance) -> _Chunk:
    left, right = found.astype(numpy.float64), expected.astype(numpy.float64)
    finite = numpy.isfinite(left) & numpy.isfinite(right)
    both_nan = numpy.isnan(left) & numpy.isnan(right)
    same = (left == right) | both_nan
    zero = numpy.zeros_like(left)
    with numpy.errstate(over="ignore"):  # of f64 the difference may be infinite
        absolute = numpy.abs(numpy.subtract(left, right, out=zero.copy(), where=finite))
        size = numpy.abs(right)
        relative = numpy.divide(absolute, size, out=zero, where=finite & (size > 0))
    bound = tolerance.atol + tolerance.relative(found.dtype) * numpy.where(finite, size, 0)
    ulp = numpy.where(finite, _distance(_in_order(found), _in_order(expected)), 0)
    return _Chunk(~same & ~(finite & (absolute <= bound)), ~same & ~finite,
                  int(numpy.count_nonzero(both_nan)), absolute, relative, ulp)


def _compare_integers(found: numpy.ndarray, expected: numpy.ndarray) -> _Chunk:
    if found.dtype == numpy.bool_:
        found, expected = found.view(numpy.uint8), expected.view(numpy.uint8)
    absolute = _distance(found, expected)
    size = numpy.abs(expected.astype(numpy.float64))
    relative = numpy.divide(absolute, size, out=numpy.zeros(size.shape), where=size > 0)
    return _Chunk(found != expected, numpy.zeros(found.shape, numpy.bool_), 0, absolute, relative,
                  None)


def measure(name: str, found: numpy.ndarray | None, expected: numpy.ndarray | None,
            tolerance: Tolerance, request: int = 0) -> Difference:
    """Compares two arrays, element by element; integers and bools must be equal.

    None: that side does not have the value, which is a problem.
    """
    if found is None or expected is None:
        there = expected if found is None else found
        assert there is not None, "a value is on one side at least"
        return Difference(name, there.dtype.name, there.shape,
                          problem=f"only {'expected' if found is None else 'computed here'}")
    result = Difference(name, found.dtype.name, found.shape)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        result.problem = (f"it is {found.dtype.name} {list(found.shape)}, "
                          f"{expected.dtype.name} {list(expected.shape)} was expected")
        return result
    result.elements = found.size
    shape = found.shape
    found, expected = numpy.ravel(found), numpy.ravel(expected)

    def worst(errors: numpy.ndarray, index: int, start: int) -> Worst:
        at = numpy.unravel_index(start + index, shape)
        return Worst(errors[index].item(), request, tuple(int(i) for i in at),
                     found[start + index].item(), expected[start + index].item())

    for start in range(0, found.size, _CHUNK):
        left, right = found[start:start + _CHUNK], expected[start:start + _CHUNK]
        chunk = (_compare_floats(left, right, tolerance) if _is_float(found.dtype)
                 else _compare_integers(left, right))
        result.differing += int(numpy.count_nonzero(chunk.differs))
        result.not_finite += int(numpy.count_nonzero(chunk.not_finite))
        result.both_nan += chunk.both_nan
        if result.first is None and chunk.differs.any():
            result.first = worst(chunk.absolute, int(chunk.differs.argmax()), start)
        for kind in ("absolute", "relative", "ulp"):
            errors, known = getattr(chunk, kind), getattr(result, kind)
            if errors is None:
                continue
            index = int(errors.argmax())
            if errors[index] > (known.error if known else 0):
                setattr(result, kind, worst(errors, index, start))
    return result
