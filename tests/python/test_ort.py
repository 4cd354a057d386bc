"""latchkey.ort: registration, statistics, explained claims.

Run with the newest ONNX Runtime, which is in .venv, and by test_ort_oldest.py with the oldest.
"""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import onnx
import onnxruntime
import pytest
from close import assert_close
from conftest import ROOT, make_model, random, reference
from onnx import TensorProto, helper

import latchkey.ort
from latchkey import _border

NAME = "LatchkeyExecutionProvider"
VERSION = tuple(map(int, onnxruntime.__version__.split(".")[:2]))
BY_NAME = VERSION >= (1, 27)  # InferenceSession takes the name of a registered provider


def devices():
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def options_of(**provider_options):
    options = onnxruntime.SessionOptions()
    latchkey.ort.append(options, **provider_options)
    return options


def session_of(model, **provider_options):
    options = options_of(**{"run_statistics": "on", **provider_options})
    return onnxruntime.InferenceSession(model, options, enable_fallback=0)


def in_new_process(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


def test_the_engine_of_a_host_is_named(tmp_path):
    """A module that the system finds, by its name, as in any context."""
    source = ROOT / "tests/executor_glue/cli/softmax_engine.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", '-DNAME="hosts"', "-DFACTOR=1.0f",
                    source, "-I", ROOT / "include", "-lm", "-o",
                    tmp_path / "liblatchkey_hosts.so"], check=True)
    (tmp_path / "model.onnx").write_bytes(make_model(
        [helper.make_node("Softmax", ["x"], ["y"])], [("x", TensorProto.FLOAT, ["n", 5])],
        [("y", TensorProto.FLOAT, ["n", 5])]))
    code = f"""
import numpy, onnxruntime, latchkey.ort
options = onnxruntime.SessionOptions()
latchkey.ort.append(options, engine="hosts", run_statistics="on", claim="all")
session = onnxruntime.InferenceSession({str(tmp_path / "model.onnx")!r}, options,
                                       enable_fallback=0)
session.run(None, {{"x": numpy.zeros((2, 5), numpy.float32)}})
engine = latchkey.ort.stats(session)["context"]["engine"]
print(engine["name"], engine["works"], engine["left"])
"""
    done = in_new_process(code, LD_LIBRARY_PATH=os.pathsep.join(
        [str(tmp_path), os.environ.get("LD_LIBRARY_PATH", "")]))
    assert (done.stdout, done.returncode) == ("hosts 1 0\n", 0), done.stderr
    done = in_new_process(code)
    assert "failed to choose engine 'hosts'" in done.stderr and done.returncode == 1


@pytest.fixture
def half():
    """Relu, Binarizer (which Latchkey has not) and Relu."""
    model = onnx.load_from_string(make_model(
        [helper.make_node("Relu", ["x"], ["a"]),
         helper.make_node("Binarizer", ["a"], ["b"], domain="ai.onnx.ml", threshold=0.5),
         helper.make_node("Relu", ["b"], ["y"])],
        [("x", TensorProto.FLOAT, ["n", 3])], [("y", TensorProto.FLOAT, ["n", 3])]))
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    return model.SerializeToString()


# ---- registration ----


def test_names_and_path():
    path = latchkey.ort.get_library_path()
    assert os.path.isabs(path) and os.path.isfile(path)
    assert Path(path).parent == Path(latchkey.__file__).parent
    assert latchkey.ort.get_ep_name() == NAME and latchkey.ort.get_ep_names() == [NAME]


def test_registering_again_changes_nothing():
    for _ in range(3):
        latchkey.ort.register()
        assert len(devices()) == 1
    latchkey.ort.register("another name")
    assert len(devices()) == 1


def test_register_unregister_and_again(relu):
    x = random(5, 3)
    for name in ("one", "two"):
        latchkey.ort.unregister()
        assert devices() == []
        latchkey.ort.unregister()
        latchkey.ort.register(name)
        assert len(devices()) == 1
        result, = session_of(relu).run(None, {"x": x})
        numpy.testing.assert_array_equal(result, numpy.maximum(x, 0))


