"""A case: an operator, its inputs, and the expected answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from opcheck.dtypes import DType

Array: TypeAlias = NDArray[Any]
#: Inputs or outputs, in their order.
Tensors: TypeAlias = Sequence[Array]
#: Arrays by input name, in the order of the operator's inputs.
Arrays: TypeAlias = Mapping[str, Array]
AttrValue: TypeAlias = (
    int | float | str | Array | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
)
Attrs: TypeAlias = "Mapping[str, AttrValue | Typed]"
Rule: TypeAlias = Literal["must", "should", "open"]
Level: TypeAlias = Literal["smoke", "core", "deep", "huge"]
#: The types of attributes that case files can write.
ATTRIBUTE_TYPES = ("int", "float", "string", "ints", "floats", "strings", "tensor")


@dataclass(frozen=True, repr=False)
class Typed:
    """An attribute value whose type, of ATTRIBUTE_TYPES, is not the declared: `{float: 1.5}`."""

    type: str
    value: AttrValue

    def __repr__(self) -> str:
        value = [*self.value] if isinstance(self.value, tuple) else self.value
        return f"{{{self.type}: {value!r}}}"


@dataclass(frozen=True, order=True)
class OpVersion:
    """An operator at the version in force since opset `since`, or `GRAPH`; "" is ONNX's domain."""

    domain: str
    name: str
    since: int

    def __str__(self) -> str:
        return f"{self.name}-{self.since}" if self.since else self.name


#: A value of a tensor as a case file writes it.
Scalar: TypeAlias = float | complex | str
#: In place of an operator: the model is not one node that a case can state.
GRAPH = OpVersion("", "graph", 0)


@dataclass(frozen=True, slots=True)
class Source:
    """Location of a case, `shipped` in opcheck's own suites; line 0 means the file as a whole."""

    file: str
    line: int
    column: int
    shipped: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, eq=False, slots=True)
class Given:
    """Values written out: in float64 or complex128, or exactly, in the tensor's own dtype."""

    values: Array


@dataclass(frozen=True, slots=True)
class Fill:
    """Values made by rule: `kind` is the word in the case file, `args` its values."""

    kind: str
    args: tuple[Scalar, ...]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class FromFile:
    """Values read from an .npy or .pb file."""

    path: Path


@dataclass(frozen=True, slots=True)
class Put:
    """One element overwritten after the fill.

    A whole number that no float64 is stays an int, for a tensor of whole numbers.
    """

    at: tuple[int, ...]
    value: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class TensorSpec:
    """An input tensor, or an output that is expected, not yet allocated."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    content: Given | Fill | FromFile
    put: tuple[Put, ...] = ()
    initializer: bool = False

    @property
    def nbytes(self) -> int:
        """Size in bytes once allocated."""
        return math.prod(self.shape) * self.dtype.numpy.itemsize


@dataclass(frozen=True)
class Port:
    """A model's input or output, which takes the next `count` tensors; an absent optional, none."""

    name: str
    form: Literal["tensor", "sequence", "nothing"] = "tensor"
    count: int = 1


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """An output the node produces; `dtype` is None if only the backend's answer has it.

    `place` is which of the operator's outputs it is, None if as many stand before it here. `rank`
    is stated where a sequence has it, whose tensors may be of several.
    """

    name: str
    dtype: DType | None
    place: int | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Tolerance:
    """Allowed error around `want`: `ulp` steps of the output's dtype, or atol + rtol·|want|.

    Exactly one of `ulp` and the pair (`rtol`, `atol`) is set. NaN equals NaN; +0 equals -0
    unless `signed_zeros`. Unless `strict`, what an operator of the engine may flush or lose at the
    ends of its range is right too.
    """

    ulp: int | None = None
    rtol: float = 0.0
    atol: float = 0.0
    signed_zeros: bool = False
    strict: bool = False

    def __str__(self) -> str:
        zeros = ", signed zeros" if self.signed_zeros else ""
        if self.ulp is None:
            return f"rtol {self.rtol:g}, atol {self.atol:g}{zeros}"
        return f"{'exact' if self.ulp == 0 else f'{self.ulp} ULP'}{zeros}"


EXACT = Tolerance(ulp=0)


