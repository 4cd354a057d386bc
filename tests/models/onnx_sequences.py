"""Cases whose inputs or outputs are sequences or optional, as models of tensors.

A model of the library has tensors as inputs and outputs; what is in between may be sequences. So a
sequence that a case gives is made by a node of its tensors, and one that it expects is taken apart.
"""

import numpy
import onnx
from onnx import helper, numpy_helper


def is_tensor(value):
    return isinstance(value, (onnx.TensorProto, numpy.ndarray, numpy.generic))


def has_other_values(case):
    return not all(value.type.HasField("tensor_type")
                   for value in [*case.model.graph.input, *case.model.graph.output])


def unwrap(type_proto):
    """The type within an optional one, and whether it was one."""
    if type_proto.HasField("optional_type"):
        return type_proto.optional_type.elem_type, True
    return type_proto, False


def to_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) \
        else numpy.asarray(value)


class Tensors:
    """A model under construction, with its data."""

    def __init__(self, model):
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        for field in ("input", "output"):
            self.model.graph.ClearField(field)
        self.before, self.behind, self.data = [], [], {"input": [], "output": []}

    def add(self, kind, name, array):
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        getattr(self.model.graph, kind).append(
            helper.make_tensor_value_info(name, dtype, array.shape))
        self.data[kind].append(array)
        return name

    def give(self, info, value):
        inner, is_optional = unwrap(info.type)
        name = f"{info.name}/given" if is_optional else info.name
        if value is None:
            self.before.append(helper.make_node("Optional", [], [info.name], type=inner))
            return
        if inner.HasField("tensor_type"):
            self.add("input", name, to_array(value))
        elif value:
            names = [self.add("input", f"{name}/{i}", to_array(one))
                     for i, one in enumerate(value)]
            self.before.append(helper.make_node("SequenceConstruct", names, [name]))
        else:
            dtype = inner.sequence_type.elem_type.tensor_type.elem_type
            self.before.append(helper.make_node("SequenceEmpty", [], [name], dtype=dtype))
        if is_optional:
            self.before.append(helper.make_node("Optional", [name], [info.name]))

    def expect(self, info, value):
        inner, is_optional = unwrap(info.type)
        name = info.name
        if is_optional:
            there = self.add("output", f"{name}/there", numpy.array(value is not None))
            self.behind.append(helper.make_node("OptionalHasElement", [name], [there]))
            if value is None:
                return
            name = f"{info.name}/element"
            self.behind.append(helper.make_node("OptionalGetElement", [info.name], [name]))
        if inner.HasField("tensor_type"):
            self.add("output", name, to_array(value))
            return
        length = self.add("output", f"{name}/length", numpy.array(len(value), numpy.int64))
        self.behind.append(helper.make_node("SequenceLength", [name], [length]))
        for i, one in enumerate(value):
            at = numpy_helper.from_array(numpy.array(i, numpy.int64), f"{name}/{i}/at")
            self.model.graph.initializer.append(at)
            element = self.add("output", f"{name}/{i}", to_array(one))
            self.behind.append(helper.make_node("SequenceAt", [name, at.name], [element]))

    def finish(self):
        nodes = [*self.before, *self.model.graph.node, *self.behind]
        self.model.graph.ClearField("node")
        self.model.graph.node.extend(nodes)
        return self.model, [(self.data["input"], self.data["output"])]


def as_tensors(case):
    """The model and the data sets of a case, which has one, with tensors only."""
    [(inputs, outputs)] = case.data_sets
    tensors = Tensors(case.model)
    for info, value in zip(case.model.graph.input, inputs):
        tensors.give(info, value)
    for info, value in zip(case.model.graph.output, outputs):
        tensors.expect(info, value)
    return tensors.finish()
