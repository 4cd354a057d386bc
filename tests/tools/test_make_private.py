"""cmake/make_private.py: what needs the private oneDNN finds it, nobody else's names are in it, it
calls our threads, and its statics stay."""

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
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-Wl,--no-as-needed", source,
                    *options, "-o", library], check=True)
    return library


def change(*arguments):
    return subprocess.run([sys.executable, ROOT / "cmake/make_private.py", *arguments],
                          capture_output=True, text=True)


def make_private(onednn, *others):
    return change("--onednn", onednn, *others)


@pytest.fixture
def libraries(tmp_path):
    onednn = compile_library(tmp_path, "libdnnl.so.3", """
        int dnnl_version(void) { return 42; }
        int inner_dnnl_version(void) { return 1; }  /* its name ends in the bytes of the other's */
        int dnnl_twice(void) { return 2 * dnnl_version() + inner_dnnl_version(); }""", NOW)
    user = compile_library(tmp_path, "libuser.so", """
        int dnnl_twice(void);
        int use(void) { return dnnl_twice(); }""", onednn, "-Wl,-rpath,$ORIGIN")
    return onednn, user


def test_they_find_each_other_and_nobody_else_does(libraries, tmp_path):
    onednn, user = libraries
    done = make_private(onednn, user)
    assert done.returncode == 0, done.stderr
    onednn.rename(tmp_path / "liblkdnnl.so")
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
    onednn, _ = libraries
    text = tmp_path / "text.so"
    text.write_text("no library, and longer than the first bytes that tell one")
    done = make_private(onednn, text)
    assert done.returncode == 1
    assert done.stderr == (
        f"make_private: failed to read {text}: not a 64-bit little-endian ELF file\n")
    lazy = compile_library(tmp_path, "lazy", "int dnnl_version(void) { return 1; }", "-Wl,-z,lazy")
    assert "it has no flags" in make_private(lazy).stderr
    old = compile_library(tmp_path, "old", "int dnnl_version(void) { return 1; }", NOW,
                          "-Wl,--hash-style=sysv")
    assert "it has no GNU hash table" in make_private(old).stderr
    done = make_private(onednn, tmp_path / "none.so")
    assert done.returncode == 1 and "none.so" in done.stderr


# ---- --openmp: the threads --------------------------------------------------------------------

def test_it_calls_our_threads(tmp_path):
    """Compiled by the compiler for OpenMP, and run where there is no OpenMP but ours."""
    versions = tmp_path / "versions"
    versions.write_text("GOMP_1.0 { global: *GOMP_barrier; *LKTM_barrier; };"
                        "GOMP_4.0 { global: *GOMP_parallel; *LKTM_parallel; };"
                        "OMP_1.0 { global: omp_*; lkt_*; };")
    script = f"-Wl,--version-script={versions}"
    names = ("get_max_threads", "get_num_threads", "get_thread_num", "in_parallel")

    def runtime(folder, name, c_name, openmp, answer):
        folder.mkdir()
        functions = "".join(f"int {openmp}_{name}(void) {{ return {answer}; }}" for name in names)
        return compile_library(folder, name, functions + f"""
            void {c_name}_barrier(void) {{}}
            void {c_name}_parallel(void (*fn)(void *), void *data, unsigned threads,
                                   unsigned flags) {{
              (void)threads, (void)flags;
              fn(data);
              fn(data);
            }}""", script)

    theirs = runtime(tmp_path / "theirs", "libgomp.so.1", "GOMP", "omp", -1)
    ours = runtime(tmp_path / "ours", "liblkteam.so", "LKTM", "lkt", 10)
    onednn = compile_library(tmp_path, "libdnnl.so.3", """
        int omp_get_max_threads(void);
        int omp_get_num_threads(void);
        int omp_get_thread_num(void);
        int omp_in_parallel(void);
        int dnnl_sum(void) {
          int sum = omp_get_max_threads() + omp_in_parallel();
        #pragma omp parallel
          {
            sum += omp_get_num_threads() + omp_get_thread_num();
        #pragma omp barrier
          }
          return sum;
        }""", theirs, NOW, "-O1", "-fopenmp", "-nostdlib", "-lc", f"-Wl,-rpath,{ours.parent}")
    done = change("--openmp", onednn)
    assert done.returncode == 0, done.stderr
    before = onednn.read_bytes()
    assert change("--openmp", onednn).returncode == 0 and onednn.read_bytes() == before
    code = f"""if True:
        import ctypes
        ctypes.CDLL({str(theirs)!r}, ctypes.RTLD_GLOBAL)  # in everyone's way
        assert ctypes.CDLL({str(onednn)!r}).dnnl_sum() == 60"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_more_of_openmp_than_there_is_is_an_error(tmp_path):
    gomp = compile_library(tmp_path, "libgomp.so.1", "int omp_get_level(void) { return 0; }")
    onednn = compile_library(tmp_path, "libdnnl.so.3", """
        int omp_get_level(void);
        int dnnl_level(void) { return omp_get_level(); }""", gomp, NOW)
    done = change("--openmp", onednn)
    assert done.returncode == 1
    assert done.stderr == (
        f"make_private: failed to change {onednn}: it uses omp_get_level of OpenMP\n")


# ---- --openmp: statics ------------------------------------------------------------------------

def test_its_statics_outlive_exit(tmp_path):
    source = tmp_path / "statics.cc"
    source.write_text("""
        #include <pthread.h>
        #include <unistd.h>
        struct Late {
          explicit Late(const char *text) : text(text) {}
          ~Late() { (void)!write(1, text, 1); }
          const char *text;
        };
        static Late at_load("l");
        extern "C" int dnnl_use() {
          static Late at_first_use("u");
          return pthread_self() != 0;
        }""")
    onednn = tmp_path / "libdnnl.so.3"
    subprocess.run(["c++", "-shared", "-fPIC", NOW, source, "-o", onednn], check=True)

    def written():
        code = f"import ctypes; assert ctypes.CDLL({str(onednn)!r}).dnnl_use() == 1"
        return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    assert written() == b"ul"
    done = change("--openmp", onednn)
    assert done.returncode == 0, done.stderr
    before = onednn.read_bytes()
    assert written() == b""
    assert change("--openmp", onednn).returncode == 0 and onednn.read_bytes() == before


def test_statics_that_cannot_stay_are_an_error(tmp_path):
    onednn = compile_library(tmp_path, "libdnnl.so.3", """
        int __cxa_atexit(void (*)(void *), void *, void *);
        int dnnl_end(void (*end)(void *)) { return __cxa_atexit(end, 0, 0); }""", NOW)
    done = change("--openmp", onednn)
    assert done.returncode == 1
    assert done.stderr == (
        f"make_private: failed to change {onednn}: it does not call pthread_self\n")
