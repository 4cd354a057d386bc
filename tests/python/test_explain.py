"""Explanations name the true cause first."""

import json
import re
import threading

import numpy
import onnx
import onnxruntime
import pytest
from conftest import make_model, random
from onnx import TensorProto, helper

import latchkey
import latchkey.ort
from latchkey import Explanation, Finding, _explain, explain
from latchkey._shapes import chains


def image(height, width=32):
    return {"x": numpy.zeros((1, 3, height, width), numpy.float32)}


def causes(explanation):
    return [finding.cause for finding in explanation]


def of_cause(cause, explanation):
    """The finding of a cause. Which finding stands first depends on what builds took."""
    [found] = (finding for finding in explanation if finding.cause == cause)
    return found


# ---- puzzles ----


def test_a_dimension_that_drifts(convnet):
    with latchkey.Session(convnet) as session:
        for width in range(20, 120):
            session.run(image(32, width))
        found = session.explain()
    first = found[0]
    assert first.cause == "new_sizes"
    assert first.text == ("99 new sizes came after the first, mostly since x.dims[3] changed")
    assert first.details[0].startswith("x.dims[3]: 100 values (20 to 119), 99 builds, ")
    assert first.details[0].endswith("last 118 -> 119")
    # The nodes come by the time of their binds: whichever was the slowest here.
    assert any(detail.startswith("features: in[0].dims[3] 118 -> 119, 99 binds, ")
               for detail in first.details[1:])
    assert first.advice == ("where the model allows padding, round x.dims[3] up to a multiple of "
                            "8: 13 sizes instead of 100")
    assert first.lost_ns > 0


def test_a_budget_that_is_too_small(convnet):
    with latchkey.Session(convnet, cache_entries=4) as session:
        for _ in range(10):
            for height in range(8, 14):
                session.run(image(height))
        found, statistics = session.explain(), session.statistics()
    first = of_cause("built_again", found)
    evictions = statistics["context"]["cache"]["kinds"]["run"]["evictions"]
    builds = statistics["session"]["run_plan_builds"]
    assert first.text == (f"{builds - 6} run plans had been evicted or dropped when needed again "
                          f"({evictions} evictions)")
    assert first.advice == ("raise cache_entries from 4 to 6 at least: then all sizes that were "
                            "seen fit")
    second = of_cause("new_sizes", found)
    assert (causes(found).index("built_again") < causes(found).index("new_sizes")) == (
        first.lost_ns > second.lost_ns)


def test_bytes_that_are_too_few(convnet):
    with latchkey.Session(convnet) as session:
        for height in range(8, 14):
            session.run(image(height))
        needed = sum(size["bytes"] for size in session.statistics()["session"]["sizes"])
    limit = needed // 2 // 1024 * 1024
    with latchkey.Session(convnet, cache_bytes=limit) as session:
        for _ in range(10):
            for height in range(8, 14):
                session.run(image(height))
        first = of_cause("built_again", session.explain())
        assert first.advice.startswith(f"raise cache_bytes from {limit // 1024}k to ")
        advised = int(first.advice.split(" to ")[1].split("k:")[0]) * 1024
    with latchkey.Session(convnet, cache_bytes=advised) as session:
        for _ in range(3):
            for height in range(8, 14):
                session.run(image(height))
        assert "built_again" not in causes(session.explain()), "the advice helps"


def test_a_full_cache_is_never_said_to_fit(convnet):
    """More may be charged than is counted here: values that are still in use, for one."""
    with latchkey.Session(convnet) as session:
        session.run(image(8))
        context = session.statistics()["context"]
    cache = context["cache"]
    cache["capacity_bytes"] = cache["bytes"] + 1
    assert _explain._cache_advice([], context).startswith("all sizes fit now")
    cache["kinds"]["run"]["evictions"] = 3
    assert re.fullmatch(r"raise cache_bytes from \w+ to \w+: it is full",
                        _explain._cache_advice([], context))


