"""Softmax with one wrong idea each.

`MISTAKES` are what the shipped suite must find in every version and type that they can be made in,
`LIBERTIES` what it must not mind, `LAPSES` what it warns of.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import ml_dtypes
import numpy as np

from tests.cases import softmax_wrong_steps as wrong
from tests.cases.softmax_by_steps import (
    Idea,
    along,
    coerced,
    maximum,
    rows_of,
    total_of,
    wide,
)

WIDTHS = (4, 8, 16, 32)

MISTAKES: dict[str, Idea] = {
    # What a row is.
    "no_coercion_before_13": Idea(rows=lambda t, shape, axis: along(shape, axis)),
    "coercion_in_13": Idea(rows=lambda t, shape, axis: coerced(shape, axis)),
    "coercion_after_the_axis": Idea(rows=lambda t, shape, axis: coerced(shape, axis + 1)),
    "coercion_before_the_axis": Idea(rows=lambda t, shape, axis: coerced(shape, max(axis - 1, 0))),
    "newest_version_always": Idea(task=wrong.as_version(13)),
    "version_11_always": Idea(task=wrong.as_version(11)),
    "default_axis_1_always": Idea(task=wrong.by_default(1)),
    "default_axis_minus_1_always": Idea(axis=wrong.minus_one_by_default),
    "default_axis_0_always": Idea(task=wrong.by_default(0)),
    "axis_0_is_no_axis": Idea(
        task=lambda task: replace(task, attrs={n: v for n, v in task.attrs.items() if v})
    ),
    "axis_plus_1": wrong.another_axis(lambda axis, rank: (axis + 1) % rank),
    "axis_minus_1": wrong.another_axis(lambda axis, rank: (axis - 1) % rank),
    "last_axis_always": wrong.another_axis(lambda axis, rank: rank - 1),
    "first_axis_always": wrong.another_axis(lambda axis, rank: 0),
    "axis_1_always": wrong.another_axis(lambda axis, rank: min(1, rank - 1)),
    "axis_mirrored": wrong.another_axis(lambda axis, rank: rank - 1 - axis),
    "negative_axis_off_by_one": Idea(
        task=wrong.asks(lambda axis: axis if axis >= -1 else axis + 1)
    ),
    "minus_sign_ignored": Idea(task=wrong.asks(abs)),
    "whole_tensor": Idea(rows=lambda t, shape, axis: [[*range(prod(shape))]]),
    "first_row_only": Idea(rows=lambda *about: rows_of(*about)[:1]),
    "last_row_missing": Idea(rows=wrong.without_the_last),
    "rows_swapped": Idea(output=lambda out: [out[::-1].copy() if out.ndim else out]),
    "transposed": Idea(output=lambda out: [out.reshape(out.shape[::-1]).T.copy()]),
    "column_major": Idea(rows=wrong.as_if_transposed),
    "rows_side_by_side": Idea(rows=wrong.one_inner_element),
    "rank_5_never_along_axis_0": Idea(rows=wrong.never_along_the_first),
    "rank_5_coerced": Idea(rows=wrong.flattened_above_4),
    # What is taken away from a row.
    "no_shift": Idea(shift=lambda x: np.zeros_like(x[:, :1])),
    "shift_by_the_whole_maximum": Idea(shift=lambda x: np.full_like(x[:, :1], x.max())),
    "shift_by_the_first_element": Idea(shift=lambda x: x[:, :1]),
    "shift_by_the_last_element": Idea(shift=lambda x: x[:, -1:]),
    "shift_by_the_mean": Idea(shift=lambda x: x.mean(axis=1, keepdims=True, dtype=x.dtype)),
    "shift_by_the_minimum": Idea(shift=lambda x: x.min(axis=1, keepdims=True)),
    "shift_by_the_magnitude": Idea(shift=lambda x: np.abs(x).max(axis=1, keepdims=True)),
    "shift_by_the_maximum_before": Idea(shift=wrong.kept_from_the_row_before),
    "shift_by_the_first_half": Idea(shift=lambda x: maximum(x[:, : x.shape[1] // 2 + 1])),
    **{
        f"maximum_of_whole_vectors_of_{w}": Idea(shift=wrong.maximum_of_whole_vectors(w))
        for w in WIDTHS
    },
    **{f"maximum_of_one_lane_of_{w}": Idea(shift=wrong.maximum_of_one_lane(w)) for w in WIDTHS},
    "maximum_of_512_elements": Idea(shift=lambda x: maximum(x[:, :512])),
    "maximum_of_the_bits": Idea(shift=wrong.maximum_of_the_bits),
    "maximum_starts_at_0": Idea(shift=wrong.starting_at(0)),
    "maximum_starts_at_minus_1e4": Idea(shift=wrong.starting_at(-1e4)),
    "maximum_starts_at_minus_1e9": Idea(shift=wrong.starting_at(-1e9)),
    "maximum_starts_at_the_smallest_normal": Idea(
        shift=wrong.starting_at(float(np.finfo(np.float32).tiny))
    ),
    "maximum_starts_at_the_lowest_float32": Idea(
        shift=wrong.starting_at(float(np.finfo(np.float32).min))
    ),
    "new_maximum_does_not_rescale": wrong.online(lambda total, old, new: total),
    "minus_infinity_less_minus_infinity": wrong.online(wrong.rescaled, careful=False),
    # The exponential.
    "base_2": Idea(exp=np.exp2),
    "no_exponential": Idea(shift=lambda x: x.min(axis=1, keepdims=True), exp=lambda d: d + 1),
    "sign_lost": Idea(wide=lambda x: np.abs(wide(x))),
    "sign_changed": Idea(wide=lambda x: -wide(x)),
    "whole_numbers": Idea(wide=lambda x: np.trunc(wide(x))),
    "exp_of_schraudolph": Idea(exp=wrong.schraudolph),
    "exp_by_its_power_of_4096": Idea(exp=lambda d: np.maximum(1 + d / 4096, 0) ** 4096),
    "exp_good_to_12_bits": Idea(exp=wrong.exp_good_to(12)),
    "exp_good_to_16_bits": Idea(exp=wrong.exp_good_to(16)),
    "exp_in_float16": Idea(exp=lambda d: np.exp(d.astype(np.float16)).astype(d.dtype)),
    "exp_in_float32": Idea(exp=lambda d: np.exp(d.astype(np.float32)).astype(d.dtype)),
    "exponent_of_8_bits": Idea(exp=lambda d: np.exp(wrong.rounded_to_bits(d, 8))),
    "exponent_of_11_bits": Idea(exp=lambda d: np.exp(wrong.rounded_to_bits(d, 11))),
    "exponent_above_minus_5": Idea(exp=wrong.clamped(-5)),
    "exponent_above_minus_20": Idea(exp=wrong.clamped(-20)),
    "exponent_above_minus_50": Idea(exp=wrong.clamped(-50)),
    "exponent_above_minus_87": Idea(exp=wrong.clamped(-87)),
    "far_exponents_vanish": Idea(exp=lambda d: np.where(d < -8, 0, np.exp(d)).astype(d.dtype)),
    # The sum.
    "sum_in_float16": Idea(sum=wrong.running_sum(np.float16)),
    "sum_in_bfloat16": Idea(sum=wrong.running_sum(ml_dtypes.bfloat16)),
    "sum_in_float32": Idea(sum=wrong.running_sum(np.float32)),
    "sum_plus_1e-5": Idea(sum=lambda e: total_of(e) + e.dtype.type(1e-5)),
    "sum_plus_1e-6": Idea(sum=lambda e: total_of(e) + e.dtype.type(1e-6)),
    "sum_plus_2e-7": Idea(sum=lambda e: total_of(e) + e.dtype.type(2e-7)),
    "sum_plus_1e-12": Idea(sum=lambda e: total_of(e) + e.dtype.type(1e-12)),
    "sum_is_the_mean": Idea(sum=lambda e: total_of(e) / e.shape[1]),
    "sum_is_a_norm": Idea(sum=lambda e: np.sqrt(total_of(e * e))),
    "no_sum": Idea(sum=lambda e: np.ones_like(e[:, :1])),
    "sum_without_the_last": Idea(sum=lambda e: total_of(e[:, :-1]) if e.shape[1] > 1 else e),
    "sum_without_the_first": Idea(sum=lambda e: total_of(e[:, 1:]) if e.shape[1] > 1 else e),
    "sum_of_512_elements": Idea(sum=lambda e: total_of(e[:, :512])),
    "sum_of_the_row_before_added": Idea(shares=wrong.stale),
    **{f"sum_of_whole_vectors_of_{w}": Idea(sum=wrong.of_whole_vectors(w)) for w in WIDTHS},
    **{f"sum_padded_to_vectors_of_{w}": Idea(sum=wrong.padded_to(w)) for w in WIDTHS},
    "reciprocal_of_12_bits": Idea(sum=lambda e: 1 / wrong.rounded_to_bits(1 / total_of(e), 12)),
    # The shares.
    "logarithms": Idea(shares=wrong.log_softmax),
    "one_hot": wrong.each_share(lambda y: (y == maximum(y)).astype(y.dtype)),
    "one_minus": wrong.each_share(lambda y: 1 - y),
    "1e-3_too_large": wrong.each_share(lambda y: y * (1 + 1e-3)),
    "1e-5_too_small": wrong.each_share(lambda y: y * (1 - 1e-5)),
    "3e-6_too_large": wrong.each_share(lambda y: y * (1 + 3e-6)),
    "3e-6_up_and_down": wrong.alternating(3e-6),
    "at_least_1e-7": wrong.each_share(lambda y: np.maximum(y, 1e-7)),
    "at_most_1_minus_1e-6": wrong.each_share(lambda y: np.minimum(y, 1 - 1e-6)),
    "no_share_below_1e-6": wrong.each_share(lambda y: np.where(y < 1e-6, 0, y)),
    # Infinities and NaN.
    "nan_swallowed": Idea(shares=wrong.swallowing_nan),
    "nan_is_nothing": Idea(shares=wrong.nan_is_nothing),
    "nan_everywhere": Idea(shares=wrong.nan_everywhere),
    "nan_is_0": wrong.each_share(np.nan_to_num),
    "minus_infinity_is_nan": Idea(
        wide=lambda x: np.where(np.isneginf(wide(x)), np.nan, wide(x)).astype(wide(x).dtype)
    ),
    "minus_infinity_is_minus_10": Idea(
        wide=lambda x: np.where(np.isneginf(wide(x)), -10, wide(x)).astype(wide(x).dtype)
    ),
    "minus_infinity_has_a_tiny_share": Idea(
        exp=lambda d: np.where(np.isneginf(d), d.dtype.type(1e-30), np.exp(d))
    ),
    # Types and shapes.
    "float32_inside": Idea(wide=wrong.through(np.float32)),
    "float16_inside": Idea(wide=wrong.through(np.float16)),
    "bfloat16_inside": Idea(wide=wrong.through(ml_dtypes.bfloat16)),
    "range_of_float16": Idea(wide=lambda x: np.clip(wide(x), -65504, 65504)),
    "truncated": Idea(narrow=wrong.truncated),
    "subnormals_flushed": Idea(narrow=wrong.flushed),
    "wrong_dtype_float32": Idea(output=lambda out: [out.astype(np.float32)]),
    "wrong_dtype_float64": Idea(output=lambda out: [out.astype(np.float64)]),
    "flattened": Idea(output=lambda out: [out.reshape(-1)]),
    "squeezed": Idea(output=lambda out: [out.squeeze()]),
    "always_a_matrix": Idea(output=lambda out: [out.reshape(len(out), -1) if out.size else out]),
    "two_outputs": Idea(output=lambda out: [out, out]),
    "empty_becomes_one": Idea(output=lambda out: [out if out.size else np.ones(1, out.dtype)]),
    # What is refused.
    "axis_wraps": wrong.unchecked(lambda axis, rank: axis % rank),
    "axis_clamped": wrong.unchecked(lambda axis, rank: min(max(axis, 0), rank - 1)),
    "out_of_range_is_last": wrong.unchecked(lambda axis, rank: rank - 1),
    "axis_in_32_bits": Idea(task=wrong.asks(lambda axis: (axis + 2**31) % 2**32 - 2**31)),
    "refuses_negative_axes": wrong.refuses(
        lambda t, x: str(t.attrs.get("axis", "")).startswith("-")
    ),
    "refuses_rank_1": wrong.refuses(lambda t, x: x.ndim == 1),
    "refuses_more_than_4_dimensions": wrong.refuses(lambda t, x: x.ndim > 4),
    "refuses_all_but_matrices": wrong.refuses(lambda t, x: x.ndim != 2),
    "refuses_empty_tensors": wrong.refuses(lambda t, x: x.size == 0),
    "refuses_infinities": wrong.refuses(lambda t, x: bool(np.isinf(x.astype(np.float64)).any())),
    "refuses_16_bits": wrong.refuses(lambda t, x: x.dtype.itemsize == 2),
    "refuses_64_bits": wrong.refuses(lambda t, x: x.dtype.itemsize == 8),
    "refuses_constants": wrong.refuses(lambda t, x: bool(t.initializers)),
    "refuses_a_missing_axis": wrong.refuses(lambda t, x: not t.attrs),
}

#: Permitted, or not decided by the text: no case may fail for these, nor warn.
LIBERTIES: dict[str, Idea] = {
    "none": Idea(),
    "one_after_the_other": Idea(sum=lambda e: np.cumsum(e, axis=1, dtype=e.dtype)[:, -1:]),
    "logarithm_of_the_sum": Idea(shares=wrong.log_of_the_sum),
    "online": wrong.online(wrong.rescaled),
    "nan_at_infinity_and_no_subnormals": Idea(
        shares=wrong.nan_at_infinity,
        narrow=lambda y, dtype: y.astype(dtype) if dtype == np.float16 else wrong.flushed(y, dtype),
        output=lambda out: [np.where(out == 0, -0.0, out).astype(out.dtype)],
    ),
}

#: Only `should` speaks against these, or the bound tolerates them with a remark.
LAPSES: dict[str, Idea] = {
    "integers_accepted_and_no_share_beside_minus_infinity": Idea(
        dtype=lambda task, x: None,
        shares=lambda i, x: np.where(np.isneginf(maximum(x)), 0, i.normalised(x)).astype(x.dtype),
    ),
    "raw_log_sum_exp_taken_away": Idea(shares=wrong.log_sum_exp),
    "exponentials_kept_in_the_type": Idea(wide=lambda x: x, shares=wrong.kept_in_the_type),
    "computed_in_the_type": Idea(wide=lambda x: x),
}
