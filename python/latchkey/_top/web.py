"""The view as a page of this machine alone."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .._text import json_text
from .client import TopError
from .view import lines, summary

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>latchkey top</title>
<meta http-equiv="refresh" content="1">
<style>body{{font:14px monospace;margin:2em}}</style><pre>{}</pre></html>
"""
_REST_NS = 500_000_000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def make(ask: Callable[[], Mapping[str, Any]], port: int) -> ThreadingHTTPServer:
    """A server on 127.0.0.1; port 0: one that is free. ``/`` is the page, ``/json`` its numbers.

    Requests for another host are refused, so that no page of another site, whose name someone
    points at this address, can read it.
    """
    lock = threading.Lock()
    kept: list[Mapping[str, Any]] = []  # two answers, half a second apart at least, or one

    def numbers() -> dict[str, Any]:
        with lock:
            now = ask()
            if not kept or now["time_ns"] - kept[-1]["time_ns"] > _REST_NS:
                kept.append(now)
                del kept[:-2]
            return summary(now, kept[0] if len(kept) == 2 else None)

    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            hosts = {f"{name}:{self.server.server_port}"  # type: ignore[attr-defined]
                     for name in ("127.0.0.1", "localhost")}
            if self.headers.get("Host") not in hosts:
                self._answer(403, "text/plain", "this page is for 127.0.0.1 alone\n")
            elif self.path not in ("/", "/json"):
                self._answer(404, "text/plain", "there is / and /json\n")
            else:
                self._show()

        def _show(self) -> None:
            try:
                found = numbers()
            except TopError as error:
                self._answer(503, "text/plain", f"{error}\n")
                return
            if self.path == "/json":
                self._answer(200, "application/json", json_text(found))
            else:
                self._answer(200, "text/html", _PAGE.format(html.escape("\n".join(lines(found,
                                                                                      120)))))

        def _answer(self, code: int, kind: str, text: str) -> None:
            body = text.encode("utf-8", "backslashreplace")
            self.send_response(code)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", _POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: Any) -> None:
            """Requests are not told."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
