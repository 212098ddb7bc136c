"""A node with its data, checked against its operator's schema and ready to be computed; and the
specification's own function bodies, node by node, as formulas."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from opcheck import budget, dtypes, engine, numbers, opset
from opcheck.dtypes import DType, identical
from opcheck.engine.operators import (
    OUTPUTS,
    STATED,
    USED,
    Formula,
    Operator,
    find,
    keywords,
    signature_of,
)
from opcheck.engine.sizes import check_sizes, elements_of
from opcheck.errors import InvalidNode, NotSupported, decline, reject
from opcheck.grouping import sure
from opcheck.model import GRAPH, Array, Attrs, OpVersion, Task, Typed
from opcheck.numbers.arithmetic import Kind, Number
from opcheck.opset import OUTER, Attribute, AttributeReference, Body, BodyNode, Parameter, Schema

T = TypeVar("T")
#: True where it only matters whether nodes are legal: right outputs are plain ones there.
of_legality: ContextVar[bool] = ContextVar("of_legality", default=False)
_Named: TypeAlias = Mapping[str, Any]
_Values: TypeAlias = Sequence[Any]  # Tensors, lists of them, and None for one left out.
_Arrays: TypeAlias = tuple[Array, ...]
_INNER = "in the graph, "


@dataclass(frozen=True, eq=False)
class Node:
    """An operator version with its attributes and its inputs, in the operator's order.

    An optional input that is left out is None. `outputs` are the places of those that are asked
    for, None for all. `constant`: one of the inputs is an initializer of the model.
    """

    op: OpVersion
    inputs: tuple[Array | None, ...]
    attrs: Attrs
    outputs: Sequence[int] | None = None
    constant: bool = False
    #: The opset of the model, which decides the operators' versions in subgraphs.
    opset: int | None = None
    #: Many mutants read the same other attributes, or inputs of a narrower type.
    _variants: "dict[str, Node]" = field(default_factory=dict, init=False, repr=False)

    @property
    def count(self) -> int:
        """The number of outputs a formula must give, so that those asked for are among them."""
        return max(self.outputs or (), default=0) + 1

    @property
    def given(self) -> _Arrays:
        """The inputs that are not left out."""
        return tuple(array for array in self.inputs if array is not None)

    @property
    def tensors(self) -> _Arrays:
        """The inputs that are not left out, and the tensors among the attributes."""
        return (*self.given, *(v for v in self.attrs.values() if isinstance(v, np.ndarray)))

    @cached_property
    def dtype(self) -> str:
        """The dtype that it is about, by its name; "" where there is none: see `dtype_of`."""
        known = dtype_of(self.op, self.attrs, None if self.lead is None else dtypes.of(self.lead))
        return known.name if known else ""

    @property
    def lead(self) -> Array | None:
        """The leading input; see `leading`."""
        return leading(self.op, self.inputs)

    @property
    def right(self) -> _Arrays:
        """The engine's rounded outputs; raises InvalidNode for a forbidden node."""
        if of_legality.get():
            return self.plain
        found = self._right
        if isinstance(found, Exception):
            raise type(found)(*found.args)
        return found() if callable(found) else found

    @cached_property
    def _right(self) -> _Arrays | Callable[[], _Arrays] | InvalidNode | NotSupported:
        """The outputs, what draws them anew each time, or why there are none."""
        try:
            # Bounds are not kept for the nodes of which nobody asks for them: they take memory.
            found = self.exact if "exact" in vars(self) else engine.evaluate.exactly(self)
        except (InvalidNode, NotSupported) as error:
            return error.with_traceback(None)
        except MemoryError as error:  # of sizes drawn at random
            return NotSupported(str(error))
        if any(isinstance(out, engine.Drawn) for out in found):
            return lambda: tuple(map(engine.rounded, found))
        return tuple(map(engine.rounded, found))

    @cached_property
    def exact(self) -> tuple[Any, ...]:
        """The outputs with their bounds; raises what `engine.evaluate.exactly` raises."""
        return engine.evaluate.exactly(self)

    @cached_property
    def plain(self) -> _Arrays:
        """The outputs of the formula on plain arrays; raises InvalidNode as `right` does."""
        return engine.evaluate.evaluate(self)

    @cached_property
    def primitives(self) -> frozenset[str]:
        """The functions that the operator's formula calls on this node, outside of subgraphs."""
        if opset.versions(self.op.domain, self.op.name)[self.op.since].graphs:
            return frozenset()
        found: set[str] = set()
        with suppress(InvalidNode, NotSupported, MemoryError):
            engine.evaluate.evaluate(self, trace=found)
        return frozenset(found)

    @cached_property
    def draws(self) -> bool:
        """True if outputs are drawn at random, which inputs and attributes may decide."""
        operator = operator_of(self.op)
        if operator is None or operator.related is None:
            return operator is not None and operator.random
        return "drawn" in self.primitives

    @cached_property
    def is_legal(self) -> bool:
        """True if the engine computes the node; what a specification forbids it does not."""
        if not of_legality.get():
            return not isinstance(self._right, Exception)
        try:
            _ = self.plain
        except (InvalidNode, NotSupported, MemoryError):
            return False
        return True

    @cached_property
    def malformed(self) -> bool:
        """True if an attribute has another type than declared, or is not declared."""
        return any(isinstance(value, Typed) for value in self.attrs.values())

    @property
    def rank(self) -> int:
        """The rank of the leading input, or of the output where an attribute holds its values."""
        if opset.versions(self.op.domain, self.op.name)[self.op.since].by_value:
            return self.right[0].ndim
        return 0 if self.lead is None else self.lead.ndim

    def subgraph(self, name: str) -> "Subgraph":
        """The graph in an attribute; raises InvalidNode if there is none."""
        from opcheck.opset import onnx_defs

        try:
            return Subgraph(onnx_defs.subgraph(str(self.attrs[name]), self.opset or self.op.since))
        except ValueError as error:
            raise InvalidNode(f"{name}: {error}") from None

    def at(self, since: int) -> "Node":
        """Return the node in another version."""
        return replace(self, op=replace(self.op, since=since))

    def with_attrs(self, **changed: Any) -> "Node":
        """Return the node with other attributes; None leaves one out."""

        def made() -> Node:
            attrs = {k: v for k, v in {**self.attrs, **changed}.items() if v is not None}
            # Long arrays are abbreviated there.
            same = not tensors and repr(attrs) == repr(self.attrs)
            return self if same else replace(self, attrs=attrs)

        tensors = any(isinstance(value, np.ndarray) for value in changed.values())
        return made() if tensors else self.variant(repr(changed), made)

    def variant(self, name: str, made: "Callable[[], Node]") -> "Node":
        """Return the node that is `made`, once by this name if its inputs are small."""
        if name in self._variants:
            return self._variants[name]
        found = made()
        if sum(array.nbytes for array in self.given) <= 1 << 16:  # no variants of larger ones
            self._variants[name] = found
        return found

    def with_inputs(self, change: Callable[[Array], Array]) -> "Node":
        """Return the node with each tensor changed, of inputs and of attributes."""
        node = self._fed(tuple(None if one is None else change(one) for one in self.inputs))
        tensors = {n: v for n, v in self.attrs.items() if isinstance(v, np.ndarray)}
        held = {name: np.asarray(change(value)) for name, value in tensors.items()}
        return replace(node, attrs={**self.attrs, **held}) if held else node

    def with_input(self, place: int, array: Array | None) -> "Node":
        """Return the node with another input."""
        return self._fed((*self.inputs[:place], array, *self.inputs[place + 1 :]))

    def _fed(self, inputs: tuple[Array | None, ...]) -> "Node":
        """The node on these inputs; itself where they are its own, bit by bit."""
        for one, own in zip(inputs, self.inputs, strict=True):
            if one is not own and (one is None or own is None or not identical(one, own)):
                return replace(self, inputs=inputs)
        return self


