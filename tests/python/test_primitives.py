"""What engines have built, such as oneDNN's primitives: in explanations, on the page of a report,
in metrics and in the view of a process."""

import copy
import json
import re
import threading

import pytest
from conftest import make_model, needs_onednn, random
from onnx import TensorProto, helper
from prometheus_client import CollectorRegistry

import latchkey
import latchkey.metrics
from latchkey._report.differences import differences
from latchkey._report.view import view
from latchkey._top.view import lines, summary
from recordings import record

pytestmark = needs_onednn
SIZES = (8, 12, 20, 24)


def opened(model, **options):
    return latchkey.Session(model, **{"engine": "onednn", "cache": "shared", **options})


def run_sizes(session, sizes=SIZES, turns=1):
    for _ in range(turns):
        for size in sizes:
            session.run({"x": random(1, 3, size, size)})


def values_of(session):
    return session.stats()["cache"]["value"]


def of_cause(cause, found):
    [one] = (finding for finding in found if finding.cause == cause)
    return one


def causes(found):
    return {finding.cause for finding in found}


# ---- explanations ----


def test_what_was_built_is_told(convnet):
    with opened(convnet) as session:
        run_sizes(session, turns=2)
        found, counts = session.explain(), values_of(session)
    one = of_cause("primitives_built", found)
    assert counts["builds"] > 10
    assert one.text == f"engine 'onednn' built {counts['builds']} primitives"
    assert one.lost_ns == counts["build_ns"] > 0
    assert f"looked up {counts['hits'] + counts['misses']} times: {counts['hits']} found, " \
        f"{counts['misses']} missing" in one.details[0]
    assert one.details[1].startswith(f"{counts['entries']} are kept: ")
    assert "1 % of cache_bytes" in one.details[1] and one.advice == ""
    assert "primitives_built_again" not in causes(found)


def test_native_builds_none(convnet):
    with latchkey.Session(convnet, engine="native") as session:
        run_sizes(session)
        assert not causes(session.explain()) & {"primitives_built", "primitives_built_again"}


@pytest.mark.parametrize("option", ["cache_bytes", "cache_entries"])
def test_what_was_evicted_and_built_again_is_told(convnet, option):
    """And with what is advised nothing is."""
    def explained(turns, **options):
        with opened(convnet, threads=1, **options) as session:
            run_sizes(session, turns=turns)
            return session.explain(), values_of(session)

    found, counts = explained(3, **{option: {"cache_bytes": "1m", "cache_entries": 20}[option]})
    one = of_cause("primitives_built_again", found)
    wanted = re.fullmatch(
        rf"about (\d+) of {counts['builds']} primitives of engine 'onednn' had been evicted when "
        rf"they were needed again \({counts['evictions']} evictions\)", one.text)
    again = int(wanted[1])
    assert 0 < again < counts["builds"]
    first = of_cause("primitives_built", found)
    assert 0 < one.lost_ns < counts["build_ns"]
    assert abs(first.lost_ns + one.lost_ns - counts["build_ns"]) <= 1
    assert f"about {counts['builds'] - again} of them for the first time" in first.text
    assert any(line == f"{counts['evictions']} had to go for others" for line in first.details)
    assert one.advice == of_cause("built_again", found).advice
    limit = re.match(rf"raise {option} from \S+ to (\d+m?)(:| at least)", one.advice)[1]
    assert one.advice.endswith("with the primitives of engine 'onednn'")
    found, counts = explained(3, **{option: int(limit) if limit.isdigit() else limit})
    assert counts["evictions"] == 0
    assert not causes(found) & {"primitives_built_again", "built_again"}


def test_without_run_plans_nobody_knows_how_many(convnet):
    with opened(convnet, run_plans=False, cache_bytes="1m") as session:
        run_sizes(session, turns=2)
        found, counts = session.explain(), values_of(session)
    one = of_cause("primitives_built_again", found)
    assert one.text.startswith(f"{counts['evictions']} of {counts['builds']} primitives ")
    assert (one.lost_ns, one.advice) == (None, "raise cache_bytes from 1m to 2m or more")


def test_threads_that_each_build_primitives(convnet):
    with opened(convnet, cache="thread") as session:
        run_sizes(session)
        for _ in range(2):
            thread = threading.Thread(target=run_sizes, args=(session,))
            thread.start()
            thread.join()
        found, counts = session.explain(), values_of(session)
    one = of_cause("primitives_built_again", found)
    assert one.text == (f"about {counts['builds'] - round(counts['builds'] / 3)} of "
                        f"{counts['builds']} primitives of engine 'onednn' were built more than "
                        "once: each thread has a cache of its own")
    assert "cache mode 'shared'" in one.advice


def test_without_a_cache_each_run_builds(convnet):
    with opened(convnet, cache="off") as session:
        run_sizes(session, turns=2)
        found, counts = session.explain(), values_of(session)
    assert of_cause("nothing_kept", found).text.endswith(
        f"anew, and engine 'onednn' has built {counts['builds']} primitives for them")
    assert "primitives_built" not in causes(found)


