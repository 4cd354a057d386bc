"""latchkey bench --engine: engines beside each other, their outputs, and the order of requests."""

import csv
import itertools
import json

import pytest

from latchkey._bench import read
from wait import with_more_time

from cli_harness import latchkey

SHAPE = ["--shape", "x={1..6}x4"]
pytestmark = pytest.mark.usefixtures("engines")


def bench(model, *args, **options):
    return latchkey("bench", model, *args, "--threads", "1", **options)


def runs_of(path):
    """Who ran in a row, and how often."""
    return [(name, len([*names])) for name, names in itertools.groupby(path.read_text().split())]


# ---- what is shown -----------------------------------------------------------------------------


def test_engines_are_rows_with_a_ratio(classifier):
    words = ["--engine", "native,alike", "--batch", "2,5", "-n", "20"]
    lines = bench(classifier, *words).ok().out.splitlines()
    assert "4 settings" in lines[0]
    assert lines[1].split() == ("threads callers engine "
                                "batch 2: items/s, p50/p99 ms / native "
                                "batch 5: items/s, p50/p99 ms / native").split()
    rows = [line.split() for line in lines[2:4]]
    assert [row[:3] for row in rows] == [["1", "1", "native"], ["1", "1", "alike"]]
    assert [len(row) for row in rows] == [9, 9]
    assert (rows[0][5], rows[0][8]) == ("1.000", "1.000")
    assert float(rows[1][5]) > 0 and float(rows[1][8]) > 0
    assert lines[4].startswith("most items/s: ") and "1 thread, 1 caller, batch" in lines[4]
    assert lines[5] == "outputs of the first request agree"


def test_json_has_each_engine_beside_the_first(classifier):
    report = bench(classifier, *SHAPE, "-n", 20, "--engine", "alike,native,other", "--callers",
                   "1,2", "--json").json()
    assert [(one["callers"], one["engine"]) for one in report["settings"]] == [
        (callers, name) for callers in (1, 2) for name in ("alike", "native", "other")]
    for at, one in enumerate(report["settings"]):
        base = report["settings"][at - at % 3]
        assert one["ratio"] == pytest.approx(
            one["passes"][1]["p50_ms"] / base["passes"][1]["p50_ms"], rel=1e-6)
        assert one["outputs_differ"] is None
        assert [each["requests"] for each in one["passes"]] == [20, 20]
        assert one["passes"][0]["new_shapes"]["requests"] == one["shapes"]


def test_one_engine_is_no_comparison(classifier, tmp_path):
    one = bench(classifier, *SHAPE, "-n", 5, "--engine", "alike", "--json").json()
    assert (one["engine"], "settings" in one) == ("alike", False)
    assert bench(classifier, *SHAPE, "-n", 5, "--engine", "native,other", "--engine", "alike",
                 "--json").json()["engine"] == "alike"
    assert "alike" not in bench(classifier, *SHAPE, "-n", 5, "--engine", "alike").ok().out
    sweep = bench(classifier, *SHAPE, "-n", 5, "--engine", "alike", "--callers", "1,2", "--json",
                  "--latencies", tmp_path / "a.json").json()
    assert [(each["engine"], "ratio" in each) for each in sweep["settings"]] == [
        ("alike", False)] * 2
    whole = json.loads((tmp_path / "a.json").read_text())
    assert all("engine" not in each["setting"] for each in whole["latencies"])


def test_latencies_have_the_engine(classifier, tmp_path):
    words = [classifier, *SHAPE, "-n", 12, "--engine", "native,alike", "--latencies"]
    bench(*words, tmp_path / "a.csv").ok()
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert list(rows[0])[:3] == ["engine", "threads", "callers"]
    assert [row["engine"] for row in rows] == ["native"] * 24 + ["alike"] * 24
    for part in (rows[:24], rows[24:]):
        assert [int(row["number"]) for row in part] == list(range(24))
        assert [row["pass"] for row in part] == ["1"] * 12 + ["2"] * 12
    bench(*words, tmp_path / "a.json").ok()
    whole = json.loads((tmp_path / "a.json").read_text())
    assert [one["setting"]["engine"] for one in whole["latencies"]] == ["native", "alike"]
    assert [len(one["rows"]) for one in whole["latencies"]] == [24, 24]
    assert [str(one) for one in read(str(tmp_path / "a.json")).settings] == [
        "native, 1 thread, 1 caller", "alike, 1 thread, 1 caller"]


# ---- the order of requests ---------------------------------------------------------------------


def test_engines_take_turns(classifier, tmp_path):
    """Turns of eight requests, also across passes, each second one from the last engine on; behind
    them, one request of each for its outputs."""
    log = tmp_path / "log"
    bench(classifier, *SHAPE, "-n", 20, "--engine", "alike,other", "--warmup", 3,
          environment={"SOFTMAX_LOG": str(log)}).ok()
    assert runs_of(log) == [
        ("alike", 3), ("other", 3),
        ("alike", 8), ("other", 16), ("alike", 16), ("other", 16), ("alike", 16), ("other", 8),
        ("alike", 1), ("other", 1)]


def test_a_long_pass_has_eight_turns(classifier, tmp_path):
    log = tmp_path / "log"
    bench(classifier, *SHAPE, "-n", 100, "--engine", "alike,other",
          environment={"SOFTMAX_LOG": str(log)}).ok()
    runs = runs_of(log)
    assert runs[0] == ("alike", 13)
    assert [count for _, count in runs[1:15]] == [26] * 14


