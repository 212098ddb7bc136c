"""The lines that `cmd:` exchanges with a program that is started once, as a JSON Schema.

docs/writing-a-backend.md explains them. Programs in other languages can validate what they write,
or generate their types from the schema; opcheck itself reads the lines in `adapters/cmd.py`, and a
test holds that both take and refuse the same lines.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from opcheck.backends.adapters.cmd import PROTOCOL
from opcheck.dtypes import BASIC

_Id = Annotated[int, Field(description="The number of the request that a reply belongs to.")]
_Reason = Annotated[str, Field(description="Why, in a line.")]
_Dtype: TypeAlias = Literal[tuple(BASIC)]  # type: ignore[valid-type]
_Size = Annotated[int, Field(ge=0)]
_Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]*={0,2}$")]


class _Object(BaseModel):
    """An object of the protocol: an unknown key breaks it."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Tensor(_Object):
    """A tensor; `data` are its row-major, little-endian elements in base64."""

    dtype: _Dtype
    shape: list[_Size]
    data: _Base64


class Input(Tensor):
    """An input of the model, by its name."""

    name: str


class Output(Tensor):
    """An output of the model; outputs are in the model's order, and need no name."""

    name: str = Field(default_factory=str)


class Hello(_Object):
    """The first line of a program."""

    opcheck: Literal[PROTOCOL]  # type: ignore[valid-type]
    name: Annotated[str, Field(pattern=r"\S")]
    version: str


class Prepare(_Object):
    """A request to replace the model; `bytes` is the file `model` in base64."""

    id: _Id
    do: Literal["prepare"]
    case: str
    op: str
    opset: int
    model: str
    bytes: _Base64


class Run(_Object):
    """A request to run the model that was prepared last."""

    id: _Id
    do: Literal["run"]
    inputs: list[Input]


class Ready(_Object):
    """The reply to `prepare`."""

    id: _Id
    ready: Literal[True]


class Outputs(_Object):
    """The reply to `run`."""

    id: _Id
    outputs: list[Output]


class Unsupported(_Object):
    """A reply: the program does not implement this."""

    id: _Id
    unsupported: _Reason


class Error(_Object):
    """A reply: the program refuses the model, or failed."""

    id: _Id
    error: _Reason


class Unavailable(_Object):
    """A reply: nothing was computed, such as for want of a device."""

    id: _Id
    unavailable: _Reason


#: Lines that opcheck writes, and lines that a program writes.
Request: TypeAlias = Prepare | Run
Reply: TypeAlias = Hello | Ready | Outputs | Unsupported | Error | Unavailable


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a line, in either direction."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **TypeAdapter(Request | Reply).json_schema(),
        "title": f"A line of opcheck's protocol for programs, version {PROTOCOL}",
        "description": "opcheck writes prepare and run; the program writes the other lines.",
    }
