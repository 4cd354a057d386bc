"""The headers for hosts with a oneDNN of their own, over other versions of oneDNN than ours.

tools/setup --development brings what is in PACKAGES. Of minor versions without a package, the
headers of a neighbour say that they are of that version: those of the one before, which have
nothing that is newer; but 3.4 brought functions that ours need.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("LK_TEST_SOURCE", Path(__file__).parents[2]))
BUILD = Path(os.environ.get("LK_TEST_BUILD", ROOT / "build"))
VERSIONS = ROOT / ".deps/onednn-versions"

PACKAGES = {0: "2023.0.0", 1: "2023.1.0", 2: "2023.2.0", 5: "2024.2.0", 6: "2025.0.0",
            7: "2025.1.0", 8: "2025.2.0", 9: "2025.3.0", 11: "2026.0.0", 13: "2026.1.0"}
NEIGHBOURS = {3: 2, 4: 5, 10: 9, 12: 11}
MINORS = pytest.mark.parametrize("minor", sorted({**PACKAGES, **NEIGHBOURS}))

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion",
          "-Wcast-align", "-Wundef", "-Werror"]
LANGUAGES = {"c": ["cc", "-std=c11"], "c++": ["c++", "-std=c++17"]}
TEAM = """\
#include <latchkey/onednn_threads.h>
dnnl::threadpool_interop::threadpool_iface *pool(const lk_dnnl &of);
dnnl::threadpool_interop::threadpool_iface *pool(const lk_dnnl &of) { return new lk_dnnl_team(of); }
"""


def headers_of(minor):
    """oneDNN's, of 3.<minor>, by a package."""
    include = VERSIONS / PACKAGES[minor] / "include"
    assert include.is_dir(), f"no {include}: tools/setup --development brings it"
    text = (include / "oneapi/dnnl/dnnl_version.h").read_text()
    assert re.search(r"#define DNNL_VERSION_MAJOR (\d+)", text)[1] == "3"
    assert re.search(r"#define DNNL_VERSION_MINOR (\d+)", text)[1] == str(minor)
    return include


def changed(include, folder, header, macro, value):
    """A copy of oneDNN's headers with another value of a macro."""
    copy = shutil.copytree(include, folder / macro)
    path = copy / "oneapi/dnnl" / header
    text, count = re.subn(rf"(?m)^(#define {macro}) .*$", rf"\1 {value}", path.read_text())
    assert count == 1, path
    path.write_text(text)
    return copy


def include_of(minor, folder):
    if minor in PACKAGES:
        return headers_of(minor)
    return changed(headers_of(NEIGHBOURS[minor]), folder, "dnnl_version.h", "DNNL_VERSION_MINOR",
                   minor)


def compile_text(language, include, text):
    done = subprocess.run([*LANGUAGES[language], *STRICT, "-fsyntax-only", "-x", language, "-",
                           "-I", ROOT / "include", "-isystem", include],
                          input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@MINORS
@pytest.mark.parametrize("language", LANGUAGES)
def test_compiles(tmp_path, minor, language):
    compile_text(language, include_of(minor, tmp_path), "#include <latchkey/onednn_threads.h>\n")


@MINORS
def test_has_a_team(tmp_path, minor):
    """Where that oneDNN is built for thread pools, which those of the packages are not."""
    include = changed(include_of(minor, tmp_path), tmp_path, "dnnl_config.h",
                      "DNNL_CPU_THREADING_RUNTIME", "DNNL_RUNTIME_THREADPOOL")
    compile_text("c++", include, TEAM)


def test_runs_with_the_oldest(tmp_path):
    """The example, which checks its numbers."""
    library = VERSIONS / PACKAGES[0] / "libdnnl.so.3"
    program = tmp_path / "host"
    done = subprocess.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror",
                           *(ROOT / "examples/onednn_host").glob("*.c"), "-I", ROOT / "include",
                           "-isystem", headers_of(0), library, f"-Wl,-rpath,{library.parent}",
                           "-ldl", "-lm", "-lpthread", "-o", program],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([program, BUILD / "liblatchkey.so"], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "oneDNN 3.0." in done.stdout.splitlines()[0]
