"""latchkey explain: the causes of what it has run, and of statistics in a file."""

import itertools
import json
import re
import subprocess
import sys

import numpy
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper

import latchkey


@pytest.fixture(scope="module")
def model(tmp_path_factory, convnet):
    path = tmp_path_factory.mktemp("explain") / "net.onnx"
    path.write_bytes(convnet)
    return path


def command(*words):
    return subprocess.run([sys.executable, "-m", "latchkey", "explain", *map(str, words)],
                          capture_output=True, text=True, timeout=120)


def explained(*words):
    done = command(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fails(code, *words):
    done = command(*words)
    assert done.returncode == code and done.stdout == "", done
    assert done.stderr.startswith("latchkey explain: failed to ") and done.stderr.count("\n") == 1
    return done.stderr


def test_says_what_drifts(model):
    done = command(model, "--shape", "x=1x3x32x{20..200}", "-n", "30", "-t", "1")
    assert done.returncode == 0 and done.stderr == "", done
    lines = done.stdout.splitlines()
    assert "new sizes came after the first, mostly since x.dims[3] changed [" in lines[0]
    assert lines[1].startswith("   - x.dims[3]: ")
    nodes = list(itertools.takewhile(re.compile(
        r"   - .+: in\[\d\]\.dims\[\d\] \d+ -> \d+, \d+ binds?, .+s$").match, lines[2:]))
    assert 1 <= len(nodes) <= 4
    assert lines[2 + len(nodes)].startswith(
        "   => where the model allows padding, round x.dims[3] up")


def test_a_dimension_that_is_fixed_is_not_told_of(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(make_model(
        [helper.make_node("Shape", ["x"], ["dims"]),
         helper.make_node("Gather", ["dims", "zero"], ["rows"]),
         helper.make_node("Concat", ["rows", "rest"], ["wanted"], axis=0),
         helper.make_node("Reshape", ["x", "wanted"], ["y"])],
        [("x", TensorProto.FLOAT, ["batch", None])], [("y", TensorProto.FLOAT, None)],
        [("zero", numpy.array([0])), ("rest", numpy.array([2, -1]))]))
    words = [path, "--shape", "x=3x{2,4,6,8,10}", "-n", "20"]

    def causes(*more):
        return [found["cause"] for found in explained(*words, *more)]
    assert "one_size" in causes()
    assert "one_size" not in causes("--fix", "batch=3")
    assert causes("--fix", "batch=3", "--provider") == ["left_nodes"]
    assert "declared as 2x?" in fails(1, *words, "--fix", "batch=2")


def test_says_what_does_not_fit(model):
    found = explained(model, "--shape", "x=1x3x{8,9,10,11}x16", "-n", "40", "--cache-entries", "2")
    [again] = (each for each in found if each["cause"] == "built_again")
    assert again["advice"] == (
        "raise cache_entries from 2 to 4 at least: then all sizes that were seen fit")
    assert again["lost_ns"] > 0
    limited = explained(model, "--shape", "x=1x3x{8..40}x16", "--cache-bytes", "16k")
    assert any("raise cache_bytes from 16k" in each["advice"] for each in limited)


def test_says_that_nothing_is_kept(model):
    found = explained(model, "--shape", "x=1x3x8x8", "-n", "3", "--cache", "off")
    assert [each["cause"] for each in found] == ["nothing_kept"]


def test_says_what_is_not_fused(tmp_path):
    path = tmp_path / "clip.onnx"
    path.write_bytes(make_model(
        [helper.make_node("Conv", ["x", "w"], ["c"]),
         helper.make_node("Clip", ["c", "low", "high"], ["y"], "limit\x1b")],
        [("x", TensorProto.FLOAT, [1, 3, "h", "w"]), ("low", TensorProto.FLOAT, []),
         ("high", TensorProto.FLOAT, [])],
        [("y", TensorProto.FLOAT, None)], [("w", random(8, 3, 1, 1))]))
    found = explained(path, "--shape", "x=1x3x32x32", "-n", "5", "--threads", "1")
    assert [each["cause"] for each in found] == ["not_fused"]
    assert found[0]["lost_ns"] > 0
    done = command(path, "--shape", "x=1x3x32x32")
    assert "\x1b" not in done.stdout
    assert "Clip 'limit\\x1b': its input 1, 'low', is not a constant" in done.stdout


def test_says_nothing_where_there_is_nothing(model):
    words = "--shape", "x=1x3x8x8", "--threads", "1"
    done = command(model, *words)
    assert done.returncode == 0
    assert done.stdout == "Nothing was found: sizes were known, and nothing was built twice.\n"
    assert explained(model, *words) == []


def test_says_how_many_threads_are_enough(model):
    [found] = explained(model, "--shape", "x=1x3x8x8", "--threads", "2")
    assert found["lost_ns"] is None
    if found["cause"] == "others_compute":  # which they may do while this test runs
        assert found["text"].startswith("others computed on ")
        return
    assert found["cause"] == "idle_threads"
    assert found["advice"] == "take threads=1: it leaves 1 processor to other runs"


def test_says_what_is_left_to_onnxruntime(tmp_path):
    path = tmp_path / "split.onnx"
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]),
             helper.make_node("Unique", ["a"], ["b"]),
             helper.make_node("Reshape", ["b", "shape"], ["c"]),
             helper.make_node("Conv", ["c", "v"], ["y"])]
    path.write_bytes(make_model(
        nodes, [("x", TensorProto.FLOAT, [1, 3, "h", "w"])], [("y", TensorProto.FLOAT, None)],
        [("w", random(4, 3, 1, 1)), ("shape", numpy.array([1, 1, 1, -1])),
         ("v", random(4, 1, 1, 1))]))
    found = explained(path, "--shape", "x=1x3x4x4", "--provider", "-n", "2", "-t", "1")
    assert found[0]["cause"] == "left_nodes"
    assert found[0]["details"] == ["1 Unique: the shapes of its outputs follow from data"]


