"""The wheel that tools/build_wheel makes: what is in it, and that it runs where it is installed.

It is made once for this file, into a folder of its own; one in dist/ that is newer than every
source of it serves as well. What needs packages that tools/setup does not install is run by
tools/build_wheel --check.
"""

import ast
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import numpy
import pytest
from close import assert_close
from conftest import ROOT, random

SITE = Path(numpy.__file__).parents[1]  # .venv's packages
SOURCES = ("pyproject.toml", "LICENSE", "README.md", "CMakeLists.txt", "cmake", "include", "base",
           "keys", "ops", "plugin", "executor_glue", "python", "tools/build_wheel",
           "tools/requirements.txt", "tools/setup", "tools/write_bill")
PROVIDER = "LatchkeyExecutionProvider"
# Libraries that any machine has, as the wheel's tag allows.
OF_THE_SYSTEM = r"(libc|libm|ld-linux-x86-64|libgcc_s|libdl|libpthread)\.so"

# A convolution on Paddle, whose libraries come into the same process.
USE_PADDLE = """
import tempfile, numpy, paddle
layer = paddle.nn.Sequential(paddle.nn.Conv2D(3, 8, 3), paddle.nn.ReLU())
layer.eval()
picture = numpy.random.default_rng(1).random((1, 3, 9, 9), numpy.float32)
with tempfile.TemporaryDirectory() as folder:
    paddle.jit.save(layer, folder + "/net",
                    input_spec=[paddle.static.InputSpec([1, 3, 9, 9], "float32")])
    config = paddle.inference.Config(folder + "/net.json", folder + "/net.pdiparams")
    config.disable_glog_info()
    config.enable_mkldnn()
    found, = paddle.inference.create_predictor(config).run([paddle.to_tensor(picture)])
weights, bias = (each.numpy().astype(float) for each in layer.parameters())
windows = numpy.lib.stride_tricks.sliding_window_view(picture[0].astype(float), (3, 3), (1, 2))
right = numpy.einsum("chwij,ocij->ohw", windows, weights) + bias[:, None, None]
numpy.testing.assert_allclose(found.numpy()[0], numpy.maximum(right, 0), rtol=1e-4, atol=1e-5)
"""

# Runs a model in both ways, twice, with `before` and `after` around the first time. Leaves the
# outputs.
PROGRAM = """
import sys, numpy
before, after, prefix, model = sys.argv[1:5]
exec(before)
import latchkey, latchkey.ort, onnxruntime
assert latchkey.__file__.startswith(prefix), latchkey.__file__
for moment in ("first", "second"):
    x = numpy.load(model + ".npy")
    one = latchkey.Session(model).run({"x": x})
    options = onnxruntime.SessionOptions()
    latchkey.ort.append(options, run_statistics="on")
    session = onnxruntime.InferenceSession(model, options, enable_fallback=0)
    scores, = session.run(["scores"], {"x": x})
    claims = latchkey.ort.stats(session)["claims"]
    assert claims["claimed"] == claims["nodes"] > 0, claims
    numpy.save(f"{model}.session.{moment}.npy", one["scores"])
    numpy.save(f"{model}.provider.{moment}.npy", scores)
    if moment == "first": exec(after)
print("onnxruntime", onnxruntime.__version__, "latchkey", latchkey.version())
"""

# By primitives of the module that lies beside the library.
BY_ONEDNN = """
import json, sys, numpy, latchkey
prefix, model = sys.argv[1:]
assert latchkey.__file__.startswith(prefix), latchkey.__file__
with latchkey.Session(model, engine="onednn") as session:
    for _ in range(2):
        scores = session.run({"x": numpy.load(model + ".npy")})["scores"]
    counts = session.statistics()["context"]
numpy.save(model + ".onednn.npy", scores)
with open("/proc/self/maps") as maps:
    modules = {line.split()[-1] for line in maps if "latchkey_onednn" in line}
print(json.dumps({"value": counts["cache"]["kinds"]["value"], "engine": counts["engine"],
                  "modules": list(modules)}))
"""

