"""LpPool in steps, each of which can be taken wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from opcheck.engine.bounds import Floats, Mask, Places
from opcheck.engine.mistakes import Node
from opcheck.engine.ops.lp_pool.axes import GATHERED, Axis, Read, axes_of, planned, taps
from opcheck.engine.windows import AxisWindows
from opcheck.errors import InvalidNode
from opcheck.model import Array


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows on their way to norms.

    `values` has the shape (N·C, windows, elements), and is 0 where an element is not `real`, of
    shape (windows, elements). `inside` says how many of a window's elements lie in the input or in
    its padding: the others hang over the end. `dtype` is the tensor's.
    """

    values: Floats
    real: Mask
    inside: Places
    p: float
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """The elements of a window, padding included."""
        return int(self.values.shape[2])

    @cached_property
    def there(self) -> Places:
        """The elements of each window that are no padding."""
        return np.asarray(self.real.sum(axis=1))

    @cached_property
    def norms(self) -> Floats:
        """(Σ |x|^p)^(1/p) of each, scaled so that no power leaves the range."""
        magnitudes = np.abs(self.values)
        if self.p == 1:
            return np.asarray(magnitudes.sum(axis=2))
        top = magnitudes.max(axis=2)
        usual = np.isfinite(top) & (top > 0)
        # A power of two loses nothing, but its own power may leave the range where p is large.
        scale = np.where(usual, top, 1.0)
        if self.p <= 64:
            scale = np.ldexp(1.0, np.frexp(scale)[1] - 1)
        total = power(magnitudes / scale[..., None], self.p).sum(axis=2)
        return np.where(usual, root(total, self.p) * scale, top)


def power(magnitudes: Floats, p: float) -> Floats:
    """Of each element."""
    return np.asarray(magnitudes * magnitudes if p == 2 else magnitudes**p)


def root(total: Floats, p: float) -> Floats:
    """Of each sum."""
    return np.asarray(np.sqrt(total) if p == 2 else np.cbrt(total) if p == 3 else total ** (1 / p))


def p_of(attrs: Read) -> float:
    """p as a node holds it, where a number that is not whole has 32 bits."""
    return float(np.float32(attrs.get("p", 2)))


def gathered(x: Array, axes: Sequence[Axis], at: Sequence[Places], p: float) -> Windows:
    """The windows whose elements have these positions along each axis."""
    if prod(x.shape[:2]) * prod(positions.size for positions in at) > GATHERED:
        raise MemoryError("windows of too many elements")
    n = len(axes)
    flat, real, inside = (np.zeros((), np.intp), np.ones((), np.bool_), np.ones((), np.intp))
    for i, (axis, positions) in enumerate(zip(axes, at, strict=True)):
        before, after = [1] * i, [1] * (n - 1 - i)
        windows, elements = positions.shape
        # A negative pad cuts elements off.
        held = (positions >= 0) & (positions < axis.length + min(0, axis.end))
        spread = [*before, windows, *after, *before, elements, *after]
        flat = flat * axis.length + np.where(held, positions, 0).reshape(spread)
        real = real & held.reshape(spread)
        within = positions < axis.length + axis.end if axis.hangs else np.ones_like(held)
        inside = inside * within.sum(axis=1).reshape([*before, windows, *after])
    shape = prod(flat.shape[:n]), prod(flat.shape[n:])
    flat, real = flat.reshape(shape), real.reshape(shape)
    images = x.reshape(prod(x.shape[:2]), prod(x.shape[2:])).astype(np.float64)
    values = images[:, flat] if images.shape[1] else np.zeros((len(images), *shape))
    return Windows(np.where(real, values, 0.0), real, inside.reshape(-1), p, x.dtype)


