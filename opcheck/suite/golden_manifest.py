"""The manifest of a golden folder: one JSON file, the same bytes for the same content."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.dataclasses import dataclass

from opcheck.graph.folders import array_from, tensor_bytes
from opcheck.model import ATTRIBUTE_TYPES, Typed

#: How values came about: those of `engine.rounding`, or as the case states them.
ManifestMethod: TypeAlias = Literal["exact", "bounded", "mpmath", "stated"]
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
NPZ = "tensors.npz"
#: No manifest may be larger, in bytes: it may come from a stranger.
LONGEST_MANIFEST = 1 << 28

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
#: Names of folders and files as opcheck writes them: none is `..`, none has a separator.
_PART = r"[A-Za-z0-9_,=+@#~%-][A-Za-z0-9_.,=+@#~%-]*"
Folder = Annotated[str, StringConstraints(pattern=rf"^(must|should|open|rejected)/test_{_PART}$")]
File = Annotated[str, StringConstraints(pattern=rf"^{_PART}(/{_PART})?$")]
_Size = Annotated[int, Field(ge=0, lt=1 << 63)]


class ManifestFields(BaseModel):
    """Fields of an object of the manifest; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Tensor(ManifestFields):
    """A tensor without its values."""

    name: str
    dtype: str
    shape: tuple[_Size, ...]


class Special(ManifestFields):
    """A number that JSON does not know."""

    number: Literal["inf", "-inf", "nan"]


Scalar = int | float | str | Special
Plain = Scalar | tuple[Scalar, ...]


class OtherType(ManifestFields):
    """A value of another type than the operator declares."""

    type: Annotated[str, StringConstraints(pattern=f"^({'|'.join(ATTRIBUTE_TYPES)})$")]
    value: Plain


class TensorValue(ManifestFields):
    """A tensor: the bytes of its .pb file in hexadecimal."""

    tensor: Annotated[str, StringConstraints(pattern="^([0-9a-f]{2})*$")]


Attributes = dict[str, Plain | OtherType | TensorValue]


class ManifestNode(ManifestFields):
    """The node of a model; `slots` are its inputs' names, "" where one is left out."""

    domain: str
    op: str
    since: int
    opset: int
    attrs: Attributes
    slots: tuple[str, ...]
    outputs: tuple[str, ...]


class StatedTolerance(ManifestFields):
    """So many ULP, or atol + rtol·|want|; an error up to `floor` is right all the same."""

    ulp: int | None
    rtol: float
    atol: float
    signed_zeros: bool
    floor: float = 0.0


class DataSetFields(ManifestFields):
    """One `test_data_set_…`; `seed` was added to the seeds of the case's fills."""

    folder: Annotated[str, StringConstraints(pattern=r"^test_data_set_[0-9]+$")]
    seed: int
    method: ManifestMethod | None
    outputs: tuple[Tensor, ...]


