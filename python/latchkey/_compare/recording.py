"""The values of one request on one side: kept while they are few, computed again where not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

_BUDGET = 1 << 30
"""Bytes of values that are kept, and about as many that one run gives."""


class Recording:
    """Gives values by name, by runs of ``run(names)``.

    What has been given is kept until there are a GiB of it, so that a model whose values take more
    is run again for them. The inputs are values too.
    """

    def __init__(self, run: Callable[[Sequence[str]], dict[str, Any]],
                 inputs: Mapping[str, Any], budget: int = _BUDGET) -> None:
        self._run, self._budget = run, budget
        self._kept: dict[str, Any] = dict(inputs)
        self._bytes = 0

    def get(self, names: Iterable[str]) -> dict[str, Any]:
        """The values; None: it is not a tensor."""
        names = list(names)
        missing = [name for name in names if name not in self._kept]
        new = self._run(missing) if missing else {}
        found = {name: new[name] if name in new else self._kept[name] for name in names}
        for name, value in new.items():
            size = getattr(value, "nbytes", 0)
            if self._bytes + size <= self._budget:
                self._kept[name] = value
                self._bytes += size
        return found

    def each(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """The values one after the other, by runs that each give as many as there is room for."""
        start, count = 0, 16
        while start < len(names):
            part = self.get(names[start:start + count])
            yield from part.items()
            start += len(part)
            size = sum(getattr(value, "nbytes", 0) for value in part.values())
            count = max(1, min(4 * count, count * self._budget // max(1, 2 * size)))
