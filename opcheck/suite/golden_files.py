"""The manifest of a golden folder, and its files against it; both may come from a stranger.

The manifest is one JSON file, the same bytes for the same content. Nothing outside the folder is
read. `execution.golden` reads the files' contents.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

import pydantic
import pydantic.dataclasses

from opcheck.dtypes import content
from opcheck.errors import UsageError
from opcheck.graph.folders import DATA_SET, MODEL, read_whole, words_of_name
from opcheck.graph.test_data import DATA, FileMessages
from opcheck.model import Alternative, AnyOf, Case, Given, OneAnswer, Rejected, Tolerance, Values
from opcheck.opset import weights
from opcheck.reading import validation

#: How values came about: those of `engine.rounding`, or as the case states them.
ManifestMethod: TypeAlias = Literal["exact", "bounded", "mpmath", "stated"]
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
#: What is left out where a model that may be refused has no test of its legal twin.
LEGAL_TWIN = "its legal twin"
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
        """Return the paths, in its folder, of the files that such a test has.

        It has as many inputs and outputs as are listed. A model that is to be refused has no
        outputs and no data.json.
        """
        counts = Counter(PurePosixPath(name).stem.rpartition("_")[0] for name in self.files)
        kinds = ("output", "lowest", "highest") if self.tolerance == "bound" else ("output",)
        stems = [f"input_{number}" for number in range(counts["input"])]
        if not self.refused:
            outputs = range(max(1, counts["output"]))
            stems += [f"{kind}_{number}" for number in outputs for kind in kinds]
        tensors = {f"{DATA_SET}/{stem}.pb" for stem in stems}
        return {MODEL, *tensors} if self.refused else {MODEL, DATA, *tensors}


class ManifestCase(ManifestFields):
    """One case and its tests."""

    id: str
    rule: Literal["must", "should", "open"]
    level: str
    clause: str
    digest: str
    tests: tuple[TestFields, ...]

    def kind_of(self, test: TestFields) -> str:
        """Return the folder of one of the tests: must, should, open or rejected."""
        if self.rule == "open":
            return "must" if test.legal_twin else "open"
        return "rejected" if test.refused else self.rule


@pydantic.dataclasses.dataclass(config=ManifestFields.model_config)
class LeftOut:
    """A selected case that is missing, and why; `wrong` if the case or the oracle is wrong."""

    case: str
    what: str
    reason: str
    wrong: bool = pydantic.Field(default=False, exclude=True)


class Manifest(ManifestFields):
    """The manifest as a whole: the cases and their tests, and the cases without any."""

    type: Literal["opcheck golden files"]
    #: 4 lacks the legal twins of models that the text lets a backend refuse.
    format: Literal[4, 5]
    opcheck: str
    packages: dict[str, str]
    selection: str
    methods: dict[ManifestMethod, str]
    cases: tuple[ManifestCase, ...]
    left_out: tuple[LeftOut, ...]

    @pydantic.model_validator(mode="after")
    def _is_consistent(self) -> "Manifest":
        """Return the manifest itself; raise ValueError where it contradicts itself.

        That is an id or folder twice, in any case of letters; a case without a test; a test in a
        folder of another rule, or with other files than such a test has.
        """
        ids = Counter(case.id.casefold() for case in self.cases)
        # Some file systems cannot distinguish such names.
        folders = Counter(test.folder.casefold() for test in self.tests)
        for name, count in (ids + folders).items():
            if count > 1:
                raise ValueError(f"{name} is there {count} times")
        for case in self.cases:
            if not case.tests:
                raise ValueError(f"{case.id} has no test")
            for test in case.tests:
                kind = case.kind_of(test)
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
        """The files of all tests, by their paths in the golden folder, each with its SHA-256."""
        return [
            (f"{test.folder}/{name}", sha)
            for test in self.tests
            for name, sha in test.files.items()
        ]

    def data(self) -> bytes:
        """Return the manifest's file: the same bytes for the same content."""
        plain = self.model_dump(mode="json")
        text = json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True)
        return f"{text}\n".encode(errors="replace")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the manifest."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**draft, **Manifest.model_json_schema(), "title": "manifest of opcheck's golden files"}


