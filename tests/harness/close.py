"""How tests compare arrays: each element within atol + rtol * |right|, for that element alone.

A bound that grows with the largest of an array hides wrong small elements beside it.
"""

import numpy

# The defaults are for f32 and sums of some dozens of products of numbers about 1: rounding loses
# 6e-8 of such a sum at each step. A test that needs more says why where it asks for more.
RTOL, ATOL = 1e-5, 1e-6


def assert_close(found, right, what="", rtol=RTOL, atol=ATOL):
    """Types and shapes are equal; numbers with a fraction are within the bound, all else is equal.

    `atol` is a number, or an array of one for each element. A NaN is right where `right` has one
    and nowhere else, an infinity where `right` has that one.
    """
    found, right = numpy.asarray(found), numpy.asarray(right)
    intro = f"{what}: " if what else ""
    assert found.dtype == right.dtype, f"{intro}{found.dtype}, expected {right.dtype}"
    assert found.shape == right.shape, f"{intro}{found.shape}, expected {right.shape}"
    if right.dtype.kind in "biuSUO" or "int" in right.dtype.name:  # int4 is ml_dtypes'
        close = numpy.asarray(found == right)
    else:
        # ml_dtypes' types and f16 as f64: the bound is not to be rounded to their few bits.
        wide = numpy.complex128 if right.dtype.kind == "c" else numpy.float64
        found, right = found.astype(wide), right.astype(wide)
        with numpy.errstate(invalid="ignore"):  # infinity - infinity
            close = numpy.isclose(found, right, rtol, atol, equal_nan=True)
    if close.all():
        return
    bad = numpy.argwhere(~close)
    at = tuple(int(i) for i in bad[0])
    within = ""
    if right.dtype.kind in "fc":
        bound = numpy.broadcast_to(atol, right.shape)[at] + rtol * abs(right[at])
        within = f" within {bound:.3g}"
    raise AssertionError(f"{intro}element {list(at)} is {found[at]}, expected {right[at]}{within}; "
                         f"{len(bad)} of {close.size} are wrong")

