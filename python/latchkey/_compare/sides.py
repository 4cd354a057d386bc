"""The two sides of a comparison: Latchkey, and ONNX Runtime, ONNX's reference or another model."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy

from .._errors import Error
from .._session import Session
from .model_file import ModelFile
from .packages import need

Model = str | bytes
"""A path, or the bytes of a model."""
Arrays = Mapping[str, numpy.ndarray]
Runner = Callable[[], object]
_BFLOAT16 = 16  # TensorProto.BFLOAT16


class Peer(Protocol):
    """Who says what is expected."""

    title: str

    def value_names(self, file: ModelFile) -> set[str]:
        """The values that it can give; ``file`` is the model that is compared."""

    def keep(self, file: ModelFile, names: Iterable[str]) -> None:
        """Lets :meth:`values` give these."""

    def outputs(self, inputs: Arrays) -> dict[str, Any]:
        """The model's outputs, as it computes them for those who use it. None: not a tensor."""

    def values(self, inputs: Arrays, names: Sequence[str]) -> dict[str, Any]:
        """Values that it keeps."""

    def runner(self, inputs: Arrays) -> Runner:
        """What runs the model as :meth:`outputs` does, and nothing else, to be measured."""


class PeerError(Error):
    """ONNX Runtime or ONNX's reference refused the model, or failed to run it."""

    def __init__(self, verb: str, title: str, error: Exception) -> None:
        super().__init__(f"failed to {verb} the model with {title}: {' '.join(str(error).split())}",
                         "LK_UNSUPPORTED")


class Latchkey:
    """A model run by this library."""

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        self._model, self._options = model, options
        self.plain = self.kept = Session(model, **options)
        self.file: ModelFile | None = None
        """Once values have been asked for."""

    def input_names(self) -> list[str]:
        return [value.name for value in self.plain.inputs]

    def read_file(self) -> ModelFile:
        if self.file is None:
            self.file = ModelFile(self._model)
        return self.file

    def value_names(self) -> list[str]:
        """The values that exist when the model runs, in the order of the file: what its nodes
        compute after the passes. Values that the passes made are not in the file, nor here."""
        file = self.read_file()
        producers, nodes = file.producers, file.proto.graph.node
        names = set()
        for node in self.plain.nodes:
            place = producers.get(node.output_name)
            if place is None:
                continue
            names.add(node.output_name)
            if not node.fused and node.op_type == nodes[place].op_type:
                names.update(name for name in nodes[place].output if name)
        names &= file.tensor_names()
        return sorted(names, key=lambda name: (producers[name],
                                               list(nodes[producers[name]].output).index(name)))

    def keep(self, names: Iterable[str]) -> None:
        """Lets :meth:`values` give these."""
        if set(names) - {value.name for value in self.plain.outputs}:
            self.kept = self.read_file().open(names, self._options)

    def outputs(self, inputs: Arrays) -> dict[str, numpy.ndarray]:
        return self.plain.run(inputs)

    def values(self, inputs: Arrays, names: Sequence[str]) -> dict[str, Any]:
        return self.kept.run(inputs, names)

    def runner(self, inputs: Arrays) -> Runner:
        return functools.partial(self.plain.run, inputs)