class _Expectation:
    __slots__ = ()
    #: The address of the backend whose answer is taken for right.
    oracle: str | None = None
    #: True if no answer is known: backends are compared with each other.
    compares_backends: bool = False
    #: The outputs whose values are drawn at random.
    random: frozenset[str] = frozenset()

    @property
    def written(self) -> tuple[TensorSpec, ...]:
        """Every tensor that is written out."""
        if isinstance(self, AnyOf):
            return tuple(spec for one in self.alternatives for spec in one.expect.written)
        return self.outputs if isinstance(self, Values) else ()

    @property
    def rejection(self) -> "Rejected | None":
        """The refusal that is demanded, or the first that is admitted."""
        if isinstance(self, AnyOf):
            return next(filter(None, (one.expect.rejection for one in self.alternatives)), None)
        return self if isinstance(self, Rejected) else None

    @property
    def is_stated(self) -> bool:
        """True if the case or the engine states the answer, and no backend does."""
        return self.oracle is None and not self.compares_backends


@dataclass(frozen=True, eq=False, slots=True)
class Values(_Expectation):
    """The outputs written out, in the order of the node's outputs, or as `ports` state.

    Of outputs in `random`, whose values are drawn at random, only type and shape are compared.
    """

    outputs: tuple[TensorSpec, ...]
    ports: tuple[Port, ...] = ()
    random: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Computed(_Expectation):
    """The engine's exact mode computes the outputs."""


@dataclass(frozen=True, slots=True)
class Golden(_Expectation):
    """The outputs lie in `folder` as output_0.pb, output_1.pb … (ONNX's test-data layout)."""

    folder: Path


@dataclass(frozen=True, slots=True)
class Oracle(_Expectation):
    """The outputs are the answer of the backend with this address, right or wrong."""

    oracle: str


@dataclass(frozen=True, slots=True)
class Agreement(_Expectation):
    """No answer is known: all backends of a run must answer alike."""

    compares_backends = True


@dataclass(frozen=True, slots=True)
class Rejected(_Expectation):
    """The model must be refused; `legal` is its twin with one value made legal.

    A model that the engine's formula lets a backend refuse has no such twin.
    """

    reason: str
    legal: "Case | None"


#: An answer that may be one of several.
OneAnswer: TypeAlias = Values | Computed | Golden | Rejected


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the answers an undecided text admits."""

    name: str
    expect: OneAnswer


@dataclass(frozen=True, slots=True)
class AnyOf(_Expectation):
    """The text does not decide; each of these answers is acceptable."""

    alternatives: tuple[Alternative, ...]


Expectation: TypeAlias = OneAnswer | Oracle | Agreement | AnyOf


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Case:
    """One concrete question: a node on its inputs, and the expected answer.

    Or a `model` in ONNX's format: if it is one node, `op`, `attrs` and `slots` are of that; else
    `op` is `GRAPH`, and there are neither attributes nor slots.

    `tolerance` None means the operator's own error bound. `row` is the row's label, `dtype` the
    case's dtype (None where every input states its own).
    """

    id: str
    name: str
    row: str | None = None
    op: OpVersion
    opset: int
    dtype: DType | None
    attrs: Attrs
    inputs: tuple[TensorSpec, ...]
    #: The node's input slots in the operator's order; "" where an optional input is left out.
    slots: tuple[str, ...]
    outputs: tuple[OutputSpec, ...]
    expect: Expectation
    tolerance: Tolerance | None = None
    rule: Rule = "must"
    #: The file states the rule; it is not the default.
    is_rule_stated: bool = False
    level: Level = "core"
    clause: str = ""
    source: Source
    #: Seconds that a backend may take even if the run allows fewer.
    timeout: float | None = None
    #: Why most of the computed answer is 0, infinity or NaN; "" if it must not be.
    empty: str = ""
    model: bytes | None = None
    #: The model's inputs that `inputs` are, but for initializers; empty if each is one.
    ports: tuple[Port, ...] = ()
    #: Options that a command line needs, next to the source and the id, to get this case.
    said: tuple[str, ...] = ()
    #: Why opcheck itself cannot ask this case; "" if it can.
    beyond: str = ""

    @property
    def leaves_rule_to_engine(self) -> bool:
        """True if it states no rule, answer or tolerance: the engine decides where a text is vague.

        Shipped cases state their rules.
        """
        is_computed = isinstance(self.expect, Computed) and self.tolerance is None
        return is_computed and not (self.is_rule_stated or self.source.shipped)
