"""latchkey.compare: errors of each type, whose fault they are, and what it writes."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import latchkey
from conftest import make_model, needs_onednn, random
from latchkey.commands import drawn

F32 = TensorProto.FLOAT
COMMAND = Path(latchkey.__file__).parent / "bin/latchkey"


def chain(scale=1.0, shift=0.5):
    """relu(x @ w * scale) + shift, then a softmax: four nodes, whose constants are told apart."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="first"),
             helper.make_node("Mul", ["product", "scale"], ["scaled"], name="second"),
             helper.make_node("Softmax", ["scaled"], ["soft"], name="third"),
             helper.make_node("Add", ["soft", "shift"], ["moved"], name="fourth"),
             helper.make_node("Softmax", ["moved"], ["y"], name="fifth")]
    constants = [("w", random(4, 4, seed=3)),
                 ("scale", numpy.array([scale, 2, 3, 4], numpy.float32)),
                 ("shift", numpy.array([shift, 0, 0, 0], numpy.float32))]
    return make_model(nodes, [("x", F32, ["rows", 4])], [("y", F32, ["rows", 4])], constants)


X = {"x": random(3, 4, seed=8)}


# ---- models that agree ----


@pytest.mark.parametrize("expected", ["onnxruntime", "reference"])
def test_a_model_agrees_with_its_peer_value_by_value(convnet, expected):
    found = latchkey.compare(convnet, {"x": random(2, 3, 9, 7)}, expected=expected,
                             every_value=True, runs=2, threads=1)
    assert found and not found.differing and found.first is None
    assert [one.name for one in found.outputs] == ["scores", "features"]
    # Relu is in the first convolution and Flatten is gone; what is left is named as in the file.
    names = [one.name for one in found.values]
    assert names[0] == "r1" and "c1" not in names and {"features", "scores"} <= set(names)
    assert "c1" in found.only_expected and found.only_here == []
    assert all(one.elements > 0 and one.differing == 0 for one in found.values)
    assert found.values[0].shape == (2, 16, 9, 7) and found.threads == 1
    if expected == "reference":
        assert found.expected == f"ONNX's reference {onnx.__version__}" and found.speed == []
    else:
        assert found.expected.startswith("ONNX Runtime 1.")
        speed, = found.speed
        assert speed.runs == 2 and speed.ours_ms > 0 and speed.theirs_ms > 0
    assert "all agree" in str(found) and repr(found).endswith("agrees>")


def test_several_requests_are_one_table(relu):
    requests = [{"x": random(n, 3, seed=n)} for n in (1, 5, 0)]
    found = latchkey.compare(relu, requests, runs=1)
    value, = found.outputs
    assert value.elements == 18 and value.shape == (1, 3) and found
    assert [one["x"] for one in found.requests] == [(1, 3), (5, 3), (0, 3)]
    assert [one.request for one in found.speed] == [0, 1, 2]


@pytest.mark.parametrize("name, peer", [
    ("float32", "onnxruntime"), ("float64", "onnxruntime"), ("float16", "onnxruntime"),
    ("bfloat16", "reference"), ("int8", "onnxruntime"), ("uint8", "onnxruntime"),
    ("int16", "reference"), ("uint16", "reference"), ("int32", "onnxruntime"),
    ("uint32", "onnxruntime"), ("int64", "onnxruntime"), ("uint64", "onnxruntime"),
    ("bool", "onnxruntime")])
def test_values_of_every_type(name, peer):
    dtype = numpy.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    model = make_model([helper.make_node("Transpose", ["x"], ["t"]),
                        helper.make_node("Concat", ["t", "t"], ["y"], axis=0)],
                       [("x", kind, ["n", 2])], [("y", kind, [None, "n"])])
    x = numpy.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    found = latchkey.compare(model, {"x": x}, expected=peer, every_value=True, runs=0)
    assert found and {one.dtype for one in found.values} == {name}
    assert [one.name for one in found.outputs] == ["y"]


def test_bfloat16_goes_through_onnxruntime_too():
    kind = TensorProto.BFLOAT16
    model = make_model([helper.make_node("Cast", ["x"], ["wide"], to=F32),
                        helper.make_node("Cast", ["wide"], ["y"], to=kind)],
                       [("x", kind, ["n"])], [("y", kind, ["n"])])
    x = numpy.array([1.5, -2, 3], ml_dtypes.bfloat16)
    found = latchkey.compare(model, {"x": x}, every_value=True)
    assert found and found.outputs[0].dtype == "bfloat16" and found.outputs[0].elements == 3
    assert found.speed[0].theirs_ms > 0


# ---- how far values are apart ----


def difference(found, right, **tolerance):
    """Of two models that give these arrays: the Difference of their only output."""
    def constant(array):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return make_model([helper.make_node("Identity", ["c"], ["y"])], [],
                          [("y", kind, array.shape)], [("c", array)])
    result = latchkey.compare(constant(found), {}, expected=constant(right), runs=0, **tolerance)
    value, = result.outputs
    assert bool(result) is not value.differs
    return value


@pytest.mark.parametrize("dtype, places", [(numpy.float32, 23), (numpy.float64, 52),
                                           (numpy.float16, 10), (ml_dtypes.bfloat16, 7)])
