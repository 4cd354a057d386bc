"""latchkey.doctor and its command: what is read, what is found, and what is said of it."""

import copy
import json
import os
import subprocess
import sys

import pytest
from conftest import make_model, needs_onednn, random
from onnx import TensorProto, helper

import latchkey
from latchkey._doctor import machine, peak, pitfalls, process
from latchkey._doctor._files import Files, numbers_of, size_of
from latchkey._load import ticks_of

KNOWN = ["LATCHKEY_CACHE", "LATCHKEY_CACHE_BYTES", "LATCHKEY_THREADS", "LATCHKEY_MAX_ISA"]


def only_with(**environment):
    """The environment without Latchkey's variables but these: tests are run with some."""
    return {**{name: value for name, value in os.environ.items()
               if not name.startswith("LATCHKEY_")}, **environment}


def command(*words, **environment):
    return subprocess.run([sys.executable, "-m", "latchkey", "doctor", *map(str, words)],
                          capture_output=True, text=True, timeout=120, env=only_with(**environment))


def diagnosed(*words, **environment):
    done = command("--json", "--no-measure", *words, **environment)
    assert done.stderr == "", done.stderr
    found = json.loads(done.stdout)
    assert done.returncode == any(one["level"] == "problem" for one in found["pitfalls"])
    return found


def names(found):
    return {one["pitfall"]: one for one in found["pitfalls"]}


# ---- the command ----


def test_has_all_sections():
    done = command()
    assert done.stderr == ""
    for title in ("machine: ", "library: latchkey ", "options in force:", "process ", "measured "):
        assert title in done.stdout
    found = json.loads(command("--json").stdout)
    assert set(found) == {"schema", "machine", "library", "options", "process", "measured", "model",
                          "engine", "pitfalls"}
    assert found["schema"] == "latchkey-doctor-1"
    assert found["measured"]["gflops"] > 0 and found["measured"]["expected"]["derived_from"]
    assert found["machine"]["processors_allowed"] == len(os.sched_getaffinity(0))
    assert found["machine"]["caches"]


def test_says_where_options_come_from():
    found = diagnosed(LATCHKEY_CACHE_BYTES="1m")
    options = {one["name"]: (one["value"], one["source"]) for one in found["options"]}
    assert options["cache_bytes"] == ("1048576", "environment")
    assert options["cache_mode"] == ("shared", "default")
    assert options["threads"][1] in ("machine", "cgroup")
    line = next(line for line in command("--no-measure", LATCHKEY_CACHE_BYTES="1m").stdout
                .splitlines() if "cache_bytes" in line)
    assert line.split() == ["cache_bytes", "1048576", "LATCHKEY_CACHE_BYTES"]


def test_finds_a_variable_that_is_misspelt():
    one = names(diagnosed(LATCHKEY_THREAD="2"))["unknown_variable"]
    assert one["level"] == "problem" and "LATCHKEY_THREAD," in one["text"]
    assert "LATCHKEY_THREADS" in one["advice"]


def test_a_variable_that_is_refused_ends_nothing():
    found = diagnosed(LATCHKEY_THREADS="many")
    text = names(found)["bad_option"]["text"]
    assert "LATCHKEY_THREADS: it is 'many', a number from 1 to 1024" in text
    assert found["options"] == [] and found["measured"] is None


def test_finds_an_instruction_set_below_the_machine_s():
    found = diagnosed(LATCHKEY_MAX_ISA="sse2")
    assert ("isa_below_machine" in names(found)) == (found["machine"]["isa"] != "sse2")
    assert found["library"]["isa"] == "sse2"


def test_reads_another_process():
    with subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=only_with(LATCHKEY_CASHE="off")) as other:
        other.stdout.readline()
        found = diagnosed("--pid", other.pid)
        other.stdin.close()
    assert found["process"]["pid"] == other.pid
    assert found["process"]["variables"]["LATCHKEY_CASHE"] == "off"
    assert "LATCHKEY_CACHE" in names(found)["unknown_variable"]["advice"]
    assert found["options"] == [] and found["measured"] is None