def test_engines_take_turns_in_time(classifier, tmp_path):
    log = tmp_path / "log"

    def measure(seconds):
        log.unlink(missing_ok=True)
        report = bench(classifier, *SHAPE, "-n", 10, "--engine", "alike,other", "--duration",
                       seconds, "--json", environment={"SOFTMAX_LOG": str(log)}).json()
        return report, runs_of(log)

    def all_in_turns(done):
        return len(done[1]) >= 6 and all(one["passes"][1]["requests"] > 0
                                         for one in done[0]["settings"])

    report, runs = with_more_time(measure, all_in_turns, 0.2)
    sent = {name: sum(count for other, count in runs if other == name)
            for name in ("alike", "other")}
    for one in report["settings"]:
        assert one["passes"][0]["requests"] == 10
        assert sum(each["requests"] for each in one["passes"]) == sent[one["engine"]] - 1


def test_a_request_that_fails_is_told_with_its_engine(classifier, tmp_path, faulty):
    """The twelfth run is the fourth of the second engine."""
    file = tmp_path / "a.csv"
    words = [classifier, *SHAPE, "-n", 5, "--engine", "native,alike", "--latencies", file]
    done = bench(*words, environment=faulty(fail=12))
    setting, sentence = "alike, 1 thread, 1 caller", "failed to run: this is the turn to fail"
    assert done.code == 1 and f"\n{setting}: 1 request failed:\n  1 x {sentence}\n" in done.out
    assert done.err == (f"latchkey bench: {setting}: failed to serve 1 request, the first: "
                        f"{sentence}\n")
    rows = [(row["engine"], row["ok"]) for row in csv.DictReader(file.open())]
    assert rows == [("native", "1")] * 10 + [("alike", "1")] * 3 + [("alike", "0")] + [
        ("alike", "1")] * 6
    bench(*words, environment=faulty(fail=1)).fails(
        1, f"latchkey bench: native, 1 thread, 1 caller: {sentence}")
    rows = [(row["engine"], row["ok"]) for row in csv.DictReader(file.open())]
    assert rows == [("native", "0")]


def test_sigint_leaves_the_later_engines_empty(classifier, interrupt):
    words = ["bench", classifier, *SHAPE, "--engine", "native,alike", "--threads", "1",
             "--duration", "10000"]
    code, out, err = interrupt(words, 20)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[2].split()[2::3] == ["native", "1.000"]
    assert lines[3].split()[2:] == ["alike", "-", "-"]
    code, out, _ = interrupt([*words, "--json"], 20)
    report = json.loads(out)
    assert code == 0 and report["interrupted"] is True
    assert [one["engine"] for one in report["settings"]] == ["native"]


# ---- outputs -----------------------------------------------------------------------------------


def test_outputs_that_differ_fail(classifier, tmp_path):
    words = [classifier, *SHAPE, "-n", 5, "--engine", "native,skewed,alike"]
    done = bench(*words)
    difference = "failed to match 'y': element 0 is "
    assert done.code == 1
    assert f"\noutputs differ: skewed, 1 thread, 1 caller: {difference}" in done.out
    assert done.out.count("outputs differ") == 1 and "agree" not in done.out
    assert done.err.startswith(
        "latchkey bench: failed to compare engines: the outputs of 1 setting differ from those of "
        f"native, the first: skewed, 1 thread, 1 caller: {difference}")
    assert len(done.err.splitlines()) == 1
    file = tmp_path / "a.json"
    done = bench(*words, "--json", "--latencies", file)
    assert done.code == 1
    said = {one["engine"]: one["outputs_differ"] for one in json.loads(done.out)["settings"]}
    assert said["native"] is None and said["alike"] is None
    assert said["skewed"].startswith(difference)
    assert json.loads(file.read_text())["report"] == json.loads(done.out)


def test_outputs_are_compared_with_the_first_engine(classifier):
    done = bench(classifier, *SHAPE, "-n", 5, "--engine", "skewed,native", "--callers", "1,2")
    assert done.code == 1
    assert "outputs of 2 settings differ from those of skewed" in done.err
    words = [classifier, *SHAPE, "-n", 5, "--engine", "native,skewed"]
    for option, value, code in (("--rtol", "0.6", 0), ("--atol", "0.6", 0), ("--rtol", "0.4", 1)):
        assert bench(*words, option, value).code == code, (option, value)


# ---- bad options -------------------------------------------------------------------------------


@pytest.mark.parametrize("option, value, sentence", [
    ("--engine", "", "'' is number 1 of the list, a name is needed"),
    ("--engine", "native,,alike", "'' is number 2"), ("--engine", "native,", "'' is number 2"),
    ("--engine", "native,alike,native", "'native' is given twice"),
    ("--engine", ",".join("abcdefghijklm"), "'m' is number 13 of the list, 12 are allowed"),
    ("--rtol", "x", "'x'"), ("--atol", "-1", "'-1'"),
])
def test_bad_options_are_sentences(option, value, sentence):
    latchkey("bench", "a.onnx", option, value).fails(2, f"failed to read {option}", sentence)


def test_an_unknown_engine_is_refused_by_the_library(classifier):
    alone = bench(classifier, *SHAPE, "--engine", "no_such").fails(
        1, "latchkey bench: failed to choose engine 'no_such': its module cannot be loaded")
    sentence = alone.err.removeprefix("latchkey bench: ")
    listed = bench(classifier, *SHAPE, "--engine", "native,no_such").fails(1)
    assert listed.err == f"latchkey bench: no_such, 1 thread, 1 caller: {sentence}"


def test_a_profile_and_a_trace_are_of_one_engine(classifier):
    for option in (["--profile"], ["--trace", "t.json"]):
        latchkey("bench", classifier, *SHAPE, *option, "--engine", "native,alike").fails(
            2, f"failed to read {option[0]}", "2 settings", "--engine")
