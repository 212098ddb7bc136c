"""Small models whose answers are worked out by hand, for each defect that is published.

They are data, a file for each operator in `by_hand/`, in the form of `FileFields`. Nothing there
comes from opcheck: attributes and data stand as they go into the model, and `why` is the
arithmetic, or the sentence of the specification that forbids the model.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from opcheck.known import DefectId, shipped_ledgers
from opcheck.reading import Problems, read_file, validation

Array: TypeAlias = npt.NDArray[Any]

FOLDER = Path(__file__).parent / "by_hand"
#: The names of dtypes in files, but for those of NumPy and ml_dtypes.
_DTYPES: Mapping[str, Any] = {"string": object, "bfloat16": ml_dtypes.bfloat16}
#: Keys of a tensor besides the one that names its dtype.
_SHAPE = "shape"
_PUT = "put"
_BITS = "bits"


class Graph(str):
    """A graph that is an attribute, as text in ONNX's syntax."""


@dataclass(frozen=True)
class Model:
    """A model of one node, with its input: fed, or a constant stored in one of three ways.

    Of a model that has `nothing` for an input, `x` is of the output's dtype.
    `more` are further inputs, which are fed, or `constant`; None is left out. Of several outputs it
    has the one at `output` alone, which is of the input's dtype, or of the one that `gives` names;
    the node has as many more as `after` says. With `earlier` it is asked three times, the second
    time with these in place of `more`. As many inputs as `sequence` says are put into one, which
    the node takes first; operators of optionals take an optional of one or none. Of a sequence that
    it gives there is the tensor at `item`, or its length, and of an optional, if it has an element.
    The last of `more`, as many as `around` says, are no inputs of the node: its graphs use them.
    The node is of `domain`, ONNX's own unless stated.
    """

    op: str
    opset: int
    attrs: dict[str, Any]
    x: Array
    stored: Literal["fed", "raw_data", "int32_data", "string_data", "nothing"] = "fed"
    more: tuple[Any, ...] = ()
    output: int = 0
    after: int = 0
    gives: str = ""
    constant: bool = False
    earlier: tuple[Any, ...] = ()
    sequence: int | None = None
    item: int | Literal["", "length"] = ""
    around: int = 0
    domain: str = ""


@dataclass(frozen=True)
class Gives:
    """This wrong answer shows the defect, in the output's dtype or in another one."""

    answer: npt.ArrayLike
    dtype: str = ""


