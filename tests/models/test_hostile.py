"""Small models that would take hours, gigabytes or files of others (hostile_models.py): each is
refused with a sentence that says of what, by exit code 1, within 256 MB beyond its file; a minute
of processor time ends what hangs, and benchmarks/growth.py shows that time grows as models do.
Those that may run for ever end at a deadline.

Wrong bytes, nesting and floods of records are in tests/executor_glue/onnx, paths that leave the
folder in its external_test.cc, numbers of single operators in tests/ops/hostile_test.cc, and models
that are wrong in their meaning in test_bad_models.py."""

import subprocess
import sys
from dataclasses import dataclass

import numpy
import onnx
import pytest
from onnx import TensorProto
from wait import LONG

import hostile_models as make
from bounded_command import run_bounded

BYTES = 256 << 20
F32, I64 = numpy.float32, numpy.int64
M, T = 1 << 20, 1 << 40
PICTURE = (1, 1, 8, 8)


@dataclass
class Case:
    make: object  # a model, of nothing or of the folder that it lies in
    words: tuple  # of the sentence
    shape: tuple = (4,)
    memory: str = "128m"  # what the host allows; None: nothing said, and the machine has it
    in_folder: bool = False


def picture(op, *constants, words, memory="128m", dtypes=(F32,), first=("x",), opset=21,
            **attributes):
    return Case(lambda: make.on_x(op, *constants, shape=PICTURE, dtypes=dtypes, first=first,
                                  opset=opset, **attributes), words, PICTURE, memory)


def folded(op, *constants, words, memory="128m", dtypes=(), **attributes):
    return Case(lambda: make.of_constants(op, *constants, dtypes=dtypes, **attributes), words,
                memory=memory)


def with_constant(op, *tensors, words, memory="128m", **attributes):
    names = ["x", *(tensor.name for tensor in tensors)]
    return Case(lambda: make.model([make.node(op, names, **attributes)], tensors), words,
                memory=memory)


def long_input(op, *tensors, words, shape=(1 << 26, 4), **attributes):
    """An operator on what Expand makes of four numbers."""
    names = ["long", *(tensor.name for tensor in tensors)]
    return Case(lambda: make.model(
        [make.node("Expand", ["x", "s"], ["long"], "bad_node"), make.node(op, names, **attributes)],
        [make.number("s", shape), *tensors]), words)


OVER = ("bad_node", "more than 2^47 bytes")
COPIES = ("names, nodes and calls of functions", "MB")
LIMIT = ("at most 134217728 bytes",)
ONES = numpy.ones((1, 1, 1, 1))

