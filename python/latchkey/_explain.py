"""Why was it slow: causes that statistics show, those that have cost the most at first."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from . import _check, _primitives, _shapes
from ._finding import Finding, option_size
from ._finding import count as _count
from ._load import OTHERS
from ._text import shape_text, time_text
from ._thread_use import ThreadUse

_DO = "explain statistics"
# Dimensions are rounded up to steps like these where sizes are many.
_STEPS = (8, 16, 32, 64, 128)
_FEW_SIZES = 8  # so many are no reason to round
_SOME_SIZES = 4  # fewer do not show that a dimension stays as it is
_MOST_SHOWN = 8
_MOST_NODES = 4  # of them
_ENGINE_BYTES = 256 * 2**20  # the default of cache_bytes where all works may have primitives
_RECURRING = 8  # so often a size comes until the engine `auto` asks for offers


class Explanation(tuple[Finding, ...]):
    """Findings, first those that have cost the most. ``str`` shows them as text."""

    def __str__(self) -> str:
        if not self:
            return "Nothing was found: sizes were known, and nothing was built twice.\n"
        return "\n".join(_lines(self)) + "\n"

    __repr__ = __str__

    def to_json(self) -> list[dict[str, Any]]:
        """The findings as data for a JSON file."""
        return [{**finding._asdict(), "details": list(finding.details)} for finding in self]


def _lines(findings: Iterable[Finding]) -> Iterator[str]:
    for number, finding in enumerate(findings, 1):
        lost = "" if finding.lost_ns is None else f" [{time_text(finding.lost_ns)}]"
        yield f"{number}. {finding.text}{lost}"
        for detail in finding.details[:_MOST_SHOWN]:
            yield f"   - {detail}"
        if len(finding.details) > _MOST_SHOWN:
            yield f"   - and {len(finding.details) - _MOST_SHOWN} more"
        if finding.advice:
            yield f"   => {finding.advice}"


# ---- sizes, and what changed between them ----


def _fields(size: Mapping[str, Any]) -> dict[str, Any]:
    """All that tells a size from others."""
    fields: dict[str, Any] = {}
    for tensor in size["inputs"]:
        name = tensor["name"]
        fields[f"{name}.dtype"] = tensor["dtype"]
        fields[f"{name}.rank"] = len(tensor["shape"])
        fields.update({f"{name}.dims[{i}]": dim for i, dim in enumerate(tensor["shape"])})
    for tensor in size["values"]:
        name = tensor["name"] or "wanted outputs"
        fields[f"{name}.length"] = len(tensor["data"])
        fields.update({f"{name}[{i}]": value for i, value in enumerate(tensor["data"])})
    return fields


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


class _Change(NamedTuple):
    """A field that was not as it was in the nearest size before."""

    times: int
    lost_ns: float
    values: frozenset[Any]
    last: str


def _changes_by_field(sizes: Sequence[Mapping[str, Any]]) -> dict[str, _Change]:
    """What the first builds of sizes are due to: each is compared with the nearest of those before
    it, and shared out among the fields that differ."""
    found: dict[str, _Change] = {}
    fields = [_fields(size) for size in sizes]
    for i, size in enumerate(sizes):
        before = fields[max(0, i - 64):i]
        if not before:
            continue
        nearest = min(reversed(before), key=lambda old: len(_changes(old, fields[i])))
        changed = _changes(nearest, fields[i])
        for name in changed:
            old = found.get(name, _Change(0, 0.0, frozenset(), ""))
            ends = {value for value in (nearest.get(name), fields[i].get(name))
                    if value is not None}
            found[name] = _Change(
                old.times + 1, old.lost_ns + _first_build(size) / len(changed),
                old.values | ends, f"{nearest.get(name, '-')} -> {fields[i].get(name, '-')}")
    return found


def _first_build(size: Mapping[str, Any]) -> float:
    return float(size["build_ns"] / size["builds"])


def _is_auto(context: Mapping[str, Any]) -> bool:
    return bool(context.get("engine", {}).get("name") == "auto")


def _is_asked_for(context: Mapping[str, Any]) -> bool:
    """Whether somebody chose the engine, or gave times to choose by. Who did not is told of the
    default only where it has changed something."""
    engine = context.get("engine", {})
    return not engine.get("is_default", False) or bool(engine["tuning_works"])


def _is_auto_told(context: Mapping[str, Any]) -> bool:
    if not _is_auto(context):
        return False
    return _is_asked_for(context) or any(one["is_engine"] for one in context["engine"]["choices"])


def _choices_of_auto(context: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Those of an engine by option say nothing more than what it has left."""
    return context["engine"].get("choices", ()) if _is_auto_told(context) else ()


