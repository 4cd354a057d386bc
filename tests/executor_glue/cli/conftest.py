"""Fixtures of the command's tests."""

import os
import signal
import subprocess
from pathlib import Path

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper
from wait import LONG, catches, until

from cli_harness import COMMAND, save_model


@pytest.fixture
def classifier(tmp_path):
    """softmax(relu(x @ w)) over any number of rows; two outputs, one with a name no file may
    have."""
    w = (numpy.arange(12, dtype=numpy.float32).reshape(4, 3) - 5) / 7
    save_model(
        tmp_path / "classifier.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
         helper.make_node("Relu", ["product"], ["hidden/relu:0"], name="relu"),
         helper.make_node("Softmax", ["hidden/relu:0"], ["y"], name="softmax", axis=-1)],
        [("x", TensorProto.FLOAT, ["rows", 4])],
        [("y", TensorProto.FLOAT, ["rows", 3]), ("hidden/relu:0", TensorProto.FLOAT, ["rows", 3])],
        [numpy_helper.from_array(w, "w")])
    return tmp_path / "classifier.onnx"


@pytest.fixture(scope="session")
def faulty(tmp_path_factory):
    """An environment with faulty_session.c between the command and the library."""
    library = tmp_path_factory.mktemp("faulty") / "faulty.so"
    here = Path(__file__).resolve().parent
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", here / "faulty_session.c", "-I",
                    here.parents[2] / "include", "-ldl", "-o", library], check=True)

    def environment(**faults):
        return {"LD_PRELOAD": str(library),
                **{f"FAULTY_{name.upper()}": str(value) for name, value in faults.items()}}
    return environment


@pytest.fixture(scope="session")
def modules(tmp_path_factory):
    """A folder with engines of softmax_engine.c: `alike` and `other` are right, `skewed` is not."""
    folder = tmp_path_factory.mktemp("engines")
    here = Path(__file__).resolve().parent
    for name, factor in (("alike", "1.0f"), ("other", "1.0f"), ("skewed", "1.5f")):
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", f'-DNAME="{name}"',
                        f"-DFACTOR={factor}", here / "softmax_engine.c", "-I",
                        here.parents[2] / "include", "-lm", "-o",
                        folder / f"liblatchkey_{name}.so"], check=True)
    return folder


@pytest.fixture
def engines(modules, monkeypatch):
    """The command finds these engines."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(modules), prepend=os.pathsep)


@pytest.fixture
def interrupt(faulty, tmp_path):
    """Runs a command, sends SIGINT once it has begun so many runs, and returns its exit code and
    what it printed."""
    log = tmp_path / "runs"

    def is_time(process, runs):
        if process.poll() is not None:
            return True
        return (catches(process.pid, signal.SIGINT) and log.exists()
                and log.read_text().count("\n") >= runs)

    def run(words, runs):
        log.unlink(missing_ok=True)
        with subprocess.Popen([COMMAND, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **faulty(log=log)}) as process:
            until(lambda: is_time(process, runs))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LONG)
        return process.returncode, out, err
    return run