def test_a_cache_that_is_nearly_full_is_told(convnet):
    with opened(convnet) as session:
        run_sizes(session)
        size = values_of(session)["bytes"]
    limit = size * 3 // 2 // 2**20 + 1
    with opened(convnet, cache_bytes=f"{limit}m") as session:
        run_sizes(session)
        one = of_cause("primitives_built", session.explain())
    assert one.advice == (f"raise cache_bytes from {limit}m to {2 * limit}m where more sizes come: "
                          "else new ones make others go")


def test_many_sizes_are_for_auto(convnet):
    with opened(convnet) as session:
        run_sizes(session, range(8, 20))
        one = of_cause("primitives_built", session.explain())
    assert one.advice.startswith("take engine='auto' (--engine auto) ")


def test_no_more_are_built_again_than_were_evicted(convnet):
    """Sizes may have been built again for other reasons: by auto, without the engine."""
    with opened(convnet, cache_bytes="1m") as session:
        run_sizes(session, turns=3)
        found = session.statistics()
    found["context"]["cache"]["kinds"]["value"]["evictions"] = 2
    one = of_cause("primitives_built_again", latchkey.explain(found))
    assert one.text.startswith("about 2 of ")


def test_statistics_of_an_older_version_have_no_engine(convnet):
    with opened(convnet, cache_bytes="1m") as session:
        run_sizes(session, turns=2)
        found = session.statistics()
    del found["context"]["engine"]
    assert "primitives_built" in causes(latchkey.explain(found))
    del found["context"]["cache"]["kinds"]["value"]
    assert "primitives_built" not in causes(latchkey.explain(found))


# ---- the page ----


@pytest.fixture(scope="module")
def net():
    """A convolution, a pooling that oneDNN leaves, and a Softmax."""
    return make_model(
        [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
         helper.make_node("MaxPool", ["c"], ["m"], kernel_shape=[2, 2]),
         helper.make_node("Softmax", ["m"], ["y"])],
        [("x", TensorProto.FLOAT, [1, 3, "h", "w"])], [("y", TensorProto.FLOAT, None)],
        [("w", random(4, 3, 3, 3))])


ENGINES = {"Conv": "onednn", "MaxPool": "native", "Softmax": "onednn"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, net):
    found = {}
    for name in ("native", "onednn"):
        found[name] = tmp_path_factory.mktemp("engines") / f"{name}.json"
        with opened(net, engine=name, cache_bytes="256k", threads=1) as session:
            record(session, found[name], net, [(1, 3, size, size) for size in SIZES * 2],
                   profile_every=1)
    return found


def test_the_page_has_the_engines_of_a_recording(recorded):
    found, shown = json.loads(recorded["onednn"].read_text()), view(recorded["onednn"])
    nodes, steps = shown["graph"]["nodes"], found["profile"]["steps"]
    assert {step["engine"] for step in steps} == {"native", "onednn"}
    for node in nodes:
        own = [step for step in steps if step["output"] == node["output"]]
        whole = sum(step["total_ms"] for step in own)
        assert sum(part for _, part in node["engines"]) == pytest.approx(1)
        for name, part in node["engines"]:
            taken = sum(step["total_ms"] for step in own if step["engine"] == name)
            assert part == pytest.approx(taken / whole)
    assert {node["op"]: node["engines"][0][0] for node in nodes} == ENGINES
    rows = {row[0]: row[1:] for row in shown["engines"]["rows"]}
    assert (rows["onednn"][0], rows["native"][0]) == (2, 1)
    assert sum(row[2] for row in rows.values()) == pytest.approx(1)
    assert sum(row[1] for row in rows.values()) == pytest.approx(
        sum(node["ns"] for node in nodes))
    counts = found["statistics"]["context"]["cache"]["kinds"]["value"]
    primitives = shown["engines"]["primitives"]
    assert primitives["evictions"] > 0 and primitives["is_asked"]
    assert {name: counts[name] for name in primitives if name in counts} == {
        name: primitives[name] for name in primitives if name in counts}
    assert primitives["filled"] == counts["bytes"] / 2**18
    assert ["engine", "onednn"] in shown["facts"]


def test_the_page_has_the_engines_of_statistics(net, tmp_path):
    """Without times, by the works that engines have."""
    path = tmp_path / "statistics.json"
    with opened(net) as session:
        run_sizes(session)
        path.write_text(json.dumps(session.statistics()))
    shown = view(path)
    assert {node["op"]: node["engines"] for node in shown["graph"]["nodes"]} == {
        name: [(engine, 1.0)] for name, engine in ENGINES.items()}
    assert shown["engines"]["rows"] == [["onednn", 2, None, pytest.approx(2 / 3)],
                                        ["native", 1, None, pytest.approx(1 / 3)]]
    assert ["engine", "onednn"] in shown["facts"]


