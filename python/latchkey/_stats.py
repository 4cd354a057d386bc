"""Statistics that show themselves as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._native import lib
from ._text import table


class Stats(dict[str, Any]):
    """A dict of dicts of numbers, which ``print`` and notebooks show as tables."""

    def __repr__(self) -> str:
        return "\n\n".join(table(rows, left=1) for _, rows in self._tables())

    def _repr_html_(self) -> str:
        from . import _html
        return "".join(_html.table(title, rows, left=1) for title, rows in self._tables())

    def _tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """For each part what it has by kind, then the numbers of the part itself."""
        for part, numbers in self.items():
            kinds = {kind: value for kind, value in numbers.items() if isinstance(value, dict)}
            if kinds:
                fields = list(dict.fromkeys(field for value in kinds.values() for field in value))
                yield f"{part} by kind", [
                    [f"{part} by kind", *fields],
                    *([kind, *(_number(value.get(field, "")) for field in fields)]
                      for kind, value in kinds.items())]
            yield part, [[part, ""], *([name, _number(value)] for name, value in numbers.items()
                                       if name not in kinds)]


def _number(value: Any) -> str:
    if value == lib.LK_UNLIMITED:
        return "unlimited"
    return f"{value:,}" if isinstance(value, int) else str(value)
