"""latchkey load: what is sent, what is counted, and that the numbers are those of what happened."""

import json
import os
import pty
import re
import resource
import signal
import subprocess
import time

import numpy
import pytest
from onnx import TensorProto, helper

from wait import LONG, catches, until, with_more_time

from cli_harness import COMMAND, latchkey, read_terminal, save_model

# Every run finds all threads of operators asleep otherwise, and no test is about them.
FAST = ["--op-threads", "1", "--warmup", "0"]
SHAPE = ["--shape", "x=2x4"]
LATENCIES = ["min", "p50", "p90", "p99", "p99_9", "max"]


@pytest.fixture
def adder(tmp_path):
    """x + x, of any shape, and an input that only it has."""
    return save_model(tmp_path / "adder.onnx",
                      [helper.make_node("Add", ["x", "bias"], ["y"], name="add")],
                      [("x", TensorProto.FLOAT, ["rows", "n"]), ("bias", TensorProto.FLOAT, ["n"])],
                      [("y", TensorProto.FLOAT, ["rows", "n"])])


def load(*args, environment=None):
    return latchkey("load", *args, "--json", environment=environment).json()


def expect_totals(one):
    latency = [one["latency_ms"][key] for key in LATENCIES]
    assert 0 < latency[0] and latency == sorted(latency), latency
    assert latency[0] <= one["latency_ms"]["mean"] <= latency[-1]
    assert one["requests_per_s"] > 0


def expect_run_plans(report):
    """Every request found its run plan, built it, or waited while another thread built it."""
    total = report["total"]
    assert total["run_plan_builds"] == report["cache"]["kinds"]["run"]["builds"]
    assert (total["run_plan_hits"] + total["run_plan_builds"]
            + report["cache"]["kinds"]["run"]["waits"]) == total["requests"]


def test_every_request_is_counted_once(classifier, adder):
    report = load(classifier, f"B={adder}", *SHAPE, "--shape", "bias=4", *FAST, "--threads", "3",
                  "--requests", "500", "--cache", "shared")
    assert [report[k] for k in ("threads", "op_threads", "pool", "seed")] == [3, 1, 32, 1]
    assert (report["clones"], report["rate"], report["interrupted"]) == (False, None, False)
    assert [m["name"] for m in report["models"]] == ["classifier", "B"]
    assert [m["weight"] for m in report["models"]] == [1, 1]
    for one in [*report["models"], report["total"]]:
        expect_totals(one)
        assert one["late_ms"] is None
    for one in report["models"]:
        assert one["run_plan_builds"] == 1
    expect_run_plans(report)
    assert report["total"]["requests"] == 500 == sum(m["requests"] for m in report["models"])
    assert sum(t["requests"] for t in report["per_thread"]) == 500
    assert len(report["per_thread"]) == 3
    assert max(t["seconds"] for t in report["per_thread"]) == pytest.approx(report["seconds"])
    per_thread = sum(t["requests"] / t["seconds"] for t in report["per_thread"] if t["requests"])
    assert report["total"]["requests_per_s"] == pytest.approx(per_thread)
    assert report["total"]["requests_per_s"] == pytest.approx(
        sum(m["requests_per_s"] for m in report["models"]))
    assert report["errors"] == {"count": 0, "messages": []}
    assert report["mismatches"] is None and report["unserved"] == 0


def test_cache_memory_and_processors(classifier):
    args = [classifier, "--shape", "x={1..4}x4", *FAST, "--requests", "200"]
    report = load(*args)
    cache = report["cache"]
    for what in ("hits", "misses", "builds", "waits", "evictions", "entries", "bytes"):
        assert cache[what] == sum(kind[what] for kind in cache["kinds"].values())
    # Without a warm-up the cache starts empty: four shapes are four run plans.
    assert cache["kinds"]["run"]["builds"] == report["total"]["run_plan_builds"] == 4
    assert report["total"]["run_plan_hits"] == 196
    assert report["models"][0]["shapes"] == 4
    assert cache["build_ms"] > 0
    assert 0 < report["rss_before"] <= report["rss_peak"]
    assert 0 < report["rss_after"] <= report["rss_peak"]
    assert report["cpu_s"] >= 0
    assert report["processors"] == pytest.approx(report["cpu_s"] / report["seconds"])
    # --check runs the same before, but in another context: this cache starts empty all the same.
    checked = load(*args, "--check")
    assert checked["cache"]["kinds"]["run"]["builds"] == 4
    assert checked["mismatches"] == {"count": 0, "messages": []}
    # A warm-up is not counted, and what it built is found.
    warm = with_more_time(
        lambda seconds: load(*args, "--pool", "4", "--warmup", seconds, "--seed", "3"),
        lambda report: report["cache"]["builds"] == 0, 0.3)
    assert warm["total"]["requests"] == 200 == warm["total"]["run_plan_hits"]


