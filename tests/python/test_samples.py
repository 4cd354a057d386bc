"""Every sample of README.md and docs/ is run as it stands there, in a folder with small models.

What is a sample, by its first line or by the language of its fence:

    python              a program of its own, or what goes on from those before it on the page
    c with `main`       compiled and run
    cpp                 compiled and run as C++
    c without           a fragment: compiled within a function
    c PATH              a part of that file (tests/tools/test_docs.py)
    latchkey, python    commands of an indented block, each line that begins so; the others are what
                        it prints
    make, pip, ...      building and installing, which the tests of these do (test_docs.py looks
                        whether the names exist)
    text, none          no sample

A block of anything else needs a line `<!-- not run: REASON -->` before it, and is counted. Commands
take the time that they need: of what is sent for seconds or by hundreds, a part is.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy
import onnx
import pytest
from conftest import BUILD, ROOT, make_model, random
from onnx import TensorProto, helper, numpy_helper

import latchkey
from latchkey.commands import COMMANDS

NOT_RUN = 26  # blocks with a reason

FENCE = re.compile(r"^(`{3,})([^`\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}\S.*\n(?:\n(?= {4}))?)(?: {4}.*\n(?:\n(?= {4}\S))?)*")
MARK = re.compile(r"<!-- not run: (.*) -->\n*\Z")
BUILDING = ("make", "pip", "cc", "c++", "export", "cmake", "sudo", "tools/", "benchmarks/run",
            ".venv/bin/python")
SHORTER = ((r"--seconds \d+", "--seconds 1"), (r"--warmup \d+", "--warmup 0"),
           (r"--requests \d+", "--requests 5"), (r"--duration \d+", "--duration 0.1"))

# Names that the fragments of C use: those of the program around them.
AROUND = """\
#include <latchkey/session.h>
#include <stdio.h>
#include <stdlib.h>
static const lk_api *api;
static lk_context *context;
static lk_executor *executor;
static lk_frame *frame;
static lk_plan *plan;
static uint32_t slot;
static lk_error error;
static void *const *inputs, *const *outputs;
static void check(lk_status status, const char *doing) {
  if (status != LK_OK) fprintf(stderr, "%s\\n", doing);
}
void fragment(void);
void fragment(void) {
  (void)api, (void)context, (void)executor, (void)frame, (void)plan, (void)slot, (void)error;
  (void)inputs, (void)outputs, (void)check;
  {
"""

# What a sample prints, where its page says it.
PRINTS = {
    ("README.md", "python", 0): "[[0. 2. 0.]] 1\n",
    ("README.md", "program", 0): "0 2 0\n",
    ("docs/start/python.md", "python", 0):
        "(ValueInfo(name='x', dtype=dtype('float32'), shape=('rows', 3)),)\n[[0. 2. 0.]]\n",
    ("docs/start/python.md", "python", 1): "3 built, 1 found\n",
    ("docs/start/onnxruntime.md", "python", 0): "[[0. 2. 0.]]\n",
    ("docs/start/onnxruntime.md", "python", 1): "1 of 1 nodes\n",
    ("docs/start/c_session.md", "program", 0): "0 2 0\n",
    ("docs/start/c_executor.md", "program", 0): "0 0 4\n",
    ("docs/languages.md", "program of C++", 0): "0 2 0\n",
}


@dataclass
class Sample:
    page: str
    line: int
    kind: str  # python, program, fragment, commands, or why it is not run
    text: str
    number: int = 0  # among those of its kind on the page

    def __str__(self):
        return f"{self.page}:{self.line}"


def kind_of(language, text, reason):
    first = text.lstrip("\n").split(" ", 1)[0].split("\n", 1)[0]
    if reason is not None:
        return f"not run: {reason}"
    if language == "python":
        return language
    if language == "c":
        return "program" if "int main(" in text else "fragment"
    if language == "cpp":
        return "program of C++"
    if re.fullmatch(r"c \S+", language):
        return "quoted"
    if language in ("", "text"):
        return "no sample"
    if language != "indented":
        return "unknown"
    if first in ("latchkey", "build/latchkey", "python"):
        return "commands"
    return "building" if first.startswith(BUILDING) else "unknown"


def samples(page, text):
    found = []
    blocks = [(match.start(), match[2].strip(), match[3]) for match in FENCE.finditer(text)]
    prose = FENCE.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), text)
    blocks += [(match.start(), "indented", re.sub("^ {4}", "", match[0], flags=re.MULTILINE))
               for match in INDENTED.finditer(prose)]
    for start, language, block in sorted(blocks):
        mark = MARK.search(text[:start])
        kind = kind_of(language, block, mark[1] if mark else None)
        number = sum(other.kind == kind for other in found)
        found.append(Sample(page, text.count("\n", 0, start) + 1, kind, block, number))
    return found


PAGES = {str(path.relative_to(ROOT)): path.read_text()
         for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
SAMPLES = [sample for page, text in PAGES.items() for sample in samples(page, text)]


def of_kind(*kinds):
    return pytest.mark.parametrize(
        "sample", [sample for sample in SAMPLES if sample.kind in kinds], ids=str)


# ---- the models ----------------------------------------------------------------------------------


def two_inputs():
    """What models of texts take: ids and a mask of the same shape."""
    shape = ["batch", "length"]
    return make_model([helper.make_node("Mul", ["ids", "mask"], ["y"])],
                      [("ids", TensorProto.INT64, shape), ("mask", TensorProto.INT64, shape)],
                      [("y", TensorProto.INT64, shape)])


def write_case(folder, model):
    """A test case as ONNX's package has them."""
    x = random(2, 3)
    (folder / "test_data_set_0").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model)
    for name, label, value in (("input_0.pb", "x", x), ("output_0.pb", "y", numpy.maximum(x, 0))):
        tensor = numpy_helper.from_array(value, label)
        (folder / "test_data_set_0" / name).write_bytes(tensor.SerializeToString())


def write_recordings(folder, model):
    for name in ("run", "before", "after"):
        with latchkey.Session(model) as session, latchkey.Recorder(
                session, path=folder / f"{name}.json") as recorder:
            recorder.run({"x": random(1, 3, 8, 8)})


@pytest.fixture
def folder(tmp_path, sample, relu, convnet):
    """Where a reader would be, with the models that the page speaks of."""
    (tmp_path / "model.onnx").write_bytes(relu)
    for name in ("rec.onnx", "det.onnx", "edited.onnx"):
        (tmp_path / name).write_bytes(convnet)
    (tmp_path / "bert.onnx").write_bytes(two_inputs())
    numpy.save(tmp_path / "line.npy", random(1, 3, 48, 64))
    write_case(tmp_path / "onnx/backend/test/data/node/test_relu", relu)
    if "latchkey report" in sample.text:
        write_recordings(tmp_path, convnet)
    (tmp_path / "build").symlink_to(BUILD)
    return tmp_path


def run(arguments, folder, **options):
    path = f"{BUILD}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=300,
                          check=False, env={**os.environ, "PATH": path}, **options)
    assert done.returncode == 0, f"{arguments}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check_prints(sample, printed):
    expected = PRINTS.get((sample.page, sample.kind, sample.number))
    assert expected is None or printed == expected


