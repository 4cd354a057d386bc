"""latchkey bench as a load: a rate, failures, outputs that are checked, callers and signals."""

import csv
import json
import os
import re
import resource
import signal
import subprocess

import pytest

from wait import LONG, catches, until, with_more_time

from cli_harness import COMMAND, latchkey

# Every run finds all threads of operators asleep otherwise, and no test is about them.
FAST = ["--threads", "1"]
SHAPE = ["--shape", "x=2x4"]


def bench(*args, environment=None):
    return latchkey("bench", *args, *FAST, "--json", environment=environment).json()


# ---- time --------------------------------------------------------------------------------------


def test_latency_is_that_of_the_run(classifier, faulty):
    report = bench(classifier, *SHAPE, "-n", "10", "--callers", "2",
                   environment=faulty(sleep_ms=20))
    for one in report["passes"]:
        assert one["min_ms"] >= 20
        # Two callers that wait 20 ms for each request: 50 a second each at the most.
        assert one["requests_per_s"] <= 100 and one["seconds"] >= 0.1
        assert (one["late_ms"], one["unserved"]) == (None, 0)


def test_memory_and_processors(classifier):
    for one in bench(classifier, *SHAPE, "-n", "50")["passes"]:
        assert 0 < one["rss_before"] <= one["rss_peak"]
        assert 0 < one["rss_after"] <= one["rss_peak"]
        assert one["cpu_s"] >= 0
        assert one["processors"] == pytest.approx(one["cpu_s"] / one["seconds"])


def test_the_rate_is_what_is_asked_for(classifier, tmp_path):
    def send(seconds):
        report = bench(classifier, *SHAPE, "-n", "20", "--rate", "200", "--duration", seconds,
                       "--callers", "2", "--latencies", tmp_path / "a.csv")
        return report["passes"], round(200 * seconds)
    passes, count = with_more_time(
        send, lambda done: sum(one["unserved"] for one in done[0]) == 0, 0.5)
    # None begins before it is due, and all that were due are served.
    assert [one["requests"] for one in passes] == [20, count - 20]
    assert sum(one["seconds"] for one in passes) >= (count - 2) / 200
    for one in passes:
        assert one["requests_per_s"] <= 200.001
        assert one["late_ms"]["max"] >= one["late_ms"]["mean"] >= 0
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    # Two callers that are late may begin in another order than their requests were due.
    due = sorted(int(row["begin_ns"]) - int(row["late_ns"]) for row in rows)
    for number, one in enumerate(due):
        assert one - due[0] == pytest.approx(number * 5e6, abs=2)
    assert all(int(row["ns"]) > int(row["late_ns"]) for row in rows)
    passes = bench(classifier, *SHAPE, "--rate", "100", "-n", "15")["passes"]
    assert [one["requests"] for one in passes] == [15, 15]
    assert sum(one["seconds"] for one in passes) >= 28 / 100


def test_a_stall_delays_all_that_were_due(classifier, faulty):
    """Coordinated omission: a client that waits for its answer sees a stall once, however long it
    is."""
    args = [classifier, *SHAPE, "-n", "100"]
    stall = faulty(stall="10:600")
    closed = bench(*args, environment=stall)["passes"][0]
    assert closed["max_ms"] >= 600
    assert closed["p90_ms"] < 300
    first = bench(*args, "--rate", "100", environment=stall)["passes"][0]
    # 60 requests become due in 600 ms; the last of the first 20 of them waits 400.
    assert first["p90_ms"] >= 390
    assert first["p50_ms"] >= 80
    assert first["late_ms"]["max"] >= 580
    assert first["unserved"] == 0


def test_a_stall_at_the_end_of_a_pass_delays_the_next(classifier, faulty):
    second = bench(classifier, *SHAPE, "-n", "20", "--rate", "100",
                   environment=faulty(stall="20:600"))["passes"][1]
    assert second["late_ms"]["max"] >= 580


def test_what_a_rate_leaves_unserved_is_told(classifier, faulty):
    args = [classifier, *SHAPE, "--rate", "1000", "--duration", "0.5", "-n", "10"]
    slow = faulty(sleep_ms=50)
    passes = bench(*args, environment=slow)["passes"]
    served = sum(one["requests"] for one in passes)
    # At most twice the time, at 50 ms each.
    assert 1 <= served <= 21
    assert served + sum(one["unserved"] for one in passes) == 500
    out = latchkey("bench", *args, *FAST, environment=slow).ok().out
    assert ", asked for 1000 requests/s, " in out
    assert int(re.search(r"\nunserved +(\d+) +(\d+)\n", out)[2]) > 400


# ---- failures ----------------------------------------------------------------------------------


def test_failures_are_counted_and_the_others_go_on(classifier, faulty):
    args = ["bench", f"A={classifier}", f"B={classifier}", *SHAPE, *FAST, "--callers", "2", "-n",
            "100"]
    result = latchkey(*args, environment=faulty(fail=50))
    assert result.code == 1
    sentence = r"[AB]: failed to run: this is the turn to fail"
    assert re.fullmatch(
        rf"latchkey bench: failed to serve 4 requests, the first: {sentence}\n", result.err)
    assert re.search(rf"\n4 requests failed:\n(  \d x {sentence}\n)+", result.out)
    report = json.loads(latchkey(*args, "--json", environment=faulty(fail=50)).out)
    assert report["errors"]["count"] == 4 and report["mismatches"] is None
    assert sum(one["requests"] for one in report["passes"]) == 196
    # Those of the warm-up count too.
    warm = latchkey(*args, "--warmup", "100", "--json", environment=faulty(fail=50))
    assert json.loads(warm.out)["errors"]["count"] == 6


