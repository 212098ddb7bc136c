"""SoftmaxCrossEntropyLoss by LogSoftmax, as its function body has it: no share vanishes."""

from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import BoundNode
from opcheck.engine.ops.losses import CROSS_ENTROPY, mean, of_scores
from opcheck.engine.ops.softmax import logarithms
from opcheck.model import Array


def native(bound: BoundNode, *inputs: Array | None, threads: int = 1) -> tuple[Array, ...]:
    """The outputs; `threads` are not used."""
    scores = bound.operator is CROSS_ENTROPY
    formula = of_scores(logarithms, mean)[bound.node.op.since] if scores else None
    return evaluate(bound.node, formula)
