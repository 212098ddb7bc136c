"""The run itself: every case on every backend, judged, results in order, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from opcheck.execution import evaluation as ev
from opcheck.execution.evaluation import CaseEvaluation, EvaluatedCase, repeated
from opcheck.execution.expected import OracleAnswer, ask_oracle
from opcheck.execution.workers import AskableBackend, Driver
from opcheck.known import Gate, Ledger, explain
from opcheck.model import Case, Diagnosis, LiveResult, Record, Verdict

if TYPE_CHECKING:
    from opcheck.diagnose import Suspects

#: How far a backend may be ahead of the slowest, in cases, and how many bytes their data may have.
_AHEAD = 512
_BYTES = 256 << 20


def _size(case: Case) -> int:
    return sum(spec.nbytes for spec in case.inputs)


def judge_all(
    cases: Sequence[Case], backends: Sequence[AskableBackend], *more: Any, **options: Any
) -> Iterator[LiveResult]:
    """Judge every case on every backend, with nothing kept of an earlier run; see `Scheduler`."""
    return cast(Iterator[LiveResult], iter(Scheduler(cases, backends, {}, *more, **options)))


@dataclass(eq=False)
class _OpenCase:
    """A case that misses results; those that are there are kept by the backend's number."""

    evaluation: CaseEvaluation
    #: The case's oracle has not answered yet; backends are `waiting` for that.
    unheard: bool
    waiting: list[int] = field(default_factory=list)
    results: dict[int, EvaluatedCase] = field(default_factory=dict)
    #: Results that wait for the answers of all backends.
    unsettled: dict[int, list[EvaluatedCase]] = field(default_factory=dict)


