"""Whatever a model's texts hold, no subcommand shows a terminal anything but lines of text: names
of values, nodes, dimensions, functions and domains, metadata, and texts of attributes."""

import json
import os
import re
import subprocess

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import latchkey
from conftest import BUILD
from latchkey.__main__ import PROGRAM
from latchkey.commands import COMMANDS
from latchkey.commands.front import run as run_python

# What stands for NAME in the file, of the same length.
TEXTS = {
    "control characters": b"\x1b[2J\n\r\x07\xc2\x9b1m",
    "directions and separators": "\u202e\u2066\u2028\t.".encode(),
    "bytes that are not UTF-8": b"\x9b2J\xff\xfe\x1b]0;\xe2.",
}
STAND_IN = b"NAMENAMENAM"
# As lk_text_escape has them, but for the end of a line.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                     "\ud800-\udfff]")


def odd_model(text):
    """A model of a function and nodes that run, in whose every text there is `text`."""
    n = STAND_IN.decode()
    body = [helper.make_node("Relu", ["a" + n], ["t" + n], "f" + n),
            helper.make_node("Sigmoid", ["t" + n], ["b" + n])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own" + n, 1)]
    function = helper.make_function("own" + n, "F" + n, ["a" + n], ["b" + n], body, opsets[:1])
    nodes = [helper.make_node("F" + n, ["x" + n], ["h" + n], "c" + n, domain="own" + n),
             helper.make_node("MatMul", ["h" + n, "w" + n], ["m" + n], "m" + n),
             helper.make_node("Softmax", ["m" + n], ["y" + n], "s" + n, doc_string="d" + n)]
    graph = helper.make_graph(
        nodes, "g" + n, [helper.make_tensor_value_info("x" + n, TensorProto.FLOAT, ["d" + n, 4])],
        [helper.make_tensor_value_info("y" + n, TensorProto.FLOAT, ["d" + n, 4])],
        [numpy_helper.from_array(numpy.eye(4, dtype=numpy.float32), "w" + n)])
    model = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=8)
    model.producer_name = model.producer_version = model.doc_string = "p" + n
    helper.set_model_props(model, {"k" + n: "v" + n})
    return model.SerializeToString().replace(STAND_IN, text)


def unknown(text):
    """One whose operators nobody knows, with a text that is no word of an attribute."""
    n = STAND_IN.decode()
    nodes = [helper.make_node("Op" + n, ["x" + n], ["h" + n], "c" + n, domain="own" + n),
             helper.make_node("Gelu", ["h" + n], ["y" + n], approximate=n)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x" + n, TensorProto.FLOAT, ["d" + n, 4])],
        [helper.make_tensor_value_info("y" + n, TensorProto.FLOAT, ["d" + n, 4])])
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid("own" + n, 1)])
    return model.SerializeToString().replace(STAND_IN, text)


@pytest.fixture(params=TEXTS, ids=lambda name: name.replace(" ", "_"))
def odd(request, tmp_path):
    """The text, and the paths of both models."""
    text = TEXTS[request.param]
    assert len(text) == len(STAND_IN)
    (tmp_path / "odd.onnx").write_bytes(odd_model(text))
    (tmp_path / "unknown.onnx").write_bytes(unknown(text))
    return text, tmp_path


def make_case(where, text):
    """An ONNX test case whose result is wrong."""
    data = where / "case/test_data_set_0"
    data.mkdir(parents=True)
    (where / "case/model.onnx").write_bytes((where / "odd.onnx").read_bytes())
    for kind, value in (("input", numpy.ones((2, 4), numpy.float32)),
                        ("output", numpy.zeros((2, 4), numpy.float32))):
        tensor = numpy_helper.from_array(value, STAND_IN.decode())
        (data / f"{kind}_0.pb").write_bytes(tensor.SerializeToString().replace(STAND_IN, text))
    return where / "case"


