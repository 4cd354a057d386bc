"""latchkey ops --missing MODEL...: all that keeps a model from running, not the first of it."""

import json
import warnings

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli_harness import latchkey, save_model


def floats(name, shape=("n",)):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def missing(path, code=1):
    result = latchkey("ops", "--missing", "--json", path)
    assert (result.code, result.err) == (code, "")
    [model] = models_of(result)
    assert model["model"] == str(path)
    assert model["runs"] == (code == 0)
    return model


def models_of(result):
    """What it has printed, whatever its exit code is."""
    return json.loads(result.out)


def kinds(model):
    return {(row["operator"], row["domain"]): row for row in model["nodes"]}


def save(path, nodes, inputs, outputs, constants=(), opset=20, functions=()):
    domains = [helper.make_opsetid(name, 1) for name in ("strange", "calls")]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *domains],
                                functions=list(functions), ir_version=9), str(path))
    return path


def test_what_runs_lacks_nothing(classifier):
    model = missing(classifier, 0)
    assert (model["nodes"], model["other"], model["error"]) == ([], [], None)
    assert "runs wholly here" in latchkey("ops", "--missing", classifier).ok().out


def test_every_kind_is_listed_once(tmp_path):
    path = save(tmp_path / "m.onnx",
                [helper.make_node("One", [f"x{i}"], [f"x{i + 1}"], domain="strange", name=f"n{i}")
                 for i in range(5)] +
                [helper.make_node("Two", ["x5"], ["y"], domain="strange"),
                 helper.make_node("Relu", ["y"], ["z"])],
                [floats("x0")], [floats("z")])
    found = kinds(missing(path))
    assert set(found) == {("One", "strange"), ("Two", "strange")}
    one = found["One", "strange"]
    assert (one["count"], one["nodes"], one["opset"]) == (5, ["n0", "n1", "n2"], 1)
    assert one["reason"] == ("it is not in the operator table, which 'latchkey ops' lists; a "
                             "program in C may register one of its own, by op_register")
    assert found["Two", "strange"]["nodes"] == ["y"]
    lines = latchkey("ops", "--missing", path).out.splitlines()
    assert lines[0].endswith("does not run here")
    assert "n0, n1, n2, ..." in lines[2]


def test_bodies_and_functions_are_searched(tmp_path):
    body = helper.make_graph(
        [helper.make_node("Inner", ["carried"], ["next"], domain="strange"),
         helper.make_node("Identity", ["on"], ["still"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("on", TensorProto.BOOL, []), floats("carried")],
        [helper.make_tensor_value_info("still", TensorProto.BOOL, []), floats("next")])
    twice = helper.make_function(
        "calls", "Twice", ["a"], ["c"],
        [helper.make_node("Called", ["a"], ["b"], domain="strange"),
         helper.make_node("Called", ["b"], ["c"], domain="strange")],
        [helper.make_opsetid("strange", 1)])
    path = save(tmp_path / "m.onnx",
                [helper.make_node("Loop", ["trips", "", "x"], ["l"], name="loop", body=body),
                 helper.make_node("Twice", ["l"], ["y"], name="call", domain="calls")],
                [floats("x"), helper.make_tensor_value_info("trips", TensorProto.INT64, [])],
                [floats("y")], functions=[twice])
    found = kinds(missing(path))
    assert set(found) == {("Inner", "strange"), ("Called", "strange")}
    assert found["Inner", "strange"]["nodes"] == ["/loop.body/next"]
    assert found["Called", "strange"]["count"] == 2


def test_types_are_a_kind_of_their_own(tmp_path):
    bools = helper.make_tensor_value_info("b", TensorProto.BOOL, ["n", "n"])
    path = save(tmp_path / "m.onnx",
                [helper.make_node("MatMul", ["b", "b"], ["y"]),
                 helper.make_node("MatMul", ["x", "x"], ["z"])],
                [bools, floats("x", ["n", "n"])],
                [helper.make_tensor_value_info("y", TensorProto.BOOL, ["n", "n"]),
                 floats("z", ["n", "n"])])
    row = kinds(missing(path))["MatMul", "ai.onnx"]
    assert (row["count"], row["types"]) == (1, "bool, bool")
    assert row["reason"].startswith("input 0 is of type bool")


def test_strings_do_not_hide_the_rest(tmp_path):
    """They are in an input, an initializer, a Constant and an attribute."""
    text = helper.make_tensor("t", TensorProto.STRING, [1], [b"a"])
    strings = helper.make_tensor_value_info("s", TensorProto.STRING, ["n"])
    path = save(tmp_path / "m.onnx",
                [helper.make_node("StringConcat", ["s", "t"], ["u"]),
                 helper.make_node("Constant", [], ["k"], value=text, name="constant"),
                 helper.make_node("StringConcat", ["u", "k"], ["v"]),
                 helper.make_node("One", ["x"], ["y"], domain="strange", a=text)],
                [strings, floats("x")],
                [helper.make_tensor_value_info("v", TensorProto.STRING, ["n"]), floats("y")],
                [text])
    model = missing(path)
    found = kinds(model)
    assert set(found) == {("StringConcat", "ai.onnx"), ("One", "strange")}
    assert found["StringConcat", "ai.onnx"]["reason"] == "strings"
    assert found["StringConcat", "ai.onnx"]["count"] == 2
    assert len(model["other"]) == 4
    assert "graph input 's'" in " ".join(model["other"])


def test_an_initializer_may_be_an_input_too(tmp_path):
    text = helper.make_tensor("t", TensorProto.STRING, [1], [b"a"])
    path = save(tmp_path / "m.onnx", [helper.make_node("One", ["t"], ["y"], domain="strange")],
                [helper.make_tensor_value_info("t", TensorProto.STRING, [1])], [floats("y")],
                [text])
    model = missing(path)
    assert len(model["other"]) == 1
    assert set(kinds(model)) == {("One", "strange")}


def test_sparse_initializers(tmp_path):
    values = numpy_helper.from_array(numpy.ones(1, numpy.float32), "w")
    indices = numpy_helper.from_array(numpy.zeros(1, numpy.int64), "i")
    path = save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "w"], ["y"])],
                [floats("x")], [floats("y")])
    model = onnx.load(path)
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    onnx.save(model, path)
    found = missing(path)
    assert found["nodes"] == []
    assert "'w' is sparse" in found["other"][0]


