"""Every subcommand whose standard output is lost: full, closed, or a pipe that nobody reads. It
fails with a sentence, and files are whole or not there."""

import os
import signal
import subprocess

import numpy
import pytest
from onnx import TensorProto, helper

from cli_harness import COMMAND, save_model, write_case

CASES = 40


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """The words of each subcommand, which all have something to show, one with much."""
    folder = tmp_path_factory.mktemp("lost")
    model = save_model(folder / "model.onnx", [helper.make_node("Relu", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, ["n"])], [("y", TensorProto.FLOAT, ["n"])])
    x = numpy.array([-1, 2, 3], numpy.float32)
    numpy.save(folder / "x.npy", x)
    for i in range(CASES):  # more than a buffer, and each is written at once
        write_case(folder / "cases" / f"case_{i}", model, [([("x", x)], [("y", x.clip(0))])])
    shape = ["--shape", "x=3"]
    return {
        "run": ["run", model, "-i", f"x={folder}/x.npy", "-o", "OUT"],
        "test": ["test", folder / "cases"],
        "bench": ["bench", model, *shape, "-n", "2"],
        "bench profile": ["bench", model, *shape, "-n", "2", "--profile"],
        "bench of two": ["bench", model, f"other={model}", *shape, "-n", "4", "--callers", "2"],
        "bench check": ["bench", model, *shape, "-n", "4", "--check"],
        "inspect": ["inspect", model],
        "inspect nodes": ["inspect", model, *shape, "--nodes"],
        "ops": ["ops"],
        "ops missing": ["ops", "--missing"],
        "cache": ["cache", model, *shape],
        "shapes": ["shapes", model, *shape],
    }


COMMANDS = ["run", "test", "bench", "bench profile", "bench of two", "bench check", "inspect",
            "inspect nodes", "ops", "ops missing", "cache", "shapes"]
OTHERS = {"help": ["--help"], "help of run": ["run", "--help"], "version": ["--version"],
          "usage": ["--usage"]}


def start(args, how, sigpipe):
    """Of the command whose output goes nowhere: its exit code, and what it said."""
    def prepare():
        signal.signal(signal.SIGPIPE, sigpipe)
        if how == "closed":
            os.close(1)

    read = None
    if how == "full":
        out = os.open("/dev/full", os.O_WRONLY)
    elif how == "pipe":
        read, out = os.pipe()
        os.close(read)
    else:
        out = os.open("/dev/null", os.O_WRONLY)
    try:
        done = subprocess.run([COMMAND, *map(str, args)], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                              restore_signals=False, preexec_fn=prepare)
    finally:
        os.close(out)
    return done.returncode, done.stderr


def check_sentence(code, said):
    assert code == 1, (code, said)
    lines = said.splitlines()
    assert len(lines) == 1 and lines[0].startswith("latchkey"), said
    assert ": failed to " in lines[0] and "standard output" in lines[0], said


@pytest.mark.parametrize("how", ["full", "closed", "pipe"])
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_output_is_lost(words, command, form, how, tmp_path):
    out = tmp_path / "out"
    args = [str(out) if word == "OUT" else word for word in words[command]]
    if form == "json":
        args.append("--json")
    check_sentence(*start(args, how, signal.SIG_IGN))
    if command == "run":  # what it has written is written before it is shown
        whole = numpy.load(out / "y.npy")
        assert whole.tolist() == [0, 2, 3]
        assert [path.name for path in out.iterdir()] == ["y.npy"]


@pytest.mark.parametrize("how", ["full", "closed", "pipe"])
@pytest.mark.parametrize("command", OTHERS)
def test_help_is_lost(command, how):
    check_sentence(*start(OTHERS[command], how, signal.SIG_IGN))


@pytest.mark.parametrize("command", COMMANDS)
def test_sigpipe_ends_it_as_any_program(words, command, tmp_path):
    out = tmp_path / "out"
    args = [str(out) if word == "OUT" else word for word in words[command]]
    code, said = start(args, "pipe", signal.SIG_DFL)
    assert (code, said) == (-signal.SIGPIPE, "")
    if command == "run":
        assert [path.name for path in out.iterdir()] == ["y.npy"]