@dataclass(frozen=True, eq=False)
class BoundNode:
    """A node that its schema allows, with its operator's formula.

    `attrs` has all that the formula takes; `dtypes` are of type variables that the inputs bind.
    """

    node: Node
    operator: Operator
    schema: Schema
    formula: Formula
    attrs: Mapping[str, Any]
    dtypes: Mapping[str, DType]

    @cached_property
    def graphs(self) -> Mapping[str, "Subgraph"]:
        """The subgraphs among the attributes."""
        return {name: self.attrs[name] for name in self.schema.graphs if self.attrs.get(name)}

    def output_dtype(self, n: int) -> DType | None:
        """The dtype of an output that is asked for; None where only the formula can tell."""
        if self.schema.graphs:
            return None
        outputs, asked = self.schema.outputs, self.node.outputs
        output = outputs[min(n if asked is None else asked[n], len(outputs) - 1)]
        return opset.output_dtype(self.schema, output, self.dtypes, self.attrs)


def operator_of(op: OpVersion) -> Operator | None:
    """The operator, or None where the engine has none or lacks this version."""
    operator = find(op.domain, op.name)
    return operator if operator and op.since in operator.formulas else None


def any_order(op: OpVersion, attrs: Attrs) -> int | Literal["rows"] | None:
    """Return the axis along which the outputs may come in any order; None where there is none."""
    operator = operator_of(op)
    if operator is None or operator.any_order is None:
        return None
    declared = opset.versions(op.domain, op.name)[op.since].attributes.values()
    return operator.any_order({one.name: attrs.get(one.name, one.default) for one in declared})


