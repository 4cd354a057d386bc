"""The binary interface has one number for each layout.

`layout.txt` has the number and what it stands for: each public struct with the place and type of
each member, and each enumerator with its value. A header that says anything else must have another
number, so that a host that was compiled with another header gets NULL from lk_get_api, and never a
table whose functions lie elsewhere. After a change:

    raise LK_API_VERSION in include/latchkey/latchkey.h
    LK_LAYOUT=record .venv/bin/python -m pytest -q tests/headers/test_layout.py
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).parent / "layout.txt"
INCLUDE = ROOT / "include"


def clang(include: Path, *options: str) -> str:
    source = "#include <latchkey/session.h>\nlk_api first;\nlk_session_api second;\n"
    return subprocess.run(
        ["clang", "-std=c11", f"-I{include}", "-fsyntax-only", "-x", "c", *options, "-"],
        input=source, check=True, capture_output=True, text=True).stdout


def version(include: Path) -> str:
    source = '#include <latchkey/session.h>\n"numbers" LK_API_VERSION LK_SESSION_API_VERSION\n'
    text = subprocess.run(["clang", f"-I{include}", "-E", "-P", "-x", "c", "-"], input=source,
                          check=True, capture_output=True, text=True).stdout
    of_level1, of_level2 = text.rsplit('"numbers"', 1)[1].split()
    assert of_level1 == of_level2, "both tables have one number"
    return of_level1.rstrip("u")


def structs(include: Path) -> list[str]:
    """Those of the library, each as clang lays it out, sorted by name."""
    found = {}
    for block in clang(include, "-Xclang", "-fdump-record-layouts-complete").split("\n\n"):
        lines = block.strip().splitlines()[1:]
        if lines and (name := re.search(r"\bstruct (lk_\w+)$", lines[0])):
            found[name[1]] = "\n".join(line.rstrip() for line in lines)
    return [found[name] for name in sorted(found)]


def enumerators(include: Path) -> list[str]:
    """"LK_NAME = value", sorted by name."""
    found = []
    for one in json.loads(clang(include, "-Xclang", "-ast-dump=json"))["inner"]:
        value = -1
        for member in one.get("inner", []) if one["kind"] == "EnumDecl" else []:
            if member["kind"] == "EnumConstantDecl":
                given = [inner["value"] for inner in member.get("inner", []) if "value" in inner]
                value = int(given[0]) if given else value + 1
                found.append(f"{member['name']} = {value}")
    return sorted(line for line in found if line.startswith("LK_"))


def layout(include: Path) -> str:
    parts = [f"LK_API_VERSION {version(include)}", *structs(include),
             "\n".join(enumerators(include))]
    return "\n\n".join(parts) + "\n"


def test_layout_has_its_own_number():
    found = layout(INCLUDE)
    if os.environ.get("LK_LAYOUT") == "record":
        RECORDED.write_text(found)
    recorded = RECORDED.read_text()
    number, was = found.split("\n", 1)[0], recorded.split("\n", 1)[0]
    if found != recorded:
        changed = set(found.splitlines()) ^ set(recorded.splitlines())
        pytest.fail(
            f"the headers have another layout than layout.txt has for {was}"
            + (": raise LK_API_VERSION, then record it (see the top of this file)\n"
               if number == was else ", and another number: record it (see the top of this file)\n")
            + "\n".join(sorted(changed)[:20]))


@pytest.mark.parametrize("header, old, new", [
    ("context.h", "  uint64_t reorders; ", "  uint64_t more, reorders; "),  # a member
    ("context.h", "  int32_t threads; ", "  int64_t threads; "),  # a type
    ("latchkey.h", "  void (*context_destroy)(lk_context *context);\n", ""),  # a function
    ("latchkey.h", "  int32_t (*context_threads)(const lk_context *context);",
     "  int32_t (*context_threads)(const lk_context *context, int which);"),  # its parameters
    ("context.h", "LK_LOG_OFF = -1", "LK_LOG_OFF = -2"),  # an enumerator
    ("node.h", "LK_INPUT_COPY = 2", "LK_INPUT_COPY = 4"),
])
def test_changes_are_seen(tmp_path, header, old, new):
    copy = tmp_path / "include" / "latchkey"
    copy.mkdir(parents=True)
    for path in (INCLUDE / "latchkey").glob("*.h"):
        (copy / path.name).write_text(path.read_text())
    text = (copy / header).read_text()
    assert old in text
    (copy / header).write_text(text.replace(old, new, 1))
    assert layout(tmp_path / "include") != layout(INCLUDE)
