"""latchkey bench-compare and bench-plot: verdicts, what is refused, and what is drawn."""

import contextlib
import io
import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree

import numpy
import pytest

from latchkey._bench import BadFile, bootstrap, files, read, shown, terminal, verdict
from latchkey.commands import front

REPORT = {"schema": "latchkey-bench-1", "model": "m.onnx", "model_digest": "xxh3:1",
          "latchkey": "0.1.0", "date": "2026-01-02T03:04:05Z", "cache": "shared", "seed": 1,
          "machine": {"processor": "P", "isa": "AVX2", "cores": 2}, "interrupted": False,
          "options": {"executor": "naive"}, "environment": {}}
COLUMNS = ["pass", "request", "caller", "begin_ns", "ns", "late_ns", "new", "ok"]


def latencies(seed, count, factor=1.0):
    """As they are: skewed, and requests beside each other are alike."""
    random = numpy.random.default_rng(seed)
    noise = random.normal(0, 0.3, count + 4)
    return numpy.exp(numpy.convolve(noise, numpy.full(5, 0.5), "valid")) * 1e6 * factor


def setting(ns, threads=1, callers=1, batch=None, new=0, ok=None, shapes=None, late=0, **engine):
    """Two passes over the requests, of which the first `new` are of new shapes. `engine`: where the
    file has several; `late`: with a rate."""
    half = len(ns) // 2
    shapes = shapes or [f"x={i % 7 + 1}x10" for i in range(half)]
    rows = [[1 + (i >= half), i % half, i % callers, i * 1000, int(one), late, int(i < new),
             1 if ok is None else ok[i]] for i, one in enumerate(ns)]
    return {"setting": {"threads": threads, "callers": callers, "batch": batch, "shapes": shapes,
                        **engine},
            "rows": rows}


@pytest.fixture
def save(tmp_path):
    def write(name, *settings, **report):
        path = tmp_path / name
        path.write_text(json.dumps({
            "schema": "latchkey-bench-latencies-2", "report": {**REPORT, **report},
            "columns": COLUMNS, "latencies": list(settings)}))
        return str(path)
    return write


def program(*words, **environment):
    """The command, in a process of its own."""
    return subprocess.run([sys.executable, "-m", "latchkey", *map(str, words)], timeout=300,
                          capture_output=True, encoding="utf-8",
                          env={**os.environ, **environment})


def latchkey(name, *words):
    """The command, in this process, which has imported what it needs."""
    with (contextlib.redirect_stdout(io.StringIO()) as out,
          contextlib.redirect_stderr(io.StringIO()) as said):
        code = front.run(name, [*map(str, words)])
    return subprocess.CompletedProcess(words, code, out.getvalue(), said.getvalue())


def verdicts(a, b):
    return {(one.shapes, one.metric): one for one in verdict.compare([read(a)], [read(b)])}


def drifting(save, seed, count, factor=1.0):
    """Files by turns, a side each: the machine drifts, and each process has a time of its own."""
    random = numpy.random.default_rng(seed)
    drift = numpy.cumsum(random.normal(0, 0.02, 2 * count))
    own = random.normal(0, 0.2, 2 * count)
    paths = [save(f"{seed}-{i}.json", setting(latencies(
        1000 * seed + i, 400, math.exp(drift[i] + own[i]) * (factor if i % 2 else 1))))
        for i in range(2 * count)]
    return paths[::2], paths[1::2]


# ---- the statistics ----------------------------------------------------------------------------


def test_the_interval_holds_the_ratio_in_nearly_19_of_20():
    """Also where requests disturb each other, for which the plain bootstrap is far too narrow."""
    true, quantiles = 1.1, [bootstrap.MEAN, 0.5, 0.9]
    times, held = int(os.environ.get("LK_TEST_INTERVALS", 25)), [0, 0, 0]
    for i in range(times):
        a = latencies(2 * i, 400).astype(numpy.int64)
        b = latencies(2 * i + 1, 400, true).astype(numpy.int64)
        for which, one in enumerate(bootstrap.ratios(a, b, quantiles, False)):
            held[which] += one.low <= true <= one.high
    # Blocks are as long as they are for any series, and intervals a little narrow; and four
    # standard deviations.
    assert min(held) / times >= 0.92 - 4 * math.sqrt(0.92 * 0.08 / times)