def leading(op: OpVersion, inputs: Sequence[T]) -> T | None:
    """The input whose type kernels differ by, the first that may be of several; None if missing."""
    schema = opset.versions(op.domain, op.name).get(op.since)
    place = schema.lead if schema else 0
    end = place + 1 + (schema is not None and schema.in_place_of_optional)
    there = (x for x in inputs[place:end] if x is not None and not (isinstance(x, str) and not x))
    return next(there, None)


def dtype_of(op: OpVersion, attrs: Attrs, lead: DType | None) -> DType | None:
    """The dtype that kernels differ by: of the `lead` input, or of an output by an attribute."""
    schema = opset.versions(op.domain, op.name).get(op.since)
    if schema is None or (schema.inputs and not schema.by_value):
        return lead
    known = {name: value for name, value in attrs.items() if not isinstance(value, Typed)}
    found = opset.output_dtype(schema, schema.outputs[-1], {}, known)
    # An attribute that names no type may be taken for its default.
    return found if found or schema.by_value else dtype_of(op, {}, lead) if attrs else None


def dtypes_of(op: OpVersion) -> tuple[str, ...]:
    """The dtypes of a version's cases that the engine computes."""
    if operator_of(op) is None:
        return ()
    types = opset.versions(op.domain, op.name)[op.since].typed.types
    return tuple(dtype.name for dtype in dtypes.DTYPES.values() if dtype.text in types)


def bind(node: Node, formula: Formula | None = None) -> BoundNode:
    """Check a node against its schema, and pair it with its formula, or with another one.

    Raises:
        NotSupported: the engine has no formula for exactly this version.
        InvalidNode: the schema forbids these inputs or attributes.
    """
    op = node.op
    if op == GRAPH:
        return BoundNode(node, _MODEL, _OF_MODELS, _MODEL.formulas[0], node.attrs, {})
    operator = operator_of(op)
    if operator is None:
        raise NotSupported(f"the engine has no formula for {op}")
    schema = opset.versions(op.domain, op.name)[op.since]
    try:
        _check_count(schema, node.inputs)
        bound = _bound_types(schema, node.inputs)
        _check_attributes(schema, node.attrs)
    except InvalidNode as error:
        raise InvalidNode(f"{op}: {error}") from None
    function = formula or operator.formulas[op.since]
    attrs = attributes_for(function, schema, node)
    return BoundNode(node, operator, schema, function, attrs, bound)


#: A model as an operator, of which the graph is an attribute.
_MODEL = Operator("", GRAPH.name, __name__, formulas={0: lambda *inputs, graph: graph(*inputs)})
_ITS_GRAPH = Attribute("graph", "graph", required=True, default=None)
_ITS_OUTPUTS = Parameter("outputs", "V", frozenset(), "variadic")
_OF_MODELS = Schema(GRAPH, {"graph": _ITS_GRAPH}, inputs=(), outputs=(_ITS_OUTPUTS,))


def attributes_for(function: Formula, schema: Schema, node: Node) -> dict[str, Any]:
    """The keyword arguments of a formula: stated, else the schema's defaults, else None.

    An attribute that this version lacks is left to the formula's own default.
    """
    found: dict[str, Any] = {}
    names, takes_all = keywords(function)
    for name in (*names, *schema.attributes) if takes_all else names:
        if name in node.attrs and isinstance(node.attrs[name], str) and name in schema.graphs:
            found[name] = node.subgraph(name)
        elif name in node.attrs:
            found[name] = _held(node.attrs[name], schema.attributes[name].type)
        elif name in schema.attributes:
            found[name] = schema.attributes[name].default
        elif name == OUTPUTS:
            found[name] = node.count
        elif name == USED:
            found[name] = node.outputs or (0,)
        elif name == STATED:
            found[name] = frozenset(node.attrs)
    return found


