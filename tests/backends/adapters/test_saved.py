from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck.backends import attempt
from opcheck.backends.adapters.saved import connect
from opcheck.backends.connect import connect as connect_address
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.graph import folders, model_of
from opcheck.model import BackendInfo, Declined, NotRun, Outcome, Produced, Question, Raised, Task
from tests.asking import dml_problem, task_of
from tests.expecting import of_type
from tests.wording import Wording

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
HARDMAX = task_of("Hardmax", 13, {"axis": 1}, X)
Y = np.array([[1, 0, 0], [1, 0, 0]], np.float32)


def outcome_of(folder: Path, task: Task = HARDMAX, x: Any = X) -> Outcome:
    return attempt(connect(str(folder), {}), Question(task, (x,), (x,), second_is_legal=True))


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """The case's folder below `tmp_path`, with outputs and nothing else."""
    folder = tmp_path / folders.folder_name(HARDMAX.case)
    (folder / folders.DATA_SET).mkdir(parents=True)
    (folder / folders.DATA_SET / "output_0.pb").write_bytes(folders.tensor_bytes(Y, "output"))
    return folder


def answer(outcome: Outcome) -> Any:
    assert isinstance(outcome, Produced), outcome
    assert outcome.once
    (output,) = outcome.outputs
    return of_type(np.ndarray, output).tolist()


def test_outputs_alone_are_an_answer(tmp_path: Path, case: Path) -> None:
    assert answer(outcome_of(tmp_path)) == Y.tolist()


def test_numpy_s_format_will_do(tmp_path: Path, case: Path) -> None:
    (case / folders.DATA_SET / "output_0.pb").unlink()
    np.save(case / folders.DATA_SET / "output_0.npy", Y)
    assert answer(outcome_of(tmp_path)) == Y.tolist()


def test_the_question_beside_them_has_to_be_the_case_s(tmp_path: Path, case: Path) -> None:
    folders.write_question(case, model_of(HARDMAX), HARDMAX, [X])
    assert answer(outcome_of(tmp_path)) == Y.tolist()
    other = f"{case}: computed for other inputs: input_0.pb is not the case's"
    assert outcome_of(tmp_path, x=X + 1) == NotRun(other)
    other = task_of("Hardmax", 13, {"axis": 0}, X)
    assert outcome_of(tmp_path, other) == NotRun(f"{case}: computed for another model")


def test_outputs_that_cannot_be_read_are_no_missing_ones(
    tmp_path: Path, case: Path, wording: Wording
) -> None:
    (case / folders.DATA_SET / "output_0.pb").write_bytes(b"damaged")
    outcome = of_type(Raised, outcome_of(tmp_path))
    assert (outcome.kind, outcome.documented) == ("UnusableOutputs", False)
    assert outcome.detail == wording


def test_a_case_without_a_folder_was_not_run(tmp_path: Path) -> None:
    assert outcome_of(tmp_path) == NotRun(f"nothing was delivered: there is no {tmp_path}/Hardmax")


def test_a_case_without_outputs_was_not_run(tmp_path: Path, case: Path) -> None:
    (case / folders.DATA_SET / "output_0.pb").unlink()
    told = f"nothing was delivered: {case}: there is no output_0.pb, and no output_0.npy"
    assert outcome_of(tmp_path) == NotRun(told)
    (case / folders.DATA_SET).rmdir()
    assert outcome_of(tmp_path) == NotRun(told)


def test_outputs_in_the_wrong_place_are_not_found(tmp_path: Path, case: Path) -> None:
    (case / folders.DATA_SET / "output_0.pb").rename(case / "output_0.pb")
    assert isinstance(outcome_of(tmp_path), NotRun)


@pytest.mark.parametrize(
    ("file", "text", "outcome"),
    [
        ("unsupported.txt", "no kernel\n", Declined("no kernel")),
        ("unsupported.txt", "", Declined("unsupported.txt gives no reason")),
        ("not_run.txt", "no device", NotRun("no device")),
        ("error.txt", "axis 7 is bad", Raised("run", "Refused", "axis 7 is bad", True)),
        ("error.txt", "BadAxis: 7", Raised("run", "BadAxis", "7", True)),
        ("error.txt", "refused by accident: KeyError: 7", Raised("run", "KeyError", "7", False)),
    ],
)
def test_a_text_says_what_came_instead(tmp_path, file, text, outcome):
    folder = tmp_path / folders.folder_name(HARDMAX.case)
    folder.mkdir()
    (folder / file).write_text(text)
    assert outcome_of(tmp_path) == outcome


