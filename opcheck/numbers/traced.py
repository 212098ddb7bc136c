"""Plain float64 numbers that remember which function made them of which: for `opcheck explain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Number


@dataclass(frozen=True, eq=False)
class Step:
    """The call that made an array: the function's name, its operands and options.

    An input of the node has no operands, and its name in place of a function's. `function` takes
    plain arrays in place of traced operands.
    """

    name: str
    operands: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None

    @property
    def is_input(self) -> bool:
        """True for an input of the node, or a number of the formula's own."""
        return self.function is None

    def again(self, change: Callable[[Any], Any]) -> Any:
        """Return what the function returns for changed operands and options, plain ones."""
        assert self.function
        options = {name: change(option) for name, option in self.options.items()}
        return self.function(*map(change, self.operands), **options)


class Traced(Number):
    """An array `v` of float64, and the step that made it."""

    module = __name__

    def __init__(self, v: NDArray[Any], step: Step) -> None:
        self.v = v
        self.dtype = v.dtype
        self.step = step

    def __getitem__(self, index: Any) -> Traced:
        """Return the elements at an index; raises IndexError as NumPy does."""
        step = Step("getitem", (self,), {}, lambda x: np.asarray(x[index]))
        return Traced(np.asarray(self.v[index]), step)


@cache
def __getattr__(name: str) -> Callable[..., Any]:
    """Return the function `name` of plain numbers in a form for traced arrays; cached.

    Floating results are traced, others plain. It raises what the function raises.

    Raises AttributeError if neither `plain` nor NumPy has the function.
    """
    function = getattr(plain, name)

    def of_traced_arrays(*operands: Any, **options: Any) -> Any:
        """Call the function on plain arrays; return its result with the call."""
        result = function(*map(bare, operands), **{key: bare(options[key]) for key in options})
        return _wrapped(result, Step(name, operands, options, function))

    return of_traced_arrays


def values_of(x: Any) -> NDArray[np.float64]:
    """Return the values of `x` as a new plain float64 array."""
    return plain.values_of(bare(x))


def bare(x: Any) -> Any:
    """Return the plain array of a traced one, or those in a list or tuple; others as they are."""
    if isinstance(x, list | tuple):
        return type(x)(map(bare, x))
    return x.v if isinstance(x, Traced) else x


def _wrapped(x: Any, step: Step) -> Any:
    """Return floating results as traced arrays, others plain; of a tuple, a tuple of these."""
    if isinstance(x, tuple):
        return tuple(_wrapped(item, step) for item in x)
    array = np.asarray(x)
    return Traced(array, step) if array.dtype.kind == "f" else array