def _held(value: Any, kind: str) -> Any:
    """An attribute as a model holds it, where floats are of 32 bits."""
    if kind not in ("float", "floats"):
        return value
    with np.errstate(over="ignore"):
        held = np.array(value, np.float32).tolist()
    return tuple(held) if kind == "floats" else held


def _check_count(schema: Schema, inputs: Sequence[Array | None]) -> None:
    declared = schema.inputs
    least = max((n + 1 for n, p in enumerate(declared) if p.option == "single"), default=0)
    most: float = len(declared)
    if declared and declared[-1].option == "variadic":
        few = len(declared) - 1 + declared[-1].least if declared[-1].least else 0
        least, most = max(least, few), math.inf
    given = max((n + 1 for n, array in enumerate(inputs) if array is not None), default=0)
    if not least <= given <= most:
        several = f"{least} or more" if most == math.inf else f"{least} to {most}"
        allowed = f"{least}" if least == most else several
        raise InvalidNode(f"{given} inputs; allowed: {allowed}")
    for place, array in enumerate(inputs[:given]):
        parameter = declared[min(place, len(declared) - 1)]
        if array is None and parameter.option != "optional":
            raise InvalidNode(f"input {parameter.name} is left out, which is not optional")


def _bound_types(schema: Schema, inputs: Sequence[Array | None]) -> dict[str, DType]:
    """The dtypes of the type variables; raises InvalidNode where two inputs disagree."""
    bound: dict[str, tuple[DType, str]] = {}
    for place, array in enumerate(inputs):
        if array is None:
            continue
        parameter = schema.inputs[min(place, len(schema.inputs) - 1)]
        dtype = dtypes.of(array)
        if dtype is None or dtype.text not in parameter.types:
            got = f"{parameter.name} of type {dtype or array.dtype}"
            raise InvalidNode(f"{got}; allowed: {_listed(parameter)}")
        if parameter.option == "variadic" and not parameter.homogeneous:
            continue
        known = bound.setdefault(parameter.constraint, (dtype, parameter.name))
        if known[0] != dtype:
            both = f"{parameter.name} of type {dtype} beside {known[1]} of type {known[0]}"
            raise InvalidNode(f"{both}; both are {parameter.constraint}")
    return {name: dtype for name, (dtype, _) in bound.items()}


def _listed(parameter: Parameter) -> str:
    known = [dtype.name for dtype in dtypes.DTYPES.values() if dtype.text in parameter.types]
    return ", ".join(known) or ", ".join(sorted(parameter.types))


def _check_attributes(schema: Schema, attrs: Attrs) -> None:
    for name in attrs:
        if name not in schema.attributes:
            allowed = ", ".join(schema.attributes) or "none"
            raise InvalidNode(f"no attribute {name}; allowed: {allowed}")
    for name, attribute in schema.attributes.items():
        reject(attribute.required and name not in attrs, f"attribute {name} is mandatory")
        if name in attrs:
            words, fits = _KINDS[attribute.type]
            if not fits(attrs[name]):
                raise InvalidNode(f"{name} {attrs[name]!r}; allowed: {words}")
    output = schema.outputs[0]
    made = opset.output_dtype(schema, output, {}, attrs) if schema.by_value else None
    if made and made.text not in output.types:
        raise InvalidNode(f"{output.name} of type {made}; allowed: {_listed(output)}")
    names = opset.naming(schema)
    value = attrs.get(names.name, names.default) if names else None
    if names and value != names.default:
        named = dtypes.named(value)
        texts = {text for output in schema.outputs for text in output.types}
        if named is None or not any(named.text in text for text in texts):
            raise InvalidNode(f"{names.name} {value!r} names no type that the output may have")


