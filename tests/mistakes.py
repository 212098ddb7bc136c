"""Hardmax and DML_ACTIVATION_HARDMAX1 as backends, each with one wrong idea.

`Hardmax(mistake=Mistake())` has none and is right. `MISTAKES` are what the shipped suites must
find, `LIBERTIES` what they must not mind, `LAPSES` what they warn of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.model import Task
from tests import brute
from tests.miniatures import Fake, Refused, Run, of_operand

Values: TypeAlias = list[float]
Rows: TypeAlias = list[brute.Row]


def first(values: Values) -> list[int]:
    """The place of the first maximum, or of the first NaN."""
    nans = [place for place, value in enumerate(values) if value != value]
    return [nans[0] if nans else values.index(max(values))]


def _rows(task: Task, shape: Sequence[int], axes: Sequence[int]) -> Rows:
    if task.op.name == "Hardmax" and task.op.since < 13:
        return brute.coerced(shape, axes[0])
    return brute.along(shape, axes)


def _legal_axes(task: Task, rank: int) -> Sequence[int]:
    """The axes, counted from the front, that the task asks for; refuses what is illegal."""
    if task.op.name != "Hardmax":
        axes: Any = task.attrs.get("Axes", ())
        legal = 1 <= rank <= 8 and axes and len({*axes}) == len(axes)
        if not legal or not all(0 <= axis < rank for axis in axes):
            raise Refused(f"Axes {axes} of rank {rank}")
        return sorted(axes)
    axis: Any = task.attrs.get("axis", -1 if task.op.since >= 13 else 1)
    if not (0 if task.op.since == 1 else -rank) <= axis < rank:
        raise Refused(f"axis {axis} of rank {rank}")
    return [axis % rank]


def _legal_dtype(task: Task, x: Any) -> None:
    names = {"float16", "float32"}
    if task.op.name == "Hardmax":
        names |= {"float64"} | ({"bfloat16"} if task.op.since >= 13 else set())
    if x.dtype.name not in names:
        raise Refused(f"input of type {x.dtype}")


@dataclass(frozen=True)
class Mistake:
    """What is done at each step of Hardmax; the defaults are right.

    `task` changes what is asked, `axes` and `dtype` say what is legal, `values` changes the
    numbers that are compared, `rows` what competes, `choose` picks the places of the ones in a
    row, and `output` changes what is returned.
    """

    task: Callable[[Task], Task] = lambda task: task
    axes: Callable[[Task, int], Sequence[int]] = _legal_axes
    dtype: Callable[[Task, Any], None] = _legal_dtype
    values: Callable[[Any], Any] = lambda x: x
    rows: Callable[[Task, Sequence[int], Sequence[int]], Rows] = _rows
    choose: Callable[[Values], list[int]] = first
    output: Callable[[Any], Any] = lambda out: [out]

    def run(self, task: Task, x: Any) -> Any:
        # A warning of NumPy's would be another mistake than the one meant.
        with np.errstate(all="ignore"):
            return self._run(task, x)

    def _run(self, task: Task, x: Any) -> Any:
        task = self.task(task)
        self.dtype(task, x)
        axes = self.axes(task, x.ndim)
        out = np.zeros(x.size, x.dtype)
        values = self.values(x).reshape(-1).astype(np.float64).tolist()
        for row in self.rows(task, x.shape, axes):
            if row:
                chosen = self.choose([values[place] for place in row])
                out[[row[place] for place in chosen]] = 1
        return self.output(out.reshape(x.shape))


@dataclass(frozen=True)
class Hardmax(Fake):
    """A backend of both operators with a mistake in it."""

    prepared: Callable[[Task], Run] = field(init=False)
    mistake: Mistake = field(default_factory=Mistake)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepared", of_operand(self.mistake.run))


def _chooses(pick: Callable[[Values], Any]) -> Mistake:
    def choose(values: Values) -> list[int]:
        found = pick(values)
        return found if isinstance(found, list) else [found]

    return Mistake(choose=choose)


def _largest(values: Values) -> float:
    return values[first(values)[0]]


def _where(values: Values, wanted: float) -> list[int]:
    return [place for place, value in enumerate(values) if value == wanted]


def _best_lane(width: int) -> Callable[[Values], int]:
    """One candidate a lane; among equals the lowest lane wins, not the lowest index."""

    def pick(values: Values) -> int:
        best = [
            first(values[lane::width])[0] * width + lane for lane in range(width)[: len(values)]
        ]
        return best[first([values[place] for place in best])[0]]

    return pick


def _later_block(width: int) -> Callable[[Values], int]:
    """Each block finds its first maximum; among blocks that tie the last wins."""

    def pick(values: Values) -> int:
        blocks = [values[start : start + width] for start in range(0, len(values), width)]
        tops = [block[first(block)[0]] for block in blocks]
        last = max((top, number) for number, top in enumerate(tops))[1]
        return last * width + first(blocks[last])[0]

    return pick


def _without_tail(width: int) -> Callable[[Values], int]:
    """The elements after the last whole vector are not looked at."""

    def pick(values: Values) -> int:
        return first(values[: len(values) // width * width or len(values)])[0]

    return pick


def _padded_tail(width: int) -> Callable[[Values], list[int]]:
    """The last vector is filled up with zeros, which may win and are then cut off."""

    def pick(values: Values) -> list[int]:
        place = first([*values, *[0.0] * (-len(values) % width)])[0]
        return [place] if place < len(values) else []

    return pick


def _from(start: float) -> Callable[[Values], list[int]]:
    """The running maximum starts at `start` and is replaced by what is larger only."""

    def pick(values: Values) -> list[int]:
        best, chosen = start, []
        for place, value in enumerate(values):
            if value > best:
                best, chosen = value, [place]
        return chosen

    return pick


def _index_in(dtype: Any) -> Mistake:
    return _chooses(lambda values: min(int(dtype(first(values)[0])), len(values) - 1))


def _asks(**attrs: Callable[[Any], Any]) -> Callable[[Task], Task]:
    def change(task: Task) -> Task:
        found = {name: attrs[name](v) if name in attrs else v for name, v in task.attrs.items()}
        return replace(task, attrs=found)

    return change


def _version(since: int) -> Callable[[Task], Task]:
    def change(task: Task) -> Task:
        if task.op.name != "Hardmax":
            return task
        return replace(task, op=replace(task.op, since=since))

    return change


def _default(**defaults: Any) -> Callable[[Task], Task]:
    return lambda task: replace(task, attrs={**defaults, **task.attrs})


def _moved(by: int) -> Mistake:
    return Mistake(
        rows=lambda p, shape, axes: _rows(p, shape, [(a + by) % len(shape) for a in axes])
    )


def _unchecked(axes: Callable[[Task, int], Sequence[int]]) -> Mistake:
    def lenient(task: Task, rank: int) -> Sequence[int]:
        try:
            return _legal_axes(task, rank)
        except Refused:
            return axes(task, rank)

    return Mistake(axes=lenient)


def _stated(task: Task) -> list[int]:
    default = -1 if task.op.since >= 13 else 1
    stated: Any = task.attrs.get("Axes", (task.attrs.get("axis", default),))
    return [int(axis) for axis in stated] or [0]


def _refuses(when: Callable[[Task, Any], bool]) -> Mistake:
    def dtype(task: Task, x: Any) -> None:
        _legal_dtype(task, x)
        if when(task, x):
            raise Refused("not this one")

    return Mistake(dtype=dtype)


def _cast(*dtypes: Any) -> Callable[[Any], Any]:
    """Through a narrower type, for tensors of a wider one."""

    def narrowed(x: Any) -> Any:
        with np.errstate(all="ignore"):
            for dtype in dtypes:
                if x.dtype.itemsize > np.dtype(dtype).itemsize:
                    return x.astype(dtype)
        return x

    return narrowed


def _flush(x: Any) -> Any:
    smallest = ml_dtypes.finfo(x.dtype).smallest_normal
    return np.where(np.abs(x) < smallest, np.zeros_like(x), x)


def _clamp(x: Any) -> Any:
    limits = ml_dtypes.finfo(x.dtype)
    return np.clip(x, limits.min, limits.max)


def _ordered_bits(x: Any) -> Any:
    """As integers: +0 is above -0, and negative numbers come in the wrong order."""
    return x.view(f"i{x.dtype.itemsize}").astype(np.float64) if x.size else x


def _total_order(x: Any) -> Any:
    """-0 below +0."""
    tiny = 5e-324 * np.where(np.signbit(x), -1, 1)
    return np.where(x == 0, tiny, x.astype(np.float64))


def _first_group_only(task: Task, shape: Sequence[int], axes: Sequence[int]) -> Rows:
    return _rows(task, shape, axes)[:1]


def _column_major(task: Task, shape: Sequence[int], axes: Sequence[int]) -> Rows:
    """The order in a row is that of the transposed tensor."""
    places = np.arange(prod(shape)).reshape(shape)
    order = {place: rank for rank, place in enumerate(places.T.reshape(-1).tolist())}
    return [sorted(row, key=order.__getitem__) for row in _rows(task, shape, axes)]


def _as_if_transposed(task: Task, shape: Sequence[int], axes: Sequence[int]) -> Rows:
    """The rows of a tensor that lies in memory in column-major order, read in row-major order."""
    return [list(row) for row in _rows(task, tuple(shape)[::-1], axes)]


def _skipping_nan(values: Values) -> int:
    numbers = [value for value in values if value == value]
    return values.index(max(numbers)) if numbers else 0


LANES = (2, 4, 8, 16, 32, 64, 128, 256)

MISTAKES: dict[str, Mistake] = {
    # Which element of a row.
    "last_of_ties": _chooses(lambda v: len(v) - 1 - v[::-1].index(_largest(v)) if v else 0),
    "all_maxima": _chooses(lambda v: _where(v, _largest(v)) or first(v)),
    "no_one_if_tied": _chooses(lambda v: w if len(w := _where(v, _largest(v))) == 1 else []),
    "second_maximum": _chooses(lambda v: v.index(sorted(v)[-2:][0])),
    "minimum": _chooses(lambda v: v.index(min(v))),
    "magnitudes": Mistake(values=np.abs),
    "squares": Mistake(values=lambda x: x.astype(np.float64) ** 2),
    "always_the_first": _chooses(lambda v: 0),
    "always_the_last": _chooses(lambda v: len(v) - 1),
    "none_at_all": _chooses(lambda v: []),
    "last_element_forgotten": _chooses(lambda v: first(v[:-1] or v)),
    "first_element_forgotten": _chooses(lambda v: first(v[1:])[0] + 1 if v[1:] else 0),
    "starts_at_zero": _chooses(_from(0.0)),
    "starts_at_minus_one": _chooses(_from(-1.0)),
    "starts_at_the_smallest_normal": _chooses(_from(float(np.finfo(np.float32).tiny))),
    "starts_at_the_lowest_float32": _chooses(_from(float(np.finfo(np.float32).min))),
    "starts_at_the_lowest_float16": _chooses(_from(-65504.0)),
    "starts_at_minus_infinity": _chooses(_from(-np.inf)),
    "starts_at_minus_1e9": _chooses(_from(-1e9)),
    "starts_at_minus_1000": _chooses(_from(-1e3)),
    **{f"lanes_of_{w}": _chooses(_best_lane(w)) for w in LANES},
    **{f"tail_after_{w}_ignored": _chooses(_without_tail(w)) for w in LANES},
    **{f"tail_after_{w}_zero": _chooses(_padded_tail(w)) for w in LANES},
    **{f"later_block_of_{w}_wins": _chooses(_later_block(w)) for w in (4, 16, 64, 256, 1024)},
    "later_half_wins": _chooses(lambda v: _later_block(-(-len(v) // 2))(v)),
    "stops_at_256": _chooses(lambda v: first(v[:256])),
    "stops_at_1024": _chooses(lambda v: first(v[:1024])),
    "index_in_8_bits": _chooses(lambda v: first(v)[0] % 256),
    "index_in_7_bits": _chooses(lambda v: first(v)[0] % 128),
    "index_in_float16": _index_in(np.float16),
    "index_in_bfloat16": _index_in(ml_dtypes.bfloat16),
    # What a row is.
    "no_coercion_before_13": Mistake(rows=lambda p, shape, axes: brute.along(shape, axes)),
    "coercion_in_13": Mistake(
        rows=lambda p, s, a: brute.coerced(s, a[0]) if p.op.name == "Hardmax" else _rows(p, s, a)
    ),
    "coercion_after_the_axis": Mistake(
        rows=lambda p, s, a: brute.coerced(s, a[0] + 1) if p.op.since in (1, 11) else _rows(p, s, a)
    ),
    "newest_version_always": Mistake(task=_version(13)),
    "version_11_always": Mistake(task=_version(11)),
    "default_axis_1_always": Mistake(task=_default(axis=1)),
    "default_axis_minus_1_always": Mistake(
        axes=lambda p, rank: _legal_axes(p, rank) if p.attrs else [rank - 1]
    ),
    "default_axis_0_always": Mistake(task=_default(axis=0)),
    "axis_plus_1": _moved(1),
    "axis_minus_1": _moved(-1),
    "last_axis_always": Mistake(rows=lambda p, shape, axes: _rows(p, shape, [len(shape) - 1])),
    "first_axis_always": Mistake(rows=lambda p, shape, axes: _rows(p, shape, [0])),
    "axis_1_always": Mistake(rows=lambda p, s, axes: _rows(p, s, [min(1, len(s) - 1)])),
    "axis_mirrored": Mistake(rows=lambda p, s, axes: _rows(p, s, [len(s) - 1 - a for a in axes])),
    "negative_axis_off_by_one": Mistake(
        task=_asks(axis=lambda axis: axis if axis >= -1 else axis + 1)
    ),
    "minus_sign_ignored": Mistake(task=_asks(axis=abs)),
    "whole_tensor": Mistake(rows=lambda p, s, axes: [[*range(prod(s))]]),
    "first_row_only": Mistake(rows=_first_group_only),
    "last_row_missing": Mistake(rows=lambda *about: _rows(*about)[:-1]),
    "rows_swapped": Mistake(output=lambda out: [out[::-1].copy() if out.ndim else out]),
    "column_major": Mistake(rows=_as_if_transposed),
    "ties_in_column_major_order": Mistake(rows=_column_major),
    "first_of_the_axes_only": Mistake(rows=lambda p, s, axes: _rows(p, s, axes[:1])),
    "last_of_the_axes_only": Mistake(rows=lambda p, s, axes: _rows(p, s, axes[-1:])),
    "axes_complemented": Mistake(
        rows=lambda p, s, axes: _rows(p, s, [d for d in range(len(s)) if d not in axes] or axes)
    ),
    # Which numbers are compared.
    "float32_inside": Mistake(values=_cast(np.float32)),
    "float16_inside": Mistake(values=_cast(np.float16)),
    "bfloat16_inside": Mistake(values=_cast(ml_dtypes.bfloat16)),
    "whole_numbers": Mistake(values=lambda x: np.trunc(x)),
    "infinities_clamped": Mistake(values=_clamp),
    "minus_infinity_above_the_lowest": Mistake(values=lambda x: np.where(x == -np.inf, -1e4, x)),
    "plus_infinity_is_nothing": Mistake(values=lambda x: np.where(x == np.inf, -np.inf, x)),
    "negative_zero_is_less": Mistake(values=_total_order),
    "compares_bits": Mistake(values=_ordered_bits),
    "exponentials": Mistake(values=lambda x: np.exp(np.clip(x.astype(np.float32), -80, 80))),
    # What is returned.
    "wrong_dtype_float32": Mistake(output=lambda out: [out.astype(np.float32)]),
    "wrong_dtype_float64": Mistake(output=lambda out: [out.astype(np.float64)]),
    "wrong_dtype_bool": Mistake(output=lambda out: [out.astype(np.bool_)]),
    "wrong_dtype_int64": Mistake(output=lambda out: [out.astype(np.int64)]),
    "flattened": Mistake(output=lambda out: [out.reshape(-1)]),
    "squeezed": Mistake(output=lambda out: [out.squeeze()]),
    "always_a_matrix": Mistake(output=lambda out: [out.reshape(len(out), -1) if out.size else out]),
    "transposed": Mistake(output=lambda out: [out.T.copy()]),
    "two_outputs": Mistake(output=lambda out: [out, out]),
    "no_output": Mistake(output=lambda out: []),
    "a_list": Mistake(output=lambda out: [out.tolist()]),
    "twos": Mistake(output=lambda out: [out + out]),
    "minus_ones": Mistake(output=lambda out: [-out]),
    "zeros_are_tiny": Mistake(
        output=lambda out: [np.where(out == 0, out + 1e-6, out).astype(out.dtype)]
    ),
    "zeros_are_nan": Mistake(
        output=lambda out: [np.where(out == 0, np.nan, out).astype(out.dtype)]
    ),
    "inverted": Mistake(output=lambda out: [1 - out]),
    "empty_becomes_one": Mistake(output=lambda out: [out if out.size else np.ones(1, out.dtype)]),
    # What is refused.
    "axis_wraps": _unchecked(lambda p, rank: sorted({axis % max(rank, 1) for axis in _stated(p)})),
    "axis_clamped": _unchecked(
        lambda p, rank: sorted({min(max(axis, 0), max(rank - 1, 0)) for axis in _stated(p)})
    ),
    "out_of_range_is_last": _unchecked(lambda p, rank: [max(rank - 1, 0)]),
    "axis_in_32_bits": Mistake(task=_asks(axis=lambda axis: (axis + 2**31) % 2**32 - 2**31)),
    "refuses_negative_axes": _refuses(lambda p, x: str(p.attrs.get("axis", "")).startswith("-")),
    "refuses_rank_1": _refuses(lambda p, x: x.ndim == 1),
    "refuses_more_than_4_dimensions": _refuses(lambda p, x: x.ndim > 4),
    "refuses_all_but_matrices": _refuses(lambda p, x: x.ndim != 2),
    "refuses_empty_tensors": _refuses(lambda p, x: x.size == 0),
    "refuses_infinities": _refuses(lambda p, x: bool(np.isinf(x.astype(np.float64)).any())),
    "refuses_float64": _refuses(lambda p, x: x.dtype == np.float64),
    "refuses_float16": _refuses(lambda p, x: x.dtype == np.float16),
    "refuses_bfloat16": _refuses(lambda p, x: x.dtype == ml_dtypes.bfloat16),
    "refuses_constants": _refuses(lambda p, x: bool(p.initializers)),
    "refuses_a_missing_axis": _refuses(lambda p, x: not p.attrs),
}

#: Permitted, or not decided by the text: no case may fail for these.
LIBERTIES: dict[str, Mistake] = {
    "negative_zeros": Mistake(output=lambda out: [np.where(out == 0, -0.0, 1).astype(out.dtype)]),
    "skips_nan": _chooses(_skipping_nan),
    "no_one_beside_nan": _chooses(lambda v: first(v) if all(x == x for x in v) else []),
    "fortran_order": Mistake(output=lambda out: [np.asfortranarray(out)]),
    "read_only": Mistake(output=lambda out: [np.broadcast_to(out, out.shape)]),
    "a_tuple": Mistake(output=lambda out: (out,)),
}

#: Only `should` speaks against these: they are warned of.
LAPSES: dict[str, Mistake] = {
    "subnormals_flushed": Mistake(values=_flush),
    "accepts_integers": Mistake(dtype=lambda task, x: None),
}
