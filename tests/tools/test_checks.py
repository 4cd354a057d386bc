"""The checks of `make lint` must see what they are there for: each is shown a small tree that
breaks it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ONEDNN = "#include <oneapi/dnnl/dnnl.h>\n"

# A tree that keeps every rule; each test breaks one.
CLEAN = {
    "include/latchkey/base.h": "#include <stdint.h>\n",
    "include/latchkey/onednn.h": ONEDNN + "#include <latchkey/onednn_key.h>\n",
    "include/latchkey/onednn_key.h": ONEDNN,
    "base/alloc.h": "#include <latchkey/base.h>\n",
    "base/status.h": '#include "base/alloc.h"\n',
    "plugin/context.c": '#include "keys/cache/cache.h"\n#include "ops/plan/op.h"\n',
    "keys/cache/cache.h": '#include "base/alloc.h"\n',
    "keys/cache/table.c": '#include "keys/cache/cache.h"\n#include <uthash.h>\n',
    "ops/plan/op.h": '#include "keys/cache/cache.h"\n',
    "ops/kernel/move/copy.h": '#include <stdint.h>\n',
    "ops/kernel/conv/conv.h": '#include "ops/kernel/move/copy.h"\n',
    "ops/engine/native/native.h": '#include "ops/plan/op.h"\n',
    "ops/engine/onednn/module.h": "#include <latchkey/base.h>\n" + ONEDNN,
    "executor_glue/graph/graph.h": '#include "base/alloc.h"\n#include <latchkey/base.h>\n',
    "executor_glue/onnx/load.c": '#include "onnx.pb-c.h"\n'
                                 '#include "executor_glue/graph/graph.h"\n',
}


def run_check(tool, folder, files):
    """A check on a repository of these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    return subprocess.run([ROOT / "tools" / tool, folder], capture_output=True, text=True)


def check_includes(folder, changes):
    return run_check("check_includes", folder, {**CLEAN, **changes})


def test_a_clean_tree_passes(tmp_path):
    result = check_includes(tmp_path, {})
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("name, text, complaint", [
    ("base/log.c", '#include "keys/cache/cache.h"\n', "base may not include keys/cache/cache.h"),
    ("include/latchkey/op.h", '#include "ops/plan/op.h"\n',
     "include/latchkey may not include ops/plan/op.h"),
    ("keys/key.c", '#include "ops/plan/op.h"\n', "keys may not include ops/plan/op.h"),
    ("keys/key.c", "\n" + ONEDNN, "keys/key.c:2: keys may not include oneDNN"),
    ("ops/conv.c", '#include "executor_glue/graph/graph.h"\n',
     "ops may not include executor_glue/graph/graph.h"),
    ("ops/conv.c", '#include "onnx.pb-c.h"\n', "ops may not include the ONNX schema"),
    ("ops/conv.c", '#include "ops/kernel/conv/conv.h"\n',
     "may not include ops/kernel/conv/conv.h, which engines compute with"),
    ("ops/conv.c", '#include "ops/kernel/sequence/attend.h"\n',
     "may not include ops/kernel/sequence/attend.h, which engines compute with"),
    ("ops/conv.c", "int f(void) { return lk_isa_get(); }\n",
     "may not name an instruction set (lk_isa_get)"),
    ("ops/conv.c", '#include "ops/plan/product_steps.h"\n',
     "may not include ops/plan/product_steps.h, which engines emit steps by"),
    ("ops/conv.c", '#include "ops/plan/integer_steps.h"\n',
     "may not include ops/plan/integer_steps.h, which engines emit steps by"),
    ("ops/conv.c", 'const char *engine = "native";\n', "may not name an engine (native)"),
    ("ops/conv.c", "int f(void) { return lk_onednn_conv(); }\n",
     "may not name an engine (lk_onednn_conv)"),
    ("ops/conv.h", "/* As oneDNN has it. */\n", "may not name an engine (oneDNN)"),
    ("ops/conv.c", '#include "ops/engine/native/native.h"\n',
     "ops may not include ops/engine/native/native.h"),
    ("ops/engine/onednn/value.c", '#include "base/alloc.h"\n',
     "ops/engine/onednn may not include base/alloc.h"),
    ("ops/engine/value.c", '#include "ops/engine/onednn/module.h"\n',
     "ops/engine may not include ops/engine/onednn/module.h"),
    ("ops/engine/value.c", ONEDNN, "ops/engine may not include oneDNN"),
    ("ops/kernel/move/pad.c", '#include "ops/kernel/conv/conv.h"\n',
     "ops/kernel/move may not include ops/kernel/conv/conv.h"),
    ("executor_glue/graph/run.c", '#include "keys/cache/cache.h"\n',
     "executor_glue/graph may not include keys/cache/cache.h"),
    ("executor_glue/graph/run.c", '#include "executor_glue/onnx/load.c"\n',
     "executor_glue/graph may not include executor_glue/onnx/load.c"),
    ("include/latchkey/latchkey.h", ONEDNN, "include/latchkey may not include oneDNN"),
    ("include/latchkey/latchkey.h", "#include <latchkey/onednn.h>\n",
     "include/latchkey may not include latchkey/onednn.h, which is for hosts"),
    ("ops/engine/onednn/value.c", "#include <latchkey/onednn_key.h>\n",
     "ops/engine/onednn may not include latchkey/onednn_key.h, which is for hosts"),
    ("executor_glue/graph/run.c", "#include <dnnl.h>\n",
     "executor_glue/graph may not include oneDNN"),
    ("ops/conv.c", '#include "latchkey/base.h"\n',
     "public headers are included as <latchkey/...>"),
    ("ops/conv.c", '#include "ops/gone.h"\n', "no such file: ops/gone.h"),
    ("ops/conv.c", "#include <uthash.h>\n", "uthash.h is included by 2 files, not 1"),
    ("ops/extra/conv.c", "", "ops/extra/conv.c: the folder is no floor of the house"),
    ("base/alloc.h", '#include "base/status.h"\n', "in a circle: base/alloc, base/status"),
])
def test_an_include_the_other_way_is_found(tmp_path, name, text, complaint):
    result = check_includes(tmp_path, {name: text})
    assert result.returncode == 1
    assert complaint in result.stdout


