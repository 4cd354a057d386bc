"""What `benchmarks/run --json` says of itself: the day, the machine, and what took part."""

import datetime
import importlib.metadata
import json
import os

import common


def version(package):
    """None: it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def onednn():
    """None: it was not built."""
    header = common.ROOT / ".deps/onednn/include/oneapi/dnnl/dnnl_version.h"
    if not header.is_file():
        return None
    words = dict(line.split()[1:3] for line in header.read_text().splitlines()
                 if line.startswith("#define DNNL_VERSION_"))
    return ".".join(words[f"DNNL_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))


def main():
    print(json.dumps({"day": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
                      "machine": common.machine(), "processors": len(os.sched_getaffinity(0)),
                      "latchkey": version("latchkey"), "onednn": onednn(),
                      "onnxruntime": version("onnxruntime"), "openvino": version("openvino")}))


if __name__ == "__main__":
    main()
