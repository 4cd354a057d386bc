"""A diagnosis as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._text import escape, size_text, table

_SOURCES = {"default": "the default", "argument": "an argument", "machine": "the machine",
            "cgroup": "the control group", "call": "a call since"}


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Sections, and the pitfalls at the end, where they are seen."""
    yield from _machine(found["machine"])
    library = found["library"]
    yield f"library: latchkey {library['version']}, kernels for {library['isa']}"
    for name, why in library["engines"].items():
        yield f"  engine {name}: {escape(why) or 'there'}"
    yield from _tuning(found["engine"])
    yield from _options(found["options"])
    yield from _process(found["process"])
    yield from _measured(found["measured"])
    yield from _model(found["model"])
    yield from _pitfalls(found["pitfalls"])


def _tuning(engine: Mapping[str, Any] | None) -> Iterator[str]:
    if engine is None or engine["tuning_works"] + engine["tuning_skipped"] == 0:
        return
    yield (f"  tuning file: times of {engine['tuning_works']} works, of which "
           f"{engine['tuning_fitting']} fit this machine, engine and number of threads; "
           f"{engine['tuning_skipped']} lines skipped")


def _machine(machine: Mapping[str, Any]) -> Iterator[str]:
    group = machine["cgroup"]
    caches = ", ".join(f"L{one['level']} {size_text(one['bytes'])}" for one in machine["caches"])
    yield f"machine: {escape(machine['processor'])}, {machine['isa']}, {machine['mhz']:.0f} MHz"
    yield (f"  {machine['processors_allowed']} processors on {machine['cores_allowed']} cores for "
           f"this process; {caches}")
    yield (f"  memory: {size_text(machine['memory_bytes'])}, "
           f"{size_text(machine['memory_available_bytes'])} available; huge pages: "
           f"{machine['huge_pages'] or 'unknown'}; load {machine['load']:g}")
    limits = [f"{group['processors']:g} processors" if group["processors"] else "",
              size_text(group["memory_bytes"]) if group["memory_bytes"] else ""]
    yield f"  control group: {', '.join(filter(None, limits)) or 'no limits'}"


def _options(options: list[Mapping[str, str]]) -> Iterator[str]:
    if not options:
        return
    yield "options in force:"
    rows = [("option", "value", "from")]
    for option in options:
        source = _SOURCES.get(option["source"], option["variable"])
        rows.append((option["name"], option["value"], source))
    yield table(rows, 3, 2)


def _process(process: Mapping[str, Any]) -> Iterator[str]:
    yield f"process {process['pid']}: {process['threads']} threads"
    for kind, paths in process["runtimes"].items():
        for path in paths:
            yield f"  {kind}: {escape(path)}"
    for name, value in process["variables"].items():
        yield f"  {escape(name)}={escape(value)}"


def _measured(measured: Mapping[str, Any] | None) -> Iterator[str]:
    if measured is None:
        return
    expected = measured["expected"]
    yield (f"measured with {measured['threads']} threads: {measured['gflops']:.1f} GFLOP/s of f32, "
           f"{measured['gbytes']:.1f} GB/s from memory")
    yield f"  expected: {expected['gflops']:.0f} GFLOP/s: {expected['derived_from']}"
    yield (f"  meanwhile others computed on {measured['others_processors']:g} processors, "
           f"{measured['stolen_processors']:g} were stolen")


def _model(model: Mapping[str, Any] | None) -> Iterator[str]:
    if model is None:
        return
    yield f"model {escape(model['path'])}: {'runs' if model['runs'] else 'does not run'} here"
    for value in model["inputs"]:
        yield f"  input {value}"
    if not model["operators"]:
        return
    sizes = "vary" if model["has_dynamic_sizes"] else "are fixed"
    counts = ", ".join(f"{count} {escape(name)}" for name, count in model["operators"].items())
    yield f"  sizes {sizes}; {size_text(model['weights_bytes'])} of weights"
    yield f"  operators: {counts}"


def _pitfalls(found: list[Mapping[str, str]]) -> Iterator[str]:
    if not found:
        yield "no pitfalls were found"
        return
    yield "pitfalls:"
    for one in found:
        yield f"  {one['level']}: {escape(one['text'])}"
        yield f"    => {escape(one['advice'])}"