def test_errors_of_floats(dtype, places):
    last = 2.0 ** -places
    right = numpy.array([[1, -0.0], [-2, 1024]], dtype)
    found = numpy.array([[1 + 2 * last, 0.0], [-2 - 2 * last, 1024]], dtype)
    one = difference(found, right, rtol=0, atol=0)
    assert (one.differing, one.elements, one.not_finite) == (2, 4, 0)
    assert (one.absolute.error, one.absolute.at) == (2 * last, (0, 0))
    assert (one.relative.error, one.relative.at) == (2 * last, (0, 0))
    assert (one.ulp.error, one.ulp.at) == (2, (0, 0))
    assert (one.first.found, one.first.expected) == (1 + 2 * last, 1)
    factor = 16 if dtype is ml_dtypes.bfloat16 else 1
    assert not difference(found, right, rtol=2 * last / factor, atol=0).differs
    assert difference(found, right, rtol=1.9 * last / factor, atol=0).differing == 1
    assert not difference(found, right, rtol=0, atol=2 * last).differs


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64, numpy.float16,
                                   ml_dtypes.bfloat16])
def test_nan_and_infinities_equal_themselves_alone(dtype):
    right = numpy.array([numpy.nan, numpy.inf, -numpy.inf, numpy.inf, numpy.nan, 1], dtype)
    found = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -numpy.inf, 1, numpy.nan], dtype)
    one = difference(found, right, rtol=1e30, atol=1e30)
    assert (one.differing, one.not_finite, one.first.at) == (3, 3, (3,))
    assert one.absolute is one.relative is one.ulp is None
    assert one.to_dict()["first"]["expected"] == "inf"
    assert one.both_nan == one.to_dict()["both_nan"] == 1


def test_nan_on_both_sides_is_said(relu):
    """They agree, and nobody learns from it that the numbers do."""
    x = random(2, 3)
    x[0, :2] = numpy.nan
    found = latchkey.compare(relu, [{"x": x}, {"x": x}], runs=0)
    assert found and str(found).splitlines()[-1] == (
        "all agree; NaN on both sides, which says nothing of the numbers: 4 of 12 elements of 'y'")
    assert str(latchkey.compare(relu, {"x": random(2, 3)}, runs=0)).splitlines()[-1] == "all agree"


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                                  "uint64"])
def test_integers_must_be_equal_however_far_apart(name):
    least, most = numpy.iinfo(name).min, numpy.iinfo(name).max
    one = difference(numpy.array([least, 5, 7], name), numpy.array([most, 5, 8], name), rtol=9,
                     atol=9)
    assert (one.differing, one.absolute.error, one.ulp) == (2, int(most) - int(least), None)
    assert one.relative.error == pytest.approx((int(most) - int(least)) / int(most))
    assert (one.absolute.found, one.absolute.expected) == (least, most)


def test_bools_and_empty_values():
    one = difference(numpy.array([True, False]), numpy.array([True, True]))
    assert (one.differing, one.absolute.error, one.absolute.at) == (1, 1, (1,))
    empty = difference(numpy.zeros((0, 3), numpy.float32), numpy.zeros((0, 3), numpy.float32))
    assert (empty.elements, empty.differing, empty.absolute) == (0, 0, None)


def test_a_small_element_is_not_excused_by_a_large_one_beside_it():
    one = difference(numpy.array([1e6, 2e-3], numpy.float32), numpy.array([1e6, 1e-3],
                                                                          numpy.float32))
    assert one.differing == 1 and one.first.at == (1,)


def test_the_worst_element_of_a_value_larger_than_a_chunk():
    right = numpy.ones((3, 1 << 20), numpy.float32)
    found = right.copy()
    found[1, 5], found[2, 7], found[2, 9] = 1.5, 3, 2
    one = difference(found, right)
    assert (one.differing, one.first.at, one.absolute.at) == (3, (1, 5), (2, 7))


def test_other_types_and_shapes_are_problems():
    one = difference(numpy.zeros(3, numpy.float32), numpy.zeros((3, 1), numpy.float32))
    assert one.differs and one.problem == "it is float32 [3], float32 [3, 1] was expected"
    assert difference(numpy.zeros(3, numpy.float32), numpy.zeros(3)).problem.endswith(
        "float64 [3] was expected")


def test_outputs_of_one_side_alone_are_problems():
    def model(name):
        return make_model([helper.make_node("Sin", ["x"], [name])], [("x", F32, ["n", 4])],
                          [(name, F32, ["n", 4])])
    found = latchkey.compare(model("y"), X, expected=model("z"), runs=0, every_value=True)
    assert not found and [(one.name, one.problem) for one in found.outputs] == [
        ("y", "only computed here"), ("z", "only expected")]
    assert found.values == [] and (found.only_here, found.only_expected) == (["y"], ["z"])


# ---- planted faults ----


def test_another_model_names_the_two_nodes_that_were_changed(tmp_path):
    found = latchkey.compare(chain(scale=1.5, shift=0.75), X, expected=chain(), every_value=True,
                             runs=0, directory=tmp_path / "cases")
    assert not found
    # The product is right; from the second node on all is wrong, but two nodes are guilty.
    assert [one.value for one in found.verdicts] == ["scaled", "soft", "moved", "y"]
    assert [one.fault for one in found.verdicts] == ["node", "inputs", "node", "inputs"]
    assert found.first.node.name == "second" and found.first.inputs_that_differ == []
    assert [one.value for one in found.guilty] == ["scaled", "moved"]
    assert [one.reduced is not None for one in found.verdicts] == [True, False, True, False]
    assert found.guilty[1].inputs == ["soft"] == found.guilty[1].inputs_that_differ
    assert [one.name for one in found.first.stands_for] == ["second"]
    alone = found.first.alone
    assert alone.differing == 3 and alone.absolute.error == pytest.approx(
        numpy.abs(0.5 * (X["x"] @ random(4, 4, seed=3))[:, 0]).max(), rel=1e-5)
    text = str(found)
    assert "the first node that leaves the tolerance:\n  Mul 'second' -> 'scaled'" in text
    assert "at fault as well, behind it, 1 node:\n  Add 'fourth' -> 'moved'" in text
    assert repr(found).endswith(": 4 of 5 values differ, first at Mul 'scaled'>")
    # The reduced models: each repeats its own fault, with the library alone.
    assert sorted(os.listdir(tmp_path / "cases")) == ["moved", "scaled"]
    tested = subprocess.run([COMMAND, "test", tmp_path / "cases"], capture_output=True, text=True,
                            timeout=60)
    assert tested.returncode == 1 and "0 passed, 2 failed, 0 skipped" in tested.stdout
    reduced = onnx.load(tmp_path / "cases/scaled/model.onnx")
    onnx.checker.check_model(reduced, full_check=True)
    assert [node.name for node in reduced.graph.node] == ["second"]
    assert [value.name for value in reduced.graph.input] == ["product"]
    assert [one.name for one in reduced.graph.initializer] == ["scale"]


