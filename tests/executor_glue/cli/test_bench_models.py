"""latchkey bench with several models: their mix, what their inputs are, clones."""

import csv
import json

import numpy
import pytest
from onnx import TensorProto, helper

from wait import with_more_time

from cli_harness import latchkey, save_model

# Every run finds all threads of operators asleep otherwise, and no test is about them.
FAST = ["--threads", "1"]
SHAPE = ["--shape", "x=2x4"]


@pytest.fixture
def adder(tmp_path):
    """x + x, of any shape, and an input that only it has."""
    return save_model(tmp_path / "adder.onnx",
                      [helper.make_node("Add", ["x", "bias"], ["y"], name="add")],
                      [("x", TensorProto.FLOAT, ["rows", "n"]), ("bias", TensorProto.FLOAT, ["n"])],
                      [("y", TensorProto.FLOAT, ["rows", "n"])])


def bench(*args, environment=None):
    return latchkey("bench", *args, *FAST, "--json", environment=environment).json()


def values_of(log):
    """Rows and first number of the first input of each run."""
    return [tuple(map(float, line.split())) for line in log.read_text().splitlines()]


def test_every_request_is_of_one_model(classifier, adder):
    report = bench(classifier, f"B={adder}", "--shape", "x={1..3}x4", "--shape", "bias=4",
                   "--callers", "3", "-n", "300")
    assert report["model"] == "classifier, B"
    assert report["models"] == [{"name": "classifier", "file": str(classifier), "weight": 1},
                                {"name": "B", "file": str(adder), "weight": 1}]
    for number, one in enumerate(report["passes"]):
        assert one["requests"] == 300 == sum(model["requests"] for model in one["models"])
        assert one["requests_per_s"] == pytest.approx(
            sum(model["requests_per_s"] for model in one["models"]))
        # Every request found its run plan, built it, or waited while another caller built it.
        plans = [(model["run_plan_hits"], model["run_plan_builds"]) for model in one["models"]]
        assert sum(hits for hits, _ in plans) == one["run_plan_hits"]
        assert [builds for _, builds in plans] == ([0, 0] if number else [3, 3])
        assert (one["run_plan_hits"] + one["run_plan_builds"] + one["kinds"]["run"]["waits"]
                == 300)
        for model in one["models"]:
            times = [model[f"{key}_ms"] for key in ("min", "p50", "p90", "p95", "p99", "p99_9",
                                                    "max")]
            assert 0 < times[0] and times == sorted(times)
            assert times[0] <= model["mean_ms"] <= times[-1]
            assert model["shapes"] == 3
        # Those of one shape are new for each model.
        assert one["new_shapes"]["requests"] == (0 if number else 6)
    assert report["shapes"] == 6


def test_the_mix(classifier):
    models = [f"{name}={classifier}" for name in ("A", "B", "C", "D")]
    report = bench(*models, *SHAPE, "--callers", "2", "-n", "4000", "--mix", "B:0,A:6,C:2")
    share = {model["name"]: model["requests"] / 4000 for model in report["passes"][1]["models"]}
    assert share["B"] == 0
    assert report["passes"][1]["models"][1]["mean_ms"] is None
    # Standard deviations are under 0.008.
    for name, expected in (("A", 6 / 9), ("C", 2 / 9), ("D", 1 / 9)):
        assert share[name] == pytest.approx(expected, abs=0.05)


def test_a_model_that_is_never_asked_needs_no_shape(classifier, adder):
    report = bench(classifier, adder, *SHAPE, "-n", "5", "--mix", "adder:0")
    assert [model["requests"] for model in report["passes"][0]["models"]] == [5, 0]
    latchkey("bench", classifier, adder, *SHAPE, "-n", "5").fails(
        1, "adder: ", "'bias' ([n] f32)", "--shape 'adder/bias=1'")


def test_a_seed_repeats_the_requests(classifier, tmp_path, faulty):
    """Also their values, which no two have, and however many callers there are."""
    def sent(name, *more):
        log = tmp_path / name
        bench(f"A={classifier}", f"B={classifier}", "--shape", "x={1..1000}x4", "-n", "300", *more,
              environment=faulty(log=log))
        return values_of(log)
    first = sent("first")
    assert first[:300] == first[300:] and len({value for _, value in first}) == 300
    assert all(0 <= value < 1 for _, value in first)
    assert sent("second") == first
    assert sent("other", "--seed", "2") != first
    assert sorted(sent("callers", "--callers", "3")) == sorted(first)


def test_shapes_and_files_of_one_model_and_of_all(tmp_path, classifier, adder):
    numpy.save(tmp_path / "bias.npy", numpy.ones(7, numpy.float32))
    models = [f"A={classifier}", f"B={adder}"]

    def shapes(*words):
        report = bench(*models, *words, "-n", "50")
        return [model["shapes"] for model in report["passes"][0]["models"]]
    a, b = shapes("--shape", "x={1..8}x4", "--shape", "B/x=3x7", "-i",
                  f"B/bias={tmp_path}/bias.npy")
    assert a > 1 and b == 1
    # {n} is one choice, whichever model it is explained for.
    assert shapes("--shape", "A/x={n:1..8}x4", "--shape", "B/x=2x{n}", "--shape", "bias={n}")[1] > 1
    # A shape for all does not stand against a file for one.
    shapes("--shape", "x=2x7", "--shape", "A/x=2x4", "--shape", "bias=4", "-i",
           f"B/bias={tmp_path}/bias.npy")
    for name in ("z", "A/z", "C/x", "A/bias"):
        latchkey("bench", *models, *SHAPE, "--shape", "bias=4", "--shape", f"{name}=2").fails(
            1, f"no model has an input '{name}'")
    latchkey("bench", *models, *SHAPE, "--shape", "bias=4", "-i", f"z={tmp_path}/bias.npy").fails(
        1, "--input", "'z'")
    latchkey("bench", *models, *SHAPE, "--shape", "bias=7", "-i",
             f"bias={tmp_path}/bias.npy").fails(1, "'bias'", "from a file")