def test_statistics_are_those_of_the_series():
    ns = numpy.arange(1, 1001) * 1000
    random = numpy.random.default_rng(1).permutation(ns)
    found = bootstrap.ratios(random, random * 2, [bootstrap.MEAN, 0.5, 0.99], True)
    assert [one.a for one in found] == [500500, 500000, 990000]
    for one in found:  # paired: each draw has twice the time
        assert one.ratio == 2
        assert (one.low, one.high) == pytest.approx((2, 2))
    unpaired = bootstrap.ratios(random, random * 2, [bootstrap.MEAN], False)[0]
    assert unpaired.low < 1.95 and unpaired.high > 2.05


def test_many_values_are_told_apart_to_a_thousandth():
    ns = latencies(3, 30000).astype(numpy.int64)
    assert len(numpy.unique(ns)) > 4096
    [one] = bootstrap.ratios(ns, (ns * 1.5).astype(numpy.int64), [0.5], True)
    assert one.low == pytest.approx(1.5, rel=3e-3) and one.high == pytest.approx(1.5, rel=3e-3)


@pytest.mark.parametrize("freedom, expected", [
    (1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423),
    (1000, 1.9623)])  # NIST, Engineering Statistics Handbook, 1.3.6.7.2
def test_quantiles_of_student(freedom, expected):
    assert files.t_quantile(freedom) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("counts", [(3, 3), (5, 5), (4, 6)])
def test_the_interval_of_files_holds_the_ratio_in_19_of_20(counts):
    """Processes differ, whatever the requests of one say of the others."""
    random, true, times, held = numpy.random.default_rng(7), 1.05, 1000, 0
    for _ in range(times):
        sides = [[numpy.array([1e6 * factor * math.exp(random.normal(0, 0.03))]).astype(numpy.int64)
                  for _ in range(count)] for count, factor in zip(counts, (1, true), strict=True)]
        one = files.ratio_of_files(*sides, 0.5)
        held += one.low <= true <= one.high
    assert abs(held / times - 0.95) <= 4 * math.sqrt(0.95 * 0.05 / times)


def test_files_by_turns_are_pairs():
    """What both of a pair have in common does not count."""
    drift = [1e6, 2e6, 4e6, 8e6]
    a = [numpy.full(50, ns, numpy.int64) for ns in drift]
    b = [numpy.full(50, ns * 1.1, numpy.int64) for ns in drift]
    one = files.ratio_of_files(a, b, 0.5)
    assert (one.low, one.ratio, one.high) == pytest.approx((1.1, 1.1, 1.1), rel=1e-6)
    assert one.a == pytest.approx(math.sqrt(8) * 1e6)
    unpaired = files.ratio_of_files(a, b[:3], 0.5)
    assert unpaired.low < 0.5 and unpaired.high > 1


def test_a_percentile_needs_ten_requests_beyond_it():
    assert [bootstrap.needs(q) for q in (bootstrap.MEAN, 0.5, 0.9, 0.95, 0.99, 0.999)] == [
        50, 50, 100, 200, 1000, 10000]


# ---- verdicts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("factor, expected, code", [
    (1.0, "no difference shown", 0), (1.2, "slower", 1), (0.8, "faster", 0)])
def test_verdicts(save, factor, expected, code):
    a = save("a.json", setting(latencies(1, 4000)))
    b = save("b.json", setting(latencies(2, 4000, factor)))
    done = latchkey("bench-compare", a, b, "--json")
    assert (done.returncode, done.stderr) == (code, "")
    found = {one["metric"]: one for one in json.loads(done.stdout)["verdicts"]}
    for name in ("mean", "requests/s", "p50", "p90", "p95"):
        one = found[name]
        assert one["verdict"] == expected, name
        ratio = 1 / factor if name == "requests/s" else factor
        low, high = one["interval"]
        assert low <= one["ratio"] <= high and one["ratio"] == pytest.approx(ratio, rel=0.1)
    assert found["p99.9"]["verdict"] == "too few requests"
    assert (found["p99.9"]["requests"], found["p99.9"]["needs"]) == ([2000, 2000], 10000)
    assert found["p99.9"]["interval"] is None
    text = latchkey("bench-compare", a, b)
    assert text.returncode == code and "1 thread, 1 caller:" in text.stdout
    last = text.stdout.splitlines()[-1]
    assert last.startswith("slower by more than 1.02: mean of known shapes" if code else
                           "nothing is shown to be slower by more than 1.02")


