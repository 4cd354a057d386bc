"""Models as real exporters write them give what ONNX Runtime's CPU provider gives, at every size
that their files list, with and without run plans, and again when a size comes back."""

import onnx
import onnxruntime
import pytest
from bounds import check_output
from exported_models import FOLDER, NAMES, requests_of
from logits import with_logits
from other_isa import run_again

import latchkey


def reference(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def check(name, model, run_plans=(True, False)):
    """`model` is the path or the bytes of the model `name`."""
    other = reference(model)
    feeds = requests_of(name)
    right = [other.run(None, one) for one in feeds]
    for plans in run_plans:
        with latchkey.Session(model, run_plans=plans) as session:
            for _ in range(2):
                for one, outputs in zip(feeds, right):
                    found = session.run(one)
                    for info, values in zip(other.get_outputs(), outputs):
                        check_output(found[info.name], values, name, info.name)


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_onnxruntime(name):
    path = FOLDER / f"{name}.onnx"
    check(name, str(path))
    model = onnx.load(path)
    more = with_logits(model)
    if len(more.graph.output) > len(model.graph.output):
        check(name, more.SerializeToString(), [True])


@pytest.mark.parametrize("isa", ["avx2", "avx512_core"])
def test_quantized_without_vnni(isa):
    """The same on the kernels for processors without instructions for products of bytes."""
    run_again(__file__, isa, "agrees and int8")