def test_the_mix(classifier):
    models = [f"{name}={classifier}" for name in ("A", "B", "C", "D")]
    report = load(*models, *SHAPE, *FAST, "--threads", "2", "--requests", "4000",
                  "--mix", "B:0,A:6,C:2")
    share = {m["name"]: m["requests"] / 4000 for m in report["models"]}
    assert share["B"] == 0
    assert report["models"][1]["latency_ms"] is None
    # Standard deviations are under 0.008.
    for name, expected in (("A", 6 / 9), ("C", 2 / 9), ("D", 1 / 9)):
        assert share[name] == pytest.approx(expected, abs=0.05)


def test_a_model_that_is_never_asked_needs_no_shape(classifier, adder):
    report = load(classifier, adder, *SHAPE, *FAST, "-n", "5", "--mix", "adder:0")
    assert [m["requests"] for m in report["models"]] == [5, 0]
    latchkey("load", classifier, adder, *SHAPE, *FAST, "-n", "5").fails(
        1, "adder: ", "'bias' ([n] f32)", "--shape 'adder/bias=1'")


def test_a_seed_repeats_the_load(classifier):
    def requests(seed):
        report = load(f"A={classifier}", f"B={classifier}", "--shape", "x={1..1000}x4", *FAST, "-n",
                      "300", "--seed", seed, "--pool", "1000")
        return [(m["requests"], m["shapes"], m["run_plan_builds"]) for m in report["models"]]
    assert requests(3) == requests(3)
    assert requests(3) != requests(4)


def test_requests_of_a_pool_differ_and_are_all_sent(tmp_path, classifier, faulty):
    def sent(name, *more):
        log = tmp_path / name
        load(classifier, "--shape", "x={2,3}x4", *FAST, "--pool", "6", "-n", "200", *more,
             environment=faulty(log=log))
        return [tuple(map(float, line.split())) for line in log.read_text().splitlines()]
    first = sent("first")
    assert len(first) == 200
    assert len({value for _, value in first}) == 6 and {rows for rows, _ in first} == {2, 3}
    assert all(0 <= value < 1 for _, value in first)
    # One thread draws the same ones in the same order; several draw from the same pool.
    assert sent("second") == first
    assert sent("other", "--seed", "2") != first
    assert set(sent("threads", "--threads", "3")) == set(first)


def test_shapes_and_files_of_one_model_and_of_all(tmp_path, classifier, adder):
    numpy.save(tmp_path / "bias.npy", numpy.ones(7, numpy.float32))
    models = [f"A={classifier}", f"B={adder}"]
    args = [*FAST, "-n", "50", "--check"]
    report = load(*models, "--shape", "x={1..8}x4", "--shape", "B/x=3x7", "-i",
                  f"B/bias={tmp_path}/bias.npy", *args)
    a, b = report["models"]
    assert a["shapes"] > 1 and b["shapes"] == 1
    # {n} is one choice, whichever model it is explained for.
    report = load(*models, "--shape", "A/x={n:1..8}x4", "--shape", "B/x=2x{n}",
                  "--shape", "bias={n}", *args)
    assert report["models"][1]["shapes"] > 1
    # A shape for all does not stand against a file for one.
    load(*models, "--shape", "x=2x7", "--shape", "A/x=2x4", "--shape", "bias=4", "-i",
         f"B/bias={tmp_path}/bias.npy", *args)
    for name in ("z", "A/z", "C/x", "A/bias"):
        latchkey("load", *models, *SHAPE, "--shape", "bias=4", "--shape", f"{name}=2", *args).fails(
            1, f"no model has an input '{name}'")
    latchkey("load", *models, *SHAPE, "--shape", "bias=4", "-i", f"z={tmp_path}/bias.npy").fails(
        1, "--input", "'z'")
    latchkey("load", *models, *SHAPE, "--shape", "bias=7", "-i", f"bias={tmp_path}/bias.npy").fails(
        1, "'bias'", "from a file")


