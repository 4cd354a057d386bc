"""latchkey top: what it shows of a process, on a terminal, as JSON and as a page."""

import contextlib
import http.client
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time

import numpy
import pytest
from wait import LONG

import latchkey
from latchkey._top import client, view


@pytest.fixture
def served(tmp_path, relu):
    """A session in a process, this one, that serves."""
    path = str(tmp_path / "s.sock")
    context = latchkey.Context(threads=1, socket=path)
    with latchkey.Session(relu, context=context) as session:
        session.run({"x": numpy.ones([2, 3], numpy.float32)})
        yield path, session


COMMAND = [sys.executable, "-m", "latchkey", "top"]


@contextlib.contextmanager
def command(*words, **options):
    """The command, which ends with the block, whatever happens there."""
    with subprocess.Popen([*COMMAND, *map(str, words)], stderr=subprocess.PIPE, text=True,
                          **options) as process:
        try:
            yield process
        finally:
            process.kill()


def once(*words):
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def test_asks_a_process(served):
    path, session = served
    found = client.ask(path)
    assert found["pid"] == os.getpid()
    [one] = [one for one in found["reports"] if one["report"]["session"]["runs"] == 1]
    assert one["report"].keys() == session.statistics().keys()


@pytest.mark.parametrize("words", [["--once"], []])  # the output is no terminal
def test_shows_it_once(served, words):
    path, _ = served
    code, out, err = once(path, *words)
    assert (code, err) == (0, "")
    assert out.startswith(f"process {os.getpid()}: latchkey ")
    assert "runs/s" in out and "memory " in out and "Relu" in out
    code, out, _ = once(path, "--json")
    found = json.loads(out)
    assert code == 0 and found["pid"] == os.getpid()
    assert found["sessions"][0]["runs"] >= 1 and found["sessions"][0]["runs_per_s"] is not None
    assert found["contexts"][0]["owners"]


def test_finds_a_process_by_its_number(tmp_path, monkeypatch, relu):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    context = latchkey.Context(socket="default")
    path = client.find(str(os.getpid()))
    assert path == str(tmp_path / "latchkey" / f"{os.getpid()}.sock")
    assert client.ask(path)["reports"] is not None
    del context


@pytest.mark.parametrize("words, code, sentence", [
    (("/none/s.sock", "--once"), 1, "failed to ask at '/none/s.sock': No such file"),
    (("4194304", "--once"), 1, "failed to find the socket of process 4194304"),
    ((), 2, "PID|SOCKET"),
    (("1", "--http", "70000"), 2, "--http"),
])
def test_refuses(words, code, sentence):
    found, out, err = once(*words)
    assert (found, out) == (code, "")
    assert sentence in err and err.count("\n") == 1


@contextlib.contextmanager
def listening(folder, serve):
    """The path of a socket, whose only client `serve` gets."""
    path = str(folder / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def accept():
            peer, _ = listener.accept()
            with peer:
                serve(peer)

        thread = threading.Thread(target=accept)
        thread.start()
        yield path
        thread.join()


@pytest.mark.parametrize("answer, sentence", [
    (b"", "closed without an answer"), (b"hello\n", "it is not JSON"),
    (b"[1]\n", "failed to read the answer"), (b'{"error": "no"}\n', "no"),
    (b'{"schema": "other"}\n', "another kind")])
def test_an_answer_of_another_kind(tmp_path, answer, sentence):
    def serve(peer):
        peer.recv(100)
        peer.sendall(answer)

    with listening(tmp_path, serve) as path:
        with pytest.raises(client.TopError, match=sentence):
            client.ask(path)


@pytest.mark.parametrize("sends", [b"", b"{"])
def test_a_process_that_ends_while_it_is_asked(tmp_path, sends):
    def serve(peer):
        # It closes with the request unread, so the other side meets ECONNRESET. Were it gone
        # before the request is sent, that would be EPIPE.
        peer.recv(1, socket.MSG_PEEK)
        peer.sendall(sends)

    with listening(tmp_path, serve) as path:
        with pytest.raises(client.GoneError, match="Connection reset"):
            client.ask(path)


def test_a_file_that_is_no_socket(tmp_path):
    (tmp_path / "s").write_text("")
    with pytest.raises(client.GoneError, match="Connection refused"):
        client.ask(str(tmp_path / "s"))


# ---- a terminal ----


SERVER = """
import latchkey, sys
session = latchkey.Session(sys.argv[1], socket=sys.argv[2])
print(flush=True)
sys.stdin.read(1)
"""


@pytest.fixture
def other(tmp_path, relu):
    """A process that serves until its input is closed."""
    (tmp_path / "m.onnx").write_bytes(relu)
    path = str(tmp_path / "o.sock")
    with subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path / "m.onnx"), path],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield path, process
        process.stdin.close()


def read_until(primary, text):
    seen, end = "", time.monotonic() + LONG
    while text not in seen and time.monotonic() < end:
        if select.select([primary], [], [], 1)[0]:
            try:
                seen += os.read(primary, 65536).decode()
            except OSError:
                break
    assert text in seen, seen
    return seen


