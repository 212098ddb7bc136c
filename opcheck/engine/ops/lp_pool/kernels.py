"""The versions of LpPool: their attributes, their defaults, and what of p each allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opcheck.engine.windows import Windows, windows_of
from opcheck.errors import InvalidNode
from opcheck.model import Array


@dataclass(frozen=True)
class Pooling:
    """The p-norm of every window."""

    p: float
    windows: Windows


def lp_pool_1(
    X: Array,
    *,
    kernel_shape: Sequence[int],
    p: float = 2.0,
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
) -> Pooling:
    """LpPool-1: p is a binary32 number and may be fractional.

    The text gives kernel_shape no default, so a node without it is refused. SAME is described as
    "output size match the input", which only stride 1 can mean; beyond, it is ceil(D / stride).
    """
    with np.errstate(over="ignore"):
        held = float(np.float32(p))
    if not 0 < held < math.inf:
        raise InvalidNode(f"p {p}; allowed: numbers that are above 0 in float32")
    windows = windows_of(
        X.shape, kernel_shape=kernel_shape, strides=strides, pads=pads, auto_pad=auto_pad
    )
    return Pooling(held, windows)


def lp_pool_2(
    X: Array,
    *,
    kernel_shape: Sequence[int],
    p: int = 2,
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
) -> Pooling:
    """LpPool-2 and LpPool-11: p is an integer, kernel_shape is mandatory."""
    windows = windows_of(
        X.shape, kernel_shape=kernel_shape, strides=strides, pads=pads, auto_pad=auto_pad
    )
    return Pooling(_whole(p), windows)


def lp_pool_18(
    X: Array,
    *,
    kernel_shape: Sequence[int],
    p: int = 2,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Pooling:
    """LpPool-18 and LpPool-22: dilations and ceil_mode are new."""
    windows = windows_of(
        X.shape,
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    return Pooling(_whole(p), windows)


def _whole(p: int) -> float:
    if p < 1:
        raise InvalidNode(f"p {p}; allowed: integers from 1 on")
    return float(p)
