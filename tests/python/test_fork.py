"""os.fork and multiprocessing's fork after use, while other threads are inside of calls."""

import asyncio
import contextlib
import importlib
import multiprocessing
import os
import pkgutil
import random as randomly
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

import numpy
import pytest
from close import assert_close
from conftest import make_model, random, reference
from onnx import TensorProto, helper

import latchkey

CACHES = ["shared", "thread"]
FORKS = 12

# Python 3.12 and later warn of what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def in_child(work, seconds=60):
    """Calls work() in a child, which ends without what a process does at its end; fails if it
    fails."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(seconds)
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, ("hung" if status == -signal.SIGALRM else f"ended with {status}")


def in_thread(work):
    """Calls work() in a thread; raises what it raises."""
    failures = []

    def body():
        try:
            work()
        except BaseException as error:
            failures.append(error)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


@pytest.fixture(scope="module")
def pictures(convnet):
    """Sizes, with the pictures and what ONNX Runtime makes of them: half of them for the parent."""
    found = []
    for i in range(12):
        x = random(1, 3, 16 + 4 * (i % 4), 16 + 4 * (i // 4), seed=i)
        found.append((x, reference(convnet, {"x": x})["scores"]))
    return found


@contextlib.contextmanager
def busy_threads(works):
    """Threads that call their work(generator) again and again, until the block ends; no work
    fails."""
    stop, failures = threading.Event(), []

    def body(seed, work):
        generator = randomly.Random(seed)
        try:
            while not stop.is_set():
                work(generator)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=body, args=work) for work in enumerate(works)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures[0]


def use_all(sessions, context, model, pictures):
    """The parent's sessions, and one of the child's own."""
    def run(session, some):
        for x, expected in some:
            assert_close(session.run({"x": x})["scores"], expected)

    def run_all():
        for session in sessions:
            run(session, pictures)
    run_all()
    in_thread(run_all)
    with latchkey.Session(model, context=context) as own:
        run(own, pictures[::3])
        in_thread(lambda: run(own, pictures))
    run(latchkey.Session(model), pictures[:2])  # the context that such sessions share
    assert context.stats()["cache"]["run"]["builds"] > 0
    sessions[0].clear()
    run(sessions[0], pictures[:4])
    context.set_capacity(entries=10)
    run(sessions[0], pictures[:4])
    for session in sessions:
        session.close()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cache", CACHES)
def test_a_child_of_any_moment_works(convnet, pictures, cache, threads):
    context = latchkey.Context(cache=cache, threads=threads)
    sessions = [latchkey.Session(convnet, context=context) for _ in range(2)]

    def run(generator):
        x, expected = generator.choice(pictures[:6])
        assert_close(generator.choice(sessions).run({"x": x})["scores"], expected)

    def build(generator):
        context.set_capacity(entries=generator.choice([5, 40, 10000]))
        run(generator)

    def open_and_close(generator):
        with latchkey.Session(convnet, context=context) as session:
            x, expected = generator.choice(pictures[:6])
            assert_close(session.run({"x": x})["scores"], expected)

    def short_lived(generator):
        in_thread(lambda: run(generator))

    def shared_context(generator):
        latchkey.Session(convnet, threads=generator.choice([1, 2])).close()

    run(randomly.Random(0))
    generator = randomly.Random(17)
    with busy_threads([run, build, open_and_close, short_lived, shared_context]):
        for _ in range(FORKS):
            time.sleep(generator.uniform(0, 0.02))
            in_child(lambda: use_all(sessions, context, convnet, pictures))
    x, expected = pictures[-1]
    for session in sessions:
        assert_close(session.run({"x": x})["scores"], expected)


@pytest.mark.parametrize("cache", CACHES)
def test_a_child_of_a_child_works(convnet, pictures, cache):
    context = latchkey.Context(cache=cache)
    session = latchkey.Session(convnet, context=context)

    def run(generator):
        session.run({"x": generator.choice(pictures)[0]})

    def child():
        with busy_threads([run, run]):
            in_child(lambda: use_all([session], context, convnet, pictures))
        use_all([session], context, convnet, pictures)
    with busy_threads([run, run]):
        in_child(child)


def test_outputs_of_the_parent_stay(convnet, pictures):
    session = latchkey.Session(convnet)
    x, expected = pictures[0]
    scores = session.run({"x": x})["scores"]

    def child():
        nonlocal scores
        session.close()
        assert_close(scores, expected)
        scores = None
    in_child(child)
    assert_close(scores, expected)


_worker_session = None


def _run_in_worker(x):
    return _worker_session.run({"x": x})["scores"]


@pytest.mark.parametrize("cache", CACHES)
def test_a_pool_of_forked_workers(convnet, pictures, cache):
    global _worker_session
    _worker_session = latchkey.Session(convnet, context=latchkey.Context(cache=cache, threads=2))
    _worker_session.run({"x": pictures[0][0]})

    def work(generator):
        _run_in_worker(generator.choice(pictures[:6])[0])

    try:
        with warnings.catch_warnings(), busy_threads([work]), \
                multiprocessing.get_context("fork").Pool(3) as pool:
            answers = pool.map_async(_run_in_worker, [x for x, _ in pictures]).get(60)
    finally:
        _worker_session = None
    for (_, expected), actual in zip(pictures, answers):
        assert_close(actual, expected)


def test_a_child_that_uses_it_first():
    """What the parent had only loaded, or only opened."""
    model = make_model([helper.make_node("Relu", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, ["n", 3])], [("y", TensorProto.FLOAT, ["n", 3])])
    session = latchkey.Session(model)
    x = numpy.array([[-1, 0, 2]], numpy.float32)

    def child():
        assert_close(session.run({"x": x})["y"], numpy.maximum(x, 0))
        assert_close(latchkey.Session(model, threads=1).run({"x": x})["y"], numpy.maximum(x, 0))
    in_child(child)


def locks_of_modules():
    """Every lock that lives as long as the process: by the module and the name that it has."""
    kinds = type(threading.Lock()), type(threading.RLock())
    names = [one.name for one in pkgutil.walk_packages(latchkey.__path__, "latchkey.")
             if one.module_finder.find_spec(one.name).origin.endswith(".py")
             and not one.name.endswith("__main__")]
    return [(name, member) for name in names
            for member, value in vars(importlib.import_module(name)).items()
            if isinstance(value, kinds)]


@pytest.mark.parametrize("module, name", locks_of_modules())
def test_a_child_finds_locks_of_modules_free(module, name):
    """Another thread has the lock when the process forks."""
    lock = getattr(sys.modules[module], name)
    taken, forking = threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            assert forking.wait(60)
            time.sleep(0.01)  # the fork waits for it, or has come before: both must work

    def use():
        with lock:
            pass
    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(60)
    forking.set()
    in_child(use)
    thread.join()
    use()
def test_a_profile_that_a_run_has_at_the_fork(convnet, pictures):
    session = latchkey.Session(convnet, threads=1)
    profile, recorder = latchkey.Profile(), latchkey.Recorder(session, profile_every=1)
    x, wanted = pictures[0]

    def run(_generator):
        session.run({"x": x}, profile=profile)
        recorder.run({"x": x})
        recorder.to_json()

    def work():
        session.run({"x": x}, profile=profile)
        assert profile.info()["runs"] > 0 and len(profile.entries()) > 0
        assert_close(recorder.run({"x": x})["scores"], wanted)
        assert recorder.to_json()["schema"] == "latchkey-recording-1"
        recorder.stop()
        own = latchkey.Recorder(session, profile_every=1)
        with own:
            own.run({"x": x})
        assert own.to_json()["requests"]["count"] == 1

    with recorder, busy_threads([run, run, run]):
        for _ in range(FORKS):
            in_child(work)


def test_every_lock_of_the_package_is_free_in_a_child(convnet, pictures):
    """Each of them, held by another thread when the child is made."""
    metrics = pytest.importorskip("latchkey.metrics")
    session = latchkey.Session(convnet, threads=1)
    profile, recorder = latchkey.Profile(), latchkey.Recorder(session)
    collector = metrics.SessionCollector()
    collector.add(session, "one")
    x, wanted = pictures[0]
    future = asyncio.run(session.run_async({"x": x}))
    assert_close(future["scores"], wanted)
    held, go = threading.Event(), threading.Event()

    def hold():
        with profile._lock, recorder._profiling:
            held.set()
            go.wait(60)

    def work():
        session.run({"x": x}, profile=profile)
        recorder.run({"x": x})
        assert_close(asyncio.run(session.run_async({"x": x}))["scores"], wanted)
        assert list(collector.collect())
        latchkey.Session(convnet, threads=1).run({"x": x})

    thread = threading.Thread(target=hold)
    with recorder:
        thread.start()
        held.wait(60)
        in_child(work)
        go.set()
        thread.join()


def test_a_child_leaves_the_file_of_a_recording_to_its_parent(convnet, pictures, tmp_path):
    path = tmp_path / "run.json"
    session = latchkey.Session(convnet, threads=1)
    recorder = latchkey.Recorder(session, path=path)
    recorder.start()

    def work():
        recorder.__exit__(None, None, None)
    in_child(work)
    assert not path.exists()
    recorder.__exit__(None, None, None)
    assert path.exists()


def test_no_lock_is_one_that_a_fork_does_not_know():
    """Who adds a lock says what a fork does to it: by latchkey._fork, or by a line here."""
    known = {"_fork.py": 1,  # makes them
             "_profile.py": 2,  # _after_fork
             "_recorder.py": 2,  # _after_fork
             "_pool.py": 2}  # a lock and a semaphore: _after_fork
    found = {}
    for path in Path(latchkey.__file__).parent.glob("*.py"):
        count = len(re.findall(r"threading\.(?:R?Lock|Condition|Semaphore|Barrier)\(",
                               path.read_text()))
        if count:
            found[path.name] = count
    assert found == known
