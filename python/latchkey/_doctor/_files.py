"""Reads what Linux says about the machine and its processes, from /proc and /sys or from a copy."""

from __future__ import annotations

import os
from pathlib import Path


class Files:
    """The files of the system.

    :param root: a folder that stands for ``/``; tests have one of their own.
    """

    def __init__(self, root: str | os.PathLike[str] = "/") -> None:
        self._root = Path(root)

    def read(self, path: str) -> str | None:
        """The text of a file, without the blanks around it; ``None``: it cannot be read."""
        try:
            text = (self._root / path.lstrip("/")).read_bytes()
        except OSError:
            return None
        return text.decode("utf-8", "surrogateescape").strip()

    def number(self, path: str) -> int | None:
        """The number that a file begins with; ``None``: there is none."""
        words = (self.read(path) or "").split()
        return int(words[0]) if words and words[0].isdigit() else None

    def names(self, folder: str) -> list[str]:
        """What is in a folder, sorted; nothing where it cannot be read."""
        try:
            return sorted(os.listdir(self._root / folder.lstrip("/")))
        except OSError:
            return []


def numbers_of(text: str) -> list[int]:
    """The numbers of a list such as ``0-3,8``."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (last == "" or last.isdigit()):
            found += range(int(first), int(last or first) + 1)
    return found


def size_of(text: str) -> int:
    """The bytes of a size such as ``32K``."""
    unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:], 1)
    digits = text.rstrip("KMG")
    return int(digits) * unit if digits.isdigit() else 0
