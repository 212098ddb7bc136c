"""Operators, versions, attributes and types that exist; the only reader of `onnx.defs`.

`describe` answers for one operator at one opset, `versions` and `operators` list what there is.
DirectML's operators stand beside ONNX's, see `direct_ml`, with types as ONNX spells them, so that
everything downstream reads both families alike. In case files a variadic `data` is data_0, data_1…
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, product
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import numpy as np

from opcheck.dtypes import BY_TEXT, DTYPES, DType, named, of
from opcheck.model import Array, Attrs, AttrValue, OpVersion, Typed

#: The dtypes of attributes that are no tensors.
_HOLDS = {"int": "int64", "float": "float32", "string": "string"}
#: "other" is a type or a sparse tensor. Cases have a graph as text, see `onnx_defs.graph`.
AttrType: TypeAlias = Literal[
    "int", "float", "string", "tensor", "ints", "floats", "strings", "tensors", "graph", "other"
]
#: The dtypes of type variables that inputs bind.
Bound: TypeAlias = Mapping[str, DType]
#: What is in place of the type of a sequence's length.
LENGTH = "length"
#: The last parameter of an operator with subgraphs: tensors that these use under the names outer_0,
#: outer_1 …, and that are no inputs of the node.
OUTER = "outer"


@dataclass(frozen=True)
class Attribute:
    """An attribute as the schema declares it; `default` is None where the text states none."""

    name: str
    type: AttrType
    required: bool
    default: AttrValue | None
    description: str = ""


@dataclass(frozen=True)
class Parameter:
    """An input or output.

    `types` are ONNX's type texts, such as "tensor(float)". `constraint` is the type variable that
    they bind, or a type itself. A variadic parameter takes `least` tensors or more; where it is
    not `homogeneous`, each may be of another type. `listed`: these are the tensors of a sequence or
    optional, which is what the operator itself takes or gives; how its type begins, such as "seq(".
    """

    name: str
    constraint: str
    types: frozenset[str]
    option: Literal["single", "optional", "variadic"]
    description: str = ""
    least: int = 1
    homogeneous: bool = True
    listed: str = ""

    @property
    def stem(self) -> str:
        """The name of a variadic parameter, to which a number is added; schemas add 0, or dots."""
        return self.name.removesuffix("_0").removesuffix("...")


@dataclass(frozen=True)
class Schema:
    """One operator at one version.

    `doc` is the operator's text, `constraints` describe its type variables. `bodies` are the opsets
    for which the specification states the operator as a function of others.

    `inputs` and `outputs` are as cases have them, `formals` as declared: see `without_sequences`.
    """

    op: OpVersion
    attributes: Mapping[str, Attribute]
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    deprecated: bool = False
    doc: str = ""
    constraints: Mapping[str, str] | None = None
    bodies: tuple[int, ...] = ()
    formals: tuple[Sequence[Parameter], Sequence[Parameter]] = ((), ())

    @cached_property
    def lead(self) -> int:
        """The place of the first input that may be of several types, which kernels differ by."""
        several = [n for n, p in enumerate(self.inputs) if len(p.types) > 1]
        # Tensors of a list, and those of any types that are more than a rate, come first.
        chief = (n for n in several if self.inputs[n].listed or not self.inputs[n].homogeneous)
        return next(chain(chief, several), 0) - self.in_place_of_optional

    @cached_property
    def in_place_of_optional(self) -> bool:
        """True if a tensor may be in place of an optional, which comes after it."""
        return any(f"{one.name}_tensor" == self.inputs[0].name for one in self.inputs)

    @cached_property
    def graphs(self) -> tuple[str, ...]:
        """The attributes that are graphs."""
        return tuple(one.name for one in self.attributes.values() if one.type == "graph")

    @property
    def by_value(self) -> bool:
        """True if the output is of the type of an attribute `value`, which is a tensor."""
        return "value" in self.attributes and self.attributes["value"].type == "tensor"

    @cached_property
    def typed(self) -> Parameter:
        """The parameter whose type is that of a case: the leading input, or else an output."""
        return (*self.inputs[self.lead :][: not self.by_value], *self.outputs[::-1])[0]


@dataclass(frozen=True)
class AttributeReference:
    """An attribute of a body's node that is the function's own attribute of this name."""

    name: str


@dataclass(frozen=True, eq=False)
class BodyNode:
    """A node of a function body or a graph.

    Its inputs and outputs are names, "" where one is left out. `name` is its own, or "", and
    `number` that of the node in its body, from 0.
    """

    op: OpVersion
    attrs: "Mapping[str, AttrValue | AttributeReference | Body]"
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str = ""
    number: int = 0

    @property
    def asked(self) -> list[int]:
        """The places of its outputs that have a name; the first where none has."""
        return [n for n, name in enumerate(self.outputs) if name] or [0]

    @property
    def graphs(self) -> "tuple[Body, ...]":
        """The graphs among its attributes."""
        return tuple(value for value in self.attrs.values() if isinstance(value, Body))

    @property
    def reads(self) -> Iterator[str]:
        """The names of the tensors that it reads, those that only its graphs use included."""
        yield from self.inputs
        yield from chain.from_iterable(one.outer for one in self.graphs)


@dataclass(frozen=True, eq=False, repr=False)
class Body:
    """An operator as a graph, or a subgraph in an attribute; `constants` are its initializers."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[BodyNode, ...]
    constants: Mapping[str, Array] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"a graph of {len(self.nodes)} nodes"

    @cached_property
    def floats(self) -> frozenset[DType]:
        """The floating types of its constants, and those that it casts to."""
        found = {of(array) for array in self.constants.values()}
        for node in self.nodes:
            found |= {of(x) for x in node.attrs.values() if isinstance(x, np.ndarray)}
            found |= {named(to) for name, to in node.attrs.items() if name == "to"}
            found |= {dtype for one in node.graphs for dtype in one.floats}
        return frozenset(one for one in found if one and one.kind == "float")

    @cached_property
    def named(self) -> frozenset[str]:
        """The names that it gives to tensors."""
        made = chain.from_iterable(node.outputs for node in self.nodes)
        return frozenset({*self.inputs, *self.constants, *made} - {""})

    @cached_property
    def outer(self) -> tuple[str, ...]:
        """The names of tensors from around it, in the order of their first use."""
        used = chain.from_iterable(node.reads for node in self.nodes)
        return tuple(n for n in dict.fromkeys((*used, *self.outputs)) if n and n not in self.named)

    @cached_property
    def done(self) -> tuple[tuple[str, ...], ...]:
        """The names that are read for the last time, or never, by node."""
        last = {name: n for n, node in enumerate(self.nodes) for name in node.outputs}
        last |= {name: n for n, node in enumerate(self.nodes) for name in node.reads}
        found: list[list[str]] = [[] for _ in self.nodes]
        for name in last.keys() - {"", *self.outputs}:
            found[last[name]].append(name)
        return tuple(map(tuple, found))