@pytest.mark.parametrize("words, code, sentence", [
    (("--pid", "4194304"), 1, "failed to read the maps of process 4194304"),
    (("--pid", "0"), 2, "--pid"),
    (("a.onnx", "b.onnx"), 2, "unrecognized arguments"),
])
def test_refuses(words, code, sentence):
    done = command("--no-measure", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr and done.stderr.count("\n") == 1


# ---- models ----


def test_looks_at_a_model(tmp_path, convnet):
    path = tmp_path / "net.onnx"
    path.write_bytes(convnet)
    model = diagnosed(path)["model"]
    assert model["runs"] and model["has_dynamic_sizes"]
    assert model["inputs"] == ["x: float32[n, 3, h, w]"]
    assert model["operators"]["Conv"] == 2
    assert model["weights_bytes"] > 4 * (16 * 27 + 24 * 16 * 9)
    text = command("--no-measure", path).stdout
    assert "runs here" in text and "sizes vary" in text


def test_a_model_that_lacks_something_is_a_problem(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(make_model([helper.make_node("TfIdfVectorizer", ["x"], ["y"], mode="TF")],
                                [("x", TensorProto.INT64, [3])], [("y", TensorProto.FLOAT, [3])]))
    found = diagnosed(path)
    assert [one["operator"] for one in found["model"]["missing"]["nodes"]] == ["TfIdfVectorizer"]
    assert names(found)["model_does_not_run"]["level"] == "problem"


def test_a_model_that_is_not_there(tmp_path):
    found = diagnosed(tmp_path / "none.onnx")
    pitfall = names(found)["model_does_not_run"]
    assert "No such file" in pitfall["text"]
    assert pitfall["advice"] == "Give the path of an ONNX file."


# ---- the function ----


def test_looks_at_the_process_that_calls_it():
    context = latchkey.Context(threads=1, cache_bytes=2**20)
    found = latchkey.doctor(context=context, measure=False)
    options = {one["name"]: (one["value"], one["source"]) for one in found["options"]}
    assert options["threads"] == ("1", "argument")
    context.set_capacity(bytes=2**21)
    assert {one.name: (one.value, one.source) for one in context.options()}["cache_bytes"] == (
        "2097152", "call")
    assert found["process"]["pid"] == os.getpid()
    assert any("liblatchkey" in path for path in found["process"]["runtimes"]["Latchkey"])
    assert found.has_problems == any(one.level == "problem" for one in found.pitfalls)
    assert str(found).startswith("machine: ")


def test_says_which_engine_is_meant(convnet):
    options = {one.name: (one.value, one.source) for one in latchkey.Context(
        engine="native").options()}
    found = latchkey.doctor(engine="native", measure=False)
    assert {one["name"]: (one["value"], one["source"]) for one in found["options"]}["engine"] == (
        options["engine"]) == ("native", "argument")
    assert (found["engine"]["name"], found["engine"]["asked"]) == ("native", "native")
    assert latchkey.doctor(measure=False)["engine"]["asked"] == os.environ.get(
        "LATCHKEY_ENGINE", "")
    for option in ({"engine": "native"}, {"tuning": "none"}):
        with pytest.raises(TypeError, match=f"'context' and .* \\({[*option][0]}\\) are given"):
            latchkey.doctor(context=latchkey.Context(), measure=False, **option)
    with pytest.raises(TypeError, match="'engine'"):
        latchkey.doctor(engine=3, measure=False)


def test_an_engine_and_a_tuning_file_that_are_not_there(tmp_path):
    found = diagnosed("--engine", "nosuch")
    assert "engine 'nosuch'" in names(found)["bad_option"]["text"]
    assert found["engine"] is None
    found = diagnosed("--engine", "native", "--tuning", tmp_path / "nosuch")
    assert f"'{tmp_path}/nosuch'" in names(found)["bad_option"]["text"]
    assert "nosuch" in names(diagnosed("--engine=native", LATCHKEY_TUNING="nosuch"))[
        "bad_option"]["text"]


@needs_onednn
def test_says_whether_a_tuning_file_fits(convnet, tmp_path):
    model, file = tmp_path / "net.onnx", tmp_path / "tuning"
    model.write_bytes(convnet)
    with latchkey.Session(convnet, engine="auto", threads=1) as session:
        session.tune({"x": random(1, 3, 8, 8)}, seconds=0.02, file=file)
        works = session.statistics()["context"]["engine"]["tuning_works"]
    words = [model, "--tuning", file]
    for also in ([], ["--engine", "auto"]):  # by default the engine is opened later
        found = diagnosed(*words, *also, LATCHKEY_THREADS="1")
        assert (found["engine"]["tuning_works"], found["engine"]["tuning_fitting"]) == (
            works, works)
        assert not {"tuning_not_used", "tuning_does_not_fit"} & set(names(found))
        found = diagnosed(*words, *also, LATCHKEY_THREADS="2")
        assert found["engine"]["tuning_fitting"] == 0
        text = names(found)["tuning_does_not_fit"]["text"]
        assert f"has times of {works} works, and none" in text
    assert "tuning_not_used" in names(diagnosed(*words, "--engine", "onednn"))
    text = command("--no-measure", *words, "--engine", "auto", LATCHKEY_THREADS="1").stdout
    assert f"tuning file: times of {works} works, of which {works} fit " in text


# ---- what is read ----


def write(root, **files):
    for path, text in files.items():
        path = root / path.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def tree(tmp_path):
    """A machine of two cores with two threads each, and a control group with limits."""
    write(tmp_path, proc__cpuinfo="vendor_id\t: GenuineIntel\ncpu family\t: 6\n"
          "model name\t: A CPU\n"
          "cpu MHz\t\t: 1000.5\nflags\t\t: fma avx2 avx512f avx512bw avx512dq avx512vl\n\n"
          "vendor_id\t: other\n",
          proc__loadavg="1.5 1 1 1/2 3", proc__self__status="Cpus_allowed_list:\t0-2\n",
          proc__meminfo="MemTotal: 2048 kB\nMemAvailable: 1024 kB\n",
          proc__self__cgroup="0::/a/b\n4:memory:/old\n1:cpu,cpuacct:/old\n",
          proc__stat="cpu  10 1 2 100 5 1 1 7 0 0\n")
    for number in range(4):
        write(tmp_path, **{f"sys__devices__system__cpu__cpu{number}__topology__"
                           "thread_siblings_list": f"{number % 2},{number % 2 + 2}"})
    cache = "sys__devices__system__cpu__cpu0__cache__index"
    write(tmp_path, **{f"{cache}0__type": "Data", f"{cache}0__level": "1", f"{cache}0__size": "48K",
                       f"{cache}0__shared_cpu_list": "0,2", f"{cache}1__type": "Instruction",
                       f"{cache}1__level": "1", f"{cache}1__size": "32K"})
    group = tmp_path / "sys/fs/cgroup"
    for path, text in {"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000",
                       "a/memory.max": "max", "a/b/memory.max": "1000000",
                       "a/b/cpu.stat": "nr_periods 100\nnr_throttled 30",
                       "memory/old/memory.limit_in_bytes": "777",
                       "cpu/cpu.cfs_quota_us": "-1", "cpu/old/cpu.cfs_quota_us": "50000",
                       "cpu/old/cpu.cfs_period_us": "100000"}.items():
        (group / path).parent.mkdir(parents=True, exist_ok=True)
        (group / path).write_text(text)
    huge = tmp_path / "sys/kernel/mm/transparent_hugepage"
    huge.mkdir(parents=True)
    (huge / "enabled").write_text("always [madvise] never\n")
    return Files(tmp_path)


def test_reads_a_machine(tree):
    found = machine.read(tree)
    group = found.pop("cgroup")
    assert found == {"processor": "A CPU", "vendor": "GenuineIntel", "family": 6, "isa": "avx512",
                     "mhz": 1000.5, "processors_allowed": 3, "cores_allowed": 2,
                     "caches": [{"level": 1, "bytes": 48 * 1024, "shared_by": 2}],
                     "memory_bytes": 2**21, "memory_available_bytes": 2**20,
                     "huge_pages": "madvise", "load": 1.5}
    assert group == {"processors": 1.5, "memory_bytes": 1000000, "periods": 100, "throttled": 30,
                     "version_1": {"processors": 0.5, "memory_bytes": 777}}
    assert ticks_of(tree.read("/proc/stat")) == (15, 7, 127)


def test_an_empty_system_is_read_too(tmp_path):
    found = machine.read(Files(tmp_path))
    assert found["isa"] == "sse2" and found["caches"] == [] and found["huge_pages"] == ""
    assert found["cgroup"]["processors"] is None and found["mhz"] == 0
    assert ticks_of("") == (0, 0, 0)


@pytest.mark.parametrize("flags, isa", [
    ("sse2", "sse2"), ("avx2", "sse2"), ("avx2 fma", "avx2"), ("avx2 fma avx512f", "avx2"),
    ("avx2 fma avx512f avx512bw avx512dq avx512vl", "avx512"),
    ("avx2 fma avx512f avx512bw avx512dq avx512vl amx_tile", "amx")])
def test_instruction_sets(flags, isa):
    assert machine.best_isa(flags.split()) == isa


@pytest.mark.parametrize("text, numbers", [("0-2,5", [0, 1, 2, 5]), ("", []), ("x-y", []),
                                           ("7", [7]), ("3-", [3])])
def test_lists_of_numbers(text, numbers):
    assert numbers_of(text) == numbers


def test_sizes():
    assert [size_of(text) for text in ("32K", "2M", "7", "", "K")] == [2**15, 2**21, 7, 0, 0]


def test_runtimes_are_found_by_their_files():
    line = "7f00-7f01 r-xp 0 08:01 1  {}"
    maps = "\n".join(line.format(path) for path in (
        "/a/libgomp-98a.so.1", "/a/libgomp-98a.so.1", "/b/libiomp5.so", "/c/libdnnl.so.3",
        "/a b/onnxruntime_pybind11_state.cpython-311.so (deleted)", "[heap]", "/d/libmylibgomp.so",
        "/e/libscipy_openblas64_-32.so", "/f/liblatchkey.so.0.1"))
    assert process.runtimes(maps + "\n7f00 bad\n") == {
        "OpenMP": ["/a/libgomp-98a.so.1", "/b/libiomp5.so"], "oneDNN": ["/c/libdnnl.so.3"],
        "ONNX Runtime": ["/a b/onnxruntime_pybind11_state.cpython-311.so"],
        "BLAS": ["/e/libscipy_openblas64_-32.so"], "Latchkey": ["/f/liblatchkey.so.0.1"]}


# ---- what is expected ----


@pytest.mark.parametrize("vendor, family, isa, in_a_cycle", [
    ("GenuineIntel", 6, "avx512", 64), ("AuthenticAMD", 25, "avx512", 32),
    ("AuthenticAMD", 26, "avx512", 64), ("AuthenticAMD", 26, "amx", 64),
    ("GenuineIntel", 6, "avx2", 32), ("GenuineIntel", 6, "sse2", 8)])
def test_expects_what_the_units_do(vendor, family, isa, in_a_cycle):
    found = {"vendor": vendor, "family": family, "mhz": 2000, "cores_allowed": 3,
             "cgroup": {"processors": None}}
    assert peak.expected(found, isa, 8)["gflops"] == in_a_cycle * 2 * 3
    found["cgroup"]["processors"] = 1.5
    assert peak.expected(found, isa, 8)["gflops"] == in_a_cycle * 2 * 1.5
    assert f"{in_a_cycle} f32 operations" in peak.expected(found, isa, 1)["derived_from"]


# ---- what is wrong ----

GOOD = {
    "machine": {"isa": "avx512", "processors_allowed": 4, "cores_allowed": 4,
                "memory_bytes": 2**30, "huge_pages": "madvise",
                "cgroup": {"processors": None, "memory_bytes": None, "periods": 0, "throttled": 0,
                           "version_1": {"processors": None, "memory_bytes": None}}},
    "library": {"error": None, "engines": {"native": "", "onednn": ""}},
    "options": [{"name": "threads", "value": "4", "source": "machine"},
                {"name": "memory_bytes", "value": str(2**30), "source": "machine"},
                {"name": "max_isa", "value": "avx512", "source": "machine"}],
    "process": {"variables": {"LATCHKEY_CACHE": "off"}, "runtimes": {"BLAS": ["/a"]}},
    "measured": {"gflops": 90.0, "expected": {"gflops": 100.0, "derived_from": "x"},
                 "throttled": 0, "stolen_processors": 0, "others_processors": 0},
    "model": {"runs": True, "weights_bytes": 5},
    "engine": {"asked": "auto", "threads": 4, "name": "auto", "tuning_works": 5,
               "tuning_fitting": 4, "tuning_skipped": 0},
}


def with_changes(**changes):
    report = copy.deepcopy(GOOD)
    for path, value in changes.items():
        at = report
        *folders, name = path.split("__")
        for folder in folders:
            at = at[folder]
        at[name] = value
    return report


def options(**values):
    return [{"name": name, "value": value, "source": "environment"}
            for name, value in values.items()]


def test_nothing_is_wrong_with_what_is_good():
    assert pitfalls.find(GOOD, KNOWN) == []


@pytest.mark.parametrize("pitfall, level, changes", [
    ("unknown_variable", "problem", {"process__variables": {"LATCHKEY_X": "1"}}),
    ("bad_option", "problem", {"library__error": "failed"}),
    ("isa_below_machine", "problem", {"options": options(max_isa="avx2")}),
    ("quota_below_threads", "problem", {"machine__cgroup__processors": 2.5}),
    ("threads_above_processors", "problem", {"options": options(threads="5")}),
    ("threads_share_cores", "remark", {"machine__cores_allowed": 2}),
    ("memory_above_machine", "problem", {"options": options(memory_bytes=str(2**31))}),
    ("old_quota", "problem", {"machine__cgroup__version_1__processors": 2}),
    ("old_memory_limit", "problem", {"machine__cgroup__version_1__memory_bytes": 2**20}),
    ("throttled", "remark", {"machine__cgroup__periods": 100, "machine__cgroup__throttled": 6}),
    ("no_huge_pages", "remark", {"machine__huge_pages": "never"}),
    ("huge_pages_count", "remark", {"machine__huge_pages": "always",
                                    "machine__cgroup__memory_bytes": 2**30}),
    ("several_copies", "problem", {"process__runtimes": {
        "Latchkey": ["/a/liblatchkey.so.0.1", "/b/liblatchkey.so.0.1"]}}),
    ("several_openmp", "remark", {"process__runtimes": {"OpenMP": ["/a", "/b"]}}),
    ("several_blas", "remark", {"process__runtimes": {"BLAS": ["/a", "/b"]}}),
    ("openmp_spins", "problem", {"process__runtimes": {"OpenMP": ["/a"]},
                                 "process__variables": {"OMP_WAIT_POLICY": "ACTIVE"}}),
    ("slow_throttled", "problem", {"measured__gflops": 40, "measured__throttled": 1}),
    ("slow_stolen", "problem", {"measured__gflops": 40, "measured__stolen_processors": 1}),
    ("slow_others", "problem", {"measured__gflops": 40, "measured__others_processors": 1}),
    ("slow_unknown", "remark", {"measured__gflops": 40}),
    ("engine_not_there", "remark", {"engine__asked": "auto",
                                    "library__engines": {"onednn": "cannot be loaded"}}),
    ("tuning_not_used", "remark", {"engine__name": "native"}),
    ("tuning_does_not_fit", "problem", {"engine__tuning_fitting": 0}),
    ("model_does_not_run", "problem", {"model__runs": False, "model__missing": {
        "nodes": [1], "other": [], "error": None}}),
    ("memory_below_model", "problem", {"model__weights_bytes": 2**31}),
])
def test_finds(pitfall, level, changes):
    [one] = pitfalls.find(with_changes(**changes), KNOWN)
    assert (one.pitfall, one.level) == (pitfall, level)
    assert one.text.endswith(".") and one.advice.endswith(".")


@pytest.mark.parametrize("changes", [
    {"machine__cgroup__processors": 3.5},  # 4 threads use it up
    {"machine__cgroup__periods": 100, "machine__cgroup__throttled": 5},
    {"machine__cgroup__version_1__processors": 4},
    {"machine__huge_pages": "always"},
    {"options": []},
    {"measured": None, "model": None, "engine": None},
    {"engine__tuning_works": 0, "engine__tuning_fitting": 0, "engine__name": "native"},
    {"engine__asked": "native", "library__engines": {"onednn": "cannot be loaded"}},
    {"measured__expected__gflops": 0.0, "measured__gflops": 1.0},  # no frequency is known
    {"process__runtimes": {"ONNX Runtime": ["/a/libonnxruntime.so.1",
                                            "/a/onnxruntime_pybind11_state.so"]}},
])
def test_does_not_cry_wolf(changes):
    assert pitfalls.find(with_changes(**changes), KNOWN) == []


def test_problems_come_first():
    found = pitfalls.find(with_changes(machine__huge_pages="never", library__error="x"), KNOWN)
    assert [one.level for one in found] == ["problem", "remark"]
