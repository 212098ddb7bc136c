"""Mutants of pooling beside its windows: padding, channels, ranks, and attributes left out."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.axes import AxisWindows, Windows
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.elements import whole_vectors
from opcheck.engine.mutants.mutant import Mutant, MutantRow, reading, refusing
from opcheck.engine.mutants.windows import NAME, WindowArguments, of_windows
from opcheck.engine.node import Node
from opcheck.engine.operators import FLOATING
from opcheck.model import Array

#: Channels that stand side by side in memory.
_BLOCK = 4
#: The most elements that a padded input may have.
_PADDED = 1 << 22
#: Keywords of `numpy.pad`, for an input.
PaddingRule: TypeAlias = Callable[[Array], Mapping[str, Any]]


# ── what padding holds ────────────────────────────────────────────────────────────────────────


def padded(rule: PaddingRule, node: Node) -> Node:
    """Mutant: the input is padded before by `rule`; the windows stay where they are."""
    x = node.inputs[0]
    if not node.is_legal or x is None or not x.size:
        return node
    widths = [(0, 0), (0, 0)]
    for axis in axes_of(node):
        end = max(0, axis.span - axis.length - axis.begin) if axis.same else axis.end
        widths.append((axis.begin, end))
    total = prod(n + low + high for n, (low, high) in zip(x.shape, widths, strict=False))
    if not any(map(any, widths)) or total > _PADDED:
        return node
    return node.with_attrs(pads=None, auto_pad=None).with_input(0, np.pad(x, widths, **rule(x)))


def axes_of(node: Node) -> Sequence[AxisWindows]:
    """Return the windows that the formula asks for along each axis, none if it asks for none.

    Raises what the formula raises: InvalidNode, NotSupported, MemoryError.
    """
    seen: list[AxisWindows] = []

    def seeing(asked: WindowArguments, right: Windows) -> Windows:
        seen[:] = asked.axes
        return right

    evaluate(node, faults={NAME: partial(of_windows, seeing)})
    return seen


def constant(value: float, x: Array) -> Mapping[str, Any]:
    """Mutant: padding holds a number."""
    return {"constant_values": value}


def lowest_number(x: Array) -> Mapping[str, Any]:
    """Mutant: padding holds the lowest finite number."""
    return {"constant_values": np.nextafter(x.dtype.type(-np.inf), x.dtype.type(0))}


def of_mode(mode: str, x: Array) -> Mapping[str, Any]:
    """Mutant: padding holds elements of the input."""
    return {"mode": mode}


def reading_on(node: Node) -> Node:
    """Mutant: the padding at the end of a row holds what follows in memory."""
    x = node.inputs[0]
    pads: Any = node.attrs.get("pads")
    if not node.is_legal or x is None or not x.size or not pads or not 0 < pads[-1] <= _PADDED:
        return node
    memory = np.append(x.reshape(-1), np.zeros(pads[-1], x.dtype))
    ends = np.arange(x.shape[-1], x.size + 1, x.shape[-1])
    behind = memory[ends[:, None] + np.arange(pads[-1])].reshape(*x.shape[:-1], pads[-1])
    return node.with_input(0, np.concatenate([x, behind], axis=-1)).with_attrs(pads=(*pads[:-1], 0))


def reading_on_if_dilated(node: Node) -> Sequence[Array]:
    """Mutant: the same, in windows that would end within the row without their dilation."""
    right, *others = node.right
    wrong = reading_on(node)
    axes = axes_of(node)
    if wrong is node or not axes:
        return node.right
    axis = axes[-1]
    # Without the padding, `ceil_mode` may leave out a last window.
    windows = min(right.shape[-1], wrong.right[0].shape[-1])
    first = np.arange(windows) * axis.stride - axis.begin
    is_inside = (first >= 0) & (first + axis.kernel <= axis.length)
    out = right.copy()
    out[..., :windows] = np.where(is_inside, wrong.right[0][..., :windows], right[..., :windows])
    return [out, *others]


def without_pads_beside_notset(node: Node) -> Node:
    """Mutant: pads are ignored where auto_pad is stated."""
    return node.with_attrs(pads=None) if "auto_pad" in node.attrs else node


def without_pads_of_constants(node: Node) -> Node:
    """Mutant: pads are ignored where the input is an initializer."""
    return node.with_attrs(pads=None) if node.constant else node


# ── channels ──────────────────────────────────────────────────────────────────────────────────


def tail_of_the_first_batch(node: Node) -> Sequence[Array]:
    """Mutant: channels that whole blocks leave over are those of the first batch."""
    out, *others = node.right
    wrong = out.copy()
    whole = whole_vectors(_BLOCK, out.shape[1])
    wrong[1:, whole:] = out[:1, whole:]
    return [wrong, *others]


def channels_added_up(node: Node) -> Sequence[Array]:
    """Mutant: each channel has the sum of all."""
    outputs = []
    for out in node.right:
        total = out.astype(np.float64).sum(axis=1, keepdims=True)
        outputs.append(np.broadcast_to(total, out.shape).astype(out.dtype))
    return outputs


# ── ranks and attributes ──────────────────────────────────────────────────────────────────────


def unbatched(node: Node) -> Sequence[Array]:
    """Mutant: an input of two axes has no batches."""
    if node.rank != 2:
        return node.right
    return [node.with_input(0, node.given[0][None]).right[0][0]]


def kernel_of_the_extent(node: Node) -> Node:
    """Mutant: a missing kernel_shape is the input's spatial shape."""
    return node.with_attrs(**{"kernel_shape": node.given[0].shape[2:], **node.attrs})