def test_failures_by_their_sentence(classifier):
    # Seven of eight shapes fit the constant; the seed begins with one that does.
    args = [classifier, "--shape", "x=2x{4,4,4,4,4,4,4,5}", *FAST, "-n", "100", "--seed", "5"]
    result = latchkey("bench", *args, "--json")
    assert result.code == 1
    report = json.loads(result.out)
    served = sum(one["requests"] for one in report["passes"])
    assert 0 < report["errors"]["count"] == 200 - served
    assert [one["count"] for one in report["errors"]["messages"]] == [report["errors"]["count"]]
    assert report["errors"]["messages"][0]["message"].startswith("failed to run")


def test_a_model_whose_first_request_fails_ends_it(classifier, faulty):
    latchkey("bench", classifier, "--shape", "x=2x5", "--duration", "60").fails(
        1, "latchkey bench: failed to", "x")
    latchkey("bench", classifier, "--shape", "x=2x5", "--check").fails(1, "bench: failed to")
    latchkey("bench", f"A={classifier}", f"B={classifier}", *SHAPE, "--duration", "60",
             environment=faulty(fail=1)).fails(1, ": failed to run: this is")
    latchkey("bench", classifier, *SHAPE, "--warmup", "60s", environment=faulty(fail=1)).fails(
        1, "latchkey bench: failed to run: this is")


# ---- outputs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["off", "thread", "shared"])
@pytest.mark.parametrize("clones", [[], ["--clones"]])
def test_outputs_are_right_in_every_mode(classifier, cache, clones):
    report = bench(f"A={classifier}", f"B={classifier}", "--shape", "x={1..8}x4", *clones,
                   "--callers", "4", "-n", "200", "--cache", cache, "--check", "--rtol", "1e-5")
    assert report["mismatches"] == {"count": 0, "messages": []}
    assert report["errors"]["count"] == 0
    assert [one["requests"] for one in report["passes"]] == [200, 200]


def test_the_cache_begins_empty_with_a_check(classifier):
    report = bench(classifier, "--shape", "x={1..4}x4", "-n", "100", "--check")
    assert report["passes"][0]["kinds"]["run"]["builds"] == 4
    assert report["options"]["check"] is True


def test_another_output_than_alone_is_a_mismatch(classifier, faulty):
    args = ["bench", f"A={classifier}", f"B={classifier}", *SHAPE, *FAST, "--callers", "2", "-n",
            "50", "--check"]
    # 50 runs before anything is measured, of which none is checked; 100 behind.
    result = latchkey(*args, environment=faulty(alter=51))
    assert result.code == 1
    assert re.match(r"latchkey bench: failed to repeat the outputs of 2 requests, the first: "
                    r"[AB]: failed to match 'y'", result.err)
    assert "\n2 requests had another output than alone:\n" in result.out
    assert latchkey(*args, "--atol", "2", environment=faulty(alter=51)).code == 0
    args.remove("--check")
    assert latchkey(*args, environment=faulty(alter=51)).code == 0


def test_requests_that_are_checked_have_their_own_values(classifier, tmp_path, faulty):
    def values(*more):
        log = tmp_path / f"log{len(more)}"
        bench(classifier, *SHAPE, "-n", "20", *more, environment=faulty(log=log))
        return {line.split()[1] for line in log.read_text().splitlines()}
    assert len(values("--check")) == 20
    assert len(values()) == 1


# ---- callers, and SIGINT -----------------------------------------------------------------------


def test_callers_that_cannot_be_started(classifier):
    def little_memory():
        # Room for the library and for some of a thousand stacks of 8 MiB.
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))
    done = subprocess.run([COMMAND, "bench", str(classifier), *SHAPE, *FAST, "--callers", "1000"],
                          preexec_fn=little_memory, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 1 and done.stdout == ""
    sentence = r"latchkey bench: failed to start caller \d+ of 1000: .*\n"
    assert re.fullmatch(sentence, done.stderr), done.stderr


@pytest.mark.parametrize("more", [[], ["--rate", "0.01"], ["--check"]])
def test_an_interrupt_ends_callers_and_sleepers(classifier, interrupt, more):
    code, out, err = interrupt(["bench", classifier, *SHAPE, *FAST, "--callers", "2", "-n", "3",
                                "--duration", "5000", *more], 4 if more == ["--check"] else 1)
    assert (code, err) == (0, "")
    assert "\ninterrupted: only a part was measured\n" in out


def test_the_second_interrupt_kills(classifier, faulty, tmp_path):
    """The first one waits for the request of another thread, which does not end."""
    log = tmp_path / "log"
    environment = {**os.environ, **faulty(sleep_ms=1000000, log=log)}
    args = [COMMAND, "bench", str(classifier), *SHAPE, *FAST, "--callers", "2", "--duration",
            "5000"]
    with subprocess.Popen(args, env=environment, stdout=subprocess.PIPE, text=True) as process:
        until(lambda: log.exists() and log.read_text().count("\n") == 2)
        process.send_signal(signal.SIGINT)
        until(lambda: not catches(process.pid, signal.SIGINT))
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == -signal.SIGINT
        assert process.stdout.read() == ""
