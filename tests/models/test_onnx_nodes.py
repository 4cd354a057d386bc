"""ONNX's own test cases of its operators, through `latchkey test`.

The cases come from the `onnx` package: all whose inputs and outputs are tensors.
"""

import os
import subprocess

import numpy
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx_cases import LEFT_OUT

COMMAND = os.environ["LATCHKEY_COMMAND"]

# Fewer would mean that cases are skipped that used to run.
LEAST_PASSED = 1588


def write_values(folder, kind, values, infos):
    for index, (value, info) in enumerate(zip(values, infos)):
        if not isinstance(value, onnx.TensorProto):
            value = numpy_helper.from_array(numpy.asarray(value))
        value.name = info.name
        (folder / f"{kind}_{index}.pb").write_bytes(value.SerializeToString())


def is_tensor(value):
    return isinstance(value, (onnx.TensorProto, numpy.ndarray, numpy.generic))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("node")
    for case in collect_testcases(None):
        model = case.model
        if model is None or case.name in LEFT_OUT:
            continue
        if not all(is_tensor(v) for inputs, outputs in case.data_sets for v in [*inputs, *outputs]):
            continue
        folder = root / case.name
        folder.mkdir(exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        for index, (inputs, outputs) in enumerate(case.data_sets):
            data = folder / f"test_data_set_{index}"
            data.mkdir(exist_ok=True)
            write_values(data, "input", inputs, model.graph.input)
            write_values(data, "output", outputs, model.graph.output)
    result = subprocess.run([COMMAND, "test", str(root)], capture_output=True, text=True,
                            check=False)
    assert result.stdout, result.stderr
    return result.stdout.splitlines()


def test_no_case_fails(report):
    assert [line for line in report if line.startswith("FAIL")] == []


def test_cases_are_run(report):
    passed = int(report[-1].split()[0])
    assert passed >= LEAST_PASSED, report[-1]


def test_skipped_cases_say_why(report):
    for line in report:
        if line.startswith("skip"):
            assert line.rstrip().endswith(")") and "(" in line, line
