"""`opcheck explain` knows every name that an output prints."""

import re
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

from opcheck.analysis import ChangeKind
from opcheck.backends.address import built_in
from opcheck.engine import operators
from opcheck.errors import Exit, UsageError
from opcheck.execution.explain import explanations
from opcheck.execution.mutate import all_mutants
from opcheck.known import shipped_ledgers
from opcheck.model import FAILURES, OpVersion, Verdict
from opcheck.model.case import Level, Rule
from opcheck.model.explained import FAILURES as MEANINGS_OF_FAILURES, VERDICTS, WORDS
from opcheck.suite.select import HUGE
from opcheck.timing import Word

TESTS = Path(__file__).parent.parent
#: Where outputs are held that name mistakes and defects.
SNAPSHOTS = [*TESTS.glob("cli/snapshots/*.txt"), *TESTS.glob("report/snapshots/*.txt")]
#: How a mistake stands at the end of a line of causes.
MISTAKE = re.compile(r"(?:likely|looks|or|likely cause:?) .*\(([a-z][a-z0-9_]+)\)$")
#: The line under the head of a table, and what parts its columns.
RULE = re.compile(r"\s*[─-]{8,}")
BLANKS = re.compile(r"\s{2,}")
#: A label, indented by two blanks, or by six in a snapshot of several texts.
LABELLED = re.compile(r"(?: {4})?  ([a-z]+) {2,}\S")
LISTED = re.compile(r"  [A-Z]\w+-\d+, ([a-z]+), ([a-z]+), ([a-z]+)")
#: Backends of the tests, with their versions, are heads of columns too.
BACKEND = re.compile(r"\w+ \d+\.\d+")
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
    # Some are of any operator, or of none that suites are asked about.
    assert {name for name in printed - mistakes if not is_explained(name)} == set()


def heads() -> set[str]:
    """The heads of all columns of tables."""
    found: set[str] = set()
    before = ""
    for line in lines_of_snapshots():
        if RULE.fullmatch(line):
            found.update(filter(None, BLANKS.split(before.strip())))
        before = line
    return {head for head in found if not BACKEND.fullmatch(head)}


def labels() -> set[str]:
    """The labels of lines: of a failure, and of a mutant."""
    return {found[1] for line in lines_of_snapshots() if (found := LABELLED.match(line))}


def words_of_listed_cases() -> set[str]:
    """The rule, the level and the expected answer of cases that are listed."""
    return {word for line in lines_of_snapshots() for word in chain(*LISTED.findall(line))}


def labels_of_located_models() -> set[str]:
    """The labels of the lines below the failure of `opcheck locate`, which are not indented."""
    text = (TESTS / "cli" / "snapshots" / "test_models.txt").read_text(encoding="utf-8")
    words = "the model|nodes|branches|around|exposed|alone"
    return {*re.findall(rf"^(?: {{4}})?({words}) {{2,}}\S", text, re.MULTILINE)}


def backends_that_can_be_named() -> set[str]:
    return {*built_in()}


@pytest.mark.parametrize(
    "collected",
    [
        heads,
        labels,
        words_of_listed_cases,
        labels_of_located_models,
        backends_that_can_be_named,
    ],
)
def test_words_in_outputs_are_explained(collected) -> None:
    printed = collected()
    assert len(printed) > 1
    assert {word for word in printed if not is_explained(word)} == set()


def test_a_contradiction_is_explained() -> None:
    assert is_explained("CONTRADICTION")


def test_a_name_without_version_and_types_is_its_first_case(run) -> None:
    shown = run("explain", "Softmax/worked_example", code=0)
    first = run("list", "--case", "Softmax/worked_example@*", code=0).stdout.split()[1]
    assert first in shown.stdout
    assert "Softmax/worked_example*" in shown.stderr
    run("explain", "Softmax/worked_exampl", code=2)


def is_explained(word: str) -> bool:
    try:
        return bool(explanations(word))
    except UsageError:
        return False


def test_every_other_kind_of_word_is_explained_whole() -> None:
    assert {*WORDS["change between two runs"]} == {*map(str, ChangeKind)}
    assert {*WORDS["exit code"]} == {f"exit {code:d}" for code in Exit}
    assert {*WORDS["level"]} == {*get_args(Level), HUGE}
    assert {*WORDS["rule"]} == {*get_args(Rule)}
    assert {*WORDS["verdict on a time"]} == {*get_args(Word), "baseline"}


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
        ("Hardmax-13", "operator Hardmax"),
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
    whole = run("explain", case, code=0).stdout
    as_shown = run("show", case, code=0).stdout
    assert whole.startswith(as_shown)
    # Below, the steps that lead to the element in the middle, or to the one that is named.
    assert "output[0, 1] = " in whole.removeprefix(as_shown)
    assert "output[0, 2] = " in run("explain", case, "--element", "0,2", code=0).stdout


def test_steps_that_are_not_shown_are_said_to_be_so(run) -> None:
    case = "Relu/by_hand@opset=14,dtype=int8#relu_integers"
    hidden = run("explain", case, code=0).stdout.removeprefix(run("show", case).stdout)
    assert len(hidden.splitlines()) == 4


@pytest.mark.parametrize(
    "words",
    [
        ("Softmax/worked_example@opset=13,dtype=float32", "--element", "0,7"),
        ("Softmax/worked_example@opset=13,dtype=float32", "--element", "a"),
        ("warn", "--element", "0"),
    ],
)
def test_an_element_that_cannot_be_meant_is_an_error(run, words) -> None:
    run("explain", *words, code=2)


@pytest.mark.parametrize("name", ["nonsense", "fial", "ORT-9999", "no such words anywhere here"])
def test_an_unknown_name_is_an_error(name: str) -> None:
    with pytest.raises(UsageError):
        explanations(name)


def test_the_next_command_of_a_backend_that_only_accepts_invalid_models_is_explained(run):
    found = run("run", "--case", "Hardmax/*out_of_range*", "-b", "last_of_ties", code=1)
    [command] = re.findall(r"^  opcheck (explain .*)$", found.output, re.MULTILINE)
    assert run(*shlex.split(command, comments=True)).output.startswith("cause: ")
