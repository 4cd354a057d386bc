"""A graph that is written node by node, with seeded weights, and bodies for Loop and If."""

import math

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64, BOOL = (TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64,
                             TensorProto.BOOL)
LAST = numpy.iinfo(numpy.int64).max  # how exporters say "to the end" in a Slice
LOWEST = float(numpy.finfo(numpy.float32).min)  # what stands for minus infinity in a mask


def as_array(value):
    """A constant as ONNX has it: integers are int64, other numbers f32."""
    array = numpy.asarray(value)
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return array
    if array.size == 0 or array.dtype.kind in "iu":
        return array.astype(numpy.int64)
    return array if array.dtype.kind == "b" else array.astype(numpy.float32)


class Builder:
    """Inputs of `op` are names of values, None for one that is left out, or numbers, which become
    constants the way the exporter writes them."""

    constants_are_nodes = False

    def __init__(self, name, opset, seed=1, parent=None):
        self.name, self.opset, self.parent = name, opset, parent
        self.root = parent.root if parent else self
        self.nodes, self.inputs, self.outputs, self.shared = [], [], [], {}
        if parent is None:
            self.random, self.initializers, self.used, self.renamed = (
                numpy.random.default_rng(seed), [], {}, {})

    def fresh(self, kind):
        used = self.root.used
        used[kind] = used.get(kind, -1) + 1
        return f"{kind}_{used[kind]}"

    def input(self, name, kind, shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value, kind=FLOAT, shape=None, name=None):
        if name:
            self.root.renamed[value] = name
        self.outputs.append((value, kind, shape))

    def op(self, kind, *inputs, n=1, domain="", **attributes):
        outputs = [self.fresh(kind) for _ in range(n)]
        names = ["" if one is None else one if isinstance(one, str) else self.constant(one)
                 for one in inputs]
        self.nodes.append(helper.make_node(kind, names, outputs, f"node_{outputs[0]}",
                                           domain=domain, **attributes))
        return outputs[0] if n == 1 else outputs

    def constant(self, value):
        array = as_array(value)
        if self.constants_are_nodes:
            return self.op("Constant", value=numpy_helper.from_array(array))
        key = (array.dtype.str, array.shape, array.tobytes())
        shared = self.root.shared
        if key not in shared:
            shared[key] = self.initializer(array, "val")
        return shared[key]

    def initializer(self, array, kind="weight"):
        name = self.root.fresh(kind)
        self.root.initializers.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def filled(self, dims, number=0.0):
        """A tensor of one number; an integer makes one of int64."""
        value = numpy_helper.from_array(as_array([number]))
        return self.op("ConstantOfShape", dims, value=value)

    # ---- seeded weights, on a scale that keeps values of the order of one ----

    def weight(self, *shape, fan_in=1, gain=1.0):
        drawn = self.root.random.standard_normal(shape, numpy.float32)
        return self.initializer(drawn * numpy.float32(gain / math.sqrt(fan_in)))

    def uniform(self, low, high, *shape):
        return self.initializer(self.root.random.uniform(low, high, shape).astype(numpy.float32))

    def bias(self, *shape):
        return self.uniform(-0.1, 0.1, *shape)

    def scale(self, *shape):
        return self.uniform(0.5, 1.0, *shape)

    # ---- what it becomes ----

    def body(self, name):
        """A graph within this one, that sees its values; give its `graph` to Loop or If."""
        return type(self)(name, self.opset, parent=self)

    def graph(self):
        outputs = [helper.make_tensor_value_info(*output) for output in self.outputs]
        weights = [] if self.parent else self.initializers
        return helper.make_graph(self.nodes, self.name, self.inputs, outputs, weights)

    def model(self):
        graph = self.graph()
        rename(graph, self.renamed)
        opsets = [helper.make_opsetid("", self.opset)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        onnx.checker.check_model(made)
        return made


def rename(graph, names):
    """Outputs get names of their own, everywhere."""
    for node in graph.node:
        for values in (node.input, node.output):
            for i, value in enumerate(values):
                values[i] = names.get(value, value)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                rename(attribute.g, names)
    for output in graph.output:
        output.name = names.get(output.name, output.name)
