"""Sessions: results against ONNX Runtime, what is copied and what is not, statistics."""

import importlib.metadata

import numpy
import onnx
import pytest
from close import assert_close
from conftest import make_model, random, reference
from onnx import TensorProto, helper

import latchkey


@pytest.mark.parametrize("cache", ["shared", "thread", "off"])
def test_results_are_those_of_onnx_runtime(convnet, cache):
    with latchkey.Session(convnet, cache=cache) as session:
        for shape in [(1, 3, 32, 32), (2, 3, 20, 48), (1, 3, 32, 32), (3, 3, 7, 5)]:
            x = random(*shape, seed=sum(shape))
            expected = reference(convnet, {"x": x})
            actual = session.run({"x": x})
            assert list(actual) == ["scores", "features"]
            for name in expected:
                assert_close(actual[name], expected[name])


def test_says_what_a_model_takes_and_gives(convnet, relu):
    session = latchkey.Session(convnet)
    assert session.inputs == (("x", numpy.dtype("float32"), ("n", 3, "h", "w")),)
    assert session.outputs[0] == ("scores", numpy.dtype("float32"), ("n", 10))
    assert session.outputs[1].name == "features"
    assert session.outputs[1].shape == ("n", 24, None, None)
    assert session.metadata == {}
    assert latchkey.Session(relu).metadata == {"author": "näme\nline 2"}


def test_many_entries_of_metadata(relu):
    """Each is found by its key without a walk along all: a walk would take minutes."""
    model = onnx.ModelProto.FromString(relu)
    expected = {f"k{i}": str(i) for i in range(200000)}
    onnx.helper.set_model_props(model, expected)
    assert latchkey.Session(model.SerializeToString()).metadata == expected


def test_out_of_many_outputs():
    names = [f"y{i}" for i in range(3000)]
    model = make_model([onnx.helper.make_node("Relu", ["x"], [name]) for name in names],
                       [("x", onnx.TensorProto.FLOAT, [1])],
                       [(name, onnx.TensorProto.FLOAT, [1]) for name in names])
    out = {name: numpy.zeros(1, numpy.float32) for name in reversed(names)}
    found = latchkey.Session(model).run({"x": numpy.ones(1, numpy.float32)}, out=out)
    assert found.keys() == out.keys() and all(one[0] == 1 for one in out.values())


def test_opens_paths_and_bytes(relu, tmp_path):
    path = tmp_path / "mödel.onnx"
    path.write_bytes(relu)
    x = random(2, 3)
    for model in (path, str(path), relu, bytearray(relu), memoryview(relu)):
        assert numpy.array_equal(latchkey.Session(model).run({"x": x})["y"], numpy.maximum(x, 0))


def test_the_bytes_of_a_model_are_not_needed_later(convnet):
    x = random(1, 3, 16, 16)
    data = bytearray(convnet)
    session = latchkey.Session(data)
    data[:] = bytes(len(data))
    assert_close(session.run({"x": x})["scores"], reference(convnet, {"x": x})["scores"])


def test_a_copied_model_needs_its_file_no_more(tmp_path):
    w, x = random(40, 50, seed=1), random(3, 40)
    model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"])],
                       [("x", TensorProto.FLOAT, ["rows", 40])],
                       [("y", TensorProto.FLOAT, ["rows", 50])], [("w", w)])
    path = tmp_path / "m.onnx"
    path.write_bytes(model)
    # Each in a context of its own: equal weights of one may be read from either's file.
    mapped, copied = (latchkey.Session(path, copy_model=copies, context=latchkey.Context())
                      for copies in (False, True))
    path.write_bytes(b"")
    with pytest.raises(OSError, match="was cut"):
        mapped.run({"x": x})
    assert_close(copied.run({"x": x})["y"], x @ w)
    path.write_bytes(model)
    assert_close(mapped.run({"x": x})["y"], x @ w)


