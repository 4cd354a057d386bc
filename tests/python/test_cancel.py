"""A run ends when another thread says so, wherever it is, and the session works on."""

import contextlib
import math
import threading
import time

import numpy
import pytest
from close import assert_close
from conftest import of_rows, random
from wait import until

import latchkey

LONG = 60  # seconds: whatever is not cancelled ends with DeadlineError
X = numpy.float32(3)
ENDLESS = {"go": numpy.bool_(True), "x": X}


def is_running(session):
    """Whether a run of the session executes, or has."""
    return session.stats()["session"]["run_plan_builds"] > 0


def is_within(session):
    """A condition: a run of the session on this thread is in the midst of its operator."""
    clock, begin = time.pthread_getcpuclockid(threading.get_ident()), None

    def condition():
        nonlocal begin
        if begin is None and is_running(session):
            begin = time.clock_gettime(clock)
        return begin is not None and time.clock_gettime(clock) > begin + 0.05
    return condition


def cancel_when(condition):
    """A flag that another thread sets once condition() is true."""
    cancel = latchkey.Cancel()

    def wait():
        until(condition)
        cancel.set()
    threading.Thread(target=wait).start()
    return cancel


def test_between_operators(endless):
    session = latchkey.Session(endless)
    cancel = cancel_when(lambda: is_running(session))
    with pytest.raises(latchkey.CancelledError, match="cancelled") as info:
        session.run(ENDLESS, timeout=LONG, cancel=cancel)
    assert info.value.status == "LK_CANCELLED"
    assert session.run({"go": numpy.bool_(False), "x": X})["y"] == X


def test_within_an_operator(attention):
    session = latchkey.Session(attention)
    cancel = cancel_when(is_within(session))
    with pytest.raises(latchkey.CancelledError, match="while it computed"):
        session.run(of_rows(24000), cancel=cancel)
    assert_close(session.run(of_rows(10))["y"], of_rows(10)["v"])


def test_while_another_run_has_the_place(endless):
    session = latchkey.Session(endless, max_runs=1)
    first = latchkey.Cancel()
    ends = []

    def run():
        try:
            session.run(ENDLESS, timeout=LONG, cancel=first)
        except latchkey.Error as error:
            ends.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: is_running(session))
    second = cancel_when(lambda: session.stats()["session"]["waits"] == 1)
    with pytest.raises(latchkey.CancelledError):
        session.run(ENDLESS, timeout=LONG, cancel=second)
    assert not ends
    first.set()
    thread.join()
    assert isinstance(ends[0], latchkey.CancelledError)


@contextlib.contextmanager
def held_by_another_thread(lock):
    is_held, is_over = threading.Event(), threading.Event()

    def hold():
        with lock:
            is_held.set()
            is_over.wait()
    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    yield
    is_over.set()
    thread.join()


@pytest.mark.parametrize("limit", ["cancel", "timeout"])
def test_while_another_run_has_the_profile(relu, limit):
    session, profile = latchkey.Session(relu), latchkey.Profile()
    cancel = latchkey.Cancel()
    threading.Timer(0.1, cancel.set).start()
    limits = {"cancel": cancel} if limit == "cancel" else {"timeout": 0.1}
    error = latchkey.CancelledError if limit == "cancel" else latchkey.DeadlineError
    with held_by_another_thread(profile._lock), \
            pytest.raises(error, match="its turn with the profile"):
        session.run({"x": random(2, 3)}, profile=profile, **limits)
    assert len(profile) == 0
    session.run({"x": random(2, 3)}, profile=profile)
    assert len(profile) == 1


def test_one_flag_ends_many_runs_of_many_sessions(endless):
    sessions = [latchkey.Session(endless), latchkey.Session(endless, threads=1)]
    ends = []
    cancel = cancel_when(lambda: all(is_running(session) for session in sessions))

    def run(session):
        try:
            session.run(ENDLESS, timeout=LONG, cancel=cancel)
        except latchkey.Error as error:
            ends.append(error)
    threads = [threading.Thread(target=run, args=(session,)) for session in 2 * sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(error) for error in ends] == 4 * [latchkey.CancelledError]


def test_a_flag_that_is_set_and_cleared(relu):
    session, cancel = latchkey.Session(relu), latchkey.Cancel()
    x = random(2, 3)
    out = numpy.full((2, 3), 7, numpy.float32)
    assert not cancel.is_set() and repr(cancel) == "<latchkey.Cancel, not set>"
    session.run({"x": x}, cancel=cancel)
    cancel.set()
    cancel.set()
    assert cancel.is_set() and repr(cancel) == "<latchkey.Cancel, set>"
    for _ in range(2):
        with pytest.raises(latchkey.CancelledError):
            session.run({"x": x}, out={"y": out}, cancel=cancel)
    assert (out == 7).all()
    cancel.clear()
    assert not cancel.is_set()
    assert numpy.array_equal(session.run({"x": x}, cancel=cancel)["y"], numpy.maximum(x, 0))


@pytest.mark.parametrize("wrong", [True, 0, threading.Event(), latchkey.Cancel], ids=repr)
def test_what_is_no_flag(relu, wrong):
    session = latchkey.Session(relu)
    with pytest.raises(TypeError, match="a latchkey.Cancel is needed"):
        session.run({"x": random(2, 3)}, cancel=wrong)


def test_timeouts_of_any_size(relu):
    session = latchkey.Session(relu)
    x = random(2, 3)
    for seconds in (60, 1e6, 1e30, math.inf):
        session.run({"x": x}, timeout=seconds)
    for seconds in (0, -1, -1e30, -math.inf):
        with pytest.raises(latchkey.DeadlineError):
            session.run({"x": x}, timeout=seconds)
    with pytest.raises(ValueError, match="timeout"):
        session.run({"x": x}, timeout=math.nan)
