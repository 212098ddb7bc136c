"""The manifest of a golden folder, and its files against it; both may come from a stranger.

The manifest is one JSON file, the same bytes for the same content. Nothing outside the folder is
read. What is in the files is for `execution.golden.writing`.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pydantic.dataclasses
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from opcheck import model
from opcheck.dtypes import content
from opcheck.errors import UsageError
from opcheck.graph.folders import MAX_BYTES, MODEL, array_from, tensor_bytes
from opcheck.graph.test_data import DATA, FileMessages
from opcheck.model import Alternative, AnyOf, Case, Given, Rejected, Tolerance, Typed, Values

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

    type: Annotated[str, StringConstraints(pattern=f"^({'|'.join(model.ATTRIBUTE_TYPES)})$")]
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

    def tensors(self, data: DataSetFields) -> list[dict[str, Tensor]]:
        """The tensors of a data set, by their files: the inputs, then those of each kind."""
        kinds = ("output", "lowest", "highest") if self.tolerance == "bound" else ("output",)
        of_kinds = [("input", self.inputs), *((kind, data.outputs) for kind in kinds)]
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


@pydantic.dataclasses.dataclass(config=ManifestFields.model_config)
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


#: No folder with more entries is looked at.
_MOST = 1 << 21
_NAME_THE_WHOLE = f"name the folder of {MANIFEST}"


@dataclass(frozen=True, order=True)
class Finding:
    """A problem of a path in the golden folder; `sha` is a changed file's SHA-256, else ""."""

    path: str
    message: str
    sha: str = ""


@dataclass(frozen=True)
class Listing:
    """Contents of a folder: plain files, folders, and anything else by its kind."""

    files: frozenset[str]
    folders: frozenset[str]
    others: dict[str, str]


def strange(folder: Path, listing: Listing, manifest: Manifest, data: bytes) -> list[Finding]:
    """Return problems found without reading a test's files; `data` are the manifest's bytes."""
    return [
        *unusual(listing),
        *_contradictions(manifest),
        *_sums(folder, manifest, sha256(data).hexdigest(), listing),
        *_missing_and_extra({path for path, _ in manifest.files}, listing),
    ]


def unusual(listing: Listing) -> list[Finding]:
    """Return entries that no golden folder may hold, whatever its manifest lists."""
    found = [Finding(*one) for one in listing.others.items()]
    # Some file systems cannot distinguish such names.
    first: dict[str, str] = {}
    for path in sorted({*listing.files, *listing.folders, *listing.others}):
        other = first.setdefault(path.casefold(), path)
        if other != path:
            found.append(Finding(path, f"differs from {other} only by the case of its letters"))
    return found


def damage(folder: Path, part: str) -> tuple[Manifest | None, list[Finding]]:
    """Return the manifest of a folder, and problems of the tests at path `part`."""
    try:
        manifest, data = read_manifest(folder)
    except NotReadable as error:
        return None, [Finding(MANIFEST, str(error))]
    listing = list_files(folder)
    found = strange(folder, listing, manifest, data)
    for test in manifest.tests:
        found += changed(folder, test, files_there(test, listing), npz=manifest.npz)
    prefix = part.removesuffix(".").removesuffix("/")
    mine = [
        one
        for one in found
        # Beside the tests there may be anything.
        if one.path in (MANIFEST, SUMS)
        or ("/" in one.path and f"{one.path}/".startswith(f"{prefix}/" * bool(prefix)))
    ]
    return manifest, sorted(mine)


def changed(folder: Path, test: TestFields, there: Set[str], *, npz: bool) -> Iterator[Finding]:
    """Files of a test that are not as they were written; `there` are the plain files among them."""
    expected = {MODEL} if test.refused else {MODEL, DATA}
    for data in test.data_sets:
        expected.update(*test.tensors(data), {f"{data.folder}/{NPZ}"} if npz else ())
    for name in sorted(expected - test.files.keys()):
        yield Finding(f"{test.folder}/{name}", "the manifest has no SHA-256 of it")
    for name in sorted(test.files.keys() - expected):
        yield Finding(f"{test.folder}/{name}", "the manifest lists it, but no such test has it")
    for name in sorted(there):
        path, written = f"{test.folder}/{name}", test.files[name]
        try:
            if (folder / path).stat().st_size > MAX_BYTES:
                yield Finding(path, f"is larger than {MAX_BYTES >> 30} GiB")
                continue
            with (folder / path).open("rb") as file:
                sha = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            yield Finding(path, f"cannot be read: {error.strerror}")
            continue
        if sha != written:
            message = f"was changed: its SHA-256 is {sha[:12]}…, not {written[:12]}…"
            yield Finding(path, message, sha)