def test_only_wanted_outputs_are_given(convnet):
    session = latchkey.Session(convnet)
    x = random(1, 3, 8, 8)
    assert list(session.run({"x": x}, ["features"])) == ["features"]
    assert list(session.run({"x": x}, outputs=["features", "scores"])) == ["features", "scores"]
    assert session.run({"x": x}, []) == {}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int16",
                                   "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_every_type_goes_in_and_out(dtype):
    number = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    model = make_model([helper.make_node("Reshape", ["x", "shape"], ["y"])],
                       [("x", number, ["n", 4])], [("y", number, None)],
                       [("shape", numpy.array([2, -1], numpy.int64))])
    session = latchkey.Session(model)
    x = (numpy.arange(12).reshape(3, 4) % 2 == 0).astype(dtype) * numpy.array(1, dtype)
    y = session.run({"x": x})["y"]
    assert session.inputs[0].dtype == numpy.dtype(dtype)
    assert y.dtype == numpy.dtype(dtype) and numpy.array_equal(y, x.reshape(2, 6))


def test_scalars_and_empty_tensors():
    model = make_model([helper.make_node("Add", ["x", "s"], ["y"])],
                       [("x", TensorProto.FLOAT, ["n", 2]), ("s", TensorProto.FLOAT, [])],
                       [("y", TensorProto.FLOAT, ["n", 2])])
    session = latchkey.Session(model)
    s = numpy.array(2, numpy.float32)
    for rows in (3, 0, 1):
        x = random(rows, 2)
        y = session.run({"x": x, "s": s})["y"]
        assert y.shape == (rows, 2) and numpy.array_equal(y, x + s)
        out = numpy.full((rows, 2), 7, numpy.float32)
        assert session.run({"x": x, "s": s}, out={"y": out})["y"] is out
        assert numpy.array_equal(out, x + s)


# ---- copies ----

def address(array):
    return array.__array_interface__["data"][0]


class Spy:
    """Notes where tensors lie, as the library is told and as it tells."""

    def __init__(self, monkeypatch):
        from latchkey import _call
        self._lib, self._ffi, self.given, self.made = _call.lib, _call.ffi, [], []
        monkeypatch.setattr(_call, "lib", self)

    def lk_py_session_run(self, session, given, n_given, results, n_results, options, error):
        self.given += [self._where(given[i]) for i in range(n_given)]
        status = self._lib.lk_py_session_run(session, given, n_given, results, n_results, options,
                                             error)
        self.made += [self._where(results[i]) for i in range(n_results)]
        return status

    def _where(self, named):
        return int(self._ffi.cast("uintptr_t", named.tensor.data))


def test_inputs_are_read_in_place(relu, monkeypatch):
    """The address that the library is given is the array's own."""
    spy = Spy(monkeypatch)
    session = latchkey.Session(relu)
    arrays = [random(5, 3), random(5, 3), random(4, 3)]
    for x in arrays:
        x.flags.writeable = False
        session.run({"x": x})
    assert spy.given == [address(x) for x in arrays]


@pytest.mark.parametrize("make", [
    lambda x: numpy.asfortranarray(x), lambda x: x[:, ::-1], lambda x: x[::2],
    lambda x: x.astype(">f4"), lambda x: x.tolist() and numpy.frombuffer(
        b"\0" + x.tobytes(), numpy.uint8)[1:].view(numpy.float32).reshape(x.shape)],
    ids=["fortran", "backwards", "every second", "big-endian", "unaligned"])
def test_other_arrays_are_copied_first(relu, make):
    x = make(random(6, 3))
    before = x.copy()
    y = latchkey.Session(relu).run({"x": x})["y"]
    assert numpy.array_equal(y, numpy.maximum(before, 0))
    assert numpy.array_equal(x, before)


def test_outputs_are_the_memory_of_the_library(relu, monkeypatch):
    spy = Spy(monkeypatch)
    session = latchkey.Session(relu)
    arrays = [session.run({"x": random(rows, 3)})["y"] for rows in (4, 4, 7)]
    assert spy.made == [address(y) for y in arrays] and len(set(spy.made)) == 3
    for y in arrays:
        assert address(y) % 64 == 0
        assert y.flags.c_contiguous and y.flags.writeable and not y.flags.owndata


