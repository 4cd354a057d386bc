"""Generates the C source of latchkey._native from the public headers, by cffi.

cffi reads declarations, not headers: the preprocessor lays them out, without the system's headers,
whose types cffi knows by itself. The module's own functions, native.h, are taken in the same way.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import cffi

# Macros that Python code uses; the preprocessor leaves none behind.
CONSTANTS = """
#define LK_API_VERSION ...
#define LK_SESSION_API_VERSION ...
static const uint64_t LK_UNSET;
static const uint64_t LK_UNLIMITED;
static const uint64_t LK_NONE;
"""

# Python functions that the library calls.
CALLBACKS = """
extern "Python" int32_t lk_py_should_stop(void *arg);
extern "Python" void lk_py_refusal(void *arg, const lk_session_refusal *refusal);
extern "Python+C" void lk_py_log_lines(void);
"""


def declarations(compiler: str, include: Path, native: Path) -> str:
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stddef.h", "stdint.h", "stdatomic.h"):
            Path(empty, name).touch()
        return subprocess.run(
            [compiler, "-E", "-P", "-nostdinc", "-I", empty, "-I", include,
             "-D__attribute__(x)=", "-D__extension__=", "-DLK_MUST_USE=", native],
            check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", required=True, type=Path)
    parser.add_argument("--native", required=True, type=Path)
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    ffi = cffi.FFI()
    ffi.cdef(declarations(args.compiler, args.include, args.native) + CONSTANTS + CALLBACKS)
    ffi.set_source("latchkey._native", '#include "native.h"')
    ffi.emit_c_code(args.output)


if __name__ == "__main__":
    main()
