"""What level core must show, and by which cases it is shown, on Hardmax."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from opcheck.execution import conditioned
from opcheck.execution.levels import demands
from opcheck.execution.mutate import Sighting, mutations, sightings
from opcheck.known import Ledger, LedgerFields
from opcheck.model import Case, Fate, Mutation, OpVersion
from opcheck.suite.levels import Demand
from tests.asking import cases_in, shipped_cases

HARDMAX13 = OpVersion("", "Hardmax", 13)
HEAD = "op: Hardmax\ndtype: float32\nopset: 13\nattrs: {axis: 1}\ncases:\n"
TIES = "- {name: ties, inputs: {input: [[3, 3]]}, expect: {output: [[1, 0]]}}\n"
MORE_TIES = "- {name: more_ties, inputs: {input: [[0, 3, 3]]}, expect: {output: [[0, 1, 0]]}}\n"
NO_TIES = "- {name: no_ties, inputs: {input: [[3, 1, 2]]}, expect: {output: [[1, 0, 0]]}}\n"
LENIENT = TIES.replace("name: ties", "name: lenient, rule: should")


def suite(folder: Path, *cases: str) -> tuple[Case, ...]:
    return cases_in(folder, HEAD + "".join(cases))


def seen(cases: Sequence[Case], name: str) -> Sighting:
    (found,) = (one for one in sightings(cases) if one.mutant.name == name)
    return found


def test_every_case_that_kills_a_mutant_is_named(tmp_path: Path) -> None:
    found = seen(suite(tmp_path, NO_TIES, TIES, MORE_TIES), "last_of_ties")
    assert (found.mutant.op, found.mutant.dtype) == (HARDMAX13, "float32")
    assert (found.killers, found.noticers) == (("Hardmax/ties", "Hardmax/more_ties"), ())


def test_cases_that_decide_nothing_count_only_where_none_kills(tmp_path: Path) -> None:
    lenient = seen(suite(tmp_path, NO_TIES, LENIENT), "last_of_ties")
    assert (lenient.killers, lenient.noticers) == ((), ("Hardmax/lenient",))
    both = seen(suite(tmp_path, TIES, LENIENT), "last_of_ties")
    assert (both.killers, both.noticers) == (("Hardmax/ties",), ())


def test_a_survivor_is_seen_by_none(tmp_path: Path) -> None:
    found = seen(suite(tmp_path, NO_TIES), "last_of_ties")
    assert (found.killers, found.noticers) == ((), ())


def test_as_many_mutants_are_seen_as_are_killed_or_warned_of(tmp_path: Path) -> None:
    cases = suite(tmp_path, NO_TIES, MORE_TIES, LENIENT)
    found = {one.mutant: one for one in sightings(cases)}
    known: dict[object, Mutation] = {one.mutant: one for one in mutations(cases)}
    assert found.keys() == known.keys()
    for mutant, sighting in found.items():
        fate = known[mutant].fate
        assert bool(sighting.killers) is (fate is Fate.KILLED)
        assert bool(sighting.noticers) is bool(known[mutant].noticers)


@pytest.fixture(scope="module")
def of_hardmax() -> dict[Demand, Sequence[str]]:
    line = {"versions": ">=1", "failure": "values", "cause": "Because.", "id": "ACME-0001"}
    where = [{"op": "Hardmax", "name": "rank_1", "opset": 13}]
    elsewhere = [{"op": "Softmax", "name": "rank_1"}]
    lines = [{**line, "where": where}, {**line, "id": "ACME-0002", "where": elsewhere}]
    fields = LedgerFields.model_validate({"backend": "acme", "known": lines})
    cases = [case for case in shipped_cases("Hardmax") if case.op == HARDMAX13]
    return dict(demands(cases, [], [], [Ledger("acme.yaml", fields)]))


def what(shown: dict[Demand, Sequence[str]], kind: str) -> set[str]:
    return {demand.what for demand in shown if demand.kind == kind}


def test_each_type_of_a_version_needs_a_case(of_hardmax) -> None:
    assert what(of_hardmax, "type") == {"bfloat16", "float16", "float32", "float64"}


def test_a_mutant_of_any_type_must_be_seen_in_the_type_it_counts_for(tmp_path: Path) -> None:
    text = """\
        op: Neg
        opset: 13
        inputs: {X: [[1, 2]]}
        cases:
        - {name: a, matrix: {dtype: [float32, float64]}}
        - {name: b, dtype: float64}
    """
    cases = cases_in(tmp_path, text)
    found = {one.mutant: one for one in sightings(cases)}
    (rank,) = (mutant for mutant in found if mutant.name == "wrong_where_rank_2")
    assert (rank.any_type, rank.dtype) == (True, "float32")
    assert {*found[rank].killers} == {"Neg/a@dtype=float32", "Neg/a@dtype=float64", "Neg/b"}
    shown = dict(demands(cases, found.values(), [], []))
    ids = shown[Demand("mutant", rank.op, rank.name, rank.dtype)]
    assert ids == ("Neg/a@dtype=float32",)


def test_a_mutant_of_versions_that_differ_in_types_alone_must_be_seen_in_the_newest(
    tmp_path: Path,
) -> None:
    text = """\
        op: Reshape
        cases:
        - name: a
          matrix: {opset: [5, 13, 14], dtype: [float32]}
          inputs: {data: [[1, 2]], shape: {value: [2, 1], dtype: int64}}
    """
    cases = cases_in(tmp_path, text)
    found = [*sightings(cases)]
    assert {one.mutant.op.since for one in found if one.killers} == {5, 13, 14}
    kinds = ("mutant", "warning")
    shown = [demand for demand, _ in demands(cases, found, [], []) if demand.kind in kinds]
    assert {demand.op.since for demand in shown} == {13, 14}


def test_each_type_of_which_something_is_refused_needs_a_case_that_asks(tmp_path: Path) -> None:
    text = """\
        op: Hardmax
        opset: 13
        attrs: {axis: 0}
        inputs: {input: [1, 2]}
        cases:
        - {name: a, dtype: float32}
        - name: b
          matrix: {dtype: [float32, float64]}
          expect: {rejected: axis 3, legal: {attrs.axis: 0}}
          attrs: {axis: 3}
    """
    found = demands(cases_in(tmp_path, text), [], [], [])
    refusals = {demand.what: ids for demand, ids in found if demand.kind == "refusal"}
    assert refusals == {
        "float32": ["Hardmax/b@dtype=float32"],
        "float64": ["Hardmax/b@dtype=float64"],
    }


def test_each_pair_of_types_of_the_newest_version_needs_a_row_with_a_rest(tmp_path: Path) -> None:
    text = """\
        op: Cast
        dtype: float32
        inputs: {input: {shape: [67], constant: 3}}
        cases:
        - {name: a, matrix: {opset: [24, 25], attrs.to: [6, 7]}}
        - {name: even, opset: 25, attrs: {to: 2}, inputs: {input: {shape: [64]}}}
        - {name: short, opset: 25, attrs: {to: 2}, inputs: {input: {shape: [31]}}}
        - name: zeros
          opset: 25
          attrs: {to: 2}
          inputs: {input: {constant: 0}}
          expect: {output: {shape: [67], constant: 0}}
    """
    shown = dict(demands(cases_in(tmp_path, text), [], [], []))
    assert what(shown, "pair of types") == {"float32 to int32", "float32 to int64"}
    rests = {(demand.op.since, demand.what) for demand in shown if demand.kind == "rest"}
    sides = {"float32", "to int32", "to int64"}
    assert rests == {(version, side) for version in (24, 25) for side in sides}


def test_nan_and_infinity_of_each_float_type_need_a_case(tmp_path: Path) -> None:
    text = """\
        op: Neg
        opset: 13
        cases:
        - {name: a, matrix: {dtype: [float16, float32]}, inputs: {X: [.nan, 1]}}
        - {name: b, dtype: float16, inputs: {X: [-.inf, 1]}}
        - {name: c, dtype: int8, inputs: {X: [3, 1]}}
    """
    found = demands(cases_in(tmp_path, text), [], [], [])
    shown = {
        (demand.what, demand.dtype): ids for demand, ids in found if demand.kind == "no number"
    }
    assert shown == {
        ("nan", "float16"): ["Neg/a@dtype=float16"],
        ("nan", "float32"): ["Neg/a@dtype=float32"],
        ("infinite", "float16"): ["Neg/b"],
    }


def test_each_name_that_core_has_needs_a_case_in_the_newest_version(tmp_path: Path) -> None:
    text = """\
        op: Hardmax
        dtype: float32
        attrs: {axis: 0}
        inputs: {input: [1, 2]}
        cases:
        - {name: a, matrix: {opset: [11, 13]}}
        - {name: a, opset: 13, level: deep, attrs: {axis: -1}}
        - {name: b, opset: 11}
        - {name: c, opset: 13, level: deep}
        - {name: d, opset: 13, matrix: {dtype: [float16, float32]}}
        - {name: e, opset: 13, core: [float16], matrix: {dtype: [float16, float32]}}
    """
    names = {
        (demand.what, demand.op.since): ids
        for demand, ids in demands(cases_in(tmp_path, text), [], [], [])
        if demand.kind == "name"
    }
    assert names == {
        ("a", 13): ["Hardmax/a@opset=13", "Hardmax/a"],
        ("b", 11): ["Hardmax/b"],
        ("d", 13): ["Hardmax/d@dtype=float32"],
        ("e", 13): ["Hardmax/e@dtype=float16", "Hardmax/e@dtype=float32"],
    }


def test_each_sentence_that_is_tested_needs_a_case(of_hardmax) -> None:
    (ids,) = (
        ids
        for demand, ids in of_hardmax.items()
        if demand.kind == "sentence" and "Negative value means" in demand.what
    )
    assert any("negative_axis" in id for id in ids)


def test_one_sentence_of_two_parts_of_a_page_needs_a_case_in_each() -> None:
    cases = [case for case in shipped_cases("If") if case.op.since == 1]
    shown = demands(cases, [], [], [])
    outputs = [demand.what for demand, _ in shown if "Has N outputs" in demand.what]
    assert {what.split(":")[0] for what in outputs} == {
        "Attribute else_branch",
        "Attribute then_branch",
    }


def test_each_known_defect_needs_a_case_that_shows_it(of_hardmax) -> None:
    assert what(of_hardmax, "defect") == {"acme ACME-0001"}
    ids = of_hardmax[Demand("defect", HARDMAX13, "acme ACME-0001")]
    assert ids
    assert all(id.startswith("Hardmax/rank_1@") for id in ids)


def test_each_shape_that_is_stretched_to_four_axes_needs_a_case(tmp_path: Path) -> None:
    text = """\
        op: Add
        dtype: float32
        inputs: {A: {shape: [2, 3, 4, 5], constant: 1}, B: {constant: 1}}
        cases:
        - {name: one_axis, opset: 13, inputs: {B: {shape: [2, 3, 1, 5]}}}
        - {name: all_but_one, opset: 14, inputs: {B: {shape: [4, 1]}}}
        - {name: two_axes, opset: 14, inputs: {B: {shape: [2, 1, 1, 5]}}}
        - {name: equal, opset: 14, inputs: {B: {shape: [2, 3, 4, 5]}}}
    """
    shown = dict(demands(cases_in(tmp_path, text), [], [], []))
    assert what(shown, "stretch") == {"B [2, 3, 1, 5]", "B [4, 1]"}
    assert shown[Demand("stretch", OpVersion("", "Add", 14), "B [2, 3, 1, 5]")] == ["Add/one_axis"]


def test_each_type_of_an_input_needs_a_case_that_is_answered(tmp_path: Path) -> None:
    text = """\
        op: Dropout
        opset: 22
        dtype: float32
        inputs: {data: [1, 2]}
        cases:
        - {name: a, inputs: {ratio: {value: 0.5, dtype: float16}}}
        - {name: b, inputs: {ratio: {value: 0.5, dtype: float64}}}
    """
    shown = dict(demands(cases_in(tmp_path, text), [], [], []))
    found = {
        (demand.what, demand.dtype): ids
        for demand, ids in shown.items()
        if demand.kind == "constrained type"
    }
    assert found == {
        ("T", "float32"): ["Dropout/a", "Dropout/b"],
        ("T1", "float16"): ["Dropout/a"],
        ("T1", "float64"): ["Dropout/b"],
    }


def test_each_situation_needs_a_case_that_is_in_it(tmp_path: Path) -> None:
    text = "op: Abs\nopset: 13\ndtype: int64\ncases:\n- {name: a, inputs: {X: [-1]}}\n"
    shown = dict(demands(cases_in(tmp_path, text), [], [], []))
    assert what(shown, "situation") == {"integers: int64: negative"}


def test_each_mutant_that_is_wrong_in_one_situation_needs_a_case_that_kills_it_there(
    tmp_path: Path,
) -> None:
    text = """\
        op: Add
        dtype: float32
        opset: 14
        cases:
        - {name: row, inputs: {A: [[0.5, 2], [3, 4]], B: [[5, 6]]}}
        - {name: other_row, inputs: {A: [[0.5, 2], [3, 4]], B: [[5, 6]]}}
        - {name: matrices, inputs: {A: [[0.5, 2], [3, 4]], B: [[5, 6], [8, 7]]}}
    """
    cases = cases_in(tmp_path, text)
    shown = dict(demands(cases, [], conditioned.sightings(cases), []))
    killers = {
        demand.what: ids for demand, ids in shown.items() if demand.kind == "conditioned mutant"
    }
    row = "whole_numbers in broadcasting: [m,n] with [1,n]"
    assert killers[row] == ("Add/row", "Add/other_row")
    assert killers["whole_numbers in broadcasting: [m,n] with [m,n]"] == ("Add/matrices",)


def test_a_row_that_a_reading_refuses_shows_a_rest_by_its_answer(tmp_path: Path) -> None:
    cases = cases_in(
        tmp_path,
        """
        op: Slice
        opset: 1
        dtype: float32
        cases:
        - name: negative_axis
          attrs: {axes: [-1], starts: [0], ends: [39]}
          inputs: {data: {shape: [41], uniform: [0.5, 1]}}
        """,
    )
    shown = demands(cases, sightings=[], in_situations=[], ledgers=[])
    rests = {demand.what: ids for demand, ids in shown if demand.kind == "rest"}
    assert rests == {"float32": [cases[0].id], "to float32": [cases[0].id]}


def test_a_row_without_an_answer_shows_no_rest(tmp_path: Path) -> None:
    cases = cases_in(
        tmp_path,
        """
        op: DML_ELEMENT_WISE_CLIP
        domain: com.microsoft.dml
        opset: 1
        dtype: float32
        cases:
        - name: ends_crossed
          attrs: {Min: 2.0, Max: 1.0}
          inputs: {InputTensor: {shape: [41], uniform: [0, 1]}}
        """,
    )
    shown = demands(cases, sightings=[], in_situations=[], ledgers=[])
    assert [demand.kind for demand, _ in shown if demand.kind == "rest"] == []