def test_a_fused_node_is_named_with_the_nodes_that_it_stands_for(convnet):
    model = onnx.load_model_from_string(convnet)
    b1 = next(one for one in model.graph.initializer if one.name == "b1")
    b1.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(b1) + numpy.float32(0.25), "b1"))
    found = latchkey.compare(convnet, {"x": random(1, 3, 8, 8)}, runs=0, every_value=True,
                             expected=model.SerializeToString())
    assert found.first.value == "r1" and found.first.fault == "node"
    assert "relu" in found.first.node.fused and found.first.node.op_type == "Conv"
    assert [one.op_type for one in found.first.stands_for] == ["Conv", "Relu"]
    assert found.first.runs_alone_as == [f"Conv+{found.first.node.fused}"]
    assert [one.value for one in found.guilty] == ["r1"]
    assert "stands for Conv, Relu" in str(found)


DISTURBED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* In front of the C library's: wrong for liblatchkey, in its first calls, right for all others. */
static double disturb(double right, void *caller) {
  static int calls;
  Dl_info info;
  if (dladdr(caller, &info) == 0 || strstr(info.dli_fname, "liblatchkey") == NULL) return right;
  return calls++ < atoi(getenv("DISTURBED_CALLS")) ? right * 1.01 : right;
}
#define DISTURB(name) \
  double name(double x) { \
    double (*real)(double) = (double (*)(double))dlsym(RTLD_NEXT, #name); \
    return disturb(real(x), __builtin_return_address(0)); \
  }
DISTURB(asinh)
DISTURB(cosh)
"""


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory):
    """A model of f64, whose Asinh and Cosh call libm; and a library that makes these wrong."""
    folder = tmp_path_factory.mktemp("disturbed")
    (folder / "disturbed.c").write_text(DISTURBED)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", folder / "disturbed.so",
                    folder / "disturbed.c", "-ldl"], check=True)
    f64 = TensorProto.DOUBLE
    nodes = [helper.make_node("Sin", ["x"], ["a"], name="sine"),
             helper.make_node("Asinh", ["a"], ["b"], name="wrong"),
             helper.make_node("Sigmoid", ["b"], ["c"], name="right"),
             helper.make_node("Cosh", ["c"], ["d"], name="wrong as well"),
             helper.make_node("Neg", ["d"], ["y"], name="last")]
    (folder / "model.onnx").write_bytes(
        make_model(nodes, [("x", f64, ["n"])], [("y", f64, ["n"])]))
    return folder


def verdicts(done):
    assert done.returncode == 1, done.stderr
    return [(one["node"]["name"], one["fault"]) for one in json.loads(done.stdout)["verdicts"]]


def test_two_operators_that_compute_wrong_numbers_are_named(disturbed, tmp_path):
    """The library's own results are wrong: two functions of libm give it others."""
    words = [disturbed / "model.onnx", "--shape", "x=50", "--every-value", "--json", "--with",
             "reference"]
    assert compare(*words).returncode == 0
    wrong = {"LD_PRELOAD": disturbed / "disturbed.so", "DISTURBED_CALLS": 1000000}
    done = compare(*words, "-o", tmp_path / "cases", **wrong)
    assert verdicts(done) == [("wrong", "node"), ("right", "inputs"), ("wrong as well", "node"),
                              ("last", "inputs")]
    # The reduced models fail as long as the library is wrong, and pass with a right one.
    test = [COMMAND, "test", "--json", tmp_path / "cases"]
    for environment, passed in ((wrong, 0), ({}, 2)):
        tested = subprocess.run(test, capture_output=True, timeout=60,
                                env={**os.environ, **{k: str(v) for k, v in environment.items()}})
        assert json.loads(tested.stdout)["passed"] == passed
        assert json.loads(tested.stdout)["failed"] == 2 - passed


def test_a_fault_that_is_not_there_when_the_node_runs_alone(disturbed):
    """Each of both is wrong in the whole model's two runs, and right afterwards."""
    done = compare(disturbed / "model.onnx", "--shape", "x=50", "--every-value", "--json",
                   "--with", "reference", LD_PRELOAD=disturbed / "disturbed.so",
                   DISTURBED_CALLS=200)
    assert verdicts(done) == [("wrong", "context"), ("right", "inputs"),
                              ("wrong as well", "context"), ("last", "inputs")]


def test_a_node_that_cannot_run_alone(monkeypatch, tmp_path):
    def fail(*_):
        raise latchkey.UnsupportedError("failed to open it", "LK_UNSUPPORTED")
    monkeypatch.setattr("latchkey._compare.isolate.open_small", fail)
    found = latchkey.compare(chain(scale=1.5), X, expected=chain(), every_value=True, runs=0,
                             directory=tmp_path / "cases")
    assert found.first.fault == "unknown" and found.first.problem == "failed to open it"
    assert found.first.case is None and not (tmp_path / "cases").exists()
    assert "it could not run alone: failed to open it" in str(found)


def test_without_a_guilty_node_the_first_one_is_written(disturbed, tmp_path):
    done = compare(disturbed / "model.onnx", "--shape", "x=50", "--every-value", "--json",
                   "--with", "reference", "-o", tmp_path, LD_PRELOAD=disturbed / "disturbed.so",
                   DISTURBED_CALLS=200)
    assert done.returncode == 1 and os.listdir(tmp_path) == ["b"]


def test_shapes_that_went_apart_are_inherited():
    def model(axis):
        nodes = [helper.make_node("Concat", ["x", "x"], ["long"], axis=axis),
                 helper.make_node("Sin", ["long"], ["y"])]
        return make_model(nodes, [("x", F32, ["n", 4])], [("y", F32, None)])
    found = latchkey.compare(model(0), X, expected=model(1), every_value=True, runs=0)
    assert [(one.value, one.fault) for one in found.verdicts] == [("long", "node"),
                                                                  ("y", "inputs")]
    assert found.outputs[0].problem == "it is float32 [6, 4], float32 [3, 8] was expected"
    assert "it is float32 [6, 4], float32 [3, 8] was expected" in str(found)


def test_a_fault_of_one_request_alone_is_found():
    """The second request is the one that is long enough to reach the changed column."""
    def model(last):
        nodes = [helper.make_node("Sin", ["x"], ["s"]),
                 helper.make_node("Mul", ["s", "c"], ["m"]),
                 helper.make_node("Softmax", ["m"], ["y"])]
        return make_model(nodes, [("x", F32, ["n", 4])], [("y", F32, ["n", 4])],
                          [("c", numpy.array([1, 1, 1, last], numpy.float32))])
    requests = [{"x": numpy.array([[1, 2, 3, 0]], numpy.float32)},
                {"x": numpy.array([[1, 2, 3, 4]], numpy.float32)}]
    found = latchkey.compare(model(3), requests, expected=model(2), every_value=True, runs=0)
    assert [(one.value, one.request, one.fault) for one in found.verdicts] == [
        ("m", 1, "node"), ("y", 1, "inputs")]
    assert found.values[1].elements == 8 and found.values[1].absolute.request == 1
    assert "request 1 [0, 3]" in str(found)


# ---- models of every kind ----


def test_bodies_are_compared_by_the_node_that_has_them():
    def model(add):
        def body(name, value):
            constant = numpy_helper.from_array(numpy.array([value], numpy.float32), "c")
            graph = helper.make_graph(
                [helper.make_node("Constant", [], ["k"], value=constant),
                 helper.make_node("Add", ["h", "k"], [name])], name, [],
                [helper.make_tensor_value_info(name, F32, ["n", 4])])
            return graph
        nodes = [helper.make_node("Sin", ["x"], ["h"]),
                 helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
                 helper.make_node("Greater", ["sum", "zero"], ["is"]),
                 helper.make_node("If", ["is"], ["if"], name="choice",
                                  then_branch=body("t", add), else_branch=body("e", add)),
                 helper.make_node("Softmax", ["if"], ["y"])]
        return make_model(nodes, [("x", F32, ["n", 4])], [("y", F32, ["n", 4])],
                          [("zero", numpy.zeros((), numpy.float32))])
    for peer in ("onnxruntime", "reference"):
        found = latchkey.compare(model(1), X, expected=peer, every_value=True, runs=0)
        assert found and "if" in [one.name for one in found.values]
    found = latchkey.compare(model(2), X, expected=model(1), every_value=True, runs=0)
    assert (found.first.node.name, found.first.fault) == ("choice", "node")
    assert sorted(found.first.inputs) == ["h", "is"]


def test_every_output_of_a_node_is_compared():
    nodes = [helper.make_node("Sin", ["x"], ["s"]),
             helper.make_node("Split", ["s"], ["left", "right"], axis=1, num_outputs=2),
             helper.make_node("Sub", ["left", "right"], ["y"])]
    model = make_model(nodes, [("x", F32, ["n", 4])], [("y", F32, ["n", 2])], opset=18)
    found = latchkey.compare(model, X, every_value=True, runs=0)
    assert found and [one.name for one in found.values] == ["s", "left", "right", "y"]


def test_sequences_are_passed_over():
    nodes = [helper.make_node("Sin", ["x"], ["s"]),
             helper.make_node("SplitToSequence", ["s"], ["parts"], axis=1),
             helper.make_node("SequenceAt", ["parts", "one"], ["part"]),
             helper.make_node("Neg", ["part"], ["y"])]
    model = make_model(nodes, [("x", F32, ["n", 4])], [("y", F32, ["n", 1])],
                       [("one", numpy.array(1, numpy.int64))])
    found = latchkey.compare(model, X, every_value=True, runs=0)
    names = [one.name for one in found.values]
    assert found and "parts" not in names and names[0] == "s" and names[-1] == "y"


def test_a_sequence_between_is_part_of_the_reduced_model():
    def model(at):
        nodes = [helper.make_node("Sin", ["x"], ["s"]),
                 helper.make_node("SplitToSequence", ["s"], ["parts"], axis=1),
                 helper.make_node("SequenceAt", ["parts", "at"], ["part"]),
                 helper.make_node("Neg", ["part"], ["y"])]
        return make_model(nodes, [("x", F32, ["n", 4])], [("y", F32, ["n", 1])],
                          [("at", numpy.array(at, numpy.int64))])
    found = latchkey.compare(model(1), X, expected=model(2), every_value=True, runs=0)
    assert (found.first.value, found.first.fault) == ("part", "node")
    assert [one.op_type for one in found.first.stands_for] == ["SplitToSequence", "SequenceAt"]


def test_functions_of_a_model_are_compared_by_what_they_give():
    function = helper.make_function(
        "own", "twice", ["a"], ["b"],
        [helper.make_node("Sin", ["a"], ["inside"]), helper.make_node("Neg", ["inside"], ["b"])],
        [helper.make_opsetid("", 17)])
    graph = helper.make_graph(
        [helper.make_node("twice", ["x"], ["t"], domain="own"),
         helper.make_node("Cos", ["t"], ["y"])], "graph",
        [helper.make_tensor_value_info("x", F32, ["n", 4])],
        [helper.make_tensor_value_info("y", F32, ["n", 4])])
    model = helper.make_model(graph, functions=[function], ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])
    found = latchkey.compare(model.SerializeToString(), X, every_value=True, runs=0)
    assert found and [one.name for one in found.values] == ["t", "y"]
    assert len(found.only_here) == 1  # what is inside of the function


