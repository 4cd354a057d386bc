"""The reference of the C interface: a Markdown page for each public header.

clang says what is declared and where (its syntax tree as JSON); what the pages say of it is the
text of the header: each declaration as it is written, with its comment. A comment belongs to what
begins on the line behind it, or to what ends on its own first line.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMMENT = r"/\*(?:(?!\*/).)*\*/"
SECTION = re.compile(r"^/\* -{4,} (.*?) -+ \*/$", re.MULTILINE)
MACRO = re.compile(r"^#define (LK_\w+)((?:\([^)\n]*\))?)((?:[^\\\n]|\\\n|\\.)*)$", re.MULTILINE)
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1$", re.MULTILINE)


@dataclass
class Declaration:
    """Something that a header declares. `signatures` are C, one for each name that one statement
    declares; `comment` is Markdown."""

    kind: str  # of Sphinx's C domain: struct, type, enum, enumerator, member, function, macro
    names: list[str]
    signatures: list[str]
    comment: str
    offset: int
    members: list[Declaration] = field(default_factory=list)


# ---- comments ------------------------------------------------------------------------------------


def text_of(comment: str) -> str:
    """The lines of a C comment without its marks."""
    body = comment.removeprefix("/*").removesuffix("*/")
    lines = [re.sub(r"^\s*\* ?", "", line) if line.lstrip().startswith("*") else line.strip()
             for line in body.split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip()


def escaped(prose: str) -> str:
    """Markdown that shows prose as it is. Words with an underscore are names of C, and become code,
    which the site links."""
    parts = re.split(r"(`[^`]+`|(?<![\w*-])\w*[A-Za-z0-9]_\w+(?!\w*\*))", prose)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"([\\*_<>\[\]|#$])", r"\\\1", part)
        elif not part.startswith("`"):
            parts[i] = f"`{part}`"
    return "".join(parts)


def markdown_of(comment: str) -> str:
    """Markdown of a comment. Lines that are indented are a block of their own."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text_of(comment)):
        prose: list[str] = []
        block: list[str] = []
        for line in paragraph.split("\n"):
            if line.startswith("  "):
                block.append(line)
                continue
            if block:
                paragraphs += [escaped("\n".join(prose)), fenced(block)]
                prose, block = [], []
            prose.append(line)
        paragraphs.append(escaped("\n".join(prose)))
        if block:
            paragraphs.append(fenced(block))
    return "\n\n".join(part for part in paragraphs if part.strip())


def fenced(lines: list[str]) -> str:
    return "```text\n" + "\n".join(lines) + "\n```"


def comment_at(text: str, begin: int, end: int) -> str:
    """The comments of what lies in text[begin:end]: before it, and behind it on its last line."""
    found = []
    before = text[:text.rfind("\n", 0, begin) + 1]
    before = re.sub(r"(^[ \t]*(//[^\n]*|#if[^\n]*|#elif[^\n]*)\n)+\Z", "", before,
                    flags=re.MULTILINE)
    match = re.search(rf"^[ \t]*({COMMENT})[ \t]*\n\Z", before, re.MULTILINE | re.DOTALL)
    # The last of several: a match that begins at an earlier comment would span code.
    if match and not SECTION.search(match[1]):
        found.append(match[1])
    behind = re.compile(rf"[ \t]*[;,]?[ \t]*({COMMENT})", re.DOTALL).match(text, end)
    if behind:
        found.append(behind[1])
    return "\n\n".join(markdown_of(comment) for comment in found)


# ---- headers -------------------------------------------------------------------------------------


def headers_of(include: Path) -> list[Path]:
    """Those that have a page. latchkey/onednn*.h have none: they are inline functions over the
    oneDNN of whoever includes them, and clang reads them only where there is one. Pages that link
    to them get their text."""
    return [header for header in sorted((include / "latchkey").glob("*.h"))
            if not header.name.startswith("onednn")]


# ---- what clang says -----------------------------------------------------------------------------


def syntax_tree(header: Path, include: Path) -> list[dict[str, Any]]:
    """The declarations of a header and what it includes. Every location has its file."""
    done = subprocess.run(
        ["clang", "-x", "c", "-std=c17", "-fsyntax-only", "-Xclang", "-ast-dump=json",
         "-I", include, header], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"failed to read {header}: {done.stderr.strip()}")
    last = ""

    def locate(node: dict[str, Any]) -> dict[str, Any]:
        """clang names a file only where it is another than in the location before."""
        nonlocal last
        if "offset" in node:
            last = node.setdefault("file", last)
        return node

    return list(json.loads(done.stdout, object_hook=locate)["inner"])


def extent(node: dict[str, Any]) -> tuple[str, int, int]:
    """File, begin and end of a node as it is written, macros not expanded."""
    begin, end = (node["range"][which] for which in ("begin", "end"))
    begin = begin.get("expansionLoc", begin)
    end = end.get("expansionLoc", end)
    if "offset" not in begin or "offset" not in end:
        return "", 0, 0
    return begin["file"], begin["offset"], end["offset"] + end["tokLen"]


def one_line(code: str) -> str:
    code = re.sub(COMMENT, " ", code, flags=re.DOTALL)
    code = re.sub(r"\bLK_(?:EXPORT|EXTENSION|MUST_USE)\b", " ", code)
    return re.sub(r"\s+", " ", code).replace("( ", "(").strip().rstrip(";,").strip()


