"""Second judges of single chains: ONNX's reference evaluator, and ONNX Runtime's own kernels."""

from __future__ import annotations

import warnings

import numpy
from onnx.reference import ReferenceEvaluator

import builder
import chain_judge
from chain import Chain

# What the reference evaluator computes otherwise than its specification, or in other types.
NOT_OF_REFERENCE = {"HardSwish", "HardSigmoid", "Elu", "ThresholdedRelu", "Clip", "Round", "Cast",
                    "BatchNormalization", "GlobalAveragePool", "AveragePool", "MaxPool", "Min",
                    "Max", "Pow", "Erf", "Sqrt", "Softplus", "Reciprocal", "ReduceMean",
                    "ConvTranspose"}
# ONNX Runtime's are less exact than some units in the last place, or are 0 far from 0.
NOT_OF_ONNXRUNTIME = {"Sigmoid", "Tanh", "Erf", "Exp", "Softplus", "Elu"}


def _is_plain(b: builder.Builder, left_out) -> bool:
    of_f32 = all(value.dtype == numpy.float32 for value in b.feeds.values())
    return of_f32 and not any(node.op_type in left_out for node in b.nodes)


def reference(chain: Chain) -> numpy.ndarray | None:
    b = chain.build("c")
    if not _is_plain(b, NOT_OF_REFERENCE):
        return None
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return ReferenceEvaluator(builder.model([b])).run(None, b.feeds)[0]
        except Exception:  # of any class: the evaluator is a program of its own
            return None


def onnxruntime(chain: Chain) -> numpy.ndarray | None:
    b = chain.build("c")
    if not _is_plain(b, NOT_OF_ONNXRUNTIME):
        return None
    session = chain_judge.ort_session(builder.model([b]), ["CPUExecutionProvider"])
    return session.run([b.output], b.feeds)[0]


JUDGES = {"the reference evaluator": reference, "ONNX Runtime": onnxruntime}
