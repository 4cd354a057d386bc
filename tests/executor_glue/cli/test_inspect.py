"""latchkey inspect: what is in a model."""

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli_harness import latchkey, needs_module, save_model


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


# ---- --offers ----------------------------------------------------------------------------------

OFFERS = ["--offers", "--threads", "1"]


def offers(model, *words, **options):
    return latchkey("inspect", model, *OFFERS, *words, "--json", **options).json()["offers"]


@needs_module
def test_offers_of_sizes_that_are_open(classifier):
    found = offers(classifier, "--shape", "x=3x4")
    assert (found["engine"], found["threads"], found["shape"]) == ("auto", 1, "x=3x4")
    assert found["from_run"] == 9
    product, softmax = found["works"]
    assert (product["node"], product["work"]) == ("hidden/relu:0", "product")
    assert (product["taken_post_ops"], product["post_ops"]) == (1, 1)
    assert (softmax["node"], softmax["work"], softmax["post_ops"]) == ("y", "softmax", 0)
    for work in found["works"]:
        assert work["engine"] == "onednn" and work["rule"] == "estimates"
        assert work["estimated_native_ns"] == work["native_ns"] > 0
        assert work["estimated_engine_ns"] == work["engine_ns"] > 0
        assert work["build_ns"] > 0 and work["tensor_bytes"] > 0
        assert (work["built_bytes"] > 0) == work["is_engine"] == (work["reason"] == "")
    assert product["tensor_bytes"] == 4 * (3 * 4 + 4 * 3 + 3 * 3)


@needs_module
def test_offers_where_all_sizes_are_fixed(classifier):
    assert offers(classifier, "--fix", "rows=3")["from_run"] == 1
    text = latchkey("inspect", classifier, *OFFERS, "--fix", "rows=3").ok().out
    assert "offers, engine auto, 1 thread, x=3x4: 2 works, onednn has offers for 2" in text
    assert "at first sight" not in text


# Where all dimensions are fixed, sizes may still depend on an input's values, or on what a node
# finds in its input. `auto` sees such a size for the first time, too.
@needs_module
def test_offers_of_sizes_that_depend_on_values(tmp_path):
    sizes = tmp_path / "sizes.npy"
    numpy.save(sizes, numpy.array([2, 6]))
    cases = [([helper.make_node("Reshape", ["x", "sizes"], ["r"]),
               helper.make_node("Softmax", ["r"], ["y"])],
              [("x", TensorProto.FLOAT, [3, 4]), ("sizes", TensorProto.INT64, [2])],
              ["--input", f"sizes={sizes}"]),
             ([helper.make_node("NonZero", ["x"], ["n"]),
               helper.make_node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
               helper.make_node("Softmax", ["f"], ["y"], axis=0)],
              [("x", TensorProto.FLOAT, [3, 4])], [])]
    for number, (nodes, inputs, words) in enumerate(cases):
        model = save_model(tmp_path / f"{number}.onnx", nodes, inputs,
                           [("y", TensorProto.FLOAT, None)])
        found = offers(model, *words)
        assert [work["work"] for work in found["works"]] == ["softmax"]
        assert found["from_run"] == 9
        text = latchkey("inspect", model, *OFFERS, *words).ok().out
        assert ("  sizes depend on values: native computes a size at first sight, and what follows "
                "is from its run 9 on\n") in text
        assert offers(model, *words, "--engine", "onednn")["from_run"] == 1


@needs_module
def test_offers_as_a_table(classifier):
    text = latchkey("inspect", classifier, *OFFERS, "--shape", "x=3x4").ok().out
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("offers, "))
    assert "native computes a size at first sight" in lines[head + 1]
    assert lines[head + 2].split() == (
        "node work native us engine us ratio build us bytes built post-ops taken by reason".split())
    [product, softmax] = [line.split() for line in lines[head + 3:]]
    assert product[:2] == ["hidden/relu:0", "product"] and "1 of 1" in lines[head + 3]
    assert softmax[:2] == ["y", "softmax"]
    assert all(row[2][0] == row[3][0] == "~" for row in (product, softmax))


@needs_module
def test_an_engine_by_option_computes_what_it_takes(classifier):
    found = offers(classifier, "--shape", "x=3x4", "--engine", "onednn")
    assert (found["engine"], found["from_run"]) == ("onednn", 1)
    for work in found["works"]:
        assert work["is_engine"] and work["rule"] == "option" and work["built_bytes"] > 0
        assert work["estimated_native_ns"] > 0


