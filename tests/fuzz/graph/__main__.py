"""Random graphs in Latchkey and in ONNX's reference evaluator.

    python -m tests.fuzz.graph --seed 17             that graph again, and what is wrong with it
    python -m tests.fuzz.graph --first 0 --count 100
    python -m tests.fuzz.graph --seconds 60          from a random seed on

A seed makes one graph and three mutants of it. What is found is made small and written to
build/fuzz/found/graph/<seed>/, as `latchkey test` reads it. Exit 1: something was found."""

from __future__ import annotations

import argparse
import collections
import faulthandler
import random
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import hunt  # noqa: E402

MOST_BYTES = 8 << 30
FOUND = Path(__file__).parents[3] / "build" / "fuzz" / "found" / "graph"


def _seeds(options):
    if options.seed is not None:
        yield options.seed
    elif options.seconds is not None:
        first, end = random.SystemRandom().randrange(1 << 40), time.monotonic() + options.seconds
        while time.monotonic() < end:
            yield first
            first += 1
    else:
        yield from range(options.first, options.first + options.count)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.graph")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    # The reference computes a Range of any length that a graph asks for.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    FOUND.mkdir(parents=True, exist_ok=True)
    now = FOUND / "now"  # the seed at work: of a process that dies, the one that killed it
    faulthandler.enable()
    counts: collections.Counter = collections.Counter()
    for seed in _seeds(options):
        now.write_text(f"{seed}\n")
        finding = hunt.hunt(seed, FOUND, counts)
        if finding is not None:
            counts["findings"] += 1
            print(f"seed {seed}: {finding}", flush=True)
    now.unlink(missing_ok=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
