"""The demo reads what it draws, and its second round builds nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import latchkey

from conftest import ROOT

PROGRAM = ROOT / "examples" / "read_text.py"
TEXT = ["Every lock has a key.", "Latchkey 0.1 asks by key, builds once", "Open 7 days, 24 hours."]


def read_text(*args, code=0):
    done = subprocess.run([sys.executable, PROGRAM, *map(str, args)], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_reads_the_three_lines_and_builds_once():
    result = json.loads(read_text("--json"))
    assert len(result["rounds"]) == 2
    for one in result["rounds"]:
        assert [line["text"] for line in one["lines"]] == TEXT
        assert all(line["confidence"] > 0.8 for line in one["lines"])
        assert len({line["width"] for line in one["lines"]}) == 3
    first, second = (one["cache"] for one in result["rounds"])
    assert first["run"]["builds"] == 3
    assert first["name"]["entries"] == 0  # a run plan has its operators' plans for itself
    assert second["run"]["hits"] == 3
    for kind in second.values():
        assert kind["builds"] == 0 and kind["misses"] == 0


@pytest.mark.skipif(not (Path(latchkey.__file__).parent / "liblatchkey_onednn.so").exists(),
                    reason="this build has no oneDNN: tools/setup builds it")
def test_reads_them_by_primitives_that_are_built_once():
    result = json.loads(read_text("--json", "--engine", "onednn"))
    for one in result["rounds"]:
        assert [line["text"] for line in one["lines"]] == TEXT
    first, second = (one["cache"] for one in result["rounds"])
    assert first["value"]["builds"] > 100 and first["name"]["builds"] > 200
    assert first["value"]["hits"] > 0  # layers that are alike share one
    for kind in second.values():
        assert kind["builds"] == 0 and kind["misses"] == 0


def test_prints_text_and_table(tmp_path):
    picture = tmp_path / "picture.png"
    out = read_text("--save", picture)
    for line in TEXT:
        assert out.count(line) == 2
    assert out.count("run plans") == 2 and "round 2" in out
    from_file = json.loads(read_text("--json", "--rounds", 1, "--image", picture))
    assert [line["text"] for line in from_file["rounds"][0]["lines"]] == TEXT


def test_says_what_is_wrong(tmp_path):
    missing = tmp_path / "missing"
    assert str(missing) in read_text("--image", missing, code=1)
    assert str(missing) in read_text("--model", missing, code=1)
    garbage = tmp_path / "garbage.onnx"
    garbage.write_bytes(b"\xff" * 100)
    assert "garbage.onnx" in read_text("--model", garbage, code=1)
    assert "engine 'nosuch'" in read_text("--engine", "nosuch", code=1)
    assert "--rounds" in read_text("--help")
