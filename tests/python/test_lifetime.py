"""Who may go before whom, and that nothing stays."""

import gc
import subprocess
import sys
import weakref

import numpy
from conftest import make_model, random, rss
from onnx import TensorProto, helper

import latchkey


def big_relu():
    return make_model([helper.make_node("Relu", ["x"], ["y"])], [("x", TensorProto.FLOAT, ["n"])],
                      [("y", TensorProto.FLOAT, ["n"])])


def test_outputs_outlive_session_and_context(convnet):
    context = latchkey.Context()
    session = latchkey.Session(convnet, context=context)
    x = random(1, 3, 64, 64)
    outputs = session.run({"x": x})
    kept = {name: array.copy() for name, array in outputs.items()}
    view = outputs["features"][0, 3:5]
    session.close()
    gone = weakref.ref(context)
    del session, context
    gc.collect()
    assert gone() is None
    numpy.random.default_rng(0).standard_normal(1 << 20)  # would reuse what was freed too early
    for name, array in outputs.items():
        assert numpy.array_equal(array, kept[name])
    del outputs, array
    gc.collect()
    assert numpy.array_equal(view, kept["features"][0, 3:5])
    view += 1  # it is ours to write to


def test_reference_cycles_are_collected(convnet):
    x = random(1, 3, 32, 32)

    class Service:
        def __init__(self):
            self.context = latchkey.Context()
            self.session = latchkey.Session(convnet, context=self.context)
            self.me = self
            self.last = self.session.run({"x": x})

    def cycles(count):
        for _ in range(count):
            Service()
            gc.collect()
    cycles(5)
    before = rss()
    cycles(30)
    assert rss() - before < 16 << 20


def test_output_memory_is_freed():
    """64 MB at a time, 40 times: 2.5 GB if they stayed."""
    session = latchkey.Session(big_relu())
    x = numpy.ones(16 << 20, numpy.float32)
    session.run({"x": x})
    before = rss()
    for _ in range(40):
        assert session.run({"x": x})["y"][-1] == 1
    assert rss() - before < 160 << 20


def test_200_sessions_leave_nothing(convnet):
    x = random(1, 3, 32, 32)

    def open_and_run(count):
        for _ in range(count):
            with latchkey.Session(convnet, threads=2) as session:
                session.run({"x": x})
    open_and_run(20)
    before = rss()
    open_and_run(200)
    # The weights alone would be 200 x 16 KB, plans some 100 x that.
    assert rss() - before < 8 << 20


def test_a_process_ends_with_everything_open(relu):
    """Sessions, outputs and a thread that still runs, all alive when the interpreter ends."""
    program = """
import sys, threading, numpy, latchkey
model = sys.stdin.buffer.read()
sessions = [latchkey.Session(model, cache=cache) for cache in ("shared", "thread", "off")]
x = numpy.ones((1000, 3), numpy.float32)
outputs = [session.run({"x": x}) for session in sessions]
def forever():
    while True:
        sessions[0].run({"x": x})
threading.Thread(target=forever, daemon=True).start()
print(sum(int(o["y"].sum()) for o in outputs))
"""
    done = subprocess.run([sys.executable, "-c", program], input=relu, capture_output=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"9000\n" and done.stderr == b""