def files_there(test: TestFields, listing: Listing) -> frozenset[str]:
    """Those of a test's files that are there, and plain files."""
    return frozenset(name for name in test.files if f"{test.folder}/{name}" in listing.files)


def list_files(folder: Path) -> Listing:
    """List a folder; no link is followed."""
    files, folders, others = set(), set(), {}
    left = [(folder, "", 1)]
    while left:
        where, prefix, depth = left.pop()
        try:
            with os.scandir(where) as entries:
                found = list(islice(entries, _MOST))
        except OSError as error:
            others[prefix.rstrip("/")] = f"cannot be read: {error.strerror}"
            continue
        for entry in found:
            path = prefix + entry.name
            if entry.is_symlink():
                others[path] = "is a link: nothing is read through it"
            elif entry.is_file(follow_symlinks=False):
                files.add(path)
            elif not entry.is_dir(follow_symlinks=False):
                others[path] = "is no plain file"
            elif depth == 4:  # kind, test, data set, file
                others[path] = "is a folder where none belongs"
            else:
                folders.add(path)
                left.append((Path(entry.path), f"{path}/", depth + 1))
        if len(files) + len(folders) + len(others) >= _MOST:
            raise UsageError(f"{folder} holds more than {_MOST:,} files")
    return Listing(frozenset(files), frozenset(folders), others)


def _contradictions(manifest: Manifest) -> Iterator[Finding]:
    ids = Counter(case.id.casefold() for case in manifest.cases)
    folders = Counter(test.folder.casefold() for test in manifest.tests)
    for what, names in (("cases", ids), ("tests", folders)):
        for name, count in names.items():
            if count > 1:
                yield Finding(MANIFEST, f"{count} {what} are called {name}")
    for case in manifest.cases:
        if not case.tests:
            yield Finding(MANIFEST, f"{case.id} has no test")
        for test in case.tests:
            kind = "rejected" if test.refused and case.rule != "open" else case.rule
            if not test.folder.startswith(f"{kind}/"):
                yield Finding(test.folder, f"belongs into {kind}/, by its rule")
            if not test.data_sets:
                yield Finding(test.folder, "has no data set")


def _sums(folder: Path, manifest: Manifest, digest: str, listing: Listing) -> list[Finding]:
    """Return where SHA256SUMS, which also covers the manifest, disagrees."""
    if SUMS in listing.others:
        return []
    if SUMS not in listing.files:
        return [Finding(SUMS, "is missing")]
    want = sums(manifest, digest)
    try:
        with (folder / SUMS).open("rb") as file:
            got = file.read(len(want) + 1)  # however long it is
    except OSError as error:
        return [Finding(SUMS, f"cannot be read: {error.strerror}")]
    if got == want:
        return []
    line = f"{digest}  {MANIFEST}".encode()
    if line not in got.split(b"\n"):
        return [Finding(MANIFEST, f"is not the one that {SUMS} vouches for")]
    there = zip(got.split(b"\n"), want.split(b"\n"), strict=False)
    number = next((n for n, (a, b) in enumerate(there, 1) if a != b), None)
    where = f"in line {number}" if number else "at its end"
    return [Finding(SUMS, f"says something else than {MANIFEST}, first {where}")]


def _missing_and_extra(listed: set[str], listing: Listing) -> Iterator[Finding]:
    """Yield listed files that are missing, and entries that the manifest does not list."""
    yield from (Finding(p, "is missing") for p in listed - listing.files - {*listing.others})
    known = {parent for path in listed for parent in _parents(path)}
    for path in sorted(listing.folders - known):
        if not any(parent in listing.folders - known for parent in _parents(path)):
            yield Finding(path, "is in no test")
    for path in listing.files - listed - {MANIFEST, SUMS}:
        if all(parent in known for parent in _parents(path)):
            yield Finding(path, f"is not in the {MANIFEST}")


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def golden_above(root: Path, problems: FileMessages) -> tuple[Path, Manifest] | None:
    """Return the golden folder above `root`, with its manifest; adds problems of tests."""
    whole = root.resolve()
    for folder in (whole, *whole.parents[:2]):  # kind, test
        if _is_ours(folder):
            manifest, findings = damage(folder, whole.relative_to(folder).as_posix())
            problems += [(folder / one.path, one.message) for one in findings]
            return (folder, manifest) if manifest else None
    return None


