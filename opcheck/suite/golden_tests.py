"""Golden files that opcheck wrote, as cases: what their manifest says beyond any test's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from opcheck.graph.tensors import read_whole
from opcheck.graph.test_data import Told
from opcheck.model import Alternative, AnyOf, Case, Given, Rejected, Rule, Tolerance, Values

MANIFEST = "manifest.json"
#: No manifest may be larger, in bytes: it may come from a stranger.
MAX_BYTES = 1 << 28
#: A test's folder lies so far below that of the manifest.
_DEPTH = 2
_NAMED = 3
_NAME_THE_WHOLE = f"name the folder of {MANIFEST}"


class _Test(BaseModel):
    folder: str
    alternative: str
    legal_twin: bool
    refused: str


class _Case(BaseModel):
    rule: Rule
    tests: tuple[_Test, ...]


class _Manifest(BaseModel):
    """As much of the manifest as tests are judged by; `run.golden.manifest` has the whole."""

    type: Literal["opcheck golden files"]
    cases: tuple[_Case, ...]


class _Typed(BaseModel):
    type: Literal["opcheck golden files"]


@dataclass(frozen=True)
class Golden:
    """The folder of golden files, and what it says of its tests."""

    folder: Path
    manifest: _Manifest


def manifest_above(root: Path, told: Told) -> Golden | None:
    """What golden files `root` is, or is a part of; None where it is none, or it is `told`."""
    whole = root.resolve()
    for folder in (whole, *whole.parents[:_DEPTH]):
        path = folder / MANIFEST
        if not path.is_file():
            continue
        if path.stat().st_size > MAX_BYTES:
            told.add(path, f"is larger than {MAX_BYTES >> 20} MiB")
            return None
        try:
            data = read_whole(path)
            _Typed.model_validate_json(data)
        except (OSError, ValueError, RecursionError):
            continue  # somebody else's
        try:
            return Golden(folder, _Manifest.model_validate_json(data))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            told.add(path, f"is damaged: {place}: {first['msg']}")
            return None
    return None


def as_cases(
    golden: Golden, root: Path, found: Mapping[Path, Sequence[Case]], told: Told
) -> Iterator[Case]:
    """The cases of the tests that were `found` below `root`, by their folders.

    Each answer of an undecided text is a test, and together they are one case; a model that is to
    be refused is held against its legal twin. A test that the manifest names and that is not there
    is `told`.
    """
    place = root.resolve().relative_to(golden.folder)
    tests = {(place / path.relative_to(root)).as_posix(): found[path] for path in found}
    _tell_missing(golden, root, told)
    named = {test.folder: (case, test) for case in golden.manifest.cases for test in case.tests}
    for name, cases in tests.items():
        if name not in named:
            yield from (_beyond(one, f"a test that {MANIFEST} does not name") for one in cases)
            continue
        case, test = named[name]
        if test.alternative:
            folders = {one.folder: one for one in case.tests if one.alternative}
            if name == next(folder for folder in folders if folder in tests):
                yield _undecided(cases[0], test, [*folders.values()], tests)
        elif test.refused:
            twin = next((one.folder for one in case.tests if one.legal_twin), "")
            yield _refused(cases[0], case.rule, test.refused, tests.get(twin))
        else:
            yield from (replace(one, rule=case.rule) for one in cases)


def _tell_missing(golden: Golden, root: Path, told: Told) -> None:
    whole = root.resolve()
    folders = (golden.folder / test.folder for case in golden.manifest.cases for test in case.tests)
    lost = [one for one in folders if one.is_relative_to(whole) and not one.is_dir()]
    if lost:
        names = ", ".join(one.name for one in lost[:_NAMED])
        more = f" and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
        told.add(golden.folder / MANIFEST, f"tests that it names are not there: {names}{more}")


def _beyond(case: Case, why: str) -> Case:
    return replace(case, beyond=why)


def _refused(case: Case, rule: Rule, reason: str, twin: Sequence[Case] | None) -> Case:
    """A model that is to be refused."""
    if not twin:
        told = f"a model to be refused, without its legal twin: {_NAME_THE_WHOLE}"
        return _beyond(case, told)
    return replace(case, expect=Rejected(reason, twin[0]), rule=rule, beyond="")


def _undecided(
    first: Case, test: _Test, answers: Sequence[_Test], tests: Mapping[str, Sequence[Case]]
) -> Case:
    """A case of all answers that its text admits, by the widest of their tolerances.

    As two numbers are for all elements, so here they are for all answers.
    """
    name = first.name.removesuffix(f"~{test.alternative}")
    first = replace(first, id=name, name=name, rule="open")
    if any(one.refused for one in answers):
        told = "one of its right answers is a refusal, and golden files hold no legal twin of that"
        return _beyond(first, told)
    cases = [tests[one.folder][0] for one in answers if one.folder in tests]
    if len(cases) < len(answers):
        return _beyond(first, f"some of its right answers, without the others: {_NAME_THE_WHOLE}")
    if beyond := next((case.beyond for case in cases if case.beyond), ""):
        return _beyond(first, beyond)
    if len({_asked(case) for case in cases}) > 1:
        return _beyond(first, "its right answers are of different models or inputs")
    alternatives = []
    for one, case in zip(answers, cases, strict=True):
        assert isinstance(case.expect, Values)
        alternatives.append(Alternative(one.alternative, case.expect))
    stated = [case.tolerance or Tolerance() for case in cases]
    tolerance = Tolerance(
        rtol=max(one.rtol for one in stated), atol=max(one.atol for one in stated)
    )
    return replace(first, expect=AnyOf(tuple(alternatives)), tolerance=tolerance)


def _asked(case: Case) -> tuple[object, ...]:
    """What a backend is asked by a test, to be compared."""
    arrays = [spec.content.values for spec in case.inputs if isinstance(spec.content, Given)]
    tensors = [(one.dtype.name, one.shape, one.tobytes()) for one in arrays]
    return case.model, case.ports, tuple(tensors)
