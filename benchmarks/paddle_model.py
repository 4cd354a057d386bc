"""A model of ONNX as a model of Paddle's: the operators that image classifiers are made of."""

import tempfile

import numpy
import onnx
import paddle
import paddle.nn.functional as functional


def of(attributes, name, default=None):
    return attributes.get(name, default)


def pads(attributes):
    """Of both ends, which are equal."""
    both = of(attributes, "pads", [0, 0, 0, 0])
    if both[:2] != both[2:]:
        raise ValueError(f"pads are {both}, equal ones are supported")
    return both[:2]


def conv(attributes, x, weights, bias=None):
    return functional.conv2d(x, weights, bias, of(attributes, "strides", [1, 1]), pads(attributes),
                             of(attributes, "dilations", [1, 1]), of(attributes, "group", 1))


def batch_norm(attributes, x, scale, shift, mean, variance):
    return functional.batch_norm(x, mean, variance, scale, shift,
                                 epsilon=of(attributes, "epsilon", 1e-5))


def clip(attributes, x, low=None, high=None):
    return paddle.clip(x, of(attributes, "min") if low is None else float(low),
                       of(attributes, "max") if high is None else float(high))


def max_pool(attributes, x):
    return functional.max_pool2d(x, attributes["kernel_shape"], of(attributes, "strides"),
                                 pads(attributes))


def mean_pool(attributes, x):
    return functional.avg_pool2d(x, attributes["kernel_shape"], of(attributes, "strides"),
                                 pads(attributes))


def gemm(attributes, a, b, c):
    return paddle.matmul(a, b, transpose_y=of(attributes, "transB", 0) == 1) + c


def softmax(attributes, x):
    """Until opset 13: over all dimensions from the axis on, of which one is not 1."""
    flat = paddle.flatten(x, of(attributes, "axis", 1))
    return paddle.reshape(functional.softmax(flat, -1), paddle.shape(x))


OPERATORS = {
    "Add": lambda _, a, b: a + b,
    "AveragePool": mean_pool,
    "BatchNormalization": batch_norm,
    "Clip": clip,
    "Concat": lambda attributes, *inputs: paddle.concat(inputs, attributes["axis"]),
    "Conv": conv,
    "Dropout": lambda _, x, *__: x,
    "Flatten": lambda attributes, x: paddle.flatten(x, of(attributes, "axis", 1)),
    "Gemm": gemm,
    "GlobalAveragePool": lambda _, x: functional.adaptive_avg_pool2d(x, 1),
    "MaxPool": max_pool,
    "Relu": lambda _, x: functional.relu(x),
    "Reshape": lambda _, x, shape: paddle.reshape(x, [int(dim) for dim in shape]),
    "Softmax": softmax,
    "Sum": lambda _, *inputs: sum(inputs[1:], inputs[0]),
}


class Model(paddle.nn.Layer):
    def __init__(self, graph):
        super().__init__()
        self.nodes = graph.node
        self.names = graph.input[0].name, graph.output[0].name
        self.numbers, self.weights = {}, {}  # shapes and limits; tensors of f32
        for tensor in graph.initializer:
            values = onnx.numpy_helper.to_array(tensor)
            if values.dtype != numpy.float32 or values.ndim == 0:
                self.numbers[tensor.name] = values
                continue
            made = self.create_parameter(values.shape, default_initializer=(
                paddle.nn.initializer.Assign(values)))
            self.add_parameter(f"p{len(self.weights)}", made)
            self.weights[tensor.name] = made

    def forward(self, x):
        values = {**self.numbers, **self.weights, self.names[0]: x}
        for node in self.nodes:
            attributes = {each.name: onnx.helper.get_attribute_value(each)
                          for each in node.attribute}
            inputs = [values[name] if name else None for name in node.input]
            values[node.output[0]] = OPERATORS[node.op_type](attributes, *inputs)
        return values[self.names[1]]


def predictor(path, threads, capacity=None):
    """Paddle's own executor of the model, with oneDNN. `capacity`: of sizes whose primitives it
    keeps; 0: of all."""
    from paddle import inference

    graph = onnx.load(path).graph
    paddle.set_device("cpu")
    model = Model(graph)
    model.eval()
    with tempfile.TemporaryDirectory() as folder:
        paddle.jit.save(model, f"{folder}/model", input_spec=[
            paddle.static.InputSpec([None, 3, None, None], "float32", "x")])
        config = inference.Config(f"{folder}/model.json", f"{folder}/model.pdiparams")
        config.disable_gpu()
        config.enable_onednn()
        if capacity is not None:
            config.set_onednn_cache_capacity(capacity)
        config.set_cpu_math_library_num_threads(threads)
        config.disable_glog_info()
        return inference.create_predictor(config)


def run(self, values):
    to = self.get_input_handle(self.get_input_names()[0])
    to.reshape(values.shape)
    to.copy_from_cpu(values)
    self.run()
    return self.get_output_handle(self.get_output_names()[0]).copy_to_cpu()
