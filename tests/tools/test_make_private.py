"""cmake/make_private.py: what needs the private oneDNN finds it, and nobody else's names are in it."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOW = "-Wl,-z,now"  # oneDNN's library has flags too


def compile_library(folder, name, text, *options):
    source = folder / f"{name}.c"
    source.write_text(text)
    library = folder / name
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-Wl,--no-as-needed", source, *options,
                    "-o", library], check=True)
    return library


def make_private(onednn, *others):
    return subprocess.run([sys.executable, ROOT / "cmake/make_private.py", "--onednn", onednn, *others],
                          capture_output=True, text=True)


@pytest.fixture
def libraries(tmp_path):
    gomp = compile_library(tmp_path, "libgomp.so.1", "int omp_number(void) { return 40; }")
    onednn = compile_library(tmp_path, "libdnnl.so.3", """
        int omp_number(void);
        int dnnl_version(void) { return omp_number() + 2; }
        int inner_dnnl_version(void) { return 1; }  /* its name ends in the bytes of the other's */
        int dnnl_twice(void) { return 2 * dnnl_version() + inner_dnnl_version(); }""", gomp, NOW,
                             "-Wl,-rpath,$ORIGIN")
    user = compile_library(tmp_path, "libuser.so", """
        int dnnl_twice(void);
        int use(void) { return dnnl_twice(); }""", onednn, gomp, "-Wl,-rpath,$ORIGIN")
    return onednn, gomp, user


def test_they_find_each_other_and_nobody_else_does(libraries, tmp_path):
    onednn, gomp, user = libraries
    done = make_private(onednn, gomp, user)
    assert done.returncode == 0, done.stderr
    onednn.rename(tmp_path / "liblkdnnl.so")
    gomp.rename(tmp_path / "liblkgomp.so")
    code = f"""if True:
        import ctypes
        stranger = ctypes.CDLL({str(tmp_path / "stranger")!r}, ctypes.RTLD_GLOBAL)
        assert ctypes.CDLL({str(user)!r}).use() == 85
        assert stranger.dnnl_twice() == -2"""
    compile_library(tmp_path, "stranger", """
        int dnnl_version(void) { return -1; }
        int dnnl_twice(void) { return 2 * dnnl_version(); }""")
    subprocess.run([sys.executable, "-c", code], check=True)
    private = ctypes.CDLL(str(tmp_path / "liblkdnnl.so"))
    assert private.eMnl_twice() == 85 and not hasattr(private, "dnnl_twice")


def test_what_was_changed_stays_as_it_is(libraries):
    assert make_private(*libraries).returncode == 0
    before = [library.read_bytes() for library in libraries]
    assert make_private(*libraries).returncode == 0
    assert [library.read_bytes() for library in libraries] == before


def test_what_it_cannot_change_is_an_error(libraries, tmp_path):
    onednn, gomp, user = libraries
    text = tmp_path / "text.so"
    text.write_text("no library, and longer than the first bytes that tell one")
    done = make_private(onednn, gomp, text)
    assert done.returncode == 1
    assert done.stderr == (f"make_private: failed to read {text}: not a 64-bit little-endian ELF file\n")
    lazy = compile_library(tmp_path, "lazy", "int dnnl_version(void) { return 1; }", "-Wl,-z,lazy")
    assert "it has no flags" in make_private(lazy, gomp).stderr
    old = compile_library(tmp_path, "old", "int dnnl_version(void) { return 1; }", NOW,
                          "-Wl,--hash-style=sysv")
    assert "it has no GNU hash table" in make_private(old, gomp).stderr
    done = make_private(onednn, tmp_path / "none.so")
    assert done.returncode == 1 and "none.so" in done.stderr
