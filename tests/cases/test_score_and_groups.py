"""The power of the shipped suites: every mutant is seen, and every group of cases is needed.

What takes minutes is asked of some operators in their newest version and float32 alone. One pass
over all mutants serves most tests here; of WHOLE operators it stops at the second kill.
A gate of one part asks this of some of the operators, dealt by their time.
"""

import warnings
from collections import Counter

import numpy as np
import pytest

from opcheck.clauses import survey
from opcheck.diagnose.suspects import cell_of
from opcheck.engine import dtypes_of, operator_of
from opcheck.execution.mutate import MutationSettings, mutations
from opcheck.known import shipped_ledgers
from opcheck.model import Case, Fate, Mutation
from opcheck.opset import ML
from opcheck.suite import Selection, select
from tests.asking import WHOLE, judged_operators, shipped_cases, whole_suites
from tests.cases.groups import groups

pytestmark = [pytest.mark.mutation, pytest.mark.reads_all_suites]


def core(*ops: str) -> tuple[Case, ...]:
    return select(shipped_cases(*ops), Selection(level="core"))


def is_asked(case: Case) -> bool:
    """Return True for cases of the newest version in float32, or in what stands for it."""
    # BitCast gives float32 the types of its width alone, and is wrong of each for itself. So is
    # SequenceEmpty, whose type is all there is to see.
    # What Constant's attributes hold is of three types. Those of ai.onnx.ml are for one type each.
    kept = {"float32", *(["int64", "string"] if case.op.name == "Constant" else ())}
    each = case.op.domain == ML or case.op.name in ("BitCast", "SequenceEmpty")
    others = () if each else {*dtypes_of(case.op)} - kept
    is_newest = case.op.since == max(operator_of(case.op).formulas)
    return is_newest and cell_of(case).dtype not in others


#: Mutants about what the text leaves open, or decides for `should` cases only, in some version:
#: none of the other cases may see them.
NOT_DECIDED = {
    "DML_ACTIVATION_HARDMAX1": """
        empty_becomes_one last_nan nan_leaves_all_rows_empty nan_passed_on no_axes_are_all
        refuses_empty refuses_nan repeated_axes_counted_once starts_anew_behind_nan
        subnormal_inputs_flushed
    """,
    "Hardmax": """
        axis_clamped axis_wraps default_axis_kept_in_range integers_accepted
        invalid_attribute_ignored invalid_axis_is_0_or_1 invalid_is_copied invalid_is_zero last_nan
        later_types_accepted nan_leaves_all_rows_empty nan_passed_on out_of_range_is_last
        out_of_range_is_no_axis rank_0_is_a_vector refuses_nan starts_anew_behind_nan
        subnormal_inputs_flushed unknown_attributes_ignored
    """,
    "LpPool": """
        empty_windows_are_nan integers_accepted invalid_p_is_0_or_1 later_attributes_accepted
        later_types_accepted overflow_saturates p_0_is_the_default p_in_32_bits
        refuses_pads_of_the_kernel root_4_ulp_too_large same_padding_for_stride_1
        unknown_attributes_ignored wrong_where_ceil_mode_and_kernel_of_ones
        wrong_where_pads_and_kernel_of_ones wrong_where_same_and_kernel_of_threes
        wrong_where_same_and_strides wrong_where_valid_and_ceil_mode
    """,
    "Softmax": """
        axis_clamped axis_wraps default_axis_kept_in_range integers_accepted
        equal_shares_in_a_masked_row invalid_attribute_ignored invalid_axis_is_0_or_1
        invalid_is_copied invalid_is_zero later_types_accepted no_share_in_a_masked_row
        out_of_range_is_last out_of_range_is_no_axis rank_0_is_a_vector unknown_attributes_ignored
    """,
}


