"""Nodes that drop elements at random, or may in some run, are left."""

import numpy
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper
from provider import check_claims, open_reference, open_session, statistics

X = numpy.random.default_rng(5).standard_normal((2, 3, 4, 4), numpy.float32)


def of(nodes, constants=(), inputs=()):
    """Bytes of a model of `x` and `inputs`; y is what the last node makes."""
    graph = helper.make_graph(
        nodes, "training", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 4, 4]),
                            *inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)],
                             ir_version=8).SerializeToString()


def with_dropout(constants, inputs=(), ratio="ratio"):
    """ONNX Runtime folds a Dropout that has no mode; its mask keeps it."""
    return of([helper.make_node("Relu", ["x"], ["r"]),
               helper.make_node("Dropout", ["r", ratio, "mode"], ["d", "mask"]),
               helper.make_node("Where", ["mask", "d", "zero"], ["kept"]),
               helper.make_node("Sigmoid", ["kept"], ["y"])],
              [("zero", numpy.float32(0)), *constants], inputs)


MODE = helper.make_tensor_value_info("mode", TensorProto.BOOL, [])


def left_of(model, feeds):
    session = open_session(model, {"claim": "all"})
    claims = statistics(session, feeds)["claims"]
    assert claims["claimed"] > 0
    return session, {left["operator"]: left["reason"] for left in claims["left"]}


def test_mode_that_a_run_brings():
    model = with_dropout([("ratio", numpy.float32(0.5))], [MODE])
    session, left = left_of(model, {"x": X, "mode": numpy.array(False)})
    assert "input 2 is not constant" in left["Dropout"]
    feeds = {"x": X, "mode": numpy.array(False)}
    right, = open_reference(model).run(None, feeds)
    found, = session.run(None, feeds)
    assert_close(found, right)
    found, = session.run(None, {"x": X, "mode": numpy.array(True)})
    dropped = numpy.count_nonzero(found == 0.5)  # Sigmoid of 0: by Relu, or dropped
    assert numpy.count_nonzero(X <= 0) < dropped < X.size


def test_mode_that_is_true():
    model = with_dropout([("ratio", numpy.float32(0.5)), ("mode", True)])
    session, left = left_of(model, {"x": X})
    assert "training_mode: it is true" in left["Dropout"]
    found, = session.run(None, {"x": X})
    assert numpy.count_nonzero(X <= 0) < numpy.count_nonzero(found == 0.5) < X.size


@pytest.mark.parametrize("mode", [[("mode", False)], None])
def test_mode_that_is_false_or_absent(mode):
    nodes = [helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("Dropout", ["r", "ratio", "mode" if mode else ""], ["d"]),
             helper.make_node("Sigmoid", ["d"], ["y"])]
    model = of(nodes, [("ratio", numpy.float32(0.5)), *(mode or [])])
    session = open_session(model, {"claim": "all"})
    right, = open_reference(model).run(None, {"x": X})
    found, = session.run(None, {"x": X})
    assert_close(found, right)
    check_claims(session, {"x": X})


def test_batch_normalization():
    """Its mean and variance are those of the batch, which is no chance. Constants differ: ONNX
    Runtime makes one of equal ones, and then writes running values over it."""
    nodes = [helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["n", "m1", "v1"],
                              training_mode=1),
             helper.make_node("Sigmoid", ["n"], ["y"])]
    model = of(nodes, [(name, numpy.full(3, value, numpy.float32))
                       for name, value in (("s", 1.5), ("b", 0.5), ("m", 0.25), ("v", 2))])
    session = open_session(model)
    right, = open_reference(model).run(None, {"x": X})
    found, = session.run(None, {"x": X})
    assert_close(found, right)
    check_claims(session, {"x": X})
