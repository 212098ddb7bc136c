"""With each failure it is known better what a backend does wrong."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import ml_dtypes
import numpy as np
import pytest

from opcheck.diagnose import Suspects, suspects
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.faults import Fault, _FaultKind
from opcheck.diagnose.likeness import _fits, _is_far
from opcheck.diagnose.suspects import cell_of, looks_like, names_of
from opcheck.dtypes import DTYPES
from opcheck.engine import Node
from opcheck.engine.mutants import mutants_of
from opcheck.model import Case, Cell, Comparison, Diagnosis, Foreign, OpVersion, Rejected, Tolerance
from tests.asking import cases_in
from tests.diagnose.wrong import HARDMAX, SOFTMAX, mutant, node, refuse, wrong
from tests.report.made import CASE
from tests.wording import Wording, lines_with

FIRST = node(HARDMAX, [[3, 3]], {"axis": 1})
LAST = [np.array([[0, 1]], np.float32)]
WIDE = node(SOFTMAX, [[9.1, 10.123, 9.77, 10.91]], {"axis": 1}, np.float64)
ROWS = np.linspace(-3, 5, 60).reshape(4, 15)
CHANCE = np.random.default_rng(5)


def names(found: object) -> list[str | None]:
    return [one.mistake for one in found]  # type: ignore[attr-defined]


def test_what_explained_more_before_is_named_first() -> None:
    suspects = Suspects(lambda case: None)
    ambiguous = names(suspects.diagnose(wrong(FIRST, LAST)))
    other = next(name for name in reversed(ambiguous) if name != "last_of_ties")
    assert ambiguous.index("last_of_ties") < ambiguous.index(other)
    seen = next(one for one in mutants_of(HARDMAX) if one.name == other)
    for _ in range(3):
        clear = node(HARDMAX, [[3, 3, 0, 3, 3, 1, 0, 2]], {"axis": 1})
        suspects.diagnose(wrong(clear, seen.answer(clear)))
    assert names(suspects.diagnose(wrong(FIRST, LAST)))[0] != "last_of_ties"


def test_equal_texts_are_one_value() -> None:
    texts = np.array(["a", "a"], object)
    seen = Evidence(Node(OpVersion("", "Identity", 13), (texts,), {}), [texts])
    assert seen.uniform_values == {"a"}


def test_a_mistake_in_what_is_drawn_is_known_by_its_distribution() -> None:
    drawn = Node(OpVersion("", "RandomNormal", 22), (), {"shape": [10, 100], "scale": 9.0})
    got = [np.random.default_rng(3).normal(0, 3, (10, 100)).astype(np.float32)]
    found = names(Suspects(lambda case: None).diagnose(wrong(drawn, got)))
    # For a number alone, to be a variance is to be the square.
    assert found == ["scale_is_a_variance", "scale_is_its_root"]


HARD_SIGMOID = OpVersion("", "HardSigmoid", 22)
GEMM = OpVersion("", "Gemm", 13)
RANGE = OpVersion("", "Range", 11)


def test_several_attributes_may_be_ignored_at_once() -> None:
    x = np.linspace(-4, 4, 17)
    given = node(HARD_SIGMOID, x, {"alpha": 0.125, "beta": 0.25})
    got = node(HARD_SIGMOID, x, {}).right
    found = names(Suspects(lambda case: None).diagnose(wrong(given, [*got])))
    assert found == ["alpha_ignored+beta_ignored"]
    assert looks_like("alpha_ignored+beta_ignored", wrong(given, [*got]))


def test_all_of_three_attributes_may_be_ignored() -> None:
    a = np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 10]])
    given = Node(GEMM, (a, a, a), {"alpha": 2.0, "beta": 3.0, "transB": 1})
    got = Node(GEMM, (a, a, a), {}).right
    (found,) = names(Suspects(lambda case: None).diagnose(wrong(given, [*got])))
    assert found == "alpha_ignored+beta_ignored+transB_ignored"
    assert found in names_of(GEMM)
    assert "alpha_ignored+beta_ignored+no_such_mistake" not in names_of(GEMM)


def test_nothing_is_said_where_nothing_fits() -> None:
    row = node(HARDMAX, [[5, 1, 3, 2, 4]], {"axis": 1})
    got = [np.array([[7, -2, 0.5, 3, 11]], np.float32)]
    assert Suspects(lambda case: None).diagnose(wrong(row, got)) == ()


def test_an_accepted_invalid_model_was_not_checked() -> None:
    invalid = node(HARDMAX, [[3, 3]], {"axis": 7})
    got = [np.array([[0.25, 9]], np.float32)]
    assert names(Suspects(lambda case: None).diagnose(wrong(invalid, got))) == ["not_checked"]


def test_equal_texts_are_evidence_as_equal_numbers_are() -> None:
    texts = np.array(["a", "b"], object)
    split = Node(OpVersion("", "SplitToSequence", 11), (texts,), {}, (0, 1, 2))
    got = [np.int64(2), *[texts[:1]] * 2]
    assert "first_output_for_all" in names(Suspects(lambda case: None).diagnose(wrong(split, got)))


def test_what_was_seen_without_an_element_shows_nothing_of_a_mistake() -> None:
    zeros = mutant(lambda _: [np.zeros(0, np.float32)], "nothing")
    never_seen = mutant(lambda _: [np.zeros(0, np.float32)], "never_seen")
    empty = Node(RANGE, tuple(map(np.float32, (2, 5, 1))), {})
    seen = Suspects(lambda case: None)
    seen._note_evidence([zeros], wrong(empty, [np.zeros(0, np.float32)]))
    assert not seen.gives_elements(RANGE, zeros)
    assert seen.gives_elements(RANGE, never_seen)
    seen._note_evidence([zeros], wrong(empty, [np.float32([2, 3])]))
    assert seen.gives_elements(RANGE, zeros)


def test_what_was_found_before_is_tried_on_though_passes_contradict_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def always(one: Node) -> Any:
        tried.append("always")
        return [1 - one.right[0]]

    def never(one: Node) -> Any:
        tried.append("never")
        return one.right

    monkeypatch.setattr(
        suspects, "causes_of", lambda op: (mutant(never, "never"), mutant(always, "always"))
    )
    held = Suspects(lambda case: wrong(FIRST, None))
    held.passed(passes(tmp_path))
    for _ in range(12):
        assert "always" not in names(held.diagnose(wrong(FIRST, [1 - FIRST.right[0]])))
    tried.clear()
    held.diagnose(wrong(FIRST, [1 - FIRST.right[0]]), "13th")
    assert "never" not in tried
    assert [one.name for one in held._fits["13th"]] == ["always"]


def passes(folder: Path) -> Case:
    head = "op: Hardmax\ndtype: float32\nopset: 13\nattrs: {axis: 1}\n"
    case = "cases:\n- {name: ties, inputs: {input: [[3, 3]]}, expect: {output: [[1, 0]]}}\n"
    (one,) = cases_in(folder, head + case)
    return one


def test_what_a_pass_speaks_against_is_not_named(tmp_path, monkeypatch):
    longer = node(HARDMAX, [[3, 3, 0, 1]], {"axis": 1})
    got = [np.array([[0, 1, 0, 0]], np.float32)]
    always = mutant(lambda one: [one.right[0][:, ::-1] if one is FIRST else got[0]], "always")
    long = mutant(lambda one: one.right if one is FIRST else got, "where_long")
    monkeypatch.setattr(suspects, "causes_of", lambda op: (always, long))
    free = Suspects(lambda case: None)
    assert names(free.diagnose(wrong(longer, got))) == ["always", "where_long"]
    held = Suspects(lambda case: wrong(FIRST, None))
    held.passed(passes(tmp_path))
    assert names(held.diagnose(wrong(longer, got))) == ["where_long"]


@pytest.mark.parametrize("came_out", [Suspects.passed, Suspects.accepted])
def test_a_refusal_that_a_pass_speaks_against_is_not_named(tmp_path: Path, came_out: Any) -> None:
    assert "refuses_float32" in names(Suspects(lambda case: None).diagnose(wrong(FIRST, None)))
    held = Suspects(lambda case: wrong(FIRST, None))
    came_out(held, passes(tmp_path))
    assert "refuses_float32" not in names(held.diagnose(wrong(FIRST, None)))
    # Who accepts a model may answer wrongly.
    seen = wrong(node(HARDMAX, [[3, 3, 0]], {"axis": 1}), [np.float32([[0, 1, 0]])])
    assert ("last_of_ties" in names(held.diagnose(seen))) is (came_out is Suspects.accepted)


def test_a_broken_mistake_of_ours_is_told_once(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    broken = mutant(lambda _: [][0], "refuses_broken")
    refusing = mutant(refuse, "refuses_made_up")
    monkeypatch.setattr(suspects, "causes_of", lambda op: (broken, refusing))
    found = Suspects(lambda case: None).diagnose(wrong(FIRST, None))
    assert names(found) == ["refuses_made_up", None]
    assert lines_with(found[1].text, "a mistake of") == wording


def test_only_a_mistake_of_refusing_explains_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    misreading, refusing = mutant(refuse, "version_1_always"), mutant(refuse, "refuses_float32")
    monkeypatch.setattr(suspects, "causes_of", lambda op: (misreading, refusing))
    raised = wrong(FIRST, None)
    assert names(Suspects(lambda case: None).diagnose(raised)) == ["refuses_float32"]
    # Ledgers of before may list the other one.
    assert suspects.looks_like("version_1_always", raised)


def test_what_left_the_range_of_a_narrower_type_is_recognised_and_hides_nothing_wrong() -> None:
    rows = np.array([[-3e25, 4e25, 1e25], [-3.0, 4.0, 9.0]])
    given = Node(OpVersion("", "LayerNormalization", 17), (rows, np.ones(3)), {})
    y, mean, inverse = (np.float32(part).astype(np.float64) for part in given.right)
    y[0] = inverse[0] = 0
    for factor, is_named in ((1, True), (1.5, False)):
        got = [y * [[1, 1, 1], [factor, 1, 1]], mean, inverse]
        found = Suspects(lambda case: None).diagnose(wrong(given, got))
        assert ("computed_in_float32" in names(found)) is is_named


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda out: out * (1 + 0.02 * CHANCE.standard_normal(out.shape)),
        lambda out: out * 1.37,
        lambda out: np.where(np.arange(out.size).reshape(out.shape) == 22, 0.7, out),
        lambda out: CHANCE.uniform(0, 1, out.shape),
    ],
    ids=["noise", "scale", "one_element", "random"],
)
def test_what_no_mistake_gives_is_blamed_on_none(dtype: Any, spoil: Any) -> None:
    rows = node(SOFTMAX, ROWS, {"axis": 1}, dtype)
    got = spoil(rows.right[0].astype(np.float64)).astype(dtype)
    found = Suspects(lambda case: None).diagnose(wrong(rows, [got]))
    assert not [name for name in names(found) if name]


def test_nan_throughout_is_nothing_but_that() -> None:
    rows = node(SOFTMAX, ROWS, {"axis": 1})
    suspects = Suspects(lambda case: None)
    for _ in range(3):
        found = suspects.diagnose(wrong(rows, [np.full_like(rows.right[0], np.nan)]))
    assert names(found)[0] == "nan_everywhere"


DOUBLED = mutant(lambda one: [2 * one.right[0]], "doubled")
HUGE = node(OpVersion("", "Exp", 13), [[200, 700, 0.1]], {}, np.float64)
TYPES = (np.float32, np.float16, np.int64, np.uint8, np.complex128, np.bool_, np.str_, np.object_)
NARROW = (np.float32, np.float16, ml_dtypes.bfloat16)
#: Infinite in a narrower type, or its largest number, beside what is right in one or in none.
CUT = [
    np.array([[end, end, 1.105170918 * one]])
    for end in (float(np.finfo(np.float32).max), 65504.0, np.inf)
    for one in (1, 1 + 1e-4, 1.5)
]


def test_faults_of_types_are_told_from_mistakes(snapshot: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(suspects, "causes_of", lambda op: [DOUBLED])
    apart = node(HARDMAX, [[1, 3, 3]], {"axis": 1}, np.float64)
    out, soft = apart.right[0], WIDE.right[0]
    answers = [(apart, factor * out.astype(dtype)) for dtype in TYPES[:-3] for factor in (1, 2)]
    answers += [(apart, out.astype(dtype)) for dtype in TYPES[-3:]]
    answers += [(WIDE, factor * soft.astype(dtype)) for dtype in TYPES[:2] for factor in (1, 2)]
    through = [node(SOFTMAX, WIDE.inputs[0], {"axis": 1}, dtype).right[0] for dtype in NARROW]
    answers += [(WIDE, factor * out.astype(float)) for out in through for factor in (1, 2)]
    lost = node(HARDMAX, [[1, 1 + 1e-12]], {"axis": 1}, np.float64)
    answers += [(lost, np.array([[1.0, 0.0]])), (WIDE, soft[:, ::-1])]
    answers += [(HUGE, factor * one) for one in CUT for factor in (1, 2)]
    lines = []
    for number, (given, got) in enumerate([*answers, (apart, Foreign("a list"))]):
        evidence = wrong(given, [got])
        views = " ".join(fault.name for fault, _ in evidence.views())
        said = Suspects(lambda case: None).diagnose(evidence)
        lines += [f"{number} {views}".rstrip(), *(f"    {one}" for one in said)]
    snapshot("faults", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("dtype", "factors", "types"),
    [
        # The smallest error is 8 bits finer than a type's unit roundoff.
        (np.float64, (1 + 2**-19, 1 - 2**-19, 1), "float32 float16"),
        (np.float64, (1 + 2**-19 - 2**-40, 1 - 2**-20, 1), "float32"),
        (np.float64, (1 + 2**-16, 1 - 2**-17, 1), "float32 float16 bfloat16"),
        # Roundings are not all alike.
        (np.float64, (1.001, 1.0011, 1.0014), "float32"),
        (np.float64, (1.001, 1.0011, 1.0016), "float32 float16 bfloat16"),
        (np.float64, (1.001, 1.0011, 1), "float32 float16 bfloat16"),
        (np.float64, (1.001, 0.999, 1.0011), "float32 float16 bfloat16"),
        (np.float64, (np.inf, 1, 1), "float32 float16 bfloat16"),
        (np.float32, (1.001, 0.999, 1.0011), "float16 bfloat16"),
        (np.float16, (1.25, 0.5, 1), "bfloat16"),
    ],
)
def test_poorer_arithmetics_are_those_whose_error_is_seen(dtype, factors, types):
    given = node(SOFTMAX, [[1, 2, 3]], {"axis": 1}, dtype)
    got = (given.right[0] * [factors]).astype(dtype)
    evidence = wrong(given, [got])
    assert " ".join(map(str, evidence.narrower_types())) == types
    for other in (None, [], [Foreign("a")], [got, got.astype(bool)]):
        assert replace(evidence, got=other).narrower_types() == []
    whole = replace(given, inputs=(np.int64([[1, 2, 3]]),))
    assert replace(evidence, node=whole).narrower_types() == []


@pytest.mark.parametrize(
    ("name", "got", "is_it"),
    [
        ("last_of_ties", LAST, True),
        ("last_of_ties+output_in_float64", [LAST[0].astype(np.float64)], True),
        ("last_of_ties", [LAST[0].astype(np.float64)], True),
        ("last_of_ties+doubled", [np.float32([[2, 1]])], True),
        ("last_of_ties+doubled", [-LAST[0]], False),
        ("doubled", LAST, False),
        ("not_checked", LAST, False),
        ("refuses_float32", None, True),
    ],
)
def test_a_failure_looks_like_a_mistake_or_two(name: str, got: Any, is_it: bool) -> None:
    assert looks_like(name, wrong(FIRST, got)) is is_it
    assert name in names_of(HARDMAX)
    assert name not in names_of(OpVersion("", "Nobody", 1))


@pytest.mark.parametrize(
    ("name", "got"),
    [
        ("before", LAST),
        ("before+output_in_float64", [LAST[0].astype(np.float64)]),
        ("before+doubled", [np.float32([[2, 1]])]),
    ],
)
def test_a_ledger_may_name_a_mistake_as_it_was_named_before(name, got, monkeypatch) -> None:
    known = [
        replace(one, aliases=("before",)) if one.name == "last_of_ties" else one
        for one in suspects.causes_of(HARDMAX)
    ]
    monkeypatch.setattr(suspects, "causes_of", lambda op: known)
    assert looks_like(name, wrong(FIRST, got))
    assert name in names_of(HARDMAX)


def test_an_invalid_model_was_checked_by_who_refuses_it() -> None:
    invalid = node(HARDMAX, [[3, 3]], {"axis": 7})
    assert looks_like("not_checked", wrong(invalid, LAST))
    assert not looks_like("not_checked", wrong(invalid, None))


FLOAT16, FLOAT32, FLOAT64 = (DTYPES[name] for name in ("float16", "float32", "float64"))


def test_faults_in_words(wording: Wording) -> None:
    said = [one.text for one in (*(Fault(way, FLOAT16) for way in get_args(_FaultKind)),)]
    assert said == [
        wording,
        wording,
        wording,
    ]
    by_itself = [Fault(way, FLOAT16).beside().text for way in get_args(_FaultKind)]
    assert by_itself == [said[0], wording, said[2]]
    two = Fault("output", FLOAT16).beside(DOUBLED)
    assert (two.name, two.text) == ("doubled+output_in_float16", wording)


@pytest.mark.parametrize(
    ("given", "is_rounded"),
    [
        (np.array([1 / 3]), True),
        (np.float32([1 / 3]), False),
        (np.float16([1 / 3]), False),
        (np.array([1 + (1 << 24)]), False),
        (None, False),
    ],
)
def test_nodes_of_wider_types_are_computed_in_a_narrower_one(given: Any, is_rounded: bool) -> None:
    made_on = Node(OpVersion("", "Abs", 13), () if given is None else (given,), {})
    same = mutant(lambda one: [one.inputs[0] if one.inputs else np.array([1 / 3])])
    (out,) = Fault("computed", FLOAT32).beside(same).answer(made_on)
    expected = np.array([1 / 3]) if given is None else given
    assert out.dtype == expected.dtype
    assert (out != expected).all() == is_rounded
    assert np.array_equal(out.astype(np.float32), expected.astype(np.float32))


def test_what_left_the_range_is_cut_and_restored() -> None:
    ends, large = np.float16([np.inf, -np.inf, 1]), np.float16([65504, -65504, 1])
    cut, plain = Fault("saturated", FLOAT16), Fault("computed", FLOAT16)
    assert np.array_equal(cut._bounded(ends), large)
    assert np.array_equal(cut.restored(large.astype(float)), ends)
    assert np.array_equal(plain.restored(large.astype(float)), large)
    for fault, array in ((plain, ends), (cut, np.float32([np.inf])), (cut, np.float64([9e9]))):
        assert fault._bounded(array) is array


@pytest.mark.parametrize(
    ("right", "got", "is_far"),
    [
        (None, [9], False),
        ([4], Foreign("a"), False),
        ([1, 4], [[1, 9]], False),
        ([1, 4], [2, 4], False),
        ([1, 4], [2.1, 4], True),
        ([1, 4], [-0.1, 4], True),
        ([np.inf, 4], [1, 4], False),
        ([1, 4], [np.inf, 4], False),
        ([3, 4], [0, 4], False),
        ([np.nan, 4], [7, 4], False),
        ([np.inf], [1], False),
    ],
)
def test_far_is_more_than_a_quarter_of_the_largest(right: Any, got: Any, is_far: bool) -> None:
    got = got if isinstance(got, Foreign) else np.float32(got)
    assert _is_far(None if right is None else np.float32(right), got) is is_far


@pytest.mark.parametrize(
    ("tier", "problem", "got", "fits"),
    [
        ("range", "values", [0, 2], True),
        ("range", "values", [np.inf, 2], True),
        ("range", "values", [0, 2.5], False),
        ("range", None, [1, 2], False),
        ("", None, [0, 2], True),
        ("", "values", [0, 2], False),
        ("range", None, Foreign("a"), True),
    ],
)
def test_beside_what_left_the_range_all_else_is_right(tier, problem, got, fits):
    got = got if isinstance(got, Foreign) else np.float32(got)
    rounded: Any = SimpleNamespace(nearest=[np.float32([1, 2])], got=[got])
    assert _fits(Comparison("y", problem, tier=tier), rounded, 0) is fits


@pytest.mark.parametrize(
    ("wanted", "got", "types"),
    [
        ((FLOAT64,), [np.float32], (FLOAT64, FLOAT32)),
        ((FLOAT64,), [np.float64], None),
        ((FLOAT64, FLOAT32), [np.float32], None),
        ((FLOAT64,), [np.float32, np.float16], None),
        ((FLOAT64,), [np.float32] * 2, (FLOAT64, FLOAT32)),
        ((None,), [np.float32], None),
        ((FLOAT64,), [np.str_], None),
        ((DTYPES["string"],), [np.float32], None),
        ((FLOAT64,), [object], None),
        ((FLOAT64,), [], None),
        ((), [np.float32], None),
        ((DTYPES["bool"],), [np.int64], (DTYPES["bool"], DTYPES["int64"])),
    ],
)
def test_one_type_is_wanted_and_another_is_given(wanted: Any, got: Any, types: Any) -> None:
    ((want,),) = wrong(FIRST, None).admitted
    wants = tuple(replace(want, dtype=dtype) for dtype in wanted)
    assert Evidence(FIRST, [np.zeros(2, dtype) for dtype in got], (wants,))._types() == types


def test_what_no_formula_answers_is_known_by_its_values() -> None:
    soft = WIDE.right[0]
    want = replace(wrong(WIDE, None).admitted[0][0], values=soft)
    invalid = replace(WIDE, attrs={"axis": 7})
    seen = Evidence(invalid, [soft.astype(np.float32).astype(float)], ((want,),))
    view = dict(seen.views())[Fault("computed", FLOAT32)]
    assert view.tolerance == Tolerance(ulp=4)
    ((known,),) = view.admitted
    assert (known.dtype, known.bound, known.rest) == (FLOAT32, None, None)
    assert np.array_equal(known.values, soft)


@pytest.fixture
def fitting(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Counter[str]]:
    """Names of mutants that fit, and how often each is tried."""
    fits, tried = ["one"], Counter[str]()

    def reproduces(mutant: Any, evidence: Any) -> bool:
        tried[mutant.name] += 1
        return mutant.name in fits

    known = [mutant(refuse, name) for name in ("one", "other", "third")]
    monkeypatch.setattr(suspects.Mutant, "is_refusal", True)
    monkeypatch.setattr(suspects, "causes_of", lambda op: known)
    monkeypatch.setattr(suspects, "reproduces", reproduces)
    return fits, tried


def test_later_those_that_explained_something_come_first(fitting: Any) -> None:
    (fits, tried), held = fitting, Suspects(lambda case: None)
    for _ in range(20):
        again = replace(FIRST, op=replace(HARDMAX))
        assert names(held.diagnose(wrong(again, None))) == ["one"]
    assert tried == {"one": 20, "other": 12, "third": 12}
    # In another version, fewer.
    older = replace(FIRST, op=replace(HARDMAX, since=11))
    for _ in range(20):
        held.diagnose(wrong(older, None))
    assert tried == {"one": 20 + 20, "other": 12 + 4, "third": 12 + 4}
    fits.clear()
    for _ in range(40):
        assert held.diagnose(wrong(FIRST, None)) == ()
    assert tried == {"one": 40 + 40 + 12, "other": 16 + 12, "third": 16 + 12}


def test_large_inputs_are_given_to_no_mistake(fitting: Any) -> None:
    (_, tried), held = fitting, Suspects(lambda case: None)
    for length in (1 << 18, 1 + (1 << 18)):
        held.diagnose(wrong(node(HARDMAX, np.zeros((1, length)), {"axis": 1}), None))
        assert tried == {"one": 1, "other": 1, "third": 1}


def test_failures_that_were_kept_are_tried_again(fitting: Any) -> None:
    (fits, tried), held = fitting, Suspects(lambda case: None)
    one = wrong(node(HARDMAX, [[0]], {"axis": 1}), None)
    for length, name in ((4097, "large"), (4096, "kept")):
        held.diagnose(wrong(node(HARDMAX, [[0] * length], {"axis": 1}), None), name)
    for name in (*map(str, range(1997)), "also"):
        held.diagnose(one, name)
    fits.clear()
    for name in ("vain", "too_late"):
        held.diagnose(one, name)
    known = suspects.causes_of(HARDMAX)[:2]

    def refit(name: str, *those: str) -> list[str]:
        fits[:] = those
        return [*held.refit(replace(CASE, id=name), known)]

    assert [refit(name, "one") for name in ("large", "also", "too_late")] == [[], ["one"], []]
    assert refit("kept", "one+other", "third") == ["one+other"]
    assert refit("kept", "other", "one+other") == ["other"]
    # 50 times all mistakes are tried, but where they were in vain, and then those that are known.
    tried.clear()
    assert [refit("vain", name) for name in ("third", "other")] == [[], ["other"]]
    tried.clear()
    assert [refit("kept", "third") for _ in range(49)] == [["third"]] * 47 + [[]] * 2
    assert tried["third"] == 47
    assert refit("kept", "one", "other") == ["one", "other"]
    assert [*held.fitting(replace(CASE, id="kept"), ())] == ["one"]
    some = [Diagnosis(name, "") for name in ("output_in_float16", "third", "one")]
    assert [*held.fitting(CASE, some)] == ["one", "third", "output_in_float16"]
    assert [*held.fitting(CASE, [Diagnosis("third", ""), Diagnosis("one+nobody", "")])] == ["third"]


def test_passes_are_asked_once_and_only_if_small() -> None:
    (spec,), asked = CASE.inputs, list[int]()

    def recall(case: Case) -> Any:
        asked.append(case.inputs[0].shape[0])
        return wrong(FIRST, None)

    held = Suspects(recall)
    for length in (4097, 4096, 3, 2):
        held.passed(replace(CASE, inputs=(replace(spec, shape=(length,)),)))
    cell = cell_of(CASE)
    assert cell == cell_of(replace(CASE, slots=())) == Cell(HARDMAX, "float32")
    assert len(held.against(DOUBLED, cell, 1)) == 1
    assert asked == [4096]
    assert len(held.against(DOUBLED, cell)) == len(held.against(DOUBLED, cell)) == 3
    assert held.against(mutant(lambda one: one.right), cell) == []
    assert asked == [4096, 3, 2]


def test_a_refusal_contradicts_no_mistake_that_is_to_explain_answers_to_legal_models() -> None:
    invalid = node(HARDMAX, [[3, 1]], {"axis": 7})
    accepting = mutant(lambda one: [np.zeros((1, 2), np.float32)])
    held = Suspects(lambda case: wrong(invalid, None))
    held.passed(replace(CASE, expect=Rejected("axis 7", CASE)))
    cell = cell_of(CASE)
    # In any order, and as often as it is asked.
    for _ in range(2):
        assert held.against(accepting, cell, of_legal=True) == []
        assert len(held.against(accepting, cell)) == 1
    assert held.is_contradicted(accepting, cell, of_legal=False)
    assert not held.is_contradicted(accepting, cell, of_legal=True)
