from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from opcheck.backends.connect import connect
from opcheck.errors import UsageError
from opcheck.execution.saving import write_questions
from opcheck.graph.folders import DATA_SET, folder_name
from opcheck.graph.tensors import read_tensor
from opcheck.model import Verdict
from tests.asking import cases_in
from tests.execution.one import TWO
from tests.inline import judged

THREE = (
    TWO
    + """
    - name: undecided
      rule: open
      attrs: {axis: 7}
      inputs: {input: [[3, 3, 1], [3, 0, 3]]}
      expect:
        any_of:
        - {as: refused, rejected: "axis is outside [-2, 1]", legal: {attrs.axis: 1}}
        - {as: zeros, output: [[0, 0, 0], [0, 0, 0]]}
"""
)


def test_every_question_is_a_folder_and_every_legal_twin_too(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, THREE)
    assert write_questions(tmp_path / "q", cases) == 5
    names = [path.name for path in (tmp_path / "q").iterdir() if path.is_dir()]
    assert sorted(names) == [
        "Hardmax%2Fout_of_range",
        "Hardmax%2Fout_of_range~legal",
        "Hardmax%2Fplain",
        "Hardmax%2Fundecided",
        "Hardmax%2Fundecided~legal",
    ]
    for name in names:
        files = [p for p in (tmp_path / "q" / name).rglob("*") if p.is_file()]
        assert sorted(file.name for file in files) == ["input_0.pb", "model.onnx"]


def test_what_somebody_computes_in_the_folders_is_judged(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, THREE)
    write_questions(tmp_path / "q", cases)
    saved = connect(f"saved:{tmp_path / 'q'}")
    assert {result.verdict for result in judged(cases, [saved])} == {Verdict.NOT_RUN}
    # A device's own program, which knows nothing of opcheck.
    for case in (tmp_path / "q").iterdir():
        if not case.is_dir():
            continue
        model = ModelProto.FromString((case / "model.onnx").read_bytes())
        x = read_tensor(case / DATA_SET / "input_0.pb")
        try:
            (y,) = ReferenceEvaluator(model).run(None, {"input": x})
        except ValueError as error:
            (case / "error.txt").write_text(str(error))
        else:
            np.save(case / DATA_SET / "output_0.npy", y)
    found = [(r.verdict, r.alternative) for r in judged(cases, [saved])]
    assert found == [(Verdict.PASS, None), (Verdict.PASS, None), (Verdict.PASS, "refused")]


def test_questions_do_not_overwrite_answers(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, THREE)
    write_questions(tmp_path / "q", cases)
    write_questions(tmp_path / "q", cases[:1])
    assert len([*(tmp_path / "q").iterdir()]) == 2
    answer = tmp_path / "q" / folder_name(cases[0].id) / DATA_SET / "output_0.pb"
    answer.write_bytes(b"precious")
    with pytest.raises(UsageError, match=r"output_0\.pb, which no earlier run has saved"):
        write_questions(tmp_path / "q", cases)
    assert answer.read_bytes() == b"precious"


def test_what_onnx_cannot_state_is_left_out(tmp_path: Path) -> None:
    cases = cases_in(
        tmp_path,
        """
        domain: com.microsoft.dml
        op: DML_ACTIVATION_HARDMAX1
        opset: 1
        dtype: float32
        cases:
        - name: out_of_range
          attrs: {Axes: [7]}
          inputs: {InputTensor: [[3, 3, 1], [3, 0, 3]]}
          expect: {rejected: "an axis is outside [0, 1]", legal: {attrs.Axes: [1]}}
        """,
    )
    assert write_questions(tmp_path / "q", cases) == 1
    assert (tmp_path / "q" / folder_name(f"{cases[0].id}~legal")).is_dir()
