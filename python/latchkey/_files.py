"""Files that are there whole or not at all."""

from __future__ import annotations

import os

from ._errors import fail
from ._native import ffi, lib
from ._text import encode, encode_path


def write_whole(path: str | os.PathLike[str], content: str | bytes, what: str) -> None:
    """Writes a file, whole or not at all, by base/whole_file.h: what is no regular file, as a
    device, is written to as it is, links are followed, and a file that is there is replaced.

    :param content: a text becomes UTF-8.
    :param what: the file holds ("a report"), for the sentence of a failure.
    :raises FileError: it could not be written; a file that was there is as it was.
    :raises InvalidArgumentError: there is a NUL in the path.
    """
    data = content.encode() if isinstance(content, str) else content
    error = ffi.new("lk_error *")
    status = lib.lk_py_file_write(encode(what), encode_path(path),
                                  ffi.from_buffer(data), len(data), error)
    if status:
        fail(status, error)
