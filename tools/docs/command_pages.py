"""The reference of the command `latchkey`: what its --help says, command by command. And its man
pages, from the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import latchkey.commands

INTRO = """\
# Options of the command

What `latchkey COMMAND --help` prints. [The guide](../command.md) shows each command by example.
"""


def tell(command: Path, *arguments: str) -> str:
    """What the command prints, at one width whatever terminal this runs in. Commands that the
    program leaves to the Python package are asked there."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LATCHKEY_", "ARGP_"))}
    program = ([sys.executable, "-m", "latchkey"] if arguments[0] in latchkey.commands.COMMANDS
               else [command])
    return subprocess.run([*program, *arguments], check=True, capture_output=True, text=True,
                          env={**environment, "COLUMNS": "80"}).stdout


def commands(command: Path) -> dict[str, str]:
    """The commands, each with its line of what it is for."""
    found = re.findall(r"^  (\w+) +(.*)$",
                       tell(command, "--help").partition("Commands:\n")[2], re.MULTILINE)
    if not found:
        raise ValueError(f"failed to read {command} --help: it lists no commands")
    return dict(found)


def page(command: Path) -> str:
    parts = [INTRO, "## latchkey\n\n```text\n" + tell(command, "--help").rstrip() + "\n```\n"]
    for name, what in commands(command).items():
        text = tell(command, name, "--help").rstrip()
        parts.append(f"## latchkey {name}\n\n{what[0].upper()}{what[1:]}.\n\n"
                     f"```text\n{text}\n```\n")
    return "\n".join(parts)
