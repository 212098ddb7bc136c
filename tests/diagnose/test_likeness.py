"""A mistake reproduces an answer where it gives the same, but for rounding, and that is wrong."""

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare import Want
from opcheck.diagnose import Suspects
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.faults import both, mutant_named
from opcheck.diagnose.likeness import _same_kind, contradicts, reproduces
from opcheck.engine import Node
from opcheck.engine.mutants import mutants_of
from opcheck.model import Foreign, OpVersion, Tolerance
from opcheck.model.question import Items
from tests.diagnose.wrong import HARDMAX, SOFTMAX, mutant, node, refuse, wrong

TIES = node(HARDMAX, [[3, 3, 1]], {"axis": 1})
LAST = np.array([[0, 1, 0]], np.float32)
ROW = node(SOFTMAX, [[0, 1, 2, 3]], {"axis": 1})
RIGHT = ROW.right[0]
((WANT,),) = wrong(ROW, None).admitted


def test_the_same_wrong_answer_is_reproduced() -> None:
    assert reproduces(mutant(lambda _: [LAST]), wrong(TIES, [LAST]))


@pytest.mark.parametrize("other", [[LAST[:, ::-1] * 2], [LAST.astype(float)], [LAST, LAST]])
def test_another_answer_is_not(other: Any) -> None:
    assert not reproduces(mutant(lambda _: other), wrong(TIES, [LAST]))


@pytest.mark.parametrize(
    ("op", "given", "attrs", "got", "name"),
    [
        (("Mod", 13), [[-7], [3]], {"fmod": 0}, [-1], "sign_of_the_dividend"),
        (
            ("ScatterND", 18),
            [[1, 2], [[0], [0]], [5, 6]],
            {"reduction": "add"},
            [7, 2],
            "last_update_under_add",
        ),
        (
            ("Cast", 19),
            [[9e9, np.nan]],
            {"to": 17, "saturate": 0},
            np.array([448, np.nan], ml_dtypes.float8_e4m3fn),
            "saturate_ignored",
        ),
        (("Relu", 14), [[-1] * 9], {}, [0] * 8 + [-1], "tail_of_8_the_input"),
    ],
)
def test_famous_mistakes_have_a_name(op: Any, given: Any, attrs: Any, got: Any, name: str) -> None:
    node = Node(OpVersion("", *op), tuple(map(np.array, given)), attrs)
    found = {one.name: one for one in mutants_of(node.op)}
    assert reproduces(found[name], wrong(node, [np.array(got)]))


INF, NAN, LOWEST = np.inf, np.nan, float(np.finfo(np.float32).min)


@pytest.mark.parametrize(
    ("op", "given", "attrs", "got", "name"),
    [
        (("Cast", 19), [[-0.0, 1]], {"to": 10}, np.float16([0, 1]), "zeros_lose_their_signs"),
        (
            ("Cast", 19),
            [[-INF, 1]],
            {"to": 10},
            np.float16([-65504, 1]),
            "infinite_results_saturate",
        ),
        (("Add", 14), [[-INF, 2], [2, 1]], {}, [LOWEST, 3], "infinite_results_saturate"),
        (("Pow", 15), [[-2, 3], [3, 2]], {}, [8, 9], "magnitudes_taken"),
        (("ReduceMax", 20), [[-INF]], {"keepdims": 0}, LOWEST, "maximum_starts_at_the_lowest"),
        (("ReduceMax", 20), [[]], {"keepdims": 0}, 0, "maximum_starts_at_0"),
        (("ReduceMin", 20), [[]], {"keepdims": 0}, -LOWEST, "minimum_starts_at_the_largest"),
        (("ReduceMin", 20), [[3, 5]], {"keepdims": 0}, 0, "minimum_starts_at_0"),
        (
            ("MaxPool", 22),
            [[[[-INF, -INF, 3]]]],
            {"kernel_shape": (2,)},
            [[[LOWEST, 3]]],
            "maximum_starts_at_the_lowest",
        ),
        (("ArgMin", 13), [[-INF, -1, 2]], {"keepdims": 0}, 1, "infinities_taken_for_zero"),
    ],
)
def test_special_values_are_lost_in_known_ways(op, given, attrs, got, name):
    made_on = Node(OpVersion("", *op), tuple(map(np.float32, given)), attrs)
    outputs = [np.asarray(got, getattr(got, "dtype", made_on.right[0].dtype))]
    seen = wrong(made_on, outputs, Tolerance(ulp=0, signed_zeros=True))
    assert name in [one.mistake for one in Suspects(lambda case: None).diagnose(seen)]