def test_a_node_that_splits_a_graph(convnet):
    model = make_model(
        [helper.make_node("Relu", ["x"], ["a"]),
         helper.make_node("Binarizer", ["a"], ["b"], domain="ai.onnx.ml", threshold=0.5),
         helper.make_node("Relu", ["b"], ["y"])],
        [("x", TensorProto.FLOAT, ["n", 3])], [("y", TensorProto.FLOAT, ["n", 3])])
    model = add_domain(model, "ai.onnx.ml", 1)
    latchkey.ort.register()
    options = onnxruntime.SessionOptions()
    latchkey.ort.append(options, run_statistics="on", claim="all")
    session = onnxruntime.InferenceSession(model, options)
    for rows in (2, 3, 4):
        session.run(None, {"x": random(rows, 3)})
    found = latchkey.ort.explain(session)
    assert found[0].cause == "left_nodes"
    assert found[0].text == ("1 node of 3 left to ONNX Runtime splits the model into 2 parts, with "
                             "a border around each")
    assert found[0].details[0].startswith("1 Binarizer: ")
    cost = latchkey.ort.border_cost()
    assert found[0].lost_ns == round(3 * cost), "of one border in three runs"
    assert found[0].advice.startswith("a border costs ")
    names = [part["name"] for part in latchkey.ort.stats(session)["subgraphs"]]
    assert causes(found) == ["left_nodes", "new_sizes", "new_sizes"]
    assert {finding.text for finding in found[1:]} == {
        f"2 new sizes of part '{name}' came after the first, mostly since {value}.dims[0] changed"
        for name, value in zip(names, "xb", strict=True)}


def clips_model(bounds_are_constants=False):
    """Convolutions, each with a Clip behind it whose upper bound is computed from an input."""
    nodes = [] if bounds_are_constants else [
        helper.make_node("ReduceMax", ["limits"], ["high"], keepdims=0)]
    constants = [("zero", numpy.float32(0))]
    if bounds_are_constants:
        constants.append(("high", numpy.float32(6)))
    last = "x"
    for i in range(3):
        constants.append((f"w{i}", random(8, 3 if i == 0 else 8, 3, 3, seed=i)))
        nodes += [helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], pads=[1] * 4),
                  helper.make_node("Clip", [f"c{i}", "zero", "high"], [f"y{i}"], f"clip_{i}")]
        last = f"y{i}"
    inputs = [("x", TensorProto.FLOAT, [1, 3, "h", "w"])]
    if not bounds_are_constants:
        inputs.append(("limits", TensorProto.FLOAT, [2]))
    return make_model(nodes, inputs, [(last, TensorProto.FLOAT, None)], constants)


def test_clip_with_bounds_of_each_run():
    profile = latchkey.Profile()
    with latchkey.Session(clips_model()) as session:
        for _ in range(20):
            session.run({"x": random(1, 3, 32, 32), "limits": random(2) + 2}, profile=profile)
        found, unmeasured = session.explain(profile), session.explain()
        assert {node.op_type for node in session.nodes} == {"Conv", "Clip", "ReduceMax"}
    first = found[0]
    reason = "its input 2, 'high', is not a constant: it comes with each run"
    assert first.cause == "not_fused" and first.lost_ns > 0
    assert first.text == ("pass 'activation_after_residual' left 3 nodes (Clip) as they are: of "
                          f"the first, {reason}")
    assert {detail.split(" [")[0] for detail in first.details} == {
        f"Clip 'clip_{i}': {reason}" for i in range(3)}
    assert all(detail.endswith(" a run]") for detail in first.details)
    assert first.advice == "make it a constant of the model, where it always is the same"
    assert unmeasured[0]._replace(details=()) == first._replace(lost_ns=None, details=())
    with latchkey.Session(clips_model(bounds_are_constants=True)) as session:
        session.run({"x": random(1, 3, 32, 32)})
        assert session.explain() == (), "the advice helps"
        assert [node.op_type for node in session.nodes] == ["Conv"] * 3


def test_clip_with_bounds_of_each_run_in_a_file():
    with latchkey.Session(clips_model()) as session:
        session.run({"x": random(1, 3, 8, 8), "limits": random(2) + 2})
        assert "refusals" not in session.statistics()["session"], "they are found when asked for"
        file = json.loads(json.dumps(session.statistics(refusals=True)))
        expected = session.explain()
    assert explain(file) == expected
    assert causes(expected) == ["not_fused"]


def test_clip_with_bounds_of_each_run_in_onnxruntime():
    latchkey.ort.register()
    refusals = {}
    for are_constants in (False, True):
        options = onnxruntime.SessionOptions()
        latchkey.ort.append(options, run_statistics="on", claim="all")
        session = onnxruntime.InferenceSession(clips_model(are_constants), options)
        feeds = {"x": random(1, 3, 8, 8), "limits": random(2) + 2}
        session.run(None, {one.name: feeds[one.name] for one in session.get_inputs()})
        parts = latchkey.ort.stats(session)["subgraphs"]
        refusals[are_constants] = [one for part in parts for one in part["refusals"]]
        found = latchkey.ort.explain(session)
        assert ("not_fused" in causes(found)) is not are_constants
    assert refusals[True] == []
    assert [one["node_name"] for one in refusals[False]] == ["clip_0", "clip_1", "clip_2"]
    assert {one["reason"] for one in refusals[False]} == {
        "its input 2, 'high', is not a constant: it comes with each run"}


