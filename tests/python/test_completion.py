"""latchkey completion: what bash and zsh offer behind it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import latchkey

PROGRAM = Path(latchkey.__file__).parent / "bin/latchkey"
PACKAGE = Path(sys.executable).with_name("latchkey")

COMPLETE = """\
source <({program} completion bash)
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_latchkey
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(program, *words):
    quoted = " ".join(f"'{word}'" for word in (program, *words))
    done = subprocess.run(["bash", "-c", COMPLETE.format(program=program, words=quoted)],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def told(*words):
    return subprocess.run([*words, "--help"], capture_output=True, text=True, timeout=60,
                          check=True).stdout


@pytest.mark.parametrize("program", [PROGRAM, PACKAGE], ids=["program", "package"])
def test_bash_offers_commands_and_their_options(program):
    commands = re.findall(r"^  ([a-z][a-z-]+) +[a-z]", told(program), re.MULTILINE)
    assert {"run", "completion", "compare", "bench-plot"} <= set(commands)
    assert offered(program, "") == [*commands, "help", "--help", "--version"]
    assert offered(program, "help", "") == commands
    assert offered(program, "bench-") == ["bench-compare", "bench-plot"]
    for command in commands:
        if program == PROGRAM and "of the Python package" in told(program, command):
            continue
        options = re.findall(r"^ {1,8}(?:-\S(?: [A-Z]+)?, )?(--[a-z-]+)", told(program, command),
                             re.MULTILINE)
        assert "--help" in options and offered(program, command, "--") == options, command
    assert offered(program, "bench", "--war") == ["--warmup"]
    assert offered(program, "bench", "mod") == []  # a file, by the shell


def test_zsh_knows_the_script(tmp_path):
    (tmp_path / "_latchkey").write_text(
        subprocess.run([PROGRAM, "completion", "zsh"], capture_output=True, text=True,
                       check=True).stdout)
    program = ('compadd() { shift; print -rl -- "$@"; }; _describe() { print -rl -- ${(P)2}; }\n'
               f'autoload -Uz _latchkey; words=("{PROGRAM}" "$@"); CURRENT=$#words\n_latchkey\n')

    def asked(*words):
        return subprocess.run(["zsh", "-f", "-c", program, "zsh", *words], capture_output=True,
                              text=True, check=True,
                              env={**os.environ, "FPATH": str(tmp_path)}).stdout.split("\n")
    assert "run:run a model on .npy files" in asked("")
    assert "help:explain a command" in asked("") and "help:explain a command" not in asked(
        "help", "")
    assert {"--help", "--warmup"} <= set(asked("bench", "--"))
    sourced = subprocess.run(
        ["zsh", "-f", "-c", f"autoload -Uz compinit; compinit -u -d {tmp_path}/dump\n"
         f"source <({PROGRAM} completion zsh); print $_comps[latchkey]"],
        capture_output=True, text=True, check=True)
    assert sourced.stdout == "_latchkey\n"


@pytest.mark.parametrize("words, complaint", [
    ((), "SHELL is missing, see --help"), (("fish",), "SHELL is 'fish', bash or zsh is needed"),
    (("bash", "zsh"), "'zsh' is one argument too many, only SHELL is allowed")])
def test_says_what_is_wrong(words, complaint):
    done = subprocess.run([PROGRAM, "completion", *words], capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"latchkey completion: failed to read the command line: {complaint}\n"
