"""Attributes that operators do not have, in models: the own executor refuses each by name when the
model is opened, whatever the passes would have made of its node. (All operators and opsets:
tests/executor_glue/cli/test_missing_attributes.py.)"""

import json
import os
import subprocess

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

COMMAND = os.environ["LATCHKEY_COMMAND"]


def value(name, dtype=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name, values, dtype=numpy.float32):
    return numpy_helper.from_array(numpy.array(values, dtype), name)


def model_of(nodes, opset=17, initializers=(), functions=(), domains=()):
    graph = helper.make_graph(nodes, "graph", [value("x", shape=["a", 2, 4, 4])], [value("y")],
                              list(initializers))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, 1) for name in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions))


def one(operator, opset=17, inputs=("x",), outputs=("y",), initializers=(), domain="", **given):
    node = helper.make_node(operator, list(inputs), list(outputs), name="n", domain=domain, **given)
    return model_of([node], opset, initializers, domains=(domain,) if domain else ())


WEIGHTS = constant("w", numpy.ones((2, 2, 1, 1)))


def behind_conv(node, opset=17):
    """What passes fuse into the convolution before it."""
    conv = helper.make_node("Conv", ["x", "w"], ["c"])
    return model_of([conv, node], opset, [WEIGHTS])


def branches(**given):
    """If that is decided by a run, with a node in a branch that has an attribute it should not."""
    bodies = {name: helper.make_graph([helper.make_node("LeakyRelu", ["x"], [name], **attributes)],
                                      name, [], [value(name)])
              for name, attributes in (("then_branch", {"slope": 0.5}), ("else_branch", {}))}
    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
             helper.make_node("Greater", ["sum", "zero"], ["on"]),
             helper.make_node("If", ["on"], ["y"], name="n", **bodies, **given)]
    return model_of(nodes, initializers=[constant("zero", 0)])


def known_branch():
    """The same, decided when it is opened."""
    model = branches()
    model.graph.node.pop(0)
    model.graph.node.pop(0)
    model.graph.initializer.append(constant("on", True, bool))
    return model


def reference(name, of_call):
    """An attribute that is a float of the call."""
    return onnx.AttributeProto(name=name, ref_attr_name=of_call, type=onnx.AttributeProto.FLOAT)


def call(**given):
    body = helper.make_node("LeakyRelu", ["a"], ["b"])
    body.attribute.append(reference("alpha", "slope"))
    function = helper.make_function("calls", "Leaky", ["a"], ["b"], [body],
                                    [helper.make_opsetid("", 17)], ["slope"])
    node = helper.make_node("Leaky", ["x"], ["y"], name="n", domain="calls", **given)
    return model_of([node], functions=[function], domains=["calls"])


def function_with_a_wrong_one():
    body = helper.make_node("LeakyRelu", ["a"], ["b"])
    body.attribute.append(reference("slope", "slope"))
    function = helper.make_function("calls", "Leaky", ["a"], ["b"], [body],
                                    [helper.make_opsetid("", 17)], ["slope"])
    node = helper.make_node("Leaky", ["x"], ["y"], name="n", domain="calls", slope=0.5)
    return model_of([node], functions=[function], domains=["calls"])


def with_a_sparse_tensor():
    values = constant("values", [1.0])
    indices = constant("indices", [0], numpy.int64)
    model = one("Relu")
    model.graph.node[0].attribute.append(helper.make_attribute(
        "weights", helper.make_sparse_tensor(values, indices, [4])))
    return model


def with_a_type():
    model = one("Relu")
    model.graph.node[0].attribute.append(helper.make_attribute(
        "kind", helper.make_tensor_type_proto(TensorProto.FLOAT, None)))
    return model


def with_a_body():
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["b"])], "b", [], [value("b")])
    return one("Relu", body=body)


def constant_of(opset, **given):
    return model_of([helper.make_node("Constant", [], ["c"], name="n", **given),
                     helper.make_node("Add", ["x", "c"], ["y"])], opset)


def mistyped_constant():
    """A float in an attribute that holds an integer: the file says both."""
    model = constant_of(13, value_int=1)
    attribute = model.graph.node[0].attribute[0]
    attribute.type, attribute.f = onnx.AttributeProto.FLOAT, 2.5
    return model


