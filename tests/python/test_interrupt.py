"""Signals end a run, between operators and within one, and the session works on."""

import contextlib
import signal
import threading
import time

import numpy
import pytest
from close import assert_close
from conftest import of_rows
from test_cancel import ENDLESS, LONG, X, is_running, is_within
from wait import until

import latchkey

MAIN = threading.main_thread().ident


class Alarm(Exception):
    pass


@contextlib.contextmanager
def handler(handle):
    """What is called at SIGALRM."""
    before = signal.signal(signal.SIGALRM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def alarm():
    """SIGALRM raises Alarm."""

    def handle(_number, _frame):
        raise Alarm
    with handler(handle):
        yield


@contextlib.contextmanager
def sent(number, when):
    """Sends this thread, which is the main one, a signal once `when()` is true."""

    def send():
        until(when)
        signal.pthread_kill(MAIN, number)
    thread = threading.Thread(target=send)
    thread.start()
    yield
    thread.join()


def test_between_operators(endless, alarm):
    session = latchkey.Session(endless)
    with sent(signal.SIGALRM, lambda: is_running(session)), pytest.raises(Alarm):
        session.run(ENDLESS, timeout=LONG)
    assert session.run({"go": numpy.bool_(False), "x": X})["y"] == X


@pytest.mark.parametrize("number, error", [(signal.SIGALRM, Alarm),
                                           (signal.SIGINT, KeyboardInterrupt)])
def test_within_an_operator(attention, alarm, number, error):
    session = latchkey.Session(attention)
    with sent(number, is_within(session)), pytest.raises(error):
        session.run(of_rows(24000))
    assert_close(session.run(of_rows(10))["y"], of_rows(10)["v"])


def test_a_handler_that_raises_nothing_ends_nothing(endless):
    """The run goes on until it is cancelled, by the handler of the second signal."""
    session, cancel, heard = latchkey.Session(endless), latchkey.Cancel(), []

    def handle(_number, _frame):
        heard.append(session.stats()["session"]["runs"])
        if len(heard) == 2:
            cancel.set()
    with handler(handle), sent(signal.SIGALRM, lambda: is_running(session)), \
            sent(signal.SIGALRM, lambda: len(heard) == 1), \
            pytest.raises(latchkey.CancelledError):
        session.run(ENDLESS, timeout=LONG, cancel=cancel)
    assert heard == [0, 0]


@pytest.mark.parametrize("do", [
    lambda session, profile: session.run({"go": numpy.bool_(False), "x": X}, profile=profile),
    lambda session, profile: profile.info(), lambda session, profile: profile.entries(),
    lambda session, profile: str(profile), lambda session, profile: len(profile),
    lambda session, profile: profile.clear()],
    ids=["run", "info", "entries", "str", "len", "clear"])
def test_a_handler_is_refused_the_profile_of_the_run_that_it_interrupts(endless, do):
    """It would wait for itself."""
    session, profile, told = latchkey.Session(endless), latchkey.Profile(), []

    def handle(_number, _frame):
        try:
            do(session, profile)
        except latchkey.BusyError as error:
            told.append(str(error))
        raise Alarm
    with handler(handle), sent(signal.SIGALRM, lambda: is_running(session)), pytest.raises(Alarm):
        session.run(ENDLESS, timeout=LONG, profile=profile)
    assert len(told) == 1 and "a signal's handler needs a profile of its own" in told[0]
    profile.clear()
    session.run({"go": numpy.bool_(False), "x": X}, profile=profile)
    assert profile.info()["binds"] >= 0


def test_other_threads_go_on(endless, alarm):
    session, cancel, ends = latchkey.Session(endless), latchkey.Cancel(), []

    def run():
        try:
            session.run(ENDLESS, timeout=LONG, cancel=cancel)
        except latchkey.Error as error:
            ends.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    ready = threading.Event()
    with sent(signal.SIGALRM, lambda: ready.is_set() and is_running(session)), pytest.raises(Alarm):
        ready.set()
        time.sleep(LONG)
    assert not ends
    cancel.set()
    thread.join()
    assert isinstance(ends[0], latchkey.CancelledError)
