"""The engine onednn on a oneDNN that is a library of its own (LATCHKEY_ONEDNN=system): which is
refused, when it is configured and when it is opened; and that values are found by key, charged,
and given back.

Of the project the module alone is built. It is opened from a folder where it lies beside the Python
package's library. Its oneDNN is the build's, as a shared library (cmake/onednn_shared.cmake).
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto, helper, numpy_helper

import latchkey
import numpy

HERE = Path(__file__).parent
ROOT = Path(os.environ.get("LK_TEST_SOURCE", HERE.parents[3]))
BUILD = Path(os.environ.get("LK_TEST_BUILD", ROOT / "build/development"))
SHARED = BUILD / "libonednn_shared.so"
INSTALLED = ROOT / ".deps/onednn"
LIBRARY = Path(latchkey.__file__).parent / "liblatchkey.so.0.1"
MINUTES = 600

pytestmark = pytest.mark.skipif(
    not SHARED.exists(), reason="this build has no oneDNN: tools/setup builds it")


def done(*command, **environment):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=MINUTES,
                          env={**os.environ, **environment})


def checked(*command, **environment):
    found = done(*command, **environment)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


# ---- configuring ----


def write_package(prefix, runtime="THREADPOOL", version=None):
    """The CMake package of oneDNN as it installs it, but that its library is the shared one."""
    folder, of = prefix / "lib/cmake/dnnl", INSTALLED / "lib/cmake/dnnl"
    folder.mkdir(parents=True)
    config = (of / "dnnl-config.cmake").read_text()
    (folder / "dnnl-config.cmake").write_text(config.replace("THREADPOOL", runtime))
    versions = (of / "dnnl-config-version.cmake").read_text()
    installed = re.search(r'PACKAGE_VERSION "([\d.]+)"', versions)[1]
    (folder / "dnnl-config-version.cmake").write_text(
        versions.replace(installed, version or installed))
    (folder / "dnnl-targets.cmake").write_text(
        "add_library(DNNL::dnnl SHARED IMPORTED)\n"
        "set_target_properties(DNNL::dnnl PROPERTIES\n"
        f'  IMPORTED_LOCATION "{SHARED}"\n'
        f'  INTERFACE_INCLUDE_DIRECTORIES "{INSTALLED / "include"}")\n')
    return prefix


def configure(prefix, folder):
    return done("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
                "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", "-DLATCHKEY_ONEDNN=system",
                "-DLATCHKEY_COMPILER_CACHE=ON", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON")


TAKES = r"takes oneDNN 3\.14 and newer ones of 3; "


@pytest.mark.parametrize("package, sentence", [
    ({"runtime": "OMP"}, r"oneDNN 3\.\d+\.\d+ in \S+ has the CPU runtime 'OMP': the engine onednn "
                         r"computes by the threads of a run, and takes THREADPOOL alone\. "),
    ({"version": "3.13.9"}, rf"{TAKES}found was 3\.13\.9 \(\S+\)\. "),
    ({"version": "4.0.0"}, rf"{TAKES}found was 4\.0\.0 \(\S+\)\. "),
    (None, rf"{TAKES}none was found\. ")])
def test_another_one_is_refused_when_it_is_configured(tmp_path, package, sentence):
    prefix = tmp_path / "prefix"
    if package is not None:
        write_package(prefix, **package)
    found = configure(prefix, tmp_path / "build")
    said = " ".join(found.stderr.split())
    assert found.returncode != 0
    assert re.search(f"LATCHKEY_ONEDNN is 'system', .*{sentence}", said), said
    assert "-DONEDNN_CPU_RUNTIME=THREADPOOL, or LATCHKEY_ONEDNN to bundled or OFF." in said


def test_an_archive_goes_into_the_module(tmp_path):
    """As the bundled one does, which it is: there its allocation is counted."""
    found = configure(INSTALLED, tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    rules = (tmp_path / "build.ninja").read_text()
    assert "--wrap=malloc" in rules and "-static-libstdc++" in rules
    assert "/counted.c" in rules and "/charged.c" not in rules


# ---- building ----


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """A folder with the library and the module of a oneDNN beside it."""
    folder = tmp_path_factory.mktemp("system")
    found = configure(write_package(folder / "prefix"), folder / "build")
    assert found.returncode == 0, found.stdout + found.stderr
    checked("cmake", "--build", folder / "build", "--target", "latchkey_onednn")
    made = folder / "beside"
    made.mkdir()
    (folder / "build/liblatchkey_onednn.so").rename(made / "liblatchkey_onednn.so")
    (made / LIBRARY.name).symlink_to(LIBRARY)
    return made


def test_the_module_has_nothing_of_onednn_inside(beside):
    """Not a second libstdc++ either, through which oneDNN does not throw."""
    module = beside / "liblatchkey_onednn.so"
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", checked("readelf", "-d", module))
    assert {SHARED.name, "libstdc++.so.6"} <= set(needed), needed
    symbols = checked("nm", "--defined-only", module)
    assert not re.search(r" (dnnl_|__cxa_|__wrap_)", symbols), symbols
    assert module.stat().st_size < 1 << 20


# ---- running ----

# Ends with what it prints as JSON: `told`.
BEGIN = f"""
import ctypes, json, os, sys, numpy, latchkey
model, told = sys.argv[1], {{}}

