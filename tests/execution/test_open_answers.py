"""Where the text admits several answers, a case without a stated one admits all of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opcheck
from opcheck.model import Verdict

NAN = np.nan
RELU = """
op: Relu
cases:
- name: mine
  opset: 14
  dtype: float32
  inputs: {X: [.nan, 2, -3, .nan]}
  empty: NaN is the question
"""
TOO_MANY_ACTIVATIONS = """
op: RNN
cases:
- name: mine
  opset: 14
  dtype: float32
  attrs: {activations: [Relu, Sigmoid]}
  inputs: {X: [[[2]]], W: [[[1]]], R: [[[0]]]}
"""
COUPLED_GATES = """
op: LSTM
cases:
- name: mine
  opset: 14
  dtype: float32
  attrs: {activations: [Relu, Relu, Relu], input_forget: 1}
  inputs:
    X: [[[1]]]
    W: [[[0], [0], [0], [0]]]
    R: [[[0], [0], [0], [0]]]
    B: [[0.25, 1, 0.5, 2, 0, 0, 0, 0]]
    initial_c: [[[4]]]
"""


def answering(*outputs: Sequence[Any]) -> Callable[..., Any]:
    """A backend that gives these outputs, whatever it is fed."""

    def backend(*inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        return tuple(np.asarray(output, np.float32) for output in outputs)

    return backend


def refusing(*inputs: Any, **attributes: Any) -> None:
    raise ValueError("too many activations")


class RefusingAsDocumented:
    """A backend that says which of its exceptions are refusals."""

    documented_errors = (ValueError,)

    def prepare(self, task: Any) -> None:
        raise ValueError(task.case)


def judged(text: str, backend: Any, folder: Path) -> Verdict:
    """The verdict on a backend's answer to the first run of the only case in `text`."""
    file = folder / "mine.yaml"
    file.write_text(text)
    (result,) = opcheck.run(opcheck.load(file), [backend])
    return result.verdict


DIVISION_BY_0 = """
op: Div
cases:
- {name: mine, opset: 14, dtype: int32, inputs: {A: [7, -9, 8], B: [0, 2, 4]}}
"""


def dividing(anything: int, error: int) -> Callable[..., Any]:
    """A backend of Div that divides by 0 to a number, and is off by an error elsewhere."""

    def backend(a: Any, b: Any, **attributes: Any) -> Any:
        quotient = np.trunc(a / np.where(b == 0, 1, b)) + error
        return np.where(b == 0, anything, quotient).astype(np.int32)

    return backend


def refusing_zero(a: Any, b: Any) -> Any:
    """A backend of Div that raises where it would divide by 0."""
    if (b == 0).any():
        raise ZeroDivisionError
    return dividing(0, 0)(a, b)


@pytest.mark.parametrize(
    ("backend", "verdict"),
    [
        pytest.param(dividing(12345, 0), Verdict.PASS, id="any number"),
        pytest.param(dividing(12345, 1), Verdict.FAIL, id="wrong beside it"),
        pytest.param(refusing_zero, Verdict.PASS, id="refused"),
        pytest.param(refusing, Verdict.ERROR, id="refused whatever it is divided by"),
    ],
)
def test_beside_an_element_that_may_be_anything_others_are_judged(backend, verdict, tmp_path):
    assert judged(DIVISION_BY_0, backend, tmp_path) is verdict


