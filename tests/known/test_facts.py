"""What a ledger is checked against is no more than its operators need."""

from collections.abc import Collection

from opcheck.known import Facts
from opcheck.model import Case
from tests.known.ledgers import case

READ = [case("ties"), case("zeros", op="Softmax")]
SHIPPED = [case("ties"), case("windows", op="LpPool")]


def facts(asked: list[str], *, whole: bool) -> Facts:
    """Facts on the cases that were read; `asked` gets the operators whose suites are read then."""

    def elsewhere(ops: Collection[str]) -> list[Case]:
        asked.extend(sorted(ops))
        return [one for one in SHIPPED if one.op.name in ops]

    return Facts(
        backends=[],
        cases=READ,
        whole=whole,
        elsewhere=elsewhere,
        why_none=lambda _: None,
        looks=lambda _: set(),
    )


def test_suites_that_were_read_whole_are_not_read_again() -> None:
    asked: list[str] = []
    assert facts(asked, whole=True).all_cases(["Hardmax", "Softmax"]) == READ
    assert asked == []


def test_suites_that_were_not_read_are_read_then() -> None:
    asked: list[str] = []
    found = facts(asked, whole=True).all_cases(["Hardmax", "LpPool"])
    assert {one.id for one in found} == {one.id for one in (*READ, *SHIPPED)}
    assert asked == ["LpPool"]


def test_cases_of_files_may_be_fewer_than_those_of_the_suites() -> None:
    asked: list[str] = []
    facts(asked, whole=False).all_cases(["Hardmax"])
    assert asked == ["Hardmax"]


def test_cases_are_found_by_their_operators_each_once() -> None:
    assert facts([], whole=True).read_cases(["Softmax", "Gemm", "Softmax"]) == READ[1:]
