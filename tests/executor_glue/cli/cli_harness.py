"""What the tests of the command share: running it, and making models and test cases."""

import json
import os
import subprocess
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

COMMAND = os.environ.get("LATCHKEY_COMMAND") or str(
    Path(os.environ.get("LK_TEST_BUILD", "build")) / "latchkey")
MODULE = Path(COMMAND).parent / "liblatchkey_onednn.so"
needs_module = pytest.mark.skipif(
    not MODULE.exists(), reason="this build has no oneDNN: tools/setup builds it")


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def ok(self):
        assert self.code == 0, self.err
        return self

    def json(self):
        return json.loads(self.ok().out)

    def fails(self, code, *sentences):
        """Exit code, nothing on stdout, one line on stderr with these parts."""
        assert self.code == code, (self.code, self.out, self.err)
        assert self.out == ""
        assert len(self.err.splitlines()) == 1, self.err
        for sentence in sentences:
            assert sentence in self.err, self.err
        return self


def latchkey(*args, environment=None):
    return Result(subprocess.run(
        [COMMAND, *map(str, args)], capture_output=True, text=True, timeout=300,
        env={**os.environ, **(environment or {})}))


def read_terminal(primary):
    """What was written to the other side of a terminal, until that is closed."""
    seen = b""
    while True:
        try:
            chunk = os.read(primary, 4096)
        except OSError:  # it is closed
            return seen
        if not chunk:
            return seen
        seen += chunk


def save_model(path, nodes, inputs, outputs, constants=(), opset=17, domains=()):
    """inputs and outputs: (name, ONNX type, shape). domains: beside that of ONNX."""
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs], list(constants))
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(one, 1) for one in domains)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    helper.set_model_props(model, {"author's note": "first line\nsecond line", "empty": ""})
    onnx.save(model, str(path))
    return path


def classify(x):
    """The same in numpy."""
    w = (numpy.arange(12, dtype=numpy.float32).reshape(4, 3) - 5) / 7
    hidden = numpy.maximum(x @ w, 0)
    power = numpy.exp(hidden - hidden.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True), hidden


def write_case(folder, model, data_sets):
    """An ONNX test case; data_sets: (inputs, outputs), lists of (name, array)."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(Path(model).read_bytes())
    for n, (inputs, outputs) in enumerate(data_sets):
        data = folder / f"test_data_set_{n}"
        data.mkdir()
        for kind, tensors in (("input", inputs), ("output", outputs)):
            for i, (name, array) in enumerate(tensors):
                tensor = numpy_helper.from_array(array, name)
                (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())
    return folder
