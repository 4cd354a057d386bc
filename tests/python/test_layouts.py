"""Tensors that lie channels-last behind a convolution, in types that no convolution has."""

import numpy
import onnx
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import latchkey

MOVES = {
    "Cast": lambda x: helper.make_node("Identity", [x], ["y"]),
    "Transpose": lambda x: helper.make_node("Transpose", [x], ["y"], perm=[0, 2, 3, 1]),
    "Concat": lambda x: helper.make_node("Concat", [x, x], ["y"], axis=1),
    "Slice": lambda x: helper.make_node("Slice", [x, "ones", "sixes", "axes"], ["y"]),
    "Pad": lambda x: helper.make_node("Pad", [x, "pads"], ["y"]),
    "Split": lambda x: helper.make_node("Split", [x, "halves"], ["y", "z"], axis=1),
    "Tile": lambda x: helper.make_node("Tile", [x, "twice"], ["y"]),
    "DepthToSpace": lambda x: helper.make_node("DepthToSpace", [x], ["y"], blocksize=2),
}


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "FLOAT16", "INT8", "UINT8", "INT16", "UINT16",
                                  "INT32", "UINT32", "INT64", "UINT64", "BOOL"])
@pytest.mark.parametrize("move", MOVES)
def test_moves_behind_a_convolution(move, kind):
    kind = getattr(TensorProto, kind)
    lists = {"ones": [1, 1], "sixes": [6, 6], "axes": [1, 3], "pads": [0, 1, 1, 0, 0, 0, 2, 1],
             "halves": [7, 9], "twice": [1, 2, 1, 2]}
    node = MOVES[move]("integers")
    model = make_model(
        [helper.make_node("Conv", ["x", "w"], ["features"]),
         helper.make_node("Relu", ["features"], ["positive"]),
         helper.make_node("Cast", ["positive"], ["integers"], to=kind), node],
        [("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [("integers", kind, None)] + [(name, kind, None) for name in node.output],
        [("w", random(16, 3, 3, 3, seed=1))]
        + [(name, numpy.array(values)) for name, values in lists.items()])
    x = random(2, 3, 9, 8)
    evaluator = ReferenceEvaluator(onnx.load_from_string(model))  # ONNX Runtime lacks types
    expected = dict(zip(evaluator.output_names, evaluator.run(None, {"x": x})))
    with latchkey.Session(model) as session:
        for _ in range(2):
            actual = session.run({"x": x})
            for name, right in expected.items():
                assert actual[name].dtype == right.dtype
                # a sum of products may round to another integer
                difference = numpy.abs(actual[name].astype(float) - right.astype(float))
                assert difference.max() <= (0.05 if right.dtype.kind == "f" else 1)
                assert (difference > 0.05).mean() < 0.01
