"""Graphs that grow node by node, with the value of everything in them."""

from __future__ import annotations

import dataclasses

import numpy
import onnx
from onnx import helper, numpy_helper

import reference
import rows
from reference import Unfit, Values

OPSETS = (13, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26)
KINDS = ("float32",) * 8 + ("float64", "int64", "int32", "bool", "uint8", "int8")
MOST_ELEMENTS = 4000
MOST_NODES = 12


@dataclasses.dataclass
class Graph:
    opset: int
    nodes: list[onnx.NodeProto] = dataclasses.field(default_factory=list)
    inputs: dict[str, list] = dataclasses.field(default_factory=dict)  # declared dimensions
    constants: list[str] = dataclasses.field(default_factory=list)
    outputs: list[str] = dataclasses.field(default_factory=list)
    values: Values = dataclasses.field(default_factory=dict)
    spreads: Values = dataclasses.field(default_factory=dict)
    shown: list[onnx.ValueInfoProto] = dataclasses.field(default_factory=list)

    def feeds(self) -> Values:
        return {name: self.values[name] for name in self.inputs}

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes, "graph",
            [helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(self.values[name].dtype), dims)
             for name, dims in self.inputs.items()],
            [helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(self.values[name].dtype), None)
             for name in self.outputs],
            [numpy_helper.from_array(self.values[name], name) for name in self.constants],
            value_info=self.shown)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                 ir_version=10)