def test_works_of_one_node_are_shared_out(tmp_path, net):
    """Names of nodes are cut in choices."""
    path = tmp_path / "statistics.json"
    with opened(net) as session:
        run_sizes(session)
        found = session.statistics()
    name = "ä" * 40  # cut after 63 bytes, within a character
    choice = found["context"]["engine"]["choices"][0]
    node = next(one for one in found["session"]["nodes"] if one["output_name"] == choice["node"])
    node["output_name"] = name
    choice["node"] = "ä" * 31 + "\\xc3"
    found["context"]["engine"]["choices"].append({**choice, "index": 1, "is_engine": False})
    path.write_text(json.dumps(found))
    [shown] = (one for one in view(path)["graph"]["nodes"] if one["output"] == name)
    assert shown["engines"] == [("onednn", 0.5), ("native", 0.5)]


def test_a_file_of_an_older_version_does_not_say(recorded, tmp_path):
    found = json.loads(recorded["onednn"].read_text())
    context = found["statistics"]["context"]
    del context["engine"], context["cache"]["kinds"]["value"]
    for step in found["profile"]["steps"]:
        del step["engine"]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(found))
    shown = view(path)
    assert shown["engines"] == {"rows": [], "primitives": None}
    found["statistics"]["context"]["cache"]["kinds"]["value"] = {"builds": "many"}
    path.write_text(json.dumps(found))
    with pytest.raises(ValueError, match="'statistics.context.cache.kinds.value.builds' is 'many'"):
        view(path)


def test_two_engines_differ(recorded):
    found = differences(view(recorded["native"]), view(recorded["onednn"]))
    counts = json.loads(recorded["onednn"].read_text())["statistics"]["context"]["cache"]["kinds"]
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["primitives built"]["first"] == 0
    assert rows["primitives built"]["second"] == counts["value"]["builds"]
    assert rows["primitives evicted"]["second"] == counts["value"]["evictions"]
    assert ["engine", "native", "onednn"] in found["facts"]
    notes = {node["name"]: node["notes"] for node in found["nodes"]}
    assert "engine: native \u2192 onednn" in notes["Conv c"]
    same = view(recorded["native"])
    assert not any("primitives" in row["name"] for row in differences(same, same)["rows"])


# ---- profiles, metrics, the view of a process ----


def test_a_profile_says_who_computes_a_step(convnet):
    def engines(name):
        profile = latchkey.Profile()
        with latchkey.Session(convnet, engine=name) as session:
            session.run({"x": random(1, 3, 8, 8)}, profile=profile)
        return {(one["operator"], one["engine"]) for one in profile}

    assert {engine for _, engine in engines("native")} == {"native"}
    assert {("Conv", "onednn"), ("Softmax", "onednn")} <= engines("onednn")


def test_a_trace_says_who_computes_a_step(convnet):
    with opened(convnet) as session, session.trace() as trace:
        session.run({"x": random(1, 3, 8, 8)})
        session.context.clear()
        events = trace.events()
    engines = {one["name"].partition("+")[0]: one["args"]["engine"] for one in events
               if "kernel" in one.get("args", {})}
    assert engines["Conv"] == engines["Softmax"] == "onednn"
    assert "drop primitive" in {one["name"] for one in events}


def test_metrics_count_them(convnet):
    registry = CollectorRegistry()

    def of(name):
        return registry.get_sample_value(f"latchkey_cache_{name}",
                                         {"context": "net", "kind": "value"})

    with opened(convnet) as session, \
            latchkey.Session(convnet, context=session.context) as other:
        latchkey.metrics.register(session, "net", registry)
        assert (of("builds_total"), of("hits_total"), of("entries")) == (0, 0, 0)
        run_sizes(session)
        built = of("builds_total")
        assert built == of("misses_total") == of("entries") == of("build_seconds_count") > 10
        assert of("bytes") == values_of(session)["bytes"] > 0
        assert of("build_seconds_sum") == pytest.approx(values_of(session)["build_ns"] / 1e9)
        assert of("hits_total") == values_of(session)["hits"]
        hits = of("hits_total")
        run_sizes(other)  # another model to the context, whose works are the same
        assert (of("builds_total"), of("hits_total")) == (built, hits + built)


def test_the_view_of_a_process_has_them(convnet):
    def view_of(session):
        answer = {"pid": 1, "version": "0.1.0", "time_ns": 1, "left_out": 0, "reports": [
            {"session": 1, "context": 1, "report": session.statistics()}]}
        found = summary(answer, None)
        return found["contexts"][0], "\n".join(lines(found))

    with opened(convnet) as session:
        run_sizes(session)
        context, text = view_of(session)
        counts = values_of(session)
    assert context["primitives"] == {name: counts[name] for name in (
        "hits", "builds", "evictions", "bytes")}
    assert f"\n  primitives of onednn: {counts['hits']} hits, {counts['builds']} builds, 0 " \
        "evictions, " in text
    with latchkey.Session(convnet, engine="native") as session:
        run_sizes(session)
        assert "primitives" not in view_of(session)[1]
        old = copy.deepcopy(session.statistics())
    del old["context"]["cache"]["kinds"]["value"], old["context"]["engine"]
    assert "primitives" not in str(lines(summary({
        "pid": 1, "version": "", "time_ns": 1, "left_out": 0,
        "reports": [{"session": 1, "context": 1, "report": old}]}, None)))
