"""A warning about a poorer arithmetic excuses what that arithmetic gives, and nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opcheck
from opcheck.model import Case, Verdict
from tests.asking import cases_in

#: Sums of 400 numbers, of which the bound of float16 arithmetic allows anything.
SUM = """
op: ReduceSum
opset: 13
cases:
- name: long_sums
  dtype: float16
  inputs:
    data: {shape: [3, 400], normal: [0, 1]}
    axes: {value: [-1], dtype: int64}
"""
PRODUCT = """
op: Mul
opset: 14
cases:
- name: out_of_range
  rule: must
  dtype: float32
  inputs: {A: [1.0e+30, 2], B: [1.0e+30, 3]}
"""


@pytest.fixture
def sums(tmp_path: Path) -> Case:
    (case,) = cases_in(tmp_path, SUM)
    return case


@pytest.fixture
def products(tmp_path: Path) -> Case:
    (case,) = cases_in(tmp_path, PRODUCT)
    return case


def verdict(case: Case, backend: Any) -> tuple[Verdict, str | None]:
    (result,) = opcheck.run([case], [backend])
    return result.verdict, result.failure


def sum_in_float16(data: Any, axes: Any) -> Any:
    """Add terms one by one, each sum rounded to float16."""
    total = np.zeros(data.shape[:-1], np.float16)
    for column in np.moveaxis(data, -1, 0):
        total = (total + column).astype(np.float16)
    return total[..., None]


def test_sums_kept_in_float16_are_a_warning(sums):
    assert verdict(sums, sum_in_float16) == (Verdict.WARN, "precision")


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda data, axes: 0 * sum_in_float16(data, axes), id="zeros"),
        pytest.param(lambda data, axes: sum_in_float16(data, axes) + np.float16(10), id="shifted"),
        pytest.param(lambda data, axes: sum_in_float16(data[:, 1:] * 2, axes), id="doubled"),
    ],
)
def test_no_roundings_of_float16_explain_another_answer(sums, wrong):
    assert verdict(sums, wrong) == (Verdict.FAIL, "values")


def test_a_warning_does_not_excuse_an_old_answer_to_other_data(sums):
    answers: list[Any] = []

    def repeating(data: Any, axes: Any) -> Any:
        answers.append(sum_in_float16(data, axes))
        return answers[0]

    assert verdict(sums, repeating) == (Verdict.UNSTABLE, "unstable")


@pytest.mark.parametrize(
    ("instead_of_infinity", "expected"),
    [
        (np.inf, (Verdict.PASS, None)),
        (0, (Verdict.FAIL, "values")),
    ],
)
def test_a_result_that_is_itself_out_of_range_is_not_zero(products, instead_of_infinity, expected):
    def multiply(A: Any, B: Any) -> Any:
        with np.errstate(over="ignore"):
            C = A * B
        return np.where(np.isinf(C), np.float32(instead_of_infinity), C)

    assert verdict(products, multiply) == expected
