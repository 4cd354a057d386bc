"""ONNX's node cases of every operator in the table, through ONNX Runtime with the provider.

Prints a table by operator (pytest -s) and writes it to the build folder, as ort_backend_<version of
ONNX Runtime>.md. What the outcomes are: node_cases.py.
"""

import collections
import json
import os
import pathlib
import subprocess

import onnxruntime
import pytest
from node_cases import OUTCOMES, judge_all, judge_with_work

# What cases do that are not of Latchkey: casts that overflow, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

REPORT = pathlib.Path(os.environ["LK_TEST_BUILD"], f"ort_backend_{onnxruntime.__version__}.md")

LEAST_CLAIMED = 0.9
# Fewer would mean that cases are no longer collected.
LEAST_CASES = 1000
LEAST_MOVING_CASES = 50


@pytest.fixture(scope="module")
def table():
    done = subprocess.run([os.environ["LATCHKEY_COMMAND"], "ops", "--json"], check=True,
                          capture_output=True)
    return {(row["domain"], row["operator"]): row for row in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def results(table):
    found = list(judge_all(table))
    text = describe(table, found)
    REPORT.write_text(text)
    print("\n" + text)
    return found


def describe(table, results):
    """The table, and what was not claimed and why."""
    counts = collections.defaultdict(collections.Counter)
    for _, operator in table:
        counts[operator] = collections.Counter()
    reasons = collections.Counter()
    for result in results:
        counts[result.operator][result.outcome] += 1
        if result.outcome not in ("claimed", "no work"):
            reasons[result.outcome, result.operator, result.why[:300]] += 1
    lines = [f"# ONNX's node cases through ONNX Runtime {onnxruntime.__version__}", "",
             f"| {'operator':<42} | {' | '.join(OUTCOMES)} |",
             f"|{'-' * 44}|{'|'.join('-' * (len(one) + 2) for one in OUTCOMES)}|"]
    total = sum(counts.values(), collections.Counter())
    for operator, count in [*sorted(counts.items()), ("total", total)]:
        numbers = " | ".join(f"{count[one]:{len(one)}}" for one in OUTCOMES)
        lines.append(f"| {operator:<42} | {numbers} |")
    lines.append("")
    lines += [f"- {outcome}: {count} {operator}: {why}"
              for (outcome, operator, why), count in sorted(reasons.items())]
    return "\n".join(lines) + "\n"


def test_cases_are_collected(results):
    assert len(results) >= LEAST_CASES


def test_no_case_fails(results):
    assert [result for result in results if result.outcome == "failed"] == []


# Why a node is left on purpose, or because a type of it is missing.
ON_PURPOSE = ("of a quantized group", "the shapes of its outputs follow from data",
              "of type f16", "of type bf16", "of type f64", "holds a graph")


def left_on_purpose(result):
    return result.outcome == "left" and any(reason in result.why for reason in ON_PURPOSE)


def test_cases_of_what_computes_are_claimed(table, results):
    """Of what this ONNX Runtime loads, but training. What computes shapes or indices may be left,
    and counts as left all the same: it is less than the tenth part."""
    computes = {operator for (_, operator), row in table.items() if row["worth_claiming"]}
    counted = [result for result in results
               if computes.intersection(result.operator.split())
               and result.outcome not in ("training", "not loadable")]
    others = [result for result in counted if result.outcome != "claimed"]
    share = 1 - len(others) / len(counted)
    assert share >= LEAST_CLAIMED, f"{share:.1%} of {len(counted)}: {others}"
    assert [result for result in others
            if result.outcome != "no work" and not left_on_purpose(result)] == []


def test_shape_arithmetic_is_claimed_with_what_uses_it(table):
    """What is left alone, but moves data where work follows: each such case with a product behind
    it."""
    results = [result for result in judge_with_work(table) if result.outcome != "not loadable"]
    assert len(results) >= LEAST_MOVING_CASES
    # ONNX Runtime 1.23 does not tell a model without inputs from a body of If.
    assert [result for result in results
            if result.outcome != "claimed" and not left_on_purpose(result)
            and not (result.case == "test_constant" and "1.24 or newer" in result.why)] == []
