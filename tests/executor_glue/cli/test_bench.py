"""latchkey bench: warm-up, duration, intervals, callers, sweeps, files of latencies, SIGINT."""

import csv
import json
import os
import resource
import signal
import subprocess
import time

import numpy
import pytest
from onnx import TensorProto, helper

from wait import with_more_time

from cli_harness import COMMAND, latchkey, save_model

SHAPE = ["--shape", "x={1..6}x4"]
QUANTILES = ["p50", "p90", "p95", "p99", "p99_9"]
NEEDS = {"p50": 6, "p90": 36, "p95": 72, "p99": 368, "p99_9": 3688}


def bench(model, *args, **options):
    return latchkey("bench", model, *args, "--threads", "1", "--json", **options).json()


def read_json(path):
    """What was measured of each request, as a dictionary for each, of the first setting."""
    whole = json.loads(path.read_text())
    assert whole["schema"] == "latchkey-bench-latencies-2"
    rows = [dict(zip(whole["columns"], row)) for row in whole["latencies"][0]["rows"]]
    return whole, rows


# ---- what is measured -------------------------------------------------------------------------


@pytest.mark.parametrize("count", [5, 6, 40, 400])
def test_a_percentile_has_an_interval_where_there_are_enough_requests(classifier, count):
    for one in bench(classifier, *SHAPE, "-n", count)["passes"]:
        assert one["requests"] == count
        for name in QUANTILES:
            interval = one["intervals_ms"][name]
            assert (interval is not None) == (count >= NEEDS[name])
            if interval is not None:
                assert interval[0] <= one[f"{name}_ms"] <= interval[1]
    text = latchkey("bench", classifier, *SHAPE, "-n", count).ok().out
    for name, needed in NEEDS.items():
        assert (f"needs {needed} requests" in text) == (count < needed), name


def test_intervals_are_those_of_the_latencies(classifier, tmp_path):
    """The ranks are those of tables: 6 and 15 of 20 values for a median."""
    report = bench(classifier, *SHAPE, "-n", 20, "--latencies", tmp_path / "a.json")
    _, rows = read_json(tmp_path / "a.json")
    for number, one in enumerate(report["passes"], 1):
        times = sorted(row["ns"] / 1e6 for row in rows if row["pass"] == number)
        assert one["intervals_ms"]["p50"] == pytest.approx([times[5], times[14]], rel=1e-6)
        assert one["p50_ms"] == pytest.approx(times[9], rel=1e-6)


def test_a_warm_up_makes_shapes_known(classifier, tmp_path):
    cold = bench(classifier, *SHAPE, "-n", 40, "--seed", 7)["passes"][0]
    assert (cold["new_shapes"]["requests"], cold["builds"]) == (6, 6)
    warm = bench(classifier, *SHAPE, "-n", 40, "--seed", 7, "--warmup", 40)["passes"][0]
    assert (warm["new_shapes"]["requests"], warm["builds"], warm["requests"]) == (0, 0, 40)
    once = bench(classifier, *SHAPE, "-n", 40, "--seed", 7, "--warmup", 1)["passes"][0]
    assert (once["new_shapes"]["requests"], once["builds"]) == (5, 5)
    begin = time.monotonic()
    timed = bench(classifier, *SHAPE, "-n", 40, "--seed", 7, "--warmup", "0.5s")
    assert time.monotonic() - begin > 0.5
    assert timed["passes"][0]["new_shapes"]["requests"] == 0
    assert (timed["options"]["warmup_s"], timed["options"]["warmup_requests"]) == (0.5, 0)


