"""Takes a file in, or says in one sentence why it is none."""

from __future__ import annotations

import json
import os
import re
from typing import Any, NoReturn

from .._errors import Error

_NEWEST = {"recording": 1, "statistics": 1}


class ReportError(Error, ValueError):
    """A file is not one that a report can be made of."""

    def __init__(self, path: str | os.PathLike[str], why: str) -> None:
        super().__init__(f"failed to read '{os.fspath(path)}': {why}", "LK_MALFORMED")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A recording, or statistics of a session or of ONNX Runtime.

    :raises ReportError: it is none, or of a newer version.
    :raises OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        found = json.loads(data.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ReportError(path, f"it is not JSON, or not whole: {error}") from None
    schema = found.get("schema") if isinstance(found, dict) else None
    match = re.fullmatch(r"latchkey-(recording|statistics)-([0-9]{1,9})", str(schema), re.ASCII)
    if match is None:
        raise ReportError(path, "it is not a file of Latchkey, whose \"schema\" is "
                                "latchkey-recording-1 or latchkey-statistics-1")
    kind, number = match[1], int(match[2])
    if number > _NEWEST[kind]:
        raise ReportError(path, f"its schema is {schema}, this version of Latchkey reads up to "
                                f"latchkey-{kind}-{_NEWEST[kind]}")
    return dict(found)
