"""Where things are, and small models for the tests of the Python package."""

import gc
import os
from pathlib import Path

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper

import latchkey

ROOT = Path(os.environ.get("LK_TEST_SOURCE", Path(__file__).parents[2]))
BUILD = Path(os.environ.get("LK_TEST_BUILD", ROOT / "build"))
ONEDNN = Path(latchkey.__file__).parent / "liblatchkey_onednn.so"
needs_onednn = pytest.mark.skipif(
    not ONEDNN.exists(), reason="this build has no oneDNN: tools/setup builds it")


def make_model(nodes, inputs, outputs, constants=(), opset=17, metadata=None):
    """The bytes of a model; inputs and outputs: (name, ONNX type, shape)."""
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    helper.set_model_props(model, metadata or {})
    return model.SerializeToString()


def random(*shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape, numpy.float32)


def rss():
    """Resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def of_rows(rows):
    """Inputs of `attention`, whose result is `v`: its rows are equal."""
    return dict.fromkeys("qkv", numpy.full([1, 8, rows, 64], 0.1, numpy.float32))


@pytest.fixture(scope="session")
def relu():
    """y = max(x, 0), any number of rows of 3."""
    return make_model([helper.make_node("Relu", ["x"], ["y"])],
                      [("x", TensorProto.FLOAT, ["rows", 3])],
                      [("y", TensorProto.FLOAT, ["rows", 3])], metadata={"author": "näme\nline 2"})


def make_convnet():
    """Two convolutions and a classifier over pictures of any size, two outputs."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["c2"], ["features"]),
        helper.make_node("GlobalAveragePool", ["features"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w3", "b3"], ["logits"], transB=1),
        helper.make_node("Softmax", ["logits"], ["scores"])]
    constants = [("w1", random(16, 3, 3, 3, seed=1) / 5), ("b1", random(16, seed=2)),
                 ("w2", random(24, 16, 3, 3, seed=3) / 12), ("w3", random(10, 24, seed=4)),
                 ("b3", random(10, seed=5))]
    return make_model(nodes, [("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
                      [("scores", TensorProto.FLOAT, ["n", 10]),
                       ("features", TensorProto.FLOAT, ["n", 24, None, None])], constants)


@pytest.fixture(scope="session")
def convnet():
    return make_convnet()


@pytest.fixture(scope="session")
def endless():
    """A loop of a small operator that does not end, or does not begin."""
    value = [helper.make_tensor_value_info(name, kind, []) for name, kind in
             (("i", TensorProto.INT64), ("on", TensorProto.BOOL), ("past", TensorProto.FLOAT))]
    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["on_out"]),
         helper.make_node("Relu", ["past"], ["next"])], "body", value,
        [helper.make_tensor_value_info("on_out", TensorProto.BOOL, []),
         helper.make_tensor_value_info("next", TensorProto.FLOAT, [])])
    return make_model([helper.make_node("Loop", ["", "go", "x"], ["y"], body=body)],
                      [("go", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [])],
                      [("y", TensorProto.FLOAT, [])])


@pytest.fixture(scope="session")
def attention():
    """One operator, which takes seconds of many rows."""
    values = [(name, TensorProto.FLOAT, [1, 8, "rows", 64]) for name in "qkvy"]
    return make_model([helper.make_node("Attention", ["q", "k", "v"], ["y"])], values[:3],
                      values[3:], opset=23)


@pytest.fixture
def context():
    """A context of the test's own."""
    yield latchkey.Context(threads=2)
    gc.collect()


def reference(model, inputs):
    """What ONNX Runtime computes."""
    import onnxruntime
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))
