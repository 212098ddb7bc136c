"""Mutants of what lies in windows: of padding, of sums over windows, of pooled tensors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.mutant import (
    Mutant,
    MutantRow,
    faulty,
    refusing,
    through,
    whole_vectors,
)
from opcheck.engine.mutants.windows import (
    NAME,
    Axis,
    WindowArguments,
    WindowChange,
    as_the_undilated,
    fitted,
    planned_windows,
    right_or,
    sized,
    under_same,
    undilated,
)
from opcheck.engine.node import Node
from opcheck.engine.windows import AxisWindows, Windows
from opcheck.model import Array
from opcheck.numbers import FaultFunction

#: Elements of a vector register or a warp, and channels that stand side by side in memory.
WIDTHS = (32, 16, 8, 4)
_BLOCK = 4
#: The most elements that a padded input may have.
_PADDED = 1 << 22

#: Sums over windows in place of the right ones, from what is asked for, the windows, the values.
SumsChange: TypeAlias = Callable[[WindowArguments, Windows, Any], Any]


@dataclass(frozen=True)
class _Summed(Windows):
    """Windows whose elements are added up in another way."""

    change: Callable[[Windows, Any], Any] = Windows.sums

    def sums(self, values: Any) -> Any:
        """The sums of `values`, wrongly."""
        right = Windows(self.outer, self.axes)
        return np.asarray(self.change(right, values)).astype(values.dtype)


def _adding_up(change: SumsChange, plan: WindowChange = lambda axis, right: right) -> FaultFunction:
    def fault(_: Any, asked: WindowArguments, right: Windows) -> Windows:
        planned = planned_windows(asked, right, plan)
        return _Summed(planned.outer, planned.axes, partial(change, asked))

    return right_or(fault)


def _boxes(kernel: Sequence[int], count: int) -> Iterator[list[tuple[int, int]]]:
    """The first `count` elements of a window, in boxes: where each begins and ends along axes."""
    inner = prod(kernel[1:])
    whole, rest = divmod(count, inner)
    if whole:
        yield [(0, whole), *((0, length) for length in kernel[1:])]
    if rest:
        yield from ([(whole, whole + 1), *box] for box in _boxes(kernel[1:], rest))


def _kept(
    count: Callable[[int], int], asked: WindowArguments, windows: Windows, values: Any
) -> Any:
    """The sums over the first `count(size)` elements of each window, padding included."""
    total: Any = 0
    for box in _boxes([axis.kernel for axis in windows.axes], count(asked.size)):
        parts = (
            replace(axis, kernel=end - start, begin=axis.begin - start * axis.dilation)
            for axis, (start, end) in zip(windows.axes, box, strict=True)
        )
        total = total + Windows(windows.outer, tuple(parts)).sums(values)
    return total


def _inside(asked: WindowArguments, windows: Windows) -> Any:
    """Count each window's elements that do not hang over the end of the padding."""

    def padded(axis: Axis, own: AxisWindows) -> AxisWindows:
        length = axis.length + axis.begin + axis.end
        whole = (own.size - 1) * own.stride + axis.width
        return replace(own, begin=0, length=length if axis.hangs else max(1, whole))

    axes = tuple(map(padded, asked.axes, windows.axes))
    return np.maximum(1, Windows(windows.outer, axes).terms)


def _times(part: Callable[[WindowArguments, Windows], Any]) -> SumsChange:
    """So much of the sum."""
    return lambda asked, windows, values: windows.sums(values) * part(asked, windows)


def _half_before(axis: Axis, right: AxisWindows) -> AxisWindows:
    """Half of what hangs over the end is put before the input, and cut off behind it."""
    over = (right.size - 1) * right.stride - axis.room if axis.hangs else 0
    half = max(0, over) // 2
    length = axis.length + min(0, axis.end - half)
    return replace(right, begin=right.begin + half, length=length)