SPLIT = helper.make_node("Split", ["x"], ["y", "z"], name="n", axis=1, split=[1, 1])
WINDOW = "it has auto_pad, dilations, group, kernel_shape, pads, strides"
LISTED = "attribute 'axis' holds a list of integers, it must hold an integer"
CASES = {
    "Conv pad": (one("Conv", inputs=("x", "w"), initializers=[WEIGHTS], pad=[1, 1, 1, 1]),
                 f"it has no attribute 'pad', 'pads' may be meant; {WINDOW}"),
    "Conv stride": (one("Conv", inputs=("x", "w"), initializers=[WEIGHTS], stride=[2, 2]),
                    f"it has no attribute 'stride', 'strides' may be meant; {WINDOW}"),
    "Clip min at 11": (one("Clip", 11, min=-1.0),
                       "it has no attribute 'min' at opset 11; since opset 11 that is input 1"),
    "Clip max at 13": (one("Clip", 13, max=1.0),
                       "it has no attribute 'max' at opset 13; since opset 11 that is input 2"),
    "Clip behind Conv": (behind_conv(helper.make_node("Clip", ["c"], ["y"], max=1.0)),
                         "since opset 11 that is input 2"),
    "Split at 13": (model_of([SPLIT], 13),
                    "it has no attribute 'split' at opset 13; since opset 13 that is input 1"),
    "LeakyRelu slope": (one("LeakyRelu", slope=0.5), "it has no attribute 'slope'; it has alpha"),
    "LeakyRelu behind Conv": (behind_conv(helper.make_node("LeakyRelu", ["c"], ["y"], slope=0.5)),
                              "it has no attribute 'slope'; it has alpha"),
    "Gemm transb": (one("Gemm", inputs=("x", "x"), transb=1),
                    "it has no attribute 'transb', 'transB' may be meant; "
                    "it has alpha, beta, transA, transB"),
    "Softmax axes": (one("Softmax", axes=[1]),
                     "it has no attribute 'axes', 'axis' may be meant; it has axis"),
    "ReduceSum axes at 13": (one("ReduceSum", 13, axes=[1]),
                             "it has no attribute 'axes' at opset 13; "
                             "since opset 13 that is input 1"),
    "ReduceMean axes at 18": (one("ReduceMean", 18, axes=[1]),
                              "it has no attribute 'axes' at opset 18; "
                              "since opset 18 that is input 1"),
    "TopK k at 10": (one("TopK", 10, k=1),
                     "it has no attribute 'k' at opset 10; since opset 10 that is input 1"),
    "Pad pads at 11": (one("Pad", 11, pads=[0] * 8),
                       "it has no attribute 'pads' at opset 11; since opset 11 that is input 1"),
    "Dropout that goes": (one("Dropout", 17, ratio=0.5),
                          "it has no attribute 'ratio' at opset 17; "
                          "since opset 12 that is input 1"),
    "Identity that goes": (one("Identity", axis=1), "it has no attribute 'axis'; it has none"),
    "allowzero before its time": (one("Flatten", 13, allowzero=1),
                                  "it has no attribute 'allowzero'; it has axis"),
    "momentum of Relu": (one("Relu", momentum=0.5), "it has no attribute 'momentum'; it has none"),
    "spatial at 9": (one("BatchNormalization", 9, ("x",) + ("w",) * 4,
                         initializers=[constant("w", [1, 1])], spatial=1),
                     "it has no attribute 'spatial' at opset 9; it had it until opset 8"),
    "a float for an integer": (one("Softmax", axis=1.0),
                               "attribute 'axis' holds a float, it must hold an integer"),
    "integers for an integer": (one("Softmax", axis=[1, 2]), LISTED),
    "a list of one integer": (one("Softmax", axis=[1]), LISTED),
    "a list behind Conv": (behind_conv(helper.make_node("LeakyRelu", ["c"], ["y"], alpha=[0.5])),
                           "attribute 'alpha' holds a list of floats, it must hold a float"),
    "an integer for integers": (one("Transpose", perm=0),
                                "attribute 'perm' holds an integer, it must hold a list"),
    "a list of an operator of the executor": (
        one("SplitToSequence", keepdims=[1]),
        "attribute 'keepdims' holds a list of integers, it must hold an integer"),
    "a list that a call gives": (call(slope=[0.5]),
                                 "attribute 'alpha' holds a list of floats, it must hold a float"),
    "a flag of 2": (one("ReduceSum", keepdims=2), "attribute 'keepdims' is 2, 0 or 1 is allowed"),
    "a flag of -1": (one("Gemm", inputs=("x", "x"), transA=-1),
                     "attribute 'transA' is -1, 0 or 1 is allowed"),
    "an integer for a float": (one("LeakyRelu", alpha=1),
                               "attribute 'alpha' holds an integer, it must hold a float"),
    "a string for integers": (one("Transpose", perm="0123"),
                              "attribute 'perm' holds a string, it must hold integers"),
    "another text": (one("Gelu", 20, approximate="erf"),
                     "attribute 'approximate' is 'erf', it must be one of: none, tanh"),
    "a text of a later opset": (one("Pad", 18, inputs=("x", "p"),
                                    initializers=[constant("p", [0] * 8, numpy.int64)],
                                    mode="wrap"),
                                "attribute 'mode' is 'wrap', it must be one of: constant, reflect, "
                                "edge"),
    "one that is missing": (one("Concat"), "attribute 'axis' is missing, it is required"),
    "com.microsoft": (one("FusedMatMul", inputs=("x", "x"), domain="com.microsoft", transb=1),
                      "it has no attribute 'transb', 'transB' may be meant"),
    "a sparse tensor": (with_a_sparse_tensor(), "it has no attribute 'weights'; it has none"),
    "a type": (with_a_type(), "it has no attribute 'kind'; it has none"),
    "a body": (with_a_body(), "it has no attribute 'body'; it has none"),
    "in a branch": (branches(), "it has no attribute 'slope'; it has alpha"),
    "in a branch that is taken": (known_branch(), "it has no attribute 'slope'; it has alpha"),
    "of If": (branches(cond=1), "it has no attribute 'cond'; it has else_branch, then_branch"),
    "of a call": (call(slop=0.5),
                  "the function has no attribute 'slop'; it has slope"),
    "in a function": (function_with_a_wrong_one(), "it has no attribute 'slope'; it has alpha"),
    "of Constant": (constant_of(13, valu=constant("v", [1.0])),
                    "it has no attribute 'valu', 'value' may be meant"),
    "of Constant at 11": (constant_of(11, value_float=1.0),
                          "it has no attribute 'value_float' at opset 11; "
                          "it has it since opset 12"),
    "a type of Constant": (mistyped_constant(),
                           "attribute 'value_int' holds a float, it must hold an integer"),
}


