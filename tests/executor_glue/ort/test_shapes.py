"""What Latchkey cannot run at shapes that are known is left when nodes are claimed."""

import itertools

import numpy
import pytest
from close import assert_close
from onnx import TensorProto, helper, numpy_helper
from provider import open_reference, open_session, statistics

ALL = {"claim": "all"}


def model_of(nodes, inputs, outputs, constants=()):
    """Bytes; inputs and outputs: (name, shape), f32."""
    def infos(values):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in values]
    graph = helper.make_graph(nodes, "shapes", infos(inputs), infos(outputs),
                              [numpy_helper.from_array(array, name) for name, array in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=8).SerializeToString()


def noise(*shape):
    return numpy.random.default_rng(5).standard_normal(shape, numpy.float32)


def check(model, feeds):
    """Outputs are the CPU provider's; what the statistics say was left, by operator."""
    session = open_session(model, ALL)
    for found, right in zip(session.run(None, feeds), open_reference(model).run(None, feeds),
                            strict=True):
        assert numpy.isfinite(right).all(), "proves nothing"
        assert_close(found, right)
    claims = statistics(session, feeds)["claims"]
    return claims["claimed"], {left["operator"]: left["reason"] for left in claims["left"]}


@pytest.mark.parametrize("size", [2, "n"])
def test_an_input_of_a_high_rank(size):
    shape = [size, 1, 2, 1, 2, 1, 2, 1, 3]
    model = model_of([helper.make_node("Relu", ["x"], ["a"]),
                      helper.make_node("Exp", ["a"], ["y"])], [("x", shape)], [("y", shape)])
    claimed, left = check(model, {"x": noise(2, *shape[1:])})
    reason = "input 0 has rank 9, at most 8 is supported"
    assert claimed == 0 and left == {"Relu": reason, "Exp": reason}


def test_an_output_of_a_high_rank():
    model = model_of([helper.make_node("Relu", ["x"], ["a"]),
                      helper.make_node("Unsqueeze", ["a", "axes"], ["b"]),
                      helper.make_node("Squeeze", ["b", "axes"], ["c"]),
                      helper.make_node("Mul", ["c", "c"], ["y"])],
                     [("x", [1, 2] * 4)], [("y", [1, 2] * 4)],
                     [("axes", numpy.array([3], numpy.int64))])
    claimed, left = check(model, {"x": noise(*[1, 2] * 4)})
    assert claimed == 2
    assert left == {"Unsqueeze": "output 0 has rank 9, at most 8 is supported",
                    "Squeeze": "input 0 has rank 9, at most 8 is supported"}


def test_a_constant_of_a_high_rank():
    model = model_of([helper.make_node("Add", ["x", "w"], ["a"]),
                      helper.make_node("ReduceSum", ["a", "axes"], ["y"])],
                     [("x", [2, 3])], [("y", None)],
                     [("w", noise(2, *[1] * 6, 2, 3)), ("axes", numpy.array([0, 7], numpy.int64))])
    claimed, left = check(model, {"x": noise(2, 3)})
    assert claimed == 0 and left["Add"] == "input 1 has rank 9, at most 8 is supported"


def test_a_plan_that_is_refused():
    """Each of five inputs shares two labels with each other one, so that the product of any two has
    twelve. The types and the ranks of inputs and output do not show it, the plan does."""
    labels = iter("abcdefghijklmnopqrst")
    terms = [""] * 5
    for one, other in itertools.combinations(range(5), 2):
        shared = next(labels) + next(labels)
        terms[one] += shared
        terms[other] += shared
    node = helper.make_node("Einsum", list("vwxyz"), ["sum"], equation=",".join(terms) + "->a")
    shapes = [[2] * len(term) for term in terms]
    model = model_of([node], list(zip("vwxyz", shapes)), [("sum", [2])])
    claimed, left = check(model, {name: noise(*shape) for name, shape in zip("vwxyz", shapes)})
    assert claimed == 0 and "labels, at most 8" in left["Einsum"]


def test_shapes_that_are_supported_are_claimed():
    shape = [1, 2] * 4
    model = model_of([helper.make_node("Relu", ["x"], ["a"]),
                      helper.make_node("Exp", ["a"], ["y"])], [("x", shape)], [("y", shape)])
    claimed, left = check(model, {"x": noise(*shape)})
    assert claimed == 2 and left == {}
