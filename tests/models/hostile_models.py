"""Small models that would take hours, gigabytes or other people's files if nobody said no."""

import os

import numpy
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def node(op, inputs, outputs=("y",), name="bad_node", **attributes):
    return helper.make_node(op, list(inputs), list(outputs), name=name, **attributes)


def number(name, values, dtype=numpy.int64):
    return numpy_helper.from_array(numpy.array(values, dtype), name)


def claimed(name, dims, dtype=FLOAT, raw=b""):
    """A tensor whose dimensions need not be those of its bytes."""
    return TensorProto(name=name, dims=dims, data_type=dtype, raw_data=raw)


def graph(nodes, constants=(), inputs=(("x", FLOAT, (4,)),), outputs=("y",), sparse=()):
    return helper.make_graph(
        nodes, "hostile", [helper.make_tensor_value_info(*value) for value in inputs],
        [onnx.ValueInfoProto(name=name) for name in outputs], initializer=list(constants),
        sparse_initializer=list(sparse))


def model(nodes, constants=(), opset=21, functions=(), **more):
    opsets = [helper.make_opsetid("", opset)]
    if functions:
        opsets.append(helper.make_opsetid("own", 1))
    return helper.make_model(graph(nodes, constants, **more), opset_imports=opsets, ir_version=10,
                             functions=list(functions))


# ---- what is small in the file and large in memory ----

def of_constants(op, *constants, opset=21, dtypes=(), **attributes):
    """An operator on constants alone, which is computed when the model is opened."""
    names = [f"c{i}" for i in range(len(constants))]
    tensors = [number(name, value, dtypes[i] if i < len(dtypes) else numpy.int64)
               for i, (name, value) in enumerate(zip(names, constants))]
    return model([node(op, names, ["big"], **attributes),
                  node("Shape", ["big"], name="shape_of_it")], tensors, opset)


def on_x(op, *constants, shape=(4,), opset=21, dtypes=(), first=("x",), **attributes):
    """An operator on the input, which is computed at each run."""
    names = [f"c{i}" for i in range(len(constants))]
    tensors = [number(name, value, dtypes[i] if i < len(dtypes) else numpy.int64)
               for i, (name, value) in enumerate(zip(names, constants))]
    return model([node(op, [*first, *names], **attributes)], tensors, opset,
                 inputs=[("x", FLOAT, shape)])


def doubling(op, levels, **attributes):
    """The same value again and again: 2^levels elements."""
    nodes = [node(op, [f"t{i}", f"t{i}"], [f"t{i + 1}"], f"double{i}", **attributes)
             for i in range(levels)]
    return model([node("Relu", ["x"], ["t0"], "first"), *nodes,
                  node("Relu", [f"t{levels}"], name="last")])


def outer_products(levels):
    """Each the product of a column and a row of the last: the square of its elements."""
    nodes, last = [], "x"
    for i in range(levels):
        nodes += [node("Reshape", [last, "column"], [f"c{i}"], f"column{i}"),
                  node("Reshape", [last, "row"], [f"r{i}"], f"row{i}"),
                  node("MatMul", [f"c{i}", f"r{i}"], [f"t{i}"], f"product{i}")]
        last = f"t{i}"
    nodes.append(node("Relu", [last]))
    return model(nodes, [number("column", [-1, 1]), number("row", [1, -1])])


def doubling_functions(levels):
    """Each calls the one before it twice: 2^levels nodes."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = [helper.make_function("own", "F0", ["a"], ["b"], [node("Relu", ["a"], ["b"])],
                                      opsets)]
    for i in range(1, levels + 1):
        calls = [node(f"F{i - 1}", ["a"], ["m"], "one", domain="own"),
                 node(f"F{i - 1}", ["m"], ["b"], "two", domain="own")]
        functions.append(helper.make_function("own", f"F{i}", ["a"], ["b"], calls, opsets))
    return model([node(f"F{levels}", ["x"], domain="own")], functions=functions)


def calls_of_calls(*nodes, calls=2000):
    """A function of these nodes, from "a" to "b", that another calls one time after the other."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    names = ["a", *(f"m{i}" for i in range(calls - 1)), "b"]
    outer = [node("Inner", [before], [after], f"call{i}", domain="own")
             for i, (before, after) in enumerate(zip(names, names[1:]))]
    functions = [helper.make_function("own", name, ["a"], ["b"], body, opsets)
                 for name, body in (("Inner", nodes), ("Outer", outer))]
    return model([node("Outer", ["x"], domain="own")], functions=functions)


