"""Clones of a session: what they share, and that each may end before the others."""

import copy
import gc
import os

import numpy
import pytest
from close import assert_close
from conftest import random, reference
from test_threads import run_all

import latchkey


@pytest.fixture(params=["shared", "thread"])
def session(convnet, request):
    """A session in a context of its own."""
    return latchkey.Session(convnet, context=latchkey.Context(threads=2, cache=request.param))


X = random(2, 3, 16, 24, seed=7)


def check(session, model):
    for name, value in reference(model, {"x": X}).items():
        assert_close(session.run({"x": X})[name], value)


@pytest.mark.parametrize("make", [latchkey.Session.clone, copy.copy], ids=["clone", "copy"])
def test_a_clone_is_a_session_of_its_own(session, convnet, make):
    check(session, convnet)
    before = session.stats()
    other = make(session)
    assert type(other) is latchkey.Session
    assert other.context is session.context
    assert (other.inputs, other.outputs, other.metadata) == (
        session.inputs, session.outputs, session.metadata)
    assert other.stats()["session"]["runs"] == 0
    check(other, convnet)
    after = other.stats()
    assert after["weights"] == {**before["weights"], "shared": after["weights"]["shared"]}
    assert session.stats()["session"]["runs"] == before["session"]["runs"]


def test_bytes_and_files_outlive_the_original(convnet, relu, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(convnet)
    for model in (convnet, path):
        session = latchkey.Session(model)
        if model is path:
            (tmp_path / "new").write_bytes(relu)
            os.replace(tmp_path / "new", path)
        first = session.clone()
        result = first.run({"x": X})["scores"]
        expected = result.copy()
        session.close()
        second = first.clone()
        del session, first
        gc.collect()
        check(second, convnet)
        second.close()
        numpy.testing.assert_array_equal(result, expected)


def test_closed_sessions_are_not_cloned(relu):
    session = latchkey.Session(relu)
    session.close()
    with pytest.raises(ValueError, match="it is closed"):
        session.clone()


def test_clones_are_made_while_others_run(session, convnet):
    expected = reference(convnet, {"x": X})["scores"]

    def work(i):
        for _ in range(5):
            mine = session.clone() if i % 2 else session
            for _ in range(3):
                assert_close(mine.run({"x": X}, ["scores"])["scores"], expected)
    run_all(work, 4)