@dataclass(frozen=True)
class Leftovers:
    """Whatever the memory holds shows the defect: any wrong answer of this shape."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Holds:
    """What `text` says of an answer shows the defect, where what is right is drawn at random."""

    text: str

    def test(self, answer: Array) -> bool:
        """Return True if the text holds for the answer."""
        return bool(PROPERTIES[self.text](answer))


@dataclass(frozen=True)
class Raises:
    """An exception with these words shows the defect."""

    words: str


@dataclass(frozen=True)
class Declares(Raises):
    """An answer of another shape than the session declared, in these words, shows the defect."""


@dataclass(frozen=True)
class Dies:
    """The death of the process shows the defect, with these words on standard error."""

    words: str


@dataclass(frozen=True)
class Check:
    """A model, what must come of it, and what comes where the defect is.

    `defect` is the id of the ledger's line. `wants` are the right answers; where there
    is none, the model must be refused. The engine is first asked a `control`, a model like this
    one that the defect is not about, and has to answer as `control_wants` says. Answers are equal
    within `rtol`. With `sometimes`, the defect is not on every CPU. With `last`, the model does to
    the process what may kill it later, so that no other is asked there.
    """

    engine: str
    defect: str
    model: Model
    wants: Sequence[npt.ArrayLike]
    shows: Gives | Leftovers | Holds | Raises | Dies
    why: str
    control: Model
    control_wants: npt.ArrayLike
    rtol: float = 1e-3
    sometimes: bool = False
    last: bool = False


#: What `holds` may say of an answer that is drawn at random.
PROPERTIES: Mapping[str, Callable[[Array], Any]] = {
    "texts": lambda y: y.dtype == object,
    "numbers of float32": lambda y: y.dtype == np.float32,
    "200 ones": lambda y: (y == 1).all(),
    "200 numbers, none below -1.21": lambda y: y.min() > -1.21,
    "one of 5,000 numbers above 9": lambda y: (y > 9).any(),
    "no number from 2 to 3": lambda y: not ((y >= 2) & (y <= 3)).any(),
    "no number within 1e-10 of 1/0.9": lambda y: (abs(y - 1 / 0.9) > 1e-10).all() and y.any(),
}


# ── tensors ───────────────────────────────────────────────────────────────────────────────────


def tensor(value: Any) -> Array:
    """Return the tensor that a file states: `{DTYPE: values}`; raises ValueError.

    With `shape`, the values fill it: all the same, or in row-major order; `put` then changes
    elements, in pairs of a place in that order and a value. With `bits: true`, the values are the
    compressed bytes of the elements, in base64.
    """
    names = [key for key in value if key not in (_SHAPE, _PUT, _BITS)] if _is_mapping(value) else []
    if len(names) != 1:
        raise ValueError("must be a tensor, such as {float32: [1, 2]}")
    (name,) = names
    dtype = _dtype(name)
    values = value[name]
    shape = value.get(_SHAPE)
    if value.get(_BITS):
        data = zlib.decompress(base64.b64decode(values))
        return np.frombuffer(data, dtype).reshape(shape).copy()
    array = _array(values, dtype)
    if shape is not None:
        array = np.full(shape, array) if array.ndim == 0 else array.reshape(shape)
    for place, element in value.get(_PUT, ()):
        array.ravel()[place] = _array(element, dtype)
    return array


def _dtype(name: str) -> np.dtype[Any]:
    try:
        dtype: np.dtype[Any] = np.dtype(_DTYPES.get(name, getattr(ml_dtypes, name, name)))
    except TypeError:
        raise ValueError(f"there is no dtype {name!r}") from None
    return dtype


def _array(values: Any, dtype: np.dtype[Any]) -> Array:
    if dtype.kind in "fcVO":
        exact = np.array(values, object if dtype.hasobject else np.float64)
        return exact.astype(dtype)
    return np.array(values, dtype)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _answer(value: Any) -> Any:
    """An answer as a check has it: a tensor, or numbers of the output's dtype."""
    if isinstance(value, list):
        return [_answer(item) for item in value]
    return tensor(value) if _is_mapping(value) else value


def _attribute(value: Any) -> Any:
    """An attribute's value: a tensor, `{graph: TEXT}`, or plain."""
    if _is_mapping(value) and [*value] == ["graph"]:
        return Graph(value["graph"])
    return tensor(value) if _is_mapping(value) else value


def _inputs(values: Any) -> tuple[Any, ...]:
    if not isinstance(values, list):
        raise ValueError("must be a list of tensors")
    return tuple(None if value is None else tensor(value) for value in values)


def _attributes(values: Any) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ValueError("must be a mapping, by name")
    return {name: _attribute(value) for name, value in values.items()}


# ── files ─────────────────────────────────────────────────────────────────────────────────────

_Tensor = Annotated[Any, AfterValidator(tensor)]
_Tensors = Annotated[Any, AfterValidator(_inputs)]
_Answer = Annotated[Any, AfterValidator(_answer)]
_Text = Annotated[str, Field(min_length=1)]


class ModelFields(validation.Fields):
    """A model; without `op`, it is of the file's operator."""

    op: _Text | None = None
    domain: str = ""
    opset: int
    attrs: Annotated[Any, BeforeValidator(_attributes)] = Field(default_factory=dict)
    x: _Tensor
    stored: Literal["fed", "raw_data", "int32_data", "string_data", "nothing"] = "fed"
    more: _Tensors = ()
    constant: bool = False
    earlier: _Tensors = ()
    output: int = 0
    after: int = 0
    gives: str = ""
    sequence: int | None = None
    item: int | Literal["", "length"] = ""
    around: int = 0


