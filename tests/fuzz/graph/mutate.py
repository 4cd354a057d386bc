"""Graphs that are nearly valid: one thing of a valid one is wrong."""

from __future__ import annotations

import dataclasses

import numpy
import onnx
from onnx import AttributeProto, TensorProto, helper

from graph import Graph
from reference import Values

OTHER_TYPES = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.UINT8,
               TensorProto.DOUBLE, TensorProto.STRING)


@dataclasses.dataclass
class Mutant:
    what: str
    model: onnx.ModelProto
    feeds: Values
    must_be_refused: bool  # else it may be valid by chance


def _pick(rng, items):
    return items[int(rng.integers(len(items)))]


def _feed_type(rng, graph, model, feeds):
    name = _pick(rng, list(feeds))
    other = numpy.float32 if feeds[name].dtype != numpy.float32 else numpy.int64
    with numpy.errstate(all="ignore"):
        feeds[name] = feeds[name].astype(other)
    return True


def _feed_rank(rng, graph, model, feeds):
    name = _pick(rng, list(feeds))
    feeds[name] = feeds[name][numpy.newaxis]
    return True


def _declared_type(rng, graph, model, feeds):
    info = _pick(rng, model.graph.input)
    kind = _pick(rng, OTHER_TYPES)
    if info.type.tensor_type.elem_type == kind:
        return None
    info.type.tensor_type.elem_type = kind
    if kind != TensorProto.STRING:
        with numpy.errstate(all="ignore"):
            feeds[info.name] = feeds[info.name].astype(helper.tensor_dtype_to_np_dtype(kind))
    return False


def _declared_rank(rng, graph, model, feeds):
    info = _pick(rng, model.graph.input)
    info.type.tensor_type.shape.dim.add()
    return True


def _attribute_type(rng, graph, model, feeds):
    node = _pick(rng, model.graph.node)
    if not node.attribute:
        return None
    attribute = _pick(rng, node.attribute)
    name = attribute.name
    kinds = {AttributeProto.INT: 2.5, AttributeProto.FLOAT: "text", AttributeProto.STRING: 7,
             AttributeProto.INTS: [0.5, 1.5], AttributeProto.FLOATS: ["text"]}
    if attribute.type not in kinds:
        return None
    attribute.CopyFrom(helper.make_attribute(name, kinds[attribute.type]))
    return False


def _attribute_value(rng, graph, model, feeds):
    node = _pick(rng, model.graph.node)
    numbers = [one for one in node.attribute if one.type in (AttributeProto.INT,
                                                             AttributeProto.INTS)]
    if not numbers:
        return None
    attribute = _pick(rng, numbers)
    value = int(_pick(rng, (-1, 0, 99, -99, 2**62, -(2**63))))
    if attribute.type == AttributeProto.INT:
        attribute.i = value
    elif attribute.ints:
        attribute.ints[int(rng.integers(len(attribute.ints)))] = value
    return False


def _attribute_lost(rng, graph, model, feeds):
    node = _pick(rng, model.graph.node)
    if not node.attribute:
        return None
    del node.attribute[int(rng.integers(len(node.attribute)))]
    return False


def _attribute_unknown(rng, graph, model, feeds):
    _pick(rng, model.graph.node).attribute.append(helper.make_attribute("unheard_of", 1))
    return False


def _input_lost(rng, graph, model, feeds):
    node = _pick(rng, model.graph.node)
    if not node.input:
        return None
    if rng.random() < 0.5:
        node.input.pop()
    else:
        node.input[int(rng.integers(len(node.input)))] = ""
    return False


def _input_more(rng, graph, model, feeds):
    node = _pick(rng, model.graph.node)
    node.input.append(_pick(rng, list(graph.values)[:2]))
    return False


def _input_unknown(rng, graph, model, feeds):
    node = _pick(rng, [node for node in model.graph.node if node.input])
    node.input[int(rng.integers(len(node.input)))] = "nowhere"
    return True


def _output_unknown(rng, graph, model, feeds):
    _pick(rng, model.graph.output).name = "nowhere"
    return True


def _name_twice(rng, graph, model, feeds):
    names = [name for name in graph.values if name not in graph.constants]
    node = _pick(rng, model.graph.node)
    other = _pick(rng, [name for name in names if name != node.output[0]])
    node.output[0] = other
    return True


def _cycle(rng, graph, model, feeds):
    """A node reads what follows from its own output."""
    node = _pick(rng, [node for node in model.graph.node if node.input])
    after = {node.output[0]}
    for later in model.graph.node:
        if after.intersection(later.input):
            after.update(later.output)
    node.input[int(rng.integers(len(node.input)))] = _pick(rng, sorted(after))
    return True


def _operator_unknown(rng, graph, model, feeds):
    """What no output needs may be left out, such as what is broadcast to no elements."""
    node = _pick(rng, model.graph.node)
    node.op_type = "Unheard"
    return any(output.name in node.output for output in model.graph.output)


def _operator_other(rng, graph, model, feeds):
    nodes = model.graph.node
    node = _pick(rng, nodes)
    node.op_type = _pick(rng, ("Add", "MatMul", "Conv", "Reshape", "Gather", "Concat", "Relu",
                               "Softmax", "Transpose", "Slice", "Where", "Cast"))
    return False


def _constant_shape(rng, graph, model, feeds):
    if not model.graph.initializer:
        return None
    constant = _pick(rng, model.graph.initializer)
    constant.dims.append(int(_pick(rng, (2, 0, -1, 2**40))))
    return False


MUTATIONS = {function.__name__[1:]: function for function in (
    _feed_type, _feed_rank, _declared_type, _declared_rank, _attribute_type, _attribute_value,
    _attribute_lost, _attribute_unknown, _input_lost, _input_more, _input_unknown, _output_unknown,
    _name_twice, _cycle, _operator_unknown, _operator_other, _constant_shape)}


def mutate(rng: numpy.random.Generator, graph: Graph) -> Mutant | None:
    """A mutant of the graph; None: the mutation that was drawn has no place in it."""
    what = _pick(rng, list(MUTATIONS))
    model, feeds = graph.model(), graph.feeds()
    if not feeds or not graph.nodes:
        return None
    del model.graph.value_info[:]
    must_be_refused = MUTATIONS[what](rng, graph, model, feeds)
    if must_be_refused is None:
        return None
    return Mutant(what, model, feeds, must_be_refused)