OWNER = """
lk_status f(lk_thing **out,
            lk_error *error) {
  lk_status status = LK_OK;
  int *p = lk_alloc(a, 4);
  if (p == NULL) return lk_fail_memory(error, "a thing", 4);
%s
cleanup:
  lk_free(a, p);
  return status;
}
"""


def check_cleanup(folder, text):
    return run_check("check_cleanup", folder, {"keys/key.c": text})


@pytest.mark.parametrize("text", [
    OWNER % "  LK_TRY(g(p, error));",
    OWNER % "  LK_TRY(g(p, error)); /* no return here */",
    OWNER % '  LK_TRY(h(p, "a return of mine", error));',
    "static int g(void) {\n  if (x) return 1;\n  return 0;\n}\n",
    "lk_status f(void) {\n  LK_RETURN_NOT_OK(g());\n  return h();\n}\n",
    # Nothing is owned yet.
    "lk_status f(void) {\n  if (x) return LK_OK;\n  LK_TRY(g());\ncleanup:\n  h();\n"
    "  return status;\n}\n",
])
def test_failures_that_flow_one_way_pass(tmp_path, text):
    result = check_cleanup(tmp_path, text)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("text, line, complaint", [
    (OWNER % "  if (x) return LK_OK;", 7, "a return between acquiring and cleanup"),
    (OWNER % "  LK_TRY(g());\n  return LK_OK;", 8, "a return between acquiring and cleanup"),
    (OWNER % "  LK_RETURN_NOT_OK(g());", 7, "a return between acquiring and cleanup"),
    (OWNER % "  if (status != LK_OK) goto cleanup;", 7, "LK_TRY written out by hand"),
    ("lk_status f(void) {\n  if (status != LK_OK) return status;\n}\n", 2,
     "LK_RETURN_NOT_OK written out by hand"),
    ("lk_status f(void) {\n  if (failed != LK_OK)\n    return failed;\n}\n", 2,
     "LK_RETURN_NOT_OK written out by hand"),
    ("lk_status f(void) {\n  LK_TRY(g());\ncleanup:\n  return status;\n}\n", 3,
     "this cleanup gives up nothing"),
])
def test_a_failure_that_flows_another_way_is_found(tmp_path, text, line, complaint):
    result = check_cleanup(tmp_path, text)
    assert result.returncode == 1
    assert result.stdout == f"keys/key.c:{line}: {result.stdout.split(': ', 1)[1]}"
    assert complaint in result.stdout


