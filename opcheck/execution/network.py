"""A whole model, node by node: each one as a case, with the tensors that are fed to it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes, engine, errors, model, opset
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.graph.whole import WholeModel
from opcheck.model.located import Part
from opcheck.opset import Body, BodyNode, onnx_defs
from opcheck.suite.writing import case_file, made_up

Values: TypeAlias = Mapping[str, Any]
#: Bytes of tensors that one pass makes outputs of.
_ROOM = 256 << 20


class Network:
    """The model of a case, with its functions expanded.

    Of an If whose condition the engine computes, the branch stands in its place. `taken` counts
    these.
    """

    def __init__(self, case: model.Case) -> None:
        self.case = case
        self.evaluation = CaseEvaluation(case)
        question = self.evaluation.question
        self.fed: Values = question.task.feed(question.inputs)
        self.taken = 0
        #: Why the engine could not compute nodes, by place.
        self.failed: dict[int, str] = {}
        data: bytes | None = case.model or b""
        while data is not None:
            self.whole = WholeModel(data, question.task.inputs)
            self.body: Body = onnx_defs.model_body(data)
            #: The nodes, in order.
            self.parts = tuple(
                Part(n, name, one.op, one.outputs)
                for n, (name, one) in enumerate(zip(self.whole.nodes, self.body.nodes, strict=True))
            )
            data = self._with_a_branch()
            self.taken += data is not None

    def _with_a_branch(self) -> bytes | None:
        """The model with the branch of the first If that is decided, None where there is none."""
        ifs = {part.place for part in self.parts if part.op.name == "If" and not part.op.domain}
        for part, values in self.values() if ifs else ():
            condition = values.get(self.node(part).inputs[0]) if part.place in ifs else None
            if not isinstance(condition, np.ndarray) or condition.size != 1:
                continue
            if data := self.whole.with_branch(part.place, then=bool(condition.item())):
                return data
        return None

    def node(self, part: Part) -> BodyNode:
        """The tensors that a node reads, and its attributes."""
        return self.body.nodes[part.place]

    @cached_property
    def constants(self) -> Mapping[str, model.Array]:
        """Tensors that are the same in every run."""
        found = dict(self.body.constants)
        for node in self.body.nodes:
            if node.op.name == "Constant" and not node.op.domain:
                plain: Any = dict(node.attrs)
                found[node.outputs[0]] = engine.Node(node.op, (), plain).plain[0]
        return found

    def values(self) -> Iterator[tuple[Part, Values]]:
        """Yield each node with the tensors that it reads and gives, as the engine computes them.

        Those that it cannot compute are left out. Tensors are dropped once nobody reads them.
        """
        named: dict[str, Any] = {**self.body.constants, **self.fed}
        for part, done in zip(self.parts, self.body.done, strict=True):
            reads = tuple(name for name in dict.fromkeys(self.node(part).reads) if name)
            gives = tuple(filter(None, part.outputs))
            if all(name in named for name in reads):
                one = engine.Subgraph(Body(reads, gives, (self.node(part),)))
                try:
                    with np.errstate(all="ignore"):
                        named |= zip(gives, one(*(named[name] for name in reads)), strict=True)
                except (errors.NotSupported, errors.InvalidNode, MemoryError) as error:
                    self.failed[part.place] = str(error)
            yield part, named
            for name in done:
                named.pop(name, None)

    @cached_property
    def exact(self) -> Values:
        """Computed integers and truth values that no floating-point number is an ancestor of.

        Shapes that onnx infers depend on none, so that all arithmetic gives these.
        """
        found: dict[str, Any] = {}
        given = {**self.constants, **self.fed}
        sure = {"", *(name for name, array in given.items() if is_whole(dtypes.of(array)))}
        for part, values in self.values():
            node = self.node(part)
            exact = sure.issuperset(node.inputs)
            if node.op.name in ("Shape", "Size") and not node.op.domain:
                exact = all(name in given or self.whole.nbytes(name) for name in node.inputs)
            arrays = {x: values[x] for x in part.outputs if isinstance(values.get(x), np.ndarray)}
            if exact and not node.graphs:
                found |= {name: x for name, x in arrays.items() if is_whole(dtypes.of(x))}
                sure.update(found.keys() & arrays)
        return found

    @cached_property
    def why_not(self) -> Mapping[Part, str]:
        """The nodes that cannot be judged by themselves, and why."""
        return {part: why for part in self.parts if (why := self._why_not(part))}

    def _why_not(self, part: Part) -> str:
        operator, node = engine.operator_of(part.op), self.node(part)
        if operator is None:
            return f"opcheck does not know {part.op}"
        if self.whole.opset(part.op.domain) > (newest := opset.newest(part.op.domain)):
            return f"its opset is too new: the installed packages know {newest}"
        if node.graphs:
            return f"{part.op.name} has graphs of its own"
        if not all(map(self.whole.is_tensor, (*node.inputs, *part.outputs))):
            return f"{part.op.name} takes or gives a sequence or an optional"
        return f"{part.op.name} draws at random" if operator.random else ""

    def names(self, parts: Sequence[Part]) -> list[str]:
        """The tensors that must be outputs for these nodes to be judged."""
        every = ((*self.node(part).inputs, *part.outputs) for part in parts)
        names = dict.fromkeys(chain.from_iterable(every))
        return [name for name in names if name not in self.fixed]

    @cached_property
    def fixed(self) -> set[str]:
        """The tensors that are given, and no node's."""
        return {"", *self.constants, *self.fed}

    def passes(self) -> Iterator[list[Part]]:
        """Yield nodes that are judged together."""
        nodes: list[Part] = []
        names: set[str] = set()
        size = 0
        for part in self.parts:
            if part in self.why_not or part.op.name == "Constant":
                continue
            mine = {*self.names([part])}
            size += sum(map(self.whole.nbytes, mine - names))
            if nodes and size > _ROOM:
                yield nodes
                nodes, names, size = [], set(), sum(map(self.whole.nbytes, mine))
            nodes.append(part)
            names |= mine
        if nodes:
            yield nodes

    def up_to(self, part: Part) -> "Network":
        """The model that gives what a node reads, and nothing else; something is not `fixed`."""
        reads = [name for name in self.node(part).inputs if name not in self.fixed]
        data, names = self.whole.giving(reads, alone=True)
        outputs = tuple(model.OutputSpec(name, None) for name in names)
        # A test states its own outputs, and its tolerance is theirs.
        case = replace(self.case, expect=model.Computed(), tolerance=None)
        return Network(replace(case, model=data, outputs=outputs, empty="it is what nodes read"))

    def turned(self) -> "Network":
        """The model on the other data of a second run."""
        pairs = zip(self.case.inputs, self.evaluation.question.second, strict=True)
        inputs = (replace(one, content=model.Given(array)) for one, array in pairs)
        return Network(replace(self.case, inputs=tuple(inputs)))

    def asking_for(self, names: Sequence[str], *, turned: bool = False) -> model.Question:
        """The question for these tensors, after the model's outputs; on other data if `turned`."""
        asked = self.evaluation.question
        data, more = self.whole.giving(names)
        outputs = (*asked.task.outputs, *(model.OutputSpec(name, None) for name in more))
        task = replace(asked.task, outputs=outputs, model=data)
        # The same data again: a node may be wrong in a later run alone.
        return replace(asked, task=task, second=asked.second if turned else asked.inputs)