@pytest.mark.parametrize("cache", ["off", "thread", "shared"])
@pytest.mark.parametrize("clones", [[], ["--clones"]])
def test_every_mode_serves_all(classifier, adder, cache, clones):
    report = bench(classifier, adder, "--shape", "x={1..8}x4", "--shape", "bias=4", *clones,
                   "--callers", "4", "-n", "100", "--cache", cache)
    assert (report["cache"], report["options"]["clones"]) == (cache, bool(clones))
    for one in report["passes"]:
        plans = one["run_plan_hits"] + one["run_plan_builds"] + one["kinds"]["run"]["waits"]
        assert one["requests"] == 100 and (cache == "off" or plans == 100)


def test_clones_are_sessions_of_their_own(classifier):
    args = [classifier, *SHAPE, "--callers", "3", "-n", "30"]
    shared = bench(*args)["passes"][1]["kinds"]["run"]["entries"]
    # Each session that had a run has a run plan, and plans of its own.
    with_more_time(
        lambda seconds: bench(*args, "--clones", "--warmup",
                              f"{seconds}s")["passes"][1]["kinds"]["run"]["entries"],
        lambda entries: entries > shared, 0.5)


def test_files_of_latencies_have_the_model(classifier, adder, tmp_path):
    file = tmp_path / "a.csv"
    latchkey("bench", classifier, adder, *SHAPE, "--shape", "bias=4", "-n", "20", "--latencies",
             file).ok()
    assert {row["shape"] for row in csv.DictReader(file.open())} == {
        "classifier: x=2x4", "adder: x=2x4 bias=4"}


def test_engines_are_compared_by_each_model(classifier, adder, engines):
    words = ["bench", f"A={classifier}", f"B={adder}", "--shape", "x=2x4", "--shape", "B/bias=4",
             "-n", "5", *FAST, "--engine"]
    assert "\noutputs of the first request of each model agree\n" in latchkey(
        *words, "native,alike").ok().out
    done = latchkey(*words, "native,skewed", "--json")
    assert done.code == 1
    assert json.loads(done.out)["settings"][1]["outputs_differ"].startswith(
        "A: failed to match 'y': ")


def test_for_people(classifier, adder):
    out = latchkey("bench", f"first={classifier}", adder, *SHAPE, "--shape", "bias=4", *FAST,
                   "-n", "50", "--callers", "2", "--clones").ok().out
    lines = out.splitlines()
    assert lines[0].startswith("first, adder: 50 requests, 2 shapes, seed 1, ")
    assert "cloned for each caller" in lines[0]
    assert lines[-3].split()[:4] == ["latency", "in", "ms", "requests"]
    assert [line.split()[0] for line in lines[-2:]] == ["first", "adder"]
    assert sum(int(line.split()[1]) for line in lines[-2:]) == 50


def test_usage_errors(tmp_path, classifier):
    latchkey("bench").fails(2, "MODEL is missing")
    latchkey("bench", "a.onnx", "sub/a.onnx").fails(
        2, "'a.onnx' and 'sub/a.onnx' are both called 'a'")
    latchkey("bench", "a=x.onnx", "sub/a.onnx").fails(2, "'x.onnx' and 'sub/a.onnx'", "'a'")
    latchkey("bench", "a=").fails(2, "'a='", "NAME=FILE.onnx")
    latchkey("bench", classifier, "--shape", "x=1x4", "x=2x4").fails(
        2, "'x=2x4' names a model", "the shell expands braces without quotes")
    mixed = ["bench", "a.onnx", "b.onnx", "--mix"]
    latchkey(*mixed, "c:1").fails(2, "--mix", "no model is called 'c'")
    latchkey(*mixed, "a:1,a:2").fails(2, "--mix", "'a' is given twice")
    latchkey(*mixed, "a:0,b:0").fails(2, "--mix", "more than 0")
    for bad in ("a", "a:", "a:x", "a:-1", "a:1.5", ":1", "", "a:1,", "a:1000001"):
        latchkey(*mixed, bad).fails(2, "--mix", "NAME:WEIGHT")
    for option in (["--batch", "2"], ["--profile"]):
        latchkey("bench", "a.onnx", "b.onnx", *option).fails(2, option[0], "2 models are given")
    latchkey("bench", classifier, tmp_path / "no.onnx", *SHAPE).fails(1, "no: ", "no.onnx")


def test_a_file_with_an_equals_sign_in_its_folder(tmp_path, classifier):
    folder = tmp_path / "a=b"
    folder.mkdir()
    (folder / "m.onnx").write_bytes(classifier.read_bytes())
    assert bench(folder / "m.onnx", *SHAPE, "-n", "1")["models"][0]["name"] == "m"
