"""The models of exported/ and their requests."""

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
