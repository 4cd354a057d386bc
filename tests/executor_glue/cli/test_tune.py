"""latchkey tune: what it measures, shows and writes, and who reads that."""

import json
import os
import shutil
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from cli_harness import COMMAND, latchkey, needs_module, save_model

SHAPE = ["--shape", "x=3x4"]


def tune(model, *args, **options):
    return latchkey("tune", model, "--threads", "1", "--duration", "0.02", *args, **options)


def measured(report):
    return [choice for choice in report["choices"] if choice["is_measured"]]


# ---- what is shown and written -----------------------------------------------------------------


@needs_module
def test_json_has_what_was_measured(classifier, tmp_path):
    file = tmp_path / "tuning"
    report = tune(classifier, *SHAPE, "-o", file, "--json").json()
    assert (report["model"], report["file"], report["sizes"]) == (str(classifier), str(file), 1)
    found = measured(report)
    assert len(found) == report["measured"] > 0
    assert report["works_written"] == len(file.read_text().splitlines()) - 1
    assert {choice["engine"] for choice in report["choices"]} == {"onednn"}
    assert {choice["shape"] for choice in report["choices"]} == {"x=3x4"}
    assert all(choice["native_ns"] > 0 and choice["engine_ns"] > 0 for choice in found)
    assert report["taken"] == sum(choice["is_engine"] for choice in found)
    for name in ("native_ns", "engine_ns"):
        assert report[name] == pytest.approx(sum(choice[name] for choice in found))
    assert report["chosen_ns"] == pytest.approx(sum(
        choice["engine_ns" if choice["is_engine"] else "native_ns"] for choice in found))
    assert all(bool(choice["reason"]) != choice["is_engine"] for choice in report["choices"])


@needs_module
def test_the_table_begins_with_what_is_saved(classifier, tmp_path):
    file = tmp_path / "tuning"
    lines = tune(classifier, *SHAPE, "-o", file).ok().out.splitlines()
    assert lines[0].startswith(f"{classifier}: ") and " works measured at 1 size, " in lines[0]
    assert lines[1].startswith("all of them: native ") and ", as chosen " in lines[1]
    assert lines[2].split() == "node work native us engine us ratio chosen reason".split()
    rows = [line.split() for line in lines[3:-1]]
    assert all(row[4] == "-" or len(row[4].split(".")[1]) == 3 for row in rows)
    times = [[float(row[2]), float(row[3])] for row in rows if row[2] != "-"]
    assert times and all(row[5] in ("native", "onednn") for row in rows)
    saved = [native - engine for native, engine in times]
    assert all(one >= other - 0.21 for one, other in zip(saved, saved[1:]))  # as they are rounded
    assert lines[-1].startswith(f"{file}: ") and lines[-1].endswith(" more, equal works share one")


@needs_module
def test_one_is_counted_as_one(tmp_path):
    model = save_model(tmp_path / "m.onnx", [helper.make_node("Softmax", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, [3, 4])], [("y", TensorProto.FLOAT, [3, 4])])
    file = tmp_path / "tuning"
    lines = tune(model, "-o", file).ok().out.splitlines()
    assert lines[0].startswith(f"{model}: 1 work measured at 1 size, onednn is chosen for ")
    assert lines[-1] == f"{file}: 1 line more, equal works share one"
    lines = latchkey("bench", model, "-n", 1, "--profile").ok().out.splitlines()
    assert lines[0].startswith(f"{model}: 1 request, 1 shape, seed ")
    assert any(line.startswith("profile of 1 run: ") for line in lines)
    assert latchkey("inspect", model).ok().out.startswith(
        f"{model}: 1 node in the file, 1 to run; 0 constants, ")


@needs_module
def test_only_the_work_of_a_node_is_measured(tmp_path):
    """A pooling between steps that make numbers of bytes, and bytes of these: it is an equal work
    in a node that is nothing else."""
    scalars = [helper.make_node("Constant", [], [name], value=helper.make_tensor(
        name, dtype, [], [value])) for name, dtype, value in (
            ("scale", TensorProto.FLOAT, 0.5), ("zero", TensorProto.UINT8, 3))]
    nodes = [*scalars,
             helper.make_node("QLinearAveragePool", ["q", "scale", "zero", "scale", "zero"], ["p"],
                              domain="com.microsoft", kernel_shape=[2, 2], channels_last=1),
             helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2])]
    model = save_model(
        tmp_path / "m.onnx", nodes,
        [("q", TensorProto.UINT8, [1, 16, 16, 8]), ("x", TensorProto.FLOAT, [1, 8, 16, 16])],
        [("p", TensorProto.UINT8, None), ("y", TensorProto.FLOAT, None)],
        domains=["com.microsoft"])
    file = tmp_path / "tuning"
    report = tune(model, "-o", file, "--json").json()
    found = {choice["node"]: choice for choice in measured(report)}
    assert found.keys() == {"p", "y"}
    assert report["works_written"] == 1 and file.read_text().splitlines()[1].split(" ")[3] == "2"
    steps = latchkey("bench", model, "-n", 3, "--threads", 1, "--profile", "--json", "--tuning",
                     file, "--engine", "auto").json()["profile"]["steps"]
    of_node = [step for step in steps if step["output"] == "p"]
    assert len(of_node) > 1
    [pool] = [step for step in of_node if step["expected_ms"] is not None]
    assert pool["works_ms"] == pytest.approx(pool["ms"]) and pool["expected_is_measured"]
    chosen = "engine_ns" if found["p"]["is_engine"] else "native_ns"
    assert pool["expected_ms"] == pytest.approx(found["p"][chosen] / 1e6)


