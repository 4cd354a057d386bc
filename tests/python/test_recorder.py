"""latchkey.Recorder: what a recording has, that it is bounded, and that its file is whole."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading

import numpy
import pytest
from conftest import random

import latchkey
from latchkey import _recording


def picture(height, width=16):
    return {"x": random(1, 3, height, width, seed=1)}


@pytest.fixture
def session(convnet):
    with latchkey.Session(convnet, context=latchkey.Context(threads=1)) as opened:
        yield opened


def read(path):
    return json.loads(path.read_text())


def test_has_each_request_and_what_was_counted(session, convnet, tmp_path):
    path = tmp_path / "run.json"
    heights = [8, 9, 8, 8, 9, 10]
    with latchkey.Recorder(session, path=path, model=convnet, name="net",
                           profile_every=2) as recorder:
        results = [recorder.run(picture(height)) for height in heights]
    expected = session.run(picture(10))
    for name, value in expected.items():
        numpy.testing.assert_array_equal(results[-1][name], value)
    found = read(path)
    assert found["schema"] == "latchkey-recording-1" and found["ended_by"] is None
    assert found["model"]["name"] == "net"
    assert [size[0]["shape"] for size in found["sizes"]["rows"]] == [
        [1, 3, height, 16] for height in (8, 9, 10)]
    requests = found["requests"]
    assert requests["count"] == len(heights) and requests["failed"] == 0
    rows = [dict(zip(requests["fields"], row)) for row in requests["rows"]]
    assert [row["size"] for row in rows] == [0, 1, 0, 0, 1, 2]
    assert [row["first"] for row in rows] == [1, 1, 0, 0, 0, 1]
    assert all(row["others"] == 0 < row["ns"] for row in rows)
    ends = [row["begin_ns"] + row["ns"] for row in rows]
    assert ends == sorted(ends) and ends[-1] <= found["duration_ns"]
    assert [row["ns"] for row in found["slowest"]] == sorted(
        (row["ns"] for row in rows), reverse=True)
    assert found["profile"]["runs"] == 3
    assert sum(row["steps"] is not None for row in found["slowest"]) == 3
    assert {step["executions"] for step in found["profile"]["steps"]} == {3}
    assert found["statistics"]["session"]["runs"] == len(heights)
    assert found["explanation"] == latchkey.explain(found["statistics"]).to_json()
    samples = found["samples"]
    assert {len(column) for column in samples.values()} == {len(samples["at_ns"])}
    assert samples["runs"][0] == 0 and samples["runs"][-1] == len(heights)
    owners = sum(samples[f"{owner}_bytes"][-1]
                 for owner in ("cache", "weights", "arenas", "spare", "other"))
    assert owners == samples["bytes"][-1] <= samples["peak_bytes"][-1]


def test_knows_of_which_nodes_of_the_file_a_node_was_made(session, convnet):
    recorder = latchkey.Recorder(session, model=convnet)
    with recorder:
        pass
    nodes = recorder.to_json()["nodes"]
    made_of = {node["output_name"]: [each["op_type"] for each in node["made_of"]]
               for node in nodes}
    assert made_of["r1"] == ["Conv", "Relu"]
    assert sorted(sum(made_of.values(), [])) == sorted([
        "Conv", "Relu", "Conv", "Sigmoid", "GlobalAveragePool", "Flatten", "Gemm", "Softmax"])
    with latchkey.Recorder(session) as without:
        pass
    assert all("made_of" not in node for node in without.to_json()["nodes"])


def test_counts_failures_and_passes_them_on(session):
    with latchkey.Recorder(session, profile_every=1) as recorder:
        recorder.run(picture(8))
        with pytest.raises(latchkey.NotFoundError):
            recorder.run({"y": picture(8)["x"]})
        with pytest.raises(latchkey.InvalidArgumentError):
            recorder.run({"x": numpy.zeros((1, 4, 8, 8), numpy.float32)})
    found = recorder.to_json()
    assert found["requests"]["count"] == 1 and found["requests"]["failed"] == 2
    assert len(found["requests"]["rows"]) == found["profile"]["runs"] == 1


def test_many_threads_at_once(session):
    with latchkey.Recorder(session, interval=0.001, profile_every=3) as recorder:
        def call(seed):
            for number in range(50):
                recorder.run(picture(8 + (seed + number) % 5))
        threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        reads = [recorder.to_json()["requests"]["count"] for _ in range(5)]
        for thread in threads:
            thread.join()
    found = recorder.to_json()
    assert reads == sorted(reads)
    assert found["requests"]["count"] == len(found["requests"]["rows"]) == 200
    rows = [dict(zip(found["requests"]["fields"], row)) for row in found["requests"]["rows"]]
    assert sum(row["first"] for row in rows) == len(found["sizes"]["rows"]) == 5
    assert max(row["others"] for row in rows) <= 3
    at = found["samples"]["at_ns"]
    assert at == sorted(at)


def test_is_bounded(session):
    with latchkey.Recorder(session, requests=10, slowest=3, profile_every=0) as recorder:
        for _ in range(50):
            recorder.run(picture(8))
    found = recorder.to_json()
    assert found["requests"]["count"] == 50 and len(found["requests"]["rows"]) == 10
    assert len(found["slowest"]) == 3 and found["profile"] == {"runs": 0, "steps": []}
    assert max(row[1] for row in found["requests"]["rows"]) <= found["slowest"][0]["ns"]


def test_the_choice_is_fair_and_has_the_slowest():
    """Of 20,000 requests each tenth of the time has about a tenth of those that are kept."""
    requests = _recording.Requests(2000, 2)
    for number in range(20_000):
        requests.add(number, 10**9 - number, {"x": numpy.zeros(1)}, 0, None)
    begins = [row[0] for row in requests.to_json()["rows"]]
    assert len(set(begins)) == 2000
    counts = numpy.histogram(begins, bins=10, range=(0, 20_000))[0]
    assert counts.min() > 120 and counts.max() < 280
    assert [row["begin_ns"] for row in requests.slowest_to_json()] == [0, 1]


def test_sizes_and_samples_are_bounded():
    requests = _recording.Requests(10_000, 0)
    for width in range(5000):
        requests.add(width, 1, {"x": numpy.empty((0, width))}, 0, None)
    assert len(requests.sizes_to_json()["rows"]) == 4096
    assert requests.sizes_to_json()["lost"] == 5000 - 4096
    assert requests.to_json()["rows"][4096][2:4] == [None, None]
    samples = _recording.Samples()
    statistics = {
        "process": {"running": 0, "waiting": 0},
        "context": {"memory": {"bytes": 1, "peak_bytes": 1, "limit_bytes": None, "refusals": 0,
                               "owners": dict.fromkeys(_recording._OWNERS, 0)},
                    "cache": {"kinds": {"run": {"evictions": 0, "build_ns": 0}}}},
        "session": dict.fromkeys(("runs", "run_plan_hits", "run_plan_builds", "waits"), 0)}
    for at in range(10_000):
        samples.add(at, statistics)
    at = samples.to_json()["at_ns"]
    assert 1000 <= len(at) <= 2000 and samples.stride > 1 and at[0] == 0 and at == sorted(at)


def test_an_exception_ends_it_and_the_file_says_so(session, tmp_path):
    path = tmp_path / "run.json"
    with pytest.raises(ZeroDivisionError):
        with latchkey.Recorder(session, path=path) as recorder:
            recorder.run(picture(8))
            raise ZeroDivisionError
    assert read(path)["ended_by"] == "ZeroDivisionError"
    assert read(path)["requests"]["count"] == 1


def test_after_the_end_runs_are_not_recorded(session):
    recorder = latchkey.Recorder(session)
    recorder.run(picture(8))
    with pytest.raises(RuntimeError, match="it was not started"):
        recorder.to_json()
    with pytest.raises(RuntimeError, match="it was not started"):
        recorder.stop()
    with recorder:
        recorder.run(picture(8))
    recorder.stop()
    recorder.run(picture(8))
    assert recorder.to_json()["requests"]["count"] == 1
    assert repr(recorder) == "<latchkey.Recorder, ended, 1 requests>"
    with pytest.raises(RuntimeError, match="started before"):
        recorder.start()


def test_a_session_that_is_closed_meanwhile(convnet):
    session = latchkey.Session(convnet)
    with latchkey.Recorder(session, interval=0.001) as recorder:
        session.close()
        recorder._thread.join()  # which takes samples
        with pytest.raises(ValueError, match="it is closed"):
            recorder.run(picture(8))
    with pytest.raises(ValueError, match="it is closed"):
        recorder.to_json()


@pytest.mark.parametrize("option, value", [
    ("interval", 0), ("interval", float("nan")), ("profile_every", -1), ("requests", 0),
    ("slowest", -1)])
def test_numbers_out_of_range(session, option, value):
    with pytest.raises(ValueError, match=f"failed to record a session: '{option}' is"):
        latchkey.Recorder(session, **{option: value})


def test_a_model_that_is_none(session):
    with pytest.raises(ValueError, match="failed to read the nodes of the model"):
        latchkey.Recorder(session, model=b"\xff\xff")


# ---- the file ----


def test_a_full_disk_leaves_the_old_file(session, tmp_path):
    path = tmp_path / "run.json"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with latchkey.Recorder(session) as recorder:
            pass
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(latchkey.FileError) as caught:
            recorder.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert str(caught.value) == f"failed to write a recording to '{path}': File too large"
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["run.json"]


def test_a_folder_that_takes_no_files(session):
    with latchkey.Recorder(session) as recorder:
        pass
    with pytest.raises(latchkey.FileError, match="failed to write a recording to '/proc/run.json'"):
        recorder.save("/proc/run.json")


def test_the_file_has_the_rights_of_any_new_file(session, tmp_path):
    with latchkey.Recorder(session, path=tmp_path / "run.json"):
        pass
    (tmp_path / "other").write_text("")
    modes = [(tmp_path / name).stat().st_mode for name in ("run.json", "other")]
    assert modes[0] == modes[1]


# ---- latchkey record ----


@pytest.fixture(scope="module")
def model(tmp_path_factory, convnet):
    path = tmp_path_factory.mktemp("record") / "net.onnx"
    path.write_bytes(convnet)
    return path


def command(*words):
    return subprocess.run([sys.executable, "-m", "latchkey", "record", *map(str, words)],
                          capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("callers", [1, 3])
def test_records_by_command(model, tmp_path, callers):
    path = tmp_path / "run.json"
    done = command(model, "-s", "x=1x3x{8..12}x16", "-n", "40", "--callers", callers, "-o", path,
                   "-t", "1", "--cache-bytes", "1m", "--memory", "1g")
    assert done.returncode == 0 and done.stderr == "", done
    assert done.stdout.startswith(f"40 requests are in {path}")
    found = read(path)
    assert found["requests"]["count"] == 40 and found["model"]["name"] == "net.onnx"
    assert found["options"]["memory_bytes"] == 2**30
    assert found["options"]["cache_bytes"] == 2**20
    assert all(node["made_of"] for node in found["nodes"])


def test_ctrl_c_writes_what_there_is(model, tmp_path):
    path = tmp_path / "run.json"
    child = subprocess.Popen(
        [sys.executable, "-c", TELL_OF_RUNS, model, "-s", "x=1x3x{64..128}x128", "-n", "100000",
         "-o", path], stdout=subprocess.PIPE, text=True)
    assert [child.stdout.readline() for _ in range(3)] == ["a run\n"] * 3
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT
    found = read(path)
    assert found["ended_by"] == "KeyboardInterrupt" and found["requests"]["count"] >= 2
    assert os.listdir(tmp_path) == ["run.json"]


# The command, which tells of each run.
TELL_OF_RUNS = """
import sys
import latchkey
from latchkey.commands.front import run
record = latchkey.Recorder.run
def tell(*words):
    print("a run", flush=True)
    return record(*words)
latchkey.Recorder.run = tell
sys.exit(run("record", sys.argv[1:]))
"""


def test_bad_words_are_refused(model, tmp_path):
    def fails(code, *words):
        done = command(*words)
        assert done.returncode == code and done.stdout == "", done
        assert done.stderr.startswith("latchkey record: failed to ")
        assert done.stderr.count("\n") == 1
        return done.stderr
    assert "-o" in fails(2, model)
    assert "none.onnx" in fails(1, tmp_path / "none.onnx", "-o", tmp_path / "run.json")
    assert "'0'" in fails(2, model, "-o", "run.json", "--callers", "0")
    assert "no/run.json" in fails(1, model, "-s", "x=1x3x8x8", "-n", "1", "-o",
                                  tmp_path / "no" / "run.json")
    assert os.listdir(tmp_path) == []
