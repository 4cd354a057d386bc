"""latchkey report: the files that it takes, its words, and what it says of slow requests."""

import copy
import json
import os
import subprocess
import sys
import threading

import pytest
from conftest import random
from recordings import record_two

import latchkey
from latchkey import _report
from latchkey._report import graph, requests
from latchkey._report.differences import differences
from latchkey._report.view import view


@pytest.fixture(scope="module")
def runs(tmp_path_factory, convnet):
    return record_two(tmp_path_factory.mktemp("report"), convnet, (1000, 100))


def command(*words):
    return subprocess.run([sys.executable, "-m", "latchkey", "report", *map(str, words)],
                          capture_output=True, text=True, timeout=120)


def fails(code, *words):
    done = command(*words)
    assert done.returncode == code and done.stdout == "", done
    assert done.stderr.startswith("latchkey report: failed to ") and done.stderr.count("\n") == 1
    return done.stderr


def test_makes_a_page_by_command(runs, tmp_path):
    page = tmp_path / "report.html"
    done = command(runs[0], "-o", page)
    assert done.returncode == 0 and done.stderr == "", done
    assert done.stdout == f"{page} shows {runs[0]}\n"
    assert page.read_text() == _report.make_page(runs[:1])
    assert os.listdir(tmp_path) == ["report.html"]


def test_files_that_are_none(runs, tmp_path):
    whole = runs[0].read_text()
    recording = json.loads(whole)

    def without(*names):
        spoiled = copy.deepcopy(recording)
        part = spoiled
        for name in names[:-1]:
            part = part[name]
        del part[names[-1]]
        return json.dumps(spoiled)

    def changed(value, *names):
        spoiled = copy.deepcopy(recording)
        part = spoiled
        for name in names[:-1]:
            part = part[name]
        part[names[-1]] = value
        return json.dumps(spoiled)

    for number, (text, why) in enumerate([
            ("", "not JSON, or not whole"), (whole[:5000], "not JSON, or not whole"),
            (whole[:-3], "not JSON, or not whole"), ("[" * 100_000, "not JSON, or not whole"),
            ("[1]", "not a file of Latchkey"), ('{"schema": "other-1"}', "not a file of Latchkey"),
            (json.dumps({**recording, "schema": "latchkey-recording-2"}),
             "its schema is latchkey-recording-2, this version of Latchkey reads up to "
             "latchkey-recording-1"),
            ('{"schema": "latchkey-statistics-9"}', "reads up to latchkey-statistics-1"),
            ('{"schema": "latchkey-recording-1"}', "'version' is missing"),
            ('{"schema": "latchkey-statistics-1", "version": "1", "context": 3}',
             "'context' is 3, an object is allowed"),
            (without("samples"), "'samples' is missing"),
            (without("nodes", 0, "op_type"), "'nodes[0].op_type' is missing"),
            (changed({}, "nodes"), "'nodes' is {}, a list is allowed"),
            (changed("x" * 99, "samples", "bytes", 1), "xx..., a number that is not negative is"),
            (changed(-1, "requests", "rows", 3, 1), "'requests.rows[3][1]' is -1, a number"),
            (changed(None, "requests", "rows", 3, 1), "'requests.rows[3].ns' is None, a number"),
            (changed([1, 2], "requests", "rows", 3), "'requests.rows[3]' has 2 fields, 5 are"),
            (changed(["ns"], "requests", "fields"), "'requests.fields' has no 'begin_ns'"),
            (changed(18, "requests", "rows", 3, 2), "'requests.rows[3].size' is 18, 'sizes'"),
            (changed(99, "slowest", 0, "size"), "'slowest[0].size' is 99, 'sizes' has 18"),
            (changed([], "samples", "at_ns"), "'samples' are empty or differ in length"),
            (changed([], "nodes"), "'nodes' has 0 nodes, 'statistics.session.nodes' has 6"),
            (changed(5, "options"), "'options' is 5, an object is allowed"),
            (changed("much", "options", "cache_bytes"), "'much'"),
            (whole.replace('"count": 1000', '"count": 1e999'), "'requests.count' is inf"),
            (whole.replace('"count": 1000', '"count": NaN'), "NaN is not a number of JSON")]):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        with pytest.raises(_report.ReportError) as caught:
            _report.make_page([path])
        sentence = str(caught.value)
        assert sentence.startswith(f"failed to read '{path}': ") and "\n" not in sentence
        assert why in sentence, (number, sentence)
    page = tmp_path / "report.html"
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert "not JSON" in fails(1, tmp_path / "bytes.json", "-o", page)
    assert "none.json" in fails(1, tmp_path / "none.json", "-o", page)
    assert str(tmp_path) in fails(1, tmp_path, "-o", page)
    assert not page.exists()


