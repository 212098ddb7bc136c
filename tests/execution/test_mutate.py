"""What a suite sees of mistakes, and which shipped cases see others, on small suites."""

import multiprocessing
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from opcheck import interrupt
from opcheck.engine.mutants import Mutant, mutants_of
from opcheck.engine.mutants.mutant import STATEFUL
from opcheck.errors import Exit, ProcessDied, UsageError
from opcheck.execution import mutate
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.execution.mutate import RED, CaseKills, MutationSettings, cells, mutants_in, mutations
from opcheck.execution.workers import in_parallel
from opcheck.model import Case, Fate, MutantId, Mutation, OpVersion, Score
from opcheck.suite import Selection, load, select
from tests import inline
from tests.asking import cases_in, shipped_cases
from tests.expecting import error_of
from tests.wording import Wording

HARDMAX13 = OpVersion("", "Hardmax", 13)
HEAD = "op: Hardmax\ndtype: float32\nopset: 13\nattrs: {axis: 1}\ncases:\n"
TIES = "- {name: ties, inputs: {input: [[3, 3]]}, expect: {output: [[1, 0]]}}\n"
NO_TIES = "- {name: no_ties, inputs: {input: [[3, 1, 2]]}, expect: {output: [[1, 0, 0]]}}\n"


def suite(folder: Path, *cases: str) -> tuple[Case, ...]:
    return cases_in(folder, HEAD + "".join(cases))


def seen(cases: Sequence[Case], *names: str, kills: int = 1) -> Mapping[str, Mutation]:
    """What becomes of the mistakes of these names, in the only cell that the cases are about."""
    found = mutations(cases, MutationSettings(names, kills))
    return {mutation.mutant.name: mutation for mutation in found}


def one(cases: Sequence[Case], name: str, kills: int = 1) -> Mutation:
    return seen(cases, name, kills=kills)[name]


def test_a_mistake_is_killed_by_the_case_that_fails(tmp_path: Path, wording: Wording) -> None:
    found = one(suite(tmp_path, NO_TIES, TIES), "last_of_ties")
    assert found.mutant.op == HARDMAX13
    assert (found.mutant.dtype, found.mutant.text) == ("float32", wording)
    assert (found.fate, found.killers) == (Fate.KILLED, ("Hardmax/ties",))


def test_a_mistake_that_no_case_sees_survives(tmp_path: Path) -> None:
    found = one(suite(tmp_path, NO_TIES), "last_of_ties")
    assert (found.fate, found.killers, found.noticers) == (Fate.SURVIVED, (), ())


def test_a_case_of_rule_should_only_warns(tmp_path: Path) -> None:
    should = TIES.replace("name: ties", "name: lenient, rule: should")
    found = one(suite(tmp_path, NO_TIES, should), "last_of_ties")
    assert (found.fate, found.noticers) == (Fate.WARNED, ("Hardmax/lenient",))
    assert one(suite(tmp_path, should, TIES), "last_of_ties").fate is Fate.KILLED


def test_a_case_of_rule_open_decides_nothing(tmp_path: Path) -> None:
    answers = "any_of: [{as: first, output: [[1, 0]]}, {as: none, output: [[0, 0]]}]"
    undecided = (
        f"- {{name: asks, rule: open, inputs: {{input: [[3, 3]]}}, expect: {{{answers}}}}}\n"
    )
    found = seen(suite(tmp_path, undecided), "last_of_ties", "zeros", "a_list")
    assert found["last_of_ties"].noticers == ("Hardmax/asks",)
    assert {name: one.fate for name, one in found.items()} == {
        "last_of_ties": Fate.WARNED,
        "zeros": Fate.SURVIVED,
        "a_list": Fate.WARNED,
    }


def test_a_mistake_about_refusals_is_killed_by_a_rejection_or_its_legal_twin(tmp_path):
    rejection = """\
    - name: outside
      attrs: {axis: 2}
      inputs: {input: [[0, 1]]}
      expect: {rejected: "axis outside [-2, 1]", legal: {attrs.axis: -1}}
    """
    cases = suite(tmp_path, rejection.replace("\n    ", "\n").removeprefix("    "))
    found = seen(cases, "invalid_is_copied", "refuses_negative_axes", "last_of_ties")
    assert {name: one.fate for name, one in found.items()} == {
        "invalid_is_copied": Fate.KILLED,
        "refuses_negative_axes": Fate.KILLED,
        "last_of_ties": Fate.SURVIVED,
    }


