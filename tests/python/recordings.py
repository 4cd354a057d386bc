"""Recordings and pages for the tests of reports."""

import json

import numpy
from conftest import make_model
from onnx import TensorProto, helper

import latchkey
from latchkey import _report


def record(session, path, model, shapes, **options):
    """Runs a request of each shape, and returns the recording, which is in the file as well."""
    with latchkey.Recorder(session, path=path, model=model, name="net.onnx", **options) as recorder:
        for shape in shapes:
            recorder.run({"x": numpy.zeros(shape, numpy.float32)})
    return json.loads(path.read_text())


def record_two(folder, model, numbers):
    """The files of two recordings of `convnet` with so many requests of 18 sizes, the second with a
    cache that is too small for them."""
    paths = []
    for name, number, options in zip(("first", "second"), numbers, ({}, {"cache_entries": 4})):
        context = latchkey.Context(threads=1, memory_bytes=16 * 2**20, **options)
        drawn = numpy.random.default_rng(1).integers((1, 4), (3, 13), (number, 2))
        with latchkey.Session(model, context=context) as session:
            record(session, folder / f"{name}.json", model,
                   [(n, 3, 8, width) for n, width in drawn], interval=0.01)
        paths.append(folder / f"{name}.json")
    return paths


def record_many_nodes(path):
    """Writes the recording of a chain of 5,100 nodes with a shortcut around every third one."""
    nodes, last = [], "x"
    for i in range(1700):
        nodes += [helper.make_node("Softmax", [last], [f"s{i}"], name=f"s{i}"),
                  helper.make_node("CumSum", [f"s{i}", "axis"], [f"c{i}"], name=f"c{i}"),
                  helper.make_node("Add", [f"c{i}", last], [f"a{i}"], name=f"a{i}")]
        last = f"a{i}"
    model = make_model(nodes, [("x", TensorProto.FLOAT, [1, "n"])],
                       [(last, TensorProto.FLOAT, None)], [("axis", numpy.array(1))])
    with latchkey.Session(model, context=latchkey.Context(threads=1)) as session:
        found = record(session, path, model, [(1, 4), (1, 5)], profile_every=1)
    assert len(found["nodes"]) >= 5000
    return path


def write_page(path, files):
    """Writes the page of the files, and returns its path."""
    path.write_text(_report.make_page(files))
    return path