@needs_module
def test_what_was_measured_is_told_beside_the_estimate(classifier, tmp_path):
    file = tmp_path / "tuning"
    latchkey("tune", classifier, "--shape", "x=3x4", "--threads", "1", "--duration", "0.02", "-o",
             file).ok()
    words = ["--shape", "x=3x4", "--tuning", file]
    estimated = offers(classifier, "--shape", "x=3x4")["works"]
    for work, before in zip(offers(classifier, *words)["works"], estimated):
        assert work["rule"] == "measured" and work["is_measured"]
        assert work["native_ns"] > 0 and work["engine_ns"] > 0
        for name in ("estimated_native_ns", "estimated_engine_ns"):
            assert work[name] == before[name]
    text = latchkey("inspect", classifier, *OFFERS, *words).ok().out
    assert "  measured  " in text and "~" not in text.splitlines()[-1].split()[2]
    assert "  times of 2 works were read, 2 of them by this onednn with 1 thread\n" in text


@needs_module
def test_what_was_measured_of_the_size_class_is_told(classifier, tmp_path):
    """Three rows and four are of one class, five are not."""
    file = tmp_path / "tuning"
    latchkey("tune", classifier, "--shape", "x=3x4", "--threads", "1", "--duration", "0.02", "-o",
             file).ok()
    exact = offers(classifier, "--shape", "x=3x4", "--tuning", file)["works"]
    words = ["--shape", "x=4x4", "--tuning", file]
    for work, measured in zip(offers(classifier, *words)["works"], exact):
        assert (work["rule"], work["is_measured"], work["is_of_class"]) == (
            "size_class", False, True)
        assert work["native_ns"] == work["estimated_native_ns"]
        assert work["engine_ns"] - work["reorder_ns"] == pytest.approx(
            work["native_ns"] * (measured["engine_ns"] - measured["reorder_ns"])
            / measured["native_ns"])
    lines = latchkey("inspect", classifier, *OFFERS, *words).ok().out.splitlines()
    for row in lines[-2:]:
        assert "  size_class  " in row and row.split()[2][0] == row.split()[3][0] == "~"
    for work in offers(classifier, "--shape", "x=5x4", "--tuning", file)["works"]:
        assert (work["rule"], work["is_of_class"]) == ("estimates", False)


@needs_module
def test_times_that_do_not_fit_are_told(classifier, tmp_path):
    file = tmp_path / "tuning"
    latchkey("tune", classifier, "--shape", "x=3x4", "--threads", "2", "--duration", "0.02", "-o",
             file, environment={"LATCHKEY_PROCESSORS": "2"}).ok()
    words = ["--shape", "x=3x4", "--tuning", file]
    found = offers(classifier, *words)
    assert (found["tuning_works"], found["tuning_fitting"]) == (2, 0)
    assert {work["rule"] for work in found["works"]} == {"estimates"}
    assert ("  times of 2 works were read, 0 of them by this onednn with 1 thread\n"
            in latchkey("inspect", classifier, *OFFERS, *words).ok().out)


@needs_module
def test_works_without_an_offer_have_the_reason(tmp_path):
    model = save_model(
        tmp_path / "pool.onnx", [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])],
        [("x", TensorProto.FLOAT, [1, 3, 8, 8])], [("y", TensorProto.FLOAT, None)])
    for engine in ("auto", "onednn"):
        [work] = offers(model, "--engine", engine)["works"]
        assert (work["rule"], work["is_engine"], work["tensor_bytes"]) == ("none", False, 0)
        assert "the largest of nothing" in work["reason"]
    last = latchkey("inspect", model, *OFFERS).ok().out.splitlines()[-1]
    assert last.split()[:8] == ["y", "pool", "-", "-", "-", "-", "-", "-"]
    assert "native" in last and "the largest of nothing" in last


def test_native_asks_nobody(classifier):
    words = ["--shape", "x=3x4", "--engine", "native"]
    assert offers(classifier, *words)["works"] == []
    last = latchkey("inspect", classifier, *OFFERS, *words).ok().out.splitlines()[-1]
    assert last.endswith("native computes everything, and nothing was offered to another engine "
                         "(`latchkey doctor` says which there are)")


@needs_module
def test_the_environment_does_not_choose_who_is_asked(classifier):
    environment = {"LATCHKEY_ENGINE": "native"}
    found = offers(classifier, "--shape", "x=3x4", environment=environment)
    assert found["engine"] == "auto" and len(found["works"]) == 2


def test_offers_need_sizes(classifier):
    latchkey("inspect", classifier, "--offers").fails(1, "the model leaves open 'x'")
    assert "offers" not in latchkey("inspect", classifier, "--shape", "x=3x4", "--json").json()
