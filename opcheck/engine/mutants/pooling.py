"""Mutants of what lies in windows: of padding, of sums over windows, of pooled tensors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants import windows as of
from opcheck.engine.mutants.arrays import through, whole_vectors
from opcheck.engine.mutants.mutant import Mutant, MutantRow, faulty, reading, refusing
from opcheck.engine.node import Node
from opcheck.engine.operators import FLOATING
from opcheck.engine.windows import AxisWindows, Windows
from opcheck.model import Array

#: Elements of a vector register or a warp, and channels that stand side by side in memory.
WIDTHS = (32, 16, 8, 4)
_BLOCK = 4
#: The most elements that a padded input may have.
_PADDED = 1 << 22
#: Sums over windows in place of the right ones, from the windows and the values.
SumsChange: TypeAlias = Callable[[of.Asked, Any], Any]


@dataclass(frozen=True)
class _Summed(of.Asked):
    """Windows whose elements are added up in another way."""

    change: SumsChange

    def sums(self, values: Any) -> Any:
        """The sums of `values`, wrongly."""
        right = of.Asked(self.outer, self.axes)
        return np.asarray(self.change(right, values)).astype(values.dtype)


def _size(windows: Windows) -> int:
    """The number of elements of a window, padding included."""
    return prod(axis.kernel for axis in windows.axes)


def _boxes(kernel: Sequence[int], count: int) -> Iterator[list[tuple[int, int]]]:
    """The first `count` elements of a window, in boxes: where each begins and ends along axes."""
    inner = prod(kernel[1:])
    whole, rest = divmod(count, inner)
    if whole:
        yield [(0, whole), *((0, length) for length in kernel[1:])]
    if rest:
        yield from ([(whole, whole + 1), *box] for box in _boxes(kernel[1:], rest))


def _kept(count: Callable[[int], int], windows: Windows, values: Any) -> Any:
    """The sums over the first `count(size)` elements of each window, padding included."""
    total: Any = 0
    for box in _boxes([axis.kernel for axis in windows.axes], count(_size(windows))):
        parts = (
            replace(axis, kernel=end - start, begin=axis.begin - start * axis.dilation)
            for axis, (start, end) in zip(windows.axes, box, strict=True)
        )
        total = total + Windows(windows.outer, tuple(parts)).sums(values)
    return total


def _inside(windows: of.Asked) -> Any:
    """Count each window's elements that do not hang over the end of the padding."""
    padded = (
        replace(axis, begin=0, length=axis.length + axis.begin + axis.end
                if axis.hangs else max(1, axis.span))
        for axis in windows.axes
    )  # fmt: skip
    return np.maximum(1, Windows(windows.outer, tuple(padded)).terms)


def _times(part: Callable[[of.Asked], Any]) -> SumsChange:
    """So much of the sum."""
    return lambda windows, values: windows.sums(values) * part(windows)


def _half_before(axis: of.Axis) -> of.Axis:
    """Half of what hangs over the end is put before the input, and cut off behind it."""
    half = max(0, axis.span - axis.width - axis.room) // 2 if axis.hangs else 0
    end = axis.end - half
    length = axis.length + min(0, end)
    return replace(axis, begin=axis.begin + half, length=length, end=max(0, end))


def _nan_where(mask: SumsChange) -> SumsChange:
    return lambda windows, values: np.where(mask(windows, values), np.nan, windows.sums(values))


