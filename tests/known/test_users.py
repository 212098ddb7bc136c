"""A user's ledger is a gate: what is listed fails as it is listed, and all else passes."""

from pathlib import Path
from typing import Any

import pytest

from opcheck.analysis import is_red, reds
from opcheck.errors import CaseFileError
from opcheck.known import Facts, Gate, LedgerEntry, check, is_dead, load_user_ledgers, says
from opcheck.model import Verdict
from tests.expecting import error_of
from tests.known.ledgers import INFO, case, entry, failing, judged, ledger
from tests.report.made import CASE, recorded, result

LISTABLE = sorted(reds(strict=True) - {Verdict.UNEXPECTED_PASS})


def is_red_now(found) -> bool:
    return is_red(recorded(found), reds())


def test_what_fails_as_listed_is_known_and_green(tmp_path):
    found = judged(failing(reason="wrong"), ledger(tmp_path, entry(link="'https://example.org/1'")))
    assert (found.verdict, found.found, found.reason) == (Verdict.KNOWN, Verdict.FAIL, "wrong")
    assert not is_red_now(found)
    known = found.known
    assert known is not None
    assert (known.cause, known.link) == ("Because.", "https://example.org/1")
    assert (known.ledger, known.line) == (str(tmp_path / "mine.yaml"), 3)
    assert known.expected == "fail (values)"


def test_cases_of_ones_own_and_shipped_ones_are_listed_alike(tmp_path):
    said = ledger(tmp_path, entry())
    for shipped in (True, False):
        source = CASE.source.__class__("cases/onnx/softmax.hardmax.yaml", 1, 1, shipped=shipped)
        assert judged(failing(source=source), said).verdict is Verdict.KNOWN


DIFFERENT: dict[str, dict[str, Any]] = {
    "another verdict": {"verdict": Verdict.CRASH, "failure": "crash"},
    "another way to fail": {"failure": "dtype"},
    "another mistake": {"looks": ["first_nan"]},
    "another reason": {"reason": "no memory"},
    "a warning": {"verdict": Verdict.WARN},
    "unsupported": {"verdict": Verdict.UNSUPPORTED, "failure": None},
}


@pytest.mark.parametrize("how", DIFFERENT)
def test_what_fails_otherwise_than_listed_is_red_and_tells_the_entry(tmp_path, how, wording):
    said = ledger(tmp_path, entry(looks="last_of_ties", reason="'no kernel'"))
    as_listed = {"reason": "there is no kernel", "looks": ["last_of_ties"]}
    fields: dict[str, Any] = {**as_listed, **DIFFERENT[how]}
    looks = fields.pop("looks")
    assert judged(failing(reason="there is no kernel"), said, looks=["last_of_ties"]).known
    found = judged(failing(**fields), said, looks=looks)
    assert found.verdict is fields.get("verdict", Verdict.FAIL)
    assert found.unexpected
    assert is_red_now(found)
    assert found.known is not None
    assert found.known.expected == wording


@pytest.mark.parametrize(
    "stated",
    [
        {"verdict": "fail"},
        {"failure": "values"},
        {"verdict": "crash", "failure": "crash"},
        {"verdict": ["fail", "error"], "failure": ["shape", "raised"]},
        {"verdict": "fail", "looks": ["a", "b"]},
    ],
)
def test_what_is_expected_is_told_in_words(stated, wording):
    said = {"cause": "Because.", "where": [{"op": "Relu"}], **stated}
    assert LedgerEntry.model_validate(said).expected == wording


def test_a_ledger_knows_whether_its_file_is_as_it_was_read(tmp_path):
    said = ledger(tmp_path, entry())
    assert said.is_unchanged()
    for changed in (said.path.read_bytes() + b"# more", b"a", b"\xff", None):
        said.path.unlink() if changed is None else said.path.write_bytes(changed)
        assert not said.is_unchanged()


@pytest.mark.parametrize(
    ("where", "line", "text"),
    [
        ("- {op: Softmax}\n- {op: Hardmax, opset: 13}", 7, "- {op: Hardmax, opset: 13}"),
        # The last place of an entry is deleted with the entry.
        ("- {op: Hardmax}", 3, "- verdict: fail …"),
    ],
)
def test_what_is_listed_and_passes_is_unexpected_and_the_line_to_delete_is_told(
    tmp_path, where, line, text
):
    found = judged(result(), ledger(tmp_path, f"verdict: fail\ncause: Because.\nwhere:\n{where}"))
    assert (found.verdict, found.found) == (Verdict.UNEXPECTED_PASS, Verdict.PASS)
    assert is_red_now(found)
    assert found.known is not None
    assert (found.known.line, found.known.text) == (line, text)


