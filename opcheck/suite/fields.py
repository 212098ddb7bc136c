"""The fields of a case file, as pydantic models: its JSON Schema and its first check.

Only the form is checked here; what needs the operator's schema (attribute and input names, types)
is checked in `suite.resolve`. Descriptions end up in editors, so they are written for users.
Tags stand in angle brackets: they appear in pydantic's paths, where no key looks like that.

Parts of a case are validated, laid over each other, and reached by a path as nodes, so that every
value of a finished case still has the place where it was written.
"""

import re
from collections.abc import Collection, Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Annotated, Any, TypeAlias

import pydantic
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from opcheck.dtypes import BASIC, DTYPES
from opcheck.errors import did_you_mean
from opcheck.model import ATTRIBUTE_TYPES, Level, Rule
from opcheck.reading import FileNode, Problems, validation

_LITERAL = {
    "description": "A number, text or truth value, or a nested list of them.",
    "type": ["number", "string", "boolean", "array"],
}
_TYPES = {"enum": list(ATTRIBUTE_TYPES)}
_ATTRIBUTE = {
    "anyOf": [
        {"type": ["number", "string", "boolean", "null"]},
        {"type": "object", "minProperties": 1, "maxProperties": 1, "propertyNames": _TYPES},
        {"type": "array", "items": {"type": _LITERAL["type"]}},
    ]
}
#: A list of all would hide the message.
_KNOWN = f"known: {', '.join(BASIC)} and {len(DTYPES) - len(BASIC)} more"


#: What to do about a whole number that no float64 is.
ROUND_IT = "write it with a point to have it rounded, or in a literal"


#: In `core`, what stands for the newest opset of a matrix.
NEWEST = "newest"


def _known_dtype(name: str) -> str:
    """Return the name of an element type; raises ValueError with a hint for any other."""
    if name not in DTYPES:
        of_numpy = [f"write {dtype}" for dtype in DTYPES.values() if dtype.numpy.name == name]
        hint = of_numpy[0] if of_numpy else did_you_mean(name, DTYPES) or _KNOWN
        raise ValueError(f"unknown dtype {validation.shown(name)} ({hint})")
    return name


def _exact(value: Any) -> Any:
    """Return a whole number as a float; raises ValueError where that would change it.

    Anything else, true and false among it, is returned as it is.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{validation.shown(value)} is outside float64") from None
    if number != value:
        raise ValueError(f"{validation.shown(value)} has no exact float64 ({ROUND_IT})")
    return number


def _value(value: Any) -> Any:
    """Return a number or text, a whole number as a float.

    Raises ValueError for another type, true and false among them, and where a float would differ.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"must be a number, got {validation.shown(value)}")
    return _exact(value)


def _whole_or_exact(value: Any) -> Any:
    """Return a number or text; a whole number as a float if that is exact, else as it is.

    Raises ValueError for another type, true and false among them.
    """
    try:
        return _value(value)
    except ValueError:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise


def _core_item(item: str) -> str:
    """Return an item of `core`: a dtype, "newest", or a dtype with "@newest".

    Raises ValueError with a hint for any other.
    """
    if item != NEWEST:
        _known_dtype(item.removesuffix(f"@{NEWEST}"))
    return item


_DTYPE = WithJsonSchema({"enum": list(DTYPES), "description": "An element type."})
DTypeName: TypeAlias = Annotated[str, AfterValidator(_known_dtype), _DTYPE]
_OF_NEWEST = f"^(.+@)?{NEWEST}$"
_CORE_ITEM = WithJsonSchema(
    {"anyOf": [{"enum": list(DTYPES)}, {"type": "string", "pattern": _OF_NEWEST}]}
)
CoreItem: TypeAlias = Annotated[str, AfterValidator(_core_item), _CORE_ITEM]
NumberField: TypeAlias = Annotated[float, BeforeValidator(_exact)]
#: A number; a text such as 1+2j is a complex one, or a string.
_VALUE = WithJsonSchema({"type": ["number", "string"]})
ValueField: TypeAlias = Annotated[Any, BeforeValidator(_value), _VALUE]
#: The same, and any whole number: types of 64 bits have some that no float64 is.
WholeValueField: TypeAlias = Annotated[Any, BeforeValidator(_whole_or_exact), _VALUE]
ValuesField: TypeAlias = Annotated[list[ValueField], Field(min_length=2, max_length=2)]
PairField: TypeAlias = Annotated[list[NumberField], Field(min_length=2, max_length=2)]
ShapeField: TypeAlias = Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=32)]
#: Literals are converted, with positions, in `suite.tensors`; walking them twice would cost.
LiteralField: TypeAlias = Annotated[Any, WithJsonSchema(_LITERAL)]