def _evictions(cache: Mapping[str, Any]) -> int:
    """Of all kinds."""
    return sum(kind["evictions"] for kind in cache["kinds"].values())


def _needed_builds(context: Mapping[str, Any]) -> int:
    """Of a size that is kept: the engine ``auto`` builds for it once more when it recurs."""
    return 2 if _choices_of_auto(context) else 1


def _rebuilds(size: Mapping[str, Any], needed: int) -> float:
    return float(size["build_ns"] - needed * _first_build(size))


def _rounded(sizes: Sequence[Mapping[str, Any]], field: str, step: int) -> int:
    """How many sizes would be left, with a dimension rounded up."""
    left = set()
    for size in sizes:
        fields = _fields(size)
        if isinstance(fields.get(field), int):
            fields[field] = -(-fields[field] // step) * step
        left.add(tuple(sorted(fields.items(), key=str)))
    return len(left)


def _round_advice(sizes: Sequence[Mapping[str, Any]], changes: dict[str, _Change]) -> str:
    worst = next((name for name in sorted(changes, key=lambda name: -changes[name].lost_ns)
                  if ".dims[" in name), None)
    if worst is None or len(sizes) <= _FEW_SIZES:
        return "run the sizes that are known once before the first request"
    for step in _STEPS:
        left = _rounded(sizes, worst, step)
        if left <= max(_FEW_SIZES, len(sizes) // 4):
            return (f"where the model allows padding, round {worst} up to a multiple of {step}: "
                    f"{left} sizes instead of {len(sizes)}")
    return f"where the model allows padding, round {worst} up: it has {len(sizes)} sizes"


def _detail(name: str, change: _Change) -> str:
    values = sorted(change.values, key=lambda value: (str(type(value)), value))
    between = f"{values[0]} to {values[-1]}" if values else "none"
    return (f"{name}: {_count(len(values), 'value')} ({between}), "
            f"{_count(change.times, 'build')}, {time_text(change.lost_ns)}, last {change.last}")


def _node_changes(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """What nodes were bound anew for, the most expensive first."""
    found = [(change, node) for node in nodes for change in node.get("changes", ())]
    found.sort(key=lambda one: -one[0]["bind_ns"])
    return [f"{node['name'] or node['output_name']}: in[{change['input']}]."
            f"{'rank' if change['dim'] is None else 'dims[{dim}]'.format_map(change)} "
            f"{change['from']} -> {change['to']}, {_count(change['binds'], 'bind')}, "
            f"{time_text(change['bind_ns'])}" for change, node in found[:_MOST_NODES]]


def _new_sizes(where: str, sizes: Sequence[Mapping[str, Any]],
               nodes: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    changes = _changes_by_field(sizes)
    if not changes:
        return
    lost = sum(change.lost_ns for change in changes.values())
    ranked = sorted(changes, key=lambda name: -changes[name].lost_ns)
    yield Finding(
        "new_sizes", round(lost),
        f"{_count(len(sizes) - 1, 'new size')}{where} came after the first, "
        f"mostly since {ranked[0]} changed",
        (*(_detail(name, changes[name]) for name in ranked[:_MOST_SHOWN - _MOST_NODES]),
         *_node_changes(nodes)), _round_advice(sizes, changes))


def _built_again(sizes: Sequence[Mapping[str, Any]], context: Mapping[str, Any],
                 ) -> Iterator[Finding]:
    needed = _needed_builds(context)
    again = sorted((size for size in sizes if size["builds"] > needed),
                   key=lambda size: -_rebuilds(size, needed))
    if not again:
        return
    cache = context["cache"]
    evictions = cache["kinds"]["run"]["evictions"]
    builds = sum(size["builds"] - needed for size in again)
    lost = round(sum(_rebuilds(size, needed) for size in again))
    details = tuple(f"{shapes_text(size)}: {_count(size['builds'], 'build')}, "
                    f"{time_text(_rebuilds(size, needed))} lost" for size in again)
    if context["cache_mode"] == "thread" and evictions == 0:
        yield Finding(
            "each_thread_builds", lost,
            f"{_count(builds, 'build')} more than sizes: each thread has a cache of its own",
            details, "take the cache mode 'shared', in which threads share what was built")
        return
    yield Finding(
        "built_again", lost,
        f"{_count(builds, 'run plan')} had been evicted or dropped when needed again "
        f"({_count(evictions, 'eviction')})", details, _cache_advice(sizes, context))


def _cache_advice(sizes: Sequence[Mapping[str, Any]], context: Mapping[str, Any]) -> str:
    cache, built = context["cache"], _primitives.read(context, sizes)
    needed, entries = sum(size["bytes"] for size in sizes), len(sizes)
    if built is not None:
        needed += built.needed_bytes()
        entries = max(entries, built.needed_entries())
    advice = []
    if cache["capacity_entries"] is not None and entries > cache["capacity_entries"]:
        advice.append(f"cache_entries from {cache['capacity_entries']} to {entries} at least")
    if _is_auto_told(context) and cache["capacity_bytes"] is not None and _evictions(cache):
        most = max(2 * cache["capacity_bytes"], needed * 5 // 4, _ENGINE_BYTES)
        advice.append(f"cache_bytes from {option_size(cache['capacity_bytes'])} to "
                      f"{option_size(most)}")
        return f"raise {' and '.join(advice)}: the primitives of engine 'auto' count for it, too"
    if cache["capacity_bytes"] is not None:
        limit = cache["capacity_bytes"]
        if needed > limit * 0.9:
            advice.append(f"cache_bytes from {option_size(limit)} to "
                          f"{option_size(needed * 5 // 4)}")
        elif _evictions(cache) and cache["bytes"] > limit * 0.9:  # by more than was counted here
            advice.append(f"cache_bytes from {option_size(limit)} to {option_size(limit * 3 // 2)}")
            return f"raise {' and '.join(advice)}: it is full"
    if advice:
        also = "" if built is None else f", with the primitives of engine '{built.engine}'"
        return f"raise {' and '.join(advice)}: then all sizes that were seen fit{also}"
    return "all sizes fit now: other sessions of the context, memory_bytes or a clear dropped them"


def shapes_text(size: Mapping[str, Any]) -> str:
    """What tells a size of statistics from others: ``x 1x3x48x320, axes = [1, 2]``."""
    texts = [f"{tensor['name']} {shape_text(tensor['shape'])}" for tensor in size["inputs"]]
    texts += [f"{tensor['name'] or 'wanted outputs'} = {tensor['data']}"
              for tensor in size["values"]]
    return ", ".join(texts)


# ---- what else ----


def _kept_nothing(session: Mapping[str, Any], context: Mapping[str, Any]) -> Iterator[Finding]:
    if session["runs"] == 0 or session["run_plan_builds"] > 0 or session["sizes"]:
        return
    off = context["cache_mode"] == "off"
    built = _primitives.read(context, ()) if off else None
    also = "" if built is None else (f", and engine '{built.engine}' has built "
                                     f"{_count(built.counts['builds'], 'primitive')} for them")
    yield Finding(
        "nothing_kept", None,
        f"no run plan is kept, since {'the cache' if off else 'the option run_plans'} is off: each "
        f"of {_count(session['runs'], 'run')} has bound every operator anew{also}", (),
        "take the cache mode 'shared'" if off else "leave out run_plans=False")


def _memory(context: Mapping[str, Any]) -> Iterator[Finding]:
    memory = context["memory"]
    if memory["refusals"] == 0:
        return
    owners = sorted(memory["owners"].items(), key=lambda owner: -owner[1])
    yield Finding(
        "memory_limit", None,
        f"{_count(memory['refusals'], 'block')} did not fit in memory_bytes, "
        f"{memory['limit_bytes']} bytes; the last one was of {memory['refused_bytes']}",
        tuple(f"{name} holds {held} bytes" for name, held in owners if held > 0),
        f"raise memory_bytes to {option_size(memory['peak_bytes'] + memory['refused_bytes'])} or "
        f"more, or let fewer runs be on at once (max_runs)")


def _waits(session: Mapping[str, Any], process: Mapping[str, Any]) -> Iterator[Finding]:
    if session["waits"] > 0:
        yield Finding("waits_for_places", None,
                      f"{_count(session['waits'], 'run')} waited since max_runs others were on",
                      (), "raise max_runs, where memory allows it")
    if process["waits"] > 0:
        yield Finding(
            "waits_for_processors", None,
            f"{_count(process['waits'], 'run')} of the process waited for processors: "
            f"{process['processors']} may compute at once, at most {process['peak']} did", (),
            "send fewer requests at once, or give the process more processors")


def _idle_threads(use: ThreadUse) -> Iterator[Finding]:
    """Where fewer threads would do as well. Others that compute keep threads from it, which is no
    reason to take fewer."""
    enough = use.enough()
    if enough == use.threads:
        return
    if use.others > OTHERS:
        yield Finding(
            "others_compute", None,
            f"others computed on {use.others:.1f} processors meanwhile: the profile shows them "
            "too, and not how many threads are enough", (),
            "profile again when they do not; `latchkey doctor` says what else computes")
        return
    idle = sorted((step for step in use.steps if step.busy < use.threads),
                  key=lambda step: -step.ns * (use.threads - step.busy))
    longer = 100 * (use.predicted_ns(enough) / use.run_ns - 1)
    busy = sum(step.ns * step.busy for step in use.steps) / sum(step.ns for step in use.steps)
    yield Finding(
        "idle_threads", None,
        f"{busy:.1f} of {use.threads} threads computed in the mean: by the profile, "
        f"{_count(enough, 'thread')} would take at most {max(1, round(longer))} % longer",
        tuple(f"{step.operator} '{step.node or step.output}': {step.busy:.1f} of {use.threads} "
              f"threads, {time_text(step.ns)} a run" for step in idle),
        f"take threads={enough}: it leaves {_count(use.threads - enough, 'processor')} to other "
        "runs")


# ---- values that shapes follow from ----


def _shapes_from_data(where: str, session: Mapping[str, Any]) -> Iterator[Finding]:
    cuts = [node for node in session.get("nodes", ()) if node.get("shape_from_data")]
    if not cuts:
        return
    parts = len(_parts(session["sizes"]))
    names = ", ".join(dict.fromkeys(node["op_type"] for node in cuts))
    yield Finding(
        "shapes_from_data", None,
        f"{_count(len(cuts), 'node')} ({names}) {'gives' if len(cuts) == 1 else 'give'} outputs "
        f"whose shapes follow from data: {'it runs' if len(cuts) == 1 else 'they run'} between "
        f"parts of the model, of which {parts} have been bound, each with sizes of its own{where}",
        tuple(f"{_shapes.label(node)}: the shapes of its outputs follow from the elements of "
              f"{', '.join(map(repr, node['inputs']))}" for node in cuts), "")


def _shapes_from_values(where: str, session: Mapping[str, Any]) -> Iterator[Finding]:
    """Once a part of the model has had a new size: what else than dimensions of inputs is new."""
    nodes, sizes = session.get("nodes", ()), session["sizes"]
    has_new = len(sizes) > len(_parts(sizes))
    if not has_new or not all("shape_inputs" in node for node in nodes):
        return
    found = sorted(_shapes.chains(nodes), key=lambda chain: chain.is_shape)
    if not found:
        return
    by_input = [chain for chain in found if not chain.is_shape]
    consumers = len({chain.node for chain in found})
    yield Finding(
        "shapes_from_values", None,
        f"shapes of {_count(consumers, 'node')} follow from values: "
        f"{len(found) - len(by_input)} of {len(found)} are computed from other shapes, and so "
        f"known when a size is{where}",
        tuple(chain.text for chain in found),
        f"'{by_input[0].source}' is part of each size: give it the same elements where that is "
        "possible" if by_input else "")


# ---- dimensions that might be fixed ----


class _OpenDim(NamedTuple):
    """A dimension that the model leaves open."""

    name: str  # as fixed_dims takes it
    inputs: str  # that have it
    fields: tuple[str, ...]  # of a size


def _open_dims(session: Mapping[str, Any]) -> Iterator[_OpenDim]:
    places: dict[str, list[Mapping[str, Any]]] = {}
    for dim in session.get("open_dims", ()):
        places.setdefault(dim["symbol"] or f"{dim['input']}[{dim['dim']}]", []).append(dim)
    for name, dims in places.items():
        yield _OpenDim(name, ", ".join(dict.fromkeys(f"'{dim['input']}'" for dim in dims)),
                       tuple(f"{dim['input']}.dims[{dim['dim']}]" for dim in dims))


def _one_size(session: Mapping[str, Any]) -> Iterator[Finding]:
    """Dimensions that were always the same, where shapes are computed for each new size."""
    nodes, sizes = session.get("nodes", ()), list(map(_fields, session["sizes"]))
    computing = (_shapes.computing(nodes)
                 if all("shape_inputs" in node for node in nodes) else [])
    same, count = [], 0
    for dim in _open_dims(session):
        found = [size[field] for size in sizes for field in dim.fields if field in size]
        if len(found) >= _SOME_SIZES * len(dim.fields) and len(set(found)) == 1:
            same.append((dim.name, dim.inputs, found[0]))
            count = len(found) // len(dim.fields)
    if not computing or not same:
        return
    bound = sum(node["bind_ns"] for node in computing)
    fixed = ", ".join(f"{name!r}: {size}" for name, _, size in same)
    words = " ".join(f"--fix {shlex.quote(f'{name}={size}')}" for name, _, size in same)
    yield Finding(
        "one_size", None,
        f"{_count(len(same), 'dimension')} that the model leaves open had the same size in all "
        f"{count} requests that were new, and {_count(len(computing), 'node')} that "
        f"{'computes' if len(computing) == 1 else 'compute'} shapes "
        f"{'was' if len(computing) == 1 else 'were'} bound for each",
        (*(f"'{name}' of {inputs}: {size}" for name, inputs, size in same),
         f"{', '.join(dict.fromkeys(node['op_type'] for node in computing))}: "
         f"{time_text(bound)} of binds"),
        f"where that stays so, open the model with fixed_dims={{{fixed}}} ({words}): what follows "
        f"from {'it' if len(same) == 1 else 'them'} is computed once")


# ---- what passes have left ----


def _node_text(refusal: Mapping[str, Any]) -> str:
    name = refusal["node_name"] or refusal["output_name"]
    return f"{refusal['op_type']} '{name}'" if name else "the model"


def _refusal_detail(refusal: Mapping[str, Any]) -> str:
    taken = refusal.get("run_ns")
    time = "" if taken is None else f" [{time_text(taken)} a run]"
    return f"{_node_text(refusal)}: {refusal['reason']}{time}"


def _refusals_text(pass_name: str, group: Sequence[Mapping[str, Any]]) -> str:
    operators = dict.fromkeys(refusal["op_type"] for refusal in group if refusal["op_type"])
    if not operators:
        return f"pass '{pass_name}' is switched off, and would rewrite this model"
    nodes = f"{_count(len(group), 'node')} ({', '.join(operators)})"
    of_first = "" if len(group) == 1 else "of the first, "
    return f"pass '{pass_name}' left {nodes} as {'it is' if len(group) == 1 else 'they are'}: " \
        f"{of_first}{group[0]['reason']}"


def _not_fused(where: str, session: Mapping[str, Any]) -> Iterator[Finding]:
    """One for each pass and each thing to do; what costs most comes first in it."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    nodes = set()
    for refusal in session.get("refusals", ()):
        node = refusal["output_name"]
        if node and node in nodes:
            continue  # another pass that would have taken the same node
        nodes.add(node)
        groups.setdefault((refusal["pass_name"], refusal["advice"]), []).append(refusal)
    for (pass_name, advice), group in groups.items():
        group.sort(key=lambda refusal: -(refusal.get("run_ns") or 0))
        times = [refusal["run_ns"] for refusal in group if refusal.get("run_ns") is not None]
        yield Finding(
            "not_fused", round(sum(times) * session["runs"]) if times else None,
            _refusals_text(pass_name, group) + where, tuple(map(_refusal_detail, group)), advice)


# ---- what an engine has left to native ----


def _left_works(context: Mapping[str, Any]) -> Iterator[Finding]:
    engine = context.get("engine", {})
    reasons = sorted(engine.get("reasons", ()), key=lambda left: -left["works"])
    if not reasons or not _is_asked_for(context) or _choices_of_auto(context):  # which say it too
        return
    left, asked = engine["left"], engine["works"] + engine["left"]
    yield Finding(
        "left_works", None,
        f"engine '{engine['name']}' left {left} of {_count(asked, 'work')} to 'native' when nodes "
        "were bound",
        tuple(f"{reason['work']}, {'a part of ' if reason['is_part'] else ''}"
              f"{_count(reason['works'], 'work')}, first '{reason['node']}': "
              f"{reason['reason'] or 'it gives no reason'}" for reason in reasons), "")


# ---- what the engine `auto` has chosen ----


def _choice_rank(choice: Mapping[str, Any]) -> tuple[int, float]:
    """What was measured first, by what the engine saves; then what was of its size class, then
    estimates, then what has no offer."""
    if not choice["engine_ns"]:
        return 3, 0.0
    if choice["is_measured"]:
        return 0, choice["engine_ns"] - choice["native_ns"]
    return 1 if choice["is_of_class"] else 2, choice["engine_ns"] / choice["native_ns"]


def _choice_detail(choice: Mapping[str, Any]) -> str:
    name, engine, native = choice["engine"], choice["engine_ns"], choice["native_ns"]
    parts = []
    if choice["is_measured"]:
        parts.append(f"{name} {time_text(engine)} and native {time_text(native)} a run, measured")
    elif engine:
        how = "as measured of its size class" if choice["is_of_class"] else "estimated"
        parts.append(f"{name} {engine / native:.2f} of native's time, {how}")
    if choice["reason"]:
        parts.append(choice["reason"])
    taken = name if choice["is_engine"] else "native"
    return f"{choice['work']} '{choice['node']}' by {taken}: {'; '.join(parts)}"


def _tune_words(context: Mapping[str, Any], sessions: Iterable[Mapping[str, Any]]) -> str:
    """The command that measures the size that came most often. Subgraphs, which have names, have
    inputs of their own."""
    sizes = [size for session in sessions if "name" not in session for size in session["sizes"]
             if size["part"] == "run" and not any(value["name"] for value in size["values"])]
    best = max(sizes, key=lambda size: size["runs"], default=None)
    shapes = "--shape NAME=SHAPE"
    if best is not None and best["inputs"]:
        shapes = " ".join("--shape " + shlex.quote(f"{one['name']}={shape_text(one['shape'])}")
                          for one in best["inputs"])
    return f"latchkey tune MODEL {shapes} --threads {context['threads']} -o FILE"


def _unused_times(context: Mapping[str, Any]) -> str:
    """Why nothing was chosen by the times that there are."""
    works, fitting = (context["engine"][name] for name in ("tuning_works", "tuning_fitting"))
    measured = f"the times that were measured, of {_count(works, 'work')}"
    if fitting == 0:
        return (f"{measured}, are not used: they are of another number of threads than "
                f"{context['threads']}, of another engine or version of it, or of another "
                "processor")
    some = "" if fitting == works else f" ({fitting} of them on this processor with its threads)"
    return f"{measured}{some}, are of other works than these, and of other size classes"


def _choices(context: Mapping[str, Any], sessions: Sequence[Mapping[str, Any]],
             ) -> Iterator[Finding]:
    engine = context.get("engine", {})
    choices = sorted(_choices_of_auto(context), key=_choice_rank)
    if not choices:
        return
    taken = sum(choice["is_engine"] for choice in choices)
    guessed = sum(not choice["is_measured"] and not choice["is_of_class"]
                  and choice["engine_ns"] > 0 for choice in choices)
    advice = ""
    if guessed and engine["choices_measured"] + engine["choices_of_class"] == 0:
        advice = (f"measure the {_count(guessed, 'work')} that {'was' if guessed == 1 else 'were'} "
                  f"estimated: `{_tune_words(context, sessions)}`, "
                  "then tuning=FILE (--tuning FILE)")
        if engine["tuning_works"] > 0:
            advice = f"{_unused_times(context)}: {advice}"
    yield Finding(
        "choices", None,
        f"engine 'auto' gave {taken} of {_count(len(choices), 'work')} to "
        f"'{choices[0]['engine']}': binds chose {_count(engine['choices_measured'], 'time')} by "
        f"what was measured, {_count(engine['choices_of_class'], 'time')} by what was measured of "
        f"the size class and {_count(engine['choices_estimated'], 'time')} by estimates",
        tuple(map(_choice_detail, choices)), advice)


def _nothing_chosen(context: Mapping[str, Any], sessions: Iterable[Mapping[str, Any]],
                    ) -> Iterator[Finding]:
    """Sessions whose sizes are all fixed are asked from the first run on."""
    runs = [size["runs"] for session in sessions if session.get("open_dims", True)
            for size in session["sizes"]]
    asked = _is_auto(context) and _is_asked_for(context)
    if not asked or context["engine"]["choices"] or not runs:
        return
    if max(runs) < _RECURRING:
        yield Finding(
            "nothing_chosen", None,
            f"engine 'auto' has chosen nothing yet: no size has come {_RECURRING} times, the most "
            f"is {max(runs)}", (),
            f"run each size that matters {_RECURRING} times, or fix its dimensions: fixed_dims "
            "(--fix)")
    elif context["cache"]["kinds"]["run"]["evictions"] > 0:
        yield Finding(
            "nothing_chosen", None,
            f"engine 'auto' has chosen nothing yet: run plans are evicted before their "
            f"{_RECURRING}th run", (), "raise cache_bytes and cache_entries, or take fewer sizes")


# ---- what is left to ONNX Runtime ----


def _borders(claims: Mapping[str, Any], subgraphs: Sequence[Mapping[str, Any]],
             ) -> tuple[int | None, str]:
    """What borders have cost beyond those of one group, and what would make them fewer."""
    cost = claims.get("border_ns")
    if cost is None:
        return None, "latchkey.ort.explain(session) measures what this costs"
    runs = [subgraph["runs"] for subgraph in subgraphs]
    lost = round(cost * (sum(runs) - max(runs, default=0)))
    parts, parts_of_all = claims["subgraphs"], claims.get("subgraphs_of_all")
    if parts_of_all is not None and parts_of_all < parts:
        saved = cost * max(runs, default=0) * (parts - parts_of_all)
        made = _count(parts_of_all, "part")
        return lost, (f'claim="all" makes {made} of it, which saves up to {time_text(saved)} of '
                      "these")
    also = "" if parts_of_all is None else f"claim=\"all\" leaves {parts_of_all} parts; "
    return lost, (f"{also}a border costs {time_text(cost)} a run: `latchkey compare` and a session "
                  "without the provider show whether the groups are worth it")


def _left(claims: Mapping[str, Any], subgraphs: Sequence[Mapping[str, Any]],
          ) -> Iterator[Finding]:
    if not claims["left"]:
        return
    lost, advice = None, ("`latchkey compare` and a session without the provider show whether "
                          "this costs time")
    nodes = claims["nodes"] - claims["claimed"]
    split = claims["subgraphs"] > 1
    ranked = sorted(claims["left"], key=lambda left: -left["count"])
    if split:
        text = (f"{_count(nodes, 'node')} of {claims['nodes']} left to ONNX Runtime "
                f"{'split' if nodes > 1 else 'splits'} the model into "
                f"{claims['subgraphs']} parts, with a border around each")
        lost, advice = _borders(claims, subgraphs)
    else:
        text = f"{_count(nodes, 'node')} of {claims['nodes']} are left to ONNX Runtime"
    yield Finding(
        "left_nodes", lost, text,
        tuple(f"{_count(left['count'], left['operator'], left['operator'])}: {left['reason']}"
              for left in ranked), advice)


def _parts(sizes: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for size in sizes:
        parts.setdefault(size["part"], []).append(size)
    return parts


def explain(statistics: Mapping[str, Any]) -> Explanation:
    """What statistics show of why runs were slow, or memory grew.

    :param statistics: of :meth:`latchkey.Session.statistics`, :func:`latchkey.ort.stats` or
        :meth:`latchkey.Context.statistics`, or a recording of :class:`latchkey.Recorder`, whose
        statistics are those at its end; also as read from a JSON file.
    :returns: the causes: first those that cost time in each run, then those that have cost the
        most, then those that were not timed.
    :raises TypeError: it is not a dict; ``ValueError``: it has not what those have.
    """
    found: Any = _check.mapping(_DO, "statistics", statistics, "a dict of statistics")
    if str(found.get("schema", "")).startswith("latchkey-recording-"):
        found = found.get("statistics")
    if not isinstance(found, Mapping) or "context" not in found:
        raise ValueError(f"failed to {_DO}: 'statistics' has no 'context', as what "
                         "Session.statistics(), latchkey.ort.stats() and recordings have is needed")
    try:
        return explain_both(found, None)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"failed to {_DO}: 'statistics' is not what Latchkey has written, "
                         f"{error!r} is missing or of another kind") from error


def explain_both(statistics: Mapping[str, Any], use: ThreadUse | None) -> Explanation:
    """What statistics show, and how the threads of profiled runs were used."""
    context = statistics["context"]
    sessions = (statistics["subgraphs"] if "subgraphs" in statistics
                else [statistics["session"]] if "session" in statistics else [])
    every_run: list[Finding] = list(_left(statistics.get("claims", {"left": ()}), sessions))
    all_sizes = [size for session in sessions for size in session["sizes"]]
    built = list(_primitives.findings(context, all_sizes,
                                      lambda: _cache_advice(all_sizes, context)))
    timed = [finding for finding in built if finding.lost_ns is not None]
    others = [*(finding for finding in built if finding.lost_ns is None), *_memory(context),
              *_left_works(context), *_choices(context, sessions),
              *_nothing_chosen(context, sessions)]
    for session in sessions:
        every_run += _kept_nothing(session, context)
        parts = _parts(session["sizes"])
        for part, sizes in parts.items():
            name = session.get("name", part)  # of a subgraph, which is one part
            # which part a node is of is not counted
            nodes = session["nodes"] if len(parts) == 1 else ()
            timed += _new_sizes("" if name == "run" else f" of part '{name}'", sizes, nodes)
        timed += _built_again(session["sizes"], context)
        where = f" (part '{session['name']}')" if "name" in session else ""
        not_fused = list(_not_fused(where, session))
        timed += [finding for finding in not_fused if finding.lost_ns is not None]
        others += [finding for finding in not_fused if finding.lost_ns is None]
        others += _shapes_from_data(where, session)
        others += _shapes_from_values(where, session)
        others += _one_size(session)
        others += _waits(session, statistics["process"])
    if use is not None:
        others += _idle_threads(use)
    timed.sort(key=lambda finding: -(finding.lost_ns or 0))
    unique = dict.fromkeys(every_run + timed + others)
    return Explanation(unique)
