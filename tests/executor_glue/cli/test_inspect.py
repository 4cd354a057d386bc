"""latchkey inspect: what is in a model."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from cli_harness import latchkey, save_model


def test_inspect(classifier):
    report = latchkey("inspect", classifier, "--json").json()
    assert report["inputs"] == [{"name": "x", "type": "f32", "shape": ["rows", 4]}]
    assert [o["name"] for o in report["outputs"]] == ["y", "hidden/relu:0"]
    assert report["metadata"] == {"author's note": "first line\nsecond line", "empty": ""}
    assert report["nodes_in_file"] == 3
    assert report["nodes_to_run"] == sum(o["count"] for o in report["operators"])
    assert all(o["implementation"] == "" for o in report["operators"])
    names = [p["name"] for p in report["passes"]]
    assert names and len(set(names)) == len(names)
    text = latchkey("inspect", classifier).ok().out
    assert "author's note = first line... (22 bytes)" in text
    assert "  x [rows, 4] f32" in text


def test_inspect_with_a_shape_names_implementations(classifier):
    report = latchkey("inspect", classifier, "--shape", "x=3x4", "--nodes", "--json").json()
    matmul = [o for o in report["operators"] if o["operator"] == "MatMul"]
    assert matmul and matmul[0]["implementation"] == "matmul"
    assert len(report["nodes"]) == report["nodes_to_run"]


def test_a_pass_can_be_switched_off(classifier):
    passes = latchkey("inspect", classifier, "--json").json()["passes"]
    busy = next(p for p in passes if p["changes"] > 0)
    off = latchkey("inspect", classifier, "--disable-pass", busy["name"], "--json").json()["passes"]
    assert [(p["enabled"], p["changes"]) for p in off if p["name"] == busy["name"]] == [(False, 0)]
    latchkey("inspect", classifier, "--disable-pass", "no_such_pass").fails(1, "no_such_pass")


def test_what_passes_have_left(tmp_path):
    model = save_model(
        tmp_path / "clip.onnx",
        [helper.make_node("Conv", ["x", "w"], ["c"]),
         helper.make_node("Clip", ["c", "", "high"], ["y"], "clip")],
        [("x", TensorProto.FLOAT, [1, 3, "h", "w"]), ("high", TensorProto.FLOAT, [])],
        [("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(numpy.ones((2, 3, 1, 1), numpy.float32), "w")])
    [refusal] = latchkey("inspect", model, "--json").json()["refusals"]
    assert refusal == {
        "pass_name": "activation_after_residual", "op_type": "Clip", "domain": "",
        "node_name": "clip", "output_name": "y",
        "reason": "its input 2, 'high', is not a constant: it comes with each run",
        "advice": "make it a constant of the model, where it always is the same"}
    text = latchkey("inspect", model).ok().out
    assert "left by passes:" in text and "its input 2, 'high', is not a constant" in text


def test_a_model_of_which_passes_leave_nothing(classifier):
    assert latchkey("inspect", classifier, "--json").json()["refusals"] == []
    assert "left by passes" not in latchkey("inspect", classifier).ok().out


def test_opsets_ir_version_and_producer(classifier):
    model = onnx.load(classifier)
    model.producer_name, model.producer_version = "exporter", "1.2"
    model.opset_import.append(helper.make_opsetid("com.example", 3))
    onnx.save(model, classifier)
    lines = latchkey("inspect", classifier).ok().out.splitlines()
    assert lines[1] == "opsets: ai.onnx 17, com.example 3; IR version 8; made by exporter 1.2"
    report = latchkey("inspect", classifier, "--json").json()
    assert report["opsets"] == [{"domain": "ai.onnx", "version": 17},
                                {"domain": "com.example", "version": 3}]
    assert report["ir_version"] == 8
    assert (report["producer_name"], report["producer_version"]) == ("exporter", "1.2")


def test_a_model_that_names_no_producer(classifier):
    lines = latchkey("inspect", classifier).ok().out.splitlines()
    assert lines[1] == "opsets: ai.onnx 17; IR version 8"
    report = latchkey("inspect", classifier, "--json").json()
    assert (report["producer_name"], report["producer_version"]) == ("", "")


def test_results_beyond_max_folded_stay_nodes(tmp_path):
    model = save_model(
        tmp_path / "m.onnx", [helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
                              helper.make_node("Add", ["x", "zeros"], ["y"])],
        [("x", TensorProto.FLOAT, ["n", 1024])], [("y", TensorProto.FLOAT, ["n", 1024])],
        [numpy_helper.from_array(numpy.array([1, 1024], numpy.int64), "shape")])
    for limit, nodes in (("4095", 2), ("4k", 1), ("unlimited", 1)):
        report = latchkey("inspect", model, "--max-folded", limit, "--json").json()
        assert report["nodes_to_run"] == nodes, limit
    latchkey("inspect", model, "--max-folded", "much").fails(2, "--max-folded")


def reshaping(path):
    """Rows by a shape that is computed from x's own."""
    return save_model(
        path, [helper.make_node("Shape", ["x"], ["dims"]),
               helper.make_node("Gather", ["dims", "zero"], ["rows"]),
               helper.make_node("Concat", ["rows", "rest"], ["wanted"], axis=0),
               helper.make_node("Reshape", ["x", "wanted"], ["y"])],
        [("x", TensorProto.FLOAT, ["batch", None])], [("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(numpy.array([0], numpy.int64), "zero"),
         numpy_helper.from_array(numpy.array([2, -1], numpy.int64), "rest")])


def test_dimensions_with_a_size(tmp_path):
    model = reshaping(tmp_path / "m.onnx")
    assert latchkey("inspect", model, "--json").json()["nodes_to_run"] == 4
    report = latchkey("inspect", model, "--fix", "batch=3", "--json").json()
    assert report["nodes_to_run"] == 1
    assert "x [3, ?] f32" in latchkey("inspect", model, "--fix", "x[0]=3").ok().out
    assert "x [3, 4] f32" in latchkey(
        "inspect", model, "--fix", "batch=3", "--fix", "x[1]=4").ok().out
    latchkey("bench", model, "--fix", "batch=3", "--shape", "x=2x8").fails(1, "declared as 3x?")
    bench = latchkey("bench", model, "--fix", "batch=3", "--shape", "x=3x8", "-n", "2",
                     "--json").json()
    assert bench["options"]["fixed_dims"] == {"batch": 3}


def test_dimensions_that_cannot_have_a_size(tmp_path):
    model = reshaping(tmp_path / "m.onnx")
    for words in ("batch", "=3", "batch=", "batch=-1", "batch=much", "batch=9223372036854775808"):
        latchkey("inspect", model, "--fix", words).fails(2, "--fix")
    latchkey("inspect", model, "--fix", "rows=1").fails(
        1, "failed to fix dimension 'rows': no input has it, the free dimensions are: batch, x[1]")
    latchkey("inspect", model, "--fix", "batch=1", "--fix", "batch=1").fails(1, "given twice")
