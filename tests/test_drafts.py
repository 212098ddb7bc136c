"""Suites that are not shipped yet: the engine passes what they ask first."""

import pytest

from opcheck.backends import connect
from opcheck.model import Verdict
from opcheck.run.trial import Trial
from opcheck.suite import Selection, load, select
from tests.inline import result_of
from tests.shell import ROOT

DRAFTS = sorted((ROOT / "drafts").glob("*.yaml"))


@pytest.mark.parametrize("draft", DRAFTS, ids=lambda path: path.stem)
def test_the_engine_passes_the_smoke_cases_of_a_draft(draft):
    cases = select(load([draft]), Selection(level="smoke"))
    assert cases
    engine = connect("numpy")
    found = {case.id: result_of(Trial(case), engine).verdict for case in cases}
    assert {name: verdict for name, verdict in found.items() if verdict is not Verdict.PASS} == {}


def test_there_are_nine():
    assert len(DRAFTS) == 9
