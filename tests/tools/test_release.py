"""What tools/release has made, as somebody has it who has nothing else. tools/release --check says
where it is, and runs this."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = Path(os.environ.get("LK_TEST_RELEASE", ""))
README = (ROOT / "README.md").read_text()
START = (ROOT / "docs/start.md").read_text()
MODEL = re.search(r"```python\n(import onnx\n.*?)```", START, re.DOTALL)[1]

pytestmark = pytest.mark.skipif(DIST == Path(), reason="tools/release --check runs this")


def sample(language):
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=600, **options)
    assert done.returncode == 0, f"{words}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def version():
    (wheel,) = DIST.glob("*.whl")
    return wheel.name.split("-")[1]


@pytest.fixture
def folder(tmp_path):
    """With the model of the pages."""
    run(sys.executable, "-c", MODEL, cwd=tmp_path)
    return tmp_path


def unpacked(name, folder):
    with tarfile.open(DIST / name) as archive:
        archive.extractall(folder)
    return folder / name.removesuffix(".tar.gz")


def test_checksums_are_of_all_files():
    listed = {line.split()[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in DIST.iterdir()} - {"SHA256SUMS"} and len(listed) == 6


def test_the_wheel_works_in_an_empty_environment(folder, version):
    (wheel,) = DIST.glob("*.whl")
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv/bin/python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel)
    assert run(python, "-c", sample("python"), cwd=folder) == "[[0. 2. 0.]] 1\n"
    assert run(folder / "venv/bin/latchkey", "--version").startswith(f"latchkey {version} (")
    assert "onednn" in run(folder / "venv/bin/latchkey", "doctor", cwd=folder)


def test_the_archive_works_in_an_empty_prefix(folder, version):
    """By pkg-config, by CMake, and moved elsewhere afterwards."""
    prefix = unpacked(f"latchkey-{version}-linux-x86_64.tar.gz", folder)
    (folder / "example.c").write_text(sample("c"))
    library, = prefix.rglob("pkgconfig")
    flags = run("pkg-config", "--cflags", "--libs", "latchkey",
                env={**os.environ, "PKG_CONFIG_PATH": str(library)}).split()
    run("cc", "example.c", *flags, f"-Wl,-rpath,{library.parent}", "-o", "example", cwd=folder)
    assert run("./example", cwd=folder) == "0 2 0\n"

    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(example C)\n"
        f"find_package(latchkey {version} REQUIRED)\nadd_executable(by_cmake example.c)\n"
        "target_link_libraries(by_cmake latchkey::latchkey)\n")
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    assert run("build/by_cmake", cwd=folder) == "0 2 0\n"

    moved = prefix.rename(folder / "elsewhere")
    assert run(moved / "bin/latchkey", "--version").startswith(f"latchkey {version} (")
    assert "1 node" in run(moved / "bin/latchkey", "inspect", "model.onnx", cwd=folder)
    for part in ("share/bash-completion/completions/latchkey", "share/man/man1/latchkey.1",
                 "include/latchkey/session.h"):
        assert (moved / part).is_file(), part


def test_the_source_is_whole(tmp_path, version):
    """It has what git has, but for what pyproject.toml leaves out."""
    source = unpacked(f"latchkey-{version}.tar.gz", tmp_path)
    there = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    tracked = set(run("git", "ls-files", cwd=ROOT).split("\n")) - {""}
    assert there - tracked <= {"PKG-INFO"}
    assert {name for name in tracked - there if not name.startswith(".ci/")} == set()


def test_the_docs_have_a_start_page(tmp_path, version):
    assert "Latchkey" in (unpacked(f"latchkey-{version}-docs.tar.gz", tmp_path) /
                          "index.html").read_text()
