"""Bad options, from Python."""

from making import model_of
from onnx import TensorProto, helper

import latchkey

MODEL = model_of([helper.make_node("Relu", ["x"], ["y"], name="n")],
                 [("x", TensorProto.FLOAT, ["rows", 3])]).SerializeToString()


def session(**options):
    return lambda: latchkey.Session(MODEL, **options)


def context(**options):
    return lambda: latchkey.Context(**options)


OPTIONS = {
    "a model of another kind": lambda: latchkey.Session(5),
    "an option that does not exist": session(thread=2),
    "threads 0.5": session(threads=0.5),
    "threads as a text": session(threads="2"),
    "threads 100000": session(threads=100000),
    "threads -1": session(threads=-1),
    "cache of an unknown mode": session(cache="some"),
    "memory_bytes 0": session(memory_bytes=0),
    "memory_bytes as words": session(memory_bytes="much"),
    "memory_bytes of 100": session(memory_bytes=100),
    "cache_entries -1": context(cache_entries=-1),
    "an executor that does not exist": session(executor="fast"),
    "inter 100000": session(executor="parallel", inter=100000),
    "when_busy of an unknown kind": session(when_busy="hope"),
    "max_runs -1": session(max_runs=-1),
    "run_plans as a text": session(run_plans="yes"),
    "a pass that does not exist": session(disabled_passes=["no_such_pass"]),
    "a dimension that does not exist": session(fixed_dims={"columns": 3}),
    "a dimension of a negative size": session(fixed_dims={"rows": -3}),
    "a dimension as a list": session(fixed_dims=["rows"]),
    "a NUL in a name of a dimension": session(fixed_dims={"ro\0ws": 3}),
    "a context of another kind": session(context=5),
    "a context and options of one":
        lambda: latchkey.Session(MODEL, context=latchkey.Context(), threads=2),
    "doctor with a context and an engine":
        lambda: latchkey.doctor(context=latchkey.Context(), engine="auto", measure=False),
    "a NUL in a path": lambda: latchkey.Session("mo\0del.onnx"),
    "a profile of another kind": lambda: latchkey.Session(MODEL).run({}, profile=1),
    "explain of another kind": lambda: latchkey.explain({}),
}
