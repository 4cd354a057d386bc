"""Texts for people: tables, and names of a model made fit for a terminal."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ._errors import InvalidArgumentError

# As base/text.h has them: C0, DEL and C1, separators of lines, what turns the direction of writing;
# and bytes that are not UTF-8, which surrogates stand for.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                      "\ud800-\udfff]")


def escape(text: str) -> str:
    r"""One line that can be shown: each byte of a control character, and each byte that is not
    part of UTF-8, becomes ``\xNN``, as in the library's own sentences."""
    return _CONTROL.sub(lambda found: "".join(f"\\x{byte:02x}" for byte in _bytes(found[0])), text)


def _bytes(character: str) -> bytes:
    is_byte = "\udc80" <= character <= "\udcff"  # PEP 383
    return character.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")


def encode(text: str) -> bytes:
    """A text as the library gets it. Each text that goes to C goes through here or
    :func:`encode_path`.

    :raises InvalidArgumentError: there is a :func:`text_fault` in it.
    """
    return _whole(text).encode("utf-8", "surrogateescape")


def encode_path(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> bytes:
    """The same of a path."""
    found = os.fspath(path)
    return os.fsencode(_whole(found if isinstance(found, str) else os.fsdecode(found)))


def text_fault(text: str) -> str | None:
    """What a text must be without to reach the library as it is; ``None``: nothing. C would end it
    at a NUL; a surrogate that stands for no byte (PEP 383) has no bytes in UTF-8."""
    if "\0" in text:
        return "a NUL"
    return None if text.isascii() or _is_encoded(text, "surrogateescape") else "a lone surrogate"


def _whole(text: str) -> str:
    if (fault := text_fault(text)) is not None:
        raise InvalidArgumentError(f"failed to read '{escape(text)}': there is {fault} in it, "
                                   "which no name and no path may have")
    return text


def table(rows: Sequence[Sequence[str]], left: int, indent: int = 0) -> str:
    """Lines of cells that stand below each other.

    :param rows: the titles first.
    :param left: how many columns are aligned to the left; numbers follow them.
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if i < left else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append(" " * indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def json_text(value: Any, indent: int | None = 2) -> str:
    """JSON in ASCII. A name that is valid UTF-8 is the model's own, another one is escaped."""
    return json.dumps(_valid(value), indent=indent).replace("\x7f", "\\u007f")


def json_name(name: str) -> str:
    """A name as JSON of the library and of the program has it."""
    return name if name.isascii() or _is_encoded(name, "strict") else escape(name)


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return json_name(value)
    if isinstance(value, dict):
        return {_valid(key): _valid(one) for key, one in value.items()}
    return [_valid(one) for one in value] if isinstance(value, (list, tuple)) else value


def _is_encoded(text: str, errors: str) -> bool:
    try:
        text.encode("utf-8", errors)
    except UnicodeEncodeError:
        return False
    return True


def size_text(bytes_: int) -> str:
    """``12.3 MiB``, as the program shows sizes."""
    size = float(bytes_)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{bytes_} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


def time_text(ns: float) -> str:
    """``12.3 ms``."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns:.0f} ns"


def shape_text(shape: Iterable[int]) -> str:
    """``1x3x48x320``, or ``scalar``."""
    return "x".join(map(str, shape)) or "scalar"
