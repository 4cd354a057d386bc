"""NumPy arrays as tensors of the library, and back, without a copy."""

from __future__ import annotations

from typing import Any

import numpy

from ._native import ffi, lib

_DTYPES = {numpy.dtype(name): number for name, number in (
    ("float32", lib.LK_F32), ("uint8", lib.LK_U8), ("int8", lib.LK_I8), ("uint16", lib.LK_U16),
    ("int16", lib.LK_I16), ("int32", lib.LK_I32), ("int64", lib.LK_I64), ("bool", lib.LK_BOOL),
    ("float16", lib.LK_F16), ("float64", lib.LK_F64), ("uint32", lib.LK_U32),
    ("uint64", lib.LK_U64))}
_NUMPY = {number: dtype for dtype, number in _DTYPES.items()}


def numpy_dtype(number: int) -> numpy.dtype | None:
    """The NumPy type of an lk_dtype, bfloat16 from ml_dtypes; None: the model leaves it open."""
    if number == lib.LK_BF16:
        import ml_dtypes
        return numpy.dtype(ml_dtypes.bfloat16)
    return _NUMPY.get(number)


def _fill(tensor: Any, array: numpy.ndarray, what: str, name: str) -> None:
    number = _DTYPES.get(array.dtype)
    if number is None and array.dtype.name == "bfloat16":
        number = lib.LK_BF16
    if number is None:
        raise TypeError(f"failed to run: {what} '{name}' has the type {array.dtype}, "
                        "a number or bool is needed")
    if array.ndim > len(tensor.desc.dims):
        raise ValueError(f"failed to run: {what} '{name}' has {array.ndim} dimensions, "
                         f"at most {len(tensor.desc.dims)}")
    tensor.desc.dtype = number
    tensor.desc.rank = array.ndim
    tensor.desc.dims = array.shape
    tensor.data = ffi.cast("void *", array.ctypes.data)


def fill_input(tensor: Any, value: Any, name: str) -> numpy.ndarray:
    """Points the tensor to the array, and returns the array, which must live as long."""
    array = numpy.asarray(value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = array.copy(order="C")
    _fill(tensor, array, "input", name)
    return array


def fill_output(tensor: Any, array: numpy.ndarray, name: str) -> None:
    """Points the tensor to the caller's array, which the run writes to."""
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"failed to run: out '{name}' is a {type(array).__name__}, "
                        "a numpy.ndarray is needed")
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable and array.dtype.isnative):
        raise ValueError(f"failed to run: out '{name}' must be C-contiguous, aligned, writeable "
                         "and of native byte order")
    _fill(tensor, array, "out", name)


def take_output(session: Any, tensor: Any) -> numpy.ndarray:
    """An array that owns memory of the library's, and with it a reference to the session."""
    owned = ffi.gc(ffi.cast("char *", tensor.data),
                   lambda data, release=lib.lk_py_output_release: release(session, data))
    dtype = numpy_dtype(tensor.desc.dtype)
    assert dtype is not None, "a tensor that was computed has a type"
    shape = tuple(tensor.desc.dims[0:tensor.desc.rank])
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return numpy.empty(shape, dtype)
    # The buffer keeps `owned`, the array keeps the buffer.
    return numpy.frombuffer(ffi.buffer(owned, count * dtype.itemsize), dtype).reshape(shape)