def test_what_would_have_passed_explains_no_failure() -> None:
    nearly = np.nextafter(RIGHT, np.float32(0))
    wrong_by_little = RIGHT * np.float32(1 + 2e-6)
    assert not reproduces(mutant(lambda _: [nearly]), wrong(ROW, [wrong_by_little]))


def test_what_changes_nothing_explains_no_failure() -> None:
    # The case states another answer than the engine's, which the backend gives.
    stated = replace(WANT, values=np.zeros_like(WANT.values), bound=None)
    copied = mutant(lambda _: [RIGHT.copy()])
    assert not reproduces(copied, Evidence(ROW, ROW.right, [[stated]]))
    assert reproduces(
        copied, Evidence(node(SOFTMAX, [[3, 2, 1, 0]], {"axis": 1}), [RIGHT], [[stated]])
    )


def test_another_arithmetic_may_differ_by_what_the_operator_s_own_rounds_to() -> None:
    """Stage one is computed in float32, and outputs are float64; Mean is right in both."""
    x = np.random.default_rng(0).standard_normal((3, 40)) + 2
    scale, bias = np.linspace(1, 2, 40), np.linspace(-1, 1, 40)
    given = Node(OpVersion("", "LayerNormalization", 17), (x, scale, bias), {"epsilon": 0.1})
    mean = x.mean(1, keepdims=True)
    deviation = x.std(1, keepdims=True)
    answer = [(x - mean) / (deviation + 0.1) * scale + bias, mean, 1 / (deviation + 0.1)]
    got = [answer[0], *(part.astype(np.float32) for part in (mean * (1 + 1e-6), answer[2]))]
    found = {one.name: one for one in mutants_of(given.op)}
    assert reproduces(found["epsilon_after_the_root"], wrong(given, got))
    assert not reproduces(found["epsilon_ignored"], wrong(given, got))
    assert not reproduces(mutant(lambda _: [got[0], 2 * got[1], got[2]]), wrong(given, got))


@pytest.mark.parametrize("off", [(1e-4, 2e-4), (2.6e-6, 4.6e-6)])
def test_what_is_nearer_to_the_right_answer_than_to_the_mistake_is_not_that_mistake(off):
    got, other = (RIGHT * np.float32([[1 + one, 1, 1, 1]]) for one in off)
    assert not reproduces(mutant(lambda _: [other]), wrong(ROW, [got]))


def test_two_that_are_made_at_once_go_by_both_names() -> None:
    known = {name: mutant(refuse, name) for name in ("one", "two")}
    for name in ("one", "one+two", "one+computed_in_float32", "one+nobody"):
        assert getattr(mutant_named(name, known), "name", "one+nobody") == name


@pytest.mark.parametrize(
    ("dtype", "made", "got", "is_it"),
    [
        # A few steps, or a sixteenth of the way to the right answer; at most half of the digits.
        (np.float32, 60, 64, True),
        (np.float32, 60, 65, False),
        (np.float32, 60, 55, False),
        (np.float32, 80, 85, True),
        (np.float32, 80, 86, False),
        (np.float32, -80, -86, False),
        (np.float32, 1 << 20, (1 << 20) + 4096, True),
        (np.float32, 1 << 20, (1 << 20) + 4097, False),
        (np.float16, 20, 21, True),
        (np.float16, 20, 22, False),
        (np.float16, 32, 34, True),
        (np.float64, 0, 9, False),
    ],
)
def test_a_mistake_is_made_in_arithmetics_that_differ_by_so_many_steps(dtype, made, got, is_it):
    given = node(OpVersion("", "Reciprocal", 13), [[3, 3, 5]], {}, dtype)
    right, bits = given.right[0], f"i{np.dtype(dtype).itemsize}"
    one, other = ((right.view(bits) + np.array([[0, n, 0]], bits)).view(dtype) for n in (made, got))
    seen = wrong(given, [other], Tolerance(ulp=0))
    assert reproduces(mutant(lambda _: [one]), seen) is is_it
    assert seen.farthest == [(abs(got), 1)]


@pytest.mark.parametrize(
    ("got", "made", "is_it"),
    [
        # Within an eighth of the largest, and at most half as far as the right values.
        (1.127, 1.07, True),
        (1.127, 1.05, False),
        (1.5, 1.38, True),
        (1.5, 1.37, False),
        # As near to the right values as roundings are.
        (1.12, 1.12, False),
        (np.nan, 1.5, False),
        (np.inf, np.inf, True),
    ],
)
def test_steps_in_a_narrow_type_are_nearer_to_the_answer_than_the_right_values(got, made, is_it):
    factors = (np.float32([1, 1, 1, factor]) for factor in (got, made))
    seen, its = (RIGHT * factor for factor in factors)
    steps = replace(mutant(lambda _: [its]), narrow="bfloat16")
    assert reproduces(steps, wrong(ROW, [seen])) is is_it


