"""Tensors of other libraries, by DLPack (https://dmlc.github.io/dlpack), as NumPy arrays over the
same memory; bfloat16 too, which NumPy takes from nobody."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy

_ON_CPU = (1, 3, 11, 13)  # kDLCPU; kDLCUDAHost, kDLROCMHost, kDLCUDAManaged, which it reads too
_BFLOAT = 4  # kDLBfloat


class _Tensor(ctypes.Structure):
    """DLTensor, with which an unversioned capsule's DLManagedTensor begins."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


# With types of its own: other code may give pythonapi.PyCapsule_GetPointer different ones.
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def is_tensor(value: Any) -> bool:
    """Whether DLPack can ask it."""
    return hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")


def to_numpy(value: Any, name: str) -> numpy.ndarray:
    """An array over the tensor's memory, which it keeps alive.

    :raises TypeError: it does not lie in the memory of a CPU, or does not show it.
    """
    try:
        kind, number = map(int, value.__dlpack_device__())
    except (TypeError, ValueError) as error:  # no two numbers
        raise TypeError(f"failed to run: input '{name}' is a {type(value).__name__} that does not "
                        f"say where it lies: {error}") from error
    if kind not in _ON_CPU:
        raise TypeError(f"failed to run: input '{name}' is a {type(value).__name__} on the device "
                        f"({kind}, {number}) of DLPack, one in memory of the CPU is needed")
    try:
        return numpy.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        # also a type that NumPy lacks, or what is no capsule
        array = _bfloat16(value)
        if array is None and hasattr(value, "__array__"):
            array = numpy.asarray(value)  # it may know a way, if only by a copy
        if array is None:
            raise TypeError(f"failed to run: input '{name}' is a {type(value).__name__} that gives "
                            f"no tensor: {error}") from error
        return array


def _bfloat16(value: Any) -> numpy.ndarray | None:
    """The array of a tensor of bfloat16; None: it is something else."""
    try:
        capsule = value.__dlpack__()
        tensor = _Tensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    except Exception:  # what NumPy has said of it is what the caller will read
        return None
    if (tensor.code, tensor.bits, tensor.lanes) != (_BFLOAT, 16, 1):
        return None
    import ml_dtypes
    shape = tensor.shape[:tensor.ndim]
    dtype = numpy.dtype(ml_dtypes.bfloat16)
    if 0 in shape:
        return numpy.empty(shape, dtype)
    steps = tensor.strides[:tensor.ndim] if tensor.strides else _dense(shape)
    ends = [(size - 1) * step for size, step in zip(shape, steps)]
    before = sum(end for end in ends if end < 0)  # elements before the first one
    count = sum(abs(end) for end in ends) + 1
    address = tensor.data + tensor.byte_offset + before * dtype.itemsize
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    memory.capsule = capsule  # nobody has taken the tensor out: it ends with the capsule
    array: numpy.ndarray = numpy.ndarray(tuple(shape), dtype, memory, -before * dtype.itemsize,
                                         tuple(step * dtype.itemsize for step in steps))
    return array


def _dense(shape: list[int]) -> list[int]:
    steps = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        steps[i - 1] = steps[i] * shape[i]
    return steps
