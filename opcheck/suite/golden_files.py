"""The manifest of a golden folder, and its files against it; both may come from a stranger.

The manifest is one JSON file, the same bytes for the same content. Nothing outside the folder is
read. `execution.golden` reads the files' contents.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, TypeAlias

import pydantic
import pydantic.dataclasses

from opcheck.dtypes import content
from opcheck.errors import UsageError
from opcheck.graph.folders import DATA_SET, MODEL, read_whole
from opcheck.graph.test_data import DATA, FileMessages
from opcheck.model import Alternative, AnyOf, Case, Given, Rejected, Tolerance, Values
from opcheck.opset import weights
from opcheck.reading import validation

#: How values came about: those of `engine.rounding`, or as the case states them.
ManifestMethod: TypeAlias = Literal["exact", "bounded", "mpmath", "stated"]
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
#: No manifest may be larger, in bytes: it may come from a stranger.
LONGEST_MANIFEST = 1 << 28

Sha256 = Annotated[str, pydantic.StringConstraints(pattern=r"^[0-9a-f]{64}$")]
#: A test's folder as opcheck names it, without another separator.
_PATH = r"^(must|should|open|rejected)/test_[A-Za-z0-9_.,=+@#~%-]+$"
_NAME_THE_WHOLE = f"name the folder of {MANIFEST}"
#: Problems of files, by their paths in the golden folder.
Findings: TypeAlias = dict[str, str]


class ManifestFields(validation.Fields, allow_inf_nan=False):
    """Fields of an object of the manifest; unknown fields are rejected."""


class StatedTolerance(ManifestFields):
    """So many ULP, or atol + rtol·|want|; an error up to `floor` is right all the same."""

    ulp: int | None
    rtol: float
    atol: float
    signed_zeros: bool
    floor: float = 0.0


class TestFields(ManifestFields):
    """One folder; `refused` is why its model is to be refused, or ""; `method` is None if it is."""

    folder: Annotated[str, pydantic.StringConstraints(pattern=_PATH)]
    alternative: str
    legal_twin: bool
    refused: str
    tolerance: StatedTolerance | Literal["bound"]
    rtol: float
    atol: float
    method: ManifestMethod | None
    files: dict[str, Sha256]

    def file_names(self) -> set[str]:
        """The files that a test of as many inputs and outputs has."""
        there = Counter(PurePosixPath(name).stem.rpartition("_")[0] for name in self.files)
        outputs = range(0 if self.refused else max(1, there["output"]))
        kinds = ("output", "lowest", "highest") if self.tolerance == "bound" else ("output",)
        stems = [f"input_{number}" for number in range(there["input"])]
        stems += [f"{kind}_{number}" for number in outputs for kind in kinds]
        tensors = (f"{DATA_SET}/{stem}.pb" for stem in stems)
        return {MODEL, *([] if self.refused else [DATA]), *tensors}


class ManifestCase(ManifestFields):
    """One case and its tests."""

    id: str
    rule: Literal["must", "should", "open"]
    level: str
    clause: str
    digest: str
    tests: tuple[TestFields, ...]


@pydantic.dataclasses.dataclass(config=ManifestFields.model_config)
class LeftOut:
    """A selected case that is missing, and why; `wrong` if the case or the oracle is wrong."""

    case: str
    what: str
    reason: str
    wrong: bool = pydantic.Field(default=False, exclude=True)


class Manifest(ManifestFields):
    """The whole."""

    type: Literal["opcheck golden files"]
    format: Literal[4]
    opcheck: str
    packages: dict[str, str]
    selection: str
    methods: dict[ManifestMethod, str]
    cases: tuple[ManifestCase, ...]
    left_out: tuple[LeftOut, ...]

    @pydantic.model_validator(mode="after")
    def _is_consistent(self) -> "Manifest":
        """Raise ValueError where the manifest contradicts itself."""
        ids = Counter(case.id.casefold() for case in self.cases)
        # Some file systems cannot distinguish such names.
        folders = Counter(test.folder.casefold() for test in self.tests)
        for name, count in (it for it in (ids + folders).items() if it[1] > 1):
            raise ValueError(f"{name} is there {count} times")
        for case in self.cases:
            if not case.tests:
                raise ValueError(f"{case.id} has no test")
            for test in case.tests:
                kind = "rejected" if test.refused and case.rule != "open" else case.rule
                if not test.folder.startswith(f"{kind}/"):
                    raise ValueError(f"{test.folder} belongs into {kind}/, by its rule")
                if test.files.keys() != test.file_names():
                    raise ValueError(f"{test.folder} lists other files than such a test has")
        return self

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
    try:
        data = read_whole(path, LONGEST_MANIFEST)
    except ValueError as error:
        raise NotReadable(f"cannot be read: {error}") from None
    try:
        found = Manifest.model_validate_json(data)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["loc"] == ("format",) and isinstance(first["input"], int):
            raise NotReadable(f"has format {first['input']}; this opcheck reads 4") from None
        place = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise NotReadable(f"is damaged: {place + ': ' if place else ''}{message}") from None
    except RecursionError:
        raise NotReadable("is damaged: nested too deep") from None
    if found.data() != data:
        raise NotReadable("is not as opcheck writes it: a key is there twice, or it was edited")
    return found, data


def sums(manifest: Manifest, sha256: str) -> bytes:
    """Return the input of `sha256sum -c`; `sha256` is of the manifest's file."""
    lines = [f"{sha}  {path}" for path, sha in ((MANIFEST, sha256), *manifest.files)]
    return "".join(f"{line}\n" for line in sorted(lines, key=lambda line: line[66:])).encode()