def long_names_in_calls(depth, calls, length):
    """Functions that call others, and whose names become the beginnings of the names within."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = []
    for level in range(depth):
        op, domain = ("Relu", "") if level == 0 else (f"F{level - 1}", "own")
        names = ["a", *("n" * length + str(i) for i in range(calls - 1)), "b"]
        functions.append(helper.make_function("own", f"F{level}", ["a"], ["b"], [
            helper.make_node(op, [before], [after], domain=domain)
            for before, after in zip(names, names[1:])], opsets))
    return model([node(f"F{depth - 1}", ["x"], domain="own")], functions=functions)


def bodies_in_a_long_name(count, length):
    """Each body has the name of the node around it in its own."""
    def branch(nodes):
        return helper.make_graph([*nodes, helper.make_node("Relu", ["x"], ["r"])], "branch", [],
                                 [onnx.ValueInfoProto(name="r")])

    inner = [helper.make_node("If", ["x"], [f"i{i}"], then_branch=branch([]),
                              else_branch=branch([])) for i in range(count)]
    return model([node("If", ["x"], name="n" * length, then_branch=branch(inner),
                       else_branch=branch([]))])


def calls_of_one_name(count):
    """Nodes of one name call a function: the names of what it makes are the same for all."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "F", ["a"], ["b"], [
        node("Abs", ["a"], ["m"]), node("Relu", ["m"], ["b"])], opsets)
    calls = [node("F", ["x"], [], "call", domain="own") for _ in range(count)]
    return model([*calls, node("Relu", ["x"])], functions=[function])


def branches_of_one_name(count):
    """Ifs whose conditions are known; what their branches make has the same names."""
    def branch(op, value):
        return helper.make_graph([helper.make_node(op, [value], ["r"])], "branch", [],
                                 [onnx.ValueInfoProto(name="r")])

    values = ["x", *(f"i{i}" for i in range(count - 1)), "y"]
    return model([node("If", ["c"], [after], "if", then_branch=branch("Sin", before),
                       else_branch=branch("Cos", before))
                  for before, after in zip(values, values[1:])],
                 [number("c", True, numpy.bool_)])


def many_stages(count):
    """The shape of each result follows from data."""
    values = ["x", *(f"u{i}" for i in range(count - 1)), "y"]
    return model([helper.make_node("Unique", [before], [after])
                  for before, after in zip(values, values[1:])])


def functions_in_a_circle(length):
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = [
        helper.make_function("own", f"F{i}", ["a"], ["b"],
                             [node(f"F{(i + 1) % length}", ["a"], ["b"], domain="own")], opsets)
        for i in range(length)]
    return model([node("F0", ["x"], domain="own")], functions=functions)


def many_nodes(count):
    """Not by the helpers, which take minutes for it."""
    made = model([node("Relu", ["x"])])
    one = made.graph.node[0]
    del made.graph.node[:]
    one.name = ""
    for i in range(count):
        one.input[0], one.output[0] = f"t{i}" if i else "x", f"t{i + 1}"
        made.graph.node.append(one)
    one.input[0], one.output[0] = f"t{count}", "y"
    made.graph.node.append(one)
    return made


def long_names(count, length):
    """A name that every node has, and another at its end."""
    same = "n" * length
    nodes = [node("Relu", ["x" if i == 0 else f"{same}{i - 1}"], [f"{same}{i}"], f"{same}{i}")
             for i in range(count)]
    return model([*nodes, node("Relu", [f"{same}{count - 1}"], name="last")])


