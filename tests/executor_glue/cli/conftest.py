"""Fixtures of the command's tests."""

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli_harness import save_model


@pytest.fixture
def classifier(tmp_path):
    """softmax(relu(x @ w)) over any number of rows; two outputs, one with a name no file may
    have."""
    w = (numpy.arange(12, dtype=numpy.float32).reshape(4, 3) - 5) / 7
    save_model(
        tmp_path / "classifier.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
         helper.make_node("Relu", ["product"], ["hidden/relu:0"], name="relu"),
         helper.make_node("Softmax", ["hidden/relu:0"], ["y"], name="softmax", axis=-1)],
        [("x", TensorProto.FLOAT, ["rows", 4])],
        [("y", TensorProto.FLOAT, ["rows", 3]), ("hidden/relu:0", TensorProto.FLOAT, ["rows", 3])],
        [numpy_helper.from_array(w, "w")])
    return tmp_path / "classifier.onnx"