@needs_module
def test_each_size_has_rows(classifier, tmp_path):
    words = [classifier, "--shape", "x={2,3,5}x4", "-n", 30, "-o", tmp_path / "tuning"]
    report = tune(*words, "--json").json()
    assert report["sizes"] == 3
    assert {choice["shape"] for choice in measured(report)} == {"x=2x4", "x=3x4", "x=5x4"}
    lines = tune(*words).ok().out.splitlines()
    assert " measured at 3 sizes, " in lines[0] and lines[2].split()[-2:] == ["shape", "reason"]


@needs_module
def test_a_file_is_appended_to(classifier, tmp_path):
    file = tmp_path / "tuning"
    tune(classifier, *SHAPE, "-o", file).ok()
    first = file.read_text()
    tune(classifier, "--shape", "x=7x4", "-o", file).ok()
    assert file.read_text().startswith(first) and len(file.read_text()) > len(first)


@needs_module
@pytest.mark.parametrize("json_too", [False, True])
def test_where_nothing_is_taken_nothing_is_written(tmp_path, json_too):
    model = save_model(tmp_path / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, [3, 4])], [("y", TensorProto.FLOAT, [3, 4])])
    file = tmp_path / "tuning"
    said = tune(model, "-o", file, *["--json"] * json_too).ok().out
    if json_too:
        report = json.loads(said)
        assert (report["file"], report["works_written"], report["measured"]) == (None, 0, 0)
    else:
        assert said == (f"{model}: no engine has an offer for any of its works beside native, so "
                        "there is nothing to measure, and nothing was written\n")
    assert not file.exists()


@needs_module
def test_the_environment_chooses_no_engine(classifier, tmp_path):
    file = tmp_path / "tuning"
    tune(classifier, *SHAPE, "-o", file, environment={"LATCHKEY_ENGINE": "native"}).ok()
    assert file.exists()
    tune(classifier, *SHAPE, "-o", file, "--engine", "auto").ok()


# ---- how it fails ------------------------------------------------------------------------------


@needs_module
def test_sigint_leaves_the_file_as_it_is(classifier, interrupt, tmp_path):
    file = tmp_path / "tuning"
    words = ["tune", classifier, *SHAPE, "--threads", "1", "--duration", "10000", "-o", file]
    code, out, err = interrupt(words, 1)
    assert (code, out) == (1, "")
    assert err == f"latchkey tune: failed to tune: it was interrupted, '{file}' is as it was\n"
    assert not file.exists()
    file.write_text("# latchkey tuning 1\n")
    assert interrupt(words, 1)[0] == 1
    assert file.read_text() == "# latchkey tuning 1\n"


@needs_module
def test_a_file_that_cannot_be_written_is_named(classifier, tmp_path):
    file = tmp_path / "nosuch" / "tuning"
    tune(classifier, *SHAPE, "-o", file).fails(
        1, f"latchkey tune: failed to write measured times to '{file}': ")


@needs_module
def test_run_plans_are_needed(classifier, tmp_path):
    tune(classifier, *SHAPE, "-o", tmp_path / "tuning", "--no-run-plans").fails(
        1, "latchkey tune: ", "run plans or the cache are off")


def test_without_the_module_it_says_how_to_get_it(classifier, tmp_path):
    """A copy of the library, with nothing beside it."""
    for library in Path(COMMAND).parent.glob("liblatchkey.so*"):
        shutil.copy2(library, tmp_path)
    tune(classifier, *SHAPE, "-o", tmp_path / "tuning",
         environment={"LD_LIBRARY_PATH": f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
         ).fails(1, "latchkey tune: failed to choose engine 'onednn': its module cannot be loaded",
                 "`tools/setup` and a new build")
    assert not (tmp_path / "tuning").exists()


@pytest.mark.parametrize("words, sentence", [
    ([], "failed to read the command line: -o FILE is missing"),
    (["-o", "t", "--engine", "native"], "failed to read --engine: 'native', auto is needed"),
    (["-o", "t", "--duration", "0"], "failed to read --duration: '0'"),
    (["-o", "t", "--duration", "soon"], "failed to read --duration: 'soon'"),
])
def test_bad_options_are_sentences(words, sentence):
    latchkey("tune", "a.onnx", *words).fails(2, sentence)


# ---- who reads the file ------------------------------------------------------------------------


@needs_module
@pytest.mark.parametrize("command", ["bench", "cache", "inspect"])
def test_commands_read_a_file(classifier, tmp_path, command):
    file = tmp_path / "tuning"
    words = [command, classifier, *SHAPE, "--engine", "auto", "--tuning", file]
    latchkey(*words).fails(1, f"latchkey {command}: ", f"failed to read the tuning file '{file}'")
    tune(classifier, *SHAPE, "-o", file).ok()
    latchkey(*words).ok()


@needs_module
def test_bench_says_which_file(classifier, tmp_path):
    file = tmp_path / "tuning"
    tune(classifier, *SHAPE, "-o", file).ok()
    words = ["bench", classifier, *SHAPE, "-n", 3, "--json", "--engine", "native,auto"]
    assert latchkey(*words, "--tuning", file).json()["options"]["tuning"] == str(file)
    assert latchkey(*words).json()["options"]["tuning"] is None
