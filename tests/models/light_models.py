"""Makes the nine light models of the onnx wheel into models with weights that prove arithmetic.

As they ship, every weight is a ConstantOfShape of one value, so every channel computes the same.
Here each weight is drawn from a seeded generator, on a scale that keeps activations of the order
of one (He et al. 2015, arXiv:1502.01852); the batch is opened, and what goes into the last Softmax
becomes an output too, because a Softmax hides differences where it saturates.
"""

import pathlib

import numpy
import onnx
from onnx import helper, numpy_helper

FOLDER = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
NAMES = sorted(path.stem.removeprefix("light_") for path in FOLDER.glob("*.onnx"))
VIEWS = ("Unsqueeze", "Squeeze", "Reshape", "Identity")


def draw(random, shape, op_type, index):
    """A weight that `op_type` takes as its input `index`."""
    if (op_type, index) in (("BatchNormalization", 1), ("BatchNormalization", 4), ("Mul", 1)):
        return random.uniform(0.5, 1.0, shape).astype(numpy.float32)
    scale = 0.2
    if op_type in ("Conv", "Gemm", "MatMul") and index == 1:
        # Weights of a Gemm in these models are transposed: its fan-in is the last dimension too.
        scale = (6 / numpy.prod(shape[1:])) ** 0.5
    values = random.random(shape, numpy.float32)
    values -= numpy.float32(0.5)
    values *= numpy.float32(2 * scale)
    return values


def uses(graph):
    """What reads a tensor first: name -> (node, index of the input), seen through views."""
    found = {}
    for node in reversed(graph.node):
        for index, name in enumerate(node.input):
            through = node.op_type in VIEWS and index == 0
            found[name] = found.get(node.output[0]) if through else (node, index)
    return found


def randomized(name, seed=1):
    """The light model `name` with random weights, an open batch and its logits as an output."""
    model = onnx.load(FOLDER / f"light_{name}.onnx")
    graph = model.graph
    random = numpy.random.default_rng(seed)
    use = uses(graph)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    dropped = set(constants)
    nodes = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            dropped.add(node.input[0])
            constants.pop(node.input[0], None)
        else:
            nodes.append(node)
    weights = {n: value.shape for n, value in constants.items() if value.dtype == numpy.float32}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            tensor = next(t for t in graph.initializer if t.name == node.input[0])
            weights[node.output[0]] = tuple(int(dim) for dim in numpy_helper.to_array(tensor))
    for weight, shape in sorted(weights.items()):
        if use.get(weight) is None:
            constants.pop(weight, None)
            continue
        reader, index = use[weight]
        constants[weight] = draw(random, shape, reader.op_type, index)
    for node in nodes:
        if node.op_type == "Reshape" and constants.get(node.input[1], [0])[0] == 1:
            target = constants[node.input[1]].copy()
            target[0] = 0  # the batch of the input, whatever it is
            constants[node.input[1]] = target

    read = {tensor for node in nodes for tensor in node.input}
    inputs = [value for value in graph.input if value.name in read and value.name not in dropped]
    assert len(inputs) == 1, f"{name} has {len(inputs)} inputs"
    outputs = list(graph.output)
    for value in inputs + outputs:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    last = nodes[-1]
    if last.op_type == "Softmax":
        outputs.append(helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None))
    initializers = [numpy_helper.from_array(numpy.ascontiguousarray(constants[n]), n)
                    for n in sorted(constants) if n in read]
    made = helper.make_graph(nodes, f"light_{name}", inputs, outputs, initializers)
    return helper.make_model(made, opset_imports=model.opset_import, ir_version=8)


def save(name, folder, seed=1):
    """Writes randomized(name) into `folder`, and returns its path."""
    path = pathlib.Path(folder) / f"{name}.onnx"
    onnx.save(randomized(name, seed), path)
    return path