#: Seconds that the mutants of an operator take, where these are more than some two.
SECONDS = {
    "Attention": 10,
    "Bernoulli": 6,
    "DFT": 5,
    "Det": 7,
    "GRU": 23,
    "Hardmax": 12,
    "LSTM": 25,
    "LinearClassifier": 28,
    "LinearRegressor": 6,
    "LpPool": 40,
    "Multinomial": 10,
    "NonMaxSuppression": 6,
    "Normalizer": 19,
    "RNN": 9,
    "RandomNormal": 6,
    "RandomNormalLike": 14,
    "RandomUniform": 5,
    "RandomUniformLike": 11,
    "Resize": 7,
    "RoiAlign": 9,
    "STFT": 7,
    "Scaler": 5,
    "Softmax": 45,
    "TreeEnsemble": 10,
    "TreeEnsembleClassifier": 38,
    "TreeEnsembleRegressor": 10,
}


@pytest.fixture(scope="module")
def ops(of_part) -> tuple[str, ...]:
    """The operators that are asked about."""
    names = sorted(one.name for one in judged_operators())
    return tuple(of_part(names, lambda name: SECONDS.get(name, 1)))


@pytest.fixture(scope="module")
def whole(ops) -> tuple[Case, ...]:
    """The cases of those among them that are asked about as a whole."""
    return whole_suites(*ops)


@pytest.fixture(scope="module")
def found(ops, whole) -> tuple[Mutation, ...]:
    """What the cases see of every mutant in every version and type."""
    rest = [case for case in core(*ops) if is_asked(case) and case.op.name not in WHOLE]
    # In this process alone: others would find anew, for each part, what is right about each case.
    with warnings.catch_warnings(action="ignore", category=np.exceptions.ComplexWarning):
        seen = *mutations(whole, MutationSettings(kills=2)), *mutations(rest)
    return tuple(sorted(seen, key=lambda m: m.mutant))


def told(mutation: Mutation) -> str:
    mutant = mutation.mutant
    return f"{mutant.op} {mutant.dtype}: {mutant.name}"


def test_no_mutant_survives(found):
    assert [told(m) for m in found if m.fate is Fate.SURVIVED] == []


def test_core_cases_miss_no_mutant_of_the_newest_version_in_float32(whole):
    asked = [case for case in whole if case.level != "deep" and is_asked(case)]
    assert [told(m) for m in mutations(asked) if m.fate is Fate.SURVIVED] == []


def test_nothing_kills_what_is_argued_to_be_harmless(found):
    assert [(told(m), m.harmless, m.killers) for m in found if m.contradicts] == []


def test_what_the_text_decides_is_only_warned_of_where_it_is_arithmetic_in_16_bits(found, whole):
    """There a poorer arithmetic is tolerated with a remark, and hides a mutant of its size."""
    wide = [
        m
        for m in found
        if m.fate is Fate.WARNED
        and m.mutant.dtype in ("float32", "float64")
        and m.mutant.op.name in WHOLE
    ]
    ops = {case.op.name for case in whole}
    warned = {op: set(names.split()) for op, names in NOT_DECIDED.items() if op in ops}
    assert {m.mutant.op.name: set() for m in wide}.keys() == warned.keys()
    for op, names in warned.items():
        assert {m.mutant.name for m in wide if m.mutant.op.name == op} == names
    rule = {case.id: case.rule for case in whole}
    rules = Counter(rule[case] for m in wide for case in m.noticers)
    assert rules.keys() <= {"should", "open"}


def test_every_group_shows_something_that_no_other_shows(found, whole):
    theirs = [one for one in found if one.mutant.op.name in WHOLE]
    those = groups(whole, theirs, survey(whole), shipped_ledgers())
    assert len(those) > 100 or {case.op.name for case in whole} != {*WHOLE}
    idle = [f"{group.op}/{group.name} ({group.source})" for group in those if group.shows_nothing]
    assert idle == []


def test_no_group_is_of_level_deep_alone():
    """Core has each behavior that a name states, in some version."""
    there = {(case.op.name, case.name) for case in core(*WHOLE)}
    every = {(case.op.name, case.name) for case in shipped_cases(*WHOLE)}
    assert every - there == set()
