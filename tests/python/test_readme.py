"""The examples in README.md are compiled and run as they stand there."""

import re
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT

README = (ROOT / "README.md").read_text()


def block(language):
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return text


@pytest.fixture
def folder(tmp_path, relu):
    (tmp_path / "model.onnx").write_bytes(relu)
    return tmp_path


def test_python_example(folder):
    done = subprocess.run([sys.executable, "-c", block("python")], cwd=folder, check=True,
                          capture_output=True, text=True, timeout=120)
    assert done.stdout == "[[0. 2. 0.]] 1\n" and done.stderr == ""


def test_c_example(folder):
    (folder / "example.c").write_text(block("c"))
    subprocess.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "example.c", "-I",
                    ROOT / "include", "-L", BUILD, f"-Wl,-rpath,{BUILD}", "-llatchkey",
                    "-o", "example"], cwd=folder, check=True)
    done = subprocess.run(["./example"], cwd=folder, check=True, capture_output=True, text=True,
                          timeout=120)
    assert done.stdout == "0 2 0\n" and done.stderr == ""
    (folder / "model.onnx").unlink()
    failed = subprocess.run(["./example"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert failed.returncode != 0 and failed.stdout == "" and "model.onnx" in failed.stderr


def test_commands_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test", "bench", "lint", "help"} <= targets
    assert set(re.findall(r"(?:`|^    )make ([a-z-]+)", README, re.MULTILINE)) <= targets
