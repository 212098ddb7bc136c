"""What published results, ledgers and checks by hand say of each engine; nothing is run.

A *cell* is a version of an operator with one of the types that its kernels differ by.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from opcheck import opset
from opcheck.analysis import reds
from opcheck.dtypes import DTYPES
from opcheck.known import SHIPPED_LEDGERS, Ledger, Line, load_ledgers, within
from opcheck.model import OpVersion, Verdict
from reports import confirm, results
from reports.confirm import SHOWS
from reports.results import Head, Kind, Result, Words
from reports.weights import Cell

HERE = Path(__file__).parent
#: Runs of an engine by other options than its default: rows of their own, by the files' names.
VARIANTS: Mapping[str, str] = {"openvino-f32": "openvino?precision=f32"}
ENGINES = ("onnxruntime", "openvino", "reference", "torch", "tract")
#: Those of examples/backends that are quick enough, by a handful of cases of each operator.
OTHERS = ("opencv", "tinygrad", "tvm")
#: What says nothing about whether a backend conforms.
UNJUDGED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN)


class State(StrEnum):
    """What all cases of a cell say together; a warning is no failure."""

    RIGHT = "right"
    #: Some invalid model is accepted, or ends the process.
    LEGAL = "right on legal models"
    WRONG = "wrong"
    ABSENT = "not implemented"
    UNJUDGED = "not judged"


@dataclass(frozen=True)
class Defect:
    """One line of a ledger, with the results of a run that it explains."""

    line: Line
    results: tuple[Result, ...]

    @property
    def id(self) -> str:
        """The id of the defect, such as ORT-0017."""
        return id_of(self.line)

    @cached_property
    def wrong(self) -> tuple[Result, ...]:
        """The results that would fail the run."""
        return tuple(result for result in self.results if result.plain in reds())

    @property
    def rulings(self) -> tuple[str, ...]:
        """The rulings on which its example rests; none if no case shows it."""
        words = next((result.words for result in self.results if result.words), None)
        return words.rulings if words else ()

    @cached_property
    def example(self) -> tuple[OpVersion, Words]:
        """The operator and the words of the result that needs the fewest words."""
        return next((result.op, result.words) for result in self.results if result.words)


def id_of(line: Line) -> str:
    """Return the id of a line; a test holds that each line of a shipped ledger has one."""
    return line.id or ""


#: Lines about one defect, the first of them about most of it.
Group: TypeAlias = tuple[Defect, ...]


@dataclass(frozen=True)
class Published:
    """One backend's results, its ledger, and what `confirm.py` saw of its defects."""

    head: Head
    results: tuple[Result, ...]
    ledger: Ledger | None
    by_hand: tuple[Mapping[str, str], ...]
    #: The options by which it was run, such as "precision=f32".
    options: str = ""

    @property
    def address(self) -> str:
        """As `-b` takes it."""
        return self.head.address

    @property
    def version(self) -> str:
        """The version that was run."""
        return self.head.version

    @property
    def full_address(self) -> str:
        """As `-b` takes it, with the options."""
        return f"{self.address}?{self.options}" if self.options else self.address

    def __str__(self) -> str:
        return f"{self.address} {self.version}" + (f", {self.options}" if self.options else "")

    @cached_property
    def defects(self) -> tuple[Defect, ...]:
        """What its ledger explained in this run, and what was confirmed that no case shows."""
        by_id: dict[str, list[Result]] = {}
        for result in self.results:
            # What passes although a defect is listed shows nothing of it.
            if result.kind.defect and result.plain is not Verdict.PASS:
                for id in self._holding(result.kind.defect):
                    by_id.setdefault(id, []).append(result)
        defects = [Defect(line, tuple(by_id.get(id_of(line), ()))) for line in self._lines]
        return tuple(one for one in defects if one.results or (one.line.clause and self.seen(one)))

    @cached_property
    def real(self) -> tuple[Group, ...]:
        """The defects that contradict what the text decides, each once.

        First of each comes the line that the others lead to, if it shows in the run.
        """
        groups: dict[str, list[Defect]] = {}
        for defect in self.defects:
            if defect.wrong or defect.line.clause:
                groups.setdefault(defect.line.same_as or defect.id, []).append(defect)
        return tuple(
            tuple(sorted(group, key=lambda defect: defect.line.same_as is not None))
            for group in groups.values()
        )

    @property
    def deviations(self) -> list[Defect]:
        """What is only warned of: the text is not strict there, or a sound backend may differ."""
        return [one for one in self.defects if not one.wrong and not one.line.clause]

    @property
    def unseen(self) -> list[tuple[Line, str]]:
        """Lines of the ledger that explain nothing here, with why."""
        seen = {defect.id for defect in self.defects}
        return [(line, self._why(line)) for line in self._lines if id_of(line) not in seen]

    def _why(self, line: Line) -> str:
        if not within(self.version, line.versions):
            return f"mended: only in {line.versions}"
        return "depends on the processor, or on memory" if line.sometimes else "not seen any more"

    @property
    def _lines(self) -> Sequence[Line]:
        return self.ledger.fields.known if self.ledger else ()

    def _holding(self, id: str) -> tuple[str, ...]:
        """The lines that hold a defect of the run now: it may have been merged, or split."""
        return self.ledger.fields.holding(id) if self.ledger else ()

    @cached_property
    def passed(self) -> frozenset[str]:
        """The cases that came out right."""
        return frozenset(one.case for one in self.results if one.plain is Verdict.PASS)

    @cached_property
    def cells(self) -> Mapping[Cell, State]:
        """The state of every cell that the suites ask about, in order."""
        invalid = {line.id for line in self._lines if line.kind == "invalid model"}
        found: dict[Cell, Counter[tuple[str, bool]]] = defaultdict(Counter)
        for result in self.results:
            op = result.op
            dtype = result.dtype
            kind = result.kind
            typed = opset.versions(op.domain, op.name)[op.since].typed
            if dtype and DTYPES[dtype].text in typed.types:
                accused = kind.defect and not invalid.isdisjoint(self._holding(kind.defect))
                legal = not (kind.refused or kind.failure == "accepted" or accused)
                found[op, dtype][_state_of(kind), legal] += 1
        return {cell: _state(found[cell]) for cell in sorted(found)}

    def use(self, shares: Mapping[Cell, Fraction]) -> dict[State, float]:
        """Return the part of what models use by the state of its cell."""
        found = dict.fromkeys(State, Fraction())
        for cell, share in shares.items():
            found[self.cells.get(cell, State.UNJUDGED)] += share
        return {state: float(share) for state, share in found.items()}

    def is_outside(self, op: OpVersion) -> bool:
        """Return True if a version is in force at none of the opsets that the engine states."""
        stated = self.ledger.fields.opsets if self.ledger else None
        if stated is None or op.domain:
            return False
        later = [since for since in opset.versions(op.domain, op.name) if since > op.since]
        is_below = bool(later) and min(later) <= stated.first
        return is_below or (stated.last is not None and op.since > stated.last)

    def is_documented(self, result: Result) -> bool:
        """Return True if the engine's documentation says that it has not what a result lacks."""
        kind = result.kind
        lines = self._documented if kind.defect else frozenset()
        if kind.defect and not lines.isdisjoint(self._holding(kind.defect)):
            return True
        return kind.failure == "raised" and self.is_outside(result.op)

    @cached_property
    def _documented(self) -> frozenset[str]:
        return frozenset(id_of(line) for line in self._lines if line.documented)

    def hand(self, defect: Defect) -> list[Mapping[str, str]]:
        """Return the checks by hand of a defect in this version, on each processor."""
        return [
            one
            for one in self.by_hand
            if one["version"] == self.version and defect.id in self._holding(one["defect"])
        ]

    def seen(self, defect: Defect) -> list[Mapping[str, str]]:
        """Return those of the checks by hand that show the defect."""
        return [one for one in self.hand(defect) if one["outcome"] == SHOWS]

    def processors(self, group: Group) -> set[str]:
        """Return the kinds of processor on which a defect was confirmed; a limit makes none."""
        seen = [one for defect in group for one in self.seen(defect)]
        return {one["processor"] for one in seen if not one["limit"]}


