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
# Of these a run takes long, or the weights take half a gigabyte.
HEAVY = ("bvlc_alexnet", "vgg19", "zfnet512")
VIEWS = ("Unsqueeze", "Squeeze", "Reshape", "Identity")


PIECE = 1 << 18  # elements: what stays in the processor's cache


def draw(random, shape, op_type, index):
    """Yields the elements of a weight that `op_type` takes as its input `index`, in pieces."""
    count = int(numpy.prod(shape))
    if (op_type, index) in (("BatchNormalization", 1), ("BatchNormalization", 4), ("Mul", 1)):
        yield random.uniform(0.5, 1.0, count).astype(numpy.float32)
        return
    scale = 0.2
    if op_type in ("Conv", "Gemm", "MatMul") and index == 1:
        # Weights of a Gemm in these models are transposed: its fan-in is the last dimension too.
        scale = (6 / numpy.prod(shape[1:])) ** 0.5
    for start in range(0, count, PIECE):
        values = random.random(min(PIECE, count - start), numpy.float32)
        values -= numpy.float32(0.5)
        values *= numpy.float32(2 * scale)
        yield values


def uses(graph):
    """What reads a tensor first: name -> (node, index of the input), seen through views."""
    found = {}
    for node in reversed(graph.node):
        for index, name in enumerate(node.input):
            through = node.op_type in VIEWS and index == 0
            found[name] = found.get(node.output[0]) if through else (node, index)
    return found


def prepared(name):
    """The light model `name` with an open batch, its logits as an output, and no weights; and what
    these are: (name, shape, operator that takes it, as which input)."""
    model = onnx.load(FOLDER / f"light_{name}.onnx")
    graph = model.graph
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
    for weight in weights:
        constants.pop(weight, None)
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
    made = helper.make_model(made, opset_imports=model.opset_import, ir_version=8)
    return made, [(n, shape, use[n][0].op_type, use[n][1])
                  for n, shape in sorted(weights.items()) if use.get(n) is not None]


def varint(number):
    """protobuf's: seven bits in a byte, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def head(message, field, size):
    """What stands before the `size` bytes of a field that is a message or bytes."""
    return varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | 2) + varint(size)


def save(name, folder, seed=1):
    """Writes the light model `name` with random weights into `folder`, and returns its path.

    The weights are drawn into the file: as parts of a message they would be in memory several
    times, and one model has half a gigabyte of them."""
    model, weights = prepared(name)
    graph = model.graph.SerializeToString()
    model.ClearField("graph")
    tensors = []
    for weight, shape, op_type, index in weights:
        start = onnx.TensorProto(name=weight, dims=shape, data_type=onnx.TensorProto.FLOAT)
        data_size = 4 * int(numpy.prod(shape))
        start = start.SerializeToString() + head(onnx.TensorProto, "raw_data", data_size)
        size = len(start) + data_size
        tensors.append((head(onnx.GraphProto, "initializer", size) + start, data_size,
                        (shape, op_type, index)))
    random = numpy.random.default_rng(seed)
    path = pathlib.Path(folder) / f"{name}.onnx"
    with path.open("wb") as file:
        file.write(model.SerializeToString())
        size = len(graph) + sum(len(start) + data_size for start, data_size, _ in tensors)
        file.write(head(onnx.ModelProto, "graph", size) + graph)
        for start, _, what in tensors:
            file.write(start)
            for values in draw(random, *what):
                file.write(values.data)
    return path
