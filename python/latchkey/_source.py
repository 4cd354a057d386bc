"""Where a model comes from: a path, its bytes, or a ModelProto of the package onnx."""

from __future__ import annotations

import os
from typing import Any

from . import _check

MOST_BYTES = 2**31 - 1
"""That a message of protobuf may have, and so a model that lies in one file."""

_WANTED = "the path of an ONNX file, its bytes, or an onnx.ModelProto"


def read(do: str, name: str, model: Any) -> str | bytes | bytearray | memoryview:
    """A path, or bytes that lie one behind the other.

    :raises TypeError: it is something else; :class:`ValueError`: a ModelProto that is too large,
        or a path with a NUL.
    """
    if isinstance(model, (bytes, bytearray)):
        return model
    if isinstance(model, memoryview):
        return model if model.c_contiguous else model.tobytes()
    if isinstance(model, (str, os.PathLike)):
        return _check.path(do, name, model, _WANTED)
    if not (hasattr(model, "graph") and callable(getattr(model, "SerializeToString", None))):
        raise _check.wrong_kind(do, name, model, _WANTED)
    return _serialize(do, name, model)


def _serialize(do: str, name: str, model: Any) -> bytes:
    try:
        if model.ByteSize() <= MOST_BYTES:
            data: bytes = model.SerializeToString()
            return data
    except Exception:  # protobuf's class for what is too large differs between its versions
        pass
    raise ValueError(f"failed to {do}: '{name}' is a ModelProto of more than {MOST_BYTES} bytes, "
                     "which no message may have; onnx.save_model(model, path, "
                     "save_as_external_data=True) writes it, and its path is opened")
