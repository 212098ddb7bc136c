"""A mutant of LpPool, shown on one small input."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opcheck.engine.mutants import Mutant, mutants_of
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion

#: The functions that the formula calls.
_CALLED = ("", "abs", "pow", "sums", "windows_of")


def by_name(name: str, since: int = 22) -> Mutant:
    every = [one for one in mutants_of(OpVersion("", "LpPool", since)) if one.name == name]
    [mutant] = [one for one in every if one.primitive in _CALLED]
    return mutant


#: Elements whose sums tell which they are.
BITS = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]
IMAGE = [[1, 2, 4, 8], [16, 32, 64, 128], [256, 512, 1024, 2048]]
SMALL = [[1, 2], [4, 8]]
INF, NAN = np.inf, np.nan


@dataclass(frozen=True)
class Shown:
    """What comes of the only channel `x` of this mutant, None if it is refused.

    p is 1 unless `attrs` say otherwise; None leaves it out.
    """

    name: str
    x: Any
    attrs: dict[str, Any]
    wrong: Any
    since: int = 22
    dtype: str = "float32"
    constant: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def node(self) -> Node:
        attrs = {name: v for name, v in {"p": 1, **self.attrs}.items() if v is not None}
        op = OpVersion("", "LpPool", self.since)
        return Node(op, (np.array([[self.x]], self.dtype),), attrs, constant=self.constant)

    def holds(self) -> bool:
        """Return True if the mutant does just that, and the right answer is another."""
        made, right = self.made(), self.right()
        return agree(made, self.wrong) and not agree(right, self.wrong)

    def made(self) -> Any:
        return _channel(by_name(self.name, self.since).made_on, self.node)

    def right(self) -> Any:
        return _channel(lambda node: node.right, self.node)


def agree(got: Any, wanted: Any) -> bool:
    """Both refusals, or of one shape and equal to the last digit that float32 has."""
    if got is None or wanted is None:
        return got is wanted
    return np.shape(got) == np.shape(wanted) and bool(
        np.allclose(got, wanted, rtol=1e-7, atol=0, equal_nan=True)
    )


def _channel(answer: Any, node: Node) -> Any:
    try:
        made = answer(node)
    except InvalidNode:
        return None
    if isinstance(made, InvalidNode):
        return None
    (out,) = made
    return out[0, 0].astype(np.float64).tolist()
