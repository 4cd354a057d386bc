"""The command, as ``latchkey`` and ``python -m latchkey``: the program that lies in this folder."""

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    # The interpreter ignores SIGPIPE and programs inherit that: a closed pipe must end it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(Path(__file__).parent / "bin/latchkey", ["latchkey", *sys.argv[1:]])


if __name__ == "__main__":
    main()
