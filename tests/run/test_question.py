from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opcheck.backends import connect
from opcheck.model import Produced, TensorType
from opcheck.run.question import question
from tests.asking import cases_in

CONV = """
    op: Conv
    opset: 13
    dtype: float32
    tolerance: {ulp: 4}
    cases:
    - name: made
      inputs:
        X: {shape: [1, 1, 3, 3], arange: [0, 1]}
        W: {shape: [1, 1, 2, 2], constant: 1, initializer: true}
      expect: {Y: [[[[8, 12], [20, 24]]]]}
"""


def test_inputs_are_fed_and_initializers_are_part_of_the_model(tmp_path: Path) -> None:
    (case,) = cases_in(tmp_path, CONV)
    asked = question(case)
    task = asked.task
    assert task.inputs == (TensorType("X", case.inputs[0].dtype, (1, 1, 3, 3)),)
    assert list(task.initializers) == ["W"]
    assert task.slots == ("X", "W")
    assert [x.reshape(-1).tolist() for x in asked.inputs] == [list(range(9))]
    assert [x.reshape(-1).tolist() for x in asked.second] == [list(range(9))[::-1]]
    assert (task.op, task.opset, task.attrs) == (case.op, 13, {})
    assert task.outputs == case.outputs
    assert [x.shape for x in asked.arrays(asked.second)] == [(1, 1, 3, 3), (1, 1, 2, 2)]


def test_arrays_are_in_the_operator_s_order(tmp_path: Path) -> None:
    text = CONV.replace("initializer: true", "initializer: false").replace(
        "arange: [0, 1]}", "arange: [0, 1], initializer: true}"
    )
    (case,) = cases_in(tmp_path, text)
    asked = question(case)
    assert [tensor.name for tensor in asked.task.inputs] == ["W"]
    assert [x.shape for x in asked.arrays(asked.inputs)] == [(1, 1, 3, 3), (1, 1, 2, 2)]


@pytest.mark.parametrize("address", ["onnxruntime", "reference"])
def test_asking_gives_the_outcome(tmp_path: Path, address: str) -> None:
    (case,) = cases_in(tmp_path, CONV)
    outcome = question(case).ask(connect(address))
    assert isinstance(outcome, Produced)
    assert outcome.unstable is None
    np.testing.assert_array_equal(np.asarray(outcome.outputs[0]).reshape(-1), [8, 12, 20, 24])
