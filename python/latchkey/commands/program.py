"""Asks the program in the package, for what it alone knows: the grammar of shapes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .front import CommandError

_PROGRAM = Path(__file__).parents[1] / "bin/latchkey"


def missing(model: str) -> dict[str, Any]:
    """All that keeps a model from running here, as ``latchkey ops --missing`` says it."""
    found: dict[str, Any] = ask("ops", "--missing", "--", model, answers=(0, 1))[0]
    return found


def ask(command: str, *words: str, answers: Sequence[int] = (0,)) -> Any:
    """What a command of the program answers with ``--json``. Its sentence of failure is raised as
    the own one.

    :param answers: exit codes with which it may answer; without output it has failed.
    """
    done = subprocess.run([_PROGRAM, command, "--json", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape")
    if done.returncode in answers and done.stdout:
        return json.loads(done.stdout)
    sentence = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    raise CommandError(sentence[0].removeprefix(f"latchkey {command}: "), done.returncode)


def draw_shapes(model: str, shapes: Sequence[str], files: Sequence[str], requests: int, seed: int,
                options: Sequence[str]) -> list[dict[str, tuple[int, ...]]]:
    """The shapes of the inputs of each request, as the program draws them.

    :param shapes: ``NAME=SHAPE``; ``files``: ``NAME=FILE.npy``; ``options``: of the library.
    """
    words = [f"--shape={text}" for text in shapes] + [f"--input={text}" for text in files]
    answer = ask("shapes", *words, f"--requests={requests}", f"--seed={seed}", *options, "--",
                 model)
    return [{name: tuple(shape) for name, shape in request.items()}
            for request in answer["requests"]]
