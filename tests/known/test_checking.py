"""What a ledger lists in vain is told before anything runs."""

import pytest

from opcheck.errors import CaseFileError
from opcheck.known import Gate
from opcheck.known.ledgers import Facts, check, is_dead
from tests.known.ledgers import INFO, case, entry, ledger

READ = [
    *(case("ties", dtype=dtype, opset=13) for dtype in ("float16", "float32")),
    case("ties", opset=11),
    case("axes", row="first"),
    case("axes", row="last", attrs={"axis": 1}),
    case("zeros", op="Softmax"),
]
ELSEWHERE = [case("windows", op="LpPool")]


def told(*said, pruned=None, backends=(INFO,), cases=READ) -> list[str]:
    """The problems of ledgers, without the folder they are in."""
    facts = Facts(
        backends,
        cases,
        lambda: ELSEWHERE,
        lambda name: "no such kind" if name == "acne" else None,
        lambda op: {"last_of_ties"} if op.name == "Hardmax" else set(),
    )
    try:
        check(Gate(said), facts, pruned)
    except CaseFileError as error:
        return [line.replace(f"{said[0].path.parent}/", "") for line in error.lines()[:-1]]
    return []


@pytest.mark.parametrize(
    "where",
    [
        "[{op: Hardmax}]",
        "[{op: Hardmax, name: [ties, axes]}]",
        "[{op: Hardmax, name: ties, opset: [11, 13], dtype: [float16, float32]}]",
        "[{op: [Hardmax, Softmax], dtype: float32}]",
        "[{op: Hardmax, row: [first, last]}]",
        "[{op: Hardmax, attrs: {axis: 1}}]",
        "[{case: 'Hardmax/ties@opset=11,dtype=float32'}]",
        # Cases of the shipped suites, which this run was not asked for.
        "[{op: LpPool, name: windows}]",
        "[{op: [Hardmax, LpPool]}]",
    ],
)
def test_what_is_somewhere_may_be_listed(tmp_path, where):
    assert told(ledger(tmp_path, entry(where))) == []


@pytest.mark.parametrize(
    ("where", "column", "words"),
    [
        ("[{op: Hardmx}]", 66, "unknown operator 'Hardmx' (did you mean 'Hardmax'"),
        ("[{op: '*'}]", 66, "unknown operator '*' (there are no wildcards: "),
        ("[{op: 'Hard*'}]", 66, "there are no wildcards"),
        ("[{op: Hardmax, name: tie}]", 81, "has the name 'tie' (did you mean 'ties'?)"),
        ("[{op: Hardmax, name: '*'}]", 81, "has the name '*' (there are axes, ties)"),
        ("[{op: Hardmax, name: [ties, axis]}]", 88, "has the name 'axis' (did you mean 'axes'?)"),
        ("[{op: Hardmax, name: axes, row: frist}]", 92, "has the row 'frist' (did you mean"),
        ("[{op: Hardmax, name: ties, row: first}]", 92, "has the row 'first'"),
        ("[{op: Hardmax, opset: 12}]", 82, "has the opset 12 (there are 11, 13)"),
        ("[{op: Hardmax, opset: [11, 13, 15]}]", 91, "has the opset 15"),
        ("[{op: Hardmax, dtype: float64}]", 82, "has the dtype 'float64'"),
        # Each is somewhere, but not all of them together.
        ("[{op: Hardmax, name: [ties, axes], opset: 11}]", 88, "has the name 'axes' and what"),
        ("[{op: Relu}]", 66, "none of the cases that were read has the op 'Relu'"),
        ("[{op: Hardmax, attrs: {axis: 7}}]", 82, "with this op has these attributes"),
        ("[{case: Hardmax/ties}]", 68, "has the case 'Hardmax/ties'"),
    ],
)
def test_what_is_nowhere_is_told_with_its_place(tmp_path, where, column, words):
    (said,) = told(ledger(tmp_path, entry(where)))
    assert said.startswith(f"mine.yaml:3:{column}: ")
    assert words in said


def test_a_case_that_was_not_selected_is_not_missed(tmp_path):
    # `cases` are all that were read; which of them run is no matter here.
    assert told(ledger(tmp_path, entry("[{op: Softmax, name: zeros}]"))) == []


def test_what_is_nowhere_may_be_pruned(tmp_path):
    said = ledger(tmp_path, entry("[{op: Hardmax, name: [ties, gone]}]"))
    assert told(said, pruned=said) == []
    assert len(told(said)) == 1
    place = said.fields.known[0].where[0]
    assert is_dead(place, READ)
    assert not is_dead(place, [*READ, case("gone")])


def test_a_case_is_listed_once(tmp_path):
    one = ledger(tmp_path, entry("[{op: Hardmax, opset: 13}]"), entry("[{op: Hardmax, row: last}]"))
    (said,) = told(one)
    assert said.startswith("mine.yaml:4:")
    assert said.endswith("mine.yaml:3 too")
    other = ledger(tmp_path, entry("[{op: Softmax}]"), name="other.yaml")
    assert told(ledger(tmp_path, entry("[{op: Hardmax}]")), other) == []
    (said,) = told(ledger(tmp_path, entry("[{op: [Hardmax, Softmax]}]")), other)
    assert said.startswith("other.yaml:3:")


def test_two_entries_of_versions_that_exclude_each_other_list_no_case_twice(tmp_path):
    said = ledger(tmp_path, entry(versions="'<1.5'"), entry(versions="'>=1.5'", failure="shape"))
    assert told(said) == []


def test_a_ledger_has_to_be_about_a_backend_of_the_run(tmp_path):
    said = ledger(tmp_path, entry(), backend="bolt")
    assert told(said) == ["mine.yaml:1:10: this ledger is about no backend of the run, 'acme'"]
    assert told(said, ledger(tmp_path, entry(), name="acme.yaml")) == []


def test_a_backend_that_cannot_be_is_told(tmp_path):
    said = ledger(tmp_path, entry(), backend="[acme, acne]")
    assert told(said) == ["mine.yaml:1:17: 'acne' is no backend: no such kind"]


def test_versions_of_a_backend_that_has_none_are_told(tmp_path):
    said = ledger(tmp_path, entry(), entry("[{op: Softmax}]", versions="'>=1'"))
    for version in ("", "unknown"):
        info = INFO.__class__("acme", "acme", version)
        (found,) = told(said, backends=[info])
        assert found.startswith("mine.yaml:4:53: acme has a version that lies in no range: ")
        assert found.endswith("(leave 'versions' out)")


@pytest.mark.parametrize(
    ("op", "name", "words"),
    [
        ("Hardmax", "last_of_tie", "'last_of_tie' of Hardmax (did you mean 'last_of_ties'?)"),
        ("Softmax", "last_of_ties", "there is no mistake 'last_of_ties' of Softmax"),
    ],
)
def test_a_mistake_that_nobody_knows_is_told(tmp_path, op, name, words):
    (said,) = told(ledger(tmp_path, entry(f"[{{op: {op}}}]", looks=name)))
    assert words in said


def test_all_is_told_at_once(tmp_path):
    one = ledger(tmp_path, entry("[{op: Hardmx}]"), entry("[{op: Hardmax, name: tie}]"))
    other = ledger(tmp_path, entry("[{op: Hardmax, opset: 1}]"), name="other.yaml")
    assert len(told(one, other)) == 3