def _pushed_back(windows: of.Asked, values: Any) -> Any:
    """A window that hangs over the end begins earlier, if not before all padding."""
    for n, axis in enumerate(windows.axes):
        last = max(axis.length + axis.end - axis.width, -axis.begin)
        fitting = max(0, (last + axis.begin) // axis.stride + 1)
        over = max(0, axis.size - fitting) if axis.hangs else 0
        fits = replace(axis, size=axis.size - over)
        ends = replace(axis, size=min(over, 1), begin=-last)
        parts = [_along(values, n, fits), *[_along(values, n, ends)] * over]
        values = np.concatenate(parts, axis=n + 2)
    return values


def _along(values: Any, n: int, axis: AxisWindows) -> Any:
    """The sums over windows along one axis alone."""
    axes = [AxisWindows(length, 1, 1, 1, 0, length) for length in values.shape[2:]]
    axes[n] = axis
    return Windows(values.shape[:2], tuple(axes)).sums(values)


def _zero_beyond(auto_pad: str, windows: of.Asked, values: Any) -> Any:
    """Windows are empty that do not fit into the padding of the undilated kernel."""
    out = windows.sums(values)
    for n, axis in enumerate(windows.axes):
        if axis.auto_pad.startswith(auto_pad):
            padding = replace(axis, dilation=1).padding(axis.size) if axis.same else 0
            np.moveaxis(out, n + 2, 0)[max(0, axis.fitted(padding)) :] = 0
    return out


_WHOLE = "was scaled up to a whole one"
#: What is done to the sums, and before that to the windows.
SUMS: tuple[MutantRow, ...] = (
    ("hanging_windows_rescaled", f"a window that hung over the end {_WHOLE}", "ceil_mode",
     _times(lambda w: _size(w) / _inside(w))),
    ("hanging_windows_moved_and_rescaled",
     "half of what hung over the end was put before the input, and partial windows scaled up",
     "ceil_mode", _times(lambda w: _size(w) / _inside(w)), _half_before),
    ("hanging_windows_pushed_back", "a window that hung over the end was moved back, so as to fit",
     "ceil_mode", _pushed_back),
    ("same_undilated_rest_zero",
     "SAME padded for the kernel without its dilation, and windows that no longer fitted were 0",
     "dilations", partial(_zero_beyond, "SAME"), of.under_same(of.as_the_undilated)),
    ("valid_undilated_rest_zero",
     "VALID counted the windows of the kernel without its dilation, and those beyond were 0",
     "dilations", partial(_zero_beyond, "VALID"),
     of.under_valid(of.as_large_as_undilated)),
    ("padded_windows_rescaled", f"a window that reached into padding {_WHOLE}", "kernel_shape",
     _times(lambda w: _size(w) / np.maximum(w.terms, 1))),
    ("window_mean", "the mean of a window was taken, padding included, not the sum",
     "kernel_shape", _times(lambda w: 1 / _size(w))),
    ("window_mean_without_padding", "the mean of a window was taken, without padding, not the sum",
     "kernel_shape", _times(lambda w: 1 / np.maximum(w.terms, 1))),
    ("empty_windows_are_nan",
     "a window that held nothing but padding was NaN, as the mean of nothing is",
     "pads", _nan_where(lambda w, values: np.broadcast_to(w.terms == 0, w.shape))),
    ("padding_times_infinity", "padding was masked by a product, and infinity times 0 was NaN",
     "pads", _nan_where(lambda w, values: (w.sums(np.isinf(values).astype(np.int64)) > 0) & (
         w.terms < _size(w)))),
    *((f"window_tail_of_{width}",
       f"what remained of a window after its last whole vector of {width} was left out",
       "kernel_shape", partial(_kept, whole_vectors(width))) for width in WIDTHS),
    ("last_element_of_a_window", "the last element of each window was left out",
     "kernel_shape", partial(_kept, lambda size: max(1, size - 1))),
)  # fmt: skip


def _adding_up(change: SumsChange, plan: of.WindowChange = lambda axis: axis) -> of.WindowFault:
    return lambda asked, right: _Summed(
        right.outer, of.planned(right.outer, map(plan, right.axes)).axes, change
    )


FAULTS: tuple[Mutant, ...] = (
    *(replace(faulty(of.NAME, name, text, of.of_windows(_adding_up(*change)), needs=needs),
              primitive="sums") for name, text, needs, *change in SUMS),
    *(faulty("sums", f"window_sums_in_{name}", f"sums over windows were taken in {name}",
             partial(lambda dtype, _, x, add_up, terms: add_up(
                 x.astype(dtype)).astype(x.dtype), dtype))
      for name, dtype in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16))),
    faulty("sums", "window_terms_in_float16",
           "what was added up over windows was rounded to float16 before",
           lambda original, x, add_up, terms: add_up(through(np.float16)(x))),
)  # fmt: skip


def _axes(node: Node) -> Sequence[of.Axis]:
    """The windows that the formula asks for along each axis, if it does."""
    seen: list[of.Axis] = []

    def seeing(asked: of.WindowArguments, right: of.Asked) -> Windows:
        seen[:] = asked.axes
        return right

    evaluate(node, faults={of.NAME: of.of_windows(seeing)})
    return seen


def _padded(how: Callable[[Array], Mapping[str, Any]], node: Node) -> Node:
    """The input is padded before, by `how` NumPy is to do it; the windows stay where they are."""
    x = node.inputs[0]
    if not node.is_legal or x is None or not x.size:
        return node
    axes = _axes(node)
    ends = (max(0, a.span - a.length - a.begin) if a.same else a.end for a in axes)
    widths = [(0, 0), (0, 0), *zip((axis.begin for axis in axes), ends, strict=True)]
    total = prod(n + low + high for n, (low, high) in zip(x.shape, widths, strict=False))
    if not any(map(any, widths)) or total > _PADDED:
        return node
    return node.with_attrs(pads=None, auto_pad=None).with_input(0, np.pad(x, widths, **how(x)))


