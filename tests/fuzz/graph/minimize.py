"""Makes a graph that fails smaller, as long as it fails."""

from __future__ import annotations

import copy
from collections.abc import Callable

from graph import Graph

Judge = Callable[[Graph], str | None]


def _without(graph: Graph, index: int) -> Graph:
    """The graph without a node, whose outputs are inputs then."""
    smaller = copy.copy(graph)
    node = graph.nodes[index]
    smaller.nodes = graph.nodes[:index] + graph.nodes[index + 1:]
    smaller.inputs = dict(graph.inputs)
    for name in node.output:
        if name:
            smaller.inputs[name] = list(graph.values[name].shape)
    return _only_what_is_read(smaller)


def _only_what_is_read(graph: Graph) -> Graph:
    made = {name for node in graph.nodes for name in node.output}
    graph.outputs = [name for name in graph.outputs if name in made]
    if not graph.outputs:
        graph.outputs = [name for node in graph.nodes[-1:] for name in node.output if name]
    read = {name for node in graph.nodes for name in node.input}
    graph.inputs = {name: dims for name, dims in graph.inputs.items() if name in read}
    graph.constants = [name for name in graph.constants if name in read]
    graph.shown = []
    return graph


def minimize(graph: Graph, judge: Judge) -> Graph:
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for index in reversed(range(len(graph.nodes))):
            if len(graph.nodes) == 1:
                break
            smaller = _without(graph, index)
            if judge(smaller) is not None:
                graph, is_smaller = smaller, True
                break
    for name in list(graph.outputs):
        if len(graph.outputs) > 1:
            smaller = copy.copy(graph)
            smaller.outputs = [other for other in graph.outputs if other != name]
            if judge(smaller) is not None:
                graph = smaller
    return graph
