"""Statistics as data: they say the same as the structs, and hold no secrets of each other."""

import itertools
import json
import threading

import numpy
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper

import latchkey


def keys_of(value):
    """The names in a report, without the values."""
    if isinstance(value, dict):
        return {name: keys_of(each) for name, each in value.items()}
    if isinstance(value, list):
        return [keys_of(value[0])] if value else []
    return None


@pytest.fixture
def report(convnet):
    with latchkey.Session(convnet, threads=2) as session:
        for height in (32, 20, 32, 32):
            session.run({"x": random(1, 3, height, 32, seed=height)})
        yield session.statistics(), session.stats()


def test_of_context_and_session_are_those_of_the_structs(report):
    found, structs = report
    cache = found["context"]["cache"]
    for kind, counts in cache["kinds"].items():
        for name, number in structs["cache"][kind].items():
            assert counts[name] == number, (kind, name)
        assert sum(counts["build_times"]) == counts["builds"] + counts["failed_builds"]
    for name in ("entries", "bytes", "capacity_entries", "capacity_bytes", "reorders"):
        assert cache[name] == structs["cache"][name], name
    for name in ("entries", "bytes", "packed", "shared"):
        assert found["context"]["weights"][name] == structs["weights"][name], name
    assert found["context"]["weights"]["capacity_bytes"] is None, "there is no limit"
    for name in ("runs", "run_plan_hits", "run_plan_builds", "nodes_in_file", "load_ns"):
        assert found["session"][name] == structs["session"][name], name
    assert len(found["session"]["nodes"]) == structs["session"]["nodes"]
    assert found["context"]["threads"] == 2
    assert found["schema"] == "latchkey-statistics-1"
    assert found["process"]["processors"] >= 1


def test_of_memory_add_up(report):
    memory = report[0]["context"]["memory"]
    assert sum(memory["owners"].values()) == memory["bytes"]
    assert memory["owners"]["arenas"] == report[1]["session"]["arena_bytes"] > 0
    assert memory["owners"]["weights"] == report[0]["context"]["weights"]["bytes"] > 0
    assert memory["bytes"] <= memory["peak_bytes"] <= memory["limit_bytes"]


def test_of_weights_apart_have_no_part_in_memory(convnet):
    with latchkey.Session(convnet, weights_apart=True) as session:
        session.run({"x": random(1, 3, 32, 32, seed=1)})
        context = session.statistics()["context"]
    assert context["memory"]["owners"]["weights"] == 0
    assert context["weights"]["bytes"] > 0


def test_of_sizes_and_nodes(report):
    session = report[0]["session"]
    assert [(size["inputs"], size["runs"], size["builds"], size["run_plans"])
            for size in session["sizes"]] == [
        ([{"name": "x", "dtype": "f32", "shape": [1, 3, height, 32]}], runs, 1, 1)
        for height, runs in ((32, 3), (20, 1))]
    assert session["sizes_lost"] == 0
    for node in session["nodes"]:
        assert node["binds"] == sum(node["bind_times"]) == 2
        assert node["implementation"] != ""
    for operator in session["operators"]:
        nodes = [node for node in session["nodes"] if node["op_type"] == operator["op_type"]]
        assert operator["nodes"] == len(nodes) == sum(operator["implementations"].values())
        assert operator["bind_ns"] == sum(node["bind_ns"] for node in nodes)
        assert operator["longest_bind_ns"] == max(node["longest_bind_ns"] for node in nodes)
        times = itertools.zip_longest(*(node["bind_times"] for node in nodes), fillvalue=0)
        assert operator["bind_times"] == list(map(sum, times))
        assert operator["bind_times"][-1] > 0, "buckets behind the last one are left out"
    assert len({operator["op_type"] for operator in session["operators"]}) == len(
        session["operators"])


