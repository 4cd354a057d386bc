"""Wrong arguments of every kind, to everything public: what is raised is a sentence that names the
argument, and nothing is accepted that makes no sense.

The functions, methods and properties are found in the package, and their parameters in their
signatures: whoever adds one says in `VALID` how it is called, or this fails.
"""

import asyncio
import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
from types import SimpleNamespace

import numpy
import onnx
import onnxruntime
import prometheus_client
import pytest
from conftest import random

import latchkey
import latchkey.metrics
import latchkey.ort
import latchkey.spans

# Options in place of **options, whose names the signature does not have.
OPTIONS = {"context_options": [*inspect.signature(latchkey.Context).parameters],
           "session_options": ["run_plans", "memory_bytes"],
           "provider_options": ["threads", "memory_bytes"]}
ANNOTATIONS = {"run_plans": "bool | None", "threads": "str | int | float | bool",
               "memory_bytes": "str | int | float | bool"}  # of a provider


# ---- what there is -------------------------------------------------------------------------------


def modules():
    """Of the package, as users import them. `commands` is the command line's."""
    names = [one.name for one in pkgutil.iter_modules(latchkey.__path__)
             if one.module_finder.find_spec(one.name).origin.endswith(".py")]
    return [latchkey, *(importlib.import_module(f"latchkey.{name}") for name in names
                        if not name.startswith("_") and name != "commands")]


def is_record(kind):
    """What the library hands out, and users do not make."""
    return issubclass(kind, (tuple, dict, BaseException)) or dataclasses.is_dataclass(kind)


def functions():
    """All that can be called with arguments, or set: by name, with signature."""
    found = {}
    for module in modules():
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing):
                if not is_record(thing):
                    found[f"{module.__name__}.{name}"] = inspect.signature(thing)
                for member, value in vars(thing).items():
                    of = f"{module.__name__}.{name}.{member}"
                    if member.startswith("_"):
                        continue
                    if inspect.isfunction(value):
                        found[of] = inspect.signature(value)
                    elif isinstance(value, property) and value.fset is not None:
                        found[of] = inspect.signature(value.fset)
            elif callable(thing):
                found[f"{module.__name__}.{name}"] = inspect.signature(thing)
    return found


def parameters(name, signature):
    """Name and annotation of each."""
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind == parameter.VAR_KEYWORD:
            of_context = inspect.signature(latchkey.Context).parameters
            for option in OPTIONS[parameter.name]:
                known = of_context if parameter.name != "provider_options" else {}
                yield option, str(known[option].annotation if option in known
                                  else ANNOTATIONS[option])
        else:
            is_set = parameter.name == "value"  # of a property, which has the name itself
            yield name.rpartition(".")[2] if is_set else parameter.name, str(parameter.annotation)


FUNCTIONS = functions()
PARAMETERS = [(name, *one) for name, signature in FUNCTIONS.items()
              for one in parameters(name, signature)]


# ---- how each is called --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world(relu, tmp_path_factory):
    """Objects of every kind, in a folder of their own."""
    folder = tmp_path_factory.mktemp("arguments")
    context = latchkey.Context(threads=1)
    session = latchkey.Session(relu, context=context)
    closed = latchkey.Session(relu)
    closed.close()
    options = onnxruntime.SessionOptions()
    latchkey.ort.append(options, run_statistics="on")
    path = folder / "relu.onnx"
    path.write_bytes(relu)
    profile = latchkey.Profile()
    session.run({"x": random(1, 3)}, profile=profile)
    recorder = latchkey.Recorder(session)
    recorder.start()
    yield SimpleNamespace(
        folder=folder, context=context, session=session, closed=closed, profile=profile,
        path=str(path), feeds={"x": random(1, 3)}, recorder=recorder,
        onnxruntime=onnxruntime.InferenceSession(relu, options, enable_fallback=0),
        comparison=latchkey.compare(relu, {"x": random(1, 3)}, runs=0))
    recorder.stop()


