"""A whole model, node by node: each one as a case, with the tensors that are fed to it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper
from onnx.shape_inference import InferenceError, infer_shapes

from opcheck import dtypes, model, opset
from opcheck.engine import Node, Subgraph, operator_of
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.graph import sized
from opcheck.model import Array, Case, OutputSpec, Question, Source
from opcheck.opset import Body, BodyNode, onnx_defs
from opcheck.suite.writing import made_up

Values: TypeAlias = Mapping[str, Any]
#: Bytes of tensors that one pass makes outputs of.
_ROOM = 256 << 20


@dataclass(frozen=True, eq=False)
class Part:
    """A node of a model; `name` is its own, or made of its operator and place."""

    place: int
    name: str
    node: BodyNode


class Network:
    """The model of a case, with its functions expanded."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.evaluation = CaseEvaluation(case)
        self.proto = onnx_defs.without_functions(ModelProto.FromString(case.model or b""))
        self.body: Body = onnx_defs.model_body(case.model or b"")

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The nodes, in order."""
        names = [one.name or f"{one.op_type}_{n}" for n, one in enumerate(self.proto.graph.node)]
        unique = [n if names.count(n) == 1 else f"{n}_{at}" for at, n in enumerate(names)]
        return tuple(map(Part, range(len(names)), unique, self.body.nodes))

    @cached_property
    def types(self) -> Mapping[str, ValueInfoProto]:
        """The types of tensors as far as onnx infers them from the shapes that are fed."""
        try:
            copy = infer_shapes(
                sized(self.proto, self.evaluation.question.task.inputs), data_prop=True
            )
        except InferenceError:
            return {}
        return {one.name: one for one in (*copy.graph.value_info, *copy.graph.output)}

    @cached_property
    def constants(self) -> Mapping[str, Array]:
        """Tensors that are the same in every run."""
        found = dict(self.body.constants)
        for node in self.body.nodes:
            if node.op.name == "Constant" and not node.op.domain:
                plain: Any = dict(node.attrs)
                found[node.outputs[0]] = Node(node.op, (), plain).plain[0]
        return found

    def values(self) -> Iterator[tuple[Part, Values]]:
        """Yield each node with the tensors that it reads and gives, as the engine computes them.

        Those that it cannot compute are left out. Tensors are dropped once nobody reads them.
        """
        question = self.evaluation.question
        named: dict[str, Any] = {**self.body.constants, **question.task.feed(question.inputs)}
        for part, done in zip(self.parts, self.body.done, strict=True):
            reads = tuple(name for name in dict.fromkeys(part.node.reads) if name)
            gives = tuple(filter(None, part.node.outputs))
            if all(name in named for name in reads):
                one = Subgraph(Body(reads, gives, (part.node,)))
                with suppress(NotSupported, InvalidNode), np.errstate(all="ignore"):
                    named |= zip(gives, one(*(named[name] for name in reads)), strict=True)
            yield part, named
            for name in done:
                named.pop(name, None)

    @cached_property
    def whole_numbers(self) -> Values:
        """Computed tensors that are no floating numbers, as the engine computes them."""
        found: dict[str, Any] = {}
        for part, values in self.values():
            those = {name: values[name] for name in part.node.outputs if name in values}
            found |= {name: one for name, one in those.items() if one.dtype.kind in "iub"}
        return found

    def why_not(self, part: Part) -> str:
        """Return why a node cannot be judged by itself, or ""."""
        if operator_of(part.node.op) is None:
            return f"opcheck does not know {part.node.op}"
        if part.node.graphs:
            return f"{part.node.op.name} has graphs of its own"
        infos = (self.types.get(name) for name in (*part.node.inputs, *part.node.outputs))
        if any(info and not info.type.HasField("tensor_type") for info in infos):
            return f"{part.node.op.name} takes or gives a sequence or an optional"
        operator = operator_of(part.node.op)
        return f"{part.node.op.name} draws at random" if operator and operator.random else ""

    def passes(self) -> Iterator[tuple[list[Part], list[str]]]:
        """Yield nodes that are judged together, and the tensors that must be outputs for it."""
        fixed = {*self.constants, *(one.name for one in self.evaluation.question.task.inputs)}
        nodes: list[Part] = []
        names: dict[str, int] = {}
        for part in self.parts:
            if self.why_not(part) or part.node.op.name == "Constant":
                continue
            mine = {n for n in (*part.node.inputs, *part.node.outputs) if n} - fixed
            more = {name: self._bytes(name) for name in mine}
            if nodes and sum((names | more).values()) > _ROOM:
                yield nodes, [*names]
                nodes, names = [], {}
            nodes.append(part)
            names |= more
        if nodes:
            yield nodes, [*names]

    def _bytes(self, name: str) -> int:
        info = self.types.get(name)
        if info is None or not info.type.tensor_type.elem_type:
            return 0
        dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        sizes = (dim.dim_value for dim in info.type.tensor_type.shape.dim)
        return prod(sizes) * dtype.itemsize

    def asking_for(self, names: Sequence[str]) -> Question:
        """The question for these tensors, after the model's outputs."""
        asked = self.evaluation.question
        copy = ModelProto.FromString(self.proto.SerializeToString())
        own = {one.name for one in copy.graph.output}
        more = [name for name in names if name not in own]
        copy.graph.output.extend(
            self.types.get(name) or helper.make_empty_tensor_value_info(name) for name in more
        )
        outputs = (*asked.task.outputs, *(OutputSpec(name, None) for name in more))
        task = replace(asked.task, outputs=outputs, model=copy.SerializeToString())
        # The same data again: a node may be wrong in a later run alone.
        return replace(asked, task=task, second=asked.inputs)