def test_reads_statistics_of_a_service(model, tmp_path):
    path = tmp_path / "statistics.json"
    with latchkey.Session(model, cache_entries=1) as session:
        for height in (8, 9, 8, 9):
            session.run({"x": numpy.zeros((1, 3, height, 16), numpy.float32)})
        path.write_text(json.dumps(session.statistics()))
        expected = session.explain()
    assert explained(path) == json.loads(json.dumps(expected.to_json()))
    done = command(path)
    assert done.stdout == str(expected)


def test_reads_a_recording(model, tmp_path):
    path = tmp_path / "run.json"
    with latchkey.Session(model) as session, latchkey.Recorder(session, path=path) as recorder:
        for height in range(8, 20):
            recorder.run({"x": numpy.zeros((1, 3, height, 16), numpy.float32)})
    recorded = json.loads(path.read_text())["explanation"]
    assert explained(path) == recorded and recorded[0]["cause"] == "new_sizes"


def test_bad_inputs_are_refused(model, tmp_path):
    assert "'none.onnx'" in fails(1, "none.onnx").replace(str(tmp_path), "")
    assert "MODEL" in fails(2)
    assert "--shape 'x=" in fails(1, model)
    assert "'0', 1 to 1024 is needed" in fails(2, model, "-t", "0")
    assert "'lots', a number of bytes" in fails(2, model, "--memory", "lots")
    assert "--frobnicate" in fails(2, model, "--frobnicate")
    for number, (text, why) in enumerate([("{", "not JSON"), ("[]", "no statistics"),
                                          ('{"schema": "other-1"}', "no statistics"),
                                          ('{"schema": "latchkey-statistics-1"}', "'context'"),
                                          ('{"schema": "latchkey-statistics-1", "context": 3, '
                                           '"session": {}}', "statistics")]):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        assert why in fails(1, path), text
    assert "none.json" in fails(1, tmp_path / "none.json")


def test_names_reach_no_terminal_as_they_are(tmp_path):
    path = tmp_path / "odd.onnx"
    path.write_bytes(make_model([helper.make_node("Relu", ["a\x1b[31m"], ["y"])],
                                [("a\x1b[31m", TensorProto.FLOAT, ["n"])],
                                [("y", TensorProto.FLOAT, ["n"])]))
    numpy.save(tmp_path / "x.npy", numpy.zeros(3, numpy.float32))
    done = command(path, "--shape", "a\x1b[31m={3,4,5}", "-n", "20")
    assert done.returncode == 0, done
    assert "\x1b" not in done.stdout and "a\\x1b[31m.dims[0]" in done.stdout
