"""The attributes that rows list are those of ONNX, at every opset, and of ONNX Runtime's operators.

What differs stands here with its reason, and a line here that no row needs is a failure, too.
"""

import json

import numpy
import onnx
import pytest
from onnx import AttributeProto, defs, helper
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_state

from cli_harness import latchkey

# (domain, operator, attribute): why the row has it, or has it otherwise.
OTHERWISE = {
    ("com.microsoft", "QLinearAveragePool", "dilations"):
        "AveragePool has them, of which passes make one",
}

# Integers whose default is 0 or 1, and that are numbers all the same.
NUMBERS = {
    "accuracy_level", "axis", "batch_axis", "batch_dims", "block_size", "dtype", "gather_axis",
    "group", "k", "offset_group", "output_dtype", "output_height", "output_width",
    "output_datatype", "precision", "qk_matmul_output_mode", "qk_output",
    "quantize_axis", "rotary_embedding_dim", "sample_size",
    "sampling_ratio", "start", "stash_type", "step", "time_axis", "weight_prepacked",
}

ROWS = latchkey("ops", "--json").json()
OF_ONNX = [row for row in ROWS if row["domain"] == "ai.onnx"
           and row["operator"] != "SimplifiedLayerNormalization"]
OF_ONNXRUNTIME = [row for row in ROWS if row["domain"] == "com.microsoft"
                  or row["operator"] == "SimplifiedLayerNormalization"]
SCHEMAS = {(schema.domain or "ai.onnx", schema.name): schema
           for schema in onnxruntime_state.get_all_operator_schema()}


def plain(value):
    """A default: texts as str, floats as float32 has them."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return float(numpy.float32(value))
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def default_of(proto):
    has_none = proto.type == AttributeProto.UNDEFINED
    return None if has_none else plain(helper.get_attribute_value(proto))


def of_schema(schema, default=lambda attribute: default_of(attribute.default_value)):
    return {name: (str(attribute.type).rsplit(".", maxsplit=1)[-1].lower(), attribute.required,
                   default(attribute)) for name, attribute in schema.attributes.items()}


def of_row(row, opset):
    """One entry for a name, at the most."""
    listed = [attribute for attribute in row["attributes"]
              if attribute["min_opset"] <= opset <= attribute["max_opset"]]
    found = {attribute["name"]: (attribute["type"], attribute["required"],
                                 plain(attribute["default"])) for attribute in listed}
    assert len(found) == len(listed), (row["operator"], opset)
    return found


def reasons(row, ours, theirs):
    """The keys of OTHERWISE for what differs."""
    return {(row["domain"], row["operator"], name) for name in ours.keys() | theirs.keys()
            if ours.get(name) != theirs.get(name)}


def assert_listed(differing):
    assert differing - OTHERWISE.keys() == set()


@pytest.mark.parametrize("row", OF_ONNX, ids=lambda row: row["operator"])
def test_attributes_are_those_of_onnx_at_every_opset(row):
    assert row["max_opset"] == onnx.defs.onnx_opset_version()
    for opset in range(row["min_opset"], row["max_opset"] + 1):
        schema = defs.get_schema(row["operator"], opset, "")
        assert_listed(reasons(row, of_row(row, opset), of_schema(schema)))


def default_in_onnxruntime(attribute):
    proto = AttributeProto()
    proto.ParseFromString(attribute._default_value)
    return default_of(proto)


@pytest.mark.parametrize("row", OF_ONNXRUNTIME, ids=lambda row: row["operator"])
def test_attributes_are_those_of_onnxruntime(row):
    schema = SCHEMAS[row["domain"], row["operator"]]
    theirs = of_schema(schema, default_in_onnxruntime)
    for opset in (row["min_opset"], row["max_opset"]):
        assert_listed(reasons(row, of_row(row, opset), theirs))


def test_each_reason_is_needed():
    needed = set()
    for row in OF_ONNXRUNTIME:
        theirs = of_schema(SCHEMAS[row["domain"], row["operator"]], default_in_onnxruntime)
        needed |= reasons(row, of_row(row, row["min_opset"]), theirs)
    for row in OF_ONNX:
        for opset in range(row["min_opset"], row["max_opset"] + 1):
            schema = defs.get_schema(row["operator"], opset, "")
            needed |= reasons(row, of_row(row, opset), of_schema(schema))
    assert needed == OTHERWISE.keys()


def inputs_of(operator, opset):
    return [value.name.lower() for value in defs.get_schema(operator, opset, "").inputs]


@pytest.mark.parametrize("row", OF_ONNX, ids=lambda row: row["operator"])
def test_what_becomes_an_input_is_that_input(row):
    """And what does not say so is no input of that name."""
    for attribute in row["attributes"]:
        if attribute["max_opset"] == row["max_opset"]:
            continue
        behind = attribute["max_opset"] + 1
        if attribute["name"] in of_row(row, behind):
            assert attribute["input"] is None
            continue
        names = inputs_of(row["operator"], behind)
        told = {"value": "constant_value"}.get(attribute["name"], attribute["name"])
        place = names.index(told) if told in names else None
        assert attribute["input"] == place, (attribute, names)


def test_choices_begin_with_the_default():
    for row in ROWS:
        for attribute in row["attributes"]:
            if attribute["choices"] is not None and attribute["default"] is not None:
                assert attribute["choices"][0] == attribute["default"]


def are_flags(attribute):
    return attribute["type"] == "int" and attribute["choices"] is not None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["operator"])
def test_what_is_0_or_1_is_a_flag(row):
    for attribute in row["attributes"]:
        if attribute["type"] == "int" and attribute["default"] in (0, 1):
            assert are_flags(attribute) != (attribute["name"] in NUMBERS), attribute["name"]


FLAGS = [(row["domain"], row["operator"], attribute["name"],
          attribute["max_opset"])
         for row in ROWS for attribute in row["attributes"] if are_flags(attribute)]
FLAGS += [("ai.onnx", "SplitToSequence", "keepdims", 21),
          ("ai.onnx", "ConcatFromSequence", "new_axis", 21)]


@pytest.mark.parametrize(("domain", "operator", "name", "last"), FLAGS)
def test_a_flag_is_0_or_1(domain, operator, name, last, tmp_path):
    """ONNX Runtime takes any other number for 0 or for 1, as the operator has it."""
    domain = "" if domain == "ai.onnx" else domain
    opsets = {"": last if domain == "" else 21, domain: last}
    for value in (2, -1):
        node = helper.make_node(operator, ["x"], ["y"], "n", domain=domain, **{name: value})
        graph = helper.make_graph(
            [node], "graph", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n"])],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid(*one) for one in opsets.items()]), tmp_path / "m.onnx")
        found = json.loads(latchkey("ops", "--missing", "--json", tmp_path / "m.onnx").out)[0]
        told = [one["reason"] for one in found["nodes"]] + found["other"]
        wanted = f"attribute '{name}' is {value}, 0 or 1 is allowed"
        assert any(wanted in one for one in told), told
