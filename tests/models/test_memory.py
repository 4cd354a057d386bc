"""Memory of whole models: the budget holds while outputs stay right, what is dropped goes back to
the system, equal weights are held once, and a load needs little more than the file.

Each test runs a function of this file in its own process, since resident memory is a process's.
"""

import gc
import json
import os
import pathlib
import random
import subprocess
import sys
import threading

import numpy
import pytest
from ocr_models import RECOGNITION

CACHE_KINDS = ("name", "run")


def in_child(function, *args, **environment):
    """What `function` prints, as an object, from a process that has done nothing else."""
    done = subprocess.run([sys.executable, __file__, function.__name__, *map(str, args)],
                          capture_output=True, text=True, timeout=600,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def status(field):
    """A line of it in bytes: VmRSS, its peak VmHWM, or its parts RssAnon and RssFile."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def settle(context):
    """Resident memory without packed weights, which stay while the model is open."""
    context.clear()
    gc.collect()
    context.trim()
    return status("VmRSS") - context.stats()["weights"]["bytes"]


def draw(width):
    shape = (1, 3, 48, width)
    return numpy.random.default_rng(width).uniform(-1, 1, shape).astype(numpy.float32)


def builds(context):
    cache = context.stats()["cache"]
    return sum(cache[kind]["builds"] for kind in CACHE_KINDS)


def evict():
    """Fifty widths twice with half of the bytes that they need."""
    import latchkey

    widths = random.Random(3).sample(range(32, 321), 50)
    context = latchkey.Context(cache_bytes=latchkey.UNLIMITED)
    session = latchkey.Session(RECOGNITION, context=context)
    name, = (value.name for value in session.inputs)
    for width in widths[:3]:
        session.run({name: draw(width)})
    start = settle(context)
    right = {width: next(iter(session.run({name: draw(width)}).values())).copy()
             for width in widths}
    need = context.stats()["cache"]["bytes"]
    context.set_capacity(bytes=need // 2)
    over, wrong = 0, 0
    for width in widths + widths[::-1]:
        found = next(iter(session.run({name: draw(width)}).values()))
        wrong += not numpy.array_equal(found, right[width])
        over += context.stats()["cache"]["bytes"] > need // 2
        del found
    evictions = sum(context.stats()["cache"][kind]["evictions"] for kind in CACHE_KINDS)
    del right
    return {"start": start, "end": settle(context), "need": need, "over": over, "wrong": wrong,
            "evictions": evictions}


def recur():
    """120 requests of random widths, twice."""
    import latchkey

    widths = [random.Random(5).randint(32, 320) for _ in range(120)]
    context = latchkey.Context(cache_bytes=latchkey.UNLIMITED)
    session = latchkey.Session(RECOGNITION, context=context)
    name, = (value.name for value in session.inputs)
    passes = []
    for _ in range(2):
        for width in widths:
            session.run({name: draw(width)})
        passes.append({"builds": builds(context), "rss": status("VmRSS")})
    return passes


def open_again(path, shape):
    """What each of four sessions of a model adds, having run: first the first, then the others."""
    import latchkey

    shape = tuple(int(dim) for dim in shape.split("x"))
    values = numpy.random.default_rng(1).uniform(-1, 1, shape).astype(numpy.float32)
    context = latchkey.Context()
    sessions, found = [], []
    for _ in range(4):
        session = latchkey.Session(path, context=context)
        session.run({session.inputs[0].name: values})
        sessions.append(session)
        gc.collect()
        context.trim()
        stats = context.stats()
        arenas = sum(s.stats()["session"]["arena_bytes"] for s in sessions)
        found.append({"own": status("RssAnon"), "of_files": status("RssFile"),
                      "packed": stats["weights"]["packed"],
                      "weights": session.stats()["session"]["weights_bytes"],
                      "plans_and_activations": stats["cache"]["bytes"] + arenas})
    return found


def close_beside_idle_threads(mode, path, shape):
    """Three times: eight threads run a model and fall asleep, and the model is closed."""
    import latchkey

    shape = tuple(int(dim) for dim in shape.split("x"))
    values = numpy.random.default_rng(1).uniform(-1, 1, shape).astype(numpy.float32)
    context = latchkey.Context(cache=mode, threads=2)
    found = []
    for _ in range(3):
        start = status("VmRSS")
        session = latchkey.Session(path, context=context)
        name = session.inputs[0].name
        asleep, wake = threading.Barrier(9), threading.Event()

        def work(session=session, name=name, asleep=asleep, wake=wake):
            for _ in range(3):
                session.run({name: values})
            asleep.wait()
            wake.wait()
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        asleep.wait()
        opened = status("VmRSS")
        weights = session.stats()["session"]["weights_bytes"]
        plans = context.stats()["cache"]["entries"]
        session.close()
        found.append({"start": start, "open": opened, "weights": weights, "plans": plans,
                      "end": status("VmRSS"), "left": context.stats()["cache"]["entries"]})
        wake.set()
        for thread in threads:
            thread.join()
    return found


def load(path):
    """The peak of resident memory while a model is opened."""
    import latchkey

    context = latchkey.Context()
    latchkey.Session(RECOGNITION, context=context).close()
    before = settle(context)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    session = latchkey.Session(path, context=context)
    peak = status("VmHWM") - before
    return {"peak": peak, "file": os.path.getsize(path),
            "packed": session.stats()["weights"]["bytes"]}


def test_a_budget_of_half_holds_and_all_goes_back():
    found = in_child(evict)
    assert found["wrong"] == 0
    assert found["over"] == 0
    assert found["evictions"] > 0, "a budget that needs no eviction proves nothing"
    assert found["end"] <= 1.1 * found["start"], found


def test_a_second_pass_builds_nothing_and_needs_no_memory():
    first, second = in_child(recur)
    assert second["builds"] == first["builds"]
    assert second["rss"] <= 1.01 * first["rss"], (first, second)


def test_further_sessions_share_the_weights(tmp_path):
    import light_models

    for path, shape in ((RECOGNITION, "1x3x48x100"),
                        (light_models.save("resnet50", tmp_path), "1x3x224x224")):
        found = in_child(open_again, path, shape)
        first, last = found[0], found[-1]
        assert last["packed"] == first["packed"], path.name
        # Activations and plans by name are each session's own, and counted; the rest is its graph.
        rest = [after["own"] - before["own"]
                - (after["plans_and_activations"] - before["plans_and_activations"])
                for before, after in zip(found, found[1:])]
        assert max(rest) < 0.05 * first["weights"], (path.name, found)
        # The second reads again, to compare, pages of the first one's file, as many as the system
        # maps at once. It may take them back at any time. The others find them there.
        more = [after["of_files"] - before["of_files"] for before, after in zip(found, found[1:])]
        assert more[0] < 1.05 * first["weights"], (path.name, found)
        assert max(more[1:]) < 0.05 * first["weights"], (path.name, found)


def multilayer_perceptron(folder):
    """Random weights, 48 MB."""
    from onnx import TensorProto, helper, numpy_helper

    n, depth, nodes, weights = 1024, 12, [], []
    rng = numpy.random.default_rng(3)
    for i in range(depth):
        matrix = rng.standard_normal((n, n), numpy.float32) / 32
        weights.append(numpy_helper.from_array(matrix, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Relu", [f"m{i}"], [f"x{i + 1}"]))
    graph = helper.make_graph(
        nodes, "perceptron", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["n", n])],
        [helper.make_tensor_value_info(f"x{depth}", TensorProto.FLOAT, ["n", n])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "perceptron.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("mode", ["shared", "thread"])
def test_a_model_that_is_closed_leaves_nothing_in_threads_that_sleep(mode, tmp_path):
    for path, shape in ((multilayer_perceptron(tmp_path), "16x1024"),
                        (RECOGNITION, "1x3x48x320")):
        # Else glibc keeps as much at the end of each thread's arena as its largest free block was,
        # where malloc_trim does not reach: a model more or less, by chance.
        found = in_child(close_beside_idle_threads, mode, path, shape,
                         GLIBC_TUNABLES="glibc.malloc.trim_threshold=131072")
        for cycle in found:
            assert cycle["plans"] > 0 and cycle["open"] > cycle["start"] + cycle["weights"], found
        # What is needed once for a process and its threads is there after the first time.
        for cycle in found[1:]:
            assert cycle["end"] <= 1.1 * cycle["start"], (path.name, found)
        growth, left = (sum(cycle[key] - cycle["start"] for cycle in found[1:])
                        for key in ("open", "end"))
        assert left <= 0.1 * growth, (path.name, found)


def test_a_load_needs_little_more_than_the_file(tmp_path):
    import light_models

    found = in_child(load, light_models.save("resnet50", tmp_path))
    assert found["peak"] <= 1.3 * found["file"] + found["packed"], found


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
