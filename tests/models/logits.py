"""Models that also give what their last Softmax, Sigmoid or Tanh takes.

These functions make little of a large error: a probability of 1 stays 1. Tests compare both.
"""

import pathlib

import onnx

HIDING = ("Softmax", "Sigmoid", "Tanh")


def with_logits(model):
    """A copy of an ONNX model, with an output more for each that such a function makes."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    makes = {output: node for node in graph.node for output in node.output}
    given = {output.name for output in graph.output}
    for output in list(graph.output):
        node = makes.get(output.name)
        while node is not None and node.op_type == "Identity":
            node = makes.get(node.input[0])
        if node is None or node.op_type not in HIDING or node.input[0] in given:
            continue
        given.add(node.input[0])
        graph.output.append(onnx.helper.make_tensor_value_info(
            node.input[0], output.type.tensor_type.elem_type, None))
    return changed


def save_with_logits(path, folder):
    """Writes that of the model at `path` into `folder`, by the same name, and returns its path."""
    saved = pathlib.Path(folder, path.name)
    onnx.save(with_logits(onnx.load(path)), saved)
    return saved
