"""Generated models made int8 by ONNX Runtime's own quantizer, in its three ways."""

import pathlib
import tempfile

import onnx
from exported_models import draw
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                      quantize_dynamic, quantize_static)

from .model import fitted

BASES = ("bert_torch17", "vit_torch17", "resnet_torch17", "mobilenet_v3_dynamo18",
         "tabular_torch17")
WAYS = ("dynamic", "qdq", "qop")
NAMES = [f"{base}_int8_{way}" for base in BASES for way in WAYS]


class Drawn(CalibrationDataReader):
    """Requests of the first sizes, with seeds that no test asks again."""

    def __init__(self, model, proto):
        self.left = [draw(fitted(proto, size), 100 + seed)
                     for seed, size in enumerate(model.sizes[:2] * 2)]

    def get_next(self):
        return self.left.pop() if self.left else None


def kept(proto):
    """Scores that a mask has been added to, of which the lowest number would be one of 256 steps,
    and their Softmax."""
    makes = {output: node for node in proto.graph.node for output in node.output}
    found = []
    for node in proto.graph.node:
        before = makes.get(node.input[0]) if node.op_type == "Softmax" else None
        if before is not None and before.op_type == "Add":
            found += [node.name, before.name]
    return found


def quantized(name, model, proto):
    """The ONNX model `name` of NAMES, from the model that it is to be made from. Weights have 7
    bits: with 8, ONNX Runtime's own sums saturate on processors without VNNI."""
    way = name.rsplit("_", 1)[1]
    with tempfile.TemporaryDirectory() as folder:
        before, after = (pathlib.Path(folder, file) for file in ("f32.onnx", "int8.onnx"))
        onnx.save(proto, before)
        if way == "dynamic":
            quantize_dynamic(before, after, weight_type=QuantType.QInt8, reduce_range=True)
        else:
            quantize_static(before, after, Drawn(model, proto), weight_type=QuantType.QInt8,
                            quant_format=QuantFormat.QDQ if way == "qdq" else QuantFormat.QOperator,
                            activation_type=QuantType.QUInt8, per_channel=way == "qdq",
                            reduce_range=True, nodes_to_exclude=kept(proto))
        return onnx.load(after)
