"""Golden files that opcheck wrote, as cases: what their manifest says beyond any test's folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from opcheck.graph.test_data import Told
from opcheck.model import Alternative, AnyOf, Case, Given, Rejected, Rule, Tolerance, Values
from opcheck.suite.golden_files import damage
from opcheck.suite.golden_manifest import MANIFEST, MAX_BYTES, SUMS, Manifest, TestFields

#: A test's folder lies so far below that of the manifest.
_DEPTH = 2
_NAME_THE_WHOLE = f"name the folder of {MANIFEST}"
#: What stands in a manifest at its end, and at its beginning.
_MARKS = (b'"type": "opcheck golden files"', b'{\n "cases": [\n  {\n   "clause": "')


@dataclass(frozen=True)
class Golden:
    """The folder of golden files, and what it says of its tests."""

    folder: Path
    manifest: Manifest


def golden_above(root: Path, told: Told) -> Golden | None:
    """What golden files `root` is, or is a part of; None where it is none.

    Everything that is wrong with the files of these tests is `told`.
    """
    whole = root.resolve()
    for folder in (whole, *whole.parents[:_DEPTH]):
        if _is_ours(folder):
            manifest, findings = damage(folder, whole.relative_to(folder).as_posix())
            for one in findings:
                told.add(folder / one.path, one.message)
            return Golden(folder, manifest) if manifest else None
    return None


def _is_ours(folder: Path) -> bool:
    """Return True for a folder of golden files, though its manifest may be damaged or missing."""
    marks = {MANIFEST: _MARKS, SUMS: (f"  {MANIFEST}\n".encode(),)}
    for name, known in marks.items():
        if (folder / name).is_file():
            with suppress(OSError), (folder / name).open("rb") as file:
                data = file.read(MAX_BYTES)
                if any(mark in data for mark in known):
                    return True
    return False


def orphans(tests: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Tests that opcheck wrote and that nobody can judge without their manifest."""
    for path in tests:
        kind = path.resolve().parent.name
        if kind in ("should", "open", "rejected") and "%2F" in path.name:
            yield path, f"opcheck wrote this test of {kind!r}, and there is no {MANIFEST}"


def as_cases(golden: Golden, root: Path, found: Mapping[Path, Sequence[Case]]) -> Iterator[Case]:
    """The cases of the tests that were `found` below `root`, by their folders.

    Each answer of an undecided text is a test, and together they are one case; a model that is to
    be refused is held against its legal twin.
    """
    place = root.resolve().relative_to(golden.folder)
    tests = {(place / path.relative_to(root)).as_posix(): found[path] for path in found}
    named = {test.folder: (case, test) for case in golden.manifest.cases for test in case.tests}
    for name, cases in tests.items():
        if name not in named:
            continue  # which is told
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


def _beyond(case: Case, why: str) -> Case:
    return replace(case, beyond=why)


def _refused(case: Case, rule: Rule, reason: str, twin: Sequence[Case] | None) -> Case:
    """A model that is to be refused."""
    if not twin:
        told = f"a model to be refused, without its legal twin: {_NAME_THE_WHOLE}"
        return _beyond(case, told)
    return replace(case, expect=Rejected(reason, twin[0]), rule=rule, beyond="")


def _undecided(
    first: Case,
    test: TestFields,
    answers: Sequence[TestFields],
    tests: Mapping[str, Sequence[Case]],
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
