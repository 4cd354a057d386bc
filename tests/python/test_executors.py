"""Which executor runs a session, how many runs are on at once, and how many threads compute."""

import threading

import numpy
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper

import latchkey


@pytest.fixture(scope="module")
def branches():
    nodes, weights = [], [("w", random(8, 8, 3, 3, seed=1))]
    for b in range(4):
        nodes += [helper.make_node("Conv", ["x", "w"], [f"a{b}"], pads=[1, 1, 1, 1]),
                  helper.make_node("Sigmoid", [f"a{b}"], [f"s{b}"]),
                  helper.make_node("Conv", [f"s{b}", "w"], [f"c{b}"], pads=[1, 1, 1, 1])]
    nodes.append(helper.make_node("Concat", [f"c{b}" for b in range(4)], ["y"], axis=1))
    return make_model(nodes, [("x", TensorProto.FLOAT, ["n", 8, "h", "w_"])],
                      [("y", TensorProto.FLOAT, None)], weights)


@pytest.fixture
def four_processors():
    before = latchkey.threads_stats()["processors"]
    latchkey.set_processors(4)
    yield
    latchkey.set_processors(before)


@pytest.mark.parametrize("inter", [None, 2, 3])
def test_branches_at_once_give_the_same_bits(branches, four_processors, inter):
    naive = latchkey.Session(branches, threads=1)
    parallel = latchkey.Session(branches, threads=1, executor="parallel", inter=inter)
    for size in (12, 20, 12):
        x = random(1, 8, size, size, seed=size)
        assert (parallel.run({"x": x})["y"] == naive.run({"x": x})["y"]).all()
    assert parallel.stats()["session"]["parallel_runs"] == 3
    assert naive.stats()["session"]["parallel_runs"] == 0
    clone = parallel.clone()
    clone.run({"x": x})
    assert clone.stats()["session"]["parallel_runs"] == 1


def slow_model():
    w = random(256, 256, seed=2) / 256
    nodes = [helper.make_node("MatMul", ["x" if i == 0 else f"a{i - 1}", "w"], [f"a{i}"])
             for i in range(20)]
    return make_model(nodes, [("x", TensorProto.FLOAT, ["n", 256])],
                      [("a19", TensorProto.FLOAT, ["n", 256])], [("w", w)])


def run_on_threads(session, count, x):
    """How many runs of ten on each thread were refused."""
    refused, others = [], []

    def work():
        for _ in range(10):
            try:
                session.run({"x": x})
            except latchkey.BusyError as error:
                assert error.status == "LK_BUSY" and "at most 1" in str(error)
                refused.append(error)
            except Exception as error:
                others.append(error)
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not others
    return len(refused)


def test_one_run_too_many_waits_or_is_refused(four_processors):
    x = numpy.ones((512, 256), numpy.float32)
    waits = latchkey.Session(slow_model(), threads=1, max_runs=1)
    assert run_on_threads(waits, 4, x) == 0
    own = waits.stats()["session"]
    assert own["runs"] == 40 and own["waits"] > 0
    fails = latchkey.Session(slow_model(), threads=1, max_runs=1, when_busy="fail")
    refused = run_on_threads(fails, 4, x)
    assert refused > 0 and fails.stats()["session"]["runs"] == 40 - refused


def test_no_more_threads_compute_than_there_are_processors():
    before = latchkey.threads_stats()
    latchkey.set_processors(2)
    try:
        session = latchkey.Session(slow_model(), threads=2)
        x = numpy.ones((64, 256), numpy.float32)
        run_on_threads(session, 4, x)
        after = latchkey.threads_stats()
        assert after["processors"] == 2 and after["running"] == 0 and after["waiting"] == 0
        assert after["waits"] > before["waits"]
    finally:
        latchkey.set_processors(before["processors"])


def test_options_that_are_refused(branches):
    for option, value, sentence in (("executor", "serial", "naive, parallel"),
                                    ("when_busy", "panic", "wait, fail"),
                                    ("inter", -1, "'inter' is -1"),
                                    ("max_runs", -1, "'max_runs' is -1"),
                                    ("inter", 4096, "'inter' is 4096")):
        with pytest.raises(ValueError, match=option) as raised:
            latchkey.Session(branches, **{option: value})
        assert sentence in str(raised.value)
    for processors in (0, 1025, -1):
        with pytest.raises(ValueError, match="processors"):
            latchkey.set_processors(processors)


def test_bits_are_the_same_in_a_crowd(branches):
    session = latchkey.Session(branches, threads=2, cache="shared")
    x = random(1, 8, 20, 20, seed=5)
    expected = session.run({"x": x})["y"]
    for threads in (1, 2, 8):
        other = latchkey.Session(branches, threads=threads)
        assert (other.run({"x": x})["y"] == expected).all()
    same = []

    def work():
        for _ in range(10):
            same.append((session.run({"x": x})["y"] == expected).all())
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(same) == 40 and all(same)
    assert session.stats()["cache"]["run"]["builds"] == 1  # for every number of threads