def split_declarators(statement: str) -> list[str]:
    """`const char *a, *b` as `const char *a` and `const char *b`."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(statement):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(statement[start:i].strip())
            start = i + 1
    parts.append(statement[start:].strip())
    if len(parts) == 1:
        return parts
    base = re.sub(r"\**\w+(\[[^\]]*\])*$", "", parts[0]).strip()
    return [parts[0]] + [f"{base} {part}" for part in parts[1:]]


def members_of(record: dict[str, Any], text: str) -> Iterator[Declaration]:
    """The fields of a struct; what one statement declares is one."""
    statements: dict[int, list[dict[str, Any]]] = {}
    for node in record.get("inner", []):
        if node["kind"] == "FieldDecl":
            statements.setdefault(extent(node)[1], []).append(node)
    for begin, nodes in statements.items():
        end = extent(nodes[-1])[2]
        yield Declaration("member", [node["name"] for node in nodes],
                          split_declarators(one_line(text[begin:end])),
                          comment_at(text, begin, end), begin)


def enumerators_of(enum: dict[str, Any], text: str) -> Iterator[Declaration]:
    for node in enum.get("inner", []):
        if node["kind"] != "EnumConstantDecl":
            continue
        name = node["name"]
        listed = re.search(rf"^ *X\({name}, *(\w+),(.*)\)[ \t]*({COMMENT})?[ \t]*\\?$", text,
                           re.MULTILINE)
        if listed:  # a row of a list: its last column is a text or a name
            what = listed[2].split(",")[-1].strip().strip('"')
            more = f": {markdown_of(listed[3])}" if listed[3] else ""
            yield Declaration("enumerator", [name], [name], f"{listed[1]}: {what}{more}",
                              listed.start())
        else:
            _, begin, end = extent(node)
            value = one_line(text[begin:end]).partition("=")[2].strip()
            comment = comment_at(text, begin, end)
            yield Declaration("enumerator", [name], [name],
                              ": ".join(part for part in (escaped(value), comment) if part), begin)


def macros_of(text: str) -> Iterator[Declaration]:
    guards = {match[1] for match in GUARD.finditer(text)}
    seen = set()
    for match in MACRO.finditer(text):
        name, parameters, value = match.groups()
        if name in guards or name in seen or name.endswith("_ENUM"):
            continue
        seen.add(name)
        comment = comment_at(text, match.start(), match.start() + len(match[0]))
        value = one_line(value)
        inline = None if "\\\n" in match[3] else re.search(COMMENT, match[3])
        if inline:
            comment = "\n\n".join(part for part in (comment, markdown_of(inline[0])) if part)
        if value and "\\" not in match[3]:
            comment = f"`{value}`\n\n{comment}".strip()
        yield Declaration("macro", [name], [name + parameters], comment, match.start())


def declarations(header: Path, include: Path) -> list[Declaration]:
    """All that a header declares itself, in its order."""
    text = header.read_text()
    found: list[Declaration] = list(macros_of(text))
    tags: dict[str, dict[str, Any]] = {}  # structs and enums by their tags
    for node in syntax_tree(header, include):
        file, begin, end = extent(node) if "range" in node else ("", 0, 0)
        if not file or Path(file).resolve() != header.resolve():
            continue
        begin = text.rfind("\n", 0, begin) + 1  # with a macro in front
        comment = comment_at(text, begin, end)
        name = node.get("name", "")
        if node["kind"] in ("RecordDecl", "EnumDecl"):
            tags[name] = node
        elif node["kind"] == "FunctionDecl":
            found.append(Declaration("function", [name], [one_line(text[begin:end])], comment,
                                     begin))
        elif node["kind"] == "TypedefDecl" and name in tags:
            tag = tags[name]
            is_enum = tag["kind"] == "EnumDecl"
            inner = (enumerators_of if is_enum else members_of)(tag, text)
            found.append(Declaration("enum" if is_enum else "struct", [name], [name], comment,
                                     begin, list(inner)))
        elif node["kind"] == "TypedefDecl":
            signature = one_line(text[begin:end]).removeprefix("typedef ")
            found.append(Declaration("type", [name], [signature], comment, begin))
    return sorted(found, key=lambda one: one.offset)


# ---- pages ---------------------------------------------------------------------------------------


def directive(one: Declaration, fence: int) -> str:
    inside = [one.comment] if one.comment else []
    inside += [directive(member, fence - 1) for member in one.members]
    marks = "`" * fence
    signatures = "\n".join(one.signatures)
    return f"{marks}{{c:{one.kind}}} {signatures}\n\n" + "\n\n".join(inside) + f"\n{marks}\n"


def page(header: Path, include: Path) -> str:
    """The page of one header, as Markdown for MyST."""
    text = header.read_text()
    first = re.match(COMMENT, text, re.DOTALL)
    parts = [f"# {header.parent.name}/{header.name}\n"]
    if first:
        parts.append(markdown_of(first[0]) + "\n")
    items: list[tuple[int, str]] = [(match.start(), f"## {match[1][0].upper()}{match[1][1:]}\n")
                                    for match in SECTION.finditer(text)]
    items += [(one.offset, directive(one, 6)) for one in declarations(header, include)]
    return "\n".join(parts + [part for _, part in sorted(items)])


def summary(header: Path) -> str:
    """The first sentence of a header's comment, on one line."""
    first = re.match(COMMENT, header.read_text(), re.DOTALL)
    prose = " ".join(text_of(first[0]).split()) if first else ""
    return escaped(re.split(r"(?<=[.:])\s", prose)[0].rstrip(":"))


def index(headers: list[Path]) -> str:
    """The page that lists the headers, whose pages lie beside it."""
    rows = [f"| [{header.name}]({header.stem}.md) | {summary(header)} |" for header in headers]
    names = "\n".join(header.stem for header in headers)
    return ("# The C interface\n\n"
            "Made from the headers, which are the contract. Programs include `latchkey.h`, or "
            "`session.h` for whole models; these bring the others.\n\n"
            "| header | what it declares |\n|---|---|\n" + "\n".join(rows) +
            f"\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n")
