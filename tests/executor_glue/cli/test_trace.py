"""--trace of run and bench: what the runs did and when, in a file."""

import json

import numpy
import pytest

from cli_harness import latchkey

SHAPE = ["--shape", "x={1..6}x4"]


def events_of(path):
    return json.loads(path.read_text())["traceEvents"]


def named(events, name):
    return [event for event in events if event["name"] == name]


def test_bench_traces_its_requests(classifier, tmp_path):
    path = tmp_path / "trace.json"
    report = latchkey("bench", classifier, *SHAPE, "-n", "12", "--trace", path, "--json").json()
    events = events_of(path)
    assert len(named(events, "run")) == len(named(events, "execute")) == 24
    assert len(named(events, "build run plan")) == report["shapes"]
    assert {run["args"]["model"] for run in named(events, "run")} == {str(classifier)}
    assert any(event["name"].startswith("MatMul+") for event in events)


def test_run_traces_its_run(classifier, tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.zeros((2, 4), numpy.float32))
    path = tmp_path / "trace.json"
    latchkey("run", classifier, "-i", f"x={tmp_path}/x.npy", "-o", tmp_path / "out", "--trace",
             path).ok()
    assert len(named(events_of(path), "run")) == 1


@pytest.mark.parametrize("options", [[], ["--clones"], ["--check"]], ids=" ".join)
def test_bench_traces_all_models_and_callers(classifier, tmp_path, options):
    path = tmp_path / "trace.json"
    report = latchkey("bench", f"a={classifier}", f"b={classifier}", *SHAPE, "-n", "100", "--rate",
                      "400", "--callers", "2", "--trace", path, "--json", *options).json()
    runs = named(events_of(path), "run")
    assert [one["requests"] for one in report["passes"]] == [100, 100] and len(runs) == 200
    assert len({run["tid"] for run in runs}) >= 2


def test_the_newest_events_are_kept(classifier, tmp_path):
    path = tmp_path / "trace.json"
    latchkey("bench", classifier, *SHAPE, "-n", "12", "--trace", path, "--trace-events", "20").ok()
    whole = json.loads(path.read_text())
    assert whole["otherData"]["dropped_events"] > 0
    assert len([event for event in whole["traceEvents"] if event["ph"] != "M"]) == 20


def test_bad_options_are_refused(classifier, tmp_path):
    bench = ["bench", classifier, *SHAPE, "-n", "1"]
    latchkey(*bench, "--trace-events", "20").fails(2, "only --trace has it")
    latchkey(*bench, "--trace", "x", "--trace-events", "0").fails(2, "--trace-events")
    latchkey(*bench, "--trace", tmp_path / "none" / "x").fails(1, "No such file or directory")
    latchkey(*bench, "--trace", "/dev/full").fails(1, "No space left on device")
    latchkey(*bench, "--trace", "x", "--memory", "2m").fails(1, "bytes for the events of a trace")
