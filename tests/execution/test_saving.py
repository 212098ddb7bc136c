from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from opcheck.backends import Backend, attempt
from opcheck.backends.base import UnusableAnswer
from opcheck.backends.connect import connect
from opcheck.errors import BackendUnavailable, Unwritable, UsageError
from opcheck.execution.saving import Recording, write_questions
from opcheck.execution.workers import run_here
from opcheck.graph.folders import DATA_SET, folder_name, read_origin, read_tensor
from opcheck.model import (
    BackendInfo,
    Case,
    Declined,
    LiveResult,
    NotRun,
    Produced,
    Raised,
    Verdict,
    question as q,
)
from tests.asking import ENDS_CROSSED, asking, cases_in, elements, kills, shipped_cases, task_of
from tests.execution.one import RIGHT as Y, TWO, X
from tests.expecting import error_of
from tests.hardmax import Hardmax
from tests.inline import Inline, judge_all, judged
from tests.miniatures import Fake, Refused, answering, refusing
from tests.wording import Wording

pytestmark = pytest.mark.reads_all_suites

HARDMAX = task_of("Hardmax", 13, {"axis": 1}, X)
FAKE = BackendInfo("fake", "fake", "1.0")
QUESTION = {"model.onnx", f"{DATA_SET}/input_0.pb"}


def recorder(folder: Path, info: BackendInfo = FAKE) -> Recording:
    """What saves the answers of a backend that is called so."""
    return Recording([info], folder)


def saved(folder: Path, outcome: q.Outcome) -> set[str]:
    """The files that an outcome leaves in the case's folder."""
    recorder(folder / "saved").save(asking(HARDMAX, X), outcome)
    case = folder / "saved" / "Hardmax"
    return {str(p.relative_to(case)) for p in case.rglob("*") if p.is_file()}


def recorded(folder: Path, backend: Backend, cases: Sequence[Case]) -> list[LiveResult]:
    """The results of `backend`, whose answers are saved in `folder`."""
    return list(
        judge_all(cases, [Inline(backend)], observe=Recording([backend.info], folder).observe)
    )


def test_an_answer_is_saved_beside_its_question(tmp_path: Path) -> None:
    assert saved(tmp_path, Produced((Y,), 0.1)) == QUESTION | {f"{DATA_SET}/output_0.pb"}


