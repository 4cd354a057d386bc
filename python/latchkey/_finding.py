"""A cause that an explanation names, and the words that all of them share."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One cause."""

    cause: str
    """``choices``, ``idle_threads``, ``left_nodes``, ``left_works``, ``new_sizes``,
    ``built_again``, ``each_thread_builds``, ``memory_limit``, ``nothing_chosen``,
    ``nothing_kept``, ``not_fused``, ``one_size``, ``primitives_built``,
    ``primitives_built_again``, ``shapes_from_data``, ``shapes_from_values``, ``others_compute``,
    ``waits_for_processors`` or ``waits_for_places``."""
    lost_ns: int | None
    """The time that it has cost so far; ``None``: it costs time in each run, or is not timed."""
    text: str
    """What happened, in one sentence."""
    details: tuple[str, ...]
    """What shows it, the most expensive first."""
    advice: str
    """What can be done; ``""``: nothing needs to."""


def count(number: int, singular: str, plural: str = "") -> str:
    """``1 build``, ``2 builds``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def option_size(bytes_: int) -> str:
    """At least so many, as an option takes it."""
    return f"{-(-bytes_ // 2**20)}m" if bytes_ >= 2**20 else f"{-(-bytes_ // 1024)}k"
