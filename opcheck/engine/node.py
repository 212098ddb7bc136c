"""A node with its data, checked against its operator's schema and ready to be computed."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from opcheck import dtypes, engine, opset
from opcheck.dtypes import DType, identical
from opcheck.engine.operators import OUTPUTS, STATED, USED, Formula, Operator, find, keywords
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.model import GRAPH, Array, Attrs, OpVersion, Typed
from opcheck.opset import Attribute, Parameter, Schema

if TYPE_CHECKING:
    from opcheck.engine.graphs import Subgraph

T = TypeVar("T")
#: True where it only matters whether nodes are legal: right outputs are plain ones there.
of_legality: ContextVar[bool] = ContextVar("of_legality", default=False)
_Arrays: TypeAlias = tuple[Array, ...]
#: Bytes of all inputs up to which variants of a node are kept.
_LARGEST_VARIANT = 1 << 16


@dataclass(frozen=True, eq=False)
class Node:
    """An operator version with its attributes and its inputs.

    Attributes:
        op: The version of the operator.
        inputs: In the operator's order; None for an optional one that is left out.
        attrs: The attributes that are stated, by name.
        outputs: The places of those that are asked for, None for all.
        constant: One of the inputs is an initializer of the model.
        opset: The opset of the model, which decides the operators' versions in subgraphs.
    """

    op: OpVersion
    inputs: tuple[Array | None, ...]
    attrs: Attrs
    outputs: Sequence[int] | None = None
    constant: bool = False
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
        lead = None if self.lead is None else dtypes.of(self.lead)
        dtype = dtype_of(self.op, self.attrs, lead)
        return dtype.name if dtype else ""

    @property
    def lead(self) -> Array | None:
        """The leading input; see `leading`."""
        return leading(self.op, self.inputs)

    @property
    def right(self) -> _Arrays:
        """The engine's rounded outputs; drawn ones are drawn anew.

        Raises InvalidNode for a forbidden node, NotSupported for one that the engine does not
        compute, by memory too. While `of_legality` is set, it is `plain`.
        """
        if of_legality.get():
            return self.plain
        right = self._right
        if isinstance(right, Exception):
            raise type(right)(*right.args)
        return right() if callable(right) else right

    def is_own_answer(self, outputs: object) -> bool:
        """Return True if outputs are those of `right` themselves, not others that equal them.

        False for a forbidden node. False, too, where outputs are drawn: others each time, which are
        not drawn for that.
        """
        if not self.is_legal:
            return False
        return outputs is (self.plain if of_legality.get() else self._right)

    @cached_property
    def _right(self) -> _Arrays | Callable[[], _Arrays] | InvalidNode | NotSupported:
        """The outputs, what draws them anew each time, or why there are none."""
        try:
            # Bounds take memory: they are kept only for nodes that were asked for them.
            outputs = self.exact if "exact" in vars(self) else engine.evaluate.exactly(self)
        except (InvalidNode, NotSupported) as error:
            return error.with_traceback(None)
        except MemoryError as error:  # of sizes drawn at random
            return NotSupported(str(error))

        def rounded() -> _Arrays:
            return tuple(engine.rounded(output) for output in outputs)

        is_drawn = any(isinstance(output, engine.Drawn) for output in outputs)
        return rounded if is_drawn else rounded()

    @cached_property
    def exact(self) -> tuple[Any, ...]:
        """The outputs with their bounds; see `engine.evaluate.exactly`.

        Raises InvalidNode for a forbidden node, NotSupported and MemoryError for one that is not
        computed.
        """
        return engine.evaluate.exactly(self)

    @cached_property
    def plain(self) -> _Arrays:
        """The outputs of the formula on plain arrays.

        Raises InvalidNode for a forbidden node, NotSupported and MemoryError for one that is not
        computed.
        """
        return engine.evaluate.evaluate(self)

    @cached_property
    def primitives(self) -> frozenset[str]:
        """The functions that the operator's formula calls on this node, outside of subgraphs.

        Of a node with subgraphs there are none; of one that is refused, those up to there.
        """
        if opset.versions(self.op.domain, self.op.name)[self.op.since].graphs:
            return frozenset()
        trace: set[str] = set()
        with suppress(InvalidNode, NotSupported, MemoryError):
            engine.evaluate.evaluate(self, trace=trace)
        return frozenset(trace)

    @cached_property
    def draws(self) -> bool:
        """True if outputs are drawn at random, which inputs and attributes may decide."""
        operator = operator_of(self.op)
        if operator is None:
            return False
        if operator.related is None:
            return operator.random
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
        """The rank of the leading input, or of the output where an attribute holds its values.

        0 without a leading input. Raises as `right` for such an output.
        """
        if opset.versions(self.op.domain, self.op.name)[self.op.since].by_value:
            return self.right[0].ndim
        return 0 if self.lead is None else self.lead.ndim

    def subgraph(self, name: str) -> "Subgraph":
        """Return the graph in an attribute; raises InvalidNode if it cannot be read.

        name: of an attribute that the node has; KeyError for others.
        """
        from opcheck.engine.graphs import Subgraph
        from opcheck.opset import onnx_defs

        try:
            return Subgraph(onnx_defs.subgraph(str(self.attrs[name]), self.opset or self.op.since))
        except ValueError as error:
            raise InvalidNode(f"{name}: {error}") from None

    def at(self, since: int) -> "Node":
        """Return the node in another version."""
        return replace(self, op=replace(self.op, since=since))

    def with_attrs(self, **changed: Any) -> "Node":
        """Return the node with other attributes; None leaves one out. Itself if none differs.

        Without tensors among them the same node is returned each time; see `variant`.
        """
        has_tensors = any(isinstance(value, np.ndarray) for value in changed.values())

        def make() -> Node:
            attrs = {k: v for k, v in {**self.attrs, **changed}.items() if v is not None}
            # Long arrays are abbreviated there.
            is_same = not has_tensors and repr(attrs) == repr(self.attrs)
            return self if is_same else replace(self, attrs=attrs)

        return make() if has_tensors else self.variant(repr(changed), make)

    def variant(self, name: str, make: "Callable[[], Node]") -> "Node":
        """Return the node that `make` makes, once by this name if the inputs are small."""
        if name in self._variants:
            return self._variants[name]
        variant = make()
        if sum(array.nbytes for array in self.given) <= _LARGEST_VARIANT:
            self._variants[name] = variant
        return variant

    def with_inputs(self, change: Callable[[Array], Array]) -> "Node":
        """Return the node with each tensor changed, of inputs and of attributes."""
        node = self._fed(tuple(None if x is None else change(x) for x in self.inputs))
        tensors = {n: v for n, v in self.attrs.items() if isinstance(v, np.ndarray)}
        if not tensors:
            return node
        changed = {name: np.asarray(change(value)) for name, value in tensors.items()}
        return replace(node, attrs={**self.attrs, **changed})

    def with_input(self, place: int, array: Array | None) -> "Node":
        """Return the node with another input at this place, None to leave it out."""
        return self._fed((*self.inputs[:place], array, *self.inputs[place + 1 :]))

    def _fed(self, inputs: tuple[Array | None, ...]) -> "Node":
        """Return the node on these inputs; itself where they are its own, bit by bit."""
        for new, own in zip(inputs, self.inputs, strict=True):
            if new is own:
                continue
            if new is None or own is None or not identical(new, own):
                return replace(self, inputs=inputs)
        return self


@dataclass(frozen=True, eq=False)
class BoundNode:
    """A node that its schema allows, with its operator's formula.

    Attributes:
        node: The node.
        operator: Its operator.
        schema: The schema of the operator's version.
        formula: The operator's formula of this version, or another one in its place.
        attrs: All the keyword arguments of the formula.
        dtypes: The types of the schema's type variables that the inputs bind.
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
        """Return the dtype of an output that is asked for; None where only the formula has it."""
        if self.schema.graphs:
            return None
        outputs = self.schema.outputs
        place = n if self.node.outputs is None else self.node.outputs[n]
        output = outputs[min(place, len(outputs) - 1)]
        return opset.output_dtype(self.schema, output, self.dtypes, self.attrs)