def test_files_of_one_program_that_differ_are_no_verdict(save):
    """By one file of each, most of such pairs are said to differ."""
    by_one = by_files = 0
    for seed in range(1, 11):
        a, b = drifting(save, seed, 5)
        by_one += verdicts(a[0], b[0])["known", "p50"].verdict != "no difference shown"
        found = {one.metric: one for one in verdict.compare([read(path) for path in a],
                                                            [read(path) for path in b])}
        by_files += found["p50"].verdict != "no difference shown"
        assert found["p50"].requests == (200, 200)
    assert by_files <= 3 < by_one


def test_several_files_that_are_slower(save):
    a, b = drifting(save, 1, 6, 2)
    done = latchkey("bench-compare", *a, "--with", *b)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines[:12]] == ["A"] * 6 + ["B"] * 6
    assert lines[-1].startswith("slower by more than 1.02: mean of known shapes")
    assert latchkey("bench-compare", *b, "--with", *a).returncode == 0
    one, other = (latchkey("bench-compare", a[0], *words, "--json").stdout
                  for words in ([b[0]], ["--with", b[0]]))
    assert one == other


def test_settings_that_only_some_files_have(save):
    ns = latencies(1, 400)
    both = save("both.json", setting(ns), setting(ns, threads=2))
    one = save("one.json", setting(ns))
    done = latchkey("bench-compare", both, both, "--with", both, one)
    assert done.returncode == 0
    assert f"unlike: 2 threads, 1 caller is only in {both}, {both}, {both}" in done.stdout
    assert "\n1 thread, 1 caller:" in done.stdout and "\n2 threads, 1 caller:" not in done.stdout
    other = save("other.json", setting(ns, threads=3))
    failed = latchkey("bench-compare", both, both, "--with", both, other)
    assert failed.returncode == 1 and "was measured in all files" in failed.stderr
    unlike = save("unlike.json", setting(ns), model_digest="xxh3:2")
    failed = latchkey("bench-compare", both, both, "--with", both, unlike)
    assert failed.returncode == 1
    assert f"'{both}' with '{unlike}': model_digest is xxh3:1 and xxh3:2" in failed.stderr


def test_a_threshold_is_what_the_whole_interval_exceeds(save):
    ns = latencies(1, 4000)
    a, b = save("a.json", setting(ns)), save("b.json", setting(ns * 1.1))
    assert verdicts(a, b)["known", "p50"].verdict == "slower"
    assert latchkey("bench-compare", a, b, "--threshold", "1.05").returncode == 1
    assert latchkey("bench-compare", a, b, "--threshold", "1.2").returncode == 0
    assert latchkey("bench-compare", b, a, "--threshold", "1").returncode == 0


def test_too_few_requests_are_no_verdict(save):
    a = save("a.json", setting(latencies(1, 60)))
    b = save("b.json", setting(latencies(2, 60, 5)))
    done = latchkey("bench-compare", a, b)
    assert done.returncode == 0
    assert "too few requests: 30 of 50" in done.stdout
    assert {one.verdict for one in verdicts(a, b).values()} == {"too few requests"}


def test_new_shapes_are_judged_apart(save):
    slow = latencies(2, 4000)
    slow[:500] *= 3
    a, b = (save(name, setting(ns, new=500))
            for name, ns in (("a.json", latencies(2, 4000)), ("b.json", slow)))
    found = verdicts(a, b)
    assert found["new", "p50"].verdict == "slower"
    assert found["new", "p50"].ratio == pytest.approx(3, rel=1e-3)
    assert found["known", "p50"].verdict == "no difference shown"


