"""The packages that comparing needs, which are not the library's own requirements."""

from __future__ import annotations

import importlib
from types import ModuleType


def need(name: str) -> ModuleType:
    """Imports a package of the extra ``compare``. ModuleNotFoundError says how to get it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0]:
            raise  # one that the package itself needs
        raise ModuleNotFoundError(
            f"failed to compare: the package '{name}' is not installed, "
            "pip install 'latchkey[compare]' brings it", name=name) from None
