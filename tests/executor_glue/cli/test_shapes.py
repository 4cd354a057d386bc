"""latchkey bench, cache, shapes and ops: what they count and show."""

import json
import os
import pty
import re
import subprocess

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli_harness import COMMAND, latchkey, read_terminal, save_model

BENCH = ["--shape", "x={1..6}x4", "--requests", "40", "--seed", "7", "--threads", "1"]


def test_bench_counts(classifier):
    report = latchkey("bench", classifier, *BENCH, "--json").json()
    assert (report["requests"], report["seed"], report["threads"]) == (40, 7, 1)
    assert report["shapes"] == 6
    first, second = report["passes"]
    for one in (first, second):
        assert 0 < one["p50_ms"] <= one["p90_ms"] <= one["p99_ms"]
        assert one["requests_per_s"] > 0
        assert one["rss_before"] > 0 and one["rss_after"] > 0
        for what in ("hits", "misses", "builds"):
            assert one[what] == sum(kind[what] for kind in one["kinds"].values())
    assert first["new_shapes"]["requests"] == 6 and first["known_shapes"]["requests"] == 34
    times = ["mean_ms", "min_ms", "max_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms"]
    assert second["new_shapes"] == {
        "requests": 0, **dict.fromkeys(times),
        "intervals_ms": dict.fromkeys(["p50", "p90", "p95", "p99", "p99_9"])}
    known = second["known_shapes"]
    assert known["requests"] == 40
    assert {name: known[name] for name in ("p50_ms", "p90_ms", "p99_ms")} == {
        name: second[name] for name in ("p50_ms", "p90_ms", "p99_ms")}
    assert known["mean_ms"] * second["requests_per_s"] == pytest.approx(1000)
    # Six shapes are six run plans, each built once and found every other time.
    assert first["run_plan_builds"] == 6
    assert first["run_plan_hits"] == 34
    assert first["builds"] > 0
    assert second["builds"] == 0
    assert second["run_plan_builds"] == 0
    assert second["run_plan_hits"] == 40


def test_bench_without_run_plans_asks_for_every_operator(classifier):
    report = latchkey("bench", classifier, *BENCH, "--no-run-plans", "--json").json()
    first, second = report["passes"]
    assert first["run_plan_hits"] == second["run_plan_hits"] == 0
    assert second["builds"] == 0
    assert second["kinds"]["name"]["hits"] >= 40
    assert second["kinds"]["name"]["misses"] == 0


def test_bench_with_the_cache_off_builds_each_time(classifier):
    report = latchkey("bench", classifier, *BENCH, "--cache", "off", "--json").json()
    assert report["cache"] == "off"
    assert report["passes"][1]["hits"] == 0
    report = latchkey("bench", classifier, *BENCH, "--json",
                      environment={"LATCHKEY_CACHE": "thread"}).json()
    assert report["cache"] == "thread"


def test_a_seed_repeats_the_shapes(classifier):
    def shapes(seed):
        return latchkey("bench", classifier, "--shape", "x={1..1000}x4", "-n", "30", "--seed", seed,
                        "--json").json()["shapes"]
    assert shapes(3) == shapes(3)
    assert 20 <= shapes(4) <= 30


def test_bench_for_people(classifier):
    result = latchkey("bench", classifier, *BENCH).ok()
    for word in ("40 requests", "6 shapes", "seed 7", "p50 ms", "p99 ms", "RSS after", "builds"):
        assert word in result.out
    rows = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in result.out.splitlines()
                if "requests of" in line)
    rows = {name: cells.split() for name, cells in rows.items()}
    assert rows["requests of new shapes"] == ["6", "0"]
    assert rows["requests of known shapes"] == ["34", "40"]
    assert result.err == ""
    static = latchkey("bench", classifier, "--shape", "x=2x4", "-n", "5").ok()
    assert "5 requests, 1 shape, " in static.out


def test_a_free_dimension_needs_a_shape(classifier):
    for command in ("bench", "cache"):
        latchkey(command, classifier).fails(1, "'x' ([rows, 4] f32)", "--shape 'x=1x4'")


def test_inputs_that_do_not_exist_or_come_twice(tmp_path, classifier):
    numpy.save(tmp_path / "x.npy", numpy.ones((2, 4), numpy.float32))
    file = f"x={tmp_path}/x.npy"
    latchkey("bench", classifier, "--shape", "z=1x4", "--shape", "x=1x4").fails(1, "'z'")
    latchkey("bench", classifier, "--shape", "x=1x4", "-i", file).fails(1, "from a file")
    assert latchkey("bench", classifier, "-i", file, "-n", "3", "--json").json()["shapes"] == 1