@pytest.mark.parametrize(
    ("outcome", "file"),
    [
        (Declined("no kernel"), "unsupported.txt"),
        (Raised("run", "BadAxis", "7", True), "error.txt"),
        (Raised("prepare", "KeyError", "", False), "error.txt"),
        (Raised("third run", "E", "x", True), "not_run.txt"),
        (Raised("run", "UnusableAnswer", "no tensors", False, unusable=True), "not_run.txt"),
        (q.Crashed("killed by SIGSEGV"), "not_run.txt"),
        (q.TimedOut(30.0), "not_run.txt"),
        (q.OutOfMemory("2 GiB"), "not_run.txt"),
        (NotRun("no device"), "not_run.txt"),
        (Produced((Y, Y), 0.1), "not_run.txt"),
        (Produced((q.Foreign("torch.Tensor"),), 0.1), "not_run.txt"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_answer_is_a_text_beside_the_question(tmp_path, outcome, file, wording):
    assert saved(tmp_path, outcome) == QUESTION | {file}
    assert (tmp_path / "saved" / "Hardmax" / file).read_text() == wording


def test_what_no_file_can_hold_is_not_left_half_written(tmp_path: Path) -> None:
    dates = np.array(["2020-01-01"], "datetime64[D]")
    assert saved(tmp_path, Produced((dates,), 0.1)) == QUESTION | {"not_run.txt"}


def test_a_case_that_is_saved_again_has_its_last_answer_alone(tmp_path: Path) -> None:
    saving = recorder(tmp_path / "saved")
    saving.save(asking(HARDMAX, X), Produced((Y,), 0.1))
    saving.save(asking(HARDMAX, X), Declined("no more"))
    case = tmp_path / "saved" / "Hardmax"
    assert (case / "unsupported.txt").exists()
    assert not (case / DATA_SET / "output_0.pb").exists()


def verdicts(results: Sequence[LiveResult]) -> dict[str, Any]:
    """What is found about each case, without how stable and how quick it was found."""

    def found(result: LiveResult) -> Any:
        reason = result.reason[:1900] if "stability" not in result.reason else ""
        return (
            result.verdict,
            reason,
            result.failure,
            result.refused,
            result.self_check,
            result.alternative,
            # By their spelling: NaN does not equal itself.
            repr(result.comparisons),
        )

    return {result.case.id: found(result) for result in results}


#: Small cases that ask for everything: answers, refusals with twins, alternatives, corners.
@cache
def some() -> list[Case]:
    """Return a share of the small cases, and some that ONNX Runtime and `reference` fail."""
    small = [case for case in shipped_cases() if elements(case) <= 200]
    names = {"size_zero", "nan_and_infinity_beside_padding"}
    failed = [case for case in small if case.op.name == "LpPool" and case.name in names]
    return [*small[:: len(small) // 60], *failed]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "address", ["numpy", "onnxruntime", "reference", "reference?accumulate=float16,bfloat16"]
)
def test_saved_outputs_are_judged_like_the_backend_that_gave_them(tmp_path, address):
    cases = [case for case in some() if not kills(address, case)]
    live = recorded(tmp_path / "out", connect(address), cases)
    later = list(judged(cases, [connect(f"saved:{tmp_path / 'out'}")]))
    # Saved outputs declare no shapes; who ran out of memory has none, and some are no tensors.
    lost = {result.case.id for result in live if result.failure in ("declared", "oom")}
    lost |= {one.case.id for one in later if one.reason.startswith("its answer cannot be saved")}
    expected = {case: found for case, found in verdicts(live).items() if case not in lost}
    assert {case: verdicts(later)[case] for case in expected} == expected
    assert len({result.verdict for result in live} - {Verdict.UNSUPPORTED}) > (address != "numpy")


@pytest.mark.parametrize(
    "backend",
    [
        Hardmax(),
        answering(lambda inputs: [inputs[0]]),
        answering(lambda inputs: [inputs[0].astype(np.float64)]),
        answering(lambda inputs: [inputs[0][:1]]),
        refusing(),
        refusing(KeyError("axis"), "run"),
        refusing(Refused("two\nlines: of it")),
        refusing(Refused("")),
    ],
)
def test_whatever_a_backend_does_it_is_judged_alike(tmp_path: Path, backend: Backend) -> None:
    cases = cases_in(tmp_path, TWO)
    live = recorded(tmp_path / "out", backend, cases)
    assert verdicts(list(judged(cases, [connect(f"saved:{tmp_path / 'out'}")]))) == verdicts(live)


@pytest.mark.parametrize(
    "answer", [lambda _: [], lambda inputs: [*inputs, *inputs], lambda _: None, lambda _: "x"]
)
def test_what_cannot_be_saved_is_never_a_pass_later(tmp_path: Path, answer: Any) -> None:
    cases = cases_in(tmp_path, TWO)
    live = recorded(tmp_path / "out", answering(answer), cases)
    later = list(judged(cases, [connect(f"saved:{tmp_path / 'out'}")]))
    assert {result.verdict for result in live} == {Verdict.FAIL}
    assert {result.verdict for result in later} == {Verdict.NOT_RUN}


def test_an_unusable_answer_is_no_refusal_later(tmp_path: Path) -> None:
    # The text admits a refusal of a negative axis, without a legal twin.
    cases = cases_in(
        tmp_path,
        """
        op: Slice
        opset: 1
        dtype: float32
        cases:
        - name: negative_axis
          attrs: {axes: [-1], starts: [0], ends: [1]}
          inputs: {data: [1, 2, 3]}
        """,
    )
    unusable = refusing(UnusableAnswer("no tensors"), "run")
    [live] = recorded(tmp_path / "out", unusable, cases)
    [later] = judged(cases, [connect(f"saved:{tmp_path / 'out'}")])
    assert (live.verdict, later.verdict) == (Verdict.ERROR, Verdict.NOT_RUN)


def test_a_case_that_was_not_saved_is_not_run(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, TWO)
    recorded(tmp_path / "out", connect("numpy"), cases[:1])
    later = list(judged(cases, [connect(f"saved:{tmp_path / 'out'}")]))
    assert [result.verdict for result in later] == [Verdict.PASS, Verdict.NOT_RUN]


def test_other_data_of_a_case_do_not_replace_its_own(tmp_path: Path) -> None:
    backend = connect("numpy")
    question = q.Question(HARDMAX, (X,), (X[::-1].copy(),), second_is_legal=True)

    def twice() -> Any:
        for asked in (question, question.turned()):
            reply = yield asked
            assert isinstance(reply.outcome, Produced)

    run_here(
        Recording([backend.info], tmp_path / "out").observe(twice()), partial(attempt, backend)
    )
    assert (read_origin(tmp_path / "out") or FAKE).address == "numpy"
    assert connect(f"saved:{tmp_path / 'out'}").prepare(HARDMAX).run([X])[0].tolist() == Y.tolist()


def test_an_attempt_at_a_later_opset_is_saved_for_itself(tmp_path: Path, wording: Wording) -> None:
    # A backend that only minds the number of the opset is an error, live and saved.

    def prepared(task: q.Task) -> Any:
        if task.opset < 14:
            raise Refused("opset 13 is too old")
        return Hardmax().prepared(task)

    cases = cases_in(tmp_path, TWO)[:1]
    (live,) = recorded(tmp_path / "out", Fake(prepared), cases)
    assert live.reason == wording
    (later,) = judged(cases, [connect(f"saved:{tmp_path / 'out'}")])
    assert verdicts([later]) == verdicts([live])


def test_the_folder_says_whose_outputs_it_holds(tmp_path: Path) -> None:
    backend = connect("onnxruntime?accumulate=float16")
    recorded(tmp_path / "a" / "b", backend, [])
    assert read_origin(tmp_path / "a" / "b") == backend.info


def test_what_an_earlier_run_saved_is_replaced_by_all_of_the_next(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, TWO)
    recorded(tmp_path / "out", connect("numpy"), cases)
    recorded(tmp_path / "out", connect("reference"), cases[:1])
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == [folder_name(cases[0].id), "opcheck.json"]
    origin = read_origin(tmp_path / "out")
    assert origin is not None
    assert origin.kind == "reference"


def refusal(folder: Path, backend: BackendInfo = FAKE) -> UsageError:
    error = error_of(UsageError, recorder, folder, backend)
    assert type(error) is UsageError
    return error


def test_nobody_s_files_are_overwritten(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    error = refusal(tmp_path)
    assert error.message == wording
    assert error.hint == wording
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize(
    "name", ["thesis.tex", f"Hardmax/{DATA_SET}/output_0.npy", "Hardmax/test_data_set_1/input_0.pb"]
)
def test_files_among_those_of_an_earlier_run_are_not_removed(
    tmp_path: Path, name: str, wording: Wording
) -> None:
    saved(tmp_path, Produced((Y,), 0.1))
    file = tmp_path / "saved" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("precious")
    (tmp_path / "saved" / "Hardmax" / "link").symlink_to(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    error = refusal(tmp_path / "saved")
    assert error.message == wording
    assert name in error.message
    assert "Hardmax/link" in error.message
    assert sorted(tmp_path.rglob("*")) == before


def test_a_marker_that_says_nothing_allows_nothing(tmp_path: Path) -> None:
    (tmp_path / "opcheck.json").write_text("{}")
    assert "opcheck.json is damaged" in refusal(tmp_path).message


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "file").touch()
    error = refusal(tmp_path / "file" / "out")
    assert error.message == wording


def test_outputs_are_not_read_and_written_in_one_folder(tmp_path: Path, wording: Wording) -> None:
    saved(tmp_path, Produced((Y,), 0.1))
    folder = tmp_path / "saved"
    for address in (f"saved:{folder}", f"saved:{tmp_path}/x/../saved?accumulate=float16"):
        (tmp_path / "x").mkdir(exist_ok=True)
        error = refusal(folder, BackendInfo(address, "numpy", ""))
        assert error.message == wording
    assert (folder / "Hardmax").exists()


def test_outputs_of_one_backend_are_saved_not_of_two(tmp_path: Path, wording: Wording) -> None:
    two = [connect("numpy").info, connect("reference").info]
    assert error_of(UsageError, Recording, two, tmp_path / "out").message == (wording)
    assert not (tmp_path / "out").exists()


def test_a_disk_that_is_full_ends_the_run_with_a_message(tmp_path, monkeypatch, wording):
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    cases = cases_in(tmp_path, TWO)
    backend = connect("numpy")
    results = judge_all(
        cases, [Inline(backend)], observe=Recording([backend.info], tmp_path / "out").observe
    )
    monkeypatch.setattr(Path, "write_bytes", full)
    assert error_of(BackendUnavailable, list, results).message == (wording)


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
    assert write_questions(tmp_path / "q", cases_in(tmp_path, THREE)) == 5
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


def test_a_disk_that_is_full_ends_the_writing_of_questions_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    def full(path: Path, *_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device", str(path))

    folder = tmp_path / "q"
    folder.mkdir()
    cases = cases_in(tmp_path, TWO)
    monkeypatch.setattr("opcheck.graph.folders.write_question", full)
    assert error_of(Unwritable, write_questions, folder, cases) == wording


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


def test_questions_do_not_overwrite_answers(tmp_path: Path, wording: Wording) -> None:
    cases = cases_in(tmp_path, THREE)
    write_questions(tmp_path / "q", cases)
    write_questions(tmp_path / "q", cases[:1])
    assert len([*(tmp_path / "q").iterdir()]) == 2
    answer = tmp_path / "q" / folder_name(cases[0].id) / DATA_SET / "output_0.pb"
    answer.write_bytes(b"precious")
    with pytest.raises(UsageError) as raised:
        write_questions(tmp_path / "q", cases)
    assert raised.value == wording
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


def test_a_question_is_left_out_if_its_page_leaves_the_model_open(tmp_path: Path) -> None:
    assert write_questions(tmp_path / "q", cases_in(tmp_path, ENDS_CROSSED)) == 0


def test_an_answer_is_saved_and_judged_if_its_page_leaves_the_model_open(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, ENDS_CROSSED)
    ones = answering(lambda inputs: np.ones(3, np.float32))
    [result] = recorded(tmp_path / "saved", ones, cases)
    assert result.verdict is Verdict.PASS
    [again] = judged(cases, [connect(f"saved:{tmp_path / 'saved'}")])
    assert again.verdict is Verdict.PASS