def damage(folder: Path, part: str) -> tuple[Manifest | None, Findings]:
    """Return the manifest of a folder, and problems of the tests at path `part`."""
    try:
        manifest, data = read_manifest(folder)
    except NotReadable as error:
        return None, {MANIFEST: str(error)}
    found = strange(folder, manifest, data)
    for path, sha in manifest.files:
        if path not in found and (message := changed(folder / path, sha)):
            found[path] = message
    return manifest, {
        path: message
        for path, message in found.items()
        # Beside the tests there may be anything.
        if path in (MANIFEST, SUMS) or ("/" in path and PurePosixPath(path).is_relative_to(part))
    }


def strange(folder: Path, manifest: Manifest, data: bytes) -> Findings:
    """Return what is wrong, reading no test and following no link; `data` are of the manifest."""
    listed = {MANIFEST, SUMS, *(path for path, _ in manifest.files)}
    known = {str(parent) for path in listed for parent in PurePosixPath(path).parents}
    found = dict.fromkeys(listed, "is missing")
    for where, folders, names in os.walk(folder):
        paths = {name: Path(where, name).relative_to(folder).as_posix() for name in folders + names}
        folders[:] = [name for name in folders if paths[name] in known]
        for path in paths.values():
            place = folder / path
            # Path's raise where a folder cannot be searched.
            is_plain = os.path.isfile(place) and not os.path.islink(place)  # noqa: PTH113, PTH114
            if path in listed and is_plain:
                del found[path]
            elif path in listed:
                found[path] = "is no plain file"
            elif path not in known:
                found[path] = f"is not in the {MANIFEST}"
    wanted = sha256(sums(manifest, sha256(data).hexdigest())).hexdigest()
    if SUMS not in found and changed(folder / SUMS, wanted):
        found[SUMS] = f"says something else than {MANIFEST}: one of the two was changed"
    return found


def changed(path: Path, written: str) -> str:
    """Return why a plain file is not the one that was written with this SHA-256, or ""."""
    try:
        sha = sha256(read_whole(path)).hexdigest()
    except ValueError as error:
        return f"cannot be read: {error}"
    return "" if sha == written else f"was changed: its SHA-256 is {sha[:12]}…, not {written[:12]}…"


def golden_above(root: Path, problems: FileMessages) -> tuple[Path, Manifest] | None:
    """Return the golden folder above `root`, with its manifest; adds problems of tests."""
    whole = root.resolve()
    for folder in (whole, *whole.parents[:2]):  # kind, test
        if _is_ours(folder):
            manifest, findings = damage(folder, whole.relative_to(folder).as_posix())
            problems += [(folder / path, message) for path, message in sorted(findings.items())]
            return (folder, manifest) if manifest else None
    return None


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of a folder's manifest, which states those of all its tests.

    Raises ValueError if it cannot be read.
    """
    return sha256(read_whole(folder / MANIFEST, LONGEST_MANIFEST)).hexdigest()


def check_pinned(paths: Iterable[Path], digest: str) -> None:
    """Raise UsageError unless all `paths` are in golden folders whose manifests have this SHA-256.

    The manifest has the checksums of all tests, and is the only file that nothing else vouches for.
    """
    given = [*paths]
    if not given:
        raise UsageError("--digest is for a golden folder, and no PATH is named")
    for path in given:
        place = path.resolve()
        above = [one for one in (place, *place.parents[:2]) if (one / MANIFEST).is_file()]
        if not above:
            raise UsageError(f"--digest: {path} is no golden folder: there is no {MANIFEST}")
        try:
            found = digest_of(above[0])
        except ValueError as error:
            raise UsageError(f"--digest: {path}: {MANIFEST}: {error}") from None
        if found != digest.lower():
            message = f"--digest: {path}: {MANIFEST} has the SHA-256 {found}, not {digest}"
            raise UsageError(message, "it is another golden folder, or was changed")


def _is_ours(folder: Path) -> bool:
    """Return True for a folder of golden files, though its manifest may be damaged or missing."""
    # What only one of the two lost is still in the other.
    marks = {MANIFEST: b'"type": "opcheck golden files"', SUMS: f"  {MANIFEST}\n".encode()}
    for name, mark in marks.items():
        with suppress(ValueError):
            if mark in read_whole(folder / name):
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
                yield _undecided(test, [*folders.values()], tests)
        elif test.refused:
            if legal := tests.get(next((one.folder for one in case.tests if one.legal_twin), "")):
                expect = Rejected(test.refused, legal[0])
                yield replace(cases[0], expect=expect, rule=case.rule, beyond="")
            else:
                message = f"a model to be refused, without its legal twin: {_NAME_THE_WHOLE}"
                yield replace(cases[0], beyond=message)
        else:
            yield from (replace(one, rule=case.rule) for one in cases)


def _undecided(test: TestFields, answers: list[TestFields], tests: dict[str, list[Case]]) -> Case:
    """A case of all answers that its text admits, by the widest of their tolerances."""
    first = tests[test.folder][0]
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
    alternatives = map(Alternative, (one.alternative for one in answers), expects)
    stated = [case.tolerance or Tolerance() for case in cases]
    rtol, atol = max(one.rtol for one in stated), max(one.atol for one in stated)
    tolerance = Tolerance(rtol=rtol, atol=atol)
    return replace(first, expect=AnyOf(tuple(alternatives)), tolerance=tolerance)


def _asked(case: Case) -> tuple[object, ...]:
    arrays = [spec.content.values for spec in case.inputs if isinstance(spec.content, Given)]
    tensors = [(one.dtype.name, one.shape, content(one)) for one in arrays]
    return case.model and weights.digest(case.model), case.ports, tuple(tensors)
