"""What is wrong is an exception with a sentence, and the session works on."""

import copy
import gc
import pickle
from contextlib import contextmanager

import numpy
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper

import latchkey


@pytest.fixture
def session(relu):
    session = latchkey.Session(relu)
    yield session
    x = random(2, 3)
    assert numpy.array_equal(session.run({"x": x})["y"], numpy.maximum(x, 0))


@contextmanager
def fails(kind, status, *parts):
    """pytest.raises for an error of the library's, with its status and parts of its sentence."""
    with pytest.raises(kind) as info:
        yield
    assert isinstance(info.value, latchkey.Error) and info.value.status == status, info.value
    for part in parts:
        assert part in str(info.value), str(info.value)


def test_unknown_and_missing_names(session):
    x = random(2, 3)
    with fails(KeyError, "LK_NOT_FOUND", "no input 'z'", "'x'"):
        session.run({"z": x})
    with fails(KeyError, "LK_NOT_FOUND", "input 'x' is missing"):
        session.run({})
    with fails(KeyError, "LK_NOT_FOUND", "no output 'z'"):
        session.run({"x": x}, ["z"])
    with fails(KeyError, "LK_NOT_FOUND", "no output 'z'"):
        session.run({"x": x}, out={"z": x})
    with fails(ValueError, "LK_INVALID_ARGUMENT", "'y' is given twice"):
        session.run({"x": x}, ["y", "y"])
    with pytest.raises(TypeError, match="a list of names of outputs is needed"):
        session.run({"x": x}, "y")


def test_wrong_types_and_shapes(session):
    with fails(ValueError, "LK_INVALID_ARGUMENT", "'x'", "f64", "f32"):
        session.run({"x": numpy.zeros((2, 3))})
    with fails(ValueError, "LK_INVALID_ARGUMENT", "'x'", "2x4"):
        session.run({"x": random(2, 4)})
    with fails(ValueError, "LK_INVALID_ARGUMENT", "'x'"):
        session.run({"x": random(3)})
    with pytest.raises(TypeError, match="a number or bool is needed"):
        session.run({"x": numpy.array([["a"]])})
    with pytest.raises(ValueError, match="at most 8"):
        session.run({"x": numpy.zeros([1] * 9, numpy.float32)})


def test_out_of_another_shape_is_refused_before_anything_runs(session):
    """Also where it has as many elements: in the other order, with fewer or with more dimensions.
    """
    x = random(2, 3)
    before = session.stats()["session"]["runs"]
    for shape in ((3, 2), (6,), (1, 2, 3), (2, 3, 1), (6, 1), ()):
        out = numpy.full(shape, 7, numpy.float32)
        with fails(ValueError, "LK_INVALID_ARGUMENT", "output 'y'", "2x3"):
            session.run({"x": x}, out={"y": out})
        assert (out == 7).all()
    assert session.stats()["session"]["runs"] == before
    out = numpy.full((2, 3), 7, numpy.float32)
    assert session.run({"x": x}, out={"y": out})["y"] is out


def test_out_of_another_shape_where_shapes_follow_from_data():
    model = make_model([helper.make_node("NonZero", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, ["n"])], [("y", TensorProto.INT64, [1, "m"])])
    session = latchkey.Session(model)
    x = numpy.array([1, 0, 2, 0, 3], numpy.float32)
    for shape in ((3,), (3, 1), (1, 4)):
        out = numpy.full(shape, 7)
        with pytest.raises(ValueError, match="output 'y'.* the run makes 1x3"):
            session.run({"x": x}, out={"y": out})
        assert (out == 7).all()
    out = numpy.full((1, 3), 7)
    assert session.run({"x": x}, out={"y": out})["y"] is out and out.tolist() == [[0, 2, 4]]


