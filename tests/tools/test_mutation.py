"""What `make mutate` takes a source for, and what the kept lists of it and of `make coverage` must
refuse."""

import importlib.machinery
import importlib.util
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "mutation"))

import draw
import equal
import units
import unreached
from mutants import applied, mutants_of
from wait import until, with_more_time

SOURCE = """\
#include <a+b.h>
#define LIMIT (1 + 2)
static const int table[] = {3};
/* a < b && c */
static int *first(int *from, int n); // n <= 1
int count(struct list *list, int n) {
  if (n >= list->length && !list->open) return LK_OK;
  lock(&list->mutex);
  const char *text = "a == b";
  for (int i = 0; i < n; i++) last = -list->items[i];
  return true;
}
"""


def changes(text, path="a.c"):
    return {(mutant.line, mutant.before, mutant.after) for mutant in mutants_of(path, text)}


def test_every_kind_of_change_is_made():
    assert changes(SOURCE) == {
        (3, "3", "4"), (3, "3", "2"),
        (7, ">=", ">"), (7, ">=", "<"), (7, "&&", "||"), (7, "!", ""), (7, "LK_OK", "LK_INTERNAL"),
        (8, "lock(&list->mutex)", "(void)0"),
        (10, "0", "1"), (10, "<", "<="), (10, "<", ">="), (10, "++", "--"),
        (11, "true", "false"),
    }


@pytest.mark.parametrize("statement", [
    "if (a) {}", "while (a) {}", "int x = f(a);", "return f(a);", "char *s = \"f(1);\";",
    "/* f(1); */", "// f(1);", "f(a)->b = c;", "sizeof(a);", "assert(a);", "int *p, **q;",
])
def test_what_is_no_call_is_not_dropped(statement):
    found = mutants_of("a.c", f"void g(void) {{\n  {statement}\n}}\n")
    assert [mutant for mutant in found if mutant.kind in ("call", "arithmetic")] == []


def test_a_change_is_where_it_says():
    for mutant in mutants_of("a.c", SOURCE):
        text = applied(mutant, SOURCE)
        assert len(text) - len(SOURCE) == len(mutant.after) - len(mutant.before)
        line = SOURCE.splitlines()[mutant.line - 1]
        assert mutant.before in line
        assert mutant.block == ((3, 3) if mutant.line == 3 else (6, 12))


def order(seed, **files):
    """The draw of a seed from some files: (file, line before, line after) of each mutant."""
    by_kind = {}
    for path, text in files.items():
        for key, mutant in draw.keyed(seed, mutants_of(path, text), text):
            by_kind.setdefault(mutant.kind, []).append((key, mutant))
    return [(mutant.path, *equal.texts_of(mutant, files[mutant.path]))
            for mutant in draw.draws(seed, by_kind)]


def many(first, last):
    """A function of lines that differ."""
    return "int f(int a) {\n" + "".join(
        f"  if (a < {n} && a + {n} != g({n})) h(a, {n});\n" for n in range(first, last)) + "}\n"


def test_a_draw_has_each_mutant_once_and_follows_its_seed():
    text = many(1, 30)
    drawn = order(1, a=text)
    assert len(drawn) == len(mutants_of("a", text)) == len(set(drawn))
    assert drawn == order(1, a=text)
    assert drawn != order(2, a=text)


def test_a_change_of_the_product_alters_a_draw_by_little():
    before = order(1, a=many(1, 100), b=many(100, 200))[:200]
    moved = "\n\nint first(void) { return 0; }\n" + many(1, 100).replace("  if", "      if")
    after = order(1, a=moved, b=many(103, 203))[:200]
    assert len(set(before) & set(after)) >= 180
    # Lines that are equal are mutants of their own.
    twice = order(1, a="int f(int a) {\n  if (a < 1) g(a);\n  if (a < 1) g(a);\n}\n")
    assert len(twice) == 2 * len(set(twice))


def test_lists_of_equal_programs_are_read(tmp_path):
    kept = tmp_path / "equal.txt"
    kept.write_text("# why\n\na.c\n- if (n  >= 1) f();\n+ if (n > 0) f();\n  n is a whole\n"
                    "  number\n")
    [entry] = equal.read(kept)
    assert (entry.path, entry.before, entry.after) == ("a.c", "if (n >= 1) f();", "if (n > 0) f();")
    assert entry.reason == "n is a whole number"
    (tmp_path / "a.c").write_text("  if (n >=\n 1) f();\n")
    assert equal.stale([entry], tmp_path, "equal.txt") == []
    (tmp_path / "a.c").write_text("if (n > 1) f();\n")
    assert equal.stale([entry], tmp_path, "equal.txt") == [
        "equal.txt:3: a.c has no line `if (n >= 1) f();`"]


