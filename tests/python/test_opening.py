"""Opening a model ends when it is told to."""

import signal
import threading

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_interrupt import Alarm, alarm

import latchkey

UNLIMITED = 2**64 - 2


@pytest.fixture
def endless():
    """Products of constants, which passes would compute for minutes: 2,000 of 1500 x 1500."""
    shape = numpy_helper.from_array(numpy.array([1500, 1500], numpy.int64), "shape")
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["p0"])]
    nodes += [helper.make_node("MatMul", [f"p{i}", "p0"], [f"p{i + 1}"]) for i in range(2000)]
    nodes.append(helper.make_node("Add", ["x", "p2000"], ["y"]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1500, 1500]) for name in "xy")
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y], [shape])).SerializeToString()


def test_at_a_deadline(endless):
    with pytest.raises(latchkey.DeadlineError, match="deadline"):
        latchkey.Session(endless, max_folded_bytes=UNLIMITED, timeout=0.2)


def test_by_another_thread(endless):
    cancel = latchkey.Cancel()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(latchkey.CancelledError, match="cancelled"):
        latchkey.Session(endless, max_folded_bytes=UNLIMITED, cancel=cancel)


def test_by_a_signal(endless, alarm):
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(Alarm):
        latchkey.Session(endless, max_folded_bytes=UNLIMITED)


def test_what_limits_are():
    with pytest.raises(TypeError, match="timeout"):
        latchkey.Session(b"", timeout="soon")
    with pytest.raises(TypeError, match="cancel"):
        latchkey.Session(b"", cancel=1)
