"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ._errors import FileError


def write_whole(path: str | os.PathLike[str], text: str, what: str) -> None:
    """Writes a file of UTF-8 beside its place and moves it there: whoever reads the place sees the
    old file or the new one, also when this process is killed or the disk is full meanwhile.

    :param what: the file holds, for the sentence of a failure.
    :raises FileError: it could not be written; the place is as it was.
    """
    target = Path(path)
    aside = None
    try:
        # mkstemp's files are for their owner alone; this one gets the rights of any new file.
        number, aside = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        with os.fdopen(number, "wb") as file:
            os.fchmod(number, 0o666 & ~_umask())
            file.write(text.encode())
            file.flush()
            os.fsync(number)
        os.replace(aside, target)
        aside = None
    except OSError as error:
        raise FileError(f"failed to write {what} '{os.fspath(path)}': {error.strerror or error}",
                        "LK_IO") from error
    finally:
        if aside is not None:
            Path(aside).unlink(missing_ok=True)


def _umask() -> int:
    """Of this process, which can only be read by setting it: the kernel's copy is read instead."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")),
                    0o077)