@pytest.mark.parametrize("name", CASES)
def test_is_refused_when_it_is_opened(name, tmp_path):
    model, sentence = CASES[name]
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    result = subprocess.run([COMMAND, "inspect", str(path)], capture_output=True, text=True,
                            check=False)
    assert result.returncode != 0
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", CASES)
def test_is_told_as_missing(name, tmp_path):
    model, sentence = CASES[name]
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    result = subprocess.run([COMMAND, "ops", "--missing", "--json", str(path)],
                            capture_output=True, text=True, check=False)
    [found] = json.loads(result.stdout)
    told = [row["reason"] for row in found["nodes"]] + found["other"] + [found["error"] or ""]
    assert not found["runs"]
    if name == "a body":
        sentence = "it has a body, as only If, Loop and Scan may"
    assert len([one_told for one_told in told if sentence in one_told]) == 1, told


def test_what_nobody_reads_is_not_refused(tmp_path):
    model = model_of([helper.make_node("Relu", ["x"], ["y"]),
                      helper.make_node("LeakyRelu", ["x"], ["unread"], slope=0.5)])
    onnx.save(model, tmp_path / "m.onnx")
    result = subprocess.run([COMMAND, "inspect", str(tmp_path / "m.onnx")], capture_output=True,
                            text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("operator", "opset", "given"), [
    ("Dropout", 11, {"ratio": 0.25}), ("Dropout", 17, {"seed": 1}),
    ("BatchNormalization", 8, {"momentum": 0.5, "spatial": 1}),
    ("BatchNormalization", 17, {"momentum": 0.5, "training_mode": 0}),
    ("Cast", 19, {"to": TensorProto.FLOAT, "saturate": 0}),
])
def test_what_has_no_effect_is_taken(operator, opset, given, tmp_path):
    inputs = ("x",) + ("w",) * 4 if operator == "BatchNormalization" else ("x",)
    model = one(operator, opset, inputs, initializers=[constant("w", [1, 1])], **given)
    onnx.save(model, tmp_path / "m.onnx")
    result = subprocess.run([COMMAND, "inspect", str(tmp_path / "m.onnx")], capture_output=True,
                            text=True, check=False)
    assert result.returncode == 0, result.stderr
