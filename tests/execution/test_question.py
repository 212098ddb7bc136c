from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opcheck.backends import attempt, connect
from opcheck.execution.expected import question
from opcheck.model import Produced, Rejected, TensorType
from opcheck.report import formatting
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
    assert (task.case, task.op, task.opset, task.attrs) == (case.id, case.op, 13, {})
    assert task.outputs == case.outputs
    assert [x.shape for x in asked.task.operands(asked.second)] == [(1, 1, 3, 3), (1, 1, 2, 2)]


def test_arrays_are_in_the_operator_s_order(tmp_path: Path) -> None:
    text = CONV.replace("initializer: true", "initializer: false").replace(
        "arange: [0, 1]}", "arange: [0, 1], initializer: true}"
    )
    (case,) = cases_in(tmp_path, text)
    asked = question(case)
    assert [tensor.name for tensor in asked.task.inputs] == ["W"]
    assert [x.shape for x in asked.task.operands(asked.inputs)] == [(1, 1, 3, 3), (1, 1, 2, 2)]


@pytest.mark.parametrize("address", ["onnxruntime", "reference"])
def test_asking_gives_the_outcome(tmp_path: Path, address: str) -> None:
    (case,) = cases_in(tmp_path, CONV)
    outcome = attempt(connect(address), question(case))
    assert isinstance(outcome, Produced)
    assert outcome.unstable is None
    np.testing.assert_array_equal(np.asarray(outcome.outputs[0]).reshape(-1), [8, 12, 20, 24])


def test_the_legal_twin_has_a_name_of_its_own_and_the_case_s_time(tmp_path: Path) -> None:
    text = """
        op: Hardmax
        dtype: float32
        opset: 13
        cases:
        - name: made
          timeout: 90
          attrs: {axis: 1}
          inputs: {input: [1, 2]}
          expect: {rejected: why, legal: {attrs.axis: 0}}
    """
    (case,) = cases_in(tmp_path, text)
    assert isinstance(case.expect, Rejected)
    asked, twin = question(case), question(case.expect.legal)
    assert (asked.task.case, twin.task.case) == ("Hardmax/made", "Hardmax/made~legal")
    assert (asked.timeout, twin.timeout) == (90, 90)


def test_a_case_that_states_no_time_has_that_of_the_run(tmp_path: Path) -> None:
    (case,) = cases_in(tmp_path, CONV)
    assert question(case).timeout is None


def test_turned_it_begins_with_the_other_data(tmp_path: Path) -> None:
    (case,) = cases_in(tmp_path, CONV)
    asked = question(case)
    turned = asked.turned()
    assert (turned.inputs, turned.second) == (asked.second, asked.inputs)
    assert turned.task is asked.task


def test_whether_other_data_are_legal_is_known_of_the_engine_s_operators_alone(tmp_path):
    other = CONV.replace(", initializer: true", "").replace("Conv", "ConvTranspose")
    (transposed,) = cases_in(tmp_path, other)
    text = """
        op: Hardmax
        dtype: float32
        opset: 13
        attrs: {axis: 0}
        cases:
        - {name: made, inputs: {input: [1, 1]}}
    """
    (hardmax,) = cases_in(tmp_path, text)
    assert not question(transposed).second_is_legal
    assert question(hardmax).second_is_legal
    # What reads the same backwards is negated only where that is surely legal.
    assert question(transposed).second[1].reshape(-1).tolist() == [1, 1, 1, 1]
    assert question(hardmax).second[0].tolist() == [-1, -1]


def test_attributes_and_what_is_put_are_told_as_the_model_has_them(tmp_path: Path) -> None:
    text = """
        op: LeakyRelu
        opset: 16
        tolerance: {ulp: 0}
        dtype: float32
        cases:
        - name: made
          attrs: {alpha: 0.1}
          inputs: {X: {shape: [8], constant: 0, put: [{at: [5], value: -1}]}}
          expect: {Y: [0, 0, 0, 0, 0, -0.1, 0, 0]}
    """
    (case,) = cases_in(tmp_path, text)
    # A model has no other floats; a backend in Python must not be given more digits.
    assert question(case).task.attrs == {"alpha": float(np.float32(0.1))}
    assert formatting.tensor(case.inputs[0]) == "X float32[8] constant 0 but -1 at [5]"
    others = replace(case.inputs[0], put=case.inputs[0].put * 3)
    assert formatting.tensor(others) == "X float32[8] constant 0 but 3 others"
