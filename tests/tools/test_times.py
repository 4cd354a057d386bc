"""Tests that a busy machine could make fail are found by tools/check_times, and lines of its list
that are no longer true."""

import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check(folder, name, line, kept=""):
    """Its exit code and what it says of one line of a test."""
    test = folder / "tests" / name
    test.parent.mkdir(parents=True, exist_ok=True)
    test.write_text(f"\n{line}\n")
    listed = folder / "times.txt"
    listed.write_text(f"# path | part of the line | reason\n{kept}\n")
    done = subprocess.run([ROOT / "tools/check_times", folder / "tests", listed],
                          capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


SUSPECTS = [
    ("a_test.cc", "std::this_thread::sleep_for(std::chrono::milliseconds(20));"),
    ("a_test.cc", "std::this_thread::sleep_for(pause); // until it waits"),
    ("a_test.cc", "while (!done) usleep(1000);"),
    ("a.c", "nanosleep(&time, NULL);"),
    ("a.c", "sleep(1);"),
    ("a_test.cc", "EXPECT_LT(lk_now_ns() - begin, UINT64_C(5000000000));"),
    ("a_test.cc", "const auto end = std::chrono::steady_clock::now() + limit;"),
    ("a_test.cc", "const auto end = begin + std::chrono::seconds(10);"),
    ("a_test.cc", "constexpr std::chrono::seconds kMost(30);"),
    ("a_test.cc", "constexpr std::chrono::milliseconds kMost{30'000};"),
    ("a_test.cc", "clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);"),
    ("a_test.cc", "alarm(30);"),
    ("test_a.py", "time.sleep(0.3)"),
    ("test_a.py", "await asyncio.sleep(0.01)"),
    ("test_a.py", "threading.Timer(0.1, cancel.set).start()"),
    ("test_a.py", "signal.setitimer(signal.ITIMER_REAL, 0.1)"),
    ("test_a.py", "begin = time.monotonic()"),
    ("test_a.py", "span[:] = [begin, time.perf_counter()]"),
    ("test_a.py", "subprocess.run(words, timeout=30, check=True)"),
    ("test_a.py", "assert process.wait(5) == 0"),
    ("test_a.py", "thread.join(timeout=10)"),
    ("test_a.py", "await asyncio.wait_for(run, 0.5)"),
    ("test_a.py", "SOON = 5  # seconds"),
    ("test_a.py", "MOST_SECONDS = 2"),
    ("CMakeLists.txt", "set_tests_properties(a PROPERTIES TIMEOUT 20)"),
]
HARMLESS = [
    ("a_test.cc", "wait_until([&] { return done.load(); });"),
    ("a_test.cc", "alarm(60);"),
    ("a_test.cc", "constexpr std::chrono::seconds kMostTime(90);"),
    ("a_test.cc", "// no sleep_for(1) here"),
    ("a_test.cc", "std::this_thread::yield();"),
    ("a.c", " * sleep(1) is no way to wait */"),
    ("test_a.py", "until(lambda: is_running(session))"),
    ("test_a.py", "subprocess.run(words, timeout=60, check=True)"),
    ("test_a.py", "session.run(inputs, timeout=0)  # it has passed"),
    ("test_a.py", "await asyncio.sleep(0)"),
    ("test_a.py", "thread.join()"),
    ("test_a.py", "LONG = 300  # seconds"),
    ("test_a.py", "x = 1  # time.sleep(1)"),
    ("CMakeLists.txt", "set_tests_properties(a PROPERTIES TIMEOUT 600)"),
]


@pytest.fixture(scope="module")
def suspects():
    """What the check finds below a folder."""
    return runpy.run_path(str(ROOT / "tools/check_times"))["suspects"]


@pytest.mark.parametrize("name, line", SUSPECTS)
def test_times_are_found(tmp_path, suspects, name, line):
    (tmp_path / name).write_text(f"\n{line}\n")
    assert suspects(tmp_path) == [(f"{tmp_path.name}/{name}", 2, line)]


@pytest.mark.parametrize("name, line", HARMLESS)
def test_what_waits_for_events_passes(tmp_path, suspects, name, line):
    (tmp_path / name).write_text(f"{line}\n")
    assert suspects(tmp_path) == []


def test_what_is_listed_with_a_reason_passes(tmp_path):
    kept = "tests/*/a_test.cc | usleep(random | brings threads into any order"
    assert check(tmp_path, "base/a_test.cc", "usleep(random() % 100);", kept) == (0, "")
    code, said = check(tmp_path, "base/a_test.cc", "usleep(100);", kept)
    assert code == 1 and "tests/base/a_test.cc:2: usleep(100);" in said
    assert "Wait for an event" in said and "no longer there" in said


def test_a_line_that_is_no_longer_true_is_found(tmp_path):
    code, said = check(tmp_path, "base/a_test.cc", "run();",
                       "tests/base/a_test.cc | usleep( | lets others run")
    assert code == 1
    assert "no longer there, take it out of times.txt: tests/base/a_test.cc | usleep(" in said


def test_a_reason_is_needed(tmp_path):
    code, said = check(tmp_path, "base/a_test.cc", "run();", "tests/base/a_test.cc | usleep(")
    assert code == 1 and "has not the form" in said


def test_the_tests_of_this_repository_pass():
    assert subprocess.run([ROOT / "tools/check_times"], check=False).returncode == 0
