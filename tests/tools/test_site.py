"""What the site is made of: the reference of the C interface is complete, pictures are of the code,
figures are those of the pages, and faults of links are found.

Whether the site builds is `tools/build_docs --check`, which `make lint` runs.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/docs"))
import c_reference  # noqa: E402
import figures  # noqa: E402
import measured  # noqa: E402
import write_numbers as numbers  # noqa: E402
import pages  # noqa: E402
import plots  # noqa: E402
import site_links  # noqa: E402

INCLUDE = ROOT / "include"
HEADERS = c_reference.headers_of(INCLUDE)


# ---- the reference of the C interface ------------------------------------------------------------


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.stem)
def test_every_name_of_a_header_is_in_its_page(header):
    """Names as the text has them, found in a simpler way than the page is made."""
    code = re.sub(c_reference.COMMENT, "", header.read_text(), flags=re.DOTALL)
    names = set(re.findall(r"^} (lk_\w+);", code, re.MULTILINE))
    names |= set(re.findall(r"^typedef struct \w+ (lk_\w+);", code, re.MULTILINE))
    names |= set(re.findall(r"\(\*(\w+)\)\(", code))
    names |= set(re.findall(r"^  (?:uint|int)\d+_t (\w+)[;,\[]", code, re.MULTILINE))
    names |= set(re.findall(r"^  (LK_\w+) =", code, re.MULTILINE))
    page = c_reference.page(header, INCLUDE)
    declared = set(re.findall(r"\w+", "\n".join(re.findall(
        r"^`+\{c:\w+\} (.*(?:\n[^`\n].*)*)\n\n", page, re.MULTILINE))))
    assert names and not names - declared, names - declared


def reference(folder, text):
    (folder / "latchkey").mkdir()
    header = folder / "latchkey/it.h"
    header.write_text(f"/* It. More. */\n#ifndef IT_H\n#define IT_H\n#include <stdint.h>\n{text}\n"
                      "#endif\n")
    return c_reference.declarations(header, folder)


def test_comments_before_and_behind(tmp_path):
    (made,) = reference(tmp_path, """/* Of `it`, with two
 * lines. */
typedef struct lk_it {
  int32_t first; /* behind, and
                    further */
  /* before */
  int32_t second, *third; /* and behind */

  int32_t bare;
} lk_it;""")
    assert (made.kind, made.names) == ("struct", ["lk_it"])
    assert made.comment == "Of `it`, with two\nlines."
    assert [(one.signatures, one.comment) for one in made.members] == [
        (["int32_t first"], "behind, and\nfurther"),
        (["int32_t second", "int32_t *third"], "before\n\nand behind"),
        (["int32_t bare"], "")]


def test_tables_of_functions_keep_the_names_of_parameters(tmp_path):
    (made,) = reference(tmp_path, """typedef struct lk_api {
  /* Does it. */
  int32_t (*do_it)(const char *name, int32_t (*fn)(void *arg),
                   uint64_t values[4]);
} lk_api;""")
    assert made.members[0].signatures == [
        "int32_t (*do_it)(const char *name, int32_t (*fn)(void *arg), uint64_t values[4])"]


def test_lists_and_values_of_enums(tmp_path):
    macro, listed, plain = reference(tmp_path, """/* X(symbol, value, text) */
#define LK_LIST(X)      \\
  X(LK_A, 1, "an a")    \\
  X(LK_B, 2, "a b")     /* seen */
