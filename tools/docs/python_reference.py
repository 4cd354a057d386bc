"""The reference of the Python package: a page of directives that autodoc fills from docstrings."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType

import latchkey

FIRST = ("Session", "Context", "Profile")

INTRO = """\
# The Python package

Made from the docstrings of the package. [The guide](../python.md) says how its parts belong
together.
"""


def directive(name: str, value: object) -> str:
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    if inspect.isclass(value) and issubclass(value, BaseException):
        kind = "exception"
    options = ""
    if kind == "class":
        options = "\n   :members:\n   :special-members: __enter__"
    elif kind == "exception":
        options = "\n   :members:\n   :show-inheritance:"
    return f".. auto{kind}:: {name}{options}\n"


def section(title: str, module: ModuleType, names: list[str]) -> str:
    lines = [directive(f"{module.__name__}.{name}", getattr(module, name))
             for name in names]
    return f"\n## {title}\n\n```{{eval-rst}}\n" + "\n".join(lines) + "```\n"


def modules() -> list[ModuleType]:
    """The public modules of the package."""
    return [importlib.import_module(f"latchkey.{path.stem}")
            for path in sorted(Path(latchkey.__file__).parent.glob("[a-z]*.py"))]


def public(module: ModuleType) -> list[str]:
    """What a module offers: what it says, or the functions and classes that it defines."""
    return list(getattr(module, "__all__", None) or (
        name for name, value in vars(module).items() if not name.startswith("_") and
        getattr(value, "__module__", "") == module.__name__))


def page() -> str:
    """All public names: sessions and contexts first, then functions, then errors."""
    names = public(latchkey)
    classes = [name for name in names if isinstance(getattr(latchkey, name), type)]
    errors = [name for name in classes if issubclass(getattr(latchkey, name), BaseException)]
    classes = sorted((name for name in classes if name not in errors),
                     key=lambda name: (name not in FIRST, name))
    rest = [name for name in names if not isinstance(getattr(latchkey, name), type)]
    parts = [INTRO, section("Classes", latchkey, classes), section("Functions", latchkey, rest),
             section("Errors", latchkey, errors)]
    return "".join(parts + [section(module.__name__, module, public(module))
                            for module in modules()])