def test_a_former_name_of_a_mutant_means_it_too(tmp_path: Path) -> None:
    cases = suite(tmp_path, NO_TIES)
    asked = MutationSettings(("last_row_missing",))
    found = list(mutations(cases, asked))
    assert [one.mutant.name for one in found] == ["last_row_missing_in_argmax"]
    assert mutate.count(cases, asked) == 1


def test_arguments_hold_by_former_names(monkeypatch, wording: Wording) -> None:
    argument = mutate.Argument(mutants=["last_row_missing"], why="there is one row")
    monkeypatch.setattr(mutate, "arguments", lambda op: (argument,))
    (last,) = (one for one in mutants_of(HARDMAX13) if one.name == "last_row_missing_in_argmax")
    assert mutate.why_harmless(last, HARDMAX13, "float32") == wording


def shipped_killers(
    survivors: Sequence[MutantId], cases: Sequence[Case], jobs: int = 1
) -> dict[MutantId, Case]:
    """The shipped case that kills each survivor; no mutant may raise on one."""
    found = [*mutate.killed_elsewhere(survivors, cases, jobs)]
    assert [one.raised for one in found if one.raised] == []
    return {one.mutant: one.case for one in found if one.case}


def test_a_survivor_that_raises_on_a_shipped_case_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, Mutant("broken", "it raises", lambda _: [][0]))
    survivor = MutantId(HARDMAX13, "float32", "broken", "it raises")
    [found] = mutate.killed_elsewhere([survivor], [])
    assert (found.mutant, found.case) == (survivor, None)
    assert "IndexError" in found.raised


def test_survivors_whose_names_were_once_alike_are_looked_up_one_by_one(tmp_path: Path) -> None:
    """LinearClassifier adds up scores and looks for the largest, and may err in either."""
    op = OpVersion("ai.onnx.ml", "LinearClassifier", 1)
    names = ("last_row_missing", "last_row_missing_in_argmax")
    survivors = [
        MutantId(op, "float32", one.name, one.text)
        for one in mutants_in(op, "float32")
        if one.name in names
    ]
    assert tuple(sorted(one.name for one in survivors)) == names
    found = shipped_killers(survivors, [])
    assert found.keys() == {*survivors}


def made(monkeypatch: pytest.MonkeyPatch, *mutants: Mutant) -> None:
    """Let these be all mistakes there are."""
    monkeypatch.setattr("opcheck.execution.mutate.mutants_in", lambda op, dtype: mutants)


def test_what_is_argued_to_be_harmless_is_asked_all_the_same(tmp_path, monkeypatch):
    (last,) = (mutant for mutant in mutants_of(HARDMAX13) if mutant.name == "last_of_ties")
    made(monkeypatch, last)
    monkeypatch.setattr("opcheck.execution.mutate.why_harmless", lambda *_: "no ties")
    argued, wrongly = (one(suite(tmp_path, case), last.name) for case in (NO_TIES, TIES))
    assert (argued.fate, argued.contradicts) == (Fate.HARMLESS, False)
    assert (wrongly.fate, wrongly.contradicts) == (Fate.KILLED, True)
    assert argued.harmless == wrongly.harmless == "no ties"


def test_habits_are_killed_where_their_runs_disturb_each_other(tmp_path: Path) -> None:
    names = [stateful.name for stateful in STATEFUL]
    found = seen(suite(tmp_path, NO_TIES), *names)
    assert {one.fate for one in found.values()} == {Fate.KILLED}
    assert set(found) == set(names)


def test_who_is_asked_once_shows_no_habit(tmp_path: Path) -> None:
    cases = suite(tmp_path, NO_TIES, TIES)
    found = {one.mutant.name: one.fate for one in mutations(cases, MutationSettings(once=True))}
    assert {found[stateful.name] for stateful in STATEFUL} == {Fate.SURVIVED}
    assert found["last_of_ties"] is Fate.KILLED


