"""Signals end a run, between operators and within one, and the session works on."""

import signal
import threading
import time

import numpy
import pytest
from close import assert_close
from conftest import of_rows

import latchkey

LONG = 60  # seconds: whatever is not interrupted ends with DeadlineError


class Alarm(Exception):
    pass


@pytest.fixture
def alarm():
    """Raises Alarm on the main thread after 0.1 s."""

    def handle(_number, _frame):
        raise Alarm

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_between_operators(endless, alarm):
    session = latchkey.Session(endless)
    x = numpy.float32(3)
    with pytest.raises(Alarm):
        session.run({"go": numpy.bool_(True), "x": x}, timeout=LONG)
    assert session.run({"go": numpy.bool_(False), "x": x})["y"] == x


def test_within_an_operator(attention, alarm):
    session = latchkey.Session(attention)
    with pytest.raises(Alarm):
        session.run(of_rows(24000))
    assert_close(session.run(of_rows(10))["y"], of_rows(10)["v"])


def test_control_c(attention):
    session = latchkey.Session(attention)
    main = threading.main_thread().ident
    sender = threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT))
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        session.run(of_rows(24000))
    sender.join()
    assert_close(session.run(of_rows(10))["y"], of_rows(10)["v"])


def test_a_handler_that_raises_nothing_ends_nothing(endless, alarm):
    heard = []
    signal.signal(signal.SIGALRM, lambda *_: heard.append(time.monotonic()))
    with pytest.raises(latchkey.DeadlineError):
        latchkey.Session(endless).run({"go": numpy.bool_(True), "x": numpy.float32(3)}, timeout=0.5)
    assert len(heard) == 1 and time.monotonic() - heard[0] > 0.2  # in the run, not behind it


def test_other_threads_go_on(endless, alarm):
    session = latchkey.Session(endless)
    ends = []

    def run():
        try:
            session.run({"go": numpy.bool_(True), "x": numpy.float32(3)}, timeout=0.6)
        except latchkey.Error as error:
            ends.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    with pytest.raises(Alarm):
        time.sleep(LONG)
    thread.join()
    assert isinstance(ends[0], latchkey.DeadlineError)
