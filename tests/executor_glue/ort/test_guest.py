"""The provider as a guest: the ways in which hosts open and run sessions. Outputs are those of ONNX
Runtime's CPU provider, element by element."""

import json
import os
import pathlib
import subprocess
import sys
import threading

import numpy
import onnxruntime
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper
from provider import (LIBRARY, NAME, devices, open_reference, open_session, session_options,
                      statistics)

LEVELS = onnxruntime.GraphOptimizationLevel
LEVEL_NAMES = [name for name in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED",
                                 "ORT_ENABLE_LAYOUT", "ORT_ENABLE_ALL") if hasattr(LEVELS, name)]


def noise(*shape, seed=5):
    return numpy.random.default_rng(seed).standard_normal(shape, numpy.float32)


def model_of_towers():
    """Two towers of convolutions over pictures of any size, one of them with a node that Latchkey
    does not have: two outputs, and several groups that may run in parallel."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Binarizer", ["r1"], ["flags"], domain="ai.onnx.ml", threshold=0.3),
        helper.make_node("Conv", ["flags", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["c2"], ["left"]),
        helper.make_node("Conv", ["x", "w3"], ["c3"], pads=[1, 1, 1, 1]),
        helper.make_node("Tanh", ["c3"], ["right"]),
        helper.make_node("Add", ["left", "right"], ["features"]),
        helper.make_node("GlobalAveragePool", ["features"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w4"], ["logits"], transB=1),
        helper.make_node("Softmax", ["logits"], ["scores"])]
    constants = {"w1": noise(8, 3, 3, 3, seed=1) / 5, "b1": noise(8, seed=2),
                 "w2": noise(12, 8, 3, 3, seed=3) / 8, "w3": noise(12, 3, 3, 3, seed=4) / 5,
                 "w4": noise(10, 12, seed=5)}
    graph = helper.make_graph(
        nodes, "towers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 10]),
         helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 12, "h", "w"])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


MODEL = model_of_towers()
SHAPES = [(1, 3, 8, 8), (2, 3, 12, 10), (1, 3, 8, 8), (3, 3, 5, 7)]


def assert_same(found, right):
    for one, other in zip(found, right, strict=True):
        assert numpy.isfinite(other).all(), "proves nothing"
        assert_close(one, other)


@pytest.fixture(scope="module")
def expected():
    """What the CPU provider gives for noise of a shape."""
    session = open_reference(MODEL)
    known = {}

    def of(shape):
        if shape not in known:
            known[shape] = session.run(None, {"x": noise(*shape)})
        return known[shape]
    return of


def check_runs(session, expected, shapes=SHAPES):
    for shape in shapes:
        assert_same(session.run(None, {"x": noise(*shape)}), expected(shape))


def runs_of(session):
    claims = statistics(session)
    assert claims["claims"]["claimed"] >= 8, claims["claims"]
    return [part["runs"] for part in claims["subgraphs"]]


# ---- ways to run ----


def test_bound_inputs_and_outputs(expected):
    session = open_session(MODEL)
    for shape in SHAPES:
        right = expected(shape)
        binding = session.io_binding()
        given = onnxruntime.OrtValue.ortvalue_from_numpy(noise(*shape))  # its memory is not copied
        binding.bind_ortvalue_input("x", given)
        mine = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.full_like(right[0], numpy.nan))
        binding.bind_ortvalue_output("scores", mine)
        binding.bind_output("features", "cpu")
        for _ in range(2):
            session.run_with_iobinding(binding)
            assert_same([mine.numpy(), binding.get_outputs()[1].numpy()], right)
    assert min(runs_of(session)) == 2 * len(SHAPES)


def test_a_bound_output_of_the_wrong_shape_is_refused(expected):
    session = open_session(MODEL)
    binding = session.io_binding()
    binding.bind_cpu_input("x", noise(*SHAPES[0]))
    wrong = numpy.zeros((7, 10), numpy.float32)
    binding.bind_ortvalue_output("scores", onnxruntime.OrtValue.ortvalue_from_numpy(wrong))
    binding.bind_output("features", "cpu")
    with pytest.raises(Exception, match="(?i)shape"):
        session.run_with_iobinding(binding)
    check_runs(session, expected)


def test_asynchronous_runs(expected):
    options = session_options()
    options.intra_op_num_threads = 3
    session = open_session(MODEL, of_session=options)
    done, results, counted = threading.Event(), {}, threading.Lock()

    def receive(outputs, number, error):
        with counted:
            results[number] = outputs, error
            if len(results) == 24:
                done.set()
    inputs = [noise(*SHAPES[number % len(SHAPES)]) for number in range(24)]  # 1.23 borrows them
    for number, x in enumerate(inputs):
        session.run_async(None, {"x": x}, receive, number)
    assert done.wait(120), f"{len(results)} of 24 runs came back"
    for number, (outputs, error) in results.items():
        assert not error, error
        assert_same(outputs, expected(SHAPES[number % len(SHAPES)]))
    assert min(runs_of(session)) == 24


@pytest.mark.parametrize("threads", [1, 3])
def test_nodes_in_parallel(expected, threads):
    options = session_options()
    options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
    options.inter_op_num_threads = 3
    options.intra_op_num_threads = threads
    session = open_session(MODEL, of_session=options)
    for _ in range(5):
        check_runs(session, expected)
    assert min(runs_of(session)) == 5 * len(SHAPES)


def test_runs_with_profiling(expected, tmp_path):
    options = session_options()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = open_session(MODEL, of_session=options)
    check_runs(session, expected)
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    own = [event for event in events if event.get("args", {}).get("provider") == NAME]
    assert len(own) >= 2 * len(SHAPES)
    check_runs(session, expected)


# ---- ways to open ----


def test_dimensions_that_the_host_fixes(expected):
    options = session_options()
    for name, size in {"n": 2, "h": 12, "w": 10}.items():
        options.add_free_dimension_override_by_name(name, size)
    session = open_session(MODEL, of_session=options)
    assert [value.shape for value in session.get_inputs()] == [[2, 3, 12, 10]]
    check_runs(session, expected, [(2, 3, 12, 10)] * 3)
    feeds = {"x": noise(2, 3, 12, 10)}
    parts = statistics(session, feeds)["subgraphs"]
    # Shapes are known when the session is made: its plans are built then, and every run hits.
    assert [(part["runs"], part["run_plan_builds"]) for part in parts] == [(3, 1)] * len(parts)
    with pytest.raises(Exception, match="(?i)invalid dimensions"):
        session.run(None, {"x": noise(1, 3, 12, 10)})


def test_one_dimension_that_the_host_fixes(expected):
    options = session_options()
    options.add_free_dimension_override_by_name("n", 1)
    check_runs(open_session(MODEL, of_session=options), expected, [(1, 3, 8, 8)] * 2)


@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_models_that_onnx_runtime_has_saved(expected, tmp_path, level):
    options = session_options()
    options.graph_optimization_level = getattr(LEVELS, level)
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    check_runs(open_reference(MODEL, of_session=options), expected)
    for then in (LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_ALL):
        again = session_options()
        again.graph_optimization_level = then
        session = open_session(tmp_path / "saved.onnx", of_session=again)
        check_runs(session, expected)
        assert statistics(session)["claims"]["claimed"] > 0


@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_levels_of_optimization(expected, level):
    options = session_options()
    options.graph_optimization_level = getattr(LEVELS, level)
    session = open_session(MODEL, of_session=options)
    check_runs(session, expected)
    assert min(runs_of(session)) == len(SHAPES)


@pytest.mark.parametrize("setting", ["enable_cpu_mem_arena", "enable_mem_pattern",
                                     "enable_mem_reuse"])
def test_memory_settings(expected, setting):
    options = session_options()
    setattr(options, setting, False)
    check_runs(open_session(MODEL, of_session=options), expected)


# ---- processes of their own: what they set holds for a whole process ----

PROGRAM = """
import sys
import numpy, onnxruntime
from test_guest import MODEL, SHAPES, LIBRARY, assert_same, devices, noise, open_reference
from provider import open_session, session_options, statistics