def test_requests_that_failed_do_not_count(save):
    ok = [1] * 3999 + [0]
    ns = latencies(1, 4000)
    ns[-1] = 1e12
    a, b = save("a.json", setting(ns, ok=ok)), save("b.json", setting(ns))
    assert verdicts(a, b)["known", "mean"].requests == (1999, 2000)
    assert verdicts(a, b)["known", "mean"].b > 100 > verdicts(a, b)["known", "mean"].a


def test_settings_are_compared_each_with_its_own(save):
    one, two = latencies(1, 400), latencies(2, 400)
    a = save("a.json", setting(one, threads=1), setting(two, threads=2, batch=4))
    b = save("b.json", setting(two * 2, threads=2, batch=4), setting(one, threads=8))
    done = latchkey("bench-compare", a, b, "--json")
    found = json.loads(done.stdout)
    assert {one["setting"] for one in found["verdicts"]} == {"2 threads, 1 caller, batch 4"}
    assert found["only_in_one"] == [f"1 thread, 1 caller is only in {a}",
                                    f"8 threads, 1 caller is only in {b}"]
    c = save("c.json", setting(one, threads=8))
    done = latchkey("bench-compare", save("d.json", setting(one, threads=1)), c)
    assert done.returncode == 1
    assert "no setting of engine, threads, callers and batch" in done.stderr


def test_engines_of_a_file_are_compared_each_with_its_own(save):
    one, two = latencies(1, 400), latencies(2, 400)
    a = save("a.json", setting(one, engine="native"), setting(two, engine="onednn"))
    b = save("b.json", setting(two * 2, engine="onednn"), setting(one, engine="native"))
    found = json.loads(latchkey("bench-compare", a, b, "--json").stdout)
    assert {one["setting"]: one["verdict"] for one in found["verdicts"]
            if (one["shapes"], one["metric"]) == ("known", "p50")} == {
                "native, 1 thread, 1 caller": "no difference shown",
                "onednn, 1 thread, 1 caller": "slower"}
    assert found["only_in_one"] == []
    drawn = json.loads(latchkey("bench-plot", a, "--json").stdout)
    assert [one["engine"] for one in drawn] == ["native", "onednn"]


def test_files_of_one_engine_each_are_compared(save):
    ns = latencies(1, 400)
    a = save("a.json", setting(ns), engine="native")
    b = save("b.json", setting(ns), engine="onednn")
    done = latchkey("bench-compare", a, b)
    assert done.returncode == 0
    assert "unlike: engine is native and onednn\n" in done.stdout
    assert "\n1 thread, 1 caller:" in done.stdout
    assert json.loads(latchkey("bench-plot", a, "--json").stdout)[0]["engine"] is None


@pytest.mark.parametrize("change, sentence", [
    ({"machine": {"processor": "Q", "isa": "AVX2", "cores": 2}}, "machine.processor is P and Q"),
    ({"machine": {"processor": "P", "isa": "AVX2", "cores": 64}}, "machine.cores is 2 and 64"),
    ({"model_digest": "xxh3:2"}, "model_digest is xxh3:1 and xxh3:2"),
])
def test_unlike_things_are_refused(save, change, sentence):
    a = save("a.json", setting(latencies(1, 400)))
    b = save("b.json", setting(latencies(1, 400)), **change)
    done = latchkey("bench-compare", a, b)
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr and "--unlike" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = latchkey("bench-compare", a, b, "--unlike")
    assert done.returncode == 0 and f"unlike: {sentence}" in done.stdout


def test_other_requests_are_refused(save):
    a = save("a.json", setting(latencies(1, 400)))
    b = save("b.json", setting(latencies(1, 400), shapes=["x=3"] * 200))
    done = latchkey("bench-compare", a, b)
    assert done.returncode == 1 and "other shapes with 1 thread, 1 caller" in done.stderr


def test_versions_and_options_are_told(save):
    a = save("a.json", setting(latencies(1, 400)))
    b = save("b.json", setting(latencies(1, 400)), latchkey="0.2.0",
             options={"executor": "parallel"}, environment={"LATCHKEY_CACHE": "off"})
    done = latchkey("bench-compare", a, b)
    assert done.returncode == 0
    for sentence in ("latchkey is 0.1.0 and 0.2.0", "options.executor is naive and parallel",
                     "environment.LATCHKEY_CACHE is None and off"):
        assert f"unlike: {sentence}\n" in done.stdout