def test_of_two_mistakes_that_spoil_an_element_the_second_wins() -> None:
    nan = np.nan
    given = node(OpVersion("", "Abs", 13), [1, nan, nan, 4, 5], {})
    one = mutant(lambda _: [np.float32([7, 7, nan, 7, 5])], "one")
    other = mutant(lambda _: [np.array([1, nan, 3, 2, 5])], "other")
    (out,) = both(one, other).answer(given)
    assert out.dtype == np.float32
    assert np.array_equal(out, [7, 7, 3, 2, 5])
    longer = mutant(lambda _: [np.zeros(6)], "longer")
    assert [both(*two).answer(given)[0].size for two in ((one, longer), (longer, one))] == [6, 5]
    more = mutant(lambda made_on: [*made_on.right, np.zeros(1)], "more")
    assert [len(both(*two).answer(given)) for two in ((one, more), (more, one))] == [2, 1]


def test_a_node_that_two_mistakes_misread_is_misread_twice() -> None:
    given = node(OpVersion("", "HardSigmoid", 22), [1, 2, 4], {"alpha": 0.125, "beta": 0.25})
    ignored = {one.name: one for one in mutants_of(given.op) if one.name.endswith("_ignored")}
    together = both(ignored["alpha_ignored"], ignored["beta_ignored"])
    assert together.name == "alpha_ignored+beta_ignored"
    assert np.allclose(together.answer(given)[0], [0.7, 0.9, 1])


def test_two_mistakes_are_made_at_once_on_texts() -> None:
    given = node(OpVersion("", "Identity", 13), ["a", "b", "c"], {}, object)
    one = mutant(lambda _: [np.array(["x", "x", "c"], object)])
    other = mutant(lambda _: [np.array(["a", "y", "c"], object)])
    (out,) = both(one, other).answer(given)
    assert out.tolist() == ["x", "y", "c"]


def test_what_is_no_float_keeps_its_type_in_a_narrower_computation() -> None:
    given = Node(OpVersion("", "TopK", 11), (np.float32([1, 2.0001]), np.int64([1])), {})
    narrow = mutant_named("computed_in_float16", {})
    assert narrow is not None
    values, indices = narrow.answer(given)
    assert (values.dtype, indices.dtype) == (np.float32, np.int64)
    assert (values.tolist(), indices.tolist()) == ([2], [1])


def test_of_several_right_answers_the_nearest_counts() -> None:
    low, high = (replace(one, values=one.values * n) for n in (1, 4) for one in [WANT])
    for got, nearest in ((1.5, 1), (3.5, 4), (9, 4)):
        seen = Evidence(ROW, [RIGHT * np.float32(got)], ((low,), (high,), (low, high)))
        assert np.array_equal(seen.nearest[0], RIGHT * np.float32(nearest))
        assert not seen.passing
    both_passed = Evidence(ROW, [RIGHT, RIGHT, 2 * RIGHT], ((low, low, low),))
    assert both_passed.passing == {0, 1}
    assert Evidence(ROW, [RIGHT, 2 * RIGHT], ((low, low),)).passing == {0}
    assert replace(both_passed, got=[RIGHT, RIGHT]).passing == set()
    got = [RIGHT[0], np.int64([1]), Foreign("a list")]
    assert replace(both_passed, got=got).nearest == [None] * 3
    assert replace(both_passed, got=got).farthest == [(0, 0)] * 3


def test_a_sequence_passes_if_each_of_its_tensors_does() -> None:
    sequence = Want("s", None, np.empty(0), form="sequence", items=(WANT, WANT))
    for second, passing in ((RIGHT, {0}), (2 * RIGHT, set())):
        items = Items("list of 2 arrays", (RIGHT, second))
        seen = Evidence(ROW, [items, 3 * RIGHT], ((sequence, WANT),))
        assert seen.passing == passing
        assert not Suspects(lambda _: None).diagnose(seen)


def test_what_two_correct_implementations_may_differ_by() -> None:
    seen = wrong(ROW, None)
    for other, are_near in ((RIGHT, True), (RIGHT * np.float32(1.5), False)):
        assert seen.within_errors(0, RIGHT, other).all() == are_near
    unbounded = replace(WANT, bound=None)
    for admitted in (((WANT,), (WANT,)), ((unbounded,),), ()):
        assert not replace(seen, admitted=admitted).within_errors(0, RIGHT, RIGHT).any()


