"""Asks a process for its statistics."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Mapping
from typing import Any

SCHEMA = "latchkey-process-1"
_REQUEST = b"statistics 1\n"
_SECONDS = 5.0
_MOST_BYTES = 128 << 20


class TopError(Exception):
    """The sentence of what failed."""


class GoneError(TopError):
    """Nobody answers any more: the process has ended, or has closed its socket."""


def find(who: str) -> str:
    """The path of the socket of a process, which is given by its number or is the path itself.

    :raises TopError: there is none.
    """
    if not who.isdigit():
        return who
    places = []
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        places.append(os.path.join(runtime, "latchkey", f"{who}.sock"))
    asked = _environment(who).get("LATCHKEY_SOCKET", "")
    if asked not in ("", "default"):
        places.append(os.path.join(asked, f"{who}.sock") if os.path.isdir(asked) else asked)
    for path in places:
        if _is_socket(path):
            return path
    shown = " and ".join(f"'{path}'" for path in places) or "XDG_RUNTIME_DIR, which is not set"
    raise TopError(f"failed to find the socket of process {who}: looked for {shown}; a process "
                   "opens one where LATCHKEY_SOCKET or the option socket asks for it")


def ask(path: str) -> dict[str, Any]:
    """The statistics of a process.

    :raises GoneError: nobody serves at the path.
    :raises TopError: the answer is not one.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(_SECONDS)
            peer.connect(path)
            peer.sendall(_REQUEST)
            text = _read(peer)
    except (FileNotFoundError, ConnectionError) as error:
        raise GoneError(f"failed to ask at '{path}': {error.strerror}") from None
    except OSError as error:
        raise TopError(f"failed to ask at '{path}': {error.strerror or error}") from None
    if not text:
        raise GoneError(f"failed to ask at '{path}': it has closed without an answer")
    try:
        found = json.loads(text)
    except ValueError:
        raise TopError(f"failed to read the answer of '{path}': it is not JSON") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        other = "it is of another kind"
        problem = found.get("error", other) if isinstance(found, dict) else other
        raise TopError(f"failed to read the answer of '{path}': {problem}")
    return found


def _read(peer: socket.socket) -> bytes:
    parts, count = [], 0
    while part := peer.recv(1 << 16):
        parts.append(part)
        count += len(part)
        if count > _MOST_BYTES:
            raise OSError(f"its answer has more than {_MOST_BYTES} bytes")
    return b"".join(parts)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _environment(pid: str) -> Mapping[str, str]:
    try:
        with open(f"/proc/{pid}/environ", encoding="utf-8", errors="surrogateescape") as file:
            pairs = (text.partition("=") for text in file.read().split("\0"))
            return {name: value for name, _, value in pairs}
    except OSError:
        return {}
