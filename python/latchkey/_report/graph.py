"""The nodes of a model: their times, and where they lie in the picture of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MOST_DRAWN = 6000  # these are laid out in seconds; the table and the search have all
_MOST_MADE_OF = 40
_WIDTH, _HEIGHT = 168.0, 44.0  # of a node, as the style of the page has it

Json = dict[str, Any]


def view(nodes: Sequence[Mapping[str, Any]], counted: Sequence[Mapping[str, Any]],
         profile: Mapping[str, Any] | None, runs: Sequence[int],
         engines: Sequence[Sequence[tuple[str, float]]]) -> Json:
    """The nodes, with the edges and the picture.

    :param nodes: with their edges.
    :param counted: the same nodes, in the same order, with what statistics count of them.
    :param profile: of a recording.
    :param runs: of the session of each node.
    :param engines: that computed each node, with their parts of it.
    """
    rows = [_node(number, *one) for number, one in enumerate(zip(nodes, counted, runs, engines))]
    profiled = profile["runs"] if profile else 0
    if profile and profiled:
        _add_steps(rows, nodes, profile)
    edges = _edges(nodes)
    return {"nodes": rows, "profiled_runs": profiled, "edges": edges, **_picture(rows, edges)}


def _node(number: int, node: Mapping[str, Any], counts: Mapping[str, Any], runs: int,
          engines: Sequence[tuple[str, float]]) -> Json:
    made_of = [f"{one['op_type']} {one['name']}".strip() for one in node.get("made_of") or ()]
    more = len(made_of) - _MOST_MADE_OF
    return {
        "number": number, "op": node["op_type"], "domain": node["domain"], "name": node["name"],
        "output": node["output_name"], "fused": node["fused"],
        "implementation": node["implementation"], "engines": engines,
        "claimed": node.get("claimed", True),
        "made_of": made_of[:_MOST_MADE_OF] + ([f"and {more} more"] if more > 0 else []),
        "binds": counts["binds"], "bind_ns": counts["bind_ns"],
        # Each run that did not bind it found it bound; a loop binds a node more than once a run.
        "hits": max(0, runs - counts["binds"]), "ns": None, "layouts": []}


def _add_steps(rows: Sequence[Json], nodes: Sequence[Mapping[str, Any]],
               profile: Mapping[str, Any]) -> None:
    """``ns``: of a run in the mean; ``layouts``: what ran, with the tiles of its operands."""
    places = {(node["name"], node["output_name"]): number for number, node in enumerate(nodes)}
    for row in rows:
        row["ns"] = 0.0
    for step in profile["steps"]:
        number = places.get((step["node"], step["output"]))
        if number is None:  # of a body, such as a loop's
            continue
        rows[number]["ns"] += step["total_ms"] * 1e6 / profile["runs"]
        tiles = ", ".join(step["tiles"])
        text = f"{step['kind']}: tiles {tiles}" if tiles else step["kind"]
        if text not in rows[number]["layouts"]:
            rows[number]["layouts"].append(text)


def _edges(nodes: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    producers = {name: number for number, node in enumerate(nodes)
                 for name in node.get("outputs") or ()}
    return sorted({(producers[name], number) for number, node in enumerate(nodes)
                   for name in node.get("inputs") or ()
                   if producers.get(name, number) != number})


def _picture(rows: Sequence[Json], edges: Sequence[tuple[int, int]]) -> Json:
    """``places`` of the nodes' centres and ``lines`` of the edges, from top to bottom; or why there
    is no picture."""
    if not rows:
        return {"no_picture": "There are no nodes."}
    if len(rows) > _MOST_DRAWN:
        return {"no_picture": f"The graph has {len(rows)} nodes, and up to {_MOST_DRAWN} are drawn:"
                              " the table has all of them."}
    try:
        import graphlay
    except ImportError as error:
        raise ImportError("failed to lay out the graph: it needs the package graphlay, which "
                          "`pip install latchkey[report]` installs") from error
    graph = graphlay.Graph()
    for row in rows:
        graph.node(row["number"], width=_WIDTH, height=_HEIGHT, label="")
    for source, target in edges:
        graph.edge(source, target)
    drawn = graphlay.layout(graph, options={
        "direction": "topbottom", "routing": {"style": "orthogonal"},
        "spacing": {"layer_gap": 34.0, "node_gap": 28.0}})
    least, most = drawn.bounds["min"], drawn.bounds["max"]

    def place(point: Mapping[str, float]) -> list[int]:
        return [round(point["x"] - least["x"]), round(point["y"] - least["y"])]

    width, height = place(most)
    return {"width": width, "height": height, "node_width": _WIDTH, "node_height": _HEIGHT,
            "places": [place(node["center"]) for node in drawn.nodes],
            "lines": [[number for point in edge["points"] for number in place(point)]
                      for edge in drawn.edges]}
