"""Random nodes of every row of the operator table against another implementation; and some that
lack an input."""

import dataclasses
import importlib
import os
import pathlib
import zlib

import numpy
import pytest

import latchkey
from case import ROWS, check, feeds_of, make_model

for path in sorted(pathlib.Path(__file__).parent.glob("*_rows.py")):
    importlib.import_module(path.stem)

SEEDS = int(os.environ.get("LK_TEST_ROW_SEEDS", 80))


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


@pytest.mark.parametrize(("domain", "op_type"), sorted(ROWS), ids=lambda value: value or "onnx")
def test_row_without_an_input(domain, op_type, context):
    """It has a default, or the node is refused by a sentence: also where all others are constant,
    so that the node is computed when the model is opened."""
    for seed in range(2):
        case = ROWS[domain, op_type](numpy.random.default_rng([seed, 1]))
        for index, value in enumerate(case.inputs):
            if value is None:
                continue
            inputs = [*case.inputs[:index], None, *case.inputs[index + 1:]]
            constants = set(range(len(inputs))) if seed > 0 else case.constants
            lacking = dataclasses.replace(case, inputs=inputs, constants=constants)
            try:
                model = make_model(domain, op_type, lacking).SerializeToString()
                with latchkey.Session(model, context=context) as session:
                    session.run(feeds_of(lacking))
            except (latchkey.Error, ValueError) as error:
                assert str(error)