# ---- the samples ---------------------------------------------------------------------------------


@of_kind("python")
def test_python(sample, folder):
    """With the samples before it on the page, as a reader has run them."""
    before = [other.text for other in SAMPLES if other.kind == "python" and
              other.page == sample.page and other.number < sample.number]
    if sample.text.startswith(("import ", "from ")):
        before = []  # a program of its own
    program = "\n".join([*before, sample.text])
    check_prints(sample, run([sys.executable, "-c", program], folder))
    if "onnx.save" in sample.text:
        onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check=True)


# Programs that use sessions are for readers who write C++, too.
@of_kind("program", "program of C++")
def test_c_programs(sample, folder):
    (folder / "example.c").write_text(sample.text)
    languages = [["cc", "-std=c17"]] if sample.kind == "program" else []
    if "session.h" in sample.text:
        languages.append(["c++", "-x", "c++", "-std=c++17", "-Wpedantic",
                          "-Wno-missing-field-initializers"])
    for compiler in languages:
        run([*compiler, "-Wall", "-Wextra", "-Werror", "example.c", "-I", ROOT / "include",
             "-L", BUILD, f"-Wl,-rpath,{BUILD}", "-llatchkey", "-o", "example"], folder)
        check_prints(sample, run(["./example"], folder))
    if "model.onnx" in sample.text:
        (folder / "model.onnx").unlink()
        failed = subprocess.run(["./example"], cwd=folder, capture_output=True, text=True,
                                timeout=120, check=False)
        assert failed.returncode != 0 and failed.stdout == "" and "model.onnx" in failed.stderr


@of_kind("fragment")
def test_c_fragments(sample, folder):
    """Each says something by itself, so what it declares and does not use is no fault."""
    (folder / "fragment.c").write_text(f"{AROUND}{sample.text}  }}\n}}\n")
    run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-c", "fragment.c",
         "-I", ROOT / "include"], folder)


@of_kind("commands")
def test_commands(sample, folder):
    text = re.sub(r"\\\n *", "", sample.text)
    commands = [re.sub(r"^build/", "", line) for line in text.splitlines()
                if re.match(r"((build/)?latchkey|python) ", line)]
    assert commands
    for command in commands:
        command = re.sub(r" {3,}\S.*", "", command)  # what it is for
        if command.split()[1] in COMMANDS:  # those that the package brings
            command = f"python -m {command}"
        for long, short in SHORTER:
            command = re.sub(long, short, command)
        assert run(["bash", "-c", command], folder)


def test_every_block_is_known():
    unknown = [str(sample) for sample in SAMPLES if sample.kind == "unknown"]
    assert not unknown, f"these blocks neither run nor have a reason: {', '.join(unknown)}"


def test_what_is_not_run_is_counted():
    left = [sample for sample in SAMPLES if sample.kind.startswith("not run")]
    assert len(left) == NOT_RUN, "\n".join(f"{sample} {sample.kind}" for sample in left)
    assert all(len(sample.kind.split()) > 4 for sample in left)


def test_what_is_printed_belongs_to_a_sample():
    there = {(sample.page, sample.kind, sample.number) for sample in SAMPLES}
    assert set(PRINTS) <= there, set(PRINTS) - there


# ---- the rules themselves ------------------------------------------------------------------------

PAGE = """\
Text.

    make demo

- a list

      with a block of its own

```python
print(1)

    indented within
```

    latchkey ops
      what it prints

<!-- not run: it is long -->

    some output

    other output

```c base/status.c
int x;
```

```c
int main(void) {}
```

```c
x();
```
"""


def test_kinds_of_blocks():
    found = samples("p.md", PAGE)
    assert [(sample.line, sample.kind) for sample in found] == [
        (3, "building"), (9, "python"), (15, "commands"), (20, "not run: it is long"),
        (24, "quoted"), (28, "program"), (32, "fragment")]
    assert found[3].text == "some output\n\nother output\n"
    assert samples("p.md", "x\n\n    some output\n")[0].kind == "unknown"
    assert samples("p.md", "```cpp\nx\n```\n")[0].kind == "program of C++"
    assert samples("p.md", "```rust\nx\n```\n")[0].kind == "unknown"