def statistics_of_claims(claims, runs):
    subgraphs = [{"name": str(i), "runs": n, "run_plan_builds": 1, "sizes": [], "waits": 0}
                 for i, n in enumerate(runs)]
    return {"context": {"cache": {}, "cache_mode": "shared", "memory": {"refusals": 0}},
            "process": {"waits": 0}, "subgraphs": subgraphs,
            "claims": {"nodes": 9, "claimed": 7, "subgraphs": len(runs),
                       "left": [{"operator": "Relu", "domain": "", "count": 2, "reason": "so"}],
                       **claims}}


@pytest.mark.parametrize(("claims", "lost_ns", "advice"), [
    ({}, None, "latchkey.ort.explain(session) measures what this costs"),
    ({"border_ns": 500.0}, 10000, "a border costs 500 ns a run: `latchkey compare` and a session "
     "without the provider show whether the groups are worth it"),
    ({"border_ns": 500.0, "subgraphs_of_all": 1}, 10000,
     'claim="all" makes 1 part of it, which saves up to 10 us of these'),
    ({"border_ns": 500.0, "subgraphs_of_all": 3}, 10000,
     'claim="all" leaves 3 parts; a border costs 500 ns a run: `latchkey compare` and a session '
     "without the provider show whether the groups are worth it")])
def test_what_borders_cost(claims, lost_ns, advice):
    found = explain(statistics_of_claims(claims, [10, 10, 10]))
    assert causes(found) == ["left_nodes"]
    assert (found[0].lost_ns, found[0].advice) == (lost_ns, advice)


def test_borders_of_parts_that_have_not_run():
    found = explain(statistics_of_claims({"border_ns": 500.0}, [0, 0]))
    assert found[0].lost_ns == 0


def add_domain(model, domain, version):
    loaded = onnx.load_from_string(model)
    loaded.opset_import.append(helper.make_opsetid(domain, version))
    return loaded.SerializeToString()


# ---- values that shapes follow from ----


@pytest.fixture(scope="module")
def shapes_model():
    """Shapes that follow from a shape, from data, and from an input's elements."""
    return make_model(
        [helper.make_node("Shape", ["x"], ["dims"]),
         helper.make_node("Gather", ["dims", "zero"], ["rows"]),
         helper.make_node("Concat", ["rows", "two"], ["wanted"], axis=0),
         helper.make_node("Reshape", ["x", "wanted"], ["y"]),
         helper.make_node("NonZero", ["y"], ["places"]),
         helper.make_node("Shape", ["places"], ["found"]),
         helper.make_node("Expand", ["one", "found"], ["many"]),
         helper.make_node("Reshape", ["many", "shape"], ["z"], "last")],
        [("x", TensorProto.FLOAT, ["n", 2]), ("shape", TensorProto.INT64, [None])],
        [("z", TensorProto.FLOAT, None)],
        [("zero", numpy.array([0])), ("two", numpy.array([2])), ("one", numpy.float32([1]))])


def test_values_that_depend_on_a_size(shapes_model):
    with latchkey.Session(shapes_model) as session:
        session.run({"x": random(3, 2), "shape": numpy.array([-1])})
        assert "shapes_from_values" not in causes(session.explain()), "no size was new"
        session.run({"x": random(4, 2), "shape": numpy.array([1, -1])})
        found = session.explain()
    finding = of_cause("shapes_from_values", found)
    assert finding.text == ("shapes of 3 nodes follow from values: 2 of 3 are computed from other "
                            "shapes, and so known when a size is")
    assert finding.details == (
        "the elements of 'shape' -> Reshape 'last'",
        "the shape of 'x' -> Shape -> Gather -> Concat -> Reshape 'y'",
        "the shape of 'places' -> Shape -> Expand 'many'")
    assert finding.advice.startswith("'shape' is part of each size")
    assert causes(found)[0] == "new_sizes", "what has cost time stands first"


