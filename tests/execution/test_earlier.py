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
from tests.wording import Wording

MODULE = "py:tests.execution.stateful"


def some(op: str, count: int) -> list[Case]:
    """The first float32 cases of an operator in its newest version, none of an invalid model."""
    cases = [case for case in shipped_cases(op) if str(case.dtype) == "float32"]
    newest = max(case.op.since for case in cases)
    legal = [case for case in cases if case.op.since == newest and not case.expect.rejection]
    return legal[:count]


@pytest.fixture(params=["Backend", "WrongExp"])
def wrong(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[Record]]:
    """A backend and its failures on cases of Relu, one Elu and then Exp, as they are in the end."""
    before, between = some("Relu", 2)
    cases = [before, *some("Elu", 1), between, *some("Exp", 2)]
    red = reds()
    with closing(Pool(BackendSettings(f"{MODULE}:{request.param}", tmp_path))) as pool:
        pool.connected()
        judging = Scheduler(cases, [pool], is_unexplained=lambda one: is_failure(one, red))
        records = final(judging, Recorder(cases, [pool.info.address]))
    return request.param, failures(records)


def test_a_failure_is_the_work_of_an_earlier_case_if_it_passes_alone(
    wrong: tuple[str, list[Record]], wording: Wording
) -> None:
    backend, records = wrong
    assert [record.op.name for record in records] == ["Exp", "Exp"]
    for record in records:
        cause = record.diagnoses[0]
        if backend == "WrongExp":
            assert cause.repeat == ""
            continue
        (elu,) = some("Elu", 1)
        assert cause.text == wording
        assert cause.counts == (2, 2, 0, 0)
        words = shlex.split(cause.repeat)
        assert words[words.index("--case") :][:4] == ["--case", elu.id, "--case", record.case]
        assert record.repeat == cause.repeat