def test_wrong_out_is_not_written(session):
    x = random(2, 3)
    for out in (numpy.full((2, 4), 7, numpy.float32), numpy.full((1, 3), 7, numpy.float32),
                numpy.full((2, 3), 7, numpy.float64), numpy.full((0, 3), 7, numpy.float32)):
        with fails(ValueError, "LK_INVALID_ARGUMENT", "'y'"):
            session.run({"x": x}, out={"y": out})
        assert (out == 7).all()
    backing = numpy.full((4, 3), 7, numpy.float32)
    for out in (backing[::2], numpy.full((3, 2), 7, numpy.float32).T):
        with pytest.raises(ValueError, match="all are needed: C-contiguous"):
            session.run({"x": x}, out={"y": out})
    frozen = numpy.full((2, 3), 7, numpy.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        session.run({"x": x}, out={"y": frozen})
    with pytest.raises(TypeError, match="numpy.ndarray"):
        session.run({"x": x}, out={"y": [[0.0] * 3] * 2})
    assert (backing == 7).all() and (frozen == 7).all()


def test_models_that_cannot_be_opened(relu, tmp_path):
    missing = tmp_path / "missing.onnx"
    with fails(FileNotFoundError, "LK_NOT_FOUND", str(missing)):
        latchkey.Session(missing)
    garbage = tmp_path / "garbage.onnx"
    garbage.write_bytes(bytes(range(256)) * 4)
    for model in (garbage, garbage.read_bytes(), relu[:len(relu) // 2]):
        with fails(ValueError, "LK_MALFORMED"):
            latchkey.Session(model)
    with fails(ValueError, "LK_INVALID_ARGUMENT", "it has 0 bytes"):
        latchkey.Session(b"")
    with fails(OSError, "LK_IO", str(tmp_path)):
        latchkey.Session(tmp_path)
    unknown = make_model([helper.make_node("StringNormalizer", ["a", "b"], ["y"], name="nms")],
                         [("a", TensorProto.FLOAT, [1, 2, 4]), ("b", TensorProto.FLOAT, [1, 1, 2])],
                         [("y", TensorProto.INT64, None)])
    with fails(NotImplementedError, "LK_UNSUPPORTED", "StringNormalizer", "17"):
        latchkey.Session(unknown)
    with pytest.raises(TypeError):
        latchkey.Session(None)


def test_wrong_options(relu, monkeypatch):
    with pytest.raises(ValueError, match="'cache' is the text 'on', one of off, thread, shared is"):
        latchkey.Session(relu, cache="on")
    for options in ({"threads": 0}, {"memory_bytes": 0}, {"cache_entries": -1},
                    {"cache_bytes": 2**64}, {"verbose": -1}):
        with pytest.raises(ValueError, match=next(iter(options))):
            latchkey.Session(relu, **options)
    with pytest.raises(ValueError, match="'threads' is 1025, a whole number from 1 to 1024"):
        latchkey.Context(threads=1025)
    monkeypatch.setenv("LATCHKEY_THREADS", "1024")
    assert latchkey.Context().threads == latchkey.Context(threads=1024).threads == 1024
    monkeypatch.setenv("LATCHKEY_THREADS", "1025")
    with fails(ValueError, "LK_OUT_OF_RANGE", "LATCHKEY_THREADS", "1024"):
        latchkey.Context()
    monkeypatch.delenv("LATCHKEY_THREADS")
    with pytest.raises(TypeError, match="unexpected keyword"):
        latchkey.Session(relu, treads=2)
    with pytest.raises(TypeError, match="'fixed_dim' is .*, fixed_dims is allowed"):
        latchkey.Session(relu, fixed_dim={})
    with pytest.raises(ValueError, match="'inter' is 2 and 'executor' is 'naive'"):
        latchkey.Session(relu, inter=2)
    with pytest.raises(TypeError, match="one of both is allowed"):
        latchkey.Session(relu, context=latchkey.Context(), threads=1)
    with fails(KeyError, "LK_NOT_FOUND", "disable pass 'fuse'", "no pass of that name"):
        latchkey.Session(relu, disabled_passes=["fuse"])
    with fails(KeyError, "LK_NOT_FOUND", "no input has it", "'row'",
               "the free dimensions are: rows"):
        latchkey.Session(relu, fixed_dims={"row": 1})
    with pytest.raises(ValueError, match="'rows'.* is -1"):
        latchkey.Session(relu, fixed_dims={"rows": -1})
    monkeypatch.setenv("LATCHKEY_CACHE_BYTES", "much")
    with fails(ValueError, "LK_OUT_OF_RANGE", "LATCHKEY_CACHE_BYTES", "much"):
        latchkey.Context()
    assert latchkey.Context(cache="shared", cache_bytes=1 << 20).cache == "shared"


def test_timeout(session):
    x = random(2, 3)
    with fails(TimeoutError, "LK_DEADLINE", "deadline"):
        session.run({"x": x}, timeout=0)
    assert session.run({"x": x}, timeout=60)["y"].shape == (2, 3)


def test_closed_sessions(relu):
    with latchkey.Session(relu) as session:
        pass
    session.close()
    for use in (lambda: session.run({"x": random(1, 3)}), session.stats, session.clear):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert "closed" in repr(session)


def test_a_failed_open_leaves_nothing_to_end(relu):
    for _ in range(3):
        with pytest.raises(latchkey.Error):
            latchkey.Session(relu[:10])
        gc.collect()


# ---- habits of ONNX Runtime ----

def test_the_order_of_arguments_of_onnxruntime_is_named(session):
    x = random(2, 3)
    for arguments, call in (((None, {"x": x}), r"session.run\(\{'x': ...\}\) is the call"),
                            ((["y"], {"x": x}), r"session.run\(\{'x': ...\}, \['y'\]\) is the"),
                            (("y", {"x": x}), r"session.run\(\{'x': ...\}, \['y'\]\) is the"),
                            ((None, {"x": x}, None), "in ONNX Runtime's order")):
        with pytest.raises(TypeError, match=call):
            session.run(*arguments)


def test_members_of_onnxruntime_s_sessions_say_what_is_here(session):
    for name, instead in (("get_inputs", "session.inputs"), ("get_outputs", "session.outputs"),
                          ("get_providers", "latchkey.ort"), ("io_binding", "out="),
                          ("end_profiling", "latchkey.Profile")):
        assert not hasattr(session, name)
        with pytest.raises(AttributeError, match=f"has no '{name}': .*{instead}"):
            getattr(session, name)
    with pytest.raises(AttributeError, match="latchkey.Session opens a model"):
        latchkey.InferenceSession


# ---- what cannot leave its process ----

@pytest.mark.parametrize("make", [
    lambda it: it, lambda it: it.context, lambda it: latchkey.Profile(), lambda it: it.trace(),
    lambda it: latchkey.Cancel(), lambda it: latchkey.Recorder(it)],
    ids=["Session", "Context", "Profile", "Trace", "Cancel", "Recorder"])
def test_pickle_says_why_not(session, make):
    thing = make(session)
    for leave in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=f"failed to pickle a latchkey.{type(thing).__name__}: "
                           "it cannot leave its process"):
            leave(thing)