def test_shapes_that_follow_from_data(shapes_model):
    with latchkey.Session(shapes_model) as session:
        session.run({"x": random(3, 2), "shape": numpy.array([-1])})
        found = session.explain()
    assert causes(found) == ["shapes_from_data"]
    assert found[0].text == (
        "1 node (NonZero) gives outputs whose shapes follow from data: it runs between parts of "
        "the model, of which 2 have been bound, each with sizes of its own")
    assert found[0].details == ("NonZero 'places': the shapes of its outputs follow from the "
                                "elements of 'y'",)


def sentence(rows, length):
    return {"ids": numpy.zeros((rows, length), numpy.float32),
            "mask": numpy.ones((rows, length), numpy.float32)}


@pytest.fixture(scope="module")
def sentences():
    """Heads apart, as exporters spell it: the batch comes from a shape."""
    return make_model(
        [helper.make_node("Mul", ["ids", "mask"], ["x"]),
         helper.make_node("Shape", ["x"], ["dims"]),
         helper.make_node("Gather", ["dims", "zero"], ["rows"]),
         helper.make_node("Concat", ["rows", "rest"], ["wanted"], axis=0),
         helper.make_node("Reshape", ["x", "wanted"], ["y"])],
        [("ids", TensorProto.FLOAT, ["batch", "length"]),
         ("mask", TensorProto.FLOAT, ["batch", "length"])],
        [("y", TensorProto.FLOAT, None)],
        [("zero", numpy.array([0])), ("rest", numpy.array([2, -1]))])


def test_a_dimension_that_stays_as_it_is(sentences):
    with latchkey.Session(sentences) as session:
        for length in range(2, 8, 2):
            session.run(sentence(3, length))
        assert "one_size" not in causes(session.explain()), "three sizes show nothing"
        session.run(sentence(3, 10))
        found, before = session.explain(), session.statistics()
        session.run(sentence(2, 10))
        assert "one_size" not in causes(session.explain()), "it has another size now"
    finding = of_cause("one_size", found)
    assert finding.text == (
        "1 dimension that the model leaves open had the same size in all 4 requests that were "
        "new, and 3 nodes that compute shapes were bound for each")
    assert finding.details[0] == "'batch' of 'ids', 'mask': 3"
    assert finding.details[1].startswith("Shape, Gather, Concat: ")
    assert finding.advice == (
        "where that stays so, open the model with fixed_dims={'batch': 3} (--fix batch=3): what "
        "follows from it is computed once")
    assert finding in explain(json.loads(json.dumps(before))), "of a file too"
    with latchkey.Session(sentences, fixed_dims={"batch": 3}) as session:
        for length in range(2, 10, 2):
            session.run(sentence(3, length))
        assert "one_size" not in causes(session.explain()), "it was taken"
        after = session.statistics()["session"]
    assert [node["op_type"] for node in before["session"]["nodes"]] == [
        "Mul", "Shape", "Gather", "Concat", "Reshape"]
    assert [node["op_type"] for node in after["nodes"]] == ["Mul", "Reshape"]
    assert after["fixed_dims"] == [{"name": "batch", "size": 3}]


def test_dimensions_without_a_name_that_stay_as_they_are(sentences):
    model = onnx.load_from_string(sentences)
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].Clear()
    with latchkey.Session(model.SerializeToString()) as session:
        for length in range(2, 10, 2):
            session.run(sentence(3, length))
        found = session.explain()
    finding = of_cause("one_size", found)
    assert finding.details[:2] == ("'ids[0]' of 'ids': 3", "'mask[0]' of 'mask': 3")
    assert ("fixed_dims={'ids[0]': 3, 'mask[0]': 3} (--fix 'ids[0]=3' --fix 'mask[0]=3'): what "
            "follows from them") in finding.advice


def test_where_no_shapes_are_computed_nothing_follows(convnet):
    with latchkey.Session(convnet) as session:
        for width in range(20, 30):
            session.run(image(32, width))
        assert causes(session.explain()) == ["new_sizes"]


def test_long_chains_are_cut():
    nodes = [{"op_type": "Shape", "name": "", "output_name": "v0", "inputs": ["x"],
              "outputs": ["v0"], "shape_inputs": [], "reads_shape_only": True}]
    nodes += [{"op_type": "Abs", "name": "", "output_name": f"v{i + 1}", "inputs": [f"v{i}"],
               "outputs": [f"v{i + 1}"], "shape_inputs": [], "reads_shape_only": False}
              for i in range(3000)]
    nodes.append({"op_type": "Reshape", "name": "r", "output_name": "y", "inputs": ["x", "v3000"],
                  "outputs": ["y"], "shape_inputs": ["v3000"], "reads_shape_only": False})
    (chain,) = chains(nodes)
    assert chain.text == f"the shape of 'x' -> ...{' -> Abs' * 8} -> Reshape 'r'"
    assert (chain.node, chain.value, chain.source) == ("Reshape 'r'", "v3000", "x")


