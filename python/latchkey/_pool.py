"""Threads that make calls for asyncio. Unlike those of concurrent.futures, they never hold up the
program's end: the calls are cancelled then."""

from __future__ import annotations

import atexit
import contextvars
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any

from . import _fork
from ._cancel import Cancel

_EXIT_SECONDS = 1.0  # a call that was cancelled ends within 50 ms, unless the machine is busy
_pending: dict[Future[Any], Cancel] = {}  # of all pools; each operation is one step of Python
os.register_at_fork(after_in_child=_pending.clear)  # a child has none of those threads


@atexit.register
def _cancel_all() -> None:
    pending = dict(_pending)
    for cancel in pending.values():
        cancel.set()
    wait(pending, _EXIT_SECONDS)


def _serve(work: SimpleQueue[Callable[[], None] | None], idle: threading.Semaphore) -> None:
    """Makes calls until there is None. It must not know the pool, which ends when it is dropped."""
    while (call := work.get()) is not None:
        call()
        del call  # and with it arrays and the session
        idle.release()
    work.put(None)  # for the next thread


def _make(future: Future[Any], run: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = run()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class Pool:
    """Up to a number of threads, started when they are needed. They make the calls in order, and
    end after the last one when the pool is dropped. Any thread may use it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begin()
        _fork.tell(self)

    def _begin(self) -> None:
        self._started = 0
        self._lock = threading.Lock()  # guards _started
        # Its put() may be called by a destructor at any moment, also within a put().
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # Threads that nobody counts on. It may say more once all threads are started: then every
        # call waits for its turn anyway.
        self._idle = threading.Semaphore(0)
        self._end = weakref.finalize(self, self._work.put, None)
        self._end.atexit = False

    def _after_fork(self) -> None:
        """A child has none of its threads, and what waits for them is the parent's to do."""
        self._end.detach()
        self._begin()

    def submit(self, run: Callable[[], Any], cancel: Cancel) -> Future[Any]:
        """Calls ``run`` on a thread, in the context of the caller; ``cancel`` ends it."""
        future: Future[Any] = Future()
        _pending[future] = cancel
        future.add_done_callback(lambda done: _pending.pop(done, None))  # none in a child
        context = contextvars.copy_context()
        self._work.put(lambda: _make(future, lambda: context.run(run)))
        if not self._idle.acquire(blocking=False):
            with self._lock:
                if self._started < self._most:
                    self._started += 1
                    threading.Thread(target=_serve, args=(self._work, self._idle), daemon=True,
                                     name=f"latchkey-{self._started}").start()
        return future
