"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ._errors import FileError


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to be written beside its place, which is moved there at the end of the block: whoever
    reads the place sees the old file or the new one, also when this process is killed or the disk
    is full meanwhile. What leaves the block early leaves the place as it was.

    :raises OSError: it could not be written.
    """
    target = Path(path)
    # mkstemp's files are for their owner alone; this one gets the rights of any new file.
    number, aside = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as file:
            os.fchmod(number, 0o666 & ~_umask())
            yield file
            file.flush()
            os.fsync(number)
        os.replace(aside, target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def write_whole(path: str | os.PathLike[str], text: str, what: str) -> None:
    """Writes a file of UTF-8, whole or not at all.

    :param what: the file holds, for the sentence of a failure.
    :raises FileError: it could not be written; the place is as it was.
    """
    try:
        with whole(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise FileError(f"failed to write {what} '{os.fspath(path)}': {error.strerror or error}",
                        "LK_IO") from error


def _umask() -> int:
    """Of this process, which can only be read by setting it: the kernel's copy is read instead."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")),
                    0o077)
