"""A kind of numbers that computes as some machine may: every freedom that implementations have.

It rounds every result to its dtype, adds up and multiplies in any order, in blocks or lanes, fused
or not, divides by reciprocals, and has library functions that err as far as they may. What it does
is drawn anew for each function, from all ways or from those that it is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from opcheck.numbers import Faults, lifting, plain
from opcheck.numbers.arithmetic import Number
from opcheck.numbers.bounded.elementwise import real_function
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

    `store` rounds what is kept between operations, `flushes` makes zeros of what is subnormal. It
    adds up in one of `orders`; by the chances `mixes`, `fuses` and `inverts` it takes the terms of
    a sum out of their order, adds a product that was not rounded, and divides by a reciprocal.
    """

    rng: np.random.Generator
    library: float = 8
    store: Callable[[Any], Any] = lambda values: values
    flushes: bool = False
    orders: Sequence[str] = tuple(ORDERS)
    mixes: float = 0.5
    fuses: float = 0.5
    inverts: float = 0.5
    #: The last product, which an addition may take unrounded, by the id of what was rounded.
    products: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def kept(self, values: Any) -> Any:
        """A result as it is kept."""
        values = self.store(np.asarray(values))
        is_wide_float = values.dtype.kind == "f" and values.dtype.itemsize > 2
        return ar.flush(values) if self.flushes and is_wide_float else values

    def signs(self, shape: tuple[int, ...]) -> Any:
        """In which directions functions err: together, or each as it happens."""
        together = self.does(0.5)
        return self.rng.choice([-1.0, 1.0], () if together else shape) * np.ones(shape)

    def does(self, chance: float) -> bool:
        return bool(self.rng.random() < chance)

    def mixed(self, terms: Any) -> Any:
        """The last axis in some order, and how the machine goes on."""
        some = terms[..., self.rng.permutation(terms.shape[-1])]
        return (some if self.does(self.mixes) else terms), str(self.rng.choice([*self.orders]))

    def added(self, terms: Any) -> Any:
        """The sums along the last axis, which is gone."""
        if not terms.size:
            return terms.sum(-1)
        terms, order = self.mixed(terms)
        found = ORDERS[order](terms)[..., 0]
        # What compensates for lost digits makes NaN of an infinite sum.
        return np.where(np.isfinite(found), found, ar.sequential(terms)[..., 0])

    def multiplied(self, factors: Any) -> Any:
        """The products along the last axis, which is gone: one after the other, or by a tree."""
        factors, order = self.mixed(factors)
        one_by_one = order == "sequential" or not factors.size
        return np.prod(factors, -1) if one_by_one else ar.pairwise(factors, np.multiply)[..., 0]

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

        return {name: partial(fault, name) for name in ROUNDING}


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
_ROUNDED = "add subtract multiply divide remainder fmod sqrt astype".split()
_OWN = "sum mean prod matmul tensordot bilinear sums cumulative_sum cumulative_prod inexact".split()
LIBRARY_FUNCTIONS = "exp expm1 log log1p sin cos tan tanh sinh cosh erf pow".split()
LIBRARY_FUNCTIONS += "asin acos atan asinh acosh atanh".split()
#: All functions that round, or err for reasons of an implementation's own.
ROUNDING = (*_ROUNDED, *LIBRARY_FUNCTIONS, *_OWN)