class NotReadable(ValueError):
    """A manifest that is missing, damaged, or of another format."""


def read_manifest(folder: Path) -> tuple[Manifest, bytes]:
    """Return the manifest of a folder, and its bytes.

    Raises NotReadable if it is missing, a link, larger than LONGEST_MANIFEST, not JSON of this
    format, inconsistent, or not byte by byte as opcheck writes it.
    """
    path = folder / MANIFEST
    if path.is_symlink():
        raise NotReadable("is a link")
    try:
        data = read_whole(path, LONGEST_MANIFEST)
    except ValueError as error:
        raise NotReadable(f"cannot be read: {error}") from None
    try:
        manifest = Manifest.model_validate_json(data)
    except pydantic.ValidationError as error:
        raise NotReadable(_first_fault(error)) from None
    except RecursionError:
        raise NotReadable("is damaged: nested too deep") from None
    if manifest.data() != data:
        raise NotReadable("is not as opcheck writes it: a key is there twice, or it was edited")
    return manifest, data


def _first_fault(error: pydantic.ValidationError) -> str:
    """Return the first reason why a manifest is not valid, as a message has it behind its name."""
    first = error.errors(include_url=False)[0]
    if first["loc"] == ("format",) and isinstance(first["input"], int):
        return f"has format {first['input']}; this opcheck reads 4 and 5"
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return f"is damaged: {message}"
    return f"is damaged: {'.'.join(map(str, first['loc']))}: {message}"


def sums(manifest: Manifest, sha256: str) -> bytes:
    """Return the input of `sha256sum -c`, by path; `sha256` is of the manifest's file."""
    files = [(MANIFEST, sha256), *manifest.files]
    return "".join(f"{sha}  {path}\n" for path, sha in sorted(files, key=itemgetter(0))).encode()


def damage(folder: Path, part: str) -> tuple[Manifest | None, Findings]:
    """Return the manifest of a folder, and problems of the tests at path `part` in it.

    The manifest is None, and the only problem its own, if it cannot be read. Problems are by path,
    of the manifest and its checksums too. All files are read; nothing is raised for what is wrong.
    """
    try:
        manifest, data = read_manifest(folder)
    except NotReadable as error:
        return None, {MANIFEST: str(error)}
    findings = strange(folder, manifest, data)
    for path, sha in manifest.files:
        if path not in findings and (message := changed(folder / path, sha)):
            findings[path] = message
    return manifest, {
        path: message
        for path, message in findings.items()
        # Beside the tests there may be anything.
        if path in (MANIFEST, SUMS) or ("/" in path and PurePosixPath(path).is_relative_to(part))
    }


def strange(folder: Path, manifest: Manifest, data: bytes) -> Findings:
    """Return what is wrong, reading no test and following no link; `data` are of the manifest.

    That is, by path: a listed file that is missing or not a plain file, one that is not listed, and
    checksums that do not agree with the manifest.
    """
    listed = {MANIFEST, SUMS, *(path for path, _ in manifest.files)}
    known = {str(parent) for path in listed for parent in PurePosixPath(path).parents}
    findings = dict.fromkeys(listed, "is missing")
    for where, folders, names in os.walk(folder):
        paths = {name: Path(where, name).relative_to(folder).as_posix() for name in folders + names}
        folders[:] = [name for name in folders if paths[name] in known]
        for path in paths.values():
            place = folder / path
            # Path's raise where a folder cannot be searched.
            is_plain = os.path.isfile(place) and not os.path.islink(place)  # noqa: PTH113, PTH114
            if path in listed and is_plain:
                del findings[path]
            elif path in listed:
                findings[path] = "is not a plain file"
            elif path not in known:
                findings[path] = f"is not in the {MANIFEST}"
    wanted = sha256(sums(manifest, sha256(data).hexdigest())).hexdigest()
    if SUMS not in findings and changed(folder / SUMS, wanted):
        findings[SUMS] = f"does not agree with {MANIFEST}: one of the two was changed"
    return findings