# By tools/build_wheel --check: a folder with Paddle, and other interpreters.
PADDLE = os.environ.get("LK_TEST_PADDLE")
PYTHONS = [each for each in os.environ.get("LK_TEST_PYTHONS", "").split(":") if each]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    files = [file for source in SOURCES for file in
             ((ROOT / source).rglob("*") if (ROOT / source).is_dir() else [ROOT / source])]
    newest = max(file.stat().st_mtime for file in files if file.suffix != ".pyc")
    made = [file for file in (ROOT / "dist").glob("latchkey-*.whl")
            if file.stat().st_mtime > newest]
    if made:
        return made[-1]
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run([ROOT / "tools/build_wheel", out], capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    path = Path(done.stdout.strip())
    bill = Path(str(path).removesuffix(".whl") + ".cdx.json")
    assert path.parent == out and sorted(out.iterdir()) == [bill, path]
    return path


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def fresh(wheel, folder):
    """An environment with the wheel alone: its interpreter, and where its packages lie."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--python",
                    python, "install", "--no-index", "--no-deps", wheel], check=True)
    site, = folder.glob("lib/python3*/site-packages")
    return python, site


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The interpreter of a fresh environment with the wheel, and .venv's packages behind it."""
    python, site = fresh(wheel, tmp_path_factory.mktemp("fresh") / "venv")
    (site / "behind.pth").write_text(f"{SITE}\n")
    return python


def distributions(names):
    """What .venv has of some packages and of those that they need."""
    found = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found[name] = importlib.metadata.distribution(name)
        todo += [re.match(r"[\w.-]+", need)[0] for need in found[name].requires or ()
                 if "extra ==" not in need]
    return found.values()


@pytest.fixture(scope="module")
def with_report(wheel, tmp_path_factory):
    """The interpreter of a fresh environment that `pip install latchkey[report]` has filled: the
    wheel, and what its metadata names, from .venv, without anything else of that."""
    python, site = fresh(wheel, tmp_path_factory.mktemp("report") / "venv")
    metadata = Parser().parsestr(next(site.glob("latchkey-*.dist-info/METADATA")).read_text())
    needs = [re.match(r"[\w.-]+", need)[0] for need in metadata.get_all("Requires-Dist")
             if "extra" not in need or re.search(r"extra == .report.", need)]
    for one in distributions(needs):
        for top in {file.parts[0] for file in one.files} - {"..", "__pycache__"}:
            (site / top).symlink_to(one.locate_file(top))
    return python


@pytest.fixture(scope="module")
def model(convnet, tmp_path_factory):
    """A model's file, with an input and the expected output beside it."""
    path = tmp_path_factory.mktemp("model") / "convnet.onnx"
    path.write_bytes(convnet)
    import onnxruntime
    x = random(2, 3, 20, 24)
    session = onnxruntime.InferenceSession(convnet, providers=["CPUExecutionProvider"])
    numpy.save(f"{path}.npy", x)
    numpy.save(f"{path}.expected.npy", session.run(["scores"], {"x": x})[0])
    return path


def readelf(*arguments):
    return subprocess.run(["readelf", *arguments], capture_output=True, text=True,
                          check=True).stdout


def elf(path):
    """SONAME, what is needed, and where it is looked for."""
    text = readelf("-d", path)
    return {kind: re.findall(rf"\({kind}\).*\[(.*)\]", text)
            for kind in ("SONAME", "NEEDED", "RUNPATH", "RPATH")}


def elf_files(folder):
    return [file for file in sorted(folder.rglob("*"))
            if file.is_file() and file.open("rb").read(4) == b"\x7fELF"]


def run_program(python, model, before="", after="", **environment):
    """What it printed. Results are compared here."""
    results = [Path(f"{model}.{way}.{moment}.npy") for way in ("session", "provider")
               for moment in ("first", "second")]
    for result in results:
        result.unlink(missing_ok=True)
    done = subprocess.run([python, "-c", PROGRAM, before, after, str(python.parents[1]), model],
                          capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    expected = numpy.load(f"{model}.expected.npy")
    for result in results:
        assert_close(numpy.load(result), expected)
    return done.stdout


# ---- what is in it ----


def test_tag_and_metadata(wheel, unpacked):
    assert re.fullmatch(r"latchkey-[\d.]+-cp310-abi3-manylinux_2_34_x86_64\.whl", wheel.name)
    folder, = unpacked.glob("latchkey-*.dist-info")
    tags = Parser().parsestr((folder / "WHEEL").read_text()).get_all("Tag")
    assert tags == ["cp310-abi3-manylinux_2_34_x86_64"]
    metadata = Parser().parsestr((folder / "METADATA").read_text())
    assert metadata["Requires-Python"] == ">=3.10"
    assert [need for need in metadata.get_all("Requires-Dist") if "extra" not in need] == [
        "cffi>=1.16", "numpy>=1.26"]
    assert metadata["Provides-Extra"] == "onnxruntime"


def test_files(unpacked):
    for name in ("latchkey/liblatchkey.so.0.1", "latchkey/liblatchkey_ort.so",
                 "latchkey/liblatchkey_onednn.so", "latchkey/bin/latchkey",
                 "latchkey/_native.abi3.so", "latchkey/ort.py", "latchkey/py.typed"):
        assert (unpacked / name).is_file(), name
    names = [file.name for file in unpacked.rglob("*")]
    assert not [name for name in names if re.match(r"lib(gomp|onnxruntime)\b.*\.so", name)]
    assert not [name for name in names if name.endswith((".h", ".cmake", ".pc", ".a"))]


def test_bill_of_materials(wheel):
    bill = json.loads(Path(str(wheel).removesuffix(".whl") + ".cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    versions = {one["name"]: one["version"] for one in bill["components"]}
    assert set(versions) == {"latchkey", "libjansson4", "libprotobuf-c1", "libuuid1",
                             "libxxhash0", "onednn", "onnx", "uthash-dev", "echarts"}
    assert all(versions.values())
    refs = [one["bom-ref"] for one in bill["components"]]
    assert sorted(bill["dependencies"][0]["dependsOn"]) == sorted(refs[1:])


def test_files_are_hardened(unpacked):
    for file in elf_files(unpacked / "latchkey"):
        assert re.search(r"FLAGS.*(BIND_NOW|NOW)", readelf("-d", file)), file
        segments = readelf("-lW", file)
        assert "GNU_RELRO" in segments, file
        stack, = re.findall(r"GNU_STACK.* (RW.?) ", segments)
        assert stack == "RW ", file
        assert not re.search(r"LOAD.* RWE ", segments), file
        assert file.read_bytes().count(b"\xf3\x0f\x1e\xfa") > 10, file  # endbr64
        assert "__stack_chk_fail" in readelf("-Ws", file), file


def test_libraries_have_names_of_their_own(unpacked):
    files = elf_files(unpacked)
    assert len(files) == 9  # 5 of Latchkey, 4 of Debian
    inside = {elf(file)["SONAME"][0] for file in files if elf(file)["SONAME"]}
    assert "liblatchkey.so.0.1" in inside
    for file in files:
        found = elf(file)
        outside = [name for name in found["NEEDED"] if name not in inside]
        for name in outside:
            assert re.match(OF_THE_SYSTEM, name), (file, name)
        for path in found["RUNPATH"] + found["RPATH"]:
            assert all(part.startswith("$ORIGIN") for part in path.split(":")), (file, path)


def test_no_name_is_left_to_others(unpacked):
    """No symbol that is one for the whole process, and no runtime of threads of somebody else."""
    for file in elf_files(unpacked / "latchkey"):
        symbols = readelf("-W", "--symbols", "--dyn-syms", file)
        assert not re.search(r"\bomp_|GOMP_", symbols), file
        assert " UNIQUE " not in symbols, file


def test_licences(unpacked):
    folder, = unpacked.glob("latchkey-*.dist-info/licenses")
    for name, words in {
            "LICENSE": "Apache License", "libprotobuf-c.txt": "protobuf-c",
            "libjansson.txt": "Petri Lehtinen", "libxxhash.txt": "Yann Collet",
            "libuuid.txt": "Theodore Ts'o", "uthash.txt": "Troy D. Hanson",
            "onnx.txt": "Apache License", "echarts.txt": "Apache License",
            "echarts_notice.txt": "Apache ECharts", "onednn.txt": "Apache License",
            "onednn_third_party.txt": "Xbyak", "third_party.txt": "protobuf-c"}.items():
        assert words in (folder / name).read_text(), name
    # Every library that is in the wheel and not ours is named, with its texts.
    notes = (folder / "third_party.txt").read_text()
    for file in elf_files(unpacked):
        if not re.match(r"(lib)?latchkey|_native", file.name):
            assert re.sub(r"-[0-9a-f]{8}\.so.*", "-*.so.*", file.name) in notes, file.name
    for text in re.findall(r"\b[\w-]+\.txt", notes):
        assert (folder / text).is_file(), text


# ---- that it runs ----


def test_runs_by_session_and_by_the_provider(installed, model):
    run_program(installed, model)


def test_runs_by_onednn(installed, model):
    done = subprocess.run([installed, "-c", BY_ONEDNN, str(installed.parents[1]), model],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["engine"]["works"] > 0 and told["value"]["builds"] > 0, told
    assert told["value"]["bytes"] > told["value"]["entries"] * 1024, "what oneDNN allocates"
    module, = told["modules"]
    assert module.startswith(str(installed.parents[1])), "not one of the build, or of .venv"
    assert_close(numpy.load(f"{model}.onednn.npy"), numpy.load(f"{model}.expected.npy"))


def test_code_is_for_python_3_10(unpacked):
    files = list((unpacked / "latchkey").glob("*.py"))
    assert len(files) > 5
    for file in files:
        ast.parse(file.read_text(), file.name, feature_version=(3, 10))


def test_runs_on_the_oldest_onnxruntime(installed, model):
    if sys.version_info >= (3, 14):
        pytest.skip("it exists up to Python 3.13")
    said = run_program(installed, model, PYTHONPATH=str(ROOT / ".deps/onnxruntime-oldest"))
    assert "onnxruntime 1.23." in said


def test_brings_the_command(installed):
    for command in ([installed.with_name("latchkey")], [installed, "-m", "latchkey"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "0.1.0 (" in done.stdout, done


def test_makes_reports_with_its_extra(with_report, model, tmp_path):
    def latchkey(*arguments):
        done = subprocess.run([with_report.with_name("latchkey"), *arguments], capture_output=True,
                              text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 0, done
    modules = "import importlib.util as u; print([n for n in ('onnxruntime', 'pytest', 'onnx', " \
              "'graphlay') if u.find_spec(n)])"
    assert subprocess.run([with_report, "-c", modules], capture_output=True, text=True,
                          check=True).stdout == "['onnx', 'graphlay']\n"
    latchkey("record", model, "--shape", "x={1..3}x3x16x16", "-n", "8", "-o", "run.json")
    latchkey("report", "run.json", "-o", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert (ROOT / ".deps/echarts/dist/echarts.min.js").read_text() in page
    assert "convnet.onnx" in page


def test_runs_beside_another_openmp(installed, model):
    """The machine's libgomp, opened for everyone to see."""
    assert shutil.which("cc"), "gcc brings it"
    run_program(installed, model, "import ctypes; ctypes.CDLL('libgomp.so.1', ctypes.RTLD_GLOBAL)")


@pytest.mark.skipif(not PADDLE, reason="tools/build_wheel --check fetches Paddle and runs this")
@pytest.mark.parametrize("order", ["first", "last"])
def test_runs_beside_paddle(installed, model, order):
    """Each of the two computes as if alone, whichever is there first."""
    before, after = (USE_PADDLE, "") if order == "first" else ("", USE_PADDLE)
    run_program(installed, model, before, after, PYTHONPATH=PADDLE)


@pytest.mark.skipif(not PYTHONS, reason="tools/build_wheel --check PYTHON... runs this")
@pytest.mark.parametrize("python", PYTHONS)
def test_runs_with_another_python(wheel, model, tmp_path, python):
    """With what PyPI has for it: what a user would get."""
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    fresh = tmp_path / "venv/bin/python"
    subprocess.run([fresh, "-m", "pip", "-q", "--disable-pip-version-check", "install",
                    f"{wheel}[onnxruntime]"], check=True, timeout=600)
    run_program(fresh, model)