def operator_of(op: OpVersion) -> Operator | None:
    """Return the operator, or None where the engine has none or lacks this version.

    Raises WrongOperator if the file that declares it is wrong.
    """
    operator = find(op.domain, op.name)
    if operator is None or op.since not in operator.formulas:
        return None
    return operator


def any_order(op: OpVersion, attrs: Attrs) -> int | Literal["rows"] | None:
    """Return the axis along which the outputs may come in any order; None where there is none.

    "rows" means rows, each as a whole. Attributes that are left out have their defaults.
    """
    operator = operator_of(op)
    if operator is None or operator.any_order is None:
        return None
    attributes = opset.versions(op.domain, op.name)[op.since].attributes.values()
    values = {a.name: attrs.get(a.name, a.default) for a in attributes}
    return operator.any_order(values)


def leading(op: OpVersion, inputs: Sequence[T]) -> T | None:
    """Return the input whose type kernels differ by, the first that may be of several types.

    None if it is missing; inputs may also be names, of which "" is missing.
    """
    schema = opset.versions(op.domain, op.name).get(op.since)
    place = schema.lead if schema else 0
    end = place + 1
    if schema is not None and schema.in_place_of_optional:
        end += 1
    for x in inputs[place:end]:
        is_empty_name = isinstance(x, str) and not x
        if x is not None and not is_empty_name:
            return x
    return None


