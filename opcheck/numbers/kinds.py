"""Shared code of bounded and precise arrays: operators, and how they are shown."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import prod
from typing import Any, ClassVar


class Kind(ABC):
    """Whatever turns to a kind of numbers for the functions that are called on it."""

    #: NumPy's arrays leave operations with it to it.
    __array_ufunc__: ClassVar[None] = None

    @classmethod
    @abstractmethod
    def kind(cls) -> Any:
        """The module with this kind's functions."""


def _operator(name: str) -> Callable[..., Any]:
    """The function `name` of an operator's operands."""
    return lambda self, *other: getattr(self.kind(), name)(self, *other)


def _operators(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function `name` of both operands, and of both the other way round."""
    return _operator(name), lambda self, other: getattr(self.kind(), name)(other, self)


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
        return prod(self.shape)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __pow__, __rpow__ = _operators("pow")
    __matmul__, __neg__, __abs__ = map(_operator, ("matmul", "negative", "abs"))
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")

    def __bool__(self) -> bool:
        raise TypeError("an array of numbers is neither true nor false; use xp.where")
