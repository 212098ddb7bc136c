"""Causes are told apart by asking the backend again, with one property of a case changed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opcheck import model
from opcheck.analysis import is_failure, reds
from opcheck.diagnose import asking
from opcheck.diagnose.allowance import NoTimeLeft
from opcheck.diagnose.asking import AskedAgain, Inquiry
from opcheck.diagnose.facts import CaseFacts
from opcheck.diagnose.flips import flips
from opcheck.diagnose.transplants import transplanted
from opcheck.dtypes import DTYPES
from opcheck.engine import Node
from opcheck.execution.asking import ask_again
from opcheck.execution.scheduler import Scheduler
from opcheck.model import Case, Fill, Given, Rejected, TensorSpec
from opcheck.report.formatting import Recorder
from opcheck.suite.tensors import materialize
from tests.diagnose.test_causes import Answer, failures, final, right
from tests.inline import Inline
from tests.miniatures import Fake
from tests.report.made import CASE
from tests.wording import Wording

FLOAT32 = DTYPES["float32"]
INT64 = DTYPES["int64"]
POOL = replace(
    CASE,
    id="AveragePool/made",
    name="made",
    row=None,
    op=model.OpVersion("", "AveragePool", 22),
    opset=22,
    attrs={"kernel_shape": (2,)},
    inputs=(TensorSpec("X", FLOAT32, (1, 1, 5), Fill("uniform", (-1, 1))),),
    slots=("X",),
    outputs=(model.OutputSpec("Y", FLOAT32),),
    expect=model.Computed(),
    clause="",
)


def pool(number: int, **attrs: Any) -> Case:
    """An AveragePool of another length, with these attributes."""
    inputs = (replace(POOL.inputs[0], shape=(1, 1, 5 + number)),)
    return replace(POOL, id=f"{POOL.id}#{number}", attrs={**POOL.attrs, **attrs}, inputs=inputs)


#: Four cases without strides and ceil_mode, and four with both.
POOLS = [pool(n) if n < 4 else pool(n, strides=(1,), ceil_mode=0) for n in range(8)]


def dies_without_strides(node: Node) -> Any:
    if "strides" not in node.attrs:
        raise KeyError("strides")
    return right(node)


def wrong_without_strides(node: Node) -> Any:
    return [out * (1 if "strides" in node.attrs else 1.25) for out in right(node)]


def run(
    cases: Sequence[Case], answer: Answer, *, asks_again: bool = True
) -> tuple[list[model.Record], Scheduler]:
    """The failures of a wrong backend with their final diagnoses, and the run."""
    from opcheck.execution.expected import node_of

    def prepared(task: Any) -> Any:
        return lambda inputs: answer(node_of(task, [*map(np.copy, inputs)]))

    red = reds()
    judging = Scheduler(
        cases,
        [Inline(Fake(prepared))],
        is_unexplained=lambda result: is_failure(result, red),
        asks_again=asks_again,
    )
    return failures(final(judging, Recorder(cases, ["fake"]))), judging


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [(dies_without_strides, "refuses_default_strides"), (wrong_without_strides, None)],
)
def test_of_two_properties_that_go_together_the_one_whose_change_cures_is_the_cause(
    answer: Answer, mistake: str | None, wording: Wording
) -> None:
    wrong, _ = run(POOLS, answer)
    assert len(wrong) == 4
    (cause,) = {record.diagnoses[0] for record in wrong}
    assert cause.mistake == mistake
    assert cause.counts == (None if mistake else (4, 4, 0, 4))
    assert [cause.text, *cause.asked] == wording


def test_without_asking_they_are_not_told_apart() -> None:
    wrong, judging = run(POOLS, wrong_without_strides, asks_again=False)
    assert all(record.diagnoses[0].asked == () for record in wrong)
    assert judging.not_asked == ["fake"]


def test_nothing_is_asked_if_nothing_fails() -> None:
    asked: list[str] = []

    def counted(node: Node) -> Any:
        asked.append("")
        return right(node)

    wrong, judging = run(POOLS, counted)
    before = len(asked)
    assert wrong == []
    assert judging.not_asked == []
    judging.with_causes([])
    assert len(asked) == before


def both(node: Node) -> Any:
    """Wrong where two properties meet."""
    is_met = "strides" not in node.attrs and node.attrs.get("ceil_mode")
    return [out * (1.25 if is_met else 1) for out in right(node)]


def test_a_pair_of_properties_is_found_where_either_cures(wording: Wording) -> None:
    cases = [
        *(pool(n, ceil_mode=1) for n in range(4)),
        *(pool(n, strides=(1,), ceil_mode=1) for n in range(4, 7)),
        *(pool(n, ceil_mode=0) for n in range(7, 10)),
    ]
    wrong, _ = run(cases, both)
    assert len(wrong) == 4
    (cause,) = {record.diagnoses[0] for record in wrong}
    assert cause.text == wording


def wrong_of_a_stated_default(node: Node) -> Any:
    return [out * (1.25 if "ceil_mode" in node.attrs else 1) for out in right(node)]


def test_one_failure_is_named_if_passing_cases_fail_once_they_have_its_property(
    wording: Wording,
) -> None:
    cases = [pool(0, ceil_mode=0), *(replace(pool(n), name=f"made_{n}") for n in range(1, 7))]
    wrong, _ = run(cases, wrong_of_a_stated_default)
    assert len(wrong) == 1
    (cause,) = {record.diagnoses[0] for record in wrong}
    assert cause.counts == (1, 1, 0, 6)
    assert [cause.text, *cause.asked] == wording


def wrong_of_some_values(node: Node) -> Any:
    is_wrong = "ceil_mode" in node.attrs and node.inputs[0].flat[0] > 0
    return [out * (1.25 if is_wrong else 1) for out in right(node)]


def drawn(seed: int, **attrs: Any) -> Case:
    """An AveragePool of other data, with these attributes."""
    spec = replace(POOL.inputs[0], content=Fill("uniform", (-1, 1), seed))
    attrs = {**POOL.attrs, **attrs}
    return replace(POOL, id=f"{POOL.id}/{seed}", name=f"made_{seed}", attrs=attrs, inputs=(spec,))


def test_a_property_that_cures_and_breaks_is_named_though_some_pass_with_it(
    wording: Wording,
) -> None:
    stated = [drawn(seed, ceil_mode=0) for seed in range(30)]
    positive = [case for case in stated if materialize(case.inputs[0]).flat[0] > 0]
    negative = [case for case in stated if case not in positive]
    cases = [positive[0], *negative[:2], *map(drawn, range(30, 40))]
    (wrong,), _ = run(cases, wrong_of_some_values)
    assert wrong.diagnoses[0].counts == (1, 3, 0, 10)
    assert [wrong.diagnoses[0].text, *wrong.diagnoses[0].asked] == wording


def dies_of_one_element(node: Node) -> Any:
    if node.inputs[0].shape[2] == 1:
        raise IndexError("no element")
    return right(node)


def test_one_failure_of_a_length_is_named_by_that(wording: Wording) -> None:
    cases = [pool(-4), *(replace(pool(n), name=f"made_{n}") for n in range(1, 7))]
    cases = [replace(case, attrs={"kernel_shape": (1,)}) for case in cases]
    # Other lengths of other axes, so that the cases differ after all.
    cases = [
        replace(
            case,
            inputs=(replace(case.inputs[0], shape=(n, 1, case.inputs[0].shape[2])),),
        )
        for n, case in enumerate(cases, 1)
    ]
    (wrong,), _ = run(cases, dies_of_one_element)
    assert [wrong.diagnoses[0].text, *wrong.diagnoses[0].asked] == wording


def wrong_of_one_length(node: Node) -> Any:
    is_wrong = "ceil_mode" in node.attrs and node.inputs[0].shape == (1, 1, 5)
    return [out * (1.25 if is_wrong else 1) for out in right(node)]


def test_one_failure_is_not_named_if_passing_cases_with_its_property_pass() -> None:
    cases = [pool(0, ceil_mode=0), *(replace(pool(n), name=f"made_{n}") for n in range(1, 7))]
    (wrong,), _ = run(cases, wrong_of_one_length)
    assert not any(one.counts for one in wrong.diagnoses)


def dies_of_three(node: Node) -> Any:
    """Ends where three properties meet; each alone, and any two, are harmless."""
    is_met = "strides" not in node.attrs and node.attrs.get("ceil_mode")
    if is_met and node.attrs.get("count_include_pad"):
        raise IndexError("beyond")
    return right(node)


def test_three_properties_are_named_where_the_loss_of_any_cures(wording: Wording) -> None:
    three = {"ceil_mode": 1, "count_include_pad": 1}
    cases = [
        *(pool(n, **three) for n in range(3)),
        *(pool(n, **three, strides=(1,)) for n in range(3, 9)),
        *(pool(n, ceil_mode=1) for n in range(9, 15)),
        *(pool(n, count_include_pad=1) for n in range(15, 21)),
    ]
    wrong, _ = run(cases, dies_of_three)
    assert len(wrong) == 3
    (cause,) = {record.diagnoses[0] for record in wrong}
    assert cause.counts == (3, 3, 0, 18)
    assert cause.text == wording


def wrong_of_one_axis(node: Node) -> Any:
    """Wrong for vectors; of one element each, sums hide it."""
    is_wrong = node.inputs[0].ndim == 1 and node.attrs.get("axis", -1) == 0
    return [out[::-1] if is_wrong else out for out in right(node)]


def test_a_rank_is_told_from_lengths_by_one_axis_more(wording: Wording) -> None:
    vector = replace(
        hardmax(0, 0), inputs=(TensorSpec("input", FLOAT32, (5,), Given(np.arange(5.0))),)
    )
    cases = [vector, *(replace(hardmax(n, 0), name=f"made_{n}") for n in range(1, 7))]
    (wrong,), _ = run(cases, wrong_of_one_axis)
    assert wrong.diagnoses[0].text == wording


def seven_of_minus_infinities(node: Node) -> Any:
    """7 where all numbers are -inf."""
    (out,) = right(node)
    return [np.where(np.isneginf(out), 7, out).astype(out.dtype)]


def log_sum_exp(name: str, *values: float) -> Case:
    """A ReduceLogSumExp of a vector."""
    spec = TensorSpec("data", FLOAT32, (len(values),), Given(np.array(values)))
    fields = {"attrs": {"keepdims": 0}, "inputs": (spec,), "slots": ("data",), "clause": ""}
    op = model.OpVersion("", "ReduceLogSumExp", 18)
    outputs = (model.OutputSpec("reduced", FLOAT32),)
    return replace(
        CASE, id=name, name=name, row=None, op=op, opset=18, outputs=outputs, **fields, empty="so"
    )


def test_values_are_put_into_passing_cases_of_another_length(wording: Wording) -> None:
    lost = replace(log_sum_exp("lost", -np.inf, -np.inf), expect=model.Computed())
    others = [log_sum_exp(f"sum_{n}", *np.arange(1.0, n)) for n in range(4, 12)]
    cases = [lost, *(replace(case, expect=model.Computed()) for case in others)]
    (wrong,), _ = run(cases, seven_of_minus_infinities)
    first, *_ = wrong.diagnoses
    assert first.counts is not None
    assert [first.text, *first.asked] == wording


def wrong_of_large_float32(node: Node) -> Any:
    """What float32 loses is more than it should be, in large numbers."""
    (x,) = node.inputs
    is_wrong = x is not None and x.dtype == np.float32 and np.abs(x).max() > 100
    return [out * (1.25 if is_wrong else 1) for out in right(node)]


def test_a_type_is_named_if_the_same_questions_pass_in_another(wording: Wording) -> None:
    float64 = DTYPES["float64"]
    cases = []
    for n in range(12):
        content = Fill("uniform", (0, 115), n)
        for dtype in (FLOAT32, float64):
            spec = replace(POOL.inputs[0], dtype=dtype, content=content)
            outputs = (model.OutputSpec("Y", dtype),)
            fields = {"dtype": dtype, "inputs": (spec,), "outputs": outputs}
            cases.append(replace(POOL, id=f"{n}_{dtype}", name=f"made_{n}", **fields))
    wrong, _ = run(cases, wrong_of_large_float32, asks_again=False)
    assert 3 <= len(wrong) < 9
    (cause,) = {record.diagnoses[0] for record in wrong}
    assert cause.text == wording


def texts(case: Case, *others: Case) -> list[str]:
    return [flip.text for flip in flips(case, [case, *others])]


def negative(node: Node) -> Any:
    """Wrong for a negative axis, which is seen only where it is not the first one."""
    axis = node.attrs["axis"]
    is_wrong = axis < 0 and axis + node.inputs[0].ndim > 0
    return [out + 1 if is_wrong else out for out in right(node)]


def hardmax(number: int, axis: int) -> Case:
    """A Hardmax of three axes along one of them."""
    spec = TensorSpec("input", FLOAT32, (2, 3, 4 + number), Fill("uniform", (-1, 1)))
    fields = {"attrs": {"axis": axis}, "inputs": (spec,), "expect": model.Computed()}
    return replace(CASE, id=f"{axis}#{number}", name="made", row=None, clause="", **fields)


def test_one_property_with_a_few_exceptions_is_preferred_to_a_limit_without(
    wording: Wording,
) -> None:
    negatives = [hardmax(n, axis) for n in range(3) for axis in (-1, -2)]
    cases = [*negatives, hardmax(0, -3), *(hardmax(n, axis) for n in range(4) for axis in range(3))]
    wrong, _ = run(cases, negative)
    assert len(wrong) == 6
    (cause,) = {record.diagnoses[0] for record in wrong}
    assert cause.text == wording
    assert cause.counts == (6, 7, 0, 12)


def elu(number: int, length: int, **attrs: Any) -> Case:
    """An Elu of so many negative numbers; those of equal numbers are versions of one question."""
    version = {"op": model.OpVersion("", "Elu", 6), "opset": 6 + number % 3}
    spec = TensorSpec("X", FLOAT32, (length,), Fill("uniform", (-2, -1)))
    fields = {**version, "attrs": attrs, "inputs": (spec,), "slots": ("X",)}
    return replace(POOL, id=f"Elu/{length}#{number}", name=f"{length}", outputs=(OUTPUT,), **fields)


OUTPUT = model.OutputSpec("Y", FLOAT32)


def unlike_any_mistake(node: Node) -> Any:
    return [np.cos(9 * node.given[0])]


def named(records: Sequence[model.Record]) -> list[str]:
    """The texts of the causes, each once."""
    return sorted({record.diagnoses[0].text for record in records if record.diagnoses})


def test_a_pass_of_an_empty_tensor_is_no_evidence_of_right_values(wording: Wording) -> None:
    cases = [elu(0, length) for length in (0, 1, 2, 3, 4)]
    wrong, _ = run(cases, unlike_any_mistake, asks_again=False)
    assert len(wrong) == 4
    assert named(wrong) == wording


def test_a_pattern_says_more_than_that_all_are_wrong(wording: Wording) -> None:
    cases = [elu(0, length) for length in (0, 4, 5, 6)]
    wrong, _ = run(cases, lambda node: [out - np.float32(0.34) for out in right(node)])
    assert named(wrong) == wording


def test_versions_of_one_question_are_one_piece_of_evidence_of_a_mistake() -> None:
    def wrong_of_five(node: Node) -> Any:
        outputs = right(node)
        if node.given[0].size == 5:
            return [np.zeros_like(out) for out in outputs]
        return unlike_any_mistake(node)

    lengths = (5, 6, 7, 8, 9, 10)
    cases = [elu(version, length) for length in lengths for version in range(3)]
    wrong, _ = run(cases, wrong_of_five, asks_again=False)
    assert len(wrong) == 18
    assert not any(record.diagnoses and record.diagnoses[0].mistake for record in wrong)


def test_a_property_is_named_beside_a_mistake_that_passes_contradict(wording: Wording) -> None:
    def zeros_of_alpha(node: Node) -> Any:
        is_wrong = "alpha" in node.attrs and node.given[0].size != 7
        return [out * (0 if is_wrong else 1) for out in right(node)]

    cases = [
        *(elu(0, length, alpha=0.5) for length in range(5, 10)),
        *(elu(1, length) for length in range(5, 15)),
    ]
    wrong, _ = run(cases, zeros_of_alpha)
    assert len(wrong) == 4
    assert named(wrong) == wording


def test_a_mistake_and_a_property_of_all_failures_are_named_together(wording: Wording) -> None:
    def inverted(node: Node) -> Any:
        is_wrong = "alpha" in node.attrs and node.given[0].size != 7
        return [1 - out if is_wrong else out for out in right(node)]

    cases = [
        *(elu(0, length, alpha=0.5) for length in range(5, 10)),
        *(elu(1, length) for length in range(5, 15)),
    ]
    wrong, _ = run(cases, inverted)
    assert {record.diagnoses[0].mistake for record in wrong} == {"inverted"}
    assert [*map(str, {record.diagnoses[0] for record in wrong})] == wording


def test_a_mistake_that_few_passes_contradict_is_named(wording: Wording) -> None:
    def inverted(node: Node) -> Any:
        return [out if node.given[0].size == 9 else 1 - out for out in right(node)]

    wrong, _ = run([elu(0, length) for length in range(5, 15)], inverted)
    assert [*map(str, {record.diagnoses[0] for record in wrong})] == wording


def test_a_stated_value_and_the_same_by_default_are_one_cause(wording: Wording) -> None:
    def wrong_of_the_default(node: Node) -> Any:
        is_wrong = node.attrs.get("alpha", 1.0) == 1.0
        return unlike_any_mistake(node) if is_wrong else right(node)

    cases = [
        *(elu(0, length, alpha=1.0) for length in range(5, 9)),
        *(elu(1, length) for length in range(5, 9)),
        *(elu(2, length, alpha=0.5) for length in range(5, 15)),
    ]
    wrong, _ = run(cases, wrong_of_the_default)
    assert len(wrong) == 8
    assert named(wrong) == wording


def test_what_raises_under_a_condition_is_no_mistake_of_refusing() -> None:
    def raises_of_odd(node: Node) -> Any:
        if "alpha" in node.attrs and node.given[0].size % 2:
            raise RuntimeError("an odd number of elements")
        return right(node)

    cases = [
        *(elu(0, length, alpha=0.5) for length in range(5, 13)),
        *(elu(1, length) for length in range(5, 13)),
    ]
    wrong, _ = run(cases, raises_of_odd)
    assert len(wrong) == 4
    assert not any(diagnosis.mistake for record in wrong for diagnosis in record.diagnoses)


def test_attributes_are_left_out_stated_and_given_other_values(wording: Wording) -> None:
    case = pool(0, strides=(1,), pads=(0, 1))
    assert texts(case, pool(1, ceil_mode=1)) == wording
    changed = [flip.case.attrs for flip in flips(case, [case, pool(1, ceil_mode=1)])]
    assert {**POOL.attrs, "pads": (0, 1)} in changed
    assert {**POOL.attrs, "strides": (1,), "pads": (0, 0)} in changed
    assert {**case.attrs, "ceil_mode": 1} in changed
    # A required attribute stays.
    assert all("kernel_shape" in attrs for attrs in changed)


GATHER = replace(
    CASE,
    op=model.OpVersion("", "Gather", 13),
    attrs={"axis": -1},
    inputs=(
        TensorSpec("data", FLOAT32, (2, 3), Fill("arange", (1, 1))),
        TensorSpec("indices", INT64, (2,), Given(np.array([-1, 0]))),
    ),
    slots=("data", "indices"),
    expect=model.Computed(),
)


def test_axes_and_indices_are_counted_from_the_other_end() -> None:
    by_text = {flip.text: flip.case for flip in flips(GATHER, [GATHER])}
    assert by_text["with `axis` 1"].attrs == {"axis": 1}
    content = by_text["without negative values in indices"].inputs[1].content
    assert isinstance(content, Given)
    assert content.values.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "values", "equal"),
    [
        ("int32", [-1, 0], [-1, -1]),
        ("int4", [-1, 0], [-1, -1]),
        ("uint64", [2**63, 1], [2**63] * 2),
    ],
)
def test_changed_integers_keep_their_type(name: str, values: list[int], equal: list[int]) -> None:
    dtype = DTYPES[name]
    indices = TensorSpec("indices", dtype, (2,), Given(np.array(values).astype(dtype.numpy)))
    case = replace(GATHER, inputs=(GATHER.inputs[0], indices))
    by_text = {flip.text: materialize(flip.case.inputs[1]) for flip in flips(case, [case])}
    assert ("negative" in " ".join(by_text)) == (min(values) < 0)
    assert {array.dtype for array in by_text.values()} == {dtype.numpy}
    assert by_text["with equal values in indices"].astype(object).tolist() == equal


def test_inputs_become_constants_and_axes_longer() -> None:
    by_text = {flip.text: flip.case for flip in flips(GATHER, [GATHER])}
    assert by_text["with input indices a constant"].inputs[1].initializer
    assert by_text["with axis 0 of data of length 5"].inputs[0].shape == (5, 3)
    longer = by_text["with axis 0 of length 5 in all inputs"]
    assert [spec.shape for spec in longer.inputs] == [(5, 3), (5,)]
    content = longer.inputs[1].content
    assert isinstance(content, Given)
    assert content.values.tolist() == [-1, 0, -1, 0, -1]


CLIP = replace(
    CASE,
    op=model.OpVersion("", "Clip", 13),
    attrs={},
    inputs=tuple(TensorSpec(name, FLOAT32, (), Given(np.array(1.0))) for name in ("input", "max")),
    slots=("input", "", "max"),
    expect=model.Computed(),
)


def test_an_input_that_is_one_number_gets_others_that_are_seen() -> None:
    other = replace(CLIP.inputs[1], content=Given(np.array(3.0)))
    alike = [CLIP, replace(CLIP, inputs=(CLIP.inputs[0], other))]
    by_text = {flip.text: flip.case for flip in flips(CLIP, alike)}
    content = by_text["with input max 3.0"].inputs[1].content
    assert isinstance(content, Given)
    assert content.values.tolist() == 3.0


def test_an_input_gets_no_number_that_its_type_does_not_hold() -> None:
    uint8 = DTYPES["uint8"]
    case = replace(CLIP, inputs=tuple(replace(spec, dtype=uint8) for spec in CLIP.inputs))
    others = [
        replace(CLIP, inputs=(CLIP.inputs[0], replace(CLIP.inputs[1], content=Given(values))))
        for values in map(np.array, (-1.0, 2.5, 256.0, 255.0))
    ]
    texts = [flip.text for flip in flips(case, [case, *others])]
    offered = [text.removeprefix("with input max ") for text in texts if "input max " in text]
    assert offered == ["a constant", "255.0"]


def test_floats_are_asked_again_without_negative_values() -> None:
    given = Given(np.array([-1.0, 2.0]))
    for content, other in ((Fill("uniform", (-2, 3)), (0, 3)), (given, [1, 2])):
        case = replace(POOL, inputs=(replace(POOL.inputs[0], content=content),))
        by_text = {flip.text: flip.case.inputs[0].content for flip in flips(case, [case])}
        changed = by_text["without negative values in X"]
        assert other == (changed.args if isinstance(changed, Fill) else changed.values.tolist())


def test_zeros_are_replaced() -> None:
    indices = replace(GATHER.inputs[1], content=Given(np.array([1, 0])))
    case = replace(GATHER, inputs=(GATHER.inputs[0], indices))
    changed = {flip.text: flip.case for flip in flips(case, [case])}
    assert materialize(changed["without zeros in indices"].inputs[1]).tolist() == [1, 1]


def test_a_case_gets_another_type_of_its_kind_that_holds_its_values() -> None:
    def typed(name: str, *values: int) -> Case:
        dtype = DTYPES[name]
        spec = TensorSpec("data", dtype, (len(values),), Given(np.array(values)))
        outputs = (model.OutputSpec("output", dtype),)
        inputs = (spec, GATHER.inputs[1])
        return replace(GATHER, dtype=dtype, inputs=inputs, outputs=outputs)

    others = [typed("uint8", 1), typed("int8", 1), typed("float32", 1)]
    (changed,) = (
        flip.case
        for flip in flips(typed("int64", 7, -7), others)
        if flip.text.endswith("in place of int64")
    )
    int8 = DTYPES["int8"]
    assert (changed.dtype, changed.outputs[0].dtype) == (int8, int8)
    assert [spec.dtype for spec in changed.inputs] == [int8, INT64]
    assert materialize(changed.inputs[0]).tolist() == [7, -7]


@pytest.mark.parametrize(
    ("own", "other"), [("uint2", "int4"), ("int4", "uint4"), ("int64", "int2")]
)
def test_integers_of_few_bits_are_put_into_other_types(own: str, other: str) -> None:
    def vector(name: str, *values: int) -> TensorSpec:
        numbers = Given(np.array(values).astype(DTYPES[name].numpy))
        return TensorSpec("data", DTYPES[name], (len(values),), numbers)

    failing, cured, passing = (
        replace(GATHER, inputs=(spec, GATHER.inputs[1]))
        for spec in (vector(own, 1, 0), vector(own, 1, 1), vector(other, 1, 1, 1))
    )
    changed = transplanted(failing, cured, passing)
    assert changed
    values = materialize(changed.case.inputs[0])
    assert (values.dtype, values.astype(int).tolist()) == (DTYPES[other].numpy, [1, 0, 1])


def test_inputs_of_one_rank_get_an_axis_more_or_less() -> None:
    indices = replace(GATHER.inputs[1], shape=(2, 1), content=Given(np.array([[1], [0]])))
    case = replace(GATHER, inputs=(GATHER.inputs[0], indices))
    changed = {flip.text: flip.case for flip in flips(case, [case])}
    longer = changed["with one axis more, of length 2"].inputs
    assert [spec.shape for spec in longer] == [(2, 3, 2), (2, 1, 2)]
    assert materialize(longer[1]).tolist() == [[[1, 1]], [[0, 0]]]
    shorter = changed["with one axis less"].inputs
    assert [spec.shape for spec in shorter] == [(2,), (2,)]
    assert materialize(shorter[1]).tolist() == [1, 0]


@pytest.mark.parametrize(("written", "is_empty"), [([0.0, np.inf], True), ([1.0, 0.0], False)])
def test_a_changed_answer_may_be_as_empty_as_that_of_its_case(
    written: list[float], is_empty: bool
) -> None:
    spec = TensorSpec("Y", FLOAT32, (2,), Given(np.array(written)))
    case = replace(POOL, expect=model.Values((spec,)))
    assert {bool(flip.case.empty) for flip in flips(case, [case])} == {is_empty}


def gather(number: int, axis: int, *indices: int) -> Case:
    """A Gather from [2, 3, 4 + number] at other indices."""
    content = Fill("uniform", (-1, 1))
    data = replace(GATHER.inputs[0], shape=(2, 3, 4 + number), content=content)
    spec = replace(GATHER.inputs[1], shape=(len(indices),), content=Given(np.array(indices)))
    fields = {"attrs": {"axis": axis}, "inputs": (data, spec), "clause": "", "row": None}
    return replace(GATHER, id=f"Gather/{number}_{axis}_{indices}", name="made", **fields)


def along_axis_0(node: Node) -> Any:
    """A negative axis is 0, but for indices that are out of range then."""
    if node.attrs["axis"] < 0 and (node.inputs[1] < 2).all():
        return right(node.with_attrs(axis=0))
    return right(node)


def test_a_pass_whose_misreading_is_illegal_contradicts_no_mistake() -> None:
    wrong = [gather(n, axis, 1, 0) for n in range(3) for axis in (-1, -2)]
    beyond = [gather(n, -1, 2, 0) for n in range(3)]
    cases = [*wrong, *beyond, *(gather(n, axis, 1) for n in range(3) for axis in range(3))]
    failed, _ = run(cases, along_axis_0, asks_again=False)
    assert [record.case for record in failed] == [case.id for case in wrong]
    assert {record.diagnoses[0].mistake for record in failed} == {"negative_axis_is_0"}


def test_an_optional_input_is_left_out_and_given() -> None:
    low = TensorSpec("min", FLOAT32, (), Given(np.array(0.0)))
    other = replace(CLIP, inputs=(CLIP.inputs[0], low), slots=("input", "min"))
    by_text = {flip.text: flip.case for flip in flips(CLIP, [CLIP, other])}
    assert by_text["without input max"].slots == ("input",)
    given = by_text["with input min of shape []"]
    assert given.slots == ("input", "min", "max")
    assert [spec.name for spec in given.inputs] == ["input", "min", "max"]


def test_a_passing_case_gets_what_a_failing_one_has_otherwise_than_a_cured_one() -> None:
    other = replace(CLIP, id="other", inputs=(CLIP.inputs[0],), slots=("input",))
    with_max = transplanted(CLIP, other, other)
    assert with_max
    assert with_max.case.slots == ("input", "", "max")
    assert with_max.case.inputs == CLIP.inputs
    without = transplanted(other, CLIP, CLIP)
    assert without
    assert without.case.slots == ("input",)
    fed = replace(GATHER, inputs=(GATHER.inputs[0], replace(GATHER.inputs[1], initializer=True)))
    constant = transplanted(fed, GATHER, GATHER)
    assert constant
    assert constant.case.inputs[1].initializer
    longer = transplanted(pool(3), POOL, pool(4))
    assert longer
    assert longer.case.inputs[0].shape == (1, 1, 8)
    flat = replace(POOL, inputs=(replace(POOL.inputs[0], shape=(1, 5)),))
    matrix = transplanted(flat, POOL, pool(3))
    assert matrix
    assert matrix.case.inputs[0].shape == (1, 1)
    single = replace(POOL, dtype=FLOAT32)
    spec = replace(POOL.inputs[0], dtype=DTYPES["float64"])
    double = replace(POOL, dtype=DTYPES["float64"], inputs=(spec,))
    in_float32 = transplanted(single, double, double)
    assert in_float32
    assert in_float32.case.inputs[0].dtype == FLOAT32
    # It has the property already, or cannot get it.
    assert transplanted(fed, GATHER, fed) is None
    flat = replace(POOL, inputs=(replace(POOL.inputs[0], shape=(1, 5)),))
    assert transplanted(pool(3), POOL, flat) is None


@pytest.mark.parametrize(
    "case",
    [
        replace(POOL, expect=Rejected("why", None)),
        replace(POOL, model=b""),
        replace(POOL, inputs=(replace(POOL.inputs[0], shape=(1, 1, 1 << 19)),)),
        replace(POOL, expect=model.Agreement()),
    ],
)
def test_some_cases_are_not_changed(case: Case) -> None:
    assert texts(case) == []


def test_a_changed_case_whose_answer_is_not_decided_is_not_asked() -> None:
    def never(task: Any) -> Any:
        raise AssertionError("it is asked")

    backend = Inline(Fake(never))
    for attrs in ({"kernel_shape": (9,)}, {"kernel_shape": (2,), "pads": (2, 2)}):
        assert ask_again(replace(POOL, attrs=attrs), backend, lambda: None) is None


def left_after(*answers: AskedAgain) -> set[str]:
    """Which of two facts may still be why the first cases fail, by their first words."""
    facts = {feature.text for feature in inquiry(answers).unrefuted(0b11)}
    return {name for name in ("strides", "ceil_mode") if f"`{name}` is left out" in facts}


def inquiry(answers: Sequence[AskedAgain]) -> Inquiry:
    """An inquiry about the first of `POOLS`, with the changed cases 8 and 9: strides, ceil_mode."""
    facts = CaseFacts(POOLS)
    facts.add([pool(0, strides=(1,)), pool(0, ceil_mode=0)])
    made = Inquiry(facts)
    made.answers = [*answers]
    return made


def test_features_are_found_anew_for_new_cases_alone() -> None:
    facts = CaseFacts(POOLS)
    features = facts.features
    assert facts.add([]) == []
    assert facts.features is features
    assert facts.add([pool(0, strides=(1,))]) == [len(POOLS)]
    assert facts.features is not features


def test_a_property_is_refuted_by_a_case_that_fails_without_it() -> None:
    fails = AskedAgain("", base=0, case=8, fails=True)
    assert left_after() == {"strides", "ceil_mode"}
    assert left_after(fails) == {"ceil_mode"}
    # Of several causes, another one may be why it fails.
    passes = AskedAgain("", base=1, case=8, fails=False)
    assert left_after(fails, passes) == {"strides", "ceil_mode"}


def test_another_case_that_passes_with_the_property_is_no_cure() -> None:
    cure = AskedAgain("a", base=0, case=8, fails=False)
    other = AskedAgain("b", base=0, case=9, fails=False, passing=4)
    made = inquiry([other, cure])
    assert made.cures(0b1) == (str(cure),)
    assert not made.cures(0b10)


def test_a_property_that_cures_and_breaks_is_proven() -> None:
    # The first case passes with strides; a passing one, which has them, fails without.
    cure = AskedAgain("", base=0, case=8, fails=False)
    breaks = AskedAgain("", base=0, case=9, fails=True, passing=4)
    (proven,) = inquiry([cure, breaks]).proven(0b1111)
    assert proven.text.split("`")[1] == "strides"
    assert inquiry([cure]).proven(0b1111) == []
    assert inquiry([breaks]).proven(0b1111) == []


def test_questions_are_few_and_end_without_time() -> None:
    asked: list[str] = []

    def fails_alike(candidate: asking.Candidate) -> bool | None:
        asked.append(candidate.flip.text)
        if len(asked) == 3:
            raise NoTimeLeft
        return True

    made = Inquiry(CaseFacts(POOLS))
    made.ask(0b1111, 0b11110000, 2, fails_alike)
    assert len(asked) == len(made.answers) == 2
    with pytest.raises(NoTimeLeft):
        made.ask(0b1111, 0b11110000, 2, fails_alike)
    assert len(made.answers) == 2


@pytest.mark.parametrize(
    ("failure", "most"),
    [("values", asking.MOST), ("accepted", 0), ("timeout", 0), ("stray_crash", 0), (None, 0)],
)
def test_failures_of_some_kinds_are_not_asked_about(failure: Any, most: int) -> None:
    assert asking.most_questions(failure) == most
    assert 0 < asking.most_questions("crash") < asking.MOST
