"""The command, as ``latchkey`` and ``python -m latchkey``: a module of ``commands``, or the program
that lies in this folder."""

import os
import signal
import sys
from pathlib import Path

from .commands import COMMANDS

PROGRAM = Path(__file__).parent / "bin/latchkey"


def main() -> None:
    # The interpreter ignores SIGPIPE and programs inherit that: a closed pipe must end it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    words = sys.argv[1:]
    if words[:1] == ["help"] and len(words) > 1:
        words = [words[1], "--help"]
    if words and words[0] in COMMANDS:
        from .commands.front import run
        sys.exit(run(words[0], words[1:]))
    os.execv(PROGRAM, ["latchkey", *words])


if __name__ == "__main__":
    main()
