"""What a session says of the model as it runs: nodes and passes."""

import threading

import numpy
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper

import latchkey


def test_nodes_are_those_that_run(convnet):
    session = latchkey.Session(convnet, context=latchkey.Context())
    nodes = session.nodes
    assert isinstance(nodes, tuple) and len(nodes) == session.stats()["session"]["nodes"]
    assert [(node.op_type, node.output_name, node.fused) for node in nodes] == [
        ("Conv", "r1", "relu"), ("Conv", "features", "sigmoid"),
        ("GlobalAveragePool", "pooled", ""), ("Flatten", "flat", ""), ("Gemm", "logits", ""),
        ("Softmax", "scores", "")]
    assert {node.domain for node in nodes} == {""} == {node.name for node in nodes}
    assert {node.implementation for node in nodes} == {""}, "none was bound"
    session.run({"x": random(1, 3, 8, 8)})
    after = session.nodes
    assert all(node.implementation for node in after)
    assert [node._replace(implementation="") for node in after] == list(nodes)
    op_type, *_, implementation = after[-1]
    assert op_type == "Softmax" and implementation == after[-1].implementation


def test_nodes_of_a_model_that_is_run_in_parts():
    """A node whose shape depends on data is bound nowhere; what follows it is."""
    model = make_model([helper.make_node("NonZero", ["x"], ["where"], name="Wo ist ß?"),
                        helper.make_node("Neg", ["where"], ["y"])],
                       [("x", TensorProto.FLOAT, ["n"])], [("y", TensorProto.INT64, None)])
    session = latchkey.Session(model)
    session.run({"x": numpy.ones(3, numpy.float32)})
    assert [(node.op_type, node.name) for node in session.nodes] == [
        ("NonZero", "Wo ist ß?"), ("Neg", "")]
    assert [bool(node.implementation) for node in session.nodes] == [False, True]


def test_names_need_not_be_utf_8():
    node = helper.make_node("Neg", ["x"], ["y"], name="NAME")
    model = make_model([node], [("x", TensorProto.FLOAT, ["n"])], [("y", TensorProto.FLOAT, ["n"])])
    session = latchkey.Session(model.replace(b"NAME", b"N\xff\xfeE"))
    assert session.nodes[0].name.encode("utf-8", "surrogateescape") == b"N\xff\xfeE"


def test_a_model_without_nodes_has_none():
    model = make_model([helper.make_node("Identity", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, ["n"])], [("y", TensorProto.FLOAT, ["n"])])
    session = latchkey.Session(model)
    assert len(session.nodes) == session.stats()["session"]["nodes"]


def test_passes_say_what_they_changed(convnet):
    session = latchkey.Session(convnet)
    passes = {one.name: one for one in session.passes}
    assert isinstance(session.passes, tuple) and len(passes) == len(session.passes)
    assert passes["activation"].changes == 2 and passes["activation"].enabled is True
    assert all(one.summary for one in session.passes)
    without = latchkey.Session(convnet, disabled_passes=["activation", "activation_after_residual"])
    off = [one for one in without.passes if not one.enabled]
    assert [(one.name, one.changes) for one in off] == [
        ("activation", 0), ("activation_after_residual", 0)]
    assert [other.name for other in without.passes] == list(passes)
    assert len(without.nodes) > len(session.nodes)


def test_a_clone_has_nodes_of_its_own(convnet):
    session = latchkey.Session(convnet, context=latchkey.Context())
    session.run({"x": random(1, 3, 8, 8)})
    clone = session.clone()
    assert [node.output_name for node in clone.nodes] == [
        node.output_name for node in session.nodes]
    assert {node.implementation for node in clone.nodes} == {""}
    assert clone.passes == session.passes


def test_a_closed_session_has_none(relu):
    session = latchkey.Session(relu)
    session.close()
    for name in ("nodes", "passes"):
        with pytest.raises(ValueError, match="it is closed"):
            getattr(session, name)
    with pytest.raises(AttributeError):
        latchkey.Session(relu).nodes = ()


def test_nodes_are_read_while_others_run_and_close(convnet):
    session = latchkey.Session(convnet, context=latchkey.Context())
    failed = []

    def read():
        try:
            for _ in range(200):
                assert len(session.nodes) == 6 and session.stats()["session"]["nodes"] == 6
        except ValueError as error:
            if "closed" not in str(error):
                failed.append(error)
        except Exception as error:
            failed.append(error)
    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for width in range(8, 40):
        session.run({"x": random(1, 3, 8, width)})
    session.close()
    for thread in threads:
        thread.join()
    assert not failed
