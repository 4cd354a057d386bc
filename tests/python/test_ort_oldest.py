"""test_ort.py once more, with the oldest ONNX Runtime that the provider is for."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

OLDEST = ROOT / ".deps/onnxruntime-oldest"  # by tools/setup


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it exists up to Python 3.13")
def test_oldest():
    environment = {**os.environ, "PYTHONPATH": str(OLDEST)}
    found = subprocess.run([sys.executable, "-c", "import onnxruntime as o; print(o.__version__)"],
                           env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("1.23."), found.stdout
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                           Path(__file__).with_name("test_ort.py")],
                          env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    skipped = re.findall(r"^SKIPPED \[1\] \S+ (.*)$", done.stdout, re.MULTILINE)
    assert sorted(skipped) == ["this ONNX Runtime has no dynamic options in Python"] * 2 + [
        "this ONNX Runtime takes no name of a registered provider"]