class Grower:
    def __init__(self, rng: numpy.random.Generator):
        self.rng = rng
        self.graph = Graph(opset=int(rng.choice(OPSETS)))
        self.moved: list[Values] = [{} for _ in range(reference.MOVED)]
        self.wide: Values = {}  # each node computed in f64
        self.count = 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def _enter(self, name: str, value: numpy.ndarray) -> None:
        """A value that no node makes is exact. It is moved as others are: an operator may round
        within as if it was not."""
        self.graph.values[name] = self.wide[name] = value
        self.graph.spreads[name] = numpy.zeros(value.shape)
        for values in self.moved:
            values[name] = reference.moved(value, self.rng)

    def add_input(self, value: numpy.ndarray) -> str:
        name = self.name("x")
        self._enter(name, value)
        self.graph.inputs[name] = [self._dimension(size) for size in value.shape]
        return name

    def _dimension(self, size: int):
        """A number, a name that all dimensions of this size share, or nothing."""
        chance = self.rng.random()
        return size if chance < 0.5 else f"size{size}" if chance < 0.8 else None

    def add_constant(self, value: numpy.ndarray) -> str:
        name = self.name("c")
        self._enter(name, value)
        self.graph.constants.append(name)
        return name

    def _pick_value(self) -> str:
        """One of the last ones more often: chains grow, and some values are used twice."""
        names = list(self.graph.values)
        if self.rng.random() < 0.6:
            names = names[-4:]
        return names[int(self.rng.integers(len(names)))]

    def _same(self, value: numpy.ndarray, first: str) -> list[str]:
        """Values that may stand for one that was drawn."""
        names = [name for name, other in self.graph.values.items()
                 if other.dtype == value.dtype and other.shape == value.shape]
        return [first] * 3 * (first in names) + names

    def add_node(self) -> bool:
        """Whether a node was added: one with a value of the graph among its inputs."""
        rng, graph = self.rng, self.graph
        first = self._pick_value()
        operators = rows.operators()
        op_type = operators[int(rng.integers(len(operators)))]
        case = rows.draw(rng, op_type, graph.values[first], graph.opset)
        if case is None or any(value is not None and (value.size > MOST_ELEMENTS or
                                                      value.dtype.name not in KINDS and
                                                      value.dtype.kind not in "iub")
                               for value in case.inputs):
            return False
        chosen: list[str | None] = []
        for i, value in enumerate(case.inputs):
            names = self._same(value, first) if value is not None else []
            # Integers may be indices, axes or shapes, which must be as they were drawn.
            free = value is not None and (value.dtype.kind in "fb" or
                                          i == 0 and rows.is_pointwise(op_type))
            use = names and free and i not in case.constants and (i == 0 or rng.random() < 0.6)
            chosen.append(names[int(rng.integers(len(names)))] if use else None)
        if not any(chosen) and case.inputs and case.inputs[0] is not None:
            if 0 not in case.constants and case.inputs[0].dtype.kind == "f":
                chosen[0] = self._adapt(case.inputs[0])
        if not any(chosen):
            return False
        if not rows.takes_infinities(op_type) and not all(
                numpy.isfinite(graph.values[name]).all() for name in chosen if name):
            return False
        return self._wire(op_type, case, chosen)

    def _adapt(self, value: numpy.ndarray) -> str | None:
        """A value of the graph, gathered into this shape; None: there is none of this type."""
        graph = self.graph
        names = [name for name, other in graph.values.items()
                 if other.dtype == value.dtype and other.size > 0]
        if not names or value.size == 0 or len(graph.nodes) > MOST_NODES - 3:
            return None
        name = names[int(self.rng.integers(len(names)))]
        line, part = self.name("v"), self.name("v")
        to = self.add_constant(numpy.array([-1]))
        places = self.add_constant(
            numpy.arange(value.size).reshape(value.shape) % graph.values[name].size)
        for op_type, inputs, output in (("Reshape", [name, to], line),
                                        ("Gather", [line, places], part)):
            node = helper.make_node(op_type, inputs, [output], name=f"node{len(graph.nodes)}")
            assert self._compute(node)
            graph.nodes.append(node)
        return part

    def _wire(self, op_type: str, case, chosen: list[str | None]) -> bool:
        graph = self.graph
        saved = dataclasses.replace(graph, inputs=dict(graph.inputs),
                                    constants=list(graph.constants), values=dict(graph.values),
                                    spreads=dict(graph.spreads), nodes=list(graph.nodes))
        count = self.count
        names = []
        for i, (value, name) in enumerate(zip(case.inputs, chosen)):
            if value is None:
                names.append("")
            elif name is not None:
                names.append(name)
            elif i in case.constants or self.rng.random() < 0.5:
                names.append(self.add_constant(value))
            else:
                names.append(self.add_input(value))
        outputs = [self.name("v") for _ in range(case.n_outputs)]
        node = onnx.helper.make_node(op_type, names, outputs, name=f"node{len(graph.nodes)}",
                                     **case.attributes)
        given = [graph.values[name] if name else None for name in names]
        if not rows.leaves_open(op_type, given) and self._compute(node):
            graph.nodes.append(node)
            return True
        self.graph, self.count = saved, count
        for values in [*self.moved, self.wide]:
            for name in [name for name in values if name not in saved.values]:
                del values[name]
        return False

    def _compute(self, node: onnx.NodeProto) -> bool:
        """Whether the reference says what the node gives."""
        graph = self.graph
        try:
            found = reference.run_node(node, graph.values, graph.opset)
            others = [reference.run_node(node, values, graph.opset) for values in self.moved]
            wide = reference.run_node_in_f64(node, self.wide, graph.opset)
        except Unfit:
            return False
        for name, value in found.items():
            if value.size > MOST_ELEMENTS or value.ndim > 8:
                return False
            for one in others:
                one[name] = reference.moved(one[name], self.rng, node.op_type in rows.TRANSFORMS)
            spread = reference.spread(value, [one[name] for one in [*others, wide]])
            if spread is None:
                return False
            graph.values[name], graph.spreads[name] = value, spread
            self.wide[name] = wide[name]
            for values, one in zip(self.moved, others):
                values[name] = one[name]
        return True

    def finish(self) -> Graph:
        """Outputs: what nobody reads, and some that others read."""
        graph, rng = self.graph, self.rng
        read = {name for node in graph.nodes for name in node.input}
        made = [name for node in graph.nodes for name in node.output]
        graph.outputs = [name for name in made if name not in read or rng.random() < 0.15]
        if rng.random() < 0.3:
            try:
                inferred = onnx.shape_inference.infer_shapes(graph.model(), check_type=True)
            except onnx.shape_inference.InferenceError:
                return graph
            graph.shown = [info for info in inferred.graph.value_info
                           if info.type.tensor_type.elem_type != 0]
        return graph


def grow(rng: numpy.random.Generator) -> Graph:
    """A graph of 2 to 12 nodes."""
    wanted = int(rng.integers(2, MOST_NODES + 1))
    grower = Grower(rng)
    for _ in range(int(rng.integers(1, 4))):
        dims = [int(rng.integers(1, 6)) for _ in range(int(rng.integers(0, 5)))]
        kind = numpy.dtype(KINDS[int(rng.integers(len(KINDS)))])
        value = rng.uniform(-3, 3, dims) if kind.kind == "f" else rng.integers(0, 2 if kind.kind
                                                                               == "b" else 5, dims)
        add = grower.add_input if rng.random() < 0.8 else grower.add_constant
        add(numpy.asarray(value).astype(kind))
    for _ in range(40 * wanted):
        if len(grower.graph.nodes) >= wanted:
            break
        grower.add_node()
    return grower.finish()