def test_an_equal_program_needs_a_reason(tmp_path):
    kept = tmp_path / "equal.txt"
    kept.write_text("a.c\n- if (n >= 1) f();\n+ if (n > 0) f();\n")
    with pytest.raises(ValueError, match="equal.txt:1: "):
        equal.read(kept)


def test_a_mutant_is_listed_by_its_lines():
    text = "int f(int a) {\n  g(a,\n    b);\n  return a;\n}\n"
    [mutant] = [one for one in mutants_of("a.c", text) if one.kind == "call"]
    assert equal.texts_of(mutant, text) == ("g(a, b);", "(void)0;")


REPORT = [{
    "file": "a.c",
    "functions": [{"name": "used", "execution_count": 3}, {"name": "spare", "execution_count": 0},
                  {"name": "twice", "execution_count": 0}, {"name": "twice", "execution_count": 2}],
    "lines": [{"line_number": 1, "count": 3}, {"line_number": 2, "count": 0}],
}]


@pytest.mark.parametrize("text, complaint", [
    ("a.c  spare  why", None),
    ('a.c  spare  why\na.c  "two();"  why', None),
    ("", "a.c: spare is never entered and not listed with a reason"),
    ("a.c  spare  why\na.c  spare", "not `<file>"),
    ("a.c  spare  why\na.c  spare  why", "stands there twice"),
    ("a.c  spare  why\na.c  used  why", "used: is entered now, or is gone"),
    ("a.c  spare  why\na.c  twice  why", "twice: is entered now, or is gone"),
    ("a.c  spare?  why\na.c  twice?  why", None),
    ("a.c  spare  why\na.c  gone?  why", "gone: is entered now, or is gone"),
    ("a.c  spare  why\nb.c  spare  why", "there is no such file"),
    ('a.c  spare  why\na.c  "one();"  why', "is reached now"),
    ('a.c  spare  why\na.c  "three();"  why', "no such line"),
])
def test_the_list_of_what_is_not_reached_is_of_now(tmp_path, text, complaint):
    (tmp_path / "a.c").write_text("one();\n two();\n")
    kept = tmp_path / "unreached.txt"
    kept.write_text(f"# comment\n{text}\n")
    found = unreached.complaints(kept, tmp_path, REPORT)
    assert len(found) == (0 if complaint is None else 1)
    assert complaint is None or complaint in found[0]


def command():
    """The command itself, as a module."""
    loader = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "tools/mutate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(module)
    return module


def test_a_row_is_reached_by_who_reads_the_table():
    """It has no code of its own; a function is reached where its lines are."""
    text = "int f(void) {\n  return a + b;\n}\nconst row of = {\n    12,\n};\n"
    known = {"plans": {"seconds": 2, "code": {"ops/a.c": [2], "ops/op_table.c": [7]},
                       "reached": {"ops/a.c": [2]}},
             "lists": {"seconds": 1, "code": {"ops/a.c": [2], "ops/op_table.c": [7]},
                       "reached": {"ops/op_table.c": [7]}}}
    reach = command().Reach(sorted(known), known)
    found = {mutant.line: reach.of(mutant) for mutant in mutants_of("ops/a.c", text)}
    assert found == {2: ["plans"], 5: ["lists", "plans"]}


def unit(script):
    return units.Unit("unit", ("sh", "-c", script), (), "/", ())


def test_a_unit_has_a_folder_of_its_own_with_a_short_path():
    """In the path of a socket there is room for 107 bytes."""
    ran = units.run(unit("touch $TMPDIR/file && echo $TMPDIR"), 60)
    folder = ran.said.strip()
    assert ran.status == 0
    assert len(folder) < len(tempfile.gettempdir()) + 20
    assert not Path(folder).exists()


def has_ended(pid):
    """The signal that ends a process is sent at once, and takes effect when the process is next
    on a processor."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_unit_that_does_not_end_is_ended_with_all_that_it_started():
    started = unit("sleep 1000 & echo $!; wait")
    ran = with_more_time(lambda seconds: units.run(started, seconds), lambda ran: ran.said, 0.5)
    assert ran.status is None
    until(lambda: has_ended(int(ran.said)))
