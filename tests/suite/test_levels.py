"""Which rows level core needs, on small suites of which it is known what each case shows."""

from collections.abc import Mapping

import pytest

from opcheck.model import OpVersion
from opcheck.suite import select
from opcheck.suite.levels import CASE_WORK, SHARE, Demand, Proposal, propose
from opcheck.suite.select import EVERYTHING
from tests.asking import cases_in

OP = OpVersion("", "Hardmax", 13)
OLD = OpVersion("", "Hardmax", 11)
HEAD = "op: Hardmax\nopset: 13\nattrs: {axis: 0}\ninputs: {input: [1, 2]}\ndtype: float32\ncases:\n"


def mutant(name: str, op: OpVersion = OP, dtype: str = "float32") -> Demand:
    return Demand("mutant", op, name, dtype)


@pytest.fixture
def proposal(tmp_path):
    """What is proposed for a file, of whose cases it is stated what they show."""

    def proposed(entries: str, shown: Mapping[Demand, list[str]], share: float = SHARE):
        cases = select(cases_in(tmp_path, HEAD + entries), EVERYTHING)
        full = {demand: [f"Hardmax/{id}" for id in ids] for demand, ids in shown.items()}
        return propose(cases, full.items(), share)

    return proposed


def names(proposal: Proposal, places) -> list[str]:
    return [f"{proposal.rows[n]} {proposal.rows[n].dtype}".strip() for n in places]


def test_a_row_that_shows_what_core_does_not_show_is_missing(proposal):
    found = proposal(
        "- {name: a}\n- {name: b, level: deep}\n", {mutant("x"): ["a"], mutant("y"): ["b"]}
    )
    assert names(found, found.missing) == ["b float32"]
    assert found.idle == ()
    assert found.gains == {found.missing[0]: {mutant("y")}}
    before, after = found.before("Hardmax"), found.after("Hardmax")
    assert (before.cases, before.seen, before.mutants, before.share) == (1, 1, 2, 0.5)
    assert (after.cases, after.seen, after.mutants, after.share) == (2, 2, 2, 1)
    assert (before.work, after.work) == (CASE_WORK + 2, 2 * (CASE_WORK + 2))


def test_a_row_that_shows_what_others_show_is_not_needed(proposal):
    found = proposal("- {name: a}\n- {name: b}\n", {mutant("x"): ["a", "b"], mutant("y"): ["b"]})
    assert names(found, found.idle) == ["a float32"]
    assert found.missing == ()
    assert found.reasons == {1: {mutant("x"), mutant("y")}}


def test_core_is_as_proposed_where_each_row_is_needed(proposal):
    found = proposal("- {name: a}\n- {name: b}\n", {mutant("x"): ["a"], mutant("y"): ["b"]})
    assert (found.missing, found.idle) == ((), ())


def test_rows_and_dtypes_of_a_row_have_a_level_each(proposal):
    found = proposal(
        "- name: a\n  matrix: {dtype: [float16, float32]}\n"
        "  rows: [{label: p}, {label: q, attrs: {axis: -1}}]\n",
        {mutant("x"): ["a@dtype=float16#q"], mutant("y"): ["a@dtype=float32#p"]},
    )
    assert names(found, sorted(found.needed)) == ["a#p float32", "a#q float16"]
    assert names(found, found.idle) == ["a#p float16", "a#q float32"]


def test_a_row_of_level_smoke_stays_though_it_shows_nothing(proposal):
    found = proposal("- {name: a, level: smoke}\n- {name: b}\n", {mutant("x"): ["b"]})
    assert (found.missing, found.idle) == ((), ())
    assert found.reasons == {0: set(), 1: {mutant("x")}}


def test_large_tensors_cost_more_than_small_ones(proposal):
    large = "inputs: {input: {shape: [20000], constant: 1}}"
    found = proposal(
        f"- {{name: large, {large}}}\n- {{name: b}}\n- {{name: c}}\n",
        {mutant("x"): ["large", "b"], mutant("y"): ["large", "c"]},
    )
    assert names(found, found.idle) == ["large float32"]


def of_100(op: OpVersion, dtype: str) -> dict[Demand, list[str]]:
    """A hundred mutants, of which one shows in `b` alone."""
    shown = {mutant(f"m{n}", op, dtype): ["a"] for n in range(99)}
    return {**shown, mutant("rare", op, dtype): ["b"]}


def test_one_mutant_in_a_hundred_may_be_missed(proposal):
    entries = "- {name: a}\n- {name: b}\n- {name: old, opset: 11}\n"
    for op, dtype in (OP, "float16"), (OLD, "float32"):
        shown = {**of_100(op, dtype), Demand("sentence", OLD, "it"): ["old"]}
        found = proposal(entries, shown)
        assert names(found, found.idle) == ["b float32"]


def test_no_mutant_of_float32_in_the_newest_version_is_missed(proposal):
    found = proposal("- {name: a}\n- {name: b}\n", of_100(OP, "float32"))
    assert found.idle == ()


@pytest.mark.parametrize("kind", ["sentence", "situation", "defect", "type"])
def test_everything_but_mutants_is_always_shown(proposal, kind):
    shown = {**of_100(OP, "float16"), Demand(kind, OLD, "it"): ["c"]}
    found = proposal("- {name: a}\n- {name: b}\n- {name: c, level: deep}\n", shown)
    assert names(found, found.missing) == ["c float32"]
    assert names(found, found.idle) == ["b float32"]


def test_a_demand_reads_as_what_it_is_about():
    assert str(mutant("last_of_ties")) == "mutant last_of_ties (Hardmax-13 float32)"
    assert str(Demand("defect", OLD, "acme ACME-0001")) == "defect acme ACME-0001 (Hardmax-11)"


def test_the_newest_opset_of_a_matrix_and_the_older_ones_are_rows_of_their_own(proposal):
    found = proposal(
        "- {name: a, matrix: {opset: [11, 12, 13]}}\n- {name: b}\n",
        {mutant("x"): ["a@opset=13"], mutant("y"): ["b"]},
    )
    assert [found.rows[n].place for n in found.idle] == ["float32@older"]
    assert [case.opset for case in found.rows[found.idle[0]].cases] == [11, 12]
    assert sorted(found.rows[n].place for n in found.needed) == ["float32", "float32@newest"]
