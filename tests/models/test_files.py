"""What lies where a model is looked for, what is in a model that nothing reads, and what a run may
leave out: the own executor beside ONNX Runtime, with latchkey.ort and without."""

import gzip
import multiprocessing
import os
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from wait import LONG

import latchkey
import latchkey.ort
from latchkey import MalformedError, NotFoundError, UnsupportedError

FLOAT, INT64, BOOL, STRING = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL,
                              TensorProto.STRING)
PROVIDERS = [["CPUExecutionProvider"], ["LatchkeyExecutionProvider", "CPUExecutionProvider"]]


def value(name, dtype=FLOAT, shape=("n",)):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def model(nodes, inputs, outputs, initializers=(), opset=17, ir_version=8):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                             ir_version=ir_version)


def check(made, feeds, path, expected=None):
    """All three give the same, type and shape too."""
    latchkey.ort.register()
    onnx.save(made, path)
    names = list(dict.fromkeys(output.name for output in made.graph.output))
    mine = latchkey.Session(path).run(feeds)
    for providers in PROVIDERS:
        theirs = onnxruntime.InferenceSession(path, providers=providers).run(names, feeds)
        for name, right in zip(names, theirs):
            assert mine[name].dtype == right.dtype and mine[name].shape == right.shape
            numpy.testing.assert_array_equal(mine[name], right)
    if expected is not None:
        numpy.testing.assert_array_equal(mine[names[0]], expected)


# ---- files that are no models ----