def test_a_session_that_is_left_is_not_unregistered(relu):
    latchkey.ort.register()
    session = session_of(relu)
    other = session_of(relu)
    with pytest.raises(latchkey.BusyError, match="failed to unregister .*: 2 sessions use it"):
        latchkey.ort.unregister()
    del other
    with pytest.raises(latchkey.BusyError, match="1 session uses it, none may; delete it first"):
        latchkey.ort.unregister()
    x = random(5, 3)
    numpy.testing.assert_array_equal(session.run(None, {"x": x})[0], numpy.maximum(x, 0))
    del session
    latchkey.ort.unregister()
    assert devices() == []


def test_a_session_outlives_a_registration_that_somebody_takes_back(relu, tmp_path):
    """ONNX Runtime releases the factory and unloads the library, also under sessions."""
    (tmp_path / "relu.onnx").write_bytes(relu)
    done = in_new_process(f"""
import latchkey.ort, numpy, onnxruntime
onnxruntime.register_execution_provider_library("theirs", latchkey.ort.get_library_path())
def session():
    options = onnxruntime.SessionOptions()
    latchkey.ort.append(options)
    return onnxruntime.InferenceSession({str(tmp_path / "relu.onnx")!r}, options, enable_fallback=0)
left = session()
x = -numpy.ones((2, 3), numpy.float32)
onnxruntime.unregister_execution_provider_library("theirs")
print(left.run(None, {{"x": x}})[0].sum())
latchkey.ort.register()
print(session().run(None, {{"x": x}})[0].sum())
del left
latchkey.ort.unregister()
print("done")
""")
    assert done.stdout.split() == ["0.0", "0.0", "done"], done


def test_what_somebody_else_registered_is_used_and_left():
    latchkey.ort.unregister()
    onnxruntime.register_execution_provider_library("theirs", latchkey.ort.get_library_path())
    try:
        latchkey.ort.register()
        assert len(devices()) == 1
        latchkey.ort.unregister()
        assert len(devices()) == 1
    finally:
        onnxruntime.unregister_execution_provider_library("theirs")
    assert devices() == []


def test_threads_register_once():
    latchkey.ort.unregister()
    barrier, failures = threading.Barrier(8), []

    def work():
        try:
            barrier.wait(60)
            latchkey.ort.register()
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and len(devices()) == 1


def test_onnxruntime_is_imported_when_it_is_needed():
    done = in_new_process("import sys, latchkey.ort; latchkey.ort.get_library_path();"
                          "print('onnxruntime' in sys.modules); latchkey.ort.register();"
                          "print('onnxruntime' in sys.modules)")
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_a_missing_onnxruntime_is_named():
    done = in_new_process("import sys; sys.modules['onnxruntime'] = None; import latchkey.ort\n"
                          "try: latchkey.ort.register()\n"
                          "except ImportError as error: print(error.name, error)")
    assert done.stdout.startswith("onnxruntime failed to import onnxruntime:"), done.stderr
    assert "pip install 'onnxruntime>=1.23'" in done.stdout


@pytest.mark.parametrize("version", ["1.22.1", "0.9", "", "none"])
def test_an_old_onnxruntime_is_named(tmp_path, version):
    (tmp_path / "onnxruntime.py").write_text(f"__version__ = {version!r}\n")
    done = in_new_process("import latchkey.ort\n"
                          "try: latchkey.ort.register()\n"
                          "except ImportError as error: print(error.name, error)",
                          PYTHONPATH=str(tmp_path))
    expected = f"onnxruntime failed to use onnxruntime {version}: {NAME} needs 1.23 or newer"
    assert done.stdout.startswith(expected), done


# ---- sessions ----


def test_append_gives_a_session_that_runs_here(convnet):
    session = session_of(convnet)
    assert session.get_providers()[0] == NAME
    for size in ((1, 8, 8), (2, 20, 12), (1, 8, 8)):
        x = random(size[0], 3, *size[1:])
        expected = reference(convnet, {"x": x})
        for value, result in zip(session.get_outputs(), session.run(None, {"x": x})):
            assert_close(result, expected[value.name])