def save_external(data, folder):
    folder.mkdir()
    onnx.save_model(onnx.load_model_from_string(data), folder / "model.onnx", location="w.bin",
                    save_as_external_data=True, size_threshold=0)
    return folder / "model.onnx"


@pytest.mark.parametrize("peer", ["onnxruntime", "reference"])
def test_data_beside_a_model_is_found_and_stays_there(tmp_path, peer):
    model = save_external(chain(), tmp_path / "model")
    found = latchkey.compare(model, X, expected=peer, every_value=True, runs=0)
    assert found and len(found.values) == 5
    other = save_external(chain(scale=1.5), tmp_path / "other")
    found = latchkey.compare(other, X, expected=model, every_value=True, runs=0,
                             directory=tmp_path / "cases")
    assert [one.value for one in found.guilty] == ["scaled"]
    assert sorted(os.listdir(tmp_path / "model")) == ["model.onnx", "w.bin"]
    assert sorted(os.listdir(tmp_path / "other")) == ["model.onnx", "w.bin"]
    shutil.rmtree(tmp_path / "other")  # the reduced model needs nothing of it
    reduced = onnx.load(tmp_path / "cases/scaled/model.onnx")
    assert numpy_helper.to_array(reduced.graph.initializer[0])[0] == 1.5


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")
    model = save_external(chain(), tmp_path / "model")
    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(latchkey.FileError, match="beside its data in '.*': Permission denied"):
        latchkey.compare(model, X, every_value=True)


