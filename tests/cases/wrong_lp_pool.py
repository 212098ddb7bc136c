"""LpPool as a backend: right, and with one wrong idea each.

`LpPool()` is right: it gathers windows by index, and adds them up in the widest type there is.
`MISTAKES` are what the suite must find, `NARROW` and `LAPSES` what it warns of, `AT_LIBERTY` what
it must not mind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.model import Task
from tests.miniatures import Fake, Refused, Run, of_operand

Attrs: TypeAlias = dict[str, Any]
#: The output's size along an axis, and the padding before the input.
Plan: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Axis:
    """What a node says about one spatial axis of `size` elements."""

    size: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    end: int
    auto_pad: str
    ceil: bool

    @property
    def window(self) -> int:
        """The elements from the first of a window to its last, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def room(self) -> int:
        """How far a window can move."""
        return self.size + self.begin + self.end - self.window

    @property
    def same(self) -> bool:
        """Whether the padding follows from the output's size."""
        return self.auto_pad.startswith("SAME")

    def split(self, padding: int) -> int:
        """The part of SAME's padding that comes before the input."""
        return padding // 2 if self.auto_pad == "SAME_UPPER" else padding - padding // 2


@dataclass(frozen=True)
class Window:
    """Windows on their way to norms: `values` and what is `real` of them, (outputs, kernel).

    Padding is 0; `dtype` is the tensor's.
    """

    values: Any
    real: Any
    p: float
    dtype: Any


def legal(version: int, attrs: Attrs, x: Any) -> None:
    """Refuse what the specification forbids."""
    types = {"float16", "float32", "float64"} | ({"bfloat16"} if version >= 22 else set())
    known = {"p", "kernel_shape", "strides", "pads", "auto_pad"}
    if version >= 18:
        known |= {"ceil_mode", "dilations"}
    rank = x.ndim - 2
    auto_pad = attrs.get("auto_pad", "NOTSET")
    wrong = {
        "type": x.dtype.name not in types,
        "attributes": bool(attrs.keys() - known),
        "p": not 0 < attrs.get("p", 2) < inf,
        "rank": rank < 1,
        "no kernel_shape": "kernel_shape" not in attrs,
        "auto_pad": auto_pad not in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
        "both": "pads" in attrs and auto_pad != "NOTSET",
    }
    for name, least in {"kernel_shape": 1, "strides": 1, "dilations": 1, "pads": 0}.items():
        values = attrs.get(name, [1] * (2 * rank if name == "pads" else rank))
        wrong[f"length of {name}"] = len(values) != (2 * rank if name == "pads" else rank)
        wrong[name] = min(values, default=least) < least
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise Refused(what)


