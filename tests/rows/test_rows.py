"""200 random nodes of every row of the operator table against another implementation."""

import importlib
import os
import pathlib
import zlib

import numpy
import pytest

import latchkey
from case import ROWS, check

for path in sorted(pathlib.Path(__file__).parent.glob("*_rows.py")):
    importlib.import_module(path.stem)

SEEDS = int(os.environ.get("LATCHKEY_ROW_SEEDS", "200"))


@pytest.fixture(scope="module")
def context():
    return latchkey.Context(threads=1)


@pytest.mark.parametrize(("domain", "op_type"), sorted(ROWS), ids=lambda value: value or "onnx")
def test_row(domain, op_type, context):
    for seed in range(SEEDS):
        rng = numpy.random.default_rng([seed, zlib.crc32(op_type.encode())])
        case = ROWS[domain, op_type](rng)
        try:
            check(domain, op_type, case, context)
        except Exception as error:
            kinds = [None if value is None else f"{value.dtype}{list(value.shape)}"
                     for value in case.inputs]
            raise AssertionError(f"{op_type} {kinds} {case.attributes}, opset {case.opset}, "
                                 f"seed {seed}") from error
