"""The package brings the command: as a script, and as python -m latchkey."""

import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import latchkey
from latchkey.commands import COMMANDS, NEEDS

MODULE = [sys.executable, "-m", "latchkey"]


def test_the_script_is_the_module():
    script, = importlib.metadata.distribution("latchkey").entry_points.select(
        group="console_scripts")
    assert (script.name, script.value) == ("latchkey", "latchkey.__main__:main")
    called = subprocess.run(
        [sys.executable, "-c", "import importlib, sys; sys.argv[1:] = ['--version'];"
         f" importlib.import_module({script.module!r}).{script.attr}()"],
        capture_output=True, text=True, timeout=60)
    assert called.returncode == 0 and called.stdout == f"latchkey {latchkey.version()}\n", called


def test_arguments_reach_the_command_as_they_are(relu, tmp_path):
    model = tmp_path / "a model.onnx"
    model.write_bytes(relu)
    found = subprocess.run([*MODULE, "inspect", model, "--json"], capture_output=True, text=True,
                           timeout=60)
    assert found.returncode == 0, found.stderr
    report = json.loads(found.stdout)
    assert report["model"] == str(model)
    assert report["inputs"] == [{"name": "x", "type": "f32", "shape": ["rows", 3]}]


def test_exit_codes_and_sentences_are_those_of_the_command(tmp_path):
    failed = subprocess.run([*MODULE, "inspect", tmp_path / "none.onnx"], capture_output=True,
                            text=True, timeout=60)
    assert failed.returncode == 1 and failed.stdout == ""
    assert failed.stderr.startswith("latchkey inspect: failed to"), failed.stderr
    wrong = subprocess.run([*MODULE, "no-such-command"], capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 2 and "'no-such-command'" in wrong.stderr


def listed(command):
    """The commands that --help lists: those of the program, and those of the Python package."""
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60,
                          check=True).stdout
    text = text.partition("\nCommands:\n")[2]
    own, _, others = text.partition("\nCommands of the Python package")
    return [re.findall(r"^  ([a-z-]+) ", part, re.MULTILINE) for part in (own, others)]


def test_help_lists_what_the_program_takes():
    """And says of the others where they are."""
    program = Path(latchkey.__file__).parent / "bin/latchkey"
    own, others = listed([program])
    assert listed(MODULE) == [own, others] and others == list(COMMANDS) and len(own) > 5
    for name in own + others:
        done = subprocess.run([program, name, "--help"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "", done
        assert (name in own) != ("It is a command of the Python package" in done.stdout), done


def test_help_says_what_a_command_of_the_package_needs():
    """The program and the package in the same words."""
    program = Path(latchkey.__file__).parent / "bin/latchkey"
    assert NEEDS.keys() <= COMMANDS.keys()
    for name in COMMANDS:
        for front in ([program], MODULE):
            text = subprocess.run([*front, name, "-h"], capture_output=True, text=True, timeout=60,
                                  check=True).stdout
            assert "It is a command of the Python package" in text
            assert re.findall("It needs, besides: (.*)", text) == (
                [NEEDS[name]] if name in NEEDS else []), text


def test_help_is_a_command_too():
    """`help X` is `X --help`, from both fronts, and `help` alone is --help."""
    program = Path(latchkey.__file__).parent / "bin/latchkey"

    def told(*words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "", done
        return done.stdout
    for front in ([program], MODULE):
        assert told(*front, "help") == told(*front, "--help")
        for name in ("bench", "completion", "compare"):
            assert told(*front, "help", name) == told(*front, name, "--help")
        wrong = subprocess.run([*front, "help", "no-such"], capture_output=True, text=True,
                               timeout=60)
        assert wrong.returncode == 2 and "'no-such'" in wrong.stderr


def test_every_command_takes_h():
    for name in ([], *([name] for names in listed(MODULE) for name in names)):
        done = subprocess.run([*MODULE, *name, "-h"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "", done
        assert done.stdout.startswith(" ".join(["Usage: latchkey", *name, "[OPTION...]"])), done
        assert re.search(r"^ +-h, --help ", done.stdout, re.MULTILINE), done.stdout


def test_a_pipe_that_closes_ends_the_command():
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as closed:
        done = subprocess.run([*MODULE, "ops"], stdout=closed, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == -signal.SIGPIPE and done.stderr == b"", done


def test_it_lies_in_the_package():
    command = Path(latchkey.__file__).parent / "bin/latchkey"
    assert os.access(command, os.X_OK)