def _optional(description: str, **limits: Any) -> Any:
    """Return a field that may be left out, which is None then, with its description and limits."""
    return Field(None, description=description, **limits)


class PutField(validation.Fields):
    """One element overwritten after the fill."""

    at: list[int] = Field(description="The element's index, one number a dimension.")
    value: WholeValueField = Field(
        description="Rounded once to the dtype; of a type of whole numbers exact."
    )


class TensorFields(validation.Fields):
    """A tensor: a literal `value`, a `shape` with one fill, or a `file`."""

    # Cases share it, and what is made of it is found by it.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    value: LiteralField | None = None
    dtype: DTypeName | None = _optional("Overrides the case's dtype.")
    shape: ShapeField | None = _optional("With exactly one fill.")
    constant: ValueField | None = _optional("Every element.")
    arange: ValuesField | None = _optional("[start, step], row-major.")
    uniform: PairField | None = _optional("[low, high)")
    normal: PairField | None = _optional("[mean, standard deviation]")
    integers: PairField | None = _optional("[low, high], both included.")
    cycle: PairField | None = _optional("[low, high]: low to high again and again, row-major.")
    choice: list[WholeValueField] | None = _optional(
        "Values to draw from; gives ties. Of a type of whole numbers they are exact.", min_length=1
    )
    permutation: PairField | None = _optional(
        "[start, step]: an arange in random order; gives no ties."
    )
    specials: bool | None = _optional("Zeros, subnormals, limits, infinities, NaN.")
    seed: int | None = _optional("Of the random fills; 0 by default.", ge=0)
    put: list[PutField] | None = None
    file: str | None = _optional("An .npy file beside the case file, or a .pb file of ONNX.")
    initializer: bool | None = _optional("A constant of the model, not fed.")


#: The fills: keys of a tensor; exactly one goes with `shape`.
FILLS = (*"constant arange uniform normal integers cycle choice permutation specials".split(),)
#: The keys that state a tensor's contents; a nearer one replaces a farther one.
CONTENTS = ("value", "file", *FILLS)


def _tag_of_tensor(value: object) -> str:
    """Return "<tensor>" for a mapping, else "<literal>"."""
    return "<tensor>" if isinstance(value, dict | TensorFields) else "<literal>"


TensorField: TypeAlias = Annotated[
    Annotated[LiteralField, Tag("<literal>")] | Annotated[TensorFields, Tag("<tensor>")],
    Discriminator(_tag_of_tensor),
]


def _is_tensor_like(value: object) -> bool:
    """Return True for a mapping with a key of a tensor, perhaps misspelt, and none of a type."""
    if isinstance(value, TensorFields):
        return True
    if not isinstance(value, dict):
        return False
    keys = {*map(str, value)}
    known = validation.aliases(TensorFields)
    near = any(key in known or did_you_mean(key, ("value", "dtype", "shape")) for key in keys)
    return near and not keys & {*ATTRIBUTE_TYPES}


def _tag_of_attribute(value: object) -> str:
    """Return "<tensor>" for a mapping of a tensor, else "<plain>"."""
    return "<tensor>" if _is_tensor_like(value) else "<plain>"


AttributeField: TypeAlias = Annotated[
    Annotated[Any, WithJsonSchema(_ATTRIBUTE), Tag("<plain>")]
    | Annotated[TensorFields, Tag("<tensor>")],
    Discriminator(_tag_of_attribute),
]


def _printable(text: str) -> str:
    """Return the text; raises ValueError for control characters but tabs and line breaks."""
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text):
        raise ValueError("holds a control character, which would upset terminals")
    return text


def _one_line(text: str) -> str:
    """Return the text; raises ValueError for tabs, line breaks and other control characters."""
    if "\n" in text or "\t" in text:
        raise ValueError("must be one line, without tabs")
    return _printable(text)