def test_beside_a_wrong_output_two_may_be_right_where_no_answer_is_known() -> None:
    more, less = ((RIGHT.view(np.int32) + n).view(np.float32) for n in (100, -100))
    made = mutant(lambda _: [2 * RIGHT, less])
    for given, is_it in ((replace(ROW, attrs={"axis": 7}), True), (ROW, False)):
        seen = Evidence(given, [2 * RIGHT, more], ((WANT, WANT),), Tolerance(ulp=200))
        assert reproduces(made, seen) is is_it


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_right_in_both_may_be_of_another_arithmetic(place: int) -> None:
    x = np.float32([[1, 2, 4]])
    given = Node(OpVersion("", "LayerNormalization", 17), (x, np.ones_like(x[0])), {})
    y, mean, deviation = given.right
    got = answer = [y, mean, 2 * deviation]
    got = [(one.view(np.int32) + 100 * (n == place)).view(np.float32) for n, one in enumerate(got)]
    for ulp in (200, 50):
        seen = wrong(given, got, Tolerance(ulp=ulp))
        assert reproduces(mutant(lambda _: answer), seen) is (ulp == 200)


def test_nan_is_reproduced_by_nan_only() -> None:
    nan = np.full_like(RIGHT, np.nan)
    assert reproduces(mutant(lambda _: [nan]), wrong(ROW, [nan]))
    assert not reproduces(mutant(lambda _: [2 * RIGHT]), wrong(ROW, [nan]))


def test_a_refusal_is_reproduced_by_a_refusal() -> None:
    assert reproduces(mutant(refuse), wrong(TIES, None))
    assert not reproduces(mutant(refuse), wrong(TIES, [LAST]))
    assert not reproduces(mutant(lambda _: [LAST]), wrong(TIES, None))


def test_what_is_no_tensor_is_reproduced_by_the_same_type() -> None:
    seen = wrong(TIES, [Foreign("builtins.list")])
    assert reproduces(mutant(lambda _: [[0, 1, 0]]), seen)
    assert not reproduces(mutant(lambda _: [object()]), seen)


@pytest.mark.parametrize("dtype", [np.complex64, np.float32, ml_dtypes.float8_e5m2])
def test_nan_of_the_answer_is_nan_of_the_mutant(dtype: Any) -> None:
    copied = node(OpVersion("", "Identity", 25), [1, np.nan], {}, dtype)
    doubled = np.array([2, np.nan], dtype)
    assert reproduces(mutant(lambda _: [doubled]), wrong(copied, [doubled.copy()]))


def test_an_accepted_invalid_model_is_reproduced_by_its_answer() -> None:
    invalid = node(HARDMAX, [[3, 3, 1]], {"axis": 2})
    assert reproduces(mutant(lambda _: [LAST]), wrong(invalid, [LAST]))
    assert not reproduces(mutant(lambda _: [1 - LAST]), wrong(invalid, [LAST]))
    rounded = node(SOFTMAX, ROW.inputs[0], {"axis": 2})
    # What cancels may be off by some roundings of the largest element.
    for steps, is_same in ((4, True), (40, True), (4000, False)):
        got = (RIGHT.view(np.int32) - np.int32([[steps, 0, 0, 0]])).view(np.float32)
        assert reproduces(mutant(lambda _: [RIGHT]), wrong(rounded, [got])) is is_same


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        (Foreign("a"), Foreign("a"), True),
        (Foreign("a"), Foreign("b"), False),
        (Foreign("a"), LAST, False),
        (LAST, Foreign("a"), False),
        (LAST, LAST[0], False),
        (LAST, LAST.astype(">f4"), True),
        (LAST.astype(">f4"), LAST, True),
        (LAST, LAST.astype(float), False),
    ],
)
def test_outputs_of_the_same_kind(one: Any, other: Any, are_alike: bool) -> None:
    assert _same_kind(one, other) is are_alike


@pytest.mark.parametrize(("steps", "is_right"), [(0, True), (3, True), (4, True), (5, False)])
def test_a_tolerance_says_what_would_have_passed(steps: int, is_right: bool) -> None:
    got = (RIGHT.view(np.int32) + np.int32([[steps, 0, 0, 0]])).view(np.float32)
    seen = wrong(ROW, None, Tolerance(ulp=4))
    assert seen.is_right([got]) is seen.passes(0, got) is is_right
    assert contradicts(mutant(lambda _: [got]), seen) is not is_right


def test_a_pass_contradicts_what_would_have_failed() -> None:
    passed = wrong(TIES, None)
    assert contradicts(mutant(lambda _: [LAST]), passed)
    assert contradicts(mutant(refuse), passed)
    assert not contradicts(mutant(lambda made_on: made_on.right), passed)


def test_a_refusal_that_was_right_contradicts_who_accepts() -> None:
    refused = wrong(node(HARDMAX, [[3, 3, 1]], {"axis": 2}), None)
    assert contradicts(mutant(lambda _: [LAST]), refused)
    assert not contradicts(mutant(refuse), refused)
