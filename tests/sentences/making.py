"""Small models of one bad node, and what a session says to them."""

import numpy
from onnx import TensorProto, helper, numpy_helper

import latchkey


def f32(*shape):
    return numpy.ones(shape, numpy.float32)


def i32(*shape):
    return numpy.ones(shape, numpy.int32)


def i64(*shape):
    return numpy.ones(shape, numpy.int64)


def u8(*shape):
    return numpy.ones(shape, numpy.uint8)


def flags(*shape):
    return numpy.ones(shape, bool)


def model_of(nodes, inputs=(), initializers=(), outputs=("y",), opset=17, domains=(), functions=()):
    """inputs: (name, ONNX type, shape)."""
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(numpy.asarray(value), name) for name, value in initializers])
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, 1) for name in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions))


class Node:
    """A model of one node 'n'. Its inputs: an array is fed at a run, a list or a number is a
    constant, None is absent."""

    def __init__(self, operator, *inputs, opset=17, domain="", outputs=1, **attributes):
        names, declared, constants, self.feeds = [], [], [], {}
        for number, value in enumerate(inputs):
            names.append("" if value is None else f"in{number}")
            if isinstance(value, numpy.ndarray):
                kind = helper.np_dtype_to_tensor_dtype(value.dtype)
                declared.append((names[-1], kind, value.shape))
                self.feeds[names[-1]] = value
            elif value is not None:
                constants.append((names[-1], numpy.array(value)))
        results = ["y", *(f"y{number}" for number in range(1, outputs))][:outputs]
        made = helper.make_node(operator, names, results, name="n", domain=domain, **attributes)
        self.model = model_of([made], declared, constants, results, opset,
                              (domain,) if domain else ())

    def __call__(self):
        latchkey.Session(self.model.SerializeToString()).run(self.feeds)
