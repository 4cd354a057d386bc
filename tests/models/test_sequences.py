"""Tensors that are split to sequences, changed and put together, against numpy, through
`latchkey test`: axes, types, sizes of 0, positions from the end."""

import os
import subprocess

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

COMMAND = os.environ["LATCHKEY_COMMAND"]
CASES = 200
TYPES = [numpy.float32, numpy.float64, numpy.float16, numpy.int8, numpy.uint16, numpy.int64, bool]


class Case:
    """x, split along an axis; a piece moved to another place; the pieces joined."""

    def __init__(self, seed):
        self.random = random = numpy.random.default_rng(seed)
        self.nodes, self.constants = [], []
        rank = int(random.integers(1, 5))
        shape = [int(n) for n in random.integers(0 if random.random() < 0.2 else 1, 5, rank)]
        self.x = (random.normal(size=shape) * 9).astype(TYPES[int(random.integers(len(TYPES)))])
        self.axis = int(random.integers(-rank, rank))
        pieces = self.split(shape[self.axis])
        pieces = self.move(pieces) if pieces else self.insert(pieces)
        self.y = self.join(pieces)
        self.length = numpy.array(len(pieces), numpy.int64)

    def constant(self, name, value, dtype=numpy.int64):
        self.constants.append(numpy_helper.from_array(numpy.array(value, dtype), name))
        return name

    def add(self, op_type, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op_type, inputs, [output], **attributes))

    def split(self, size):
        inputs, attributes = ["x"], {"axis": self.axis}
        kind = self.random.integers(4)
        if kind == 0:  # pieces of one size, the last may be smaller
            each = int(self.random.integers(1, 4))
            inputs.append(self.constant("split", each, numpy.int32))
            ends = [min(end, size) for end in range(each, size + each, each)]
        elif kind == 1:  # a list of sizes
            ends = sorted(int(n) for n in self.random.integers(0, size + 1, 2)) + [size]
            inputs.append(self.constant("split", numpy.diff([0, *ends])))
        else:  # pieces of one slice
            ends = list(range(1, size + 1))
            attributes["keepdims"] = int(kind == 2)
        self.add("SplitToSequence", inputs, "s0", **attributes)
        parts = numpy.split(self.x, ends[:-1], self.axis) if ends else []
        return [numpy.squeeze(part, self.axis) for part in parts] if kind == 3 else parts

    def move(self, pieces):
        """One piece goes, and comes back at another place."""
        count = len(pieces)
        at, to = int(self.random.integers(-count, count)), int(self.random.integers(-count, count))
        self.constant("at", at)
        self.constant("to", to, numpy.int32)
        self.add("SequenceAt", ["s0", "at"], "piece")
        self.add("SequenceInsert", ["s0", "piece", "to"], "s1")
        self.add("SequenceErase", ["s1", "at"], "s")
        pieces = list(pieces)
        pieces.insert(to, pieces[at])
        del pieces[at]
        return pieces

    def insert(self, pieces):
        self.add("SequenceInsert", ["s0", "x"], "s")
        return [*pieces, self.x]

    def join(self, pieces):
        rank = pieces[0].ndim
        new_axis = rank == 0 or (len({piece.shape for piece in pieces}) == 1
                                 and bool(self.random.integers(2)))
        rank += new_axis
        is_whole = rank == self.x.ndim and not new_axis  # then sizes differ along the axis
        axis = self.axis if is_whole else int(self.random.integers(-rank, rank))
        self.add("ConcatFromSequence", ["s"], "y", axis=axis, new_axis=int(new_axis))
        self.add("SequenceLength", ["s"], "length")
        return (numpy.stack if new_axis else numpy.concatenate)(pieces, axis)

    def model(self):
        def info(name, value):
            dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
            return helper.make_tensor_value_info(name, dtype, [None] * value.ndim)

        graph = helper.make_graph(self.nodes, "g", [info("x", self.x)],
                                  [info("y", self.y), info("length", self.length)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("sequences")
    for seed in range(CASES):
        case = Case(seed)
        data = root / f"{seed}" / "test_data_set_0"
        data.mkdir(parents=True)
        onnx.save(case.model(), data.parent / "model.onnx")
        for file, value in {"input_0": case.x, "output_0": case.y,
                            "output_1": case.length}.items():
            tensor = numpy_helper.from_array(numpy.ascontiguousarray(value).reshape(value.shape))
            (data / f"{file}.pb").write_bytes(tensor.SerializeToString())
    result = subprocess.run([COMMAND, "test", "--rtol", "0", "--atol", "0", str(root)],
                            capture_output=True, text=True, check=False)
    return result.stdout.splitlines()


def test_all_agree_with_numpy(report):
    assert [line for line in report if not line.startswith("ok")] == report[-1:]
    assert report[-1].split()[0] == str(CASES)


def test_a_sequence_of_very_many_tensors(tmp_path):
    """It would take too long to give back."""
    case = helper.make_graph(
        [helper.make_node("SplitToSequence", ["x"], ["s"]),
         helper.make_node("SequenceLength", ["s"], ["y"])], "graph",
        [helper.make_tensor_value_info("x", onnx.TensorProto.INT8, ["n"])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [])])
    onnx.save(helper.make_model(case, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              tmp_path / "m.onnx")
    for count, code in ((1 << 19, 0), ((1 << 19) + 1, 1)):
        numpy.save(tmp_path / "x.npy", numpy.zeros(count, numpy.int8))
        done = subprocess.run([COMMAND, "run", tmp_path / "m.onnx", "-i",
                               f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert code == 0 or "524289 tensors, at most 524288 are supported" in done.stderr
