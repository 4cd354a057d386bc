"""latchkey bench as a load: failures, outputs that are checked, and callers that cannot be started.
"""

import json
import re
import resource
import subprocess

import pytest

from cli_harness import COMMAND, latchkey

# Every run finds all threads of operators asleep otherwise, and no test is about them.
FAST = ["--threads", "1"]
SHAPE = ["--shape", "x=2x4"]


def bench(*args, environment=None):
    return latchkey("bench", *args, *FAST, "--json", environment=environment).json()


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


# ---- callers -----------------------------------------------------------------------------------


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
