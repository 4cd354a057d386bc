"""Seeds: their chains judged, and what is found made small, written and told."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
from onnx import numpy_helper

import builder
import others
from chain import Chain, grow
from chain_judge import ROUTES, Finding, difference, judge, minimize

TOGETHER = 64  # chains in one model


def _write(folder: Path, finding: Finding) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    b = finding.chain.build("c")
    (folder / "model.onnx").write_bytes(builder.model([b]).SerializeToString())
    outputs = {b.output: finding.chain.right().lo}
    for kind, values in (("input", b.feeds), ("output", outputs)):
        for i, (name, value) in enumerate(values.items()):
            tensor = numpy_helper.from_array(numpy.asarray(value), name)
            (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())


def _asked(chain: Chain) -> list[str]:
    """What others give that may not be: then this evaluation is to be looked at."""
    told = []
    for name, ask in others.JUDGES.items():
        found = ask(chain)
        wrong = None if found is None else difference(chain, found, chain.right(by_ort=True))
        if wrong is not None:
            told.append(f"seed {chain.seed}, {name}: {wrong}\n  {chain.show()}")
    return told


def hunt(seeds: range, found: Path, routes=tuple(ROUTES)) -> list[str]:
    """What is wrong, as text. One chain in so many is also asked of others."""
    chains = [grow(seed) for seed in seeds]
    told = _asked(chains[0])
    for finding in judge(chains, routes):
        small = minimize(finding)
        folder = found / str(small.chain.seed)
        _write(folder, small)
        told.append(f"seed {small.chain.seed}, {small.route}: {small.what}\n  "
                    f"{small.chain.show()}\n  ({folder})")
    return told
