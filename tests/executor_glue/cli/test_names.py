"""Names of a model may hold any bytes: none of them reaches the terminal but as an escape."""

import json
import os
import subprocess
import unicodedata

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

from cli_harness import COMMAND, save_model

# What stands for NAME in the files, of the same length, and how it is shown.
NAMES = {
    b"\xff\xfe\xfd\xfc": "\\xff\\xfe\\xfd\\xfc",   # not UTF-8
    b"\x1b[2J": "\\x1b[2J",                        # clears the screen
    b"a\nb\r": "a\\x0ab\\x0d",                     # ends the line
    b"\xc2\x9b2J": "\\xc2\\x9b2J",                 # the same as one C1 character
    b"\xe2\x80\xaex": "\\xe2\\x80\\xaex",          # turns the direction of writing
    b"\x7f\x07\x08\x01": "\\x7f\\x07\\x08\\x01",
    "中!".encode(): "中!",                          # can be read
}


def odd_model(tmp_path, name):
    """A model in whose every text the letters NAME are replaced."""
    path = save_model(
        tmp_path / "odd.onnx",
        [helper.make_node("Relu", ["xNAME"], ["hNAME"], name="nNAME"),
         helper.make_node("Sigmoid", ["hNAME"], ["yNAME"], name="mNAME")],
        [("xNAME", TensorProto.FLOAT, ["dNAME", 4])], [("yNAME", TensorProto.FLOAT, ["dNAME", 4])])
    model = onnx.load(path)
    model.producer_name, model.producer_version = "pNAME", "vNAME"
    model.opset_import.append(helper.make_opsetid("oNAME", 1))
    helper.set_model_props(model, {"kNAME": "valueNAME"})
    path.write_bytes(model.SerializeToString().replace(b"NAME", name))
    return path


def output_of(*args, code=0):
    """What the command prints, on both streams: UTF-8 without control characters but for line
    ends."""
    done = subprocess.run([COMMAND, *args], capture_output=True, timeout=300)
    assert done.returncode == code, done.stderr
    for text in (done.stdout.decode(), done.stderr.decode()):
        assert all(c == "\n" or unicodedata.category(c) not in ("Cc", "Zl", "Zp")
                   for c in text), text
        assert all(unicodedata.bidirectional(c) not in ("RLO", "LRO") for c in text), text
    return done.stdout.decode() + done.stderr.decode()


@pytest.fixture(params=NAMES, ids=[shown for shown in NAMES.values()])
def odd(request, tmp_path):
    return request.param, NAMES[request.param], odd_model(tmp_path, request.param)


def test_tables_and_lines(odd):
    name, shown, model = odd
    text = output_of("inspect", model, "--nodes")
    for part in (f"x{shown} [d{shown}, 4] f32", f"y{shown}", f"made by p{shown} v{shown}",
                 f"o{shown} 1", f"  k{shown} = value"):
        assert part in text
    shape = b"x" + name + b"=2x4"
    assert f"{model}: 1 request, " in output_of("bench", model, "--shape", shape, "--requests", "1")
    assert "bytes  hits" in output_of("cache", model, "--shape", shape)
    named = b"m" + name + b"=" + bytes(model)
    text = output_of("bench", named, model, "--shape", shape, "--requests", "2")
    assert text.startswith(f"m{shown}, {model.stem}: 2 requests, ") and f"\nm{shown} " in text


def test_json_holds_the_names_as_they_are(odd):
    name, shown, model = odd
    report = json.loads(output_of("inspect", model, "--json"))
    try:
        expected = name.decode()
    except UnicodeDecodeError:
        expected = shown
    assert report["inputs"] == [
        {"name": "x" + expected, "type": "f32", "shape": ["d" + expected, 4]}]
    assert report["metadata"] == {"k" + expected: "value" + expected}
    assert report["producer_name"] == "p" + expected


def test_outputs_are_files_with_names_that_can_be_typed(odd, tmp_path):
    name, shown, model = odd
    numpy.save(tmp_path / "x.npy", numpy.zeros((2, 4), numpy.float32))
    given = b"x" + name + b"=" + bytes(tmp_path / "x.npy")
    out = tmp_path / "out"
    assert f"y{shown} 2x4:f32 -> " in output_of("run", model, "-i", given, "-o", out)
    assert [all(c.isascii() and c.isprintable() for c in file)
            for file in os.listdir(out)] == [True]


def test_sentences(odd, tmp_path):
    name, shown, model = odd
    where = os.fsencode(tmp_path)
    assert shown in output_of(name, code=2)
    assert shown in output_of("inspect", where + b"/" + name, code=1)
    assert shown in output_of("bench", model, code=1)
    assert shown in output_of("bench", model, "--shape", name, code=2)
    assert shown in output_of("bench", model, "--requests", name, code=2)
    assert shown in output_of("run", model, "-i", b"x=" + where + b"/" + name, "-o", tmp_path / "o",
                              code=1)
    assert shown in output_of("run", model, "-i", name, "-o", tmp_path / "o", code=2)
    assert shown in output_of("inspect", model, "--disable-pass", name, code=1)