CASES = {
    # Of constants: when the model is opened.
    "expand": folded("Expand", [1.0], [1 << 28], dtypes=(F32,), words=LIMIT),
    "tile": folded("Tile", [1.0], [1 << 28], dtypes=(F32,), words=LIMIT),
    "tile 2^31 times, twice": folded("Tile", [[1.0]], [1 << 31, 1 << 31], dtypes=(F32,),
                                     words=OVER, memory=None),
    "constant of shape": folded("ConstantOfShape", [1 << 28], words=LIMIT),
    "range": folded("Range", 0, 1 << 28, 1, words=LIMIT),
    "range of 2^60": folded("Range", 0, 1 << 60, 1, words=OVER, memory=None),
    "range to infinity": folded("Range", 0.0, float("inf"), 1.0, dtypes=(F32,) * 3, memory=None,
                                words=("bad_node", "inf")),
    "range to no number": folded("Range", 0.0, float("nan"), 1.0, dtypes=(F32,) * 3, memory=None,
                                 words=("bad_node", "nan")),
    "range of tiny steps": folded("Range", 0.0, 1e30, 1e-30, dtypes=(F32,) * 3, memory=None,
                                  words=("bad_node", "fewer than 2^62")),
    "range of steps of 0": folded("Range", 0, 10, 0, words=("bad_node", "must not be 0")),
    "pad": folded("Pad", [1.0], [0, 1 << 28], dtypes=(F32,), words=LIMIT),
    "one-hot": folded("OneHot", [1], [1 << 28], [0.0, 1.0], dtypes=(I64, I64, F32), words=LIMIT),
    "one-hot of 2^62": folded("OneHot", [1], [1 << 62], [0.0, 1.0], dtypes=(I64, I64, F32),
                              words=OVER, memory=None),
    "mel weights": folded("MelWeightMatrix", 1 << 30, 1 << 30, 8000, 0.0, 4000.0, memory=None,
                          dtypes=(I64, I64, I64, F32, F32), words=OVER),
    # Of the input: in a run.
    "resize": picture("Resize", [1, 1, 1 << 14, 1 << 14], first=("x", ""), words=LIMIT),
    "resize to 2^80": picture("Resize", [1, 1, T, T], first=("x", "", ""), dtypes=(), words=OVER,
                              memory=None),
    "upsample": picture("Upsample", [1, 1, 1e9, 1e9], opset=9, words=OVER, memory=None),
    "eye": long_input("EyeLike", shape=(1 << 13, 4), words=("bad_node",), dtype=99),
    "transposed convolution of strides": picture("ConvTranspose", ONES, strides=[1 << 11, 1 << 11],
                                                 words=("bad_node", "4194304", "262144")),
    "transposed convolution of 2^20 strides": picture("ConvTranspose", ONES, strides=[M, M],
                                                      words=OVER, memory=None),
    "transposed convolution of one pixel": Case(
        lambda: make.on_x("ConvTranspose", ONES, shape=(1, 1, 1, 1), dtypes=(F32,),
                          strides=[M, M]), ("bad_node", "1099511627776"), (1, 1, 1, 1)),
    "depthwise transposed convolution of one pixel": Case(
        lambda: make.on_x("ConvTranspose", numpy.ones((64, 1, 3, 3)), shape=(1, 64, 1, 1),
                          dtypes=(F32,), group=64, strides=[M, M], pads=[0, 0, 2, 2]),
        ("bad_node", "1099511627776"), (1, 64, 1, 1)),
    "transposed convolution to 2^80": picture("ConvTranspose", ONES, output_shape=[T, T],
                                              words=OVER, memory=None),
    "convolution of pads": picture("Conv", ONES, pads=[M] * 4, words=("17592320262400 bytes",),
                                   memory=None),
    "unpooling to 2^60": Case(
        lambda: make.model(
            [make.node("MaxUnpool", ["x", "i", "s"], kernel_shape=[1, 1])],
            [make.number("i", numpy.zeros(PICTURE)), make.number("s", [1, 1, 1 << 30, 1 << 30])],
            inputs=[("x", TensorProto.FLOAT, PICTURE)]), OVER, PICTURE, None),
    "lstm of 2^40": Case(
        lambda: make.on_x("LSTM", numpy.ones((1, 4, 1)), numpy.ones((1, 4, 1)), shape=(1, 1, 1),
                          dtypes=(F32, F32), hidden_size=T), ("bad_node", "hidden_size"),
        (1, 1, 1), None),
    "outer products": Case(lambda: make.outer_products(5), ("product4", "2^47")),
    "doubled 26 times": Case(lambda: make.doubling("Concat", 26, axis=0), LIMIT),
    "doubled 40 times": Case(lambda: make.doubling("Concat", 40, axis=0), ("bytes",), memory=None),
    "gather of 2^30": Case(
        lambda: make.model([make.node("Expand", ["i", "s"], ["j"], "many"),
                            make.node("Gather", ["x", "j"])],
                           [make.number("i", [0]), make.number("s", [1 << 15, 1 << 15])]), LIMIT),
    "gather beyond the end": with_constant("Gather", make.number("i", [1 << 62]),
                                           words=("bad_node", str(1 << 62))),
    "scatter before the beginning": with_constant(
        "ScatterElements", make.number("i", [-(1 << 62)]), make.number("u", [1.0], F32), axis=0,
        words=("bad_node", str(-(1 << 62)))),
    "scatter of tuples beyond the end": with_constant(
        "ScatterND", make.number("i", [[1 << 62]]), make.number("u", [1.0], F32),
        words=("bad_node", str(1 << 62))),
    "sums along a huge line": long_input("CumSum", make.number("a", 0), words=LIMIT),
    "unique of a huge line": long_input("Unique", words=LIMIT),
    "non-zeros of a long line": long_input("NonZero", shape=(1 << 22, 4),
                                           words=("bad_node", "268435456 bytes")),
    "more than there are, by TopK": with_constant("TopK", make.number("k", [5]),
                                                  words=("bad_node", "5 elements")),
    "random numbers": Case(lambda: make.model([make.node("RandomNormal", [], shape=[T])]),
                           ("4398046511104 bytes",), memory=None),
    "einsum of 26 terms": Case(
        lambda: make.model([make.node("Einsum", ["x"] * 26,
                                      equation=",".join("abcdefghijklmnopqrstuvwxyz") + "->"
                                      + "abcdefghijklmnopqrstuvwxyz")]), ("bad_node", "equation")),
    "einsum of 52 letters": Case(
        lambda: make.model([make.node("Einsum", ["x"], equation="abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ->")]), ("bad_node", "equation")),
    "einsum of 64^8": Case(
        lambda: make.model([make.node("Einsum", ["x"] * 8, equation="a,b,c,d,e,f,g,h->abcdefgh")],
                           inputs=[("x", TensorProto.FLOAT, (64,))]), OVER, (64,), None),
    "einsum whose text has 10 MB": Case(
        lambda: make.model([make.node("Einsum", ["x"], equation="a" + " " * (10 << 20) + "->a")]),
        ("bad_node",)),
    # Counts and names.
    "a million nodes": Case(lambda: make.many_nodes(10**6), ("byte", "allowed")),
    "a million outputs of a node": Case(lambda: make.split(10**6), ("65536",)),
    "10,000 outputs of a node": Case(lambda: make.split(10**4), ("bad_node", "10000 outputs")),
    "10 million numbers of an attribute": Case(
        lambda: make.numbers_of_an_attribute(10**7), ("attribute", "allowed")),
    "an operator whose name has 10 MB": Case(
        lambda: make.renamed(make.model([make.node("Relu", ["x"])]), "R" * (10 << 20)),
        ("bad_node", "RRRR")),
    "functions that double 40 times": Case(lambda: make.doubling_functions(40), ("calls",)),
    "functions that double 18 times": Case(lambda: make.doubling_functions(18),
                                           ("262144 nodes",)),
    "functions in a circle": Case(lambda: make.functions_in_a_circle(3), ("calls",)),
    "a function of itself": Case(lambda: make.functions_in_a_circle(1), ("'F0'", "calls")),
    # What functions and bodies copy: less than 1 MB in the file, gigabytes if nobody counted.
    "names of calls in calls": Case(
        lambda: make.long_names_in_calls(4, 20, 2000), COPIES, memory=None),
    "a name in 2,000 calls": Case(lambda: make.calls_of_calls(
        make.node("Relu", ["a"], ["n" * 400000]), make.node("Relu", ["n" * 400000], ["b"])),
        COPIES, memory=None),
    "an operator's name in 2,000 calls": Case(
        lambda: make.calls_of_calls(make.node("R" * 400000, ["a"], ["b"])), COPIES, memory=None),
    "a node's name in 2,000 calls": Case(
        lambda: make.calls_of_calls(make.node("Relu", ["a"], ["b"], "n" * 400000)),
        COPIES, memory=None),
    "an attribute's name in 2,000 calls": Case(
        lambda: make.calls_of_calls(make.node("Relu", ["a"], ["b"], **{"n" * 400000: 1})),
        COPIES, memory=None),
    "an attribute of 300,000 numbers in 2,000 calls": Case(
        lambda: make.calls_of_calls(make.node("Transpose", ["a"], ["b"], perm=[0] * 300000)),
        ("'perm'", "64 MB allowed"), memory=None),
    "a constant of 200,000 numbers in 2,000 calls": Case(
        lambda: make.calls_of_calls(make.node("Constant", [], ["k"], value_floats=[1.0] * 400000),
                                    make.node("Add", ["a", "k"], ["b"])),
        ("k'", "65 MB allowed"), memory=None),
    "30,000 outputs in 2,000 calls": Case(lambda: make.calls_of_calls(
        make.node("Split", ["a"], ["b", *(f"o{i}" for i in range(30000))])), COPIES, memory=None),
    "60,000 inputs in 2,000 calls": Case(
        lambda: make.calls_of_calls(make.node("Sum", ["a"] * 60000, ["b"])), COPIES, memory=None),
    "bodies in a node with a long name": Case(
        lambda: make.bodies_in_a_long_name(2500, 500000), COPIES, memory=None),
    # Bodies.
    "If in If": Case(lambda: make.if_in_if(28), ("nested deeper than 32",)),
    "a body that makes what it reads": Case(make.body_that_makes_what_it_reads,
                                            ("'after'", "cycle")),
    "a loop whose value doubles": Case(lambda: make.endless_loop(T, carried=True),
                                       ("bad_node", *LIMIT)),
    "a scan over 2^30": Case(lambda: make.scan(1 << 30), LIMIT),
    # Files.
    "links in a circle": Case(make.circle_of_links, ("'w'", "symbolic links"), in_folder=True),
    "link to a device": Case(make.link_to("/dev/zero"), ("'w'", "leaves the model's folder"),
                             in_folder=True),
    "link to a file of the system": Case(make.link_to("/etc/passwd"),
                                         ("'w'", "leaves the model's folder"), in_folder=True),
    "link to memory": Case(make.link_to("/proc/self/mem"), ("'w'", "leaves the model's folder"),
                           in_folder=True),
    "device": Case(make.device, ("'w'", "not a regular file"), in_folder=True),
    "the model as its own weights": Case(make.itself, ("'w'", "leave the file"), in_folder=True),
    # Wrong types, dimensions and texts.
    "sparse beyond the end": Case(lambda: make.sparse_out_of_range(4), ("'w'", "sparse")),
    "type that does not exist": Case(
        lambda: make.model([make.node("Add", ["x", "w"])],
                           [make.claimed("w", [4], 99, b"\0" * 16)]), ("'w'", "99")),
    "type below 0": Case(
        lambda: make.model([make.node("Add", ["x", "w"])],
                           [make.claimed("w", [4], -1, b"\0" * 16)]), ("'w'", "type")),
    "cast to a type that does not exist": Case(lambda: make.on_x("Cast", to=T),
                                               ("bad_node", str(T))),
    "input of a type that does not exist": Case(
        lambda: make.model([make.node("Relu", ["x"])], inputs=[("x", 77, (4,))]), ("'x'", "77")),
    "dimensions below 0": Case(
        lambda: make.model([make.node("Add", ["x", "w"])],
                           [make.claimed("w", [-2, -2], raw=b"\0" * 16)]), ("'w'", "-2")),
    "dimensions of 2^64 elements": Case(
        lambda: make.model([make.node("Add", ["x", "w"])],
                           [make.claimed("w", [1 << 32, 1 << 32])]), ("w", "2^47")),
    "dimensions whose bytes are 2^66": Case(
        lambda: make.model([make.node("Add", ["x", "w"])], [make.claimed("w", [1 << 62, 4])]),
        ("w", "2^47")),
    "0 times 2^124 elements": Case(
        lambda: make.model([make.node("Add", ["x", "w"])],
                           [make.claimed("w", [0, 1 << 62, 1 << 62])]), ("w", "2^47")),
    "text that is no UTF-8": Case(lambda: make.text_attribute(b"\xff\xfe\x00reflect"),
                                  ("bad_node", "\\xff\\xfe")),
    "text that clears a terminal": Case(lambda: make.text_attribute(b"\x1b[2J\n\nrm"),
                                        ("bad_node", "\\x1b[2J\\x0a")),
}

