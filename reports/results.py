"""Published results in columns: what the pages need of each run, and nothing else.

    results/cases/LEVEL.json.gz    the cases of a suite: ids, digests, and the cell of each
    results/ENGINE.json.gz         one engine: the kind of each case's result, and examples

A run of 90,536 cases takes 6 MB; its columns take 0.1 MB. Whole runs are made by `regenerate.py`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import pairwise, takewhile
from operator import attrgetter
from pathlib import Path
from typing import Any

from opcheck.analysis import reds
from opcheck.errors import UsageError
from opcheck.model import Failure, OpVersion, Record, Run, Suite, Verdict

FOLDER = Path(__file__).parent / "results"
CASES = "cases"
FORMAT = 1
#: Of the cases' files: 2 has each id without what it shares with the one before, and one text of
#: all digests.
CASES_FORMAT = 2
#: So many digits tell an edited case from the one that was run.
DIGITS = 6


@dataclass(frozen=True)
class Head:
    """What was run: an engine's release, by which opcheck, where, and on which suite."""

    address: str
    version: str
    started: str
    opcheck: str
    python: str
    platform: str
    level: str
    suite: Suite
    #: What the processor has beyond its base set, as `opcheck doctor` says; "" in older files.
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """What results have in common: `defect` is the id of the ledger's line that explains them."""

    verdict: Verdict
    found: Verdict | None = None
    failure: Failure | None = None
    refused: bool = False
    defect: str | None = None
    #: Of a warning that no ledger explains.
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """What a page says of the case that is the example of a defect."""

    clause: str
    question: str
    repeat: str
    rulings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """A case's result on one engine; with `words` if it is an example of its defect."""

    case: str
    digest: str
    op: OpVersion
    dtype: str | None
    kind: Kind
    words: Words | None = None
    #: The sentence under test, "" where it was not stored.
    clause: str = ""

    @property
    def plain(self) -> Verdict:
        """The verdict without regard to any ledger."""
        return self.kind.found or self.kind.verdict


@dataclass(frozen=True)
class Results:
    """The results of one engine, in the order of the suite."""

    head: Head
    results: tuple[Result, ...]


def pack(runs: Mapping[str, Run], folder: Path = FOLDER) -> None:
    """Write the columns of runs, by the engines' names; raises UsageError for unsound runs.

    Runs of one level share the cases of one suite: with those of another suite, the columns of
    other engines of the level would say something else.
    """
    by_level: dict[str, dict[str, Run]] = {}
    for name, run in runs.items():
        if not run.complete or len(run.header.backends) != 1 or run.header.shard:
            raise UsageError(f"the run of {name} is not whole, or not of one backend")
        by_level.setdefault(run.header.level, {})[name] = run
    for level, those in by_level.items():
        suites = {run.header.suite.digest for run in those.values()}
        others = {one.suite.digest for one in _heads(folder, level, but=those)}
        if len(suites | others) > 1:
            raise UsageError("runs of different suites: make those of all engines of the level")
        _write(folder / CASES / f"{level}.json.gz", _cases(next(iter(those.values()))))
        for name, run in those.items():
            _write(folder / f"{name}.json.gz", _columns(run))


def read(path: Path) -> Results:
    """Return the results of an engine's file."""
    told = _read(path)
    about = head(path)
    cases = suite_of(about.level, path.parent)
    if cases["digest"] != about.suite.digest:
        raise UsageError(f"{path.name} is not of the suite of {about.level}.json.gz")
    cells = [
        (OpVersion(domain, name, since), dtype) for domain, name, since, dtype in cases["cells"]
    ]
    kinds = [_kind(*fields) for fields in told["kinds"]]
    words = {place: _words(**fields) for place, fields in told["examples"]}
    sentences = cases["clauses"]
    columns = zip(
        cases["ids"], cases["digests"], cases["cell"], cases["clause"], told["kind"], strict=True
    )
    return Results(
        about,
        tuple(
            Result(
                case=case,
                digest=digest,
                op=cells[cell][0],
                dtype=cells[cell][1],
                kind=kinds[kind],
                words=words.get(place),
                clause=sentences[sentence],
            )
            for place, (case, digest, cell, sentence, kind) in enumerate(columns)
        ),
    )


