"""Spans of OpenTelemetry: one of each run, within the caller's, with what made it slow."""

import asyncio
import copy
import json
import subprocess
import sys
import threading
import time

import numpy
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

import latchkey
import latchkey.spans


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


@pytest.fixture
def session(relu, provider):
    with latchkey.Session(relu, threads=1) as made:
        latchkey.spans.register(made, "relu", tracer_provider=provider)
        yield made


def feed(rows=2):
    return {"x": numpy.ones([rows, 3], numpy.float32)}


def of_runs(exporter):
    return [span for span in exporter.get_finished_spans() if span.name == "latchkey.run"]


def but_waits(exporter):
    """A thread that loses its processor while it asks for one has waited: that may always come."""
    return [span for span in exporter.get_finished_spans()
            if span.name != "latchkey.wait_for_processors"]


def children(exporter, parent):
    return [span for span in but_waits(exporter)
            if span.parent is not None and span.parent.span_id == parent.context.span_id]


def test_a_run_is_a_span_of_the_callers(session, exporter, provider):
    begin_ns = time.time_ns()
    with provider.get_tracer("test").start_as_current_span("request") as request:
        session.run(feed())
    [run] = of_runs(exporter)
    assert run.parent.span_id == request.get_span_context().span_id
    assert dict(run.attributes) == {"latchkey.session": "relu", "latchkey.inputs": ("x: 2x3",),
                                    "latchkey.run_plan": "built"}
    assert begin_ns <= run.start_time <= run.end_time <= time.time_ns()
    [build] = children(exporter, run)
    assert build.name == "latchkey.build_run_plan"
    assert build.attributes["latchkey.inputs"] == "x 2x3:f32"
    # The clocks are read one after the other, and may be apart by what passes in between. That a
    # build lies within its run is shown of traces, which have one clock.
    apart = 60e9
    assert run.start_time - apart <= build.start_time <= build.end_time <= run.end_time + apart
    assert run.instrumentation_scope.name == "latchkey"


def test_a_size_that_is_known_has_no_children(session, exporter):
    session.run(feed())
    exporter.clear()
    session.run(feed())
    [run] = but_waits(exporter)
    assert run.attributes["latchkey.run_plan"] == "found"


def test_operators_are_spans_if_asked_for(relu, exporter, provider):
    with latchkey.Session(relu, threads=1) as session:
        latchkey.spans.register(session, "relu", operators=True, tracer_provider=provider)
        session.run(feed())
        [run] = of_runs(exporter)
        names = {span.name: span for span in but_waits(exporter)}
        assert names.keys() == {"latchkey.run", "latchkey.build_run_plan", "latchkey.bind_Relu",
                                "latchkey.Relu"}
        build = names["latchkey.build_run_plan"]
        assert names["latchkey.bind_Relu"].parent.span_id == build.context.span_id
        assert names["latchkey.Relu"].parent.span_id == run.context.span_id
        assert names["latchkey.Relu"].attributes["latchkey.kernel"]
        latchkey.spans.unregister(session)
        exporter.clear()
        session.run(feed())
        assert not exporter.get_finished_spans()


def test_a_run_that_fails(session, exporter):
    with pytest.raises(latchkey.DeadlineError) as raised:
        session.run(feed(), timeout=0)
    [run] = of_runs(exporter)
    assert run.status.status_code is StatusCode.ERROR
    assert run.status.description == str(raised.value)
    assert run.attributes["error.type"] == "DeadlineError"


def test_what_is_not_sampled_is_not_looked_at(relu, exporter):
    provider = TracerProvider(sampler=ALWAYS_OFF)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with latchkey.Session(relu) as session:
        latchkey.spans.register(session, "relu", tracer_provider=provider)
        before = session.stats()["memory"]["bytes"]
        session.run(feed())
        first = session.stats()["memory"]["bytes"]
        session.run(feed())
        assert session.stats()["memory"]["bytes"] == first < before + 8192 * 64
        assert not exporter.get_finished_spans()


def test_a_trace_that_is_on_keeps_its_events(session, exporter):
    with session.trace() as trace:
        session.run(feed())
    assert {event["name"] for event in trace.events()} >= {"run", "build run plan"}
    [run] = exporter.get_finished_spans()
    assert "latchkey.run_plan" not in run.attributes


def test_without_memory_for_events_it_runs(relu, exporter, provider):
    with latchkey.Session(relu, threads=1, memory_bytes=200_000) as session:
        latchkey.spans.register(session, "relu", tracer_provider=provider)
        result = session.run(feed())
        [run] = exporter.get_finished_spans()
        assert "latchkey.run_plan" not in run.attributes
        numpy.testing.assert_array_equal(result["y"], 1)


def test_threads_have_spans_of_their_own_runs(session, exporter):
    def work(rows):
        for _ in range(50):
            session.run(feed(rows))

    threads = [threading.Thread(target=work, args=[rows]) for rows in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = of_runs(exporter)
    assert len(runs) == 200
    for rows in (1, 2, 3, 4):
        mine = [run for run in runs if run.attributes["latchkey.inputs"] == (f"x: {rows}x3",)]
        assert len(mine) == 50
        built = [run for run in mine if run.attributes["latchkey.run_plan"] == "built"]
        assert len(built) == 1
        [build] = [span for span in children(exporter, built[0])
                   if span.name == "latchkey.build_run_plan"]  # it may have waited, too
        assert build.attributes["latchkey.inputs"] == f"x {rows}x3:f32"


def test_run_async_and_clones(session, exporter, provider):
    async def request():
        with provider.get_tracer("test").start_as_current_span("request"):
            await session.run_async(feed())

    asyncio.run(request())
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans["latchkey.run"].parent.span_id == spans["request"].context.span_id
    exporter.clear()
    copy.copy(session).run(feed(7))
    assert of_runs(exporter)[0].attributes["latchkey.session"] == "relu"


def test_a_profile_may_be_given_too(session, exporter):
    profile = latchkey.Profile()
    session.run(feed(), profile=profile)
    assert profile.info()["runs"] == 1 and len(of_runs(exporter)) == 1


def test_events_that_were_dropped_are_counted(relu, exporter, provider, monkeypatch):
    monkeypatch.setattr(latchkey.spans, "_EVENTS", 2)
    with latchkey.Session(relu, threads=1) as session:
        latchkey.spans.register(session, "relu", operators=True, tracer_provider=provider)
        session.run(feed())
        assert of_runs(exporter)[0].attributes["latchkey.dropped_events"] > 0


def test_the_package_that_is_missing_is_named():
    program = ("import sys; sys.modules['opentelemetry'] = None\n"
               "try: import latchkey.spans\nexcept ImportError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)
    assert "pip install latchkey[spans]" in done.stdout


def test_latchkey_does_not_import_it():
    program = "import latchkey, sys, json; print(json.dumps('opentelemetry' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)
    assert json.loads(done.stdout) is False
