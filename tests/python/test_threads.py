"""One session, many threads; and the interpreter's lock is free during a run."""

import threading

import pytest
from close import assert_close
from conftest import make_model, of_rows, random, reference
from onnx import TensorProto, helper
from test_cancel import ENDLESS, LONG, is_running
from wait import until

import latchkey


def run_all(work, count):
    """Calls work(i) on `count` threads that start together; raises what one of them raises."""
    barrier, failures = threading.Barrier(count), []

    def body(i):
        try:
            barrier.wait(60)
            work(i)
        except BaseException as error:  # also failed assertions, which are told below
            failures.append(error)
    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("cache", ["shared", "thread", "off"])
def test_threads_get_their_own_results(convnet, cache):
    session = latchkey.Session(convnet, context=latchkey.Context(cache=cache))
    inputs = [random(1, 3, 16 + 4 * (i % 3), 24, seed=i) for i in range(6)]
    expected = [reference(convnet, {"x": x})["scores"] for x in inputs]

    def work(i):
        for turn in range(10):
            at = (i + turn) % len(inputs)
            assert_close(session.run({"x": inputs[at]})["scores"], expected[at])
    run_all(work, 6)
    assert session.stats()["session"]["runs"] == 60


def test_threads_cause_one_build_of_each(convnet):
    context = latchkey.Context(cache="shared")
    session = latchkey.Session(convnet, context=context)
    x = random(1, 3, 40, 40)
    run_all(lambda i: session.run({"x": x}), 8)
    cache = context.stats()["cache"]
    assert cache["run"]["builds"] == 1 and cache["run"]["entries"] == 1


def test_two_models_of_equal_names_do_not_mix():
    def model(weights):
        return make_model([helper.make_node("MatMul", ["x", "w"], ["y"])],
                          [("x", TensorProto.FLOAT, ["n", 32])],
                          [("y", TensorProto.FLOAT, ["n", 32])], [("w", weights)])
    context = latchkey.Context()
    weights = [random(32, 32, seed=i) for i in range(2)]
    sessions = [latchkey.Session(model(w), context=context) for w in weights]
    x = random(5, 32, seed=9)

    def work(i):
        for turn in range(20):
            at = (i + turn) % 2
            assert_close(sessions[at].run({"x": x})["y"], x @ weights[at])
    run_all(work, 4)


def test_a_session_may_be_closed_by_another_thread_during_a_run(convnet):
    x = random(1, 3, 48, 48)
    expected = reference(convnet, {"x": x})["scores"]
    for _ in range(5):
        session = latchkey.Session(convnet)

        def work(i, session=session):
            if i == 0:
                session.close()
                return
            try:
                assert_close(session.run({"x": x})["scores"], expected)
            except ValueError as error:
                assert "closed" in str(error)
        run_all(work, 4)


def test_the_interpreters_lock_is_free_during_a_run(endless, attention):
    """This thread ends a run that would not end by itself; with the lock held it could not."""
    for model, inputs, limits in ((endless, ENDLESS, {"timeout": LONG}),
                                  (attention, of_rows(24000), {})):
        session, cancel, ends = latchkey.Session(model, threads=1), latchkey.Cancel(), []

        def run(session=session, cancel=cancel, inputs=inputs, limits=limits, ends=ends):
            with pytest.raises(latchkey.Error) as info:
                session.run(inputs, cancel=cancel, **limits)
            ends.append(info.value)
        thread = threading.Thread(target=run)
        thread.start()
        until(lambda session=session: is_running(session))
        assert not ends
        cancel.set()
        thread.join()
        assert isinstance(ends[0], latchkey.CancelledError)
