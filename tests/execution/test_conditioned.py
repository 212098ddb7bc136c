"""Mutants that are wrong in one situation only, on small suites."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from opcheck.engine.mutants import Mutant
from opcheck.execution.conditioned import conditioned_mutants, count, sightings
from opcheck.execution.mutate import MutationSettings
from opcheck.model import Case, Fate
from opcheck.model.conditions import ConditionedMutant, score_of
from tests.asking import cases_in

ADD = "op: Add\ndtype: float32\nopset: 14\ncases:\n"
MATRICES = "- {name: matrices, inputs: {A: [[1, 2], [3, 4]], B: [[5, 6], [8, 7]]}}\n"
ROW = "- {name: row, inputs: {A: [[1, 2], [3, 4]], B: [[5, 6]]}}\n"
MOD = "op: Mod\ndtype: int8\nopset: 28\ncases:\n"


def tried(cases: Sequence[Case], *names: str, jobs: int = 1) -> dict[str, ConditionedMutant]:
    """Return the fates of the mutants of these names, which are in one family and one type."""
    found = list(conditioned_mutants(cases, MutationSettings(names), jobs))
    by_name = {one.mutant.name: one for one in found}
    assert len(by_name) == len(found) == count(cases, MutationSettings(names))
    return by_name


def test_a_mutant_is_killed_in_the_situations_of_the_cases_that_show_it(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, ADD + MATRICES + ROW)
    nothing_added = tried(cases, "nothing_added")["nothing_added"]
    assert nothing_added.killed == {
        "[m,n] with [m,n]": "Add/matrices",
        "[m,n] with [1,n]": "Add/row",
    }
    assert nothing_added.survived == {}


def test_it_survives_where_only_other_data_of_a_case_show_it(tmp_path: Path) -> None:
    fractions = ROW.replace("[[5, 6]]", "[[0.1, 0.2]]")
    cases = cases_in(tmp_path, ADD + MATRICES + fractions)
    whole_numbers = tried(cases, "whole_numbers")["whole_numbers"]
    assert whole_numbers.killed == {"[m,n] with [1,n]": "Add/row"}
    assert whole_numbers.survived == {"[m,n] with [m,n]": "Add/matrices"}


def test_where_no_data_show_it_it_does_not_count(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, ADD + MATRICES + ROW)
    found = tried(cases, "channels_last", "transposed")
    assert (found["channels_last"].killed, found["channels_last"].survived) == ({}, {})
    assert found["transposed"].killed


def test_of_integers_only_the_elements_in_the_situation_are_wrong(tmp_path: Path) -> None:
    """The dividend's sign counts for -7 % 3 only, which a case without it does not show."""
    pairs = "- {name: pairs, inputs: {A: [7, -7], B: [3, 3]}, expect: {C: [1, 2]}}\n"
    fmod = tried(cases_in(tmp_path, MOD + pairs), "default_fmod_1")["default_fmod_1"]
    assert fmod.killed == {"fmod=0, int8: negative with positive": "Mod/pairs"}
    assert "fmod=0, int8: positive with positive" not in fmod.survived


def test_cases_in_no_situation_are_left_out(tmp_path: Path) -> None:
    legal = "legal: {inputs.B: [[1, 2]]}"
    rejected = (
        "- {name: bad, inputs: {A: [[1, 2]], B: [[1, 2, 3]]}, "
        f"expect: {{rejected: they do not fit, {legal}}}}}\n"
    )
    older = ROW.replace("name: row", "name: row, opset: 13")
    lenient = ROW.replace("name: row", "name: row, rule: should")
    for case in (rejected, older, lenient, ROW.replace("name: row", "name: row, dtype: float64")):
        assert tried(cases_in(tmp_path, ADD + case)) == {}


def test_mutants_that_are_argued_to_be_harmless_are_left_out(tmp_path, monkeypatch) -> None:
    cases = cases_in(tmp_path, ADD + ROW)
    assert tried(cases, "nothing_added")
    monkeypatch.setattr("opcheck.execution.conditioned.why_harmless", lambda *_: "it is 0")
    assert tried(cases, "nothing_added") == {}


@pytest.mark.gate
def test_a_mutant_that_raises_on_one_case_is_named_and_the_others_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks_on_rows(node):
        return node.right if node.inputs[1].shape[0] == 2 else [1 / 0]

    broken = Mutant("broken", "it broke", breaks_on_rows)
    zeros = Mutant("zeros", "it is 0", lambda node: [0 * node.right[0]])
    monkeypatch.setattr("opcheck.execution.conditioned.mutants_in", lambda *_: (broken, zeros))
    found = list(sightings(cases_in(tmp_path, ADD + MATRICES + ROW)))
    [raised] = [sighting for sighting in found if sighting.raised]
    assert (raised.mutant.name, raised.situation, raised.killers) == ("broken", "", ())
    assert {one.mutant.name for one in found if not one.raised} == {"zeros"}


def test_several_processes_find_what_one_does(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, ADD + MATRICES + ROW)
    assert tried(cases) == tried(cases, jobs=2)


def test_a_score_counts_pairs_of_a_mutant_and_a_situation(tmp_path: Path) -> None:
    found = tried(cases_in(tmp_path, ADD + MATRICES + ROW), "whole_numbers", "nothing_added")
    score = score_of(found.values())
    assert (score[Fate.KILLED], score[Fate.SURVIVED], score.share) == (2, 2, 0.5)
