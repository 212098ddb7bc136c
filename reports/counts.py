"""What defects do, and what an engine's defender would say first: the numbers of a headline."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from reports.published import Defect, Group, Published


class Harm(StrEnum):
    """What a defect does at worst; each defect counts once."""

    #: Wrong answers, deaths and wrong shapes on legal models.
    WRONG = "wrong answers"
    #: Legal models are refused.
    REFUSED = "legal models refused"
    #: Invalid models are accepted, or end the process.
    ACCEPTED = "invalid models accepted"
    #: Answers are right, and differ only from what the engine declares of them.
    DECLARED = "only declared otherwise"


class Mark(StrEnum):
    """What stands beside a count; a defect may have several."""

    RULED = "on a ruling"
    DOCUMENTED = "documented"
    OPSETS = "outside its opsets"
    ERRATA = "by an erratum of ONNX"


def harm(group: Group) -> Harm:
    """Return what a defect does at worst."""
    if all(defect.line.kind == "invalid model" for defect in group):
        return Harm.ACCEPTED
    failures = {
        failure
        for defect in group
        if defect.line.kind != "invalid model"
        for failure in _failures(defect)
    }
    if failures <= {"declared"}:
        return Harm.DECLARED
    return Harm.REFUSED if failures <= {"raised", "declared"} else Harm.WRONG


def _failures(defect: Defect) -> set[str]:
    """Return how the results of a defect fail, or how its line says if no case shows it."""
    failures = {str(result.kind.failure) for result in defect.wrong if result.kind.failure}
    return failures or {*defect.line.failure}


def marks(one: Published, group: Group) -> set[Mark]:
    """Return what is to be said beside a defect."""
    found = set()
    if any(defect.rulings or defect.line.ruling for defect in group):
        found.add(Mark.RULED)
    if is_outside(one, group):
        found.add(Mark.OPSETS)
    if any(defect.line.documented for defect in group) or (
        Mark.OPSETS in found and harm(group) is Harm.REFUSED
    ):
        found.add(Mark.DOCUMENTED)
    if any(defect.line.erratum for defect in group):
        found.add(Mark.ERRATA)
    return found


def is_outside(one: Published, group: Group) -> bool:
    """Return True if all versions in which a defect shows lie outside the engine's own range."""
    versions = {result.op for defect in group for result in defect.wrong}
    return bool(versions) and all(map(one.is_outside, versions))


def by_harm(one: Published) -> Counter[Harm]:
    """Return how many defects do what."""
    return Counter(map(harm, one.real))


def beside(one: Published, which: Harm) -> Counter[Mark]:
    """Return how many of the defects that do this have which mark."""
    return Counter(mark for group in one.real if harm(group) is which for mark in marks(one, group))


def is_acknowledged(group: Group) -> bool:
    """Return True if the engine's maintainers have acknowledged a defect."""
    return any(defect.line.upstream for defect in group)
