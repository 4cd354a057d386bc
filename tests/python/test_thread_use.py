"""How many threads a profile says are enough."""

import itertools
import os

import numpy
import pytest

import latchkey
from latchkey._explain import explain_both
from latchkey._load import Load
from latchkey._thread_use import Step, ThreadUse, thread_use


def use(threads, *steps, between=0.0):
    steps = tuple(Step("Conv", f"n{i}", f"y{i}", ns, busy) for i, (ns, busy) in enumerate(steps))
    return ThreadUse(threads, sum(step.ns for step in steps) + between, steps)


def profile_of(session, feeds, runs):
    profile = latchkey.Profile()
    for _ in range(runs):
        session.run(feeds, profile=profile)
    return profile


def small(convnet, threads, runs):
    with latchkey.Session(convnet, threads=threads) as session:
        feeds = {"x": numpy.zeros((1, 3, 8, 8), numpy.float32)}
        return thread_use(profile_of(session, feeds, runs))


STATISTICS = {"context": {"memory": {"refusals": 0}}, "process": {"waits": 0}}


@pytest.mark.parametrize("threads, steps, between, predicted, enough", [
    # (ns, busy threads) of each step; a run with 1, 2, ... threads
    (2, [(100, 1)], 0, [100], 1),
    (2, [(100, 2)], 0, [200], 2),
    (4, [(100, 4), (100, 1)], 0, [500, 300, 200 + 100 / 3], 4),
    (4, [(100, 2), (100, 1)], 50, [350, 250, 250], 2),
    (8, [(10, 8), (990, 2)], 0, [2060, 1030, 1000 + 10 * 5 / 3], 2),
])
def test_what_fewer_threads_would_take(threads, steps, between, predicted, enough):
    found = use(threads, *steps, between=between)
    assert [found.predicted_ns(n + 1) for n in range(len(predicted))] == pytest.approx(predicted)
    assert found.predicted_ns(threads) == pytest.approx(found.run_ns)
    assert found.enough() == enough


def test_advice_says_what_is_enough():
    [finding] = explain_both(STATISTICS, use(4, (3000, 2), (1000, 1)))
    assert finding.cause == "idle_threads" and finding.lost_ns is None
    assert finding.text == ("1.8 of 4 threads computed in the mean: by the profile, 2 threads "
                            "would take at most 1 % longer")
    assert finding.details == ("Conv 'n0': 2.0 of 4 threads, 3 us a run",
                               "Conv 'n1': 1.0 of 4 threads, 1 us a run")
    assert finding.advice == "take threads=2: it leaves 2 processors to other runs"


def test_nothing_is_said_where_all_are_needed():
    assert explain_both(STATISTICS, use(2, (1000, 1.9), (100, 1))) == ()
    assert explain_both(STATISTICS, None) == ()


def test_nothing_is_said_of_few_runs_or_one_thread(convnet):
    assert small(convnet, threads=1, runs=20) is None
    assert small(convnet, threads=2, runs=9) is None


def test_a_small_model_needs_one(convnet):
    found = small(convnet, threads=2, runs=10)
    assert found.threads == 2 and found.enough() == 1
    assert found.run_ns >= sum(step.ns for step in found.steps) > 0
    assert all(step.busy == pytest.approx(1) for step in found.steps)


def test_others_that_compute_are_no_reason_for_fewer_threads():
    few = use(4, (3000, 2), (1000, 1))
    [finding] = explain_both(STATISTICS, few._replace(others=1.25))
    assert finding.cause == "others_compute" and finding.lost_ns is None
    assert finding.text.startswith("others computed on 1.2 processors meanwhile")
    assert "threads=" not in finding.advice
    [finding] = explain_both(STATISTICS, few._replace(others=0.25))
    assert finding.cause == "idle_threads"
    assert explain_both(STATISTICS, use(2, (1000, 1.9))._replace(others=2.0)) == ()


SECOND = os.sysconf("SC_CLK_TCK")


class Machine:
    """Counts as /proc/stat does, on a clock that the test moves."""

    def __init__(self, monkeypatch):
        self.seconds = self.busy = self.stolen = self.own = 0.0
        monkeypatch.setattr("time.monotonic", lambda: self.seconds)
        monkeypatch.setattr("time.process_time", lambda: self.own)
        self.load = Load(lambda: f"cpu {self.busy * SECOND:.0f} 0 0 0 0 0 0 "
                                 f"{self.stolen * SECOND:.0f}\ncpu0 1 2 3\n")

    def go(self, seconds, others, own=0.0, stolen=0.0):
        self.seconds += seconds
        self.own += own * seconds
        self.busy += (own + others) * seconds
        self.stolen += stolen * seconds


def test_load_is_what_others_did_while_runs_were_on(monkeypatch):
    machine = Machine(monkeypatch)
    assert machine.load.others() is None
    for _ in range(3):
        machine.load.begin()
        machine.go(1.0, others=0.5, own=1.5, stolen=0.25)
        machine.load.end()
        machine.go(10.0, others=4.0)  # between runs, which nobody asks for
    assert machine.load.others() == pytest.approx(0.5)
    assert machine.load.stolen() == pytest.approx(0.25)


def test_load_of_short_runs_is_that_of_all_of_them(monkeypatch):
    """Each is shorter than the time between two looks."""
    machine = Machine(monkeypatch)
    for _ in range(1000):
        machine.load.begin()
        machine.go(0.002, others=1.0, own=2.0)
        machine.load.end()
        machine.go(0.001, others=1.0)
    assert machine.load.others() == pytest.approx(1.0, abs=0.05)


def test_a_run_that_is_alone_and_short_says_nothing(monkeypatch):
    machine = Machine(monkeypatch)
    machine.load.begin()
    machine.go(0.01, others=1.0)
    machine.load.end()
    assert machine.load.others() is None


@pytest.mark.parametrize("others, cause", [(0, "idle_threads"), (1, "others_compute")])
def test_explain_looks_at_the_machine(convnet, monkeypatch, others, cause):
    """Also where the runs were too short for it: then it looks when it is asked."""
    looks = itertools.count()
    monkeypatch.setattr("latchkey._load._read", lambda: f"cpu {next(looks) * others * 10**6} 0 0 0")
    with latchkey.Session(convnet, threads=2) as session:
        feeds = {"x": numpy.zeros((1, 3, 8, 8), numpy.float32)}
        profile = profile_of(session, feeds, 10)
        assert [one.cause for one in session.explain(profile)] == [cause]
        profile.clear()
        assert profile._others() is None


def test_explain_has_it_from_a_profile(convnet, monkeypatch):
    monkeypatch.setattr("latchkey._load._read", lambda: "cpu 0 0 0 0")
    with latchkey.Session(convnet, threads=2) as session:
        feeds = {"x": numpy.zeros((1, 3, 8, 8), numpy.float32)}
        profile = profile_of(session, feeds, 10)
        assert [one.cause for one in session.explain(profile)] == ["idle_threads"]
        assert session.explain() == (), "no profile, no guess"
        assert profile.info()["threads"] == pytest.approx(2)
