"""The exceptions, and the one place where a status of the library becomes one."""

from __future__ import annotations

from typing import Any, NoReturn

from ._native import ffi, lib


class Error(Exception):
    """A call of the library failed; the text is the library's own sentence.

    ``status`` is the name of the library's status, such as ``"LK_NOT_FOUND"``.
    """

    status: str

    def __init__(self, message: str, status: str = "LK_INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.message = message
        self.status = status

    def __str__(self) -> str:  # KeyError would print the representation of its argument
        return self.message


class InvalidArgumentError(Error, ValueError):
    """A name given twice, a wrong type or rank, shapes that do not fit."""


class OutOfRangeError(Error, ValueError):
    """A number outside of its range: an option, an environment variable, a size."""


class MalformedError(Error, ValueError):
    """The model is not a valid ONNX file."""


class NotFoundError(Error, KeyError):
    """The model has no input or output of that name, or an input is missing; or there is no engine
    of that name, or no such tuning file."""


class ModelNotFoundError(Error, FileNotFoundError):
    """The model's file, or a file that it refers to, is not there."""


class FileError(Error, OSError):
    """Reading the model failed."""


class UnsupportedError(Error, NotImplementedError):
    """An operator, type or opset that the library does not have."""


class OutOfMemoryError(Error, MemoryError):
    """The system or the allocator did not have enough memory."""


class DeadlineError(Error, TimeoutError):
    """``timeout`` passed before the run had ended."""


class CancelledError(Error):
    """A run was ended by its ``cancel``, or because the program ends.

    It is not asyncio's class of that name, which a cancelled task raises.
    """


class BusyError(Error):
    """``max_runs`` runs were under way in a session opened with ``when_busy="fail"``."""


_CLASSES: dict[str, type[Error]] = {
    "LK_INVALID_ARGUMENT": InvalidArgumentError,
    "LK_UNSUPPORTED": UnsupportedError,
    "LK_NOT_FOUND": NotFoundError,
    "LK_OUT_OF_MEMORY": OutOfMemoryError,
    "LK_OUT_OF_RANGE": OutOfRangeError,
    "LK_IO": FileError,
    "LK_MALFORMED": MalformedError,
    "LK_CANCELLED": CancelledError,
    "LK_DEADLINE": DeadlineError,
    "LK_BUSY": BusyError,
}


def text(pointer: Any) -> str:
    """A C string of the library as text; names in a model need not be UTF-8."""
    return ffi.string(pointer).decode("utf-8", "surrogateescape")


def exception_of(status: int, not_found: type[Error] = NotFoundError) -> type[Error]:
    """The class of a status; ``not_found`` is the one of LK_NOT_FOUND."""
    name = ffi.typeof("lk_status").elements[status]
    return not_found if name == "LK_NOT_FOUND" else _CLASSES.get(name, Error)


def fail(status: int, error: Any, not_found: type[Error] = NotFoundError) -> NoReturn:
    """Raises the exception of a status."""
    message = text(error.message) or text(lib.lk_py_api().status_text(status))
    raise exception_of(status, not_found)(message, ffi.typeof("lk_status").elements[status])
