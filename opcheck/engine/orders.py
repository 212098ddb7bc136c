"""A node's plain answer in other honest ways: sums in sequence, functions off by what they may be.

The errors of independent roundings grow as the root of their number. Those of sums of equal terms
may grow as the number itself. These answers show on given data how far an honest one may be off.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from opcheck.dtypes import DType
from opcheck.engine.evaluate import evaluate
from opcheck.errors import decline
from opcheck.model import Array
from opcheck.numbers.arithmetic import LIBRARY, PLAIN
from opcheck.numbers.plain import axes_of

if TYPE_CHECKING:
    from opcheck.engine.node import Node

#: A function of formulas, its operands and options, and what it gives.
Fault: TypeAlias = Callable[..., Any]
#: The most products or terms that are added up one by one.
MOST_TERMS = 1 << 28
#: The most parts into which sums of windows are divided, each of which takes a whole evaluation.
_PARTS = 64
#: Functions whose errors have a sign of their own, which equal operands share.
_FUNCTIONS = (
    "acos acosh asin asinh atan atanh cos cosh erf exp expm1 log log1p pow sin sinh tan tanh"
).split()


def other_orders(node: "Node") -> Iterator[tuple[Array, ...]]:
    """Yield the outputs of a node in honest ways of computing them in the tensors' own types.

    They are the plain one, sums in sequence from the first and from the last term, and functions of
    the library off to either side. Raises, at the next item, InvalidNode for a node that is
    forbidden, NotSupported for one that is not implemented and for sums of more than MOST_TERMS.
    """
    yield node.plain
    for backwards in (False, True):
        yield evaluate(node, faults=in_sequence(backwards))
    for sign in (-1, 1):
        faults = {name: partial(_off, sign, name) for name in _FUNCTIONS}
        yield evaluate(node, faults=faults)


def running_sums(node: "Node", dtype: DType) -> Iterator[tuple[Array, ...]]:
    """Yield the outputs of a node with each partial sum rounded to a narrower type.

    Sums go from the first term, and from the last. Those of terms of one sign stop growing where
    half a step of the type is larger than a term. Raises, at the next item, what `other_orders`
    raises.
    """
    for backwards in (False, True):
        yield evaluate(node, faults=in_sequence(backwards, dtype))


def in_sequence(backwards: bool = False, dtype: DType | None = None) -> dict[str, Fault]:
    """Return what takes the place of functions that add up, by their names: loops over terms.

    Partial sums are rounded to `dtype`, None for the type of the terms. They raise NotSupported for
    more than MOST_TERMS terms.
    """
    order = _Order(backwards, dtype)
    return {
        "sum": partial(_sum, order),
        "mean": partial(_mean, order),
        "matmul": partial(_matmul, order),
        "sums": partial(_sums, order),
        "bilinear": partial(_bilinear, order),
    }


@dataclass(frozen=True)
class _Order:
    """Sums from the first term on, or `backwards`, with partial sums in `dtype` or their own."""

    backwards: bool
    dtype: DType | None

    def places(self, count: int) -> range:
        """Return the places of so many terms, as they are added."""
        return range(count - 1, -1, -1) if self.backwards else range(count)

    def total(self, terms: Iterator[Any]) -> Any:
        """Return the running sum of arrays, at least one, rounded after each addition."""
        total = self._rounded(next(terms))
        for term in terms:
            total = self._rounded(total + self._rounded(term))
        return total

    def _rounded(self, x: Any) -> Any:
        """Return an array as the type of partial sums has it, in its own type."""
        return x if self.dtype is None else x.astype(self.dtype.numpy).astype(x.dtype)


def _is_float(x: Any) -> bool:
    """Return True for an array of floats that NumPy adds up in their own type."""
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def _check_terms(count: int) -> None:
    """Raise NotSupported for more terms than are added up one by one."""
    decline(count > MOST_TERMS, f"adding up {count} terms one by one takes too long")


def _sum(
    order: _Order,
    original: Fault,
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Any:
    """Return the sum along `axis`, its terms added up one by one in row-major order.

    original: the function in whose place it is, which is called for other than floats and for no
    elements. axis None: all. Raises NotSupported for more than MOST_TERMS elements.
    """
    if not _is_float(x) or not x.size:
        return original(x, axis=axis, keepdims=keepdims)
    _check_terms(x.size)
    places = axes_of(axis, x.ndim)
    moved = np.moveaxis(x, places, range(len(places)))
    terms = moved.reshape(prod(moved.shape[: len(places)]), *moved.shape[len(places) :])
    total = np.asarray(order.total(terms[n] for n in order.places(len(terms))), x.dtype)
    return np.expand_dims(total, places) if keepdims else total


def _mean(
    order: _Order,
    original: Fault,
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Any:
    """Return the mean along `axis`: its sum, see `_sum`, divided by the number of terms.

    original: called for other than floats and for no elements. Raises NotSupported for more than
    MOST_TERMS elements.
    """
    if not _is_float(x) or not x.size:
        return original(x, axis=axis, keepdims=keepdims)
    total = _sum(order, np.sum, x, axis, keepdims)
    return total / x.dtype.type(x.size // max(1, total.size))


def _matmul(order: _Order, original: Fault, a: Any, b: Any) -> Any:
    """Return the product of matrices, each element's products added up one by one.

    original: called for other than floats, for vectors, and for sums of nothing. Raises
    NotSupported for more than MOST_TERMS products.
    """
    are_floats = _is_float(a) and _is_float(b)
    if not are_floats or min(a.ndim, b.ndim) < 2 or not a.shape[-1]:
        return original(a, b)
    _check_terms(a.size * b.shape[-1])
    # The n-th column of `a` and the n-th row of `b` make the n-th term.
    rows = np.moveaxis(a, -1, 0)[..., None]
    columns = np.moveaxis(b, -2, 0)[..., None, :]
    return order.total(rows[n] * columns[n] for n in order.places(len(rows)))


def _parted(order: _Order, x: Array, terms: int) -> Iterator[Array]:
    """Yield `x` with all but one part of its elements 0, for each part of `terms` in a row.

    There are `terms` parts, at most _PARTS; the last one comes first if the order is backwards.
    """
    count = min(terms, _PARTS)
    part = np.arange(x.size).reshape(x.shape) % terms * count // terms
    for n in order.places(count):
        yield np.where(part == n, x, x.dtype.type(0))


def _sums(order: _Order, original: Fault, x: Any, add_up: Any, terms: Any) -> Any:
    """Return the sums that `add_up` takes, each part of their terms added to those before.

    terms: the number of terms of each sum, or an array of them. original: called for other than
    floats, and for sums of one term or none.
    """
    most = int(np.max(terms, initial=0))
    if not _is_float(x) or most < 2:
        return original(x, add_up, terms)
    return order.total(add_up(part) for part in _parted(order, x, most))


def _bilinear(
    order: _Order,
    original: Fault,
    a: Any,
    b: Any,
    product: Any,
    terms: int,
    more: Any = None,
) -> Any:
    """Return a bilinear product, each part of its terms added to those before, and `more` last.

    terms: of each element; more: an addend or None. original: called for other than floats, and for
    one term.
    """
    if not (_is_float(a) and _is_float(b)) or terms < 2:
        return original(a, b, product, terms, more)
    total = order.total(product(part, b) for part in _parted(order, a, terms))
    return total if more is None else total + more


def _off(sign: int, name: str, original: Fault, x: Any, *others: Any) -> Any:
    """Return what a function gives, off by as much as it may be, to the side of `sign`.

    name: decides how much; original: the function. Other than floats are returned as they are.
    """
    y = original(x, *others)
    if not _is_float(y):
        return y
    ulp = LIBRARY.get(name, PLAIN).ulp
    return y * y.dtype.type(1 + sign * ulp * np.finfo(y.dtype).eps)
