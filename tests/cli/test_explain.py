"""`opcheck explain` knows every name that an output prints."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from opcheck.engine import operators
from opcheck.errors import UsageError
from opcheck.execution.explain import explanations
from opcheck.execution.mutate import all_mutants
from opcheck.known import shipped_ledgers
from opcheck.model import FAILURES, OpVersion, Verdict
from opcheck.model.explained import FAILURES as MEANINGS_OF_FAILURES, VERDICTS

TESTS = Path(__file__).parent.parent
#: Where outputs are held that name mistakes and defects.
SNAPSHOTS = [*TESTS.glob("cli/snapshots/*.txt"), *TESTS.glob("report/snapshots/*.txt")]
#: How a mistake stands at the end of a line of causes.
MISTAKE = re.compile(r"(?:looks|or|likely cause:?) .*\(([a-z][a-z0-9_]+)\)$")
DEFECT = re.compile(r"\b(?:ORT|OV|REF|TORCH|TRACT)-\d{4}\b")


@pytest.fixture(scope="module")
def mistakes() -> set[str]:
    """The names of all mutants."""
    names: set[str] = set()
    for operator in operators.every():
        for since in operator.formulas:
            for mutant in all_mutants(OpVersion(operator.domain, operator.name, since)):
                names.update(mutant.names)
    return names


def lines_of_snapshots() -> Iterator[str]:
    for file in SNAPSHOTS:
        yield from file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_is_explained(verdict: Verdict) -> None:
    [explanation] = explanations(str(verdict))
    assert explanation.lines[0][1] == VERDICTS[verdict][0]


def test_every_way_to_fail_is_explained() -> None:
    assert MEANINGS_OF_FAILURES.keys() == {*FAILURES}
    assert explanations("other_data")


def test_every_verdict_stands_in_the_table_of_verdicts() -> None:
    page = (TESTS.parent / "docs" / "verdicts.md").read_text(encoding="utf-8")
    rows = " ".join(re.findall(r"^\| ([a-z, `_]+) \|", page, re.MULTILINE))
    assert {verdict for verdict in Verdict if str(verdict) not in rows} == set()


def test_mistakes_in_outputs_are_known(mistakes: set[str]) -> None:
    printed = {found[1] for line in lines_of_snapshots() if (found := MISTAKE.search(line))}
    assert printed
    assert printed <= mistakes


def test_defects_in_outputs_are_known() -> None:
    printed = {id for line in lines_of_snapshots() for id in DEFECT.findall(line)}
    known = {line.id for ledger in shipped_ledgers() for line in ledger.fields.known}
    retired = {id for ledger in shipped_ledgers() for id in ledger.fields.retired}
    assert printed <= known | retired


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("ORT-0002", "defect ORT-0002"),
        ("ort-0046", "defect ORT-0046"),
        ("nan-in-maximum", "ruling nan-in-maximum"),
        ("hardmax", "operator Hardmax"),
        ("saturated_in_float16", "mistake saturated_in_float16"),
        ("not_checked", "mistake not_checked"),
        ("last_of_ties+computed_in_float32", "mistake computed_in_float32"),
    ],
)
def test_names_of_each_kind_are_explained(name: str, title: str) -> None:
    assert title in [explanation.title for explanation in explanations(name)]


def test_words_of_a_sentence_are_explained_by_all_that_hold_them(wording) -> None:
    assert [
        explanation.title for explanation in explanations("coerced into a 2-dimensional tensor")
    ] == wording


@pytest.mark.parametrize("name", ["last_of_ties", "square_for_cube"])
def test_a_mistake_is_of_operators_or_of_a_function_of_theirs(name: str, wording) -> None:
    [explanation] = explanations(name)
    assert dict(explanation.lines)["operators"] == wording


@pytest.mark.parametrize("name", ["dilations_and_strides_exchanged", "alpha_always_0.2"])
def test_a_mistake_that_suites_are_not_asked_about_has_no_command(name: str) -> None:
    labels = {label for one in explanations(name) for label, _ in one.lines}
    assert labels == {"means", "operators"}


def test_a_case_is_shown(run) -> None:
    case = "Softmax/worked_example@opset=13,dtype=float32"
    assert run("explain", case, code=0).stdout == run("show", case, code=0).stdout


@pytest.mark.parametrize("name", ["nonsense", "fial", "ORT-9999", "no such words anywhere here"])
def test_an_unknown_name_is_an_error(name: str) -> None:
    with pytest.raises(UsageError):
        explanations(name)