def place(parameters: Sequence[Parameter], name: str) -> tuple[int, int] | None:
    """Return the parameter that `name` means, and its tensor's number; None if none."""
    for number, parameter in enumerate(parameters):
        if parameter.option != "variadic":
            if name == parameter.name:
                return number, 0
            continue
        stem, _, count = name.rpartition("_")
        if stem == parameter.stem and re.fullmatch("0|[1-9][0-9]{0,3}", count):
            return number, int(count)
    return None


def states(parameters: Sequence[Parameter], name: str) -> bool:
    """Return True for a name in case files, where a sequence is a list under its own."""
    if any(parameter.listed and parameter.name == name for parameter in parameters):
        return True
    found = place(parameters, name)
    if found is None:
        return False
    parameter = parameters[found[0]]
    return not parameter.listed and parameter.constraint != LENGTH


def spelt(parameters: Iterable[Parameter]) -> list[str]:
    """Return the names that a case file may use, for messages."""
    names = []
    for parameter in parameters:
        if parameter.constraint != LENGTH:
            is_numbered = parameter.option == "variadic" and not parameter.listed
            names.append(f"{parameter.stem}_0" if is_numbered else parameter.name)
    return names


def missing(parameters: Sequence[Parameter], names: Iterable[str]) -> Iterator[str]:
    """Yield mandatory parameters missing in `names`; a variadic one needs tensors from 0 on."""
    found = [place(parameters, name) for name in names]
    for number, parameter in enumerate(parameters):
        counts = sorted(place[1] for place in found if place and place[0] == number)
        if parameter.option == "single" and not counts:
            yield parameter.name
            continue
        least = max(len(counts), parameter.least)
        if parameter.option == "variadic" and counts != list(range(least)):
            gap = next(k for k in range(least) if k not in counts)
            yield f"{parameter.stem}_{gap}"


