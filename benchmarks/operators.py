"""How long does each operator take beside ONNX Runtime's, on the shapes that models have?

Every node of the models of tests/models/exported and tests/models/generated that computes on at
least a thousand elements, alone: in a model of several copies of it, one after the other, so that
what a run costs is small beside them. Inputs have the values that the model gives them; constants
stay constants, and what follows from them, such as weights that were quantized, is one too. Nodes
are equal if operator, attributes, types and shapes are. Driven from Python, one thread, both
engines in turns, with inputs and outputs in memory that stays, the same for both; the shapes of the
outputs are compared first. What a run with so many outputs costs by itself is taken off: that of a
Split into single numbers. A node's figure is the least of its blocks, an operator's the median of
its nodes, and its worst is the largest; a node that takes less than a microsecond says nothing.

    benchmarks/run operators                        all of them
    .venv/bin/python benchmarks/operators.py -- ... some: their names
    benchmarks/run --json operators > docs/operator_times.json   for docs/operators.md
"""

import collections
import hashlib
import json
import logging
import sys
import time

import common
import exported_models
import generated
import latchkey
import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

QUESTION = __doc__.splitlines()[0]
TARGET = 1.3
COPIES = 8
LEAST_ELEMENTS = 1000
LEAST_NS = 1000
# Nodes with bodies are the executor's own; those that move no data cost nothing anywhere.
LEFT_OUT = {"Constant", "If", "Loop", "Scan", "Identity", "Reshape", "Flatten", "Squeeze",
            "Unsqueeze", "Shape", "Size", "Dropout"}


def models():
    """Name, model and feeds."""
    for name in exported_models.NAMES:
        proto = onnx.load(exported_models.FOLDER / f"{name}.onnx")
        yield name, proto, exported_models.requests_of(name)[0]
    for name, model in generated.MODELS.items():
        proto = model.make(2)
        yield name, proto, exported_models.draw(generated.fitted(proto, model.sizes[0]), 0)


def session_options():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return options


def values_of(proto, feeds):
    """Every value of the main graph for one request, and which of them are constants."""
    graph = proto.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    whole = onnx.ModelProto()
    whole.CopyFrom(proto)
    del whole.graph.output[:]
    names = [name for node in graph.node for name in node.output if name]
    whole.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    options = session_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    found = dict(zip(names, session.run(None, feeds)))
    for node in graph.node:
        if node.input and all(name in constants for name in node.input if name):
            constants.update((name, found[name]) for name in node.output if name)
    return {**found, **feeds, **constants}, set(constants)


def alone(proto, node, values, constants):
    """A model of copies of one node, and its feeds; None: it is not to be measured."""
    arrays = {name: values.get(name) for name in node.input if name}
    results = [values.get(name) for name in node.output if name]
    if any(not isinstance(array, numpy.ndarray) for array in [*arrays.values(), *results]):
        return None
    if max(array.size for array in [*arrays.values(), *results]) < LEAST_ELEMENTS:
        return None
    nodes, outputs = [], []
    feeds = {f"{name}_{copy}": array.copy() for copy in range(COPIES)
             for name, array in arrays.items() if name not in constants}
    for copy in range(COPIES):
        one = onnx.NodeProto()
        one.CopyFrom(node)
        one.name = f"copy_{copy}"
        del one.input[:]
        one.input.extend(name if not name or name in constants else f"{name}_{copy}"
                         for name in node.input)
        del one.output[:]
        one.output.extend(f"{name}_{copy}" if name else "" for name in node.output)
        outputs += [(f"{name}_{copy}", array) for name, array in
                    zip([name for name in node.output if name], results)]
        nodes.append(one)

    def info(name, array):
        return helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    graph = helper.make_graph(
        nodes, "alone", [info(name, array) for name, array in feeds.items()],
        [info(name, array) for name, array in outputs],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()
         if name in constants])
    model = helper.make_model(graph, opset_imports=proto.opset_import,
                              ir_version=proto.ir_version)
    return model, feeds


def key_of(node, values, constants):
    """Equal for nodes that cost the same."""
    shapes = [(str(values[name].dtype), values[name].shape, name in constants) if name else None
              for name in node.input]
    attributes = sorted(attribute.SerializeToString() for attribute in node.attribute)
    return hashlib.sha256(repr((node.domain, node.op_type, shapes, attributes)).encode()).digest()