def test_the_smallest_case_kills_first(tmp_path: Path) -> None:
    large = "- {name: large, inputs: {input: {shape: [9, 9], constant: 1}}}\n"
    assert one(suite(tmp_path, large, TIES), "last_of_ties").killers == ("Hardmax/ties",)


def test_what_kills_in_one_place_is_asked_first_in_the_others(tmp_path: Path) -> None:
    """Smaller ones may kill there too, but it takes long to find out which."""
    large = "- {name: large, matrix: {dtype: [float16, float32]}, inputs: {input: {shape: [9, 9], "
    cases = suite(tmp_path, f"{large}constant: 1}}}}}}\n", TIES)
    found = mutations(cases, MutationSettings(("last_of_ties",)))
    killers = {one.mutant.dtype: one.killers for one in found}
    assert killers == {dtype: (f"Hardmax/large@dtype={dtype}",) for dtype in ("float16", "float32")}


def test_two_names_are_sought_where_groups_are_compared(tmp_path: Path) -> None:
    more = TIES.replace("ties", "more_ties").replace("3, 3", "5, 5")
    rows = "- {name: rows, rows: [{inputs: {input: [[1, 1]]}}, {inputs: {input: [[2, 2]]}}]}\n"
    found = one(suite(tmp_path, TIES, more), "last_of_ties", kills=2)
    assert found.killers == ("Hardmax/ties", "Hardmax/more_ties")
    assert one(suite(tmp_path, rows), "last_of_ties", kills=2).killers == ("Hardmax/rows#1",)
    third = TIES.replace("ties", "third").replace("3, 3", "7, 7")
    assert len(one(suite(tmp_path, TIES, more, third), "last_of_ties", kills=2).killers) == 2


def test_each_version_and_dtype_is_a_suite_of_its_own(tmp_path: Path) -> None:
    varied = TIES.replace("name: ties", "name: ties, matrix: {opset: [1, 13], dtype: [float16]}")
    cases = suite(tmp_path, varied, NO_TIES)
    assert {(str(cell.op), cell.dtype): len(mine) for cell, mine in cells(cases).items()} == {
        ("Hardmax-1", "float16"): 1,
        ("Hardmax-13", "float16"): 1,
        ("Hardmax-13", "float32"): 1,
    }
    fates = {
        (one.mutant.op.since, one.mutant.dtype): one.fate
        for one in mutations(cases, MutationSettings(("last_of_ties",)))
    }
    assert fates == {
        (1, "float16"): Fate.KILLED,
        (13, "float16"): Fate.KILLED,
        (13, "float32"): Fate.SURVIVED,
    }


WHOLE_NUMBERS = """\
- name: whole_numbers
  dtype: int32
  inputs: {input: [[3, 1]]}
  expect: {rejected: no such type, legal: {dtype: float32}}
"""


def test_a_dtype_that_is_not_allowed_counts_for_all_that_are(tmp_path: Path) -> None:
    half = NO_TIES.replace("name: no_ties", "name: half, dtype: float16")
    cases = suite(tmp_path, half, NO_TIES, WHOLE_NUMBERS)
    found = {c.dtype: [case.name for case in mine] for c, mine in cells(cases).items()}
    assert found == {"float16": ["half", "whole_numbers"], "float32": ["no_ties", "whole_numbers"]}


def test_a_mistake_about_validity_alone_counts_once_for_a_version(tmp_path: Path) -> None:
    """A case of any type decides about it, and no case about other mistakes in other types."""
    legal = (
        "- {name: legal, matrix: {opset: [11, 13], dtype: [float16, float32]}, "
        "inputs: {input: [[3, 1]]}}\n"
    )
    outside = (
        "- {name: outside, opset: 13, dtype: float16, inputs: {input: [[3, 1]]}, attrs: {axis: 2}, "
        "expect: {rejected: no such axis, legal: {attrs.axis: 1}}}\n"
    )
    cases = suite(tmp_path, legal, outside)
    names = "axis_clamped", "refuses_float32", "refuses_float16"
    found = list(mutations(cases, MutationSettings(names)))
    assert {(m.mutant.op.since, m.mutant.name, m.mutant.any_type, m.fate) for m in found} == {
        (11, "axis_clamped", True, Fate.SURVIVED),
        (13, "axis_clamped", True, Fate.KILLED),
        *(
            (op, f"refuses_{one}", False, Fate.KILLED)
            for op in (11, 13)
            for one in ("float16", "float32")
        ),
    }
    assert len(found) == mutate.count(cases, MutationSettings(names)) == 6