def words_of(where, text):
    """For each subcommand, lists of its arguments."""
    model, other = where / "odd.onnx", where / "unknown.onnx"
    given = ["--shape", os.fsdecode(b"x" + text + b"=2x4")]
    numpy.save(where / "x.npy", numpy.zeros((2, 4), numpy.float32))
    data = os.fsdecode(b"x" + text + b"=" + bytes(where / "x.npy"))
    asked = [[model, *given], [other, *given], [model], [model, "--shape", os.fsdecode(text)],
             [model, "--disable-pass", os.fsdecode(text), *given]]
    latencies = where / "bench.json"
    statistics = where / "statistics.json"
    with latchkey.Session(model, threads=1) as session:
        session.run({session.inputs[0].name: numpy.zeros((2, 4), numpy.float32)})
        statistics.write_text(json.dumps(session.statistics()))
    return {
        "run": [["-i", data, "-o", where / "out", model], ["-i", data, "-o", where / "o", other],
                ["-i", data + "x", "-o", where / "o", model]],
        "test": [[make_case(where, text)]],
        "bench": [*asked, [model, *given, "-n", "2", "--latencies", latencies],
                  [model, *given, "-n", "2", "--profile"],
                  *([os.fsdecode(text) + f"={path}", model, *given, "-n", "2"]
                    for path in (model, other))],
        "inspect": [[model, "--nodes"], [other, "--nodes"], [model, "--json"],
                    [model, "--fix", os.fsdecode(text) + "=2"]],
        "tune": [[*words, "--duration", "0.001", "-o", where / "tuning"] for words in asked],
        "ops": [["--missing", model], ["--missing", model, other], [os.fsdecode(text)]],
        "cache": asked,
        "shapes": asked,
        "compare": [[*words, "-n", "1"] for words in (*asked[:3], [model, "--every-value", *given],
                                                      [model, "--with", other, *given])],
        "doctor": [[model, "--no-measure"], [other, "--no-measure"]],
        "bench-compare": [[latencies, latencies], [os.fsdecode(text), latencies]],
        "bench-plot": [[latencies], [os.fsdecode(text)]],
        "top": [[os.fsdecode(text)]],
        "completion": [[os.fsdecode(text)], ["bash"]],
        "explain": [[*words, "-n", "2"] for words in asked[:3]] + [[statistics]],
        "record": [[*words, "-n", "2", "-o", where / "run.json"] for words in (asked[1], asked[0])],
        "report": [[where / "run.json", "-o", where / "page.html"], [os.fsdecode(text)]],
    }


def check(shown, words):
    found = CONTROL.search(shown)
    assert found is None, f"{words}: {shown[max(found.start() - 200, 0):found.end() + 20]!r}"


def test_no_subcommand_shows_it_as_it_is(odd, capfd):
    text, where = odd
    counts = {}
    for name, calls in words_of(where, text).items():
        for words in calls:
            words = [os.fspath(word) for word in words]
            if name in COMMANDS:
                capfd.readouterr()
                try:
                    code = run_python(name, words)
                except SystemExit as end:
                    code = end.code
                out, err = capfd.readouterr()
            else:
                done = subprocess.run([PROGRAM, name, *words], capture_output=True, timeout=300)
                code, out, err = done.returncode, *(
                    stream.decode("utf-8", "surrogateescape") for stream in (done.stdout,
                                                                             done.stderr))
            check(out, (name, words))
            check(err, (name, words))
            assert code == 0 or err or out, (name, words)
            counts.setdefault(name, []).append(code == 0)
    listed = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    assert set(counts) == set(re.findall(r"^  ([a-z-]+) ", listed.partition("\nCommands:\n")[2],
                                         re.MULTILINE))
    if b"\xff" not in text:  # else packages that read models as protocol buffers refuse it
        failed = {name for name, ends in counts.items() if not any(ends)}
        assert failed - {"doctor"} == {"test", "top"}  # a machine may have pitfalls


def test_what_shows_itself_is_text(odd):
    text, where = odd
    name = os.fsdecode(b"x" + text)
    with latchkey.Session(where / "odd.onnx", threads=1) as session:
        profile = latchkey.Profile()
        session.run({name: numpy.zeros((2, 4), numpy.float32)}, profile=profile)
        for shown in (session, session.inputs, session.nodes, session.passes, session.stats(),
                      session.explain(), profile):
            for words in (str(shown), repr(shown)):
                check(words, type(shown))
    for make in (lambda: latchkey.Session(where / "unknown.onnx"),
                 lambda: latchkey.Session(os.fsdecode(bytes(where) + b"/" + text))):
        with pytest.raises(latchkey.Error) as failed:
            make()
        check(str(failed.value), "a sentence")