class ControlFields(ModelFields):
    """A model by what differs from the check's: other fields are the same."""

    opset: int = 0
    x: Annotated[Any, AfterValidator(tensor)] = None

    def stated(self) -> dict[str, Any]:
        """Return the fields that the file states."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class ShowsFields(validation.Fields):
    """What shows the defect: one of these."""

    gives: _Answer = None
    dtype: str = ""
    leftovers: list[int] | None = None
    holds: str | None = None
    raises: str | None = None
    declares: str | None = None
    dies: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> ShowsFields:
        if len(self.model_fields_set - {"dtype"}) != 1:
            raise ValueError("state one of gives, leftovers, holds, raises, declares and dies")
        if self.holds is not None and self.holds not in PROPERTIES:
            raise ValueError(f"holds is one of {', '.join(map(repr, PROPERTIES))}")
        return self

    def made(self) -> Gives | Leftovers | Holds | Raises | Dies:
        """Return what shows the defect."""
        if self.leftovers is not None:
            return Leftovers(tuple(self.leftovers))
        if self.holds is not None:
            return Holds(self.holds)
        if self.raises is not None:
            return Raises(self.raises)
        if self.declares is not None:
            return Declares(self.declares)
        return Dies(self.dies) if self.dies is not None else Gives(self.gives, self.dtype)


class CheckFields(validation.Fields):
    """One check, as `Check` explains it."""

    defect: DefectId
    why: _Text
    model: ModelFields
    wants: list[_Answer]
    shows: ShowsFields
    control: ControlFields
    control_wants: _Answer
    rtol: float = 1e-3
    sometimes: bool = False
    last: bool = False


class FileFields(validation.Fields):
    """The checks of an operator."""

    op: _Text
    checks: list[CheckFields]


def load(paths: Iterable[Path]) -> tuple[Check, ...]:
    """Return the checks in files; raises CaseFileError with every problem of all of them."""
    engines = _engines()
    problems = Problems()
    checks = []
    for path in paths:
        node = read_file(path, problems)
        fields = validation.check(FileFields, node, str(path), problems, _KEYS)[0] if node else None
        for number, one in enumerate(fields.checks if fields else ()):
            if one.defect in engines and fields:
                checks.append(_check(engines[one.defect], fields.op, one))
            elif node:
                place = node.at(("checks", number, "defect"))
                problems.add(str(path), place, f"no shipped ledger has {one.defect}")
    problems.raise_if_any()
    return tuple(checks)


_KEYS = {
    "checks": validation.aliases(CheckFields),
    "model": validation.aliases(ModelFields),
    "control": validation.aliases(ModelFields),
    "shows": validation.aliases(ShowsFields),
}


@cache
def all_checks() -> tuple[Check, ...]:
    """Return the checks of all files."""
    return load(sorted(FOLDER.glob("*.yaml")))


def _engines() -> dict[str, str]:
    """The engine of each defect's ledger."""
    return {
        id: ledger.fields.backend[0]
        for ledger in shipped_ledgers()
        for id in (line.id for line in ledger.fields.known)
        if id
    }


def _check(engine: str, op: str, fields: CheckFields) -> Check:
    return Check(
        engine=engine,
        defect=fields.defect,
        model=_model(op, vars(fields.model)),
        wants=fields.wants,
        shows=fields.shows.made(),
        why=fields.why,
        control=_model(op, {**vars(fields.model), **fields.control.stated()}),
        control_wants=fields.control_wants,
        rtol=fields.rtol,
        sometimes=fields.sometimes,
        last=fields.last,
    )


def _model(op: str, fields: Mapping[str, Any]) -> Model:
    return Model(**{**fields, "op": fields["op"] or op})
