"""LpPool that takes what is elsewhere in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.mistakes import Mistake, Node
from opcheck.engine.ops.lp_pool.axes import Read, axes_of
from opcheck.engine.ops.lp_pool.mistakes.making import NO_DILATIONS
from opcheck.engine.ops.lp_pool.steps import Steps
from opcheck.model import Array

#: Channels that stand side by side in memory.
_BLOCK = 4


def _with_what_follows(x: Array, count: int) -> Array:
    """Every row with so many elements more: those behind its end in memory."""
    memory = np.append(x.reshape(-1), np.zeros(count, x.dtype))
    ends = np.arange(x.shape[-1], x.size + 1, x.shape[-1])
    behind = memory[ends[:, None] + np.arange(count)]
    return np.concatenate([x, behind.reshape(*x.shape[:-1], count)], axis=-1)


def _reading_on(node: Node) -> Sequence[Any]:
    """The padding at the end of rows is not there."""
    right = node.right
    (x,) = node.inputs
    attrs: Read = node.attrs
    *others, end = attrs.get("pads", (0,))
    if not end or not x.size:
        return right
    wider = (_with_what_follows(x, end),)
    return replace(node, inputs=wider, attrs={**attrs, "pads": (*others, 0)}).right


def _reading_on_if_dilated(node: Node) -> Sequence[Any]:
    """The same in windows that would end within the row without their dilation."""
    (right,), (wrong,) = node.right, _reading_on(node)
    axis = axes_of(node.attrs, node.inputs[0].shape[2:])[-1]
    first = np.arange(right.shape[-1]) * axis.stride - axis.begin
    within = (first >= 0) & (first + axis.kernel <= axis.length)
    return [np.where(within, wrong, right)]


def _tail_of_the_first_batch(out: Array) -> Array:
    channels = out.shape[1]
    tail = channels // _BLOCK * _BLOCK
    if len(out) < 2 or channels < _BLOCK or tail == channels:
        return out
    wrong = out.copy()
    wrong[1:, tail:] = out[0, tail:]
    return wrong


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "dilated_windows_read_into_the_next_row",
        "under a dilation, what follows in memory was read instead of the padding at a row's end",
        _reading_on_if_dilated,
        NO_DILATIONS,
    ),
    Mistake(
        "reads_into_the_next_row",
        "instead of the padding at the end of a row what follows in memory was read",
        _reading_on,
    ),
    Mistake(
        "tail_channels_of_the_first_batch",
        f"channels left over by whole blocks of {_BLOCK} were those of the first batch in every",
        Steps(output=_tail_of_the_first_batch),
    ),
)
