"""Locks of modules, which a forked child finds free."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager


def fork_lock() -> AbstractContextManager[bool]:
    """A lock that lives as long as the process.

    A forked child has only the thread that forked: it must not find the lock with another one. So
    who forks takes it before, when no other thread has it, and gives it back on both sides: what
    it guards is whole in the child. A thread that has it may take it once more, and so may fork.
    """
    lock = threading.RLock()
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release,
                        after_in_child=lock.release)
    return lock
