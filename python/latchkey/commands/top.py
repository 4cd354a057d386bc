"""latchkey top: what a running process does."""

from __future__ import annotations

import argparse
import sys
import time

from .._text import json_text
from .._top import client
from .front import OK, CommandError
from .options import bounded

ARGUMENTS = "PID|SOCKET"
DESCRIPTION = """\
Shows what a running process does, each second anew: runs, builds and evictions,
threads, memory by owner beside its limit. The process must have opened its
socket: by LATCHKEY_SOCKET=default (or a folder, or a path) in its environment, or
by the option socket of a context."""

EPILOG = """\
q quits. Where the output is no terminal, it is shown once. Only processes of
your own answer.

Examples:
  latchkey top 4242
  latchkey top /run/user/1000/latchkey/4242.sock --once
  latchkey top 4242 --http 8080"""

_REST = 0.2  # seconds between two answers, of which rates are made


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("who", metavar="PID|SOCKET", help="a process, or the path of its socket")
    parser.add_argument("--once", action="store_true", help="show it once, without a terminal")
    parser.add_argument("--http", metavar="PORT", nargs="?", const=0, type=bounded(int, 0, 65535),
                        help="serve it as a page on 127.0.0.1 (default: a port that is free)")
    parser.add_argument("--interval", metavar="S", type=bounded(float, 0.1, 3600), default=1.0,
                        help="seconds between two looks (default: 1)")
    parser.add_argument("--json", action="store_true", help="print JSON once")


def work(arguments: argparse.Namespace) -> int:
    """Asks, and shows the answers."""
    try:
        path = client.find(arguments.who)
        if arguments.http is not None:
            _serve(path, arguments.http)
        elif arguments.once or arguments.json or not sys.stdout.isatty():
            _once(path, arguments.json)
        else:
            from .._top.terminal import show
            show(lambda: client.ask(path), arguments.interval)
    except client.TopError as error:
        raise CommandError(str(error)) from None
    return OK


def _once(path: str, as_json: bool) -> None:
    from .._top.view import lines, summary
    before = client.ask(path)
    time.sleep(_REST)
    found = summary(client.ask(path), before)
    print(json_text(found) if as_json else "\n".join(lines(found, 120)))


def _serve(path: str, port: int) -> None:
    from .._top.web import make
    client.ask(path)  # it fails here rather than in a browser
    try:
        server = make(lambda: client.ask(path), port)
    except OSError as error:
        raise CommandError(f"failed to serve on port {port}: {error.strerror}") from None
    with server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()
