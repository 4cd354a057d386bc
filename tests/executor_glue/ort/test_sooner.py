"""Nodes that ONNX Runtime computes sooner are left to it, unless something beside them gains."""

import pathlib
import re

import pytest
from onnx import TensorProto, helper
from provider import NO_WORK, SOONER, open_session, statistics

SOURCE = pathlib.Path(__file__).parents[3] / "executor_glue/ort/sooner.c"
FLOAT, DOUBLE, INT32 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32

# Operator, type, shapes of its inputs, and whether the provider leaves it to ONNX Runtime.
NODES = [
    ("ConvTranspose", FLOAT, [(1, 8, 9, 9), (8, 2, 2, 2)], True),
    ("ConvTranspose", FLOAT, [(1, 8, 9, 9), (8, 3, 2, 2)], False),
    ("ConvTranspose", FLOAT, [(1, 9, 9, 9), (9, 2, 2, 2)], False),
    ("ConvTranspose", FLOAT, [(1, 32, 9, 9), (32, 4, 2, 2)], False),
    ("ConvTranspose", FLOAT, [(1, 32, 9, 9), (32, 5, 2, 2)], True),
    ("ConvTranspose", FLOAT, [(1, 32, 9, 9), (32, 9, 2, 2)], True),
    ("ConvTranspose", FLOAT, [(1, 32, 9, 9), (32, 10, 2, 2)], False),
    ("LayerNormalization", FLOAT, [(500, 4), (4,)], True),
    ("LayerNormalization", FLOAT, [(500, 5), (5,)], False),
    ("LayerNormalization", FLOAT, [(500, "columns"), ("columns",)], False),
    ("MatMul", FLOAT, [(500, 8), (8, 1)], True),
    ("MatMul", FLOAT, [(500, 8), (8,)], True),
    ("MatMul", FLOAT, [("rows", 8), (8, 1)], False),  # it may be one row
    ("MatMul", FLOAT, [(500, 9), (9, 1)], False),
    ("MatMul", FLOAT, [(500, 8), (8, 4)], False),
    ("MatMul", DOUBLE, [(500, 8), (8, 3)], True),
    ("MatMul", FLOAT, [(9, 500, 8), (9, 8, 1)], True),
    ("RoiAlign", FLOAT, [(1, 4, 9, 9), (2, 4), (2,)], True),
    ("RoiAlign", FLOAT, [(1, 5, 9, 9), (2, 4), (2,)], False),
    ("RoiAlign", FLOAT, [(1, "channels", 9, 9), (2, 4), (2,)], False),
]

ATTRIBUTES = {"ReduceMean": {"axes": [1]}}
INDICES = {("RoiAlign", "x2"): TensorProto.INT64}
# Reductions of i32 and i64, and operators that only move data, are in no group of their own for
# another reason, whatever they take.
OTHERS = [("ReduceMean", INT32, [(500, 2)]), ("Transpose", FLOAT, [(500, 4)])]


def model_of(op_type, dtype, shapes, behind=()):
    names = [f"x{i}" for i in range(len(shapes))]
    nodes = [helper.make_node(op_type, names, ["y"], **ATTRIBUTES.get(op_type, {})), *behind]
    graph = helper.make_graph(
        nodes, "one",
        [helper.make_tensor_value_info(name, INDICES.get((op_type, name), dtype), shape)
         for name, shape in zip(names, shapes)],
        [helper.make_tensor_value_info(nodes[-1].output[0], dtype, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=8).SerializeToString()


def claims_of(model, options=None):
    return statistics(open_session(model, options))["claims"]


@pytest.mark.parametrize("op_type, dtype, shapes, is_left", NODES)
def test_alone_a_node_is_left_where_onnx_runtime_is_sooner(op_type, dtype, shapes, is_left):
    model = model_of(op_type, dtype, shapes)
    left = claims_of(model)["left"]
    assert [(one["operator"], one["reason"]) for one in left] == (
        [(op_type, SOONER)] if is_left else [])
    assert claims_of(model, {"claim": "all"})["left"] == []


@pytest.mark.parametrize("op_type, dtype, shapes", OTHERS)
def test_what_never_gains_alone_is_left_for_that(op_type, dtype, shapes):
    assert [one["reason"] for one in claims_of(model_of(op_type, dtype, shapes))["left"]] == [
        NO_WORK]


def test_beside_a_node_that_gains_it_is_claimed():
    behind = [helper.make_node("Softmax", ["y"], ["z"])]
    assert claims_of(model_of("LayerNormalization", FLOAT, [(500, 4), (4,)], behind))["left"] == []


def test_every_rule_is_tried():
    rules = set(re.findall(r'\{"(\w+)", LK_TYPE', SOURCE.read_text()))
    assert rules == {op_type for op_type, _, _, is_left in NODES if is_left}
