"""The engines that compute, chosen by an option: oneDNN's primitives give native's numbers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from onnx import TensorProto, helper

import latchkey

from conftest import make_model, random

MODULE = Path(latchkey.__file__).parent / "liblatchkey_onednn.so"
needs_module = pytest.mark.skipif(
    not MODULE.exists(), reason="this build has no oneDNN: tools/setup --onednn builds it")


@needs_module
def test_computes_what_native_computes(convnet):
    with latchkey.Session(convnet) as native, latchkey.Session(convnet, engine="onednn") as onednn:
        for size in (8, 17, 32, 8):
            feed = {"x": random(2, 3, size, size + 1, seed=size)}
            for a, b in zip(native.run(feed).values(), onednn.run(feed).values(), strict=True):
                numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        assert (native.context.engine, onednn.context.engine) == ("native", "onednn")
        counts = onednn.statistics()["context"]
        assert counts["engine"]["name"] == "onednn" and counts["engine"]["works"] > 0
        kinds = counts["cache"]["kinds"]
        assert kinds["value"]["builds"] > 0 and kinds["name"]["builds"] > 0
        assert native.statistics()["context"]["cache"]["kinds"]["value"]["builds"] == 0


@needs_module
def test_a_second_pass_builds_nothing(convnet):
    def builds(session):
        kinds = session.statistics()["context"]["cache"]["kinds"]
        return sum(kind["builds"] for kind in kinds.values())

    with latchkey.Session(convnet, engine="onednn") as session:
        sizes = (8, 12, 20)
        for size in sizes:
            session.run({"x": random(1, 3, size, size)})
        first = builds(session)
        for size in sizes:
            session.run({"x": random(1, 3, size, size)})
        assert builds(session) == first > 0


@needs_module
def test_the_command_prints_its_keys(convnet, tmp_path):
    model = tmp_path / "convnet.onnx"
    model.write_bytes(convnet)
    said = subprocess.run(
        [sys.executable, "-m", "latchkey", "cache", model, "--shape", "x=1x3x8x8", "--engine",
         "onednn"], capture_output=True, text=True, check=True).stdout
    assert "value:fixed=" in said and ";op=conv;" in said and "engine=name:onednn,state:" in said
    assert "name:fixed=" in said


@needs_module
def test_what_an_engine_leaves_is_explained(tmp_path):
    """A maximum is left, and says so; a convolution is not."""
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
         helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2])],
        [("x", TensorProto.FLOAT, (1, 3, 8, 8))], [("y", TensorProto.FLOAT, None)],
        [("w", random(4, 3, 3, 3))])
    with latchkey.Session(model, engine="onednn") as session:
        session.run({"x": random(1, 3, 8, 8)})
        engine = session.statistics()["context"]["engine"]
        found = session.explain()
    left = {reason["work"]: reason for reason in engine["reasons"]}
    assert sum(reason["works"] for reason in engine["reasons"]
               if not reason["is_part"]) == engine["left"]
    assert left["pool"]["reason"] == "no mean: the largest of nothing is no infinity to oneDNN"
    assert left["pool"]["node"] == "y"
    [finding] = (finding for finding in found if finding.cause == "left_works")
    assert finding.text.startswith(f"engine 'onednn' left {engine['left']} of ")
    assert any(detail.startswith("pool, ") for detail in finding.details)
    path = tmp_path / "model.onnx"
    path.write_bytes(model)
    said = subprocess.run(
        [sys.executable, "-m", "latchkey", "explain", path, "--shape", "x=1x3x8x8", "--engine",
         "onednn"], capture_output=True, text=True, check=True).stdout
    assert "no mean: the largest of nothing is no infinity to oneDNN" in said
    with latchkey.Session(model, engine="native") as session:
        session.run({"x": random(1, 3, 8, 8)})
        assert session.statistics()["context"]["engine"]["reasons"] == []


def test_an_engine_that_is_not_there_is_named():
    with pytest.raises(latchkey.NotFoundError, match="engine 'nosuch'.*native"):
        latchkey.Context(engine="nosuch")
    with pytest.raises(TypeError, match="engine"):
        latchkey.Context(engine=3)


def test_native_is_the_default():
    assert latchkey.Context().engine == os.environ.get("LATCHKEY_ENGINE", "native")


def test_doctor_says_which_there_are():
    found = latchkey.doctor(measure=False)
    assert found["library"]["engines"]["native"] == ""
    said = found["library"]["engines"]["onednn"]
    assert said == "" if MODULE.exists() else "cannot be loaded" in said
    assert "engine native: there" in str(found)