def test_what_fails_only_sometimes_may_pass_and_may_not_fail_otherwise(tmp_path):
    said = ledger(tmp_path, entry("[{op: Hardmax, name: first_of_ties}]", sometimes="true"))
    assert judged(result(), said).verdict is Verdict.PASS
    assert judged(failing(), said).verdict is Verdict.KNOWN
    assert is_red_now(judged(failing(failure="shape"), said))


@pytest.mark.parametrize("verdict", [Verdict.NOT_RUN, Verdict.BAD_CASE])
def test_of_a_case_that_nobody_judged_nothing_is_said(tmp_path, verdict):
    assert judged(result(verdict), ledger(tmp_path, entry())).known is None


@pytest.mark.parametrize("verdict", LISTABLE)
def test_every_failure_can_be_listed_by_its_verdict_alone(tmp_path, verdict):
    said = ledger(tmp_path, entry(verdict=verdict, failure=None))
    assert judged(failing(verdict=verdict), said).verdict is Verdict.KNOWN


def test_a_backend_that_drops_a_case_does_not_pass(tmp_path):
    dropped = result(Verdict.UNSUPPORTED, reason="no kernel")
    said = ledger(tmp_path, entry("[{op: Softmax}]"))
    assert is_red_now(judged(dropped, said))
    assert not is_red_now(judged(dropped, said, address="another"))
    listed = ledger(tmp_path, entry(verdict="unsupported", failure=None))
    assert judged(dropped, listed).verdict is Verdict.KNOWN


def test_what_no_model_states_is_dropped_by_nobody(tmp_path):
    dropped = result(Verdict.UNSUPPORTED, inexpressible=True)
    assert not is_red_now(judged(dropped, ledger(tmp_path, entry("[{op: Softmax}]"))))


def test_what_fails_and_is_not_listed_is_as_it_was(tmp_path):
    found = failing()
    assert judged(found, ledger(tmp_path, entry("[{op: Softmax}]"))) is found


@pytest.mark.parametrize(
    ("backend", "about", "is_about"),
    [
        ("acme", {}, True),
        ("[bolt, acme]", {}, True),
        ("acme", {"address": "acme?threads=2"}, True),
        ("'acme?threads=2'", {"address": "acme?threads=2"}, True),
        ("'acme?threads=2'", {}, False),
        # A profile goes by its name, and by the address that it stands for.
        ("mine", {"address": "mine", "of": "acme"}, True),
        ("acme", {"address": "mine", "of": "acme"}, True),
        ("acme", {"address": "acme:GPU"}, False),
        # What was written on the command line may be shorter or longer than the backend's own.
        ("'acme:CPU'", {"address": "acme", "asked": "acme:CPU"}, True),
        ("'acme:CPU'", {"address": "acme", "asked": "acme:CPU?threads=2"}, True),
        ("'py:my.rt'", {"address": "py:my.rt:Rt?a=1"}, True),
        ("'py:my.rt:Rt'", {"address": "py:my.rt:Rt", "asked": "py:my.rt"}, True),
        ("'onnx:rt'", {"address": "mine", "of": "onnx:rt:Rt"}, True),
        ("'py:my.rt:Other'", {"address": "py:my.rt:Rt"}, False),
        ("'py:my'", {"address": "py:my.rt:Rt"}, False),
    ],
)
def test_a_ledger_is_about_the_backends_it_names(tmp_path, backend, about, is_about):
    said = ledger(tmp_path, entry(), backend=backend)
    assert (judged(failing(), said, **about).verdict is Verdict.KNOWN) is is_about


@pytest.mark.parametrize(("versions", "holds"), [("'>=1'", True), ("'<1.5'", False), (None, True)])
def test_an_entry_holds_for_its_versions(tmp_path, versions, holds):
    said = ledger(tmp_path, entry(versions=versions))
    assert (judged(failing(), said).verdict is Verdict.KNOWN) is holds
    assert is_red_now(judged(failing(), said)) is not holds


