"""The three models of PP-OCRv4 in the rapidocr-onnxruntime wheel, and what models are fed with."""

import importlib.util
import pathlib

import numpy

# Found, not imported: the package itself needs more than its models.
OCR = pathlib.Path(importlib.util.find_spec("rapidocr_onnxruntime").origin).parent / "models"
DETECTION = OCR / "ch_PP-OCRv4_det_infer.onnx"
ANGLE = OCR / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
RECOGNITION = OCR / "ch_PP-OCRv4_rec_infer.onnx"


def noise(*shape):
    return numpy.random.default_rng(7).standard_normal(shape, numpy.float32)