def check(session, reference):
    for shape in SHAPES:
        feeds = {"x": noise(*shape)}
        assert_same(session.run(None, feeds), reference.run(None, feeds))
    assert statistics(session)["claims"]["claimed"] >= 8
"""


def in_new_process(code):
    folder = pathlib.Path(__file__).parent
    harness = folder.parents[1] / "harness"
    paths = os.pathsep.join([str(folder), str(harness), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", PROGRAM + code], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "PYTHONPATH": paths})
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("own", [1, 3])
def test_a_global_thread_pool(own):
    done = in_new_process(f"""
onnxruntime.set_global_thread_pool_sizes({own}, 2)
onnxruntime.register_execution_provider_library("latchkey", LIBRARY)
def pooled(mode):
    options = session_options()
    options.use_per_session_threads = False
    options.execution_mode = mode
    return options
for mode in onnxruntime.ExecutionMode.ORT_SEQUENTIAL, onnxruntime.ExecutionMode.ORT_PARALLEL:
    sessions = [open_session(MODEL, of_session=pooled(mode)) for _ in range(2)]
    reference = open_reference(MODEL, of_session=pooled(mode))
    for _ in range(5):
        for session in sessions:
            check(session, reference)
""")
    # What has to be guessed is told; the objects of this ONNX Runtime show both settings.
    assert "failed to find" not in done.stderr


def test_the_library_goes_and_comes():
    in_new_process("""
for _ in range(5):
    onnxruntime.register_execution_provider_library("latchkey", LIBRARY)
    session, reference = open_session(MODEL), open_reference(MODEL)
    check(session, reference)
    del session
    onnxruntime.unregister_execution_provider_library("latchkey")
    assert devices() == []
""")


def test_two_registrations():
    in_new_process("""
for name in "one", "two":
    onnxruntime.register_execution_provider_library(name, LIBRARY)
reference = open_reference(MODEL)
assert len(devices()) == 2
def open_on(device):
    options = session_options()
    options.add_provider_for_devices([device], {"run_statistics": "on"})
    return onnxruntime.InferenceSession(MODEL, options, enable_fallback=0)
first, second = map(open_on, devices())
check(first, reference)
check(second, reference)
del first
onnxruntime.unregister_execution_provider_library("one")
check(second, reference)
""")
