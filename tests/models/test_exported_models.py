"""Models as real exporters write them give what ONNX Runtime's CPU provider gives, at every size
that their files list, with and without run plans, and again when a size comes back."""

import onnxruntime
import pytest
from exported_models import FOLDER, NAMES, compare, requests_of

import latchkey


def reference(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_onnxruntime(name):
    path = FOLDER / f"{name}.onnx"
    other = reference(path)
    feeds = requests_of(name)
    right = [other.run(None, one) for one in feeds]
    for run_plans in (True, False):
        with latchkey.Session(path, run_plans=run_plans) as session:
            for _ in range(2):
                for one, outputs in zip(feeds, right):
                    found = session.run(one)
                    for info, values in zip(other.get_outputs(), outputs):
                        compare(found[info.name], values, name)