# ---- files and options that are bad --------------------------------------------------------------


@pytest.mark.parametrize("content, sentence", [
    ("{", "it is not JSON"), ("[]", "it is not what"), ("{}", "it is not what"),
    ('{"schema": "latchkey-bench-1"}', "it has no latencies of requests"),
    ('{"schema": ["latchkey-bench-latencies-2"]}', "it is not what"),
    ('{"schema": "latchkey-bench-latencies-2"}', "a part of it is missing"),
    ('{"schema": "latchkey-bench-latencies-2", "columns": ["ns"]}', "its columns are"),
])
def test_a_file_of_something_else_is_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(BadFile, match="^failed to read '.*a.json': .*" + sentence):
        read(str(path))
    for words in (["bench-compare", path, path], ["bench-plot", path]):
        done = latchkey(*words)
        assert (done.returncode, done.stdout) == (1, "")
        assert sentence in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("row", [
    [1, 0, 0, 0, -5, 0, 1], [1, 9, 0, 0, 5, 0, 1], [1, -1, 0, 0, 5, 0, 1], [1, 0, 0], ["x"] * 7,
    [1, 0, 0, 0, 10**30, 0, 1], [1, 0, 0, 0, None, 0, 1], {}, 3])
def test_rows_that_cannot_be_are_refused(save, row):
    path = save("a.json", {"setting": {"threads": 1, "callers": 1, "batch": None,
                                       "shapes": ["x=1"]}, "rows": [row]})
    with pytest.raises(BadFile, match="a part of it is missing or of another kind"):
        read(path)


