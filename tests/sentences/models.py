"""Bad models: what is around their nodes."""

import numpy
from making import f32, model_of
from onnx import TensorProto, helper, numpy_helper

import latchkey

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = ("x", FLOAT, [2])


def relu(source="x", result="y", name="n"):
    return helper.make_node("Relu", [source], [result], name=name)


def opened(model, feeds=None, **options):
    """An attempt to open it, and to run it."""
    def attempt():
        session = latchkey.Session(model.SerializeToString(), **options)
        session.run({"x": f32(2)} if feeds is None else feeds)
    return attempt


def changed(change, model=None):
    made = model if model is not None else model_of([relu()], [X])
    change(made)
    return opened(made)


def with_initializer(change, values=(1.0, 2.0)):
    made = model_of([helper.make_node("Add", ["x", "w"], ["y"], name="n")], [X],
                    [("w", numpy.array(values, numpy.float32))])
    change(made.graph.initializer[0])
    return opened(made)


def of_type(kind):
    made = model_of([relu()], [X])
    made.graph.input[0].type.CopyFrom(kind)
    return opened(made)


def external(**entries):
    def change(tensor):
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
    return change


def sparse(made):
    values = numpy_helper.from_array(f32(1), "w")
    indices = numpy_helper.from_array(numpy.zeros(1, numpy.int64))
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    made.graph.node[0].input[0] = "w"


def body(result="z", kind=FLOAT, nodes=None, inputs=()):
    return helper.make_graph(nodes or [relu("x", result, "inner")], "body", list(inputs),
                             [helper.make_tensor_value_info(result, kind, None)])


def branch(**bodies):
    return model_of([helper.make_node("If", ["on"], ["y"], name="n", **bodies)],
                    [X, ("on", BOOL, [])])


def loop(n_inputs):
    """A body of other inputs than the node."""
    inputs = [helper.make_tensor_value_info(f"i{n}", kind, [])
              for n, kind in enumerate((INT64, BOOL, FLOAT, FLOAT)[:n_inputs])]
    inner = helper.make_graph([helper.make_node("Identity", ["i1"], ["go"])], "body", inputs,
                              [helper.make_tensor_value_info("go", BOOL, [])])
    return model_of([helper.make_node("Loop", ["times", "", "x"], ["y"], name="n", body=inner)],
                    [X], [("times", numpy.int64(2))])


def in_body(node):
    on = {"x": f32(2), "on": numpy.array(True)}
    return opened(branch(then_branch=body(nodes=[node]), else_branch=body()), on)


def function(nodes, inputs=("a",), outputs=("b",), calls=("x",)):
    made = helper.make_function("own", "F", list(inputs), list(outputs), nodes,
                                [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])
    call = helper.make_node("F", list(calls), ["y"], name="call", domain="own")
    return opened(model_of([call], [X], domains=("own",), functions=[made]))


SEQUENCE = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, [2]))
MODELS = {
    "opset 6": opened(model_of([relu()], [X], opset=6)),
    "opset 99": opened(model_of([relu()], [X], opset=99)),
    "two opsets of one domain":
        changed(lambda made: made.opset_import.append(helper.make_opsetid("", 11))),
    "no opset of a domain": changed(lambda made: setattr(made.graph.node[0], "domain", "other")),
    "no graph": changed(lambda made: made.ClearField("graph")),
    "no ir_version": changed(lambda made: made.ClearField("ir_version")),
    "a node without an operator": changed(lambda made: made.graph.node[0].ClearField("op_type")),
    "an input that no node makes": opened(model_of([relu("nowhere")], [X])),
    "an output that no node makes": opened(model_of([relu()], [X], outputs=("z",))),
    "an output made twice": opened(model_of([relu(), relu(name="m")], [X])),
    "an input without a name": changed(lambda made: made.graph.input[0].ClearField("name")),
    "a cycle": opened(model_of([helper.make_node("Add", ["x", "b"], ["a"], name="first"),
                                relu("a", "b", "second"), relu("a")], [X])),
    "an input of strings": of_type(helper.make_tensor_type_proto(TensorProto.STRING, [2])),
    "an input of complex numbers": of_type(helper.make_tensor_type_proto(TensorProto.COMPLEX64,
                                                                         [2])),
    "an input of float8": of_type(helper.make_tensor_type_proto(TensorProto.FLOAT8E4M3FN, [2])),
    "an input of no type": of_type(helper.make_tensor_type_proto(0, [2])),
    "an input of rank 9": of_type(helper.make_tensor_type_proto(FLOAT, [1] * 9)),
    "an input that is a sequence": of_type(SEQUENCE),
    "an input that is an optional value": of_type(helper.make_optional_type_proto(SEQUENCE)),
    "an output that is a sequence":
        opened(model_of([helper.make_node("SequenceConstruct", ["x"], ["y"], name="n")], [X])),
    "SplitToSequence of pieces of 0":
        opened(model_of([helper.make_node("SplitToSequence", ["x", "size"], ["s"], name="n"),
                         helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)],
                        [X], [("size", 0)])),
    "a sequence that a tensor's operator reads":
        opened(model_of([helper.make_node("SequenceConstruct", ["x"], ["s"]), relu("s")], [X])),
    "an initializer of strings": with_initializer(lambda one: setattr(one, "data_type", 8)),
    "an initializer of no type": with_initializer(lambda one: setattr(one, "data_type", 0)),
    "an initializer with too few bytes": with_initializer(lambda one: setattr(one, "raw_data",
                                                                              b"abc")),
    "an initializer of a negative size": with_initializer(
        lambda one: one.dims.__setitem__(0, -2)),
    "an initializer of rank 9": with_initializer(lambda one: one.dims.extend([1] * 8)),
    "an initializer in a field of another type": with_initializer(
        lambda one: (one.ClearField("raw_data"), one.int64_data.extend([1, 2]))),
    "a sparse initializer": changed(sparse),
    "data outside of a model in memory": with_initializer(external(location="weights")),
    "Constant with two values":
        opened(model_of([helper.make_node("Constant", [], ["y"], name="n", value_float=1.0,
                                          value_int=1)])),
    "Constant of a text": opened(model_of([helper.make_node("Constant", [], ["y"], name="n",
                                                            value_string="a")])),
    "If without a branch": opened(branch(then_branch=body())),
    "If of branches of other outputs":
        opened(branch(then_branch=body(), else_branch=helper.make_graph([], "body", [], []))),
    "If of a condition of two": opened(branch(then_branch=body(), else_branch=body()),
                                       {"x": f32(2), "on": numpy.array([True, False])}),
    "a bad node in a body": in_body(helper.make_node("NoSuchThing", ["x"], ["z"], name="inner")),
    "a node of other types in a body": in_body(helper.make_node("Add", ["x", "on"], ["z"],
                                                                name="inner")),
    "Loop of a body of other inputs": opened(loop(4)),
    "a function of other inputs": function([relu("a", "b")], calls=("x", "x")),
    "a function that calls itself":
        function([helper.make_node("F", ["a"], ["b"], name="again", domain="own")]),
    "a function whose output is not made": function([relu("a", "c")]),
}
