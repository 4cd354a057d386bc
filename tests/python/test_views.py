"""How sessions, profiles and statistics show themselves, as text and in notebooks."""

import json
import pickle
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper

import latchkey
from latchkey import _html


class Page(HTMLParser):
    """The cells and summaries of a page, whose elements all must be closed."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.summaries, self.tags, self._open = [], [], set(), []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag not in ("br",):
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "summary":
            self.summaries.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1:] in (["td"], ["th"]):
            self.rows[-1][-1] += data
        elif self._open[-1:] == ["summary"]:
            self.summaries[-1] += data


def hostile(name):
    """A model with this name wherever names are."""
    model = make_model([helper.make_node("Relu", ["INPUT"], ["y"], name="NODE.")],
                       [("INPUT", TensorProto.FLOAT, ["DIM..", 3])],
                       [("y", TensorProto.FLOAT, ["DIM..", 3])])
    for placeholder in (b"INPUT", b"NODE.", b"DIM.."):
        assert len(name) == len(placeholder)
        model = model.replace(placeholder, name)
    return model


# ---- sessions ----

def test_a_session_as_text(convnet, relu):
    assert repr(latchkey.Session(convnet)) == (
        "<latchkey.Session x: float32[n, 3, h, w] -> scores: float32[n, 10], "
        "features: float32[n, 24, ?, ?]>")
    session = latchkey.Session(relu)
    session.close()
    assert repr(session) == "<latchkey.Session, closed>"


def test_what_is_open_in_a_session():
    model = make_model([helper.make_node("Relu", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, None)], [("y", TensorProto.FLOAT, [])])
    assert repr(latchkey.Session(model)) == "<latchkey.Session x: float32? -> y: float32[]>"


def test_a_session_in_a_notebook(convnet):
    session = latchkey.Session(convnet, context=latchkey.Context())
    session.run({"x": random(1, 3, 8, 8)})
    page = Page(session._repr_html_())
    assert page.summaries == ["inputs and outputs", "6 nodes"]
    assert page.rows[:4] == [
        ["", "name", "type", "shape"], ["input", "x", "float32", "[n, 3, h, w]"],
        ["output", "scores", "float32", "[n, 10]"],
        ["output", "features", "float32", "[n, 24, ?, ?]"]]
    assert page.rows[5:] == [[node.op_type, node.fused, node.name, node.output_name,
                              node.implementation] for node in session.nodes]
    session.close()
    assert session._repr_html_() == "<p>&lt;latchkey.Session, closed&gt;</p>"


@pytest.mark.parametrize("name, shown", [
    (b"<b>x&", "<b>x&"), (b'"x\'y>', '"x\'y>'), (b"a\nb\xffc", "a\\x0ab\\xffc"),
    (b"\xe2\x80\xae--", "\\xe2\\x80\\xae--")], ids=["tag", "quotes", "bytes", "direction"])
def test_names_are_escaped(name, shown):
    session = latchkey.Session(hostile(name))
    profile = latchkey.Profile()
    profile.peak = latchkey.MachinePeak(1, 1.0, 1.0)
    session.run({session.inputs[0].name: random(2, 3)}, profile=profile)
    page = Page(session._repr_html_())
    assert page.rows[1] == ["input", shown, "float32", f"[{shown}, 3]"]
    assert page.rows[-1][2] == shown
    assert Page(profile._repr_html_()).rows[1][0] == shown
    assert f"{shown}: float32" in repr(session) and shown in str(profile)
    for text in (repr(session), str(profile), session._repr_html_(), profile._repr_html_()):
        text.encode()
        assert "\u202e" not in text
    assert "<b>" not in session._repr_html_() + profile._repr_html_()


# ---- profiles ----

def svg_of(page):
    return ElementTree.fromstring(re.search(r"<svg.*</svg>", page)[0])


def test_a_profile_in_a_notebook(convnet):
    profile = latchkey.Profile()
    profile.peak = latchkey.MachinePeak(1, 100.0, 10.0)
    latchkey.Session(convnet).run({"x": random(1, 3, 16, 16)}, profile=profile)
    page = Page(profile._repr_html_())
    assert page.rows[0][:4] == ["node", "operator", "step", "tiles"]
    assert len(page.rows) == 1 + len(profile)
    assert page.rows[1][0] in (profile.entries()[0]["node"], profile.entries()[0]["output"])
    picture = svg_of(profile._repr_html_())
    space = "{http://www.w3.org/2000/svg}"
    widths = [float(bar.get("width")) for bar in picture.iter(f"{space}rect")]
    assert widths == sorted(widths, reverse=True) and widths[0] == 360
    texts = [text.text for text in picture.iter(f"{space}text")]
    assert {"Conv+relu", "Conv+sigmoid", "Softmax"} <= set(texts[::2])
    assert picture.get("fill") == "currentColor", "it is read on light and on dark"
    total = sum(one["total_ms"] for one in profile)
    assert sum(float(text.split(" ms")[0]) for text in texts[1::2]) == pytest.approx(
        total, abs=0.001 * len(texts))


def test_a_profile_without_runs():
    profile = latchkey.Profile()
    profile.peak = latchkey.MachinePeak(2, 100.0, 10.0)
    assert len(Page(profile._repr_html_()).rows) == 1
    assert "profile of 0 runs" in str(profile)


def test_long_tables_and_charts_are_cut():
    rows = [["n"], *([str(i)] for i in range(1000))]
    page = Page(_html.table("long", rows, left=0))
    assert len(page.rows) == 202 and page.rows[-1] == ["and 800 more"]
    picture = _html.bars("many", [(f"label {'x' * 100} {i}", 100 - i, str(i)) for i in range(100)])
    assert picture.count("<rect") == 16
    assert max(len(text) for text in re.findall(r"<text[^>]*>([^<]*)", picture)) <= 34


# ---- statistics ----

def test_statistics_are_dicts(convnet):
    session = latchkey.Session(convnet, context=latchkey.Context())
    for stats in (session.stats(), session.context.stats()):
        assert isinstance(stats, dict) and stats["cache"]["run"]["hits"] == 0
        assert stats == dict(stats) == json.loads(json.dumps(stats))
        assert pickle.loads(pickle.dumps(stats)) == stats
        assert {**stats}["weights"] == stats["weights"]


def test_statistics_as_tables(convnet):
    session = latchkey.Session(convnet, context=latchkey.Context())
    session.run({"x": random(1, 3, 16, 16)})
    stats = session.stats()
    lines = [line.split() for line in str(stats).splitlines()]
    assert repr(stats) == str(stats)
    assert lines[0][:5] == ["cache", "by", "kind", "hits", "misses"]
    assert [line[0] for line in lines[1:4]] == ["name", "run", "user"]
    assert ["runs", "1"] in lines and ["capacity_bytes", "unlimited"] in lines
    assert ["bytes", f"{stats['cache']['bytes']:,}"] in lines
    page = Page(stats._repr_html_())
    assert page.summaries == ["cache by kind", "cache", "weights", "memory", "session"]
    assert [cell for row in page.rows for cell in row if cell] == [
        cell for row in stats._tables() for line in row[1] for cell in line if cell]
    assert repr(latchkey.Context().stats()) != "" and repr(type(stats)()) == ""


def test_numbers_of_numpy_and_others_are_shown():
    stats = type(latchkey.Context().stats())({"a": {"x": numpy.int64(3), "y": 1.5, "z": "text"}})
    assert [line.split() for line in str(stats).splitlines()] == [
        ["a"], ["x", "3"], ["y", "1.5"], ["z", "text"]]
