"""Traces: what runs did and when, as Chrome and Perfetto read it."""

import json
import os
import threading
from pathlib import Path

import pytest
from conftest import random

import latchkey

PHASES = {"M": {"name", "args"}, "X": {"name", "cat", "ts", "dur", "tid", "args"},
          "C": {"name", "ts", "args"}, "i": {"name", "cat", "ts", "tid", "s", "args"}}


def run_times(session, sizes):
    for size in sizes:
        session.run({"x": random(1, 3, size, size)})


def as_doubles(event):
    """Begin and end, as speedscope has them."""
    return event["ts"], event["ts"] + event["dur"]


def as_nanoseconds(event):
    """The same, as Perfetto has them: begin and duration are cut, each by itself."""
    begin = int(event["ts"] * 1000)
    return begin, begin + int(event["dur"] * 1000)


def check_nesting(events, read):
    """That intervals of a thread lie within each other or apart, however they are read."""
    around = {}
    for event in events:
        begin, end = read(event)
        open_ends = around.setdefault(event["tid"], [])
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], event
        open_ends.append(end)


def check_schema(trace):
    """What each reader of the format needs."""
    intervals = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    check_nesting(intervals, as_doubles)
    check_nesting(intervals, as_nanoseconds)
    for event in trace["traceEvents"]:
        assert event["ph"] in PHASES
        assert PHASES[event["ph"]] <= event.keys(), event
        assert event["pid"] == os.getpid()
        if event["ph"] == "X":
            assert event["ts"] > 0 and event["dur"] >= 0


def of(events, category):
    return [event for event in events if event.get("cat") == category]


def test_a_trace_has_runs_with_their_operators(convnet, tmp_path):
    model = tmp_path / 'con "v\n.onnx'
    model.write_bytes(convnet)
    session = latchkey.Session(model)
    with session.trace() as trace:
        run_times(session, [16, 24, 16])
    run_times(session, [16])
    trace.save(tmp_path / "trace.json")
    whole = json.loads((tmp_path / "trace.json").read_text())
    check_schema(whole)
    events = whole["traceEvents"]
    assert events == trace.events() and len(trace) == trace.info()["events"] > 0
    runs = [event for event in events if event["name"] == "run"]
    assert len(runs) == 3 and {run["args"]["model"] for run in runs} == {
        str(model).replace("\n", "\\x0a")}
    operators = of(events, "operator")
    assert {"Conv", "Softmax"} <= {one["name"].split("+")[0] for one in operators}
    for one in operators:
        assert any(run["ts"] <= one["ts"] and one["ts"] + one["dur"] <= run["ts"] + run["dur"]
                   for run in runs)
        assert one["args"]["kernel"]
    assert len([event for event in events if event["name"] == "build run plan"]) == 2
    assert whole["otherData"]["dropped_events"] == 0


def test_a_trace_that_is_full_keeps_the_newest(convnet):
    session = latchkey.Session(convnet)
    trace = session.trace(events=10)
    run_times(session, [16, 16, 16])
    assert len(trace) == 10
    info = trace.info()
    assert info["capacity"] == 10 and info["dropped"] > 0
    assert f"{info['dropped']} dropped" in repr(trace)
    check_schema(json.loads(trace.to_json()))
    trace.clear()
    assert len(trace) == 0 and trace


def test_sessions_of_a_context_share_a_trace(convnet):
    first = latchkey.Session(convnet)
    second = latchkey.Session(convnet)
    other = latchkey.Session(convnet, context=latchkey.Context())
    with first.trace() as trace:
        trace.add(second)
        run_times(first, [16])
        run_times(second, [16])
        with pytest.raises(ValueError, match="of another context"):
            trace.add(other)
    assert len([event for event in trace.events() if event["name"] == "run"]) == 2
    first.close()
    with pytest.raises(ValueError, match="closed"):
        trace.add(first)
    with pytest.raises(ValueError, match="closed"):
        first.trace()


def test_the_newest_trace_of_a_session_has_its_runs(convnet):
    session = latchkey.Session(convnet)
    first = session.trace()
    second = session.trace()
    first.stop()  # does not end the other
    run_times(session, [16])
    assert len(first) == 0 and len(second) > 0
    clone = session.clone()
    before = len(second)
    run_times(clone, [16])
    assert len(second) == before, "a clone is not traced"


def test_a_trace_outlives_its_session(convnet):
    session = latchkey.Session(convnet, context=latchkey.Context())
    trace = session.trace()
    run_times(session, [16])
    session.close()
    del session
    trace.context = None
    assert any(event["name"] == "run" for event in trace.events())
    trace.stop()


def test_sessions_close_while_they_are_traced(convnet):
    context = latchkey.Context()
    failed = []

    def open_and_close():
        try:
            for _ in range(5):
                with latchkey.Session(convnet, context=context) as session:
                    with session.trace() as trace:
                        run_times(session, [16])
                        session.close()
                    assert any(event["name"] == "run" for event in trace.events())
        except Exception as error:  # told by the main thread
            failed.append(error)

    threads = [threading.Thread(target=open_and_close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_trace_that_does_not_fit_is_refused(convnet):
    session = latchkey.Session(convnet, context=latchkey.Context(memory_bytes=2_000_000))
    with pytest.raises(latchkey.OutOfMemoryError, match="bytes for the events of a trace"):
        session.trace()
    with session.trace(events=100) as trace:
        run_times(session, [16])
    assert len(trace) > 0


def test_bad_arguments_are_refused(convnet, tmp_path):
    session = latchkey.Session(convnet)
    with pytest.raises(ValueError, match="'events' is 0, a whole number of at least 1"):
        session.trace(events=0)
    with pytest.raises(latchkey.OutOfRangeError, match="events of a trace"):
        session.trace(events=2**26 + 1)
    trace = session.trace()
    with pytest.raises(latchkey.FileError, match="none/x.json': No such file"):
        trace.save(tmp_path / "none" / "x.json")
    with pytest.raises(latchkey.FileError, match="No space left"):
        trace.save("/dev/full")
    trace.save(Path("/dev/null"))


def test_a_child_of_fork_traces_anew(convnet):
    session = latchkey.Session(convnet)
    trace = session.trace()
    run_times(session, [16])
    child = os.fork()
    if child == 0:
        try:
            run_times(session, [16])
            runs = [event for event in trace.events() if event["name"] == "run"]
            os._exit(0 if len(runs) == 1 and runs[0]["pid"] == os.getpid() else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert len([event for event in trace.events() if event["name"] == "run"]) == 1
