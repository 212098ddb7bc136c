"""Operators as the specification's own function bodies state them, node by node."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opcheck import dtypes, numbers, opset
from opcheck.engine.node import Node, attributes_for, operator_of
from opcheck.engine.operators import Formula, signature_of
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from opcheck.opset import AttributeReference, BodyNode


def body_formula(op: OpVersion) -> Formula:
    """The function body of an operator as a formula, for any kind of numbers.

    The body may depend on the types and shapes of the inputs and on the attributes, so it is built
    at each call, which onnx does in less than a millisecond.
    """
    from opcheck.opset import onnx_defs

    schema = opset.versions(op.domain, op.name)[op.since]

    def formula(*inputs: Any, **attrs: Any) -> tuple[Any, ...]:
        stated = {name: value for name, value in attrs.items() if value is not None}
        types = [_type_of(x) for x in inputs]
        at = max(op.since, *schema.bodies)
        body = onnx_defs.body(op, at, stated, types, len(schema.outputs))
        if body is None:
            raise NotSupported(f"{op} has no function body for these inputs")
        named: dict[str, Any] = {"": None, **dict.fromkeys(body.inputs)}
        named |= dict(zip(body.inputs, inputs, strict=False))
        for node in body.nodes:
            outputs = _computed(node, [named[name] for name in node.inputs], stated)
            named |= dict(zip(node.outputs, outputs, strict=False))
        return tuple(named.get(name) for name in body.outputs)

    formula.__signature__ = signature_of(schema, schema.attributes)  # type: ignore[attr-defined]
    formula.__name__ = f"{op.name}_body"
    return formula


def _type_of(x: Any) -> tuple[dtypes.DType, Sequence[int]] | None:
    if x is None:
        return None
    dtype = dtypes.of(np.empty(0, x.dtype))
    assert dtype
    return dtype, numbers.shape(x)


def _computed(node: BodyNode, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[Any]:
    """The outputs of one node of a body; raises NotSupported for an operator that is missing."""
    operator = operator_of(node.op)
    if operator is None:
        raise NotSupported(f"the engine has no formula for {node.op}, which the function body uses")
    stated: dict[str, Any] = {
        name: attrs.get(value.name) if isinstance(value, AttributeReference) else value
        for name, value in node.attrs.items()
    }
    stated = {name: value for name, value in stated.items() if value is not None}
    function = operator.formulas[node.op.since]
    schema = opset.versions(node.op.domain, node.op.name)[node.op.since]
    arguments = attributes_for(function, schema, Node(node.op, (), stated, len(node.outputs)))
    while operands and operands[-1] is None:
        operands = operands[:-1]
    outputs = function(*operands, **arguments)
    return outputs if isinstance(outputs, tuple | list) else (outputs,)
