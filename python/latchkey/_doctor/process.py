"""What else a process has loaded that computes, and what its environment says."""

from __future__ import annotations

import os
import re
from typing import Any

from .._errors import FileError
from ._files import Files

# Names of files, by what they are. A library may have a hash and a version in its name.
_KINDS = {
    "OpenMP": re.compile(r"lib(?:gomp|iomp5|omp)[-.]"),
    "BLAS": re.compile(r"lib(?:openblas|scipy_openblas|mkl_rt|mkl_core|blis)\w*[-.]"),
    "oneDNN": re.compile(r"lib(?:dnnl|mkldnn)[-.]"),
    "ONNX Runtime": re.compile(r"(?:libonnxruntime\.so|onnxruntime_pybind11_state)"),
    "Latchkey": re.compile(r"liblatchkey\.so"),
    "PyTorch": re.compile(r"libtorch_cpu\.so"),
    "TensorFlow": re.compile(r"libtensorflow_(?:framework|cc)\.so"),
    "OpenVINO": re.compile(r"libopenvino\.so"),
}


def read(files: Files, pid: str = "self") -> dict[str, Any]:
    """Runtimes by kind, each with the paths of its copies; threads; variables of Latchkey.

    :raises FileError: the maps of the process cannot be read.
    """
    maps = files.read(f"/proc/{pid}/maps")
    if maps is None:
        raise FileError(f"failed to read the maps of process {pid}: it does not exist, or belongs "
                        "to somebody else", "LK_IO")
    environ = files.read(f"/proc/{pid}/environ")
    variables = dict(os.environ) if pid == "self" else _variables(environ or "")
    return {"pid": os.getpid() if pid == "self" else int(pid),
            "threads": len(files.names(f"/proc/{pid}/task")),
            "runtimes": runtimes(maps),
            "variables": {name: value for name, value in sorted(variables.items())
                          if name.startswith(("LATCHKEY_", "OMP_", "KMP_", "GOMP_"))}}


def runtimes(maps: str) -> dict[str, list[str]]:
    """The files of /proc/PID/maps that compute, by what they are."""
    found: dict[str, list[str]] = {}
    for line in maps.splitlines():
        words = line.split(None, 5)
        if len(words) < 6 or not words[5].startswith("/"):
            continue
        path = words[5].removesuffix(" (deleted)")
        for kind, pattern in _KINDS.items():
            if pattern.match(os.path.basename(path)) and path not in found.get(kind, []):
                found.setdefault(kind, []).append(path)
    return found


def _variables(environ: str) -> dict[str, str]:
    pairs = (text.partition("=") for text in environ.split("\0"))
    return {name: value for name, _, value in pairs if name}
