"""What a fork does to the package's locks. A child has the thread that forked and no other: a lock
that another thread held would stay locked in it for ever, and what it guards be half changed."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import Protocol

_numbers = itertools.count()
_locks: dict[int, weakref.ref[threading.Lock]] = {}  # in the order in which they were made
_taken: list[threading.Lock] = []  # by a fork that is under way


class Forked(Protocol):
    """What must be told that it is in a child now."""

    def _after_fork(self) -> None: ...


_told: weakref.WeakSet[Forked] = weakref.WeakSet()


def lock() -> threading.Lock:
    """A lock that a fork takes before, and gives back in both processes after it: for what is held
    for short moments, and never by a thread that forks. Under it, only those may be taken that were
    made later."""
    made = threading.Lock()
    number = next(_numbers)
    _locks[number] = weakref.ref(made, lambda _: _locks.pop(number, None))
    return made


def tell(one: Forked) -> None:
    """Has ``_after_fork`` called in each child, when all locks of :func:`lock` are free again: to
    replace what threads had that the child does not have."""
    _told.add(one)


def _before() -> None:
    for reference in list(_locks.values()):
        held = reference()
        if held is not None:
            held.acquire()
            _taken.append(held)


def _after() -> None:
    while _taken:
        _taken.pop().release()


def _in_child() -> None:
    _after()
    for one in list(_told):
        one._after_fork()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