def case_of(network: Network, part: Part, values: Values, *, later: bool = False) -> Case:
    """A node as a case of its own, on these values."""
    op, domain = part.node.op, part.node.op.domain
    schema = opset.versions(domain, op.name)[op.since]
    inputs = []
    slots = [*_slots(schema.inputs, part.node.inputs)]
    for slot, name in zip(slots, part.node.inputs, strict=True):
        if name and isinstance(array := values.get(name), np.ndarray):
            dtype = dtypes.of(array)
            assert dtype
            held = name in network.constants
            spec = model.TensorSpec(slot, dtype, array.shape, model.Given(array), (), held)
            inputs.append(spec)
    outputs = enumerate(_slots(schema.outputs, part.node.outputs))
    used = [(n, slot) for n, slot in outputs if part.node.outputs[n]]
    tail = ", in a later run" if later else ""
    imported = {onnx_defs.domain_of(o.domain): o.version for o in network.proto.opset_import}
    plain: Any = part.node.attrs
    return Case(
        id=f"node {part.place} of {len(network.parts)}, {part.name}{tail}",
        name=part.name,
        op=op,
        opset=imported.get(domain, op.since),
        dtype=inputs[0].dtype if inputs else None,
        attrs=plain,
        inputs=tuple(inputs),
        slots=tuple(s if n else "" for s, n in zip(slots, part.node.inputs, strict=True)),
        outputs=tuple(OutputSpec(slot, None, n) for n, slot in used),
        expect=model.Computed(),
        source=Source(network.case.source.file, 0, 0),
        empty="it is what the model gives",
    )


def _slots(parameters: Sequence[opset.Parameter], names: Sequence[str]) -> Iterator[str]:
    """Yield the operator's own names of a node's inputs or outputs."""
    for n in range(len(names)):
        parameter = parameters[min(n, len(parameters) - 1)]
        many = parameter.option == "variadic"
        yield f"{parameter.stem}_{n - len(parameters) + 1}" if many else parameter.name


@dataclass
class Extracted:
    """Nodes that ask the same: the first of them as a case, how many, and their share of time."""

    case: Case
    names: list[str]
    share: float = 0.0


def extracted(
    network: Network, times: Mapping[str, float]
) -> tuple[list[Extracted], list[tuple[Part, str]]]:
    """The nodes of a model as cases, each question once, and nodes that make none, with why.

    `times` are the durations of nodes by name, in any unit.
    """
    found: dict[tuple[Any, ...], Extracted] = {}
    left: list[tuple[Part, str]] = []
    total = sum(times.values()) or 1.0
    for part, values in network.values():
        if part.node.op.name == "Constant":
            continue
        if why := network.why_not(part):
            left.append((part, why))
            continue
        if missing := [name for name in part.node.inputs if name and name not in values]:
            left.append((part, f"{missing[0]} is not known, which opcheck cannot compute"))
            continue
        case = case_of(network, part, values)
        texts = [f"{made_up(s)} {s.dtype} {s.name} {s.shape} {s.initializer}" for s in case.inputs]
        # Weights of one shape ask the same, whatever their range.
        shapes = [re.sub(r"'uniform': \[.*?\]", "", text) for text in texts]
        key = (case.op, str(case.attrs), case.slots, case.outputs, *shapes)
        one = found.setdefault(key, Extracted(case, []))
        one.names.append(part.name)
        one.share += times.get(part.name, 0.0) / total
    return sorted(found.values(), key=lambda one: -one.share), left
