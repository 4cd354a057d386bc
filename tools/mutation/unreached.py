"""The kept list of functions that no test reaches, and of single lines, with the reasons.

A line of the list is `<file>  <function>  <reason>`, parted by two blanks or more; in place of a
function stands `"<text of a line>"` for all unreached lines with that text in the file. Every
function that no test enters must be in the list, and every entry must be of now. With `?` behind
it, a function may be entered, too: the machine decides.
"""

import re
from pathlib import Path


def entries_of(path: Path):
    """(number of the line, file, what, reason), or a complaint as a text."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r'(\S+) {2,}("[^\n]*?"|\w+\??) {2,}(\S.*)', line)
        if match:
            yield number, *match.groups()
        else:
            yield f"{path.name}:{number}: not `<file>  <function or \"line\">  <reason>`"


def functions_of(file) -> dict[str, int]:
    """Functions of a file in gcovr's JSON, and how often they were entered. One that is compiled
    several times counts as entered when one of them is."""
    counts = {}
    for function in file["functions"]:
        if function.get("gcovr/excluded"):  # inlined everywhere: it has no count of its own
            continue
        name = function.get("demangled_name") or function["name"]
        counts[name] = counts.get(name, 0) + function["execution_count"]
    return counts


def never_entered(file) -> set[str]:
    return {name for name, count in functions_of(file).items() if count == 0}


def complaints(path: Path, root: Path, files) -> list[str]:
    """What is wrong with the list, by what gcovr found."""
    found = []
    missing = {(file["file"], name) for file in files for name in never_entered(file)}
    known = {(file["file"], name) for file in files for name in functions_of(file)}
    counts = {file["file"]: {line["line_number"]: line["count"] for line in file["lines"]}
              for file in files}
    listed = set()
    for entry in entries_of(path):
        if isinstance(entry, str):
            found.append(entry)
            continue
        number, name, given, _ = entry
        what, may_be_entered = given.removesuffix("?"), given.endswith("?")
        where = f"{path.name}:{number}: {name}: {what}"
        if name not in counts:
            found.append(f"{where}: there is no such file, or it has no code")
        elif what.startswith('"'):
            text = (root / name).read_text().splitlines()
            lines = [line for line, written in enumerate(text, 1)
                     if written.strip() == what[1:-1] and line in counts[name]]
            if not lines:
                found.append(f"{where}: there is no such line with code")
            elif all(counts[name][line] for line in lines):
                found.append(f"{where}: is reached now: take it off the list")
        elif (name, what) in listed:
            found.append(f"{where}: stands there twice")
        elif may_be_entered and (name, what) in known:
            listed.add((name, what))
        elif (name, what) not in missing:
            found.append(f"{where}: is entered now, or is gone: take it off the list")
        else:
            listed.add((name, what))
    found += [f"{path.name}: {file}: {name} is never entered and not listed with a reason"
              for file, name in sorted(missing - listed)]
    return found
