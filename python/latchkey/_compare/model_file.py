"""An ONNX model whose graph is read, opened with more outputs, and cut to some of its nodes.

Data that lies in files beside the model stays there: it is neither loaded nor copied, but what a
few nodes need.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from .._errors import FileError, MalformedError
from .._files import write_whole
from .._session import Session
from .._source import MOST_BYTES
from .packages import need

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

def _defined(graph: GraphProto) -> set[str]:
    names = {value.name for value in graph.input} | {one.name for one in graph.initializer}
    return names.union(*(node.output for node in graph.node))


def reads(node: NodeProto) -> set[str]:
    """The values that a node reads, those that its bodies take from outside included."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            inside = set().union(*(reads(inner) for inner in body.node))
            inside.update(value.name for value in body.output)
            names |= inside - _defined(body)
    return names


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Those of bodies too."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _nodes(body)


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in _nodes(graph):
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)


class ModelFile:
    """The model at a path, or in bytes.

    :raises FileError, MalformedError: the file cannot be read, or is not ONNX.
    :raises ModuleNotFoundError: the package onnx is not installed.
    """

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        onnx = need("onnx")
        self.source = source
        self.path = None if isinstance(source, bytes) else Path(source)
        shown = self.path or "(bytes)"
        try:
            data = source if isinstance(source, bytes) else Path(source).read_bytes()
            self.proto: ModelProto = onnx.load_model_from_string(data)
        except OSError as error:
            raise FileError(f"failed to read model '{shown}': {error.strerror}", "LK_IO") from None
        except Exception as error:  # protobuf has no class of its own for it in every version
            raise MalformedError(f"failed to read model '{shown}' with the package onnx: {error}",
                                 "LK_MALFORMED") from None
        graph = self.proto.graph
        self.producers = {name: i for i, node in enumerate(graph.node) for name in node.output
                          if name}
        """Which node computes a value, by its place in the file, which is a topological order."""
        self.inputs = [value.name for value in graph.input]
        self.outputs = [value.name for value in graph.output]
        self._initializers = {one.name: one for one in graph.initializer}
        self._sparse = {one.values.name: one for one in graph.sparse_initializer}
        self.external = any(one.data_location == one.EXTERNAL for one in _tensors(graph))
        """Some data lies in files beside the model."""

    def place_of(self, name: str) -> int:
        """Of the node that computes it; behind all others for a value that is not in the file."""
        return self.producers.get(name, len(self.proto.graph.node))

    @property
    def folder(self) -> Path:
        """Where files beside the model are looked for."""
        return self.path.parent if self.path else Path()

    def tensor_names(self) -> set[str]:
        """The values that nodes compute and that are tensors: no sequences, nothing optional."""
        names = set(self.producers)
        if not any("Sequence" in node.op_type or "Optional" in node.op_type
                   for node in _nodes(self.proto.graph)):
            return names
        inferred = need("onnx.shape_inference").infer_shapes(self.proto).graph
        return names - {value.name for value in (*inferred.value_info, *inferred.output)
                        if value.type.WhichOneof("value") not in (None, "tensor_type")}

    @contextlib.contextmanager
    def _with_outputs(self, names: Iterable[str]) -> Iterator[ModelProto]:
        """The model with more outputs, as long as the block runs: copies may be large."""
        outputs = self.proto.graph.output
        count = len(outputs)
        for name in names:
            if name not in self.outputs:
                outputs.add().name = name
        try:
            yield self.proto
        finally:
            del outputs[count:]

    def serialize(self, names: Iterable[str]) -> bytes:
        """The model with these values as outputs as well; without the data beside it."""
        with self._with_outputs(names) as proto:
            serialized: bytes = proto.SerializeToString()
            return serialized

    def open(self, names: Iterable[str], options: Mapping[str, Any]) -> Session:
        """A session that gives these values too.

        Files beside a model must lie in its folder. So for such a model a small file is written
        there, and removed when the session is open.
        """
        data = self.serialize(names)
        if not self.external or self.path is None:
            return Session(data, **options)
        try:
            handle, path = tempfile.mkstemp(".onnx", ".latchkey-compare-", self.folder)
        except OSError as error:
            raise FileError(f"failed to write a copy of the model's graph beside its data in "
                            f"'{self.folder}': {error.strerror}", "LK_IO") from None
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            return Session(path, **options)
        finally:
            os.unlink(path)

    def load_with_data(self) -> ModelProto:
        """The whole model, with the data beside it in memory."""
        onnx = need("onnx")
        loaded: ModelProto = onnx.ModelProto()
        loaded.CopyFrom(self.proto)
        onnx.load_external_data_for_model(loaded, os.fspath(self.folder))
        return loaded

    def nodes_between(self, outputs: Iterable[str], known: Container[str]) -> list[int]:
        """The nodes that compute these values from others that are known, in the file's order."""
        found: set[int] = set()
        wanted = list(outputs)
        while wanted:
            place = self.producers.get(wanted.pop())
            if place is None or place in found:
                continue
            found.add(place)
            wanted += (name for name in reads(self.proto.graph.node[place]) if name not in known)
        return sorted(found)

    def inputs_of(self, places: Iterable[int], known: Container[str]) -> list[str]:
        """The values among ``known`` that these nodes read, in the order in which they do."""
        read: dict[str, None] = {}
        for place in places:
            node = self.proto.graph.node[place]
            names = (*node.input, *sorted(reads(node)))  # the latter: those of bodies
            read.update(dict.fromkeys(name for name in names if name in known))
        return list(read)

    def cut(self, places: Iterable[int], inputs: Mapping[str, numpy.ndarray],
            outputs: Mapping[str, numpy.ndarray]) -> ModelProto:
        """A model of these nodes alone, with types and shapes as the arrays have them."""
        onnx = need("onnx")
        nodes = [_without(self.proto.graph.node[place], inputs) for place in places]
        names = set().union(*map(reads, nodes)) - set(inputs)
        graph = onnx.helper.make_graph(nodes, "reduced", [_declare(*one) for one in inputs.items()],
                                       [_declare(*one) for one in outputs.items()])
        graph.initializer.extend(self._initializers[name] for name in sorted(names)
                                 if name in self._initializers)
        graph.sparse_initializer.extend(self._sparse[name] for name in sorted(names)
                                        if name in self._sparse)
        model: ModelProto = onnx.helper.make_model(
            graph, opset_imports=self.proto.opset_import, functions=self.proto.functions)
        model.ir_version = self.proto.ir_version
        if self.path:
            onnx.load_external_data_for_model(model, os.fspath(self.folder))
        return model


def _without(node: NodeProto, names: Container[str]) -> NodeProto:
    """A copy that does not compute these values, which come from elsewhere."""
    copy = type(node)()
    copy.CopyFrom(node)
    for i, name in enumerate(node.output):
        if name and name in names:
            copy.output[i] = f"{name}:unused"
    return copy


def _declare(name: str, array: numpy.ndarray) -> Any:
    helper = need("onnx").helper
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                         array.shape)


def save(model: ModelProto, path: Path) -> None:
    """Writes a model to a file; what is too large for one goes into ``weights.bin`` beside it."""
    if model.ByteSize() <= MOST_BYTES:
        write_whole(path, model.SerializeToString(), "a model")
    else:
        need("onnx").save_model(model, os.fspath(path), location="weights.bin",
                                save_as_external_data=True)


def open_small(model: ModelProto, options: Mapping[str, Any]) -> Session:
    """A session of a model that lies in no file."""
    if model.ByteSize() <= MOST_BYTES:
        return Session(model.SerializeToString(), **options)
    with tempfile.TemporaryDirectory(prefix="latchkey-") as folder:
        save(model, Path(folder, "model.onnx"))
        return Session(Path(folder, "model.onnx"), **options)
