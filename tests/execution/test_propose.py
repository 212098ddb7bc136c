"""Cases that are proposed for mistakes, on small suites that miss them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from opcheck.engine.mutants import Mutant, mutants_of
from opcheck.engine.mutants.mutant import STATEFUL
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.propose import proposals
from opcheck.model import Case, Computed, Fill, Given, OpVersion, Rejected, Values, Verdict
from opcheck.model.mutation import MutantId, Proposal
from opcheck.suite import materialize
from tests import inline
from tests.asking import cases_in

WEAK = {
    "Hardmax": "- {name: weak, attrs: {axis: null}, inputs: {input: [[1, 0]]}}",
    "Softmax": "- {name: weak, attrs: {axis: null}, inputs: {input: [[1, 0]]}}",
    "LpPool": "- {name: weak, attrs: {kernel_shape: [1]}, inputs: {X: [[[1, 0]]]}}",
}


def weak(folder: Path, op: str, since: int, *types: str) -> tuple[Case, ...]:
    """A suite that sees next to nothing."""
    matrix = f"matrix: {{dtype: [{', '.join(types)}]}}"
    return cases_in(folder, f"op: {op}\nopset: {since}\n{matrix}\ncases:\n{WEAK[op]}\n")


def named(op: OpVersion, name: str) -> Mutant:
    return next(mutant for mutant in mutants_of(op) if mutant.name == name)


def mutants(cases: Sequence[Case], name: str) -> list[MutantId]:
    found = []
    for case in cases:
        assert case.dtype
        found.append(MutantId(case.op, case.dtype.name, name, named(case.op, name).text))
    return found


def proposed(cases: Sequence[Case], name: str, tries: int = 600) -> list[Proposal]:
    return list(proposals(mutants(cases, name), cases, tries))


def verdicts(case: Case, mutant: Mutant) -> tuple[Verdict, Verdict]:
    """That of who makes the mistake, and that of the engine."""
    right = Mutant("right", "nothing was wrong", lambda node: node.right)
    lying, honest = (
        inline.result_of(CaseEvaluation(case), inline.lying(one)) for one in (mutant, right)
    )
    return lying.verdict, honest.verdict


@pytest.mark.parametrize(
    ("op", "since", "name"),
    [
        ("Hardmax", 13, "last_of_ties"),
        ("Hardmax", 1, "coercion_one_axis_short"),
        ("Hardmax", 13, "refuses_constants"),
        ("Hardmax", 11, "axis_in_32_bits"),
        ("Softmax", 13, "nothing_subtracted"),
        ("Softmax", 11, "refuses_rank_5"),
        ("LpPool", 22, "pads_interleaved"),
        ("LpPool", 18, "ceil_mode_ignored"),
        ("LpPool", 2, "negative_pads_cut"),
        ("LpPool", 11, "rank_2_is_unbatched"),
    ],
)
def test_what_is_proposed_kills_and_accuses_nobody_else(tmp_path, op, since, name) -> None:
    cases = weak(tmp_path, op, since, "float32")
    mutant = named(cases[0].op, name)
    [found] = proposed(cases, name, 1500)
    assert found.mutants == (
        MutantId(cases[0].op, "float32", name, mutant.text, mutant.once_a_version),
    )
    assert found.case.op == cases[0].op
    wrong, right = verdicts(found.case, mutant)
    assert wrong in (Verdict.FAIL, Verdict.ERROR)
    assert right is Verdict.PASS


def test_it_is_as_small_as_can_be(tmp_path: Path) -> None:
    [found] = proposed(weak(tmp_path, "Hardmax", 13, "float32"), "last_of_ties")
    assert [materialize(spec).tolist() for spec in found.case.inputs] == [[0, 0]]
    assert found.case.attrs == {}


def test_its_answer_is_written_out(tmp_path: Path) -> None:
    [found] = proposed(weak(tmp_path, "Hardmax", 13, "float32"), "last_of_ties")
    assert isinstance(found.case.expect, Values)
    [output] = found.case.expect.outputs
    assert isinstance(output.content, Given)
    assert output.content.values.tolist() == [1, 0]


def test_what_takes_size_alone_is_filled_by_rule(tmp_path: Path) -> None:
    [found] = proposed(weak(tmp_path, "Hardmax", 13, "float32"), "index_in_16_bits", 2000)
    assert isinstance(found.case.inputs[0].content, Fill)
    assert isinstance(found.case.expect, Computed)


def test_what_should_be_refused_comes_with_a_legal_twin(tmp_path: Path) -> None:
    [found] = proposed(weak(tmp_path, "Hardmax", 13, "float32"), "axis_clamped")
    assert isinstance(found.case.expect, Rejected)
    assert "axis 1 is outside [-1, 0]" in found.case.expect.reason
    assert not found.case.expect.reason.startswith("Hardmax")
    assert found.case.expect.legal.attrs == {}


def test_an_axis_too_few_is_made_legal_by_one_more(tmp_path: Path) -> None:
    [found] = proposed(weak(tmp_path, "LpPool", 11, "float32"), "rank_2_is_unbatched", 1500)
    assert isinstance(found.case.expect, Rejected)
    [mine], [legal] = found.case.inputs, found.case.expect.legal.inputs
    assert legal.shape == (1, *mine.shape)


def test_one_proposal_serves_all_types_that_it_can(tmp_path: Path) -> None:
    cases = weak(tmp_path, "Hardmax", 13, "float16", "float32", "float64")
    [found] = proposed(cases, "last_of_ties")
    assert [mutant.dtype for mutant in found.mutants] == ["float16", "float32", "float64"]


@pytest.mark.parametrize(
    "name", ["nothing_subtracted", "sum_in_float32", "exponent_above_minus_50"]
)
def test_no_type_gets_two(tmp_path: Path, name: str) -> None:
    cases = weak(tmp_path, "Softmax", 13, "float16", "float32", "float64")
    found = [mutant for proposal in proposed(cases, name) for mutant in proposal.mutants]
    assert found
    assert len(set(found)) == len(found)


def test_the_same_is_proposed_each_time_in_however_many_processes(tmp_path: Path) -> None:
    cases = weak(tmp_path, "Hardmax", 13, "float32")
    wanted = [m for name in ("last_of_ties", "axis_clamped") for m in mutants(cases, name)]

    def asked(jobs: int) -> list[object]:
        found = proposals(wanted, cases, 300, jobs)
        return sorted((p.mutants, str(p.case.attrs), p.case.inputs[0].shape) for p in found)

    assert len(asked(1)) == 2
    assert asked(1) == asked(2)


def test_nothing_is_proposed_where_nothing_is_found(tmp_path: Path) -> None:
    assert proposed(weak(tmp_path, "Softmax", 13, "float32"), "subnormal_inputs_flushed") == []
    assert proposed(weak(tmp_path, "Hardmax", 13, "float16"), "last_of_ties", tries=0) == []


def test_habits_show_in_no_single_input(tmp_path: Path) -> None:
    cases = weak(tmp_path, "Hardmax", 13, "float32")
    stateful = STATEFUL[0]
    survivor = MutantId(cases[0].op, "float32", stateful.name, stateful.text)
    assert list(proposals([survivor], cases, 50)) == []