def split(count):
    return model([node("Split", ["x"], [f"y{i}" for i in range(count)], num_outputs=count,
                       axis=0)], outputs=["y0"], inputs=[("x", FLOAT, (4,))])


def numbers_of_an_attribute(count, op="Relu"):
    return model([node(op, ["x"], axes=[0] * count)])


# ---- bodies ----

def branch(name, nodes, output):
    return helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name=output)])


def if_in_if(depth, leaf_inputs=("x",), leaf="Relu"):
    body = [node(leaf, leaf_inputs, ["v"])]
    for i in range(depth):
        inner = branch(f"b{i}", body, "v")
        other = branch(f"o{i}", [node("Identity", ["x"], ["v"])], "v")
        body = [node("If", ["condition"], ["v"], f"if{i}", then_branch=inner, else_branch=other)]
    return model([*body[:-1], node("If", ["condition"], ["y"], "outermost",
                                   then_branch=branch("last", body, "v"),
                                   else_branch=branch("other", [node("Identity", ["x"], ["v"])],
                                                      "v"))],
                 [number("condition", True, bool)])


def bodies_that_read_a_list(count, length):
    """Bodies of `count` nodes read one list, of a byte for each number in the file."""
    last = "numbers"
    nodes = [node("Cast", ["x"], ["numbers"], "to_numbers", to=TensorProto.INT64),
             node("ReduceMax", ["x"], ["largest"], keepdims=0),
             node("Cast", ["largest"], ["condition"], "to_condition", to=TensorProto.BOOL)]
    for i in range(count):
        bodies = [branch("b", [node("Gather", ["list", last], ["v"], "pick")], "v")
                  for _ in range(2)]
        nodes.append(node("If", ["condition"], [f"v{i}"], f"if{i}", then_branch=bodies[0],
                          else_branch=bodies[1]))
        last = f"v{i}"
    numbers = TensorProto(name="list", dims=[length], data_type=TensorProto.INT64,
                          int64_data=[1] * length)
    return model([*nodes, node("Cast", [last], to=FLOAT)], [numbers])


def endless_loop(trips, carried=None):
    """A body that does next to nothing; with `carried`, its value doubles."""
    body_nodes = [node("Identity", ["c"], ["c2"], "keep")]
    body_nodes.append(node("Concat", ["a", "a"], ["b"], "grow", axis=0) if carried
                      else node("Neg", ["a"], ["b"], "turn"))
    body = helper.make_graph(
        body_nodes, "body",
        [helper.make_tensor_value_info("i", INT64, ()),
         helper.make_tensor_value_info("c", BOOL, ()),
         helper.make_tensor_value_info("a", FLOAT, None)],
        [helper.make_tensor_value_info("c2", BOOL, ()),
         helper.make_tensor_value_info("b", FLOAT, None)])
    return model([node("Loop", ["trips", "go", "x"], body=body)],
                 [number("trips", trips), number("go", True, bool)])


def loop_that_scans(trips):
    """Each turn appends to an output."""
    body = helper.make_graph(
        [node("Identity", ["c"], ["c2"], "keep"), node("Identity", ["x"], ["s"], "append")], "body",
        [helper.make_tensor_value_info("i", INT64, ()),
         helper.make_tensor_value_info("c", BOOL, ())],
        [helper.make_tensor_value_info("c2", BOOL, ()),
         helper.make_tensor_value_info("s", FLOAT, None)])
    return model([node("Loop", ["trips", "go"], body=body)],
                 [number("trips", trips), number("go", True, bool)])


def scan(turns):
    """Over an input that Expand makes of one element."""
    body = helper.make_graph(
        [node("Add", ["s", "e"], ["s2"], "sum"), node("Identity", ["e"], ["o"], "copy")], "body",
        [helper.make_tensor_value_info("s", FLOAT, (1,)),
         helper.make_tensor_value_info("e", FLOAT, (1,))],
        [helper.make_tensor_value_info("s2", FLOAT, (1,)),
         helper.make_tensor_value_info("o", FLOAT, (1,))])
    return model([node("Slice", ["x", "zero", "one"], ["start"], "first"),
                  node("Expand", ["start", "shape"], ["long"], "many"),
                  node("Scan", ["start", "long"], ["y", "all"], body=body, num_scan_inputs=1)],
                 [number("shape", [turns, 1]), number("zero", [0]), number("one", [1])])


