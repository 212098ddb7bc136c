"""The shipped suite of Softmax: its literals are those of the sentences, to all their digits."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import mpmath

from opcheck.model import AnyOf, Case, TensorSpec, Tolerance, Values
from opcheck.suite import materialize, unrounded
from tests import brute
from tests.asking import shipped_cases

CASES = shipped_cases("Softmax")

MP = mpmath.MPContext()
MP.dps = 40


@cache
def exp(value: float) -> Any:
    return MP.exp(MP.mpf(value))


def formula(values: list[float]) -> list[Any]:
    """Exp(input) / ReduceSum(Exp(input)): these exponentials neither overflow nor vanish."""
    total = MP.fsum(exp(value) for value in values)
    return [exp(value) / total if total else MP.nan for value in values]


def rows_of(case: Case) -> list[brute.Row]:
    """The rows that the version of `case` makes of its input; some axes are legal in none."""
    shape = case.inputs[0].shape
    axis: Any = case.attrs.get("axis", -1 if case.op.since >= 13 else 1)
    if case.op.since >= 13:
        return brute.along(shape, [axis % len(shape)])
    return brute.coerced(shape, axis)


def answers(case: Case) -> Iterator[tuple[str | None, TensorSpec]]:
    """The outputs written out in `case`, by name where there are several."""
    if isinstance(case.expect, Values):
        yield None, case.expect.outputs[0]
    if isinstance(case.expect, AnyOf):
        for alternative in case.expect.alternatives:
            if isinstance(alternative.expect, Values):
                yield alternative.name, alternative.expect.outputs[0]


LITERALS = [(case, name, spec) for case in CASES for name, spec in answers(case)]


def right(written: float, exact: Any, spec: TensorSpec) -> bool:
    """Whether `written` is `exact` to 17 digits, or 0 where that is what the dtype makes of it."""
    if MP.isnan(exact):
        return written != written
    least = MP.mpf(2) ** (spec.dtype.min_exponent - 1 if written == 0 else -1075)
    return bool(abs(written - exact) <= exact * MP.mpf(2) ** -52 + least)


def test_every_literal_is_the_formula_s_to_17_digits():
    assert len(LITERALS) > 400
    wrong = []
    for case, name, spec in LITERALS:
        values = [float(value) for value in materialize(case.inputs[0]).reshape(-1)]
        written = [float(value) for value in unrounded(spec).reshape(-1)]
        assert spec.shape == case.inputs[0].shape
        for row in rows_of(case):
            shares = formula([values[place] for place in row])
            if name == "all_nan" and any(map(MP.isnan, shares)):
                shares = [MP.nan] * len(row)
            given = [written[place] for place in row]
            if not all(map(right, given, shares, [spec] * len(row))):
                wrong.append((case.id, given, shares))
    assert not wrong


def test_shares_that_are_exactly_1_are_held_to_one_ulp():
    held = [case for case in CASES if case.tolerance is not None and case.rule == "must"]
    assert {pair(case) for case in held} == set(PAIRS)
    for case in held:
        assert case.tolerance == Tolerance(ulp=1)
        assert isinstance(case.expect, Values)
        assert set(unrounded(case.expect.outputs[0]).reshape(-1).tolist()) <= {0.0, 1.0}


FLOATS = ("float16", "float32", "float64")
PAIRS = [*product((1, 11), FLOATS), *product((13,), ("bfloat16", *FLOATS))]


def pair(case: Case) -> tuple[int, str]:
    return case.op.since, case.dtype.name if case.dtype else ""
