"""examples/onnxruntime, with the newest ONNX Runtime and the oldest that the provider is for."""

import json
import subprocess
import sys
from pathlib import Path

import onnxruntime
import pytest
from conftest import BUILD, ROOT

NEWEST = Path(onnxruntime.__file__).parent
OLDEST = ROOT / ".deps/onnxruntime-oldest/onnxruntime"  # by tools/setup
MODEL = "datasets/sigmoid.onnx"


def run(package, *arguments):
    library, = package.glob("capi/libonnxruntime.so.1.*")
    return subprocess.run([BUILD / "examples/onnxruntime", library, *arguments],
                          capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("package", "version"), [
    pytest.param(NEWEST, onnxruntime.__version__, id="newest"),
    pytest.param(OLDEST, "1.23.", id="oldest", marks=pytest.mark.skipif(
        sys.version_info >= (3, 14), reason="it exists up to Python 3.13"))])
def test_runs_on_the_provider(package, version, tmp_path):
    statistics = tmp_path / "statistics.json"
    done = run(package, BUILD / "liblatchkey_ort.so", package / MODEL, statistics)
    assert done.returncode == 0 and done.stderr == "", done
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"ONNX Runtime {version}")
    assert lines[1:] == ["0 of 60 elements differ from a plain loop's"]
    found = json.loads(statistics.read_text())
    assert found["claims"] == {"nodes": 1, "claimed": 1, "subgraphs": 1, "left": []}
    assert found["context"]["cache"]["entries"] > 0


def test_says_what_is_missing(tmp_path):
    done = run(NEWEST, tmp_path / "none.so", NEWEST / MODEL)
    assert done.returncode == 1 and "none.so" in done.stderr
    done = run(NEWEST, BUILD / "liblatchkey_ort.so", tmp_path / "none.onnx")
    assert done.returncode == 1 and done.stderr.startswith("CreateSession: ")