def test_of_edges(report):
    """Each value that a node reads is an input of the model or another node's output."""
    nodes = report[0]["session"]["nodes"]
    made = ["x", *(name for node in nodes for name in node["outputs"])]
    assert len(set(made)) == len(made)
    for node in nodes:
        assert node["outputs"][0] == node["output_name"]
        assert node["inputs"] and set(node["inputs"]) <= set(made), "constants are left out"
    assert {"scores", "features"} <= set(made)


def test_say_what_shapes_follow_from():
    model = make_model(
        [helper.make_node("Shape", ["x"], ["d"]), helper.make_node("Reshape", ["w", "d"], ["y"]),
         helper.make_node("NonZero", ["y"], ["z"]),
         helper.make_node("Reshape", ["z", "flat"], ["t"])],
        [("x", TensorProto.FLOAT, ["n"]), ("w", TensorProto.FLOAT, [None, None])],
        [("t", TensorProto.INT64, None)], [("flat", numpy.array([-1]))])
    with latchkey.Session(model) as session:
        nodes = {node["output_name"]: node for node in session.statistics()["session"]["nodes"]}
    rules = {name: (node["shape_inputs"], node["reads_shape_only"], node["shape_from_data"])
             for name, node in nodes.items()}
    assert rules == {"d": ([], True, False), "y": (["d"], False, False),
                     "z": ([], False, True), "t": ([], False, False)}


def test_show_values_that_shapes_depend_on():
    """A shape that is an input is part of the size."""
    model = make_model(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [("x", TensorProto.FLOAT, [None]), ("shape", TensorProto.INT64, [None])],
        [("y", TensorProto.FLOAT, None)])
    with latchkey.Session(model) as session:
        x = random(6, seed=1)
        for shape in ([2, 3], [3, 2], [2, 3], [-1]):
            session.run({"x": x, "shape": numpy.array(shape, numpy.int64)})
        sizes = session.statistics()["session"]["sizes"]
    assert [(size["values"], size["runs"]) for size in sizes] == [
        ([{"name": "shape", "dtype": "i64", "shape": [len(shape)], "data": shape}], runs)
        for shape, runs in (([2, 3], 2), ([3, 2], 1), ([-1], 1))]


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float16, numpy.float64, numpy.int32])
def test_show_numbers_of_each_type(dtype):
    name = {"float32": "FLOAT", "float16": "FLOAT16", "float64": "DOUBLE", "int32": "INT32"}
    element = getattr(TensorProto, name[numpy.dtype(dtype).name])
    model = make_model(
        [helper.make_node("Range", ["start", "limit", "delta"], ["y"])],
        [(each, element, []) for each in ("start", "limit", "delta")], [("y", element, None)],
        opset=27 if dtype == numpy.float16 else 11)
    with latchkey.Session(model) as session:
        numbers = {"start": dtype(-1.5), "limit": dtype(3), "delta": dtype(1.25)}
        session.run({name: numpy.array(number) for name, number in numbers.items()})
        values = session.statistics()["session"]["sizes"][0]["values"]
    assert [(value["name"], value["data"]) for value in values] == [
        (name, [number.item()]) for name, number in numbers.items()]


@pytest.mark.parametrize(("bits", "shown"), [
    (0x3555, 0.333251953125), (0xC000, -2.0), (0x0001, 2.0**-24), (0x8400, -2.0**-14),
    (0x7BFF, 65504.0), (0x7C00, None), (0xFE00, None)])
def test_show_f16_exactly(bits, shown):
    model = make_model(
        [helper.make_node("Range", ["start", "limit", "delta"], ["r"]),
         helper.make_node("Size", ["r"], ["y"])],
        [(each, TensorProto.FLOAT16, []) for each in ("start", "limit", "delta")],
        [("y", TensorProto.INT64, [])], opset=27)
    with latchkey.Session(model) as session:
        start = numpy.array(bits, numpy.uint16).view(numpy.float16)
        one = numpy.array(1, numpy.float16)
        try:
            session.run({"start": start, "limit": start, "delta": one})
        except latchkey.Error:
            assert shown is None, "Range has no elements between infinities and NaN"
            return
        values = session.statistics()["session"]["sizes"][0]["values"]
    assert values[0]["data"] == [shown]