def _where(mask: Callable[[Windows, Any], Any]) -> SumsChange:
    """NaN where `mask` is True."""
    return lambda asked, windows, values: np.where(
        mask(windows, values), np.nan, windows.sums(values)
    )


def _pushed_back(asked: WindowArguments, windows: Windows, values: Any) -> Any:
    """A window that hangs over the end begins earlier, if not before all padding."""
    for n, (axis, own) in enumerate(zip(asked.axes, windows.axes, strict=True)):
        last = max(axis.length + axis.end - axis.width, -axis.begin)
        fitting = max(0, (last + own.begin) // own.stride + 1)
        over = max(0, own.size - fitting) if axis.hangs else 0
        fits = replace(own, size=own.size - over)
        ends = replace(own, size=min(over, 1), begin=-last)
        parts = [_along(values, n, fits), *[_along(values, n, ends)] * over]
        values = np.concatenate(parts, axis=n + 2)
    return values


def _along(values: Any, n: int, axis: AxisWindows) -> Any:
    """The sums over windows along one axis alone."""
    axes = [AxisWindows(length, 1, 1, 1, 0, length) for length in values.shape[2:]]
    axes[n] = axis
    return Windows(values.shape[:2], tuple(axes)).sums(values)


def _zero_beyond(auto_pad: str, asked: WindowArguments, windows: Windows, values: Any) -> Any:
    """Windows are empty that do not fit into the padding of the undilated kernel."""
    out = windows.sums(values)
    for n, (axis, own) in enumerate(zip(asked.axes, windows.axes, strict=True)):
        if axis.auto_pad.startswith(auto_pad):
            padding = undilated(axis).padding(own.size) if axis.same else 0
            np.moveaxis(out, n + 2, 0)[max(0, fitted(axis, padding)) :] = 0
    return out


_WHOLE = "was scaled up to a whole one"


#: What is done to the sums, and before that to the windows.
SUMS: tuple[MutantRow, ...] = (
    ("hanging_windows_rescaled", f"a window that hung over the end {_WHOLE}", "ceil_mode",
     _times(lambda a, w: a.size / _inside(a, w))),
    ("hanging_windows_moved_and_rescaled",
     "half of what hung over the end was put before the input, and partial windows scaled up",
     "ceil_mode", _times(lambda a, w: a.size / _inside(a, w)), _half_before),
    ("hanging_windows_pushed_back", "a window that hung over the end was moved back, so as to fit",
     "ceil_mode", _pushed_back),
    ("same_undilated_rest_zero",
     "SAME padded for the kernel without its dilation, and windows that no longer fitted were 0",
     "dilations", partial(_zero_beyond, "SAME"), under_same(as_the_undilated)),
    ("valid_undilated_rest_zero",
     "VALID counted the windows of the kernel without its dilation, and those beyond were 0",
     "dilations", partial(_zero_beyond, "VALID"),
     sized(lambda a: a.auto_pad == "VALID", lambda a: undilated(a).planned().size)),
    ("padded_windows_rescaled", f"a window that reached into padding {_WHOLE}", "kernel_shape",
     _times(lambda a, w: a.size / np.maximum(w.terms, 1))),
    ("window_mean", "the mean of a window was taken, padding included, not the sum",
     "kernel_shape", _times(lambda a, w: 1 / a.size)),
    ("window_mean_without_padding", "the mean of a window was taken, without padding, not the sum",
     "kernel_shape", _times(lambda a, w: 1 / np.maximum(w.terms, 1))),
    ("empty_windows_are_nan",
     "a window that held nothing but padding was NaN, as the mean of nothing is",
     "pads", _where(lambda w, values: np.broadcast_to(w.terms == 0, w.shape))),
    ("padding_times_infinity", "padding was masked by a product, and infinity times 0 was NaN",
     "pads", _where(lambda w, values: (w.sums(np.isinf(values).astype(np.int64)) > 0) & (
         w.terms < prod(axis.kernel for axis in w.axes)))),
    *((f"window_tail_of_{width}",
       f"what remained of a window after its last whole vector of {width} was left out",
       "kernel_shape", partial(_kept, partial(whole_vectors, width))) for width in WIDTHS),
    ("last_element_of_a_window", "the last element of each window was left out",
     "kernel_shape", partial(_kept, lambda size: max(1, size - 1))),
)  # fmt: skip

FAULTS: tuple[Mutant, ...] = (
    *(replace(faulty(NAME, name, text, _adding_up(*change), needs=needs), primitive="sums")
      for name, text, needs, *change in SUMS),
    *(faulty("sums", f"window_sums_in_{name}", f"sums over windows were taken in {name}",
             partial(lambda dtype, _, x, add_up, terms: add_up(
                 x.astype(dtype)).astype(x.dtype), dtype))
      for name, dtype in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16))),
    faulty("sums", "window_terms_in_float16",
           "what was added up over windows was rounded to float16 before",
           lambda original, x, add_up, terms: add_up(through(np.float16)(x))),
)  # fmt: skip