def test_a_mistake_on_one_dtype_is_none_in_cases_of_another(tmp_path: Path) -> None:
    half = NO_TIES.replace("name: no_ties", "name: half, dtype: float16")
    cases = suite(tmp_path, half, WHOLE_NUMBERS)
    assert list(mutations(cases, MutationSettings(("refuses_float32",)))) == []


def test_what_no_case_reaches_is_a_mistake_that_they_do_not_see(tmp_path: Path) -> None:
    """Without an element nothing looks for a maximum."""
    empty = suite(tmp_path, "- {name: empty, inputs: {input: {shape: [0, 3], constant: 0}}}\n")
    assert one(empty, "last_of_ties").fate is Fate.SURVIVED


def test_operators_that_the_engine_does_not_know_have_no_mistakes(tmp_path: Path) -> None:
    text = """\
        domain: ai.onnx.ml
        op: SVMRegressor
        dtype: float32
        opset: 1
        tolerance: {ulp: 0}
        cases:
        - {name: norm, inputs: {X: [-1, 1]}, expect: {Y: [0, 1]}}
        """
    cases = cases_in(tmp_path, text)
    assert list(mutations(cases)) == []
    assert mutants_in(cases[0].op, "float32") == ()


def test_a_wrong_case_is_said_to_be_one(tmp_path: Path, wording: Wording) -> None:
    wrong = TIES.replace("[[1, 0]]", "[[0, 1]]")
    with pytest.raises(UsageError) as raised:
        list(mutations(suite(tmp_path, wrong)))
    assert raised.value == wording


def test_what_a_mutant_raises_is_noted_with_it(tmp_path, monkeypatch, wording):
    made(monkeypatch, Mutant("broken", "it broke", lambda node: [1 / 0]))
    found = one(suite(tmp_path, TIES), "broken")
    assert (found.raised, found.killers) == (wording, ())
    [sighting] = mutate.sightings(suite(tmp_path, TIES))
    assert (sighting.raised, sighting.killers) == (found.raised, ())


def test_a_mistake_must_not_change_what_it_is_made_of(tmp_path, monkeypatch):
    def spoils_the_input(node):
        node.inputs[0][...] = 0
        return node.right

    def spoils_the_answer(node):
        node.right[0][...] = 0
        return node.right

    for answer in (spoils_the_input, spoils_the_answer):
        made(monkeypatch, Mutant("spoils", "it spoilt", answer))
        assert "read-only" in one(suite(tmp_path, TIES), "spoils").raised