def test_values_that_do_not_fit_are_computed_again():
    from latchkey._compare.recording import Recording
    runs = []

    def run(names):
        runs.append(list(names))
        return {name: numpy.full(10, int(name), numpy.uint8) for name in names}
    recording = Recording(run, {"x": 7}, budget=45)
    names = [str(i) for i in range(40)]
    assert [(name, value[0]) for name, value in recording.each(names)] == [
        (str(i), i) for i in range(40)]
    assert [len(some) for some in runs] == [16, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    assert sum(runs, []) == names
    del runs[:]
    found = recording.get(["0", "3", "4", "39", "x"])
    assert runs == [["4", "39"]] and found["x"] == 7 and found["39"][0] == 39


# ---- what is refused ----


def test_peers_that_refuse_the_model(monkeypatch):
    b16 = TensorProto.BFLOAT16
    model = make_model([helper.make_node("Sin", ["x"], ["y"])], [("x", b16, [4])],
                       [("y", b16, [4])], opset=22)
    x = {"x": numpy.ones(4, ml_dtypes.bfloat16)}
    assert latchkey.compare(model, x, expected="reference")
    with pytest.raises(latchkey.PeerError, match="failed to open the model with ONNX Runtime 1"):
        latchkey.compare(model, x)
    domain = helper.make_node("FastGelu", ["x"], ["y"], domain="com.microsoft")
    graph = helper.make_graph([domain], "graph", [helper.make_tensor_value_info("x", F32, [4])],
                              [helper.make_tensor_value_info("y", F32, [4])])
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    with pytest.raises(latchkey.PeerError, match="failed to open the model with ONNX's reference"):
        latchkey.compare(model.SerializeToString(), {"x": random(4)}, expected="reference")

    def fail(*_, **__):
        raise ValueError("no such\n thing")
    monkeypatch.setattr("onnx.reference.ReferenceEvaluator.run", fail)
    with pytest.raises(latchkey.PeerError, match="failed to run .* reference 1.*: no such thing$"):
        latchkey.compare(chain(), X, expected="reference")


def test_wrong_arguments(relu, tmp_path):
    x = {"x": random(2, 3)}
    with pytest.raises(latchkey.NotFoundError, match="z"):
        latchkey.compare(relu, {"z": x["x"]})
    with pytest.raises(latchkey.InvalidArgumentError):
        latchkey.compare(relu, {"x": random(2, 4)})
    with pytest.raises(latchkey.ModelNotFoundError, match="none.onnx"):
        latchkey.compare(relu, x, expected=tmp_path / "none.onnx")
    with pytest.raises(latchkey.ModelNotFoundError, match="none.onnx"):
        latchkey.compare(tmp_path / "none.onnx", x)
    with pytest.raises(ValueError, match="every_value is needed"):
        latchkey.compare(relu, x, directory=tmp_path)
    with pytest.raises(ValueError, match="'runs' is -1"):
        latchkey.compare(relu, x, runs=-1)
    (tmp_path / "file").touch()
    with pytest.raises(latchkey.FileError, match="failed to write the reduced model"):
        latchkey.compare(chain(scale=1.5), X, expected=chain(), every_value=True, runs=0,
                         directory=tmp_path / "file")


@pytest.mark.parametrize("package, options", [
    ("onnxruntime", {}), ("onnx", {"expected": "reference"}),
    ("onnx", {"expected": chain(), "every_value": True})])
def test_a_package_that_is_missing_is_named(package, options, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"the package '{package}' is not installed, "
                                                  r"pip install 'latchkey\[compare\]' brings it"):
        latchkey.compare(chain(), X, **options)


# ---- the command ----


def compare(*words, **environment):
    return subprocess.run([sys.executable, "-m", "latchkey", "compare", *map(str, words)],
                          capture_output=True, text=True, timeout=300,
                          env={**os.environ, **{k: str(v) for k, v in environment.items()}})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model, and one that differs in two nodes."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "chain.onnx").write_bytes(chain())
    (folder / "edited.onnx").write_bytes(chain(scale=1.5, shift=0.75))
    numpy.save(folder / "x.npy", X["x"])
    return folder


def test_the_command_reports(files):
    done = compare(files / "chain.onnx", "--shape", "x={1..9}x4", "-n", "3", "--every-value",
                   "--runs", "2", "-t", "1", "--engine", "native")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{files}/chain.onnx against ONNX Runtime 1.")
    assert lines[0].endswith(": 3 requests, 1 thread, engine native; within 1e-05 + 0.001 * "
                             "|expected|")
    assert lines[1] == "1 output:" and lines[-1] == "all agree"
    assert "5 values, in the order of the file:" in lines
    assert any(line.startswith("speed: ") and line.endswith("medians of 6 runs by turns")
               for line in lines)


@needs_onednn
@pytest.mark.parametrize("expected", ["onnxruntime", "model"])
def test_an_engine_is_compared(convnet, expected):
    """Its numbers, those of nodes alone, and in another model of this library."""
    class Engines(latchkey.Session):
        seen = []

        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.seen.append(self.context.engine)

    with pytest.MonkeyPatch.context() as patch:
        for module in ("sides", "model_file"):
            patch.setattr(f"latchkey._compare.{module}.Session", Engines)
        found = latchkey.compare(convnet, {"x": random(2, 3, 9, 7)}, engine="onednn", runs=0,
                                 expected=convnet if expected == "model" else expected,
                                 every_value=True)
    assert found and found.engine == found.to_dict()["engine"] == "onednn"
    assert len(Engines.seen) == (4 if expected == "model" else 2)
    assert set(Engines.seen) == {"onednn"}


@needs_onednn
def test_the_command_takes_an_engine(files, tmp_path):
    words = [files / "chain.onnx", "--shape", "x=3x4", "--runs", "0"]
    done = compare(*words, "--engine", "onednn")
    assert done.returncode == 0 and ", engine onednn; within " in done.stdout.splitlines()[0]
    with latchkey.Session(files / "chain.onnx", engine="auto") as session:
        session.tune(X, seconds=0.02, file=tmp_path / "tuning")
    words += ["--json", "--engine", "auto", "--fix", "rows=3", "--tuning"]
    done = compare(*words, tmp_path / "tuning", LATCHKEY_ENGINE="nosuch", LATCHKEY_TUNING="nosuch")
    assert (done.returncode, json.loads(done.stdout)["engine"]) == (0, "auto"), done.stderr
    done = compare(*words, tmp_path / "nosuch")
    assert done.returncode == 1 and f"'{tmp_path}/nosuch'" in done.stderr


def test_the_command_names_what_differs(files, tmp_path):
    words = [files / "edited.onnx", "-i", f"x={files}/x.npy", "--with", files / "chain.onnx",
             "--runs", "0", "--every-value"]
    done = compare(*words, "-o", tmp_path / "cases")
    assert done.returncode == 1 and done.stderr == ""
    assert "\n  Mul 'second' -> 'scaled'" in done.stdout
    assert f"reduced model: {tmp_path}/cases/scaled\n" in done.stdout
    assert f"\nagain: latchkey test --rtol 0.001 --atol 1e-05 {tmp_path}/cases\n" in done.stdout
    assert "speed" not in done.stdout and done.stdout.endswith("\n4 values differ\n")
    report = json.loads(compare(*words, "--json").stdout)
    assert not report["agrees"] and [one["value"] for one in report["verdicts"]] == [
        "scaled", "soft", "moved", "y"]
    assert report["verdicts"][0]["node"]["name"] == "second"
    assert compare(*words, "--atol", "100").returncode == 0
    assert compare(*words, "--rtol", "inf").returncode == 2


def test_the_command_draws_what_its_options_say(files):
    words = [files / "chain.onnx", "--shape", "x={1..50}x4", "-n", "4", "--runs", "0", "--json"]

    def found(*more):
        return json.loads(compare(*words, *more).stdout)
    shapes = json.loads(subprocess.run(
        [COMMAND, "shapes", *map(str, words[:5]), "--json", "--seed", "5"], capture_output=True,
        check=True).stdout)
    report = found("--seed", "5")
    assert report["requests"] == shapes["requests"]
    assert report == found("--seed", "5") != found("--seed", "6")


I64, I32, U8, I8 = (TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8)


@pytest.mark.parametrize("kind, nodes, limits", [
    (I64, [("Mul", ["x", "x"], ["y"])], (0, 9)),
    (I32, [("Mul", ["x", "x"], ["y"])], (0, 9)),
    (U8, [("Cast", ["x"], ["y"], {"to": TensorProto.FLOAT})], (0, 255)),
    (I8, [("Cast", ["x"], ["y"], {"to": TensorProto.FLOAT})], (-128, 127)),
    (I64, [("Div", ["two", "x"], ["y"])], (1, 9)),
    (I64, [("Gather", ["table", "x"], ["y"])], (0, 1)),
    (I64, [("Unsqueeze", ["x", "axis"], ["u"]), ("Cast", ["u"], ["i"], {"to": I32}),
           ("Gather", ["table", "i"], ["y"])], (0, 1)),
    (I64, [("ConstantOfShape", ["x"], ["y"])], (0, 0)),
    (I64, [("Shape", ["x"], ["s"]), ("ConstantOfShape", ["s"], ["y"])], (0, 9)),
    (I64, [("ArgMax", ["x"], ["i"]), ("Gather", ["table", "i"], ["y"])], (0, 9))],
    ids=str)
def test_integers_are_drawn_by_what_they_feed(kind, nodes, limits):
    model = make_model([helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {}))
                        for node in nodes], [("x", kind, [64])], [("y", TensorProto.FLOAT, None)],
                       [("table", random(2, 4)), ("axis", numpy.array([0])),
                        ("two", numpy.array(2))])
    with latchkey.Session(model) as session:
        found = drawn.integer_limits(session.statistics()["session"]["nodes"],
                                     {"x": session.inputs[0].dtype})
    assert found == {"x": limits}
    array = drawn.draw(session.inputs[0].dtype, (10_000,), limits, (1, 2, 3))
    assert (array.min(), array.max()) == limits and array.dtype == session.inputs[0].dtype


