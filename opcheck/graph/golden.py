"""Models in files that may come from strangers: written, read, and held against what they state."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypeAlias

import onnx
from onnx import ModelProto, TensorProto, numpy_helper, shape_inference

from opcheck import opset
from opcheck.graph.build import model_of
from opcheck.model import Arrays, Task

#: For those who hand models on without knowing onnx.
Model: TypeAlias = ModelProto

#: No model of one node may be larger, in bytes.
MAX_BYTES = 1 << 30


def model_bytes(task: Task, ranks: Sequence[int]) -> bytes:
    """`task` as a model's file, the same on every machine.

    `ranks` are those of its outputs, for where ONNX cannot infer one, without which no model is
    valid; none where they are not known. Raises NotExpressible where ONNX cannot state the task.
    """
    model = model_of(task)
    for output, rank in zip(model.graph.output, ranks, strict=False):
        kind = output.type.tensor_type
        if not kind.HasField("shape"):
            kind.shape.SetInParent()
            for _ in range(rank):
                kind.shape.dim.add()
    return model.SerializeToString(deterministic=True)


def read_model(path: Path) -> ModelProto:
    """The model in a file, no file beside it being read; raises ValueError if it is none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES >> 30} GiB")
        model = ModelProto.FromString(path.read_bytes())
    except Exception as error:  # protobuf's own DecodeError, or the file cannot be read
        raise ValueError(f"is no readable model: {error}") from None
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            raise ValueError(f"its constant {tensor.name!r} is kept in another file")
    return model


def constants(model: ModelProto, names: Collection[str]) -> Arrays:
    """The constants of a model that have these names; raises ValueError for a damaged one."""
    try:
        found = model.graph.initializer
        return {t.name: numpy_helper.to_array(t) for t in found if t.name in names}
    except Exception as error:  # onnx and NumPy raise whatever they stumble over
        raise ValueError(f"has a damaged constant: {error}") from None


def other_model(model: ModelProto, task: Task) -> str | None:
    """In what `model` states something else than `task`; None where it states just that.

    Not compared are who made it, its IR version, and types and ranks of its outputs, which are
    ONNX's to infer.
    """
    theirs, ours = (_substance(one) for one in (model, model_of(task)))
    if theirs == ours:
        return None
    for field, what in (("opset_import", "opset"), ("graph", "graph")):
        if getattr(theirs, field) != getattr(ours, field):
            return f"states another {what} than the manifest"
    return "states something else than the manifest"


def invalid(model: ModelProto) -> str | None:
    """What onnx's checker says against a model, None if nothing."""
    try:
        onnx.checker.check_model(model)
    except Exception as error:  # ValidationError, and whatever a damaged model leads to
        return " ".join(str(error).split())
    return None


def inferred_elements(model: ModelProto) -> int:
    """How many elements the outputs have as ONNX infers them; 0 where it cannot."""
    later = ModelProto.FromString(model.SerializeToString())
    for imported in later.opset_import:
        # Some first versions have no inference.
        imported.version = max(imported.version, opset.newest(imported.domain))
    counts = [0]
    for one in (model, later):
        try:
            outputs = shape_inference.infer_shapes(one).graph.output
        except Exception:  # InferenceError, or a domain that onnx does not know
            continue
        shapes = [[dim.dim_value for dim in o.type.tensor_type.shape.dim] for o in outputs]
        counts.append(sum(math.prod(shape) for shape in shapes))
    return max(counts)


def _substance(model: ModelProto) -> ModelProto:
    bare = ModelProto()
    bare.CopyFrom(model)
    for field in ("producer_name", "producer_version", "doc_string", "ir_version"):
        bare.ClearField(field)
    for output in bare.graph.output:
        output.ClearField("type")
    for node in bare.graph.node:
        # Their order means nothing.
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
        node.ClearField("attribute")
        node.attribute.extend(attributes)
    return bare
