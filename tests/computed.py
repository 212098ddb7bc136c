from collections.abc import Sequence

from opcheck.engine import Drawn, Expected, Node, rounded
from opcheck.engine.evaluate import exactly as exactly_node
from opcheck.model import Array, Attrs, OpVersion


def exactly(
    op: OpVersion, inputs: Sequence[Array | None], attrs: Attrs, outputs: int | None = None
) -> tuple[Array | Expected | Drawn, ...]:
    """The first `outputs` outputs of `op` on `inputs`, or all, unrounded and with error bounds."""
    return exactly_node(Node(op, tuple(inputs), attrs, None if outputs is None else range(outputs)))


def evaluate(
    op: OpVersion, inputs: Sequence[Array | None], attrs: Attrs, outputs: int | None = None
) -> tuple[Array, ...]:
    """The same outputs, each value rounded once to its type."""
    return tuple(map(rounded, exactly(op, inputs, attrs, outputs)))