def _state_of(kind: Kind) -> str:
    verdict = kind.found or kind.verdict
    raised = kind.failure == "raised"
    if verdict in reds():
        return "raised" if raised else "red"
    if verdict in UNJUDGED:
        return "unjudged"
    return "open" if raised else "fine"


def _state(counts: Counter[tuple[str, bool]]) -> State:
    answered = counts["red", True] + counts["fine", True]
    # An invalid model that is refused shows no kernel; where none answers, most errors decide.
    if not answered and counts["unjudged", True] >= counts["raised", True]:
        return State.ABSENT
    if counts["red", True] or counts["raised", True]:
        return State.WRONG
    return State.LEGAL if counts["red", False] or counts["raised", False] else State.RIGHT


def ledgers(folder: Path = SHIPPED_LEDGERS) -> tuple[Ledger, ...]:
    """Return the ledgers of the folder; raises CaseFileError with all that is wrong with them."""
    return load_ledgers(sorted(folder.glob("*.yaml")))


def variants(folder: Path = HERE) -> list[Published]:
    """The results of engines with options, as far as they were made; they have no pages."""
    there = ledgers()
    found = []
    for name, address in VARIANTS.items():
        path = folder / "results" / f"{name}.json.gz"
        if not path.exists():
            continue
        engine, _, options = address.partition("?")
        one = _published(results.read(path), engine, there, by_hand=())
        found.append(replace(one, head=replace(one.head, address=engine), options=options))
    return found


def others(folder: Path = HERE) -> list[Published]:
    """The results of engines that no ledger is about, on fewer cases."""
    return [Published(one.head, one.results, None, ()) for one in _read(folder, OTHERS)]


def published(folder: Path = HERE) -> list[Published]:
    """All results of the folder; raises CaseFileError where a file is unsound."""
    there = ledgers()
    by_hand = [asdict(one) for one in confirm.stored(folder / "shown")]
    return [_published(one, one.head.address, there, by_hand) for one in _read(folder, ENGINES)]


def _published(
    one: results.Results,
    engine: str,
    there: Sequence[Ledger],
    by_hand: Sequence[Mapping[str, str]],
) -> Published:
    """Return the results of an engine, with its ledger and checks by hand out of all."""
    ledger = next((it for it in there if engine in it.fields.backend), None)
    mine = tuple(check for check in by_hand if check["engine"] == engine)
    return Published(one.head, _without_retired(one.results, ledger), ledger, mine)


def _without_retired(stored: Sequence[Result], ledger: Ledger | None) -> tuple[Result, ...]:
    """Return the results; those of defects that turned out to be none are not judged any more.

    The next run judges them anew.
    """
    none = {id for id, holding in ledger.fields.retired.items() if not holding} if ledger else ()
    return tuple(
        replace(result, kind=Kind(Verdict.NOT_RUN), words=None)
        if result.kind.defect in none
        else result
        for result in stored
    )


def _read(folder: Path, names: Sequence[str]) -> list[results.Results]:
    return [results.read(folder / "results" / f"{name}.json.gz") for name in names]
