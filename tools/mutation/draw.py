"""Which mutants a seed draws.

The order of the mutants of a kind is that of a hash of the line that each is in, so a change of the
product alters the draw only by the lines that it adds and takes away: what was learned from a draw
holds for the next one. (Bottom-k sampling: Cohen, "Size-estimation framework with applications to
transitive closure and reachability", JCSS 55, 1997.)
"""

import collections
import hashlib
import random
from collections.abc import Iterable, Iterator

from mutants import Mutant


def keyed(seed: int, mutants: Iterable[Mutant], text: str) -> Iterator[tuple[bytes, Mutant]]:
    """The mutants of one file, each with its place in the order of its kind."""
    seen: collections.Counter[tuple[str, ...]] = collections.Counter()
    for mutant in mutants:
        first = text.rfind("\n", 0, mutant.start) + 1
        end = text.find("\n", mutant.start)
        line = text[first:end if end >= 0 else len(text)]
        column = mutant.start - first - (len(line) - len(line.lstrip()))
        what = (mutant.path, line.strip(), str(column), mutant.after)
        seen[what] += 1  # equal lines of a file are told apart by which of them it is
        yield hashlib.sha256(repr((seed, *what, seen[what])).encode()).digest(), mutant


def draws(seed: int, by_kind: dict[str, list[tuple[bytes, Mutant]]]) -> Iterator[Mutant]:
    """Mutants without end or repetition, each kind as often as the others."""
    rng = random.Random(seed)
    left = {kind: sorted(found, reverse=True) for kind, found in by_kind.items() if found}
    while left:
        kind = rng.choice(sorted(left))
        yield left[kind].pop()[1]
        if not left[kind]:
            del left[kind]
