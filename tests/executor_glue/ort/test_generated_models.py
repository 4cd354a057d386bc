"""Generated models give the same in ONNX Runtime with and without the provider, at every size, and
again when a size comes back; of f32, most nodes are claimed."""

import pytest
from generated import MODELS, compare, recorded
from generated.quantized import NAMES, quantized
from provider import open_reference, open_session, statistics


def check(name, model, proto):
    data = proto.SerializeToString()
    other, session = open_reference(data), open_session(data)
    asked = recorded(model, proto, lambda feeds: other.run(None, feeds))
    for _ in range(2):
        for feeds, right in asked:
            compare(dict(zip(right, session.run(None, feeds))), right, name)
    return statistics(session, asked[0][0])["claims"]


@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_the_cpu_provider(name):
    claims = check(name, MODELS[name], MODELS[name].make(1))
    assert 2 * claims["claimed"] > claims["nodes"], claims["left"]


@pytest.mark.parametrize("name", NAMES)
def test_int8_agrees_with_the_cpu_provider(name):
    model = MODELS[name.split("_int8_")[0]]
    check(name, model, quantized(name, model, model.make(1)))
