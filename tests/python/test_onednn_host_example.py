"""examples/onednn_host: what it prints of two rounds. It checks its numbers itself."""

import re
import subprocess

import pytest
from conftest import BUILD

PROGRAM = BUILD / "examples/onednn_host"
RUNS = 2 * 2 * 8  # executors, threads of each, runs of each
ASKED = {"matmul": 2 * RUNS, "activation": RUNS, "multiply": RUNS, "softmax": RUNS}
SIZES = 4
# Of each size: two matmuls, and two of each other kind, since one executor works in place and the
# other does not. Names of tensors and executors are no part of a primitive's key.
BUILT = {"matmul": 2 * SIZES, "activation": 2 * SIZES, "multiply": 2 * SIZES, "softmax": 2 * SIZES}

pytestmark = pytest.mark.skipif(
    not PROGRAM.exists(), reason="this build has no oneDNN: tools/setup builds it")


def test_builds_and_packs_once():
    done = subprocess.run([PROGRAM, BUILD / "liblatchkey.so"], capture_output=True, text=True,
                          timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert re.match(r"latchkey \S+ \(\S+\), oneDNN 3\.\d+\.\d+\n", done.stdout)
    rows = re.findall(r"round (\d)  (\w+) +built +(\d+)  found +(\d+)", done.stdout)
    counts = {(int(turn), name): (int(built), int(found)) for turn, name, built, found in rows}
    assert counts == {(turn, name): (built, ASKED[name] - built)
                      for turn in (1, 2) for name in ASKED
                      for built in (BUILT[name] if turn == 1 else 0,)}
    assert re.search(r"round 2  weights     packed 0  largest difference", done.stdout)


def test_says_that_the_library_is_missing(tmp_path):
    done = subprocess.run([PROGRAM, tmp_path / "none.so"], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("cannot load Latchkey: ") and "none.so" in done.stderr