@dataclass(frozen=True)
class Steps:
    """What is done at each step of LpPool; the defaults are right.

    `attrs` reads the attributes, and `p` p among them; `axes` is what they say of each axis. `plan`
    of each axis, `plans` of all and `taps` are which positions lie in a window. `window` may change
    what is in one, `norm` makes a number of it, `narrow` one of the output's dtype, and `output` is
    the last to touch it.
    """

    attrs: Callable[[Read, Node], Read] = lambda attrs, node: attrs
    p: Callable[[Read], float] = p_of
    axes: Callable[[list[Axis]], list[Axis]] = lambda axes: axes
    plan: Callable[[Axis], AxisWindows] = planned
    plans: Callable[[list[AxisWindows]], list[AxisWindows]] = lambda plans: plans
    taps: Callable[[Axis, AxisWindows], Places] = taps
    window: Callable[[Windows], Windows] = lambda window: window
    norm: Callable[[Windows], Any] = lambda window: window.norms
    narrow: Callable[[Any, np.dtype[Any]], Array] = lambda y, dtype: y.astype(dtype)
    output: Callable[[Array], Array] = lambda out: out

    def __call__(self, node: Node) -> tuple[Array, ...]:
        """The output; the engine's where this reading does nothing otherwise.

        So is that of windows with more elements in all than are gathered: it shows nothing.
        Raises InvalidNode for what the specification forbids.
        """
        right = node.right
        try:
            usual = _usual(node)
            with np.errstate(all="ignore"):
                windows, sizes = self._windows(node, usual)
                if windows is usual.windows and self._only_reads:
                    return right
                return (self._finished(node, windows, sizes),)
        except MemoryError:
            return right

    def computed(self, node: Node) -> tuple[Array]:
        """The output by these steps, whatever the specification forbids.

        Raises InvalidNode for a negative size, and for more elements than are gathered.
        """
        try:
            # A warning of NumPy's would be another mistake than the one meant.
            with np.errstate(all="ignore"):
                return (self._finished(node, *self._windows(node)),)
        except MemoryError as error:
            raise InvalidNode(str(error)) from None

    @cached_property
    def _only_reads(self) -> bool:
        """Whether nothing is done otherwise once the windows are there."""
        return (self.norm, self.narrow, self.output) == (_RIGHT.norm, _RIGHT.narrow, _RIGHT.output)

    def _windows(self, node: Node, usual: _Usual | None = None) -> tuple[Windows, list[int]]:
        """What to take the norms of, and the output's size along each axis."""
        (x,) = node.inputs
        attrs = self.attrs(node.attrs, node)
        axes = self.axes(axes_of(attrs, x.shape[2:]))
        plans = self.plans([self.plan(axis) for axis in axes])
        sizes = [plan.size for plan in plans]
        if min(sizes) < 0:
            raise InvalidNode(f"output size {min(sizes)}; allowed: 0 or more")
        p = self.p(attrs)
        at = [self.taps(axis, plan) for axis, plan in zip(axes, plans, strict=True)]
        if usual and usual.reads(axes, at):
            windows = usual.windows if p == usual.windows.p else replace(usual.windows, p=p)
        else:
            windows = gathered(x, axes, at, p)
        return self.window(windows), sizes

    def _finished(self, node: Node, windows: Windows, sizes: list[int]) -> Array:
        (x,) = node.inputs
        out = self.narrow(self.norm(windows), x.dtype)
        return self.output(out.reshape(*x.shape[:2], *sizes))


_RIGHT = Steps()


class _Usual:
    """A node read rightly; most mistakes have its windows in common with that."""

    def __init__(self, node: Node) -> None:
        (self.x,) = node.inputs
        self.p = p_of(node.attrs)
        self.axes = axes_of(node.attrs, self.x.shape[2:])
        self.at = [taps(axis, planned(axis)) for axis in self.axes]

    def reads(self, axes: Sequence[Axis], at: Sequence[Places]) -> bool:
        """Whether these are the same windows."""
        return axes == self.axes and all(map(np.array_equal, at, self.at))

    @cached_property
    def windows(self) -> Windows:
        """Gathered once for all mistakes."""
        return gathered(self.x, self.axes, self.at, self.p)


#: Of the last node, because all mistakes are made on one node before the next.
_usual = lru_cache(maxsize=1)(_Usual)
