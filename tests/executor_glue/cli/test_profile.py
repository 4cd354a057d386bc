"""latchkey bench --profile: what each operator took."""

import pytest
from onnx import TensorProto, helper

from cli_harness import latchkey, needs_module, save_model

BENCH = ["--shape", "x={1..6}x4", "--requests", "12", "--seed", "7", "--threads", "2"]


def test_profile_as_json(classifier):
    report = latchkey("bench", classifier, *BENCH, "--profile", "--json").json()
    assert len(report["passes"]) == 2
    profile = report["profile"]
    assert profile["runs"] == 12 and profile["binds"] == 0
    assert profile["execute_ms"] >= profile["operators_ms"] > 0
    assert 0 <= profile["waiting"] <= 1
    assert profile["peak"]["threads"] == 2
    assert profile["peak"]["gflops"] > 0 and profile["peak"]["gbytes"] > 0
    steps = profile["steps"]
    assert [s["total_ms"] for s in steps] == sorted((s["total_ms"] for s in steps), reverse=True)
    for rows in (steps, profile["operators"]):
        assert sum(row["share"] for row in rows) == pytest.approx(1)
        for row in rows:
            assert 0 <= row["waiting"] <= 1
            assert row["of_peak_gflops"] == pytest.approx(row["gflops"] / profile["peak"]["gflops"])
    product = next(s for s in steps if s["kind"] == "matmul")
    assert (product["operator"], product["node"], product["step"]) == ("MatMul", "product", 0)
    assert "relu" in product["fused"] and product["output"] == "hidden/relu:0"
    assert " in blocks of " in product["tiles"]
    assert product["gflops"] > 0 and product["gbytes"] > 0
    matmuls = [s for s in steps if s["operator"] == "MatMul" and s["kind"] == "matmul"]
    assert sum(s["executions"] for s in matmuls) == 12
    for step in steps:
        assert 0 < step["min_ms"] <= step["ms"]
        assert step["total_ms"] == pytest.approx(step["ms"] * step["executions"])
    operators = {o["operator"]: o for o in profile["operators"]}
    assert operators["MatMul"]["steps"] == sum(s["operator"] == "MatMul" for s in steps)


@pytest.mark.usefixtures("engines")
def test_profile_says_who_computes(classifier):
    words = [*BENCH, "--engine", "alike", "--profile", "--json"]
    steps = latchkey("bench", classifier, *words).json()["profile"]["steps"]
    found = {(step["operator"], step["engine"]) for step in steps}
    assert ("Softmax", "alike") in found
    assert {engine for operator, engine in found if operator != "Softmax"} == {"native"}


def test_profile_as_tables(classifier):
    text = latchkey("bench", classifier, *BENCH, "--profile").ok().out
    assert "p50 ms" in text, "what bench shows without --profile"
    assert "profile of 12 runs: " in text
    assert "this machine with 2 threads: " in text
    lines = text.splitlines()
    steps = lines[lines.index("steps, ms of an execution:") + 1:]
    assert steps[0].split()[:4] == ["node", "operator", "step", "tiles"]
    assert any(line.split()[0] == "product" and "MatMul+" in line for line in steps)
    assert any(line.split()[0] == "softmax" for line in steps)


@needs_module
def test_what_was_expected_is_beside_what_was_measured(classifier):
    words = ["bench", classifier, "--shape", "x=3x4", "-n", "4", "--threads", "1", "--profile",
             "--engine", "onednn"]
    offers = latchkey("inspect", classifier, "--offers", "--engine", "onednn", "--shape", "x=3x4",
                      "--threads", "1", "--json").json()["offers"]["works"]
    wanted = {work["node"]: work["engine_ns"] / 1e6 for work in offers}
    profile = latchkey(*words, "--json").json()["profile"]
    found = {step["output"]: step["expected_ms"] for step in profile["steps"]
             if step["expected_ms"] is not None}
    assert found == pytest.approx(wanted) and len(found) == 2
    assert not any(step["expected_is_measured"] for step in profile["steps"])
    lines = latchkey(*words).ok().out.splitlines()
    steps = lines[lines.index("steps, ms of an execution:") + 1:]
    assert steps[0].endswith("  works ms  expected ms")
    [softmax] = [line for line in steps if line.split()[0] == "softmax"]
    assert softmax.split()[-1] == f"~{wanted['y']:.4f}"
    for step in profile["steps"]:
        assert (step["works_ms"] is None) == (step["expected_ms"] is None)
        assert step["works_ms"] in (None, pytest.approx(step["ms"]))  # each is the only one


def test_without_a_choice_nothing_is_expected(classifier):
    words = ["bench", classifier, *BENCH, "--profile"]
    steps = latchkey(*words, "--json").json()["profile"]["steps"]
    assert all(step["expected_ms"] is None for step in steps)
    assert "expected" not in latchkey(*words).ok().out


def test_without_profile_there_is_none(classifier):
    assert "profile" not in latchkey("bench", classifier, *BENCH, "--json").json()
    assert "profile of" not in latchkey("bench", classifier, *BENCH).ok().out


def test_long_names_are_cut_and_all_steps_are_counted(tmp_path):
    names = ["x"] + [f"{'é' * 40}/layer{i}" for i in range(60)]
    model = save_model(
        tmp_path / "m.onnx",
        [helper.make_node("Softmax", [names[i]], [names[i + 1]], axis=-1) for i in range(60)],
        [("x", TensorProto.FLOAT, ["n", 8])], [(names[-1], TensorProto.FLOAT, ["n", 8])])
    shape = ["--shape", "x=2x8", "--requests", "2", "--threads", "1", "--profile"]
    text = latchkey("bench", model, *shape).ok().out
    assert "and 20 more, " in text and "(--json has all)" in text
    lines = [line for line in text.splitlines() if "/layer" in line]
    assert len(lines) == 40
    assert all(line.startswith("  ...é") and "é" * 20 not in line for line in lines)
    steps = latchkey("bench", model, *shape, "--json").json()["profile"]["steps"]
    assert len(steps) == 60
    assert {step["output"] for step in steps} == set(names[1:])


def test_profile_of_branches(tmp_path):
    nodes = [helper.make_node("Softmax", ["x"], [f"y{i}"], axis=-1) for i in range(4)]
    model = save_model(tmp_path / "m.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 256])],
                       [(f"y{i}", TensorProto.FLOAT, ["n", 256]) for i in range(4)])
    profile = latchkey("bench", model, "--shape", "x=64x256", "--requests", "3", "--executor",
                       "parallel", "--inter", "2", "--profile", "--json",
                       environment={"LATCHKEY_PROCESSORS": "2"}).json()["profile"]
    assert len(profile["steps"]) == 4
    assert all(step["executions"] == 3 for step in profile["steps"])