@dataclass(eq=False)
class Scheduler:
    """A run, which judges every case on every backend, case by case, in the given order.

    It yields its results once; then it knows their causes. Results `kept` of an earlier run, by
    case and backend, come in their turn; of a case that compares backends, all or none. The user's
    `gate` decides about the cases that it lists, `ledgers` explain failures of others; failures
    that stay unexplained are diagnosed. `oracles` are by name. Each backend is asked each case so
    many `times`; if `reproducible`, for the same bits.
    """

    cases: Sequence[Case]
    backends: Sequence[AskableBackend]
    kept: Mapping[tuple[str, str], Record]
    ledgers: Sequence[Ledger] = ()
    is_unexplained: Callable[[LiveResult | Record], bool] = lambda result: False
    oracles: Mapping[str, AskableBackend] = field(default_factory=dict)
    gate: Gate = field(default_factory=Gate)
    times: int = 1
    reproducible: bool = False

    def __post_init__(self) -> None:
        #: Cases that each backend passed, and kept failures, which its suspects do not know yet.
        self.learned: list[list[tuple[Case, Record | None]]] = [[] for _ in self.backends]
        self.suspects: dict[int, Suspects] = {}
        self.next = [0] * len(self.backends)
        self.open: dict[int, _OpenCase] = {}
        #: How many bytes the data of the open cases have.
        self.held = 0
        #: Inquiries by the case's place, and the backend's number, None for the oracle.
        self.driver: Driver[tuple[int, int | None], list[EvaluatedCase] | OracleAnswer] = Driver()

    def settled(self, records: Sequence[Record]) -> list[Record]:
        """Return the records with the final diagnoses, which need all results."""
        cases = {case.id: case for case in self.cases}
        found: dict[tuple[str, str], tuple[Diagnosis, ...]] = {}
        for number, backend in enumerate(self.backends):
            address = backend.info.address
            mine = [(one, self.is_unexplained(one)) for one in records if one.backend == address]
            if any(unexplained for _, unexplained in mine):
                from opcheck.diagnose import Seen, settled

                seen = [Seen(cases[one.case], one, unexplained) for one, unexplained in mine]
                by_case = settled(seen, self._suspects(number))
                found.update(((case, address), diagnoses) for case, diagnoses in by_case.items())
        final = [found.get((one.case, one.backend), one.diagnoses) for one in records]
        # Equal diagnoses may have other counts, which are spelt out.
        return [
            replace(one, diagnoses=new) if [*map(str, new)] != [*map(str, one.diagnoses)] else one
            for one, new in zip(records, final, strict=True)
        ]

    def __iter__(self) -> Iterator[LiveResult | Record]:
        place, number = 0, 0
        while self.backends and place < len(self.cases):
            self._begin(place)
            while place < len(self.cases) and (result := self._in_turn(place, number)):
                yield result
                number += 1
                if number == len(self.backends):
                    if self.open.pop(place, None):
                        self.held -= _size(self.cases[place])
                    place, number = place + 1, 0
            if self.driver.is_busy:
                self._collect()

    def _in_turn(self, place: int, number: int) -> LiveResult | Record | None:
        """The result of a backend on the case whose turn it is, None while it is not there."""
        if record := self._kept(number, place):
            # It is evidence as when it was new.
            passed = (record.found or record.verdict) is Verdict.PASS
            if passed or self.is_unexplained(record):
                self.learned[number].append((self.cases[place], None if passed else record))
            return record
        opened = self.open.get(place)
        return self._diagnosed(number, opened) if opened and number in opened.results else None

    def _kept(self, number: int, place: int) -> Record | None:
        return self.kept.get((self.cases[place].id, self.backends[number].info.address))

    def _suspects(self, number: int) -> Suspects:
        """Return the suspects of a backend; imported and made when first needed."""
        from opcheck.execution.evidence import suspects_of

        found = self.suspects[number] = suspects_of(self.suspects.get(number), self.learned[number])
        self.learned[number].clear()
        return found

    def _begin(self, emitted: int) -> None:
        for number, backend in enumerate(self.backends):
            while backend.has_room and self._may_begin(self.next[number], emitted):
                place = self.next[number]
                self.next[number] += 1
                if self._kept(number, place):
                    continue
                if place not in self.open:
                    self._open(place)
                if self.open[place].unheard:
                    self.open[place].waiting.append(number)
                else:
                    self._start(number, place)

    def _open(self, place: int) -> None:
        case = self.cases[place]
        evaluation, address = CaseEvaluation(case), case.expect.oracle
        question = evaluation.for_the_oracle
        self.open[place] = _OpenCase(evaluation, unheard=question is not None)
        self.held += _size(case)
        if address and question:
            oracle = self.oracles[address]
            self.driver.start(oracle, ask_oracle(oracle.info, question), (place, None))

    def _start(self, number: int, place: int) -> None:
        evaluation, backend = self.open[place].evaluation, self.backends[number]
        self.driver.start(backend, repeated(evaluation, backend.info, self.times), (place, number))

    def _may_begin(self, place: int, emitted: int) -> bool:
        if place >= min(len(self.cases), emitted + _AHEAD):
            return False
        if place in self.open:
            return True
        address = self.cases[place].expect.oracle
        if address and not self.oracles[address].has_room:
            return False
        return not self.open or self.held + _size(self.cases[place]) <= _BYTES

    def _end(self, number: int, opened: _OpenCase, rounds: list[EvaluatedCase]) -> None:
        """Take the results of an inquiry, which may have to wait for those of other backends."""
        if not opened.evaluation.case.expect.compares_backends:
            opened.results[number] = self._together(rounds)
            return
        opened.unsettled[number] = rounds
        if len(opened.unsettled) == len(self.backends):
            infos = [backend.info for backend in self.backends]
            # First answers are compared with each other, then second ones, and so on.
            by_round = zip(*(opened.unsettled[one] for one in range(len(infos))), strict=True)
            found = [ev.settle_by_agreement(opened.evaluation, some, infos) for some in by_round]
            for one, judged in enumerate(zip(*found, strict=True)):
                # Held back until its turn, and so without the answer.
                opened.results[one] = replace(self._together(judged), open=None)

    def _together(self, rounds: Sequence[EvaluatedCase]) -> EvaluatedCase:
        combined = ev.combine_repeats(rounds)
        return ev.as_required(combined) if self.reproducible else combined

    def _diagnosed(self, number: int, opened: _OpenCase) -> LiveResult:
        """The result of a backend; made in its turn, because the order matters."""
        judged = opened.results[number]
        if judged.result.verdict is Verdict.PASS:
            self.learned[number].append((judged.result.case, None))
        judged, result = self._explained(number, opened)
        if judged.failed is None or not self.is_unexplained(result):
            return result
        from opcheck.execution.evidence import evidence

        seen = evidence(opened.evaluation, *judged.failed)
        found = self._suspects(number).diagnose(seen, result.case.id) if seen else ()
        return replace(result, diagnoses=found)

    def _explained(self, number: int, opened: _OpenCase) -> tuple[EvaluatedCase, LiveResult]:
        """The result with its ledger's explanation; it is known if every repeat is."""
        judged, info = opened.results[number], self.backends[number].info

        def known(one: EvaluatedCase) -> LiveResult:
            def looks(name: str) -> bool:
                from opcheck.diagnose import looks_like
                from opcheck.execution.evidence import evidence

                seen = evidence(opened.evaluation, *one.failed) if one.failed else None
                return seen is not None and looks_like(name, seen)

            listed = self.gate.judged(one.result, info, looks)
            return listed or explain(self.ledgers, one.result, info)

        first = known(judged)
        for other in judged.others if first.verdict is Verdict.KNOWN else ():
            if (result := known(other)).verdict is not Verdict.KNOWN:
                return other, result
        return judged, first

    def _collect(self) -> None:
        for (place, number), found in self.driver.collect():
            opened = self.open[place]
            if isinstance(found, OracleAnswer):
                opened.evaluation.oracle_answer = found
                opened.unheard = False
                for waiting in opened.waiting:
                    self._start(waiting, place)
            elif number is not None:
                self._end(number, opened, found)