# What is large in a text and harmless: it runs.
HARMLESS = {
    "a value added to itself 40 times": (lambda: make.doubling("Add", 40), (4,)),
    "60,000 nodes": (lambda: make.many_nodes(60000), (4,)),
    "10,000 calls of one name": (lambda: make.calls_of_one_name(10000), (4,)),
    "a constant that nobody reads in 2,000 calls": (
        lambda: make.calls_of_calls(make.node("Constant", [], ["k"], value_ints=[1] * 200000),
                                    make.node("Relu", ["a"], ["b"])), (4,)),
    "6,000 branches of one name": (lambda: make.branches_of_one_name(6000), (4,)),
    "16,000 stages": (lambda: make.many_stages(16000), (4,)),
    "names of 10 MB": (lambda: make.long_names(2, 10 << 20), (4,)),
    "1,000 names that differ at their ends": (lambda: make.long_names(1000, 10000), (4,)),
    "a list that 200 bodies read": (
        lambda: make.bodies_that_read_a_list(100, 500000), (4,)),
    "pools of 2^20 x 2^20": (
        lambda: make.on_x("MaxPool", shape=PICTURE, kernel_shape=[M, M], pads=[M - 1] * 4,
                          strides=[M, M]), PICTURE),
    "averages of 2^20 x 2^20": (
        lambda: make.on_x("AveragePool", shape=PICTURE, kernel_shape=[M, M], pads=[M // 2] * 4,
                          count_include_pad=1), PICTURE),
    "dilations of 2^20": (
        lambda: make.on_x("Conv", numpy.ones((1, 1, 3, 3)), shape=PICTURE, dtypes=(F32,),
                          dilations=[M, M], pads=[M] * 4), PICTURE),
}


def run(folder, made, shape, memory):
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    numpy.save(folder / "x.npy", numpy.ones(shape, F32))
    words = ["run", path, "-i", f"x={folder / 'x.npy'}", "-o", folder / "out"]
    if memory is not None:
        words.append(f"--memory={memory}")
    return run_bounded(*words), path.stat().st_size


@pytest.fixture(scope="module")
def usual_peak(tmp_path_factory):
    """Of a model that does no harm."""
    done, _ = run(tmp_path_factory.mktemp("usual"), make.model([make.node("Relu", ["x"])]), (4,),
                  None)
    assert done.code == 0, done.said
    return done.peak


def check_bounds(done, size, usual_peak):
    assert done.peak - usual_peak < BYTES + size


@pytest.mark.parametrize("name", CASES)
def test_is_refused(name, usual_peak, tmp_path):
    case = CASES[name]
    made = case.make(tmp_path) if case.in_folder else case.make()
    done, size = run(tmp_path, made, case.shape, case.memory)
    assert done.code == 1, f"exit code {done.code}: {done.said}"
    lines = done.said.splitlines()
    assert len(lines) == 1 and lines[0].startswith("latchkey run: ") and len(lines[0]) < 1000
    for word in case.words:
        assert word in lines[0]
    assert lines[0].isprintable()
    check_bounds(done, size, usual_peak)
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.parametrize("name", HARMLESS)
def test_runs(name, usual_peak, tmp_path):
    made, shape = HARMLESS[name]
    done, size = run(tmp_path, made(), shape, None)
    assert done.code == 0, done.said
    check_bounds(done, size, usual_peak)


@pytest.mark.parametrize("kind", make.KINDS)
def test_a_megabyte(kind, usual_peak, tmp_path):
    """A file of a megabyte takes no more than 256 MB, whatever there is much of in it: before it is
    refused, and until it is opened and has run."""
    path = tmp_path / "model.onnx"
    path.write_bytes(make.KINDS[kind]())
    assert 0.9e6 < path.stat().st_size < 1.1e6
    numpy.save(tmp_path / "x.npy", numpy.ones(4, F32))
    words = ["run", path, "-i", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out"]
    if kind == "outputs":  # a file for each of some ten thousand would test the disk
        words = ["bench", path, "--shape=x=4", "--requests=1", "--warmup=0"]
    done = run_bounded(*words)
    assert done.code in (0, 1), done.said
    assert done.peak - usual_peak < BYTES, done.said


def endless(op):
    """A model whose work is large and whose memory is not."""
    boxes = 1 << 20
    if op == "NonMaxSuppression":
        return make.model(
            [make.node("Expand", ["x", "boxes_shape"], ["boxes"], "boxes"),
             make.node("Expand", ["one", "scores_shape"], ["scores"], "scores"),
             make.node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"])],
            [make.number("boxes_shape", [1, boxes, 4]), make.number("scores_shape", [1, 1, boxes]),
             make.number("one", [0.5], F32), make.number("most", [boxes]),
             make.number("overlap", [2.0], F32)])
    if op == "loop":
        return make.endless_loop((1 << 63) - 1)
    if op == "loop that appends":
        return make.loop_that_scans((1 << 63) - 1)
    if op == "loops in loops":
        inner = make.endless_loop((1 << 63) - 1).graph.node[0]
        return make.loop_around(inner)
    assert op == "scan"
    return make.scan(10**7)


# A process of its own: it may not end by itself.
DEADLINE = """
import sys
import latchkey, numpy
x = numpy.array([0, 0, 1, 1], numpy.float32)
session = latchkey.Session(sys.argv[1])
try:
    session.run({"x": x}, timeout=0.5)
except latchkey.DeadlineError as error:
    print("DEADLINE", error)
"""


@pytest.mark.parametrize("op", ["loop", "loop that appends", "loops in loops", "scan",
                                "NonMaxSuppression"])
def test_ends_at_a_deadline(op, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(endless(op), path)
    done = subprocess.run([sys.executable, "-c", DEADLINE, path], capture_output=True, text=True,
                          timeout=LONG, check=True)
    word, said = done.stdout.split(maxsplit=1)
    assert word == "DEADLINE" and "deadline" in said, (done.stdout, done.stderr)
