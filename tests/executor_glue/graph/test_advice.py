"""Sentences say that ONNX Runtime may run a model where it has such operators, or such types."""

import onnx
import pytest
from onnx import TensorProto, helper

import latchkey

HINT = "ONNX Runtime may run the model"


def sentence(domain, op_type, opset):
    """Why a model of this operator does not open; "": it does."""
    node = helper.make_node(op_type, ["x"], ["y"], domain=domain)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, [2])],
                              [helper.make_tensor_value_info("y", 1, None)])
    opsets = {"": 21, domain: opset}
    made = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid(*one) for one in opsets.items()])
    try:
        latchkey.Session(made.SerializeToString()).close()
    except latchkey.Error as error:
        return str(error)
    return ""


@pytest.mark.parametrize("domain, name, opset, has_it", [
    ("", "StringSplit", 21, True), ("ai.onnx.ml", "Scaler", 3, True),
    ("com.microsoft", "MoE", 1, True), ("com.example", "Relu", 1, False),
    ("", "Gelu", 17, False)])
def test_operators_that_latchkey_lacks(domain, name, opset, has_it):
    said = sentence(domain, name, opset)
    assert "failed to find operator" in said and (HINT in said) == has_it


@pytest.mark.parametrize("dtype, has_it", [
    (TensorProto.STRING, True), (TensorProto.FLOAT8E4M3FN, True), (TensorProto.UINT4, True),
    (TensorProto.COMPLEX64, False), (TensorProto.COMPLEX128, False), (99, False)])
def test_types_that_latchkey_lacks(dtype, has_it):
    tensor = TensorProto(name="w", data_type=dtype, dims=[1], raw_data=bytes(16))
    node = helper.make_node("Identity", ["w"], ["y"])
    for inputs, initializers in (([helper.make_tensor_value_info("w", dtype, [1])], []),
                                 ([], [tensor])):
        graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")],
                                  initializers)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        with pytest.raises(latchkey.UnsupportedError) as caught:
            latchkey.Session(made.SerializeToString())
        assert (HINT in str(caught.value)) == has_it