class _Functions:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.own: dict[str, Callable[..., Any]] = {
            "sum": partial(self._reduced, machine.added),
            "mean": partial(
                self._reduced, lambda x: machine.kept(machine.added(x)) / x.dtype.type(x.shape[-1])
            ),
            "prod": partial(self._reduced, machine.multiplied),
            "cumulative_sum": partial(self._scanned, np.add),
            "cumulative_prod": partial(self._scanned, np.multiply),
            "sums": self._summed,
            "inexact": self._strayed,
            "bilinear": self._bilinear,
            "matmul": lambda a, b: self._bilinear(a, b, plain.matmul, a.shape[-1]),
            "tensordot": lambda a, b, axes=2: self._bilinear(
                a, b, partial(np.tensordot, axes=axes), a.size
            ),
        }

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
        if name in _OWN:
            return machine.kept(self.own[name](*operands, **options))
        if name in _ELEMENTWISE:
            operands = [np.asarray(one, dtype) for one in operands]
        if name in LIBRARY_FUNCTIONS:
            x = operands[0]
            # NumPy's functions, but for erf, which it lacks.
            exact = real_function(name)(*(ar.wide(np.asarray(one)) for one in operands))
            found = ar.off(np.abs(exact), x.dtype, machine.library, machine.signs(exact.shape))
            found = np.copysign(found, exact.astype(x.dtype))
            # They know what comes of 0 and of infinities.
            known = ~np.isfinite(exact) | (np.isin(x, (0, np.inf, -np.inf)) & (name != "pow"))
            return machine.kept(np.where(known, exact.astype(x.dtype), found))
        if name == "divide" and machine.does(machine.inverts):
            a, b = operands
            return machine.kept(a * (b.dtype.type(1) / b))
        if name in ("add", "subtract") and any(id(x) in machine.products for x in operands):
            # With a product that was not rounded, as compilers contract sums.
            exact = (machine.products.get(id(x), (x, ar.wide(x)))[1] for x in operands)
            return machine.kept(getattr(np, name)(*exact).astype(dtype))
        found = original(*operands, **options)
        if name not in _ROUNDED:
            return found
        found = machine.kept(found)
        if name == "multiply" and machine.does(machine.fuses):
            machine.products.clear()
            machine.products[id(found)] = found, ar.wide(operands[0]) * ar.wide(operands[1])
        return found

    def _reduced(self, reduce: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        axes = tuple(one % x.ndim for one in axes)
        lined = np.moveaxis(x, axes, range(-len(axes), 0))
        count = x.ndim - len(axes)
        found = reduce(lined.reshape(*lined.shape[:count], math.prod(lined.shape[count:])))
        return np.expand_dims(found, axes) if keepdims else found

    def _strayed(self, x: Any, roundoffs: Any, deviation: Any = None) -> Any:
        """As far off as is allowed; what allows very much is for answers of any kind."""
        most = np.where(np.less(roundoffs, 2**16), roundoffs, 0) * self.machine.library / ar.LIBRARY
        exact = np.broadcast_to(ar.wide(x), np.broadcast_shapes(x.shape, most.shape))
        off = ar.off(exact, x.dtype, np.maximum(most, 2), self.machine.signs(exact.shape))
        return np.where((most > 2) & np.isfinite(exact), off, x)

    def _scanned(self, combine: Any, x: Any, axis: int = 0) -> Any:
        """Running sums or products: one after the other, or by doubling, as many threads do."""
        y, step = np.moveaxis(x, axis, -1).copy(), 1
        if self.machine.rng.choice([*self.machine.orders]) == "sequential":
            return combine.accumulate(x, axis=axis)
        while step < y.shape[-1]:
            y[..., step:] = combine(y[..., step:], y[..., :-step])
            step *= 2
        return np.moveaxis(y, -1, axis)

    @staticmethod
    def _parts(x: Any, terms: Any) -> list[Any]:
        """Arrays that add up to `x`, each with some of its elements; −0 adds nothing at all."""
        count = int(np.clip(2**16 // max(1, x.size), 4, max(1, np.max(terms, initial=0))))
        part = np.arange(x.size).reshape(x.shape) % count
        return [np.where(part == n, x, x.dtype.type(-0.0)) for n in range(count)]

    def _summed(self, x: Any, add_up: Any, terms: Any) -> Any:
        return self.machine.added(np.stack([*map(add_up, self._parts(x, terms))], axis=-1))

    def _bilinear(self, a: Any, b: Any, product: Any, terms: int, more: Any = None) -> Any:
        # 0 times what is no number would be one term more.
        parts = self._parts(a, terms if a.size and np.isfinite(b).all() else 1)
        with lifting(lambda x: x):
            if not self.machine.does(self.machine.fuses):
                found = [product(part, b) for part in parts]
                found += [] if more is None else [np.broadcast_to(more, found[0].shape)]
                return self.machine.added(np.stack(found, axis=-1))
            total: Any = np.zeros((), np.result_type(a, b)) if more is None else more
            for part in parts:
                fused = product(ar.wide(part), ar.wide(b)) + ar.wide(total)
                total = fused.astype(total.dtype)
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