def _true(value: bool) -> bool:
    """Return True; raises ValueError for false."""
    if not value:
        raise ValueError("must be true, or another answer be stated")
    return value


def _distinct(names: list[str]) -> list[str]:
    """Return the names; raises ValueError if one is there twice."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names {validation.shown(name)} twice")
    return names


#: Seconds; a day is as good as for ever.
Timeout: TypeAlias = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
#: A sentence that reports repeat; it may run over several lines.
Text: TypeAlias = Annotated[str, AfterValidator(_printable)]
_OutputNames: TypeAlias = Annotated[list[str], Field(min_length=1), AfterValidator(_distinct)]
_OneValue: TypeAlias = Annotated[dict[str, Any], Field(min_length=1, max_length=1)]
_ANSWER = Field(pattern="^[a-z][a-z0-9_]*$", description="What reports call this answer.")
AnswerName: TypeAlias = Annotated[str, _ANSWER]


class RejectedField(validation.Fields):
    """The model must be refused."""

    rejected: Text = Field(min_length=1, description="Why the model is invalid.")
    legal: _OneValue = Field(
        description="A path and a value that make the model legal: its twin must be accepted."
    )
    asked: _OutputNames | None = _optional(
        "The names of the node's outputs; absent: those that are not optional, or all."
    )


class GoldenField(validation.Fields):
    """The outputs lie in a folder in ONNX's test-data layout."""

    golden: str = Field(description="A folder beside the case file with output_0.pb …")


class OracleField(validation.Fields):
    """The outputs are what a backend answers, which may itself be wrong."""

    # It stands in reports and on command lines.
    oracle: Annotated[str, AfterValidator(_one_line)] = Field(
        min_length=1, description="The backend, as -b takes it: onnxruntime, reference …"
    )


class AgreeField(validation.Fields):
    """The outputs are not known: all backends of a run must give the same."""

    agree: Annotated[bool, AfterValidator(_true), WithJsonSchema({"const": True})] = Field(
        description="Nothing else can be said here; without any expectation the engine computes."
    )


class ComputedField(validation.Fields):
    """The engine computes these outputs, among them optional ones."""

    computed: _OutputNames = Field(
        description="The names of the outputs; absent: those that are not optional, or all."
    )


#: The keys of `expect` that are no output.
FORMS = ("agree", "any_of", "computed", "golden", "oracle", "rejected")
_NO_FORM: dict[str, Any] = {"propertyNames": {"not": {"enum": [*FORMS]}}}

_OUTPUTS = Field(min_length=1, json_schema_extra=_NO_FORM)
OutputsField: TypeAlias = Annotated[dict[str, TensorField], _OUTPUTS]


class AlternativeRejectedField(RejectedField):
    """A named answer: a refusal."""

    name: AnswerName = Field(alias="as")


class AlternativeGoldenField(GoldenField):
    """A named answer: golden files."""

    name: AnswerName = Field(alias="as")


class AlternativeOutputsField(validation.Fields, extra="allow", json_schema_extra=_NO_FORM):
    """A named answer: outputs by name; none means what the engine computes."""

    __pydantic_extra__: dict[str, TensorField]

    name: AnswerName = Field(alias="as")


def _expect_form(value: object) -> str:
    """Return the tag of an expectation: its first key that names a form, else outputs."""
    forms = [form for form in FORMS if form in value] if isinstance(value, dict) else []
    return f"<{forms[0]}>" if forms else "<outputs>"


AlternativeField: TypeAlias = Annotated[
    Annotated[AlternativeRejectedField, Tag("<rejected>")]
    | Annotated[AlternativeGoldenField, Tag("<golden>")]
    | Annotated[AlternativeOutputsField, Tag("<outputs>")],
    Discriminator(_expect_form),
]


class AnyOfField(validation.Fields):
    """The text leaves it open; each of these answers is acceptable."""

    any_of: list[AlternativeField] = Field(min_length=2)


ExpectField: TypeAlias = Annotated[
    Annotated[AgreeField, Tag("<agree>")]
    | Annotated[AnyOfField, Tag("<any_of>")]
    | Annotated[ComputedField, Tag("<computed>")]
    | Annotated[GoldenField, Tag("<golden>")]
    | Annotated[OracleField, Tag("<oracle>")]
    | Annotated[RejectedField, Tag("<rejected>")]
    | Annotated[OutputsField, Tag("<outputs>")],
    Discriminator(_expect_form),
]


