"""ONNX's reference evaluator, and how far its values can be trusted.

A value is computed from the same inputs four times: once as it is, once with each node in f64, and
twice with each floating value of the graph moved by about its rounding error, and zeros of the
other sign. How much they differ is what another right implementation may differ by, beside
TOLERANCE: without it, a graph that subtracts equal numbers would fail, or its limits would have to
be wide for all graphs.
"""

from __future__ import annotations

import warnings

import numpy
import onnx
import onnx.inliner
from onnx import helper
from onnx.reference import ReferenceEvaluator

EPSILON = {"float32": 3e-7, "float64": 1e-14}
TOLERANCE = {"float32": 2e-5, "float64": 1e-9}
MOVED = 2  # times that a value is computed with moved inputs
SPREADS = 8  # of the largest difference that was seen

Values = dict[str, numpy.ndarray]


class Unfit(Exception):
    """The reference cannot say what is right."""


def run(model: onnx.ModelProto, feeds: Values) -> list[numpy.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with numpy.errstate(all="ignore"):
            return ReferenceEvaluator(model).run(None, feeds)


def run_node(node: onnx.NodeProto, feeds: Values, opset: int) -> Values:
    given = {name: feeds[name] for name in node.input if name}
    names = [name for name in node.output if name]
    graph = helper.make_graph(
        [node], "node",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None)
         for name, value in given.items()], [onnx.ValueInfoProto(name=name) for name in names])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    try:
        found = run(model, given)
    except Exception as error:  # of any class: the evaluator is a program of its own
        raise Unfit(f"{node.op_type}: {type(error).__name__}: {error}") from error
    values = dict(zip(names, (numpy.asarray(value) for value in found)))
    for value in values.values():
        if value.dtype.kind not in "biuf" or value.dtype.name == "float16":
            raise Unfit(f"{node.op_type} gives {value.dtype}")
    return values


def run_node_in_f64(node: onnx.NodeProto, feeds: Values, opset: int) -> Values:
    """With f32 taken for f64 and rounded once, at the end; as it is where there is no such node."""
    given = {name: feeds[name] for name in node.input if name}
    narrow = numpy.dtype("float32")
    right = run_node(node, feeds, opset)
    try:
        found = run_node(node, {name: value.astype("float64") if value.dtype == narrow else value
                                for name, value in given.items()}, opset)
    except Unfit:
        return right
    with numpy.errstate(all="ignore"):
        return {name: found[name].astype(narrow) if value.dtype == narrow else value
                for name, value in right.items()}


def _for_inliner(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same with a type for each value, and no name for an input that is absent: the inliner
    asks for both."""
    given = onnx.ModelProto()
    given.CopyFrom(model)
    given.graph.input.extend(helper.make_tensor_value_info(one.name, one.data_type, one.dims)
                             for one in model.graph.initializer)
    for node in given.graph.node:
        while node.input and not node.input[-1]:
            del node.input[-1]
    return onnx.shape_inference.infer_shapes(given)


def run_bodies(model: onnx.ModelProto, feeds: Values) -> Values | None:
    """What the bodies give that ONNX writes its functions down by; None: a node has none, or they
    are more than the inliner or the evaluator takes."""
    opset = model.opset_import[0].version
    operators = {node.op_type for node in model.graph.node}
    schemas = [onnx.defs.get_schema(op_type, opset) for op_type in operators]
    if not any(schema.has_function or schema.has_context_dependent_function for schema in schemas):
        return None
    try:
        plain = onnx.inliner.inline_selected_functions(
            _for_inliner(model), [("", op_type) for op_type in operators],
            inline_schema_functions=True)
        found = run(plain, feeds)
    except Exception:  # of any class, as in run_node
        return None
    return dict(zip((output.name for output in model.graph.output), map(numpy.asarray, found)))


def moved(value: numpy.ndarray, rng: numpy.random.Generator, zeros_too: bool = False
          ) -> numpy.ndarray:
    """`zeros_too`: a zero is a sum too that another right implementation rounds."""
    epsilon = EPSILON.get(value.dtype.name)
    if epsilon is None:
        return value
    with numpy.errstate(all="ignore"):
        part, whole = rng.uniform(-epsilon, epsilon, (2, *value.shape))
        other = value * (1 + part) + whole * (abs(value) < 1)
        if not zeros_too:
            other = numpy.where(value == 0, -value, other)
    return other.astype(value.dtype)


def _limits(value: numpy.ndarray) -> numpy.ndarray:
    """Infinities and NaN, and 0 for numbers."""
    return numpy.where(numpy.isfinite(value), 0, value)


def spread(value: numpy.ndarray, others: list[numpy.ndarray]) -> numpy.ndarray | None:
    """How much each element differs at the most; None: by more than a number."""
    largest = numpy.zeros(value.shape)
    for other in others:
        if other.shape != value.shape or other.dtype != value.dtype:
            return None
        if value.dtype.kind != "f":
            if not numpy.array_equal(value, other):
                return None
            continue
        if not numpy.array_equal(_limits(value), _limits(other), equal_nan=True):
            return None
        with numpy.errstate(all="ignore"):
            one = numpy.abs(value.astype(numpy.float64) - other.astype(numpy.float64))
        largest = numpy.maximum(largest, numpy.where(numpy.isfinite(one), one, 0))
    if value.dtype.kind == "f" and value.size > 0:
        finite = numpy.where(numpy.isfinite(value), numpy.abs(value.astype(numpy.float64)), 0)
        if (SPREADS * largest > 1e-2 * (finite + 1)).any():
            return None
    return largest


def difference(found: numpy.ndarray, right: numpy.ndarray, allowed: numpy.ndarray) -> str | None:
    """What is wrong with a result; NaN equals NaN alone."""
    if found.dtype != right.dtype:
        return f"{found.dtype} instead of {right.dtype}"
    if found.shape != right.shape:
        return f"shape {found.shape} instead of {right.shape}"
    if right.dtype.kind != "f":
        wrong = found != right
    else:
        tolerance = TOLERANCE[right.dtype.name]
        x, y = found.astype(numpy.float64), right.astype(numpy.float64)
        with numpy.errstate(all="ignore"):
            near = numpy.abs(x - y) <= tolerance * (1 + numpy.abs(y)) + SPREADS * allowed
        wrong = ~((x == y) | (numpy.isnan(x) & numpy.isnan(y))
                  | (near & numpy.isfinite(x) & numpy.isfinite(y)))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in numpy.argwhere(wrong)[0]) if right.ndim > 0 else ()
    return f"element {list(at)}: {found[at]!r} instead of {right[at]!r}, {int(wrong.sum())} differ"