def test_bad_words_are_refused(runs, tmp_path):
    assert "FILE" in fails(2, "-o", tmp_path / "page.html")
    assert "-o" in fails(2, runs[0])
    assert "3 files are given, 1 or 2 are allowed" in fails(2, *runs, runs[0], "-o", "page.html")


def test_places_that_cannot_be_written(runs, tmp_path):
    """Each is left as it was."""
    assert "no/page.html" in fails(1, runs[1], "-o", tmp_path / "no" / "page.html")
    (tmp_path / "folder").mkdir()
    assert "Is a directory" in fails(1, runs[1], "-o", tmp_path / "folder")
    # One where nobody may make a file, root neither.
    assert "'/proc/self/report.html'" in fails(1, runs[1], "-o", "/proc/self/report.html")
    own = tmp_path / "run.json"
    own.write_bytes(runs[1].read_bytes())
    (tmp_path / "link.json").symlink_to(own)
    for place in (own, tmp_path / "link.json"):
        assert "it is a file that the page is made of" in fails(2, own, "-o", place)
    assert own.read_bytes() == runs[1].read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["folder", "link.json", "run.json"]


def test_a_page_that_is_there_is_replaced(runs, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("old")
    assert command(runs[1], "-o", page).returncode == 0
    assert page.read_text() == _report.make_page(runs[1:])


def test_says_how_it_is_used():
    done = command("--help")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Usage: latchkey report [OPTION...] FILE...\n")
    for words in ("-o PAGE", "Examples:", "'latchkey record'"):
        assert words in done.stdout


def test_an_installation_without_graphlay(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "graphlay", None)
    with pytest.raises(ImportError, match=r"needs the package graphlay, which `pip install "
                                          r"latchkey\[report\]` installs"):
        _report.make_page(runs[1:])


def test_an_installation_without_echarts(runs, monkeypatch, tmp_path):
    monkeypatch.setattr("latchkey._report.page._ASSETS", tmp_path)
    (tmp_path / "page.css").write_text("")
    with pytest.raises(latchkey.NotFoundError, match="this installation has no Apache ECharts"):
        _report.make_page(runs[:1])


def test_nodes_that_differ(runs, tmp_path):
    """By their times or by what runs them, and those that only one run has."""
    found = json.loads(runs[0].read_text())
    nodes = {node["output_name"]: node for node in found["nodes"]}
    nodes["r1"]["implementation"] = "another"
    nodes["scores"]["output_name"] = "more"  # no step has it
    for step in found["profile"]["steps"]:
        if step["output"] == "features":
            step["total_ms"] *= 3
    path = tmp_path / "other.json"
    path.write_text(json.dumps(found))
    before, after = view(runs[0]), view(path)
    ns = {node["output"]: node["ns"] for node in before["graph"]["nodes"]}
    rows = {node["name"]: node for node in differences(before, after)["nodes"]}
    assert rows == {
        "Conv features": {"name": "Conv features", "first_ns": ns["features"],
                          "second_ns": pytest.approx(3 * ns["features"]), "notes": ""},
        "Conv r1": {"name": "Conv r1", "first_ns": ns["r1"], "second_ns": ns["r1"],
                    "notes": "runs on: convolution \u2192 another"},
        "Softmax scores": {"name": "Softmax scores", "first_ns": ns["scores"], "second_ns": None,
                           "notes": "only in the first"},
        "Softmax more": {"name": "Softmax more", "first_ns": None, "second_ns": 0,
                         "notes": "only in the second"}}
    assert differences(before, before)["nodes"] == []


def test_lines_of_the_graph_end_at_their_nodes():
    """Nodes and edges come back from the layout in the order in which they went there."""
    texts = dict.fromkeys(("op_type", "domain", "name", "fused", "implementation"), "")
    ends = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 4), (4, 5), (3, 5)]
    nodes = [{**texts, "output_name": str(i), "outputs": [str(i)], "binds": 1, "bind_ns": 1,
              "inputs": [str(source) for source, target in ends if target == i]}
             for i in reversed(range(6))]  # not as they lie in the picture
    found = graph.view(nodes, nodes, None, [1] * 6, [[]] * 6)
    assert len(found["edges"]) == len(found["lines"]) == len(ends)
    for (source, target), line in zip(found["edges"], found["lines"]):
        assert (int(nodes[source]["output_name"]), int(nodes[target]["output_name"])) in ends
        for number, (x, y), side in ((source, line[:2], 1), (target, line[-2:], -1)):
            centre = found["places"][number]
            assert abs(x - centre[0]) < found["node_width"] / 2
            assert y == centre[1] + side * found["node_height"] / 2


