"""RapidOCR, an application of others, as it comes from PyPI, reads with the provider what it reads
without it: from an empty cache, and by turns with a second model in the same process."""

import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys

import light_models
import numpy
import pytest
from bounds import check_output
from ocr_models import noise
from pictures import draw_lines, draw_page
from provider import NAME, check_claims, open_reference, open_session, statistics
from rapidocr_onnxruntime import RapidOCR
from rapidocr_onnxruntime.utils import infer_engine

ROOT = pathlib.Path(os.environ.get("LK_TEST_SOURCE", pathlib.Path(__file__).parents[3]))
PROGRAM = ROOT / "examples" / "rapidocr_latchkey.py"
PAGES = 24
# The application makes pages larger before it looks for text: 24 of them would take a minute.
QUICK = {"det_limit_side_len": 160}


@contextlib.contextmanager
def sessions_on_provider():
    """Sessions that RapidOCR opens inside are on the provider of the build folder, and in this
    list. As examples/rapidocr_latchkey.py does it with the one of the Python package."""
    opened = []
    plain = infer_engine.InferenceSession

    def open_one(path, sess_options, providers):
        opened.append(open_session(path, of_session=sess_options))
        return opened[-1]

    infer_engine.InferenceSession = open_one
    try:
        yield opened
    finally:
        infer_engine.InferenceSession = plain


def read(ocr, page):
    """The lines, from top to bottom."""
    found, _ = ocr(numpy.asarray(page)[:, :, ::-1])  # blue first
    return [text for _, text, _ in found or []]


@pytest.fixture(scope="module")
def pages():
    drawn = [draw_page(seed) for seed in range(PAGES)]
    assert len({page.size for page, _ in drawn}) == PAGES
    return drawn


@pytest.fixture(scope="module")
def expected(pages):
    # One thread: those of ONNX Runtime spin, and tests run side by side.
    ocr = RapidOCR(**QUICK, intra_op_num_threads=1)
    texts = [read(ocr, page) for page, _ in pages]
    # It reads, most of the time to the letter.
    right = sum("".join(text).replace(" ", "") == "".join(lines).replace(" ", "")
                for text, (_, lines) in zip(texts, pages))
    assert all(texts) and right >= PAGES // 2, (right, texts)
    return texts


@pytest.fixture
def application():
    """One with its three sessions on the provider, and these."""
    with sessions_on_provider() as sessions:
        ocr = RapidOCR(**QUICK)
    assert len(sessions) == 3
    return ocr, sessions


def feeds_of(session):
    value, = session.get_inputs()
    shape = [size if isinstance(size, int) else 1 for size in value.shape]
    return {value.name: numpy.zeros(shape, numpy.float32)}


def runs_of(session):
    """Runs of its largest subgraph; everything else must be claimed too."""
    return max(one["runs"] for one in check_claims(session, feeds_of(session))["subgraphs"])


def test_same_text_from_an_empty_cache(application, pages, expected):
    ocr, sessions = application
    for session in sessions:
        kinds = statistics(session, feeds_of(session))["context"]["cache"]["kinds"]
        assert kinds["run"]["entries"] == 0
    for (page, _), right in zip(pages, expected):
        assert read(ocr, page) == right, page.size
    # Each model at least once for every page.
    assert all(runs_of(session) >= PAGES for session in sessions)


def test_same_text_by_turns_with_another_model(application, pages, expected, tmp_path):
    ocr, _ = application
    path = light_models.save("squeezenet", tmp_path)
    images = [noise(1, 3, 224, 224), noise(2, 3, 224, 224)]
    other = open_session(path)
    name = other.get_inputs()[0].name
    outputs = [output.name for output in other.get_outputs()]
    right = [open_reference(path).run(None, {name: image}) for image in images]
    order = list(range(PAGES))
    random.Random(4).shuffle(order)
    for turn, i in enumerate(order):
        assert read(ocr, pages[i][0]) == expected[i], pages[i][0].size
        found = other.run(None, {name: images[turn % 2]})
        for output, one, values in zip(outputs, found, right[turn % 2], strict=True):
            check_output(one, values, "squeezenet", output)


def test_same_text_as_it_comes(pages):
    """With the application's own settings."""
    with sessions_on_provider():
        ocr = RapidOCR()
    plain = RapidOCR()
    for page, _ in pages[:2]:
        text = read(plain, page)
        assert text and read(ocr, page) == text


# ---- the example ----


def run_example(*args, code=0):
    done = subprocess.run([sys.executable, PROGRAM, "--rounds", "2", *args], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_example():
    said = json.loads(run_example("--json"))
    assert said["providers"].keys() == {"CPUExecutionProvider", NAME}
    for one in said["providers"].values():
        assert one["text"] == ["Every lock has a key.", "Latchkey 0.1 asks by key, builds once",
                               "Open 7 days, 24 hours.", "The quick brown fox jumps"]
        assert one["first"] > 0 and one["best"] > 0
    assert len(said["claims"]) == 3
    for one in said["claims"]:
        assert one["claimed"] == one["nodes"] > 100 and one["left"] == []


def test_example_prints(tmp_path):
    page = tmp_path / "page.png"
    draw_lines(200, 160, ["Every key"], 32).save(page)
    out = run_example("--image", page)
    assert out.lstrip().startswith("Every key\n")
    assert "the CPU provider reads the same" in out
    assert out.count("left: none") == 3


@pytest.mark.parametrize("package", ["cv2", "rapidocr_onnxruntime", "onnxruntime"])
def test_example_says_what_brings_what_is_missing(package):
    done = subprocess.run(
        [sys.executable, "-c", f"import runpy, sys; sys.modules[{package!r}] = None\n"
         f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith("rapidocr_latchkey: "), done
    assert package in done.stderr and "tools/setup --development" in done.stderr, done


def test_example_says_what_is_wrong(tmp_path):
    missing = tmp_path / "none.png"
    error = run_example("--image", missing, code=1)
    assert error.startswith("rapidocr_latchkey: ") and str(missing) in error
