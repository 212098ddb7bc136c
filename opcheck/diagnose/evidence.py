"""What a diagnosis is made of: a node, what a backend said of it, and what it had to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from opcheck.compare import Want, compare_outputs
from opcheck.engine.mistakes import Node
from opcheck.model import Array, Foreign, Tolerance

Outputs: TypeAlias = Sequence[Array | Foreign]


@dataclass(frozen=True, eq=False)
class Evidence:
    """A wrong answer to `node`.

    `got` is None where the backend refused the node. `admitted` are the answers that are right,
    none where the node must be refused.
    """

    node: Node
    got: Outputs | None
    admitted: Sequence[Sequence[Want]] = ()
    tolerance: Tolerance | None = None

    def is_right(self, outputs: Outputs) -> bool:
        """Whether other outputs would have passed."""
        return any(
            all(one.problem is None for one in compare_outputs(wants, outputs, self.tolerance))
            for wants in self.admitted
        )

    @cached_property
    def nbytes(self) -> int:
        """How many bytes the inputs have."""
        return sum(array.nbytes for array in self.node.inputs)
