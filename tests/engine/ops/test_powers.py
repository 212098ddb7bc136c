"""Powers of negative bases, and what DirectML's pages say nothing of."""

import numpy as np
import pytest

from opcheck.errors import NotSupported
from opcheck.model import OpVersion, Verdict
from tests.asking import cases_in
from tests.computed import evaluate
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


@pytest.mark.parametrize(("made", "verdict"), [
    (np.positive, Verdict.PASS),
    (np.abs, Verdict.FAIL),
    (lambda powers: np.where(powers < 0, 123, powers), Verdict.FAIL),
])  # fmt: skip
def test_a_negative_base_has_one_power_whatever_the_type_of_the_exponent(tmp_path, made, verdict):
    def run(inputs):
        powers = np.power(*(one.astype(np.float64) for one in inputs))
        return [made(powers).astype(inputs[0].dtype)]

    for case in cases_in(tmp_path, POWERS):
        [result] = judged([case], [answering(run)])
        assert result.verdict is verdict


@pytest.mark.parametrize(("name", "inputs", "attrs", "silent"), [
    ("ACTIVATION_ELU", [[np.nan, 5]], {"Alpha": 1.0}, "NaN"),
    ("ACTIVATION_RELU", [[np.nan, 5]], {}, "NaN"),
    ("ELEMENT_WISE_SIGN", [[np.nan, 5]], {}, "NaN"),
    ("ELEMENT_WISE_MIN", [[2, 5], [np.nan, 1]], {}, "NaN"),
    ("ELEMENT_WISE_MAX", [[2, 5], [np.nan, 1]], {}, "NaN"),
    ("ELEMENT_WISE_POW", [[0, 5], [0, 2]], {}, "0 to the power of 0"),
    ("ELEMENT_WISE_CONSTANT_POW", [[0, 5]], {"Exponent": 0.0}, "0 to the power of 0"),
])  # fmt: skip
def test_what_a_page_says_nothing_of_is_not_answered(name, inputs, attrs, silent):
    tensors = [np.array(one, np.float32) for one in inputs]
    with pytest.raises(NotSupported, match=f"nothing is said of {silent}"):
        evaluate(OpVersion("com.microsoft.dml", f"DML_{name}", 1), tensors, attrs)
