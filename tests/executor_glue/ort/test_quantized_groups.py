"""Which quantized groups are claimed: whole or not at all, and only where that is sooner than ONNX
Runtime. What a processor has is limited by LATCHKEY_MAX_ISA, in a process of its own."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper
from provider import open_reference, open_session, statistics

SOONER = "of a quantized group, which ONNX Runtime computes sooner here"
CUT = "of a quantized group that has a node which is left"


def noise(*shape, seed):
    return numpy.random.default_rng(seed).integers(-127, 128, shape).astype(numpy.int8)


CONSTANTS = {"scale": numpy.float32(0.05), "zero": numpy.uint8(128),
             "w": noise(8, 4, 3, 3, seed=1), "w_scale": numpy.float32(0.01),
             "w_zero": numpy.int8(0), "w_bytes": noise(8, 4, 3, 3, seed=1)}


def model_of(nodes, outputs):
    constants = [numpy_helper.from_array(numpy.asarray(array), name)
                 for name, array in CONSTANTS.items()
                 if any(name in node.input for node in nodes)]
    graph = helper.make_graph(
        nodes, "quantized",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 6, 6])],
        [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in outputs],
        constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=8).SerializeToString()


def node(op_type, inputs, outputs, **attributes):
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def pair(real, other):
    """Quantizes and back."""
    return [node("QuantizeLinear", f"{real} scale zero", f"{other}_bytes"),
            node("DequantizeLinear", f"{other}_bytes scale zero", other)]


WEIGHTS = node("DequantizeLinear", "w w_scale w_zero", "weights")
CONV = node("Conv", "x1 weights", "y1", pads=[1, 1, 1, 1])
Y = ("y", TensorProto.FLOAT, [1, 8, 6, 6])
STATIC = model_of([*pair("x", "x1"), WEIGHTS, CONV, *pair("y1", "y")], [Y])
# NonZero reads what a pair has made: its outputs' shapes follow from data.
WITH_NON_ZERO = model_of([*pair("x", "x1"), WEIGHTS, CONV, *pair("y1", "y"),
                          node("NonZero", "y", "where")],
                         [Y, ("where", TensorProto.INT64, [4, "n"])])
DYNAMIC = model_of([
    node("DynamicQuantizeLinear", "x", "x_bytes x_scale x_zero"),
    node("ConvInteger", "x_bytes w_bytes x_zero w_zero", "sums", pads=[1, 1, 1, 1]),
    node("Cast", "sums", "real", to=TensorProto.FLOAT),
    node("Mul", "x_scale w_scale", "both"),
    node("Mul", "real both", "y")], [Y])
MODELS = {"static": STATIC, "with_non_zero": WITH_NON_ZERO, "dynamic": DYNAMIC}

PROGRAM = """
import json, sys
import onnxruntime
from provider import LIBRARY
onnxruntime.register_execution_provider_library("latchkey", LIBRARY)
import test_quantized_groups as test
print(json.dumps(test.claims_of(sys.argv[1], json.loads(sys.argv[2]))))
"""


def claims_of(name, options):
    return statistics(open_session(MODELS[name], options))["claims"]


def claims_with(isa, name, options=None):
    """What is claimed on a processor that has no more than `isa`."""
    here = pathlib.Path(__file__).parent
    paths = [str(here), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, json.dumps(options or {})], check=True,
        env={**os.environ, "LATCHKEY_MAX_ISA": isa, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def multiplies_bytes():
    flags = next(line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("flags"))
    return {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"} <= set(flags.split())


def reasons(claims):
    return {left["reason"] for left in claims["left"]}


@pytest.mark.parametrize("isa", ["avx2", "avx512_core"])
def test_without_instructions_for_bytes_a_group_is_left(isa):
    claims = claims_with(isa, "static")
    assert claims["claimed"] == 0
    assert reasons(claims) == {SOONER}


def test_it_is_claimed_if_asked_for():
    claims = claims_with("avx2", "static", {"claim": "all"})
    assert claims["claimed"] == claims["nodes"] > 0


def test_a_convolution_of_exact_sums_is_always_sooner():
    claims = claims_with("avx2", "dynamic")
    assert claims["claimed"] == claims["nodes"] > 0


@pytest.mark.skipif(not multiplies_bytes(), reason="this processor has no AVX-512 VNNI")
def test_with_instructions_for_bytes_a_group_is_claimed():
    claims = claims_with("avx512", "static")
    assert claims["claimed"] == claims["nodes"] > 0


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_a_group_is_claimed_whole_or_not_at_all(isa):
    claims = claims_with(isa, "with_non_zero", {"claim": "all"})
    assert claims["claimed"] == 0
    assert reasons(claims) == {CUT, "the shapes of its outputs follow from data"}


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_onnx_runtime(name):
    feeds = {"x": numpy.random.default_rng(3).standard_normal((1, 4, 6, 6), numpy.float32)}
    right = open_reference(MODELS[name]).run(None, feeds)
    for options in ({}, {"claim": "all"}):
        found = open_session(MODELS[name], options).run(None, feeds)
        assert_close(found[0], right[0], rtol=0, atol=0.051)  # a step of the output
