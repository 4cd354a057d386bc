"""Random operators: how their numbers are distributed, and when they are others."""

import numpy
import onnx
import pytest
from onnx import helper

import latchkey


def model_of(op_type, inputs=(), **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op_type, names, ["y"], **attributes)
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype),
                                           value.shape)
             for name, value in zip(names, inputs, strict=True)]
    graph = helper.make_graph([node], "random", infos, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    return model.SerializeToString(), dict(zip(names, inputs, strict=True))


def draws(op_type, inputs=(), count=2, run_plans=True, **attributes):
    model, feeds = model_of(op_type, inputs, **attributes)
    with latchkey.Session(model, run_plans=run_plans) as session:
        return [session.run(feeds)["y"].copy() for _ in range(count)]


@pytest.mark.parametrize("run_plans", [True, False])
@pytest.mark.parametrize("op_type", ["RandomNormal", "RandomUniform"])
def test_each_run_draws_others_unless_there_is_a_seed(op_type, run_plans):
    one, other = draws(op_type, run_plans=run_plans, shape=[100])
    assert (one != other).any()
    one, other = draws(op_type, run_plans=run_plans, shape=[100], seed=7.0)
    numpy.testing.assert_array_equal(one, other)
    assert (one != draws(op_type, shape=[100], seed=8.0)[0]).any()


def test_a_tensor_of_shapes_alone_is_no_reason_to_compute_once():
    x = numpy.zeros([100], numpy.float32)
    for op_type in ("RandomNormalLike", "RandomUniformLike"):
        one, other = draws(op_type, [x])
        assert (one != other).any()


def test_normal_numbers_have_their_moments():
    (x,) = draws("RandomNormal", count=1, shape=[1000, 1001], mean=3.0, scale=2.0, seed=1.0)
    z = (x.astype(numpy.float64).ravel() - 3) / 2
    n = z.size
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(numpy.mean(z**power) - moment) < 5 * numpy.sqrt(variance / n)
    assert abs(numpy.mean(z[:-1] * z[1:])) < 5 / numpy.sqrt(n)
    assert abs(z).max() > 4


@pytest.mark.parametrize("dtype", ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"])
def test_uniform_numbers_fill_their_range(dtype):
    (x,) = draws("RandomUniform", count=1, shape=[300000], seed=2.0,
                 dtype=getattr(onnx.TensorProto, dtype))
    x = numpy.sort(x.astype(numpy.float64))
    assert x[0] >= 0
    assert x[-1] < 1
    # what rounds down is half of the last of 8 bits too small
    distance = numpy.max(abs(x - (numpy.arange(x.size) + 0.5) / x.size))
    assert distance < 2 / numpy.sqrt(x.size) + (2**-8 if dtype == "BFLOAT16" else 2**-11)


def test_bernoulli_follows_its_chances():
    p = numpy.repeat(numpy.array([0, 0.1, 0.5, 0.9, 1], numpy.float32), 100000).reshape(5, -1)
    (y,) = draws("Bernoulli", [p], count=1, seed=3.0)
    assert set(numpy.unique(y)) == {0, 1}
    numpy.testing.assert_allclose(y.mean(1), p[:, 0], atol=0.008)


def test_multinomial_follows_its_chances():
    chances = numpy.array([[0.1, 0.2, 0.7], [0.6, 0.4, 0]])
    with numpy.errstate(divide="ignore"):
        x = (numpy.log(chances) + [[5], [-3]]).astype(numpy.float32)
    (y,) = draws("Multinomial", [x], count=1, sample_size=100000, seed=4.0)
    for row, right in zip(y, chances, strict=True):
        found = numpy.bincount(row, minlength=3) / row.size
        numpy.testing.assert_allclose(found, right, atol=0.008)
