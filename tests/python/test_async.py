"""Runs for asyncio: results, errors, cancelled tasks, many at once, `fork`, the program's end."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import threading

import numpy
import pytest
from close import assert_close
from conftest import of_rows, random, reference
from test_cancel import ENDLESS, LONG, X, is_running
from test_fork import in_child
from wait import until, until_in_loop

import latchkey
from latchkey import _pool


def until_running(session):
    """Waits until a run of the session executes."""
    return until_in_loop(lambda: is_running(session))


def pool_threads():
    return {thread for thread in threading.enumerate() if thread.name.startswith("latchkey-")}


def test_results_are_those_of_run(convnet):
    session = latchkey.Session(convnet)
    x = random(1, 3, 16, 16)
    expected = reference(convnet, {"x": x})
    out = numpy.empty((1, 10), numpy.float32)
    profile = latchkey.Profile()

    async def main():
        result = await session.run_async({"x": x}, ["features"], {"scores": out}, timeout=LONG,
                                         profile=profile)
        assert list(result) == ["features", "scores"] and result["scores"] is out
        for name, value in result.items():
            assert_close(value, expected[name])
    asyncio.run(main())
    assert profile.info()["runs"] == 1


def test_errors_are_those_of_run(relu, endless):
    session = latchkey.Session(relu)

    async def main():
        with pytest.raises(latchkey.NotFoundError, match="no input 'z'"):
            await session.run_async({"z": random(2, 3)})
        with pytest.raises(TypeError, match="a list of names of outputs is needed"):
            await session.run_async({"x": random(2, 3)}, "y")
        with pytest.raises(TypeError):
            await session.run_async(None)
        with pytest.raises(latchkey.DeadlineError):
            await latchkey.Session(endless).run_async(ENDLESS, timeout=0.1)
        session.close()
        with pytest.raises(ValueError, match="closed"):
            await session.run_async({"x": random(2, 3)})
    asyncio.run(main())


def test_the_loop_goes_on_during_a_run(endless):
    async def main():
        session = latchkey.Session(endless)
        run = asyncio.ensure_future(session.run_async(ENDLESS, timeout=LONG))
        await until_running(session)
        for _ in range(10):
            await asyncio.sleep(0)
        assert not run.done()
        run.cancel()
    asyncio.run(main())


@pytest.mark.parametrize("within", ["loop", "operator"])
def test_cancelling_a_task_ends_its_run(endless, attention, within):
    session = latchkey.Session(endless if within == "loop" else attention)
    inputs = ENDLESS if within == "loop" else of_rows(24000)

    async def main():
        run = asyncio.ensure_future(session.run_async(inputs))
        await until_running(session)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    asyncio.run(main())
    assert not _pool._pending, "the run has ended"
    if within == "loop":
        assert session.run({"go": numpy.bool_(False), "x": X})["y"] == X


def test_a_task_that_is_cancelled_twice_waits_for_its_run(endless):
    session = latchkey.Session(endless)

    async def main():
        run = asyncio.ensure_future(session.run_async(ENDLESS))
        await until_running(session)
        assert len(_pool._pending) == 1
        run.cancel()
        await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert not _pool._pending, "it has returned"
    asyncio.run(main(), debug=True)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout came with Python 3.11")
def test_timeouts_of_asyncio(endless, relu):
    session = latchkey.Session(endless)

    async def main():
        with pytest.raises(TimeoutError) as info:
            async with asyncio.timeout(0.2):
                await session.run_async(ENDLESS)
        assert not isinstance(info.value, latchkey.Error)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.run_async(ENDLESS), 0.2)
        async with asyncio.timeout(LONG):
            await latchkey.Session(relu).run_async({"x": random(2, 3)})
        with pytest.raises(ExceptionGroup):  # noqa: F821 (3.11)
            async with asyncio.TaskGroup() as group:
                group.create_task(session.run_async(ENDLESS))
                group.create_task(session.run_async({}))
    asyncio.run(main())


def test_a_coroutine_that_is_closed_ends_its_run(endless):
    session = latchkey.Session(endless)

    async def main():
        run = session.run_async(ENDLESS)
        run.send(None)
        await until_running(session)
        run.close()
    asyncio.run(main())
    until(lambda: not _pool._pending)


@pytest.mark.parametrize("max_runs", [1, 3, None])
def test_many_at_once_are_bounded(convnet, max_runs):
    session = latchkey.Session(convnet, max_runs=max_runs, context=latchkey.Context())
    inputs = [random(1, 3, 8, 8 + 2 * (i % 5), seed=i) for i in range(40)]
    before = pool_threads()

    async def main():
        results = await asyncio.gather(*(session.run_async({"x": x}) for x in inputs))
        for x, result in zip(inputs, results):
            assert_close(result["scores"], reference(convnet, {"x": x})["scores"])
    asyncio.run(main())
    most = max_runs or latchkey.threads_stats()["processors"]
    assert 1 <= len(pool_threads() - before) <= most
    assert session.stats()["session"]["waits"] == 0, "they wait for a thread, not on one"


def test_a_run_too_many_fails_at_once(endless):
    session = latchkey.Session(endless, max_runs=2, when_busy="fail")

    async def main():
        runs = [asyncio.ensure_future(session.run_async(ENDLESS, timeout=LONG)) for _ in range(5)]
        await until_in_loop(lambda: sum(run.done() for run in runs) == 3)
        left = [run for run in runs if not run.done()]
        assert len(left) == 2
        for run in set(runs) - set(left):
            assert isinstance(run.exception(), latchkey.BusyError)
        for run in left:
            run.cancel()
        await asyncio.wait(left)
        assert all(run.cancelled() for run in left)
    asyncio.run(main())


def test_a_task_that_waits_for_a_thread_is_cancelled(endless):
    session = latchkey.Session(endless, max_runs=1)

    async def main():
        first, second = (asyncio.ensure_future(session.run_async(ENDLESS)) for _ in range(2))
        await until_running(session)
        second.cancel()
        await asyncio.wait([second], timeout=LONG)
        assert second.cancelled() and not first.done()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    asyncio.run(main())
    assert session.stats()["session"]["runs"] == 0


def test_context_variables_are_the_callers(relu):
    session = latchkey.Session(relu)
    request = contextvars.ContextVar("request")
    seen = []

    class Input:
        def __array__(self, *args, **options):
            seen.append((request.get(), threading.current_thread().name.startswith("latchkey-")))
            return random(2, 3)

    async def main(number):
        request.set(number)
        await session.run_async({"x": Input()})

    async def all_of_them():
        await asyncio.gather(*(main(number) for number in range(8)))
    asyncio.run(all_of_them())
    assert sorted(seen) == [(number, True) for number in range(8)]


def test_loops_of_many_threads_share_a_session(relu):
    session = latchkey.Session(relu, context=latchkey.Context())
    failed = []

    def work(seed):
        async def main():
            x = random(4, 3, seed=seed)
            for _ in range(20):
                assert numpy.array_equal((await session.run_async({"x": x}))["y"],
                                         numpy.maximum(x, 0))
        try:
            asyncio.run(main())
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and session.stats()["session"]["runs"] == 80


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_threads_end_with_their_session(relu, how):
    gc.collect()
    session = latchkey.Session(relu)
    before = pool_threads()
    asyncio.run(session.run_async({"x": random(2, 3)}))
    mine = pool_threads() - before
    assert mine
    clone = session.clone()
    assert clone._pools == {}
    if how == "closed":
        session.close()
    else:
        del session
        gc.collect()
    for thread in mine:
        thread.join(LONG)
    assert not any(thread.is_alive() for thread in mine)
    asyncio.run(clone.run_async({"x": random(2, 3)}))


def test_runs_that_wait_fail_when_their_session_is_closed(endless):
    session = latchkey.Session(endless, max_runs=1)

    async def main():
        first, second = (asyncio.ensure_future(session.run_async(ENDLESS)) for _ in range(2))
        await until_running(session)
        session.close()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        with pytest.raises(ValueError, match="closed"):
            await second
    asyncio.run(main())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_has_threads_of_its_own(relu):
    session = latchkey.Session(relu)
    x = random(2, 3)

    def check():
        result = asyncio.run(session.run_async({"x": x}))
        assert numpy.array_equal(result["y"], numpy.maximum(x, 0))
    check()
    in_child(check)
    check()


PROGRAM = """
import asyncio, sys, numpy, latchkey
session = latchkey.Session(sys.stdin.buffer.read(), max_runs=2)
inputs = {"go": numpy.bool_(True), "x": numpy.float32(3)}
async def main():
    tasks = [asyncio.ensure_future(session.run_async(inputs)) for _ in range(4)]
    while session.stats()["session"]["run_plan_builds"] == 0:
        await asyncio.sleep(0.01)
    print("running", flush=True)
"""


@pytest.mark.parametrize("end", [
    "asyncio.run(main())",
    "loop = asyncio.new_event_loop(); loop.run_until_complete(main())",
    "loop = asyncio.new_event_loop(); loop.run_until_complete(main()); del session",
], ids=["asyncio.run", "left alone", "session dropped"])
def test_a_program_ends_during_runs(endless, end):
    done = subprocess.run([sys.executable, "-c", PROGRAM + end], input=endless,
                          capture_output=True, timeout=LONG)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"running\n"
    if end == "asyncio.run(main())":
        assert done.stderr == b""
