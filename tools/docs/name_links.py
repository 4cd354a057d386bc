"""A Sphinx extension: names of the C interface and of the Python package that stand in code become
links to their reference. So pages need no markup of their own for that."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"(?:lk|LK)_\w+|[a-z]+(?:_[a-z0-9]+)+|latchkey(?:\.\w+)+")


class NameLinks(SphinxPostTransform):
    """Links each literal that is one name, with or without `()`."""

    default_priority = 20

    def targets(self) -> dict[str, tuple[str, str]]:
        """Page and anchor by name. Members of the tables of functions are known by their own
        name; other members are not, since several structs may have one of it."""
        known = {}
        tables = ("lk_api.", "lk_session_api.")
        for name, _, kind, page, anchor, _ in self.env.get_domain("c").get_objects():
            if name.startswith(("lk_", "LK_")) and "." not in name:
                known[name] = (page, anchor)
            elif name.startswith(tables) and kind == "member":
                known.setdefault(name.partition(".")[2], (page, anchor))
            elif kind == "enumerator":
                known[name.rpartition(".")[2]] = (page, anchor)
        for name, _, _, page, anchor, _ in self.env.get_domain("py").get_objects():
            known[name] = (page, anchor)
        return known

    def run(self, **_: Any) -> None:
        known = self.targets()
        builder = self.app.builder
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().removesuffix("()")
            if not NAME.fullmatch(name) or name not in known or self.inside_link(literal):
                continue
            page, anchor = known[name]
            literal.replace_self(make_refnode(builder, self.env.docname, page, anchor,
                                              literal.deepcopy(), name))

    @staticmethod
    def inside_link(node: nodes.Node) -> bool:
        while node.parent is not None:
            node = node.parent
            if isinstance(node, (nodes.reference, nodes.title)):
                return True
        return False


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(NameLinks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
