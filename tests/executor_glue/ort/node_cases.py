"""ONNX's node cases through ONNX Runtime with the provider, and what becomes of each.

    claimed       every node but those in no group that computes is the provider's, and the outputs
                  are right
    left          some node is not, for the reason given, and the outputs are right
    no work       left, because nothing in it computes data; the outputs are right
    training      left: it is of training, in which outputs are random or more than a session's
    failed        an error, wrong outputs, or nodes that never reached the provider
    not loadable  left, and ONNX Runtime alone does not run it either: it does not have the operator
                  or the opset, or its Python interface cannot pass the type
"""

import dataclasses

import numpy
import onnx
import onnxruntime
from close import assert_close
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx_cases import LEFT_OUT
from provider import (ISLAND, NO_WORK, SOONER, open_reference, open_session, session_options,
                      statistics)

OUTCOMES = ("claimed", "left", "no work", "training", "failed", "not loadable")
NEWEST_OPSET, NEWEST_IR = 23, 11


@dataclasses.dataclass(frozen=True)
class Result:
    case: str
    operator: str  # of the case's only node; several: their names
    outcome: str
    why: str  # nodes were left, or what went wrong


# ---- the cases ----


def collect(table):
    """The cases all of whose nodes are operators of `table`: pairs of domain and operator."""
    for case in collect_testcases(None):
        if case.model is None or case.name in LEFT_OUT:
            continue
        if all((node.domain or "ai.onnx", node.op_type) in table for node in case.model.graph.node):
            yield case


def lower_opset(model):
    """The model at the newest opset that Latchkey reads; as it is, if it is no newer or its
    operators have been given more than types since."""
    newer = [entry for entry in model.opset_import
             if entry.domain in ("", "ai.onnx") and entry.version > NEWEST_OPSET]
    for entry in newer:
        for node in model.graph.node:
            try:
                schema = onnx.defs.get_schema(node.op_type, NEWEST_OPSET)
            except onnx.defs.SchemaError:
                return model
            if not all(attribute.name in schema.attributes for attribute in node.attribute):
                return model
            if len(node.input) > schema.max_input or len(node.output) > schema.max_output:
                return model
    lowered = onnx.ModelProto()
    lowered.CopyFrom(model)
    lowered.ir_version = min(model.ir_version, NEWEST_IR)
    for entry in lowered.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = min(entry.version, NEWEST_OPSET)
    try:
        onnx.checker.check_model(lowered, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return model
    return lowered


def is_training(case):
    """Dropout whose third input says so: what it drops is left to chance."""
    for node in case.model.graph.node:
        if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2] != "":
            at = [value.name for value in case.model.graph.input].index(node.input[2])
            if any(bool(inputs[at]) for inputs, _ in case.data_sets):
                return True
    return False


# ---- values ----


def to_python(value):
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [to_python(one) for one in value]
    return numpy.asarray(value) if isinstance(value, numpy.generic) else value


def check_values(found, right, case):
    if isinstance(right, list) or right is None:
        assert (found is None) == (right is None)
        for one, other in zip(found or [], right or [], strict=True):
            check_values(one, other, case)
        return
    # of f16, nodes that are in other hands round once more or less: by 1e-3
    half = numpy.asarray(right).dtype == numpy.float16
    assert_close(found, right, rtol=max(case.rtol, 2e-3) if half else case.rtol, atol=case.atol)


def run(session, case):
    """Runs every data set, and compares; the feeds of the last."""
    feeds = {}
    for inputs, outputs in case.data_sets:
        names = (value.name for value in session.get_inputs())
        feeds = {name: to_python(value) for name, value in zip(names, inputs, strict=True)}
        for found, right in zip(session.run(None, feeds), outputs, strict=True):
            check_values(found, to_python(right), case)
    return feeds


# ---- one case ----


def as_offered():
    """Without ONNX Runtime's optimizations: folding takes nodes away before the provider sees
    them."""
    options = session_options()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def runs_without_provider(model, case):
    try:
        run(open_reference(model, as_offered()), case)
    except Exception:  # of any class: the question is only whether
        return False
    return True


def with_work(model):
    """The model with each float output multiplied by one, so that work follows everything in it;
    None if there is none."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    floats = [value for value in graph.output
              if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT]
    for i, value in enumerate(floats):
        inner = value.name
        value.name = f"{inner} times one"
        graph.initializer.append(numpy_helper.from_array(numpy.ones(1, numpy.float32), f"one {i}"))
        graph.node.append(onnx.helper.make_node("Mul", [inner, f"one {i}"], [value.name]))
        if len(value.type.tensor_type.shape.dim) == 0:
            return None  # a scalar would become a vector
    return changed if floats else None


def judge(case):
    """(outcome, why)"""
    lowered = lower_opset(case.model)
    model = lowered.SerializeToString()
    claims = None
    try:
        session = open_session(model, of_session=as_offered())
        feeds = {name: to_python(value) for name, value in
                 zip([value.name for value in session.get_inputs()], case.data_sets[0][0])}
        claims = statistics(session, feeds)["claims"]
        run(session, case)
    except Exception as error:  # what went wrong is the result, whatever it is
        why = " ".join(str(error).split())
        if claims is not None and claims["claimed"] > 0 or runs_without_provider(model, case):
            return "failed", why
        return "not loadable", why
    # Constants are no nodes to ONNX Runtime. Functions may be more nodes than one.
    nodes = sum(node.op_type != "Constant" for node in lowered.graph.node)
    if claims["nodes"] < nodes:
        return "failed", f"{claims['nodes']} of {nodes} nodes reached the provider"
    others = sorted(f"{left['operator']}: {left['reason']}" for left in claims["left"]
                    if left["reason"] not in (NO_WORK, ISLAND, SOONER))
    if others:
        return "left", "; ".join(others)
    return ("claimed" if claims["claimed"] > 0 else "no work"), ""


def judge_all(table):
    for case in collect(table):
        operators = sorted({node.op_type for node in case.model.graph.node})
        name = operators[0] if len(operators) == 1 else " ".join(operators)
        outcome, why = judge(case)
        if is_training(case):
            outcome = "failed" if outcome in ("claimed", "failed") else "training"
        yield Result(case.name, name, outcome, why)


def judge_with_work(table):
    """The cases of operators of the table that alone would be left, with work behind them."""
    for case in collect(table):
        if any(table[node.domain or "ai.onnx", node.op_type]["worth_claiming"]
               for node in case.model.graph.node) or is_training(case):
            continue
        model = with_work(lower_opset(case.model))
        if model is not None:
            changed = dataclasses.replace(case, model=model)
            yield Result(case.name, case.model.graph.node[0].op_type, *judge(changed))