def test_slow_requests_are_explained(tmp_path, convnet):
    """The first of a size, requests beside others, and those that nothing explains."""
    path = tmp_path / "why.json"
    with latchkey.Session(convnet, cache="shared", threads=1) as session:
        with latchkey.Recorder(session, path=path, profile_every=0) as recorder:
            threads = [threading.Thread(target=lambda: [
                recorder.run({"x": random(1, 3, 8, 8)}) for _ in range(20)]) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    found = json.loads(path.read_text())
    rows = found["requests"]["rows"]
    for row in rows:
        row[1] = 1000
    build_ns = found["statistics"]["session"]["sizes"][0]["build_ns"]
    found["slowest"] = [
        {"begin_ns": 1, "ns": 2 * build_ns, "size": 0, "first": 1, "others": 0, "steps": None},
        {"begin_ns": 2, "ns": 5000, "size": 0, "first": 0, "others": 1, "steps": None},
        {"begin_ns": 3, "ns": 5000, "size": 0, "first": 0, "others": 0, "steps": [
            {"node": "", "output": "y", "operator": "Conv", "fused": "", "kind": "convolution",
             "total_ms": 0.004}]},
        {"begin_ns": 4, "ns": 1100, "size": 0, "first": 0, "others": 0, "steps": None},
        {"begin_ns": 5, "ns": 1100, "size": None, "first": None, "others": 0, "steps": None}]
    found["samples"]["waiting"] = [0] * len(found["samples"]["at_ns"])
    own = copy.deepcopy(found)
    own["options"]["cache"] = "thread"
    own["statistics"]["session"]["sizes"][0]["builds"] = 2
    assert requests.view(own)["slowest"][1]["why"][0] == (
        "The run plan of its size was built 2 times, since each thread builds its own: it may have "
        "waited for that.")
    why = [one["why"] for one in requests.view(found)["slowest"]]
    assert why[0][0].startswith("It was the first of its size: its run plan was built, which takes")
    assert why[1][0] == "1 other request had begun and not ended: they share the processors."
    assert why[2] == [
        "Requests of its size take 1 us in the median: it took 5 times that.",
        "Its longest step was y (convolution), 4 us.",
        "Nothing that is counted explains it: other programs may have used the processors."]
    assert why[3] == ["Requests of its size take 1 us in the median: it is large, not slow."]
    assert why[4][-1].startswith("Nothing that is counted explains it")
