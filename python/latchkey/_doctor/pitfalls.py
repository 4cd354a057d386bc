"""What is known to go wrong, where it does, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .._load import OTHERS
from .._text import size_text

PROBLEM, REMARK = "problem", "remark"
_ISAS = ("sse2", "avx2", "avx512_core", "avx512", "amx")
_FAR_BELOW = 0.5  # of what is expected
_OFTEN_THROTTLED = 0.05


class Pitfall(NamedTuple):
    """Something that was found, and can be changed."""

    pitfall: str
    """A name for programs, such as ``unknown_variable``."""
    level: str
    """``problem`` or ``remark``."""
    text: str
    """What was found, in one sentence."""
    advice: str
    """What to do."""


def find(report: Mapping[str, Any], known_variables: Iterable[str]) -> list[Pitfall]:
    """All of them in a report; problems first."""
    found = [*_variables(report["process"]["variables"], list(known_variables)),
             *_options(report), *_group(report), *_pages(report), *_runtimes(report["process"]),
             *_measured(report.get("measured")), *_engine(report), *_model(report)]
    return sorted(found, key=lambda one: one.level != PROBLEM)


def _option(report: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Value and source; ``("", "")`` where options are not known."""
    for option in report["options"]:
        if option["name"] == name:
            return option["value"], option["source"]
    return "", ""


def _variables(variables: Mapping[str, str], known: list[str]) -> Iterator[Pitfall]:
    for name in variables:
        if not name.startswith("LATCHKEY_") or name in known:
            continue
        near = difflib.get_close_matches(name, known, 1, 0.75)
        yield Pitfall("unknown_variable", PROBLEM,
                      f"The environment has {name}, which nothing reads.",
                      f"Set {near[0]} if that is meant." if near else
                      "Unset it; docs/environment.md lists the variables that exist.")


