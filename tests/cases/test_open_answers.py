"""Where a text is open, the engine admits just the answers that the shipped cases admit.

A user's case, a model and a golden file get their answers from the engine, and shipped cases state
theirs. These are two statements of one thing.
"""

from collections.abc import Iterator, Sequence

import pytest

import opcheck
from opcheck.compare.outputs import in_its_dtype
from opcheck.compare.verdict import Admitted, Answer, Refusal, judge
from opcheck.engine import operator_of, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode
from opcheck.execution import expected
from opcheck.model import AnyOf, Array, Case, Produced, Verdict
from tests.asking import judged_operators

#: Open cases that the engine has no answer to, by operator and name, and why none can be listed.
DECLINED = {
    ("Resize", "repeated_axis_is_open"): (
        '"Behavior is undefined if an axis is repeated": even the sizes may be anything.'
    ),
}


def is_open(case: Case) -> bool:
    """Return True for an open case with stated answers that the engine has a formula for."""
    return (
        case.rule == "open"
        and isinstance(case.expect, AnyOf)
        and case.model is None
        and operator_of(case.op) is not None
    )


def disagreements(case: Case) -> Iterator[str]:
    """Describe each answer that only the engine admits, or only the case."""
    asked = expected.question(case)
    node = expected.node_of(asked.task, asked.inputs)
    is_declined = (case.op.name, case.name) in DECLINED
    try:
        of_engine = expected.answers_of(case, node)
    except expected.Unsupported as error:
        if not is_declined:
            yield f"the engine has no answer: {error}"
        return
    except expected.WrongCase:
        if any(isinstance(one, Answer) for one in expected.accepted_answers(case, asked)):
            yield "the engine refuses the node, the case admits an answer"
        return
    if is_declined:
        yield "the engine has an answer, though it is said to have none"
    of_case = expected.accepted_answers(case, asked)
    yield from _not_admitted(case, of_case, of_engine, "only the case admits")
    with judging():
        readings = each_answer(node)
    may_refuse = any(isinstance(one, Refusal) for one in of_case)
    for reading in readings:
        chosen = dict(reading.chosen)
        if isinstance(reading.answer, InvalidNode):
            if not may_refuse:
                yield f"only the engine admits a refusal, by {chosen}"
        elif not _is_right(case, of_case, tuple(map(rounded, reading.answer))):
            yield f"only the engine admits {[*map(rounded, reading.answer)]}, by {chosen}"


def _not_admitted(
    case: Case, stated: Sequence[Admitted], admitted: Sequence[Admitted], text: str
) -> Iterator[str]:
    may_refuse = any(isinstance(one, Refusal) for one in admitted)
    for one in stated:
        if isinstance(one, Refusal):
            if not may_refuse:
                yield f"{text} a refusal, {one.name!r}"
        elif not _is_right(case, admitted, tuple(map(in_its_dtype, one.wants))):
            yield f"{text} {one.name!r}"


def _is_right(case: Case, admitted: Sequence[Admitted], outputs: Sequence[Array]) -> bool:
    answer = Produced(tuple(outputs), 0.0, once=True)
    judged = judge("must", admitted, answer, case.tolerance)
    return judged.verdict is Verdict.PASS


@pytest.mark.gate
def test_the_engine_admits_what_the_cases_admit(of_part) -> None:
    """At every level: so a gate asks some operators alone, and loads no others."""
    names = of_part(sorted({operator.name for operator in judged_operators()}))
    cases = filter(is_open, opcheck.load(ops=names, level="deep"))
    assert [case.id for case in cases if any(disagreements(case))] == []
