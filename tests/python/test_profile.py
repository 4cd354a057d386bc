"""Profiles: what the operators of some runs took, beside what the machine can do."""

import json
import threading

import pytest
from close import assert_close
from conftest import random

import latchkey


@pytest.fixture(scope="module")
def peak():
    return latchkey.machine_peak(threads=1)


def test_a_profile_lists_what_ran(convnet):
    session = latchkey.Session(convnet)
    profile = latchkey.Profile()
    assert len(profile) == 0 and profile and profile.entries() == []
    x = random(1, 3, 16, 16)
    expected = session.run({"x": x})
    for _ in range(3):
        result = session.run({"x": x}, profile=profile)
    for name, value in expected.items():
        assert_close(result[name], value)
    entries = profile.entries()
    assert len(entries) == len(profile) == len(list(profile))
    assert {one["executions"] for one in entries} == {3}
    assert {"Conv", "Softmax"} <= {one["operator"] for one in entries}
    convolutions = [one for one in entries if one["kind"] == "convolution"]
    assert sorted(one["output"] for one in convolutions) == ["features", "r1"]
    for one in entries:
        assert 0 < one["min_ms"] <= one["ms"] <= one["total_ms"]
        assert 0 <= one["waiting"] <= 1 and one["gbytes"] > 0
        on_tiles = one["kind"] in ("convolution", "matmul")
        assert (" in blocks of " in one["tiles"]) == on_tiles
    assert all(one["gflops"] > 0 for one in convolutions)
    assert sum(one["share"] for one in entries) == pytest.approx(1)
    assert entries == sorted(entries, key=lambda one: -one["total_ms"])
    info = profile.info()
    assert info["runs"] == 3 and info["binds"] == 0
    assert info["execute_ms"] >= sum(one["total_ms"] for one in entries)
    session.run({"x": x})
    assert profile.info() == info


def test_a_profile_as_table_and_json(convnet, peak):
    session = latchkey.Session(convnet)
    profile = latchkey.Profile()
    profile.peak = peak
    session.run({"x": random(1, 3, 16, 16)}, profile=profile)
    lines = str(profile).splitlines()
    assert lines[0].startswith("profile of 1 run: ")
    assert f"{peak.gflops:.1f} GFLOP/s" in lines[1]
    assert lines[2].split()[:4] == ["node", "operator", "step", "tiles"]
    assert len(lines) == 3 + len(profile)
    report = json.loads(profile.to_json(indent=2))
    assert report["runs"] == 1 and report["binds"] == 1 and report["bind_ms"] > 0
    assert report["peak"] == peak._asdict()
    assert report["steps"] == profile.entries()


def test_the_peak_is_that_of_the_threads_of_the_runs(relu):
    profile = latchkey.Profile()
    latchkey.Session(relu, threads=3).run({"x": random(2, 3)}, profile=profile)
    assert profile.peak.threads == 3
    assert profile.peak is profile.peak, "it is measured once"


def test_a_profile_is_cleared_and_outlives_sessions(relu):
    profile = latchkey.Profile()
    with latchkey.Session(relu) as session:
        session.run({"x": random(2, 3)}, profile=profile)
    del session
    assert [one["operator"] for one in profile] == ["Relu"]
    assert repr(profile) == "<latchkey.Profile of 1 runs, 1 entries>"
    profile.clear()
    assert len(profile) == 0 and profile.info()["runs"] == 0


def test_a_run_that_fails_adds_nothing(relu):
    session = latchkey.Session(relu)
    profile = latchkey.Profile()
    with pytest.raises(ValueError):
        session.run({"x": random(2, 4)}, profile=profile)
    with pytest.raises(latchkey.DeadlineError):
        session.run({"x": random(2, 3)}, timeout=0, profile=profile)
    assert len(profile) == 0 and profile.info()["runs"] == 0
    session.run({"x": random(2, 3)}, timeout=60, profile=profile)
    assert profile.info()["runs"] == 1


def test_threads_take_turns_with_a_profile(relu):
    session = latchkey.Session(relu)
    profile = latchkey.Profile()
    failed = []

    def work(seed):
        try:
            for _ in range(20):
                session.run({"x": random(2, 3, seed=seed)}, profile=profile)
                profile.entries()
        except Exception as error:
            failed.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert profile.info()["runs"] == 80


def test_the_machines_peak(peak):
    assert peak.threads == 1 and peak.gflops > 0 and peak.gbytes > 0
    context = latchkey.Context(threads=3)
    assert latchkey.machine_peak(context=context).threads == 3
    with pytest.raises(ValueError, match="threads"):
        latchkey.machine_peak(threads=4096)
    with pytest.raises(ValueError, match="threads"):
        latchkey.machine_peak(threads=-1)