# The object whose method it is, and the arguments that must be given.
VALID = {
    "latchkey.Cancel": lambda it: (None, {}),
    "latchkey.Context": lambda it: (None, {}),
    "latchkey.Context.set_capacity": lambda it: (latchkey.Context(), {}),
    "latchkey.Difference.add": lambda it: (it.comparison.outputs[0],
                                           {"other": it.comparison.outputs[0]}),
    "latchkey.Comparison.to_json": lambda it: (it.comparison, {}),
    "latchkey.Profile": lambda it: (None, {}),
    "latchkey.Profile.peak": lambda it: (it.profile, {}),
    "latchkey.Profile.to_json": lambda it: (it.profile, {}),
    "latchkey.Recorder": lambda it: (None, {"session": it.session}),
    "latchkey.Recorder.run": lambda it: (it.recorder, {"inputs": it.feeds}),
    "latchkey.Recorder.save": lambda it: (it.recorder, {"path": str(it.folder / "run.json")}),
    "latchkey.Session": lambda it: (None, {"model": it.path}),
    "latchkey.Session.explain": lambda it: (it.session, {}),
    "latchkey.Session.offers": lambda it: (it.session, {"inputs": it.feeds, "shapes": {}}),
    "latchkey.Session.run": lambda it: (it.session, {"inputs": it.feeds}),
    "latchkey.Session.run_async": lambda it: (it.session, {"inputs": it.feeds}),
    "latchkey.Session.statistics": lambda it: (it.session, {}),
    "latchkey.Session.trace": lambda it: (it.session, {}),
    "latchkey.Session.tune": lambda it: (it.session, {"inputs": it.feeds}),
    "latchkey.Trace": lambda it: (None, {"context": it.context}),
    "latchkey.Trace.add": lambda it: (latchkey.Trace(it.context), {"session": it.session}),
    "latchkey.Trace.save": lambda it: (latchkey.Trace(it.context),
                                       {"path": str(it.folder / "trace.json")}),
    "latchkey.compare": lambda it: (None, {"model": it.path, "inputs": it.feeds, "runs": 0}),
    "latchkey.doctor": lambda it: (None, {"measure": False}),
    "latchkey.explain": lambda it: (None, {"statistics": it.session.statistics()}),
    "latchkey.machine_peak": lambda it: (None, {}),
    "latchkey.set_processors": lambda it: (None, {"processors": 1}),
    "latchkey.metrics.SessionCollector.add": lambda it: (
        latchkey.metrics.SessionCollector(), {"session": it.session, "name": "one"}),
    "latchkey.metrics.register": lambda it: (
        None, {"session": it.session, "name": "one",
               "registry": prometheus_client.CollectorRegistry()}),
    "latchkey.ort.append": lambda it: (None, {"session_options": onnxruntime.SessionOptions()}),
    "latchkey.ort.clear": lambda it: (None, {"session": it.onnxruntime}),
    "latchkey.ort.explain": lambda it: (None, {"session": it.onnxruntime}),
    "latchkey.ort.explain_claims": lambda it: (None, {"path": it.path}),
    "latchkey.ort.merge_traces": lambda it: (None, {
        "trace": it.path, "profile": it.path, "start_ns": 1, "out": str(it.folder / "both.json")}),
    "latchkey.ort.register": lambda it: (None, {}),
    "latchkey.ort.set_capacity": lambda it: (None, {"session": it.onnxruntime}),
    "latchkey.ort.stats": lambda it: (None, {"session": it.onnxruntime}),
    "latchkey.ort.trim": lambda it: (None, {"session": it.onnxruntime}),
    "latchkey.spans.register": lambda it: (None, {"session": it.session, "name": "one"}),
    "latchkey.spans.unregister": lambda it: (None, {"session": it.session}),
}


def test_how_everything_public_is_called_is_known():
    with_arguments = {name for name, _, _ in PARAMETERS}
    assert with_arguments - set(VALID) == set(), "say in VALID how they are called"
    assert set(VALID) - set(FUNCTIONS) == set(), "these are gone"
    for name, parameter, annotation in PARAMETERS:
        assert annotation != str(inspect.Parameter.empty), f"{name}({parameter}) has no type"


def call(world, name, given):
    owner, arguments = VALID[name](world)
    arguments = {**arguments, **given}
    place, _, last = name.rpartition(".")
    if owner is None:
        found = getattr(importlib.import_module(place), last)(**arguments)
    elif isinstance(getattr(type(owner), last), property):
        setattr(owner, last, arguments[last])
        return
    else:
        found = getattr(owner, last)(**arguments)
    if inspect.iscoroutine(found):
        asyncio.run(found)


