"""Seeds: their chains judged, and what is found made small, written and told."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
from onnx import numpy_helper

import builder
from chain import grow
from chain_judge import ROUTES, Finding, judge, minimize

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


def hunt(seeds: range, found: Path, routes=tuple(ROUTES)) -> list[str]:
    """What is wrong, as text."""
    told = []
    for finding in judge([grow(seed) for seed in seeds], routes):
        small = minimize(finding)
        folder = found / str(small.chain.seed)
        _write(folder, small)
        told.append(f"seed {small.chain.seed}, {small.route}: {small.what}\n  "
                    f"{small.chain.show()}\n  ({folder})")
    return told