def suite_of(level: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return the columns of a suite's cases: `ids`, `digests`, and numbers of cells and clauses."""
    path = folder / CASES / f"{level}.json.gz"
    cases = _read(path)
    if cases["format"] != CASES_FORMAT:
        raise UsageError(f"{path.name} has format {cases['format']}, not {CASES_FORMAT}")
    digests = cases["digests"]
    places = range(0, len(digests), DIGITS)
    return {
        **cases,
        "ids": _whole(cases["ids"]),
        "digests": [digests[place : place + DIGITS] for place in places],
    }


def head(path: Path) -> Head:
    """Return what an engine's file is about."""
    told = _read(path)
    if told["format"] != FORMAT:
        raise UsageError(f"{path.name} has format {told['format']}, not {FORMAT}")
    fields = told["head"]
    return Head(**{**fields, "suite": Suite(**fields["suite"])})


def _heads(folder: Path, level: str, but: Collection[str]) -> list[Head]:
    """Return what the published files of a level are about, less those of the engines in `but`."""
    there = {path.name.partition(".")[0]: path for path in folder.glob("*.json.gz")}
    heads = [head(path) for name, path in there.items() if name not in but]
    return [one for one in heads if one.level == level]


def _cases(run: Run) -> dict[str, Any]:
    """The columns of a suite's cases, by their places."""
    records = _by_place(run)
    cells = [(*_op(record.op), record.dtype) for record in records]
    distinct, column = _numbered(cells)
    clauses, clause = _numbered([record.clause for record in records])
    return {
        "format": CASES_FORMAT,
        "digest": run.header.suite.digest,
        "cells": distinct,
        "cell": column,
        "clauses": clauses,
        "clause": clause,
        "ids": _shortened([record.case for record in records]),
        "digests": "".join(record.digest[:DIGITS] for record in records),
    }


def _shortened(ids: Sequence[str]) -> list[str]:
    """Return each id as a number, of the characters that it has of the one before, and the rest."""
    return [
        f"{shared} {id[shared:]}"
        for before, id in pairwise(["", *ids])
        for shared in [_common_prefix(before, id)]
    ]


def _common_prefix(one: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _whole(shortened: Sequence[str]) -> list[str]:
    """Return the ids that `_shortened` made shorter."""
    ids: list[str] = []
    before = ""
    for text in shortened:
        shared, _, rest = text.partition(" ")
        before = before[: int(shared)] + rest
        ids.append(before)
    return ids


def _columns(run: Run) -> dict[str, Any]:
    """The column of an engine's results, and its examples."""
    records = _by_place(run)
    distinct, column = _numbered([astuple(_kind_of(record)) for record in records])
    header = run.header
    (backend,) = run.header.backends
    machine = header.environment
    about = Head(
        address=backend.address,
        version=backend.version,
        started=header.started,
        opcheck=machine.opcheck,
        python=machine.python,
        platform=machine.platform,
        level=header.level,
        suite=header.suite,
        instructions=machine.machine.get("instructions", ""),
    )
    return {
        "format": FORMAT,
        "head": asdict(about),
        "kinds": distinct,
        "kind": column,
        "examples": [(record.place, _words_of(record)) for record in _examples(records)],
    }


def _kind_of(record: Record) -> Kind:
    known = record.known
    return Kind(
        verdict=record.verdict,
        found=record.found,
        failure=record.failure,
        refused=record.refused,
        defect=known.id if known else None,
        reason=record.reason if record.verdict is Verdict.WARN else "",
    )


def _examples(records: Iterable[Record]) -> list[Record]:
    """The result of each defect that needs the fewest words, if possible where the text decides."""
    by_defect: dict[str, list[Record]] = {}
    for record in records:
        if record.known and record.known.id and record.found is not Verdict.PASS:
            by_defect.setdefault(record.known.id, []).append(record)
    return [
        min(
            [record for record in those if record.found in reds()] or those,
            key=lambda record: (record.rule != "must", len(record.question), record.place),
        )
        for those in by_defect.values()
    ]


def _words_of(record: Record) -> dict[str, Any]:
    return {
        "clause": record.clause,
        "question": record.question,
        "repeat": record.repeat,
        "rulings": record.rulings,
    }


def _words(clause: str, question: str, repeat: str, rulings: Sequence[str]) -> Words:
    return Words(clause, question, repeat, tuple(rulings))


def _kind(
    verdict: str,
    found: str | None,
    failure: Failure | None,
    refused: bool,
    defect: str | None,
    reason: str,
) -> Kind:
    return Kind(
        verdict=Verdict(verdict),
        found=Verdict(found) if found else None,
        failure=failure,
        refused=refused,
        defect=defect,
        reason=reason,
    )


def _by_place(run: Run) -> list[Record]:
    return sorted(run.records, key=attrgetter("place"))


def _op(op: OpVersion) -> tuple[str, str, int]:
    return op.domain, op.name, op.since


def _numbered(values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """The distinct values in their order, and the number of each value among them."""
    numbers: dict[Any, int] = {}
    column = [numbers.setdefault(value, len(numbers)) for value in values]
    return [*numbers], column


def _write(path: Path, fields: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    # Without a time or a name, so that equal results are equal files.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _read(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))
