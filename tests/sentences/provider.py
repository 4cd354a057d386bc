"""Bad options of the provider, and bad uses of it."""

from pathlib import Path

import onnxruntime
from files import LFS
from making import model_of
from onnx import TensorProto, helper

import latchkey.ort

MODEL = model_of([helper.make_node("Relu", ["x"], ["y"], name="n")],
                 [("x", TensorProto.FLOAT, [2])])
MODEL.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
MODEL = MODEL.SerializeToString()


def session(**options):
    def attempt():
        latchkey.ort.register()
        chosen = onnxruntime.SessionOptions()
        chosen.log_severity_level = 4
        latchkey.ort.append(chosen, **options)
        onnxruntime.InferenceSession(MODEL, chosen, enable_fallback=0)
    return attempt


def without(use):
    return lambda: use(onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]))


def claims_of_a_pointer():
    Path("pointer.onnx").write_bytes(LFS)
    latchkey.ort.explain_claims("pointer.onnx")


PROVIDER = {
    "an option that does not exist": session(thread=2),
    "threads as a word": session(threads="many"),
    "threads 100000": session(threads=100000),
    "cache of an unknown mode": session(cache="some"),
    "an engine that there is none of": session(engine="nosuch"),
    "an engine without a name": session(engine=""),
    "claim of an unknown kind": session(claim="most"),
    "memory_bytes as a word": session(memory_bytes="much"),
    "memory_bytes 0": session(memory_bytes=0),
    "statistics of a session without it": without(latchkey.ort.stats),
    "explain of a session without it": without(latchkey.ort.explain),
    "claims of a model that is not there": lambda: latchkey.ort.explain_claims("nowhere.onnx"),
    "claims of a Git LFS pointer": claims_of_a_pointer,
}