class TestFields(ManifestFields):
    """One folder; `refused` is the reason why its model is to be refused, or ""."""

    folder: Folder
    node: ManifestNode
    inputs: tuple[Tensor, ...]
    alternative: str
    legal_twin: bool
    refused: str
    tolerance: StatedTolerance | Literal["bound"]
    rtol: float
    atol: float
    data_sets: tuple[DataSetFields, ...]
    files: dict[File, Sha256]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The stored kinds of each output, as its files are named."""
        return ("output", "lowest", "highest") if self.tolerance == "bound" else ("output",)

    def tensors(self, data: DataSetFields) -> list[dict[str, Tensor]]:
        """The tensors of a data set, by their files: the inputs, then those of each kind."""
        of_kinds = [("input", self.inputs), *((kind, data.outputs) for kind in self.kinds)]
        return [
            {f"{data.folder}/{kind}_{number}.pb": one for number, one in enumerate(tensors)}
            for kind, tensors in of_kinds
        ]


class ManifestCase(ManifestFields):
    """One case and its tests."""

    id: str
    rule: Literal["must", "should", "open"]
    level: str
    clause: str
    digest: str
    fixed: str
    tests: tuple[TestFields, ...]


@dataclass(config=ManifestFields.model_config)
class LeftOut:
    """A selected case that is missing, and why; `wrong` if the case or the oracle is wrong."""

    case: str
    what: str
    reason: str
    wrong: bool = Field(default=False, exclude=True)


# History of the format:
#   1  two oracles, with the methods `double-double` and `engine`
#   2  one oracle, with the method `bounded`
class Manifest(ManifestFields):
    """The whole."""

    type: Literal["opcheck golden files"]
    format: Literal[2]
    opcheck: str
    packages: dict[str, str]
    selection: str
    data_sets: int
    npz: bool
    methods: dict[ManifestMethod, str]
    cases: tuple[ManifestCase, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def tests(self) -> list[TestFields]:
        """All tests, in the order of their cases."""
        return [test for case in self.cases for test in case.tests]

    @property
    def files(self) -> list[tuple[str, str]]:
        """The files of all tests, by their paths, each with its SHA-256."""
        return [(f"{t.folder}/{name}", sha) for t in self.tests for name, sha in t.files.items()]

    def data(self) -> bytes:
        """The file: the same bytes for the same content."""
        plain = self.model_dump(mode="json")
        text = json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True)
        return f"{text}\n".encode(errors="replace")


class NotReadable(ValueError):
    """A manifest that is missing, damaged, or of another format."""


def read_manifest(folder: Path) -> tuple[Manifest, bytes]:
    """The manifest of a folder, and its bytes; raises NotReadable."""
    path = folder / MANIFEST
    if path.is_symlink():
        raise NotReadable("is a link")
    if not path.exists():
        raise NotReadable("is missing")
    # A pipe would never end.
    if not path.is_file():
        raise NotReadable("is no plain file")
    try:
        if path.stat().st_size > LONGEST_MANIFEST:
            raise NotReadable(f"is larger than {LONGEST_MANIFEST >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise NotReadable(f"cannot be read: {error.strerror}") from None
    try:
        found = Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["loc"] == ("format",) and isinstance(first["input"], int):
            raise NotReadable(f"has format {first['input']}; this opcheck reads 2") from None
        place = ".".join(map(str, first["loc"]))
        raise NotReadable(f"is damaged: {place + ': ' if place else ''}{first['msg']}") from None
    except RecursionError:
        raise NotReadable("is damaged: nested too deep") from None
    if found.data() != data:
        raise NotReadable("is not as opcheck writes it: a key is there twice, or it was edited")
    return found, data


def sums(manifest: Manifest, sha256: str) -> bytes:
    """Return the input of `sha256sum -c`; `sha256` is of the manifest's file."""
    lines = [f"{sha}  {path}" for path, sha in ((MANIFEST, sha256), *manifest.files)]
    return "".join(f"{line}\n" for line in sorted(lines, key=lambda line: line[66:])).encode()


def spelt(value: Any) -> Any:
    """An attribute's value as the manifest has it."""
    if isinstance(value, Typed):
        return OtherType(type=value.type, value=spelt(value.value))
    if isinstance(value, np.ndarray):
        return TensorValue(tensor=tensor_bytes(value, "").hex())
    if isinstance(value, tuple):
        return tuple(map(spelt, value))
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return Special(number=str(value))  # type: ignore[arg-type]
    return value


def value_of(stored: Any) -> Any:
    """The value that `spelt` wrote."""
    if isinstance(stored, OtherType):
        return Typed(stored.type, value_of(stored.value))
    if isinstance(stored, TensorValue):
        return array_from(bytes.fromhex(stored.tensor))
    if isinstance(stored, tuple):
        return tuple(map(value_of, stored))
    return float(stored.number) if isinstance(stored, Special) else stored
