"""latchkey run: files in, files out, and none when it fails."""

import numpy
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper

from cli_harness import classify, latchkey, save_model

TYPES = {
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "int8": TensorProto.INT8, "int16": TensorProto.INT16, "int32": TensorProto.INT32,
    "int64": TensorProto.INT64, "uint8": TensorProto.UINT8, "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64, "bool": TensorProto.BOOL,
}


def save_input(tmp_path, array, name="x.npy"):
    numpy.save(tmp_path / name, array)
    return tmp_path / name


def test_outputs_are_files(tmp_path, classifier):
    x = numpy.random.default_rng(1).standard_normal((5, 4), dtype=numpy.float32)
    out = tmp_path / "out"
    result = latchkey("run", classifier, "-i", f"x={save_input(tmp_path, x)}", "-o", out).ok()
    assert sorted(p.name for p in out.iterdir()) == ["hidden_relu_0.npy", "y.npy"]
    y, hidden = classify(x)
    assert_close(numpy.load(out / "y.npy"), y)
    assert_close(numpy.load(out / "hidden_relu_0.npy"), hidden)
    assert result.out.splitlines() == [f"y 5x3:f32 -> {out}/y.npy",
                                       f"hidden/relu:0 5x3:f32 -> {out}/hidden_relu_0.npy"]
    assert result.err == ""


def test_a_trace_that_cannot_be_written_leaves_no_outputs(tmp_path, classifier):
    x, out = save_input(tmp_path, numpy.zeros((2, 4), numpy.float32)), tmp_path / "out"
    latchkey("run", classifier, "-i", f"x={x}", "-o", out, "--trace", "/dev/full").fails(
        1, "failed to write a trace to '/dev/full': No space left on device")
    assert not out.exists()


def test_json(tmp_path, classifier):
    x = save_input(tmp_path, numpy.zeros((2, 4), numpy.float32))
    report = latchkey("run", classifier, "-i", f"x={x}", "-o", tmp_path / "o", "--json").json()
    assert report["ms"] > 0
    assert [(o["name"], o["type"], o["shape"]) for o in report["outputs"]] == [
        ("y", "f32", [2, 3]), ("hidden/relu:0", "f32", [2, 3])]
    assert numpy.load(report["outputs"][0]["file"]).shape == (2, 3)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_comes_back(tmp_path, dtype):
    save_model(tmp_path / "same.onnx", [helper.make_node("Identity", ["x"], ["y"])],
               [("x", TYPES[dtype], ["n", "m"])], [("y", TYPES[dtype], ["n", "m"])])
    x = (numpy.arange(6).reshape(2, 3) * 37 % 100).astype(dtype)
    file = save_input(tmp_path, x)
    latchkey("run", tmp_path / "same.onnx", "-i", f"x={file}", "-o", tmp_path / "out").ok()
    y = numpy.load(tmp_path / "out" / "y.npy")
    assert y.dtype == x.dtype
    numpy.testing.assert_array_equal(y, x)
    # The file is what numpy itself would have written.
    assert (tmp_path / "out" / "y.npy").read_bytes() == file.read_bytes()


def test_an_output_folder_that_is_there_is_used_and_files_are_replaced(tmp_path, classifier):
    out = tmp_path / "out"
    out.mkdir()
    (out / "y.npy").write_text("old")
    x = save_input(tmp_path, numpy.ones((1, 4), numpy.float32))
    latchkey("run", classifier, "-i", f"x={x}", "-o", out).ok()
    assert numpy.load(out / "y.npy").shape == (1, 3)


def test_zero_rows(tmp_path, classifier):
    x = save_input(tmp_path, numpy.zeros((0, 4), numpy.float32))
    latchkey("run", classifier, "-i", f"x={x}", "-o", tmp_path / "out").ok()
    assert numpy.load(tmp_path / "out" / "y.npy").shape == (0, 3)


@pytest.mark.parametrize("array, says", [
    (numpy.zeros((2, 5), numpy.float32), "x"),            # a dimension that the model fixes
    (numpy.zeros((2, 4, 1), numpy.float32), "x"),         # rank
    (numpy.zeros((2, 4), numpy.float64), "x"),            # type
    (numpy.zeros((2, 4), ">f4"), "big-endian"),
    (numpy.asfortranarray(numpy.ones((2, 4), numpy.float32)), "Fortran"),
    (numpy.zeros((2, 4), numpy.complex64), "'<c8'"),
])
def test_a_bad_input_leaves_no_file(tmp_path, classifier, array, says):
    file = save_input(tmp_path, array)
    latchkey("run", classifier, "-i", f"x={file}", "-o", tmp_path / "out").fails(
        1, "latchkey run: failed to", says)
    assert not (tmp_path / "out").exists()


