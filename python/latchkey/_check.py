"""Arguments of callers: what each must be, and the sentence where it is something else.

Each function takes what is to be done, as ``failed to <do>`` has it, the argument's name and its
value, and returns the value as the library takes it. A wrong kind is a TypeError, a wrong value of
the right kind a ValueError; both say ``failed to <do>: '<name>' is <what was given>, <what is
allowed> is needed``.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy

from ._native import lib
from ._text import escape, text_fault

_MOST_SHOWN = 60  # characters of a value
_MOST_BITS = 64  # of a number that is shown
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}
UNLIMITED: int = lib.LK_UNLIMITED
"""As a number of entries or bytes: no limit."""

_MOST_THREADS = 1024  # LK_MAX_THREADS of base/parse.h

_Kind = TypeVar("_Kind")


# ---- sentences ----


def shown(value: Any) -> str:
    """A value as a sentence has it, whatever it is."""
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    if isinstance(value, int):
        bits = value.bit_length()
        return str(value) if bits <= _MOST_BITS else f"a whole number of {bits} bits"
    if isinstance(value, str):
        return f"the text {_cut(repr(value))}"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"{len(value)} bytes"
    if isinstance(value, numpy.ndarray):
        return f"an array of {value.dtype} with the shape {value.shape}"
    if isinstance(value, numpy.generic):
        return f"{_cut(str(value))} of {value.dtype}"
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else _kind_name(kind)
    empty = "empty " if isinstance(value, (list, tuple, dict, set)) and not value else ""
    closed = "closed " if _is_closed(value) else ""
    words = f"{empty}{closed}{name}"
    return f"{'an' if words[0] in 'aeiouAEIOU' else 'a'} {words}"


def _is_closed(value: Any) -> bool:
    try:
        return getattr(value, "closed", False) is True
    except Exception:  # of an object's own code
        return False


def _kind_name(kind: type) -> str:
    """What callers know it as: a class of a private module is a member of the package."""
    return f"{kind.__module__.partition('._')[0]}.{kind.__qualname__}"


def _cut(text: str) -> str:
    text = escape(text)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _sentence(do: str, name: str, value: Any, wanted: str) -> str:
    return f"failed to {do}: '{name}' is {shown(value)}, {wanted} is needed"


def wrong_kind(do: str, name: str, value: Any, wanted: str) -> TypeError:
    """To be raised where the type is wrong."""
    return TypeError(_sentence(do, name, value, wanted))


def wrong_value(do: str, name: str, value: Any, wanted: str) -> ValueError:
    """To be raised where the type is right."""
    return ValueError(_sentence(do, name, value, wanted))


# ---- numbers ----


def _index(value: Any) -> int | None:
    """A whole number, also one of NumPy's; ``None``: it is something else. A bool is none."""
    if isinstance(value, (bool, numpy.bool_, numpy.ndarray)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def whole(do: str, name: str, value: Any, least: int = 0, most: int = UNLIMITED) -> int:
    """A whole number between two others."""
    limits = f"of at least {least}" if most == UNLIMITED else f"from {least} to {most}"
    wanted, number = f"a whole number {limits}", _index(value)
    if number is None:
        raise wrong_kind(do, name, value, wanted)
    if not least <= number <= most:
        raise wrong_value(do, name, value, wanted)
    return number


def threads(do: str, name: str, value: Any) -> int:
    """A number of threads, as the library allows them."""
    return whole(do, name, value, 1, _MOST_THREADS)


def real(do: str, name: str, value: Any, least: float = 0.0, most: float = math.inf,
         what: str = "a number") -> float:
    """A number between two others; it may be infinite where that is the upper one."""
    limits = ("" if least == -math.inf else
              f" of at least {least:g}" if most == math.inf else f" from {least:g} to {most:g}")
    wanted = f"{what}{limits}"
    is_number = isinstance(value, (float, numpy.floating)) or _index(value) is not None
    if not is_number:
        raise wrong_kind(do, name, value, wanted)
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf if value > 0 else -math.inf
    if not least <= number <= most:  # nor is NaN
        raise wrong_value(do, name, value, wanted)
    return number


def parse_size(text: str) -> int | None:
    """Bytes as text, with k, m or g, as the library reads them from environment, command line and
    provider options; ``None``: it is something else."""
    match = re.fullmatch(r"([0-9]+)([kmg]?)", text.lower(), re.ASCII) if len(text) < 40 else None
    number = int(match[1]) << _UNITS[match[2]] if match is not None else None
    return number if number is not None and number < lib.LK_NONE else None


def size(do: str, name: str, value: Any, least: int = 0) -> int:
    """A number of bytes, or a text such as ``"2g"``."""
    wanted = f"a whole number of bytes of at least {least}, or a text such as '512m' or '2g',"
    number = parse_size(value) if isinstance(value, str) else _index(value)
    if number is None and not isinstance(value, str):
        raise wrong_kind(do, name, value, wanted)
    if number is None or not least <= number <= UNLIMITED:
        raise wrong_value(do, name, value, wanted)
    return number


def flag(do: str, name: str, value: Any) -> bool:
    """True or False, also NumPy's; no number stands for one."""
    if not isinstance(value, (bool, numpy.bool_)):
        raise wrong_kind(do, name, value, "True or False")
    return bool(value)


# ---- texts ----


def text(do: str, name: str, value: Any, wanted: str = "a text") -> str:
    """A text that the library reads to its end."""
    if not isinstance(value, str):
        raise wrong_kind(do, name, value, wanted)
    if (fault := text_fault(value)) is not None:
        raise wrong_value(do, name, value, f"{wanted} without {fault}")
    return value


def texts(do: str, name: str, value: Any, of: str) -> list[str]:
    """A list of texts, or what else can be iterated, but no single text.

    :param of: what the texts are, ``"names of passes"``.
    """
    wanted = f"a list of {of}"
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise wrong_kind(do, name, value, wanted)
    try:
        found = list(value)
    except Exception as error:  # an array without dimensions says so when it is iterated
        raise wrong_kind(do, name, value, wanted) from error
    for number, one in enumerate(found):
        text(do, f"{name}[{number}]", one, "a text")
    return found


def names(do: str, name: str, found: Iterable[Any]) -> None:
    """What an argument names must be texts that the library reads to their end."""
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"failed to {do}: '{name}' names {shown(one)}, a text is needed")
        if (fault := text_fault(one)) is not None:
            raise ValueError(f"failed to {do}: '{name}' names {shown(one)}, a text without {fault} "
                             "is needed")


