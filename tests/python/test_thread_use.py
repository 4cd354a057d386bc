"""How many threads a profile says are enough."""

import numpy
import pytest

import latchkey
from latchkey._explain import explain_both
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


def test_explain_has_it_from_a_profile(convnet):
    with latchkey.Session(convnet, threads=2) as session:
        feeds = {"x": numpy.zeros((1, 3, 8, 8), numpy.float32)}
        profile = profile_of(session, feeds, 10)
        assert [one.cause for one in session.explain(profile)] == ["idle_threads"]
        assert session.explain() == (), "no profile, no guess"
        assert profile.info()["threads"] == pytest.approx(2)