@pytest.mark.parametrize("cache", ["off", "thread", "shared"])
@pytest.mark.parametrize("clones", [[], ["--clones"]])
def test_outputs_are_right_in_every_mode(classifier, adder, cache, clones):
    report = load(classifier, adder, "--shape", "x={1..8}x4", "--shape", "bias=4", *FAST, *clones,
                  "--threads", "4", "-n", "400", "--cache", cache, "--check", "--rtol", "1e-5")
    assert report["cache_mode"] == cache and report["clones"] == bool(clones)
    assert report["mismatches"]["count"] == 0 and report["total"]["requests"] == 400
    if cache != "off":
        expect_run_plans(report)


def test_clones_are_sessions_of_their_own(classifier):
    args = [classifier, *SHAPE, *FAST, "--threads", "3", "-n", "30", "--cache", "shared"]
    shared = load(*args)["cache"]["entries"]
    # Each session that had a run has a run plan, and plans of its own.
    with_more_time(lambda seconds: load(*args, "--clones", "--warmup", seconds)["cache"]["entries"],
                   lambda entries: entries > shared, 0.5)


# ---- time --------------------------------------------------------------------------------------


def test_seconds(classifier):
    begin = time.monotonic()
    report = load(classifier, *SHAPE, *FAST, "--seconds", "0.4", "--threads", "2")
    elapsed = time.monotonic() - begin
    assert 0.399 <= report["seconds"] <= elapsed
    # The clock ends every thread, also one that had no processor for a while.
    assert all(t["seconds"] > 0 for t in report["per_thread"])
    assert load(classifier, *SHAPE, "--op-threads", "1", "--warmup", "0.3", "--seconds",
                ".2")["warmup_s"] == 0.3


def test_latency_is_that_of_the_run(classifier, faulty):
    report = load(classifier, *SHAPE, *FAST, "-n", "20", "--threads", "2",
                  environment=faulty(sleep_ms=20))
    assert report["total"]["latency_ms"]["min"] >= 20
    # Two threads that wait 20 ms for each request: 50 a second each at the most.
    assert report["total"]["requests_per_s"] <= 100
    assert report["seconds"] >= 0.2
    assert all(t["seconds"] >= t["requests"] * 0.02 for t in report["per_thread"])


def test_a_request_that_has_begun_is_counted(classifier, faulty):
    def request(seconds):
        return load(classifier, *SHAPE, *FAST, "--seconds", seconds,
                    environment=faulty(sleep_ms=int(4000 * seconds)))
    report = with_more_time(request, lambda report: report["total"]["requests"] > 0, 0.1)
    assert report["total"]["requests"] == 1
    assert report["seconds"] >= 0.4
    assert report["total"]["requests_per_s"] == pytest.approx(1 / report["seconds"])


def test_the_rate_is_what_is_asked_for(classifier):
    def send(seconds):
        report = load(classifier, *SHAPE, *FAST, "--rate", "200", "--seconds", seconds, "--threads",
                      "2")
        return report, round(200 * seconds)
    report, count = with_more_time(send, lambda done: done[0]["unserved"] == 0, 0.5)
    assert report["rate"] == 200
    # None begins before it is due, and all that were due are served.
    assert report["total"]["requests"] == count
    assert report["seconds"] >= (count - 1) / 200
    assert report["total"]["requests_per_s"] <= 200.001
    assert report["total"]["late_ms"]["max"] >= report["total"]["late_ms"]["mean"] >= 0
    expect_totals(report["total"])
    report = load(classifier, *SHAPE, *FAST, "--rate", "100", "-n", "30")
    assert report["total"]["requests"] == 30
    assert report["seconds"] >= 29 / 100


def test_a_stall_delays_all_that_were_due(classifier, faulty):
    """Coordinated omission: a client that waits for its answer sees a stall once, however long it
    is."""
    args = [classifier, *SHAPE, *FAST, "-n", "100"]
    stall = faulty(stall="10:600")
    closed = load(*args, environment=stall)["total"]["latency_ms"]
    assert closed["max"] >= 600
    assert closed["p90"] < 300
    report = load(*args, "--rate", "100", environment=stall)
    # 60 requests become due in 600 ms; the last of the first 20 of them waits 400.
    assert report["total"]["latency_ms"]["p90"] >= 390
    assert report["total"]["latency_ms"]["p50"] >= 80
    assert report["total"]["late_ms"]["max"] >= 580
    assert report["unserved"] == 0


