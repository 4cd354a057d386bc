"""Attributes as ONNX Runtime hands them over, lists of strings in a form of their own, and those
that operators do not have."""

import numpy
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper
from provider import check_claims, open_reference, open_session, statistics

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@pytest.mark.parametrize(("op_type", "activations"), [
    ("RNN", ["Relu"]),
    ("GRU", ["HardSigmoid", "Softsign"]),
    ("LSTM", ["Sigmoid", "Elu", "Softplus"]),
    ("LSTM", ["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "LeakyRelu", "Tanh"]),
])
def test_functions_of_recurrent_layers(op_type, activations):
    directions = 2 if len(activations) == 6 else 1
    hidden, width = 5, 7
    random = numpy.random.default_rng(len(activations))
    weights = {
        name: 0.5 * random.standard_normal([directions, GATES[op_type] * hidden, n], numpy.float32)
        for name, n in (("w", width), ("r", hidden))}
    node = helper.make_node(
        op_type, ["x", "w", "r"], ["y"], hidden_size=hidden, activations=activations,
        direction="bidirectional" if directions == 2 else "forward")
    graph = helper.make_graph(
        [node], "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["t", "n", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = open_session(model.SerializeToString())
    feeds = {"x": random.standard_normal((4, 3, width), numpy.float32)}
    right, = open_reference(model.SerializeToString()).run(None, feeds)
    found, = session.run(None, feeds)
    assert_close(found, right)
    assert check_claims(session, feeds)["claims"]["claimed"] == 1


def model_of(nodes, opset, initializers=()):
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(numpy.full((4, 4), 0.5, numpy.float32), name)
         for name in initializers])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def test_a_text_that_is_not_in_the_list_leaves_the_node():
    """ONNX Runtime has more activations for FusedGemm."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]),
             helper.make_node("FusedGemm", ["m", "w"], ["y"], domain="com.microsoft",
                              activation="Softsign")]
    model = model_of(nodes, 17, ["w"])
    session = open_session(model, {"claim": "all"})
    feeds = {"x": numpy.random.default_rng(1).standard_normal((4, 4), numpy.float32)}
    assert_close(session.run(None, feeds)[0], open_reference(model).run(None, feeds)[0])
    left, = (one for one in statistics(session, feeds)["claims"]["left"]
             if one["operator"] == "FusedGemm")
    assert "attribute 'activation' is 'Softsign', it must be one of: Clip, " in left["reason"]


@pytest.mark.parametrize(("operator", "opset", "given"), [
    ("LeakyRelu", 16, {"slope": 0.5}), ("Clip", 13, {"max": 1.0}),
    ("ReduceSum", 13, {"axes": [1]}), ("Softmax", 13, {"axes": [1]}),
    ("Softmax", 13, {"axis": 1.0}),
])
@pytest.mark.parametrize("claim", ["gains", "all"])
def test_what_operators_do_not_have_is_never_passed_over(operator, opset, given, claim):
    """ONNX Runtime itself refuses it, whoever would run the node."""
    model = model_of([helper.make_node(operator, ["x"], ["y"], **given)], opset)
    with pytest.raises(Exception, match=next(iter(given))):
        open_session(model, {"claim": claim})
