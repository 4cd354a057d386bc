"""The checks of `make lint` must see what they are there for: each is shown a small tree that breaks it."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A tree that keeps every rule; each test breaks one.
CLEAN = {
    "include/latchkey/base.h": "#include <stdint.h>\n",
    "base/alloc.h": "#include <latchkey/base.h>\n",
    "base/status.h": '#include "base/alloc.h"\n',
    "plugin/context.c": '#include "keys/cache/cache.h"\n#include "ops/plan/op.h"\n#include <oneapi/dnnl/dnnl.h>\n',
    "keys/cache/cache.h": '#include "base/alloc.h"\n',
    "keys/cache/table.c": '#include "keys/cache/cache.h"\n#include <uthash.h>\n',
    "ops/plan/op.h": '#include "keys/cache/cache.h"\n#include <oneapi/dnnl/dnnl.h>\n',
    "executor_glue/graph/graph.h": '#include "base/alloc.h"\n#include <latchkey/base.h>\n',
    "executor_glue/onnx/load.c": '#include "onnx.pb-c.h"\n#include "executor_glue/graph/graph.h"\n',
}


def check_includes(folder, changes):
    for name, text in {**CLEAN, **changes}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools/check_includes", folder / "tools")
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    return subprocess.run([folder / "tools/check_includes"], capture_output=True, text=True)


def test_a_clean_tree_passes(tmp_path):
    result = check_includes(tmp_path, {})
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("name, text, complaint", [
    ("base/log.c", '#include "keys/cache/cache.h"\n', "base may not include keys/cache/cache.h"),
    ("include/latchkey/op.h", '#include "ops/plan/op.h"\n', "include/latchkey may not include ops/plan/op.h"),
    ("keys/key.c", '#include "ops/plan/op.h"\n', "keys may not include ops/plan/op.h"),
    ("keys/key.c", "\n#include <oneapi/dnnl/dnnl.h>\n", "keys/key.c:2: keys may not include oneDNN"),
    ("ops/conv.c", '#include "executor_glue/graph/graph.h"\n', "ops may not include executor_glue/"),
    ("ops/conv.c", '#include "onnx.pb-c.h"\n', "ops may not include the ONNX schema"),
    ("executor_glue/graph/run.c", '#include "keys/cache/cache.h"\n', "executor_glue/graph may not include keys/"),
    ("executor_glue/graph/run.c", "#include <dnnl.h>\n", "executor_glue/graph may not include oneDNN"),
    ("ops/conv.c", '#include "latchkey/base.h"\n', "public headers are included as <latchkey/...>"),
    ("ops/conv.c", '#include "ops/gone.h"\n', "no such file: ops/gone.h"),
    ("executor_glue/graph/run.c", '#include "executor_glue/onnx/load.c"\n',
     "executor_glue/graph may not include executor_glue/onnx/load.c"),
    ("ops/extra/conv.c", "", "ops/extra/conv.c: the folder is no floor of the house"),
    ("base/alloc.h", '#include "base/text.h"\n', "no such file: base/text.h"),
    ("base/alloc.h", '#include "base/status.h"\n', "in a circle: base/alloc, base/status"),
    ("ops/conv.c", "#include <uthash.h>\n", "uthash.h is included by 2 files, not 1"),
])
def test_an_include_the_other_way_is_found(tmp_path, name, text, complaint):
    result = check_includes(tmp_path, {name: text})
    assert result.returncode == 1
    assert complaint in result.stdout
