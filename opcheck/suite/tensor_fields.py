"""The fields of a tensor in a case file, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)

from opcheck.dtypes import DTYPES
from opcheck.errors import did_you_mean
from opcheck.reading.form import shown

_LITERAL = {
    "description": "A number, or a nested list of numbers.",
    "type": ["number", "boolean", "array"],
}


def _known_dtype(name: str) -> str:
    if name not in DTYPES:
        hint = did_you_mean(name, DTYPES) or f"known: {', '.join(DTYPES)}"
        raise ValueError(f"unknown dtype {shown(name)} ({hint})")
    return name


def _exact(value: Any) -> Any:
    """A whole number as a float, which must not change it."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{shown(value)} is outside float64") from None
    if number != value:
        hint = "write it with a point to have it rounded, or in a literal"
        raise ValueError(f"{shown(value)} has no exact float64 ({hint})")
    return number


DTypeName: TypeAlias = Annotated[
    str,
    AfterValidator(_known_dtype),
    WithJsonSchema({"enum": list(DTYPES), "description": "An element type."}),
]
Number: TypeAlias = Annotated[float, BeforeValidator(_exact)]
Pair: TypeAlias = Annotated[list[Number], Field(min_length=2, max_length=2)]
Shape: TypeAlias = Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=32)]
#: Literals are converted, with positions, in `suite.tensors`; walking them twice would cost.
LiteralField: TypeAlias = Annotated[Any, WithJsonSchema(_LITERAL)]


class Fields(BaseModel):
    """What all parts of a case file share: no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PutField(Fields):
    """One element overwritten after the fill."""

    at: list[int] = Field(description="The element's index, one number a dimension.")
    value: Number = Field(description="Rounded once to the dtype.")


class TensorFields(Fields):
    """A tensor: a literal `value`, a `shape` with one fill, or a `file`."""

    value: LiteralField = None
    dtype: DTypeName | None = Field(None, description="Overrides the case's dtype.")
    shape: Shape | None = Field(None, description="With exactly one fill.")
    constant: Number | None = Field(None, description="Every element.")
    arange: Pair | None = Field(None, description="[start, step], row-major.")
    uniform: Pair | None = Field(None, description="[low, high)")
    normal: Pair | None = Field(None, description="[mean, standard deviation]")
    integers: Pair | None = Field(None, description="[low, high], both included.")
    choice: list[Number] | None = Field(
        None, min_length=1, description="Values to draw from; gives ties."
    )
    permutation: Pair | None = Field(
        None, description="[start, step]: an arange in random order; gives no ties."
    )
    specials: bool | None = Field(None, description="Zeros, subnormals, limits, infinities, NaN.")
    seed: int | None = Field(None, ge=0, description="Of the random fills; 0 by default.")
    put: list[PutField] | None = None
    file: str | None = Field(None, description="An .npy file beside the case file.")
    initializer: bool | None = Field(None, description="A constant of the model, not fed.")


#: The fills: keys of a tensor of which exactly one goes with `shape`.
FILLS = (
    *("constant", "arange", "uniform", "normal", "integers"),
    *("choice", "permutation", "specials"),
)
#: The keys of a tensor that say what is in it; a nearer one replaces a farther one.
CONTENTS = ("value", "file", *FILLS)


def _tensor_form(value: object) -> str:
    return "<tensor>" if isinstance(value, dict | TensorFields) else "<literal>"


TensorField: TypeAlias = Annotated[
    Annotated[LiteralField, Tag("<literal>")] | Annotated[TensorFields, Tag("<tensor>")],
    Discriminator(_tensor_form),
]
