"""latchkey test: a case that is right passes, one that is altered fails, nothing is skipped
quietly."""

import numpy
from onnx import TensorProto, helper, numpy_helper

from cli_harness import classify, latchkey, save_model, write_case


def good_case(folder, model, rows=(3, 5), change=lambda y: y):
    sets = []
    for n, count in enumerate(rows):
        x = numpy.random.default_rng(n).standard_normal((count, 4), dtype=numpy.float32)
        y, hidden = classify(x)
        sets.append(([("x", x)], [("y", change(y)), ("hidden/relu:0", hidden)]))
    return write_case(folder, model, sets)


def test_a_good_case_passes(tmp_path, classifier):
    result = latchkey("test", good_case(tmp_path / "cases" / "good", classifier)).ok()
    assert result.out == "ok   good\n1 passed, 0 failed, 0 skipped\n"
    # A slash behind it changes nothing.
    assert latchkey("test", f"{tmp_path}/cases/good/").ok().out == result.out


def test_an_altered_output_fails(tmp_path, classifier):
    def alter(y):
        y = y.copy()
        y[-1, -1] += 0.01
        return y
    result = latchkey("test", good_case(tmp_path / "altered", classifier, change=alter))
    assert result.code == 1
    assert result.out.startswith("FAIL altered (failed to match 'y': element 8 is ")
    assert result.out.endswith("1 of 9 differ)\n0 passed, 1 failed, 0 skipped\n")
    # The tolerance decides.
    latchkey("test", "--rtol", "0.5", tmp_path / "altered").ok()
    latchkey("test", "--rtol", "0", "--atol", "0.02", tmp_path / "altered").ok()


def test_only_the_second_data_set_is_wrong(tmp_path, classifier):
    case = good_case(tmp_path / "second", classifier)
    wrong = numpy_helper.from_array(numpy.zeros((5, 3), numpy.float32), "y")
    (case / "test_data_set_1" / "output_0.pb").write_bytes(wrong.SerializeToString())
    result = latchkey("test", case)
    assert result.code == 1
    assert "test_data_set_1" in result.out


def test_files_without_names_go_by_number(tmp_path, classifier):
    x = numpy.ones((2, 4), numpy.float32)
    y, hidden = classify(x)
    write_case(tmp_path / "c", classifier, [([("", x)], [("", y), ("", hidden)])])
    latchkey("test", tmp_path / "c").ok()
    write_case(tmp_path / "d", classifier, [([("", x)], [("hidden/relu:0", hidden), ("y", y)])])
    latchkey("test", tmp_path / "d").ok()
    write_case(tmp_path / "e", classifier, [([("", x)], [("", hidden), ("", y)])])
    assert latchkey("test", tmp_path / "e").code == 1


def test_wrong_type_shape_and_missing_files_fail(tmp_path, classifier):
    x = numpy.ones((2, 4), numpy.float32)
    y, hidden = classify(x)
    cases = {
        "type": [([("x", x)], [("y", y.astype(numpy.float64)), ("hidden/relu:0", hidden)])],
        "shape": [([("x", x)], [("y", y[:, :, None]), ("hidden/relu:0", hidden)])],
        "few": [([("x", x)], [("y", y)])],
        "noinput": [([], [("y", y), ("hidden/relu:0", hidden)])],
        "nodata": [],
    }
    for name, sets in cases.items():
        write_case(tmp_path / "all" / name, classifier, sets)
    broken = good_case(tmp_path / "all" / "truncated", classifier)
    file = broken / "test_data_set_0" / "output_0.pb"
    file.write_bytes(file.read_bytes()[:-3])
    garbage = good_case(tmp_path / "all" / "garbage", classifier)
    (garbage / "model.onnx").write_bytes(b"\xff" * 100)
    result = latchkey("test", tmp_path / "all")
    assert result.code == 1
    assert result.out.splitlines()[-1] == "0 passed, 7 failed, 0 skipped", result.out
    lines = dict(line[5:].split(" ", 1) for line in result.out.splitlines()[:-1])
    assert set(lines) == {*cases, "truncated", "garbage"}
    assert "2x3:f32, 2x3:f64 expected" in lines["type"]
    assert "2x3:f32, 2x3x1:f32 expected" in lines["shape"]
    assert "1 output files, the model has 2 outputs" in lines["few"]
    assert "test_data_set_0" in lines["nodata"]


def test_an_unknown_operator_is_skipped_with_its_name(tmp_path, classifier):
    save_model(tmp_path / "odd.onnx", [helper.make_node("SequenceMystery", ["x"], ["y"])],
               [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])])
    x = numpy.ones(2, numpy.float32)
    write_case(tmp_path / "all" / "odd", tmp_path / "odd.onnx", [([("x", x)], [("y", x)])])
    good_case(tmp_path / "all" / "deeper" / "good", classifier)
    result = latchkey("test", tmp_path / "all").ok()
    lines = result.out.splitlines()
    assert lines[0] == "ok   good"
    assert lines[1].startswith("skip odd (") and "SequenceMystery" in lines[1]
    assert lines[2:] == ["1 passed, 0 failed, 1 skipped"]
    report = latchkey("test", tmp_path / "all", "--json").json()
    assert (report["passed"], report["failed"], report["skipped"]) == (1, 0, 1)
    assert [case["result"] for case in report["cases"]] == ["ok", "skipped"]
    assert report["cases"][0]["reason"] is None


def test_nan_and_infinity_are_equal_to_themselves(tmp_path):
    save_model(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])],
               [("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])])
    x = numpy.array([numpy.inf, -1, 2], numpy.float32)
    y = numpy.array([numpy.inf, 0, 2], numpy.float32)
    write_case(tmp_path / "inf", tmp_path / "m.onnx", [([("x", x)], [("y", y)])])
    latchkey("test", tmp_path / "inf").ok()
    y[0] = numpy.nan
    write_case(tmp_path / "nan", tmp_path / "m.onnx", [([("x", x)], [("y", y)])])
    assert latchkey("test", tmp_path / "nan").code == 1


def test_where_there_is_nothing(tmp_path):
    latchkey("test", tmp_path).fails(1, "no model.onnx")
    latchkey("test", tmp_path / "no").fails(1, str(tmp_path / "no"))
    latchkey("test").fails(2, "DIR is missing")
    latchkey("test", tmp_path, "--rtol", "-1").fails(2, "--rtol")