def test_what_a_rate_leaves_unserved_is_told(classifier, faulty):
    args = [classifier, *SHAPE, *FAST, "--rate", "1000", "--seconds", "0.5"]
    slow = faulty(sleep_ms=50)
    report = load(*args, environment=slow)
    # At most twice the time, at 50 ms each.
    assert 1 <= report["total"]["requests"] <= 21
    assert report["total"]["requests"] + report["unserved"] == 500
    assert "requests were due and never begun" in latchkey("load", *args, environment=slow).ok().out


# ---- failures ----------------------------------------------------------------------------------


def test_failures_are_counted_and_the_load_goes_on(classifier, faulty):
    args = [f"A={classifier}", *SHAPE, *FAST, "--threads", "2", "-n", "100"]
    result = latchkey("load", *args, environment=faulty(fail=25))
    assert result.code == 1
    assert ("latchkey load: failed to serve 4 requests, the first: A: failed to run: this is"
            in result.err)
    assert len(result.err.splitlines()) == 1
    assert "4 requests failed:\n  4 x A: failed to run: this is the turn to fail" in result.out
    assert "96 requests in" in result.out


def test_failures_by_their_sentence(classifier):
    # Seven of eight shapes fit the constant; the seed begins with one that does.
    args = [classifier, "--shape", "x=2x{4,4,4,4,4,4,4,5}", *FAST, "-n", "100", "--seed", "5"]
    result = latchkey("load", *args, "--json")
    assert result.code == 1
    report = json.loads(result.out)
    assert report["errors"]["count"] + report["total"]["requests"] == 100
    assert [m["count"] for m in report["errors"]["messages"]] == [report["errors"]["count"]]
    assert report["errors"]["messages"][0]["message"].startswith("classifier: failed to")


def test_a_model_whose_first_request_fails_ends_the_load(classifier, faulty):
    latchkey("load", classifier, "--shape", "x=2x5", "--seconds", "60").fails(
        1, "latchkey load: classifier: failed to", "x")
    latchkey("load", classifier, "--shape", "x=2x5", "--check").fails(1, "classifier: failed to")
    latchkey("load", classifier, *SHAPE, "--seconds", "60", environment=faulty(fail=1)).fails(
        1, "classifier: failed to run: this is")


def test_another_output_than_alone_is_a_mismatch(classifier, faulty):
    args = [f"A={classifier}", *SHAPE, *FAST, "--pool", "3", "--threads", "2", "-n", "100",
            "--check"]
    # Three runs before the clock starts, 100 behind: of 103, the 50th and the 100th.
    result = latchkey("load", *args, environment=faulty(alter=50))
    assert result.code == 1
    assert ("failed to repeat the outputs of 2 requests, the first: A: failed to match 'y'"
            in result.err)
    assert "2 requests had another output than alone:" in result.out
    assert "100 requests in" in result.out
    assert latchkey("load", *args, "--atol", "2", environment=faulty(alter=50)).code == 0
    args.remove("--check")
    assert latchkey("load", *args, environment=faulty(alter=50)).code == 0


