"""Units: what is run and timed as one, a program of GoogleTest or a file of pytest."""

import dataclasses
import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

# Python tests that drive the libraries and the command of a build. The others test tools, pages,
# the installed package, examples, or an older ONNX Runtime.
PYTHON = re.compile(
    r"^(cli|rows|python)_|^models_test_(bad_models|onnx_nodes|sequences|flex_attention)$"
    r"|^ort_test_(attributes|backend|generated_models|shapes)$|^tools_test_operators$")
# Nor what a browser shows, which wants more addresses than MEMORY.
NOT_PYTHON = re.compile(
    r"_test_(wheel|readme|read_text|ort_oldest|onnxruntime_example|interrupt|memory|report_page"
    r"|trace_viewer)$")
# They fail calls of the C library, those that write the counters among them.
NOT_PROGRAM = re.compile(r"^faults_")
# Which programs run again, as test presets do, and with what.
AGAIN = ((re.compile("^ops_"), "LATCHKEY_MAX_ISA", ("avx2", "sse2")),
         (re.compile("^(plugin|session)_"), "LATCHKEY_CACHE", ("thread",)))
ROWS_IN_A_UNIT = 12
ROW_SEEDS = "25"  # `make test` takes 80
MEMORY = 24 << 30  # bytes of addresses for a program; a mutant may ask for any


@dataclasses.dataclass(frozen=True)
class Unit:
    name: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    folder: str
    sources: tuple[str, ...]  # files that decide what it does, the product's sources aside

    def key(self) -> str:
        """Changes when what it runs does."""
        digest = hashlib.sha256(repr((self.command, self.environment)).encode())
        for path in self.sources:
            digest.update(Path(path).read_bytes())
        return digest.hexdigest()


@dataclasses.dataclass(frozen=True)
class Ran:
    status: int | None  # None: it took too long
    seconds: float
    said: str


def units_of(build: Path) -> list[Unit]:
    """What `ctest` would run there, by program; sorted by name."""
    listed = json.loads(subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1", "--label-regex",
         "^(unit|python)$"], check=True, capture_output=True, text=True).stdout)["tests"]
    units = {}
    for test in listed:
        properties = {one["name"]: one["value"] for one in test["properties"]}
        labels = properties.get("LABELS", [])
        environment = tuple(
            tuple(one.split("=", 1)) for one in properties.get("ENVIRONMENT", []))
        folder = properties.get("WORKING_DIRECTORY", str(build))
        command = tuple(test["command"])
        others = [value for name, value in environment if name == "LK_TEST_ONNXRUNTIME"]
        if others and not others[0].endswith("-oldest"):
            continue
        if "python" in labels:
            name = test["name"]
            if PYTHON.search(name) and not NOT_PYTHON.search(name):
                for unit in python_units(name, command, environment, folder, build):
                    units[unit.name] = unit
            continue
        program = Path(command[0])
        if NOT_PROGRAM.search(program.name):
            continue
        name = f"oldest.{program.name}" if others else program.name
        for unit in program_units(name, command, environment, folder):
            units[unit.name] = unit
    return [units[name] for name in sorted(units)]


def program_units(name, command, environment, folder):
    yield Unit(name, command, environment, folder, (command[0],))
    for pattern, variable, values in AGAIN:
        if pattern.search(name):
            for value in values:
                yield Unit(f"{value}.{name}", command, (*environment, (variable, value)), folder,
                           (command[0],))


def python_units(name, command, environment, folder, build):
    file = Path(folder) / command[-1]
    # The package in .venv takes the library of this build: its own is found by RUNPATH, after this.
    environment = (*environment, ("LD_LIBRARY_PATH", str(build)),
                   ("LK_TEST_ROW_SEEDS", ROW_SEEDS))
    sources = (*(str(path) for path in sorted(file.parent.glob("*.py"))),
               *(str(path) for path in sorted(build.glob("*.so"))), str(build / "latchkey"))
    if not name.startswith("rows_"):
        yield Unit(name, command, environment, folder, sources)
        return
    said = subprocess.run([*command, "--collect-only"], cwd=folder, check=True,
                          env={**os.environ, **dict(environment)}, capture_output=True,
                          text=True).stdout
    rows = [f"{command[-1]}::{line.split('::', 1)[1]}" for line in said.splitlines()
            if "::" in line]
    for first in range(0, len(rows), ROWS_IN_A_UNIT):
        part = rows[first:first + ROWS_IN_A_UNIT]
        yield Unit(f"{name}.{first // ROWS_IN_A_UNIT:02}", (*command[:-1], *part), environment,
                   folder, sources)


def run(unit: Unit, seconds: float, extra: dict[str, str] | None = None) -> Ran:
    """Ends at its first failure, or when the time is up, with all that it started. Temporary files
    have short paths, as they have everywhere else: a socket's has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="lk", ignore_cleanup_errors=True) as temporary:
        return run_within(Path(temporary), unit, seconds, extra or {})


def run_within(temporary: Path, unit: Unit, seconds: float, extra: dict[str, str]) -> Ran:
    environment = {**os.environ, **dict(unit.environment), "GTEST_FAIL_FAST": "1",
                   "GTEST_BRIEF": "1", "PYTEST_ADDOPTS": "-x",
                   # What malloc gives and free takes is filled: reading it is no zero by luck.
                   "MALLOC_PERTURB_": "165",
                   # What it cannot write, where a test limits files, is not what the test is of.
                   "GCOV_ERROR_FILE": str(temporary / "gcov"),
                   "TMPDIR": str(temporary / "tmp"), **extra}
    (temporary / "tmp").mkdir()
    began = time.monotonic()
    # A file, not a pipe: what a test leaves running would hold a pipe open.
    with open(temporary / "said", "w+", errors="replace") as said:
        process = subprocess.Popen(
            ["prlimit", f"--as={MEMORY}", "--core=0", *unit.command],
            cwd=unit.folder, env=environment, stdin=subprocess.DEVNULL, stdout=said,
            stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        took = time.monotonic() - began
        said.seek(0)
        return Ran(status, took, said.read()[-4000:])
