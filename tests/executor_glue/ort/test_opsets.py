"""Operators that came before the oldest opset that Latchkey reads, in models of later opsets: ONNX
Runtime says of a node in which opset its operator came, not which one the model is of."""

import numpy
import onnx
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper
from provider import check_claims, open_reference, open_session


@pytest.mark.parametrize("opset", [7, 8, 9, 11, 12, 13, 17, 23])
def test_all_is_claimed(opset):
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Concat", ["t", "t"], ["c"], axis=1),
        helper.make_node("Reshape", ["c", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    oldest = {onnx.defs.get_schema(node.op_type, opset).since_version for node in nodes}
    assert min(oldest) < 7 or opset >= 13
    random = numpy.random.default_rng(opset)
    graph = helper.make_graph(
        nodes, "old", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(numpy.array([0, 24]), "shape"),
         numpy_helper.from_array(random.standard_normal((24, 5), numpy.float32), "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    session = open_session(model.SerializeToString())
    x = random.standard_normal((2, 3, 4), numpy.float32)
    right, = open_reference(model.SerializeToString()).run(None, {"x": x})
    found, = session.run(None, {"x": x})
    assert_close(found, right)
    claims = check_claims(session, {"x": x})["claims"]
    assert (claims["claimed"], claims["subgraphs"]) == (len(nodes), 1)
