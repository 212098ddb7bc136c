"""One case of Hardmax-13 on a float32 matrix, and what a backend is worth in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from opcheck.backends import Backend, connect
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.model import BackendInfo, Case, LiveResult, Outcome, Question, Reply
from tests import inline
from tests.asking import cases_in
from tests.hardmax import Hardmax

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
RIGHT = np.array([[1, 0, 0], [1, 0, 0]], np.float32)
ENGINE = connect("numpy")

#: A file of two cases: a legal model, and one that must be refused.
TWO = """
    op: Hardmax
    opset: 13
    dtype: float32
    cases:
    - name: plain
      attrs: {axis: 1}
      inputs: {input: [[3, 3, 1], [3, 0, 3]]}
      expect: {output: [[1, 0, 0], [1, 0, 0]]}
    - name: out_of_range
      attrs: {axis: 7}
      inputs: {input: [[3, 3, 1], [3, 0, 3]]}
      expect: {rejected: "axis is outside [-2, 1]", legal: {attrs.axis: 1}}
"""


def one(folder: Path, text: str) -> Case:
    """The case of a file about Hardmax-13 on a float32 matrix, axis 1."""
    head = "op: Hardmax\ndtype: float32\nopset: 13\nattrs: {axis: 1}\n"
    values = "inputs: {input: [[3, 3, 1], [3, 0, 3]]}\n"
    (case,) = cases_in(folder, f"{head}{'' if 'inputs' in text else values}cases:\n- {text}")
    return case


def result_of(case: Case, backend: Backend) -> LiveResult:
    """What `backend` is worth in `case`."""
    return inline.result_of(CaseEvaluation(case), backend)


def inquiry(case: Case, *replies: Outcome | Reply) -> tuple[list[Question], LiveResult]:
    """What is asked of a backend that replies so, and its result."""
    going = CaseEvaluation(case).judge(BackendInfo("fake", "fake", "1.0"))
    asked = [next(going)]
    for reply in replies:
        try:
            asked.append(going.send(reply if isinstance(reply, Reply) else Reply(reply)))
        except StopIteration as end:
            assert len(asked) == len(replies), "there are replies left"
            return asked, end.value.result
    raise AssertionError(f"there is no reply to question {len(asked)}")


def outputs(change: Callable[[Any], Any]) -> Hardmax:
    """A right backend but for what `change` does to its output."""
    return Hardmax(output=lambda out: [change(out).astype(out.dtype)])