def _reading_on(node: Node) -> Node:
    """Elements after each row in memory are read instead of the padding at its end."""
    x = node.inputs[0]
    pads: Any = node.attrs.get("pads")
    if not node.is_legal or x is None or not x.size or not pads or not pads[-1]:
        return node
    memory = np.append(x.reshape(-1), np.zeros(pads[-1], x.dtype))
    ends = np.arange(x.shape[-1], x.size + 1, x.shape[-1])
    behind = memory[ends[:, None] + np.arange(pads[-1])].reshape(*x.shape[:-1], pads[-1])
    wider = node.with_input(0, np.concatenate([x, behind], axis=-1))
    return wider.with_attrs(pads=(*pads[:-1], 0))


def _reading_on_if_dilated(node: Node) -> Sequence[Any]:
    """Read on in windows that would end within the row without their dilation."""
    (right, *others), wrong, axes = node.right, _reading_on(node), _axes(node)
    if wrong is node or not axes:
        return node.right
    axis = axes[-1]
    first = np.arange(axis.size) * axis.stride - axis.begin
    inside = (first >= 0) & (first + axis.kernel <= axis.length)
    return [np.where(inside, wrong.right[0], right), *others]


def _tail_of_the_first_batch(node: Node) -> Sequence[Any]:
    out, *others = node.right
    wrong, whole = out.copy(), whole_vectors(_BLOCK)(out.shape[1])
    wrong[1:, whole:] = out[:1, whole:]
    return [wrong, *others]


#: What padding held, and the dtypes that have it if not all.
_PADDINGS: tuple[MutantRow, ...] = (
    ("padding_is_one", "padding held ones", lambda x: {"constant_values": 1}),
    ("padding_is_minus_infinity", "padding held -inf, as for a maximum",
     lambda x: {"constant_values": -np.inf}, *FLOATING),
    ("padding_is_the_lowest_number", "padding held the lowest finite number, as for a maximum",
     lambda x: {"constant_values": np.nextafter(x.dtype.type(-np.inf), x.dtype.type(0))},
     *FLOATING),
    ("padding_repeats_the_edge", "padding repeated the input's edge",
     lambda x: {"mode": "edge"}),
    ("padding_wraps_around", "padding held what is at the other end of the axis",
     lambda x: {"mode": "wrap"}),
)  # fmt: skip

MUTANTS: tuple[Mutant, ...] = (
    *(reading(name, text, read, needs=needs) for name, text, read, needs in (
        ("pads_ignored_beside_notset", "pads were ignored where auto_pad was stated to be NOTSET",
         lambda n: n.with_attrs(pads=None) if "auto_pad" in n.attrs else n, "auto_pad"),
        ("pads_ignored_in_constants",
         "pads were ignored where the input was a constant of the model",
         lambda n: n.with_attrs(pads=None) if n.constant else n, "pads"))),
    *(reading(name, text, partial(_padded, how), needs="kernel_shape", only=only or None)
      for name, text, how, *only in _PADDINGS),
    Mutant("dilated_windows_read_into_the_next_row",
           "under a dilation, what follows in memory was read instead of the padding at a row's "
           "end", _reading_on_if_dilated, needs="dilations"),
    reading("reads_into_the_next_row",
            "instead of the padding at the end of a row what follows in memory was read",
            _reading_on, needs="pads"),
    Mutant("tail_channels_of_the_first_batch",
           f"channels left over by whole blocks of {_BLOCK} were those of the first batch in every",
           _tail_of_the_first_batch, needs="kernel_shape"),
    Mutant("channels_added_up", "the results of all channels were added up", lambda n: [
        np.broadcast_to(out.astype(np.float64).sum(axis=1, keepdims=True), out.shape).astype(
            out.dtype) for out in n.right], needs="kernel_shape"),
    Mutant("rank_2_is_unbatched", "an input of two axes was taken for one without batches",
           lambda n: [n.with_input(0, n.given[0][None]).right[0][0]] if n.rank == 2 else n.right,
           needs="kernel_shape"),
    reading("kernel_defaults_to_the_extent", "kernel_shape, left out, was the whole input",
            lambda n: n.with_attrs(**{"kernel_shape": n.given[0].shape[2:], **n.attrs}),
            needs="kernel_shape"),
    refusing("refuses_one_spatial_axis", "a single spatial axis was not supported",
             lambda node: node.rank == 3, needs="kernel_shape"),
    refusing("refuses_four_spatial_axes", "a fourth spatial axis was not supported",
             lambda node: node.rank > 5, needs="kernel_shape"),
    reading("ceil_mode_stated_is_1", "ceil_mode was taken for 1 wherever it was stated",
            lambda n: n.with_attrs(ceil_mode=1) if n.attrs.get("ceil_mode") == 0 else n,
            needs="ceil_mode", only=("float32",)),
)  # fmt: skip
