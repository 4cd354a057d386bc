"""NumPy arrays as tensors of the library, and back, without a copy.

A tensor remembers the last array, because a program mostly runs one shape again and again: then
only the address has to be told.
"""

from __future__ import annotations

from typing import Any

import numpy

from ._check import shown
from ._native import ffi, lib

_DTYPES = {numpy.dtype(name): number for name, number in (
    ("float32", lib.LK_F32), ("uint8", lib.LK_U8), ("int8", lib.LK_I8), ("uint16", lib.LK_U16),
    ("int16", lib.LK_I16), ("int32", lib.LK_I32), ("int64", lib.LK_I64), ("bool", lib.LK_BOOL),
    ("float16", lib.LK_F16), ("float64", lib.LK_F64), ("uint32", lib.LK_U32),
    ("uint64", lib.LK_U64))}
_NULL = ffi.NULL
_NUMPY = {number: dtype for dtype, number in _DTYPES.items()}


def numpy_dtype(number: int) -> numpy.dtype | None:
    """The NumPy type of an lk_dtype, bfloat16 from ml_dtypes; None: the model leaves it open."""
    if number == lib.LK_BF16:
        import ml_dtypes
        bfloat16: numpy.dtype = numpy.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return _NUMPY.get(number)


def _describe(desc: Any, array: numpy.ndarray, what: str, name: str) -> None:
    number = _DTYPES.get(array.dtype)
    if number is None and array.dtype.name == "bfloat16":
        number = lib.LK_BF16
    if number is None:
        raise TypeError(f"failed to run: {what} '{name}' has the type {array.dtype}, "
                        "a number or bool is needed")
    if array.ndim > len(desc.dims):
        raise ValueError(f"failed to run: {what} '{name}' has {array.ndim} dimensions, "
                         f"at most {len(desc.dims)} are supported; reshape it")
    desc.dtype = number
    desc.rank = array.ndim
    desc.dims = array.shape


def _array(value: Any, name: str) -> numpy.ndarray:
    """Whatever is no plain array as one, over the same memory where it has some."""
    if not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__"):
        from . import _dlpack  # here, because few programs need it
        if _dlpack.is_tensor(value):
            return _dlpack.to_numpy(value, name)
    try:
        return numpy.asarray(value)
    except Exception as error:  # rows of different lengths, or what an object's own code raises
        raise TypeError(f"failed to run: input '{name}' is {shown(value)} that gives no array: "
                        f"{error}") from error


class Input:
    """An lk_tensor that the library reads arrays through, one after the other."""

    __slots__ = ("_desc", "_dtype", "_name", "_shape", "_tensor")

    def __init__(self, tensor: Any, name: str) -> None:
        self._tensor, self._desc, self._name = tensor, tensor.desc, name
        self._dtype: numpy.dtype | None = None
        self._shape: tuple[int, ...] | None = None

    def point_to(self, value: Any) -> numpy.ndarray:
        """Points the tensor to an array, and returns that array, which must live as long."""
        array = value if type(value) is numpy.ndarray else _array(value, self._name)
        if array.dtype is not self._dtype or array.shape != self._shape:
            array = self._native(array)
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned):
            array = array.copy(order="C")
        self._tensor.data = ffi.from_buffer(array)
        return array

    def _native(self, array: numpy.ndarray) -> numpy.ndarray:
        """Describes the array in the byte order of this machine, which it returns it in."""
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        _describe(self._desc, array, "input", self._name)
        self._dtype, self._shape = array.dtype, array.shape
        return array


class Output:
    """An lk_tensor that the library writes results through."""

    __slots__ = ("_array", "_bytes", "_desc", "_dtype", "_name", "_seen", "_shape", "_tensor")

    def __init__(self, tensor: Any, name: str) -> None:
        self._tensor, self._name = tensor, name
        self._array: numpy.ndarray | None = None  # the caller's; None: the library allocates
        self._desc = ffi.buffer(ffi.addressof(tensor, "desc"))
        self._seen = b""  # the bytes of the description that what follows was read from
        self._dtype: numpy.dtype | None = None
        self._shape: tuple[int, ...] = ()
        self._bytes = 0

    def point_to(self, array: numpy.ndarray) -> None:
        """Points the tensor to the caller's array, which the next run writes to."""
        if not isinstance(array, numpy.ndarray):
            raise TypeError(f"failed to run: out '{self._name}' is {shown(array)}, "
                            "a numpy.ndarray is needed")
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned and flags.writeable and array.dtype.isnative):
            raise ValueError(f"failed to run: out '{self._name}' lacks one of these, all are "
                             "needed: C-contiguous, aligned, writeable, native byte order")
        _describe(self._tensor.desc, array, "out", self._name)
        self._tensor.data = ffi.from_buffer(array)
        self._array = array

    def take(self, release: Any) -> numpy.ndarray:
        """The result: the caller's array, or one over the memory that the library has allocated,
        which ends with ``release(address)``. The next run's is the library's again."""
        tensor, array = self._tensor, self._array
        if array is not None:
            self._array = None
        else:
            owned = ffi.gc(tensor.data, release)
            if self._desc != self._seen:
                self._read()
            # The array keeps the buffer, the buffer keeps `owned`.
            array = (numpy.ndarray(self._shape, self._dtype, ffi.buffer(owned, self._bytes))
                     if self._bytes > 0 else numpy.empty(self._shape, self._dtype))
        tensor.data = _NULL
        return array

    def _read(self) -> None:
        desc = self._tensor.desc
        self._dtype = numpy_dtype(desc.dtype)
        assert self._dtype is not None, "a tensor that was computed has a type"
        self._shape = tuple(desc.dims[0:desc.rank])
        self._bytes = self._dtype.itemsize
        for size in self._shape:
            self._bytes *= size
        self._seen = self._desc[:]
