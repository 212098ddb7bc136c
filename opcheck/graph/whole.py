"""A whole model: the names and types of its tensors, and other forms of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import prod

from onnx import GraphProto, ModelProto, ValueInfoProto, helper
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

    def with_branch(self, place: int, *, then: bool) -> bytes:
        """The model with the branch that an If takes in place of the node.

        What the branch computes is named after the node, so that no name is there twice.
        """
        copy = ModelProto.FromString(self._proto.SerializeToString())
        node = copy.graph.node.pop(place)
        attribute = "then_branch" if then else "else_branch"
        branch = next(one.g for one in node.attribute if one.name == attribute)
        given = chain.from_iterable(one.output for one in branch.node)
        own = [name for name in (*given, *(one.name for one in branch.initializer)) if name]
        new = {name: f"{self.nodes[place]}/{name}" for name in own}
        _rename(branch, new)
        for tensor in branch.initializer:
            tensor.name = new[tensor.name]
        for n, one in enumerate(branch.node):
            one.name = f"{self.nodes[place]}/{one.name or f'{one.op_type}_{n}'}"
        # The last outputs of a node may be left out.
        ends = zip((one.name for one in branch.output), node.output, strict=False)
        gives = [helper.make_node("Identity", [new.get(a, a)], [b]) for a, b in ends if b]
        nodes = [*copy.graph.node]
        nodes[place:place] = (*branch.node, *gives)
        copy.graph.initializer.extend(branch.initializer)
        del copy.graph.node[:]
        copy.graph.node.extend(nodes)
        return copy.SerializeToString()

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


def _rename(graph: GraphProto, new: Mapping[str, str]) -> None:
    """Give tensors other names in the nodes of a graph, and of the graphs in it."""
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                _rename(inner, new)
                for one in inner.output:
                    one.name = new.get(one.name, one.name)