@pytest.mark.parametrize(
    ("reason", "pattern", "fits"),
    [
        ("no kernel for Hardmax(13)", "no kernel for Hardmax(*)", True),
        ("no kernel for Hardmax(13)", "kernel", True),
        ("no kernel for Hardmax(13)", "*kernel*13*", True),
        ("no kernel for Hardmax(13)", "Hardmax*kernel", False),
        ("no\n  kernel", "no kernel", True),
        ("no kernel", "No kernel", False),
        ("axis [1]", "axis [1]", True),
        ("axis 1", "axis [1]", False),
    ],
)
def test_a_reason_has_the_pattern_within(reason, pattern, fits):
    assert says(reason, pattern) is fits


def test_a_long_reason_takes_no_time():
    assert not says("a" * 1_000_000, "*".join("a" * 50) + "b")


BROKEN = [
    (entry(verdict="pass"), ":3:13: ", "'pass' is not a verdict to list: one of warn, fail"),
    (entry(verdict="unsuported"), ":3:13: ", "did you mean 'unsupported'?"),
    (entry(failure="value"), ":3:28: ", "'value' is not a way to fail"),
    (entry(verdict=None, failure=None), ":3:3: ", "'verdict' or 'failure' is missing"),
    (entry(cause=None), ":3:3: ", "'cause' is missing"),
    (entry(cause="''"), ":3:43: ", "known.cause: must not be empty"),
    (entry(versions="'1.5'"), ":3:", "write for example '>=1.20,<2'"),
    (entry(reasons="x"), ":3:", "unknown key 'reasons' (did you mean 'reason'"),
    (entry("[{op: Hardmax, opsets: 13}]"), ":3:", "did you mean 'opset'?"),
    (entry("[{op: Hardmax, opset: '13'}]"), ":3:", "opset"),
    # A ledger that matches everything.
    (entry("null"), ":3:", "known.where: no line is left: delete the whole entry, or say which"),
    (entry("[]"), ":3:", "where: must hold at least 1"),
    (entry("[{}]"), ":3:", "'op' is missing"),
    (entry("[{dtype: float32}]"), ":3:", "'op' is missing"),
    (entry("[{op: []}]"), ":3:", "op: must hold at least 1"),
    (entry("[{op: Hardmax, name: []}]"), ":3:", "name: must hold at least 1"),
    (entry(sometimes="true"), ":3:3: ", "cases that fail only sometimes may pass: state 'name'"),
]


@pytest.mark.parametrize(("text", "place", "words"), BROKEN)
def test_a_mistake_is_told_with_its_place(tmp_path, text, place, words):
    caught = error_of(CaseFileError, ledger, tmp_path, text)
    assert any(f"mine.yaml{place}" in told and words in told for told in caught.lines())


def test_every_mistake_of_every_ledger_is_told(tmp_path, wording):
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text("backend: []\nknown: []\n")
    other.write_text(f"backends: acme\nknown:\n- {entry(verdict='pass')}\n- {entry('[{}]')}\n")
    caught = error_of(CaseFileError, load_user_ledgers, [one, other, tmp_path / "gone.yaml"])
    told = "\n".join(caught.lines())
    assert told == wording
    assert "other.yaml:3:13: " in told
    assert "other.yaml:4:" in told
    assert told == wording


def test_a_ledger_that_is_named_twice_is_one(tmp_path, monkeypatch):
    said = ledger(tmp_path, entry())
    monkeypatch.chdir(tmp_path)
    assert len(load_user_ledgers([said.path, Path("mine.yaml"), Path("./mine.yaml")])) == 1


def test_without_a_ledger_nothing_is_said():
    assert Gate().apply(failing(), INFO, lambda _: False) is None


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
        backends=backends,
        cases=cases,
        whole=False,
        elsewhere=lambda ops: [one for one in ELSEWHERE if one.op.name in ops],
        why_none=lambda name: "no such kind" if name == "acne" else None,
        looks=lambda op: {"last_of_ties"} if op.name == "Hardmax" else set(),
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
        # Which of the cases that were read run is no matter here.
        "[{op: Softmax, name: zeros}]",
        # Cases of the shipped suites, which this run was not asked for.
        "[{op: LpPool, name: windows}]",
        "[{case: 'LpPool/windows@opset=13,dtype=float32'}]",
        "[{op: [Hardmax, LpPool]}]",
    ],
)
def test_what_is_somewhere_may_be_listed(tmp_path, where):
    assert told(ledger(tmp_path, entry(where))) == []