@pytest.mark.skipif(not BY_NAME, reason="this ONNX Runtime takes no name of a registered provider")
def test_by_name_it_is_the_same(relu):
    latchkey.ort.register()
    session = onnxruntime.InferenceSession(relu, providers=[(NAME, {"run_statistics": "on"})],
                                           enable_fallback=0)
    assert session.get_providers()[0] == NAME
    assert latchkey.ort.stats(session)["claims"]["claimed"] == 1


@pytest.mark.parametrize(("options", "words"), [
    ({"cash": "off"}, "failed to read provider option 'cash': "
                      "it is not one of cache, cache_bytes"),
    ({"cache": "of"}, "failed to read provider option 'cache': it is 'of', it must be one of off, "
                      "thread, shared"),
    ({"threads": 0}, "failed to read provider option 'threads': it is '0', it must be 1 to 1024"),
    ({"precision": "f16"}, "failed to read provider option 'precision': it is 'f16', it must be "),
])
def test_bad_options_are_named(relu, options, words):
    with pytest.raises(Exception, match="failed to read") as raised:
        session_of(relu, **options)
    assert words in str(raised.value)


def test_options_are_those_of_the_docs():
    source = (ROOT / "executor_glue/ort/options.c").read_text()
    page = (ROOT / "docs/onnxruntime.md").read_text()
    rows = re.findall(r'^ +\{"(\w+)", set_\w+, ".*", (\w+)\},$', source, re.MULTILINE)
    at_start = [name for name, when in rows if when in ("AT_START", "BOTH")]
    any_time = [name for name, when in rows if when in ("ANY_TIME", "BOTH")]
    table = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(table) == sorted(at_start) and len(at_start) > 5
    table = re.findall(r"^\| ((?:cache|weights|memory)_\w+) \|", page, re.MULTILINE)
    assert sorted(table) == sorted(any_time) and len(any_time) > 4


# ---- statistics ----


def test_statistics_count(half):
    session = session_of(half, threads=1, claim="all")
    before = latchkey.ort.stats(session)
    assert before["provider"] == NAME and before["context"]["threads"] == 1
    assert before["version"] == latchkey.version()
    assert before["claims"] == {
        "nodes": 3, "claimed": 2, "subgraphs": 2,
        "left": [{"operator": "Binarizer", "domain": "ai.onnx.ml", "count": 1,
                  "reason": before["claims"]["left"][0]["reason"]}]}
    assert "Binarizer" in before["claims"]["left"][0]["reason"]
    assert [part["runs"] for part in before["subgraphs"]] == [0, 0]
    assert [[(each["op_type"], each["nodes"]) for each in part["operators"]]
            for part in before["subgraphs"]] == [[("Relu", 1)], [("Relu", 1)]]
    for rows in (2, 2, 5):
        x = random(rows, 3)
        result, = session.run(None, {"x": x})
        assert_close(result, (x > 0.5).astype(numpy.float32))
    after = latchkey.ort.stats(session)
    for part in after["subgraphs"]:
        assert part["nodes_in_file"] == len(part["nodes"]) == 1
        assert (part["runs"], part["run_plan_builds"], part["run_plan_hits"]) == (3, 2, 1)
        assert [(size["inputs"][0]["shape"], size["builds"], size["runs"])
                for size in part["sizes"]] == [([2, 3], 1, 2), ([5, 3], 1, 1)]
    assert after["context"]["cache"]["entries"] > before["context"]["cache"]["entries"]


def test_statistics_of_every_kind_of_input():
    kinds = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16,
             TensorProto.BOOL, TensorProto.INT8, TensorProto.INT16, TensorProto.INT32,
             TensorProto.INT64, TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32,
             TensorProto.UINT64, TensorProto.STRING, TensorProto.FLOAT8E4M3FN]
    nodes = [helper.make_node("Identity", [f"x{i}"], [f"y{i}"]) for i in range(len(kinds))]
    model = make_model(nodes,
                       [(f"x{i}", kind, ["n", 2, None]) for i, kind in enumerate(kinds)],
                       [(f"y{i}", kind, ["n", 2, None]) for i, kind in enumerate(kinds)], opset=19)
    claims = latchkey.ort.stats(session_of(model))["claims"]
    assert claims["claimed"] + sum(left["count"] for left in claims["left"]) == claims["nodes"]


