"""Sentences say that ONNX Runtime may run a model where it has the operator, and only there."""

import onnx
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime

import latchkey

HINT = "ONNX Runtime may run the model"
DOMAINS = ("", "ai.onnx.ml", "com.microsoft")
INNER = {"MemcpyFromHost", "MemcpyToHost"}  # it puts them into graphs; no model has them
KERNELS = {(kernel.domain, kernel.op_name) for kernel in onnxruntime.get_all_opkernel_def()
           if kernel.provider == "CPUExecutionProvider" and kernel.op_name not in INNER}
SCHEMAS = {(schema.domain, schema.name) for schema in onnxruntime.get_all_operator_schema()}
SCHEMAS |= {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas_with_history()}


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


@pytest.mark.parametrize("domain", DOMAINS)
def test_operators_that_latchkey_lacks(domain):
    lacking = 0
    for name in sorted(name for place, name in SCHEMAS | KERNELS if place == domain):
        said = sentence(domain, name, 21 if domain == "" else 1)
        if "it is not in the operator table" not in said:
            continue
        lacking += 1
        assert (HINT in said) == ((domain, name) in KERNELS), said
    assert lacking > 5


@pytest.mark.parametrize("domain, name, opset", [
    ("", "NoSuchThing", 21), ("ai.onnx.ml", "NoSuchThing", 3), ("com.microsoft", "NoSuchThing", 1),
    ("com.example", "Relu", 1), ("", "Concat3", 21), ("", " Affine", 21),
    ("", "ffine", 21), ("", "Gelu", 17)])
def test_operators_that_nobody_has(domain, name, opset):
    said = sentence(domain, name, opset)
    assert "failed to find operator" in said and HINT not in said


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