def test_runs_leave_nothing_to_the_next():
    """Names, types, shapes, byte orders and arrays of the caller, one after the other."""
    model = make_model([helper.make_node("Add", ["a", "b"], ["sum"]),
                        helper.make_node("Sub", ["a", "b"], ["difference"])],
                       [("a", TensorProto.FLOAT, None), ("b", TensorProto.FLOAT, None)],
                       [("sum", TensorProto.FLOAT, None), ("difference", TensorProto.FLOAT, None)])
    session = latchkey.Session(model)
    random_state = numpy.random.default_rng(3)
    for turn in range(200):
        shape = tuple(random_state.integers(0, 4, random_state.integers(0, 4)))
        a, b = (random_state.standard_normal(shape).astype(random_state.choice(["<f4", ">f4"]))
                for _ in range(2))
        expected = {"sum": a + b, "difference": a - b}
        inputs = {"a": a, "b": b} if turn % 3 else {"b": b, "a": a}
        names = [["sum", "difference"], ["difference"], ["sum"], [], None][random_state.integers(5)]
        into = {name: numpy.full(shape, 7, numpy.float32) for name in expected
                if random_state.integers(2)}
        if random_state.integers(4) == 0:
            with pytest.raises((latchkey.Error, TypeError)):
                session.run({**inputs, "a": [a.astype(numpy.float64), "text"][turn % 2]},
                            names, out=into)
        results = session.run(inputs, names, out=into)
        names = list(expected) if names is None else names
        assert list(results) == names + [name for name in into if name not in names]
        for name, value in results.items():
            assert value.shape == shape and value.dtype == numpy.float32
            assert numpy.array_equal(value, expected[name].astype(numpy.float32))
            assert (value is into.get(name)) == (name in into)


def test_inputs_may_change_while_a_run_is_on(relu):
    """Names and arrays are those at the beginning, and none is freed too early."""
    session = latchkey.Session(relu)

    class Changing(dict):
        def __getitem__(self, name):
            found = super().__getitem__(name)
            self.clear()
            return found
    for rows in (1000, 1000, 3):
        x = random(rows, 3)
        y = session.run(Changing(x=x.copy()))["y"]
        assert numpy.array_equal(y, numpy.maximum(x, 0))
    with pytest.raises(latchkey.NotFoundError):
        session.run({})


def test_out_is_written_in_place(convnet):
    session = latchkey.Session(convnet)
    x = random(2, 3, 16, 16)
    expected = reference(convnet, {"x": x})
    out = numpy.full((2, 10), numpy.nan, numpy.float32)
    where = address(out)
    results = session.run({"x": x}, out={"scores": out})
    assert results["scores"] is out and address(out) == where
    assert set(results) == {"scores", "features"}
    for name in expected:
        assert_close(results[name], expected[name])
    only = session.run({"x": x}, outputs=[], out={"scores": out})
    assert list(only) == ["scores"]


# ---- cache and statistics ----

def test_statistics(convnet, context):
    session = latchkey.Session(convnet, context=context)
    x = random(1, 3, 24, 24)
    session.run({"x": x})
    first = session.stats()
    assert first["session"]["runs"] == 1 and first["session"]["run_plan_builds"] == 1
    assert first["cache"]["run"]["builds"] == 1 and first["cache"]["run"]["entries"] == 1
    assert first["cache"]["run"]["bytes"] > 0
    assert first["cache"]["bytes"] == sum(
        first["cache"][kind]["bytes"] for kind in ("name", "run", "user"))
    assert first["weights"]["packed"] > 0 and first["weights"]["bytes"] > 0
    session.run({"x": x})
    second = session.stats()
    assert second["session"]["run_plan_hits"] == 1
    assert second["cache"]["run"]["hits"] == first["cache"]["run"]["hits"] + 1
    for kind in ("name", "run"):
        assert second["cache"][kind]["builds"] == first["cache"][kind]["builds"]


def test_sessions_share_what_they_can(convnet, context):
    x = random(1, 3, 24, 24)
    first = latchkey.Session(convnet, context=context)
    first.run({"x": x})
    before = context.stats()
    second = latchkey.Session(convnet, context=context)
    second.run({"x": x})
    after = context.stats()
    assert after["weights"]["shared"] > before["weights"]["shared"]
    assert after["weights"]["packed"] == before["weights"]["packed"]
    assert after["weights"]["bytes"] == before["weights"]["bytes"]


def test_equal_options_mean_one_context(relu):
    one, two = latchkey.Session(relu, threads=1), latchkey.Session(relu, threads=1)
    other = latchkey.Session(relu, threads=2)
    assert one.context is two.context and one.context is not other.context
    assert one.context.threads == 1 and other.context.threads == 2
    assert latchkey.Session(relu, cache="thread").context.cache == "thread"