def _is_whole(value: object) -> bool:
    """Return True for an integer of 64 bits, which is all that a model holds."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _list_of(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(fits, value))


_KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "int": ("an integer of 64 bits", _is_whole),
    "float": ("a number", _is_number),
    "string": ("a word", lambda value: isinstance(value, str)),
    "ints": ("a list of integers of 64 bits", _list_of(_is_whole)),
    "floats": ("a list of numbers", _list_of(_is_number)),
    "strings": ("a list of words", _list_of(lambda one: isinstance(one, str))),
    "tensor": ("a tensor", lambda value: isinstance(value, np.ndarray)),
    "tensors": ("a list of tensors", _list_of(lambda one: isinstance(one, np.ndarray))),
    "graph": ("a graph", lambda value: isinstance(value, str | Subgraph)),
    "other": ("a type or a sparse tensor", lambda value: not isinstance(value, Typed)),
}


def body_formula(op: OpVersion) -> Formula:
    """The function body of an operator as a formula, for any kind of numbers.

    The body may depend on the types and shapes of the inputs and on the attributes, so it is built
    at each call, which onnx does in less than a millisecond.
    """
    from opcheck.opset import onnx_defs

    schema = opset.versions(op.domain, op.name)[op.since]

    def formula(*inputs: Any, **attrs: Any) -> _Values:
        stated = {name: value for name, value in attrs.items() if value is not None}
        fed = [x if x is None else (sure(dtypes.of(np.empty(0, x.dtype))), x.shape) for x in inputs]
        body = onnx_defs.body(op, max(op.since, *schema.bodies), stated, fed, len(schema.outputs))
        if body is None:
            raise NotSupported(f"{op} has no function body for these inputs")
        return _run(body, inputs, {}, stated)

    formula.__signature__ = signature_of(schema, schema.attributes)  # type: ignore[attr-defined]
    formula.__name__ = f"{op.name}_body"
    return formula


@dataclass(frozen=True, eq=False)
class Subgraph:
    """A graph in an attribute, as a function of its inputs, for any kind of numbers.

    `around` are the tensors by name that it may use from around it.
    """

    body: Body
    around: Mapping[str, Any] = field(default_factory=dict)

    @property
    def outer(self) -> int:
        """The number of tensors the node has for its subgraphs, as far as this one knows."""
        numbers = [name.removeprefix(f"{OUTER}_") for name in self.body.outer]
        return max((int(one) + 1 for one in numbers if one.isdecimal()), default=0)

    @property
    def is_exact(self) -> bool:
        """True if nothing in it computes with floating numbers."""
        inner = (Subgraph(one) for node in self.body.nodes for one in node.graphs)
        known = [operator_of(node.op) for node in self.body.nodes if not node.graphs]
        exact = all(one is not None and one.exact for one in known)
        return exact and all(one.is_exact for one in inner)

    def within(self, tensors: Sequence[Any]) -> "Subgraph":
        """The graph where these are the node's tensors for its subgraphs."""
        return replace(self, around={f"{OUTER}_{n}": x for n, x in enumerate(tensors)})

    def __call__(self, *inputs: Any) -> _Values:
        """The outputs, each in its own type, as tensors of a model are.

        Raises InvalidNode for another number of inputs, for names of nothing, and for what the
        specification forbids a node in it; NotSupported for operators that are missing.
        """
        if len(inputs) != len(self.body.inputs):
            raise InvalidNode(f"a graph of {len(self.body.inputs)} inputs is fed {len(inputs)}")
        with numbers.setting(numbers.in_graph, True):
            return _run(self.body, inputs, self.around)

    def run(self, values: _Named, optionals: Collection[str]) -> list[Any]:
        """The outputs of a whole model on plain `values`: tensors, lists of them, None for nothing.

        `optionals` are the names of inputs of that type. Outside of its own graphs the model may
        draw random numbers. Raises what a call raises.
        """
        inputs = [
            _Optional([x] if x is not None else ()) if name in optionals else x
            for name, x in values.items()
        ]
        outputs = _run(self.body, inputs, {})
        return [next(iter(x), None) if isinstance(x, _Optional) else x for x in outputs]


def graph_of(task: Task) -> Subgraph:
    """The whole model of a task, as a function of `task.inputs`.

    Raises UsageError for a file of weights that has changed, ValueError for a sparse constant.
    """
    from opcheck.opset import onnx_defs, weights

    weights.are_outside(task.model or b"")
    body = onnx_defs.model_body(task.model or b"")
    return Subgraph(replace(body, inputs=tuple(one.name for one in task.ports or task.inputs)))