def _is_ours(folder: Path) -> bool:
    """Return True for a folder of golden files, though its manifest may be damaged or missing."""
    # At the end and at the beginning of every manifest.
    marks = b'"type": "opcheck golden files"', b'{\n "cases": [\n  {\n   "clause": "'
    files = {MANIFEST: marks, SUMS: (f"  {MANIFEST}\n".encode(),)}
    for name, known in files.items():
        if (folder / name).is_file():
            with suppress(OSError), (folder / name).open("rb") as file:
                data = file.read(LONGEST_MANIFEST)
                if any(mark in data for mark in known):
                    return True
    return False


def orphans(tests: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Tests that opcheck wrote and that nobody can judge without their manifest."""
    for path in tests:
        kind = path.resolve().parent.name
        if kind in ("should", "open", "rejected") and "%2F" in path.name:
            yield path, f"opcheck wrote this test of {kind!r}, and there is no {MANIFEST}"


def as_cases(
    golden: tuple[Path, Manifest], root: Path, found: Mapping[Path, list[Case]]
) -> Iterator[Case]:
    """The cases of tests `found` below `root`; all answers to an undecided text are one case."""
    folder, manifest = golden
    place = root.resolve().relative_to(folder)
    tests = {(place / path.relative_to(root)).as_posix(): found[path] for path in found}
    named = {test.folder: (case, test) for case in manifest.cases for test in case.tests}
    for name, cases in tests.items():
        if name not in named:
            continue  # `damage` reports it
        case, test = named[name]
        if test.alternative:
            folders = {one.folder: one for one in case.tests if one.alternative}
            if name == next(folder for folder in folders if folder in tests):
                yield _undecided(cases[0], test, [*folders.values()], tests)
        elif test.refused:
            twin = next((one.folder for one in case.tests if one.legal_twin), "")
            if legal := tests.get(twin):
                expect = Rejected(test.refused, legal[0])
                yield replace(cases[0], expect=expect, rule=case.rule, beyond="")
            else:
                message = f"a model to be refused, without its legal twin: {_NAME_THE_WHOLE}"
                yield replace(cases[0], beyond=message)
        else:
            yield from (replace(one, rule=case.rule) for one in cases)


def _undecided(
    first: Case, test: TestFields, answers: list[TestFields], tests: dict[str, list[Case]]
) -> Case:
    """A case of all answers that its text admits, by the widest of their tolerances."""
    name = first.name.removesuffix(f"~{test.alternative}")
    first = replace(first, id=name, name=name, rule="open")
    cases = [tests[one.folder][0] for one in answers if one.folder in tests]
    beyond = next((case.beyond for case in cases if case.beyond), "")
    if any(one.refused for one in answers):
        beyond = "one of its right answers is a refusal"
        beyond += ", and golden files hold no legal twin of that"
    elif len(cases) < len(answers):
        beyond = f"some of its right answers, without the others: {_NAME_THE_WHOLE}"
    elif not beyond and len({_asked(case) for case in cases}) > 1:
        beyond = "its right answers are of different models or inputs"
    if beyond:
        return replace(first, beyond=beyond)
    expects = [case.expect for case in cases if isinstance(case.expect, Values)]
    names = (one.alternative for one in answers)
    alternatives = map(Alternative, names, expects)
    stated = [case.tolerance or Tolerance() for case in cases]
    rtol, atol = max(one.rtol for one in stated), max(one.atol for one in stated)
    tolerance = Tolerance(rtol=rtol, atol=atol)
    return replace(first, expect=AnyOf(tuple(alternatives)), tolerance=tolerance)


def _asked(case: Case) -> tuple[object, ...]:
    arrays = [spec.content.values for spec in case.inputs if isinstance(spec.content, Given)]
    tensors = [(one.dtype.name, one.shape, content(one)) for one in arrays]
    return case.model, case.ports, tuple(tensors)