def test_texts_that_contradict_each_other_say_nothing(tmp_path: Path, case: Path) -> None:
    (case / "unsupported.txt").touch()
    (case / "error.txt").touch()
    assert outcome_of(tmp_path) == NotRun(f"{case}: unsupported.txt and error.txt are both there")


def test_a_text_beside_outputs_contradicts_them(tmp_path: Path, case: Path) -> None:
    (case / "unsupported.txt").touch()
    assert outcome_of(tmp_path) == NotRun(f"{case}: unsupported.txt and output_0.pb are both there")


def test_a_text_is_about_this_question_too(tmp_path: Path, case: Path) -> None:
    folders.write_question(case, model_of(HARDMAX), HARDMAX, [X])
    (case / folders.DATA_SET / "output_0.pb").unlink()
    (case / "unsupported.txt").write_text("no kernel")
    assert outcome_of(tmp_path) == Declined("no kernel")
    assert isinstance(outcome_of(tmp_path, x=X + 1), NotRun)


def test_the_same_operator_at_a_later_opset_has_a_folder_of_its_own(tmp_path, case):
    folders.write_question(case, model_of(HARDMAX), HARDMAX, [X])
    later = task_of("Hardmax", 18, {"axis": 1}, X)
    assert outcome_of(tmp_path, later) == NotRun(f"{case}: computed for another model")
    folder = tmp_path / folders.task_folder_name(later)
    folders.write_question(folder, model_of(later), later, [X])
    (folder / "unsupported.txt").write_text("not at 18")
    assert outcome_of(tmp_path, later) == Declined("not at 18")
    assert answer(outcome_of(tmp_path)) == Y.tolist()


def test_what_onnx_cannot_state_is_not_supported_unless_there_is_an_answer(
    tmp_path: Path, wording: Wording
) -> None:
    task = dml_problem((7,), X)
    outcome = of_type(Declined, outcome_of(tmp_path, task))
    assert outcome.reason == wording
    folder = tmp_path / folders.folder_name(task.case)
    folder.mkdir()
    (folder / "error.txt").write_text("E_INVALIDARG")
    (folder / folders.MODEL).write_bytes(b"none that could be compared")
    assert outcome_of(tmp_path, task) == Raised("run", "E_INVALIDARG", "", True)


def test_a_folder_of_nobody_is_saved_outputs_of_nobody(tmp_path: Path) -> None:
    origin = BackendInfo(f"saved:{tmp_path}", "saved", "", repeatable=False)
    assert connect(str(tmp_path), {}).info == origin


def test_a_folder_says_whose_outputs_it_holds(tmp_path: Path) -> None:
    origin = BackendInfo("numpy", "numpy", "2.4", ("float16",), engine=True, threads=1)
    folders.write_origin(tmp_path, origin)
    info = connect(f"{tmp_path}/", {}).info
    assert (info.address, info.repeatable) == (f"saved:{tmp_path}", False)
    assert (info.kind, info.version, info.accumulate) == ("numpy", "2.4", ("float16",))
    # A pass of the engine against itself is no evidence, wherever it was computed.
    assert info.engine


def test_a_folder_is_needed(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        connect(None, {})
    assert raised.value == wording
    with pytest.raises(BackendUnavailable, match=r"/nowhere does not exist$"):
        connect(f"{tmp_path}/nowhere", {})
    (tmp_path / "file").touch()
    with pytest.raises(BackendUnavailable, match=r"/file is no folder$"):
        connect(f"{tmp_path}/file", {})
    with pytest.raises(UsageError) as raised:
        connect(str(tmp_path), {"threads": "1"})
    assert raised.value == wording


def test_a_marker_of_somebody_else_is_told(tmp_path: Path) -> None:
    (tmp_path / "opcheck.json").write_text("{}")
    with pytest.raises(BackendUnavailable, match=r"opcheck\.json is damaged"):
        connect(str(tmp_path), {})


def test_its_address_leads_to_it(tmp_path: Path, case: Path) -> None:
    assert connect_address(f"saved:{tmp_path}").info.address == f"saved:{tmp_path}"