def slots(parameters: Sequence[Parameter], names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in the operator's order, "" for one left out before the last."""
    found = ((place(parameters, name), name) for name in names)
    places = sorted((own, name) for own, name in found if own)
    ordered: list[str] = []
    for number, parameter in enumerate(parameters):
        tensors = [name for (own, _), name in places if own == number]
        if not tensors and parameter.option != "variadic":
            tensors = [""]
        ordered += tensors
    return without_end(ordered)


def without_end(names: Sequence[str]) -> tuple[str, ...]:
    """The names but for those that are left out, which are "", after the last."""
    return tuple(names[: max((n for n, name in enumerate(names, 1) if name), default=0)])


def with_outer(inputs: Sequence[Parameter], outputs: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The inputs of an operator with subgraphs, and the tensors that these use besides."""
    types = frozenset(text for text in outputs[-1].types if text.startswith("tensor("))
    outer = Parameter(
        name=OUTER,
        constraint=OUTER,
        types=types,
        option="variadic",
        description="tensors that the subgraphs use",
        least=0,
        homogeneous=False,
    )
    return (*inputs, outer)


def outer(schema: Schema, names: Iterable[str]) -> list[str]:
    """Those inputs that only subgraphs use."""
    places = ((name, place(schema.inputs, name)) for name in names)
    return [name for name, at in places if at and schema.inputs[at[0]].constraint == OUTER]


#: How the types begin that an operator takes by an ending of its name in case files. Those below
#: take them besides tensors: `Identity_of_sequences` is Identity.
_FORMS = {"sequences": "seq(", "optionals": "optional(", "optional_sequences": "optional(seq("}
_OF = "_of_"
_ON_FORMS = (
    *(f"Identity{_OF}{form}" for form in _FORMS),
    *(f"Optional{one}{_OF}sequences" for one in ("", "GetElement", "HasElement")),
    *(f"Optional{one}{_OF}optional_sequences" for one in ("GetElement", "HasElement")),
)


def plain(name: str) -> str:
    """The name in ONNX of an operator, which case files may call by another."""
    return name.partition(_OF)[0] if name in _ON_FORMS else name


def on_forms(name: str) -> list[str]:
    """The names by which case files call an operator on sequences and optionals."""
    return [one for one in _ON_FORMS if plain(one) == name]


def form_of(name: str) -> str:
    """Return how the types begin that an operator of this name takes, "" for tensors."""
    if name in _ON_FORMS:
        return _FORMS[name.partition(_OF)[2]]
    # Operators of sequences take nothing else, as their types show.
    return "optional(" if name.startswith("Optional") else ""


def in_sequences() -> frozenset[str]:
    """Return the types of tensors that ONNX's operators put into sequences and take out."""
    return versions("", "SequenceAt")[11].outputs[0].types


def without_sequences(
    inputs: Sequence[Parameter], outputs: Sequence[Parameter], name: str
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """Return the parameters of an operator with the tensors of a sequence in its place.

    These are variadic. The model around the operator makes the sequence of them, and takes the
    result apart. Variadic inputs come last. Before the tensors of a result comes its length; in
    place of them, where no input shows the type, an empty tensor that the sequence takes.

    An optional has its tensor as a sequence of at most one has it, and that of a sequence those of
    the sequence, or none. An input that may be a tensor itself has a second name for that, unless
    `name` says what it is.
    """
    lists = _Lists(inputs, outputs, name)
    own_inputs = [tensor for parameter in inputs for tensor in lists.tensors(parameter)]
    own_inputs.sort(key=lambda tensor: bool(tensor.listed))
    lengths = [
        replace(
            parameter,
            name=f"{parameter.name}_length",
            types=frozenset({"tensor(int64)"}),
            constraint=LENGTH,
        )
        for parameter in outputs
        if lists.form_of(parameter)[0]
    ]
    own_outputs = [tensor for parameter in outputs for tensor in lists.tensors(parameter)]
    return tuple(own_inputs), (*lengths, *own_outputs)


class _Lists:
    """The sequences and optionals among the parameters of an operator.

    Attributes:
        form: How the types of the operator's forms begin, "" for an operator of tensors.
        has_form_only: The name of the operator says that it takes this form, and no tensor itself.
    """

    def __init__(
        self, inputs: Sequence[Parameter], outputs: Sequence[Parameter], name: str
    ) -> None:
        self.form = form_of(name)
        self.has_form_only = name in _ON_FORMS
        self._option: Literal["variadic", "single"] = "single"
        if inputs or self.form:
            self._option = "variadic"
        #: The type variables of the parameters, by their types.
        self._constraints: dict[frozenset[str], str] = {}
        if not self.form:
            self._constraints = {one.types: one.constraint for one in (*inputs, *outputs)}

    def form_of(self, parameter: Parameter) -> tuple[str, frozenset[str]]:
        """Return how the type of a sequence or optional begins, and the types of its tensors.

        Both are empty for a tensor.
        """
        forms = [self.form or "seq("]
        if self.has_form_only:
            forms += [f"optional({self.form}", self.form.removeprefix("optional(")]
        for form in filter(None, forms):
            types = {text for text in parameter.types if text.startswith(f"{form}tensor(")}
            is_list = parameter.option == "single" and types == parameter.types
            if types and (self.form or is_list):
                inner = frozenset(text[len(form) : -form.count("(")] for text in types)
                # Version 28 added types that none of these operators knows.
                return form, inner & in_sequences() if self.has_form_only else inner
        return "", frozenset()

    def tensors(self, parameter: Parameter) -> Iterator[Parameter]:
        """Yield what is in place of a parameter: itself, or the tensors of its list."""
        form, types = self.form_of(parameter)
        if not (types or self.form):
            yield parameter
            return
        alone = frozenset(text for text in parameter.types if text.startswith("tensor("))
        constraint = self._constraints.setdefault(types or alone, parameter.constraint)
        tensor = replace(parameter, types=alone, constraint=constraint)
        if types and alone and not self.has_form_only:
            yield replace(tensor, name=f"{parameter.name}_tensor", option="optional", least=0)
        if types:
            tensor = replace(tensor, types=types, option=self._option, least=0, listed=form)
        yield tensor


#: The domain of DirectML's operators.
DML = "com.microsoft.dml"
#: The domains of classical machine learning and of training.
ML = "ai.onnx.ml"
TRAINING = "ai.onnx.preview.training"


@cache
def versions(domain: str, name: str) -> Mapping[int, Schema]:
    """Every version of one operator, read alone, by the opset that begins it; empty if unknown."""
    if domain == DML:
        from opcheck.opset.direct_ml import SCHEMAS

        return {schema.op.since: schema for schema in SCHEMAS if schema.op.name == name}
    from opcheck.opset import onnx_defs

    return {schema.op.since: schema for schema in reversed([*onnx_defs.versions(domain, name)])}


@cache
def describe(domain: str, name: str, opset: int) -> Schema | None:
    """Return the version of the operator in force at `opset`, or None if there is none yet."""
    known = versions(domain, name)
    in_force = [since for since in known if since <= opset]
    return known[max(in_force)] if in_force else None


def differ_in_types_alone(one: Schema, other: Schema, ignored: Collection[str]) -> bool:
    """Return True if two versions of an operator agree in all that they declare but types.

    That is the names, defaults and types of attributes, but for `ignored` ones, and the names of
    inputs and outputs, and which may be left out. Descriptions may differ.
    """
    return _declared(one, ignored) == _declared(other, ignored)


def _declared(schema: Schema, ignored: Collection[str]) -> tuple[Sequence[Any], ...]:
    """Return what a schema declares of attributes, but for `ignored` ones, and of parameters."""
    attributes = [
        # An array has no truth value, so that defaults are compared as texts.
        (one.name, one.type, one.required, repr(one.default))
        for one in sorted(schema.attributes.values(), key=attrgetter("name"))
        if one.name not in ignored
    ]
    inputs, outputs = (
        [(one.name, one.option, one.least, one.homogeneous) for one in parameters]
        for parameters in (schema.inputs, schema.outputs)
    )
    return attributes, inputs, outputs


def is_in_force(op: OpVersion, opset: int, *, or_later: bool) -> bool:
    """Return True if this version of an operator is the one of an opset, or `or_later` a later one.

    An `opset` of 0 is any.
    """
    if not opset:
        return True
    schema = describe(op.domain, op.name, opset)
    begins = schema.op.since if schema else opset
    return op.since == begins or (or_later and op.since > begins)


def attribute(op: OpVersion, name: str) -> Attribute | None:
    """Return the attribute as `op` declares it, or else as the nearest other version does."""
    schemas = [
        schema for schema in versions(op.domain, op.name).values() if name in schema.attributes
    ]
    schemas.sort(key=lambda schema: abs(schema.op.since - op.since))
    return schemas[0].attributes[name] if schemas else None


def naming(schema: Schema) -> Attribute | None:
    """Return the attribute that names the dtype of an output: Cast's `to`, EyeLike's `dtype`."""
    for name in ("to", "dtype", "output_dtype", "output_datatype"):
        attribute = schema.attributes.get(name)
        if attribute and attribute.type in ("int", "string"):
            return attribute
    return None


def output_dtype(schema: Schema, output: Parameter, bound: Bound, attrs: Attrs) -> DType | None:
    """Return the dtype of an output, None if it is not known.

    It follows from type variables that inputs `bound`, or from an attribute.
    """
    if output.constraint in bound:
        return bound[output.constraint]
    if len(output.types) == 1:
        return BY_TEXT.get(next(iter(output.types)))
    if schema.by_value:
        return _of_value(schema, attrs)
    if schema.op.domain == ML:
        return _of_labels(schema, output, bound, attrs)
    attribute = naming(schema)
    stated = attrs.get(attribute.name, attribute.default) if attribute else None
    if attribute and stated is None and not attribute.required and schema.inputs:
        return bound.get(schema.inputs[0].constraint)  # as EyeLike and RandomNormalLike have it
    dtype = named(stated) or _of_an_input(schema, output, bound, stated)
    return dtype if dtype and dtype.text in output.types else None


def _of_value(schema: Schema, attrs: Attrs) -> DType | None:
    """Return the dtype of the output that an attribute states as a tensor, number or text.

    A tensor is of float32 where none is stated.
    """
    given = [name for name in schema.attributes if attrs.get(name) is not None]
    if not given:
        return DTYPES["float32"]
    value = attrs[given[0]]
    if len(given) > 1 or isinstance(value, Typed):
        return None
    return of(value) if isinstance(value, np.ndarray) else held(schema.attributes[given[0]])


def _of_an_input(schema: Schema, output: Parameter, bound: Bound, stated: object) -> DType | None:
    """Return the dtype that an output has of an input, where no attribute names one.

    A state that is left out is of the leading type, by the function body of LinearAttention. Where
    the attribute is 0, UNDEFINED, it is that of the scale, by the text of DequantizeLinear.
    """
    left_out = [one.constraint for one in schema.inputs if one.option == "optional"]
    if output.constraint in left_out:
        return bound.get(schema.inputs[schema.lead].constraint)
    needed = [one.constraint for one in schema.inputs if one.option == "single"]
    return bound.get(needed[-1]) if stated == 0 and needed else None


def _of_labels(schema: Schema, output: Parameter, bound: Bound, attrs: Attrs) -> DType | None:
    """Return the dtype of the labels or values that an attribute holds, else the other of two."""
    labels = [name for name in schema.attributes if re.match("values_|classlabels_", name)]
    given = [name for name in labels if attrs.get(name) is not None]
    if given:
        value = attrs[given[0]]
        return of(value) if isinstance(value, np.ndarray) else held(schema.attributes[given[0]])
    others = [*(output.types - {dtype.text for dtype in bound.values()})]
    return BY_TEXT[others[0]] if len(others) == 1 and not labels else None


def held(attribute: Attribute) -> DType | None:
    """Return the dtype of numbers or texts that an attribute holds."""
    return DTYPES.get(_HOLDS.get(attribute.type.removesuffix("s"), ""))


def operators(domain: str) -> tuple[str, ...]:
    """The operators of a domain, by name in case files."""
    return tuple(sorted(name for known, name in _names() if known == domain))


def domains() -> tuple[str, ...]:
    """Every domain that has operators; ONNX's own is ""."""
    return tuple(sorted({domain for domain, _ in _names()}))


def leads(op: OpVersion, name: str) -> bool:
    """True for an input of the leading input's type, if that may be of several types."""
    schema = versions(op.domain, op.name).get(op.since)
    found = place(schema.inputs, name) if schema else None
    if schema is None or found is None:
        return False
    lead = schema.inputs[schema.lead]
    return len(lead.types) > 1 and schema.inputs[found[0]].constraint == lead.constraint


def later(op: OpVersion, opset: int) -> tuple[int, ...]:
    """Return two later opsets at which `op` is in force, halfway and last, or as many as exist."""
    following = [since for since in versions(op.domain, op.name) if since > op.since]
    last = min(following) - 1 if following else newest(op.domain)
    halfway = (opset + last + 1) // 2
    return tuple(sorted({number for number in (halfway, last) if number > opset}))


@cache
def newest(domain: str) -> int:
    """The newest opset of `domain` that the installed packages know."""
    if domain == "":
        from onnx import defs

        return defs.onnx_opset_version()
    return max(chain.from_iterable(versions(domain, name) for name in operators(domain)), default=0)


@cache
def _names() -> tuple[tuple[str, str], ...]:
    from onnx import defs

    from opcheck.opset.direct_ml import SCHEMAS

    ours = [*product([""], _ON_FORMS), *((one.op.domain, one.op.name) for one in SCHEMAS)]
    return (*((schema.domain, schema.name) for schema in defs.get_all_schemas()), *ours)
