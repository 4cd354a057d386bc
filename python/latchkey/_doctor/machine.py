"""What the machine is, and what of it the process may use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._files import Files, numbers_of, size_of

_CPUS = "/sys/devices/system/cpu"


def read(files: Files, pid: str = "self") -> dict[str, Any]:
    """The processor, its caches and cores, the control group of a process, and the memory."""
    info = _first_processor(files)
    allowed = numbers_of(_status(files, pid).get("Cpus_allowed_list", ""))
    flags = info.get("flags", "").split()
    return {"processor": info.get("model name", ""), "vendor": info.get("vendor_id", ""),
            "family": int(info.get("cpu family", 0)), "isa": best_isa(flags),
            "mhz": _mhz(files, info), "processors_allowed": len(allowed),
            "cores_allowed": len(_cores(files, allowed)), "caches": list(_caches(files)),
            "memory_bytes": _memory(files, "MemTotal"),
            "memory_available_bytes": _memory(files, "MemAvailable"),
            "huge_pages": _chosen(files.read("/sys/kernel/mm/transparent_hugepage/enabled")),
            "load": float((files.read("/proc/loadavg") or "0").split()[0]),
            "cgroup": _cgroup(files, pid)}


def best_isa(flags: list[str]) -> str:
    """The best of the names that LATCHKEY_MAX_ISA takes."""
    has = set(flags)
    if not {"avx2", "fma"} <= has:
        return "sse2"
    if not {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= has:
        return "avx2"
    return "amx" if "amx_tile" in has else "avx512"


def throttling(files: Files, pid: str = "self") -> tuple[int, int]:
    """How many periods of the control group's quota there were, and in how many it ran out."""
    counts = _pairs(files.read(f"{_group_folder(files, pid)}/cpu.stat") or "", " ")
    return int(counts.get("nr_periods", 0)), int(counts.get("nr_throttled", 0))


def _first_processor(files: Files) -> dict[str, str]:
    text = files.read("/proc/cpuinfo") or ""
    return _pairs(text.split("\n\n")[0], ":")


def _pairs(text: str, separator: str) -> dict[str, str]:
    parts = (line.partition(separator) for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in parts}


def _status(files: Files, pid: str) -> dict[str, str]:
    return _pairs(files.read(f"/proc/{pid}/status") or "", ":")


def _mhz(files: Files, info: dict[str, str]) -> float:
    """The most that it may have, where the system says so, else what it says that it has."""
    most = files.number(f"{_CPUS}/cpu0/cpufreq/cpuinfo_max_freq")
    try:
        return most / 1000 if most else float(info.get("cpu MHz", 0))
    except ValueError:
        return 0.0


def _cores(files: Files, processors: list[int]) -> set[str]:
    """Those of some processors; siblings share one."""
    return {files.read(f"{_CPUS}/cpu{number}/topology/thread_siblings_list") or str(number)
            for number in processors}


def _caches(files: Files) -> Iterator[dict[str, Any]]:
    for name in files.names(f"{_CPUS}/cpu0/cache"):
        folder = f"{_CPUS}/cpu0/cache/{name}"
        kind = files.read(f"{folder}/type")
        if not name.startswith("index") or kind in (None, "Instruction"):
            continue
        yield {"level": files.number(f"{folder}/level"),
               "bytes": size_of(files.read(f"{folder}/size") or ""),
               "shared_by": len(numbers_of(files.read(f"{folder}/shared_cpu_list") or ""))}


def _memory(files: Files, name: str) -> int:
    words = _pairs(files.read("/proc/meminfo") or "", ":").get(name, "0").split()
    return int(words[0]) * 1024


def _chosen(text: str | None) -> str:
    """``always [madvise] never`` has chosen the one in brackets."""
    return text.partition("[")[2].partition("]")[0] if text else ""


# ---- control groups --------------------------------------------------------------------------


def _membership(files: Files, pid: str) -> dict[str, str]:
    """The path of the group by controller; that of version 2 by ``""``."""
    groups = {}
    for line in (files.read(f"/proc/{pid}/cgroup") or "").splitlines():
        _, names, path = (line.split(":", 2) + ["", ""])[:3]
        groups.update({name: path for name in names.split(",")})
    return groups


def _group_folder(files: Files, pid: str) -> str:
    return "/sys/fs/cgroup" + _membership(files, pid).get("", "").rstrip("/")


def _least(files: Files, root: str, path: str, read: Any) -> float | None:
    """Of a group and those above it."""
    found = []
    while True:
        limit = read(root + path.rstrip("/"))
        if limit is not None:
            found.append(limit)
        if path in ("", "/"):
            return min(found, default=None)
        path = path.rstrip("/").rpartition("/")[0]


def _cgroup(files: Files, pid: str) -> dict[str, Any]:
    groups = _membership(files, pid)

    def quota(folder: str) -> float | None:
        words = (files.read(f"{folder}/cpu.max") or "").split()
        return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None

    def old_quota(folder: str) -> float | None:
        most, period = (files.number(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
        return most / period if most and period else None

    def old_memory(folder: str) -> int | None:
        limit = files.number(f"{folder}/memory.limit_in_bytes")
        return limit if limit and limit < 2**60 else None

    path = groups.get("", "")
    periods, throttled = throttling(files, pid)
    return {"processors": _least(files, "/sys/fs/cgroup", path, quota),
            "memory_bytes": _least(files, "/sys/fs/cgroup", path,
                                   lambda folder: files.number(f"{folder}/memory.max")),
            "periods": periods, "throttled": throttled,
            "version_1": {
                "processors": _least(files, "/sys/fs/cgroup/cpu", groups.get("cpu", ""),
                                     old_quota),
                "memory_bytes": _least(files, "/sys/fs/cgroup/memory", groups.get("memory", ""),
                                       old_memory)}}