def dtype_of(op: OpVersion, attrs: Attrs, lead: DType | None) -> DType | None:
    """Return the dtype that kernels differ by: of the `lead` input, or of an output."""
    schema = opset.versions(op.domain, op.name).get(op.since)
    if schema is None or (schema.inputs and not schema.by_value):
        return lead
    well_formed = {name: value for name, value in attrs.items() if not isinstance(value, Typed)}
    dtype = opset.output_dtype(schema, schema.outputs[-1], {}, well_formed)
    if dtype or schema.by_value:
        return dtype
    # An attribute that names no type may be taken for its default.
    return dtype_of(op, {}, lead) if attrs else None


def dtypes_of(op: OpVersion) -> tuple[str, ...]:
    """Return the dtypes of a version's cases that the engine computes, by name."""
    if operator_of(op) is None:
        return ()
    types = opset.versions(op.domain, op.name)[op.since].typed.types
    return tuple(dtype.name for dtype in dtypes.DTYPES.values() if dtype.text in types)


def bind(node: Node, formula: Formula | None = None) -> BoundNode:
    """Check a node against its schema, and pair it with its formula, or with another one.

    Raises:
        NotSupported: the engine has no formula for exactly this version.
        InvalidNode: the schema forbids these inputs or attributes, or a subgraph cannot be read.
        WrongOperator: the file that declares the operator is wrong.
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
        bound = bound_types(schema, node.inputs)
        _check_attributes(schema, node.attrs)
    except InvalidNode as error:
        raise InvalidNode(f"{op}: {error}") from None
    function = formula or operator.formulas[op.since]
    attrs = attributes_for(function, schema, node)
    return BoundNode(node, operator, schema, function, attrs, bound)


def _model(*inputs: Any, graph: Any) -> Any:
    """Return the outputs of a model's graph."""
    return graph(*inputs)


#: A model as an operator, of which the graph is an attribute.
_MODEL = Operator("", GRAPH.name, __name__, formulas={0: _model})
_ITS_GRAPH = Attribute("graph", "graph", required=True, default=None)
_ITS_OUTPUTS = Parameter("outputs", "V", frozenset(), "variadic")
_OF_MODELS = Schema(GRAPH, {"graph": _ITS_GRAPH}, inputs=(), outputs=(_ITS_OUTPUTS,))


def attributes_for(function: Formula, schema: Schema, node: Node) -> dict[str, Any]:
    """Return the keyword arguments of a formula: stated, else the schema's defaults, else None.

    An attribute that this version lacks is left to the formula's own default. Floats are rounded to
    float32, as a model holds them. Raises InvalidNode for a subgraph that cannot be read.
    """
    arguments: dict[str, Any] = {}
    names, takes_all = keywords(function)
    if takes_all:
        names = (*names, *schema.attributes)
    for name in names:
        value = node.attrs.get(name)
        if isinstance(value, str) and name in schema.graphs:
            arguments[name] = node.subgraph(name)
        elif name in node.attrs:
            arguments[name] = _held(value, schema.attributes[name].type)
        elif name in schema.attributes:
            arguments[name] = schema.attributes[name].default
        elif name == OUTPUTS:
            arguments[name] = node.count
        elif name == USED:
            arguments[name] = node.outputs or (0,)
        elif name == STATED:
            arguments[name] = frozenset(node.attrs)
    return arguments


def _held(value: Any, kind: str) -> Any:
    """Return an attribute as a model holds it, where floats are of 32 bits."""
    if kind not in ("float", "floats"):
        return value
    with np.errstate(over="ignore"):
        held = np.array(value, np.float32).tolist()
    return tuple(held) if kind == "floats" else held


def _check_count(schema: Schema, inputs: Sequence[Array | None]) -> None:
    """Raise InvalidNode for too few or too many inputs, or one missing that is not optional."""
    least, most = _input_counts(schema)
    given = max((n + 1 for n, array in enumerate(inputs) if array is not None), default=0)
    if not least <= given <= most:
        raise InvalidNode(f"{given} inputs; allowed: {_counts_in_words(least, most)}")
    for place, array in enumerate(inputs[:given]):
        parameter = schema.inputs[min(place, len(schema.inputs) - 1)]
        if array is None and parameter.option != "optional":
            raise InvalidNode(f"input {parameter.name} is left out, which is not optional")