def test_statistics_of_an_older_version_have_no_rules(convnet):
    with latchkey.Session(convnet) as session:
        session.run(image(8))
        session.run(image(9))
        statistics = session.statistics()
    for node in statistics["session"]["nodes"]:
        for name in ("shape_inputs", "reads_shape_only", "shape_from_data"):
            del node[name]
    assert causes(explain(statistics)) == ["new_sizes"]


# ---- other causes ----


def test_nothing(relu):
    with latchkey.Session(relu) as session:
        assert session.explain() == ()
        for _ in range(3):
            session.run({"x": random(2, 3)})
        found = session.explain()
    assert found == ()
    assert str(found) == "Nothing was found: sizes were known, and nothing was built twice.\n"


def test_two_dimensions_share_the_time(convnet):
    with latchkey.Session(convnet) as session:
        for size in (16, 20, 24, 28):
            session.run(image(size, size))
        first = session.explain()[0]
    assert [detail.split(":")[0] for detail in first.details[:2]] == ["x.dims[2]", "x.dims[3]"]
    nodes = [detail for detail in first.details if detail.startswith("features: ")]
    assert {node.split()[1] for node in nodes} == {"in[0].dims[2]", "in[0].dims[3]"}
    assert first.advice == "run the sizes that are known once before the first request"


def test_values_that_shapes_depend_on():
    model = make_model(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [("x", TensorProto.FLOAT, [None]), ("shape", TensorProto.INT64, [None])],
        [("y", TensorProto.FLOAT, None)])
    with latchkey.Session(model) as session:
        for shape in ([2, 3], [3, 2], [6, 1]):
            session.run({"x": random(6), "shape": numpy.array(shape, numpy.int64)})
        first = session.explain()[0]
    assert {detail.split(":")[0] for detail in first.details} == {"shape[0]", "shape[1]"}


def test_outputs_that_are_asked_for_by_turns(convnet):
    with latchkey.Session(convnet) as session:
        session.run(image(32))
        session.run(image(32), ["features"])
        first = session.explain()[0]
    assert first.details[0].startswith("wanted outputs")


def test_threads_that_each_build(convnet):
    with latchkey.Session(convnet, cache="thread") as session:
        threads = [threading.Thread(target=session.run, args=(image(32),)) for _ in range(3)]
        for thread in threads:
            thread.start()
            thread.join()
        found = session.explain()
    assert causes(found) == ["each_thread_builds"]
    assert found[0].text == "2 builds more than sizes: each thread has a cache of its own"


@pytest.mark.parametrize(("options", "why"), [({"cache": "off"}, "the cache"),
                                              ({"run_plans": False}, "the option run_plans")])
def test_nothing_that_is_kept(relu, options, why):
    with latchkey.Session(relu, **options) as session:
        session.run({"x": random(2, 3)})
        found = session.explain()
    assert causes(found) == ["nothing_kept"]
    assert f"since {why} is off: each of 1 run has bound" in found[0].text


def test_a_limit_of_memory(convnet):
    with latchkey.Session(convnet, memory_bytes=2**20) as session:
        session.run(image(16))
        with pytest.raises(latchkey.OutOfMemoryError):
            session.run(image(2000, 2000))
        found = session.explain()
    finding = of_cause("memory_limit", found)
    assert "did not fit in memory_bytes, 1048576 bytes" in finding.text
    assert finding.details


def test_what_was_dropped_by_hand(convnet):
    with latchkey.Session(convnet, cache="shared") as session:
        for _ in range(2):
            session.run(image(32))
            session.clear()
        found = session.explain()
    assert causes(found) == ["built_again"]
    assert found[0].advice.startswith("all sizes fit now")


def test_a_pass_that_is_switched_off(convnet):
    off = ("activation", "activation_after_residual")
    with latchkey.Session(convnet, disabled_passes=off) as session:
        session.run(image(8))
        found, refusals = session.explain(), session.refusals()
    assert causes(found) == ["not_fused"]
    assert found[0].text == ("pass 'activation' left 2 nodes (Relu, Sigmoid) as they are: of the "
                             "first, pass 'activation', which would rewrite it, is switched off")
    assert found[0].advice == "take it out of disabled_passes"
    assert [(one.pass_name, one.op_type, one.output_name) for one in refusals] == [
        ("activation", "Relu", "r1"), ("activation", "Sigmoid", "features")]


