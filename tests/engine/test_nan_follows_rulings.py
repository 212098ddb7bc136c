"""Where a formula compares, orders or rounds NaN, it follows a ruling, or a reason stands here.

What NaN is next to a number is the question that texts answer least. Every operator is fed one, and
the functions that its formula calls are noted: an operator that calls one of those below, and comes
across no ruling, must be listed with the reason for which its answer is the only one.
"""

from dataclasses import replace

import numpy as np
import pytest

import opcheck
from opcheck.dtypes import is_real
from opcheck.engine import Node, operator_of
from opcheck.engine.evaluate import evaluate
from opcheck.engine.operators import judging
from opcheck.engine.readings import each_reading
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution import expected
from opcheck.grouping import group_by
from opcheck.model import Array, Case

#: Functions whose answer to NaN a text has to state.
WATCHED = frozenset(
    """
    argmax argmin ceil clip equal floor greater greater_equal less less_equal max maximum min
    minimum not_equal round sign top_k trunc
    """.split()
)
COMPARES = "Comparison is what the text asks for, and IEEE 754 defines it for NaN."
ROUNDS = "Rounding is what the text asks for, and NaN stays NaN."
CANCELS = "The maximum is subtracted only, so that NaN in a row is NaN in all of it anyway."
OTHERWISE = "“Otherwise” holds for NaN; a deviation is a warning (rule: should)."
LIKE_NUMPY = "“Similar to numpy”, whose extremes of NaN are NaN; a deviation is a warning."
#: Why operators need no ruling, by operator.
REASONS = {
    **dict.fromkeys("Equal Greater GreaterOrEqual Less LessOrEqual NonZero".split(), COMPARES),
    **dict.fromkeys("DML_ELEMENT_WISE_IS_INFINITY IsInf".split(), "NaN is not infinite."),
    **dict.fromkeys(
        (f"DML_ELEMENT_WISE_LOGICAL_{name}" for name in "EQUALS GREATER_THAN LESS_THAN".split()),
        COMPARES,
    ),
    "DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL": COMPARES,
    "DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL": COMPARES,
    **dict.fromkeys("Ceil Floor Round".split(), ROUNDS),
    **dict.fromkeys((f"DML_ELEMENT_WISE_{name}" for name in "CEIL FLOOR ROUND".split()), ROUNDS),
    **dict.fromkeys("LogSoftmax Softmax SoftmaxCrossEntropyLoss".split(), CANCELS),
    **dict.fromkeys(
        (f"DML_ACTIVATION_{name}" for name in "LOG_SOFTMAX LOG_SOFTMAX1 SOFTMAX SOFTMAX1".split()),
        CANCELS,
    ),
    **dict.fromkeys("Shrink ThresholdedRelu".split(), OTHERWISE),
    **dict.fromkeys("ReduceMax ReduceMin".split(), LIKE_NUMPY),
    "Attention": CANCELS,
    "DML_REDUCE": "It is ReduceMax or ReduceMin under another name.",
    "LpNormalization": "A norm is compared with 0, and that of NaN is NaN, as each quotient is.",
    "Softplus": "It is ln(1 + e^x), and NaN by each way of computing that.",
    "Softsign": "It is x/(1 + |x|), and NaN by each way of computing that.",
    "Binarizer": "“The values greater than the threshold are mapped to 1”, and NaN is not.",
    "Imputer": "It compares with NaN on purpose: that is what replaced_value may be.",
    "TreeEnsembleClassifier": "NaN chooses a branch by its track, and no vote is NaN.",
}


def with_nan(node: Node) -> Node | None:
    """The node with NaN as the first element of each input of floats; None if there is none."""
    inputs: list[Array | None] = []
    for x in node.inputs:
        if is_real(x) and x.size:
            x = x.copy()
            x.reshape(-1)[0] = np.nan
        inputs.append(x)
    if all(one is other for one, other in zip(inputs, node.inputs, strict=True)):
        return None
    return replace(node, inputs=tuple(inputs))


def follows_no_ruling(case: Case) -> bool:
    """Return True if a watched function is called on NaN, and the answer is the only one.

    One type stands for all floats, which a formula treats alike.
    """
    asked = expected.question(case)
    node = with_nan(expected.node_of(asked.task, asked.inputs))
    if node is None or node.draws or node.dtype != "float32":
        return False
    called: set[str] = set()
    try:
        with judging():
            readings = [*each_reading(lambda: evaluate(node, trace=called))]
    except (InvalidNode, NotSupported):
        return False  # nothing is decided
    return bool(called & WATCHED) and not any(one.rulings for one in readings)


@pytest.mark.gate
def test_what_nan_is_next_to_a_number_follows_a_ruling() -> None:
    known = (case for case in opcheck.load(level="smoke") if case.model is None)
    cases = group_by((case for case in known if operator_of(case.op)), lambda case: case.op.name)
    found = {name for name, some in cases.items() if decides_by_itself(some)}
    assert found == set(REASONS)


def decides_by_itself(cases: list[Case]) -> bool:
    """Return True if the formula decides in some case what NaN is, without a ruling."""
    with np.errstate(all="ignore"):
        return any(follows_no_ruling(case) for case in cases)
