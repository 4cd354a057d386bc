"""FlexAttention of ONNX's preview domain against ONNX's reference, through `latchkey test`.

ONNX's own cases have no bodies where heads share keys, no captured values and no f16 with bodies.
"""

import itertools
import os
import subprocess

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

COMMAND = os.environ["LATCHKEY_COMMAND"]

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16}
OPSETS = [helper.make_opsetid("", 24), helper.make_opsetid("ai.onnx.preview", 1)]


def halved_and_capped(dtype):
    """tanh(x / 2), with a constant of its own."""
    value = helper.make_tensor_value_info
    half = numpy_helper.from_array(numpy.array(0.5, helper.tensor_dtype_to_np_dtype(dtype)), "half")
    return helper.make_graph(
        [helper.make_node("Mul", ["x", "half"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])],
        "capped", [value("x", dtype, [None] * 4)], [value("y", dtype, [None] * 4)], [half])


def scaled_by_head(dtype):
    """x times a vector over heads, which the model's graph has."""
    value = helper.make_tensor_value_info
    return helper.make_graph([helper.make_node("Mul", ["x", "of_heads"], ["y"])], "by_head",
                             [value("x", dtype, [None] * 4)], [value("y", dtype, [None] * 4)])


def make_case(random, name, mods):
    dtype = TYPES[name]
    batch, keys, group, width = (int(n) for n in random.integers(1, 4, 4))
    rows, length, value_width = (int(n) for n in random.integers(1, 9, 3))
    shapes = {"Q": [batch, keys * group, rows, width], "K": [batch, keys, length, width],
              "V": [batch, keys, length, value_width]}
    of_heads = numpy_helper.from_array(
        random.uniform(0.5, 1, (keys * group, 1, 1)).astype(numpy.float32), "of_heads")
    attributes = {}
    if "score" in mods:
        attributes["score_mod"] = halved_and_capped(TensorProto.FLOAT)
    if "prob" in mods:
        attributes["prob_mod"] = scaled_by_head(TensorProto.FLOAT)
    if random.integers(2):
        attributes["scale"] = 0.3
    node = helper.make_node("FlexAttention", list(shapes), ["Y"], domain="ai.onnx.preview",
                            **attributes)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, dtype, [None] * 4) for n in shapes],
        [helper.make_tensor_value_info("Y", dtype, [None] * 4)], [of_heads])
    model = helper.make_model(graph, opset_imports=OPSETS, ir_version=10)
    numpy_type = helper.tensor_dtype_to_np_dtype(dtype)
    feeds = {n: random.normal(size=shape).astype(numpy_type) for n, shape in shapes.items()}
    return model, feeds


def expected(model, feeds):
    """In f32; the reference's own evaluator gives a body no values of the graph around it."""
    node = model.graph.node[0]
    q, k, v = (feeds[n].astype(numpy.float32) for n in ("Q", "K", "V"))
    group = q.shape[1] // k.shape[1]
    attributes = {a.name: a for a in node.attribute}
    scale = attributes["scale"].f if "scale" in attributes else q.shape[3] ** -0.5
    scores = q @ numpy.repeat(k, group, 1).swapaxes(2, 3) * numpy.float32(scale)
    for name in ("score_mod", "prob_mod"):
        if name == "prob_mod":
            scores = numpy.exp(scores - scores.max(3, keepdims=True))
            scores /= scores.sum(3, keepdims=True)
        if name in attributes:
            body = onnx.GraphProto()
            body.CopyFrom(attributes[name].g)
            body.initializer.extend(model.graph.initializer)
            inner = helper.make_model(body, opset_imports=OPSETS[:1], ir_version=10)
            scores = ReferenceEvaluator(inner).run(None, {"x": scores})[0]
    return (scores @ numpy.repeat(v, group, 1)).astype(feeds["Q"].dtype)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("flex")
    random = numpy.random.default_rng(5)
    for name, mods, seed in itertools.product(TYPES, ("", "score", "prob", "score_prob"), range(8)):
        model, feeds = make_case(random, name, mods)
        data = root / f"{name}_{mods}_{seed}" / "test_data_set_0"
        data.mkdir(parents=True)
        onnx.save(model, data.parent / "model.onnx")
        files = {f"input_{i}": value for i, value in enumerate(feeds.values())}
        for file, value in {**files, "output_0": expected(model, feeds)}.items():
            tensor = numpy_helper.from_array(value)
            (data / f"{file}.pb").write_bytes(tensor.SerializeToString())
    result = subprocess.run([COMMAND, "test", "--rtol", "4e-3", "--atol", "2e-4", str(root)],
                            capture_output=True, text=True, check=False)
    return result.stdout.splitlines()


def test_all_agree_with_the_reference(report):
    assert [line for line in report if not line.startswith("ok")] == report[-1:]
    assert report[-1].split()[0] == "64"
