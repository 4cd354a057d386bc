"""One document of the data, the scripts and the style."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import os
from collections.abc import Sequence
from string import Template
from typing import Any

from .._errors import NotFoundError
from .._text import escape, json_text
from .differences import differences
from .view import view

_SCRIPTS = ("text.js", "tables.js", "plots.js", "graph.js", "page.js")
_ASSETS = importlib.resources.files(__package__) / "assets"


def make_page(paths: Sequence[str | os.PathLike[str]]) -> str:
    """The page of one file, or of two side by side.

    :raises ReportError: a file is none that a report can be made of.
    :raises OSError: one cannot be read.
    :raises ImportError: the package ``graphlay`` is not installed.
    :raises NotFoundError: this installation has no ECharts.
    """
    runs = [view(path) for path in paths]
    data = _shown({"runs": list(map(_packed, runs)),
                   "differences": differences(*runs) if len(runs) == 2 else None})
    style = _asset("page.css")
    # An element of a script ends at the first "</script", whatever it is; a comment may hide one.
    text = json_text(data, indent=None).replace("<", "\\u003c").replace(">", "\\u003e")
    scripts = [_echarts(), "\n".join(map(_asset, _SCRIPTS))]
    title = " and ".join(dict.fromkeys(run["name"] for run in runs))
    policy = ("default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; "
              f"style-src {_sha256(style)}; script-src {' '.join(map(_sha256, scripts))}")
    return Template(_asset("page.html")).substitute(
        policy=policy, title=_html(title), style=style, data=text, echarts=scripts[0],
        script=scripts[1])


def _packed(run: dict[str, Any]) -> dict[str, Any]:
    """The same with the names of the nodes' fields once, and not in each of thousands of nodes."""
    nodes = run["graph"]["nodes"]
    fields = list(nodes[0]) if nodes else []
    return {**run, "graph": {**run["graph"], "nodes": {
        "fields": fields, "rows": [[node[field] for field in fields] for node in nodes]}}}


def _shown(value: Any) -> Any:
    """The same with every text made fit for people: control characters and what turns the
    direction of writing are shown as their bytes."""
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in value.items()}
    return [_shown(one) for one in value] if isinstance(value, (list, tuple)) else value


def _html(text: str) -> str:
    return "".join(f"&#{ord(one)};" if one in "&<>\"'" else one for one in escape(text))


def _sha256(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _echarts() -> str:
    try:
        return _asset("echarts.min.js")
    except FileNotFoundError:
        raise NotFoundError("failed to make a report: this installation has no Apache ECharts; "
                            "`tools/setup --report` puts it where the package is built from, "
                            "which `pip install '.[report]'` builds again there",
                            "LK_NOT_FOUND") from None