def test_what_costs_most_comes_first():
    refusals = [{"pass_name": "activation", "op_type": "Relu", "domain": "", "node_name": "",
                 "output_name": f"y{i}", "reason": "it is so", "advice": "", "run_ns": ns}
                for i, ns in enumerate([5, 3000, None])]
    statistics = {"context": {"cache": {}, "cache_mode": "shared", "memory": {"refusals": 0}},
                  "process": {"waits": 0},
                  "session": {"runs": 2, "run_plan_builds": 1, "sizes": [], "waits": 0,
                              "refusals": refusals}}
    found = explain(statistics)
    assert found[0].details == ("Relu 'y1': it is so [3 us a run]", "Relu 'y0': it is so [5 ns a "
                                "run]", "Relu 'y2': it is so")
    assert found[0].lost_ns == 6010


def test_refusals_while_others_run(convnet):
    off = ("activation", "activation_after_residual")
    with latchkey.Session(convnet, disabled_passes=off) as session:
        expected = session.refusals()
        thread = threading.Thread(target=lambda: [session.run(image(9)) for _ in range(50)])
        thread.start()
        assert all(session.refusals() == expected for _ in range(5))
        thread.join()
    with pytest.raises(ValueError, match="closed"):
        session.refusals()
    with pytest.raises(ValueError, match="closed"):
        session.explain()


# ---- forms ----


def test_as_text_and_as_data(convnet):
    with latchkey.Session(convnet) as session:
        for height in range(8, 30):
            session.run(image(height))
        found = session.explain()
        said = json.loads(json.dumps(session.statistics()))
    lines = str(found).splitlines()
    assert lines[0].startswith("1. 21 new sizes came after the first")
    assert lines[1].startswith("   - x.dims[2]: 22 values (8 to 29)")
    assert any(line.startswith("   - features: in[0].dims[2] 28 -> 29, 21 binds, ")
               for line in lines[2:])
    assert any(line.startswith("   => where the model allows padding") for line in lines[3:])
    assert json.loads(json.dumps(found.to_json()))[0]["cause"] == "new_sizes"
    assert explain(said) == found, "a file with statistics says the same of sizes"


def test_long_lists_are_cut():
    finding = Finding("new_sizes", 5, "text", tuple("abcdefghijkl"), "")
    lines = str(Explanation([finding])).splitlines()
    assert lines[0] == "1. text [5 ns]" and lines[-1] == "   - and 4 more" and len(lines) == 10


def test_thousands_of_sizes(relu):
    with latchkey.Session(relu, cache_bytes=latchkey.UNLIMITED) as session:
        for rows in range(1, 4000):
            session.run({"x": numpy.zeros((rows, 3), numpy.float32)})
        found = session.explain()
    assert found[0].details[0].startswith("x.dims[0]: 3999 values (1 to 3999)")


def test_a_file_without_changes_of_nodes_is_explained(convnet):
    with latchkey.Session(convnet) as session:
        for size in (16, 20, 24):
            session.run(image(size))
        statistics = session.statistics()
    for node in statistics["session"]["nodes"]:
        del node["changes"]  # as earlier versions have written it
    first = latchkey.explain(statistics)[0]
    assert first.cause == "new_sizes" and len(first.details) == 1


def test_a_recording_is_explained_as_its_statistics(convnet, tmp_path):
    path = tmp_path / "run.json"
    with latchkey.Session(convnet, threads=1) as session:
        with latchkey.Recorder(session, path=path, profile_every=0) as recorder:
            for width in range(8, 80, 4):
                recorder.run({"x": numpy.zeros((1, 3, 8, width), numpy.float32)})
    recording = json.loads(path.read_text())
    found = latchkey.explain(recording)
    assert found == latchkey.explain(recording["statistics"]) and found != ()
    assert "new_sizes" in [one.cause for one in found]


@pytest.mark.parametrize("statistics", [
    {}, {"schema": "latchkey-recording-1"}, {"schema": "latchkey-recording-1", "statistics": 1},
    {"context": 1}, {"context": {}}, {"context": {"memory": {}}},
    {"context": {"memory": {"refusals": 0}}, "session": {}},
    {"context": {"memory": {"refusals": "many"}}}], ids=str)
def test_what_is_not_statistics_is_said(statistics):
    with pytest.raises(ValueError, match="failed to explain statistics: 'statistics' "):
        latchkey.explain(statistics)
