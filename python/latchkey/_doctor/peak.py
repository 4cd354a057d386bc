"""What the machine should reach, and what it does reach just now."""

from __future__ import annotations

from typing import Any

from .._context import Context
from .._load import Load
from .._profile import machine_peak
from . import machine as machine_of
from ._files import Files

# Additions and multiplications of f32 that a core does in a cycle: units for FMA, times numbers in
# a vector, times two. By instruction set in use, for who has two units of that width.
_IN_A_CYCLE = {"sse2": 2 * 4, "avx2": 2 * 8 * 2, "avx512": 2 * 16 * 2}
_AMD_WITH_NARROW_UNITS = 25  # Zen 4 does AVX-512 on units of 256 bits; so do all before it


def expected(machine: dict[str, Any], isa: str, threads: int) -> dict[str, Any]:
    """The least that the processor is known to be capable of, and how that follows.

    :param isa: the instruction set in use.
    """
    isa = "avx512" if isa == "amx" else isa
    in_a_cycle, why = _IN_A_CYCLE[isa], "two units"
    if isa == "avx512" and machine["vendor"] == "AuthenticAMD" and (
            machine["family"] <= _AMD_WITH_NARROW_UNITS):
        in_a_cycle, why = _IN_A_CYCLE["avx2"], "two units of 256 bits"
    cores = max(1, min(threads, machine["cores_allowed"] or threads))
    quota = machine["cgroup"]["processors"]
    share = min(cores, quota) if quota else cores
    gflops = in_a_cycle * machine["mhz"] / 1000 * share
    return {"gflops": gflops,
            "derived_from": f"{in_a_cycle} f32 operations in a cycle ({isa}, {why}) x "
                            f"{machine['mhz'] / 1000:.2f} GHz x {share:g} cores"}


def measure(files: Files, context: Context, machine: dict[str, Any], isa: str) -> dict[str, Any]:
    """Measures for about 150 ms, and looks at who else computes meanwhile."""
    load, periods = Load(lambda: files.read("/proc/stat") or ""), machine_of.throttling(files)
    load.begin()
    peak = machine_peak(context=context)
    load.end(0.0)
    later = machine_of.throttling(files)
    return {"threads": peak.threads, "gflops": peak.gflops, "gbytes": peak.gbytes,
            "expected": expected(machine, isa, peak.threads),
            "others_processors": round(load.others() or 0.0, 2),
            "stolen_processors": round(load.stolen() or 0.0, 2),
            "throttled": later[1] - periods[1]}
