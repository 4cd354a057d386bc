"""Random nodes of an operator, and their comparison with another implementation."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable

import numpy
import onnx
import onnxruntime
from close import assert_close
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import latchkey

NEWEST_OPSET = 28
# Types that a model's inputs may have, by the names of onnx.TensorProto.
FLOATS = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")
INTEGERS = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
NUMBERS = FLOATS + INTEGERS
ALL_TYPES = NUMBERS + ("BOOL",)

# Relative and absolute errors that two right implementations may differ by, of a value's size.
TOLERANCE = {"FLOAT": 2e-5, "DOUBLE": 1e-9, "FLOAT16": 2e-3, "BFLOAT16": 2e-2}


@dataclasses.dataclass
class Case:
    """A node, its inputs and what its outputs may differ by."""

    inputs: list[numpy.ndarray | None]  # None: absent
    attributes: dict = dataclasses.field(default_factory=dict)
    constants: set[int] = dataclasses.field(default_factory=set)  # inputs that are initializers
    n_outputs: int = 1
    opset: int = 21
    tolerance: float | None = None  # relative and absolute; None: by the type
    moves: bool = False  # elements without a look at them: to others, bf16 may be u16
    # f16 and bf16 are computed in f32 and rounded once: the other implementation gets f32, and what
    # it gives is rounded to the type of this input.
    widens: int | None = None
    # In place of another implementation: the right outputs.
    expected: Callable[[list[numpy.ndarray | None]], list[numpy.ndarray]] | None = None


Generator = Callable[[numpy.random.Generator], Case]
ROWS: dict[tuple[str, str], Generator] = {}


def row(op_type: str, domain: str = "") -> Callable[[Generator], Generator]:
    """Registers the function that draws a node of an operator."""

    def register(generator: Generator) -> Generator:
        assert (domain, op_type) not in ROWS, f"{op_type} has two generators"
        ROWS[domain, op_type] = generator
        return generator

    return register


# ---- what generators draw with ----


def dtype_of(name: str) -> numpy.dtype:
    return helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name))


def shape(rng, low=0, high=4, largest=5, empty=0.05) -> list[int]:
    """A shape of rank `low` to `high`; a dimension is 0 with a chance of `empty`."""
    rank = int(rng.integers(low, high + 1))
    return [0 if rng.random() < empty else int(rng.integers(1, largest + 1)) for _ in range(rank)]


def broadcast(rng, dims: list[int], n=2) -> list[list[int]]:
    """Shapes that broadcast to `dims`, the first of which may be smaller too."""
    shapes = []
    for _ in range(n):
        kept = [1 if rng.random() < 0.25 else dim for dim in dims]
        cut = int(rng.integers(0, len(kept) + 1)) if rng.random() < 0.3 else 0
        shapes.append(kept[cut:])
    return shapes


def values(rng, dims, dtype="FLOAT", low=-3, high=3, special=0.0) -> numpy.ndarray:
    """Numbers of a type; with a chance of `special` each is NaN, an infinity, a denormal, a zero,
    or of integers the least or largest."""
    kind = dtype_of(dtype)
    if dtype == "BOOL":
        return rng.integers(0, 2, dims).astype(bool)
    if dtype in INTEGERS:
        info = numpy.iinfo(kind)
        first = max(int(numpy.ceil(low)), info.min)
        found = rng.integers(first, int(high) + 1, dims).astype(kind)
        edges = numpy.array([info.min, info.max, 0], kind)
    else:
        found = rng.uniform(low, high, dims).astype(kind)
        edges = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1e-40, -0.0], numpy.float64)
        edges = edges.astype(kind)
    if special == 0:
        return found
    chosen = rng.random(dims) < special
    return numpy.where(chosen, rng.choice(edges, dims), found).astype(kind)


def halved(rng, case: Case, chance=0.4) -> Case:
    """Now and then the case with f16 or bf16 in the place of f32, all of one output."""
    if rng.random() >= chance:
        return case
    kind = dtype_of(pick(rng, ["FLOAT16", "BFLOAT16"]))
    case.inputs = [
        value.astype(kind) if value is not None and value.dtype == numpy.float32 else value
        for value in case.inputs]
    case.n_outputs, case.tolerance, case.widens = 1, None, 0
    return case


def doubled(rng, case: Case, chance=0.2, **attributes) -> Case | None:
    """Now and then the case with f64 in the place of f32 and with these attributes; else None."""
    if rng.random() >= chance:
        return None
    case.inputs = [
        value.astype(numpy.float64) + 0.1 if value is not None and value.dtype == numpy.float32
        else value for value in case.inputs]
    case.attributes.update(attributes)
    case.tolerance = 1e-12
    return case


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


SCHEMA_TYPES = {"tensor(float)": "FLOAT"} | {
    f"tensor({name.lower()})": name for name in ALL_TYPES}


@functools.cache
def _first_opsets() -> dict[str, int]:
    """For each operator the opset that brought it. Making the list of schemas takes 5 ms."""
    first: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            version = schema.since_version
            first[schema.name] = min(first.get(schema.name, version), version)
    return first


def opset_of(rng, op_type: str) -> int:
    """An opset that the operator is part of, more often the newest ones."""
    since = _first_opsets()[op_type]
    return int(rng.integers(max(since, 7 if rng.random() < 0.5 else 21), NEWEST_OPSET + 1))


def type_of(rng, op_type: str, opset: int, index=0) -> str:
    """A type that input `index` may have."""
    allowed = onnx.defs.get_schema(op_type, opset).inputs[index].types
    return pick(rng, sorted(SCHEMA_TYPES[name] for name in allowed if name in SCHEMA_TYPES))


def axis(rng, rank: int) -> int:
    """An axis of a tensor of rank 1 or more, counted from either end."""
    return int(rng.integers(-rank, rank))


# ---- the model of a case ----


def _value_info(name: str, array: numpy.ndarray) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    # ranks are known, sizes are not
    return helper.make_tensor_value_info(name, kind, [None] * array.ndim)


def make_model(domain: str, op_type: str, case: Case) -> onnx.ModelProto:
    names = ["" if value is None else f"x{i}" for i, value in enumerate(case.inputs)]
    outputs = [f"y{i}" for i in range(case.n_outputs)]
    node = helper.make_node(op_type, names, outputs, domain=domain, **case.attributes)
    graph = helper.make_graph(
        [node], "row",
        [_value_info(f"x{i}", value) for i, value in enumerate(case.inputs)
         if value is not None and i not in case.constants],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(value, f"x{i}") for i, value in enumerate(case.inputs)
         if value is not None and i in case.constants])
    opsets = [helper.make_opsetid("", case.opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


# ---- other implementations ----


def _by_onnxruntime(model: onnx.ModelProto, feeds: dict) -> list | None:
    """Outputs of ONNX Runtime; None: it lacks the operator, the opset or the type."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if any(value.dtype.name == "bfloat16" for value in feeds.values()):
        return None  # its Python interface cannot pass the type
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        return session.run(None, feeds)
    except Exception:  # of any class: the question is only whether
        return None


