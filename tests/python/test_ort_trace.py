"""Traces of the provider, alone and beside ONNX Runtime's own profile on one clock."""

import json
import time

import numpy
import onnxruntime
import pytest
from conftest import make_model
from onnx import TensorProto, helper

import latchkey.ort
from latchkey._merge import merge

WEIGHTS = numpy.ones((64, 64), numpy.float32)


@pytest.fixture(scope="module")
def model():
    return make_model([helper.make_node("MatMul", ["x", "w"], ["a"], name="mm"),
                       helper.make_node("Relu", ["a"], ["b"]),
                       helper.make_node("Unique", ["b"], ["y"])],
                      [("x", TensorProto.FLOAT, ["n", 64])], [("y", TensorProto.FLOAT, None)],
                      [("w", WEIGHTS)])


def run_traced(model, folder, threads):
    """The files of a trace and a profile, when the profile began, and when three runs did, by
    CLOCK_MONOTONIC."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    latchkey.ort.append(options, claim="all", trace_file=str(folder / "trace.json"))
    session = onnxruntime.InferenceSession(model, options, enable_fallback=0)
    begun = []
    for rows in (3, 5, 3):
        begun.append(time.monotonic_ns() / 1000)
        session.run(None, {"x": numpy.ones((rows, 64), numpy.float32)})
    start_ns, profile = session.get_profiling_start_time_ns(), session.end_profiling()
    del session
    return folder / "trace.json", profile, start_ns, begun


def intervals(events, test):
    return [event for event in events if event["ph"] == "X" and test(event)]


def is_within(inner, outer):
    return (outer["ts"] <= inner["ts"]
            and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_latchkey_did_lies_within_its_nodes(model, tmp_path, threads):
    trace, profile, start_ns, begun = run_traced(model, tmp_path, threads)
    latchkey.ort.merge_traces(trace, profile, start_ns, tmp_path / "both.json")
    events = json.loads((tmp_path / "both.json").read_text())["traceEvents"]
    nodes = intervals(events, lambda e: e.get("cat") == "Node" and "Latchkey" in e["name"])
    runs = intervals(events, lambda e: e["name"] == "run")
    assert len(nodes) == len(runs) == len(begun) == 3
    for node, run, at in zip(nodes, runs, begun):
        assert is_within(run, node)
        assert run["tid"] == node["tid"] and run["pid"] == node["pid"]
        assert at <= run["ts"] < at + 60e6, "by the clock that the program reads, too"
        operators = intervals(events, lambda e: e.get("cat") == "operator" and is_within(e, run))
        assert any(one["name"].startswith("MatMul") for one in operators)
    assert len(intervals(events, lambda e: e["name"] == "model_run")) == 3


def test_a_crossing_by_what_was_cut_off_is_mended(tmp_path):
    events = [{"ph": "X", "name": "run", "pid": 1, "tid": 1, "ts": 100.25, "dur": 10.5}]
    trace = {"otherData": {"schema": "latchkey-trace-1", "realtime_ahead_ns": 5000},
             "traceEvents": events}
    profile = [{"ph": "X", "name": "model_run", "pid": 1, "tid": 1, "ts": 98, "dur": 12},
               {"ph": "X", "name": "node", "pid": 1, "tid": 1, "ts": 100, "dur": 10},
               {"ph": "X", "name": "elsewhere", "pid": 1, "tid": 2, "ts": 100, "dur": 10}]
    (tmp_path / "t").write_text(json.dumps(trace))
    (tmp_path / "p").write_text(json.dumps(profile))
    events = merge(str(tmp_path / "t"), str(tmp_path / "p"), 5000)["traceEvents"]
    ends = {event["name"]: event["ts"] + event["dur"] for event in events}
    assert ends == {"run": 110.75, "model_run": 110.75, "node": 110.75, "elsewhere": 110}
    shifted = merge(str(tmp_path / "t"), str(tmp_path / "p"), 8000)["traceEvents"]
    assert shifted[1]["ts"] == 101


def test_files_that_are_something_else_are_refused(tmp_path):
    good = {"otherData": {"schema": "latchkey-trace-1", "realtime_ahead_ns": 0}, "traceEvents": []}
    (tmp_path / "good").write_text(json.dumps(good))
    (tmp_path / "text").write_text("no JSON")
    (tmp_path / "list").write_text("[1]")
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="failed to read a trace '.*text': it is not JSON"):
        latchkey.ort.merge_traces(tmp_path / "text", tmp_path / "list", 0, out)
    with pytest.raises(ValueError, match="its schema is not latchkey-trace-1"):
        latchkey.ort.merge_traces(tmp_path / "list", tmp_path / "list", 0, out)
    with pytest.raises(ValueError, match="it is not a list of events"):
        latchkey.ort.merge_traces(tmp_path / "good", tmp_path / "list", 0, out)
    with pytest.raises(FileNotFoundError):
        latchkey.ort.merge_traces(tmp_path / "none", tmp_path / "list", 0, out)
    assert not out.exists()
