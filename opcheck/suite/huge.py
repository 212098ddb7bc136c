"""A case of level huge as a node whose tensors are known by position."""

from opcheck.engine.huge import HugeNode, Operand
from opcheck.model import Case
from opcheck.suite.tensors import values_at


def huge_node(case: Case) -> HugeNode:
    """Return the node of a case; small inputs are made at once.

    Raises ValueError for an input that cannot be made.
    """
    operands = {spec.name: Operand(spec.shape, values_at(spec)) for spec in case.inputs}
    inputs = tuple(operands[slot] if slot else None for slot in case.slots)
    return HugeNode(case.op, case.attrs, inputs)
