"""Searches: Spin goes through a model to the last state."""

import re
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
MODELS = sorted(FOLDER.glob("*.pml"))
MOST_STEPS = 20000  # of one path; a longer one would be cut off, which pan says
MOST_MEBIBYTES = 900


def sizes_of(model):
    """The -D of each exploration, as the model's first comment has them after "Explored with:", up
    to an empty line of it."""
    (lines,) = re.findall(r"^ \* Explored with: (.*\n(?: \* .*\n)*) \*$", model.read_text(),
                          re.MULTILINE)
    sizes = [size.split() for size in lines.replace("\n * ", " ").split("|")]
    assert all(size and all(define.startswith("-D") for define in size) for size in sizes), model
    return sizes


def broken_in(model):
    return sorted(set(re.findall(r"\bBROKEN_\w+", model.read_text())))


def explore(model, folder, defines):
    """What pan, the program that Spin makes of a model, says after it has seen all states, or an
    error."""
    done = subprocess.run(["spin", *defines, "-a", model], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == 0 and "Error" not in done.stdout, done.stdout + done.stderr
    # SAFETY: assertions and deadlocks, not endless loops. COLLAPSE loses nothing; BITSTATE would.
    subprocess.run(["gcc", "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MOST_MEBIBYTES}",
                    "-o", "pan", "pan.c"], cwd=folder, check=True)
    # -w: memory of the table of states, which grows by itself; -n: no list of what was not reached
    done = subprocess.run(["./pan", f"-m{MOST_STEPS}", "-w22", "-n"], cwd=folder,
                          capture_output=True, text=True)
    return done.stdout + done.stderr


def is_whole(report):
    """Nothing was left out: no path cut off, no memory short, no assertion or deadlock switched
    off."""
    return (re.search(r"State-vector .* errors: \d", report) is not None
            and "Full statespace search" in report
            and not re.search(r"Bit statespace|Search not completed|too small|out of memory|"
                              r"memory limit", report)
            and re.search(r"assertion violations\s+\+", report) is not None
            and re.search(r"invalid end states\s+\+", report) is not None)


def errors_in(report):
    return int(re.search(r"errors: (\d+)", report)[1])