def planned(axis: Axis) -> Plan:
    """Sizes by the formulas of version 18."""
    if axis.same:
        output = -(-axis.size // axis.stride)
        return output, axis.split(max(0, (output - 1) * axis.stride + axis.window - axis.size))
    up = axis.ceil and axis.auto_pad == "NOTSET"
    return (-(-axis.room // axis.stride) if up else axis.room // axis.stride) + 1, axis.begin


def taps(axis: Axis, plan: Plan) -> Any:
    """The position of each element of each window, (windows, kernel)."""
    first = np.arange(plan[0])[:, None] * axis.stride - plan[1]
    return first + np.arange(axis.kernel) * axis.dilation


def norms(w: Window) -> Any:
    """(Σ |x|^p)^(1/p), scaled by the largest |x|."""
    magnitudes = np.abs(w.values)
    top = magnitudes.max(axis=1, initial=0)
    usual = np.isfinite(top) & (top > 0)
    scale = np.where(usual, top, 1)
    total = ((magnitudes / scale[:, None]) ** np.longdouble(w.p)).sum(axis=1)
    return np.where(usual, scale * total ** (1 / np.longdouble(w.p)), top)


def rounded(values: Any, dtype: Any) -> Any:
    """`values` in `dtype`; to bfloat16 by way of float32, which is near enough."""
    return values.astype(np.float64).astype(dtype)


@dataclass(frozen=True)
class Mistake:
    """What is done at each step; the defaults are right.

    `legal` says what is refused, `attrs` changes the attributes and `axes` what each axis is told,
    `plan` and `taps` say which positions lie in a window, `window` changes the values that are
    added up by `norm` and `rounded`, and `output` what is returned.
    """

    legal: Callable[[int, Attrs, Any], None] = legal
    attrs: Callable[[Attrs, Any], Attrs] = lambda attrs, x: attrs
    p: Callable[[float], float] = lambda p: float(np.float32(p))
    axes: Callable[[list[Axis]], list[Axis]] = lambda axes: axes
    plan: Callable[[Axis], Plan] = planned
    taps: Callable[[Axis, Plan], Any] = taps
    window: Callable[[Window], Window] = lambda window: window
    norm: Callable[[Window], Any] = norms
    rounded: Callable[[Any, Any], Any] = rounded
    output: Callable[[Any], Any] = lambda out: out

    def run(self, task: Task, x: Any) -> Any:
        """The output of `task` on `x`."""
        with np.errstate(all="ignore"):
            return self._run(task, x)

    def _run(self, task: Task, x: Any) -> Any:
        self.legal(task.op.since, dict(task.attrs), x)
        attrs = self.attrs(dict(task.attrs), x)
        axes = self.axes(_axes(attrs, x.shape[2:]))
        plans = [self.plan(axis) for axis in axes]
        if min(size for size, _ in plans) < 0:
            raise Refused("negative size")
        at = [self.taps(axis, plan) for axis, plan in zip(axes, plans, strict=True)]
        window = self.window(_gathered(x, at, self.p(attrs.get("p", 2))))
        out = self.rounded(self.norm(window), x.dtype)
        return self.output(out.reshape(*x.shape[:2], *(len(positions) for positions in at)))


def _axes(attrs: Attrs, spatial: Sequence[int]) -> list[Axis]:
    rank = len(spatial)
    pads, ones = attrs.get("pads", [0] * 2 * rank), [1] * rank
    strides, dilations = attrs.get("strides", ones), attrs.get("dilations", ones)
    auto_pad, ceil = attrs.get("auto_pad", "NOTSET"), bool(attrs.get("ceil_mode", 0))
    kernel = attrs["kernel_shape"]
    return [
        Axis(size, kernel[n], strides[n], dilations[n], pads[n], pads[rank + n], auto_pad, ceil)
        for n, size in enumerate(spatial)
    ]


def _gathered(x: Any, at: list[Any], p: float) -> Window:
    """Each spatial axis becomes two, its windows and their elements; then the elements go last."""
    values, real = x.astype(np.longdouble), np.ones(x.shape, np.bool_)
    for n, positions in enumerate(at):
        place, size = 2 + 2 * n, x.shape[2 + n]
        if size == 0:  # one element that is nowhere
            pair = [(0, 0)] * values.ndim
            pair[place] = (0, 1)
            values, real = np.pad(values, pair), np.pad(real, pair)
        inside = (positions >= 0) & (positions < size)
        near = np.where(inside, positions, 0)
        values, real = np.take(values, near, place), np.take(real, near, place)
        real = real & inside.reshape(*inside.shape, *[1] * (real.ndim - place - 2))
    order = [0, 1, *range(2, values.ndim, 2), *range(3, values.ndim, 2)]
    rows = prod(x.shape[:2]) * prod(len(positions) for positions in at)
    shape = rows, prod(positions.shape[1] for positions in at)
    values, real = (part.transpose(order).reshape(shape) for part in (values, real))
    return Window(np.where(real, values, 0), real, p, x.dtype)


@dataclass(frozen=True)
class LpPool(Fake):
    """A backend with a mistake in it."""

    prepared: Callable[[Task], Run] = field(init=False)
    mistake: Mistake = field(default_factory=Mistake)

    def __post_init__(self) -> None:
        run = self.mistake.run
        object.__setattr__(self, "prepared", of_operand(lambda task, x: [run(task, x)]))


# ── how a mistake is made ─────────────────────────────────────────────────────────────────────


def _told(**changes: Callable[[Axis], Any]) -> Mistake:
    """Every axis is told something else."""
    return Mistake(
        axes=lambda axes: [
            replace(axis, **{name: change(axis) for name, change in changes.items()})
            for axis in axes
        ]
    )


def _exchanged(name: str) -> Mistake:
    """The axes get each other's `name`."""
    return Mistake(
        axes=lambda axes: [
            replace(axis, **{name: getattr(other, name)})
            for axis, other in zip(axes, axes[::-1], strict=True)
        ]
    )


def _first(name: str) -> Mistake:
    """All axes get the first's `name`."""
    return Mistake(
        axes=lambda axes: [replace(axis, **{name: getattr(axes[0], name)}) for axis in axes]
    )


def _pads(read: Callable[[list[int], int], list[int]]) -> Mistake:
    """`pads` is read in another order; the second argument is the number of axes."""
    return Mistake(
        attrs=lambda attrs, x: (
            {**attrs, "pads": read([*attrs["pads"]], x.ndim - 2)} if "pads" in attrs else attrs
        )
    )


def _default(name: str, value: Callable[[Attrs], Any]) -> Mistake:
    """An attribute that is missing is taken for something else."""
    return Mistake(attrs=lambda attrs, x: {name: value(attrs), **attrs})


def _same(plan: Callable[[Axis, int], Plan]) -> Mistake:
    """Another plan under SAME, from the axis and the output's size."""
    return Mistake(plan=lambda axis: plan(axis, planned(axis)[0]) if axis.same else planned(axis))


def _padding(axis: Axis, output: int) -> int:
    return max(0, (output - 1) * axis.stride + axis.window - axis.size)


def _p(change: Callable[[float], float]) -> Mistake:
    return Mistake(p=change)


def _values(change: Callable[[Window], Any]) -> Mistake:
    """Other values are added up."""
    return Mistake(window=lambda w: replace(w, values=change(w)))


def _total(change: Callable[[Any], Any]) -> Mistake:
    """Something is done to the sum before the root."""
    return _norm(lambda w: change(norms(w) ** w.p) ** (1 / w.p))


def _norm(norm: Callable[[Window], Any]) -> Mistake:
    return Mistake(norm=norm)


def _scaled(factor: float) -> Mistake:
    return _norm(lambda w: norms(w) * factor)


def _output(change: Callable[[Any], Any]) -> Mistake:
    return Mistake(output=change)


def _power_in(dtype: Any) -> Callable[[Window], Any]:
    """The powers are kept in `dtype`, None being the tensor's, and added up in float32."""

    def norm(w: Window) -> Any:
        powers = rounded(np.abs(w.values) ** w.p, dtype or w.dtype)
        return powers.astype(np.float32).sum(axis=1, dtype=np.float32) ** np.float32(1 / w.p)

    return norm


def _sum_in(dtype: Any) -> Callable[[Window], Any]:
    """A running sum in `dtype`, None being the tensor's; powers and root are wide."""

    def norm(w: Window) -> Any:
        total = np.zeros(len(w.values), dtype or w.dtype)
        for column in (np.abs(w.values) ** w.p).T:
            total = rounded(total.astype(np.longdouble) + column, dtype or w.dtype)
        return total.astype(np.float64) ** (1 / w.p)

    return norm


def _plain(w: Window) -> Any:
    """Nothing is scaled: powers, sum and root in the compute type."""
    wide = np.float64 if w.dtype == np.float64 else np.float32
    powers = np.abs(w.values).astype(wide) ** wide(w.p)
    return powers.sum(axis=1, dtype=wide) ** wide(1 / w.p)


def _kept(values: Any, bits: int) -> Any:
    """`values` with so many bits of the significand."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)


def _root_of(bits: int) -> Mistake:
    return _norm(lambda w: norms(w) if w.p == 1 else _kept(norms(w), bits))


def _truncated(values: Any, dtype: Any) -> Any:
    """Sixteen bits are cut off instead of rounded."""
    near = rounded(values, dtype)
    above = np.isfinite(near) & (near.astype(np.longdouble) > values) & (dtype.itemsize == 2)
    return np.where(above, np.nextafter(near, np.zeros_like(near)), near)


def _per_element(count: Callable[[Window], Any], total: Callable[[Window], Any]) -> Mistake:
    """The norm of `count` elements as if they were `total`."""
    return _norm(lambda w: norms(w) * (total(w) / np.maximum(count(w), 1)) ** (1 / w.p))


def _all(w: Window) -> int:
    return int(w.values.shape[1])


def _there(w: Window) -> Any:
    return w.real.sum(axis=1)


def _without_tail(length: int) -> Callable[[Any], Any]:
    """What is left of a row after its last whole vector is never written."""

    def output(out: Any) -> Any:
        written = np.arange(out.shape[-1]) < out.shape[-1] // length * length
        return np.where(written, out, np.zeros_like(out))

    return output


def _without_last_taps(length: int) -> Mistake:
    """The elements of a window after its last whole vector are not added."""
    return _values(
        lambda w: np.where(np.arange(_all(w)) < (_all(w) // length * length or 1), w.values, 0)
    )


def _pushed_back(axis: Axis, plan: Plan) -> Any:
    """A window that hangs over the end begins earlier."""
    positions = taps(axis, plan)
    last = max(axis.size + axis.end - axis.window, 0)
    return positions if axis.same else positions - np.maximum(0, positions[:, :1] - last)


def _accepts(what: str, repair: Callable[[Attrs, Any], Attrs]) -> Mistake:
    """Lets pass what is wrong in this way, and repairs it."""

    def lenient(version: int, attrs: Attrs, x: Any) -> None:
        try:
            legal(version, attrs, x)
        except Refused as refused:
            if str(refused) != what:
                raise

    return Mistake(legal=lenient, attrs=repair)


def _fits(name: str, filler: int, many: int = 1) -> Mistake:
    """A list of the wrong length is cut off or filled up."""

    def repair(attrs: Attrs, x: Any) -> Attrs:
        length = many * (x.ndim - 2)
        values = [*attrs.get(name, []), *[filler] * length]
        return {**attrs, name: values[:length]} if name in attrs else attrs

    return _accepts(f"length of {name}", repair)


def _clamps(name: str, least: int) -> Mistake:
    """What is too small is taken for the least that is legal."""
    return _accepts(
        name,
        lambda attrs, x: (
            {**attrs, name: [max(least, v) for v in attrs[name]]} if name in attrs else attrs
        ),
    )


def _refuses(when: Callable[[Attrs, Any], bool]) -> Mistake:
    def stricter(version: int, attrs: Attrs, x: Any) -> None:
        legal(version, attrs, x)
        if when(attrs, x):
            raise Refused("not this one")

    return Mistake(legal=stricter)


_OTHER = {"SAME_UPPER": "SAME_LOWER", "SAME_LOWER": "SAME_UPPER"}

#: By the case that finds them, in every version that it asks about.
MISTAKES: dict[str, dict[str, Mistake]] = {
    "three_four_five": {
        "root_forgotten": _norm(lambda w: norms(w) ** w.p),
        "maximum": _norm(lambda w: np.abs(w.values).max(axis=1, initial=0)),
        "sum_of_magnitudes": _p(lambda p: 1),
        "mean": _per_element(_all, lambda w: 1),
        "negated": _output(lambda out: -out),
        "zeros": _output(np.zeros_like),
        "flattened": _output(lambda out: out.reshape(-1)),
        "squeezed": _output(lambda out: out.squeeze()),
        "other_dtype": _output(
            lambda out: out.astype(np.float64 if out.dtype == np.float32 else np.float32)
        ),
        "strides_ignored": _told(stride=lambda axis: 1),
        "windows_shifted": Mistake(taps=lambda axis, plan: taps(axis, plan) + 1),
        "relative_1e-3": _scaled(1 + 1e-3),
        "relative_1e-4": _scaled(1 + 1e-4),
        "refuses_vectors": _refuses(lambda attrs, x: x.ndim == 3),
        "refuses_float16": _refuses(lambda attrs, x: x.dtype == np.float16),
        "refuses_float64": _refuses(lambda attrs, x: x.dtype == np.float64),
        "refuses_missing_pads": _refuses(lambda attrs, x: "pads" not in attrs),
    },
    "every_p": {
        "p_always_2": _p(lambda p: 2),
        "p_always_3": _p(lambda p: 3),
        "p_at_most_4": _p(lambda p: min(p, 4)),
        "square_root_always": _norm(lambda w: norms(w) ** (w.p / 2)),
        "inverse_of_p_in_float16": _norm(lambda w: (norms(w) ** w.p) ** float(np.float16(1 / w.p))),
        "values_in_bfloat16": _values(lambda w: rounded(w.values, ml_dtypes.bfloat16)),
        "last_element_of_a_window_missing": _values(
            lambda w: np.where(np.arange(_all(w)) < _all(w) - 1, w.values, 0)
        ),
        "refuses_other_powers": _refuses(lambda attrs, x: attrs["p"] not in (1, 2)),
    },
    "large_p": {"is_the_maximum": _norm(lambda w: np.abs(w.values).max(axis=1))},
    "default_p": {
        "is_1": _default("p", lambda attrs: 1),
        "is_3": _default("p", lambda attrs: 3),
        "refused": _refuses(lambda attrs, x: "p" not in attrs),
    },
    "fractional_p": {
        "cut_to_a_whole_number": _p(lambda p: max(1, int(p))),
        "rounded_to_a_whole_number": _p(round),
        "refused": _refuses(lambda attrs, x: attrs["p"] % 1 != 0),
    },
    "fractional_p_is_a_number_of_32_bits": {"p_in_64_bits": _p(float)},
    "absolute_values": {
        "signs_kept": _norm(lambda w: np.cbrt((w.values.astype(np.float64) ** 3).sum(axis=1))),
        "negative_values_are_zero": _values(lambda w: np.maximum(w.values, 0)),
    },
    "absolute_values_under_other_powers": {
        "sum_with_signs": _norm(lambda w: w.values.sum(axis=1) if w.p == 1 else norms(w)),
    },
    "windows_of_zeros": {
        "epsilon_of_1e-30": _total(lambda total: total + 1e-30),
        "nan": _norm(lambda w: np.where(norms(w) == 0, np.nan, norms(w))),
    },
    "windows_of_one_element": {
        "epsilon_of_1e-5": _total(lambda total: total + 1e-5),
        "refuses_kernels_of_one": _refuses(lambda attrs, x: 1 in attrs["kernel_shape"]),
    },
    "small_values": {
        "epsilon_of_1e-12": _total(lambda total: total + 1e-12),
        "epsilon_of_1e-17": _total(lambda total: total + 1e-17),
        "at_least_1e-5": _norm(lambda w: np.maximum(norms(w), 1e-5)),
    },
    "kernel_shape": {
        "axes_exchanged": _exchanged("kernel"),
        "first_for_all": _first("kernel"),
        "image_transposed": _output(lambda out: out.swapaxes(-1, -2).reshape(out.shape)),
        "strides_are_the_kernel": _told(stride=lambda axis: axis.kernel),
        "last_window_missing": Mistake(plan=lambda axis: (planned(axis)[0] - 1, 0)),
        "window_tail_after_4_missing": _without_last_taps(4),
        "window_tail_after_8_missing": _without_last_taps(8),
        "pads_half_the_kernel": Mistake(
            attrs=lambda attrs, x: {"pads": [k // 2 for k in attrs["kernel_shape"]] * 2, **attrs}
        ),
    },
    "every_batch_and_channel": {
        "first_batch_only": _output(lambda out: np.concatenate([out[:1]] * len(out))),
        "first_channel_only": _output(lambda out: np.repeat(out[:, :1], out.shape[1], axis=1)),
        "exchanged": _output(lambda out: out.swapaxes(0, 1).reshape(out.shape)),
        "channels_last": _output(lambda out: np.moveaxis(out, 1, -1).reshape(out.shape)),
        "channels_added_up": _output(lambda out: out.sum(axis=1, keepdims=True) + 0 * out),
        "outputs_shifted": _output(lambda out: np.roll(out, 1, axis=-1)),
    },
    "three_dimensions": {
        "refused": _refuses(lambda attrs, x: x.ndim == 5),
        "third_axis_ignored": Mistake(
            axes=lambda axes: [*axes[:2], *[replace(a, kernel=1) for a in axes[2:]]]
        ),
    },
    "four_dimensions": {"refused": _refuses(lambda attrs, x: x.ndim == 6)},
    "strides": {
        "axes_exchanged": _exchanged("stride"),
        "first_for_all": _first("stride"),
        "at_most_the_kernel": _told(stride=lambda axis: min(axis.stride, axis.kernel)),
        "are_dilations_too": Mistake(
            attrs=lambda attrs, x: {"dilations": attrs["strides"], **attrs}
        ),
    },
    "default_strides": {
        "are_the_kernel": _default("strides", lambda attrs: attrs["kernel_shape"]),
        "refused": _refuses(lambda attrs, x: "strides" not in attrs),
    },
    "pads": {
        "interleaved": _pads(lambda pads, n: [*pads[::2], *pads[1::2]]),
        "ends_first": _pads(lambda pads, n: [*pads[n:], *pads[:n]]),
        "reversed": _pads(lambda pads, n: pads[::-1]),
        "axes_exchanged": _pads(lambda pads, n: [*pads[:n][::-1], *pads[n:][::-1]]),
        "beginnings_for_both": _pads(lambda pads, n: pads[:n] * 2),
        "ends_for_both": _pads(lambda pads, n: pads[n:] * 2),
        "refuses_asymmetric_pads": _refuses(
            lambda attrs, x: attrs["pads"][: x.ndim - 2] != attrs["pads"][x.ndim - 2 :]
        ),
    },
    "pads_with_strides": {
        "ends_ignored": _pads(lambda pads, n: [*pads[:n], *[0] * n]),
        "windows_start_in_the_input": Mistake(
            taps=lambda axis, plan: taps(axis, (plan[0], 0)),
        ),
    },
    "padding_adds_nothing": {
        "counts_as_one": _values(lambda w: np.where(w.real, w.values, 1)),
        "is_minus_infinity": _values(lambda w: np.where(w.real, w.values, -np.inf)),
        "is_the_lowest_float": _values(lambda w: np.where(w.real, w.values, -3.4e38)),
        "repeats_the_edge": Mistake(
            taps=lambda axis, plan: np.clip(taps(axis, plan), 0, axis.size - 1)
        ),
        "wraps": Mistake(taps=lambda axis, plan: taps(axis, plan) % axis.size),
        "rescaled": _per_element(_there, _all),
        "mean_of_what_is_there": _per_element(_there, lambda w: 1),
    },
    "auto_pad_notset": {
        "is_valid": _told(begin=lambda axis: 0, end=lambda axis: 0),
        "refused": _refuses(lambda attrs, x: "auto_pad" in attrs),
    },
    "auto_pad_same": {
        "ignored": _told(auto_pad=lambda axis: "NOTSET"),
        "upper_and_lower_exchanged": _told(
            auto_pad=lambda axis: _OTHER.get(axis.auto_pad, axis.auto_pad)
        ),
        "lower_as_upper": _told(auto_pad=lambda axis: axis.auto_pad.replace("LOWER", "UPPER")),
        "upper_as_lower": _told(auto_pad=lambda axis: axis.auto_pad.replace("UPPER", "LOWER")),
        "rounded_to_both_sides": _same(lambda axis, out: (out, -(-_padding(axis, out) // 2))),
        "all_at_one_side": _same(
            lambda axis, out: (out, _padding(axis, out) * (axis.auto_pad == "SAME_LOWER"))
        ),
    },
    "auto_pad_same_splits_an_even_padding": {
        "all_at_the_end": _same(lambda axis, out: (out, 0)),
    },
    "auto_pad_same_with_strides": {
        "size_of_the_input": _same(
            lambda axis, out: (axis.size, axis.split(_padding(axis, axis.size)))
        ),
        "as_if_the_stride_were_1": _same(
            lambda axis, out: (out, planned(replace(axis, stride=1))[1])
        ),
    },
    "auto_pad_same_with_strides_larger_than_the_window": {
        "negative_padding": _same(
            lambda axis, out: (
                out,
                axis.split((out - 1) * axis.stride + axis.window - axis.size),
            )
        ),
        "rounded_down": _same(lambda axis, out: (axis.size // axis.stride, planned(axis)[1])),
    },
    "auto_pad_same_with_dilations": {
        "padding_without_the_dilation": _same(
            lambda axis, out: (out, planned(replace(axis, dilation=1))[1])
        ),
        "size_without_the_padding": _same(
            lambda axis, out: (
                (axis.size + _padding(replace(axis, dilation=1), out) - axis.window) // axis.stride
                + 1,
                planned(replace(axis, dilation=1))[1],
            )
        ),
    },
    "auto_pad_valid": {
        "is_same": _told(auto_pad=lambda axis: axis.auto_pad.replace("VALID", "SAME_UPPER")),
        "rounded_up": Mistake(plan=lambda axis: (-(-axis.room // axis.stride) + 1, 0)),
    },
    "floor": {"ceil_always": _told(ceil=lambda axis: True)},
    "floor_is_the_default": {"ceil_always": _told(ceil=lambda axis: True)},
    "ceil_mode": {
        "ignored": _told(ceil=lambda axis: False),
        "refused": _refuses(lambda attrs, x: "ceil_mode" in attrs),
        "rescaled": _per_element(_there, _all),
        "pushed_back": Mistake(taps=_pushed_back),
        "padded_with_one": _values(lambda w: np.where(w.real, w.values, 1)),
    },
    "ceil_mode_of_vectors": {
        "always_one_more": Mistake(plan=lambda axis: (axis.room // axis.stride + 2, 0)),
        "of_the_kernel_undilated": Mistake(plan=lambda axis: planned(replace(axis, dilation=1))),
    },
    "ceil_mode_with_pads": {
        "without_the_pads_in_the_size": Mistake(
            plan=lambda axis: (planned(replace(axis, begin=0, end=0))[0], axis.begin)
        ),
    },
    "ceil_mode_of_images": {
        "along_the_last_axis_alone": Mistake(
            axes=lambda axes: [*[replace(a, ceil=False) for a in axes[:-1]], axes[-1]]
        ),
    },
    "ceil_mode_with_auto_pad_same": {
        "one_more": Mistake(
            plan=lambda axis: (
                -(-(axis.size + _padding(axis, planned(axis)[0]) - axis.window) // axis.stride) + 1,
                planned(axis)[1],
            )
        ),
    },
    "default_dilations": {
        "one_too_large": _default("dilations", lambda attrs: [2] * len(attrs["kernel_shape"])),
    },
    "dilations": {
        "ignored": _told(dilation=lambda axis: 1),
        "ignored_in_the_size": Mistake(
            plan=lambda axis: (planned(replace(axis, dilation=1))[0], axis.begin)
        ),
        "ignored_in_the_window": Mistake(
            taps=lambda axis, plan: taps(replace(axis, dilation=1), plan)
        ),
        "axes_exchanged": _exchanged("dilation"),
        "first_for_all": _first("dilation"),
        "are_gaps": _told(dilation=lambda axis: axis.dilation + 1),
        "refused": _refuses(lambda attrs, x: max(attrs["dilations"]) > 1),
    },
    "node_tests": {
        "relative_1e-5": _scaled(1 + 1e-5),
        "root_of_12_bits": _root_of(12),
        "root_of_16_bits": _root_of(16),
    },
    "random_windows": {
        "relative_1e-5": _scaled(1 + 1e-5),
        "relative_3e-6": _scaled(1 + 3e-6),
        "inverse_of_p_of_six_digits": _norm(lambda w: (norms(w) ** w.p) ** float(f"{1 / w.p:.6f}")),
        "values_in_tf32": _values(lambda w: _kept(w.values, 11)),
        "values_in_float16": _values(lambda w: w.values.astype(np.float16)),
        "sums_in_bfloat16": _norm(_sum_in(ml_dtypes.bfloat16)),
        "powers_in_float16": _norm(_power_in(np.float16)),
        "float64_in_float32": _norm(lambda w: norms(w).astype(np.float32)),
    },
    "random_windows_before_22": {
        "relative_1e-5": _scaled(1 + 1e-5),
        "sums_in_float16": _norm(_sum_in(np.float16)),
        "float64_in_float32": _norm(lambda w: norms(w).astype(np.float32)),
    },
    "random_windows_of_a_fractional_p": {"root_of_16_bits": _root_of(16)},
    "output_of_every_length": {
        "tail_after_4_missing": _output(_without_tail(4)),
        "tail_after_8_missing": _output(_without_tail(8)),
        "tail_after_16_missing": _output(_without_tail(16)),
        "tail_after_32_missing": _output(_without_tail(32)),
    },
    "window_of_every_length": {
        **{f"tail_after_{n}_missing": _without_last_taps(n) for n in (4, 8, 16, 32, 64)},
    },
    "windows_of_49": {
        "sums_in_float16": _norm(_sum_in(np.float16)),
        "sums_in_bfloat16": _norm(_sum_in(ml_dtypes.bfloat16)),
    },
    "bfloat16": {"refused": _refuses(lambda attrs, x: x.dtype == ml_dtypes.bfloat16)},
    "float64_is_computed_in_float64": {
        "in_float32": _values(lambda w: w.values.astype(np.float32)),
        "rounded_to_float32": _norm(lambda w: norms(w).astype(np.float32)),
    },
    "nan_and_infinity": {
        "nan_is_skipped": _values(lambda w: np.where(np.isnan(w.values), 0, w.values)),
        "nan_is_infinite": _values(lambda w: np.where(np.isnan(w.values), np.inf, w.values)),
        "infinity_beats_nan": _norm(
            lambda w: np.where(np.isinf(w.values).any(axis=1), np.inf, norms(w))
        ),
        "infinity_is_nan": _norm(
            lambda w: np.where(np.isinf(w.values).any(axis=1), np.nan, norms(w))
        ),
        "infinity_is_the_largest_number": _values(lambda w: np.clip(w.values, -3e38, 3e38)),
        "refused": _refuses(lambda attrs, x: bool(np.isnan(x.astype(np.float64)).any())),
    },
    "nan_and_infinity_beside_padding": {
        "nan_in_the_padding": _norm(
            lambda w: np.where(
                ~w.real.all(axis=1) & np.isinf(w.values).any(axis=1), np.nan, norms(w)
            )
        ),
    },
    "powers_beyond_float16": {
        "powers_in_the_type_of_the_input": _norm(_power_in(None)),
        "sums_in_the_type_of_the_input": _norm(_sum_in(None)),
    },
    "powers_within_float32": {
        "powers_in_float16": _norm(_power_in(np.float16)),
        "small_values_are_zero": _values(lambda w: np.where(np.abs(w.values) < 1e-7, 0, w.values)),
    },
    "no_batches": {"refused": _refuses(lambda attrs, x: x.shape[0] == 0)},
    "input_as_initializer": {"pads_ignored": _pads(lambda pads, n: [0] * 2 * n)},
    "without_kernel_shape": {
        "whole_extent": _accepts(
            "no kernel_shape", lambda attrs, x: {"kernel_shape": x.shape[2:], **attrs}
        ),
    },
    "kernel_shape_of_wrong_length": {"fitted": _fits("kernel_shape", 1)},
    "strides_of_wrong_length": {"fitted": _fits("strides", 1)},
    "dilations_of_wrong_length": {"fitted": _fits("dilations", 1)},
    "pads_of_wrong_length": {"fitted": _fits("pads", 0, 2)},
    "kernel_shape_below_1": {"clamped": _clamps("kernel_shape", 1)},
    "strides_below_1": {"clamped": _clamps("strides", 1)},
    "dilations_below_1": {"clamped": _clamps("dilations", 1)},
    "negative_pads": {"clamped": _clamps("pads", 0)},
    "unknown_auto_pad": {
        "in_any_case": _accepts(
            "auto_pad",
            lambda attrs, x: {**attrs, "auto_pad": attrs.get("auto_pad", "VALID").upper()},
        ),
    },
    "negative_size": {
        "empty": Mistake(plan=lambda axis: (max(planned(axis)[0], 0), axis.begin)),
    },
    "negative_size_by_dilation": {
        "empty": Mistake(plan=lambda axis: (max(planned(axis)[0], 0), axis.begin)),
    },
}

#: Wrong in sixteen bits only, as an engine is that computes in them: this is warned of.
NARROW: dict[str, dict[str, Mistake]] = {
    "random_windows": {
        "truncated": Mistake(rounded=_truncated),
        "sums_in_the_type": _norm(_sum_in(None)),
    },
    "random_windows_in_bfloat16": {
        "truncated": Mistake(rounded=_truncated),
        "powers_in_the_type": _norm(_power_in(None)),
        "sums_in_the_type": _norm(_sum_in(None)),
    },
}

#: Only `should` speaks against these: they are warned of in the case that is named.
LAPSES: dict[str, Mistake] = {
    "powers_beyond_the_range": _norm(_plain),
    "pads_as_large_as_the_kernel": _refuses(
        lambda attrs, x: any(
            pad >= kernel
            for pad, kernel in zip(attrs.get("pads", ()), attrs["kernel_shape"] * 2, strict=False)
        )
    ),
    "no_channels": _refuses(lambda attrs, x: x.shape[1] == 0),
    "no_elements_but_padding": _refuses(lambda attrs, x: 0 in x.shape[2:]),
    "pads_beside_auto_pad": _accepts("both", lambda attrs, x: attrs),
    "integer_input": Mistake(
        legal=lambda version, attrs, x: legal(version, attrs, x.astype(np.float32)),
        rounded=lambda values, dtype: values.astype(dtype),
    ),
    "subnormal_values_of_float16": _values(
        lambda w: (
            np.where(np.abs(w.values) < 2.0**-14, 0, w.values)
            if w.dtype == np.float16
            else w.values
        )
    ),
    "norms_beyond_the_range": Mistake(
        rounded=lambda values, dtype: np.where(
            np.isinf(out := rounded(values, dtype)) & np.isfinite(values),
            ml_dtypes.finfo(dtype).max,
            out,
        ).astype(dtype)
    ),
    "three_four_five_within_one_ulp": _norm(
        lambda w: norms(w) * (1 + 5e-7 * (w.dtype == np.float32))
    ),
}

#: Legal as it is, but all that `should` speaks against in values, ranges and shapes.
PLAIN = Mistake(
    legal=_refuses(
        lambda attrs, x: bool(
            0 in x.shape[1:]
            or any(map(int.__ge__, attrs.get("pads", ()), [*attrs["kernel_shape"]] * 2))
        )
    ).legal,
    norm=_plain,
)

#: What the text permits, or does not decide: no case may fail for it.
AT_LIBERTY = Mistake(
    plan=lambda axis: planned(axis) if planned(axis)[0] or axis.same else (-1, 0),
    output=lambda out: np.asfortranarray(np.where(out == 0, -out, out)),
)