def test_a_comparison_sees_what_is_done_to_integers(tmp_path):
    """Which zeros would not show. Indices lie within the smallest table."""
    for factor in (2, 3):
        model = make_model([helper.make_node("Mul", ["x", "k"], ["y"]),
                            helper.make_node("Gather", ["table", "ids"], ["z"])],
                           [("x", I64, ["n"]), ("ids", I64, ["n"]), ("b", TensorProto.BOOL, ["n"])],
                           [("y", I64, ["n"]), ("z", TensorProto.FLOAT, ["n", 4])],
                           [("k", numpy.array(factor)), ("table", random(2, 4))])
        (tmp_path / f"{factor}.onnx").write_bytes(model)
    words = ["--shape", "x=50", "--shape", "ids=50", "--shape", "b=50", "--runs", "0"]
    assert compare(tmp_path / "2.onnx", *words).returncode == 0
    done = compare(tmp_path / "2.onnx", "--with", tmp_path / "3.onnx", *words, "--json")
    assert done.returncode == 1, done
    y, z = json.loads(done.stdout)["outputs"]
    assert 25 < y["differing"] < 50 and z["differing"] == 0


def test_passes_can_be_left_out(tmp_path, convnet):
    (tmp_path / "m.onnx").write_bytes(convnet)
    report = json.loads(compare(tmp_path / "m.onnx", "--shape", "x=1x3x8x8", "--runs", "0",
                                "--every-value", "--json", "--disable-pass", "activation",
                                "--disable-pass", "activation_after_residual").stdout)
    assert "c1" in [one["name"] for one in report["values"]] and report["agrees"]


