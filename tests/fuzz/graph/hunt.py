"""A seed: its graph and its mutants, judged, and what is found made small and written."""

from __future__ import annotations

import collections
import shutil
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper

import reference
import third
from graph import Graph, grow
from judge import compare, context, judge, judge_mutant, run
from minimize import minimize
from mutate import mutate
from reference import Values

MUTANTS = 3


def write(folder: Path, model: onnx.ModelProto, feeds: Values, right: Values) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", feeds), ("output", right)):
        for i, (name, value) in enumerate(values.items()):
            tensor = numpy_helper.from_array(numpy.asarray(value), name)
            (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())


def _who_agrees(graph: Graph, folder: Path) -> str | None:
    """Who gives what Latchkey gives, and not what the reference gives; None: nobody."""
    try:
        found = run(graph.model(), graph.feeds(), context=context("shared"))[0]
    except Exception:  # of any class: refused
        return None
    for who, other in (("ONNX Runtime", third.ask(folder)),
                       ("its body", reference.run_bodies(graph.model(), graph.feeds()))):
        if other is None:
            continue
        same = {name: other[name] for name in graph.outputs}
        spreads = {name: graph.spreads[name] if graph.spreads[name].shape == value.shape
                   else numpy.zeros(value.shape) for name, value in same.items()}
        if compare(found, same, spreads) is None:
            return who
    return None


def _hunt_valid(seed: int, graph: Graph, found: Path, counts: collections.Counter) -> str | None:
    wrong = judge(graph)
    if wrong is None:
        return None
    small = minimize(graph, judge)
    folder = found / str(seed)
    right = {name: small.values[name] for name in small.outputs}
    write(folder, small.model(), small.feeds(), right)
    operators = "+".join(node.op_type for node in small.nodes)
    who = _who_agrees(small, folder)
    if who is not None:
        counts[f"of {operators} where {who} differs from the reference, too"] += 1
        shutil.rmtree(folder)
        return None
    return f"{operators}: {judge(small) or wrong} ({folder})"


def hunt(seed: int, found: Path, counts: collections.Counter) -> str | None:
    """What is wrong; None: nothing."""
    rng = numpy.random.default_rng(seed)
    graph = grow(rng)
    counts["graphs"] += 1
    counts["nodes"] += len(graph.nodes)
    wrong = _hunt_valid(seed, graph, found, counts)
    for i in range(MUTANTS):
        mutant = mutate(rng, graph)
        if mutant is None or wrong is not None:
            continue
        counts["mutants"] += 1
        wrong = judge_mutant(mutant)
        if wrong is not None:
            folder = found / f"{seed}-{i}"
            write(folder, mutant.model, mutant.feeds, {})
            wrong = f"mutant {i}: {wrong} ({folder})"
    return wrong