def smoke(*ops: str, dtype: str = "float32") -> tuple[Case, ...]:
    return select(shipped_cases(*ops), Selection(dtypes=(dtype,), level="smoke"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("op", ["Hardmax", "Softmax", "LpPool", "DML_ACTIVATION_HARDMAX1"])
def test_a_lying_backend_that_is_asked_like_any_other_gets_the_same_verdicts(op: str) -> None:
    for case in smoke(op)[::9]:
        case_kills, evaluation = CaseKills(case, "float32"), CaseEvaluation(case)
        for mutant in mutants_in(case.op, "float32"):
            if not isinstance(mutant, Mutant):
                continue
            asked = inline.result_of(evaluation, inline.lying(mutant)).verdict
            assert case_kills.verdict(mutant) is asked, (case.id, mutant.name)


def test_so_does_one_with_a_habit() -> None:
    for case in smoke("Softmax")[:3]:
        for stateful in STATEFUL:
            asked = inline.result_of(
                CaseEvaluation(case), mutate.stateful_backend(stateful)
            ).verdict
            assert CaseKills(case, "float32").verdict(stateful) is asked


def test_several_processes_find_what_one_does(tmp_path: Path) -> None:
    cases = suite(tmp_path, NO_TIES, TIES, WHOLE_NUMBERS)
    alone, shared = (set(mutations(cases, jobs=jobs)) for jobs in (1, 2))
    assert alone == shared
    assert mutate.count(cases, MutationSettings()) == len(alone)
    assert len(alone) == len(mutants_in(HARDMAX13, "float32"))


def test_what_a_process_raises_is_raised(tmp_path: Path) -> None:
    wrong = TIES.replace("[[1, 0]]", "[[0, 1]]").replace("name: ties", "name: x, dtype: float16")
    assert error_of(UsageError, list, mutations(suite(tmp_path, NO_TIES, wrong), jobs=2)).hint


def mutation(killers=(), noticers=(), harmless=None) -> Mutation:
    return Mutation(MutantId(HARDMAX13, "float32", "x", "x"), harmless, killers, noticers)


def score(*mutations: Mutation) -> Score:
    return Score(one.fate for one in mutations)


def test_a_score_is_the_part_that_is_seen_of_what_can_be() -> None:
    found = score(*[mutation(("a",))] * 5, mutation(), mutation(noticers=("b",)))
    assert found == Score(killed=5, warned=1, survived=1)
    assert (found.total(), found.share) == (7, 6 / 7)
    assert score(mutation(harmless="why", noticers=("b",))) == Score(warned=1)
    assert score(mutation(harmless="why")).share is None


@pytest.mark.gate
def test_work_that_is_to_end_ends_at_once_however_long_its_parts_take(monkeypatch):
    before, began, asked = {*multiprocessing.active_children()}, time.monotonic(), iter(range(50))

    def enough():
        if next(asked, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(interrupt, "safe_place", enough)
    with pytest.raises(KeyboardInterrupt):
        list(in_parallel(time.sleep, [600, 600, 600], 2))
    assert time.monotonic() - began < 300
    assert {*multiprocessing.active_children()} == before


def killed_at_two(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_process_that_is_killed_is_one_message(wording: Wording) -> None:
    before = {*multiprocessing.active_children()}
    error = error_of(ProcessDied, list, in_parallel(killed_at_two, [1, 2, 3], 2))
    assert error.message == wording
    assert error.exit_code == Exit.UNUSABLE == 4
    assert {*multiprocessing.active_children()} == before


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", [1, 2])
def test_of_the_shipped_cases_the_smallest_that_kills_is_named(tmp_path: Path, jobs: int) -> None:
    cases = suite(tmp_path, NO_TIES.replace("name:", "matrix: {opset: [11, 13]}, name:"))
    names = "last_of_ties", "refuses_constants", STATEFUL[0].name, "all_maxima"
    found = mutations(cases, MutationSettings(names))
    missed = [one.mutant for one in found if one.fate is Fate.SURVIVED]
    assert len(missed) == 6
    killed = shipped_killers(missed, cases, jobs)
    assert killed.keys() == {*missed}
    for mutant, case in killed.items():
        assert (case.op, case.source.shipped, case.rule) == (mutant.op, True, "must")
        [wrong] = (one for one in mutants_in(case.op, "float32") if one.name == mutant.name)
        smaller = [one for one in shipped_cases("Hardmax") if mutate.size(one) < mutate.size(case)]
        mine = [one for one in smaller if one.op == case.op and one.dtype == case.dtype]
        kills = [CaseKills(one, "float32").verdict(wrong) for one in (case, *mine)]
        assert kills[0] in RED
        assert not {*kills[1:]} & {*RED}


def test_a_shipped_case_is_not_named_for_a_suite_that_has_it() -> None:
    mutant = MutantId(HARDMAX13, "float32", "last_of_ties", "the last of equal maxima won")
    cases = shipped_cases("Hardmax")
    assert shipped_killers([mutant], cases[:1])
    assert not shipped_killers([mutant], cases)


def test_a_case_of_level_huge_is_shown_no_mutant() -> None:
    assert cells(load(ops=("Relu",), levels=("huge",))) == {}
