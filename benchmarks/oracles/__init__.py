"""Oracles of operators, written from ONNX's text apart from opcheck's engine, by family.

Each draws a random node and computes its outputs by plain loops, exact fractions, or PyTorch where
that has the same operator. None imports anything of opcheck.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
Random: TypeAlias = np.random.Generator
ONNX_ML, TRAINING = "ai.onnx.ml", "ai.onnx.preview.training"


@dataclass(frozen=True)
class Sample:
    """A node, and what its outputs are by the oracle.

    `outputs` has None for an output that is not compared. Floats may be off by `atol` plus `rtol`
    times their size, anything else must be equal. `places` are the outputs that the node has, by
    default the first ones.
    """

    opset: int
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    rtol: float = 1e-5
    atol: float = 1e-5
    domain: str = ""
    places: tuple[int, ...] | None = None


#: Draws a node; None where the draw is no node, or its answer lies next to another one.
Draw: TypeAlias = Callable[[Random], Sample | None]
#: What draws nodes of each operator, by its name.
ORACLES: dict[str, Draw] = {}


def oracle(name: str) -> Callable[[Draw], Draw]:
    """Register what draws nodes of an operator."""

    def registered(draw: Draw) -> Draw:
        ORACLES[name] = draw
        return draw

    return registered


def one_of(rng: Random, *choices: Any) -> Any:
    """One of the choices, each equally likely."""
    return choices[int(rng.integers(len(choices)))]


def chance(rng: Random, share: float) -> bool:
    """True in this share of all draws."""
    return bool(rng.random() < share)


def sizes(rng: Random, count: int, least: int = 1, most: int = 4) -> list[int]:
    """So many sizes of axes, from `least` to `most`."""
    return [int(size) for size in rng.integers(least, most + 1, count)]


def shape(rng: Random, ranks: tuple[int, int] = (1, 3), least: int = 1, most: int = 4) -> list[int]:
    """The shape of a tensor whose rank lies within `ranks`."""
    return sizes(rng, int(rng.integers(ranks[0], ranks[1] + 1)), least, most)


def normal(rng: Random, dims: Any, scale: float = 1.0) -> Array:
    """Normal numbers in float32."""
    return np.asarray(scale * rng.standard_normal(dims), np.float32)


def whole(rng: Random, dims: Any, low: int = -9, high: int = 9, dtype: Any = np.float32) -> Array:
    """Whole numbers from `low` to `high`."""
    return np.asarray(rng.integers(low, high + 1, dims)).astype(dtype)


def trimmed(*inputs: Any) -> tuple[Any, ...]:
    """The inputs without those left out at the end."""
    found = [*inputs]
    while found and found[-1] is None:
        found.pop()
    return tuple(found)


def int64(values: Any) -> Array:
    """An array of int64."""
    return np.asarray(values, np.int64)


def wide(x: Array) -> Array:
    """Floats in float64."""
    return np.asarray(x, np.float64)