def picture(rows, columns):
    return {{"x": numpy.random.default_rng(rows).standard_normal((1, 3, rows, columns), "f4")}}

def values(session):
    return session.statistics()["context"]["cache"]["kinds"]["value"]

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def onednn():
    return ctypes.CDLL({str(SHARED)!r})

def capacity():
    found = ctypes.c_int(-1)
    assert onednn().dnnl_get_primitive_cache_capacity(ctypes.byref(found)) == 0
    return found.value
"""
END = "print(json.dumps(told))\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A convolution of pictures of any size."""
    weights = numpy.random.default_rng(1).standard_normal((8, 3, 3, 3), numpy.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8, "h", "w"])],
        [numpy_helper.from_array(weights, "w")])
    opsets = [helper.make_opsetid("", 17)]
    path = tmp_path_factory.mktemp("model") / "conv.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=opsets,
                                       ir_version=8).SerializeToString())
    return path


@pytest.fixture
def run(beside, model):
    """Runs a program on the library and the module in `beside`: what it has told."""
    def run(program, **environment):
        said = checked(sys.executable, "-c", BEGIN + program + END, model,
                       LD_PRELOAD=str(beside / LIBRARY.name), **environment)
        return json.loads(said)
    return run


def test_values_are_right_and_found_by_key(run):
    told = run("""
with latchkey.Session(model, engine="native") as native, \\
        latchkey.Session(model, engine="onednn") as session:
    for turn in ("first", "second"):
        for rows in (8, 12, 20):
            expected, found = (one.run(picture(rows, 9))["y"] for one in (native, session))
            numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        told[turn] = values(session)
        told["works"] = session.statistics()["context"]["engine"]["works"]
""")
    assert told["first"]["builds"] == told["first"]["entries"] >= 3  # and changes of layout
    assert told["second"]["builds"] == told["first"]["builds"] and told["works"] >= 3
    assert told["second"]["bytes"] > 3 * 256 * 1024  # what a convolution is charged


ROWS = """
with latchkey.Session(model, engine="onednn", cache_bytes="4m") as session:
    for rows in range(1, 401):
        session.run(picture(rows, 9))
        told["most"] = max(told.get("most", 0), session.statistics()["context"]["cache"]["bytes"])
        if rows == 100: begin = resident()
    told["grown"] = resident() - begin
    told["values"] = values(session)
    told["capacity"] = capacity()
"""


def test_a_small_budget_holds(run):
    """Of memory, too: oneDNN's own cache would keep 1,024 of what is evicted."""
    told = run(ROWS)
    assert 1 << 20 < told["most"] <= 4 << 20
    assert told["values"]["builds"] >= 400 and told["values"]["evictions"] >= 300
    assert told["capacity"] == 0
    assert told["grown"] < 10 << 20


