"""LpPool that refuses what is legal, or accepts what is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.mistakes import Answer, Mistake, Node
from opcheck.engine.ops.lp_pool.axes import Axis, Read, planned, towards_zero
from opcheck.engine.ops.lp_pool.mistakes.making import (
    NO_CEIL_MODE,
    NO_DILATIONS,
    NO_FORMULA,
    WHOLE_P,
    Repair,
    accepting,
    sized,
    spatial_axes,
)
from opcheck.engine.ops.lp_pool.steps import Steps
from opcheck.errors import InvalidNode


def _refusing(when: Callable[[Read, int], bool]) -> Answer:
    """Refuses nodes with such attributes, on an input with so many spatial axes."""

    def answer(node: Node) -> Sequence[Any]:
        right = node.right
        if when(node.attrs, spatial_axes(node)):
            raise InvalidNode("not supported")
        return right

    return answer


def _fitted(name: str, filler: int, many: int = 1) -> Answer:
    """A list of the wrong length is cut off or filled up."""

    def repair(attrs: Read, rank: int) -> Read:
        values = [*attrs.get(name, []), *[filler] * (many * rank)]
        return {**attrs, name: values[: many * rank]} if name in attrs else attrs

    return accepting(repair)


def _raised(name: str, least: int) -> Repair:
    """What is too small is taken for the least that is legal."""
    return lambda attrs, rank: (
        {**attrs, name: [max(least, value) for value in attrs[name]]} if name in attrs else attrs
    )


def _half_the_pads(attrs: Read, rank: int) -> Read:
    pads = [*attrs.get("pads", [])]
    return {**attrs, "pads": pads * 2} if len(pads) == rank else attrs


def _small(attrs: Read, rank: int) -> Read:
    """A kernel that fits into any input; what is below 1 stays so."""
    return {**attrs, "kernel_shape": [min(1, size) for size in attrs.get("kernel_shape", ())]}


def _in_any_case(attrs: Read, rank: int) -> Read:
    return {**attrs, "auto_pad": str(attrs.get("auto_pad", "NOTSET")).upper()}


def _without_auto_pad(attrs: Read, rank: int) -> Read:
    return {name: value for name, value in attrs.items() if name != "auto_pad"}


def _whole_extent(node: Node) -> Sequence[Any]:
    if "kernel_shape" in node.attrs:
        return node.right
    return replace(node, attrs={**node.attrs, "kernel_shape": node.inputs[0].shape[2:]}).right


def _unbatched(node: Node) -> Sequence[Any]:
    (x,) = node.inputs
    if x.ndim != 2:
        return node.right
    return [replace(node, inputs=(x[None],)).right[0][0]]


def _same_below_0(node: Node) -> Sequence[Any]:
    """Refuses SAME where a stride is so much larger than the window that no padding is needed."""
    right = node.right
    attrs: Read = node.attrs
    rank = spatial_axes(node)
    per_axis = zip(
        node.inputs[0].shape[2:],
        attrs["kernel_shape"],
        attrs.get("strides", [1] * rank),
        attrs.get("dilations", [1] * rank),
        strict=True,
    )
    below = any((-(-d // s) - 1) * s + (k - 1) * step + 1 < d for d, k, s, step in per_axis)
    if below and str(attrs.get("auto_pad")).startswith("SAME"):
        raise InvalidNode("negative padding")
    return right


def _asymmetric(attrs: Read, rank: int) -> bool:
    pads = attrs.get("pads", ())
    return list(pads[:rank]) != list(pads[rank:])


def _only_padding(attrs: Read, rank: int) -> bool:
    kernel, pads = attrs["kernel_shape"], attrs.get("pads", ())
    return any(pad >= size for pad, size in zip(pads, (*kernel, *kernel), strict=False))


def _cut(axis: Axis) -> int:
    """The size; from less than no room, cut off and not rounded down."""
    if axis.room >= 0:
        return planned(axis).size
    return towards_zero(axis.room, axis.stride) + 1


#: By what is refused, and why that cannot be in some versions.
_REFUSED: tuple[tuple[str, str, Callable[[Read, int], bool], dict[str, str]], ...] = (
    ("four_axes", "a fourth spatial axis", lambda attrs, n: n > 3, {}),
    (
        "ceil_mode_beside_auto_pad",
        "ceil_mode beside auto_pad",
        lambda attrs, n: bool(attrs.get("ceil_mode")) and "auto_pad" in attrs,
        NO_CEIL_MODE,
    ),
    ("pads_of_the_kernel", "a pad as large as the kernel", _only_padding, {}),
    ("asymmetric_pads", "a pad unlike that at the other end", _asymmetric, {}),
    ("ceil_mode", "ceil_mode", lambda attrs, n: bool(attrs.get("ceil_mode")), NO_CEIL_MODE),
    (
        "dilations",
        "a dilation above 1",
        lambda attrs, n: max(attrs.get("dilations", [1])) > 1,
        NO_DILATIONS,
    ),
    (
        "fractional_p",
        "a p that is no whole number",
        lambda attrs, n: attrs.get("p", 2) % 1 != 0,
        WHOLE_P,
    ),
    ("other_p", "any p but 1 and 2", lambda attrs, n: attrs.get("p", 2) not in (1, 2), {}),
    ("auto_pad", "auto_pad", lambda attrs, n: "auto_pad" in attrs, {}),
    (
        "kernels_of_1",
        "a kernel of a single element along an axis",
        lambda attrs, n: 1 in attrs["kernel_shape"],
        {},
    ),
    ("default_p", "a node without p", lambda attrs, n: "p" not in attrs, {}),
    ("default_strides", "a node without strides", lambda attrs, n: "strides" not in attrs, {}),
    ("default_pads", "a node without pads", lambda attrs, n: "pads" not in attrs, {}),
    ("vectors", "a single spatial axis", lambda attrs, n: n == 1, {}),
)

_STRICT: tuple[Mistake, ...] = tuple(
    Mistake(f"refuses_{name}", f"{what} was not supported", _refusing(when), harmless)
    for name, what, when, harmless in _REFUSED
)

_SAME = Mistake(
    "refuses_negative_same_padding",
    "SAME was not supported where its padding came out negative, and had to be 0 instead",
    _same_below_0,
    dict.fromkeys(("1", "2"), "what SAME means for strides above 1 is open before version 11"),
)

_LENIENT: tuple[Mistake, ...] = (
    Mistake(
        "kernel_defaults_to_the_extent",
        "kernel_shape, left out, was the whole input",
        _whole_extent,
        {"1": "the text does not say what is meant by leaving it out; cases leave it open"},
    ),
    *(
        Mistake(
            f"{name}_of_any_length",
            f"what {name} had too much was cut off, and what it lacked filled up",
            _fitted(name, filler, many),
            harmless,
        )
        for name, filler, many, harmless in (
            ("kernel_shape", 1, 1, {}),
            ("strides", 1, 1, {}),
            ("dilations", 1, 1, NO_DILATIONS),
            ("pads", 0, 2, {}),
        )
    ),
    Mistake(
        "half_the_pads_for_both_ends",
        "one pad for each axis was accepted, and served both ends",
        accepting(_half_the_pads),
    ),
    *(
        Mistake(
            f"{name}_clamped",
            f"{what} below {least} was taken as {least}",
            accepting(_raised(name, least)),
            harmless,
        )
        for name, what, least, harmless in (
            ("kernel_shape", "a kernel size", 1, {}),
            ("strides", "a stride", 1, {}),
            ("dilations", "a dilation", 1, NO_DILATIONS),
            ("pads", "a pad", 0, {}),
        )
    ),
    Mistake(
        "negative_pads_cut",
        "a negative pad cut elements off",
        accepting(_raised("pads", 0), Steps()),
    ),
    Mistake(
        "nothing_below_dilation_1",
        "a dilation below 1 was accepted, and windows were empty",
        accepting(_raised("dilations", 1), Steps(norm=lambda w: np.zeros_like(w.values[:, :, 0]))),
        NO_DILATIONS,
    ),
    Mistake(
        "auto_pad_in_any_case",
        "auto_pad was read in lower case too",
        accepting(_in_any_case),
    ),
    Mistake(
        "unknown_auto_pad_is_notset",
        "an auto_pad that does not exist was taken for NOTSET",
        accepting(_without_auto_pad),
    ),
    Mistake(
        "size_cut_towards_zero",
        "a negative output size was cut towards zero, not rounded down",
        accepting(_small, sized(lambda axis: not axis.same, _cut)),
        NO_FORMULA,
    ),
    Mistake(
        "negative_size_is_empty",
        "an output size below 0 gave an empty output",
        accepting(_small, sized(lambda axis: True, lambda axis: max(0, planned(axis).size))),
        NO_FORMULA,
    ),
    Mistake(
        "rank_2_is_unbatched",
        "an input of two axes was taken for one without batches",
        _unbatched,
    ),
)

MISTAKES: tuple[Mistake, ...] = (*_STRICT, _SAME, *_LENIENT)