@pytest.mark.parametrize("opset", [1, 6, 99])
def test_another_opset_does_not_make_every_operator_missing(tmp_path, opset):
    path = save(tmp_path / "m.onnx",
                [helper.make_node("Relu", ["x"], ["r"]),
                 helper.make_node("One", ["r"], ["y"], domain="strange")],
                [floats("x")], [floats("y")], opset=opset)
    model = missing(path)
    assert set(kinds(model)) == {("One", "strange")}
    assert f"opset {opset} of ai.onnx" in model["other"][0]


def test_scan_with_a_batch(tmp_path):
    step = helper.make_graph([helper.make_node("Add", ["s", "v"], ["t"])], "body",
                             [floats("s"), floats("v")], [floats("t")])
    path = save(tmp_path / "m.onnx",
                [helper.make_node("Scan", ["", "start", "x"], ["y"], body=step, num_scan_inputs=1)],
                [floats("start", ("b", "n")), floats("x", ("b", "m", "n"))],
                [floats("y", ("b", "n"))], opset=8)
    assert "onnx.version_converter" in kinds(missing(path))["Scan", "ai.onnx"]["reason"]


def test_outputs_that_are_sequences(tmp_path):
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    path = save(tmp_path / "m.onnx", [helper.make_node("SequenceConstruct", ["x"], ["s"])],
                [floats("x")], [sequence])
    model = missing(path)
    assert model["nodes"] == []
    assert "output 's'" in model["other"][0]


def test_passes_may_remove_what_is_missing(tmp_path):
    path = save(tmp_path / "m.onnx",
                [helper.make_node("One", ["x"], ["unused"], domain="strange"),
                 helper.make_node("Relu", ["x"], ["y"])], [floats("x")], [floats("y")])
    missing(path, 0)


def test_a_model_that_cannot_be_read_does_not_end_the_report(classifier, tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff" * 100)
    none = tmp_path / "none.onnx"
    result = latchkey("ops", "--missing", "--json", broken, none, classifier)
    assert (result.code, result.err) == (1, "")
    models = models_of(result)
    assert [model["runs"] for model in models] == [False, False, True]
    assert "No such file" in models[1]["error"]
    assert models[0]["error"] and models[2]["error"] is None
    lines = latchkey("ops", "--missing", broken, none, classifier).out.splitlines()
    assert len(lines) == 3


def test_models_need_missing(classifier):
    latchkey("ops", classifier).fails(2, "--missing is needed", str(classifier))


def test_it_agrees_with_what_opens(tmp_path):
    """On a sample of the ONNX test cases. Those with sequences open, and fail in a run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        cases = collect_testcases(None)[::30]
    paths = []
    for case in cases:
        paths.append(tmp_path / f"{case.name}.onnx")
        onnx.save(case.model, str(paths[-1]))
    models = models_of(latchkey("ops", "--missing", "--json", *paths))
    opened = 0
    for path, model in zip(paths, models, strict=True):
        opens = latchkey("inspect", path).code == 0
        is_tensors = all("output" not in other for other in model["other"])
        assert opens == model["runs"] or not is_tensors, model
        opened += opens
    assert 0 < opened < len(paths)


def test_the_report_of_a_model_with_constants_only(tmp_path):
    save_model(tmp_path / "m.onnx", [helper.make_node("Identity", ["c"], ["y"])], [],
               [("y", TensorProto.FLOAT, [1])],
               [numpy_helper.from_array(numpy.ones(1, numpy.float32), "c")])
    missing(tmp_path / "m.onnx", 0)
