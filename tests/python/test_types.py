"""What a type checker reads of the package is there, and true of the C module."""

import ast
import importlib.resources

import pytest

import latchkey
from latchkey._native import ffi, lib

FILES = importlib.resources.files(latchkey)


@pytest.mark.parametrize("name, thing", [("_Lib", lib), ("_Ffi", ffi)])
def test_the_stub_names_what_the_module_has(name, thing):
    stub = ast.parse((FILES / "_native.pyi").read_text())
    described = next(node for node in stub.body
                     if isinstance(node, ast.ClassDef) and node.name == name)
    numbers = [node.target.id for node in described.body if isinstance(node, ast.AnnAssign)]
    functions = [node.name for node in described.body if isinstance(node, ast.FunctionDef)]
    assert len(numbers) + len(functions) == len(described.body) > 5
    for member in numbers + functions:
        assert hasattr(thing, member), member
    for member in functions:
        assert callable(getattr(thing, member)), member
    if thing is lib:
        own = {member for member in dir(lib) if member.startswith("lk_py_")}
        python_s = {"lk_py_log_lines", "lk_py_refusal", "lk_py_should_stop"}
        assert own - python_s == set(functions) - python_s, "native.h has no more and no less"
        for member in numbers:
            assert member in python_s or isinstance(getattr(lib, member), int), member


def test_type_checkers_are_told_that_there_are_types():
    assert (FILES / "py.typed").is_file()
