"""Chains of steps by numbers behind an operator, in Latchkey and step by step in numpy.

    python -m tests.fuzz.chain --seed 17               that chain again, and what is wrong with it
    python -m tests.fuzz.chain --seed 17 --count 10000 from that seed on
    python -m tests.fuzz.chain --seconds 60            from a random seed on

A seed makes one chain; 64 of them are outputs of one model. What is found is made small, printed,
and written to build/fuzz/found/chain/<seed>/, as `latchkey test` reads it. Exit 1: something was
found."""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import chain_hunt  # noqa: E402

FOUND = Path(__file__).parents[3] / "build" / "fuzz" / "found" / "chain"


def _batches(options):
    """Ranges of seeds."""
    first = options.seed if options.seed is not None else 0
    if options.seconds is not None:
        if options.seed is None:
            first = random.SystemRandom().randrange(1 << 40)
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            yield range(first, first + chain_hunt.TOGETHER)
            first += chain_hunt.TOGETHER
        return
    last = first + (options.count or 1)
    for start in range(first, last, chain_hunt.TOGETHER):
        yield range(start, min(start + chain_hunt.TOGETHER, last))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.chain")
    parser.add_argument("--seed", type=int, help="the first one, 0 unless --seconds is given")
    parser.add_argument("--count", type=int, help="how many chains")
    parser.add_argument("--seconds", type=float, help="for how long")
    parser.add_argument("--route", choices=list(chain_hunt.ROUTES), help="on one route only")
    options = parser.parse_args()
    routes = tuple(chain_hunt.ROUTES) if options.route is None else (options.route,)
    FOUND.mkdir(parents=True, exist_ok=True)
    now = FOUND / "now"  # the seeds at work: of a process that dies, those that killed it
    faulthandler.enable()
    chains = findings = 0
    begin = told = time.monotonic()
    for seeds in _batches(options):
        now.write_text(f"{seeds.start} to {seeds.stop - 1}\n")
        for finding in chain_hunt.hunt(seeds, FOUND, routes):
            findings += 1
            print(finding, flush=True)
        chains += len(seeds)
        if time.monotonic() - told > 10:
            told = time.monotonic()
            print(f"{chains} chains, {findings} findings, {told - begin:.0f} s",
                  file=sys.stderr, flush=True)
    now.unlink(missing_ok=True)
    print(f"{chains} chains, {findings} findings, {time.monotonic() - begin:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
