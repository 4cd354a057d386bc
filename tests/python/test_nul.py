"""C ends a text at its first NUL. No text that has one may reach it: it would be another text."""

import os

import numpy
import pytest

import latchkey
from latchkey._files import write_whole

X = numpy.zeros((1, 3, 8, 8), numpy.float32)

CALLS = {
    "path": lambda session, path: latchkey.Session(f"{path}\0.onnx"),
    "pass": lambda session, path: latchkey.Session(path, disabled_passes=["fold\0"]),
    "dimension": lambda session, path: latchkey.Session(path, fixed_dims={"N\0": 1}),
    "input": lambda session, path: session.run({"x\0": X}),
    "output": lambda session, path: session.run({"x": X}, ["scores\0"]),
    "socket": lambda session, path: latchkey.Context(socket=f"{path}.sock\0"),
    "trace": lambda session, path: latchkey.Trace(session.context).save(f"{path}\0"),
    "recording": lambda session, path: started(session).save(f"{path}\0"),
    "text": lambda session, path: write_whole(path + "\0", "text", "a text"),
}


def started(session):
    recorder = latchkey.Recorder(session)
    with recorder:
        pass
    return recorder


@pytest.mark.parametrize("call", CALLS)
def test_a_text_with_a_nul_is_refused(call, convnet, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(convnet)
    session = latchkey.Session(convnet, threads=1)
    with pytest.raises(ValueError, match=r"failed to .* NUL"):
        CALLS[call](session, str(path))
    assert os.listdir(tmp_path) == ["net.onnx"] and path.read_bytes() == convnet
