"""The text of a case: its entry, without other rows, and the head of its file."""

import pytest

from opcheck.model import Source
from opcheck.suite.entries import written_case
from tests.suite.conftest import Cases

HEAD = ("op: Hardmax", "attrs: {axis: 0}")
TEXT = """\
# About the file.
op: Hardmax

attrs: {axis: 0}
cases:
- name: ties
  opset: 13
  inputs: {input: [1, 1]}
  dtype: float32
# About the next.

- name: several
  opset: 13
  rows:
  - label: halves
    dtype: float16
    # Of one row.
    inputs: {input: [1, 2]}
  - {label: singles, dtype: float32, inputs: {input: [3, 4]}}
  clause: along the given axis
- {name: flow, opset: 13, dtype: float32, inputs: {input: [1]},
   clause: along the given axis}
"""
ENTRIES = {
    "Hardmax/ties": [
        "- name: ties",
        "  opset: 13",
        "  inputs: {input: [1, 1]}",
        "  dtype: float32",
    ],
    "Hardmax/several#halves": [
        "- name: several",
        "  opset: 13",
        "  rows:",
        "  - label: halves",
        "    dtype: float16",
        "    # Of one row.",
        "    inputs: {input: [1, 2]}",
        "  clause: along the given axis",
    ],
    "Hardmax/several#singles": [
        "- name: several",
        "  opset: 13",
        "  rows:",
        "  - {label: singles, dtype: float32, inputs: {input: [3, 4]}}",
        "  clause: along the given axis",
    ],
    "Hardmax/flow": [
        "- {name: flow, opset: 13, dtype: float32, inputs: {input: [1]},",
        "   clause: along the given axis}",
    ],
}


@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize(("id", "entry"), ENTRIES.items())
def test_the_text_is_that_of_the_case_alone(
    cases: Cases, id: str, entry: list[str], indent: str
) -> None:
    head, _, body = TEXT.partition("cases:\n")
    indented = "".join(f"{indent}{line}\n" for line in body.splitlines())
    by_id = {case.id: case for case in cases(f"{head}cases:\n{indented}")}
    case = by_id[id]
    written = written_case(case.source)
    assert written is not None
    assert written.head == HEAD
    assert written.entry == tuple(indent + line for line in entry)
    assert written.line == case.source.line


def test_a_model_has_no_text() -> None:
    assert written_case(Source("model.onnx", 0, 0)) is None