def empty_run(further):
    """A model of copies that have nearly nothing to do, and so many inputs that nobody reads."""
    nodes = [helper.make_node("Relu", [f"x_{copy}"], [f"y_{copy}"]) for copy in range(COPIES)]
    info = helper.make_tensor_value_info
    feeds = {f"x_{i}": numpy.zeros(1, numpy.float32) for i in range(COPIES + further)}
    graph = helper.make_graph(
        nodes, "empty", [info(name, onnx.TensorProto.FLOAT, [1]) for name in feeds],
        [info(node.output[0], onnx.TensorProto.FLOAT, [1]) for node in nodes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    return model, feeds


def run_costs(blocks, seconds):
    """Nanoseconds of each engine: of an input, and of an output with all else that a run is."""
    few, many = (measure(*empty_run(further), blocks, seconds) for further in (0, COPIES))
    inputs = {engine: (many[engine] - few[engine]) / COPIES for engine in few}
    return inputs, {engine: few[engine] / COPIES - inputs[engine] for engine in few}


def time_ours(session, feeds, out, count):
    profile = latchkey.Profile()
    for _ in range(count):
        session.run(feeds, out=out, profile=profile)
    return profile.info()["execute_ms"] * 1e6 / count


def time_once(run, count):
    start = time.perf_counter_ns()
    for _ in range(count):
        run()
    return (time.perf_counter_ns() - start) / count


def measure(model, feeds, blocks, seconds):
    """Nanoseconds of a run of each engine; None: our executor or theirs does not take it. The least
    of many blocks, short enough that some of them have the processor for themselves."""
    data = model.SerializeToString()
    try:
        theirs = onnxruntime.InferenceSession(
            data, session_options(), providers=["CPUExecutionProvider"],
            disabled_optimizers=["CommonSubexpressionElimination"])
        right = theirs.run(None, feeds)
    except Exception:  # a type or an opset that ONNX Runtime has no kernel for
        return None
    try:
        ours = latchkey.Session(data, threads=1)
    except latchkey.UnsupportedError:
        return None
    with ours:
        out = dict(zip((output.name for output in theirs.get_outputs()), right))
        for name, array in ours.run(feeds).items():
            assert out[name].shape == array.shape, name
        binding = theirs.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        for name, array in out.items():
            binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        def run_theirs():
            theirs.run_with_iobinding(binding)
        clocks = {"latchkey": lambda count: time_ours(ours, feeds, out, count),
                  "onnxruntime": lambda count: time_once(run_theirs, count)}
        counts = {engine: max(1, int(seconds * 1e9 / time_once(lambda: clock(1), 2)))
                  for engine, clock in clocks.items()}
        times = {engine: [] for engine in clocks}
        for _ in range(blocks):  # one thread each: nothing spins behind a run
            for engine, clock in clocks.items():
                times[engine].append(clock(counts[engine]))
    return {engine: min(times[engine]) for engine in clocks}


def operator_of(node):
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def shape_text(node, values):
    return ", ".join("x".join(map(str, values[name].shape)) or "1" for name in node.input if name)


def gather(blocks, seconds, wanted):
    """Operator: what its nodes took."""
    found, seen = collections.defaultdict(list), set()
    of_input, of_output = run_costs(blocks, 10 * seconds)
    for name, proto, feeds in models():
        values, constants = values_of(proto, feeds)
        for node in proto.graph.node:
            if node.op_type in LEFT_OUT or (wanted and node.op_type not in wanted):
                continue
            case = alone(proto, node, values, constants)
            if case is None or (key := key_of(node, values, constants)) in seen:
                continue
            seen.add(key)
            times = measure(*case, blocks, seconds)
            if times is None:
                continue
            graph = case[0].graph
            times = {engine: (ns - len(graph.input) * of_input[engine]
                              - len(graph.output) * of_output[engine]) / COPIES
                     for engine, ns in times.items()}
            if min(times.values()) < LEAST_NS:
                continue
            found[operator_of(node)].append(
                {"model": name, "shapes": shape_text(node, values), **times,
                 "ratio": times["latchkey"] / times["onnxruntime"]})
    return found


def options(question):
    """What the command line chooses, and behind -- which operators; none: all of them."""
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    wanted, sys.argv = set(sys.argv[split + 1:]), sys.argv[:split]
    logging.disable(logging.WARNING)
    return common.options(question), wanted


def main():
    chosen, wanted = options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (10, 0.001), (90, 0.001), (1000, 0.002))
    found = gather(blocks, seconds, wanted)
    rows = []
    for operator, nodes in sorted(found.items()):
        worst = max(nodes, key=lambda node: node["ratio"])
        rows.append({"operator": operator, "nodes": len(nodes),
                     "ratio": common.median([node["ratio"] for node in nodes]), "worst": worst})
    if chosen.json:
        print(json.dumps({"target": TARGET, "machine": common.machine(),
                          "onnxruntime": onnxruntime.__version__, "operators": rows}))
        return
    common.table(["operator", "nodes", "/ onnxruntime", "worst", "us", "of", "target"],
                 [[row["operator"], row["nodes"], f"{row['ratio']:.2f}",
                   f"{row['worst']['ratio']:.2f}", f"{row['worst']['latchkey'] / 1e3:.1f}",
                   f"{row['worst']['model']}: {row['worst']['shapes']}",
                   "met" if row["worst"]["ratio"] <= TARGET else f"MISSED (<= {TARGET})"]
                  for row in rows])


if __name__ == "__main__":
    main()
