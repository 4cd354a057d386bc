"""The flag by which other threads end runs."""

from __future__ import annotations

from typing import Any

from . import _check
from ._native import ffi


class Cancel:
    """A flag that ends runs when it is set.

        cancel = latchkey.Cancel()
        threading.Timer(5, cancel.set).start()
        session.run({"x": x}, cancel=cancel)  # CancelledError after 5 s

    It may be given to any number of runs, of any sessions. Any thread may call any method at any
    time; nothing here fails or waits.
    """

    __slots__ = ("__weakref__", "_flag")

    def __init__(self) -> None:
        self._flag = ffi.new("int32_t *")

    def set(self) -> None:
        """Ends the runs that have it, within 50 ms, and those that are given it later at once, with
        :class:`CancelledError`."""
        self._flag[0] = 1

    def clear(self) -> None:
        """Lets later runs go on. A run that has not seen the flag yet may go on too."""
        self._flag[0] = 0

    def is_set(self) -> bool:
        """Whether it was set, and not cleared since."""
        return bool(self._flag[0])

    def __repr__(self) -> str:
        return f"<latchkey.Cancel, {'set' if self.is_set() else 'not set'}>"

    __reduce_ex__ = _check.not_pickled

    def _give_to(self, options: Any) -> None:
        """Lets the run of these lk_run_options look at the flag, which must live as long."""
        options.cancel = self._flag