def check_calls(folder, sources):
    objects = folder / "build/CMakeFiles/latchkey_keys.dir/keys"
    for made in (objects, folder / "keys"):
        made.mkdir(parents=True)
    for name, text in sources.items():
        (folder / "keys" / name).write_text(text)
        subprocess.run(["cc", "-c", folder / "keys" / name, "-o", objects / f"{name}.o"],
                       check=True)
    return subprocess.run([ROOT / "tools/check_calls", folder / "build", folder],
                          capture_output=True, text=True)


def test_calls_in_one_direction_pass(tmp_path):
    result = check_calls(tmp_path, {"a.c": "int b(void); int a(void) { return b(); }",
                                    "b.c": "int b(void) { return 1; }"})
    assert (result.returncode, result.stdout) == (0, "")


def test_calls_in_a_circle_are_found(tmp_path):
    result = check_calls(tmp_path, {"a.c": "int b(void); int a(void) { return b(); }",
                                    "b.c": "int c(void); int b(void) { return c(); }",
                                    "c.c": "int a(void); int c(void) { return a(); }"})
    assert result.returncode == 1
    assert "in a circle: keys/a.c, keys/b.c, keys/c.c" in result.stdout
    assert "keys/a.c -> keys/b.c: b" in result.stdout


def test_a_build_without_objects_is_told(tmp_path):
    result = subprocess.run([ROOT / "tools/check_calls", tmp_path], capture_output=True, text=True)
    assert result.returncode == 1 and "no objects" in result.stderr


# ---- clang-tidy ----


@pytest.fixture
def tidy(tmp_path):
    """Looks at a file of a small build, with what has passed kept in a folder of its own."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("tools/tidy", "tools/tidy_one", ".clang-tidy"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tools / "analyzer.h").write_text("")
    (tmp_path / "base").mkdir()
    (tmp_path / "base/one.h").write_text("int lk_one(int a);\n")
    (tmp_path / "base/one.c").write_text('#include "base/one.h"\n\n'
                                         "int lk_one(int a) {\n  return a + 1;\n}\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(one C)\nadd_library(one base/one.c)\n"
        "target_include_directories(one PRIVATE .)\n")
    subprocess.run(["cmake", "-G", "Ninja", "-B", "build", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                   cwd=tmp_path, check=True, capture_output=True)

    def look(path=os.environ["PATH"]):
        subprocess.run(["ninja", "-C", "build"], cwd=tmp_path, check=True, capture_output=True)
        return subprocess.run([tools / "tidy", "build", "base/one.c"], cwd=tmp_path, text=True,
                              env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "kept"),
                                   "PATH": path}, capture_output=True)

    return tmp_path, look


WITHOUT_LOOKING = """#!/bin/sh
[ "$1" = --version ] && exec %s --version
echo it looks; exit 1
"""


def test_tidy_looks_at_what_has_changed_only(tidy):
    folder, look = tidy
    done = look()
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "bin").mkdir()
    (folder / "bin/clang-tidy").write_text(WITHOUT_LOOKING % shutil.which("clang-tidy"))
    (folder / "bin/clang-tidy").chmod(0o755)
    without_looking = f"{folder}/bin:{os.environ['PATH']}"
    assert look(without_looking).returncode == 0
    header = folder / "base/one.h"
    header.write_text(header.read_text() + "\n")
    done = look(without_looking)
    assert done.returncode == 1 and "it looks" in done.stdout
    assert look().returncode == 0
    configuration = folder / ".clang-tidy"
    configuration.write_text(configuration.read_text() + "\n")
    assert look(without_looking).returncode == 1


def test_tidy_finds_it_again_and_again(tidy):
    folder, look = tidy
    (folder / "base/one.c").write_text('#include "base/one.h"\n\nint lk_one(int a) {\n'
                                       "  int b;\n  return a + b;\n}\n")
    for _ in range(2):
        done = look()
        assert done.returncode == 1 and "base/one.c" in done.stdout, done.stdout + done.stderr
        assert "clang-analyzer-core" in done.stdout


def test_tidy_refuses_what_is_not_compiled(tidy):
    folder, look = tidy
    look()
    done = subprocess.run([folder / "tools/tidy", "build", "base/none.c"], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "does not compile it" in done.stderr
