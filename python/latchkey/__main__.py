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
    if len(sys.argv) > 1 and sys.argv[1] in COMMANDS:
        from .commands.front import run
        sys.exit(run(sys.argv[1], sys.argv[2:]))
    os.execv(PROGRAM, ["latchkey", *sys.argv[1:]])


if __name__ == "__main__":
    main()