def _by_reference(model: onnx.ModelProto, feeds: dict) -> list:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(model).run(None, feeds)


def by_others(domain: str, op_type: str, case: Case) -> list:
    if case.expected is not None:
        return case.expected(case.inputs)
    model, feeds = make_model(domain, op_type, case), feeds_of(case)
    found = _by_onnxruntime(model, feeds)
    return _by_reference(model, feeds) if found is None else found


def _is_half(value: numpy.ndarray | None) -> bool:
    return value is not None and value.dtype.name in ("float16", "bfloat16")


def _as_bits(domain: str, op_type: str, case: Case) -> list:
    """Outputs with u16 in the place of bf16, which ONNX Runtime's Python interface lacks."""
    kind = dtype_of("BFLOAT16")
    inputs = [value.view(numpy.uint16) if value is not None and value.dtype == kind else value
              for value in case.inputs]
    shadow = dataclasses.replace(case, inputs=inputs, constants=set())
    return [found.view(kind) if found.dtype == numpy.uint16 else found
            for found in by_others(domain, op_type, shadow)]


def _widened(domain: str, op_type: str, case: Case) -> list:
    """Outputs of f32 in the place of f16 and bf16, rounded to the type of one input."""
    first = case.inputs[case.widens]
    wide = dataclasses.replace(case, inputs=[
        value.astype(numpy.float32) if _is_half(value) else value for value in case.inputs])
    with numpy.errstate(over="ignore"):
        return [value.astype(first.dtype)
                if _is_half(first) and value.dtype == numpy.float32 else value
                for value in by_others(domain, op_type, wide)]


def _right(domain: str, op_type: str, case: Case) -> list:
    given = [value for value in case.inputs if value is not None]
    if case.widens is not None and any(_is_half(value) for value in given):
        return _widened(domain, op_type, case)
    if case.moves and any(value.dtype.name == "bfloat16" for value in given):
        return _as_bits(domain, op_type, case)
    return by_others(domain, op_type, case)


def feeds_of(case: Case) -> dict:
    return {f"x{i}": value for i, value in enumerate(case.inputs)
            if value is not None and i not in case.constants}


def compare(found: numpy.ndarray, right: numpy.ndarray, tolerance: float | None) -> None:
    kind = onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(right.dtype))
    limit = TOLERANCE.get(kind) if tolerance is None else tolerance
    assert_close(found, right, rtol=limit, atol=limit)


def check(domain: str, op_type: str, case: Case, context: latchkey.Context) -> None:
    """Runs a case twice in each of two sessions, and compares each result."""
    model = make_model(domain, op_type, case)
    feeds = feeds_of(case)
    right = _right(domain, op_type, case)
    for run_plans in (True, False):
        with latchkey.Session(model.SerializeToString(), context=context,
                              run_plans=run_plans) as session:
            for _ in range(2):
                result = session.run(feeds)
                for i, one in enumerate(right):
                    compare(result[f"y{i}"], one, case.tolerance)