def test_dimensions_can_be_fixed(tmp_path, convnet):
    (tmp_path / "m.onnx").write_bytes(convnet)
    words = [tmp_path / "m.onnx", "--runs", "0", "--json", "--fix", "x[0]=1", "--fix", "x[2]=8"]
    report = json.loads(compare(*words, "--shape", "x=1x3x8x9").stdout)
    assert report["agrees"]
    assert "declared as 1x3x8x?" in compare(*words, "--shape", "x=2x3x8x9").stderr


@pytest.mark.parametrize("words, code, sentence", [
    ([], 2, "MODEL"),
    (["{}/chain.onnx", "y"], 2, "y"),
    (["{}/chain.onnx", "--shape", "x=1xy"], 2, "failed to read shape 'x=1xy'"),
    (["{}/chain.onnx", "--requests", "0"], 2, "'0', 1 to 1e+07 is needed"),
    (["{}/chain.onnx", "--threads", "x"], 2, "'x', 1 to 1024 is needed"),
    (["{}/chain.onnx", "--rtol", "-1"], 2, "'-1', at least 0 is needed"),
    (["{}/chain.onnx", "--atol", "nan"], 2, "'nan', at least 0 is needed"),
    (["{}/chain.onnx", "--fix", "x=-1"], 2, "'x=-1', NAME=SIZE is needed"),
    (["{}/chain.onnx", "--input", "x"], 2, "'x', NAME=FILE.npy is needed"),
    (["{}/chain.onnx", "-o", "d"], 2, "--every-value is needed"),
    (["{}/chain.onnx", "--every"], 2, "--every"),
    (["{}/chain.onnx"], 1, "--shape 'x=1x4'"),
    (["{}/chain.onnx", "--shape", "z=1"], 1, "no input 'z'"),
    (["{}/chain.onnx", "--shape", "x=1x5"], 1, "failed to"),
    (["{}/none.onnx", "--shape", "x=1x4"], 1, "{}/none.onnx"),
    (["{}/x.npy", "--shape", "x=1x4"], 1, "{}/x.npy"),
    (["{}/chain.onnx", "--shape", "x=1x4", "--with", "{}/none.onnx"], 1, "{}/none.onnx"),
    (["{}/chain.onnx", "--input", "x={}/none.npy"], 1, "{}/none.npy"),
    (["{}/chain.onnx", "--shape", "x=1x4", "--disable-pass", "no"], 1, "'no'"),
    (["{}/chain.onnx", "--shape", "x=1x4", "--engine", "nosuch"], 1, "engine 'nosuch'"),
])
def test_wrong_words_are_a_sentence(files, words, code, sentence):
    done = compare(*(word.replace("{}", str(files)) for word in words))
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("latchkey compare: failed to "), done.stderr
    assert sentence.replace("{}", str(files)) in done.stderr