def _run(body: Body, inputs: _Values, around: _Named, attrs: _Named | None = None) -> _Values:
    """The outputs of a body; of a function with `attrs`, or else each tensor in its own type.

    The nodes of a graph, and the elements that it holds, count against the budget of the evaluation
    in progress. Raises BeyondBudget.
    """
    named: dict[str, Any] = {"": None, **around, **dict.fromkeys(body.inputs)}
    named |= dict(zip(body.inputs, inputs, strict=False))

    def lift(names: Iterable[str]) -> None:
        # Weights are many times as large in other kinds of numbers: each for its own time.
        new = (name for name in names if name in body.constants and named.get(name) is None)
        named.update({name: numbers.lifted(body.constants[name]) for name in new})

    with budget.counting() as spent:
        sizes: dict[str, int] = {}
        for node, done in zip(body.nodes, body.done, strict=True):
            lift(node.reads)
            if lacking := [name for name in node.inputs if name not in named]:
                raise InvalidNode(f"nothing is called {lacking[0]} there")
            if attrs is None:
                outputs = _in_graph(node, named, spent)
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
        lift(body.outputs)
    return tuple(named.get(name) for name in body.outputs)


def _in_graph(node: BodyNode, named: _Named, spent: budget.Budget) -> _Values:
    """The outputs of a graph's node; an error names the innermost node of graphs in it."""
    spent.run()
    held = spent.held
    try:
        outputs = _typed(node, named)
        for x in outputs:
            # What waits for its errors holds all that it is computed of.
            getattr(x, "errors", None)
    except InvalidNode as error:
        if str(error).startswith(_INNER):
            raise
        one = f"{node.op.name}, which gives {next(filter(None, node.outputs), '')!r}"
        raise InvalidNode(f"{_INNER}{one}: {error}") from None
    # Of what its own graphs held, the outputs alone are left.
    spent.held = held
    for x in outputs:
        spent.check(f"{node.op} gives a tensor", elements_of(x))
    return outputs


def _typed(node: BodyNode, named: _Named) -> _Values:
    """The outputs of a subgraph's node as tensors of a model have them."""
    operands = [named[name] for name in node.inputs]
    schema = opset.versions(node.op.domain, node.op.name).get(node.op.since)
    listed = schema and any(x.listed for x in (*schema.inputs, *schema.outputs))
    if not (listed or node.graphs) and any(isinstance(x, list) for x in operands):
        decline(node.op.name != "Identity", f"{node.op} of a sequence within a graph")
        return operands
    if not (listed or node.graphs or any(isinstance(x, Kind) for x in operands)):
        plain = Node(node.op, tuple(operands), node.attrs, node.asked)  # type: ignore[arg-type]
        made = engine.evaluate.evaluate(plain)
        found = dict(zip(node.asked, map(numbers.lifted, made), strict=True))
        return [found.get(n) for n in range(len(node.outputs))]
    operator = operator_of(node.op)
    moves = operator is not None and operator.exact and not node.graphs
    if moves:
        # A size, a ratio or a fill is an array like any other, where it is known.
        operands = [*map(numbers.if_known, operands)]
    try:
        if schema and listed:
            return _of_lists(node, schema, operands, named)
        outputs = _computed(node, operands, named, {})
    except (TypeError, AttributeError, ValueError, IndexError) as error:
        # Formulas that move elements are written for arrays, and none reads what is not sure:
        # integers, indices and booleans that rounding decides.
        unsure = [x for x in operands if isinstance(x, Kind)]
        read = all(isinstance(x, Number) and x.dtype.kind not in "iu" for x in unsure)
        of_lists = any(isinstance(x, list) for x in operands)
        if not of_lists and (not unsure or (not moves and read)):
            raise
        why = f"what {node.op} does here depends on how numbers were rounded"
        other = f"{node.op} of such sequences or optionals within a graph"
        raise NotSupported(other if of_lists else why) from error
    if moves:
        return _relifted(outputs)
    if node.graphs or schema is None:
        return outputs
    bound = _bound_types(schema, [x if x is None else np.empty(0, x.dtype) for x in operands])
    attrs: dict[str, Any] = {one.name: one.default for one in schema.attributes.values()}
    attrs |= node.attrs
    declared = (schema.outputs[min(n, len(schema.outputs) - 1)] for n in range(len(outputs)))
    types = (opset.output_dtype(schema, one, bound, attrs) for one in declared)
    return [_kept(x, dtype) for x, dtype in zip(outputs, types, strict=True)]


class _Optional(list[Any]):
    """An optional: the tensor that it holds, or nothing."""