def test_clear_drops_a_session_and_nobody_elses(convnet, context):
    x = random(1, 3, 16, 16)
    sessions = [latchkey.Session(convnet, context=context) for _ in range(2)]
    for session in sessions:
        session.run({"x": x})
    assert context.stats()["cache"]["run"]["entries"] == 2
    sessions[0].clear()
    assert context.stats()["cache"]["run"]["entries"] == 1
    sessions[1].run({"x": x})
    assert sessions[1].stats()["session"]["run_plan_builds"] == 1
    sessions[0].run({"x": x})
    assert sessions[0].stats()["session"]["run_plan_builds"] == 2
    context.clear()
    assert context.stats()["cache"]["entries"] == 0 and context.stats()["cache"]["bytes"] == 0
    context.trim()


def test_capacity_holds(convnet):
    context = latchkey.Context(cache_entries=5)
    session = latchkey.Session(convnet, context=context)
    for width in range(8, 40, 4):
        x = random(1, 3, 16, width)
        assert_close(session.run({"x": x})["scores"], reference(convnet, {"x": x})["scores"])
        assert context.stats()["cache"]["entries"] <= 5
    assert context.stats()["cache"]["run"]["evictions"] > 0
    context.set_capacity(entries=0)
    assert context.stats()["cache"]["entries"] == 0
    session.run({"x": x})
    assert context.stats()["cache"]["entries"] == 0
    context.set_capacity(entries=latchkey.UNLIMITED, bytes=1 << 30, weights_bytes=1 << 30)
    session.run({"x": x})
    assert context.stats()["cache"]["entries"] > 0
    assert context.stats()["weights"]["capacity_bytes"] == 1 << 30


def test_run_plans_and_passes_can_be_switched_off(convnet):
    x = random(1, 3, 16, 16)
    expected = reference(convnet, {"x": x})["scores"]
    plain = latchkey.Session(convnet, context=latchkey.Context(), run_plans=False,
                             disabled_passes=["activation", "activation_after_residual"])
    fused = latchkey.Session(convnet)
    for _ in range(2):
        assert_close(plain.run({"x": x})["scores"], expected)
    assert plain.stats()["cache"]["run"]["builds"] == 0
    assert plain.stats()["cache"]["name"]["hits"] > 0
    assert plain.stats()["session"]["nodes"] > fused.stats()["session"]["nodes"]


def test_results_of_constants_beyond_a_limit_are_computed_at_each_run():
    model = make_model([helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
                        helper.make_node("Add", ["x", "zeros"], ["y"])],
                       [("x", TensorProto.FLOAT, ["n", 4])], [("y", TensorProto.FLOAT, ["n", 4])],
                       [("shape", numpy.array([1, 4], numpy.int64))])
    x = random(3, 4)
    for limit, nodes in ((15, 2), (16, 1), (None, 1), (latchkey.UNLIMITED, 1)):
        session = latchkey.Session(model, max_folded_bytes=limit)
        assert session.stats()["session"]["nodes"] == nodes, limit
        numpy.testing.assert_array_equal(session.run({"x": x})["y"], x)
    with pytest.raises(ValueError, match="max_folded_bytes"):
        latchkey.Session(model, max_folded_bytes=-1)


def test_the_model_may_be_a_path_its_bytes_or_a_proto(relu, tmp_path):
    path = tmp_path / "relu.onnx"
    path.write_bytes(relu)
    x = random(2, 3)
    for model in (path, str(path), relu, bytearray(relu), memoryview(relu),
                  memoryview(relu + relu)[:len(relu)], memoryview(bytes(2 * len(relu)))[::2],
                  onnx.load_from_string(relu)):
        if isinstance(model, memoryview) and not model.contiguous:
            doubled = bytearray(2 * len(relu))
            doubled[::2] = relu
            model = memoryview(doubled)[::2]
        session = latchkey.Session(model)
        assert numpy.array_equal(session.run({"x": x})["y"], numpy.maximum(x, 0))


