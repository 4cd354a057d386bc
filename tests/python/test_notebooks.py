"""The notebooks in examples/ run from above to below, and are stored without outputs."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

# What a notebook does: a name space, `await` in cells, and the last value shown as HTML or text.
RUN = """
import ast, asyncio, inspect, json, sys
space = {"__name__": "__main__"}
loop = asyncio.new_event_loop()

def evaluate(tree, mode):
    code = compile(tree, f"cell {number}", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(code, space)
    return loop.run_until_complete(value) if inspect.iscoroutine(value) else value

for number, cell in enumerate(json.load(sys.stdin)["cells"]):
    if cell["cell_type"] != "code":
        continue
    body = ast.parse("".join(cell["source"])).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    evaluate(ast.Module(body, []), "exec")
    value = evaluate(ast.Expression(last.value), "eval") if last else None
    if hasattr(value, "_repr_html_"):
        print(value._repr_html_())
    elif value is not None:
        print(repr(value))
"""


def run(notebook, folder):
    return subprocess.run([sys.executable, "-c", RUN], input=json.dumps(notebook), text=True,
                          capture_output=True, cwd=folder, timeout=300,
                          env={**os.environ, "PYTHONIOENCODING": "utf-8"})


def notebook_of(*cells):
    return {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    done = run(json.loads(path.read_text()), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout and done.stderr == ""
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path):
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert notebook["cells"][0]["cell_type"] == "markdown"
    for cell in notebook["cells"]:
        assert max(map(len, cell["source"])) <= 121, cell["source"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


def test_what_fails_in_a_notebook_is_seen(tmp_path):
    assert run(notebook_of("x = 1", "assert x == 1\nx"), tmp_path).stdout == "1\n"
    assert run(notebook_of("import asyncio\nawait asyncio.sleep(0, 7)"), tmp_path).stdout == "7\n"
    for wrong in ("assert False", "1 / 0", "x =", "import asyncio\nawait asyncio.sleep(0, 1 / 0)"):
        assert run(notebook_of("x = 1", wrong), tmp_path).returncode != 0
