"""A kind of numbers that computes as some machine may: every freedom that implementations have.

It rounds every result to its dtype, adds up in any order, in blocks or lanes, fused or not, divides
by reciprocals, and has library functions that err as far as they may. What it does is drawn anew
for each formula, or the worst that there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from opcheck.numbers import Faults, plain
from opcheck.numbers.arithmetic import Number
from opcheck.numbers.bounded.elementwise import real
from tests.bounds import arithmetic as ar

ORDERS: dict[str, ar.Sum] = {
    "sequential": ar.sequential,
    "backwards": ar.backwards,
    "pairwise": ar.pairwise,
    "in 4 lanes": ar.lanes(4),
    "in blocks of 3": ar.blocks(3),
    "compensated": ar.kahan,
    "by a matrix product": ar.library,
}


@dataclass(frozen=True)
class Machine:
    """How it computes: `library` is what a function may err in unit roundoffs.

    `store` rounds what is kept between operations, `flushes` makes zeros of what is subnormal.
    """

    rng: np.random.Generator
    library: float = 8
    store: Callable[[Any], Any] = lambda values: values
    flushes: bool = False

    def kept(self, values: Any) -> Any:
        """A result as it is kept."""
        values = self.store(np.asarray(values))
        return ar.flush(values) if self.flushes and values.dtype.itemsize > 2 else values

    def signs(self, shape: tuple[int, ...]) -> Any:
        """In which directions functions err: together, or each as it happens."""
        one = self.rng.choice([-1.0, 1.0])
        return (
            np.full(shape, one) if self.rng.random() < 0.5 else self.rng.choice([-1.0, 1.0], shape)
        )

    def added(self, terms: Any) -> Any:
        """The sums along the last axis, which is gone."""
        if not terms.size:
            return terms.sum(-1)
        order = self.rng.permutation(terms.shape[-1])
        terms = terms[..., order] if self.rng.random() < 0.5 else terms
        found = ORDERS[self.rng.choice([*ORDERS])](terms)[..., 0]
        # What compensates for lost digits makes NaN of an infinite sum.
        return np.where(np.isfinite(found), found, ar.sequential(terms)[..., 0])

    def faults(self) -> Faults:
        """Functions that compute as the machine does, in the place of a formula's own."""
        functions = _Functions(self)

        def fault(name: str, original: Any, *operands: Any, **options: Any) -> Any:
            first = next(
                (x for x in operands if getattr(x, "dtype", np.dtype(int)).kind == "f"), None
            )
            if first is None or isinstance(operands[0], list | tuple):
                return original(*operands, **options)
            return functions.computed(name, operands, first.dtype, options, original)

        return {name: partial(fault, name) for name in (*_ROUNDED, *_LIBRARY, *_SUMS)}


class Sloppy(Number):
    """An array of the numbers of a machine."""

    def __init__(self, v: Any, machine: Machine) -> None:
        self.v, self.machine = np.asarray(v), machine

    def kind(self) -> Any:  # type: ignore[override]
        """The functions, of this array's machine."""
        return _Functions(self.machine)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.v.shape

    @property
    def dtype(self) -> Any:
        return self.v.dtype

    def __getitem__(self, index: Any) -> Sloppy:
        return Sloppy(self.v[index], self.machine)


_ELEMENTWISE = "add subtract multiply divide maximum minimum pow remainder fmod".split()
_ROUNDED = "add subtract multiply divide remainder fmod prod sqrt astype".split()
_SUMS = "sum mean matmul tensordot cumulative_sum cumulative_prod".split()
_LIBRARY = "exp expm1 log log1p sin cos tan tanh sinh cosh asinh atan erf pow asin acos".split()


class _Functions:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @staticmethod
    def values_of(x: Sloppy) -> Any:
        return x.v.astype(np.float64)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def function(*operands: Any, **options: Any) -> Any:
            dtype = _first(operands).dtype
            bare = [_bare(operand) for operand in operands]
            with np.errstate(all="ignore"):
                found = self.computed(name, bare, dtype, options, getattr(plain, name))
            return self._wrapped(found)

        return function

    def computed(
        self, name: str, operands: Sequence[Any], dtype: Any, options: Any, original: Any
    ) -> Any:
        """What the function of this name gives, in place of the original one."""
        machine = self.machine
        if name in _ELEMENTWISE:
            operands = [np.asarray(one, dtype) for one in operands]
        if name in _LIBRARY:
            x = operands[0]
            # NumPy's functions, but for erf, which it lacks.
            exact = real(name)(*(ar.wide(np.asarray(one)) for one in operands))
            found = ar.off(np.abs(exact), x.dtype, machine.library, machine.signs(exact.shape))
            found = np.copysign(found, exact.astype(x.dtype))
            # They know what comes of 0 and of infinities.
            known = ~np.isfinite(exact) | (np.isin(x, (0, np.inf, -np.inf)) & (name != "pow"))
            return machine.kept(np.where(known, exact.astype(x.dtype), found))
        if name == "divide" and machine.rng.random() < 0.5:
            a, b = operands
            return machine.kept(a * (b.dtype.type(1) / b))
        if name in ("sum", "mean"):
            return self._sum(name, *operands, **options)
        if name in ("matmul", "tensordot") and all(x.ndim == 2 and x.size for x in operands[:2]):
            return machine.kept(self._product(*operands))
        if name in ("cumulative_sum", "cumulative_prod"):
            combine = np.add if name == "cumulative_sum" else np.multiply
            return machine.kept(combine.accumulate(operands[0], axis=options.get("axis", 0)))
        found = original(*operands, **options)
        return machine.kept(found) if name in _ROUNDED else found

    def _sum(self, name: str, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        axes = [one % x.ndim for one in axes]
        lined = np.moveaxis(x, axes, range(-len(axes), 0))
        kept = lined.shape[: lined.ndim - len(axes)]
        lined = lined.reshape(*kept, math.prod(lined.shape[lined.ndim - len(axes) :]))
        total = self.machine.kept(self.machine.added(lined))
        if name == "mean":
            total = self.machine.kept(total / x.dtype.type(lined.shape[-1]))
        return np.expand_dims(total, tuple(axes)) if keepdims else total

    def _product(self, a: Any, b: Any, axes: Any = 1) -> Any:
        if self.machine.rng.random() < 0.5:
            return self.machine.added(np.moveaxis(a[..., :, None] * b[..., None, :, :], -2, -1))
        total = np.zeros((), a.dtype)
        for place in range(a.shape[-1]):
            product = ar.wide(a[..., place, None]) * ar.wide(b[..., None, place, :])
            fused = product + ar.wide(total)
            total = fused.astype(a.dtype)
        return total

    def _wrapped(self, found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(map(self._wrapped, found))
        found = np.asarray(found)
        return found if found.dtype.kind in "biu" else Sloppy(found, self.machine)


def _first(operands: Sequence[Any]) -> Sloppy:
    flat = (x for one in operands for x in (one if isinstance(one, list | tuple) else [one]))
    return next(x for x in flat if isinstance(x, Sloppy))


def _bare(x: Any) -> Any:
    if isinstance(x, list | tuple) and any(isinstance(one, Sloppy) for one in x):
        return [_bare(one) for one in x]
    return x.v if isinstance(x, Sloppy) else x
