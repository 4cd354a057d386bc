"""What Spin has searched: a digest of each model, with the code that it models.

A search takes seconds to minutes, and its answer changes only with the model and the functions that
its first comment names after "Models:". searched.txt has a digest of both for each model.
"""

import hashlib
import re
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCE = FOLDER.parent.parent
RECORD = FOLDER / "searched.txt"
TOOLS = [FOLDER / "sync.inc", FOLDER / "search.py"]  # what each search depends on


def modelled(model):
    """(file, function) of all that the model's first comment names after "Models:"."""
    (lines,) = re.findall(r"^ \* Models:\n((?: \*   .*\n)+)", model.read_text(), re.MULTILINE)
    found, file = [], None
    for line in lines.splitlines():
        words = line.removeprefix(" *").replace(",", " ").split()
        if "/" in words[0]:
            file = words.pop(0)
        found += [(file, word) for word in words]
    return found


def text_of(file, function):
    """The function's definition."""
    text = (SOURCE / file).read_text()
    found = re.search(rf"^[a-z][^;{{}}#\n]*\b{function}\([^;{{}}]*\)\s*{{.*?^}}", text,
                      re.MULTILINE | re.DOTALL)
    assert found, f"{file} has no function {function}"
    return found[0]


def digest(model):
    parts = [model.read_text(), *(tool.read_text() for tool in TOOLS),
             *(text_of(*named) for named in modelled(model))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def recorded():
    """The digest of each model by its name."""
    return dict(line.split() for line in RECORD.read_text().splitlines())


def record(models):
    RECORD.write_text("".join(f"{model.stem} {digest(model)}\n" for model in models))