def test_a_pass_says_how_much_of_such_a_node_was_judged(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(DIVISION_BY_0)
    (result,) = opcheck.run(opcheck.load(file), dividing(1, 0))
    (comparison,) = result.comparisons
    assert (comparison.unjudged, comparison.total) == (1, 3)


def test_a_node_of_nothing_else_is_unsupported(tmp_path: Path) -> None:
    alone = DIVISION_BY_0.replace("[7, -9, 8]", "[7]").replace("[0, 2, 4]", "[0]")
    assert judged(alone, dividing(1, 0), tmp_path) is Verdict.UNSUPPORTED


#: If NaN is the largest, any of nine in the first row is meant; else any of nine in the second.
NINE_EQUALS = """
op: ArgMax
cases:
- name: mine
  opset: 11
  dtype: float32
  attrs: {axis: 1, keepdims: 0}
  inputs:
    data:
    - [0, .nan, .nan, .nan, .nan, .nan, .nan, .nan, .nan, .nan, 1]
    - [0, .nan, 1, 1, 1, 1, 1, 1, 1, 1, 1]
"""


def test_a_node_of_which_each_element_is_free_by_some_reading_is_unsupported(tmp_path) -> None:
    assert judged(NINE_EQUALS, lambda data, **_: np.int64([77, 99]), tmp_path) == "unsupported"


@pytest.mark.parametrize(("last", "verdict"), [(2, Verdict.PASS), (3, Verdict.BAD_CASE)])
def test_a_case_may_state_what_no_text_defines_but_nothing_wrong_beside_it(
    last, verdict, tmp_path
) -> None:
    stated = DIVISION_BY_0.replace("}}", f"}}, expect: {{C: [5, -4, {last}]}}}}")
    assert judged(stated, dividing(5, 0), tmp_path) is verdict


@pytest.mark.parametrize(
    "y",
    [
        pytest.param([NAN, 2, 0, NAN], id="nan"),
        pytest.param([0, 2, 0, 0], id="zero"),
        pytest.param([NAN, 2, 0, 0], id="each as it likes"),
    ],
)
def test_an_element_that_is_free_may_be_any_of_its_values(y, tmp_path) -> None:
    # A backend that gives one answer to all data is caught by its second run alone.
    assert judged(RELU, answering(y), tmp_path) in (Verdict.PASS, Verdict.UNSTABLE)


@pytest.mark.parametrize(
    "y",
    [
        pytest.param([1, 2, 0, NAN], id="another value"),
        pytest.param([NAN, 3, 0, NAN], id="another element"),
        pytest.param([NAN, NAN, 0, NAN], id="an element that is not open"),
    ],
)
def test_nothing_else_is_right(y, tmp_path) -> None:
    assert judged(RELU, answering(y), tmp_path) is Verdict.FAIL


@pytest.mark.parametrize("c", [pytest.param(3.5, id="forget"), pytest.param(3.0, id="input")])
def test_a_reading_that_binds_all_outputs_is_right_as_a_whole(c, tmp_path) -> None:
    backend = answering([[[[c]]]], [[[c]]], [[[c]]])
    assert judged(COUPLED_GATES, backend, tmp_path) in (Verdict.PASS, Verdict.UNSTABLE)


def test_outputs_of_two_readings_are_wrong(tmp_path) -> None:
    backend = answering([[[[3.5]]]], [[[3.0]]], [[[3.5]]])
    assert judged(COUPLED_GATES, backend, tmp_path) is Verdict.FAIL


@pytest.mark.parametrize(
    ("backend", "verdict"),
    [
        pytest.param(RefusingAsDocumented(), Verdict.PASS, id="documented"),
        # An exception that it raises at each call, for all that opcheck knows.
        pytest.param(refusing, Verdict.UNSUPPORTED, id="by accident"),
    ],
)
def test_a_refusal_as_documented_is_right_where_a_reading_is_one(backend, verdict, tmp_path):
    assert judged(TOO_MANY_ACTIVATIONS, backend, tmp_path) is verdict


def test_a_refusal_is_wrong_where_no_reading_is_one(tmp_path) -> None:
    assert judged(RELU, refusing, tmp_path) is Verdict.ERROR


AXIS_IN_A_LIST = """
op: CumSum
cases:
- name: mine
  opset: 14
  dtype: float32
  inputs: {x: [1, 2, 4], axis: {value: [0], dtype: int64}}
"""


def summing(x: Any, axis: Any) -> list[Any]:
    return [np.cumsum(x, dtype=np.float32)]


def refusing_a_list(x: Any, axis: Any) -> list[Any]:
    raise ValueError("the axis is no scalar")


def doubling(x: Any, axis: Any) -> list[Any]:
    return [2 * np.cumsum(x, dtype=np.float32)]


@pytest.mark.parametrize(
    ("backend", "verdict"),
    [(summing, Verdict.PASS), (refusing_a_list, Verdict.UNSUPPORTED), (doubling, Verdict.FAIL)],
)
def test_one_element_may_be_a_scalar(
    backend: Callable[..., Any], verdict: Verdict, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(AXIS_IN_A_LIST)
    (result,) = opcheck.run(opcheck.load(file), [backend])
    assert result.verdict is verdict
