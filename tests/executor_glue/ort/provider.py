"""Sessions of ONNX Runtime with and without the provider, and what the provider says of one."""

import json
import os
import pathlib
import tempfile

import numpy
import onnxruntime

LIBRARY = os.path.join(os.environ["LK_TEST_BUILD"], "liblatchkey_ort.so")
NAME = "LatchkeyExecutionProvider"

# Why nodes are left that could be claimed, but are connected to none that computes data.
NO_WORK = "in no group that computes data"
# Why nodes that compute are left that could be claimed.
ISLAND = "alone in a group, which would cost more than it gains"
# Why nodes are left that could be claimed, but gain nothing by themselves.
SOONER = "in no group that gains, and ONNX Runtime computes it sooner"

TYPES = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16,
         "tensor(double)": numpy.float64, "tensor(int32)": numpy.int32,
         "tensor(int64)": numpy.int64}


def session_options():
    """Quiet, and without threads that spin: tests run side by side."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def devices():
    """What the registered library offers. By it a session finds the provider in every version of
    ONNX Runtime that takes the library; by name (`providers=`) in the newer ones only."""
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def open_session(model, options=None, of_session=None):
    """A session with the provider. `model`: a path or bytes; `options`: of the provider. An error
    is an error: ONNX Runtime is not to try again without the provider."""
    of_session = of_session or session_options()
    of_session.add_provider_for_devices(devices(), {"run_statistics": "on", **(options or {})})
    session = onnxruntime.InferenceSession(
        model if isinstance(model, bytes) else str(model), of_session, enable_fallback=0)
    assert session.get_providers()[0] == NAME
    return session


def open_reference(model, of_session=None):
    """The same without it."""
    return onnxruntime.InferenceSession(
        model if isinstance(model, bytes) else str(model), of_session or session_options(),
        providers=["CPUExecutionProvider"], enable_fallback=0)


def statistics(session, feeds=None):
    """What the provider has to say of a session, of now. `feeds`: inputs that the model takes,
    where ones of size 1 are none; nothing is computed with them."""
    if feeds is None:
        feeds = {value.name: numpy.zeros([d if isinstance(d, int) else 1 for d in value.shape],
                                         TYPES[value.type]) for value in session.get_inputs()}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "statistics.json")
        run_options = onnxruntime.RunOptions()
        run_options.add_run_config_entry("latchkey.stats", str(file))
        run_options.terminate = True  # the statistics are written first
        run_options.log_severity_level = 4
        try:
            session.run(None, feeds, run_options)
        except Exception as error:  # its class depends on the version of ONNX Runtime
            if "terminate" not in str(error).lower():
                raise
        return json.loads(file.read_text())


def check_claims(session, feeds=None):
    """Everything is claimed but what is in no group that computes; the statistics."""
    found = statistics(session, feeds)
    claims = found["claims"]
    others = [left for left in claims["left"] if left["reason"] not in (NO_WORK, ISLAND, SOONER)]
    assert others == [], others
    assert claims["claimed"] > 0
    assert claims["claimed"] + sum(left["count"] for left in claims["left"]) == claims["nodes"]
    return found