def test_integers_are_zero_and_floats_are_not(tmp_path):
    # Gather fails on an index out of range: only zeros fit a table of one row.
    save_model(tmp_path / "m.onnx", [helper.make_node("Gather", ["table", "index"], ["y"])],
               [("table", TensorProto.FLOAT, [1, "n"]), ("index", TensorProto.INT64, ["k"])],
               [("y", TensorProto.FLOAT, ["k", "n"])])
    latchkey("bench", tmp_path / "m.onnx", "--shape", "table=1x{n:2..4}", "--shape", "index={n}",
             "-n", "10").ok()


def test_cache_shows_every_key(classifier):
    args = ["--shape", "x={2,3}x4", "--requests", "10", "--seed", "2"]
    report = latchkey("cache", classifier, *args, "--json").json()
    assert report["entries"] == len(report["keys"]) > 0
    assert report["bytes"] == sum(key["bytes"] for key in report["keys"])
    assert {key["kind"] for key in report["keys"]} == {"run"}
    sizes = [key["bytes"] for key in report["keys"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len({key["key"] for key in report["keys"]}) == len(report["keys"])
    plain = latchkey("cache", classifier, *args, "--no-run-plans", "--json").json()
    assert any("matmul" in key["key"].lower() for key in plain["keys"])
    report = latchkey("cache", classifier, *args, "--sort", "age", "--json").json()
    ages = [k["age"] for k in report["keys"]]
    assert ages == sorted(ages)
    text = latchkey("cache", classifier, *args).ok().out
    assert f"{report['entries']} entries of" in text
    latchkey("cache", classifier, *args, "--sort", "size").fails(2, "--sort")


def test_a_budget_of_nothing_keeps_nothing(classifier):
    report = latchkey("cache", classifier, "--shape", "x=2x4", "--cache-bytes", "0",
                      "--json").json()
    assert report["keys"] == [] and report["bytes"] == 0


@pytest.mark.parametrize("text, size", [("7", 7), ("3k", 3 << 10), ("5M", 5 << 20), ("2g", 2 << 30),
                                        ("unlimited", "unlimited")])
def test_sizes(classifier, text, size):
    report = latchkey("cache", classifier, "--shape", "x=2x4", "--cache-bytes", text,
                      "--json").json()
    assert report["capacity_bytes"] == size


@pytest.mark.parametrize("command", ["run", "test", "bench", "inspect", "ops", "cache", "shapes"])
def test_help_of_each(command):
    result = latchkey(command, "--help").ok()
    assert result.out.startswith(f"Usage: latchkey {command} ")
    assert re.search(rf"Examples?:\n  latchkey {command}", result.out) and "--json" in result.out
    assert all(len(line) < 80 for line in result.out.splitlines())
    assert command in latchkey("--help").ok().out
    latchkey(command, "--help", "x").ok()
    assert latchkey(command, "--no-such-option").code == 2


def test_shapes_are_those_that_are_drawn(tmp_path):
    model = save_model(
        tmp_path / "sum.onnx", [helper.make_node("Sum", ["x", "y", "s"], ["z"])],
        [("x", TensorProto.FLOAT, ["n", 2]), ("y", TensorProto.FLOAT, ["n", 2]),
         ("s", TensorProto.FLOAT, [])], [("z", TensorProto.FLOAT, ["n", 2])])
    options = ["--shape", "x={n:3..50}x2", "--shape", "y={n}x{2}", "--requests", "20"]
    report = latchkey("shapes", model, *options, "--json").json()
    assert report["seed"] == 1 and len(report["requests"]) == 20
    for request in report["requests"]:
        assert request["x"] == request["y"] and request["s"] == []
        assert 3 <= request["x"][0] <= 50 and request["x"][1] == 2
    assert len({request["x"][0] for request in report["requests"]}) > 5
    assert latchkey("shapes", model, *options, "--seed", "2", "--json").json() != report
    bench = latchkey("bench", model, *options, "--json").json()
    assert bench["shapes"] == len({request["x"][0] for request in report["requests"]})
    lines = latchkey("shapes", model, *options).ok().out.splitlines()
    assert lines == ["x={0}x{1} y={0}x{1} s=scalar".format(*request["x"])
                     for request in report["requests"]]


def test_shapes_of_files_and_of_none(classifier, tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.zeros((5, 4), numpy.float32))
    assert latchkey("shapes", classifier, "-i", f"x={tmp_path}/x.npy").ok().out == "x=5x4\n"
    latchkey("shapes", classifier).fails(1, "the model leaves open 'x'", "--shape 'x=")
    latchkey("shapes", classifier, "--shape", "z=1").fails(1, "no input 'z'")


def test_a_command_of_the_python_package_says_so():
    for command in ("compare", "explain"):
        assert f"\n  {command}  " in latchkey("--help").ok().out
        latchkey(command, "a.onnx").fails(2, f"'{command}'", "Python package")


def test_usage_errors():
    assert latchkey().code == 2
    latchkey("frobnicate").fails(2, "'frobnicate'")
    latchkey("bench").fails(2, "MODEL is missing")
    latchkey("cache", "a.onnx", "b.onnx").fails(2, "'b.onnx'")
    latchkey("bench", "a.onnx", "--shape", "x=1x32", "x=1x33").fails(2, "braces")
    latchkey("bench", "a.onnx", "--shape", "x=1xy").fails(2, "'x=1xy'")
    latchkey("bench", "a.onnx", "--shape", "x=1x{n}").fails(2, "{n:8..128}")
    for option, value in (("--threads", "0"), ("--threads", "x"), ("--cache", "big"),
                          ("--cache-entries", "-1"), ("--cache-entries", "1k"),
                          ("--cache-bytes", "1x"), ("--cache-bytes", " 1"), ("--cache-bytes", "k"),
                          ("--cache-bytes", "1kb"), ("--cache-bytes", "18446744073709551615"),
                          ("--cache-bytes", "99999999999999g"), ("--requests", "0"),
                          ("--seed", "-1")):
        latchkey("bench", "a.onnx", option, value).fails(2, option, f"'{value}'")
    latchkey("ops", "x").fails(2, "'x'")
    latchkey("bench", "no.onnx", "--shape", "x=1").fails(1, "no.onnx")
    assert latchkey("--version").ok().out.startswith("latchkey 0.")


def test_a_bad_environment_is_a_sentence(classifier):
    latchkey("bench", classifier, "--shape", "x=1x4",
             environment={"LATCHKEY_THREADS": "many"}).fails(
        1, "LATCHKEY_THREADS")


def test_a_bar_on_a_terminal_only(classifier):
    primary, secondary = pty.openpty()
    args = [COMMAND, "bench", str(classifier), "--shape", "x={100000,100001}x4", "-n", "1500",
            "--threads", "1", "--json"]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=secondary) as process:
        os.close(secondary)
        seen = read_terminal(primary)
        report = json.loads(process.stdout.read())
    os.close(primary)
    assert report["requests"] == 1500
    assert b"requests [" in seen and b"/3000" in seen
    assert seen.endswith(b"\r\x1b[K"), "the bar is taken away at the end"


@pytest.mark.parametrize("dtype", ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"])
def test_floats_are_uniform_in_0_to_1(tmp_path, dtype):
    """An element that is not would be an index that Gather refuses; so would their mean be, if it
    were not near 1/2."""
    ints = [numpy_helper.from_array(numpy.zeros(n, numpy.int64), f"row{n}") for n in (1, 2)]
    floats = [numpy_helper.from_array(numpy.float32(value), name)
              for name, value in (("half", 0.5), ("two", 2), ("ten", 10))]
    save_model(
        tmp_path / "drawn.onnx",
        [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
         helper.make_node("Mul", ["f", "two"], ["below2"]),
         helper.make_node("Cast", ["below2"], ["at"], to=TensorProto.INT64),
         helper.make_node("Gather", ["row2", "at"], ["each"]),
         helper.make_node("ReduceMean", ["f"], ["mean"], keepdims=0),
         helper.make_node("Sub", ["mean", "half"], ["off"]),
         helper.make_node("Mul", ["off", "ten"], ["below1"]),
         helper.make_node("Cast", ["below1"], ["zero"], to=TensorProto.INT64),
         helper.make_node("Gather", ["row1", "zero"], ["all"])],
        [("x", getattr(TensorProto, dtype), ["n"])],
        [("each", TensorProto.INT64, ["n"]), ("all", TensorProto.INT64, [])], [*ints, *floats])
    report = latchkey("bench", tmp_path / "drawn.onnx", "--shape", "x=4000", "-n", 3,
                      "--json").json()
    assert report["requests"] == 3


def test_the_most_hits_come_first(classifier):
    report = latchkey("cache", classifier, "--shape", "x={2,3,4}x4", "-n", 22, "--sort", "hits",
                      "--json").json()
    hits = [key["hits"] for key in report["keys"]]
    assert len(set(hits)) > 1
    assert hits == sorted(hits, reverse=True)


def test_the_log_is_shown_when_it_is_asked_for(classifier):
    args = ("bench", classifier, "--shape", "x=2x4", "-n", 1)
    assert latchkey(*args).err == ""
    lines = latchkey(*args, "-v", "-v").ok().err.splitlines()
    assert lines
    assert all(line.startswith("latchkey: ") for line in lines)