@pytest.mark.parametrize(
    ("where", "column"),
    [
        ("[{op: Hardmx}]", 66),
        ("[{op: '*'}]", 66),
        ("[{op: 'Hard*'}]", 66),
        ("[{op: Hardmax, name: tie}]", 81),
        ("[{op: Hardmax, name: '*'}]", 81),
        ("[{op: Hardmax, name: [ties, axis]}]", 88),
        ("[{op: Hardmax, name: axes, row: frist}]", 92),
        ("[{op: Hardmax, name: ties, row: first}]", 92),
        ("[{op: Hardmax, opset: 12}]", 82),
        ("[{op: Hardmax, opset: [11, 13, 15]}]", 91),
        ("[{op: Hardmax, dtype: float64}]", 82),
        # Each is somewhere, but not all of them together.
        ("[{op: Hardmax, name: [ties, axes], opset: 11}]", 88),
        ("[{op: Relu}]", 66),
        ("[{op: Hardmax, attrs: {axis: 7}}]", 82),
        ("[{case: Hardmax/ties}]", 68),
    ],
)
def test_what_is_nowhere_is_told_with_its_place(tmp_path, where, column, wording):
    (said,) = told(ledger(tmp_path, entry(where)))
    assert said.startswith(f"mine.yaml:3:{column}: ")
    assert said == wording


@pytest.mark.parametrize("names", ["stuvwxyz", "stuvwxyz~"])
def test_of_many_names_a_hint_lists_eight(tmp_path, names, wording):
    said = ledger(tmp_path, entry("[{op: Hardmax, name: '*'}]"))
    (found,) = told(said, cases=[*map(case, names)])
    assert found == wording


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
    assert said.endswith("mine.yaml:3 too")
    two = [entry(f"[{{case: '{CASE.id}'}}]"), entry(cause="Of the operator.")]
    found = judged(failing(), ledger(tmp_path, *two))
    assert found.known is not None
    assert found.known.cause == "Of the operator."


def test_two_entries_of_versions_that_exclude_each_other_list_no_case_twice(tmp_path):
    said = ledger(tmp_path, entry(versions="'<1.5'"), entry(versions="'>=1.5'", failure="shape"))
    assert told(said) == []


def test_a_ledger_has_to_be_about_a_backend_of_the_run(tmp_path, wording):
    said = ledger(tmp_path, entry(), backend="bolt")
    assert told(said) == [wording]
    assert told(said, ledger(tmp_path, entry(), name="acme.yaml")) == []


def test_a_backend_that_cannot_be_is_told(tmp_path, wording):
    said = ledger(tmp_path, entry(), backend="[acme, acne]")
    assert told(said) == [wording]


def test_versions_of_a_backend_that_has_none_are_told(tmp_path, wording):
    said = ledger(tmp_path, entry(), entry("[{op: Softmax}]", versions="'>=1'"))
    for version in ("", "unknown"):
        (found,) = told(said, backends=[INFO.__class__("acme", "acme", version)])
        assert found == wording
        assert found.endswith("(leave 'versions' out)")


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("Hardmax", "last_of_tie"),
        ("Softmax", "last_of_ties"),
    ],
)
def test_a_mistake_that_nobody_knows_is_told(tmp_path, op, name, wording):
    (said,) = told(ledger(tmp_path, entry(f"[{{op: {op}}}]", looks=name)))
    assert said == wording


def test_all_problems_of_all_ledgers_are_told_at_once(tmp_path):
    """A name of no backend, of no operator, of no case, and a mistake that nothing looks like."""
    mine = ledger(
        tmp_path,
        entry("[{op: Hardmx}]"),
        entry("[{op: Hardmax, name: tie, opset: 12, dtype: float64}]", looks="last_of_tie"),
        backend="acne",
    )
    other = ledger(tmp_path, entry("[{op: Hardmax, opset: 1}]"), name="other.yaml")
    assert [line.partition(": ")[0] for line in told(mine, other)] == [
        "mine.yaml:1:10",
        "mine.yaml:3:66",
        "mine.yaml:4:60",
        "mine.yaml:4:101",
        "mine.yaml:4:113",
        "mine.yaml:4:124",
        "other.yaml:3:82",
    ]


def test_names_of_no_operators_are_told_next_to_malformed_entries(tmp_path):
    entries = entry(verdict="pass"), entry("[{op: Hardmx}]"), entry("[{op: Hardmax, nmae: ties}]")
    problems = error_of(CaseFileError, ledger, tmp_path, *entries).problems
    assert [(problem.line, problem.column) for problem in problems] == [(3, 13), (4, 66), (5, 75)]
