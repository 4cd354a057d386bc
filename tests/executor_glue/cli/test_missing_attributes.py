"""Every operator of ONNX, at every opset at which its attributes change: `latchkey ops --missing`
refuses each attribute that ONNX does not have then, by name, and says when or where it has it."""

import json
import re

import onnx
import pytest
from onnx import TensorProto, defs, helper

from cli_harness import latchkey
from test_ops import OF_THE_EXECUTOR

UNKNOWN = "nobody_has_this"
LATEST = onnx.defs.onnx_opset_version()
# Its nodes are constants when a model is loaded, which says what their attributes are.
LOADED = {"Constant"}

ROWS = {row["operator"]: row["min_opset"] for row in latchkey("ops", "--json").json()
        if row["domain"] == "ai.onnx" and row["operator"] != "SimplifiedLayerNormalization"}
FIRST = {**ROWS, **{name: min(schema.since_version for schema in
                              defs.get_all_schemas_with_history()
                              if schema.name == name and schema.domain == "")
                    for name in OF_THE_EXECUTOR}}


def names_at(operator, opset):
    return set(defs.get_schema(operator, opset, "").attributes)


def opsets_of(operator):
    """The first of each run of opsets at which the attributes are the same, and the latest."""
    first = max(7, FIRST[operator])
    opsets = range(first, LATEST + 1)
    changes = [opset for opset in opsets
               if opset == first or names_at(operator, opset) != names_at(operator, opset - 1)]
    return sorted({*changes, LATEST})


def save_model(path, operator, opset, names):
    node = helper.make_node(operator, ["x"], ["y"], name="node")
    node.attribute.extend(helper.make_attribute(name, "a text") for name in names)
    graph = helper.make_graph(
        [node], "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, path)


def expected_of(operator, opset, name):
    """What the sentence about an attribute that ONNX does not have at the opset begins with."""
    start = f"it has no attribute '{name}' at opset {opset}; "
    having = [version for version in range(max(7, FIRST[operator]), LATEST + 1)
              if name in names_at(operator, version)]
    if opset < having[0]:
        return start + f"it has it since opset {having[0]}"
    behind = having[-1] + 1
    inputs = [value.name.lower() for value in defs.get_schema(operator, behind, "").inputs]
    told = {"value": "constant_value"}.get(name, name)
    if told in inputs:
        return start + f"since opset {behind} that is input {inputs.index(told)}"
    return start + f"it had it until opset {having[-1]}"


@pytest.fixture(scope="module")
def reasons(tmp_path_factory):
    """Of each operator and opset, what is said of a node that has all attributes of other opsets,
    and one that there never was."""
    folder = tmp_path_factory.mktemp("attributes")
    cases = {}
    for operator in sorted(FIRST.keys() - LOADED):
        ever = set().union(*(names_at(operator, opset) for opset in opsets_of(operator)))
        for opset in opsets_of(operator):
            path = folder / f"{operator}_{opset}.onnx"
            others = sorted(ever - names_at(operator, opset))
            save_model(path, operator, opset, [*others, UNKNOWN])
            cases[str(path)] = (operator, opset, others)
    result = latchkey("ops", "--missing", "--json", *cases)
    assert result.code == 1
    found = {model["model"]: model for model in json.loads(result.out)}
    return [(*case, [row["reason"] for row in found[path]["nodes"]])
            for path, case in cases.items()]


def test_all_operators_are_tried(reasons):
    assert len({operator for operator, *_ in reasons}) > 190
    assert len(reasons) > 400


def test_what_other_opsets_have_is_refused_with_the_opset(reasons):
    for operator, opset, others, told in reasons:
        for name in others:
            assert expected_of(operator, opset, name) in told, (operator, opset, told)


def test_what_nobody_has_is_refused_with_the_names_that_there_are(reasons):
    """They are those that ONNX has at the opset."""
    for operator, opset, _, told in reasons:
        sentence, = (reason for reason in told if f"'{UNKNOWN}'" in reason)
        match = re.fullmatch(rf"it has no attribute '{UNKNOWN}'; it has (.*)", sentence)
        listed = set(match[1].split(", ")) - {"none"}
        assert listed == names_at(operator, opset), (operator, opset, sentence)