def test_tell_of_wanted_outputs(convnet):
    with latchkey.Session(convnet) as session:
        x = random(1, 3, 32, 32, seed=1)
        session.run({"x": x}, ["features"])
        values = session.statistics()["session"]["sizes"][0]["values"]
    assert [(value["name"], value["data"]) for value in values] == [("", [0b10])]


def test_show_evicted_sizes_as_built_again(relu):
    with latchkey.Session(relu, cache_entries=1) as session:
        for length in (3, 5, 3, 5):
            session.run({"x": numpy.zeros((length, 3), numpy.float32)})
        found = session.statistics()
    assert [(size["builds"], size["run_plans"]) for size in found["session"]["sizes"]] == [
        (2, 0), (2, 1)]
    assert found["context"]["cache"]["kinds"]["run"]["evictions"] == 3


def test_need_odd_names_escaped():
    model = make_model(
        [helper.make_node("Relu", ["x"], ["y"], name='a"b\n\x7f\u00e9')],
        [("x", TensorProto.FLOAT, [None])], [("y", TensorProto.FLOAT, [None])])
    with latchkey.Session(model) as session:
        assert session.statistics()["session"]["nodes"][0]["name"] == 'a"b\n\x7f\u00e9'


def watch(session):
    """Counts never fall, and reports keep their form."""
    before, form = None, None
    for _ in range(100):
        found = session.statistics()
        engine = found["context"]["engine"]
        engine["choices"] = engine["reasons"] = []  # there are none until sizes recur
        if len(found["session"]["sizes"]) > 1:  # nodes show what changed from the second size on
            assert form is None or keys_of(found) == form
            form = keys_of(found)
        if before is not None:
            for kind, counts in found["context"]["cache"]["kinds"].items():
                for name in ("hits", "misses", "builds", "evictions", "build_ns"):
                    assert counts[name] >= before["context"]["cache"]["kinds"][kind][name]
            assert found["session"]["runs"] >= before["session"]["runs"]
        before = found


def test_are_consistent_under_load(convnet):
    """While threads run, and sizes come and go."""
    with latchkey.Session(convnet, cache_entries=3) as session:
        stop = threading.Event()

        def load(seed):
            heights = numpy.random.default_rng(seed).integers(8, 40, 1000)
            for height in heights:
                if stop.is_set():
                    return
                session.run({"x": numpy.zeros((1, 3, height, 16), numpy.float32)})

        threads = [threading.Thread(target=load, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        try:
            watch(session)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        found = session.statistics()["session"]
    assert sum(size["runs"] for size in found["sizes"]) == found["runs"]
    assert sum(size["builds"] for size in found["sizes"]) == found["run_plan_builds"]


def test_of_a_closed_session_fail(relu):
    session = latchkey.Session(relu)
    session.close()
    with pytest.raises(ValueError, match="closed"):
        session.statistics()


def test_can_be_written_and_read(report):
    assert json.loads(json.dumps(report[0])) == report[0]


def test_of_a_context_by_itself(convnet):
    context = latchkey.Context()
    empty = context.statistics()
    assert set(empty) == {"schema", "version", "time_ns", "process", "context"}
    assert empty["context"]["memory"]["owners"]["arenas"] == 0
    assert latchkey.explain(empty) == ()
    with latchkey.Session(convnet, context=context) as session:
        session.run({"x": numpy.zeros((1, 3, 32, 32), numpy.float32)})
        mine, its = context.statistics(), session.statistics()
    assert mine["context"]["memory"]["owners"]["arenas"] > 0
    for found in (mine, its):  # the reports themselves
        for name in ("bytes", "peak_bytes", "allocations"):
            del found["context"]["memory"][name]
        del found["context"]["memory"]["owners"]["other"]
    assert mine["context"] == its["context"]