def body_that_makes_what_it_reads():
    """A value of the main graph that is made from what the If gives that reads it."""
    then = branch("then", [node("Relu", ["later"], ["v"])], "v")
    other = branch("else", [node("Identity", ["x"], ["v"])], "v")
    return model([node("If", ["condition"], ["y"], then_branch=then, else_branch=other),
                  node("Neg", ["y"], ["later"], "after")], [number("condition", True, bool)])


# ---- data in other files ----

def external(location, dims=(4,), **entries):
    tensor = TensorProto(name="w", dims=dims, data_type=FLOAT,
                         data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return model([node("Add", ["x", "w"])], [tensor])


def circle_of_links(folder):
    os.symlink("b.bin", folder / "a.bin")
    os.symlink("a.bin", folder / "b.bin")
    return external("a.bin")


def link_to(path):
    def make(folder):
        os.symlink(path, folder / "w.bin")
        return external("w.bin")
    return make


def device(folder):
    """A device of one's own in the folder takes rights; without them, a FIFO."""
    try:
        os.mknod(folder / "w.bin", 0o20600, os.makedev(1, 5))
    except PermissionError:
        os.mkfifo(folder / "w.bin")
    return external("w.bin")


def itself(folder):
    """The model's own bytes as weights are no harm, but there are not as many."""
    return external("model.onnx", dims=(1 << 20,))


# ---- wrong numbers, texts and types ----

def sparse_out_of_range(index):
    return model([node("Add", ["x", "w"])],
                 sparse=[helper.make_sparse_tensor(number("w", [1.0], numpy.float32),
                                                   number("", [index]), [4])])


def text_attribute(value):
    bad = node("Pad", ["x", "p"])
    bad.attribute.append(AttributeProto(name="mode", type=AttributeProto.STRING, s=value))
    return model([bad], [number("p", [1, 1])])


def renamed(made, name):
    """The operator's name, which the helpers would check."""
    made.graph.node[0].op_type = name
    return made


def loop_around(inner):
    """A loop whose body is `inner`, which reads `trips`, `go` and `x` of the main graph."""
    inner.output[0] = "b"
    body = helper.make_graph(
        [node("Identity", ["c"], ["c2"], "keep"), inner], "outer_body",
        [helper.make_tensor_value_info("i", INT64, ()),
         helper.make_tensor_value_info("c", BOOL, ()),
         helper.make_tensor_value_info("a", FLOAT, None)],
        [helper.make_tensor_value_info("c2", BOOL, ()),
         helper.make_tensor_value_info("b", FLOAT, None)])
    return model([node("Loop", ["trips", "go", "x"], name="outer", body=body)],
                 [number("trips", (1 << 63) - 1), number("go", True, bool)])


# ---- a megabyte of one kind of thing ----

def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number, value):
    """Of a message: a number, or bytes of a text or of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*fields):
    return b"".join(field(number, value) for number, value in fields)


def raw_node(op, inputs=(), outputs=("",), *more):
    return message(*((1, one) for one in inputs), *((2, one) for one in outputs), (4, op), *more)


def raw_attribute(name, kind, *fields):
    return message((1, name), *fields, (20, kind))


def raw_graph(*fields, output=""):
    """Has the output, if any, which is not declared."""
    return message(*fields, *(((12, message((1, output))),) if output else ()))


def raw_body(name, *fields, output="r"):
    return raw_attribute(name, AttributeProto.GRAPH, (6, raw_graph(*fields, output=output)))


IDENTITY = (1, raw_node("Identity", ["x"], ["y"]))
FLOAT_1 = message((1, message((1, 1))))  # a type: floats of any shape
X, Y = (11, message((1, "x"), (2, FLOAT_1))), (12, message((1, "y")))
RELU_R = (1, raw_node("Relu", ["x"], ["r"]))


def megabyte(made, of_graph=True, ends=(IDENTITY, X, Y), domains=("",), opset=21, size=1000000):
    """As many of `made`, which makes fields of the graph or the model from a number, as fit in a
    megabyte. `ends`: of the graph, or a function that makes them of the last number."""
    many, bytes_left, i = [], size, 0
    while bytes_left > 0:
        one = message(*made(i))
        bytes_left -= len(one)
        many.append(one)
        i += 1
    opsets = [(8, message((1, domain), (2, opset if domain == "" else 1))) for domain in domains]
    many = b"".join(many)
    whole = message(*(ends(i - 1) if callable(ends) else ends))
    if of_graph:
        return message((1, 10), *opsets, (7, many + whole))
    return message((1, 10), *opsets) + many + field(7, whole)


def linked(make, *ends, **more):
    """`make` makes fields of three names: of what is read, of what is made, and of others."""
    return megabyte(
        lambda i: make(f"v{i - 1:x}" if i else "x", f"v{i:x}", f"w{i:x}"),
        ends=lambda i: (*ends, (1, raw_node("Identity", [f"v{i:x}"], ["y"])), X, Y), **more)


def chain(op):
    """Nodes that each read what the one before made."""
    return linked(lambda read, made, _: [(1, raw_node(op, [read], [made]))])


def tensor_field(number, name, *fields):
    return (number, message(*fields, (8, name)))


def if_node(made, branch=(RELU_R,)):
    return (1, raw_node("If", ["c"], [made], (5, raw_body("then_branch", *branch)),
                        (5, raw_body("else_branch", *branch))))


CONDITION = (1, raw_node("ReduceMax", ["x"], ["m"], (5, raw_attribute("keepdims", 2, (3, 0)))))
CONDITIONS = (CONDITION, (1, raw_node("Cast", ["m"], ["c"], (5, raw_attribute("to", 2, (3, 9))))))


def function(i, *fields):
    return [(25, message((1, f"F{i}"), (10, "own"), (9, message((2, 21))), *fields))]


def nested_ifs(depth=6):
    body = (RELU_R,)
    for _ in range(depth):
        body = ((1, raw_node("If", ["c"], ["r"], (5, raw_body("then_branch", *body)),
                             (5, raw_body("else_branch", RELU_R)))),)
    return body


# By kind: the bytes of a file of a megabyte, most of which is of it.
KINDS = {
    "nodes": lambda: chain("Abs"),
    "nodes that nobody reads": lambda: megabyte(
        lambda i: [(1, raw_node("Abs", ["x"], [f"v{i:x}"]))]),
    "nodes with a constant": lambda: linked(lambda read, made, other: [
        tensor_field(5, other, (2, 1), (4, b"\0\0\x80\x3f")),
        (1, raw_node("Add", [read, other], [made]))]),
    "nodes whose shapes are computed": lambda: linked(lambda read, made, other: [
        (1, raw_node("Shape", [read], [other])), (1, raw_node("Reshape", ["x", other], [made]))]),
    "inputs of a node": lambda: megabyte(
        lambda i: [(1, raw_node("Sum", ["x"] * 1000, [f"v{i:x}"]))]),
    "absent inputs of nodes": lambda: megabyte(
        lambda i: [(1, raw_node("Sum", [""] * 60000, [f"v{i:x}"]))]),
    "outputs of a node": lambda: megabyte(
        lambda i: [(1, raw_node("Split", ["x"], [f"v{i:x}_{j:x}" for j in range(60)]))]),
    "absent outputs of nodes": lambda: megabyte(
        lambda i: [(1, raw_node("Abs", ["x"], [""] * 60000))]),
    "attributes": lambda: megabyte(lambda i: [(1, raw_node("Abs", ["x"], [f"v{i:x}"], *(
        (5, raw_attribute(f"{j:x}", 2, (3, 1))) for j in range(250))))]),
    "numbers of attributes": lambda: megabyte(lambda i: [(1, raw_node("Abs", ["x"], [f"v{i:x}"], (
        5, raw_attribute("a", 7, (8, b"\1" * 10000)))))]),
    "numbers of attributes, one by one": lambda: megabyte(lambda i: [(1, raw_node(
        "Abs", ["x"], [f"v{i:x}"], (5, raw_attribute("a", 7, *[(8, 1)] * 10000))))]),
    "texts of attributes": lambda: megabyte(lambda i: [(1, raw_node("Abs", ["x"], [f"v{i:x}"], (
        5, raw_attribute("a", 8, *[(9, b"")] * 10000))))]),
    "tensors of attributes": lambda: megabyte(lambda i: [(1, raw_node("Abs", ["x"], [f"v{i:x}"], (
        5, raw_attribute("a", 9, *[(10, message((2, 1), (1, 0)))] * 10000))))]),
    "types of attributes": lambda: megabyte(lambda i: [(1, raw_node(
        "Optional", ["x"], [f"v{i:x}"], (5, raw_attribute("type", 13, (
            14, message((4, message((1, FLOAT_1)))))))))]),
    "Constants": lambda: megabyte(lambda i: [(1, raw_node("Constant", [], [f"v{i:x}"], (
        5, raw_attribute("value_int", 2, (3, 1)))))]),
    "lists of Constants": lambda: megabyte(lambda i: [(1, raw_node("Constant", [], [f"v{i:x}"], (
        5, raw_attribute("value_ints", 7, (8, b"\1" * 900)))))]),
    "names": lambda: megabyte(lambda i: [(1, raw_node("Abs", ["x"], [f"v{i:x}"], (
        3, "n" * 200), (7, "d" * 200)))]),
    "operators that do not exist": lambda: chain("A"),
    "initializers": lambda: megabyte(lambda i: [tensor_field(5, f"v{i:x}", (2, 1), (1, 0))]),
    "initializers that are inputs": lambda: megabyte(
        lambda i: [tensor_field(5, f"v{i:x}", (2, 1), (1, 0)), (11, message((1, f"v{i:x}")))]),
    "dimensions of initializers": lambda: megabyte(
        lambda i: [tensor_field(5, f"v{i:x}", (2, 1), (1, b"\0" * 10000))]),
    "external data": lambda: megabyte(lambda i: [tensor_field(
        5, f"v{i:x}", (2, 1), (14, 1), *[(13, message((1, "location"), (2, "w")))] * 60)]),
    "sparse initializers": lambda: megabyte(
        lambda i: [(15, message((1, message((2, 1), (8, f"v{i:x}"))), (3, 4)))]),
    "quantization annotations": lambda: megabyte(lambda i: [(14, message((1, f"v{i:x}"), (
        2, message((1, "SCALE_TENSOR"), (2, "x")))))]),
    "inputs": lambda: megabyte(lambda i: [(11, message((1, f"v{i:x}"), (2, FLOAT_1)))]),
    "dimensions of inputs": lambda: megabyte(lambda i: [(11, message((1, f"v{i:x}"), (2, message((
        1, message((1, 1), (2, message(*[(1, message((2, "n")))] * 8)))))))) ]),
    "too many dimensions of an input": lambda: megabyte(lambda i: [(11, message((1, f"v{i:x}"), (
        2, message((1, message((1, 1), (2, message(*[(1, b"")] * 10000))))))))]),
    "outputs": lambda: megabyte(lambda i: [(1, raw_node("Abs", ["x"], [f"v{i:x}"])),
                                           (12, message((1, f"v{i:x}")))]),
    "outputs of one value": lambda: megabyte(lambda i: [(12, message((1, "y")))]),
    "shapes of values": lambda: megabyte(lambda i: [(13, message((1, f"v{i:x}"), (2, FLOAT_1)))]),
    "metadata": lambda: megabyte(lambda i: [(14, message((1, f"v{i:x}"), (2, "")))],
                                 of_graph=False),
    "opsets": lambda: megabyte(lambda i: [(8, message((1, f"v{i:x}"), (2, 1)))], of_graph=False),
    "functions": lambda: megabyte(lambda i: function(i, (4, "a"), (5, "b"), (
        7, raw_node("Abs", ["a"], ["b"]))), of_graph=False),
    "opsets of functions": lambda: megabyte(lambda i: function(i, *(
        (9, message((1, f"d{j}"), (2, 1))) for j in range(200))), of_graph=False),
    "inputs of functions": lambda: megabyte(lambda i: function(i, *(
        (4, f"{j:x}") for j in range(1000))), of_graph=False),
    "nodes of functions": lambda: megabyte(lambda i: function(i, (4, "a"), *(
        (7, raw_node("Abs", ["a"], [f"{j:x}"])) for j in range(100))), of_graph=False),
    "attributes of functions": lambda: megabyte(lambda i: function(i, *(
        (11, raw_attribute(f"a{j}", 2, (3, 1))) for j in range(200))), of_graph=False),
    "calls": lambda: megabyte(
        lambda i: [(1, raw_node("F0", ["x"], [f"v{i:x}"], (7, "own")))], domains=("", "own"),
        ends=(IDENTITY, X, Y)) + message(*function(0, (4, "a"), (5, "b"), (
            7, raw_node("Abs", ["a"], ["b"])))),
    "stages": lambda: chain("Unique"),
    "stages beside each other": lambda: linked(lambda read, made, other: [
        (1, raw_node("NonZero", ["x"], [other])), (1, raw_node("Shape", [other], [made]))]),
    "stages of nodes between": lambda: linked(lambda read, made, other: [
        (1, raw_node("Unique", [read], [other])), (1, raw_node("Abs", [other], [made]))]),
    "branches": lambda: megabyte(lambda i: [if_node(f"v{i:x}"), (12, message((1, f"v{i:x}")))],
                                 ends=(*CONDITIONS, IDENTITY, X, Y)),
    "branches one after the other": lambda: linked(lambda read, made, _: [
        if_node(made, ((1, raw_node("Abs", [read], ["r"])),))], *CONDITIONS),
    "empty branches": lambda: megabyte(
        lambda i: [(1, raw_node("If", ["c"], [f"v{i:x}"], (5, raw_attribute("then_branch", 5, (
            6, b""))), (5, raw_attribute("else_branch", 5, (6, b"")))))],
        ends=(*CONDITIONS, IDENTITY, X, Y)),
    "branches in branches": lambda: megabyte(
        lambda i: [if_node(f"v{i:x}", nested_ifs()), (12, message((1, f"v{i:x}")))],
        ends=(*CONDITIONS, IDENTITY, X, Y)),
    "captured values": lambda: megabyte(
        lambda i: [if_node(f"v{i:x}", ((1, raw_node(
            "Sum", [f"c{j}" for j in range(200)], ["r"])),)),
                   (12, message((1, f"v{i:x}")))],
        ends=(*CONDITIONS, *((1, raw_node("Abs", ["x"], [f"c{j}"])) for j in range(200)),
              IDENTITY, X, Y)),
    "nodes of a branch": lambda: megabyte(
        lambda i: [if_node(f"v{i:x}", ((1, raw_node("Unique", ["x"], ["l0"])),
                               *((1, raw_node("Unique", [f"l{j}"], [f"l{j + 1}"]))
                                 for j in range(20)),
                               (1, raw_node("Relu", ["l20"], ["r"])))),
                   (12, message((1, f"v{i:x}")))],
        ends=(*CONDITIONS, IDENTITY, X, Y)),
    "sequences": lambda: megabyte(
        lambda i: [(1, raw_node("SequenceConstruct", ["x"] * 3, [f"s{i:x}"])),
                   (1, raw_node("SequenceLength", [f"s{i:x}"], [f"v{i:x}"]))]),
    "sequences of a sequence": lambda: linked(lambda read, made, other: [
        (1, raw_node("SequenceConstruct", [read], [other])),
        (1, raw_node("SequenceAt", [other, "at"], [made]))],
        (5, message((2, 7), (7, b"\0"), (8, "at")))),
}