class ToleranceFields(validation.Fields):
    """Either `ulp`, or `rtol` and/or `atol`."""

    ulp: int | None = _optional("Steps of the output's dtype.", ge=0)
    rtol: float | None = _optional("A part of the wanted value.", ge=0, allow_inf_nan=False)
    atol: float | None = _optional("The same for every element.", ge=0, allow_inf_nan=False)
    signed_zeros: bool | None = _optional("+0 and -0 differ.")
    strict: bool | None = _optional(
        "Nothing beyond it is right, such as a subnormal number flushed to 0."
    )


_DTYPES = Field(json_schema_extra={"propertyNames": {"enum": [*DTYPES]}})
_PerDtype: TypeAlias = Annotated[dict[DTypeName, ToleranceFields], Tag("<per_dtype>"), _DTYPES]


def _tag_of_tolerance(value: object) -> str:
    """Return "<per_dtype>" for a mapping with a key that is a dtype, else "<one>"."""
    names_dtype = isinstance(value, dict) and any(key in DTYPES for key in value)
    return "<per_dtype>" if names_dtype else "<one>"


ToleranceField: TypeAlias = Annotated[
    Annotated[ToleranceFields, Tag("<one>")] | _PerDtype, Discriminator(_tag_of_tolerance)
]


class CaseFields(validation.Fields):
    """The fields of a concrete case; each may stand in the file, the case, a row or the matrix."""

    opset: int | None = _optional("The opset the model imports.", ge=1)
    dtype: DTypeName | None = _optional("Of every input that states none.")
    attrs: dict[str, AttributeField] | None = _optional(
        "Attributes by their ONNX names; null leaves one out; {type: value} if illegal."
    )
    inputs: dict[str, TensorField | None] | None = _optional(
        "By the schema's names; null leaves an optional input out."
    )
    expect: ExpectField | None = _optional("What must come out; absent: what the engine computes.")
    tolerance: ToleranceField | None = _optional(
        "How far it may lie off; absent: the operator's own error bound."
    )
    rule: Rule | None = _optional("must (default), should or open.")
    level: Level | None = _optional(
        "smoke, core (default) or deep; huge. Of a matrix one dtype, at two opsets, is smoke."
    )
    core: list[CoreItem] | None = _optional(
        "The dtypes in which level core is meant; else deep. `newest` is each dtype at the matrix's"
        " newest opset, `float16@newest` one of them. On a case, null lifts the file's. The file's"
        " is not about cases of level smoke; their own is."
    )
    timeout: Timeout | None = _optional("Seconds a backend may take if --timeout allows fewer.")
    clause: Text | None = _optional("The sentence tested, quoted.")
    empty: Text | None = _optional(
        "Why most of what comes out is 0, infinity or NaN, if no answer is stated.", min_length=1
    )


_WORDS = {"enum": ["all", "floats", "integers", "numbers", "narrow"]}
_MATRIX = {
    "type": "object",
    "description": "Paths into the case and the values each takes; a product.",
    "additionalProperties": {"anyOf": [{"type": "array", "minItems": 1}, _WORDS]},
}
MatrixField: TypeAlias = Annotated[dict[str, Any], WithJsonSchema(_MATRIX)]
_Label: TypeAlias = Annotated[Any, WithJsonSchema({"type": ["string", "integer"]})]
_EITHER: dict[str, Any] = {"anyOf": [{"required": ["cases"]}, {"required": ["bench"]}]}


class RowFields(CaseFields):
    """A partial case, laid over its base; of some of the file's operators where `op` says so."""

    op: validation.Operators | None = None
    label: _Label = _optional("In the id; the row's number by default.")


class CaseEntry(CaseFields):
    """A case: a base, its rows and its matrix; `op` as in a row."""

    op: validation.Operators | None = None
    name: str = Field(pattern="^[a-z][a-z0-9_]*$", description="The behaviour, in snake_case.")
    matrix: MatrixField | None = None
    rows: list[RowFields] | None = Field(None, min_length=1)