def test_bad_words_are_sentences(save, tmp_path):
    a = save("a.json", setting(latencies(1, 100)))
    for words, sentence in (
            (["bench-compare"], "required"),
            (["bench-compare", a], "1 given, two files are needed, or --with"),
            (["bench-compare", a, a, a], "3 given, two files are needed, or --with"),
            (["bench-compare", a, a, "--with", a], "2 and 1 given, --with needs two files or more"),
            (["bench-compare", a, a, "--threshold", "0.9"], "'0.9'"),
            (["bench-compare", a, a, "--threshold", "nan"], "'nan'"),
            (["bench-plot"], "required"), (["bench-plot", a, "-o", "a.pdf"], "FILE.svg or FILE"),
            (["bench-plot", a, "--bins", "0"], "'0'"),
            (["bench-plot", a, "-o", "a.svg", "--json"], "one is needed")):
        done = program(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert sentence in done.stderr
    (tmp_path / "a.csv").write_text("threads\n")
    for path, sentence in ((tmp_path / "a.csv", "a .csv file does not say where"),
                           (tmp_path / "none.json", "none.json")):
        done = latchkey("bench-compare", a, path)
        assert done.returncode == 1 and sentence in done.stderr


# ---- plots ---------------------------------------------------------------------------------------


def test_every_request_is_in_a_bin():
    for ns in (latencies(1, 999), numpy.array([5.0]), numpy.array([7.0] * 10),
               numpy.array([0.0, 1.0, 1e12])):
        found = shown.bins(ns.astype(numpy.int64), 16)
        assert sum(one.requests for one in found) == len(ns)
        assert all(one.last == other.first for one, other in zip(found, found[1:]))
    one, two = shown.bins(numpy.array([100, 101, 10000]), 2)
    assert (one.requests, two.requests) == (2, 1)
    assert one.last / one.first == pytest.approx(two.last / two.first)


@pytest.mark.parametrize("shape, elements", [
    ("x=1x3x48x320", 46080), ("x=2x3 mask=4", 10), ("s=scalar", 1), ("a=b=2x2 c=3", 7),
    ("x=0x5", 0), ("x y=2x3", 6)])
def test_elements_of_shapes(shape, elements):
    assert shown.elements(shape) == elements


def test_plots_in_the_terminal(save):
    a = save("a.json", setting(latencies(1, 400)))
    done = program("bench-plot", a, LC_ALL="C.UTF-8")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{a}: 1 thread, 1 caller, 200 requests of known shapes"
    assert sum(int(line.split()[-1]) for line in lines[1:17]) == 200
    longest = max(line.count("█") for line in lines[1:17])
    assert longest == 56 and lines[17] == "median of each of 7 sizes:"
    assert sum(bin(ord(c) - 0x2800).count("1") for c in done.stdout
               if 0x2800 < ord(c) < 0x2900) == 7
    done = program("bench-plot", a, LC_ALL="C")
    assert done.returncode == 0 and done.stdout.isascii()
    assert max(line.count("#") for line in done.stdout.splitlines()) == 56
    assert done.stdout.count("*") == 7
    same = save("b.json", setting([5000] * 10, shapes=["x=3"] * 5))
    done = latchkey("bench-plot", same, "--bins", "3")
    assert done.returncode == 0 and "median of each" not in done.stdout


def test_the_locale_says_what_the_terminal_speaks():
    for environment, encoding, expected in (
            ({"LC_ALL": "C"}, "utf-8", False), ({"LANG": "en_US.UTF-8"}, "utf-8", True),
            ({"LC_ALL": "C", "LANG": "en_US.utf8"}, "utf-8", False), ({}, "utf-8", False),
            ({"LC_CTYPE": "C.utf8"}, "ascii", False), ({"LC_CTYPE": "C.utf8"}, None, False)):
        assert terminal.speaks_utf8(encoding, environment) is expected, environment


def test_plots_as_numbers(save):
    a = save("a.json", setting(latencies(1, 400)), setting(latencies(2, 400), threads=2))
    found = json.loads(latchkey("bench-plot", a, "--json", "--bins", "5").stdout)
    assert [one["threads"] for one in found] == [1, 2]
    for one in found:
        assert [sum(part["requests"] for part in one[key]) for key in ("histogram", "by_size")] == [
            200, 200]
        assert [size["elements"] for size in one["by_size"]] == [10 * i for i in range(1, 8)]


def test_pictures(save, tmp_path):
    pytest.importorskip("matplotlib")
    a = save("$a$ <&.json", setting(latencies(1, 400)))
    b = save("b.json", setting(latencies(2, 400)))
    for name in ("p.svg", "p.png"):
        done = latchkey("bench-plot", a, b, "-o", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{tmp_path / name}\n"
    root = xml.etree.ElementTree.parse(tmp_path / "p.svg").getroot()
    assert root.tag.endswith("svg") and "$a$" in (tmp_path / "p.svg").read_text()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    first = (tmp_path / "p.svg").read_bytes()
    latchkey("bench-plot", a, b, "-o", tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_bytes() == first, "the same files are the same picture"
    done = latchkey("bench-plot", a, "-o", tmp_path / "no/p.svg")
    assert done.returncode == 1 and "no" in done.stderr
    assert not [name for name in os.listdir(tmp_path) if name.startswith("p.svg.")]


def test_without_matplotlib_a_sentence_says_how_to_get_it(save, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('none')\n")
    a = save("a.json", setting(latencies(1, 400)))
    done = program("bench-plot", a, "-o", tmp_path / "p.svg", PYTHONPATH=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("latchkey bench-plot: failed to draw a picture: it needs the package "
                           "matplotlib, which `pip install latchkey[plot]` installs\n")
    assert program("bench-plot", a, PYTHONPATH=tmp_path).returncode == 0


# ---- with the program ----------------------------------------------------------------------------


def test_what_bench_writes_is_read(tmp_path, relu):
    (tmp_path / "m.onnx").write_bytes(relu)
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in files:
        done = program("bench", tmp_path / "m.onnx", "--shape", "x={1..9}x3", "-n", "60",
                       "--threads", "1,2", "--callers", "1,2", "--latencies", path)
        assert done.returncode == 0, done.stderr
    result = read(str(files[0]))
    assert [one.setting for one in result.settings] == [
        (None, t, c, None) for t in (1, 2) for c in (1, 2)]
    assert all(len(one.ns) == 120 and one.settled.sum() == 60 for one in result.settings)
    assert result.report["schema"] == "latchkey-bench-1"
    done = latchkey("bench-compare", *files, "--threshold", "1000")
    assert done.returncode == 0 and done.stdout.count("requests/s") == 4
    assert latchkey("bench-plot", *files).stdout.count("requests of known shapes") == 8
