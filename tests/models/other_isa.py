"""Tests once more on the kernels for lesser processors: a process chooses its kernels once."""

import os
import subprocess
import sys


def run_again(file, isa, choice):
    """Those of `file` that pytest's -k chooses, held to `isa`: they pass, and none is skipped."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", choice],
        env={**os.environ, "LATCHKEY_MAX_ISA": isa}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "skipped" not in done.stdout, done.stdout[-4000:]