def is_whole(dtype: dtypes.DType | None) -> bool:
    """Return True for integers and truth values."""
    return dtype is not None and dtype.kind in ("int", "bool")


def case_of(network: Network, part: Part, values: Values, *, later: bool = False) -> model.Case:
    """A node as a case of its own, on these values."""
    op, domain = part.op, part.op.domain
    schema = opset.versions(domain, op.name)[op.since]
    inputs, reads = [], network.node(part).inputs
    slots = [*_slots(schema.inputs, reads)]
    for slot, name in zip(slots, reads, strict=True):
        if name and isinstance(array := values.get(name), np.ndarray):
            dtype = dtypes.of(array)
            assert dtype
            held = name in network.constants
            inputs.append(model.TensorSpec(slot, dtype, array.shape, model.Given(array), (), held))
    outputs = enumerate(_slots(schema.outputs, part.outputs))
    tail = ", in a later run" if later else ""
    plain: Any = network.node(part).attrs
    return model.Case(
        id=f"node {part.place} of {len(network.parts)}, {part.name}{tail}",
        name=part.name,
        op=op,
        opset=network.whole.opset(domain) or op.since,
        dtype=inputs[0].dtype if inputs else None,
        attrs=plain,
        inputs=tuple(inputs),
        slots=tuple(slot if name else "" for slot, name in zip(slots, reads, strict=True)),
        outputs=tuple(model.OutputSpec(slot, None, n) for n, slot in outputs if part.outputs[n]),
        expect=model.Computed(),
        source=model.Source(network.case.source.file, 0, 0),
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

    case: model.Case
    names: list[str]
    share: float = 0.0


def extracted(
    network: Network, shares: Mapping[str, float]
) -> tuple[list[Extracted], list[tuple[str, str]]]:
    """The nodes of a model as cases, each question once, and nodes that make none, with why.

    `shares` are the parts of the time that nodes take, by name.
    """
    found: dict[str, Extracted] = {}
    left: list[tuple[str, str]] = []
    for part, values in network.values():
        if part.op.name == "Constant":
            continue
        if why := network.why_not.get(part) or network.failed.get(part.place):
            left.append((part.name, why))
            continue
        if missing := [name for name in network.node(part).inputs if name and name not in values]:
            left.append((part.name, f"{missing[0]} is not known, which opcheck cannot compute"))
            continue
        case = case_of(network, part, values)
        # Weights of one shape ask the same, whatever their range.
        text = case_file([replace(case, name="")], made_up)
        key = re.sub(r"(uniform|choice): \[.*?\]", r"\1", text)
        one = found.setdefault(key, Extracted(replace(case, name=f"node_{len(found)}"), []))
        one.names.append(part.name)
        one.share += shares.get(part.name, 0.0)
    return sorted(found.values(), key=lambda one: -one.share), left
