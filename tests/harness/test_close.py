"""What compares arrays in tests finds what is wrong, and says where."""

import ml_dtypes
import numpy
import pytest
from close import assert_close

NAN, INFINITY = numpy.nan, numpy.inf


def floats(*values, dtype=numpy.float32):
    return numpy.array(values, dtype)


def test_what_is_within_the_bound():
    assert_close(floats(1000.009, 0.9e-6), floats(1000, 0))
    assert_close(floats(2.5), floats(2), rtol=0.25, atol=0)
    assert_close(floats(0.5, 3), floats(0, 2), rtol=0, atol=floats(0.5, 1))
    assert_close(numpy.zeros((0, 3)), numpy.zeros((0, 3)))
    assert_close(floats(-0.0), floats(0.0), rtol=0, atol=0)
    assert_close(floats(1.01, dtype=ml_dtypes.bfloat16), floats(1, dtype=ml_dtypes.bfloat16),
                 rtol=0.008, atol=0)
    assert_close(numpy.array(["a", "b"], object), numpy.array(["a", "b"], object))


@pytest.mark.parametrize(("found", "right"), [
    (1000.02, 1000), (1.1e-6, 0), (NAN, 1), (1, NAN), (NAN, INFINITY), (INFINITY, NAN),
    (INFINITY, -INFINITY), (INFINITY, 3e38), (3e38, INFINITY)])
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64, ml_dtypes.bfloat16])
def test_what_is_not(found, right, dtype):
    if dtype == ml_dtypes.bfloat16 and right == 1000:
        found = 1008  # the next number
    with pytest.raises(AssertionError, match="1 of 2 are wrong"):
        assert_close(floats(1, found, dtype=dtype), floats(1, right, dtype=dtype))


def test_nan_and_infinities_where_they_are_expected():
    values = floats(NAN, INFINITY, -INFINITY)
    assert_close(values, values)
    with pytest.raises(AssertionError):
        assert_close(floats(NAN), floats(1), rtol=INFINITY, atol=INFINITY)


def test_small_element_beside_a_large_one():
    with pytest.raises(AssertionError) as raised:
        assert_close(floats(1e6, 1, 1.5, 2).reshape(2, 2), floats(1e6, 1, 1, 1).reshape(2, 2), "y")
    assert str(raised.value) == ("y: element [1, 0] is 1.5, expected 1.0 within 1.1e-05; "
                                 "2 of 4 are wrong")


@pytest.mark.parametrize(("found", "right"), [
    (numpy.ones((2, 1)), numpy.ones((1, 2))),
    (numpy.ones(1), numpy.float64(1)),
    (numpy.ones(3), numpy.float64(1)),
    (numpy.ones(0), numpy.ones((0, 1))),
    (numpy.ones(1, numpy.float32), numpy.ones(1)),
    (numpy.ones(1, numpy.int32), numpy.ones(1, numpy.int64))])
def test_other_shapes_and_types(found, right):
    with pytest.raises(AssertionError, match="expected"):
        assert_close(found, right, rtol=1, atol=1)


def test_integers_are_equal():
    assert_close(numpy.array([2**53 + 1]), numpy.array([2**53 + 1]))
    with pytest.raises(AssertionError, match=r"element \[0\] is 9007199254740993, expected "
                                             "9007199254740992; 1 of 1 are wrong"):
        assert_close(numpy.array([2**53 + 1]), numpy.array([2**53]), rtol=1, atol=1)
    with pytest.raises(AssertionError):
        assert_close(numpy.array([True, False]), numpy.array([True, True]), rtol=1, atol=1)
    with pytest.raises(AssertionError):
        assert_close(numpy.array([1], ml_dtypes.int4), numpy.array([2], ml_dtypes.int4), atol=1)
    with pytest.raises(AssertionError):
        assert_close(numpy.array(["a"], object), numpy.array(["b"], object))
