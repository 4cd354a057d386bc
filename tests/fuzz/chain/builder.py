"""Nodes, constants and inputs of one chain, with names of its own in a graph of many."""

from __future__ import annotations

import ml_dtypes
import numpy
import onnx
from onnx import helper, numpy_helper

BFLOAT16 = numpy.dtype(ml_dtypes.bfloat16)
ONNX_TYPES = {"float32": onnx.TensorProto.FLOAT, "float16": onnx.TensorProto.FLOAT16,
              "bfloat16": onnx.TensorProto.BFLOAT16, "float64": onnx.TensorProto.DOUBLE,
              "int32": onnx.TensorProto.INT32, "int64": onnx.TensorProto.INT64,
              "uint8": onnx.TensorProto.UINT8, "int8": onnx.TensorProto.INT8,
              "bool": onnx.TensorProto.BOOL}
OPSET = 22


class Builder:
    def __init__(self, prefix: str, has_free_dims: bool = False) -> None:
        self.prefix, self.count = prefix, 0
        self.has_free_dims = has_free_dims  # of the inputs' first dimensions
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.feeds: dict[str, numpy.ndarray] = {}
        self.output = ""

    def name(self) -> str:
        self.count += 1
        return f"{self.prefix}_{self.count}"

    def node(self, op: str, inputs: list[str], domain: str = "", **attributes) -> str:
        return self.nodes_outputs(op, inputs, 1, domain, **attributes)[0]

    def nodes_outputs(self, op: str, inputs: list[str], n: int, domain: str = "",
                      **attributes) -> list[str]:
        outputs = [self.name() for _ in range(n)]
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs

    def constant(self, value: numpy.ndarray) -> str:
        name = self.name()
        self.constants.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def input(self, value: numpy.ndarray) -> str:
        name = self.name()
        self.feeds[name] = numpy.asarray(value)
        return name

    def cast(self, x: str, dtype: numpy.dtype) -> str:
        return self.node("Cast", [x], to=ONNX_TYPES[numpy.dtype(dtype).name])

    def input_infos(self) -> list[onnx.ValueInfoProto]:
        found = []
        for name, value in self.feeds.items():
            dims: list[int | str] = list(value.shape)
            if self.has_free_dims and dims:
                dims[0] = f"{self.prefix}_n"
            found.append(helper.make_tensor_value_info(name, ONNX_TYPES[value.dtype.name], dims))
        return found


def model(builders: list[Builder]) -> onnx.ModelProto:
    graph = helper.make_graph(
        [node for b in builders for node in b.nodes], "chains",
        [info for b in builders for info in b.input_infos()],
        [onnx.ValueInfoProto(name=b.output) for b in builders],
        [constant for b in builders for constant in b.constants])
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)
