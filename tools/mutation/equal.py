"""The kept list of mutants that are the same program, each with the reason.

An entry has the file, the line before after "- ", the line after it after "+ ", then the reason on
lines that begin with two blanks; an empty line ends it. Blanks within lines count as one.
"""

import dataclasses
from pathlib import Path

from mutants import Mutant, applied


@dataclasses.dataclass(frozen=True)
class Entry:
    number: int  # its first line in the list
    path: str
    before: str
    after: str
    reason: str

    def key(self):
        return self.path, self.before, self.after


def one_line(text: str) -> str:
    return " ".join(text.split())


def texts_of(mutant: Mutant, text: str) -> tuple[str, str]:
    """The lines that a mutant is in, before and after."""
    first = text.rfind("\n", 0, mutant.start) + 1
    end = text.find("\n", mutant.end)
    end = len(text) if end < 0 else end
    new = applied(mutant, text)
    return one_line(text[first:end]), one_line(new[first:end + len(new) - len(text)])


def read(path: Path) -> list[Entry]:
    """All entries; ValueError with what is wrong and where."""
    entries, part = [], []
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            part.append((number, line))
            continue
        if part:
            lines = [text for _, text in part]
            if not (len(lines) >= 4 and lines[1].startswith("- ") and lines[2].startswith("+ ")
                    and all(one.startswith("  ") for one in lines[3:])):
                raise ValueError(f"{path.name}:{part[0][0]}: not a file, a line with -, a line "
                                 "with +, and the reason")
            entries.append(Entry(part[0][0], lines[0].strip(), one_line(lines[1][2:]),
                                 one_line(lines[2][2:]), one_line(" ".join(lines[3:]))))
            part = []
    return entries


def stale(entries: list[Entry], root: Path, name: str) -> list[str]:
    """Entries whose line is not in their file any more."""
    found = []
    for entry in entries:
        file = root / entry.path
        if not file.is_file() or entry.before not in one_line(file.read_text()):
            found.append(f"{name}:{entry.number}: {entry.path} has no line `{entry.before}`")
    return found
