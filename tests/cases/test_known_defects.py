"""Level core shows what is known to be wrong in engines."""

import pytest

from opcheck.execution.levels import defects
from opcheck.known import shipped_ledgers
from opcheck.reading import Kind, operators_in, shipped_files
from opcheck.suite import load
from opcheck.suite.levels import CORE, Demand

pytestmark = pytest.mark.reads_all_suites

OPERATORS = sorted({op for file in shipped_files(Kind.CASES) for op in operators_in(file)})


def lost_defects(op: str) -> list[Demand]:
    """Return the defects in versions of an operator that cases of level deep alone show."""
    cases = load((), [op])
    in_core = {case.id for case in cases if case.level in CORE}
    shown = defects(cases, shipped_ledgers())
    return [defect for defect, ids in shown if in_core.isdisjoint(ids)]


@pytest.mark.sampled(3, evenly=True)
@pytest.mark.parametrize("op", OPERATORS)
def test_each_known_defect_has_a_core_case_in_each_version(op: str) -> None:
    assert lost_defects(op) == []
