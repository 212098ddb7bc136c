"""LpPool, versions 1, 2, 11, 18 and 22: (Σ |x|^p)^(1/p) over windows; padding adds nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.precise.answer import Precise, Undecided
from opcheck.precise.ops.lp_pool.geometry import Geometry, windows
from opcheck.precise.ops.lp_pool.pooling import pooled
from opcheck.precise.registry import Operator, Version


def _lp_pool_1(
    x: Array,
    *,
    auto_pad: object = "NOTSET",
    kernel_shape: object = None,
    p: object = 2.0,
    pads: object = None,
    strides: object = None,
) -> Precise:
    """p is a FLOAT: the binary32 number nearest to what is written, whole or not."""
    if not isinstance(p, (int, float)):
        raise InvalidNode(f"p {p!r} is no number")
    with np.errstate(over="ignore"):
        single = float(np.float32(p))
    if not (single > 0 and math.isfinite(single)):
        raise InvalidNode(f"there is no norm for a p of {p!r}")
    space = windows(x.shape, Geometry(1, auto_pad, kernel_shape, pads, strides))
    if single < 1:
        raise Undecided(f"the text does not say whether p may be below 1, as {p!r} is")
    return pooled(x, space, Fraction(single))


def _lp_pool_2(since: int) -> Callable[..., Precise]:
    def compute(
        x: Array,
        *,
        auto_pad: object = "NOTSET",
        kernel_shape: object = None,
        p: object = 2,
        pads: object = None,
        strides: object = None,
    ) -> Precise:
        exponent = _integer(p)
        geometry = Geometry(since, auto_pad, kernel_shape, pads, strides)
        return pooled(x, windows(x.shape, geometry), exponent)

    return compute


def _lp_pool_18(since: int) -> Callable[..., Precise]:
    def compute(
        x: Array,
        *,
        auto_pad: object = "NOTSET",
        ceil_mode: object = 0,
        dilations: object = None,
        kernel_shape: object = None,
        p: object = 2,
        pads: object = None,
        strides: object = None,
    ) -> Precise:
        exponent = _integer(p)
        geometry = Geometry(since, auto_pad, kernel_shape, pads, strides, ceil_mode, dilations)
        return pooled(x, windows(x.shape, geometry), exponent)

    return compute


def _integer(p: object) -> Fraction:
    """p as an INT, which it is since version 2."""
    if not isinstance(p, int):
        raise InvalidNode(f"p {p!r} is no integer")
    if p < 1:
        raise InvalidNode(f"there is no norm for a p of {p}")
    return Fraction(p)


_FLOATS = ("float16", "float32", "float64")
OPERATOR = Operator(
    domain="",
    name="LpPool",
    versions={
        1: Version(_FLOATS, _lp_pool_1),
        2: Version(_FLOATS, _lp_pool_2(since=2)),
        11: Version(_FLOATS, _lp_pool_2(since=11)),
        18: Version(_FLOATS, _lp_pool_18(since=18)),
        22: Version((*_FLOATS, "bfloat16"), _lp_pool_18(since=22)),
    },
)
