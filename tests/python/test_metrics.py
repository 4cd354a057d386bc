"""Metrics: what prometheus_client publishes says the same as the statistics."""

import gc
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest
from conftest import random
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import latchkey
import latchkey.metrics

DASHBOARD = Path(__file__).parents[2] / "examples/grafana/latchkey.json"


# Dashboards and alerts of strangers have these names.
NAMES = """
latchkey_processors latchkey_threads_running latchkey_runs_waiting latchkey_processor_waits_total
latchkey_cache_hits_total latchkey_cache_misses_total latchkey_cache_builds_total
latchkey_cache_failed_builds_total latchkey_cache_waits_total latchkey_cache_evictions_total
latchkey_cache_entries latchkey_cache_bytes latchkey_cache_build_seconds
latchkey_cache_capacity_entries latchkey_cache_capacity_bytes latchkey_weights_bytes
latchkey_weights_packed_total latchkey_weights_shared_total latchkey_memory_bytes
latchkey_memory_peak_bytes latchkey_memory_limit_bytes latchkey_memory_refusals_total
latchkey_session_runs_total latchkey_session_run_plan_hits_total
latchkey_session_run_plan_builds_total latchkey_session_parallel_runs_total
latchkey_session_waits_total latchkey_session_sizes latchkey_operator_bind_seconds
""".split()


@pytest.fixture
def registry():
    return CollectorRegistry()