@contextlib.contextmanager
def on_terminal(path):
    primary, secondary = pty.openpty()
    try:
        with command(path, "--interval", "0.1", stdin=secondary, stdout=secondary) as process:
            os.close(secondary)
            yield primary, process
    finally:
        os.close(primary)


def test_q_quits(other):
    with on_terminal(other[0]) as (primary, process):
        read_until(primary, "q quits")
        os.write(primary, b"xq")
        read_until(primary, "\x1b[?1049l")
        assert process.wait(LONG) == 0


def test_the_end_of_the_process_is_told(other):
    path, served = other
    with on_terminal(path) as (primary, process):
        read_until(primary, "m.onnx")
        served.stdin.write(b"x")
        served.stdin.flush()
        read_until(primary, "the process has ended")
        assert process.wait(LONG) == 0


def test_the_terminal_is_as_before_after_an_interrupt(other):
    with on_terminal(other[0]) as (primary, process):
        read_until(primary, "q quits")
        process.send_signal(signal.SIGINT)
        read_until(primary, "\x1b[?1049l")
        assert process.wait(LONG) != 0
        assert termios.tcgetattr(primary)[3] & termios.ICANON


# ---- the view ----


def test_lines_keep_to_a_small_terminal(served):
    path, _ = served
    found = view.lines(view.summary(client.ask(path), None), 80, 24)
    assert len(found) <= 24 and all(len(line) <= 80 for line in found)
    assert view.lines(view.summary(client.ask(path), None), 10, 2)[1][10:] == ""


def test_rates_are_those_since_before(served):
    path, session = served
    before = client.ask(path)
    for _ in range(5):
        session.run({"x": numpy.ones([2, 3], numpy.float32)})
    now = client.ask(path)
    now["time_ns"] = before["time_ns"] + 2_000_000_000
    one = next(one for one in view.summary(now, before)["sessions"] if one["runs"] == 6)
    assert one["runs_per_s"] == 2.5 and one["builds_per_s"] == 0
    assert view.summary(now, None)["sessions"][0]["runs_per_s"] is None


def test_a_session_keeps_its_number(served, relu):
    path, session = served
    names = [one["name"] for one in view.summary(client.ask(path), None)["sessions"]]
    with latchkey.Session(relu, context=session.context):
        more = [one["name"] for one in view.summary(client.ask(path), None)["sessions"]]
    assert more[:-1] == names and len(set(more)) == len(more)
    assert [one["name"] for one in view.summary(client.ask(path), None)["sessions"]] == names


def test_a_process_without_sessions(tmp_path):
    context = latchkey.Context(socket=str(tmp_path / "s"))
    answer = {**client.ask(str(tmp_path / "s")), "reports": []}
    assert view.lines(view.summary(answer, None))[1] == "no session is open"
    del context


# ---- ONNX Runtime ----


IN_ONNX_RUNTIME = """
import latchkey.ort, numpy, onnxruntime, sys
latchkey.ort.register()
options = onnxruntime.SessionOptions()
latchkey.ort.append(options, claim="all")
session = onnxruntime.InferenceSession(sys.argv[1], options)
from latchkey._top import client, view
print(len(client.ask(sys.argv[2])["reports"]))
for _ in range(3):
    session.run(None, {"x": numpy.ones([2, 3], numpy.float32)})
found = view.summary(client.ask(sys.argv[2]), None)
print([(one["name"], one["runs"]) for one in found["sessions"]])
"""


def test_sessions_of_onnx_runtime(tmp_path, relu):
    (tmp_path / "m.onnx").write_bytes(relu)
    path = str(tmp_path / "s")
    done = subprocess.run([sys.executable, "-c", IN_ONNX_RUNTIME, str(tmp_path / "m.onnx"), path],
                          env={**os.environ, "LATCHKEY_SOCKET": path}, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == ["0", "[('m.onnx #1', 3)]"], done.stderr
    assert not os.path.exists(path)  # its last context has gone


# ---- the page ----


@pytest.fixture
def page(served):
    from latchkey._top.web import make
    path, _ = served
    server = make(lambda: client.ask(path), 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def get(port, path="/", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


def test_serves_a_page(page):
    status, headers, text = get(page)
    assert status == 200 and f"process {os.getpid()}" in text and "http://" not in text
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    status, _, text = get(page, "/json")
    assert status == 200 and json.loads(text)["pid"] == os.getpid()
    assert get(page, "/etc/passwd")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example", ""])
def test_refuses_other_hosts(page, host):
    assert get(page, host=host)[0] == 403
    assert get(page, host=f"localhost:{page}")[0] == 200


def test_the_command_serves_it(other):
    path, served = other
    with command(path, "--http", stdout=subprocess.PIPE) as process:
        address = process.stdout.readline().strip()
        assert get(int(address.rstrip("/").rpartition(":")[2]))[0] == 200