def test_statistics_of_scalars_and_no_inputs():
    scalar = make_model([helper.make_node("Exp", ["x"], ["y"])], [("x", TensorProto.FLOAT, [])],
                        [("y", TensorProto.FLOAT, [])])
    assert latchkey.ort.stats(session_of(scalar))["claims"]["nodes"] == 1
    none = make_model([helper.make_node("RandomNormal", [], ["y"], shape=[2])], [],
                      [("y", TensorProto.FLOAT, [2])])
    assert latchkey.ort.stats(session_of(none))["claims"]["claimed"] == 0


def test_statistics_while_others_run(convnet):
    session = session_of(convnet)
    x = random(1, 3, 16, 16)
    expected = reference(convnet, {"x": x})["scores"]
    stop, failures = threading.Event(), []

    def work():
        try:
            while not stop.is_set():
                assert_close(session.run(["scores"], {"x": x})[0], expected)
        except BaseException as error:
            failures.append(error)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        runs = [latchkey.ort.stats(session)["subgraphs"][0]["runs"] for _ in range(20)]
    finally:
        stop.set()
        thread.join()
    assert failures == [] and runs == sorted(runs)


def test_statistics_say_nothing_else(half):
    done = in_new_process(f"import latchkey.ort, onnxruntime\nmodel = {half!r}\n"
                          "options = onnxruntime.SessionOptions()\n"
                          "latchkey.ort.append(options, run_statistics='on')\n"
                          "latchkey.ort.stats(onnxruntime.InferenceSession(model, options))")
    assert done.returncode == 0 and "terminate" not in done.stderr, done.stderr


def test_a_session_without_the_provider_has_no_statistics(relu):
    session = onnxruntime.InferenceSession(relu, providers=["CPUExecutionProvider"])
    with pytest.raises(ValueError, match=f"the session has no {NAME}, it has CPUExecutionProvider"):
        latchkey.ort.stats(session)


@pytest.mark.parametrize("given", [{}, {"run_statistics": "off"}])
def test_statistics_are_for_sessions_that_allow_them(relu, given):
    session = onnxruntime.InferenceSession(relu, options_of(**given), enable_fallback=0)
    with pytest.raises(RuntimeError, match="failed to read statistics: .*run_statistics=on"):
        latchkey.ort.stats(session)
    x = random(2, 3)
    assert_close(session.run(None, {"x": x})[0], numpy.maximum(x, 0))


# ---- the cache ----

DYNAMIC = hasattr(onnxruntime.InferenceSession, "set_ep_dynamic_options")


def entries_of(session):
    return latchkey.ort.stats(session)["context"]["cache"]["entries"]


@pytest.mark.skipif(not DYNAMIC, reason="this ONNX Runtime has no dynamic options in Python")
def test_the_cache_is_cleared_trimmed_and_resized(convnet):
    session = session_of(convnet, threads=1)

    def run_all():
        for size in range(8, 14):
            x = random(1, 3, size, size)
            expected = reference(convnet, {"x": x})
            assert_close(session.run(["scores"], {"x": x})[0], expected["scores"])
    run_all()
    full = entries_of(session)
    assert full >= 6
    latchkey.ort.trim(session)
    assert entries_of(session) == full
    latchkey.ort.clear(session)
    assert entries_of(session) == 0
    latchkey.ort.set_capacity(session, entries=2)
    run_all()
    assert 0 < entries_of(session) <= 2
    latchkey.ort.set_capacity(session, entries=1000, bytes=2**24, weights_bytes=2**24)
    run_all()
    assert entries_of(session) == full


@pytest.mark.skipif(not DYNAMIC, reason="this ONNX Runtime has no dynamic options in Python")
def test_bad_limits_are_named(relu):
    with pytest.raises(Exception, match="'bytes' is the text 'many', a whole number"):
        latchkey.ort.set_capacity(session_of(relu), bytes="many")


