"""`benchmarks/odd_nodes.py`: the engine on nodes with an extreme attribute or input."""

import pytest

from benchmarks import odd_nodes
from opcheck.execution.expected import node_of, question
from opcheck.suite import load

#: Operators on which odd nodes made the engine fail once.
ONCE = ("LinearRegressor", "LinearClassifier", "Multinomial", "Unsqueeze", "GlobalLpPool")


@pytest.mark.parametrize("name", ONCE)
def test_odd_nodes_are_answered_refused_or_declined(name: str) -> None:
    *_, case = odd_nodes.chosen(load((), (name,)), 1)
    asked = question(case)
    for what, node in odd_nodes.odd_nodes(node_of(asked.task, asked.inputs)):
        assert (what, odd_nodes.problem_of(node, seconds=10)) == (what, "")


def test_what_the_engine_must_not_raise_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(node: object) -> None:
        raise ValueError("a reason")

    monkeypatch.setattr(odd_nodes, "evaluate", failing)
    case, *_ = odd_nodes.chosen(load((), ("Unsqueeze",)), 1)
    asked = question(case)
    assert "a reason" in odd_nodes.problem_of(node_of(asked.task, asked.inputs), seconds=10)


def test_a_node_that_takes_too_long_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(node: object) -> None:
        while True:
            pass

    monkeypatch.setattr(odd_nodes, "evaluate", endless)
    case, *_ = odd_nodes.chosen(load((), ("Unsqueeze",)), 1)
    asked = question(case)
    assert "takes more than" in odd_nodes.problem_of(node_of(asked.task, asked.inputs), seconds=0.2)