typedef enum lk_listed {
#define LK_ONE_ENUM(symbol, value, text) symbol = value,
  LK_LIST(LK_ONE_ENUM)
} lk_listed;
typedef enum lk_plain { LK_C = 3 /* a c */ } lk_plain;""")
    assert macro.names == ["LK_LIST"] and macro.comment == "X(symbol, value, text)"
    assert [one.comment for one in listed.members] == ["1: an a", "2: a b: seen"]
    assert [one.comment for one in plain.members] == ["3: a c"]


def test_prose_is_shown_as_it_is():
    assert c_reference.markdown_of("/* a <b> of x[n], `*p`, LK_OK and lk_* */") == (
        r"a \<b\> of x\[n\], `*p`, `LK_OK` and lk\_\*")
    assert c_reference.markdown_of("/* one\n *   two\n * three */") == (
        "one\n\n```text\n  two\n```\n\nthree")


def test_a_header_that_does_not_compile_is_a_sentence(tmp_path):
    with pytest.raises(RuntimeError, match="failed to read .*it.h"):
        reference(tmp_path, "typedef struct {")


# ---- pages ---------------------------------------------------------------------------------------


def site_of(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return pages.Site(folder, folder / "out")


PAGES = {"docs/README.md": "", "docs/more.md": "", "docs/decisions/README.md": "",
         "docs/design/README.md": "", "docs/environment.md": "", "SECURITY.md": "",
         "CHANGELOG.md": "", "examples/README.md": "", "examples/host.c": "int main;\n",
         "include/latchkey/it.h": ""}


@pytest.mark.parametrize("link, becomes", [
    ("[it](more.md#part)", "[it](more.md#part)"),
    ("[more.md](more.md)", "[](more.md)"),
    ("[it](../SECURITY.md)", "[it](security.md)"),
    ("[it](../include/latchkey/it.h)", "[it](reference/c/it.md)"),
    ("[it](../examples/host.c)", "[it](source/examples/host.c.md)"),
    ("[it](design/)", "[it](design/index.md)"),
    ("[it](#part) [web](https://x.org/)", "[it](#part) [web](https://x.org/)"),
    ("```\n[it](gone.md)\n```\n", "```\n[it](gone.md)\n```\n"),
])
def test_links_lead_to_pages(tmp_path, link, becomes):
    site = site_of(tmp_path, {**PAGES, "docs/README.md": link})
    site.stage(lambda text, name: text)
    assert (tmp_path / "out/index.md").read_text().startswith(becomes)
    if "host.c" in link:
        assert "int main;" in (tmp_path / "out/source/examples/host.c.md").read_text()


@pytest.mark.parametrize("link", ["[it](gone.md)", "[it](../../outside.md)", "[it](../include/)"])
def test_links_that_lead_nowhere_are_refused(tmp_path, link):
    site = site_of(tmp_path, {**PAGES, "docs/README.md": link})
    with pytest.raises(ValueError, match="failed to stage docs/README.md"):
        site.stage(lambda text, name: text)


def test_only_what_changed_is_written(tmp_path):
    site_of(tmp_path, PAGES).stage(lambda text, name: text)
    page = tmp_path / "out/more.md"
    before = page.stat().st_mtime_ns
    (tmp_path / "docs/more.md").unlink()
    (tmp_path / "docs/other.md").write_text("")
    site = pages.Site(tmp_path, tmp_path / "out")
    site.stage(lambda text, name: text)
    assert page.stat().st_mtime_ns == before and (tmp_path / "out/other.md").is_file()
    site.remove_others()
    assert not page.exists()


def test_the_menu_has_every_page_of_docs():
    site = pages.Site(ROOT, Path("unused"))
    listed = {name for names in pages.MENU.values() for name in names}
    below = {name for name in site.names.values()
             if name.startswith(("decisions/", "design/", "reference/c/"))}
    assert set(site.names.values()) - below - {"index"} <= listed


# ---- pictures and plots --------------------------------------------------------------------------


@pytest.mark.parametrize("change, complaint", [
    (("b(x);", "c(x);"), "a does not call b"), (("int b(", "int d("), "f.c has no function b")])
def test_pictures_are_of_the_code(tmp_path, change, complaint):
    code = "int b(int x) {\n  return x;\n}\n\nint a(int x) {\n  return b(x);\n}\n"
    spec = {"rankdir": "TB", "alt": "A and b.", "caption": "How.",
            "nodes": {"a": ["f.c", "a", "first"], "b": ["f.c", "b", "then"]},
            "edges": {"calls": [["a", "b"]], "through": []}}
    (tmp_path / "f.c").write_text(code)
    made = figures.call_graph(tmp_path, spec)
    assert 'aria-label="A and b."' in made and "currentColor" in made and "black" not in made
    (tmp_path / "f.c").write_text(code.replace(*change))
    with pytest.raises(ValueError, match=complaint):
        figures.call_graph(tmp_path, spec)


def test_the_house_has_the_includes_of_the_sources(tmp_path):
    for name, text in {"keys/a.c": '#include "base/b.h"\n#include "keys/a.h"\n',
                       "keys/cache/c.c": '#include "keys/a.h"\n#include "base/b.h"\n',
                       "keys/a.h": "", "base/b.h": "#include <latchkey/base.h>\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    edges = figures.includes(tmp_path)
    assert edges == {("keys", "base"): 1, ("keys/cache", "keys"): 1, ("keys/cache", "base"): 1,
                     ("base", "include/latchkey"): 1}
    assert figures.without_ways_round(edges) == [
        ("base", "include/latchkey"), ("keys", "base"), ("keys/cache", "keys")]


@pytest.mark.parametrize("mark", ["picture: gone", "plot: gone", "table: gone"])
def test_what_does_not_exist_is_not_drawn(mark):
    with pytest.raises(ValueError, match="gone"):
        figures.put_in(f"text\n\n<!-- {mark} -->\n", "page", ROOT)


def test_misses_are_shown_as_misses(tmp_path):
    worst = {"model": "m", "shapes": "1x2", "latchkey": 3, "onnxruntime": 2}
    rows = [{"operator": name, "nodes": 2, "ratio": ratio, "worst": {**worst, "ratio": late}}
            for name, ratio, late in (("Good", 0.5, 0.9), ("Late", 0.9, 1.2), ("Missed", 1.1, 1.5))]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/operator_times.json").write_text(json.dumps({"operators": {
        "target": 1.3, "machine": "this", "onnxruntime": "1.0", "operators": rows}}))
    table = plots.table("misses", tmp_path)
    assert "1 of 3 operators have a node that misses it, 1 a median above 1" in table
    assert "Good" not in table and "| Missed | 1.10 | 1.50 | yes | m | 1x2 |" in table
    assert "| Late | 0.90 | 1.20 |  | m | 1x2 |" in table
    svg, alt, caption = plots.plot("operators", tmp_path)
    assert "below 1 for 2 of them" in alt and "Machine: this" in caption
    assert plots.SLOWER in svg and plots.INK not in svg and svg == plots.plot("operators",
                                                                             tmp_path)[0]


MEASURED = json.loads((ROOT / "docs/measured.json").read_text())


def test_figures_are_what_their_maker_makes():
    """The plots of the page are those of measured.py, and each is on the page."""
    assert MEASURED["plots"].keys() == measured.PLOTS.keys()
    pages_of = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    for name in MEASURED["plots"]:
        assert f"<!-- plot: {name} -->\n" in pages_of
    for name in plots.TABLES:
        assert f"<!-- table: {name} -->\n" in pages_of + (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", MEASURED["plots"])
def test_figures_say_where_they_come_from(name):
    """By a command of the benchmarks, on a machine, at a day."""
    one, about = MEASURED["plots"][name], MEASURED["about"]
    known = re.search(r"all=\(([^)]*)\)", (ROOT / "benchmarks/run").read_text())[1].split()
    known += re.search(r"by_name=\(([^)]*)\)", (ROOT / "benchmarks/run").read_text())[1].split()
    assert one["benchmarks"] and set(one["benchmarks"]) <= set(known)
    day = one.get("day", about["day"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day) and about["machine"]
    svg, alt, caption = plots.plot(name, ROOT)
    assert svg.startswith("<svg") and day in caption and about["machine"] in caption
    assert f"benchmarks/run {' '.join(one['benchmarks'])};" in caption
    for row, values in one["rows"].items():
        assert f"{row} {', '.join(f'{value:g}' for value in values)}" in alt


def test_figures_of_what_benchmarks_have_printed():
    group = {"median": 0.91234, "most": 1.2, "sizes": []}
    model = {"model": "m", "second": 1.0214, "ratio": {"onnxruntime": 0.5, "openvino": 0.75},
             "growth": {"latchkey": 3 * 2**20, "onnxruntime": 0, "openvino": 2**19}}
    of_model = {"model": "m", "ratio": {"onnxruntime": 0.5, "openvino": 0.75}}
    results = {
        "about": {"day": "2026-01-02", "machine": "z", "processors": 2, "onednn": "3",
                  "onnxruntime": "1", "openvino": "2"},
        "cache_lookup": {"nanoseconds": {name: {"median": 30.04, "best": 1}
                                         for name in measured.HITS}},
        "sizes": {"models": [model]},
        "models": {"models": [{**of_model, "threads": 2}, {
            "model": "m", "threads": 1, "ratio": {"onnxruntime": 0.9, "openvino": 0.8}}]},
        "whole_models": {"models": [
            {"model": "a", "threads": 1, "ratio": {"latchkey": 0.6, "provider": 0.7}},
            {"model": "a", "threads": 2, "ratio": {"latchkey": 0.1, "provider": 0.2}},
            {"model": "refused", "threads": 1, "ratio": {"provider": 1}}]},
        "layers": {"m, threads 1": {"ms": 3, "primitives_ms": 4},
                   "m, threads 2": {"ms": 2, "primitives_ms": 1},
                   "n, threads 1": {"ms": 2, "primitives_ms": 1}},
        "products": {"convolutions": group}, "rows": {"means": group}, "moves": {"casts": group},
        "resize": {"resizings": group},
        "beside_paddle": {"fixed": [{"model": "m", "threads": 2, "ratio": 0.5},
                                    {"model": "m", "threads": 1, "ratio": 0.75}],
                          "random": {"m": {"auto": {"p50_ms": 1.234, "growth": 2**20}}}},
        "instruction_sets": {"models": [{"model": "m", "ratio": {
            "avx512": 1, "avx512_core": 1, "avx2": 0.8, "sse2": 0.25, "onnxruntime": 0.5}}]}}
    made = measured.measured(results)
    rows = {name: plot["rows"] for name, plot in made["plots"].items()}
    assert set(rows["hits"]) == set(measured.HITS.values())
    assert rows["hits"]["one lock around one table"] == [30.04]
    assert rows["sizes"] == {"m": [0.5, 0.75]}
    assert rows["models"] == {"m": [0.9, 0.75]}, "the faster peer; one thread first"
    assert rows["whole_models"] == {"a": [0.6, 0.7]}
    assert rows["layers"] == {"m": [0.75, 2]}, "with one thread and with two"
    assert rows["kernels"] == dict.fromkeys(("convolutions", "means", "casts", "resizings"),
                                            [0.912, 1.2])
    assert rows["paddle"] == {"m": [0.75, 0.5]}
    assert rows["instruction_sets"] == {"m": [1, 1.25, 4, 2]}
    assert made["random_sizes"] == {"rows": [
        {"model": "m", "engine": "auto", "p50_ms": 1.23, "growth": 1.0}]}
    assert made["growth"] == [
        {"model": "m", "second": 1.021, "latchkey": 3.0, "onnxruntime": 0.0, "openvino": 0.5}]


def test_the_readme_has_the_claim_of_the_same_run():
    """That docs/performance.md draws."""
    hits = MEASURED["plots"]["hits"]["rows"]
    (name,), (other,) = (hits[row] for row in ("name key of a convolution, per-thread cache",
                                               "oneDNN's cache, convolution"))
    claim = f"{other / name:.0f} times cheaper than asking oneDNN's cache"
    assert claim in " ".join((ROOT / "README.md").read_text().split())


# ---- figures in the repository -------------------------------------------------------------------


def test_what_the_repository_shows_is_what_was_measured():
    """Blocks of pages and pictures are as tools/docs/write_numbers.py writes them."""
    made = numbers.files(ROOT)
    assert {"README.md", "docs/performance.md", "docs/compare.md",
            "docs/pictures/hits.svg", "docs/pictures/hits_dark.svg"} <= made.keys()
    assert numbers.outdated(ROOT, made) == [], "run tools/docs/write_numbers.py"
    assert "<!-- table: summary -->\n\n| model |" in made["README.md"]


MEASURED_SMALL = {
    "about": {"day": "2026-01-02", "machine": "z", "processors": 2, "onednn": "3",
              "onnxruntime": "1", "openvino": "2"},
    "plots": {"hits": {"what": "Hits", "benchmarks": ["cache_lookup"], "peer": "p",
                       "series": ["ns"], "rows": {"ours": [30.5]}},
              "models": {"rows": {"m": [0.9, 0.8], "fixed": [1.25, 1]}},
              "sizes": {"rows": {"m": [0.5, 0.25], "new": [0.75, 1.5]}}},
    "growth": [{"model": "m", "second": 1, "latchkey": 7.6, "onnxruntime": -0.6, "openvino": 400}]}


@pytest.fixture
def small(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/measured.json").write_text(json.dumps(MEASURED_SMALL))
    (tmp_path / "README.md").write_text("text\n")
    return tmp_path


def test_a_block_is_written_anew(small):
    """Between its marks alone, and the second time it is the same."""
    page = small / "docs/page.md"
    page.write_text("before\n\n<!-- table: summary -->\n\nold | table\n\n<!-- end -->\n\n"
                    "between\n\n"
                    "<!-- plot: hits -->\n\nafter\n")
    made = numbers.files(small)
    text = made["docs/page.md"]
    assert text.startswith("before\n\n<!-- table: summary -->\n\n| model |") and "old" not in text
    assert "\n<!-- end -->\n\nbetween\n\n<!-- plot: hits -->\n\n<picture>" in text
    assert text.endswith("</details>\n\n<!-- end -->\n\nafter\n") and "| ours | 30.50 |" in text
    assert 'src="pictures/hits.svg"' in text and 'srcset="pictures/hits_dark.svg"' in text
    light, dark = (made[f"docs/pictures/hits{kind}.svg"] for kind in ("", "_dark"))
    assert light != dark and "currentColor" not in light + dark
    page.write_text(text)
    assert numbers.files(small) == made
    assert made["README.md"] == "text\n"


def test_the_summary_has_a_row_for_each_model(small):
    assert plots.table("summary", small).splitlines()[2:5] == [
        "| m | 0.90 | 0.80 | 0.50 | 0.25 | +8 MiB | -1 MiB | +400 MiB |",
        "| fixed | 1.25 | 1.00 |  |  |  |  |  |",
        "| new |  |  | 0.75 | 1.50 |  |  |  |"]


# ---- variables -----------------------------------------------------------------------------------


def test_the_environment_page_has_every_variable():
    known = set()
    for folder in ("base", "keys", "ops", "plugin", "executor_glue", "python"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".c", ".h", ".py"):
                known |= set(re.findall(r'"(LATCHKEY_[A-Z_]+)"', path.read_text()))
    rows = re.findall(r"^\| `(LATCHKEY_\w+)`", (ROOT / "docs/environment.md").read_text(),
                      re.MULTILINE)
    assert known and sorted(rows) == sorted(known)


# ---- links of the site ---------------------------------------------------------------------------

QUESTIONS = """clicks = 1
[[questions]]
ask = "Why?"
answer = "near#why"
says = "because of it"
"""
SITE = {"index.html": '<a href="near.html">near</a> <a href="https://x.org/">web</a>',
        "near.html": '<p id="why">because <b>of</b> it</p><a href="index.html#">up</a>',
        "s.css": ""}


def faults(folder, files, questions=QUESTIONS):
    for name, text in {**SITE, **files}.items():
        (folder / name).write_text(text)
    (folder / "questions.toml").write_text(questions)
    return site_links.faults(folder, folder / "questions.toml")


def test_a_whole_site_passes(tmp_path):
    assert faults(tmp_path, {}) == []


@pytest.mark.parametrize("files, complaint", [
    ({"near.html": SITE["near.html"] + '<a href="gone.html">'},
     "near.html links to gone.html, which does not exist"),
    ({"near.html": SITE["near.html"] + '<a href="index.html#gone">'},
     "near.html links to index.html#gone, which has no such anchor"),
    ({"near.html": SITE["near.html"] + '<a href="#gone">'},
     "near.html links to #gone, which has no such anchor"),
    ({"near.html": SITE["near.html"] + '<script src="https://cdn.x.org/a.js">'},
     "near.html loads https://cdn.x.org/a.js from the web"),
    ({"near.html": SITE["near.html"] + '<link rel="stylesheet" href="//x.org/a.css">'},
     "near.html loads //x.org/a.css from the web"),
    ({"near.html": '<p id="why">no</p>'}, "'Why?': near does not say 'because of it'"),
    ({"near.html": "<p>because of it</p>"}, "'Why?': there is no near#why"),
    ({"index.html": '<a href="between.html">', "between.html": '<a href="near.html">'},
     "'Why?': near is more than 1 clicks away"),
    ({"index.html": ""}, "'Why?': near is more than 1 clicks away"),
])
def test_faults_of_links_are_found(tmp_path, files, complaint):
    assert complaint in faults(tmp_path, files)


def test_the_command_is_missed_by_name(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "tools/build_docs", "--command",
                           tmp_path / "latchkey"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and str(tmp_path / "latchkey") in done.stderr
