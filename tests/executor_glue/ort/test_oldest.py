"""Tests of this folder once more, with the oldest ONNX Runtime that the provider is for."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("LK_TEST_SOURCE", pathlib.Path(__file__).parents[3]))
OLDEST = ROOT / ".deps/onnxruntime-oldest"  # by tools/setup


# What is claimed of ONNX's cases; that they agree is in tests/models/test_onnx_nodes_ort.py.
LONG = ["test_backend.py"]
TESTS = ["test_guest.py", "test_opsets.py", "test_shapes.py", "test_training.py"]
if os.environ.get("LK_TEST_WHOLE"):
    TESTS += LONG


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it exists up to Python 3.13")
@pytest.mark.parametrize("test", TESTS)
def test_oldest(test):
    environment = {**os.environ, "PYTHONPATH": str(OLDEST)}
    found = subprocess.run([sys.executable, "-c", "import onnxruntime as o; print(o.__version__)"],
                           env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("1.23."), found.stdout
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                           pathlib.Path(__file__).with_name(test)],
                          env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout, done.stdout
