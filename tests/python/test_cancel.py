"""A run ends when another thread says so, wherever it is, and the session works on."""

import math
import threading
import time

import numpy
import pytest
from close import assert_close
from conftest import of_rows, random

import latchkey

LONG = 60  # seconds: whatever is not cancelled ends with DeadlineError
SOON = 5  # seconds: 0.05 are promised, and the machine may be busy
X = numpy.float32(3)
ENDLESS = {"go": numpy.bool_(True), "x": X}


class After:
    """Sets a flag after 0.1 s, and says how long ago that was."""

    def __init__(self):
        self.cancel = latchkey.Cancel()
        threading.Timer(0.1, self._set).start()

    def _set(self):
        self.when = time.monotonic()
        self.cancel.set()

    def seconds(self):
        return time.monotonic() - self.when


def test_between_operators(endless):
    session = latchkey.Session(endless)
    after = After()
    with pytest.raises(latchkey.CancelledError, match="cancelled") as info:
        session.run(ENDLESS, timeout=LONG, cancel=after.cancel)
    assert after.seconds() < SOON and info.value.status == "LK_CANCELLED"
    assert session.run({"go": numpy.bool_(False), "x": X})["y"] == X


def test_within_an_operator(attention):
    session = latchkey.Session(attention)
    after = After()
    with pytest.raises(latchkey.CancelledError):
        session.run(of_rows(24000), cancel=after.cancel)
    assert after.seconds() < SOON
    assert_close(session.run(of_rows(10))["y"], of_rows(10)["v"])


def test_while_another_run_has_the_place(endless):
    session = latchkey.Session(endless, max_runs=1)
    first, after = latchkey.Cancel(), After()
    ends = []

    def run():
        try:
            session.run(ENDLESS, timeout=LONG, cancel=first)
        except latchkey.Error as error:
            ends.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    while session.stats()["session"]["run_plan_builds"] == 0:
        time.sleep(0.01)
    with pytest.raises(latchkey.CancelledError):
        session.run(ENDLESS, timeout=LONG, cancel=after.cancel)
    assert after.seconds() < SOON and not ends
    first.set()
    thread.join()
    assert isinstance(ends[0], latchkey.CancelledError)


@pytest.mark.parametrize("limit", ["cancel", "timeout"])
def test_while_another_run_has_the_profile(relu, limit):
    session, profile = latchkey.Session(relu), latchkey.Profile()
    after = After()
    limits = {"cancel": after.cancel} if limit == "cancel" else {"timeout": 0.1}
    error = latchkey.CancelledError if limit == "cancel" else latchkey.DeadlineError
    with profile._lock, pytest.raises(error, match="its turn with the profile"):
        session.run({"x": random(2, 3)}, profile=profile, **limits)
    assert after.seconds() < SOON if limit == "cancel" else True
    assert len(profile) == 0
    session.run({"x": random(2, 3)}, profile=profile)
    assert len(profile) == 1


def test_one_flag_ends_many_runs_of_many_sessions(endless):
    sessions = [latchkey.Session(endless), latchkey.Session(endless, threads=1)]
    after, ends = After(), []

    def run(session):
        try:
            session.run(ENDLESS, timeout=LONG, cancel=after.cancel)
        except latchkey.Error as error:
            ends.append(error)
    threads = [threading.Thread(target=run, args=(session,)) for session in 2 * sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert after.seconds() < SOON
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
