"""Powers of negative bases, and what DirectML's pages say nothing of."""

import numpy as np
import pytest

from opcheck.engine import Node
from opcheck.model import OpVersion, Verdict
from tests.asking import cases_in
from tests.computed import first_outputs
from tests.inline import judged
from tests.miniatures import answering

POWERS = """
op: Pow
opset: 15
cases:
- name: powers
  inputs: {X: [-4, -0.25, 3, -7]}
  rows:
  - {label: half, dtype: float16, inputs: {Y: {value: [3, 2, 3, 1], dtype: float32}}}
  - {label: single, dtype: float32, inputs: {Y: {value: [3, 2, 3, 1], dtype: float64}}}
"""


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (np.positive, Verdict.PASS),
        (np.abs, Verdict.FAIL),
        (lambda powers: np.where(powers < 0, 123, powers), Verdict.FAIL),
    ],
)
def test_a_negative_base_has_one_power_whatever_the_type_of_the_exponent(tmp_path, made, verdict):
    def run(inputs):
        powers = np.power(*(one.astype(np.float64) for one in inputs))
        return [made(powers).astype(inputs[0].dtype)]

    for case in cases_in(tmp_path, POWERS):
        [result] = judged([case], [answering(run)])
        assert result.verdict is verdict


WIDER = """
op: Pow
opset: 15
cases:
- name: powers
  inputs: {X: {shape: [300], uniform: [0.25, 4], seed: 1}}
  rows:
  - {label: whole, dtype: float32, inputs: {Y: {shape: [300], integers: [1, 3], dtype: float64}}}
  - {label: single, dtype: float32, inputs: {Y: {shape: [300], uniform: [-2, 2], dtype: float64}}}
  - {label: half, dtype: float16, inputs: {Y: {shape: [300], uniform: [-2, 2], dtype: float64}}}
  - {label: small, dtype: float32, inputs: {X: [1.0e-20, 3], Y: {value: [2, 2.5], dtype: float64}}}
  - {label: unheld, dtype: float32, inputs: {X: [-1, 3], Y: {value: [16777217, 2], dtype: float64}}}
- {name: double, dtype: float64, inputs: {X: [1.1, 3], Y: {value: [2.5, -1.5], dtype: float32}}}
"""


def _flushed(powers):
    return np.where(np.abs(powers) < np.finfo(np.float32).tiny, 0, powers)


@pytest.mark.parametrize(
    ("made", "verdicts"),
    [
        (lambda x, y: np.power(x.astype(np.float32), y.astype(np.float32)), "PPPPWF"),
        (lambda x, y: _flushed(np.power(x, y.astype(np.float32))), "PPPPWP"),
        (lambda x, y: np.power(x.astype(np.float64), y) * (1 + 2.0**-22), "PPPPPF"),
        (lambda x, y: np.power(x.astype(np.float64), y) * (1 + 2.0**-18), "FFPFFF"),
        (lambda x, y: np.power(x.astype(np.float64), np.trunc(y)), "PFFFPF"),
        (lambda x, y: np.power(x.astype(np.float64), y).astype(np.float16), "FFPFPF"),
    ],
)
def test_a_wider_exponent_asks_for_no_wider_arithmetic(tmp_path, made, verdicts):
    def run(inputs):
        return [made(*inputs).astype(inputs[0].dtype)]

    cases = cases_in(tmp_path, WIDER)
    found = [*judged(cases, [answering(run)])]
    assert "".join(result.verdict.name[0] for result in found) == verdicts
    assert not any(output.unjudged for result in found for output in result.comparisons)


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "second"),
    [
        ("ACTIVATION_ELU", [[np.nan, 5]], {"Alpha": 1.0}, 5),
        ("ACTIVATION_RELU", [[np.nan, 5]], {}, 5),
        ("ELEMENT_WISE_SIGN", [[np.nan, 5]], {}, 1),
        ("ELEMENT_WISE_MIN", [[2, 5], [np.nan, 1]], {}, 1),
        ("ELEMENT_WISE_MAX", [[2, 5], [np.nan, 1]], {}, 5),
        ("ELEMENT_WISE_POW", [[0, 5], [0, 2]], {}, 25),
        ("ELEMENT_WISE_CONSTANT_POW", [[0, 5]], {"Exponent": 0.0}, 1),
    ],
)
def test_what_a_page_says_nothing_of_is_not_judged_and_others_are(name, inputs, attrs, second):
    tensors = tuple(np.array(one, np.float32) for one in inputs)
    node = Node(OpVersion("com.microsoft.dml", f"DML_{name}", 1), tensors, attrs)
    for y in first_outputs(node):
        assert y == [None, second]
