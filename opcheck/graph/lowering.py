"""DirectML's operators as ONNX graphs, so that ONNX backends can be asked about them."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import NodeProto, helper

from opcheck.errors import NotExpressible
from opcheck.model import Array, Task
from opcheck.opset import directml

#: Hardmax-13 is in force, and Reshape has allowzero, without which no empty tensor keeps its shape.
OPSET = 14


def lower_hardmax1(task: Task) -> tuple[list[NodeProto], dict[str, Array], int]:
    """DML_ACTIVATION_HARDMAX1 as nodes, their constants, and the opset they need.

    Transpose (reduced axes last) → Reshape → Hardmax-13 on the last axis → Reshape → Transpose
    back.

    Raises:
        NotExpressible: the descriptor is invalid; ONNX has no graph that means it.
    """
    if len(task.inputs) != 1:
        raise NotExpressible(
            f"not expressible as an ONNX graph: {len(task.inputs)} inputs; allowed: 1"
        )
    (tensor,) = task.inputs
    (output,) = task.outputs
    axes = task.attrs.get("Axes", ())
    if not isinstance(axes, tuple) or task.attrs.keys() - {"Axes"}:
        said = ", ".join(f"{name} {value}" for name, value in task.attrs.items())
        raise NotExpressible(f"not expressible as an ONNX graph: {said}")
    reduced = sorted(int(axis) for axis in axes)
    invalid = directml.invalid_axes(reduced, len(tensor.shape))
    if tensor.dtype.text not in directml.HARDMAX1.inputs[0].types:
        invalid = f"{tensor.dtype} is no data type of {task.op.name}"
    if invalid:
        raise NotExpressible(f"not expressible as an ONNX graph: {invalid}")
    order = directml.reduced_last(reduced, len(tensor.shape))
    moved = [tensor.shape[axis] for axis in order]
    split = len(order) - len(reduced)
    rows = [prod(moved[:split]), prod(moved[split:])]
    back = [int(place) for place in np.argsort(order)]
    constants: dict[str, Array] = {
        "rows": np.array(rows, np.int64),
        "moved_shape": np.array(moved, np.int64),
    }
    nodes = [
        helper.make_node("Transpose", [tensor.name], ["moved"], perm=order),
        helper.make_node("Reshape", ["moved", "rows"], ["matrix"], allowzero=1),
        helper.make_node("Hardmax", ["matrix"], ["ones"], axis=-1),
        helper.make_node("Reshape", ["ones", "moved_shape"], ["moved_ones"], allowzero=1),
        helper.make_node("Transpose", ["moved_ones"], [output.name], perm=back),
    ]
    return nodes, constants, OPSET