def test_a_proto_that_is_too_large_says_what_to_do(monkeypatch, relu):
    proto = onnx.load_from_string(relu)

    class Large:
        """A stand-in: a real one takes 2 GiB, twice."""

        graph = proto.graph

        def ByteSize(self):
            return 2**31

        def SerializeToString(self):
            raise AssertionError("it is not asked")
    with pytest.raises(ValueError, match="'model' is a ModelProto of more than 2147483647 bytes.*"
                       "save_as_external_data=True"):
        latchkey.Session(Large())
    with pytest.raises(TypeError, match="'model' is an? onnx.*GraphProto, the path of an ONNX"):
        latchkey.Session(proto.graph)


@pytest.mark.parametrize("text, number", [("1", 1), ("64k", 64 << 10), ("2m", 2 << 20),
                                          ("3G", 3 << 30), (str(2**63), 2**63)])
def test_sizes_may_be_texts(relu, text, number):
    context = latchkey.Context(cache_bytes=text, weights_bytes=text, memory_bytes="8g")
    assert context.stats()["cache"]["capacity_bytes"] == number
    assert context.stats()["weights"]["capacity_bytes"] == number
    context.set_capacity(bytes="5m", weights_bytes="6k", memory_bytes=text)
    found = context.stats()
    assert found["cache"]["capacity_bytes"] == 5 << 20
    assert found["weights"]["capacity_bytes"] == 6 << 10
    assert found["memory"]["limit_bytes"] == number
    if number > 4096:
        assert latchkey.Session(relu, max_folded_bytes=text, memory_bytes="1g").run(
            {"x": random(2, 3)})["y"].shape == (2, 3)


def test_equal_sizes_mean_one_context(relu):
    one, two = latchkey.Session(relu, memory_bytes="2g"), latchkey.Session(relu,
                                                                          memory_bytes=2 << 30)
    assert one.context is two.context


@pytest.mark.parametrize("text", ["", "m", "2t", "2 g", "-1", "1.5g", "0x10", "2gb", "17179869184g",
                                  str(2**64), "٣"])
def test_other_texts_are_no_sizes(text):
    with pytest.raises(ValueError, match="'cache_bytes' is the text .*, a whole number of bytes"):
        latchkey.Context(cache_bytes=text)


@pytest.mark.parametrize("text", ["0", "7", "007", "1k", "1K", "16m", "16M", "2g", "17179869183g",
                                  "17179869184g", "18446744073709551613", "18446744073709551614",
                                  "18446744073709551615", "18446744073709551616",
                                  "", "k", "1kk", "1 k", " 1", "+1", "-1", "1.5m", "1e6", "0x1"])
def test_the_environment_reads_sizes_in_the_same_way(monkeypatch, text):
    def limit(**options):
        try:
            return latchkey.Context(**options).stats()["cache"]["capacity_bytes"]
        except ValueError:
            return None
    given = limit(cache_bytes=text)
    monkeypatch.setenv("LATCHKEY_CACHE_BYTES", text)
    from_environment = limit()
    if text == "":  # a variable that is empty is one that is not set
        assert given is None
    else:
        assert given == from_environment


def test_version_is_that_of_the_package():
    assert latchkey.__version__ == importlib.metadata.version("latchkey")
    assert latchkey.version().startswith(f"{latchkey.__version__} (")


def test_version_names_the_instruction_set():
    assert latchkey.version() in (f"0.1.0 ({isa})" for isa in ("SSE2", "AVX2", "AVX-512"))


def test_memory_has_a_limit(relu):
    context = latchkey.Context(memory_bytes=1 << 20)
    session = latchkey.Session(relu, context=context)
    with pytest.raises(latchkey.OutOfMemoryError, match="of at most 1048576 bytes are in use"):
        session.run({"x": random(100000, 3)})
    x = random(2, 3)
    assert numpy.array_equal(session.run({"x": x})["y"], numpy.maximum(x, 0))
    memory = context.stats()["memory"]
    assert memory["limit_bytes"] == 1 << 20 >= memory["peak_bytes"] >= memory["bytes"] > 0
    assert memory["refusals"] > 0 and memory["refused_bytes"] > 1 << 20
    context.set_capacity(memory_bytes=1 << 30)
    assert session.run({"x": random(100000, 3)})["y"].shape == (100000, 3)
    with pytest.raises(ValueError, match="at least 1"):
        context.set_capacity(memory_bytes=0)