def _windows(node: Node) -> tuple[WindowArguments, Windows] | None:
    """Window arguments of the formula, and the windows that it gets; None without any."""
    seen: list[tuple[WindowArguments, Windows]] = []

    def faulty(original: Any, *asked: Any) -> Windows:
        right = WindowArguments(*asked).windows(original)
        seen.append((WindowArguments(*asked), right))
        return right

    evaluate(node, faults={NAME: faulty})
    return seen[0] if seen else None


def _padded(pad: Callable[[Array, Sequence[Any]], Array], node: Node) -> Sequence[Any]:
    """The input is padded so before, with what it is padded by; the windows stay where they are."""
    right, found, x = node.right, _windows(node), node.inputs[0]
    if found is None or x is None or not x.size:
        return right
    widths = [(0, 0), (0, 0)]
    for axis, own in zip(found[0].axes, found[1].axes, strict=True):
        end = (own.size - 1) * own.stride + axis.width - axis.length - own.begin
        widths.append((own.begin, max(0, end) if axis.same else axis.end))
    total = prod(n + low + high for n, (low, high) in zip(x.shape, widths, strict=True))
    if not any(map(any, widths)) or total > _PADDED:
        return right
    return node.with_attrs(pads=None, auto_pad=None).with_input(0, pad(x, widths)).right


def _filled(value: Callable[[np.dtype[Any]], Any]) -> Callable[[Node], Sequence[Any]]:
    return partial(_padded, lambda x, widths: np.pad(
        x, widths, constant_values=x.dtype.type(value(x.dtype))))  # fmt: skip


def _with_what_follows(x: Array, count: int) -> Array:
    """Every row with so many elements more: those behind its end in memory."""
    memory = np.append(x.reshape(-1), np.zeros(count, x.dtype))
    ends = np.arange(x.shape[-1], x.size + 1, x.shape[-1])
    behind = memory[ends[:, None] + np.arange(count)]
    return np.concatenate([x, behind.reshape(*x.shape[:-1], count)], axis=-1)


def _reading_on(node: Node) -> Sequence[Any]:
    """The padding at the end of rows is not there."""
    right, x, pads = node.right, node.inputs[0], node.attrs.get("pads")
    if x is None or not isinstance(pads, tuple) or not pads[-1] or not x.size:
        return right
    wider = node.with_input(0, _with_what_follows(x, int(pads[-1])))
    return wider.with_attrs(pads=(*pads[:-1], 0)).right


def _reading_on_if_dilated(node: Node) -> Sequence[Any]:
    """Read on in windows that would end within the row without their dilation."""
    (right,), (wrong,), found = node.right, _reading_on(node), _windows(node)
    if found is None or wrong is right:
        return (right,)
    axis = found[0].axes[-1]
    first = np.arange(right.shape[-1]) * axis.stride - axis.begin
    return [np.where((first >= 0) & (first + axis.kernel <= axis.length), wrong, right)]


