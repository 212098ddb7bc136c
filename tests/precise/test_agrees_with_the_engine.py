"""The two oracles on all shipped cases below level deep: no code in common, the same answers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from opcheck.engine import exactly, rounded
from opcheck.errors import InvalidNode
from opcheck.model import AnyOf, Case, Rejected
from opcheck.precise import Precise, Undecided, evaluate
from opcheck.run.golden.oracles import NEAR
from opcheck.run.question import question
from tests.asking import shipped_cases


@pytest.fixture(scope="module")
def answers() -> list[tuple[Case, Precise | Exception, Any]]:
    """Each case with what this oracle says, and what the engine does."""
    found = []
    for case in shipped_cases():
        if case.level != "deep":
            asked = question(case)
            arrays = asked.arrays(asked.inputs)
            found.append((case, *(_said(by, case, arrays) for by in (evaluate, exactly))))
    return found


def _said(by: Any, case: Case, arrays: Any) -> Any:
    try:
        return by(case.op, arrays, case.attrs)[0]
    except (InvalidNode, Undecided) as error:
        return error


def test_what_is_open_is_undecided_and_nothing_else(
    answers: list[tuple[Case, Precise | Exception, Any]],
) -> None:
    undecided = {case.id for case, one, _ in answers if isinstance(one, Undecided)}
    assert undecided == {case.id for case, *_ in answers if isinstance(case.expect, AnyOf)}
    assert undecided == {case.id for case, *_ in answers if case.rule == "open"}


def test_both_reject_what_is_to_be_rejected_and_nothing_else(
    answers: list[tuple[Case, Precise | Exception, Any]],
) -> None:
    for of in (1, 2):
        rejected = {
            answer[0].id
            for answer in answers
            if isinstance(answer[of], InvalidNode) and answer[0].rule != "open"
        }
        assert rejected == {case.id for case, *_ in answers if isinstance(case.expect, Rejected)}


def test_values_agree_but_for_the_last_bit_next_to_a_midpoint(
    answers: list[tuple[Case, Precise | Exception, Any]], record_property: Any
) -> None:
    differ: Counter[str] = Counter()
    judged = 0
    for case, one, other in answers:
        if isinstance(one, Exception):
            continue
        want = rounded(other)
        assert (one.values.dtype, one.values.shape) == (want.dtype, want.shape), case.id
        nan = np.isnan(one.values)
        assert np.array_equal(nan, np.isnan(want)), case.id
        # +0 and −0 are as different here as any two numbers; nothing is below.
        mine, theirs = (a.view(f"i{a.itemsize}")[~nan].astype(np.int64) for a in (one.values, want))
        assert (np.minimum(mine, theirs) >= 0).all(), case.id
        apart = mine - theirs
        assert set(apart.tolist()) <= {-1, 0, 1}, case.id
        assert (one.distance[~nan][apart != 0] <= NEAR).all(), case.id
        differ[case.id] += int(np.count_nonzero(apart))
        judged += want.size
    total = differ.total()
    record_property("elements", judged)
    record_property("one ULP apart", total)
    print(f"{total} of {judged} elements are one ULP apart: {+differ}")
    assert judged > 4_000_000
    # The pages that the engine is proven on would be wrong, were these many.
    assert total < judged / 100_000