def samples(registry):
    """{(name, labels without "le", "le"): value}, as a scraper of OpenMetrics reads them."""
    found = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        assert family.documentation, family.name
        for sample in family.samples:
            labels = dict(sample.labels)
            key = sample.name, tuple(sorted(labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


def of(found, name, **labels):
    return found[f"latchkey_{name}", tuple(sorted(labels.items()))]


@pytest.fixture
def session(convnet, registry):
    with latchkey.Session(convnet, threads=2) as session:
        for height in (32, 20, 32):
            session.run({"x": random(1, 3, height, 32, seed=height)})
        latchkey.metrics.register(session, "net", registry)
        yield session


def test_say_what_the_statistics_say(session, registry):
    found, said = samples(registry), session.statistics()
    for kind, counts in said["context"]["cache"]["kinds"].items():
        for name in ("hits", "misses", "builds", "failed_builds", "waits", "evictions"):
            assert of(found, f"cache_{name}_total", context="net", kind=kind) == counts[name]
        assert of(found, "cache_bytes", context="net", kind=kind) == counts["bytes"]
        total = of(found, "cache_build_seconds_count", context="net", kind=kind)
        assert total == counts["builds"] + counts["failed_builds"]
        assert of(found, "cache_build_seconds_sum", context="net", kind=kind) == (
            counts["build_ns"] / 1e9)
    for owner in said["context"]["memory"]["owners"]:
        assert ("latchkey_memory_bytes", (("context", "net"), ("owner", owner))) in found
    for name in ("runs", "run_plan_hits", "run_plan_builds"):
        assert of(found, f"session_{name}_total", context="net", session="net") == (
            said["session"][name]) > 0
    assert of(found, "session_sizes", context="net", session="net") == 2
    assert of(found, "processors") == said["process"]["processors"]


def test_have_names_that_stay(session, registry):
    found = {re.sub("_(bucket|sum|count|created)$", "", name) for name, _ in samples(registry)}
    assert found == set(NAMES)


def test_have_buckets_that_add_up(session, registry):
    operators = session.statistics()["session"]["operators"]
    found = samples(registry)
    for operator in operators:
        labels = {"context": "net", "session": "net", "operator": operator["op_type"]}
        bounds = sorted((float(dict(key[1])["le"]), value) for key, value in found.items()
                        if key[0] == "latchkey_operator_bind_seconds_bucket"
                        and labels.items() <= dict(key[1]).items())
        assert len(bounds) == 24
        times = operator["bind_times"] + [0] * (24 - len(operator["bind_times"]))
        counts = [after - before for (_, before), (_, after) in zip([(0, 0)] + bounds, bounds)]
        assert counts == times
        assert bounds[0][0] == 1e-6 and bounds[-1][0] == float("inf")


def test_leave_out_limits_that_are_not_there(convnet, registry):
    with latchkey.Session(convnet, cache_bytes=latchkey.UNLIMITED) as session:
        latchkey.metrics.register(session, "net", registry)
        names = {name for name, _ in samples(registry)}
    assert "latchkey_cache_capacity_entries" in names
    assert "latchkey_cache_capacity_bytes" not in names


def test_show_a_shared_context_once(convnet, registry):
    with latchkey.Session(convnet) as first, latchkey.Session(convnet) as second:
        latchkey.metrics.register(first, "first", registry)
        latchkey.metrics.register(second, "second", registry)
        found = samples(registry)
        contexts = {dict(labels)["context"] for name, labels in found
                    if name == "latchkey_memory_peak_bytes"}
    assert contexts == {"first"}
    assert of(found, "session_runs_total", context="first", session="second") == 0


def test_leave_out_sessions_that_have_gone(relu, registry):
    closed, gone = latchkey.Session(relu), latchkey.Session(relu)
    latchkey.metrics.register(closed, "closed", registry)
    latchkey.metrics.register(gone, "gone", registry)
    closed.close()
    del gone
    gc.collect()
    assert samples(registry) == {}
    with latchkey.Session(relu) as again:
        latchkey.metrics.register(again, "gone", registry)
        assert of(samples(registry), "session_runs_total", context="closed", session="gone") == 0


def test_call_a_context_by_one_name_as_long_as_it_lives(relu, registry):
    """Its series go on when the session whose name it has is closed."""
    context, other = latchkey.Context(), latchkey.Context()
    first, second = (latchkey.Session(relu, context=context) for _ in range(2))
    latchkey.metrics.register(first, "first", registry)
    latchkey.metrics.register(second, "second", registry)
    first.close()
    for _ in range(2):
        found = samples(registry)
        assert of(found, "memory_peak_bytes", context="first") > 0
        assert of(found, "session_runs_total", context="first", session="second") == 0
    # The name of the session is free; that of the context is not.
    with latchkey.Session(relu, context=other) as third:
        latchkey.metrics.register(third, "first", registry)
        found = samples(registry)
        assert of(found, "session_runs_total", context="first-2", session="first") == 0
        assert of(found, "session_runs_total", context="first", session="second") == 0
        assert of(found, "memory_peak_bytes", context="first-2") > 0


def test_need_a_name_for_each_session(relu, registry):
    with latchkey.Session(relu) as first, latchkey.Session(relu) as second:
        latchkey.metrics.register(first, "one", registry)
        latchkey.metrics.register(first, "one", registry)
        with pytest.raises(ValueError, match="'one'"):
            latchkey.metrics.register(second, "one", registry)


def test_take_any_name(relu, registry):
    name = 'a"b\n\\c'
    with latchkey.Session(relu) as session:
        latchkey.metrics.register(session, name, registry)
        assert of(samples(registry), "session_runs_total", context=name, session=name) == 0


def test_in_the_dashboard_exist(session, registry):
    names = {name for name, _ in samples(registry)}
    dashboard = json.loads(DASHBOARD.read_text())
    used = re.findall(r"latchkey_\w+", json.dumps(dashboard))
    assert len(set(used)) > 15
    assert set(used) - names == set()
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in dashboard["panels"]]
    assert len(places) == len(set(places))


def test_need_a_package():
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['prometheus_client'] = None\n"
         "import latchkey; import latchkey.metrics"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: failed to import latchkey.metrics: it needs the package prometheus-client, "
        "which `pip install latchkey[metrics]` installs")


def test_are_read_beside_runs(session, registry):
    """Counts never fall while runs are on."""
    stop = threading.Event()

    def load():
        while not stop.is_set():
            session.run({"x": numpy.zeros((1, 3, 16, 16), numpy.float32)})

    thread = threading.Thread(target=load)
    thread.start()
    try:
        before = 0
        for _ in range(30):
            now = of(samples(registry), "session_runs_total", context="net", session="net")
            assert now >= before
            before = now
    finally:
        stop.set()
        thread.join()
