"""The engines that compute, chosen by an option: oneDNN's primitives give native's numbers."""

import json
import os
import subprocess
import sys

import numpy
import pytest
from onnx import TensorProto, helper

import latchkey

from conftest import ONEDNN, make_model, needs_onednn, random


@needs_onednn
def test_computes_what_native_computes(convnet):
    with latchkey.Session(convnet, engine="native") as native, \
            latchkey.Session(convnet, engine="onednn") as onednn:
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


@needs_onednn
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


@needs_onednn
def test_the_command_prints_its_keys(convnet, tmp_path):
    model = tmp_path / "convnet.onnx"
    model.write_bytes(convnet)
    said = subprocess.run(
        [sys.executable, "-m", "latchkey", "cache", model, "--shape", "x=1x3x8x8", "--engine",
         "onednn"], capture_output=True, text=True, check=True).stdout
    assert "value:fixed=" in said and ";op=conv;" in said and "engine=name:onednn,state:" in said
    assert "name:fixed=" in said


@needs_onednn
def test_the_command_records_with_an_engine(convnet, tmp_path):
    model, path = tmp_path / "convnet.onnx", tmp_path / "run.json"
    model.write_bytes(convnet)
    words = [sys.executable, "-m", "latchkey", "record", model, "--shape", "x=1x3x8x8", "-n", "1",
             "-o", path]
    subprocess.run([*words, "--engine", "onednn"], check=True)
    engine = json.loads(path.read_text())["statistics"]["context"]["engine"]
    assert engine["name"] == "onednn" and engine["works"] > 0
    done = subprocess.run([*words, "--engine", "auto", "--tuning", tmp_path / "none"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "failed to read the tuning file" in done.stderr


@needs_onednn
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


PICTURE = {"x": random(1, 3, 16, 16)}


def engine_of(session):
    return session.statistics()["context"]["engine"]


@needs_onednn
def test_auto_asks_for_sizes_that_recur(convnet):
    with latchkey.Session(convnet, engine="native") as native, \
            latchkey.Session(convnet, engine="auto") as auto:
        assert auto.context.engine == "auto"
        auto.run(PICTURE)
        assert (engine_of(auto)["works"], auto.context.choices()) == (0, ())
        for _ in range(10):
            for a, b in zip(native.run(PICTURE).values(), auto.run(PICTURE).values(), strict=True):
                numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        choices, engine = auto.context.choices(), engine_of(auto)
        assert {choice.work for choice in choices} >= {"conv"}
        assert all((choice.engine, choice.measured) == ("onednn", False) for choice in choices)
        assert [(one["node"], one["work"], one["reason"], one["native_ns"], one["engine_ns"])
                for one in engine["choices"]] == [
            (one.node, one.work, one.reason, one.native_ns, one.engine_ns) for one in choices]
        assert [one["is_engine"] for one in engine["choices"]] == [
            one.taken == "onednn" for one in choices]
        assert all(bool(one.reason) == (one.taken == "native") for one in choices)
        assert (engine["choices_measured"], engine["tuning_works"]) == (0, 0)
        assert engine["choices_estimated"] > 0
        assert native.context.choices() == () == tuple(engine_of(native)["choices"])


@needs_onednn
def test_offers_are_chosen_from_at_once(convnet):
    with latchkey.Session(convnet, engine="auto", cache_bytes="64m") as session:
        session.run(PICTURE)
        found = session.offers(shapes={"x": (1, 3, 16, 16)})
        assert found == session.context.choices() and {one.work for one in found} >= {"conv"}
        for one in found:
            assert one.rule == ("estimates" if one.tensor_bytes else "none")
            assert bool(one.reason) == (one.taken == "native") == (one.built_bytes == 0)
            assert 0 <= one.taken_post_ops <= one.post_ops and one.number == 0
            assert (one.estimated_native_ns, one.estimated_engine_ns) == (
                one.native_ns, one.engine_ns)
            assert 0 <= one.reorder_ns <= one.engine_ns
            assert (one.build_ns > 0) == (one.tensor_bytes > 0)
        assert session.stats()["session"]["run_plan_builds"] == 2
        for _ in range(10):
            session.run(PICTURE)
        assert session.offers(PICTURE) == found, "the same size"
        assert session.stats()["session"]["run_plan_builds"] == 2


@needs_onednn
@pytest.mark.parametrize("engine", ["auto", "onednn"])
def test_offers_are_those_of_the_size_that_is_asked_for(convnet, engine):
    def bytes_of(found):
        return [one.tensor_bytes for one in found]

    with latchkey.Session(convnet, engine=engine) as session:
        small = session.offers(shapes={"x": (1, 3, 8, 8)})
        large = session.offers(shapes={"x": (1, 3, 32, 32)})
        assert bytes_of(small) == bytes_of(session.offers(shapes={"x": (1, 3, 8, 8)}))
        assert bytes_of(small) != bytes_of(large)


@needs_onednn
def test_offers_of_the_engine_by_option(convnet):
    with latchkey.Session(convnet, engine="onednn") as session:
        found = session.offers(PICTURE)
        assert {one.rule for one in found if one.taken == "onednn"} == {"option"}
        assert all(one.rule == "none" and one.reason for one in found if one.taken == "native")
        assert all(one.estimated_native_ns > 0 for one in found if one.tensor_bytes)
        causes = {one.cause for one in session.explain()}
        assert "choices" not in causes and "nothing_chosen" not in causes


def test_native_asks_nobody_for_offers(convnet):
    with latchkey.Session(convnet, engine="native") as session:
        assert session.offers(shapes={"x": [1, 3, 8, 8]}) == ()


def test_offers_where_the_model_fixes_the_shapes():
    model = make_model([helper.make_node("Relu", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, (2, 3))], [("y", TensorProto.FLOAT, None)])
    with latchkey.Session(model, engine="native") as session:
        assert session.offers() == ()
        assert session.stats()["session"]["runs"] == 1


@pytest.mark.parametrize("given, kind, sentence", [
    ({}, ValueError, "failed to find offers: the model leaves open x: float32[n, 3, h, w], give"),
    ({"shapes": {"x": (1, 3, 8, -8)}}, ValueError, "shapes['x']"),
    ({"shapes": {"x": 8}}, TypeError, "a tuple of sizes"),
    ({"shapes": {"x": (2**31 - 1,) * 4}}, ValueError, "an array for 'x' cannot be made"),
    ({"shapes": {"x": (2**31 - 1, 3, 2**12, 2**14)}}, MemoryError, "give it a smaller shape"),
    ({"shapes": {"y": (1,)}}, ValueError, "'y' of 'shapes' is no input of the model"),
    ({"inputs": PICTURE, "shapes": {"x": (1,)}}, ValueError, "'x' of 'shapes' is in 'inputs' too"),
    ({"shapes": "x"}, TypeError, "a dict {input name: shape}"),
    ({"inputs": "x"}, TypeError, "a dict {input name: array}"),
])
def test_offers_need_sizes(convnet, given, kind, sentence):
    with latchkey.Session(convnet) as session, pytest.raises(kind) as caught:
        session.offers(**given)
    assert sentence in str(caught.value)


@needs_onednn
def test_a_profile_has_what_was_expected(convnet):
    profile = latchkey.Profile()
    with latchkey.Session(convnet, engine="auto") as session:
        session.run(PICTURE, profile=profile)
        assert {one["expected_ms"] for one in profile} == {None}
        assert "expected" not in str(profile)
        profile.clear()
        offers = {one.node: one for one in session.offers(PICTURE) if one.tensor_bytes}
        session.run(PICTURE, profile=profile)
        session.run(PICTURE, profile=profile)
        found = {one["output"]: one for one in profile if one["expected_ms"] is not None}
        assert found.keys() == offers.keys()
        for name, one in found.items():
            offer = offers[name]
            wanted = offer.native_ns if offer.taken == "native" else offer.engine_ns
            assert one["expected_ms"] == pytest.approx(wanted / 1e6)
            assert not one["expected_is_measured"]
            assert f"~{wanted / 1e6:.4f}" in str(profile)
            assert one["works_ms"] == pytest.approx(sum(
                other["ms"] for other in profile if other["output"] == name))
        assert "works ms  expected ms" in str(profile).splitlines()[2]
        profile.clear()
        session.tune(PICTURE, seconds=0.02)
        session.run(PICTURE, profile=profile)
        measured = {one.node for one in session.context.choices() if one.measured}
        assert measured and measured == {
            one["output"] for one in profile if one["expected_is_measured"]}


@needs_onednn
def test_auto_asks_for_a_size_that_is_fixed(convnet):
    size = {"x[0]": 1, "x[2]": 16, "x[3]": 16}
    with latchkey.Session(convnet, engine="auto", cache_bytes="64m", fixed_dims=size) as session:
        session.run(PICTURE)
        choices = session.context.choices()
        assert choices
        for _ in range(10):
            session.run(PICTURE)
        assert session.context.choices() == choices
        assert session.stats()["session"]["run_plan_builds"] == 1


def exact(choice):
    """Without the bytes of what was built, which are those of the heap's blocks: some more or less
    from build to build."""
    return choice._replace(built_bytes=0)


@needs_onednn
def test_what_was_measured_decides(convnet, tmp_path):
    file = tmp_path / "tuning"
    with latchkey.Session(convnet, engine="auto") as session:
        found = session.tune(PICTURE, seconds=0.02, file=file)
        measured = [choice for choice in found if choice.measured]
        assert measured and all(min(one.native_ns, one.engine_ns) > 0 for one in measured)
        assert found == session.context.choices()
    with latchkey.Session(convnet, engine="auto", tuning=file) as session:
        assert engine_of(session)["tuning_works"] > 0
        for _ in range(10):
            session.run(PICTURE)
        assert [exact(one) for one in session.context.choices() if one.measured] == [
            exact(one) for one in measured]
        engine = engine_of(session)
        assert engine["choices_measured"] == len(measured) and engine["tuning_skipped"] == 0
        [finding] = (one for one in session.explain() if one.cause == "choices")
        assert f"{len(measured)} time" in finding.text and "by what was measured" in finding.text
        assert finding.advice == ""
        assert all(one.cause not in ("built_again", "left_works") for one in session.explain())
        assert sum(" a run, measured" in detail for detail in finding.details) == len(measured)


@needs_onednn
def test_equal_works_have_one_line(tmp_path):
    """What a run takes is the mean of both nodes, also when they are measured once more."""
    model = make_model(
        [helper.make_node("Conv", ["x", "v"], ["a"]), helper.make_node("Conv", ["x", "w"], ["b"])],
        [("x", TensorProto.FLOAT, (1, 3, 8, 8))],
        [("a", TensorProto.FLOAT, None), ("b", TensorProto.FLOAT, None)],
        [("v", random(4, 3, 3, 3)), ("w", random(4, 3, 3, 3, seed=1))])
    file = tmp_path / "tuning"
    with latchkey.Session(model, engine="auto") as session:
        session.tune({"x": random(1, 3, 8, 8)}, seconds=0.02, file=file)
        found = session.tune({"x": random(1, 3, 8, 8)}, seconds=0.02, file=file)
    lines = [line.split(" ") for line in file.read_text().splitlines()[1:]]
    assert [line[3] for line in lines] == ["2", "2"] and lines[0][4] == lines[1][4]
    native, engine = (sum(float(line[i]) for line in lines) / 4 for i in (1, 2))
    assert [(one.node, one.measured) for one in found] == [("a", True), ("b", True)]
    for one in found:  # by the engine with what reorders to its layouts are estimated to take
        assert one.native_ns == pytest.approx(native, rel=1e-9)
        assert one.engine_ns >= engine * (1 - 1e-9)
    assert found[0].engine_ns == found[1].engine_ns


@needs_onednn
def test_lines_that_are_damaged_are_counted(convnet, tmp_path):
    file = tmp_path / "tuning"
    with latchkey.Session(convnet, engine="auto") as session:
        session.tune(PICTURE, seconds=0.02, file=file)
    works = engine_of(latchkey.Session(convnet, engine="auto", tuning=file))["tuning_works"]
    file.write_text(file.read_text() + "damaged\n" + file.read_text())  # joined, as `cat` does it
    engine = engine_of(latchkey.Session(convnet, engine="auto", tuning=file, verbose=0))
    assert (engine["tuning_works"], engine["tuning_skipped"]) == (works, 1)


@needs_onednn
def test_estimates_are_explained(convnet, tmp_path):
    model = tmp_path / "convnet.onnx"
    model.write_bytes(convnet)
    said = subprocess.run(
        [sys.executable, "-m", "latchkey", "explain", model, "--shape", "x=1x3x16x16", "-n", "10",
         "--engine", "auto"], capture_output=True, text=True, check=True).stdout
    assert "engine 'auto' gave " in said and " of native's time, estimated" in said
    assert "latchkey tune MODEL --shape x=1x3x16x16 --threads " in said


@needs_onednn
def test_times_of_other_sizes_are_explained(convnet, tmp_path):
    file = tmp_path / "tuning"
    with latchkey.Session(convnet, engine="auto") as session:
        session.tune(PICTURE, seconds=0.02, file=file)
    with latchkey.Session(convnet, engine="auto", tuning=file) as session:
        for _ in range(8):
            session.run({"x": random(2, 3, 24, 24)})
        works = engine_of(session)["tuning_works"]
        [finding] = (one for one in session.explain() if one.cause == "choices")
    assert finding.advice.startswith(
        f"the times that were measured, of {works} work{'s' if works > 1 else ''}, are of other "
        "works than these, and of other size classes: measure the ")
    assert "--shape x=2x3x24x24 --threads " in finding.advice


@needs_onednn
def test_times_of_other_threads_are_explained(convnet, tmp_path):
    file = tmp_path / "tuning"
    with latchkey.Session(convnet, engine="auto", threads=1) as session:
        session.tune(PICTURE, seconds=0.02, file=file)
        assert engine_of(session)["tuning_fitting"] == engine_of(session)["tuning_works"] > 0
    with latchkey.Session(convnet, engine="auto", threads=2, tuning=file) as session:
        assert engine_of(session)["tuning_fitting"] == 0
        for _ in range(8):
            session.run(PICTURE)
        engine = engine_of(session)
        assert (engine["tuning_fitting"], engine["choices_of_class"]) == (0, 0)
        [finding] = (one for one in session.explain() if one.cause == "choices")
    works = engine["tuning_works"]
    assert finding.advice.startswith(
        f"the times that were measured, of {works} work{'s' if works > 1 else ''}, are not used: "
        "they are of another number of threads than 2, of another engine or version of it, or of "
        "another processor: ")


@needs_onednn
def test_sizes_of_a_class_are_chosen_for_by_its_times(convnet, tmp_path):
    """A service measures some sizes, and then sees others."""
    file = tmp_path / "tuning"
    with latchkey.Session(convnet, engine="auto") as session:
        for size in (13, 16):
            session.tune({"x": random(1, 3, size, 16)}, seconds=0.02, file=file)
    with latchkey.Session(convnet, engine="auto", tuning=file) as session:
        found = session.offers(shapes={"x": (1, 3, 14, 13)})
        offered = [one for one in found if one.rule == "size_class"]
        measured = [one for one in found if one.measured]  # behind the mean over all pixels
        assert offered and len(offered + measured) == sum(one.tensor_bytes > 0 for one in found)
        for one in offered:
            assert one.of_class and not one.measured and one.native_ns == one.estimated_native_ns
            assert one.taken == "native" or one.engine_ns <= 0.9 * one.native_ns
            if one.engine_ns > 0.9 * one.native_ns:
                assert one.reason == "its size class takes more than 0.9 of native's time"
        engine = engine_of(session)
        assert len(offered) == sum(one["is_of_class"] for one in engine["choices"])
        assert engine["choices_of_class"] >= len(offered) and engine["choices_estimated"] == 0
        assert engine["choices_measured"] >= len(measured)
        [finding] = (one for one in session.explain() if one.cause == "choices")
        times = f"{engine['choices_of_class']} times by what was measured of the size class"
        assert times in finding.text
        assert finding.advice == ""
        assert sum("time, as measured of its size class" in detail
                   for detail in finding.details) == len(offered)
        profile = latchkey.Profile()
        session.run({"x": random(1, 3, 14, 13)}, profile=profile)
        assert not any(one["expected_is_measured"] for one in profile
                       if one["output"] in {one.node for one in offered})
        assert {one.rule for one in session.offers(shapes={"x": (1, 3, 17, 15)})
                if one.tensor_bytes} & {"estimates"}


@needs_onednn
@pytest.mark.parametrize("runs", [1, 7])
def test_that_nothing_was_chosen_is_explained(convnet, runs):
    with latchkey.Session(convnet, engine="auto") as session:
        for _ in range(runs):
            session.run(PICTURE)
        [finding] = (one for one in session.explain() if one.cause == "nothing_chosen")
        assert finding.text == ("engine 'auto' has chosen nothing yet: no size has come 8 times, "
                                f"the most is {runs}")
        for _ in range(8 - runs):
            session.run(PICTURE)
        assert "nothing_chosen" not in [one.cause for one in session.explain()]


@needs_onednn
def test_the_default_is_told_of_where_it_changes_something(convnet, tmp_path):
    """Who has not asked for an engine does not want to hear that it is of no use."""
    def causes(session):
        for _ in range(10):
            session.run(PICTURE)
        told = {"choices", "nothing_chosen", "left_works"}
        return told & {one.cause for one in session.explain()}

    file = tmp_path / "tuning"
    with latchkey.Session(convnet) as session:
        told, engine = causes(session), engine_of(session)
        assert (engine["name"], engine["is_default"]) == ("auto", True) and engine["choices"]
        is_changed = any(choice["is_engine"] for choice in engine["choices"])
        assert told == ({"choices"} if is_changed else set())
        session.tune(PICTURE, seconds=0.02, file=file)
    with latchkey.Session(convnet, engine="auto") as session:
        assert not engine_of(session)["is_default"]
        assert causes(session) == {"choices"}
    with latchkey.Session(convnet, tuning=file) as session:
        assert engine_of(session)["is_default"]
        assert causes(session) == {"choices"}, "who gives times wants them used"


@needs_onednn
def test_run_plans_that_go_too_soon_are_explained(convnet):
    with latchkey.Session(convnet, engine="auto", cache_bytes="1m", cache_entries=2) as session:
        for _ in range(9):
            for width in (8, 9, 10, 11):
                session.run({"x": random(1, 3, 8, width)})
        [chosen] = (one for one in session.explain() if one.cause == "nothing_chosen")
        [again] = (one for one in session.explain() if one.cause == "built_again")
    assert chosen.text == ("engine 'auto' has chosen nothing yet: run plans are evicted before "
                           "their 8th run")
    assert again.advice == (
        "raise cache_entries from 2 to 4 at least and cache_bytes from 1m to 256m: the primitives "
        "of engine 'auto' count for it, too")


@needs_onednn
def test_tuning_ends_as_a_run_does(convnet):
    cancel = latchkey.Cancel()
    cancel.set()
    with latchkey.Session(convnet, engine="auto") as session:
        with pytest.raises(latchkey.CancelledError):
            session.tune(PICTURE, seconds=1000, cancel=cancel)
        assert session.tune(PICTURE, seconds=0.02)


@needs_onednn
@pytest.mark.parametrize(("options", "sentence"), [
    ({"engine": "onednn"}, "the engine of the context is 'onednn', 'auto' is needed"),
    ({"engine": "auto", "cache": "off"}, "run plans or the cache are off, both are needed"),
    ({"engine": "auto", "run_plans": False}, "run plans or the cache are off, both are needed")])
def test_what_keeps_from_tuning_is_said(convnet, options, sentence):
    with latchkey.Session(convnet, **options) as session:
        with pytest.raises(latchkey.UnsupportedError) as failed:
            session.tune(PICTURE)
    assert str(failed.value) == f"failed to tune: {sentence}"


def test_only_auto_is_tuned(convnet, tmp_path):
    with latchkey.Session(convnet, engine="native") as session:
        with pytest.raises(latchkey.UnsupportedError, match="is 'native', 'auto' is needed"):
            session.tune(PICTURE, file=tmp_path / "tuning")
        for wrong in ({"seconds": "1"}, {"file": 3}, {"cancel": 1}):
            with pytest.raises(TypeError, match=f"failed to .*'{[*wrong][0]}'"):
                session.tune(PICTURE, **wrong)
        with pytest.raises(ValueError, match="'seconds'"):
            session.tune(PICTURE, seconds=0)
    with pytest.raises(ValueError, match="closed"):
        session.tune(PICTURE)
    assert not (tmp_path / "tuning").exists()


def test_a_tuning_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(latchkey.NotFoundError, match="tuning file.*nosuch"):
        latchkey.Context(engine="auto", tuning=tmp_path / "nosuch")
    with pytest.raises(latchkey.FileError, match="tuning file"):
        latchkey.Context(engine="auto", tuning=tmp_path)
    with pytest.raises(TypeError, match="tuning"):
        latchkey.Context(tuning=3)
    latchkey.Context(tuning="")


def test_an_engine_that_is_not_there_is_named():
    with pytest.raises(latchkey.NotFoundError, match="engine 'nosuch'.*native"):
        latchkey.Context(engine="nosuch")
    with pytest.raises(TypeError, match="engine"):
        latchkey.Context(engine=3)


def test_auto_is_the_default():
    wanted = "auto" if ONEDNN.exists() else "native"
    assert latchkey.Context().engine == os.environ.get("LATCHKEY_ENGINE", wanted)


@needs_onednn
def test_the_module_of_the_default_is_loaded_when_a_size_recurs(convnet):
    code = """
import sys, numpy, latchkey
session = latchkey.Session(sys.stdin.buffer.read())
for _ in range(9):
    print("liblatchkey_onednn" in open("/proc/self/maps").read())
    session.run({"x": numpy.zeros((1, 3, 8, 8), numpy.float32)})
"""
    environment = {name: text for name, text in os.environ.items() if name != "LATCHKEY_ENGINE"}
    said = subprocess.run([sys.executable, "-c", code], input=convnet, env=environment,
                          capture_output=True, check=True).stdout
    assert said.split() == [b"False"] * 8 + [b"True"]


def test_doctor_says_which_there_are():
    found = latchkey.doctor(measure=False)
    assert found["library"]["engines"]["native"] == ""
    said = found["library"]["engines"]["onednn"]
    assert said == "" if ONEDNN.exists() else "cannot be loaded" in said
    assert "engine native: there" in str(found)