def _input_counts(schema: Schema) -> tuple[int, float]:
    """Return the least and the greatest number of inputs that a schema allows."""
    parameters = schema.inputs
    least = max((n + 1 for n, p in enumerate(parameters) if p.option == "single"), default=0)
    if not parameters or parameters[-1].option != "variadic":
        return least, len(parameters)
    of_last = parameters[-1].least
    if of_last:
        least = max(least, len(parameters) - 1 + of_last)
    return least, math.inf


def _counts_in_words(least: int, most: float) -> str:
    """Return a range of counts as messages have it."""
    if least == most:
        return f"{least}"
    if most == math.inf:
        return f"{least} or more"
    return f"{least} to {most}"


def bound_types(schema: Schema, inputs: Sequence[Array | None]) -> dict[str, DType]:
    """Return the dtypes of the type variables, by name, that the inputs bind; None binds nothing.

    Raises InvalidNode for a type that an input may not have, and where two inputs of one variable
    disagree.
    """
    bound: dict[str, tuple[DType, str]] = {}
    for place, array in enumerate(inputs):
        if array is None:
            continue
        parameter = schema.inputs[min(place, len(schema.inputs) - 1)]
        dtype = dtypes.of(array)
        if dtype is None or dtype.text not in parameter.types:
            got = f"{parameter.name} of type {dtype or array.dtype}"
            raise InvalidNode(f"{got}; allowed: {_types_in_words(parameter)}")
        if parameter.option == "variadic" and not parameter.homogeneous:
            continue
        known, name = bound.setdefault(parameter.constraint, (dtype, parameter.name))
        if known != dtype:
            both = f"{parameter.name} of type {dtype} beside {name} of type {known}"
            raise InvalidNode(f"{both}; both are {parameter.constraint}")
    return {name: dtype for name, (dtype, _) in bound.items()}


def _types_in_words(parameter: Parameter) -> str:
    """Return the names of the types that a parameter may have."""
    known = [dtype.name for dtype in dtypes.DTYPES.values() if dtype.text in parameter.types]
    return ", ".join(known) or ", ".join(sorted(parameter.types))


def _check_attributes(schema: Schema, attrs: Attrs) -> None:
    """Raise InvalidNode for attributes that the schema forbids, or that are missing.

    That is one of an unknown name or another type, and one that holds or names a type that no
    output may have.
    """
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
    if schema.by_value:
        _check_type_of_value(schema, attrs)
    _check_named_type(schema, attrs)


def _check_type_of_value(schema: Schema, attrs: Attrs) -> None:
    """Raise InvalidNode if an attribute holds values of a type that the output may not have."""
    output = schema.outputs[0]
    dtype = opset.output_dtype(schema, output, {}, attrs)
    if dtype and dtype.text not in output.types:
        raise InvalidNode(f"{output.name} of type {dtype}; allowed: {_types_in_words(output)}")


def _check_named_type(schema: Schema, attrs: Attrs) -> None:
    """Raise InvalidNode if an attribute names a type that no output may have."""
    attribute = opset.naming(schema)
    if attribute is None:
        return
    value = attrs.get(attribute.name, attribute.default)
    if value == attribute.default:
        return
    named = dtypes.named(value)
    texts = {text for output in schema.outputs for text in output.types}
    if named is None or not any(named.text in text for text in texts):
        raise InvalidNode(f"{attribute.name} {value!r} names no type that the output may have")


def _is_whole(value: object) -> bool:
    """Return True for an integer of 64 bits, which is all that a model holds."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_word(value: object) -> bool:
    return isinstance(value, str)


def _is_tensor(value: object) -> bool:
    return isinstance(value, np.ndarray)


def _is_graph(value: object) -> bool:
    from opcheck.engine.graphs import Subgraph

    return isinstance(value, str | Subgraph)


def _is_of_declared_type(value: object) -> bool:
    return not isinstance(value, Typed)


def _list_of(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return a test for lists whose items all fit."""

    def is_list(value: object) -> bool:
        return isinstance(value, list | tuple) and all(map(fits, value))

    return is_list


#: What an attribute of each type has to be: in words, and as a test.
_KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "int": ("an integer of 64 bits", _is_whole),
    "float": ("a number", _is_number),
    "string": ("a word", _is_word),
    "ints": ("a list of integers of 64 bits", _list_of(_is_whole)),
    "floats": ("a list of numbers", _list_of(_is_number)),
    "strings": ("a list of words", _list_of(_is_word)),
    "tensor": ("a tensor", _is_tensor),
    "tensors": ("a list of tensors", _list_of(_is_tensor)),
    "graph": ("a graph", _is_graph),
    "other": ("a type or a sparse tensor", _is_of_declared_type),
}
