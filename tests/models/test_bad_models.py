"""Small models that are wrong in their meaning, not in their bytes: each is refused with a sentence
that names what is wrong, within 256 MB, and no output file is left. (Wrong bytes:
tests/executor_glue/onnx.)"""

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from bounded_command import run_bounded

MEMORY_LIMIT = 256 << 20
HUGE = 1 << 62


def constant(name, values, dtype=numpy.int64):
    return numpy_helper.from_array(numpy.array(values, dtype), name)


def model(nodes, initializers=(), shape=(1, 4, 8, 8), opset=13, dtype=TensorProto.FLOAT):
    graph = helper.make_graph(
        nodes,
        "bad",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("y", dtype, None)],
        initializer=list(initializers),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def one(op, inputs=("x",), initializers=(), shape=(1, 4, 8, 8), opset=13, **attributes):
    node = helper.make_node(op, list(inputs), ["y"], name="bad_node", **attributes)
    return model([node], initializers, shape, opset)


def weights(*dims):
    return constant("w", numpy.ones(dims), numpy.float32)


def conv(**attributes):
    return one("Conv", ["x", "w"], [weights(2, 4, 3, 3)], **attributes)


def reshape(shape):
    return one("Reshape", ["x", "s"], [constant("s", shape)])


def of_shape(shape):
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["c"], name="bad_node"),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    return model(nodes, [constant("s", shape)])


def cycle():
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    return model(nodes)


def resize(scales):
    return one("Resize", ["x", "", "s"], [constant("s", scales, numpy.float32)])


def slice_(starts, ends, axes, steps):
    names = ["starts", "ends", "axes", "steps"]
    values = [starts, ends, axes, steps]
    return one("Slice", ["x", *names], [constant(n, v) for n, v in zip(names, values)])


# model, and what the sentence must have in it
CASES = {
    "unknown operator": (one("NoSuchThing"), ["NoSuchThing", "bad_node", "13"]),
    "opset too new": (one("Relu", opset=99), ["99"]),
    "opset too old": (one("Relu", opset=1), ["opset", "1"]),
    "cycle": (cycle(), ["cycle"]),
    "input that nobody makes": (one("Add", ["x", "nobody"]), ["nobody"]),
    "two producers": (
        model([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Sigmoid", ["x"], ["y"])]),
        ["y"],
    ),
    "too few inputs": (one("Conv"), ["Conv"]),
    "stride 0": (conv(strides=[0, 1]), ["strides", "0"]),
    "negative padding": (conv(pads=[-1, 0, 0, 0]), ["pads"]),
    "huge padding": (conv(pads=[HUGE, 0, 0, 0]), ["pads"]),
    "huge dilation": (conv(dilations=[HUGE, 1]), ["dilation"]),
    "group 0": (conv(group=0), ["group"]),
    "huge group": (conv(group=HUGE), ["group"]),
    "attribute of another type": (conv(strides="two"), ["strides"]),
    "kernel larger than the input": (one("MaxPool", kernel_shape=[10, 10]), ["window"]),
    "huge kernel": (one("AveragePool", kernel_shape=[HUGE, HUGE]), ["kernel"]),
    "weights of other channels": (
        one("Conv", ["x", "w"], [weights(2, 3, 3, 3)]),
        ["channels"],
    ),
    "reshape to -2": (reshape([-2]), ["-2"]),
    "reshape with two -1": (reshape([-1, -1]), ["-1"]),
    "reshape to another size": (reshape([7]), ["7"]),
    "reshape that overflows": (reshape([HUGE, HUGE, HUGE]), ["bad_node"]),
    "constant that overflows": (of_shape([HUGE, HUGE]), ["bad_node"]),
    "constant of a negative shape": (of_shape([-5]), ["-5"]),
    "constant of petabytes": (of_shape([1 << 50]), []),
    "matrix product of wrong shapes": (one("MatMul", ["x", "w"], [weights(5, 5)]), ["MatMul"]),
    "axis out of range": (one("Softmax", axis=9), ["9"]),
    "permutation with a hole": (one("Transpose", perm=[0, 1, 2, 2]), ["perm"]),
    "flatten out of range": (one("Flatten", axis=9), ["9"]),
    "squeeze of a dimension that is not 1": (
        one("Squeeze", ["x", "a"], [constant("a", [1])]),
        ["1"],
    ),
    "unsqueeze to rank 9": (
        one("Unsqueeze", ["x", "a"], [constant("a", [0, 1, 2, 3, 4])]),
        ["rank"],
    ),
    "slice of step 0": (slice_([0], [1], [0], [0]), ["step"]),
    "slice of an axis out of range": (slice_([0], [1], [9], [1]), ["9"]),
    "resize by infinity": (resize([1, 1, float("inf"), 1]), ["scale"]),
    "resize by a negative scale": (resize([1, 1, -1, 1]), ["scale"]),
    "resize by 1e30": (resize([1, 1, 1e30, 1]), []),
    "concat of other shapes": (
        one("Concat", ["x", "w"], [weights(1, 4, 3, 3)], axis=1),
        ["Concat"],
    ),
    "broadcast that does not fit": (one("Add", ["x", "w"], [weights(3)]), ["Add"]),
    "clip by two bounds": (one("Clip", ["x", "w"], [weights(2)]), ["min"]),
}


def run(path, tmp_path, shape):
    data = tmp_path / "x.npy"
    numpy.save(data, numpy.ones(shape, numpy.float32))
    out = tmp_path / "out"
    done = run_bounded("run", path, "-i", f"x={data}", "-o", out)
    return done.code, done.said, done.peak, out


@pytest.mark.parametrize("name", CASES)
def test_is_refused(name, tmp_path):
    bad, words = CASES[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(bad.SerializeToString())
    code, said, memory, out = run(path, tmp_path, (1, 4, 8, 8))
    assert code == 1, f"exit code {code}: {said}"
    assert said.startswith("latchkey run: ") and len(said.strip().splitlines()) == 1, said
    for word in words:
        assert word in said
    assert memory < MEMORY_LIMIT
    assert not out.exists() or list(out.iterdir()) == []


@pytest.mark.parametrize("shape", [(1, 4, 8), (1, 5, 8, 8), (4,), (1, 4, 8, 9)])
def test_wrong_input_shape(shape, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(one("Relu"), path)
    code, said, _, _ = run(path, tmp_path, shape)
    assert code == 1
    assert "x" in said and "x".join(map(str, shape)) in said