def _relifted(outputs: Iterable[Any]) -> list[Any]:
    """Outputs of a formula that was fed plain arrays, as the kind of numbers in force."""
    return [numbers.lifted(x) if isinstance(x, np.ndarray) else x for x in outputs]


def _of_lists(node: BodyNode, schema: Schema, operands: _Values, named: _Named) -> _Values:
    """The outputs of a node of sequences or optionals, which are lists of tensors in a graph."""
    if node.graphs:
        return _mapped(node, Subgraph(node.graphs[0], named), operands)
    lists = [x for x in operands if isinstance(x, list)]
    held = [isinstance(x, _Optional) for x in lists]
    of_optionals = bool(opset.form_of(node.op.name))
    makes_one = node.op.name == "Optional"
    reject(any(held) and (makes_one or not of_optionals), "an optional in place of a sequence")
    early = node.op.since < 18 and of_optionals and not makes_one  # later ones take sequences, too
    reject(early and not all(held), "a sequence in place of an optional")
    if of_optionals:
        # A sequence is one value, which is given or held.
        lists = [x if isinstance(x, _Optional) else _Optional([x]) for x in lists]
    fed = [numbers.if_known(x) for x in operands if not isinstance(x, list)]
    if lists:
        # The tensors of a sequence come last, and nobody is left out before them.
        before = len(schema.inputs) - 1 if schema.inputs[-1].listed else 0
        fed += [None] * (before - len(fed)) + lists[0]
    found = _relifted(_computed(node, fed, {}, {}))
    if schema.outputs[-1].listed:
        return [(_Optional if of_optionals else list)(found)]
    of_sequence = of_optionals and lists and any(isinstance(x, list) for x in lists[0])
    return [found] if of_sequence and node.op.name == "OptionalGetElement" else found


def _mapped(node: BodyNode, body: Subgraph, operands: _Values) -> _Values:
    """The sequences that SequenceMap's body makes of sequences, and of tensors beside them."""
    sequences = [x for x in operands if isinstance(x, list)]
    reject(not isinstance(operands[0], list), "its first input is no sequence")
    reject(any(isinstance(x, _Optional) for x in sequences), "an optional in place of a sequence")
    outputs = len(body.body.outputs)
    reject(outputs < len(node.outputs), f"a body of {outputs} outputs")
    # Those that nobody reads are no longer there.
    decline(outputs > len(node.outputs), f"{node.op} of a body of more outputs")
    lengths = {len(x) for x in sequences}
    decline(len(lengths) > 1, f"sequences of {sorted(lengths)} tensors")
    columns = [x if isinstance(x, list) else [x] * len(operands[0]) for x in operands]
    made = [body(*row) for row in zip(*columns, strict=True)]
    return [[tensors[place] for tensors in made] for place in range(outputs)]


def _kept(x: Any, dtype: DType | None) -> Any:
    """A tensor in the type that its operator declares, rounded to it."""
    if dtype and dtype.kind == "float" and isinstance(x, Number) and x.dtype != dtype.numpy:
        x = numbers.astype(x, dtype.numpy)
    if isinstance(x, Number) and x.dtype.itemsize == 2 and x.dtype.kind not in "biu":
        return numbers.astype(numbers.astype(x, np.float32), x.dtype)  # of what is computed wider
    return x


def _computed(node: BodyNode, operands: _Values, named: _Named, attrs: _Named) -> _Values:
    """The outputs of one node of a body; raises NotSupported for an operator that is missing.

    `named` are the tensors that its graphs may use, `attrs` the attributes of the body's function.
    """
    operator = operator_of(node.op)
    if operator is None:
        raise NotSupported(f"the engine has no formula for {node.op}, a part of it")
    stated: dict[str, Any] = {}
    for name, value in node.attrs.items():
        held = attrs.get(value.name) if isinstance(value, AttributeReference) else value
        if held is not None:
            stated[name] = Subgraph(held, named) if isinstance(held, Body) else held
    function = operator.formulas[node.op.since]
    schema = opset.versions(node.op.domain, node.op.name)[node.op.since]
    arguments = attributes_for(function, schema, Node(node.op, (), stated, node.asked))
    while operands and operands[-1] is None:
        operands = operands[:-1]
    check_sizes(node.op, operands, arguments)
    outputs = function(*operands, **arguments)
    return outputs if isinstance(outputs, tuple | list) else (outputs,)
