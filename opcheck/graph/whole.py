"""A whole model: the names and types of its tensors, and other forms of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import prod

from onnx import GraphProto, ModelProto, ValueInfoProto, helper
from onnx.shape_inference import InferenceError, infer_shapes

from opcheck.dtypes import DType, named
from opcheck.graph import sized
from opcheck.graph.test_data import opset_of
from opcheck.model import TensorType
from opcheck.opset.onnx_defs import messages, without_functions


class WholeModel:
    """A model with its own functions expanded, on tensors of these types."""

    def __init__(self, data: bytes, fed: Sequence[TensorType]) -> None:
        self._proto = without_functions(ModelProto.FromString(data))
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
        except (InferenceError, MemoryError):
            return {}
        return {one.name: one for one in (*found.value_info, *found.output)}

    @property
    def contradiction(self) -> str:
        """A name that the specification forbids, or a type that onnx infers otherwise; else ""."""
        twice = Counter(node.name for node in self._proto.graph.node if node.name).most_common(1)
        if twice and twice[0][1] > 1:
            return f"several nodes are named {twice[0][0]!r}"
        try:
            infer_shapes(sized(self._proto, self._fed), strict_mode=True, data_prop=True)
        except InferenceError as error:
            said = str(error).strip().rpartition("(s): ")[2]
            return said.replace("[ShapeInferenceError] ", "") if "existing" in said else ""
        return ""

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
        if dtype is None or not (tensor := self._types[name].type.tensor_type).HasField("shape"):
            return 0
        return prod(one.dim_value for one in tensor.shape.dim) * dtype.numpy.itemsize

    def with_branch(self, place: int, *, then: bool) -> bytes | None:
        """The model with the branch that an If takes in place of the node, or None."""
        copy = ModelProto.FromString(self._proto.SerializeToString())
        for name, each in zip(self.nodes, copy.graph.node, strict=True):
            each.name = name
        node = copy.graph.node.pop(place)
        attribute = "then_branch" if then else "else_branch"
        branch = next(one.g for one in node.attribute if one.name == attribute)
        own = [*chain.from_iterable(one.output for one in branch.node)]
        own += [one.name for one in branch.initializer]
        _, *inner = messages(branch, GraphProto)
        hidden = chain.from_iterable(map(_declared, inner))
        # Not with a sparse constant, or graphs that give a tensor of the branch another meaning.
        if branch.sparse_initializer or not {*own}.isdisjoint({*hidden} - {""}):
            return None
        # What the branch computes is named after the node, so that no name is there twice.
        prefix = f"{node.name}/"
        taken = {*chain.from_iterable(map(_declared, messages(copy.graph, GraphProto)))}
        while any(f"{prefix}{name}" in taken for name in own):
            prefix += "_"
        new = {name: f"{prefix}{name}" for name in own if name}
        # The last outputs of a node may be left out.
        ends = [(a.name, b) for a, b in zip(branch.output, node.output, strict=False) if b]
        same = []
        for a, b in ends:
            if a in own and new[a] not in node.output:
                new[a] = b
            else:
                same.append(helper.make_node("Identity", [new.get(a, a)], [b]))
        _rename(branch, new)
        for tensor in branch.initializer:
            tensor.name = new[tensor.name]
        for n, one in enumerate(branch.node):
            one.name = f"{node.name}/{one.name or f'{one.op_type}_{n}'}"
        copy.graph.initializer.extend(branch.initializer)
        later = copy.graph.node[place:]
        del copy.graph.node[place:]
        copy.graph.node.extend((*branch.node, *same, *later))
        return copy.SerializeToString()

    def giving(self, names: Sequence[str], *, alone: bool = False) -> tuple[bytes, list[str]]:
        """The model with these outputs after its own, or `alone`, and which were none before."""
        copy = ModelProto.FromString(self._proto.SerializeToString())
        if alone:
            del copy.graph.output[:]
        own = {one.name for one in copy.graph.output}
        more = [name for name in dict.fromkeys(names) if name not in own]
        empty = helper.make_empty_tensor_value_info
        copy.graph.output.extend(self._types.get(name) or empty(name) for name in more)
        return copy.SerializeToString(), more


def _declared(graph: GraphProto) -> Iterator[str]:
    yield from (one.name for one in graph.input)
    yield from (one.name for one in graph.initializer)
    yield from chain.from_iterable(node.output for node in graph.node)


def _rename(graph: GraphProto, new: Mapping[str, str]) -> None:
    outer, *inner = messages(graph, GraphProto)
    for node in chain.from_iterable(one.node for one in (outer, *inner)):
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
    for output in chain.from_iterable(one.output for one in inner):
        output.name = new.get(output.name, output.name)
