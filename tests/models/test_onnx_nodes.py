"""ONNX's own test cases of its operators, through `latchkey test`.

The cases come from the `onnx` package. Sequences and optional values among inputs and outputs are
made of tensors, and taken apart: onnx_sequences.py.
"""

import os
import re
import subprocess

import numpy
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx_cases import LEFT_OUT, PASSED, SKIPPED
from onnx_sequences import as_tensors, has_other_values

COMMAND = os.environ["LATCHKEY_COMMAND"]


def write_values(folder, kind, values, infos):
    for index, (value, info) in enumerate(zip(values, infos)):
        if not isinstance(value, onnx.TensorProto):
            value = numpy_helper.from_array(numpy.asarray(value))
        value.name = info.name
        (folder / f"{kind}_{index}.pb").write_bytes(value.SerializeToString())


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("node")
    for case in collect_testcases(None):
        if case.model is None or case.name in LEFT_OUT:
            continue
        model, data_sets = case.model, case.data_sets
        if has_other_values(case):
            model, data_sets = as_tensors(case)
        folder = root / case.name
        folder.mkdir(exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        for index, (inputs, outputs) in enumerate(data_sets):
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
    assert int(report[-1].split()[0]) == PASSED, report[-1]


def test_skipped_cases_say_why(report):
    lines = [line for line in report if line.startswith("skip")]
    for reason, (count, pattern) in SKIPPED.items():
        found = [line for line in lines if re.search(pattern, line)]
        assert len(found) == count, (reason, found)
        lines = [line for line in lines if line not in found]
    assert lines == []
