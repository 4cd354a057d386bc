"""Tensors of other libraries go in by DLPack, without a copy where they lie as they are read;
results go out by it."""

import ctypes
import gc
import sys
import weakref

import ml_dtypes
import numpy
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper
from test_session import Spy, address

import latchkey

CPU, CUDA, CUDA_HOST = 1, 2, 3


class Tensor:
    """What is known by DLPack alone, over an array."""

    def __init__(self, array, device=CPU):
        self.array, self.device = array, device

    def __dlpack__(self, *, max_version=None, **options):
        return self.array.__dlpack__(max_version=max_version, **options)

    def __dlpack_device__(self):
        return self.device, 0


class OldTensor(Tensor):
    """One of before DLPack had versions."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))


class Bfloat16:
    """A tensor of a type that NumPy's own __dlpack__ refuses."""

    def __init__(self, array, strides=True, offset=0, code=4):
        self.array = array
        step = array.itemsize
        self.managed = Managed(
            array.__array_interface__["data"][0] - offset, CPU, 0, array.ndim, code, 8 * step, 1,
            (ctypes.c_int64 * array.ndim)(*array.shape),
            (ctypes.c_int64 * array.ndim)(*(s // step for s in array.strides)) if strides else None,
            offset, None, None)
        self.capsules = []

    def __dlpack__(self, **options):
        self.capsules.append(new_capsule(ctypes.addressof(self.managed), b"dltensor", None))
        return self.capsules[-1]

    def __dlpack_device__(self):
        return CPU, 0


@pytest.fixture(scope="module")
def negate():
    """y = -x of bfloat16."""
    return make_model([helper.make_node("Neg", ["x"], ["y"])],
                      [("x", TensorProto.BFLOAT16, None)], [("y", TensorProto.BFLOAT16, None)])


@pytest.mark.parametrize("kind", [Tensor, OldTensor])
def test_tensors_are_read_in_place(relu, monkeypatch, kind):
    spy = Spy(monkeypatch)
    session = latchkey.Session(relu)
    arrays = [random(5, 3), random(5, 3), random(2, 3)]
    for x in arrays:
        y = session.run({"x": kind(x)})["y"]
        assert numpy.array_equal(y, numpy.maximum(x, 0))
    session.run({"x": kind(arrays[0], CUDA_HOST)})
    assert spy.given == [address(x) for x in [*arrays, arrays[0]]]


@pytest.mark.parametrize("make", [
    lambda x: x[:, ::-1], lambda x: x[::2], lambda x: numpy.asfortranarray(x),
    lambda x: numpy.broadcast_to(x[:1], x.shape).copy()[::-1]],
    ids=["backwards", "every second", "fortran", "upside down"])
def test_tensors_of_other_layouts(relu, make):
    x = make(random(6, 3))
    assert numpy.array_equal(latchkey.Session(relu).run({"x": Tensor(x)})["y"],
                             numpy.maximum(x, 0))


def test_tensors_that_are_only_read(relu, monkeypatch):
    spy = Spy(monkeypatch)
    x = random(4, 3)
    x.flags.writeable = False
    session = latchkey.Session(relu)
    assert numpy.array_equal(session.run({"x": Tensor(x)})["y"], numpy.maximum(x, 0))
    assert spy.given == [address(x)]
    with pytest.raises(TypeError, match="'x' is a OldTensor that gives no tensor: .*readonly"):
        session.run({"x": OldTensor(x)})


def test_tensors_elsewhere(relu):
    session = latchkey.Session(relu)
    with pytest.raises(TypeError, match=r"input 'x' is a Tensor on the device \(2, 0\)"):
        session.run({"x": Tensor(random(2, 3), CUDA)})
    with pytest.raises(latchkey.InvalidArgumentError, match="f64"):
        session.run({"x": Tensor(random(2, 3).astype(numpy.float64))})
    with pytest.raises(TypeError, match="a number or bool is needed"):
        session.run({"x": Tensor(random(2, 3).astype(numpy.complex64))})


def test_tensors_that_fail(relu):
    session = latchkey.Session(relu)
    x = random(2, 3)

    class Broken(Tensor):
        def __dlpack__(self, **options):
            raise BufferError("it needs a gradient")

    class Other(Broken):
        def __array__(self, *args, **options):
            return self.array

    class Worse(Tensor):
        def __dlpack__(self, **options):
            raise OSError("the disk is on fire")

    with pytest.raises(TypeError, match="Broken that gives no tensor: it needs a gradient"):
        session.run({"x": Broken(x)})
    with pytest.raises(OSError, match="on fire"):
        session.run({"x": Worse(x)})
    assert numpy.array_equal(session.run({"x": Other(x)})["y"], numpy.maximum(x, 0))


def test_tensors_end_after_the_run(relu):
    session = latchkey.Session(relu)
    x = random(4, 3)
    gone = weakref.ref(x)
    session.run({"x": Tensor(x)})
    del x
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("make", [
    lambda x: Bfloat16(x), lambda x: Bfloat16(x, strides=False), lambda x: Bfloat16(x, offset=6),
    lambda x: Bfloat16(x[:, ::-1]), lambda x: Bfloat16(x[::2, 1:]), lambda x: Bfloat16(x.T),
    lambda x: Bfloat16(x[:0]), lambda x: Bfloat16(x[1, 2].reshape(()))],
    ids=["dense", "no strides", "offset", "backwards", "part", "transposed", "empty", "scalar"])
def test_bfloat16(negate, make):
    x = random(4, 5).astype(ml_dtypes.bfloat16)
    tensor = make(x)
    y = latchkey.Session(negate).run({"x": tensor})["y"]
    assert y.dtype == ml_dtypes.bfloat16 and y.shape == tensor.array.shape
    assert numpy.array_equal(y, -tensor.array)
    gc.collect()
    tensor.__dlpack__()  # nobody has this one
    assert len({sys.getrefcount(capsule) for capsule in tensor.capsules}) == 1, "nor the others"
    for capsule in tensor.capsules:
        assert is_capsule(capsule, b"dltensor"), "its destructor ends the tensor"


def test_bfloat16_is_read_in_place(negate, monkeypatch):
    spy = Spy(monkeypatch)
    x = random(4, 5).astype(ml_dtypes.bfloat16)
    session = latchkey.Session(negate)
    session.run({"x": Bfloat16(x)})
    assert spy.given == [address(x)]
    with pytest.raises(TypeError, match="gives no tensor"):
        session.run({"x": Bfloat16(x, code=9)})


@pytest.mark.parametrize(("device", "capsule"), [
    (7, None), (("a", 0), None), ((1,), None), (None, None), ((1, 0), 5), ((1, 0), None),
])
def test_what_answers_wrongly_is_named(relu, device, capsule):
    class Wrong:
        def __dlpack__(self, **_options):
            return capsule

        def __dlpack_device__(self):
            return device

    with pytest.raises(TypeError, match="failed to run: input 'x' is a Wrong that"):
        latchkey.Session(relu).run({"x": Wrong()})


def test_results_go_out_in_place(relu):
    session = latchkey.Session(relu)
    x = random(4, 3)
    y = session.run({"x": x})["y"]
    where = address(y)
    other = numpy.from_dlpack(Tensor(y))
    assert address(other) == where
    session.close()
    del y, session
    gc.collect()
    random(1 << 16)  # would reuse what was freed too early
    assert numpy.array_equal(other, numpy.maximum(x, 0))