def test_a_missing_package_is_a_sentence(files, tmp_path):
    (tmp_path / "onnxruntime.py").write_text("raise ModuleNotFoundError('no', name='onnxruntime')")
    done = compare(files / "chain.onnx", "--shape", "x=1x4", PYTHONPATH=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("latchkey compare: failed to compare: the package 'onnxruntime' is not "
                           "installed, pip install 'latchkey[compare]' brings it\n")


def test_names_are_shown_as_the_program_shows_them(tmp_path):
    name = "a\x1b[2J\u202e\x7f中"
    shown = "a\\x1b[2J\\xe2\\x80\\xae\\x7f中"
    (tmp_path / "m.onnx").write_bytes(make_model(
        [helper.make_node("Sin", [name], ["s" + name], name="n" + name),
         helper.make_node("Cos", ["s" + name], ["y" + name])],
        [(name, F32, [4])], [("y" + name, F32, [4])]))
    (tmp_path / "n.onnx").write_bytes(make_model(
        [helper.make_node("Cos", [name], ["s" + name]),
         helper.make_node("Cos", ["s" + name], ["y" + name])],
        [(name, F32, [4])], [("y" + name, F32, [4])]))
    words = [tmp_path / "m.onnx", "--with", tmp_path / "n.onnx", "--every-value", "--runs", "0"]
    done = compare(*words, "-o", tmp_path / "cases")
    assert done.returncode == 1 and f"Sin 'n{shown}' -> 's{shown}'" in done.stdout
    assert not set("\x1b\u202e\x7f") & set(done.stdout)
    inspected = subprocess.run([COMMAND, "inspect", tmp_path / "m.onnx"], capture_output=True,
                               text=True, timeout=60)
    assert f"y{shown}" in inspected.stdout and f"y{shown}" in done.stdout
    done = compare(*words, "--json")
    assert done.stdout.isascii() and "\x7f" not in done.stdout
    assert json.loads(done.stdout)["outputs"][0]["name"] == "y" + name
    assert os.listdir(tmp_path / "cases") == ["sa__2J___"]


@pytest.mark.parametrize("close", [True, False])
def test_output_that_is_lost_is_a_failure(files, close):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "latchkey", "compare", files / "chain.onnx", "--shape", "x=1x4",
             "--runs", "0"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
            preexec_fn=(lambda: os.close(1)) if close else None)
    assert done.returncode == 1
    assert done.stderr == "latchkey compare: failed to write to standard output\n"


def test_progress_is_shown_on_a_terminal_until_ctrl_c_ends_it(files):
    primary, secondary = pty.openpty()
    with subprocess.Popen(
            [sys.executable, "-m", "latchkey", "compare", files / "chain.onnx", "--shape", "x=1x4",
             "-n", "2", "-t", "1", "--runs", "1000000000"], stdout=subprocess.PIPE,
            stderr=secondary) as running:
        os.close(secondary)
        seen = b""
        try:
            while chunk := os.read(primary, 4096):
                if b"speed [" in chunk and b"speed [" not in seen:
                    running.send_signal(signal.SIGINT)
                seen += chunk
        except OSError:  # it is closed
            pass
        out, _ = running.communicate(timeout=60)
    os.close(primary)
    assert (running.returncode, out) == (-signal.SIGINT, b"")
    assert b"\r\x1b[Kspeed [" in seen and b"] 0/2 " in seen and seen.endswith(b"\r\x1b[K"), seen


def test_help_is_complete_from_both_fronts():
    from latchkey.commands import COMMANDS
    listed = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    for name, summary in COMMANDS.items():
        assert re.search(rf"\n  {name} +{re.escape(summary)}\n", listed)
        done = subprocess.run([sys.executable, "-m", "latchkey", name, "--help"],
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "COLUMNS": "80"})
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"Usage: latchkey {name} [OPTION...] ")
        assert re.search(rf"\nExamples?:\n  latchkey {name}\b", done.stdout)
        assert "--json" in done.stdout
        alone = subprocess.run([COMMAND, name], capture_output=True, text=True, timeout=60)
        assert alone.returncode == 2 and "Python package" in alone.stderr


@pytest.mark.parametrize("name", ["run", "test", "bench", "inspect", "cache", "shapes", "tune",
                                  "compare", "doctor", "explain", "record"])
def test_every_command_that_opens_a_model_takes_an_engine(name):
    done = subprocess.run([sys.executable, "-m", "latchkey", name, "--help"], capture_output=True,
                          text=True, timeout=60, env={**os.environ, "COLUMNS": "80"}, check=True)
    assert "--engine" in done.stdout and "--tuning" in done.stdout


def test_another_command_imports_none_of_it():
    code = ("import os, sys; os.execv = lambda *_: print('onnx' in sys.modules, 'latchkey._compare'"
            " in sys.modules, 'argparse' in sys.modules); sys.argv[1:] = ['ops'];"
            " from latchkey.__main__ import main; main()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False False\n"