def test_every_beginning_of_an_npy_file_is_refused(tmp_path, classifier):
    whole = save_input(tmp_path, numpy.zeros((1, 4), numpy.float32)).read_bytes()
    for length in range(0, len(whole), 9):
        (tmp_path / "cut.npy").write_bytes(whole[:length])
        latchkey("run", classifier, "-i", f"x={tmp_path}/cut.npy", "-o", tmp_path / "out").fails(
            1, "cut.npy")
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_written_leaves_none(tmp_path, classifier):
    x = save_input(tmp_path, numpy.ones((1, 4), numpy.float32))
    out = tmp_path / "out"
    out.mkdir()
    (out / "hidden_relu_0.npy").mkdir()  # a folder cannot be replaced by a file
    (out / "hidden_relu_0.npy" / "x").touch()
    latchkey("run", classifier, "-i", f"x={x}", "-o", out).fails(1, "hidden_relu_0.npy")
    assert [p.name for p in out.iterdir()] == ["hidden_relu_0.npy"]


def test_names_are_checked(tmp_path, classifier):
    x = save_input(tmp_path, numpy.ones((1, 4), numpy.float32))
    out = ["-o", tmp_path / "out"]
    latchkey("run", classifier, "-i", f"z={x}", *out).fails(1, "z")
    latchkey("run", classifier, *out).fails(1, "x")
    latchkey("run", classifier, "-i", f"x={tmp_path}/no.npy", *out).fails(1, "no.npy")
    latchkey("run", tmp_path / "no.onnx", "-i", f"x={x}", *out).fails(1, "no.onnx")
    latchkey("run", classifier, "-i", f"x={x}", "-o", "/proc/nowhere/out").fails(1, "/proc/nowhere")
    latchkey("run", classifier, "-i", f"x={x}", "-i", f"x={x}", *out).fails(2, "twice")
    latchkey("run", classifier, "-i", "x", *out).fails(2, "NAME=FILE.npy")
    latchkey("run", classifier, "-i", f"x={x}").fails(2, "-o DIR")
    assert not (tmp_path / "out").exists()


def save_branches(path):
    """Four branches of two convolutions each."""
    weights = numpy.random.default_rng(0).standard_normal((8, 8, 3, 3), dtype=numpy.float32)
    nodes = []
    for b in range(4):
        nodes += [helper.make_node("Conv", ["x", "w"], [f"a{b}"], pads=[1, 1, 1, 1]),
                  helper.make_node("Sigmoid", [f"a{b}"], [f"s{b}"]),
                  helper.make_node("Conv", [f"s{b}", "w"], [f"c{b}"], pads=[1, 1, 1, 1])]
    nodes.append(helper.make_node("Concat", [f"c{b}" for b in range(4)], ["y"], axis=1))
    return save_model(path, nodes, [("x", TensorProto.FLOAT, ["n", 8, "h", "w"])],
                      [("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(weights, "w")])


def test_executors_give_the_same_bits_on_one_thread(tmp_path):
    model = save_branches(tmp_path / "branches.onnx")
    x = save_input(tmp_path, numpy.random.default_rng(1).standard_normal((2, 8, 20, 30),
                                                                         dtype=numpy.float32))
    given = [model, "-i", f"x={x}", "--threads", 1]
    for name, options in (("naive", ["--executor", "naive"]), ("default", []),
                          ("parallel", ["--executor", "parallel"]),
                          ("three", ["--executor", "parallel", "--inter", 3])):
        latchkey("run", *given, "-o", tmp_path / name, *options).ok()
        assert ((tmp_path / name / "y.npy").read_bytes()
                == (tmp_path / "naive" / "y.npy").read_bytes())


def test_executor_options_that_are_refused(tmp_path, classifier):
    latchkey("run", classifier, "--executor", "serial").fails(2, "--executor", "'serial'",
                                                              "naive or parallel")
    latchkey("run", classifier, "--executor", "parallel", "--inter", 0).fails(2, "--inter")
    latchkey("run", classifier, "--inter", 2).fails(2, "--inter", "parallel")
