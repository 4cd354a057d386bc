"""Bad inputs and outputs of a run."""

import numpy
from latchkey._native import ffi, lib
from making import f32, model_of
from onnx import TensorProto, helper

import latchkey

CHAIN = model_of([helper.make_node("Relu", ["x"], ["h"], name="first"),
                  helper.make_node("Exp", ["h"], ["y"], name="second")],
                 [("x", TensorProto.FLOAT, ["rows", 3])])
PRODUCT = model_of([helper.make_node("MatMul", ["a", "b"], ["y"], name="n")],
                   [("a", TensorProto.FLOAT, None), ("b", TensorProto.FLOAT, None)])
STEERED = model_of([helper.make_node("Reshape", ["x", "shape"], ["y"], name="n")],
                   [("x", TensorProto.FLOAT, None), ("shape", TensorProto.INT64, None)])
WIDER = model_of([helper.make_node("Unsqueeze", ["x", "axes"], ["y"], name="n")],
                 [("x", TensorProto.FLOAT, None)], [("axes", numpy.array([0]))])


def run(model, feeds, *arguments, **options):
    return lambda: latchkey.Session(model.SerializeToString()).run(feeds, *arguments, **options)


def after(change):
    def attempt():
        session = latchkey.Session(CHAIN.SerializeToString())
        change(session)
        session.run({"x": f32(2, 3)})
    return attempt


def cancelled():
    cancel = latchkey.Cancel()
    cancel.set()
    latchkey.Session(CHAIN.SerializeToString()).run({"x": f32(2, 3)}, cancel=cancel)


def opening_cancelled():
    cancel = latchkey.Cancel()
    cancel.set()
    latchkey.Session(CHAIN.SerializeToString(), cancel=cancel)


def into_no_type():
    """In C: `{"y", {{0}, data}}`."""
    session, x, y = latchkey.Session(CHAIN.SerializeToString()), f32(2, 3), f32(2, 3)
    kept = [ffi.new("char[]", b"x"), ffi.new("char[]", b"y")]
    of_x = {"desc": {"dtype": 1, "rank": 2, "dims": [2, 3]}, "data": ffi.from_buffer(x)}
    inputs = ffi.new("lk_named_tensor[]", [{"name": kept[0], "tensor": of_x}])
    outputs = ffi.new("lk_named_tensor[]", [
        {"name": kept[1], "tensor": {"data": ffi.from_buffer(y)}}])
    error = ffi.new("lk_error *")
    lib.lk_py_session_run(session._handle(), inputs, 1, outputs, 1, ffi.NULL, error)
    return ffi.string(error.message).decode()


X = {"x": f32(2, 3)}
RUNS = {
    "opening with a cancel that is set": opening_cancelled,
    "into room without a type": into_no_type,
    "no inputs": run(CHAIN, {}),
    "an input that the model does not have": run(CHAIN, {"z": f32(2, 3)}),
    "an output that the model does not have": run(CHAIN, X, ["z"]),
    "an output twice": run(CHAIN, X, ["y", "y"]),
    "ONNX Runtime's order": run(CHAIN, None, X),
    "an array in place of a dict": run(CHAIN, f32(2, 3)),
    "a text for a list of outputs": run(CHAIN, X, "y"),
    "another type": run(CHAIN, {"x": numpy.ones((2, 3))}),
    "another rank": run(CHAIN, {"x": f32(3)}),
    "another fixed dimension": run(CHAIN, {"x": f32(2, 4)}),
    "rank 9": run(PRODUCT, {"a": f32(*[1] * 9), "b": f32(1, 1)}),
    "texts": run(CHAIN, {"x": numpy.array(["a"])}),
    "objects": run(CHAIN, {"x": numpy.array([[None]], object)}),
    "complex numbers": run(CHAIN, {"x": numpy.ones((2, 3), complex)}),
    "shapes that do not match": run(PRODUCT, {"a": f32(2, 3), "b": f32(4, 5)}),
    "a shape that does not fit": run(STEERED, {"x": f32(6), "shape": numpy.array([4, 2])}),
    "a shape input of too many bytes":
        run(STEERED, {"x": f32(6), "shape": numpy.ones(9000, numpy.int64)}),
    "rank 8 that becomes 9": run(WIDER, {"x": f32(*[1] * 8)}),
    "an output buffer of another shape": run(CHAIN, X, out={"y": f32(2, 2)}),
    "an output buffer of another type": run(CHAIN, X, out={"y": numpy.ones((2, 3))}),
    "an output buffer that is not contiguous": run(CHAIN, X, out={"y": f32(3, 2).T}),
    "an output buffer over an input": run(CHAIN, X, out={"y": X["x"]}),
    "a closed session": after(lambda session: session.close()),
    "a timeout that is a text": run(CHAIN, X, timeout="1"),
    "a negative timeout": run(CHAIN, X, timeout=-1),
    "a timeout of 0": run(CHAIN, X, timeout=0),
    "a cancel that is set": cancelled,
    "a cancel of another kind": run(CHAIN, X, cancel=1),
}
