"""ONNX models that the benchmarks make. Their random weights keep activations near one."""

import math

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Builder:
    """A graph with one input `x` and one output; nodes are named by what they give."""

    def __init__(self, name, dims, seed=1):
        self.name, self.dims, self.nodes, self.constants = name, dims, [], []
        self.random = numpy.random.default_rng(seed)

    def node(self, op, *inputs, outputs=1, **attributes):
        """The first of its outputs; the others nobody reads."""
        names = [f"{op}_{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0]

    def constant(self, values, dtype=numpy.float32):
        name = f"c_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values, dtype), name))
        return name

    def weights(self, *shape, fan_in):
        return self.constant(self.random.standard_normal(shape) / math.sqrt(fan_in))

    def save(self, output, path, dtype=TensorProto.FLOAT, domains=()):
        opsets = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(d, 1) for d in domains)]
        graph = helper.make_graph(
            self.nodes, self.name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.dims)],
            [helper.make_tensor_value_info(output, dtype, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


# ---- half claimed: Latchkey has no Selu ----

def matmul_selu(path, layers=8):
    """128x256 through `layers` times 256x256."""
    b = Builder("matmul_selu", [128, 256])
    x = "x"
    for _ in range(layers):
        x = b.node("Selu", b.node("MatMul", x, b.weights(256, 256, fan_in=256)))
    return b.save(x, path)


def conv_selu(path, layers=8):
    """64 channels of 28x28 through `layers` times a filter of 3x3."""
    b = Builder("conv_selu", [1, 64, 28, 28])
    x = "x"
    for _ in range(layers):
        x = b.node("Selu", b.node("Conv", x, b.weights(64, 64, 3, 3, fan_in=576),
                                  pads=[1, 1, 1, 1]))
    return b.save(x, path)


# ---- the encoder of BERT (Devlin et al. 2018, arXiv:1810.04805) ----

def encoder(path, layers=4, hidden=256, heads=4, spelled=False):
    """Hidden states [batch, sequence, hidden] -> the same, as PyTorch's exporter writes it: sizes
    are asked of the tensor where they are open, Gelu is spelled with Erf. `spelled`: with the first
    operators alone, LayerNormalization by ReduceMean as before opset 17, and Relu for Gelu as in
    Vaswani et al. 2017 (arXiv:1706.03762)."""
    b = Builder("encoder", ["batch", "sequence", hidden])
    size = hidden // heads

    def linear(x, n_in, n_out):
        return b.node("Add", b.constant(b.random.uniform(-0.1, 0.1, n_out)),
                      b.node("MatMul", x, b.weights(n_in, n_out, fan_in=n_in)))

    def normalized(x):
        scale = b.constant(b.random.uniform(0.5, 1, hidden))
        shift = b.constant(b.random.uniform(-0.1, 0.1, hidden))
        if not spelled:
            return b.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-12)
        centred = b.node("Sub", x, b.node("ReduceMean", x, axes=[-1]))
        variance = b.node("ReduceMean", b.node("Pow", centred, b.constant(2)), axes=[-1])
        deviation = b.node("Sqrt", b.node("Add", variance, b.constant(1e-12)))
        return b.node("Add", b.node("Mul", b.node("Div", centred, deviation), scale), shift)

    def reshaped(x, like, *tail):
        sizes = [b.node("Unsqueeze", b.node("Gather", b.node("Shape", like),
                                            b.constant(axis, numpy.int64), axis=0),
                        b.constant([0], numpy.int64)) for axis in (0, 1)]
        tail = [b.constant([number], numpy.int64) for number in tail]
        return b.node("Reshape", x, b.node("Concat", *sizes, *tail, axis=0))

    def by_head(x, perm):
        return b.node("Transpose", reshaped(linear(x, hidden, hidden), x, heads, size), perm=perm)

    def attention(x):
        query, key = by_head(x, [0, 2, 1, 3]), by_head(x, [0, 2, 3, 1])
        scores = b.node("Div", b.node("MatMul", query, key), b.constant(math.sqrt(size)))
        mixed = b.node("MatMul", b.node("Softmax", scores, axis=-1), by_head(x, [0, 2, 1, 3]))
        joined = reshaped(b.node("Transpose", mixed, perm=[0, 2, 1, 3]), x, hidden)
        return linear(joined, hidden, hidden)

    def gelu(x):
        if spelled:
            return b.node("Relu", x)
        erf = b.node("Erf", b.node("Div", x, b.constant(math.sqrt(2))))
        return b.node("Mul", b.node("Mul", x, b.node("Add", erf, b.constant(1))), b.constant(0.5))

    x = "x"
    for _ in range(layers):
        x = normalized(b.node("Add", attention(x), x))
        widened = gelu(linear(x, hidden, 4 * hidden))
        x = normalized(b.node("Add", linear(widened, 4 * hidden, hidden), x))
    return b.save(x, path)


# ---- the smallest, and width ----

def perceptron(path, rows=1, hidden=64, layers=3):
    """rows x hidden through `layers` times hidden x hidden; as it is, a few microseconds."""
    b = Builder("perceptron", [rows, hidden])
    x = "x"
    for _ in range(layers):
        x = b.node("MatMul", x, b.weights(hidden, hidden, fan_in=hidden))
        x = b.node("Relu", b.node("Add", x, b.constant(b.random.uniform(-0.1, 0.1, hidden))))
    return b.save(x, path)


def branches(path, size, channels=16, width=4, blocks=6):
    """`blocks` times `width` convolutions beside each other on an image of `size` times `size`, and
    their sum: all steps of one length, the simplest thing that can run at once."""
    b = Builder(f"branches_{size}", [1, channels, size, size])
    x = "x"
    for _ in range(blocks):
        ends = [b.node("Relu", b.node("Conv", x, b.weights(channels, channels, 3, 3,
                                                           fan_in=9 * channels), pads=[1, 1, 1, 1]))
                for _ in range(width)]
        x = b.node("Mul", b.node("Sum", *ends), b.constant(1 / width))
    return b.save(x, path)


# ---- any model ----

def save_open(model, path):
    """The same model for images of any size, where its operators allow that."""
    proto = onnx.load(model)
    constants = {constant.name for constant in proto.graph.initializer}
    for value in proto.graph.input:
        if value.name not in constants:
            for axis, dim in enumerate(value.type.tensor_type.shape.dim[2:]):
                dim.dim_param = f"side_{axis}"
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    del proto.graph.value_info[:]
    onnx.save(proto, path)
    return path


def ends(model):
    """The names of the first input and the first output."""
    graph = onnx.load(model, load_external_data=False).graph
    return graph.input[0].name, graph.output[0].name


def save_fixed(model, shape, path):
    """The model with its first input fixed to `shape` ("1x3x48x320"), for engines to prepare."""
    graph = (loaded := onnx.load(model)).graph
    for dim, size in zip(graph.input[0].type.tensor_type.shape.dim, shape.split("x"), strict=True):
        dim.dim_value = int(size)
    onnx.save(loaded, path)
    return path


# ---- image classifiers of any size ----

def filtered(b, x, channels, out, size, stride=1, groups=1, activation=True):
    """A convolution with a bias, and Clip(0, 6) behind it."""
    fan_in = channels // groups * size * size
    x = b.node("Conv", x, b.weights(out, channels // groups, size, size, fan_in=fan_in / 2),
               b.constant(numpy.zeros(out)), pads=[size // 2] * 4, strides=[stride] * 2,
               group=groups)
    return b.node("Clip", x, b.constant(0.0), b.constant(6.0)) if activation else x


def classified(b, x, channels):
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.node("Gemm", x, b.weights(channels, 1000, fan_in=channels),
                  b.constant(numpy.zeros(1000)))


def mobilenet_v2(path):
    """Sandler et al. 2018 (arXiv:1801.04381), table 2, on images of any size."""
    b = Builder("mobilenet_v2", [1, 3, "height", "width"])
    x, channels = filtered(b, "x", 3, 32, 3, 2), 32
    for expansion, out, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                            (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                            (6, 320, 1, 1)):
        for i in range(repeats):
            wide, before = channels * expansion, x
            if expansion > 1:
                x = filtered(b, x, channels, wide, 1)
            x = filtered(b, x, wide, wide, 3, stride if i == 0 else 1, wide)
            x = filtered(b, x, wide, out, 1, activation=False)
            x = b.node("Add", x, before) if i > 0 else x
            channels = out
    return b.save(classified(b, filtered(b, x, channels, 1280, 1), 1280), path)


def resnet50(path):
    """He et al. 2015 (arXiv:1512.03385), table 1, on images of any size."""
    b = Builder("resnet50", [1, 3, "height", "width"])

    def relu(x):
        return b.node("Relu", x)

    x = relu(filtered(b, "x", 3, 64, 7, 2, activation=False))
    x, channels = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for stage, repeats in enumerate((3, 4, 6, 3)):
        width, out = 64 << stage, 256 << stage
        for i in range(repeats):
            stride, before = 2 if i == 0 and stage > 0 else 1, x
            x = relu(filtered(b, x, channels, width, 1, activation=False))
            x = relu(filtered(b, x, width, width, 3, stride, activation=False))
            x = filtered(b, x, width, out, 1, activation=False)
            if i == 0:
                before = filtered(b, before, channels, out, 1, stride, activation=False)
            x, channels = relu(b.node("Add", x, before)), out
    return b.save(classified(b, x, channels), path)
