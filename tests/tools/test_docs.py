"""What the pages name must exist: files, folders, functions, options, commands. A page is
README.md, CHANGELOG.md, what lies in docs/, or the README.md of a folder.

`complaints` is the check. The first test runs it over this repository, the others over small trees
that each break one rule.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LINE = 120
FILE = re.compile(r"\.(c|h|cc|cpp|inc|py|md|txt|cmake|json|toml|pml|map|supp|in)$")
# Names of others that pages speak of.
FOREIGN = {"optimized_model_filepath", "arena_extend_strategy", "tokenizer.json"}
FOREIGN_OPTIONS = {"cpus", "cpuset-cpus"}
PRODUCT = ("include", "base", "keys", "ops", "plugin", "executor_glue")


class Tree:
    """The files that git knows or would add, and the words in those that are no pages."""

    def __init__(self, root):
        self.root = root
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                                 "--exclude-standard"], cwd=root, check=True,
                                capture_output=True, text=True).stdout.split("\0")
        self.files = {name for name in listed if name and (root / name).is_file()}
        self.folders = {str(folder) for name in self.files for folder in Path(name).parents} - {"."}
        self.top = {folder for folder in self.folders if "/" not in folder}
        self.pages = sorted(name for name in self.files if name.endswith(".md") and (
            name == "CHANGELOG.md" or name.startswith("docs/") or Path(name).name == "README.md"))
        code = [self.read(name) for name in self.files
                if not name.endswith(".md") and not name.startswith("tests/tools/")]
        self.words = {word for text in code for word in re.findall(r"\w+", text)}
        self.options = {word for text in code
                        for word in re.findall(r"(?:[\"']|--)([a-z][a-z-]+)", text)}
        makefile = self.read("Makefile") if "Makefile" in self.files else ""
        self.tests = {".".join(name) for text in code for name in re.findall(
            r"^TEST(?:_[FP])?\((\w+), (\w+)\)", text, re.MULTILINE)}
        self.targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
        for line in re.findall(r"^SANITIZERS := (.*)$", makefile, re.MULTILINE):
            self.targets |= {f"test-{name}" for name in line.split()}
        ignored = self.read(".gitignore").split() if ".gitignore" in self.files else []
        self.made = {name.strip("/") for name in ignored} | {"build"}

    def read(self, name):
        return (self.root / name).read_bytes().decode(errors="replace")

    def has(self, page, name):
        """Whether a page may say `name`, of a file or a folder: the whole path, a public header, or
        what lies anywhere in the folder that the page is about or directly beside it. `<x>` and `*`
        stand for any part."""
        folder = Path(page).parent
        inside = "" if folder.parts[:1] in ((), ("docs",)) else f"{folder}/"
        beside = "" if len(folder.parts) < 2 else f"{folder.parent}/"
        parts = re.sub(r"<\w+>", "*", name).rstrip("/").split("*")
        pattern = ".*".join(re.escape(part) for part in parts)
        wanted = re.compile(f"(include/(latchkey/)?)?{pattern}|{inside}(.*/)?{pattern}|"
                            f"{beside}{pattern}")
        return any(wanted.fullmatch(known) for known in self.files | self.folders)


def braces(word):
    """`team.{h,c}` is team.h and team.c."""
    found = re.match(r"(.*)\{(\w+(?:,\w+)*)\}(.*)", word)
    return [found[1] + part + found[3] for part in found[2].split(",")] if found else [word]


def without_blocks(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def spans(text):
    """What stands in backticks, and the lines of indented blocks."""
    prose = without_blocks(text)
    return (re.findall(r"`([^`]+)`", prose) +
            [line.strip() for line in re.findall(r"^ {4}(\S.*)$", prose, re.MULTILINE)])


def paths(tree, text):
    """Words that can only be the names of files and folders of this repository."""
    top = "|".join(re.escape(folder) for folder in tree.top)
    found = set(re.findall(rf"(?<![\w./<~-])((?:{top})/[\w./<>{{}},*-]*[\w/>}}*])", text))
    names = {Path(folder).name for folder in tree.folders}
    for span in re.findall(r"`([^`]+)`", without_blocks(text)):
        for word in span.split():
            word = word.rstrip(",;:")
            is_path = re.fullmatch(r"\.?[\w<][\w<>.*{},/-]+", word)
            if is_path and not re.fullmatch(r"\.\w+", word) and (
                    FILE.search(word) or word.endswith("/") or word.endswith("}") and "." in word or
                    "/" in word and word.split("/")[0] in names):
                found.add(word)
    return {name for word in found for name in braces(word) if name.split("/")[0] not in tree.made}


def missing_files(tree, page, text):
    for link in re.findall(r"\]\(([^)#\s]+)", without_blocks(text)):
        if "://" not in link and not (tree.root / page).parent.joinpath(link).exists():
            yield f"no such file: {link}"
    for name in sorted(paths(tree, re.sub(r"\]\([^)]+\)", "]", text)) - FOREIGN):
        if not tree.has(page, name):
            yield f"no such file: {name}"


def missing_names(tree, text):
    for word in sorted(set(re.findall(r"\b(?:lk|LK|LATCHKEY)_\w+\*?", text))):
        if not (any(known.startswith(word[:-1]) for known in tree.words) if word.endswith("*")
                else word in tree.words):
            yield f"no such name: {word}"
    for span in spans(text):
        if re.fullmatch(r"(?!lk_)[a-z]+(_[a-z0-9]+)+", span) and span not in tree.words | FOREIGN:
            yield f"no such name: {span}"


def missing_commands(tree, text):
    for span in spans(text):
        for option in re.findall(r"(?:^|\s)--([a-z][a-z-]+)", span):
            if option not in tree.options | FOREIGN_OPTIONS:
                yield f"no such option: --{option}"
        for command in re.findall(r"^(?:build/)?latchkey ([a-z]+)", span):
            if command != "help" and not tree.files & {
                    f"executor_glue/cli/cmd_{command}.c", f"python/latchkey/commands/{command}.py"}:
                yield f"no such command: latchkey {command}"
        for target in re.findall(r"^make ([a-z][a-z-]*)", span):
            if target not in tree.targets:
                yield f"no such target: make {target}"
        for name in re.findall(r"^benchmarks/run ([a-z_]+)", span):
            if not {f"benchmarks/{name}.py", f"benchmarks/{name}.cc"} & tree.files:
                yield f"no such benchmark: {name}"


def missing_tests(tree, text):
    for span in spans(text):
        found = re.fullmatch(r"(?:[A-Z]\w+/)?([A-Z]\w+\.[A-Z]\w+)", span)  # as GoogleTest prints it
        if found and found[1] not in tree.tests:
            yield f"no such test: {span}"


def complaints(root):
    tree = Tree(root)
    for page in tree.pages:
        text = tree.read(page)
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > LINE and not line.startswith(("|", "<img ")):
                yield f"{page}:{number}: {len(line)} columns, {LINE} are allowed"
        for check in (missing_files(tree, page, text), missing_names(tree, text),
                      missing_commands(tree, text), missing_tests(tree, text)):
            yield from (f"{page}: {complaint}" for complaint in check)


def test_what_the_pages_name_exists():
    assert not (found := list(complaints(ROOT))), "\n" + "\n".join(found)


def test_quoted_code_is_the_code():
    """A block that names a file in docs/ is a part of that file."""
    found = 0
    for page in (ROOT / "docs").rglob("*.md"):
        for path, text in re.findall(r"^```c (\S+)\n(.*?)^```$", page.read_text(),
                                     re.MULTILINE | re.DOTALL):
            found += 1
            assert text in (ROOT / path).read_text(), f"{page.name} quotes {path}:\n{text}"
    assert found > 0


def test_folders_have_readmes():
    tree = Tree(ROOT)
    floors = {str(Path(name).parent) for name in tree.files
              if name.split("/")[0] in PRODUCT and name.endswith((".c", ".h"))}
    others = {"tests", "benchmarks", "examples", "python", "tools", "docs", "executor_glue"}
    missing = sorted(folder for folder in floors | others
                     if f"{folder}/README.md" not in tree.files)
    assert not missing, missing


def linked(page):
    """The files that a page links to."""
    return {(page.parent / link).resolve()
            for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()) if "://" not in link}


def test_every_page_of_docs_is_two_clicks_from_the_index():
    index = ROOT / "docs/README.md"
    near = linked(index)
    near |= {other for page in near if page.suffix == ".md" for other in linked(page)}
    pages = {page.resolve() for page in index.parent.rglob("*.md")} - {index.resolve()}
    assert pages <= near, pages - near


# ---- the check itself ----------------------------------------------------------------------------

CLEAN = {
    "README.md": "# It\n\n`make test`, `build/latchkey run MODEL --json`, [docs](docs/keys.md)\n",
    "Makefile": "SANITIZERS := asan\ntest: build\n",
    ".gitignore": "/.deps/\n",
    "docs/keys.md": "`lk_key_add`, `LK_OK`, `lk_key_*`, `keys/key.{h,c}`, `key.h`, "
                    "`latchkey/base.h`, `op_bind`\n",
    "docs/more.md": "`.deps/x.c`, `build/x.c`, `benchmarks/run hits`, `Key.IsPrinted`, "
                    "`latchkey draw MODEL --json`\n",
    "keys/README.md": "# keys\n\n`key.c`, `cache/`, `cache/<name>.c`, `cache/table.c` and "
                      "keys/cache: ops/conv.c.\n",
    "keys/cache/README.md": "`table.c`, `key.c`, `base.h`\n",
    "keys/key.h": "void lk_key_add(void);\n",
    "keys/key.c": "int LK_OK; int op_bind;\n",
    "keys/cache/table.c": "",
    "tests/README.md": "",
    "tests/key_test.cc": "TEST_F(Key, IsPrinted) {\n",
    "ops/conv.c": "",
    "include/latchkey/base.h": "",
    "benchmarks/hits.cc": "",
    "benchmarks/run": "",
    "executor_glue/cli/cmd_run.c": '{"json", 0}\n',
    "python/latchkey/commands/draw.py": "",
}


def found_in(folder, changes):
    for name, text in {**CLEAN, **changes}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    return list(complaints(folder))


def test_a_clean_tree_passes(tmp_path):
    assert found_in(tmp_path, {}) == []


@pytest.mark.parametrize("page, text, complaint", [
    ("README.md", "[keys](docs/gone.md)", "README.md: no such file: docs/gone.md"),
    ("README.md", "`make demo`", "README.md: no such target: make demo"),
    ("README.md", "`latchkey jump MODEL`", "README.md: no such command: latchkey jump"),
    ("README.md", "`latchkey run MODEL --jsn`", "README.md: no such option: --jsn"),
    ("README.md", "    latchkey run MODEL --jsn\n", "README.md: no such option: --jsn"),
    ("README.md", "`benchmarks/run gone`", "README.md: no such benchmark: gone"),
    ("README.md", "`Key.IsParsed`", "README.md: no such test: Key.IsParsed"),
    ("README.md", "`Rows/Key.IsParsed`", "README.md: no such test: Rows/Key.IsParsed"),
    ("CHANGELOG.md", "`lk_key_take`", "CHANGELOG.md: no such name: lk_key_take"),
    ("CHANGELOG.md", "LATCHKEY_GONE=1", "CHANGELOG.md: no such name: LATCHKEY_GONE"),
    ("docs/design/keys.md", "```c\nlk_key_take();\n```\n",
     "docs/design/keys.md: no such name: lk_key_take"),
    ("docs/keys.md", "`op_bound`", "docs/keys.md: no such name: op_bound"),
    ("docs/keys.md", "`planner.c`", "docs/keys.md: no such file: planner.c"),
    ("docs/keys.md", "`key.{h,cc}`", "docs/keys.md: no such file: key.cc"),
    ("docs/keys.md", "It lies in keys/gone.", "docs/keys.md: no such file: keys/gone"),
    ("docs/keys.md", "`cache/gone`", "docs/keys.md: no such file: cache/gone"),
    ("docs/keys.md", "`store/`", "docs/keys.md: no such file: store/"),
    ("docs/keys.md", "`cache_<name>.c`", "docs/keys.md: no such file: cache_<name>.c"),
    ("docs/keys.md", "x" * 121, "docs/keys.md:1: 121 columns, 120 are allowed"),
    ("keys/README.md", "`conv.c`", "keys/README.md: no such file: conv.c"),
    ("keys/cache/README.md", "`conv.c`", "keys/cache/README.md: no such file: conv.c"),
])
def test_what_does_not_exist_is_found(tmp_path, page, text, complaint):
    assert found_in(tmp_path, {page: text}) == [complaint]