OTHERS = {
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            "`git lfs pull`"),
    "html": (b"\n<!DOCTYPE html><html>404</html>", "an HTML page"),
    "html without its type": (b"<HTML><body>404", "an HTML page"),
    "xml": (b"<?xml version='1.0'?><net/>", "an XML text"),
    "json": (b'{"error": "not found"}', "a JSON text"),
    "text": (b"Invalid username or password.", "a text"),
    "gzip": (gzip.compress(b"model"), "compressed by gzip"),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(100), "a TensorFlow Lite model"),
    "ort": (b"\x18\0\0\0ORTM" + bytes(100), "ONNX Runtime's own format"),
    "gguf": (b"GGUF\3\0\0\0" + bytes(100), "a GGUF file"),
    "safetensors": ((64).to_bytes(8, "little") + b'{"w":{"dtype":"F32"}}', "a safetensors file"),
    "pickle": (b"\x80\x02}q\0.", "a Python pickle"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file"),
    "numpy": (b"\x93NUMPY\1\0", "a NumPy array"),
    "png": (b"\x89PNG\r\n", "a PNG picture"),
    "zeros": (bytes(4096), "zeros only"),
    "empty": (b"", "empty"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_says_what_it_is(name, tmp_path):
    content, words = OTHERS[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(MalformedError) as caught:
        latchkey.Session(path)
    assert words in str(caught.value) and "model.onnx" in str(caught.value)


@pytest.mark.parametrize("member, words", [("model/data.pkl", "a PyTorch file"),
                                           ("a.npy", "NumPy arrays"), ("x.txt", "a zip archive")])
def test_says_what_kind_of_archive_it_is(member, words, tmp_path):
    path = tmp_path / "model.onnx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, b"x")
    with pytest.raises(MalformedError, match=words):
        latchkey.Session(path)


def test_says_how_much_is_missing(tmp_path):
    whole = model([node("Add", ["x", "k"], ["y"])], [value("x")], [value("y")],
                  [numpy_helper.from_array(numpy.zeros(1000, numpy.float32), "k")])
    content, path = whole.SerializeToString(), tmp_path / "cut.onnx"
    opset = len(content) - content.rindex(b"B\x04")  # the last field is behind the graph
    path.write_bytes(content[:2000])
    with pytest.raises(MalformedError, match=f"at least {len(content) - opset - 2000} bytes are"):
        latchkey.Session(path)


def test_folder(tmp_path):
    with pytest.raises(OSError, match="a directory"):
        latchkey.Session(tmp_path)


# ---- the cache of huggingface_hub ----

def test_cache_of_huggingface_hub(tmp_path):
    snapshot, blobs = tmp_path / "snapshots" / "rev" / "onnx", tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    made = model([node("Add", ["x", "k"], ["y"])], [value("x", shape=[4])],
                 [value("y", shape=[4])])
    tensor = made.graph.initializer.add(name="k", data_type=FLOAT, dims=[4],
                                        data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="model.onnx_data")
    (blobs / "aaaa").write_bytes(made.SerializeToString())
    (blobs / "bbbb").write_bytes(numpy.arange(4, dtype=numpy.float32).tobytes())
    os.symlink("../../../blobs/aaaa", snapshot / "model.onnx")
    os.symlink("../../../blobs/bbbb", snapshot / "model.onnx_data")
    os.symlink(snapshot / "model.onnx", tmp_path / "mine.onnx")
    for path in (snapshot / "model.onnx", tmp_path / "mine.onnx"):
        found = latchkey.Session(path).run({"x": numpy.ones(4, numpy.float32)})["y"]
        assert found.tolist() == [1, 2, 3, 4]


# ---- inputs with a default ----

def with_default(ir_version=8):
    return model([node("Mul", ["x", "k"], ["m"]), node("Add", ["m", "c"], ["y"])],
                 [value("x"), value("k", shape=[1]), value("c", shape=[1])], [value("y")],
                 [numpy_helper.from_array(numpy.float32([2]), "k"),
                  numpy_helper.from_array(numpy.float32([1]), "c")], ir_version=ir_version)


def test_default_may_be_given(tmp_path):
    x = numpy.float32([1, 2])
    for given in ({}, {"k": numpy.float32([5])}, {"c": numpy.float32([7])},
                  {"k": numpy.float32([5]), "c": numpy.float32([7])}):
        check(with_default(), {"x": x, **given}, tmp_path / "model.onnx")


def test_runs_give_defaults_in_any_order(tmp_path):
    path, x = tmp_path / "model.onnx", numpy.float32([1, 2])
    onnx.save(with_default(), path)
    session = latchkey.Session(path)
    assert [info.name for info in session.inputs] == ["x"]
    assert [(info.name, info.shape) for info in session.defaults] == [("k", (1,)), ("c", (1,))]
    rng = numpy.random.default_rng(1)
    for _ in range(40):
        given = {name: rng.integers(0, 9, 1).astype(numpy.float32)
                 for name in ("k", "c") if rng.integers(2)}
        expected = x * given.get("k", 2) + given.get("c", 1)
        assert session.run({"x": x, **given})["y"].tolist() == expected.tolist()
    assert session.stats()["session"]["runs"] == 40
    with pytest.raises(NotFoundError, match="'x' is missing"):
        session.run({"k": numpy.float32([5])})
    with pytest.raises(ValueError):
        session.run({"x": x, "k": numpy.float32([5, 6])})


def give_defaults(session, seed, runs=20):
    """Runs of one thread: whether each gets the result of what it gives."""
    rng, x = numpy.random.default_rng(seed), numpy.float32([1, 2])
    for _ in range(runs):
        given = {name: rng.integers(0, 9, 1).astype(numpy.float32)
                 for name in ("k", "c") if rng.integers(2)}
        expected = x * given.get("k", 2) + given.get("c", 1)
        assert session.run({"x": x, **given})["y"].tolist() == expected.tolist()


def test_threads_give_defaults_to_one_session(tmp_path):
    onnx.save(with_default(), tmp_path / "model.onnx")
    for _ in range(10):  # the first runs of a session build what the others share
        session = latchkey.Session(tmp_path / "model.onnx")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: give_defaults(session, seed), range(4)))
        assert session.stats()["session"]["runs"] == 80


@pytest.mark.parametrize("before", [0, 20])
def test_defaults_are_given_after_fork(before, tmp_path):
    """Whether the parent has built a variant of the session before, or not."""
    onnx.save(with_default(), tmp_path / "model.onnx")
    session = latchkey.Session(tmp_path / "model.onnx")
    give_defaults(session, 1, before)
    child = multiprocessing.get_context("fork").Process(target=give_defaults, args=(session, 2))
    child.start()
    child.join(LONG)
    assert child.exitcode == 0
    give_defaults(session, 3)


def test_old_initializers_are_no_defaults(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(with_default(ir_version=3), path)
    session = latchkey.Session(path)
    assert not session.defaults
    with pytest.raises(NotFoundError, match="no input 'k'"):
        session.run({"x": numpy.float32([1]), "k": numpy.float32([5])})


# ---- what nothing reads ----

STRINGS = numpy_helper.from_array(numpy.array(["cat", "dog"], dtype=object), "labels")


def outside(location, dims=(2,), **entries):
    """Weights in another file."""
    tensor = TensorProto(name="w", data_type=FLOAT, dims=dims,
                         data_location=TensorProto.EXTERNAL)
    for key, found in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=found)
    return tensor


# Data in files that cannot be read, or is not what the model says.
OUTSIDE = {
    "a file that is not there": outside("gone.bin"),
    "a folder that is not there": outside("gone/gone.bin"),
    "a folder as a file": outside("folder"),
    "a Git LFS pointer": outside("pointer.bin"),
    "a file that is cut off": outside("cut.bin"),
    "an offset behind the end": outside("cut.bin", offset="4096", length="8"),
    "another length": outside("cut.bin", length="4"),
    "an offset of words": outside("cut.bin", offset="many"),
    "a file above the folder": outside("../up.bin"),
    "an absolute path": outside("/etc/hostname"),
    "no location": TensorProto(name="w", data_type=FLOAT, dims=[2],
                               data_location=TensorProto.EXTERNAL),
}
# In the file itself.
WRONG = {
    "too few bytes": TensorProto(name="w", data_type=FLOAT, dims=[2], raw_data=b"abc"),
    "no type": TensorProto(name="w", dims=[2], raw_data=b"\0" * 8),
    "a negative size": TensorProto(name="w", data_type=FLOAT, dims=[-2], raw_data=b"\0" * 8),
    "too many bytes": TensorProto(name="w", data_type=FLOAT, dims=[1 << 40, 1 << 20]),
    "a field of another type": TensorProto(name="w", data_type=FLOAT, dims=[2], int64_data=[1, 2]),
}



def unread(kind):
    relu, inputs, outputs = node("Relu", ["x"], ["y"]), [value("x")], [value("y")]
    if kind == "strings":
        return model([relu], inputs, outputs, [STRINGS])
    if kind in ("float8e4m3fn", "uint4"):
        dtype = {"float8e4m3fn": TensorProto.FLOAT8E4M3FN, "uint4": TensorProto.UINT4}[kind]
        tensor = TensorProto(name="w", data_type=dtype, dims=[2], raw_data=b"\0" * (
            1 if kind == "uint4" else 2))
        return model([relu], inputs, outputs, [tensor], opset=21, ir_version=10)
    if kind == "rank 9":
        return model([relu], inputs, outputs, [TensorProto(
            name="w", data_type=FLOAT, dims=[1] * 9, raw_data=b"\0" * 4)])
    if kind == "node":
        return model([node("StringNormalizer", ["labels"], ["unused"]), relu], inputs, outputs,
                     [STRINGS])
    branches = [helper.make_graph(
        [node("Constant", [], ["s"], value_strings=["a"])] * with_string +
        [node("Relu", ["x"], ["b"])], "branch", [], [value("b")]) for with_string in (0, 1)]
    taken = numpy_helper.from_array(numpy.array(True), "taken")
    return model([node("If", ["taken"], ["y"], then_branch=branches[0], else_branch=branches[1])],
                 inputs, outputs, [taken])


@pytest.mark.parametrize("kind", ["strings", "float8e4m3fn", "uint4", "node", "branch", "rank 9"])
def test_unread_refuses_nothing(kind, tmp_path):
    check(unread(kind), {"x": numpy.float32([-1, 1])}, tmp_path / "model.onnx", [0, 1])


@pytest.mark.parametrize("kind", [*OUTSIDE, *WRONG])
def test_unread_data_refuses_nothing(kind, tmp_path):
    """Where something reads it, it does. ONNX Runtime refuses some of both."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "pointer.bin").write_bytes(OTHERS["lfs"][0])
    (tmp_path / "cut.bin").write_bytes(b"abc")
    tensor, path = {**OUTSIDE, **WRONG}[kind], tmp_path / "model.onnx"
    constant = node("Constant", [], ["w"], value=tensor)
    of_attribute = node("ConstantOfShape", ["x"], ["w"], value=tensor)
    for initializers, makes in (([tensor], []), ([], [constant]), ([], [of_attribute])):
        path.write_bytes(model([*makes, node("Relu", ["x"], ["y"])], [value("x")], [value("y")],
                               initializers).SerializeToString())
        found = latchkey.Session(path).run({"x": numpy.float32([-1, 1])})["y"]
        assert found.tolist() == [0, 1]
        path.write_bytes(model([*makes, node("Add", ["x", "w"], ["y"])], [value("x")], [value("y")],
                               initializers).SerializeToString())
        with pytest.raises(latchkey.Error, match=r"failed to load '.*model.onnx': .*failed to"):
            latchkey.Session(path)


def test_output_listed_twice(tmp_path):
    made = model([node("Relu", ["x"], ["y"])], [value("x")], [value("y"), value("y")])
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    session = latchkey.Session(path)
    assert session.run({"x": numpy.float32([-1, 1])})["y"].tolist() == [0, 1]


# ---- types that a run neither takes nor gives ----

@pytest.mark.parametrize("made, words", [
    (model([node("StringConcat", ["t", "t"], ["y"])], [value("t", STRING)], [value("y", STRING)],
           opset=20), ("'t'", "StringConcat", "string")),
    (model([node("Cast", ["t"], ["y"], to=FLOAT)], [value("t", TensorProto.COMPLEX64)],
           [value("y")]), ("'t'", "complex64")),
    (model([node("Cast", ["x"], ["y"], to=STRING)], [value("x")], [value("y", STRING)]),
     ("'y'", "string")),
    (model([node("SplitToSequence", ["x"], ["s"], axis=0)], [value("x")],
           [helper.make_tensor_sequence_value_info("s", FLOAT, None)]),
     ("'s'", "SplitToSequence", "a sequence")),
    (model([node("SequenceLength", ["s"], ["y"])],
           [helper.make_tensor_sequence_value_info("s", FLOAT, None)], [value("y", INT64, [])]),
     ("'s'", "SequenceLength", "a sequence")),
    (model([node("Optional", ["x"], ["o"])], [value("x")], [helper.make_value_info(
        "o", helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, None)))]),
     ("'o'", "Optional", "an optional value"))])
def test_is_refused_when_it_is_opened(made, words, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(made, path)
    with pytest.raises(UnsupportedError) as caught:
        latchkey.Session(path)
    for word in words:
        assert word in str(caught.value)
    assert "type 8" not in str(caught.value) and "type 14" not in str(caught.value)


# ---- no iterations ----

def loop_of(body_node, shape=None):
    body = helper.make_graph(
        [node("Identity", ["go"], ["go_on"]), body_node], "body",
        [value("i", INT64, []), value("go", BOOL, [])],
        [value("go_on", BOOL, []), value("row", FLOAT, shape)])
    return model([node("Loop", ["n", ""], ["y"], body=body)],
                 [value("n", INT64, []), value("x", FLOAT, ["a", 2])], [value("y", FLOAT, None)])


def test_loop_of_a_type_that_only_the_body_declares(tmp_path):
    inner = helper.make_graph(
        [node("Identity", ["go2"], ["go_on2"]), node("Identity", ["v2"], ["w2"])], "inner",
        [value("i2", INT64, []), value("go2", BOOL, []), value("v2", FLOAT, None)],
        [value("go_on2", BOOL, []), value("w2", FLOAT, None)])
    body = helper.make_graph(
        [node("Identity", ["go"], ["go_on"]), node("Loop", ["n", "", "x"], ["row"], body=inner)],
        "body", [value("i", INT64, []), value("go", BOOL, [])],
        [value("go_on", BOOL, []), value("row", FLOAT, None)])
    path = tmp_path / "model.onnx"
    onnx.save(model([node("Loop", ["n", ""], ["y"], body=body)],
                    [value("n", INT64, []), value("x", FLOAT, ["a", 2])],
                    [value("y", FLOAT, None)]), path)
    session, x = latchkey.Session(path), numpy.ones((3, 2), numpy.float32)
    assert session.run({"n": numpy.array(0), "x": x})["y"].size == 0
    assert session.run({"n": numpy.array(2), "x": x})["y"].tolist() == [x.tolist()] * 2


@pytest.mark.parametrize("trips", [0, 2])
@pytest.mark.parametrize("body_node, shape", [
    (node("Gather", ["x", "i"], ["row"]), None), (node("Relu", ["x"], ["row"]), None),
    (node("ReduceSum", ["x"], ["row"], keepdims=0), None),
    (node("Transpose", ["x"], ["row"]), None), (node("Gather", ["x", "i"], ["row"]), [2])])
def test_loop(body_node, shape, trips, tmp_path):
    check(loop_of(body_node, shape),
          {"n": numpy.array(trips), "x": numpy.ones((3, 2), numpy.float32)},
          tmp_path / "model.onnx")


@pytest.mark.parametrize("length", [0, 3])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan(axis, length, tmp_path):
    body = helper.make_graph([node("Add", ["s", "v"], ["t"]), node("Relu", ["t"], ["r"])], "body",
                             [value("s", shape=[4]), value("v", shape=[4])],
                             [value("t", shape=[4]), value("r", shape=[4])])
    made = model([node("Scan", ["s0", "x"], ["last", "y"], body=body, num_scan_inputs=1,
                       scan_output_axes=[axis])],
                 [value("s0", shape=[4]), value("x", shape=["n", 4])],
                 [value("last", shape=[4]), value("y", shape=None)])
    feeds = {"s0": numpy.zeros(4, numpy.float32), "x": numpy.ones((length, 4), numpy.float32)}
    path = tmp_path / "model.onnx"
    if length > 0:
        check(made, feeds, path)
        return
    onnx.save(made, path)  # ONNX Runtime fails at a sequence of length 0
    found = latchkey.Session(path).run(feeds)
    assert found["y"].shape == ((0, 4) if axis == 0 else (4, 0))
    assert found["last"].tolist() == [0, 0, 0, 0]


# ---- sizes that are none ----

@pytest.mark.parametrize("sizes, words", [([-2], "size 0 is -2"), ([1, -1], "size 1 is -1"),
                                          ([1] * 9, "9 ")])
def test_expand(sizes, words, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model([node("Expand", ["x", "s"], ["y"])],
                    [value("x", shape=None), value("s", INT64, ["r"])],
                    [value("y", shape=None)]), path)
    session = latchkey.Session(path)
    with pytest.raises(latchkey.Error, match=words):
        session.run({"x": numpy.ones(1, numpy.float32), "s": numpy.array(sizes)})
