"""A whole model: the names and types of its tensors, and copies that give more of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod

from onnx import ModelProto, ValueInfoProto, helper
from onnx.shape_inference import InferenceError, infer_shapes

from opcheck.dtypes import DType, named
from opcheck.graph import sized
from opcheck.graph.test_data import opset_of
from opcheck.model import TensorType
from opcheck.opset import onnx_defs


class WholeModel:
    """A model with its own functions expanded, on tensors of these types."""

    def __init__(self, data: bytes, fed: Sequence[TensorType]) -> None:
        self._proto = onnx_defs.without_functions(ModelProto.FromString(data))
        self._fed = fed

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes, each its own; made of operator and place where it has none."""
        names = [one.name or f"{one.op_type}_{n}" for n, one in enumerate(self._proto.graph.node)]
        counts = Counter(names)
        return tuple(n if counts[n] == 1 else f"{n}_{at}" for at, n in enumerate(names))

    def opset(self, domain: str) -> int:
        """The opset of a domain that it imports, 0 if none."""
        return opset_of(self._proto, domain)

    @cached_property
    def _types(self) -> Mapping[str, ValueInfoProto]:
        try:
            found = infer_shapes(sized(self._proto, self._fed), data_prop=True).graph
        except InferenceError:
            return {}
        return {one.name: one for one in (*found.value_info, *found.output)}

    def is_tensor(self, name: str) -> bool:
        """Return False for a sequence or an optional, as far as onnx infers types."""
        return name not in self._types or self._types[name].type.HasField("tensor_type")

    def dtype(self, name: str) -> DType | None:
        """The dtype of a tensor; None where onnx cannot infer it."""
        info = self._types.get(name)
        return named(info.type.tensor_type.elem_type) if info else None

    def nbytes(self, name: str) -> int:
        """The size of a tensor in bytes, 0 where onnx cannot infer it."""
        dtype = self.dtype(name)
        if dtype is None:
            return 0
        sizes = (one.dim_value for one in self._types[name].type.tensor_type.shape.dim)
        return prod(sizes) * dtype.numpy.itemsize

    def giving(self, names: Sequence[str], *, alone: bool = False) -> tuple[bytes, list[str]]:
        """The model with these tensors as outputs after its own, and which were none before.

        `alone`: its own are none any more.
        """
        copy = ModelProto.FromString(self._proto.SerializeToString())
        if alone:
            del copy.graph.output[:]
        own = {one.name for one in copy.graph.output}
        more = [name for name in dict.fromkeys(names) if name not in own]
        copy.graph.output.extend(
            self._types.get(name) or helper.make_empty_tensor_value_info(name) for name in more
        )
        return copy.SerializeToString(), more
