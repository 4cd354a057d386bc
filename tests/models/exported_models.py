"""The models of exported/, their requests, and what two right results may differ by."""

import json
import pathlib

import numpy

FOLDER = pathlib.Path(__file__).parent / "exported"
NAMES = sorted(path.stem for path in FOLDER.glob("*.onnx"))


def requests_of(name):
    """Feeds for each request that is listed for a model, drawn by its number."""
    listed = json.loads((FOLDER / f"{name}.json").read_text())["sizes"]
    return [draw(request, seed) for seed, request in enumerate(listed)]


def draw(request, seed):
    rng = numpy.random.default_rng(seed)
    feeds = {}
    for name, (kind, shape, low, high) in request.items():
        dtype = numpy.dtype(kind)
        integers = dtype.kind in "iub"
        drawn = rng.integers(low, high, shape) if integers else rng.uniform(low, high, shape)
        feeds[name] = numpy.asarray(drawn).astype(dtype)
    return feeds


def compare(found, right, name):
    assert found.dtype == right.dtype
    assert found.shape == right.shape
    if right.size == 0:
        return
    if "int8" in name:  # a rounding may flip
        size = numpy.linalg.norm(right.astype(numpy.float64))
        distance = numpy.linalg.norm(found.astype(numpy.float64) - right)
        assert distance <= 0.05 * size + 1e-6, f"{distance / size:.3f} of the norm"
        return
    largest = float(numpy.abs(right.astype(numpy.float64)).max())
    numpy.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-3 * largest)