class HeadFields(CaseFields):
    """A case file whose entries are validated one by one."""

    op: validation.Operators
    domain: str = Field("", description="The operator's domain; \"\" is ONNX's own.")
    matrix: MatrixField | None = None
    cases: list[Any] = Field([], min_length=1)
    bench: list[Any] = Field([], min_length=1)


class FileFields(HeadFields, json_schema_extra=_EITHER):
    """A case file: its operators, defaults for all their cases, and the cases of each."""

    cases: list[CaseEntry] = Field([], min_length=1, description="What `opcheck run` judges.")
    bench: list[CaseEntry] = Field([], min_length=1, description="What `opcheck bench` times.")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a case file."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**draft, **FileFields.model_json_schema(), "title": "opcheck case file"}


FieldPath: TypeAlias = tuple[str, ...]

_OUTER = "outer_0 is an input of the case that the node does not take"
GRAPHS_ARE = f"a graph is text such as (x) => (y) {{ y = Add(x, outer_0) }}, where {_OUTER}"
PATHS_ARE = "a path is opset, dtype, attrs.NAME[.KEY] or inputs.NAME[.KEY]"
_FORMS = (AgreeField, AnyOfField, ComputedField, GoldenField, OracleField, RejectedField)
#: The keys that may stand below a step of pydantic's location. A form's tag is its first key.
_KEYS: dict[str, list[str]] = {
    "put": validation.aliases(PutField),
    "<tensor>": validation.aliases(TensorFields),
    "tolerance": [*validation.aliases(ToleranceFields), *DTYPES],
    **{f"<{keys[0]}>": keys for keys in map(validation.aliases, _FORMS)},
    "rows": validation.aliases(RowFields),
}
#: How some values are written, by their key.
_HINTS = {
    "attrs": "by name: {axis: 1}",
    "cases": "write - name: …",
    "op": "NAME, or [NAME, NAME]",
    "opset": "several: matrix: {opset: all}",
    "expect": "by the name of the output: {output: [1, 0]}",
    "inputs": "by name: {input: [1, 2]}",
    "tolerance": "such as {rtol: 1e-5}",
    "arange": "[start, step]",
    "cycle": "[low, high]",
    "normal": "[mean, deviation]",
    "uniform": "[lowest, highest]",
}


def parse_path(text: str) -> FieldPath | None:
    """Return the path that `text` spells, or None if it spells none.

    A path is opset, dtype, attrs.NAME, inputs.NAME, or one of these two with a key more. Names are
    not checked.
    """
    path = tuple(text.split("."))
    lengths = {"opset": (1,), "dtype": (1,), "attrs": (2, 3), "inputs": (2, 3)}.get(path[0], ())
    return path if len(path) in lengths and all(path) else None


def overlay(base: FileNode, nearer: FileNode, path: FieldPath = ()) -> FileNode:
    """Return `nearer` over `base`, both at `path` of a case.

    A case, its attrs, its inputs and each tensor merge by key; anything else is replaced. Of a
    tensor the contents of `base` go if `nearer` states any. Both nodes stay as they are.
    """
    merges = not path or (path[0] == "inputs" and len(path) < 3) or path == ("attrs",)
    if not merges or not (isinstance(base.value, dict) and isinstance(nearer.value, dict)):
        return nearer
    entries = {**_unreplaced(base, path, nearer.value)}
    for key, value in nearer.value.items():
        entries[key] = overlay(entries[key], value, (*path, key)) if key in entries else value
    return FileNode(entries, nearer.mark, {**base.keys, **nearer.keys})


def _is_tensor(path: FieldPath) -> bool:
    """Return True for the path of an input."""
    return len(path) == 2 and path[0] == "inputs"


def _unreplaced(base: FileNode, path: FieldPath, nearer: Collection[str]) -> dict[str, FileNode]:
    """Return the fields at `path`, without a tensor's content if `nearer` states another."""
    if _is_tensor(path) and any(key in nearer for key in CONTENTS):
        return base.without(CONTENTS).entries
    return base.entries


def put(node: FileNode, path: FieldPath, value: FileNode, way: FieldPath = ()) -> FileNode | None:
    """Return `node`, at `way` of a case, with `value` at `path` below it.

    None if a scalar or list is between. Missing mappings on the way are made, null counts as one; a
    tensor's other contents go. `node` stays as it is.
    """
    if not path:
        return value
    if node.value is not None and not isinstance(node.value, dict):
        return None
    step = path[0]
    below = node.get(step) or FileNode({}, value.mark)
    changed = put(below, path[1:], value, (*way, step))
    if changed is None:
        return None
    keys = {step: value.mark, **node.keys}
    if len(path) == 1:
        keys[step] = value.mark
    return FileNode({**_unreplaced(node, way, [step]), step: changed}, node.mark, keys)


