"""Runs a model in Latchkey, and says what is wrong with it."""

from __future__ import annotations

import numpy
import onnx

import latchkey
import reference
from graph import Graph
from mutate import Mutant
from reference import Values

_contexts: dict[str, latchkey.Context] = {}


def context(cache: str) -> latchkey.Context:
    """One for all graphs: names come again with other nodes and shapes behind them."""
    if cache not in _contexts:
        _contexts[cache] = latchkey.Context(threads=1, cache=cache)
    return _contexts[cache]


def run(model: onnx.ModelProto, feeds: Values, **options) -> list[Values]:
    """What two runs give."""
    with latchkey.Session(model.SerializeToString(), **options) as session:
        return [dict(session.run(feeds)) for _ in range(2)]


WAYS = ({"cache": "shared"}, {"cache": "shared", "run_plans": False},
        {"cache": "thread", "executor": "parallel"})


def compare(found: Values, right: Values, spreads: Values) -> str | None:
    for name, value in right.items():
        if name not in found:
            return f"{name} is missing"
        wrong = reference.difference(numpy.asarray(found[name]), value, spreads[name])
        if wrong is not None:
            return f"{name}: {wrong}"
    return None


def judge(graph: Graph) -> str | None:
    """What is wrong with a valid graph in Latchkey; None: nothing."""
    model, right = graph.model(), {name: graph.values[name] for name in graph.outputs}
    for way in WAYS:
        options = dict(way)
        options["context"] = context(options.pop("cache"))
        try:
            results = run(model, graph.feeds(), **options)
        except latchkey.Error as error:
            return f"{way}: refused: {error}"
        except Exception as error:  # of any class: what else is raised is wrong
            return f"{way}: {type(error).__name__}: {error}"
        for found in results:
            wrong = compare(found, right, graph.spreads)
            if wrong is not None:
                return f"{way}: {wrong}"
    return None


# ---- mutants ----

LOOSE = 1e-3  # what a mutant's values may differ by, relative to them: nobody knows its spreads


def _right_of(model: onnx.ModelProto, feeds: Values) -> Values | None:
    """What the reference gives; None: it refuses the model, or what it takes is not valid."""
    try:
        onnx.checker.check_model(model, full_check=True)
        found = reference.run(model, feeds)
    except Exception:  # of any class: the question is only whether
        return None
    return dict(zip((output.name for output in model.graph.output), map(numpy.asarray, found)))


def judge_mutant(mutant: Mutant) -> str | None:
    """What is wrong with what Latchkey does with a mutant: it is refused by a sentence, or right.
    What nobody can judge may run."""
    try:
        found = run(mutant.model, mutant.feeds, context=context("shared"))[0]
    except latchkey.Error as error:
        return None if str(error) else f"{mutant.what}: refused without a sentence"
    except ValueError as error:  # of an array that is no tensor: its rank or type
        return None if "failed to run: input" in str(error) else f"{mutant.what}: {error}"
    except Exception as error:  # of any class: what else is raised is wrong
        return f"{mutant.what}: {type(error).__name__}: {error}"
    if mutant.must_be_refused:
        return f"{mutant.what}: not refused"
    right = _right_of(mutant.model, mutant.feeds)
    if right is None or any(value.dtype.kind not in "biuf" for value in right.values()):
        return None
    if any(not numpy.isfinite(value).all() for value in right.values() if value.dtype.kind == "f"):
        return None
    spreads = {name: LOOSE * (1 + numpy.abs(value.astype(numpy.float64)))
               for name, value in right.items()}
    wrong = compare(found, right, spreads)
    return None if wrong is None else f"{mutant.what}: {wrong}"
