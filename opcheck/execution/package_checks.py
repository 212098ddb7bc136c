"""Checks of a package that a stranger handed in: its run against its outputs and the cases here.

A package is a stored run with the outputs that its backend gave. Nothing in it is believed alone.
What its parts say twice must agree, and what it leaves out is found by the digest of its suite and
by the cases here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from opcheck.errors import UsageError, plural
from opcheck.graph import folders
from opcheck.model import BackendInfo, Case, Header, Run
from opcheck.suite import Selection, case_digest, load_all, select, shard, suite_digest


@dataclass(frozen=True)
class Scope:
    """The cases of a package next to those here.

    Attributes:
        known: The cases here that the package has, unchanged.
        foreign: The ids that it has, and that are unknown or other cases here; sorted.
        missing: The ids that it should have, sorted; none are known of a run of a part of the
            cases.
        total: The number of cases that the package could have.
    """

    known: Sequence[Case]
    foreign: Sequence[str]
    missing: Sequence[str] = field(default=())
    total: int = 0


def check_run(run: Run) -> BackendInfo:
    """Return the only backend of a run, and check the run by itself.

    Raises UsageError if the run is of no backend or several, or incomplete, or if its results are
    not the suite of its header, by number and digest; those of a shard, a part of the suite, are
    not compared with it.
    """
    backends = run.header.backends
    if len(backends) != 1:
        raise UsageError(f"its run is of {'several backends' if backends else 'no backend'}")
    if not run.complete:
        raise UsageError("its run is incomplete")
    if not run.header.shard:
        _check_digest(run)
    return backends[0]


def _check_digest(run: Run) -> None:
    """Raise UsageError unless the results are of the suite that the header names.

    Their number, and the digest of their ids and cases in order, must be those of the header.
    """
    in_order = sorted(run.records, key=lambda record: record.place)
    digests = [(record.case, record.digest) for record in in_order]
    suite = run.header.suite
    if len(digests) != suite.cases or suite_digest(digests) != suite.digest:
        results = plural(len(digests), "result")
        cases = plural(suite.cases, "case")
        raise UsageError(
            f"its {results} are not the suite of its header ({cases}): some are missing or changed"
        )


def check_origin(info: BackendInfo, folder: Path) -> None:
    """Raise UsageError unless the outputs in `folder` are of the run's backend, `info`.

    It is raised, too, if the folder names no backend, or cannot be read. Two backends are the same
    if they agree in all ORIGIN_FIELDS. Declarations such as `accumulate` and `refuses` are among
    these: they make answers right that are wrong without them.
    """
    try:
        origin = folders.read_origin(folder)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if origin is None:
        raise UsageError(f"{folders.MARKER} names no backend")
    stated = replace(info, address=info.of or info.address)
    for name in folders.ORIGIN_FIELDS:
        of_folder = getattr(origin, name)
        of_run = getattr(stated, name)
        if of_folder != of_run:
            raise UsageError(f"{folders.MARKER} states {name} {of_folder!r}, its run {of_run!r}")


def declarations(info: BackendInfo) -> str:
    """Return what a backend declares, by which its answers are judged, in words; "" for nothing."""
    stated = []
    if info.accumulate:
        stated.append(f"computes in {', '.join(info.accumulate)}")
    if not info.refuses:
        stated.append("does not refuse invalid models")
    if info.engine:
        stated.append("is opcheck's own engine")
    return ", ".join(stated)


def scope(run: Run, paths: Sequence[Path]) -> Scope:
    """Compare the cases of a run with those here: the shipped ones, or those in `paths`.

    A run of a whole level has `missing` cases, and a total of those here; of another run nothing is
    missing, and its own cases count in the total. Raises CaseFileError for case files that cannot
    be read, UsageError for node tests that do not exist, and a folder of case files and test data.
    """
    header = run.header
    handed_in = {record.case: record.digest for record in run.records}
    # If the run was of the user's files, it misses none of the shipped cases, and the reverse.
    is_whole = _is_whole(header) and bool(header.paths) == bool(paths)
    if is_whole:
        selection = Selection(level=header.level)
    else:
        ops = tuple({record.op.name for record in run.records})
        selection = Selection(ops=ops, level="deep" if ops else header.level)
    cases = load_all(paths, None, selection)
    here = {case.id: case for case in cases}
    known = [here[id] for id, digest in handed_in.items() if _is_same(here.get(id), digest)]
    foreign = sorted(handed_in.keys() - {case.id for case in known})
    possible = select(cases, Selection(level=header.level))
    if not is_whole:
        total = len({case.id for case in possible} | handed_in.keys())
        return Scope(known, foreign, total=total)
    if header.shard:
        possible = tuple(shard(possible, *header.shard))
    return Scope(known, foreign, _missing(possible, handed_in), len(possible))


def _is_same(case: Case | None, digest: str) -> bool:
    """Return True if there is such a case here, and it has this digest."""
    return case is not None and case_digest(case) == digest


def _is_whole(header: Header) -> bool:
    """Return True if the run selected all cases of its level, by the words of its header."""
    return header.selection == str(Selection(level=header.level))


def _missing(possible: Collection[Case], handed_in: Mapping[str, str]) -> list[str]:
    """Return the sorted ids of possible cases that were not handed in."""
    return sorted({case.id for case in possible} - handed_in.keys())
