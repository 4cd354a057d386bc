"""ONNX's own test cases of its operators through ONNX Runtime with the provider, the newest and the
oldest that it is for.

A case counts where ONNX Runtime alone runs it and agrees with what is expected. Then it must do so
with the provider too, whatever that claims. Which operators are claimed is the matter of
tests/executor_glue/ort/test_backend.py; here are all cases, also those with branches and loops.
Prints the share of nodes that were claimed (pytest -s).
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("LK_TEST_SOURCE", pathlib.Path(__file__).parents[2]))
OLDEST = ROOT / ".deps/onnxruntime-oldest"  # by tools/setup

# Fewer would mean that cases are no longer collected, or that ONNX Runtime loads them no more.
LEAST_CASES = {"newest": 1540, "oldest": 1470}

# ONNX Runtime 1.23 does not tell a body of SequenceMap from a model, and refuses what it then has
# fused in it.
BODIES_OF_FUNCTIONS = {"test_sequence_map_add_2_sequences",
                       "test_sequence_map_add_1_sequence_1_tensor"}


def options():
    """Nodes as they are offered, on one thread: sessions live for one run."""
    from node_cases import as_offered
    chosen = as_offered()
    chosen.intra_op_num_threads = chosen.inter_op_num_threads = 1
    return chosen


def judge(case):
    """(outcome, nodes, nodes claimed, what went wrong)"""
    from node_cases import lower_opset, run, to_python
    from provider import open_reference, open_session, statistics
    model = lower_opset(case.model).SerializeToString()
    try:
        run(open_reference(model, options()), case)
    except Exception:  # of any class: the question is only whether
        return "not counted", 0, 0, ""
    try:
        session = open_session(model, of_session=options())
        feeds = {value.name: to_python(given)
                 for value, given in zip(session.get_inputs(), case.data_sets[0][0])}
        claims = statistics(session, feeds)["claims"]
        run(session, case)
    except Exception as error:  # what went wrong is the result, whatever it is
        return "failed", 0, 0, " ".join(str(error).split())
    return "passed", claims["nodes"], claims["claimed"], ""


def main():
    """In a process of its own: a line of JSON for what became of all cases."""
    import warnings

    import onnxruntime
    from onnx.backend.test.case.node import collect_testcases
    from onnx_cases import LEFT_OUT
    from provider import LIBRARY
    warnings.simplefilter("ignore")  # casts that overflow, on purpose
    onnxruntime.register_execution_provider_library("latchkey", LIBRARY)
    counts, nodes, claimed, failed = collections.Counter(), 0, 0, {}
    for case in collect_testcases(None):
        if case.model is None or case.name in LEFT_OUT:
            continue
        outcome, of_case, of_provider, why = judge(case)
        counts[outcome] += 1
        nodes += of_case
        claimed += of_provider
        if outcome == "failed":
            failed[case.name] = why
    print(json.dumps({"version": onnxruntime.__version__, "counts": counts, "nodes": nodes,
                      "claimed": claimed, "failed": failed}))


@pytest.mark.parametrize("which", ["newest", "oldest"])
def test_cases_agree(which):
    if which == "oldest" and sys.version_info >= (3, 14):
        pytest.skip("it exists up to Python 3.13")
    folders = [str(OLDEST)] if which == "oldest" else []
    folders += [str(ROOT / "tests" / name) for name in ("executor_glue/ort", "models", "harness")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (which == "oldest") == found["version"].startswith("1.23."), found["version"]
    print(f"\nONNX Runtime {found['version']}: {found['counts']}, {found['claimed']} of "
          f"{found['nodes']} nodes claimed, {found['claimed'] / found['nodes']:.1%}")
    excused = BODIES_OF_FUNCTIONS if which == "oldest" else set()
    assert {name: why for name, why in found["failed"].items() if name not in excused} == {}
    assert found["counts"]["passed"] >= LEAST_CASES[which]


if __name__ == "__main__":
    main()
