"""Whole models through ONNX Runtime with the provider give what its CPU provider gives, in every
cache mode, at several shapes that come back; every node is claimed but what is in no group that
computes.

The models: the nine light ones of the onnx wheel with random weights, and the three of PP-OCRv4 in
the rapidocr-onnxruntime wheel, on pictures of text.
"""

import light_models
import numpy
import pytest
from bounds import check_output
from logits import save_with_logits
from ocr_models import ANGLE, DETECTION, RECOGNITION, noise
from pictures import picture
from provider import check_claims, open_reference, open_session

CACHE_MODES = ("shared", "thread", "off")


def check(path, arrays, modes=CACHE_MODES):
    """Every mode, every array twice (A, B, A, B)."""
    reference = open_reference(path)
    name = reference.get_inputs()[0].name
    outputs = [output.name for output in reference.get_outputs()]
    expected = [reference.run(outputs, {name: array}) for array in arrays]
    del reference
    for values in (value for values in expected for value in values):
        assert values.std() > 0, "proves nothing"
    for mode in modes:
        session = open_session(path, {"cache": mode})
        for turn in range(2):
            for array, right in zip(arrays, expected):
                found = session.run(outputs, {name: array})
                for output, one, other in zip(outputs, found, right, strict=True):
                    check_output(one, other, path.stem, output,
                                 f": {mode}, turn {turn}, {array.shape}")
        said = check_claims(session, {name: arrays[0]})
        assert sum(one["runs"] for one in said["subgraphs"]) >= 2 * len(arrays)
        entries = said["context"]["cache"]["entries"]
        assert entries == 0 if mode == "off" else entries > 0, f"{mode}: {entries} entries"


@pytest.mark.parametrize("name", light_models.NAMES)
def test_light(name, tmp_path):
    path = light_models.save(name, tmp_path)
    if name in light_models.HEAVY:
        check(path, [noise(1, 3, 224, 224)], modes=CACHE_MODES[:1])
    else:
        check(path, [noise(1, 3, 224, 224), noise(2, 3, 224, 224)])


def check_and_logits(path, arrays, folder):
    """The model as it is, and with what its last function takes."""
    check(path, arrays)
    check(save_with_logits(path, folder), arrays, CACHE_MODES[:1])


def test_recognition(tmp_path):
    check_and_logits(RECOGNITION,
                     [picture(48, 320, "The quick brown fox"), picture(48, 97, "jumps"),
                      numpy.concatenate([picture(48, 160, "Latchkey"),
                                         picture(48, 160, "oneDNN 3.13")])],
                     tmp_path)


LINES = ("two lines of", "text to find")


def test_detection(tmp_path):
    # Of noise the last Sigmoid makes steps, and steps make much of a rounding; so do the edges of
    # large letters, where the CPU provider differs from itself without its optimizations.
    check_and_logits(DETECTION,
                     [picture(160, 128, *LINES), picture(128, 128, "a"),
                      picture(224, 320, "three lines", "of black text", "on white"),
                      numpy.concatenate([picture(96, 160, *LINES), picture(96, 160, "another")])],
                     tmp_path)


def test_angle(tmp_path):
    check_and_logits(ANGLE,
                     [picture(48, 192, "upright"), picture(48, 100, "short"),
                      numpy.concatenate([picture(48, 192, "one"), picture(48, 192, "two"),
                                         picture(48, 192, "three")[:, :, ::-1, ::-1]])],
                     tmp_path)
