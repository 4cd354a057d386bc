"""Compares what a model computes here with what is expected of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy

from .. import _check, _source
from .._model import NodeInfo
from .comparison import Comparison, NodeChange
from .difference import Difference, Tolerance, measure
from .isolate import OWN, Isolation, folder_names
from .recording import Recording
from .sides import PEERS, Arrays, Latchkey, Peer, Reference, open_peer
from .speed import race

if TYPE_CHECKING:
    from onnx import ModelProto

Progress = Callable[[str, int, int], None]
Model = Union[str, "os.PathLike[str]", bytes, "ModelProto"]
_DO = "compare"
_MOST_TOLERANCE = 1e300  # an infinite one times 0 would be NaN


def compare(model: Model, inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]], *,
            expected: Model = "onnxruntime", every_value: bool = False, rtol: float = 1e-3,
            atol: float = 1e-5, runs: int | None = None,
            directory: str | os.PathLike[str] | None = None, progress: Progress | None = None,
            **session_options: Any) -> Comparison:
    """Compares a model's results and speed with those of ONNX Runtime, ONNX's reference or another
    model.

    Floats may differ by ``atol + rtol * |expected|`` (of bf16, with 16 times the ``rtol``); NaN
    equals NaN and an infinity itself; integers and bools must be equal.

    Outputs are compared as both sides compute them for those who use them. With ``every_value``,
    so are all values that are left after the passes, in sessions that give them as outputs too
    (of ONNX Runtime without its optimizations). Each node whose value leaves the tolerance then
    runs alone: on the expected inputs, which shows whether it is at fault itself, and on those that
    it had, which shows whether the rest of the model matters.

    :param model: path of an ONNX file, its bytes, or an ``onnx.ModelProto``.
    :param inputs: an array for each input of the model; a sequence of these: several requests.
    :param expected: ``"onnxruntime"``, ``"reference"``, or another model, as ``model`` is given,
        which runs here as well and whose values are compared by name.
    :param every_value: intermediate values too. Needs the package onnx, and memory for one more
        session of each side.
    :param runs: how often each side runs for its speed; None: as often as one second has room for,
        3 to 100 times; 0: not at all. ONNX's reference is not measured: it is not made for speed.
    :param directory: where a reduced model of each node that is at fault is written, as an ONNX
        test case in a folder of its own: that of the first node that leaves the tolerance where
        none is at fault itself. Needs ``every_value``.
    :param progress: called with what is done, how much of it is done, and how much there is.
    :param session_options: options of :class:`Session` and of its context, such as ``engine`` and
        ``tuning``. With the engine auto, outputs are those of native unless all dimensions are
        fixed, as sizes have not recurred yet.
    :raises Error: the library failed; :class:`PeerError`: the other side did.
    :raises ModuleNotFoundError: a package of ``latchkey[compare]`` is not installed.
    """
    every_value = _check.flag(_DO, "every_value", every_value)
    folder = None if directory is None else Path(_check.path(_DO, "directory", directory))
    if folder is not None and not every_value:
        raise ValueError("failed to compare: 'directory' is given, every_value is needed for it")
    if runs is not None:
        runs = _check.whole(_DO, "runs", runs)
    tolerance = Tolerance(_check.real(_DO, "rtol", rtol, 0.0, _MOST_TOLERANCE),
                          _check.real(_DO, "atol", atol, 0.0, _MOST_TOLERANCE))
    if progress is not None:
        _check.function(_DO, "progress", progress)
    source = _source_of("model", model)
    other = (expected if isinstance(expected, str) and expected in PEERS else
             _source_of("expected", expected))
    requests = _requests(inputs)
    ours = Latchkey(source, session_options)
    peer = open_peer(other, source, session_options, ours.plain.context.threads)
    work = _Work(ours, peer, requests, tolerance, progress or (lambda *_: None))
    result = Comparison(
        "(bytes)" if isinstance(source, bytes) else source, peer.title,
        ours.plain.context.threads, ours.plain.context.engine,
        [{name: array.shape for name, array in one.items()} for one in requests],
        work.tolerance, [])
    work.compare_outputs(result)
    if every_value:
        work.compare_values(result, session_options)
        if folder is not None:
            _write_cases(result, folder)
    if runs != 0 and not isinstance(peer, Reference):
        work.measure_speed(result, runs)
    return result


def _source_of(name: str, model: Any) -> str | bytes:
    source = _source.read(_DO, name, model)
    return source if isinstance(source, str) else bytes(source)


def _requests(inputs: Any) -> list[dict[str, numpy.ndarray]]:
    if isinstance(inputs, Mapping):
        return [_arrays("inputs", inputs)]
    wanted = "a dict {input name: array}, or a list of these,"
    if isinstance(inputs, (str, bytes, numpy.ndarray)) or not isinstance(inputs, Sequence):
        raise _check.wrong_kind(_DO, "inputs", inputs, wanted)
    if not inputs:
        raise _check.wrong_value(_DO, "inputs", inputs, wanted)
    return [_arrays(f"inputs[{number}]", _check.mapping(
        _DO, f"inputs[{number}]", one, "a dict {input name: array}"))
        for number, one in enumerate(inputs)]


def _arrays(name: str, inputs: Mapping[Any, Any]) -> dict[str, numpy.ndarray]:
    _check.names(_DO, name, inputs)
    found = {}
    for key, value in inputs.items():
        try:
            found[key] = numpy.asarray(value)
        except Exception as error:  # rows of different lengths, or what an object's own code raises
            raise TypeError(f"failed to {_DO}: '{name}' has {_check.shown(value)} for '{key}', "
                            f"which gives no array: {error}") from error
    return found


class _Table:
    """Differences by name, each over all requests."""

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self.found: dict[str, Difference] = {}

    def add(self, request: int, name: str, ours: numpy.ndarray | None,
            theirs: numpy.ndarray | None) -> Difference:
        """None: this side does not have it."""
        one = measure(name, ours, theirs, self._tolerance, request)
        if name in self.found:
            self.found[name].add(one)
        else:
            self.found[name] = dataclasses.replace(one)
        return one


class _Work:
    """The steps, which all have the same two sides, requests and tolerance."""

    def __init__(self, ours: Latchkey, peer: Peer, requests: Sequence[Arrays],
                 tolerance: Tolerance, progress: Progress) -> None:
        self.ours, self.peer, self.requests = ours, peer, requests
        self.tolerance, self.progress = tolerance, progress

    def compare_outputs(self, result: Comparison) -> None:
        table = _Table(self.tolerance)
        for request, inputs in enumerate(self.requests):
            self.progress("outputs", request, len(self.requests))
            found, expected = self.ours.outputs(inputs), self.peer.outputs(inputs)
            for name in {**found, **expected}:
                table.add(request, name, found.get(name), expected.get(name))
        result.outputs = list(table.found.values())

    def compare_values(self, result: Comparison, options: Mapping[str, Any]) -> None:
        file = self.ours.read_file()
        mine, others = self.ours.value_names(), self.peer.value_names(file)
        names = [name for name in mine if name in others]
        _note(result.only_here, *(node.output_name for node in self.ours.plain.nodes
                                  if node.output_name not in others))
        _note(result.only_expected, *sorted(others.difference(mine), key=file.place_of))
        self.ours.keep(names)
        self.peer.keep(file, names)
        table = _Table(self.tolerance)
        judged: set[str] = set()
        for request, inputs in enumerate(self.requests):
            known = {name: array for name, array in inputs.items() if name in file.inputs}
            found = Recording(lambda wanted: self.ours.values(inputs, wanted), known)
            expected = Recording(lambda wanted: self.peer.values(inputs, wanted), known)
            differing: dict[str, Difference] = {}
            have: list[str] = []
            for (name, value), (_, right) in zip(found.each(names), expected.each(names)):
                self.progress("values", request * len(names) + len(have),
                              len(self.requests) * len(names))
                if right is None:
                    _note(result.only_here, name)
                    continue
                have.append(name)
                one = table.add(request, name, value, right)
                if one.differs:
                    differing[name] = one
            isolation = Isolation(file, options, self.tolerance, request, found, expected,
                                  {*have, *known}, differing)
            nodes = self._nodes_by_value()
            new = [name for name in differing if name not in judged]
            for done, name in enumerate(new):
                self.progress("nodes alone", done, len(new))
                verdict = isolation.judge(nodes[name], name)
                # It has the node's weights: only those that are written stay in memory.
                if verdict.fault != OWN and any(one.reduced for one in result.verdicts):
                    verdict.reduced = None
                result.verdicts.append(verdict)
            judged.update(new)
        result.values = list(table.found.values())
        result.verdicts.sort(key=lambda one: file.place_of(one.value))
        result.changes = _changes(self.ours.plain.nodes, self.ours.kept.nodes)

    def _nodes_by_value(self) -> dict[str, NodeInfo]:
        """The node that computes each value, also where the value is not the node's first."""
        file = self.ours.read_file()
        by_value: dict[str, NodeInfo] = {}
        for node in (*self.ours.plain.nodes, *self.ours.kept.nodes):  # the latter go before
            place = file.producers.get(node.output_name)
            outputs = file.proto.graph.node[place].output if place is not None else ()
            by_value.update(dict.fromkeys((*outputs, node.output_name), node))
        return by_value

    def measure_speed(self, result: Comparison, runs: int | None) -> None:
        for request, inputs in enumerate(self.requests):
            self.progress("speed", request, len(self.requests))
            result.speed.append(
                race(request, self.ours.runner(inputs), self.peer.runner(inputs), runs))


def _note(names: list[str], *new: str) -> None:
    names.extend(name for name in dict.fromkeys(new) if name not in names)


def _changes(plain: Iterable[NodeInfo], kept: Iterable[NodeInfo]) -> list[NodeChange]:
    """The nodes that are not in both lists."""
    before = {node.output_name: node for node in plain}
    after = {node.output_name: node for node in kept}
    return [NodeChange(before.get(name), after.get(name)) for name in {**before, **after}
            if before.get(name) != after.get(name)]


def _write_cases(result: Comparison, directory: Path) -> None:
    """One for each node that is at fault; without such, for the first that can run alone."""
    reducible = [(one, one.reduced) for one in result.verdicts if one.reduced is not None]
    cases = [(one, reduced) for one, reduced in reducible if one.fault == OWN] or reducible[:1]
    for (verdict, reduced), name in zip(cases, folder_names([one.value for one, _ in cases])):
        reduced.write(directory / name)
        verdict.case = os.fspath(directory / name)
