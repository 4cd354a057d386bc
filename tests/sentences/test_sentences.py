"""What users are told when something is refused: sentences.txt holds each sentence of a list of bad
inputs, so that a change of words is seen in review, and read among the others.

`LK_TEST_RECORD_SENTENCES=1 ctest --preset development -R sentences_test_sentences` writes it anew.
Tests elsewhere need not repeat the words: they assert the status, and the names and numbers in it.
"""

import os
import re
from pathlib import Path

import pytest
from commands import COMMANDS
from files import FILES
from interface import INTERFACE
from models import MODELS
from nodes import NODES
from options import OPTIONS
from provider import PROVIDER
from runs import RUNS

RECORD = Path(os.environ.get("LK_TEST_SOURCE", Path(__file__).parents[2]),
              "tests/sentences/sentences.txt")
GROUPS = {"command": COMMANDS, "file": FILES, "interface": INTERFACE, "model": MODELS,
          "node": NODES, "option": OPTIONS, "provider": PROVIDER, "run": RUNS}


def sentence_of(attempt, folder):
    """What is said, without what another machine or another run has otherwise."""
    try:
        said = attempt()
    except Exception as error:  # which kinds are raised is shown by tests/python
        said = str(error.args[0]) if isinstance(error, KeyError) else str(error)
    assert said and isinstance(said, str), "nothing was refused"
    said = re.sub(r"^.*\[ONNXRuntimeError\].*?(?=failed to)", "", said.strip())
    said = re.sub(r"it is not JSON: .*", "it is not JSON: REASON", said)  # Python's
    return said.replace(str(folder), "FOLDER")


def attempts():
    return {f"{group}: {name}": attempt for group, tries in GROUPS.items()
            for name, attempt in tries.items()}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    back = os.getcwd()
    os.chdir(folder)  # where the attempts put their files
    try:
        accepted, found = [], {}
        for name, attempt in attempts().items():
            try:
                found[name] = sentence_of(attempt, folder)
            except AssertionError:
                accepted.append(name)
    finally:
        os.chdir(back)
    assert not accepted, f"these were not refused: {accepted}"
    return found


def test_the_words_are_those_of_the_file(said):
    text = "\n".join(f"{name}\n    {said[name]}\n" for name in sorted(said))
    if os.environ.get("LK_TEST_RECORD_SENTENCES"):
        RECORD.write_text(text, encoding="utf-8")
    assert RECORD.read_text(encoding="utf-8") == text


def test_each_has_the_form(said):
    """ "failed to <verb> <what>: <what was found>, <what is allowed>"; no type by its number
    in place of its name, and nothing that was cut off."""
    for name, sentence in said.items():
        if "unrecognized option" in sentence:  # of the C library
            continue
        assert re.search(r"\bfailed to [a-z]+.*?: \S", sentence), (name, sentence)
        assert not re.search(r"element type \d", sentence), (name, sentence)
        assert not re.search(r"\dx?:\?", sentence), (name, sentence)  # a shape without a type
        unclear = (r"(?<!there )\bis no(ne)?\b|\bno regular\b"
                   r"|\bto (\d+), and at most \1\b")
        assert not re.search(unclear, sentence), (name, sentence)
        assert len(sentence.encode()) < 511, (name, sentence)
        assert sentence[-1] not in ".,;:", (name, sentence)


def test_there_are_many(said):
    assert len(said) >= 150
