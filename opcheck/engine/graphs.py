"""Graphs, node by node, for any kind of numbers: subgraphs, models, and function bodies.

A graph's tensors are those of a model: each is in its declared type, rounded to it. Nodes, and the
elements that are held, count against `opcheck.budget`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from opcheck import budget, dtypes, engine, numbers, opset
from opcheck.dtypes import DType
from opcheck.engine.node import Node, attributes_for, bound_types, operator_of
from opcheck.engine.operators import Formula, signature_of
from opcheck.engine.readings import reader_in_force
from opcheck.engine.sizes import check_sizes, elements_of
from opcheck.engine.undefined import marking
from opcheck.errors import (
    BeyondBudget,
    InvalidNode,
    NodeWithoutAnswer,
    NotSupported,
    decline,
    reject,
)
from opcheck.grouping import not_none
from opcheck.model import OpVersion, Task
from opcheck.numbers.arithmetic import Kind, Number
from opcheck.numbers.bounded.array import Bounded
from opcheck.numbers.bounded.movement import cast_to_half
from opcheck.opset import OUTER, AttributeReference, Body, BodyNode, Schema

#: Tensors by name.
_Named: TypeAlias = Mapping[str, Any]
#: Tensors, lists of them, and None for one left out.
_Values: TypeAlias = Sequence[Any]
_INNER = "in the graph, "
_BYTES_OF_HALF = 2
#: A sequence that a node gives counts as one more run of a node for each so many tensors in it.
_TENSORS_OF_A_RUN = 10
#: Operators that convert a tensor to another type, which is all that they do.
_CASTS = ("Cast", "CastLike")
#: Since this version, operators of optionals also take tensors and sequences.
_OPTIONALS_TAKE_VALUES = 18


def body_formula(op: OpVersion) -> Formula:
    """Return the function body of an operator as a formula, for any kind of numbers.

    The body may depend on the types and shapes of the inputs and on the attributes, so it is built
    at each call, which onnx does in less than a millisecond. The formula raises NotSupported where
    there is none or one of its operators is missing, and InvalidNode for what they forbid.
    """
    from opcheck.opset import onnx_defs

    schema = opset.versions(op.domain, op.name)[op.since]

    def formula(*inputs: Any, **attrs: Any) -> _Values:
        stated = {name: value for name, value in attrs.items() if value is not None}
        fed = [
            x if x is None else (not_none(dtypes.of(np.empty(0, x.dtype))), x.shape) for x in inputs
        ]
        version = max(op.since, *schema.bodies)
        body = onnx_defs.body(op, version, stated, fed, len(schema.outputs))
        if body is None:
            raise NotSupported(f"{op} has no function body for these inputs")
        return _run(body, inputs, {}, stated)

    formula.__signature__ = signature_of(schema, schema.attributes)  # type: ignore[attr-defined]
    formula.__name__ = f"{op.name}_body"
    return formula


class _Optional(list[Any]):
    """An optional: the tensor that it holds, or nothing."""


@dataclass(frozen=True, eq=False)
class Subgraph:
    """A graph in an attribute, as a function of its inputs, for any kind of numbers.

    `around` are the tensors by name that it may use from around it.
    """

    body: Body
    around: Mapping[str, Any] = field(default_factory=dict)

    @property
    def outer(self) -> int:
        """The number of tensors the node has for its subgraphs, as far as this one uses them."""
        places = [name.removeprefix(f"{OUTER}_") for name in self.body.outer]
        return max((int(place) + 1 for place in places if place.isdecimal()), default=0)

    @property
    def is_exact(self) -> bool:
        """True if nothing in it computes with floating numbers."""
        for node in self.body.nodes:
            if node.graphs:
                continue
            operator = operator_of(node.op)
            if operator is None or not operator.exact:
                return False
        inner = [Subgraph(graph) for node in self.body.nodes for graph in node.graphs]
        return all(graph.is_exact for graph in inner)

    @property
    def casts(self) -> bool:
        """True if a node in it is a cast, which an implementation might leave out."""
        if any(node.op.name in _CASTS for node in self.body.nodes):
            return True
        inner = [Subgraph(graph) for node in self.body.nodes for graph in node.graphs]
        return any(graph.casts for graph in inner)

    def within(self, tensors: Sequence[Any]) -> "Subgraph":
        """Return the graph where these are the node's tensors for its subgraphs.

        They take the place of all that `around` had.
        """
        return replace(self, around={f"{OUTER}_{n}": x for n, x in enumerate(tensors)})

    def __call__(self, *inputs: Any) -> _Values:
        """Return the outputs, each in its own type, as tensors of a model are.

        Each call counts as a run of a node, for it is an iteration, and a graph may have no nodes.
        What it held is released: a caller that keeps outputs holds them.

        Raises InvalidNode for another number of inputs, for names of nothing, and for what the
        specification forbids a node in it; NotSupported for operators that are missing, for random
        numbers, and for what depends on how numbers were rounded; BeyondBudget for too many nodes
        or elements; and otherwise what the formulas of its nodes raise.
        """
        if len(inputs) != len(self.body.inputs):
            raise InvalidNode(f"a graph of {len(self.body.inputs)} inputs is fed {len(inputs)}")
        with numbers.setting(numbers.in_graph, True), budget.counting() as spent:
            spent.run()
            held = spent.held
            outputs = _run(self.body, inputs, self.around)
            spent.held = held
            return outputs

    def run(self, values: _Named, optionals: Collection[str]) -> list[Any]:
        """Return the outputs of a whole model on plain `values`: tensors, lists of them, or None.

        `optionals` are the names of inputs of that type, of which None is an empty one; an output
        that is an empty optional is None. Outside of its own graphs the model may draw random
        numbers.

        Raises InvalidNode for names of nothing and for what the specification forbids a node in it;
        NotSupported for operators that are missing; BeyondBudget for too many nodes or elements;
        and otherwise what the formulas of its nodes raise.
        """
        inputs: list[Any] = []
        for name, x in values.items():
            if name in optionals:
                x = _Optional(() if x is None else [x])
            inputs.append(x)
        outputs = _run(self.body, inputs, {})
        return [next(iter(x), None) if isinstance(x, _Optional) else x for x in outputs]


def outputs_of(model: Node) -> tuple[str, ...]:
    """Return the names of the outputs of a whole model, which is one node."""
    graph: Any = model.attrs["graph"]
    names: tuple[str, ...] = graph.body.outputs
    return names


def node_without(model: Node, number: int) -> Node:
    """Return a whole model without one of its nodes, by its number, and what depends on it.

    Left are the outputs that do not depend on it, maybe none, and the nodes that they need. Nodes
    keep their numbers.
    """
    graph: Any = model.attrs["graph"]
    body = graph.body
    unknown: set[str] = set()
    for node in body.nodes:
        if node.number == number or not unknown.isdisjoint(node.reads):
            unknown.update(filter(None, node.outputs))
    outputs = tuple(name for name in body.outputs if name not in unknown)
    rest = replace(graph, body=_needed(replace(body, outputs=outputs)))
    return replace(model, attrs={**model.attrs, "graph": rest})


def _needed(body: Body) -> Body:
    """Return a graph without the nodes that none of its outputs needs."""
    read = {*body.outputs}
    needed = []
    for node in reversed(body.nodes):
        if not read.isdisjoint(filter(None, node.outputs)):
            needed.append(node)
            read.update(node.reads)
    return replace(body, nodes=tuple(reversed(needed)))


def graph_of(task: Task) -> Subgraph:
    """Return the whole model of a task, as a function of `task.inputs`.

    Raises UsageError for a file of weights that has changed, ValueError for a sparse constant.
    """
    from opcheck.opset import onnx_defs, weights

    weights.are_outside(task.model or b"")
    body = onnx_defs.model_body(task.model or b"")
    return Subgraph(replace(body, inputs=tuple(one.name for one in task.ports or task.inputs)))


def _run(body: Body, inputs: _Values, around: _Named, attrs: _Named | None = None) -> _Values:
    """Return the outputs of a body; of a function with `attrs`, or else of a graph.

    around: tensors by name that it may use from around it. An output of no name is None. The nodes
    of a graph, and the elements that it holds, count against the budget of the evaluation in
    progress.

    Raises InvalidNode for a name of nothing and for what a node's specification forbids;
    NotSupported for operators that are missing, and BeyondBudget.
    """
    named: dict[str, Any] = {"": None, **around, **dict.fromkeys(body.inputs)}
    named |= dict(zip(body.inputs, inputs, strict=False))
    sizes: dict[str, int] = {}
    with budget.counting() as spent, marking(allowed=False):
        for node, done in zip(body.nodes, body.done, strict=True):
            _lift_constants(body, node.reads, named)
            _check_names(node, named)
            if attrs is None:
                outputs = _run_in_graph(node, named, spent)
            else:
                outputs = _computed(node, [named[name] for name in node.inputs], named, attrs)
            # An output that is left out has no name, like an input that is.
            new = {name: x for name, x in zip(node.outputs, outputs, strict=False) if name}
            named |= new
            if attrs is None:
                sizes |= {name: elements_of(x) for name, x in new.items()}
                spent.hold(sum(sizes[name] for name in new))
            for name in done:
                named.pop(name, None)
                spent.held -= sizes.pop(name, 0)
        _lift_constants(body, body.outputs, named)
    return tuple(named.get(name) for name in body.outputs)


def _lift_constants(body: Body, names: Iterable[str], named: dict[str, Any]) -> None:
    """Add the body's constants of these names to `named`, as the kind of numbers in force.

    Weights are many times as large in other kinds of numbers: each for its own time.
    """
    for name in names:
        if name in body.constants and named.get(name) is None:
            named[name] = numbers.lifted(body.constants[name])


def _check_names(node: BodyNode, named: _Named) -> None:
    """Raise InvalidNode if a node reads a tensor that does not exist."""
    for name in node.inputs:
        if name not in named:
            raise InvalidNode(f"nothing is called {name} there")


def _run_in_graph(node: BodyNode, named: _Named, spent: budget.Budget) -> _Values:
    """Return the outputs of a graph's node; an error names the innermost node of graphs in it.

    spent: counts the run, more runs for a long sequence, and one tensor at a time. Raises
    InvalidNode for what the node's specification forbids, NodeWithoutAnswer for what is not
    computed, BeyondBudget for too much.
    """
    spent.run()
    try:
        outputs = _outputs_in_graph(node, named)
        for x in outputs:
            # What waits for its errors holds all that it is computed of.
            getattr(x, "errors", None)
    except InvalidNode as error:
        if str(error).startswith(_INNER):
            raise
        raise InvalidNode(f"{_INNER}{_named(node)}: {error}") from None
    except BeyondBudget:
        raise
    except NotSupported as error:
        name = node.name or next(filter(None, node.outputs), "")
        message = f"node {node.number}, {name} ({node.op.name}): {error}"
        raise NodeWithoutAnswer(message, node.number) from error
    reader = reader_in_force()
    if reader is not None:
        reader.note_node(_named(node), outputs)
    # A loop that appends to a sequence goes through all of it in each iteration.
    spent.run(sum(len(x) // _TENSORS_OF_A_RUN for x in outputs if isinstance(x, list)))
    for x in outputs:
        budget.check(f"{node.op} gives a tensor", elements_of(x))
    return outputs


def _named(node: BodyNode) -> str:
    """Return how a message names a node: by its operator and its first output."""
    return f"{node.op.name}, which gives {next(filter(None, node.outputs), '')!r}"


def _outputs_in_graph(node: BodyNode, named: _Named) -> _Values:
    """Return the outputs of a graph's node as tensors of a model: each in its declared type.

    Raises NotSupported for a sequence where none is expected, for an operator that is missing, and
    for what depends on how numbers were rounded; InvalidNode for what its specification forbids.
    """
    operands = [named[name] for name in node.inputs]
    schema = opset.versions(node.op.domain, node.op.name).get(node.op.since)
    takes_lists = _takes_lists(schema)
    if not takes_lists and not node.graphs:
        if any(isinstance(x, list) for x in operands):
            decline(node.op.name != "Identity", f"{node.op} of a sequence within a graph")
            return operands
        if not any(isinstance(x, Kind) for x in operands):
            return _outputs_of_plain(node, operands)
    moves = _moves_elements(node)
    if moves:
        # A size, a ratio or a fill is an array like any other, where it is known.
        operands = [numbers.if_known(x) for x in operands]
    with _declining_unsure(node, operands, moves):
        if schema is not None and takes_lists:
            return _outputs_of_lists(node, schema, operands, named)
        outputs = _after_cast(node, operands, _computed(node, operands, named, {}))
    if moves:
        return _relifted(outputs)
    if node.graphs or schema is None:
        return outputs
    return _in_declared_types(node, schema, operands, outputs)


def _takes_lists(schema: Schema | None) -> bool:
    """Return True if a node of this schema takes or gives sequences or optionals."""
    return schema is not None and any(x.listed for x in (*schema.inputs, *schema.outputs))


def _moves_elements(node: BodyNode) -> bool:
    """Return True if the outputs of a node hold elements of its inputs, which it moves."""
    operator = operator_of(node.op)
    return operator is not None and operator.exact and not node.graphs


@contextmanager
def _declining_unsure(node: BodyNode, operands: list[Any], moves: bool) -> Iterator[None]:
    """Raise NotSupported for what a formula raises on operands that it was not written for.

    Those are TypeError, AttributeError, ValueError and IndexError. They are raised on, if neither a
    sequence nor a number that rounding decides is among the operands.
    """
    try:
        yield
    except (TypeError, AttributeError, ValueError, IndexError) as error:
        reason = _reason_to_decline(node, operands, moves)
        if reason is None:
            raise
        raise NotSupported(reason) from error


def _outputs_of_plain(node: BodyNode, operands: list[Any]) -> list[Any]:
    """Return the outputs of a node of plain arrays, as the kind of numbers in force.

    Those that are not asked for are None. Raises as `evaluate` does: InvalidNode, NotSupported and
    MemoryError.
    """
    plain = Node(node.op, tuple(operands), node.attrs, node.asked)  # type: ignore[arg-type]
    outputs = map(numbers.lifted, engine.evaluate.evaluate(plain))
    by_place = dict(zip(node.asked, outputs, strict=True))
    return [by_place.get(place) for place in range(len(node.outputs))]


def _reason_to_decline(node: BodyNode, operands: list[Any], moves: bool) -> str | None:
    """Return why a formula may fail on these operands, None if it has no excuse.

    moves: the node's formula only moves elements. Formulas that do so are written for arrays, and
    none reads what is not sure: integers, indices and booleans that rounding decides.
    """
    if any(isinstance(x, list) for x in operands):
        return f"{node.op} of such sequences or optionals within a graph"
    unsure = [x for x in operands if isinstance(x, Kind)]
    are_floats = all(isinstance(x, Number) and x.dtype.kind not in "iu" for x in unsure)
    if not unsure or (not moves and are_floats):
        return None
    return f"what {node.op} does here depends on how numbers were rounded"


def _in_declared_types(
    node: BodyNode, schema: Schema, operands: list[Any], outputs: _Values
) -> list[Any]:
    """Return outputs in the types that the node's schema declares.

    Raises InvalidNode for operands of types that it does not allow.
    """
    bound = bound_types(schema, [x if x is None else np.empty(0, x.dtype) for x in operands])
    attrs: dict[str, Any] = {a.name: a.default for a in schema.attributes.values()}
    attrs |= node.attrs
    typed = []
    for place, output in enumerate(outputs):
        parameter = schema.outputs[min(place, len(schema.outputs) - 1)]
        typed.append(_rounded_to(output, opset.output_dtype(schema, parameter, bound, attrs)))
    return typed


def _rounded_to(x: Any, dtype: DType | None) -> Any:
    """Return a tensor in the type that its operator declares, rounded to it.

    Plain arrays, and those of which the type is None, stay in theirs.
    """
    if not isinstance(x, Number):
        return x
    if dtype and dtype.kind == "float" and x.dtype != dtype.numpy:
        x = numbers.astype(x, dtype.numpy)
    if x.dtype.itemsize == _BYTES_OF_HALF and x.dtype.kind not in "biu":
        return numbers.astype(numbers.astype(x, np.float32), x.dtype)  # of what is computed wider
    return x


def _after_cast(node: BodyNode, operands: list[Any], outputs: _Values) -> _Values:
    """Return the outputs of a cast to a 16-bit type in numbers of that type; others as they are."""
    if node.op.name not in _CASTS:
        return outputs
    x, y = operands[0], outputs[0]
    if not isinstance(x, Bounded) or not isinstance(y, Bounded) or x.dtype == y.dtype:
        return outputs
    dtype = dtypes.of(np.empty(0, y.dtype))
    if dtype is None or dtype.kind != "float" or y.dtype.itemsize != _BYTES_OF_HALF:
        return outputs
    return [cast_to_half(y)]


def _relifted(outputs: Iterable[Any]) -> list[Any]:
    """Return outputs of a formula of plain arrays, as the kind of numbers in force."""
    return [numbers.lifted(x) if isinstance(x, np.ndarray) else x for x in outputs]


# Sequences and optionals, which are lists of tensors in a graph.


def _outputs_of_lists(
    node: BodyNode, schema: Schema, operands: _Values, named: _Named
) -> list[Any]:
    """Return the outputs of a node of sequences or optionals.

    A sequence or optional comes out as one list. Raises InvalidNode for one in place of the other,
    NotSupported for an operator that is missing, and what the formula raises.
    """
    if node.graphs:
        return _mapped(node, Subgraph(node.graphs[0], named), operands)
    lists = [x for x in operands if isinstance(x, list)]
    of_optionals = bool(opset.form_of(node.op.name))
    _check_optionals(node, lists, of_optionals)
    if of_optionals:
        # A sequence is one value, which is given or held.
        lists = [x if isinstance(x, _Optional) else _Optional([x]) for x in lists]
    fed = [numbers.if_known(x) for x in operands if not isinstance(x, list)]
    if lists:
        # The tensors of a sequence come last, and no operand is left out before them.
        before = len(schema.inputs) - 1 if schema.inputs[-1].listed else 0
        fed += [None] * (before - len(fed))
        fed += lists[0]
    outputs = _relifted(_computed(node, fed, {}, {}))
    if schema.outputs[-1].listed:
        return [_Optional(outputs) if of_optionals else outputs]
    if node.op.name == "OptionalGetElement" and lists and _holds_sequence(lists[0]):
        return [outputs]
    return outputs


def _holds_sequence(optional: list[Any]) -> bool:
    """Return True if what an optional holds is a sequence."""
    return any(isinstance(x, list) for x in optional)


def _check_optionals(node: BodyNode, lists: Sequence[list[Any]], of_optionals: bool) -> None:
    """Raise InvalidNode for a sequence in place of an optional, or the other way round.

    lists: the sequences and optionals among the operands; of_optionals: the operator is one of
    optionals. Since version 18 these take sequences too.
    """
    are_optionals = [isinstance(x, _Optional) for x in lists]
    makes_optional = node.op.name == "Optional"
    takes_optionals = of_optionals and not makes_optional
    misplaced = any(are_optionals) and not takes_optionals
    reject(misplaced, "an optional in place of a sequence")
    takes_no_others = takes_optionals and node.op.since < _OPTIONALS_TAKE_VALUES
    reject(takes_no_others and not all(are_optionals), "a sequence in place of an optional")


def _mapped(node: BodyNode, body: Subgraph, operands: _Values) -> list[Any]:
    """Return the sequences that SequenceMap's body makes of sequences, and of tensors with them.

    Raises InvalidNode for operands or a body that the specification forbids, NotSupported for
    sequences of several lengths and outputs that are left out, and what the body raises.
    """
    sequences = [x for x in operands if isinstance(x, list)]
    reject(not isinstance(operands[0], list), "its first input is no sequence")
    has_optional = any(isinstance(x, _Optional) for x in sequences)
    reject(has_optional, "an optional in place of a sequence")
    outputs = len(body.body.outputs)
    reject(outputs < len(node.outputs), f"a body of {outputs} outputs")
    # Those that nobody reads are no longer there.
    decline(outputs > len(node.outputs), f"{node.op} of a body of more outputs")
    lengths = {len(x) for x in sequences}
    decline(len(lengths) > 1, f"sequences of {sorted(lengths)} tensors")
    columns = [x if isinstance(x, list) else [x] * len(operands[0]) for x in operands]
    rows = []
    with budget.iterating(len(operands[0])) as held:
        for row in zip(*columns, strict=True):
            rows.append(body(*row))
            held.replace(0, elements_of(rows[-1]))
    return [[tensors[place] for tensors in rows] for place in range(outputs)]


def _computed(node: BodyNode, operands: _Values, named: _Named, attrs: _Named) -> _Values:
    """Return the outputs of one node of a body, by its operator's formula.

    `named` are the tensors that its graphs may use, `attrs` the attributes of the body's function.
    Raises NotSupported for an operator that is missing, BeyondBudget for a tensor that is too
    large, and what the formula raises. Neither inputs nor outputs are checked against the schema.
    """
    operator = operator_of(node.op)
    if operator is None:
        raise NotSupported(f"the engine has no formula for {node.op}, a part of it")
    function = operator.formulas[node.op.since]
    schema = opset.versions(node.op.domain, node.op.name)[node.op.since]
    stated = _stated_attributes(node, named, attrs)
    arguments = attributes_for(function, schema, Node(node.op, (), stated, node.asked))
    while operands and operands[-1] is None:
        operands = operands[:-1]
    check_sizes(node.op, operands, arguments)
    outputs = function(*operands, **arguments)
    return outputs if isinstance(outputs, tuple | list) else (outputs,)


def _stated_attributes(node: BodyNode, named: _Named, attrs: _Named) -> dict[str, Any]:
    """Return the attributes of a node; references have the values of the body's function.

    A reference to an attribute that is not stated is left out. A graph becomes a Subgraph that may
    use the tensors `named`.
    """
    stated: dict[str, Any] = {}
    for name, value in node.attrs.items():
        held = attrs.get(value.name) if isinstance(value, AttributeReference) else value
        if isinstance(held, Body):
            stated[name] = Subgraph(held, named)
        elif held is not None:
            stated[name] = held
    return stated