@pytest.mark.skipif(DYNAMIC, reason="this ONNX Runtime has dynamic options in Python")
def test_without_dynamic_options_it_says_what_is_needed(relu):
    with pytest.raises(RuntimeError, match="failed to clear the cache: .*1.24 or newer"):
        latchkey.ort.clear(session_of(relu))


def test_a_session_without_the_provider_has_no_cache(relu):
    session = onnxruntime.InferenceSession(relu, providers=["CPUExecutionProvider"])
    for act in (latchkey.ort.clear, latchkey.ort.trim, latchkey.ort.set_capacity):
        with pytest.raises(ValueError, match=f"the session has no {NAME}"):
            act(session)


# ---- claims ----


def test_borders_are_measured_once():
    onnx.checker.check_model(onnx.load_from_string(_border.model()), full_check=True)
    cost = latchkey.ort.border_cost()
    assert 0 <= cost < 60e9, "nanoseconds"
    assert latchkey.ort.border_cost() == cost
    session = session_of(_border.model(), claim="all")
    x = random(1, 16)
    assert_close(session.run(None, {"x": x})[0], (numpy.maximum(x, 0) > 0).astype(numpy.float32))
    claims = latchkey.ort.stats(session)["claims"]
    assert (claims["subgraphs"], claims["claimed"]) == (_border.GROUPS, _border.GROUPS)


def test_what_claiming_all_would_save(tmp_path):
    """As long as the model's file is there to be opened again."""
    path = tmp_path / "model.onnx"
    path.write_bytes(make_model(
        [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Unique", ["a"], ["b"]),
         helper.make_node("Reshape", ["b", "shape"], ["c"]),
         helper.make_node("Conv", ["c", "v"], ["y"])],
        [("x", TensorProto.FLOAT, [1, 3, 4, 4])], [("y", TensorProto.FLOAT, None)],
        [("w", random(4, 3, 1, 1)), ("shape", numpy.array([1, 1, 1, -1])),
         ("v", random(4, 1, 1, 1))]))
    session = session_of(str(path))
    session.run(None, {"x": random(1, 3, 4, 4)})
    advice = latchkey.ort.explain(session)[0].advice
    assert advice.startswith('claim="all" leaves 2 parts; a border costs ')
    path.unlink()
    assert latchkey.ort.explain(session)[0].advice.startswith("a border costs ")
    path.write_bytes(b"no model")
    assert latchkey.ort.explain(session)[0].advice.startswith("a border costs ")


def test_claims_are_explained(half, tmp_path):
    path = tmp_path / "half.onnx"
    path.write_bytes(half)
    for given in (path, str(path)):
        claims = latchkey.ort.explain_claims(given, cache="off", threads=1, claim="all")
        assert (claims["nodes"], claims["claimed"], claims["subgraphs"]) == (3, 2, 2)
        (left,) = claims["left"]
        assert (left["operator"], left["domain"], left["count"]) == ("Binarizer", "ai.onnx.ml", 1)
        assert "Binarizer" in left["reason"]
    claims = latchkey.ort.explain_claims(path)
    assert claims["claimed"] == 0  # one Relu does not make a border good
    assert {left["operator"]: left["count"] for left in claims["left"]} == {
        "Binarizer": 1, "Relu": 2}


def test_claims_of_a_bad_option_or_a_missing_model_are_errors(relu, tmp_path):
    with pytest.raises(Exception, match="none.onnx"):
        latchkey.ort.explain_claims(tmp_path / "none.onnx")
    path = tmp_path / "relu.onnx"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    for source in (path, path.read_bytes()):
        with pytest.raises(latchkey.MalformedError, match="a Git LFS pointer.*`git lfs pull`"):
            latchkey.ort.explain_claims(source)
    path.write_bytes(relu)
    with pytest.raises(Exception, match="provider option 'cache_bytes': it is 'many'"):
        latchkey.ort.explain_claims(path, cache_bytes="many")