def test_a_duration_goes_on_pass_after_pass(classifier, tmp_path):
    def measure(seconds):
        begin = time.monotonic()
        report = bench(classifier, *SHAPE, "-n", 10, "--duration", seconds, "--latencies",
                       tmp_path / "a.json")
        assert time.monotonic() - begin >= seconds
        return report, read_json(tmp_path / "a.json")[1], seconds

    report, rows, seconds = with_more_time(measure, lambda done: len(done[1]) > 110, 0.4)
    assert report["passes"][0]["requests"] == 10
    assert report["passes"][1]["requests"] == len(rows) - 10
    assert [(row["pass"], row["request"]) for row in rows] == [
        (i // 10 + 1, i % 10) for i in range(len(rows))]
    # The last one begins before the end: the clock is asked behind the one before it.
    assert rows[-2]["begin_ns"] + rows[-2]["ns"] - rows[0]["begin_ns"] < seconds * 1e9
    # A series that does not fit is cut, and nothing comes after it.
    short = bench(classifier, "--shape", "x=20000x4", "-n", 100000, "--duration", "0.05")
    first, later = short["passes"]
    assert 0 < first["requests"] < 100000 and later["requests"] == 0
    assert later["p50_ms"] is None and later["requests_per_s"] == 0


def test_callers_share_the_requests(classifier, tmp_path):
    def measure(count):
        report = bench(classifier, "--shape", "x=20000x4", "-n", count, "--callers", 3,
                       "--latencies", tmp_path / "a.json")
        return report, read_json(tmp_path / "a.json")[1], count

    def more_than_one_in_each_pass(done):
        callers = {(row["pass"], row["caller"]) for row in done[1]}
        return all(sum(number == one for number, _ in callers) > 1 for one in (1, 2))

    report, rows, count = with_more_time(measure, more_than_one_in_each_pass, 100)
    assert (report["callers"], report["threads"]) == (3, 1)
    for number in (1, 2):
        one = [row for row in rows if row["pass"] == number]
        assert sorted(row["request"] for row in one) == list(range(count))
        shares = {}
        for row in one:
            shares.setdefault(row["caller"], []).append(row["ns"])
        assert set(shares) <= {0, 1, 2}
        assert report["passes"][number - 1]["requests_per_s"] == pytest.approx(
            sum(len(share) * 1e9 / sum(share) for share in shares.values()), rel=1e-6)
        # A caller sends its next when the last one is answered.
        for caller in shares:
            mine = [row for row in one if row["caller"] == caller]
            for before, after in zip(mine, mine[1:]):
                assert before["begin_ns"] + before["ns"] <= after["begin_ns"]
    thread = bench(classifier, *SHAPE, "-n", 40, "--callers", 2, "--cache", "thread")
    assert thread["passes"][0]["requests"] == 40


def test_numbers_say_where_they_come_from(classifier, tmp_path):
    report = bench(classifier, *SHAPE, "-n", 3, "--executor", "parallel", "--cache-bytes", "1m",
                   "--disable-pass", "bias", "--no-run-plans",
                   environment={"LATCHKEY_MEMORY_BYTES": "1g"})
    assert report["schema"] == "latchkey-bench-1"
    assert report["latchkey"] == latchkey("--version").out.split()[1]
    assert report["machine"]["isa"] == latchkey("--version").out.split("(")[1].rstrip(")\n")
    assert report["machine"]["cores"] == len(os.sched_getaffinity(0))
    assert time.strptime(report["date"], "%Y-%m-%dT%H:%M:%SZ")
    assert report["options"]["executor"] == "parallel"
    assert report["options"]["cache_bytes"] == 2**20
    assert report["options"]["cache_entries"] is None
    assert report["options"]["run_plans"] is False
    assert report["options"]["disabled_passes"] == ["bias"]
    assert report["environment"]["LATCHKEY_MEMORY_BYTES"] == "1g"
    again = bench(classifier, *SHAPE, "-n", 3)
    assert again["model_digest"] == report["model_digest"]
    changed = tmp_path / "changed.onnx"
    data = bytearray(classifier.read_bytes())
    at = data.index(b"softmax")
    data[at:at + 7] = b"Softmax"
    changed.write_bytes(data)
    assert bench(changed, *SHAPE, "-n", 3)["model_digest"] != report["model_digest"]


# ---- sweeps ------------------------------------------------------------------------------------


def test_a_sweep_is_one_table(classifier):
    words = ["bench", classifier, "--batch", "2,5", "--callers", "1,2", "--threads", "2,1", "-n",
             20]
    report = latchkey(*words, "--json").json()
    settings = [(s["threads"], s["callers"], s["batch"]) for s in report["settings"]]
    assert settings == [(t, c, b) for t in (2, 1) for c in (1, 2) for b in (2, 5)]
    for setting in report["settings"]:
        later = setting["passes"][1]
        assert later["requests"] == 20
        assert setting["items_per_s"] == pytest.approx(later["requests_per_s"] * setting["batch"])
    assert "passes" not in report and report["interrupted"] is False
    lines = latchkey(*words).ok().out.splitlines()
    assert "8 settings" in lines[0]
    assert lines[1].split() == ("threads callers batch 2: items/s, p50/p99 ms "
                                "batch 5: items/s, p50/p99 ms").split()
    assert [line.split()[:2] for line in lines[2:6]] == [["2", "1"], ["2", "2"], ["1", "1"],
                                                         ["1", "2"]]
    assert all(len(line.split()) == 6 for line in lines[2:6])
    assert lines[6].startswith("most items/s: ") and "batch" in lines[6]


def test_a_batch_is_the_first_dimension_where_it_has_the_name(tmp_path):
    model = save_model(
        tmp_path / "two.onnx",
        [helper.make_node("Mul", ["x", "mask"], ["masked"]),
         helper.make_node("Add", ["masked", "bias"], ["y"])],
        [("x", TensorProto.FLOAT, ["batch", 4]), ("mask", TensorProto.FLOAT, ["batch", "n"]),
         ("bias", TensorProto.FLOAT, ["n"])],
        [("y", TensorProto.FLOAT, ["batch", 4])])
    file = tmp_path / "a.csv"
    latchkey("bench", model, "--batch", "3,7", "--shape", "mask=1x4", "--shape", "bias=4", "-n", 2,
             "--latencies", file).ok()
    shapes = {(row["batch"], row["shape"]) for row in csv.DictReader(file.open())}
    assert shapes == {("3", "x=3x4 mask=3x4 bias=4"), ("7", "x=7x4 mask=7x4 bias=4")}
    latchkey("bench", model, "--batch", "3").fails(1, "'mask'", "'bias'")


def test_a_batch_that_is_fixed_is_refused(tmp_path):
    model = save_model(tmp_path / "fixed.onnx", [helper.make_node("Relu", ["x"], ["y"])],
                       [("x", TensorProto.FLOAT, [2, 4])], [("y", TensorProto.FLOAT, [2, 4])])
    latchkey("bench", model, "--batch", "4").fails(
        1, "failed to use --batch: the first dimension of input 'x' ([2, 4] f32) is not free")
    scalar = save_model(tmp_path / "scalar.onnx", [helper.make_node("Relu", ["x"], ["y"])],
                        [("x", TensorProto.FLOAT, [])], [("y", TensorProto.FLOAT, [])])
    latchkey("bench", scalar, "--batch", "4").fails(1, "not free")


def test_a_batch_of_a_file_is_refused(classifier, tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.zeros((2, 4), numpy.float32))
    latchkey("bench", classifier, "--batch", "4", "-i", f"x={tmp_path}/x.npy").fails(
        1, "failed to use --batch: input 'x' comes from a file")


# ---- files of latencies ------------------------------------------------------------------------


def test_latencies_as_csv(classifier, tmp_path):
    file = tmp_path / "a.csv"
    text = latchkey("bench", classifier, *SHAPE, "-n", 30, "--threads", "1", "--latencies",
                    file).ok().out
    assert text.endswith(f"latencies: {file}\n")
    rows = list(csv.DictReader(file.open()))
    assert list(rows[0]) == ["threads", "callers", "batch", "number", "pass", "shape", "caller",
                             "begin_ns", "ns", "late_ns", "new", "ok"]
    assert [int(row["number"]) for row in rows] == list(range(60))
    assert [row["pass"] for row in rows] == ["1"] * 30 + ["2"] * 30
    drawn = latchkey("shapes", classifier, *SHAPE, "-n", 30).ok().out.splitlines()
    assert [row["shape"] for row in rows] == drawn * 2
    seen = set()
    for row in rows:
        assert (row["threads"], row["callers"], row["batch"], row["ok"]) == ("1", "1", "", "1")
        assert (row["new"] == "1") == (row["shape"] not in seen)
        seen.add(row["shape"])
        assert int(row["ns"]) > 0 and row["late_ns"] == "0"
    begins = [int(row["begin_ns"]) for row in rows]
    assert begins[0] == 0 and begins == sorted(begins)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "classifier.onnx"]


def test_names_in_a_csv_are_quoted(tmp_path):
    model = save_model(tmp_path / "odd.onnx", [helper.make_node("Relu", ['a,"b\n'], ["y"])],
                       [('a,"b\n', TensorProto.FLOAT, ["n"])], [("y", TensorProto.FLOAT, ["n"])])
    file = tmp_path / "a.csv"
    latchkey("bench", model, "--batch", "3", "-n", 1, "--latencies", file).ok()
    assert [row["shape"] for row in csv.DictReader(file.open())] == ['a,"b\\x0a=3'] * 2


def test_latencies_as_json_have_the_report(classifier, tmp_path):
    file = tmp_path / "a.json"
    report = bench(classifier, *SHAPE, "-n", 30, "--latencies", file)
    whole, rows = read_json(file)
    assert whole["report"] == report
    assert len(rows) == 60 and len(whole["latencies"][0]["setting"]["shapes"]) == 30
    assert sum(row["new"] for row in rows) == 6


def test_a_file_is_whole_or_not_there(classifier, tmp_path):
    """A limit of the size of files stands for a disk that is full."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    for name in ("a.csv", "a.json"):
        (tmp_path / name).write_text("before")
        done = subprocess.run([COMMAND, "bench", classifier, *SHAPE, "-n", "2000", "--latencies",
                               tmp_path / name], capture_output=True, text=True, preexec_fn=limit)
        assert done.returncode == 1
        assert done.stderr == (f"latchkey bench: failed to write latencies to '{tmp_path / name}': "
                               "File too large\n")
        assert (tmp_path / name).read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "a.json", "classifier.onnx"]
    latchkey("bench", classifier, *SHAPE, "--latencies", tmp_path / "no/a.csv").fails(
        1, "failed to write latencies to", "no/a.csv")


def test_a_request_that_fails_is_in_the_file(tmp_path):
    """Gather refuses the index 9 of 9 rows, which the drawn shape of another input makes."""
    model = save_model(
        tmp_path / "fails.onnx",
        [helper.make_node("Shape", ["x"], ["n"]),
         helper.make_node("Gather", ["table", "n"], ["y"])],
        [("x", TensorProto.FLOAT, ["n"]), ("table", TensorProto.FLOAT, ["rows"])],
        [("y", TensorProto.FLOAT, [1])])
    file = tmp_path / "a.csv"
    words = ["bench", model, "--shape", "table=9", "-n", 100, "--seed", 3, "--latencies", file]
    result = latchkey(*words, "--shape", "x={1..9}")
    assert result.code == 1 and "requests failed:" in result.out and "Gather" in result.err
    rows = list(csv.DictReader(file.open()))
    assert len(rows) == 200
    assert {row["ok"] for row in rows if row["shape"].startswith("x=9 ")} == {"0"}
    assert {row["ok"] for row in rows if not row["shape"].startswith("x=9 ")} == {"1"}
    # The first of all ends it, and is in the file all the same.
    latchkey(*words, "--shape", "x=9").fails(1, "Gather")
    assert [row["ok"] for row in csv.DictReader(file.open())] == ["0"]


# ---- bad options, and SIGINT ---------------------------------------------------------------------


@pytest.mark.parametrize("option, value, sentence", [
    ("--warmup", "many", "'many'"), ("--warmup", "-1", "'-1'"), ("--warmup", "s", "'s'"),
    ("--warmup", "xs", "'x'"), ("--warmup", "nans", "'nan'"),
    ("--rate", "0", "'0'"), ("--rate", "1e10", "'1e10'"), ("--rate", "x", "'x'"),
    ("--duration", "0", "'0'"), ("--duration", "x", "'x'"), ("--duration", "inf", "'inf'"),
    ("--threads", "1,,2", "''"), ("--threads", "0", "'0'"), ("--threads", "1,1", "given twice"),
    ("--threads", "1,2,", "''"), ("--callers", "1025", "'1025'"), ("--callers", "a", "'a'"),
    ("--batch", "0", "'0'"), ("--batch", "4294967296", "'4294967296'"),
    ("--batch", "1,2,3,4,5,6,7,8,9,10,11,12,13", "12 are allowed"),
    ("--latencies", "a.txt", "FILE.csv or FILE.json"), ("--latencies", ".csv", "FILE.csv"),
    ("--latencies", "", "FILE.csv"),
])
def test_bad_options_are_sentences(option, value, sentence):
    latchkey("bench", "a.onnx", option, value).fails(2, f"failed to read {option}", sentence)


def test_a_profile_and_a_trace_are_of_one_setting(classifier):
    for option in (["--profile"], ["--trace", "t.json"]):
        latchkey("bench", classifier, *SHAPE, *option, "--threads", "1,2").fails(
            2, f"failed to read {option[0]}", "2 settings")


def test_sigint_keeps_what_was_measured(classifier, tmp_path, interrupt):
    file = tmp_path / "a.json"
    code, out, err = interrupt(["bench", classifier, *SHAPE, "-n", "10", "--duration", "1000",
                                "--json", "--latencies", file], 20)
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["interrupted"] is True
    assert len(read_json(file)[1]) == sum(one["requests"] for one in report["passes"]) > 10
    code, out, _ = interrupt(["bench", classifier, *SHAPE, "--duration", "1000"], 20)
    assert code == 0 and "\ninterrupted: only a part was measured\n" in out


def test_sigint_in_a_sweep_leaves_the_others_empty(classifier, interrupt):
    words = ["bench", classifier, "--batch", "1,2", "--threads", "1", "--duration", "1000"]
    code, out, _ = interrupt(words, 20)
    assert code == 0
    assert out.splitlines()[2].split()[-1] == "-"
    code, out, _ = interrupt([*words, "--json"], 20)
    assert code == 0
    assert [setting["batch"] for setting in json.loads(out)["settings"]] == [1]


def test_sigint_before_anything_was_measured_is_told(classifier, interrupt):
    code, out, err = interrupt(["bench", classifier, *SHAPE, "--warmup", "1000s"], 20)
    assert (code, out) == (1, "")
    assert err == ("latchkey bench: failed to measure: it was interrupted before the first request "
                   "was measured\n")
