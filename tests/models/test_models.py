"""Whole models give what ONNX Runtime's CPU provider gives, in every cache mode, with and without
run plans, at several shapes that come back.

The models: the nine light ones of the onnx wheel with random weights (light_models.py), and the
three of PP-OCRv4 in the rapidocr-onnxruntime wheel, on pictures of text.
"""

import light_models
import numpy
import onnxruntime
import pytest
from bounds import check_output
from logits import save_with_logits
from ocr_models import ANGLE, DETECTION, RECOGNITION, noise
from other_isa import run_again
from pictures import picture

import latchkey

MODES = [("shared", True), ("shared", False), ("thread", True), ("thread", False), ("off", False)]


def reference(path, arrays):
    """Output name -> one array per input, computed by ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    outputs = [output.name for output in session.get_outputs()]
    return name, [dict(zip(outputs, session.run(outputs, {name: array}))) for array in arrays]


def check(path, arrays, modes=MODES):
    """Every mode, every array twice (A, B, A, B): right both times, built once, nothing on ref."""
    name, expected = reference(path, arrays)
    for outputs in expected:
        for output, values in outputs.items():
            assert values.std() > 0, f"{output} proves nothing"
    for cache, run_plans in modes:
        context = latchkey.Context(cache=cache)
        session = latchkey.Session(path, context=context, run_plans=run_plans)
        for turn in range(2):
            builds = context.stats()["cache"]
            for array, outputs in zip(arrays, expected):
                found = session.run({name: array})
                assert found.keys() == outputs.keys()
                for output, right in outputs.items():
                    case = f": {cache}, run plans {run_plans}, {array.shape}, turn {turn}"
                    check_output(found[output], right, path.stem, output, case)
            stats = context.stats()["cache"]
            if turn == 1 and cache != "off":
                for kind in ("name", "run"):
                    assert stats[kind]["builds"] == builds[kind]["builds"], (cache, run_plans, kind)
        session.close()


@pytest.mark.parametrize("name", [n for n in light_models.NAMES if n not in light_models.HEAVY])
def test_light(name, tmp_path):
    check(light_models.save(name, tmp_path), [noise(1, 3, 224, 224), noise(2, 3, 224, 224)])


@pytest.mark.parametrize("name", light_models.HEAVY)
def test_light_heavy(name, tmp_path):
    assert name in light_models.NAMES
    check(light_models.save(name, tmp_path), [noise(1, 3, 224, 224)], [("shared", True)])


def check_and_logits(path, arrays, folder):
    """The model as it is, and with what its last function takes."""
    check(path, arrays)
    check(save_with_logits(path, folder), arrays, [("shared", True)])


def test_recognition(tmp_path):
    two = [picture(48, 160, "Latchkey"), picture(48, 160, "oneDNN 3.13")]
    check_and_logits(RECOGNITION,
                     [picture(48, 320, "The quick brown fox"), picture(48, 100, "jumps"),
                      numpy.concatenate(two), picture(48, 97, "over"), picture(48, 32, "a")],
                     tmp_path)


def test_detection(tmp_path):
    lines = ["two lines of", "text to find"]
    check_and_logits(DETECTION,
                     [picture(256, 320, *lines), picture(160, 128, *lines),
                      numpy.concatenate([picture(96, 160, *lines), picture(96, 160, "another")])],
                     tmp_path)


def test_angle(tmp_path):
    check_and_logits(ANGLE,
                     [picture(48, 192, "upright"),
                      numpy.concatenate([picture(48, 192, "one"), picture(48, 192, "two"),
                                         picture(48, 192, "three")[:, :, ::-1, ::-1]]),
                      picture(48, 100, "short")],
                     tmp_path)


def test_without_avx512():
    """The same on the kernels for a machine with AVX2 only; the models that differ most."""
    if "AVX512" not in latchkey.version().upper().replace("-", "").replace("_", ""):
        pytest.skip(f"this machine has no AVX-512: {latchkey.version()}, as all tests ran already")
    run_again(__file__, "avx2",
              "recognition or detection or angle or resnet50 or shufflenet or squeezenet")