# ---- wrong things --------------------------------------------------------------------------------


class Anything:
    def __init__(self, *unused):
        pass


class Hostile:
    """Fails whatever is asked of it."""

    def _fail(self, *unused):
        raise ZeroDivisionError("from inside")

    __array__ = __iter__ = __len__ = _fail
    closed = shape = property(_fail)


THINGS = {
    "None": lambda it: None, "True": lambda it: True, "0": lambda it: 0, "1": lambda it: 1,
    "-1": lambda it: -1, "huge": lambda it: 2**200, "int64": lambda it: numpy.int64(1),
    "2.9": lambda it: 2.9, "nan": lambda it: float("nan"), "inf": lambda it: float("inf"),
    "f32 nan": lambda it: numpy.float32("nan"), "1j": lambda it: 1j,
    "text": lambda it: "no-such-thing", "empty text": lambda it: "", "1 as text": lambda it: "1",
    "NUL": lambda it: "a\0b", "surrogate": lambda it: "a\udc80b",
    "lone surrogate": lambda it: "a\ud800b",
    "bytes": lambda it: b"bytes", "empty bytes": lambda it: b"",
    "list": lambda it: [1, 2], "empty list": lambda it: [], "list of None": lambda it: [None],
    "tuple": lambda it: (), "set": lambda it: {1.5}, "dict": lambda it: {"no-such-thing": 1},
    "empty dict": lambda it: {}, "number as key": lambda it: {1: random(1, 3)},
    "NUL in a key": lambda it: {"x\0": random(1, 3)},
    "lone surrogate in a key": lambda it: {"x\ud800": random(1, 3)},
    "object in a dict": lambda it: {"x": object()},
    "None in a dict": lambda it: {"x": None}, "rows in a dict": lambda it: {"x": [[1], [1, 2]]},
    "hostile in a dict": lambda it: {"x": Hostile()},
    "object": lambda it: object(), "class": lambda it: Anything,
    "function": lambda it: lambda *unused: None,
    "generator": lambda it: (one for one in "ab"), "hostile": lambda it: Hostile(),
    "array": lambda it: random(3), "number in an array": lambda it: numpy.array(1),
    "objects in an array": lambda it: numpy.array([object()]),
    "texts in an array": lambda it: numpy.array(["a"]), "module": lambda it: json,
    "closed session": lambda it: it.closed, "session": lambda it: it.session,
    "context": lambda it: it.context, "profile": lambda it: it.profile,
    "GraphProto": lambda it: onnx.GraphProto(), "ModelProto": lambda it: onnx.ModelProto(),
}


# Accepted, since there is nothing to be done.
HARMLESS = {("latchkey.spans.unregister", "closed session")}


def is_whole(value):
    return isinstance(value, (int, numpy.integer)) and not isinstance(value, bool)


KINDS = {
    "None": lambda value: value is None, "bool": lambda value: isinstance(value, bool),
    "int": lambda value: is_whole(value) and 0 <= value < 2**64,
    "float": lambda value: is_whole(value) or (
        isinstance(value, (float, numpy.floating)) and value == value),
    "str": lambda value: isinstance(value, str) and "\0" not in value,
    "bytes": lambda value: isinstance(value, bytes),
    "bytearray": lambda value: False, "memoryview": lambda value: False,
    "os.PathLike[str]": lambda value: False,
    "Mapping": lambda value: isinstance(value, dict) and all(
        isinstance(key, str) and "\0" not in key for key in value),
    "Sequence": lambda value: isinstance(value, (list, tuple)) and all(
        isinstance(one, dict) for one in value),
    "Iterable": lambda value: inspect.isgenerator(value) or (
        isinstance(value, (list, tuple, numpy.ndarray)) and numpy.ndim(value) == 1
        and all(isinstance(one, str) for one in value)),
    "Context": lambda value: isinstance(value, latchkey.Context),
    "Session": lambda value: isinstance(value, latchkey.Session) and not value.closed,
    "Profile": lambda value: isinstance(value, latchkey.Profile),
    "ModelProto": lambda value: isinstance(value, onnx.ModelProto),
    "Model": lambda value: isinstance(value, (str, bytes, onnx.ModelProto)) and value != "a\0b",
    "Progress": callable,
    **dict.fromkeys(["Cancel", "Difference", "MachinePeak", "CollectorRegistry", "TracerProvider",
                     "onnxruntime.SessionOptions", "onnxruntime.InferenceSession"],
                    lambda value: False),
}