def _without(name: str, when: Callable[[Node], bool]) -> Callable[[Node], Any]:
    return lambda node: (node.with_attrs(**{name: None}) if when(node) else node).right


def _tail_of_the_first_batch(node: Node) -> Sequence[Any]:
    (out,) = node.right
    tail = out.shape[1] // _BLOCK * _BLOCK
    if len(out) < 2 or tail in (0, out.shape[1]):
        return (out,)
    wrong = out.copy()
    wrong[1:, tail:] = out[0, tail:]
    return (wrong,)


def _channels_added_up(node: Node) -> Sequence[Any]:
    (out,) = node.right
    total = out.astype(np.float64).sum(axis=1, keepdims=True)
    return [np.broadcast_to(total, out.shape).astype(out.dtype)]


MUTANTS: tuple[Mutant, ...] = (
    *(Mutant(name, text, answer, needs=needs) for name, text, answer, needs in (
        ("pads_ignored_beside_notset", "pads were ignored where auto_pad was stated to be NOTSET",
         _without("pads", lambda node: "auto_pad" in node.attrs), "auto_pad"),
        ("pads_ignored_in_constants",
         "pads were ignored where the input was a constant of the model",
         _without("pads", lambda node: node.constant), "pads"),
        ("padding_is_one", "padding held ones", _filled(lambda dtype: 1), "pads"),
        ("padding_is_minus_infinity", "padding held -inf, as for a maximum",
         _filled(lambda dtype: -np.inf), "pads"),
        ("padding_is_the_lowest_number", "padding held the lowest finite number, as for a maximum",
         _filled(lambda dtype: np.nextafter(dtype.type(-np.inf), dtype.type(0))), "pads"),
        ("padding_repeats_the_edge", "padding repeated the input's edge",
         partial(_padded, lambda x, widths: np.pad(x, widths, "edge")), "pads"),
        ("padding_wraps_around", "padding held what is at the other end of the axis",
         partial(_padded, lambda x, widths: np.pad(x, widths, "wrap")), "pads"),
        ("dilated_windows_read_into_the_next_row",
         "under a dilation, what follows in memory was read instead of the padding at a row's end",
         _reading_on_if_dilated, "dilations"),
        ("reads_into_the_next_row",
         "instead of the padding at the end of a row what follows in memory was read",
         _reading_on, "pads"),
        ("tail_channels_of_the_first_batch",
         f"channels left over by whole blocks of {_BLOCK} were those of the first batch in every",
         _tail_of_the_first_batch, "kernel_shape"),
        ("channels_added_up", "the results of all channels were added up",
         _channels_added_up, "kernel_shape"),
        ("rank_2_is_unbatched", "an input of two axes was taken for one without batches",
         lambda n: [n.with_input(0, n.given[0][None]).right[0][0]] if n.rank == 2 else n.right,
         "kernel_shape"),
        ("kernel_defaults_to_the_extent", "kernel_shape, left out, was the whole input",
         lambda n: n.with_attrs(
             kernel_shape=n.attrs.get("kernel_shape", n.given[0].shape[2:])).right,
         "kernel_shape"))),
    refusing("refuses_one_spatial_axis", "a single spatial axis was not supported",
             lambda node: node.rank == 3, needs="kernel_shape"),
    refusing("refuses_four_spatial_axes", "a fourth spatial axis was not supported",
             lambda node: node.rank > 5, needs="kernel_shape"),
    Mutant("ceil_mode_stated_is_1", "ceil_mode was taken for 1 wherever it was stated",
           lambda n: (n.with_attrs(ceil_mode=1) if n.attrs.get("ceil_mode") == 0 else n).right,
           needs="ceil_mode", only=("float32",)),
)  # fmt: skip
