"""What bounded and precise arrays have in common: operators, and what they look like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar


class Kind(ABC):
    """Whatever turns to a kind of numbers for the functions that are called on it."""

    #: NumPy's arrays leave operations with it to it.
    __array_ufunc__: ClassVar[None] = None

    @classmethod
    @abstractmethod
    def kind(cls) -> Any:
        """The module with this kind's functions."""


class Number(Kind):
    """An array of some kind of numbers, with the operators of NumPy's arrays.

    Subclasses have `shape` and `dtype`, the NumPy dtype of the tensor that the array stands for.
    """

    __hash__ = object.__hash__

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""

    @property
    def ndim(self) -> int:
        """The rank of the array."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    def __add__(self, other: Any) -> Any:
        return self.kind().add(self, other)

    def __radd__(self, other: Any) -> Any:
        return self.kind().add(other, self)

    def __sub__(self, other: Any) -> Any:
        return self.kind().subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.kind().subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return self.kind().multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.kind().multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.kind().divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.kind().divide(other, self)

    def __pow__(self, other: Any) -> Any:
        return self.kind().pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.kind().pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        return self.kind().matmul(self, other)

    def __neg__(self) -> Any:
        return self.kind().negative(self)

    def __abs__(self) -> Any:
        return self.kind().abs(self)

    def __lt__(self, other: Any) -> Any:
        return self.kind().less(self, other)

    def __le__(self, other: Any) -> Any:
        return self.kind().less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return self.kind().greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return self.kind().greater_equal(self, other)

    def __eq__(self, other: Any) -> Any:
        return self.kind().equal(self, other)

    def __ne__(self, other: Any) -> Any:
        return self.kind().not_equal(self, other)

    def __bool__(self) -> bool:
        raise TypeError("an array of numbers is neither true nor false; use xp.where")