def _options(report: Mapping[str, Any]) -> Iterator[Pitfall]:
    machine = report["machine"]
    if report["library"]["error"]:
        yield Pitfall("bad_option", PROBLEM, f"No context can be made: "
                      f"{report['library']['error']}.",
                      "Correct the argument or the variable that it names, or leave it out.")
    isa, source = _option(report, "max_isa")
    if source == "environment" and isa in _ISAS and (
            _ISAS.index(isa) < _ISAS.index(machine["isa"])):
        yield Pitfall("isa_below_machine", PROBLEM,
                      f"LATCHKEY_MAX_ISA allows {isa}, and the processor has {machine['isa']}.",
                      "Unset it, unless results must be those of other machines.")
    value, _ = _option(report, "threads")
    threads = int(value or 0)
    quota = machine["cgroup"]["processors"]
    if quota and threads > -(-quota // 1):
        yield Pitfall("quota_below_threads", PROBLEM,
                      f"Runs use {threads} threads, and the control group lets {quota:g} "
                      "processors compute: threads stop until the next period.",
                      f"Use at most {max(1, int(quota))} threads (LATCHKEY_THREADS), or raise the "
                      "quota.")
    elif machine["processors_allowed"] and threads > machine["processors_allowed"]:
        yield Pitfall("threads_above_processors", PROBLEM,
                      f"Runs use {threads} threads, and the process may use "
                      f"{machine['processors_allowed']} processors.",
                      "Leave threads unset: then they follow the processors.")
    elif 0 < machine["cores_allowed"] < threads:
        yield Pitfall("threads_share_cores", REMARK,
                      f"Runs use {threads} threads on {machine['cores_allowed']} cores: "
                      "hyperthreads of one core share its units.",
                      f"Try LATCHKEY_THREADS={machine['cores_allowed']}, and measure both.")
    memory, source = _option(report, "memory_bytes")
    if memory.isdigit() and source in ("argument", "environment", "call") and (
            0 < machine["memory_bytes"] < int(memory)):
        yield Pitfall("memory_above_machine", PROBLEM,
                      f"The limit of memory is {size_text(int(memory))}, and the machine has "
                      f"{size_text(machine['memory_bytes'])}: it never takes hold.",
                      "Lower LATCHKEY_MEMORY_BYTES, or leave it unset.")


def _group(report: Mapping[str, Any]) -> Iterator[Pitfall]:
    group, machine = report["machine"]["cgroup"], report["machine"]
    old = group["version_1"]
    processors, memory = old["processors"], old["memory_bytes"]
    threads = int(_option(report, "threads")[0] or 0)
    limit = _option(report, "memory_bytes")[0]
    if processors and processors < min(threads, machine["processors_allowed"] or threads):
        yield Pitfall("old_quota", PROBLEM,
                      f"The control group of version 1 lets {processors:g} processors compute, "
                      f"which the library does not read: runs use {threads} threads.",
                      f"Set LATCHKEY_PROCESSORS={max(1, round(processors))}.")
    if memory and limit.isdigit() and memory < int(limit):
        yield Pitfall("old_memory_limit", PROBLEM,
                      f"The control group of version 1 has {size_text(memory)}, which the library "
                      "does not read: the process may be killed before a context meets its limit.",
                      f"Set LATCHKEY_MEMORY_BYTES below {size_text(memory)}.")
    if group["periods"] and group["throttled"] > _OFTEN_THROTTLED * group["periods"]:
        yield Pitfall("throttled", REMARK,
                      f"The quota of the control group ran out in {group['throttled']} of "
                      f"{group['periods']} periods so far.",
                      "Use fewer threads, or raise cpu.max.")


def _pages(report: Mapping[str, Any]) -> Iterator[Pitfall]:
    mode = report["machine"]["huge_pages"]
    if mode == "never":
        yield Pitfall("no_huge_pages", REMARK,
                      "Huge pages are off: weights and activations lie on pages of 4 KiB.",
                      "Set /sys/kernel/mm/transparent_hugepage/enabled to always, and measure.")
    if mode == "always" and report["machine"]["cgroup"]["memory_bytes"]:
        yield Pitfall("huge_pages_count", REMARK,
                      "Huge pages are on for all memory, so RSS grows in steps of 2 MiB within "
                      "the limit of the control group.",
                      "Leave room, or set /sys/kernel/mm/transparent_hugepage/enabled to madvise.")


def _runtimes(process: Mapping[str, Any]) -> Iterator[Pitfall]:
    loaded, variables = process["runtimes"], process["variables"]
    for kind in ("Latchkey", "ONNX Runtime"):
        copies = loaded.get(kind, [])
        names = {path.rpartition("/")[2].partition(".so")[0] for path in copies}
        if len(copies) > len(names):
            yield Pitfall("several_copies", PROBLEM,
                          f"The process has {len(copies)} copies of {kind}: "
                          f"{', '.join(copies)}.",
                          "Keep one installation; sessions of one copy are unknown to the other.")
    openmp = loaded.get("OpenMP", [])
    if len(openmp) > 1:
        yield Pitfall("several_openmp", REMARK,
                      f"The process has {len(openmp)} OpenMP runtimes, each with threads of its "
                      f"own: {', '.join(openmp)}.",
                      "Give each a part of the processors (OMP_NUM_THREADS), so that they do not "
                      "compute at once on all.")
    if len(loaded.get("BLAS", [])) > 1:
        yield Pitfall("several_blas", REMARK,
                      f"The process has {len(loaded['BLAS'])} BLAS libraries, each with threads of "
                      f"its own: {', '.join(loaded['BLAS'])}.",
                      "Limit them (OPENBLAS_NUM_THREADS, MKL_NUM_THREADS) where Latchkey computes.")
    if openmp and variables.get("OMP_WAIT_POLICY", "").lower() == "active":
        yield Pitfall("openmp_spins", PROBLEM,
                      "OMP_WAIT_POLICY is active: threads of OpenMP keep processors while they "
                      "wait, and Latchkey's threads cannot have them.",
                      "Set OMP_WAIT_POLICY=passive.")


def _measured(measured: Mapping[str, Any] | None) -> Iterator[Pitfall]:
    if not measured:
        return
    expected = measured["expected"]["gflops"]
    if expected <= 0 or measured["gflops"] >= _FAR_BELOW * expected:
        return
    text = (f"The processor did {measured['gflops']:.0f} GFLOP/s, and {expected:.0f} are expected "
            f"({measured['expected']['derived_from']})")
    if measured["throttled"] > 0:
        yield Pitfall("slow_throttled", PROBLEM, f"{text}: the quota of the control group ran out.",
                      "Raise cpu.max, or use fewer threads.")
    elif measured["stolen_processors"] > OTHERS:
        yield Pitfall("slow_stolen", PROBLEM,
                      f"{text}: the hypervisor gave {measured['stolen_processors']:g} processors "
                      "to others.", "Ask for processors of your own, or for fewer.")
    elif measured["others_processors"] > OTHERS:
        yield Pitfall("slow_others", PROBLEM,
                      f"{text}: others computed on {measured['others_processors']:g} processors.",
                      "Stop them, or keep processors apart (taskset, cpuset).")
    else:
        yield Pitfall("slow_unknown", REMARK, f"{text}: nothing shows why.",
                      "Look at the clock frequency and the temperature while it computes.")


def _engine(report: Mapping[str, Any]) -> Iterator[Pitfall]:
    """Where somebody has asked for an engine or has given times to choose by."""
    engine = report.get("engine")
    if not engine:
        return
    why = report["library"]["engines"].get("onednn", "")
    if why and engine["asked"] == "auto":
        yield Pitfall("engine_not_there", REMARK,
                      f"Engine auto is asked for, and has only native: {why}.",
                      "Build the module of oneDNN, or take engine native.")
    works, fitting = engine["tuning_works"], engine["tuning_fitting"]
    if works == 0:
        return
    if engine["name"] != "auto":
        yield Pitfall("tuning_not_used", REMARK,
                      f"The tuning file has times of {works} works, and engine {engine['name']} "
                      "does not choose by them.", "Take engine auto.")
    elif fitting == 0:
        yield Pitfall("tuning_does_not_fit", PROBLEM,
                      f"The tuning file has times of {works} works, and none of these fits: they "
                      f"are of another number of threads than {engine['threads']}, of another "
                      "engine or version of it, or of another processor.",
                      f"Tune here: latchkey tune MODEL --threads {engine['threads']} -o FILE.")


def _model(report: Mapping[str, Any]) -> Iterator[Pitfall]:
    model = report.get("model")
    if not model:
        return
    if not model["runs"]:
        count = len(model["missing"]["nodes"]) + len(model["missing"]["other"])
        reason = model["missing"]["error"] or (
            f"{count} kinds of nodes or other things are not supported")
        advice = ("Give the path of an ONNX file." if model["missing"]["error"] else
                  "See latchkey ops --missing; in ONNX Runtime, what is missing is left to its own "
                  "provider.")
        yield Pitfall("model_does_not_run", PROBLEM, f"The model does not run here: {reason}.",
                      advice)
    limit = _option(report, "memory_bytes")[0]
    if limit.isdigit() and int(limit) < model["weights_bytes"]:
        yield Pitfall("memory_below_model", PROBLEM,
                      f"The limit of memory is {size_text(int(limit))}, and the weights alone take "
                      f"{size_text(model['weights_bytes'])} once they are packed.",
                      "Raise memory_bytes, or the limit that it comes from.")