def choice(do: str, name: str, value: Any, choices: Iterable[str]) -> str:
    """One of some texts."""
    wanted = f"one of {', '.join(choices)}"
    if not isinstance(value, str):
        raise wrong_kind(do, name, value, wanted)
    if value not in choices:
        raise wrong_value(do, name, value, wanted)
    return value


def path(do: str, name: str, value: Any, wanted: str = "a path") -> str:
    """The path of a file: a text, or a pathlib.Path."""
    found = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if isinstance(found, bytes):
        found = os.fsdecode(found)
    if found is None:
        raise wrong_kind(do, name, value, wanted)
    return text(do, name, found, wanted)


# ---- objects ----


def instance(do: str, name: str, value: Any, kind: type[_Kind]) -> _Kind:
    """An object of a class of this package, or of another one."""
    if not isinstance(value, kind):
        known = _kind_name(kind)
        raise wrong_kind(do, name, value, f"{'an' if known[0] in 'aeiou' else 'a'} {known}")
    return value


def mapping(do: str, name: str, value: Any, wanted: str) -> Mapping[Any, Any]:
    """A dict, or another mapping."""
    if not isinstance(value, Mapping):
        raise wrong_kind(do, name, value, wanted)
    return value


def function(do: str, name: str, value: Any) -> Callable[..., Any]:
    """What can be called."""
    if not callable(value):
        raise wrong_kind(do, name, value, "a function")
    return value  # type: ignore[no-any-return]


def indent(do: str, value: Any) -> int | None:
    """Of JSON: by how many blanks its lines are indented; ``None``: it is one line."""
    return None if value is None else whole(do, "indent", value, 0, 64)


def not_pickled(self: object, protocol: object) -> Any:
    """For ``__reduce_ex__`` of what lives in one process: memory and threads of the library."""
    kind = type(self)
    raise TypeError(f"failed to pickle a {_kind_name(kind)}: it cannot leave its process; send the "
                    "model's path to the other process, and open or make one there")