def test_threads_that_cannot_be_started(classifier):
    def little_memory():
        # Room for the library and for some of a thousand stacks of 8 MiB.
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))
    done = subprocess.run([COMMAND, "load", str(classifier), *SHAPE, *FAST, "--threads", "1000"],
                          preexec_fn=little_memory, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 1 and done.stdout == ""
    sentence = r"latchkey load: failed to start thread \d+ of 1000: .*\n"
    assert re.fullmatch(sentence, done.stderr), done.stderr


# ---- signals and terminals -----------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--rate", "0.01"], ["--warmup", "500"]])
def test_an_interrupt_ends_early_with_the_report(classifier, interrupt, more):
    code, out, err = interrupt(["load", classifier, *SHAPE, *FAST, "--threads", "2", "--seconds",
                                "5000", *more], 1)
    assert (code, err) == (0, "")
    assert "(interrupted)" in out and "run plans: " in out
    assert ("\n0 requests in" in out) == ("--warmup" in more)


def test_the_second_interrupt_kills(classifier, faulty, tmp_path):
    """The first one waits for the request that has begun, which does not end."""
    log = tmp_path / "log"
    environment = {**os.environ, **faulty(sleep_ms=1000000, log=log)}
    args = [COMMAND, "load", str(classifier), *SHAPE, *FAST, "--seconds", "5000"]
    with subprocess.Popen(args, env=environment, stdout=subprocess.PIPE, text=True) as process:
        until(lambda: catches(process.pid, signal.SIGINT) and log.exists())
        process.send_signal(signal.SIGINT)
        until(lambda: not catches(process.pid, signal.SIGINT))
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == -signal.SIGINT
        assert process.stdout.read() == ""


def test_a_line_on_a_terminal_only(classifier):
    primary, secondary = pty.openpty()
    args = [COMMAND, "load", str(classifier), *SHAPE, *FAST, "--seconds", "5000"]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=secondary, text=True) as process:
        os.close(secondary)
        seen = b""
        while not re.search(rb"load \d+\.\d s  \d+\.\d requests/s  RSS \d+\.\d MiB", seen):
            seen += os.read(primary, 4096)
        process.send_signal(signal.SIGINT)
        seen += read_terminal(primary)
        out = process.stdout.read()
    os.close(primary)
    assert process.returncode == 0 and "processors busy" in out
    assert seen.endswith(b"\r\x1b[K"), "the line is taken away at the end"
    assert latchkey("load", classifier, *SHAPE, *FAST, "--seconds", "1.2").ok().err == ""


# ---- the command line ----------------------------------------------------------------------------


def test_for_people(classifier, adder):
    out = latchkey("load", f"first={classifier}", adder, *SHAPE, "--shape", "bias=4", *FAST,
                   "-n", "50", "--threads", "2", "--clones", "--rate", "1000").ok().out
    for word in ("2 models cloned for each thread, 2 threads, 1 thread per operator",
                 "50 requests in", "asked for 1000 requests/s", "p99.9", "waited", "first",
                 "adder", "total", "waits", "build ms", "RSS: ", "at most", "processors busy: "):
        assert word in out, out


def test_usage_errors(tmp_path, classifier):
    latchkey("load").fails(2, "MODEL is missing")
    latchkey("load", "a.onnx", "sub/a.onnx").fails(
        2, "'a.onnx' and 'sub/a.onnx' are both called 'a'")
    latchkey("load", "a=x.onnx", "sub/a.onnx").fails(2, "'x.onnx' and 'sub/a.onnx'", "'a'")
    latchkey("load", "a=").fails(2, "'a='", "NAME=FILE.onnx")
    latchkey("load", "a.onnx", "--seconds", "1", "--requests", "1").fails(
        2, "--seconds and --requests")
    mixed = ["load", "a.onnx", "b.onnx", "--mix"]
    latchkey(*mixed, "c:1").fails(2, "--mix", "no model is called 'c'")
    latchkey(*mixed, "a:1,a:2").fails(2, "--mix", "'a' is given twice")
    latchkey(*mixed, "a:0,b:0").fails(2, "--mix", "more than 0")
    for bad in ("a", "a:", "a:x", "a:-1", "a:1.5", ":1", "", "a:1,", "a:1000001"):
        latchkey(*mixed, bad).fails(2, "--mix", "NAME:WEIGHT")
    for option, value in (("--threads", "0"), ("--threads", "1025"), ("--op-threads", "0"),
                          ("--seconds", "0"), ("--seconds", "x"), ("--seconds", "nan"),
                          ("--warmup", "-1"), ("--requests", "0"), ("--rate", "0"),
                          ("--rate", "1e10"),
                          ("--pool", "0"), ("--seed", "-1"), ("--rtol", "-1"), ("--atol", "inf"),
                          ("--cache", "big")):
        latchkey("load", "a.onnx", option, value).fails(2, option, f"'{value}'")
    latchkey("load", "a.onnx", "--shape", "x=1xy").fails(2, "'x=1xy'")
    latchkey("load", classifier, tmp_path / "no.onnx", *SHAPE).fails(1, "no.onnx")


def test_a_file_with_an_equals_sign_in_its_folder(tmp_path, classifier):
    folder = tmp_path / "a=b"
    folder.mkdir()
    (folder / "m.onnx").write_bytes(classifier.read_bytes())
    assert load(folder / "m.onnx", *SHAPE, *FAST, "-n", "1")["models"][0]["name"] == "m"
