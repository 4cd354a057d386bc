"""What a comparison has found, for people."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._model import NodeInfo
from .._text import escape, shape_text, table
from .difference import Difference, Worst
from .isolate import CONTEXT, INHERITED, OWN, FileNode, Verdict

if TYPE_CHECKING:
    from .comparison import Comparison, NodeChange

_TITLES = ("value", "type", "shape", "differ", "absolute", "relative", "ULP",
           "where the largest is")
_SHORT = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i"}
_MOST = 8  # nodes of a list that are shown


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _verb(things: Sequence[object], verb: str) -> str:
    return f"{verb}s" if len(things) == 1 else verb


def _error(worst: Worst | None) -> str:
    if worst is None:
        return "0"
    return str(worst.error) if isinstance(worst.error, int) else f"{worst.error:.3g}"


def _element(worst: Worst, requests: int) -> str:
    request = f"request {worst.request} " if requests > 1 else ""
    return f"{request}{list(worst.at)}: {_shown(worst.found)}, not {_shown(worst.expected)}"


def _shown(number: Any) -> str:
    return f"{number:.9g}" if isinstance(number, float) else str(number)


def _type(name: str) -> str:
    """As the other commands call it: f32, i64."""
    return re.sub("^(bfloat|float|uint|int)", lambda found: _SHORT[found[0]], name)


def _row(one: Difference, requests: int) -> list[str]:
    shape = shape_text(one.shape)
    if one.problem:
        return [escape(one.name), _type(one.dtype), shape, one.problem, "", "", "", ""]
    worst = one.absolute or one.first
    return [escape(one.name), _type(one.dtype), shape, f"{one.differing} of {one.elements}",
            _error(one.absolute), _error(one.relative), _error(one.ulp),
            _element(worst, requests) if worst else ""]


def _rows(differences: list[Difference], requests: int) -> str:
    return table([_TITLES, *(_row(one, requests) for one in differences)], len(_TITLES), 2)


def _node(node: NodeInfo | FileNode) -> str:
    name = f" '{escape(node.name)}'" if node.name else ""
    return f"{escape(node.op_type)}{name}"


def _list(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:_MOST])
    more = len(texts) - _MOST
    return f"{shown} and {more} more" if more > 0 else shown


def _names(names: Sequence[str]) -> str:
    return _list([f"'{escape(name)}'" for name in names])


def _fault(one: Verdict) -> str:
    if one.fault == OWN and one.alone is not None:
        how = one.alone.problem or f"{one.alone.differing} of {one.alone.elements} differ"
        return f"it is at fault itself: alone, on the expected inputs, {how}"
    if one.fault == INHERITED:
        return ("it is not at fault itself: alone, on the expected inputs, it gives what is "
                "expected; the error was in its inputs, and may have grown")
    if one.fault == CONTEXT:
        return ("it is at fault only in the whole model: alone, on the inputs that it had, it "
                "gives something else")
    return f"it could not run alone: {escape(one.problem or '')}"


def _verdict(one: Verdict) -> Iterator[str]:
    node = one.node
    fused = f" with {node.fused}" if node.fused else ""
    runs_on = f" on {node.implementation}" if node.implementation else ""
    yield f"  {_node(node)} -> '{escape(one.value)}'{fused}{runs_on}"
    if one.in_model.problem:
        yield f"    {one.in_model.problem}"
    elif (first := one.in_model.first) is not None:
        yield (f"    element {list(first.at)} is {_shown(first.found)}, "
               f"{_shown(first.expected)} expected; {one.in_model.differing} of "
               f"{one.in_model.elements} differ")
    several = [_node(one) for one in one.stands_for if one.op_type != "Constant"]
    if len(several) > 1:
        yield f"    stands for {_list(several)}"
    yield ("    its inputs agree" if not one.inputs_that_differ else
           f"    of its {_count(len(one.inputs), 'input')} {_names(one.inputs_that_differ)} "
           f"{_verb(one.inputs_that_differ, 'leave')} the tolerance too")
    yield f"    {_fault(one)}"
    if one.case:
        yield f"    reduced model: {escape(one.case)}"


def _verdicts(found: Comparison) -> Iterator[str]:
    if found.first is None:
        return
    yield "the first node that leaves the tolerance:"
    yield from _verdict(found.first)
    others = [one for one in found.guilty if one is not found.first]
    if others:
        yield f"at fault as well, behind it, {_count(len(others), 'node')}:"
        for one in others:
            yield from _verdict(one)
    behind = [one for one in found.verdicts[1:] if one not in others]
    if behind:
        yield (f"{_count(len(behind), 'other value')} behind it {_verb(behind, 'leave')} the "
               "tolerance")
    cases = [one.case for one in found.verdicts if one.case]
    if cases:
        rtol, atol = found.tolerance
        yield (f"again: latchkey test --rtol {rtol:g} --atol {atol:g} "
               f"{escape(shlex.quote(os.path.dirname(cases[0])))}")


def _values(found: Comparison) -> Iterator[str]:
    if found.values is None:
        return
    yield f"{_count(len(found.values), 'value')}, in the order of the file:"
    if found.values:
        yield _rows(found.values, len(found.requests))
    if found.only_here:
        yield f"only here: {_names(found.only_here)}"
    if found.only_expected:
        yield (f"only there: {_count(len(found.only_expected), 'value')}, which are constants "
               "here, inside a fused node, or not in this model (--json names them)")
    if found.changes:
        yield (f"{_count(len(found.changes), 'node')} {_verb(found.changes, 'run')} in another way "
               f"when intermediate values are kept: {_list(list(map(_change, found.changes)))}")
    outputs, kept = (any(one.differs for one in some) for some in (found.outputs, found.values))
    if outputs and not kept:
        yield ("the outputs differ only when intermediate values are not kept: --disable-pass "
               "shows whether a pass is the reason")


def _change(change: NodeChange) -> str:
    node = change.plain or change.kept
    assert node is not None, "a node is in one of both lists at least"
    ways = " and ".join(_way(one) if one else "not there" for one in (change.plain, change.kept))
    return f"{_node(node)} -> '{escape(node.output_name)}' ({ways})"


def _way(node: NodeInfo) -> str:
    return "+".join(part for part in (node.op_type, node.fused, node.implementation) if part)


def _speed(found: Comparison) -> Iterator[str]:
    if not found.speed:
        return
    ours = math.fsum(one.ours_ms for one in found.speed)
    theirs = math.fsum(one.theirs_ms for one in found.speed)
    runs = sum(one.runs for one in found.speed)
    what = "each" if len(found.speed) == 1 else f"for all {len(found.speed)} requests"
    yield (f"speed: {ours:.3f} ms here, {theirs:.3f} ms there {what} "
           f"({theirs / ours:.2f} times as fast here), medians of {runs} runs by turns")


def lines(found: Comparison) -> Iterator[str]:
    """The report, line by line."""
    yield (f"{escape(found.model)} against {escape(found.expected)}: "
           f"{_count(len(found.requests), 'request')}, {_count(found.threads, 'thread')}, engine "
           f"{escape(found.engine)}; within "
           f"{found.tolerance.atol:g} + {found.tolerance.rtol:g} * |expected|")
    yield f"{_count(len(found.outputs), 'output')}:"
    if found.outputs:
        yield _rows(found.outputs, len(found.requests))
    yield from _values(found)
    yield from _verdicts(found)
    yield from _speed(found)
    differing = found.differing
    yield (f"{_count(len(differing), 'value')} {_verb(differing, 'differ')}" if differing
           else "all agree") + _both_nan(found)


def _both_nan(found: Comparison) -> str:
    """What agrees, and shows nothing."""
    nan = {one.name: one for one in (*found.outputs, *(found.values or ())) if one.both_nan}
    if not nan:
        return ""
    return ("; NaN on both sides, which says nothing of the numbers: " + _list([
        f"{one.both_nan} of {one.elements} elements of '{escape(name)}'"
        for name, one in nan.items()]))
