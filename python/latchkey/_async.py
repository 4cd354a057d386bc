"""Runs for asyncio: on threads that a session has for them, and ended with their task."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from ._cancel import Cancel
from ._pool import Pool

_Result = TypeVar("_Result")


def _pool(pools: dict[int, Pool], most: int) -> Pool:
    """The pool of this process: a forked child has none of its parent's threads."""
    pid = os.getpid()
    # Of several threads that make one at once, all get the first.
    return pools.get(pid) or pools.setdefault(pid, Pool(most))


async def call(pools: dict[int, Pool], most: int, run: Callable[[Cancel], _Result]) -> _Result:
    """Calls ``run`` on a thread of the pool, in the context of the caller.

    Whatever ends the wait for it sets the flag that ``run`` is given. A task that is cancelled
    waits until ``run`` has returned: the caller's arrays are free when CancelledError arrives.
    """
    cancel = Cancel()
    work: Future[_Result] = _pool(pools, most).submit(lambda: run(cancel), cancel)
    done = asyncio.wrap_future(work)
    cancelled: asyncio.CancelledError | None = None
    try:
        while not done.done():
            try:
                await asyncio.wait([done])
            except asyncio.CancelledError as error:
                cancelled = error
                if not work.cancel():  # it has begun
                    cancel.set()
    finally:
        cancel.set()  # for what is no CancelledError: a coroutine that is closed
    if cancelled is not None:
        if not done.cancelled():
            done.exception()  # else asyncio complains that nobody has looked at it
        raise cancelled
    return done.result()
