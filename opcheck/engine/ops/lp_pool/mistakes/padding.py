"""LpPool with pads misread, or with something in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.engine.bounds import Floats
from opcheck.engine.mistakes import Mistake, Node
from opcheck.engine.ops.lp_pool.axes import Read, planned, taps
from opcheck.engine.ops.lp_pool.mistakes.making import as_before, shared, told
from opcheck.engine.ops.lp_pool.steps import Steps, Windows


def _pads(read: Callable[[list[int], int], list[int]]) -> Steps:
    """`pads` is read in another order; the second argument is the number of axes."""

    def reread(attrs: Read, node: Node) -> Read:
        if "pads" not in attrs:
            return attrs
        return {**attrs, "pads": read([*attrs["pads"]], node.inputs[0].ndim - 2)}

    return Steps(attrs=reread)


def _no_pads(when: Callable[[Node], bool]) -> Steps:
    return Steps(
        attrs=lambda attrs, node: (
            {k: v for k, v in attrs.items() if k != "pads"} if when(node) else attrs
        )
    )


def _half_the_kernel(attrs: Read, node: Node) -> Read:
    if attrs.get("auto_pad", "NOTSET") != "NOTSET":
        return attrs
    return {"pads": [k // 2 for k in attrs["kernel_shape"]] * 2, **attrs}


def _filled(content: Callable[[Windows], Any]) -> Steps:
    """Padding holds something else than nothing."""

    def window(w: Windows) -> Windows:
        if w.real.all():
            return w
        return replace(w, values=np.where(w.real, w.values, content(w)))

    return Steps(window=window)


def _lowest(w: Windows) -> float:
    known = dtypes.of(np.empty(0, w.dtype))
    assert known
    return dtypes.limits(known)[0]


def _scaled_up(w: Windows) -> Floats:
    return np.asarray(w.size / np.maximum(w.there, 1))


def _masked(w: Windows) -> Floats:
    """Padding is what is read from elsewhere in the input, times 0."""
    infinite = np.isinf(w.values).any(axis=2)
    return np.where(infinite & ~w.real.all(axis=1), np.nan, w.norms)


_READ: tuple[Mistake, ...] = (
    Mistake(
        "pads_ignored_in_constants",
        "pads were ignored where the input was a constant of the model",
        _no_pads(lambda node: node.constant),
    ),
    Mistake(
        "pads_ignored_beside_notset",
        "pads were ignored where auto_pad said NOTSET in so many letters",
        _no_pads(lambda node: "auto_pad" in node.attrs),
    ),
    Mistake(
        "pads_interleaved",
        "pads were read as x1_begin, x1_end, x2_begin, …",
        _pads(lambda pads, n: [*pads[::2], *pads[1::2]]),
    ),
    Mistake(
        "pads_interleaved_from_the_last_axis",
        "pads were read as xn_begin, xn_end, …, x1_begin, x1_end",
        _pads(lambda pads, n: [*pads[::2][::-1], *pads[1::2][::-1]]),
    ),
    Mistake(
        "pads_from_the_last_axis",
        "pads were read as xn_begin, …, x1_begin, xn_end, …, x1_end",
        _pads(lambda pads, n: [*pads[:n][::-1], *pads[n:][::-1]]),
    ),
    Mistake("pads_reversed", "pads were read backwards", _pads(lambda pads, n: pads[::-1])),
    Mistake(
        "pads_ends_first",
        "the ends were read before the beginnings in pads",
        _pads(lambda pads, n: [*pads[n:], *pads[:n]]),
    ),
    Mistake(
        "pads_beginnings_for_both",
        "the beginnings in pads served as ends too",
        _pads(lambda pads, n: pads[:n] * 2),
    ),
    Mistake(
        "pads_ends_for_both",
        "the ends in pads served as beginnings too",
        _pads(lambda pads, n: pads[n:] * 2),
    ),
    Mistake(
        "pads_ends_ignored",
        "the ends in pads were ignored",
        _pads(lambda pads, n: [*pads[:n], *[0] * n]),
    ),
    Mistake(
        "pads_beginnings_ignored",
        "the beginnings in pads were ignored",
        _pads(lambda pads, n: [*[0] * n, *pads[n:]]),
    ),
    Mistake(
        "second_beginning_for_the_third",
        "a third spatial axis had the padding that begins the second",
        as_before("begin", 2),
    ),
    Mistake(
        "second_end_for_the_third",
        "a third spatial axis had the padding that ends the second",
        Steps(
            axes=lambda axes: [
                *axes[:2],
                *(replace(axis, end=axes[1].end) for axis in axes[2:3]),
                *axes[3:],
            ]
        ),
    ),
    Mistake(
        "pads_in_the_size_only",
        "pads counted for the output's size, but the first window began in the input",
        Steps(plan=lambda axis: replace(planned(axis), begin=0)),
    ),
    Mistake("pads_ignored", "pads were ignored", told(begin=lambda a: 0, end=lambda a: 0)),
    Mistake(
        "pads_default_to_half_the_kernel",
        "pads, left out, were half the kernel",
        Steps(attrs=_half_the_kernel),
    ),
)

_HELD: tuple[Mistake, ...] = (
    Mistake(
        "empty_windows_are_nan",
        "a window that held nothing but padding was NaN, as the mean of nothing is",
        Steps(norm=lambda w: np.where(w.there == 0, np.nan, w.norms)),
    ),
    Mistake(
        "padding_times_infinity",
        "padding was masked by a product, and infinity times 0 was NaN",
        Steps(norm=_masked),
    ),
    Mistake("padding_is_one", "padding held ones", _filled(lambda w: 1)),
    Mistake(
        "padding_is_minus_infinity",
        "padding held -inf, as for a maximum",
        _filled(lambda w: -np.inf),
    ),
    Mistake(
        "padding_is_the_lowest_number",
        "padding held the lowest finite number, as for a maximum",
        _filled(_lowest),
    ),
    Mistake(
        "padding_repeats_the_edge",
        "padding repeated the input's edge",
        Steps(taps=lambda axis, plan: np.clip(taps(axis, plan), 0, max(0, axis.length - 1))),
    ),
    Mistake(
        "padding_wraps_around",
        "padding held what is at the other end of the axis",
        Steps(taps=lambda axis, plan: taps(axis, plan) % max(1, axis.length)),
    ),
    Mistake(
        "padded_windows_rescaled",
        "a window that reached into padding was scaled up to a whole one",
        shared(_scaled_up),
    ),
    Mistake(
        "mean_without_padding",
        "the mean of the powers that are no padding was taken, not their sum",
        shared(lambda w: 1 / np.maximum(w.there, 1)),
    ),
)

MISTAKES: tuple[Mistake, ...] = (*_READ, *_HELD)
