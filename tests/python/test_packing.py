"""Packed weights are shared where they mean the same, and only there."""

import numpy
from onnx import TensorProto, helper, numpy_helper

import latchkey


def test_equal_bytes_of_two_half_types_are_packed_apart():
    """Scales of one content, once of f16 and once of bf16, in one context."""
    numbers = numpy.arange(256, dtype=numpy.uint8).reshape(8, 2, 16)
    scales = (numpy.arange(16) + 0x3c00).astype(numpy.uint16).tobytes()  # from 1, or from 0.0078

    def model(dtype):
        scale = TensorProto(name="s", data_type=dtype, dims=[16], raw_data=scales)
        graph = helper.make_graph(
            [helper.make_node("Cast", ["x"], ["h"], to=dtype),
             helper.make_node("MatMulNBits", ["h", "b", "s"], ["r"], domain="com.microsoft", K=64,
                              N=8, bits=4, block_size=32),
             helper.make_node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)],
            "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])],
            [numpy_helper.from_array(numbers, "b"), scale])
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()

    feed = {"x": numpy.linspace(-1, 1, 64, dtype=numpy.float32).reshape(1, 64)}
    types = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
    alone = [latchkey.Session(model(dtype)).run(feed)["y"] for dtype in types]
    context = latchkey.Context()
    together = [latchkey.Session(model(dtype), context=context) for dtype in types]
    for session, expected in zip(together, alone, strict=True):
        numpy.testing.assert_array_equal(session.run(feed)["y"], expected)
    assert abs(alone[0]).max() > 16 * abs(alone[1]).max()
