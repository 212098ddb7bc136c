from onnx import TensorProto, helper

from opcheck.graph.nodes import random_outputs
from tests.models import model, tensor

RATIO = [tensor("r", shape=[]), tensor("t", TensorProto.BOOL, [])]


def outputs_of(*nodes):
    return random_outputs(model(nodes, [tensor("x"), *RATIO], [tensor("y"), tensor("z")]))


def test_what_follows_from_a_random_draw_is_random_and_nothing_else():
    draw = helper.make_node("RandomNormalLike", ["x"], ["a"], seed=1.0)
    after = helper.make_node("Relu", ["a"], ["y"])
    beside = helper.make_node("Relu", ["x"], ["z"])
    assert outputs_of(draw, after, beside) == {"y"}
    assert outputs_of(helper.make_node("Relu", ["x"], ["y"]), beside) == frozenset()


def test_dropout_draws_where_it_may_be_training():
    training = helper.make_node("Dropout", ["x", "r", "t"], ["y", "z"])
    assert outputs_of(training) == {"y", "z"}
    assert outputs_of(helper.make_node("Dropout", ["x", "r"], ["y", "z"])) == frozenset()
    assert outputs_of(helper.make_node("Dropout", ["x", "r", ""], ["y", "z"])) == frozenset()


def test_a_draw_in_a_graph_within_is_one_of_the_node_around_it():
    branch = helper.make_graph(
        [helper.make_node("Bernoulli", ["x"], ["b"])], "b", [], [tensor("b")]
    )
    node = helper.make_node("If", ["t"], ["y"], then_branch=branch, else_branch=branch)
    assert outputs_of(node) == {"y"}


def test_a_graph_within_that_reads_a_draw_is_random():
    branch = helper.make_graph([helper.make_node("Relu", ["a"], ["b"])], "b", [], [tensor("b")])
    draw = helper.make_node("Bernoulli", ["x"], ["a"])
    node = helper.make_node("If", ["t"], ["y"], then_branch=branch, else_branch=branch)
    assert outputs_of(draw, node) == {"y"}


def test_a_draw_in_a_function_of_the_model_is_one_of_its_node():
    body = [helper.make_node("Bernoulli", ["a"], ["b"])]
    imports = [helper.make_opsetid("", 17)]
    function = helper.make_function("mine", "f", ["a"], ["b"], body, imports)
    proto = model(
        [helper.make_node("f", ["x"], ["y"], domain="mine")], [tensor("x")], [tensor("y")]
    )
    proto.functions.append(function)
    assert random_outputs(proto) == {"y"}