def test_others_keep_their_settings(run):
    """A host that has had this oneDNN before keeps its cache and its number of threads."""
    told = run("""
threads = ctypes.c_int(0)
onednn().dnnl_threadpool_interop_set_max_concurrency(3)
before = capacity()
with latchkey.Session(model, engine="onednn", threads=2) as session:
    session.run(picture(8, 8))
    told["builds"] = values(session)["builds"]
onednn().dnnl_threadpool_interop_get_max_concurrency(ctypes.byref(threads))
told.update(before=before, after=capacity(), threads=threads.value)
""")
    assert told["builds"] > 0
    assert told["before"] == told["after"] > 0
    assert told["threads"] == 3


def test_what_it_throws_is_told(run, tmp_path):
    """Across both libraries, and the build that follows works."""
    shim = tmp_path / "failing_build.so"
    checked("c++", "-shared", "-fPIC", HERE / "failing_build.cc", "-isystem",
            INSTALLED / "include", "-o", shim, "-Wl,--no-as-needed", SHARED,
            f"-Wl,-rpath,{SHARED.parent}")
    told = run(f"""
ctypes.CDLL({str(shim)!r}, ctypes.RTLD_GLOBAL)
with latchkey.Session(model, engine="native") as native, \\
        latchkey.Session(model, engine="onednn") as session:
    try:
        session.run(picture(8, 8))
    except MemoryError as error:
        told["error"] = str(error)
    found, expected = (one.run(picture(8, 8))["y"] for one in (session, native))
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    told["values"] = values(session)
""")
    assert "failed to build a primitive: oneDNN is out of memory" in told["error"]
    assert told["values"]["builds"] > 0 and told["values"]["failed_builds"] == 1


# ---- another oneDNN than that with which it was built ----


@pytest.fixture(scope="module")
def stub(beside, tmp_path_factory):
    """Makes a library in the place of oneDNN's, which says of itself what is asked for."""
    undefined = checked("nm", "-D", "--undefined-only", beside / "liblatchkey_onednn.so")
    names = set(re.findall(r" U (dnnl_\w+)", undefined)) - {"dnnl_version", "dnnl_runtime2str"}
    assert "dnnl_primitive_create" in names
    assert not [name for name in names if "threadpool" in name]  # others do not have them

    def make(version, runtime):
        folder = tmp_path_factory.mktemp("stub")
        numbers = ", ".join(version.split("."))
        (folder / "stub.c").write_text("".join([
            "static const struct { int version[3]; const char *hash; unsigned cpu, gpu; } found =\n"
            f'    {{{{{numbers}}}, "", {runtime}, 0}};\n'
            "const void *dnnl_version(void) { return &found; }\n"
            'const char *dnnl_runtime2str(unsigned of) { return of == 2 ? "OpenMP" : "?"; }\n',
            *(f"int {name}(void) {{ return 2; }}\n" for name in sorted(names))]))
        checked("cc", "-shared", "-fPIC", folder / "stub.c", f"-Wl,-soname,{SHARED.name}", "-o",
                folder / SHARED.name)
        return folder
    return make


@pytest.mark.parametrize("version, runtime, words", [
    ("3.14.1", 2, "the oneDNN 3.14.1 of the process has the CPU runtime OpenMP, and the engine "
                  "takes one that was built with ONEDNN_CPU_RUNTIME=THREADPOOL"),
    ("3.13.9", 8, "the process has oneDNN 3.13.9, and the engine takes 3.14 and newer ones of 3")])
def test_another_one_is_refused_when_it_is_opened(run, stub, beside, version, runtime, words):
    """With a sentence, which the doctor has, too; `auto` is `native` then."""
    folder = str(stub(version, runtime))
    told = run("""
try:
    latchkey.Context(engine="onednn")
except latchkey.Error as error:
    told["error"] = str(error)
with latchkey.Session(model, engine="auto") as session:
    session.offers(picture(8, 8))
    told["works"] = session.statistics()["context"]["engine"]["works"]
""", LD_LIBRARY_PATH=folder)
    assert f"failed to open the engine of oneDNN: {words}" in told["error"]
    assert told["works"] == 0
    doctor = json.loads(done(sys.executable, "-m", "latchkey", "doctor", "--json", "--no-measure",
                             LD_PRELOAD=str(beside / LIBRARY.name), LD_LIBRARY_PATH=folder).stdout)
    assert words in doctor["library"]["engines"]["onednn"]
