"""What all Python tests share lies in harness/."""

import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).parent / "harness"))

# A shell's jobs in the background ignore Ctrl-C, and so do the programs that they start: tests that
# send it would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
