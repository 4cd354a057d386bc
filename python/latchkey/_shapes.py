"""Which shapes of a model follow from values, and where these come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_MOST_STEPS = 8  # of a chain, that are shown


class Chain(NamedTuple):
    """How a value came about that the shapes of a node's outputs follow from."""

    node: str
    """The node, as a sentence has it."""
    value: str
    """The value that it reads."""
    source: str
    """The value at the chain's beginning: an input, or a value whose shape is read."""
    is_shape: bool
    """The source's shape is read, and not its elements."""
    text: str
    """The whole chain."""


class _Origin(NamedTuple):
    source: str
    is_shape: bool
    steps: tuple[str, ...]


def label(node: Mapping[str, Any]) -> str:
    """The operator with a name that the model has for the node, or for its output."""
    return f"{node['op_type']} '{node['name'] or node['output_name']}'"


def needed(nodes: Sequence[Mapping[str, Any]]) -> set[str]:
    """Values whose elements some shape follows from. Nodes come after what they read."""
    found: set[str] = set()
    for node in reversed(nodes):
        found.update(node["shape_inputs"])
        if not node["reads_shape_only"] and found.intersection(node["outputs"]):
            found.update(node["inputs"])
    return found


def computing(nodes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Nodes that compute shapes of others from shapes.

    :param nodes: of a session's or subgraph's statistics, in their order.
    """
    of_shapes, from_shapes = needed(nodes), set[str]()
    found = []
    for node in nodes:
        reads = node["reads_shape_only"] or from_shapes.intersection(node["inputs"])
        if reads and of_shapes.intersection(node["outputs"]):
            found.append(node)
            from_shapes.update(node["outputs"])
    return found


def _origin(node: Mapping[str, Any], origins: Mapping[str, _Origin]) -> _Origin:
    """Of what the node gives: by way of its first input that has a shape in its past, else of its
    first input."""
    inputs: list[str] = node["inputs"]
    if node["reads_shape_only"]:
        return _Origin(inputs[0], True, (node["op_type"],))
    found = [origins.get(name, _Origin(name, False, ())) for name in inputs]
    best = next((origin for origin in found if origin.is_shape), found[0])
    return best._replace(steps=(*best.steps[-_MOST_STEPS:], node["op_type"]))


def chains(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Chain]:
    """One for each value that a node's shapes follow from.

    :param nodes: of a session's or subgraph's statistics, in their order.
    """
    of_shapes, origins = needed(nodes), dict[str, _Origin]()
    for node in nodes:
        for value in node["shape_inputs"]:
            origin = origins.get(value, _Origin(value, False, ()))
            steps = origin.steps[-_MOST_STEPS:]
            cut = ("...",) if len(origin.steps) > _MOST_STEPS else ()
            source = f"the {'shape' if origin.is_shape else 'elements'} of '{origin.source}'"
            yield Chain(label(node), value, origin.source, origin.is_shape,
                        " -> ".join((source, *cut, *steps, label(node))))
        if node["inputs"] and of_shapes.intersection(node["outputs"]):
            origins.update(dict.fromkeys(node["outputs"], _origin(node, origins)))