def fits(value, annotation):
    """Whether it is of a kind that may be given, though its value may be wrong."""
    kinds = [re.sub(r"\[.*", "", kind) if not kind.startswith("os.") else kind
             for kind in re.sub(r"(?<!PathLike)\[[^][]*(\[[^][]*\][^][]*)*\]", "[]",
                                annotation).split(" | ")]
    if "int" in kinds and "str" in kinds and isinstance(value, str) and "bool" not in kinds:
        return re.fullmatch("[0-9]+[kmg]?", value) is not None  # a number of bytes
    return any(KINDS[kind](value) for kind in kinds)


def is_sentence(error):
    """Of ours, or of ONNX Runtime, which a file or an option has reached."""
    if type(error).__module__.startswith("onnxruntime."):
        return True
    if isinstance(error, RuntimeError) and not isinstance(error, latchkey.Error):
        return re.search(r"\[ONNXRuntimeError\].* failed to ", str(error)) is not None
    return isinstance(error, (TypeError, ValueError, latchkey.Error)) and (
        str(error).startswith("failed to "))


@pytest.mark.parametrize("name, parameter, annotation", PARAMETERS,
                         ids=[f"{name}({parameter})" for name, parameter, _ in PARAMETERS])
def test_wrong_things(world, monkeypatch, name, parameter, annotation):
    monkeypatch.chdir(world.folder)
    processors = latchkey.threads_stats()["processors"]
    faults = []
    for what, make in THINGS.items():
        value = make(world)
        fitting = fits(value, annotation)
        try:
            call(world, name, {parameter: value})
        except BaseException as error:
            shown = f"{type(error).__module__}.{type(error).__qualname__}: {error}"
            if not is_sentence(error):
                faults.append(f"{what}: {shown}")
            elif not fitting and parameter not in str(error):
                faults.append(f"{what}: the argument is not named: {shown}")
        else:
            if not fitting and (name, what) not in HARMLESS:
                faults.append(f"{what}: accepted")
        finally:
            latchkey.set_processors(processors)
            latchkey.spans.unregister(world.session)
    assert not faults, "\n".join([f"{name}({parameter}: {annotation})", *faults])


# ---- what is closed ------------------------------------------------------------------------------


def members_of_sessions():
    """Methods and properties, but those that are for closed sessions too."""
    return [name for name in vars(latchkey.Session) if not name.startswith("_")
            and hasattr(latchkey.Session, name) and name not in ("close", "closed")]


@pytest.mark.parametrize("name", members_of_sessions())
def test_a_closed_session_says_so(world, name):
    given = VALID.get(f"latchkey.Session.{name}", lambda it: (None, {}))(world)[1]
    with pytest.raises(ValueError, match="closed"):
        found = getattr(world.closed, name)
        if callable(found):
            found = found(**given)
        if inspect.iscoroutine(found):
            asyncio.run(found)


def test_numbers_beyond_all_floats(relu):
    session = latchkey.Session(relu)
    assert session.run({"x": random(2, 3)}, timeout=10**400)["y"].shape == (2, 3)
    with pytest.raises(latchkey.DeadlineError):
        session.run({"x": random(2, 3)}, timeout=-10**400)


def test_numbers_of_numpy_are_numbers(relu):
    context = latchkey.Context(threads=numpy.int32(1), cache_bytes=numpy.uint64(2**20),
                               weights_apart=numpy.bool_(True))
    session = latchkey.Session(relu, context=context, fixed_dims={"rows": numpy.int64(2)},
                               run_plans=numpy.bool_(True), max_runs=numpy.int8(3))
    assert context.stats()["cache"]["capacity_bytes"] == 2**20
    assert session.run({"x": random(2, 3)}, timeout=numpy.float32(60))["y"].shape == (2, 3)
