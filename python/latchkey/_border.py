"""What it costs ONNX Runtime to hand a group of nodes to the provider, as measured here and now."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy

GROUPS = 16  # of one small node each, with a node between them that the provider does not have
_BLOCKS, _RUNS_IN_BLOCK = 21, 64
_FLOAT = 1  # TensorProto.FLOAT


# ---- a model, without the package onnx ----


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _node(op_type: str, source: str, target: str, domain: str = "") -> bytes:
    """A NodeProto."""
    return _bytes(1, source) + _bytes(2, target) + _bytes(4, op_type) + _bytes(7, domain)


def _value(name: str) -> bytes:
    """A ValueInfoProto: 1x16 floats."""
    shape = b"".join(_bytes(1, _number(1, size)) for size in (1, 16))
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, _FLOAT) + _bytes(2, shape)))


def model() -> bytes:
    """GROUPS times a Relu and a Binarizer, of which the provider has only the first."""
    nodes, last = b"", "x"
    for i in range(GROUPS):
        nodes += _bytes(1, _node("Relu", last, f"a{i}"))
        last = "y" if i == GROUPS - 1 else f"b{i}"
        nodes += _bytes(1, _node("Binarizer", f"a{i}", last, "ai.onnx.ml"))
    graph = nodes + _bytes(2, "borders") + _bytes(11, _value("x")) + _bytes(12, _value("y"))
    opsets = _bytes(8, _number(2, 17)) + _bytes(8, _bytes(1, "ai.onnx.ml") + _number(2, 1))
    return _number(1, 8) + _bytes(7, graph) + opsets


# ---- the measurement ----


def _block_ns(session: Any, inputs: dict[str, numpy.ndarray]) -> float:
    start = time.perf_counter_ns()
    for _ in range(_RUNS_IN_BLOCK):
        session.run(None, inputs)
    return (time.perf_counter_ns() - start) / _RUNS_IN_BLOCK


def cost_ns(on_provider: Any, on_cpu: Any) -> float:
    """Nanoseconds that a run spends for a group more than for the same node without the provider:
    the median of the differences between blocks of runs, which take turns.

    :param on_provider: a session of :func:`model` on the provider; ``on_cpu``: one without it.
    """
    inputs = {"x": numpy.zeros((1, 16), numpy.float32)}
    for session in (on_provider, on_cpu):
        _block_ns(session, inputs)
    differences = [_block_ns(on_provider, inputs) - _block_ns(on_cpu, inputs)
                   for _ in range(_BLOCKS)]
    return max(0.0, statistics.median(differences) / GROUPS)
