"""Log lines of the library go to logging, from every thread, and wait for nobody."""

import logging
import os
import subprocess
import sys
import threading
import time

import pytest
from conftest import random
from test_fork import in_child
from wait import until

import latchkey
from latchkey import _log
from latchkey._native import lib

WARNING, INFO, DEBUG = lib.LK_LOG_WARNING, lib.LK_LOG_INFO, lib.LK_LOG_DEBUG


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("LATCHKEY_VERBOSE", raising=False)


def say(context, level, line):
    """What the library does when it has something to say."""
    lib.lk_py_api().context_log(context._native(), level, line.encode())


def own(records):
    return [record for record in records if record.name == "latchkey"]


def test_levels(caplog):
    caplog.set_level(logging.DEBUG, "latchkey")
    context = latchkey.Context(verbose=3)
    for level in (WARNING, INFO, DEBUG):
        say(context, level, f"of level {level} %s {{}}")
    until(lambda: len(own(caplog.records)) == 4)
    made, *said = own(caplog.records)
    assert made.levelno == logging.INFO and made.getMessage().startswith("context of ")
    assert [(record.levelno, record.getMessage()) for record in said] == [
        (logging.WARNING, "of level 1 %s {}"), (logging.INFO, "of level 2 %s {}"),
        (logging.DEBUG, "of level 3 %s {}")]


@pytest.mark.parametrize("level, lines", [
    (logging.DEBUG, ["warning", "info", "debug"]), (logging.INFO, ["warning", "info"]),
    (logging.WARNING, ["warning"]), (logging.ERROR, []), (logging.INFO + 5, ["warning"])])
def test_the_logger_says_what_is_made(caplog, level, lines):
    caplog.set_level(level, "latchkey")
    context = latchkey.Context()
    caplog.clear()
    caplog.set_level(logging.DEBUG, "latchkey")
    for number, line in ((WARNING, "warning"), (INFO, "info"), (DEBUG, "debug")):
        say(context, number, line)
    _log.write_lines()
    assert [record.getMessage() for record in own(caplog.records)] == lines


def test_the_option_and_the_environment_win(caplog, monkeypatch):
    caplog.set_level(logging.DEBUG, "latchkey")
    latchkey.Context(verbose=1)
    assert not own(caplog.records)
    monkeypatch.setenv("LATCHKEY_VERBOSE", "0")
    latchkey.Context()
    assert not own(caplog.records)
    latchkey.Context(verbose=2)
    assert len(own(caplog.records)) == 1
    with pytest.raises(ValueError, match="verbose"):
        latchkey.Context(verbose=-1)
    monkeypatch.setenv("LATCHKEY_VERBOSE", "loud")
    with pytest.raises(ValueError, match="LATCHKEY_VERBOSE"):
        latchkey.Context()


def test_lines_of_many_threads(caplog):
    caplog.set_level(logging.INFO, "latchkey")
    context = latchkey.Context(verbose=2)
    caplog.clear()

    def work(number):
        for i in range(50):
            say(context, INFO, f"{number} {i}")
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: len(own(caplog.records)) == 200)
    for number in range(4):
        said = [record.getMessage() for record in own(caplog.records)]
        assert [line for line in said if line.startswith(f"{number} ")] == [
            f"{number} {i}" for i in range(50)], "each thread's in its order"


def test_too_many_lines_are_counted(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "latchkey")
    context = latchkey.Context(verbose=2)
    _log.write_lines()
    caplog.clear()
    # While the main thread waits in a call of the library, nobody takes lines.
    monkeypatch.setattr(_log, "write_lines", lambda: None)
    for i in range(1500):
        say(context, INFO, str(i))
    monkeypatch.undo()
    _log.write_lines()
    said = own(caplog.records)
    assert [record.getMessage() for record in said[:-1]] == [str(i) for i in range(1024)]
    assert said[-1].levelno == logging.WARNING
    assert said[-1].getMessage() == "476 lines were lost: they came faster than they were written"
    caplog.clear()
    say(context, INFO, "again")
    _log.write_lines()
    assert [record.getMessage() for record in own(caplog.records)] == ["again"]


def test_a_handler_may_use_the_library(relu, caplog):
    session = latchkey.Session(relu)
    context = latchkey.Context(verbose=1)
    ran = []

    class Handler(logging.Handler):
        def emit(self, record):
            ran.append(session.run({"x": random(2, 3)})["y"].shape)
            if len(ran) < 3:
                say(context, WARNING, "a line about a line")

    logger = logging.getLogger("latchkey")
    logger.addHandler(handler := Handler())
    try:
        say(context, WARNING, "a line")
        until(lambda: len(ran) == 3)
    finally:
        logger.removeHandler(handler)
    assert ran == 3 * [(2, 3)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_others_log(relu, caplog):
    """The library is entered by those who fork, with the interpreter's lock held."""
    session, context = latchkey.Session(relu), latchkey.Context(verbose=1)
    done = threading.Event()

    def work():
        while not done.is_set():
            say(context, WARNING, "a line")
            time.sleep(0.0005)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()

    def child():
        session.run({"x": random(2, 3)})
        own_context = latchkey.Context(verbose=2)
        say(own_context, WARNING, "of the child")
        _log.write_lines()
    try:
        for _ in range(5):
            in_child(child)
    finally:
        done.set()
        for thread in threads:
            thread.join()
        _log.write_lines()


def run(program, **environment):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=60, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done


def test_without_logging_lines_go_to_stderr():
    done = run("import sys, latchkey; latchkey.Context(verbose=2); "
               "print('logging' in sys.modules)")
    assert done.stdout == "False\n"
    assert done.stderr.startswith("latchkey: context of ") and done.stderr.count("\n") == 1
    done = run("import logging, latchkey; latchkey.Context()", LATCHKEY_VERBOSE="2")
    assert done.stderr.startswith("latchkey: context of "), "no handler was given"
    assert run("import logging, latchkey; latchkey.Context()").stderr == ""


def test_with_logging_they_are_records():
    done = run("import logging; logging.basicConfig(level=20, format='%(levelname)s|%(message)s')\n"
               "import latchkey; latchkey.Context()")
    assert done.stderr.startswith("INFO|context of ")


def test_a_thread_that_logs_when_the_program_ends():
    run("""
import logging, threading, latchkey
logging.basicConfig(level=logging.ERROR)
from latchkey._native import lib
context = latchkey.Context(verbose=3)
def work():
    while True:
        lib.lk_py_api().context_log(context._native(), 1, b"a line")
threading.Thread(target=work, daemon=True).start()
""")
