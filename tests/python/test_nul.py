"""C ends a text at its first NUL. No text that has one may reach it: it would be another text. Nor
may one with a surrogate that stands for no byte, which UTF-8 does not have."""

import os

import numpy
import pytest

import latchkey
from latchkey._files import write_whole

X = numpy.zeros((1, 3, 8, 8), numpy.float32)

CALLS = {
    "path": lambda session, path, bad: latchkey.Session(f"{path}{bad}.onnx"),
    "pass": lambda session, path, bad: latchkey.Session(path, disabled_passes=[f"fold{bad}"]),
    "dimension": lambda session, path, bad: latchkey.Session(path, fixed_dims={f"N{bad}": 1}),
    "input": lambda session, path, bad: session.run({f"x{bad}": X}),
    "output": lambda session, path, bad: session.run({"x": X}, [f"scores{bad}"]),
    "socket": lambda session, path, bad: latchkey.Context(socket=f"{path}.sock{bad}"),
    "trace": lambda session, path, bad: latchkey.Trace(session.context).save(f"{path}{bad}"),
    "recording": lambda session, path, bad: started(session).save(f"{path}{bad}"),
    "text": lambda session, path, bad: write_whole(path + bad, "text", "a text"),
}


def started(session):
    recorder = latchkey.Recorder(session)
    with recorder:
        pass
    return recorder


@pytest.mark.parametrize("bad, name", [("\0", "NUL"), ("\ud800", "lone surrogate")])
@pytest.mark.parametrize("call", CALLS)
def test_a_text_that_c_does_not_read_whole_is_refused(call, bad, name, convnet, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(convnet)
    session = latchkey.Session(convnet, threads=1)
    with pytest.raises(ValueError, match=rf"failed to .* {name}"):
        CALLS[call](session, str(path), bad)
    assert os.listdir(tmp_path) == ["net.onnx"] and path.read_bytes() == convnet
