"""Whether a node is at fault itself: it runs alone, on what was expected and on what it was given.

A node here is one that runs after the passes; it stands for all nodes of the file between the
values that it reads and the values that it gives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from .._errors import Error, FileError
from .._files import write_whole
from .._model import NodeInfo
from .difference import Difference, Tolerance, measure
from .model_file import ModelFile, open_small, save
from .packages import need
from .recording import Recording

if TYPE_CHECKING:
    from onnx import ModelProto

OWN = "node"
"""On the expected inputs the node alone leaves the tolerance: it is at fault itself."""
INHERITED = "inputs"
"""Alone it agrees, on the expected inputs with what was expected, on its own with what it gave: the
error was in its inputs, and may have grown."""
CONTEXT = "context"
"""Alone it agrees with what was expected, and does not give what it gave in the whole model: the
fault needs the rest of the model, as memory or layouts that are shared."""
UNKNOWN = "unknown"
"""It could not run alone; ``problem`` says why."""


@dataclasses.dataclass
class FileNode:
    """A node of the file."""

    op_type: str
    name: str
    outputs: list[str]


@dataclasses.dataclass
class Verdict:
    """What became of a node whose value leaves the tolerance."""

    value: str
    node: NodeInfo
    request: int
    fault: str
    stands_for: list[FileNode]
    inputs: list[str]
    """The values that it reads, in the order of the file; those that are constants are not here."""
    inputs_that_differ: list[str]
    """Those of them that leave the tolerance."""
    in_model: Difference
    """The value in the whole model, in this request."""
    alone: Difference | None = None
    """The value when the node alone gets the expected inputs."""
    runs_alone_as: list[str] = dataclasses.field(default_factory=list)
    """The nodes of the reduced model after the passes, with what is fused into them."""
    problem: str | None = None
    case: str | None = None
    """The folder of the reduced model."""
    reduced: ReducedModel | None = dataclasses.field(default=None, repr=False)
    """The node alone, of those that are at fault themselves, and of the first that could run
    alone; ``reduced.write(folder)`` makes a test case of it."""

    def to_dict(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in (
            "value", "request", "fault", "inputs", "inputs_that_differ", "runs_alone_as",
            "problem", "case")}
        return {**plain, "node": self.node._asdict(),
                "stands_for": [dataclasses.asdict(one) for one in self.stands_for],
                "in_model": self.in_model.to_dict(),
                "alone": self.alone.to_dict() if self.alone else None}


class ReducedModel:
    """A node alone, with the inputs and outputs that were expected of it."""

    def __init__(self, model: ModelProto, inputs: Mapping[str, numpy.ndarray],
                 outputs: Mapping[str, numpy.ndarray]) -> None:
        self.model, self.inputs, self.outputs = model, inputs, outputs

    def write(self, folder: Path) -> None:
        """Writes an ONNX test case, as ``latchkey test`` reads them."""
        to_tensor = need("onnx.numpy_helper").from_array
        data = folder / "test_data_set_0"
        try:
            data.mkdir(parents=True, exist_ok=True)
            for old in (*data.glob("input_*.pb"), *data.glob("output_*.pb")):
                old.unlink()
            save(self.model, folder / "model.onnx")
            for kind, arrays in (("input", self.inputs), ("output", self.outputs)):
                for i, (name, array) in enumerate(arrays.items()):
                    tensor = to_tensor(numpy.ascontiguousarray(array).reshape(array.shape), name)
                    write_whole(data / f"{kind}_{i}.pb", tensor.SerializeToString(), "a tensor")
        except OSError as error:
            raise FileError(f"failed to write the reduced model into '{folder}': {error.strerror}",
                            "LK_IO") from None


def _shown(node: NodeInfo) -> str:
    return "+".join(part for part in (node.op_type, node.fused) if part)


class Isolation:
    """Judges nodes of a model, in one request.

    :param ours, theirs: all values of the request, inputs of the model included.
    :param boundary: the values that both sides have, inputs of the model included.
    """

    def __init__(self, file: ModelFile, options: Mapping[str, Any], tolerance: Tolerance,
                 request: int, ours: Recording, theirs: Recording, boundary: set[str],
                 differing: Mapping[str, Difference]) -> None:
        self._file, self._options, self._tolerance = file, options, tolerance
        self._request, self._ours, self._theirs = request, ours, theirs
        self._boundary, self._differing = boundary, differing

    def judge(self, node: NodeInfo, value: str) -> Verdict:
        """Runs the node that computes ``value``, which leaves the tolerance, alone."""
        file = self._file
        places = file.nodes_between([value], self._boundary)
        inputs = file.inputs_of(places, self._boundary)
        nodes = [file.proto.graph.node[place] for place in places]
        verdict = Verdict(
            value, node, self._request, UNKNOWN,
            [FileNode(one.op_type, one.name, [name for name in one.output if name])
             for one in nodes],
            inputs, [name for name in inputs if name in self._differing], self._differing[value])
        expected = self._theirs.get([*inputs, value])
        output = {value: expected.pop(value)}
        try:
            reduced = ReducedModel(file.cut(places, expected, output), expected, output)
            self._run_alone(reduced, verdict)
        except Error as error:
            verdict.problem = str(error)
        else:
            verdict.reduced = reduced
        return verdict

    def _run_alone(self, reduced: ReducedModel, verdict: Verdict) -> None:
        value = verdict.value
        session = open_small(reduced.model, self._options)
        verdict.runs_alone_as = [_shown(node) for node in session.nodes]
        alone = session.run(reduced.inputs)[value]
        verdict.alone = measure(value, alone, reduced.outputs[value], self._tolerance,
                                self._request)
        if verdict.alone.differs:
            verdict.fault = OWN
            return
        given = self._ours.get([*verdict.inputs, value])
        in_model = given.pop(value)
        if any(given[name].shape != array.shape or given[name].dtype != array.dtype
               for name, array in reduced.inputs.items()):
            verdict.fault = INHERITED  # the reduced model is for other shapes
            return
        again = measure(value, session.run(given)[value], in_model, self._tolerance)
        verdict.fault = CONTEXT if again.differs else INHERITED


def folder_names(values: Sequence[str]) -> list[str]:
    """A name for a folder for each value, from letters, digits, '.', '_' and '-' alone."""
    taken: set[str] = set()
    names = []
    for value in values:
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_"
                        for c in value)[:200]
        plain = "_" + plain[1:] if plain.startswith(".") else plain or "_"
        name, count = plain, 1
        while name.lower() in taken:
            count += 1
            name = f"{plain}-{count}"
        taken.add(name.lower())
        names.append(name)
    return names
