"""What engines have built and the cache keeps by value key, such as primitives of oneDNN, as
statistics show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._finding import Finding, count, option_size
from ._text import size_text, time_text

_NATIVE = "native"
_FILLED = 0.5  # of cache_bytes, from which on there may soon be no room
_FEW_SIZES = 8  # so many may all be such as recur


class Primitives(NamedTuple):
    """Those of a context in which something was built."""

    engine: str
    """Who has built them."""
    counts: Mapping[str, int]
    """Of the kind ``value``, as statistics have them."""
    cache: Mapping[str, Any]
    """The whole of it."""
    first_share: float | None
    """About the part of all builds that was not of something that had been there before; ``None``:
    nobody knows."""

    @property
    def again(self) -> int | None:
        """About how many were built once more; where some were evicted, so many at the most."""
        if self.first_share is None:
            return None
        again = self.counts["builds"] - round(self.counts["builds"] * self.first_share)
        return min(again, self.counts["evictions"]) if self.counts["evictions"] else again

    @property
    def mean_ns(self) -> float:
        """Of a build."""
        return self.counts["build_ns"] / max(1, self.counts["builds"])

    @property
    def mean_bytes(self) -> float:
        """Of those that are kept."""
        return self.counts["bytes"] / max(1, self.counts["entries"])

    @property
    def filled(self) -> float | None:
        """The part of ``cache_bytes`` that they take; ``None``: there is no such limit."""
        capacity = self.cache["capacity_bytes"]
        return self.counts["bytes"] / capacity if capacity else None

    def needed_bytes(self) -> int:
        """About what would hold all that was built, and the plans of the nodes."""
        names = self.cache["kinds"]["name"]
        of_names: float = names["builds"] * names["bytes"] / max(1, names["entries"])
        return round((self.first_share or 1.0) *
                     (self.counts["builds"] * self.mean_bytes + of_names))

    def needed_entries(self) -> int:
        """The same in entries, with run plans."""
        builds: int = sum(kind["builds"] for kind in self.cache["kinds"].values())
        return round((self.first_share or 1.0) * builds)

    def details(self, context: Mapping[str, Any]) -> list[str]:
        """What was built, looked up and kept, in words."""
        counts = self.counts
        lines = [f"{time_text(self.mean_ns)} of a build in the mean; looked up "
                 f"{counts['hits'] + counts['misses']} times: {counts['hits']} found, "
                 f"{counts['misses']} missing, {counts['waits']} waits for another thread's build"]
        if counts["failed_builds"]:
            lines.append(f"{counts['failed_builds']} builds failed")
        references = context.get("engine", {}).get("references", 0)
        if references:
            lines.append(f"of {references} there is only a slow reference implementation: 'native' "
                         "computes these")
        of_limit = "" if self.filled is None else f", {100 * self.filled:.0f} % of cache_bytes"
        if counts["entries"]:
            lines.append(f"{counts['entries']} are kept: {size_text(counts['bytes'])}"
                         f"{of_limit}, {size_text(round(self.mean_bytes))} each in the mean")
        if counts["evictions"]:
            lines.append(f"{counts['evictions']} had to go for others")
        return lines


def counts_of(context: Mapping[str, Any]) -> Mapping[str, int] | None:
    """Of the kind ``value``; ``None``: of an older version, or nobody has asked for one."""
    counts: Mapping[str, int] | None = context.get("cache", {}).get("kinds", {}).get("value")
    return counts if counts is not None and counts["hits"] + counts["misses"] > 0 else None


def engine_of(context: Mapping[str, Any]) -> str:
    """The engine besides ``native`` that is asked for works; ``"native"``: none has been."""
    engine = context.get("engine", {})
    for choice in engine.get("choices", ()):
        return str(choice["engine"])
    name = str(engine.get("name", _NATIVE))
    return _NATIVE if name == "auto" else name


def read(context: Mapping[str, Any], sizes: Sequence[Mapping[str, Any]]) -> Primitives | None:
    """Those of a context; ``None``: none was built.

    :param sizes: of its sessions: how often each was built says how many primitives were built
        again, which are not counted apart.
    """
    counts = counts_of(context)
    if counts is None or counts["builds"] == 0:
        return None
    # auto builds a size by native first, unless it is fixed
    is_late = context.get("engine", {}).get("name") == "auto"
    asked = [size["builds"] - is_late for size in sizes if size["builds"] > is_late]
    return Primitives(engine_of(context), counts, context["cache"],
                      len(asked) / sum(asked) if asked else None)


# ---- what explanations say of them ----


def findings(context: Mapping[str, Any], sizes: Sequence[Mapping[str, Any]],
             cache_advice: Callable[[], str]) -> Iterator[Finding]:
    """What was built, and what was built again.

    :param sizes: of the sessions of the context.
    :param cache_advice: says what gives all that was seen room in the cache.
    """
    built = read(context, sizes)
    if built is None or context["cache_mode"] == "off":
        return
    again = list(_built_again(built, context, cache_advice))
    builds, lost_ns = built.counts["builds"], sum(finding.lost_ns or 0 for finding in again)
    first = ""
    if lost_ns and built.again:
        first = f", about {builds - built.again} of them for the first time"
    yield Finding(
        "primitives_built", built.counts["build_ns"] - lost_ns,
        f"engine '{built.engine}' built {count(builds, 'primitive')}{first}",
        tuple(built.details(context)), _advice(built, sizes, context))
    yield from again


def _advice(built: Primitives, sizes: Sequence[Mapping[str, Any]],
            context: Mapping[str, Any]) -> str:
    """What to do before the next sizes come; ``""``: nothing."""
    capacity = built.cache["capacity_bytes"]
    if built.counts["evictions"] == 0 and (built.filled or 0.0) >= _FILLED:
        return (f"raise cache_bytes from {option_size(capacity)} to {option_size(2 * capacity)} "
                "where more sizes come: else new ones make others go")
    if context.get("engine", {}).get("name") != "auto" and len(sizes) > _FEW_SIZES:
        return ("take engine='auto' (--engine auto) where most sizes come only once or twice: "
                "'native' computes these, and primitives are built for sizes that recur")
    return ""


def _built_again(built: Primitives, context: Mapping[str, Any],
                 cache_advice: Callable[[], str]) -> Iterator[Finding]:
    again, evictions = built.again, built.counts["evictions"]
    builds = f"{count(built.counts['builds'], 'primitive')} of engine '{built.engine}'"
    is_thread = context["cache_mode"] == "thread" and evictions == 0
    if again is None and evictions > 0:
        yield Finding(
            "primitives_built_again", None,
            f"{evictions} of {builds} had to go for others, and are built again when they are "
            "wanted again", (), _advice_without_sizes(built))
    elif again and (is_thread or evictions > 0):
        yield Finding(
            "primitives_built_again", round(again * built.mean_ns),
            f"about {again} of {builds} " + (
                "were built more than once: each thread has a cache of its own" if is_thread else
                f"had been evicted when they were needed again ({count(evictions, 'eviction')})"),
            ("this is a part of what run plans that were built again have cost",),
            "take the cache mode 'shared', in which threads share what was built" if is_thread
            else cache_advice())


def _advice_without_sizes(built: Primitives) -> str:
    """Where nobody knows how much room all of them need."""
    capacity = built.cache["capacity_bytes"]
    if (built.filled or 0.0) < _FILLED:
        return "raise cache_entries, or memory_bytes where that is what limits the context"
    return f"raise cache_bytes from {option_size(capacity)} to {option_size(2 * capacity)} or more"
