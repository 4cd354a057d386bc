"""Circles in a directed graph, for the checks of includes and calls."""


def circles(edges):
    """Yields each set of nodes that can reach each other, sorted; `edges` has the successors of a
    node (R. Tarjan, Depth-first search and linear graph algorithms, 1972)."""
    number, lowest, stack, on_stack = {}, {}, [], set()

    def visit(node):
        number[node] = lowest[node] = len(number)
        stack.append(node)
        on_stack.add(node)
        for other in sorted(edges.get(node, ())):
            if other not in number:
                yield from visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in on_stack:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            circle = stack[stack.index(node):]
            del stack[stack.index(node):]
            on_stack.difference_update(circle)
            if len(circle) > 1:
                yield sorted(circle)

    for node in sorted(edges):
        if node not in number:
            yield from visit(node)
