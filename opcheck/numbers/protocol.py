"""What a formula may rely on of a tensor, whatever the kind of its numbers."""

from typing import Any, Protocol, TypeAlias

import numpy as np


class Tensor(Protocol):
    """A tensor of any kind of numbers: NumPy's array, `Bounded`, `Faulty`, or a test's own.

    Formulas compute with it by operators and by the functions of `opcheck.numbers`. NumPy's own
    methods and functions are for plain arrays alone: `bare`, `seen` and `values_of` give one.
    Comparisons give `Booleans`.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def size(self) -> int:
        """The number of elements."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the tensor that the array stands for."""

    def __getitem__(self, index: Any, /) -> "Tensor": ...

    def __neg__(self) -> "Tensor": ...

    def __abs__(self) -> "Tensor": ...

    def __add__(self, other: Any, /) -> "Tensor": ...

    def __radd__(self, other: Any, /) -> "Tensor": ...

    def __sub__(self, other: Any, /) -> "Tensor": ...

    def __rsub__(self, other: Any, /) -> "Tensor": ...

    def __mul__(self, other: Any, /) -> "Tensor": ...

    def __rmul__(self, other: Any, /) -> "Tensor": ...

    def __truediv__(self, other: Any, /) -> "Tensor": ...

    def __rtruediv__(self, other: Any, /) -> "Tensor": ...

    def __pow__(self, other: Any, /) -> "Tensor": ...

    def __rpow__(self, other: Any, /) -> "Tensor": ...

    def __matmul__(self, other: Any, /) -> "Tensor": ...

    def __eq__(self, other: object, /) -> Any: ...

    def __ne__(self, other: object, /) -> Any: ...

    def __lt__(self, other: Any, /) -> Any: ...

    def __le__(self, other: Any, /) -> Any: ...

    def __gt__(self, other: Any, /) -> Any: ...

    def __ge__(self, other: Any, /) -> Any: ...


#: An operand of a function: a tensor, or a number, which broadcasts to it.
Operand: TypeAlias = Tensor | float | np.generic
#: Booleans that a comparison gives: a plain array, or a `Truth` where errors leave some open.
Booleans: TypeAlias = Any
#: Indices that an extreme gives: a plain array, or `Choices` where errors leave some open.
Places: TypeAlias = Any
