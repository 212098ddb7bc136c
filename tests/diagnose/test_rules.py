"""A rule holds of failing cases, of no others, and is no work of chance."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opcheck.diagnose import facts as fact_kinds, rules
from opcheck.diagnose.facts import LIMIT, PLAIN, VALUE, Feature, Keys, _of_tensor, features
from opcheck.diagnose.rules import Condition, rule
from opcheck.dtypes import DTYPES
from opcheck.model import Case, OpVersion
from opcheck.model.case import Fill, Given, Put, Rejected, TensorSpec
from tests.report.made import CASE
from tests.wording import Wording


def bits(*numbers: int) -> int:
    return sum(1 << number for number in numbers)


#: Forty cases, of which the first six fail.
FAILING, OTHERS = bits(*range(6)), bits(*range(6, 40))
FORTY = Keys(range(40), range(40))
DARK = Feature("it is dark", PLAIN, FAILING)


def learned(*features: Feature, failing: int = FAILING, others: int = OTHERS, **how: bool) -> str:
    found = rule(features, failing, others, failing, FORTY, **how)
    return found.text if found else "nothing"


def test_what_holds_of_all_that_fail_and_of_nothing_else_is_the_rule() -> None:
    half = Feature("it is late", PLAIN, bits(*range(3)))
    found = rule((half, DARK), FAILING, OTHERS, FAILING, FORTY)
    assert found == Condition("it is dark", FAILING, (6, 6, 0, 34), FAILING, PLAIN)


def test_nothing_is_said_that_one_case_contradicts() -> None:
    assert learned(Feature("it is dark", PLAIN, FAILING | bits(39))) == "nothing"


@pytest.mark.parametrize(
    ("rank", "failures"),
    [
        (PLAIN, 6),
        (VALUE, 5),
        (LIMIT, 6),
        (LIMIT, 5),
    ],
)
def test_a_limit_beside_another_fact_holds_of_all_failures(rank, failures, wording):
    one = Feature("it is dark", PLAIN, FAILING | bits(6, 7))
    assert learned(one, Feature("x is 7", rank, bits(*range(failures), 8, 9))) == wording


def test_one_fact_is_better_than_two_that_explain_little_more() -> None:
    one = Feature("it is dark", PLAIN, bits(*range(5)))
    pair = (Feature(text, PLAIN, FAILING | bits(6 + n)) for n, text in enumerate("ab"))
    assert learned(one, *pair) == "it is dark"


def test_of_what_explains_as_much_the_more_natural_is_said() -> None:
    assert learned(Feature("the length is 40 or more", LIMIT, FAILING), DARK) == "it is dark"


def test_what_holds_in_one_version_only_is_said_of_that(wording: Wording) -> None:
    version = Feature("the version is 13", VALUE, FAILING | bits(*range(20, 30)))
    pair = [Feature(text, PLAIN, FAILING | bits(n, 31)) for n, text in ((20, "a"), (21, "b"))]
    assert learned(*pair, version) == wording


@pytest.mark.parametrize(
    ("feature", "failing", "questions", "found"),
    [
        (DARK, bits(0, 1), range(40), "nothing"),
        (DARK, bits(0, 1, 2), range(40), "it is dark"),
        # All types and opsets of one case are one question.
        (DARK, FAILING, [0] * 6 + [1] * 34, "nothing"),
        (DARK, FAILING, [0, 0, 0, 1, 1, 1, *range(2, 36)], "it is dark"),
        (DARK, FAILING, [0, 0, 0, 1, 1, 1, *[2] * 34], "nothing"),
        (Feature("x is 7", VALUE, FAILING), FAILING, [0] * 6 + [1] * 34, "nothing"),
        (Feature("x is 7", VALUE, FAILING), FAILING, range(40), "x is 7"),
    ],
)
def test_few_cases_are_enough_for_what_kernels_branch_on_only(feature, failing, questions, found):
    seen = rule([feature], failing, OTHERS, failing, Keys(questions, questions))
    assert (seen.text if seen else "nothing") == found


def test_an_input_behind_the_last_one_is_left_out(wording: Wording) -> None:
    op = OpVersion("", "ReduceSum", 13)
    both = replace(CASE, op=op, slots=("data", "axes"))
    alone = replace(CASE, op=op, slots=("data",))
    (fact,) = (feature.text for feature in features([both, alone]) if feature.holds == 0b10)
    assert fact == wording


def test_an_attribute_that_a_version_lacks_is_not_left_out() -> None:
    since_10, since_16 = (OpVersion("", "RoiAlign", since) for since in (10, 16))
    name = "coordinate_transformation_mode"
    cases = [
        replace(CASE, op=since_16, attrs={name: "half_pixel"}),
        replace(CASE, op=since_16, attrs={}),
        replace(CASE, op=since_10, attrs={}),
    ]
    (given,) = (one.holds for one in features(cases) if one.text.startswith(f"`{name}` is g"))
    left_out = [one.holds for one in features(cases) if one.text == f"`{name}` is left out"]
    assert (given, left_out) == (0b001, [0b010])


def test_an_axis_is_the_same_from_either_end_and_by_default() -> None:
    hardmax = OpVersion("", "Hardmax", 13)
    x = replace(CASE.inputs[0], shape=(2, 3), put=())
    stated = ({}, {"axis": 1}, {"axis": -1}, {"axis": 0})
    cases = [replace(CASE, op=hardmax, attrs=attrs, inputs=(x,)) for attrs in stated]
    assert 0b0111 in {feature.holds for feature in features(cases)}
    assert 0b0101 in {feature.holds for feature in features(cases)}


def test_one_question_is_enough_for_a_fact_without_which_the_backend_passes() -> None:
    questions = [0] * 6 + [1] * 34
    keys = Keys(questions, questions)
    assert rule([DARK], FAILING, OTHERS, FAILING, keys) is None
    assert rule([DARK], FAILING, OTHERS, FAILING, keys, confirmed=[DARK])


def test_questions_of_one_name_that_come_out_alike_are_one_unit_of_evidence() -> None:
    dark = [replace(CASE, name="night", row=str(row)) for row in range(3)]
    light = [replace(CASE, name=f"day {n}", row="") for n in range(37)]
    alike = fact_kinds.CaseFacts([*dark, *light]).keys(bits(0, 1, 2), bits(*range(3, 40)))
    assert len({*alike.units[:3]}) == 1
    mixed = fact_kinds.CaseFacts([*dark, *light]).keys(bits(0, 1), bits(*range(2, 40)))
    assert mixed.units[:3] == mixed.questions[:3]


@pytest.mark.parametrize(
    "implied", ["the model is legal", "the number of elements of input X is 1 or more"]
)
def test_what_all_failures_are_anyway_is_not_in_the_words_of_a_condition(implied: str) -> None:
    one = Feature("it is dark", PLAIN, FAILING | bits(6, 7))
    other = Feature(implied, PLAIN, FAILING | bits(8, 9))
    assert learned(one, other) == "it is dark"


def test_a_limit_in_a_pair_is_confirmed_by_asking() -> None:
    one = Feature("it is dark", PLAIN, FAILING | bits(6, 7))
    limit = Feature("x is 7 or less", VALUE, FAILING | bits(8, 9))
    assert rule([one, limit], FAILING, OTHERS, FAILING, FORTY) is None
    assert rule([one, limit], FAILING, OTHERS, FAILING, FORTY, confirmed=[limit])


def test_failures_of_one_name_have_a_condition_by_chance() -> None:
    failing = bits(*range(5))
    dark = Feature("it is dark", PLAIN, failing)
    keys = Keys(range(40), [0] * 5 + [*range(5, 40)])
    others = bits(*range(5, 40))
    assert rule([dark], failing, others, failing, keys) is None
    assert rule([dark], failing, others, failing, keys, confirmed=[dark])
    assert rule([DARK], FAILING, OTHERS, FAILING, Keys(range(40), [0] * 6 + [*range(6, 40)]))


def test_what_all_failures_have_is_named_with_the_passes_that_have_it_too() -> None:
    exceptions = Feature("it is dark", PLAIN, FAILING | bits(6, 7, 8))
    found = rules.necessary([exceptions], FAILING, OTHERS, FAILING, range(40))
    assert found == Condition(
        "it is dark", exceptions.holds, (6, 9, 0, 31), exceptions.holds, PLAIN
    )


@pytest.mark.parametrize(
    "feature",
    [
        Feature("more passes than failures have it", PLAIN, FAILING | bits(*range(10, 16))),
        Feature("a failure lacks it", PLAIN, bits(*range(5))),
        Feature("it is a size", LIMIT, FAILING),
        Feature("output 1 is left out", PLAIN, FAILING),
    ],
)
def test_what_all_failures_have_may_be_nothing(feature: Feature) -> None:
    assert rules.necessary([feature], FAILING, OTHERS, FAILING, range(40)) is None


def test_a_property_of_a_single_question_may_be_chance() -> None:
    assert rules.necessary([DARK], FAILING, OTHERS, FAILING, [0] * 6 + [1] * 34) is None


def test_the_only_integer_of_an_input_is_a_fact() -> None:
    k = TensorSpec("k", DTYPES["int64"], (1,), Given(np.array([3])))
    assert [*fact_kinds._only_integer(k)] == [3]
    assert [*fact_kinds._only_integer(replace(k, dtype=DTYPES["float32"]))] == []
    two = replace(k, shape=(2,), content=Given(np.array([3, 4])))
    assert [*fact_kinds._only_integer(two)] == []


def test_values_of_floats_are_facts_also_if_they_are_drawn(wording: Wording) -> None:
    drawn = TensorSpec("X", DTYPES["float32"], (50,), Fill("uniform", (-1, 1)))
    given = replace(drawn, shape=(2,), content=Given(np.array([0, 2.5])))
    assert [*fact_kinds._of_floats(drawn), *fact_kinds._of_floats(given)] == wording
    assert fact_kinds._of_floats(replace(drawn, shape=(1 << 13,))) == ()
    assert fact_kinds._of_floats(replace(drawn, dtype=DTYPES["int32"])) == ()


def test_a_fact_of_integers_and_floats_is_one() -> None:
    x = CASE.inputs[0]
    negative = replace(x, content=Given(np.full(x.shape, -1.0)))
    cases = [
        replace(CASE, inputs=(replace(spec, dtype=DTYPES[dtype]),))
        for spec in (negative, replace(x, content=Given(np.full(x.shape, 1.0))))
        for dtype in ("float32", "int32")
    ]
    (feature,) = [one for one in features(cases) if one.text.endswith("negative value")]
    assert (feature.rank, feature.holds) == (VALUE, bits(0, 1))


def test_facts_of_integers_and_of_two_inputs(wording: Wording) -> None:
    int64 = DTYPES["int64"]
    drawn = TensorSpec("A", int64, (2, 3), Fill("integers", (-5, 4)))
    given = TensorSpec("B", int64, (1, 3), Given(np.array([[2.0, 2.0, 2.0]])))
    case = replace(CASE, inputs=(drawn, given), attrs={"pads": (0, 1)})
    plain = replace(case, inputs=(given, given), attrs={"pads": (1, 1)})
    assert [
        text for text, _, _ in (*fact_kinds._of_inputs(case), *fact_kinds._of_pairs(case))
    ] == wording
    differing = {fact[0] for fact in fact_kinds._of_values(case)}
    assert sorted(differing - {fact[0] for fact in fact_kinds._of_values(plain)}) == wording


@pytest.mark.parametrize(
    ("dtype", "value", "facts"),
    [
        ("string", "nan", set()),
        ("complex64", 1 + 2j, set()),
        ("complex64", complex(0, np.nan), {"has a NaN"}),
        ("complex128", complex(np.inf, 0), {"has an infinity"}),
        ("uint64", 2**64 - 1, set()),
    ],
)
def test_only_numbers_that_are_put_have_a_nan_or_an_infinity(dtype, value, facts):
    spec = TensorSpec("x", DTYPES[dtype], (3,), Fill("ones", ()), put=(Put((0,), value),))
    assert {*_of_tensor(spec)} == {"is fed", *facts}


def test_an_input_that_is_an_attribute_in_another_version_is_the_same_fact() -> None:
    int64 = DTYPES["int64"]
    pads = TensorSpec("pads", int64, (2,), Given(np.array([-1, 0])))
    vector = replace(CASE.inputs[0], shape=(3,))
    as_attribute = replace(
        CASE, op=OpVersion("", "Pad", 2), attrs={"pads": (-1, 0)}, inputs=(vector,)
    )
    as_input = replace(CASE, op=OpVersion("", "Pad", 13), attrs={}, inputs=(vector, pads))
    assert _stated(as_input) == _stated(as_attribute)
    # An axis is one in any operator; a number is not a list.
    axis = replace(pads, name="axis", shape=(), content=Given(np.array(-1)))
    of_input = replace(CASE, op=OpVersion("", "CumSum", 14), attrs={}, inputs=(vector, axis))
    of_attribute = replace(CASE, attrs={"axis": -1}, inputs=(vector,))
    assert _stated(of_input) == _stated(of_attribute)


def test_an_only_input_has_a_name_where_another_case_has_two() -> None:
    x = replace(CASE.inputs[0], name="data", shape=(2, 3))
    axes = TensorSpec("axes", DTYPES["int64"], (1,), Given(np.array([1])))
    alone = replace(CASE, inputs=(x,))
    of_rank_3 = replace(CASE, inputs=(replace(x, shape=(2, 3, 4)), axes))
    with_axes = replace(CASE, inputs=(x, axes))
    of_rank_2 = {one.text: one.holds for one in features([alone, of_rank_3, with_axes])}
    assert of_rank_2["the rank of input data is 2"] == bits(0, 2)


@pytest.mark.parametrize(
    ("text", "shown"), [("", '""'), (" ", '" "'), ("a\n", '"a\n"'), ("a b", "a b")]
)
def test_a_text_that_would_not_be_seen_is_quoted(text: str, shown: str) -> None:
    assert f"`mode` is {shown}" in _stated(replace(CASE, attrs={"mode": text}))


def _stated(case: Case) -> set[str]:
    """Facts about the values of attributes, but for those about defaults."""
    texts = {text for text, _, _ in fact_kinds._of_values(case) if "left out" not in text}
    return {text.replace(" of input input", " of the input") for text in texts}


def _only_of(case: Case, other: Case) -> list[str]:
    """Facts of the first of two cases that the other has not, but for limits of sizes."""
    kinds = (
        fact_kinds._of_inputs,
        fact_kinds._of_pairs,
        fact_kinds._of_values,
        fact_kinds._of_outputs,
    )
    mine, its = (
        {text for kind in kinds for text, _, size in kind(one) if size is None}
        for one in (case, other)
    )
    return sorted(mine - its)


def test_a_length_that_an_integer_does_not_divide_is_a_fact(wording: Wording) -> None:
    seven = replace(CASE.inputs[0], shape=(7, 2))
    attrs = {"axis": 0, "num_outputs": 3}
    split = replace(CASE, op=OpVersion("", "Split", 18), attrs=attrs, inputs=(seven,))
    even = replace(split, attrs={"axis": 0, "num_outputs": 1})
    whole = replace(split, attrs={"axis": 0, "num_outputs": 7})
    assert [*_only_of(split, even), *_only_of(whole, even)] == wording


def test_an_input_that_is_one_negative_integer_is_negative(wording: Wording) -> None:
    delta = TensorSpec("delta", DTYPES["int64"], (), Given(np.array(-3)))
    three = replace(delta, content=Given(np.array(3)))
    cases = [replace(CASE, inputs=(spec,)) for spec in (delta, three)]
    assert _only_of(*cases) == wording


@pytest.mark.parametrize("shape", [(1,), (3,)])
def test_two_inputs_are_of_unequal_rank_and_stretched(shape: Any, wording: Wording) -> None:
    a = TensorSpec("A", DTYPES["int8"], (2, 1), Fill("ones", ()))
    b = replace(a, name="B", shape=shape)
    equal = replace(CASE, inputs=(a, replace(a, name="B")))
    assert _only_of(replace(CASE, inputs=(a, b)), equal) == wording


def test_of_two_lengths_0_and_1_the_1_is_stretched(wording: Wording) -> None:
    a = TensorSpec("A", DTYPES["int8"], (2, 0), Fill("ones", ()))
    b = replace(a, name="B", shape=(2, 1))
    equal = replace(CASE, inputs=(a, replace(a, name="B")))
    assert _only_of(replace(CASE, inputs=(a, b)), equal) == wording


def test_optional_outputs_are_asked_for_or_left_out(wording: Wording) -> None:
    pool = replace(CASE, op=OpVersion("", "MaxPool", 22))
    both = replace(pool, outputs=(*CASE.outputs, *CASE.outputs))
    assert [*_only_of(pool, both), *_only_of(both, pool)] == wording


def test_scales_are_whole_below_1_or_unequal(wording: Wording) -> None:
    scales = TensorSpec("scales", DTYPES["float32"], (2,), Given(np.array([0.5, 2.0])))
    plain = replace(scales, content=Given(np.array([2.0, 2.0])))
    cases = [replace(CASE, inputs=(CASE.inputs[0], spec)) for spec in (scales, plain)]
    assert _only_of(*cases) == wording


def test_groups_may_be_as_many_as_channels_and_axes_out_of_order(wording: Wording) -> None:
    image = replace(CASE.inputs[0], shape=(1, 4, 5))
    depthwise = replace(CASE, attrs={"group": 4, "axes": (2, 1)}, inputs=(image,))
    other = replace(depthwise, attrs={"group": 2, "axes": (1, 2)})
    assert _only_of(depthwise, other) == wording


def test_where_everything_fails_there_is_no_condition() -> None:
    assert learned(DARK, others=0) == ""
    assert learned(DARK, failing=bits(0, 1), others=0) == "nothing"


def test_of_many_facts_one_fits_by_chance() -> None:
    those, others = bits(0, 1, 2), bits(6, 7, 8, 9)
    fits = Feature("x is 7", VALUE, those)
    many = [Feature(f"x is {n}", VALUE, those | n << 6) for n in range(1, 16)]
    assert learned(fits, failing=those, others=others) == "x is 7"
    assert learned(*many, fits, failing=those, others=others) == "nothing"


def test_of_facts_that_hold_of_the_same_cases_the_likeliest_is_kept() -> None:
    spec = replace(CASE.inputs[0], dtype=DTYPES["float64"])
    other = replace(CASE, attrs={"axis": 1}, opset=14, inputs=(spec,))
    expected = [("the input is float32", PLAIN, 1), ("the input is float64", PLAIN, 2)]
    assert features([CASE, other]) == expected
    # Where the input is of one type, that of the output may be the reason.
    as_byte = replace(CASE, outputs=(replace(CASE.outputs[0], dtype=DTYPES["uint8"]),))
    own = CASE.outputs[0].dtype
    expected = [(f"the output is {own}", PLAIN, 1), ("the output is uint8", PLAIN, 2)]
    assert features([CASE, as_byte]) == expected
    of_any_type = replace(CASE, outputs=(replace(CASE.outputs[0], dtype=None),))
    assert features([CASE, of_any_type]) == expected[:1]


def test_a_number_may_be_the_length_of_a_sequence() -> None:
    sequence_insert = OpVersion("", "SequenceInsert", 11)
    (x,) = CASE.inputs[:1]

    def inserted(position: int, length: int) -> Case:
        at = TensorSpec("position", DTYPES["int64"], (), Given(np.array(position)))
        tensors = tuple(replace(x, name=f"input_sequence_{n}") for n in range(length))
        inputs = (replace(x, name="tensor"), at, *tensors)
        return replace(
            CASE, op=sequence_insert, inputs=inputs, slots=tuple(spec.name for spec in inputs)
        )

    cases = [inserted(1, 2), inserted(2, 2), inserted(0, 0), inserted(0, 1)]
    at_the_end = [one for one in features(cases) if one.text.startswith("input position is")]
    assert 0b0110 in {one.holds for one in at_the_end}


def test_an_attribute_that_became_an_input_has_one_fact() -> None:
    (x,) = CASE.inputs[:1]
    axes = TensorSpec("axes", DTYPES["int64"], (0,), Given(np.array([], np.int64)))
    old, new = (OpVersion("", "ReduceMin", since) for since in (13, 20))
    cases = [
        replace(CASE, op=old, attrs={}, slots=("data",)),
        replace(CASE, op=new, attrs={}, slots=("data",)),
        replace(CASE, op=new, attrs={}, inputs=(x, axes), slots=("data", "axes")),
        replace(CASE, op=old, attrs={"axes": (0,)}, slots=("data",)),
    ]
    found = {one.holds: one.text for one in features(cases)}
    assert 0b0011 in found
    assert 0b0111 in found


def test_all_facts_of_some_cases(snapshot: Any) -> None:
    float32, int64 = DTYPES["float32"], DTYPES["int64"]
    given = Given(np.array([[1.0, np.nan, np.inf]]))
    x = TensorSpec("X", float32, (2, 1, 0, 7), Fill("arange", (1, 1)), (Put((0,), -np.inf),), True)
    inputs = (x, TensorSpec("W", float32, (1, 3), given), TensorSpec("N", int64, (), given))
    lists = {"axes": (1, -1), "kernel_shape": (3, 0), "scales": (-0.5, 0.5), "empty": ()}
    single = {"axis": -2, "alpha": -0.5, "mode": "edge", "to": 1 << 31, "low": -1 - (1 << 31)}
    invalid = Rejected("axis -7 is outside [-2, 1]", CASE)
    vector = (replace(x, shape=(7,), put=()),)
    cases = [
        replace(CASE, attrs={"kernel_shape": (3,)}, inputs=vector),
        replace(CASE, inputs=inputs, slots=("X", "", "W"), attrs=lists),
        replace(CASE, attrs=single | {"last": (1 << 31) - 1, "first": -1 << 31}, expect=invalid),
        *(replace(CASE, attrs={"axes": axes}) for axes in (-3, -1, 2, 3, ())),
    ]
    said = [
        f"{rank} {text} {number}"
        for text, rank, number in (
            ("a size", LIMIT, {0: 0, 1: 1, 2: 1234, 3: 2, 4: 2}),
            ("a fact", VALUE, {5: None}),
        )
        for text, rank, number in fact_kinds._conditions(text, rank, number)
    ]
    for case in cases:
        of_model = fact_kinds._of_model(["axis", "mode"], case)
        facts = (*of_model, *fact_kinds._of_inputs(case), *fact_kinds._of_values(case))
        said += [
            "",
            *(f"{rank} {text} {'' if n is None else n}".rstrip() for text, rank, n in facts),
        ]
    snapshot("facts", "\n".join(said) + "\n")