def states(node: FileNode, path: FieldPath) -> bool:
    """Return True if `node` sets `path`: there, by a scalar above, or by a tensor's other fill."""
    for number, step in enumerate(path):
        if not isinstance(node.value, dict):
            return True
        if step not in node.value:
            is_content = _is_tensor(path[:number]) and step in CONTENTS
            return is_content and any(key in node.value for key in CONTENTS)
        node = node.value[step]
    return True


class Omitted(IntEnum):
    """Fields left out of a case because they are malformed."""

    NOTHING = 0
    SOMETHING = 1
    #: The expectation, or a key that may be a misspelt one.
    EXPECTATION = 2


@lru_cache(4096)  # Cases share most of their fields.
def _validated(key: str, value: FileNode) -> Any:
    """Return the value of one field of a case; raises pydantic's ValidationError. It is cached."""
    return getattr(CaseFields.model_validate({key: value.plain()}), key)


_NO_FIELDS = CaseFields()


def validate_case(
    node: FileNode, file: str, problems: Problems
) -> tuple[CaseFields | None, FileNode, Omitted]:
    """Return a concrete case as its fields, and what `validate` returns besides.

    Problems are added to `problems`; nothing is raised.
    """
    try:
        stated = {key: _validated(key, value) for key, value in node.entries.items()}
    except pydantic.ValidationError:
        return validate(CaseFields, node, file, problems)
    return _NO_FIELDS.model_copy(update=stated), node, Omitted.NOTHING


def validate(
    model: type[validation.Model], node: FileNode, file: str, problems: Problems
) -> tuple[validation.Model | None, FileNode, Omitted]:
    """Return `node` as `model` or None, the node without malformed fields, and what they were.

    None if what is left is not valid either. Every problem is added to `problems`, under the name
    `file`; nothing is raised.
    """
    hints = {**_HINTS, "": "write op: NAME and cases:"} if model is HeadFields else _HINTS
    valid, faults = validation.check(model, node, file, problems, _KEYS, hints)
    if not faults:
        return valid, node, Omitted.NOTHING
    rest = _without_faults(node, faults)
    may_expect = did_you_mean("expect", {str(step) for path in faults for step in path})
    lost = Omitted.EXPECTATION if may_expect else Omitted.SOMETHING
    valid_rest, _ = validation.check(model, rest, file, Problems())
    return valid_rest, rest, lost


#: Paths to malformed parts of a node, by their first step, without it.
_Faults: TypeAlias = dict[str | int, list[validation.Location]]


def _without_faults(node: FileNode, paths: Iterable[validation.Location]) -> FileNode:
    """Return `node` without the fields that the paths lead into, or the item of some of them.

    An empty path changes nothing.
    """
    faults: _Faults = {}
    for path in paths:
        if path:
            faults.setdefault(path[0], []).append(path[1:])
    if isinstance(node.value, tuple):
        kept = [_kept(number, item, faults) for number, item in enumerate(node.value)]
        return FileNode(tuple(item for item in kept if item), node.mark, node.keys)
    if isinstance(node.value, dict):
        fields = {key: _kept(key, value, faults) for key, value in node.value.items()}
        sound = {key: value for key, value in fields.items() if value}
        return FileNode(sound, node.mark, node.keys)
    return node


def _kept(key: str | int, value: FileNode, faults: _Faults) -> FileNode | None:
    """Return what is left of a field or item without its faults; None for nothing.

    Only items, and what is in inputs, rows and outputs, are left out one by one.
    """
    if key not in faults:
        return value
    is_of_outputs = key == "expect" and not any(form in value.entries for form in FORMS)
    is_entered = isinstance(key, int) or key in ("inputs", "rows") or is_of_outputs
    if not is_entered or not all(faults[key]):
        return None
    rest = _without_faults(value, faults[key])
    # No outputs would be no expectation, which is another mistake.
    if is_of_outputs and not rest.value:
        return None
    return rest
