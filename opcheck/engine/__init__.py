"""The engine: every operator as a formula over kinds of numbers, one file a kind of them.

Arrays and attributes go in, arrays come out: it knows no files and no models, and of onnx no more
than `opcheck.opset` tells of an operator's schema.
"""

from collections.abc import Sequence

from opcheck.engine.evaluate import Drawn, Evaluation, Expected, Room, Tier, precisely, rounded
from opcheck.engine.evaluate import evaluate as evaluate_node
from opcheck.engine.evaluate import exactly as exactly_node
from opcheck.engine.node import (
    Node,
    Subgraph,
    any_order,
    bind,
    dtype_of,
    dtypes_of,
    leading,
    operator_of,
)
from opcheck.model import Array, Attrs, OpVersion


def evaluate(
    op: OpVersion, inputs: Sequence[Array | None], attrs: Attrs, outputs: int | None = None
) -> tuple[Array, ...]:
    """The first `outputs` outputs of `op` on `inputs`, or all, each value rounded once to its type.

    Raises:
        NotSupported: the engine has no formula for exactly this version.
        InvalidNode: the specification forbids these inputs or attributes.
        WrongOperator: the formula failed in a way that no specification asks for.
    """
    return tuple(map(rounded, exactly(op, inputs, attrs, outputs)))


def exactly(
    op: OpVersion, inputs: Sequence[Array | None], attrs: Attrs, outputs: int | None = None
) -> tuple[Array | Expected | Drawn, ...]:
    """The outputs, unrounded and with their error bounds where sound implementations differ."""
    return exactly_node(Node(op, tuple(inputs), attrs, None if outputs is None else range(outputs)))
