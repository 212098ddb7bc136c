"""A one-node model at the case's own opset, with the lowest IR version that allows it."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import (
    AttributeProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from opcheck import opset
from opcheck.errors import NotSupported
from opcheck.model import Array, AttrValue, OpVersion, OutputSpec, Problem, TensorType
from opcheck.opset import directml

_ATTRIBUTE_TYPES = {
    "int": AttributeProto.INT,
    "float": AttributeProto.FLOAT,
    "string": AttributeProto.STRING,
    "ints": AttributeProto.INTS,
    "floats": AttributeProto.FLOATS,
    "strings": AttributeProto.STRINGS,
}


class NotExpressible(NotSupported):
    """No ONNX model can state this problem."""


def model_of(problem: Problem) -> ModelProto:
    """`problem` as a model; inputs and outputs keep their names and order.

    Operators of ONNX become one node, those of DirectML a few (see `graph.lowering`).

    Raises:
        NotExpressible: a DirectML descriptor that ONNX cannot state.
    """
    if problem.op.domain == directml.DOMAIN:
        from opcheck.graph.lowering import lower

        nodes, constants, at_opset = lower(problem)
        return assemble(problem, nodes, constants, "", at_opset)
    node = helper.make_node(
        problem.op.name,
        list(problem.slots),
        [output.name for output in problem.outputs],
        domain=problem.op.domain,
    )
    node.attribute.extend(_attribute(problem.op, *item) for item in problem.attrs.items())
    return assemble(problem, [node], {}, problem.op.domain, problem.opset)


def assemble(
    problem: Problem,
    nodes: Sequence[NodeProto],
    constants: dict[str, Array],
    domain: str,
    at_opset: int,
) -> ModelProto:
    """The model around `nodes`, with the problem's inputs, outputs and initializers."""
    tensors = {**problem.initializers, **constants}
    graph = helper.make_graph(
        list(nodes),
        problem.op.name,
        [_input_info(tensor) for tensor in problem.inputs],
        [_output_info(output) for output in problem.outputs],
        [numpy_helper.from_array(array, name) for name, array in tensors.items()],
    )
    imports = [helper.make_opsetid(domain, at_opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version(domain, at_opset))


def ir_version(domain: str, at_opset: int) -> int:
    """The lowest IR version that allows `at_opset`: old runtimes refuse newer ones."""
    if domain == "" and at_opset < 5:
        # onnx's table has no opsets 2 to 4; they shipped with IR version 3, as 1 and 5 did.
        return 3
    version: int = helper.find_min_ir_version_for([helper.make_opsetid(domain, at_opset)])
    return version


def _attribute(op: OpVersion, name: str, value: AttrValue) -> AttributeProto:
    declared = opset.attribute(op, name)
    # The declared type and not the value's: an empty list has none of its own.
    kind = _ATTRIBUTE_TYPES.get(declared.type) if declared else None
    return helper.make_attribute(name, value, attr_type=kind)


def _input_info(tensor: TensorType) -> ValueInfoProto:
    return helper.make_tensor_value_info(tensor.name, tensor.dtype.onnx, list(tensor.shape))


def _output_info(output: OutputSpec) -> ValueInfoProto:
    if output.dtype is None:
        return helper.make_empty_tensor_value_info(output.name)
    info = helper.make_tensor_value_info(output.name, TensorProto.UNDEFINED, None)
    info.type.tensor_type.elem_type = output.dtype.onnx
    return info
