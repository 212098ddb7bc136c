"""Checks of a package that a stranger handed in: its run against its outputs and the cases here.

Nothing in a package is believed alone. What its parts say twice must agree, and what it leaves out
is found by the digest of its suite and by the cases here.
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

    `known` are those here that the package has, unchanged. `apart`: ids that it has, and that are
    unknown or other cases here. `missing`: ids that it should have. `total`: how many cases there
    are here that the package could have.
    """

    known: Sequence[Case]
    apart: Sequence[str]
    missing: Sequence[str] = field(default=())
    total: int = 0


def check_run(run: Run) -> BackendInfo:
    """Return the backend of a run; raise UsageError unless it can be that of a package."""
    info, *others = run.header.backends
    if others:
        raise UsageError("its run is of several backends")
    if not run.complete:
        raise UsageError("its run is incomplete")
    if not run.header.shard:
        _check_digest(run)
    return info


def _check_digest(run: Run) -> None:
    """Raise UsageError unless the results are of the suite that the header names."""
    pairs = [(one.case, one.digest) for one in sorted(run.records, key=lambda one: one.place)]
    suite = run.header.suite
    if len(pairs) != suite.cases or suite_digest(pairs) != suite.digest:
        there = f"its {plural(len(pairs), 'result')} are not the suite of its header"
        raise UsageError(f"{there} ({plural(suite.cases, 'case')}): some are missing or changed")


def check_origin(info: BackendInfo, folder: Path) -> None:
    """Raise UsageError unless the outputs in `folder` are of the backend that the run names.

    Declarations such as `accumulate` and `refuses` make answers right that are wrong without them.
    """
    try:
        origin = folders.read_origin(folder)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if origin is None:
        raise UsageError(f"{folders.MARKER} names no backend")
    stated = replace(info, address=info.of or info.address)
    for name in folders.ORIGIN_FIELDS:
        here, there = getattr(origin, name), getattr(stated, name)
        if here != there:
            raise UsageError(f"{folders.MARKER} states {name} {here!r}, its run {there!r}")


def declarations(info: BackendInfo) -> str:
    """Return what a backend is declared to do, by which its answers are judged; "" if nothing."""
    said = [f"computes in {', '.join(info.accumulate)}"] if info.accumulate else []
    if not info.refuses:
        said.append("does not refuse invalid models")
    if info.engine:
        said.append("is opcheck's own engine")
    return ", ".join(said)


def scope(run: Run, paths: Sequence[Path]) -> Scope:
    """Compare the cases of a run with those here: the shipped ones, or those in `paths`.

    Raises UsageError for case files that cannot be read.
    """
    header = run.header
    handed_in = {one.case: one.digest for one in run.records}
    # Files of the user's are no suite to miss cases of, where the shipped ones are named here.
    is_whole = _is_whole(header) and bool(header.paths) == bool(paths)
    ops = () if is_whole else tuple({one.op.name for one in run.records})
    everything = load_all(paths, None, Selection(ops=ops, level="deep" if ops else header.level))
    here = {case.id: case for case in everything}
    known = [here[id] for id, digest in handed_in.items() if _is_same(here.get(id), digest)]
    apart = sorted(handed_in.keys() - {case.id for case in known})
    possible = select(everything, Selection(level=header.level))
    if not is_whole:
        total = len({case.id for case in possible} | handed_in.keys())
        return Scope(known, apart, total=total)
    if header.shard:
        possible = tuple(shard(possible, *header.shard))
    return Scope(known, apart, _missing(possible, handed_in), len(possible))


def _is_same(case: Case | None, digest: str) -> bool:
    return case is not None and case_digest(case) == digest


def _is_whole(header: Header) -> bool:
    """Return True if the run selected all cases of a level."""
    return header.selection == str(Selection(level=header.level))


def _missing(possible: Collection[Case], handed_in: Mapping[str, str]) -> list[str]:
    return sorted({case.id for case in possible} - handed_in.keys())
