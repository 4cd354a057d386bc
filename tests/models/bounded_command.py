"""What the tests of bad models share: the command in a process of its own, with what it took."""

import os
import subprocess
import sys
from dataclasses import dataclass

COMMAND = os.environ["LATCHKEY_COMMAND"]

# A process inherits the peak of the one that starts it, and pytest's is what all earlier tests have
# left. So a new, small process starts the command, and tells its exit code, its peak and its time.
# Address space that the machine could not give would not show in the peak; it has a limit too.
LAUNCHER = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print()
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)
"""


@dataclass
class Done:
    code: int  # minus the signal that ended it
    out: str
    said: str  # on stderr
    peak: int  # bytes
    seconds: float  # of processors


def run_bounded(*words, timeout=120):
    done = subprocess.run([sys.executable, "-IS", "-c", LAUNCHER, COMMAND, *map(str, words)],
                          capture_output=True, text=True, check=True, timeout=timeout,
                          errors="replace")
    out, _, last = done.stdout.rstrip("\n").rpartition("\n")
    code, peak, seconds = last.split()
    return Done(int(code), out, done.stderr, int(peak), float(seconds))
