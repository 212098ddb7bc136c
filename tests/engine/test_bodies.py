"""Formulas against the specification's own function bodies: two statements from different hands."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from opcheck import opset
from opcheck.engine import bodies, operators
from opcheck.engine.evaluate import Evaluation, evaluate
from opcheck.engine.node import Node
from opcheck.engine.operators import every
from opcheck.errors import InvalidNode, NotSupported, WrongOperator
from opcheck.model import OpVersion
from tests.engine.ops.test_node_tests import UNSTATED
from tests.node_tests import asked_by, node_tests_of

#: Versions that have both; of operators by their body alone the body is the formula.
BOTH = [
    OpVersion("", operator.name, since)
    for operator in every()
    for since, schema in opset.versions(operator.domain, operator.name).items()
    if schema.bodies
    and since in operator.formulas
    and not getattr(operator.formulas[since], "__name__", "").endswith("_body")
]
#: One version of each of these operators.
LAST = {op.name: op for op in BOTH}.values()


def nodes(op: OpVersion) -> list[Node]:
    """The node tests of the operator, asked of this version, on their first data."""
    first = (asked_by(test)[0] for test in node_tests_of(op.name).values())
    return [Node(op, tuple(inputs), attrs, len(wanted)) for inputs, attrs, wanted in first]


def apart(one: Any, other: Any) -> Any:
    """How far two bounded outputs lie apart, in units of what they may be off by."""
    with np.errstate(all="ignore"):
        a, b = one.settled(), other.settled()
        room = sum(0.0 if x.e is None else x.e for x in (a, b)) + 1e-15 * np.abs(a.v) + 1e-300
        distance = np.abs(a.v - b.v)
    return np.where((a.v == b.v) | ((a.v != a.v) & (b.v != b.v)), 0.0, distance / room)


@pytest.mark.parametrize("op", BOTH, ids=str)
def test_a_formula_and_its_function_body_give_the_same(op: OpVersion) -> None:
    body, compared = bodies.body_formula(op), 0
    for node in nodes(op):
        try:
            mine = Evaluation(node)
        except InvalidNode:
            continue  # of a type that came later
        arithmetic = mine.tiers()[0].arithmetic
        try:
            theirs: Sequence[Any] = mine._evaluated(arithmetic, body)
        except NotSupported as error:
            if not re.search(UNSTATED, str(error)):
                raise
            continue
        for one, other in zip(mine.expected, theirs, strict=True):
            if hasattr(one, "settled"):
                assert np.max(apart(one, other), initial=0) < 1.0
            else:
                assert one.dtype == other.dtype
                wide = [
                    part.astype(float) if part.dtype.kind == "V" else part for part in (one, other)
                ]
                np.testing.assert_array_equal(*wide)
        compared += 1
    assert compared


def test_fifteen_operators_are_compared() -> None:
    assert len(LAST) >= 15


def test_a_body_that_needs_what_the_engine_lacks_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = bodies.operator_of
    monkeypatch.setattr(bodies, "operator_of", lambda op: (op.name != "Exp" and real(op)) or None)
    with pytest.raises(NotSupported, match="no formula for Exp-13, which the function body uses"):
        bodies.body_formula(OpVersion("", "Softmax", 13))(np.zeros((1, 2)), axis=-1)


def test_an_empty_body_is_none_and_a_formula_without_an_output_is_a_defect() -> None:
    # onnx makes a body without nodes where stage one is in float16.
    op, inputs = OpVersion("", "LayerNormalization", 17), (np.ones((1, 3)), np.ones(3))
    with pytest.raises(NotSupported, match="LayerNormalization-17 has no function body"):
        evaluate(Node(op, inputs, {"stash_type": 10}, 1), bodies.body_formula(op))

    def none(X: Any, Scale: Any, B: Any = None, *, axis: Any, epsilon: Any, stash_type: Any) -> Any:
        return ()

    with pytest.raises(WrongOperator, match="0 of 1 outputs"):
        evaluate(Node(op, inputs, {}, 1), none)


def test_an_operator_may_be_its_function_body_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "_DECLARED", dict(operators._DECLARED))
    made = operators.composite("MeanVarianceNormalization")
    assert sorted(made.formulas) == [9, 13]
    (found,) = made.formulas[13](np.array([1.0, 3.0]).reshape(1, 1, 1, 2), axes=[0, 2, 3])
    assert found.reshape(-1) == pytest.approx([-1, 1])
