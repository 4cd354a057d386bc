"""What a comparison has found."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import _check
from .._model import NodeInfo
from .._text import json_text
from .difference import Difference, Tolerance
from .isolate import OWN, Verdict
from .report import lines
from .speed import Speed


@dataclasses.dataclass
class NodeChange:
    """A node that runs in another way when intermediate values are kept."""

    plain: NodeInfo | None
    kept: NodeInfo | None

    def to_dict(self) -> dict[str, Any]:
        return {name: one._asdict() if (one := getattr(self, name)) else None
                for name in ("plain", "kept")}


@dataclasses.dataclass
class Comparison:
    """What :func:`latchkey.compare` has found. ``print`` shows it; true when all agrees."""

    model: str
    expected: str
    """Who said what is expected, with its version."""
    threads: int
    engine: str
    """That of the context here."""
    requests: list[dict[str, tuple[int, ...]]]
    """The shapes of the inputs of each."""
    tolerance: Tolerance
    outputs: list[Difference]
    """Of the model as it is."""
    values: list[Difference] | None = None
    """Of the model that gives its intermediate values, in the order of the file; outputs included.
    None: they were not asked for."""
    only_here: list[str] = dataclasses.field(default_factory=list)
    """Values that the other side does not give, or that are not in the file."""
    only_expected: list[str] = dataclasses.field(default_factory=list)
    """Values that Latchkey does not compute: they are fused away, constants or not in its model."""
    changes: list[NodeChange] = dataclasses.field(default_factory=list)
    """Nodes that run in another way when values are kept."""
    verdicts: list[Verdict] = dataclasses.field(default_factory=list)
    """For each value that leaves the tolerance, in the order of the file: whose fault it is."""
    speed: list[Speed] = dataclasses.field(default_factory=list)
    """Of each request; empty: it was not measured."""

    @property
    def first(self) -> Verdict | None:
        """The first node, in the order of the file, whose value leaves the tolerance."""
        return self.verdicts[0] if self.verdicts else None

    @property
    def guilty(self) -> list[Verdict]:
        """The nodes that leave the tolerance on the expected inputs."""
        return [one for one in self.verdicts if one.fault == OWN]

    def _all(self) -> list[Difference]:
        """Outputs and values, an output that differs once only."""
        by_name: dict[str, Difference] = {}
        for one in (*self.outputs, *(self.values or ())):
            if one.name not in by_name or not by_name[one.name].differs:
                by_name[one.name] = one
        return list(by_name.values())

    @property
    def differing(self) -> list[Difference]:
        """The outputs and values that leave the tolerance, each name once."""
        return [one for one in self._all() if one.differs]

    def __bool__(self) -> bool:
        return not self.differing

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "model": self.model, "expected": self.expected, "threads": self.threads,
            "engine": self.engine, "agrees": bool(self), "tolerance": self.tolerance._asdict(),
            "requests": [{name: list(shape) for name, shape in one.items()}
                         for one in self.requests],
            "outputs": [one.to_dict() for one in self.outputs],
            "values": None if self.values is None else [one.to_dict() for one in self.values],
            "only_here": self.only_here, "only_expected": self.only_expected,
            "changes": [one.to_dict() for one in self.changes],
            "verdicts": [one.to_dict() for one in self.verdicts],
            "speed": [one.to_dict() for one in self.speed]}

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as text, in ASCII; a name that is not UTF-8 is escaped."""
        return json_text(self.to_dict(), _check.indent("write a comparison", indent))

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def __repr__(self) -> str:
        differing = self.differing
        found = (f"{len(differing)} of {len(self._all())} values differ" if differing
                 else "agrees")
        first = f", first at {self.first.node.op_type} {self.first.value!r}" if self.first else ""
        return f"<latchkey.Comparison of {self.model!r} with {self.expected}: {found}{first}>"