def ceil_mode_of_1(node: Node) -> Node:
    """Mutant: a stated ceil_mode is 1."""
    return node.with_attrs(ceil_mode=1) if node.attrs.get("ceil_mode") == 0 else node


def has_one_spatial_axis(node: Node) -> bool:
    """Return True for an input N×C×D."""
    return node.rank == 3


def has_four_spatial_axes(node: Node) -> bool:
    """Return True for an input N×C×D1×D2×D3×D4, or of more axes."""
    return node.rank > 5


#: What padding held, and the dtypes that have it if not all.
_PADDINGS: tuple[MutantRow, ...] = (
    ("padding_is_one", "padding held ones", partial(constant, 1)),
    (
        "padding_is_minus_infinity",
        "padding held -inf, as for a maximum",
        partial(constant, -np.inf),
        *FLOATING,
    ),
    (
        "padding_is_the_lowest_number",
        "padding held the lowest finite number, as for a maximum",
        lowest_number,
        *FLOATING,
    ),
    ("padding_repeats_the_edge", "padding repeated the input's edge", partial(of_mode, "edge")),
    (
        "padding_wraps_around",
        "padding held what is at the other end of the axis",
        partial(of_mode, "wrap"),
    ),
)

MUTANTS: tuple[Mutant, ...] = (
    *(
        reading(name, text, read, needs=needs)
        for name, text, read, needs in (
            (
                "pads_ignored_beside_notset",
                "pads were ignored where auto_pad was stated to be NOTSET",
                without_pads_beside_notset,
                "auto_pad",
            ),
            (
                "pads_ignored_in_constants",
                "pads were ignored where the input was a constant of the model",
                without_pads_of_constants,
                "pads",
            ),
        )
    ),
    *(
        reading(name, text, partial(padded, rule), needs="kernel_shape", only=only or None)
        for name, text, rule, *only in _PADDINGS
    ),
    Mutant(
        "dilated_windows_read_into_the_next_row",
        "under a dilation, what follows in memory was read instead of the padding at a row's end",
        reading_on_if_dilated,
        needs="dilations",
    ),
    reading(
        "reads_into_the_next_row",
        "instead of the padding at the end of a row what follows in memory was read",
        reading_on,
        needs="pads",
    ),
    Mutant(
        "tail_channels_of_the_first_batch",
        f"channels left over by whole blocks of {_BLOCK} were those of the first batch in every",
        tail_of_the_first_batch,
        needs="kernel_shape",
    ),
    Mutant(
        "channels_added_up",
        "the results of all channels were added up",
        channels_added_up,
        needs="kernel_shape",
    ),
    Mutant(
        "rank_2_is_unbatched",
        "an input of two axes was taken for one without batches",
        unbatched,
        needs="kernel_shape",
    ),
    reading(
        "kernel_defaults_to_the_extent",
        "kernel_shape, left out, was the whole input",
        kernel_of_the_extent,
        needs="kernel_shape",
    ),
    refusing(
        "refuses_one_spatial_axis",
        "a single spatial axis was not supported",
        has_one_spatial_axis,
        needs="kernel_shape",
    ),
    refusing(
        "refuses_four_spatial_axes",
        "a fourth spatial axis was not supported",
        has_four_spatial_axes,
        needs="kernel_shape",
    ),
    reading(
        "ceil_mode_stated_is_1",
        "ceil_mode was taken for 1 wherever it was stated",
        ceil_mode_of_1,
        needs="ceil_mode",
        only=("float32",),
    ),
)
