"""Generated models give what ONNX Runtime's CPU provider gives, at every size, with and without run
plans, and again when a size comes back."""

import onnxruntime
import pytest
from generated import MODELS, compare, recorded
from generated.quantized import NAMES, quantized
from logits import with_logits

import latchkey


def reference(data):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def check_each(name, model, proto, run_plans):
    data = proto.SerializeToString()
    asked = recorded(model, proto, reference(data))
    for plans in run_plans:
        with latchkey.Session(data, run_plans=plans) as session:
            for _ in range(2):
                for feeds, right in asked:
                    compare(session.run(feeds), right, name)


def check(name, model, proto):
    check_each(name, model, proto, [True, False])
    more = with_logits(proto)
    if len(more.graph.output) > len(proto.graph.output):
        check_each(name, model, more, [True])


@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_onnxruntime(name):
    check(name, MODELS[name], MODELS[name].make(1))


@pytest.mark.parametrize("name", NAMES)
def test_int8_agrees_with_onnxruntime(name):
    model = MODELS[name.split("_int8_")[0]]
    check(name, model, quantized(name, model, model.make(1)))
