"""A failure that an earlier case of the run causes is named by that case."""

import shlex
from contextlib import closing
from pathlib import Path

import pytest

from opcheck.analysis import is_failure, reds
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.execution.scheduler import Scheduler
from opcheck.model import Case, Record
from opcheck.report.formatting import Recorder
from tests.asking import shipped_cases
from tests.diagnose.test_causes import failures, final
from tests.execution.stateful import STARTED
from tests.wording import Wording

MODULE = "py:tests.execution.stateful"


def some(op: str, count: int) -> list[Case]:
    """The first float32 cases of an operator in its newest version, none of an invalid model."""
    cases = [case for case in shipped_cases(op) if str(case.dtype) == "float32"]
    newest = max(case.op.since for case in cases)
    legal = [case for case in cases if case.op.since == newest and not case.expect.rejection]
    return legal[:count]


@pytest.fixture(autouse=True)
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STARTED, str(tmp_path / "started"))


def wrong(backend: str, folder: Path) -> list[Record]:
    """A backend's failures on cases of Relu, one Elu and then Exp, as they are in the end."""
    before, between = some("Relu", 2)
    cases = [before, *some("Elu", 1), between, *some("Exp", 2)]
    red = reds()
    with closing(Pool(BackendSettings(f"{MODULE}:{backend}", folder))) as pool:
        pool.connected()
        judging = Scheduler(cases, [pool], is_unexplained=lambda one: is_failure(one, red))
        records = failures(final(judging, Recorder(cases, [pool.info.address])))
    assert [record.op.name for record in records] == ["Exp", "Exp"]
    return records


def test_a_failure_is_the_work_of_an_earlier_case_if_it_passes_alone(
    tmp_path: Path, wording: Wording
) -> None:
    (elu,) = some("Elu", 1)
    for record in wrong("Backend", tmp_path):
        cause = record.diagnoses[0]
        assert cause.text == wording
        assert cause.counts == (2, 2, 0, 0)
        words = shlex.split(cause.repeat)
        assert words[words.index("--case") :][:4] == ["--case", elu.id, "--case", record.case]
        assert record.repeat == cause.repeat


def test_only_the_failure_that_was_asked_alone_says_so(tmp_path: Path, wording: Wording) -> None:
    first, second = wrong("Backend", tmp_path)
    assert first.diagnoses[0].asked == wording
    assert second.diagnoses[0].asked == ()


def test_a_failure_that_fails_alone_keeps_its_cause(tmp_path: Path) -> None:
    for record in wrong("WrongExp", tmp_path):
        (cause, *_) = record.diagnoses
        assert (cause.mistake, cause.repeat, cause.asked) == ("doubled", "", ())


@pytest.mark.parametrize("backend", ["FirstProcess", "AfterBoth"])
def test_without_one_earlier_case_that_causes_it_a_failure_keeps_its_cause(
    backend: str, tmp_path: Path, wording: Wording
) -> None:
    first, second = wrong(backend, tmp_path)
    for record in (first, second):
        cause = record.diagnoses[0]
        assert (cause.mistake, cause.repeat) == ("doubled", "")
        assert "--case" in record.repeat
    assert first.diagnoses[0].asked == wording
    assert second.diagnoses[0].asked == ()
