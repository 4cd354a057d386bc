"""Opening a model ends when it is told to."""

import contextlib
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


@pytest.fixture
def with_default():
    """A session, and inputs with one that has a default: the first run of these computes the
    products once more."""
    size = 1500
    shape = numpy_helper.from_array(numpy.array([size, size], numpy.int64), "shape")
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["p0"])]
    nodes += [helper.make_node("MatMul", [f"p{i}", "p0"], [f"p{i + 1}"]) for i in range(20)]
    nodes += [helper.make_node("Add", ["x", "p20"], ["s"]), helper.make_node("Add", ["s", "w"],
                                                                            ["y"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, size]),
              helper.make_tensor_value_info("w", TensorProto.FLOAT, [1])]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    default = numpy_helper.from_array(numpy.zeros(1, numpy.float32), "w")
    graph = helper.make_graph(nodes, "g", inputs, [y], [shape, default])
    session = latchkey.Session(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17)]), threads=1)
    return session, {"x": numpy.ones((size, size), numpy.float32),
                     "w": numpy.ones(1, numpy.float32)}


def test_of_the_program_for_inputs_with_a_default_ends_with_its_run(with_default):
    session, feeds = with_default
    with pytest.raises(latchkey.DeadlineError) as late:
        session.run(feeds, timeout=0.02)
    cancel = latchkey.Cancel()
    cancel.set()
    with pytest.raises(latchkey.CancelledError) as cancelled:
        session.run(feeds, cancel=cancel)
    for error in (late, cancelled):  # it ends before that: the program is not built to its end
        assert "failed to run the graph" not in str(error.value)
    assert session.run({"x": feeds["x"]})["y"].shape == (1500, 1500), "it needs no other program"


def has_waited_for_another(session, feeds):
    """Whether a run has waited until its deadline for the program that another one builds."""
    cancel = latchkey.Cancel()

    def build():
        with contextlib.suppress(latchkey.CancelledError):
            session.run(feeds, cancel=cancel)

    thread = threading.Thread(target=build)
    thread.start()
    try:
        while thread.is_alive():
            try:
                session.run(feeds, timeout=0.01)
            except latchkey.DeadlineError as error:
                if "while another run built the program" in str(error):
                    return True
    finally:
        cancel.set()
        thread.join()
    return False


def test_who_waits_for_the_program_of_another_run_waits_no_longer_than_that(with_default):
    session, feeds = with_default
    # on a busy machine the program may be there before anybody has waited for it
    assert any(has_waited_for_another(session.clone(), feeds) for _ in range(50))
