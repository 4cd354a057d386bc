"""Attributes that ONNX Runtime hands over in a form of its own: lists of strings."""

import numpy
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper
from provider import check_claims, open_reference, open_session

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
