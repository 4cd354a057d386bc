"""examples/languages: the programs in Rust and Go, where their compilers are installed."""

import os
import shutil
import subprocess

import pytest
from conftest import BUILD, ROOT, make_model
from onnx import TensorProto, helper

FOLDER = ROOT / "examples/languages"
LINK = f"-L{BUILD} -Wl,-rpath,{BUILD}"


def build_rust(folder):
    subprocess.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-c", FOLDER / "one_model.c",
                    "-I", ROOT / "include", "-o", folder / "one_model.o"], check=True)
    subprocess.run(["rustc", "--edition", "2021", "-D", "warnings", FOLDER / "main.rs", "-C",
                    f"link-arg={folder}/one_model.o", "-L", BUILD, "-l", "latchkey", "-C",
                    f"link-arg=-Wl,-rpath,{BUILD}", "-o", folder / "example"], check=True)


def build_go(folder):
    environment = {**os.environ, "CGO_CFLAGS": f"-I{ROOT}/include -Wall -Werror",
                   "CGO_LDFLAGS": LINK, "GOFLAGS": "-buildvcs=false"}
    subprocess.run(["go", "build", "-o", folder / "example", "."], cwd=FOLDER, env=environment,
                   check=True)


def start(folder):
    return subprocess.run(["./example"], cwd=folder, capture_output=True, text=True, timeout=60,
                          check=False)


@pytest.mark.parametrize("compiler, build, expected", [
    ("rustc", build_rust, ["[0.0, 2.0, 0.0]", "[0.0, 2.0, 1.0]"]),
    ("go", build_go, ["[0 2 0] <nil>", "[0 2 1] <nil>"])], ids=["rust", "go"])
def test_runs_a_model_on_two_threads(tmp_path, relu, compiler, build, expected):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    build(tmp_path)
    (tmp_path / "model.onnx").write_bytes(relu)
    done = start(tmp_path)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, expected, "")

    # What the file of C refuses by itself, and what the library does.
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Relu", ["x"], ["z"])]
    two = make_model(nodes, [("x", TensorProto.FLOAT, ["rows", 3])],
                     [(name, TensorProto.FLOAT, ["rows", 3]) for name in "yz"])
    (tmp_path / "model.onnx").write_bytes(two)
    assert "the model has not one input and one output" in start(tmp_path).stderr
    (tmp_path / "model.onnx").unlink()
    done = start(tmp_path)
    assert done.returncode != 0 and "model.onnx" in done.stderr