class OnnxRuntime:
    """A model run by ONNX Runtime's own kernels."""

    def __init__(self, model: Model, threads: int) -> None:
        self._runtime = need("onnxruntime")
        self.title = f"ONNX Runtime {self._runtime.__version__}"
        self._threads = threads
        self._plain = self._kept = self._open(model)

    def _open(self, model: str | bytes, folder: str | None = None) -> Any:
        """With a folder: to give the values of the file one by one, so without any fusion."""
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Its threads spin for the next work, also behind a run: not while the other side runs.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if folder is not None:
            options.graph_optimization_level = (
                self._runtime.GraphOptimizationLevel.ORT_DISABLE_ALL)
            options.add_session_config_entry(
                "session.model_external_initializers_file_folder_path", folder)
        try:
            return self._runtime.InferenceSession(model, options,
                                                  providers=["CPUExecutionProvider"])
        except Exception as error:
            raise PeerError("open", self.title, error) from None

    def value_names(self, file: ModelFile) -> set[str]:
        return set(file.producers)

    def keep(self, file: ModelFile, names: Iterable[str]) -> None:
        self._kept = self._open(file.serialize(names), os.fspath(file.folder.resolve()))

    def outputs(self, inputs: Arrays) -> dict[str, Any]:
        return self._run(self._plain, inputs)

    def values(self, inputs: Arrays, names: Sequence[str]) -> dict[str, Any]:
        return self._run(self._kept, inputs, names)

    def runner(self, inputs: Arrays) -> Runner:
        given = {name: self._give(array) for name, array in inputs.items()}
        return functools.partial(self._plain.run_with_ort_values, None, given)

    def _run(self, session: Any, inputs: Arrays,
             names: Sequence[str] | None = None) -> dict[str, Any]:
        """All outputs without `names`, which need not be texts."""
        try:
            if names is None:
                names = [one.name for one in session.get_outputs()]
            given = {name: self._give(array) for name, array in inputs.items()}
            return dict(zip(names, map(self._take, session.run_with_ort_values(names, given))))
        except Exception as error:
            raise PeerError("run", self.title, error) from None

    def _give(self, array: numpy.ndarray) -> Any:
        make = self._runtime.OrtValue
        array = numpy.ascontiguousarray(array)
        if array.dtype.name == "bfloat16":
            return make.ortvalue_from_numpy_with_onnx_type(array.view(numpy.uint16), _BFLOAT16)
        return make.ortvalue_from_numpy(array)

    def _take(self, value: Any) -> Any:
        """An array; of what is no tensor, None."""
        if not value.is_tensor():
            return None
        if value.data_type() != "tensor(bfloat16)":
            return value.numpy()
        dtype = numpy.dtype(need("ml_dtypes").bfloat16)
        shape = value.shape()
        data = ctypes.string_at(value.data_ptr(), dtype.itemsize * int(numpy.prod(shape)))
        return numpy.frombuffer(data, dtype).reshape(shape)


class Reference:
    """A model run by ONNX's reference implementation, in Python."""

    def __init__(self, model: Model) -> None:
        onnx = need("onnx")
        self.title = f"ONNX's reference {onnx.__version__}"
        try:
            self._evaluator = need("onnx.reference").ReferenceEvaluator(
                ModelFile(model).load_with_data())
        except Error:
            raise
        except Exception as error:
            raise PeerError("open", self.title, error) from None
        self._newest: tuple[Arrays | None, dict[str, Any]] = (None, {})

    def value_names(self, file: ModelFile) -> set[str]:
        return set(file.producers)

    def keep(self, file: ModelFile, names: Iterable[str]) -> None:
        """It gives all values anyway."""

    def outputs(self, inputs: Arrays) -> dict[str, Any]:
        return self.values(inputs, self._evaluator.output_names)

    def values(self, inputs: Arrays, names: Sequence[str]) -> dict[str, Any]:
        """A run takes long and computes all: the newest one's results are kept."""
        if self._newest[0] is not inputs:
            try:
                results = self._evaluator.run(None, dict(inputs), intermediate=True)
            except Exception as error:
                raise PeerError("run", self.title, error) from None
            self._newest = inputs, results
        results = self._newest[1]
        return {name: numpy.asarray(results[name])
                if isinstance(results[name], (numpy.ndarray, numpy.generic)) else None
                for name in names}

    def runner(self, inputs: Arrays) -> Runner:
        return functools.partial(self._evaluator.run, None, dict(inputs))


class OtherModel:
    """Another model, run by this library, of which values with the same names are expected."""

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        self.title = "(bytes)" if isinstance(model, bytes) else model
        self._own = Latchkey(model, options)
        self._inputs = self._own.input_names()

    def value_names(self, file: ModelFile) -> set[str]:
        """Those that its own passes leave."""
        return set(self._own.value_names())

    def keep(self, file: ModelFile, names: Iterable[str]) -> None:
        self._own.keep(names)

    def outputs(self, inputs: Arrays) -> dict[str, Any]:
        return self._own.outputs(self._known(inputs))

    def values(self, inputs: Arrays, names: Sequence[str]) -> dict[str, Any]:
        return self._own.values(self._known(inputs), names)

    def runner(self, inputs: Arrays) -> Runner:
        return self._own.runner(self._known(inputs))

    def _known(self, inputs: Arrays) -> Arrays:
        return {name: array for name, array in inputs.items() if name in self._inputs}


PEERS = ("onnxruntime", "reference")


def open_peer(expected: Model, model: Model, options: Mapping[str, Any], threads: int) -> Peer:
    """``"onnxruntime"``, ``"reference"``, or another model."""
    if expected == "onnxruntime":
        return OnnxRuntime(model, threads)
    if expected == "reference":
        return Reference(model)
    return OtherModel(expected, options)
