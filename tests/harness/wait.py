"""Waiting for what others do. How long that takes depends on what else the machine does: tests wait
for as long as it takes, up to a limit that only ends what would hang."""

import asyncio
import itertools
import time
from pathlib import Path

LONG = 300  # seconds: the limit


def until(condition):
    """Waits until condition() is true, and returns what it says."""
    end = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.01)
    return found


async def until_in_loop(condition):
    """The same for asyncio, whose loop goes on."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        await asyncio.sleep(0.01)


def with_more_time(work, is_enough, seconds):
    """What work(seconds) returns: of the first of `seconds`, twice as many and so on that is
    enough. A program gets little of a busy machine in a short time, and may have done nothing."""
    end = time.monotonic() + LONG
    for turn in itertools.count():
        done = work(seconds * 2**turn)
        if is_enough(done):
            return done
        assert time.monotonic() < end, done


def catches(pid, number):
    """Whether a process has a handler for a signal, which it gets at once if it is sent now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(int(status.split("SigCgt:")[1].split()[0], 16) >> number - 1 & 1)