def changed(path: Path, written: str) -> str:
    """Return why a plain file is not the one that was written with this SHA-256; "" if it is.

    A file that cannot be read is such a reason.
    """
    try:
        sha = sha256(read_whole(path)).hexdigest()
    except ValueError as error:
        return f"cannot be read: {error}"
    if sha == written:
        return ""
    return f"was changed: its SHA-256 is {sha[:12]}…, not {written[:12]}…"


def golden_above(root: Path, problems: FileMessages) -> tuple[Path, Manifest] | None:
    """Return the golden folder above `root`, with its manifest; adds problems of tests.

    `root` may be that folder, one of its kinds, or a test. None if it is in no golden folder, or
    the manifest cannot be read, which `problems` says then.
    """
    whole = root.resolve()
    for folder in (whole, *whole.parents[:2]):  # kind, test
        if _is_ours(folder):
            manifest, findings = damage(folder, whole.relative_to(folder).as_posix())
            problems += [(folder / path, message) for path, message in sorted(findings.items())]
            return (folder, manifest) if manifest else None
    return None


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of a folder's manifest, which states those of all its tests.

    Raises ValueError if it is missing, too large or cannot be read.
    """
    return sha256(read_whole(folder / MANIFEST, LONGEST_MANIFEST)).hexdigest()


def check_pinned(paths: Iterable[Path], digest: str) -> None:
    """Raise UsageError unless all `paths` are in golden folders whose manifests have this SHA-256.

    It is raised for no paths, too. The manifest has the checksums of all tests, and is the only
    file without one of its own. `digest` may be in capital letters.
    """
    given = [*paths]
    if not given:
        raise UsageError("--digest is for a golden folder, and no PATH is named")
    for path in given:
        place = path.resolve()
        above = [one for one in (place, *place.parents[:2]) if (one / MANIFEST).is_file()]
        if not above:
            raise UsageError(f"--digest: {path} is not a golden folder: there is no {MANIFEST}")
        try:
            own_digest = digest_of(above[0])
        except ValueError as error:
            raise UsageError(f"--digest: {path}: {MANIFEST}: {error}") from None
        if own_digest != digest.lower():
            message = f"--digest: {path}: {MANIFEST} has the SHA-256 {own_digest}, not {digest}"
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
    """Yield tests that opcheck wrote, but cannot judge without their manifest, and a message.

    Only some folders show it by their name and kind; no file is read.
    """
    for path in tests:
        kind = path.resolve().parent.name
        if kind in ("should", "open", "rejected") and "%2F" in path.name:
            yield path, f"opcheck wrote this test of {kind!r}, and there is no {MANIFEST}"


def as_cases(
    golden: tuple[Path, Manifest], root: Path, cases: Mapping[Path, list[Case]]
) -> Iterator[Case]:
    """Yield the cases of tests below `root`; all answers to an undecided text are one case.

    `cases` are those of each test's folder, one at least. A test that the manifest does not list is
    left out: `damage` reports it. A case that needs tests that are not there has the reason in
    `beyond`.
    """
    folder, manifest = golden
    place = root.resolve().relative_to(folder)
    by_folder = {(place / path.relative_to(root)).as_posix(): cases[path] for path in cases}
    listed = {test.folder: (case, test) for case in manifest.cases for test in case.tests}
    for name, own_cases in by_folder.items():
        if name not in listed:
            continue
        case, test = listed[name]
        if test.alternative:
            answers = _AnswersOfUndecided(manifest, case, by_folder)
            if test is answers.first:
                yield answers.case()
        elif test.refused:
            yield _refused(case, test, by_folder)
        else:
            rule = "must" if test.legal_twin and case.rule == "open" else case.rule
            yield from (replace(one, rule=rule) for one in own_cases)


def _refused(case: ManifestCase, test: TestFields, by_folder: Mapping[str, list[Case]]) -> Case:
    """Return the case of a model that is to be refused, with its legal twin.

    Without that it has the reason in `beyond`.
    """
    refused = by_folder[test.folder][0]
    twins = [one.folder for one in case.tests if one.legal_twin]
    legal = by_folder.get(twins[0]) if twins else None
    if not legal:
        message = f"a model to be refused, without its legal twin: {_NAME_THE_WHOLE}"
        return replace(refused, beyond=message)
    return replace(refused, expect=Rejected(test.refused, legal[0]), rule=case.rule, beyond="")


class _AnswersOfUndecided:
    """The tests of all answers that a text admits, and of the legal twin if one is a refusal.

    `by_folder` has the cases of the tests that are there.
    """

    def __init__(
        self, manifest: Manifest, stored: ManifestCase, by_folder: Mapping[str, list[Case]]
    ) -> None:
        self.manifest, self.stored, self.by_folder = manifest, stored, by_folder
        self.all = [one for one in stored.tests if one.alternative]
        self.present = [one for one in self.all if one.folder in by_folder]

    @property
    def first(self) -> TestFields:
        """The first of the answers that is there."""
        return self.present[0]

    def case(self) -> Case:
        """Return a case of all the answers, by the widest of their tolerances.

        If opcheck cannot judge them, the case has the reason in `beyond`.
        """
        cases = [self.by_folder[one.folder][0] for one in self.present]
        name = _without_alternative(cases[0].name, self.first.alternative)
        undecided = replace(cases[0], id=name, name=name, rule="open")
        beyond = self._why_not_judged(cases)
        if beyond:
            return replace(undecided, beyond=beyond)
        stated = [case.tolerance or Tolerance() for case in cases]
        tolerance = Tolerance(
            rtol=max(one.rtol for one in stated), atol=max(one.atol for one in stated)
        )
        pairs = zip(self.present, cases, strict=True)
        alternatives = tuple(
            Alternative(test.alternative, self._expectation(test, case)) for test, case in pairs
        )
        return replace(undecided, expect=AnyOf(alternatives), tolerance=tolerance, beyond="")

    def _expectation(self, test: TestFields, case: Case) -> OneAnswer:
        """Return the answer of a test: a refusal with the legal twin, or outputs."""
        if test.refused:
            return Rejected(test.refused, self._legal_twin())
        assert isinstance(case.expect, Values)
        return case.expect

    def _legal_twin(self) -> Case | None:
        """Return the case of the legal twin; None if its test is not there."""
        twins = [one.folder for one in self.stored.tests if one.legal_twin]
        found = self.by_folder.get(twins[0]) if twins else None
        return found[0] if found else None

    def _why_not_judged(self, cases: Sequence[Case]) -> str:
        """Return why opcheck cannot judge these answers, or "".

        That is a legal twin or an answer whose test is not there, an answer that opcheck cannot
        judge by itself, and answers of different models or inputs.
        """
        if any(one.refused for one in self.all) and (missing := self._why_no_legal_twin()):
            return missing
        if len(self.present) < len(self.all):
            return f"some of its right answers, without the others: {_NAME_THE_WHOLE}"
        for test, case in zip(self.present, cases, strict=True):
            if case.beyond and not test.refused:
                return case.beyond
        if len({_asked(case) for case in cases}) > 1:
            return "its right answers are of different models or inputs"
        return ""

    def _why_no_legal_twin(self) -> str:
        """Return why the legal twin that the case had is not there, or ""."""
        if any(one.legal_twin for one in self.stored.tests):
            return "" if self._legal_twin() else f"no legal twin of its refusal: {_NAME_THE_WHOLE}"
        if self.manifest.format < 5:
            return "one of its right answers is a refusal, and this folder holds no legal twin"
        left_out = [
            one.reason
            for one in self.manifest.left_out
            if (one.case, one.what) == (self.stored.id, LEGAL_TWIN)
        ]
        return f"no legal twin of its refusal: {left_out[0]}" if left_out else ""


def _without_alternative(name: str, alternative: str) -> str:
    """Return the name of a test without that of its answer at the end, in either form of names."""
    for end in (f"~{alternative}", f"_{words_of_name(alternative)}"):
        if name.endswith(end):
            return name.removesuffix(end)
    return name


def _asked(case: Case) -> tuple[object, ...]:
    """Return a key that is equal for cases of the same model and inputs, and can be hashed."""
    arrays = [spec.content.values for spec in case.inputs if isinstance(spec.content, Given)]
    tensors = [(array.dtype.name, array.shape, content(array)) for array in arrays]
    return case.model and weights.digest(case.model), case.ports, tuple(tensors)
