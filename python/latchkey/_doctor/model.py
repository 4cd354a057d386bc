"""What a model needs: operators, sizes that vary, memory."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .._context import Context
from .._session import Session


def read(path: str, context: Context | None) -> dict[str, Any]:
    """What it lacks, its inputs and operators, and the bytes of its weights.

    :param context: it is opened in; ``None``: none can be made, so it is not opened.
    :raises OSError: the program is not there that knows what models lack.
    """
    from ..commands.program import missing
    lacks = missing(path)
    found: dict[str, Any] = {"path": path, "runs": lacks["runs"], "missing": lacks, "inputs": [],
                             "has_dynamic_sizes": None, "operators": {}, "weights_bytes": 0}
    if not lacks["runs"] or context is None:
        return found
    with Session(path, context=context) as session:
        found["inputs"] = [str(value) for value in session.inputs]
        found["has_dynamic_sizes"] = any(
            value.shape is None or any(not isinstance(size, int) for size in value.shape)
            for value in session.inputs)
        found["operators"] = dict(Counter(node.op_type for node in session.nodes).most_common())
        found["weights_bytes"] = session.stats()["session"]["weights_bytes"]
    return found
