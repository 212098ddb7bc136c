"""The run itself: every case on every backend, judged, results in order, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from opcheck.diagnose import Suspects, looks_like
from opcheck.known import Gate, Ledger, explain
from opcheck.model import BackendInfo, Case, Question, Reply, Result, Verdict
from opcheck.run.diagnosis import evidence, recall
from opcheck.run.trial import Inquiry, Judged, Trial

#: How far a backend may be ahead of the slowest, in cases, and how many bytes their data may have.
_AHEAD = 512
_BYTES = 256 << 20
#: How often backends are looked after while none of them says anything, in seconds.
_TICK = 0.05


class Asked(Protocol):
    """A backend that is asked without waiting for it."""

    @property
    def info(self) -> BackendInfo:
        """Address, kind, version, and what is to be known of it."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether one more question would be under way soon."""
        ...

    @property
    def connections(self) -> list[Connection[Any, Any]]:
        """What becomes readable when a reply comes."""
        ...

    def ask(self, question: Question) -> int:
        """Take a question; its reply comes with the number returned."""
        ...

    def replies(self, readable: Collection[Any]) -> Iterator[tuple[int, Reply]]:
        """What has come by the `readable` of its connections."""
        ...


def _nothing(result: Result) -> bool:
    return False


def conduct(
    cases: Sequence[Case],
    backends: Sequence[Asked],
    ledgers: Sequence[Ledger] = (),
    is_puzzling: Callable[[Result], bool] = _nothing,
    gate: Gate | None = None,
) -> Iterator[Result]:
    """Every case on every backend, case by case, in the given order.

    The user's `gate` decides about the cases that it lists, `ledgers` explain failures of others.
    Those that are puzzling all the same are diagnosed, which takes as long as some hundred cases
    more.
    """
    if not backends:
        return iter(())
    return _Conductor(cases, backends, ledgers, is_puzzling, gate or Gate()).results()


@dataclass(eq=False)
class _Open:
    """A case of which not all results are there; they are kept by the backend's number."""

    trial: Trial
    nbytes: int
    results: dict[int, Judged] = field(default_factory=dict)


class _Conductor:
    def __init__(
        self,
        cases: Sequence[Case],
        backends: Sequence[Asked],
        ledgers: Sequence[Ledger],
        is_puzzling: Callable[[Result], bool],
        gate: Gate,
    ) -> None:
        self.cases = cases
        self.backends = backends
        self.ledgers = ledgers
        self.is_puzzling = is_puzzling
        self.gate = gate
        self.suspects = [Suspects(recall) for _ in backends]
        self.next = [0] * len(backends)
        self.open: dict[int, _Open] = {}
        #: What is under way at each backend, by ticket: the case's number and its inquiry.
        self.asked: list[dict[int, tuple[int, Inquiry]]] = [{} for _ in backends]

    def results(self) -> Iterator[Result]:
        """The results; those that come out of turn are held back."""
        emitted, told = 0, 0
        while emitted < len(self.cases):
            self._begin(emitted)
            while (opened := self.open.get(emitted)) and told in opened.results:
                yield self._diagnosed(told, opened)
                told += 1
                if told == len(self.backends):
                    del self.open[emitted]
                    emitted, told = emitted + 1, 0
            if any(self.asked):
                self._collect()

    def _begin(self, emitted: int) -> None:
        """Put as many cases to each backend as it has room for."""
        for number, backend in enumerate(self.backends):
            while backend.has_room and self._may_begin(self.next[number], emitted):
                place = self.next[number]
                self.next[number] += 1
                if place not in self.open:
                    case = self.cases[place]
                    size = sum(spec.nbytes for spec in case.inputs)
                    self.open[place] = _Open(Trial(case), size)
                self._go_on(number, place, self.open[place].trial.on(backend.info), None)

    def _may_begin(self, place: int, emitted: int) -> bool:
        if place >= len(self.cases) or place >= emitted + _AHEAD:
            return False
        if place in self.open:
            return True
        held = sum(opened.nbytes for opened in self.open.values())
        return not self.open or held + sum(s.nbytes for s in self.cases[place].inputs) <= _BYTES

    def _go_on(self, number: int, place: int, inquiry: Inquiry, reply: Reply | None) -> None:
        """Send an inquiry the reply to its last question, and ask its next."""
        backend = self.backends[number]
        try:
            question = next(inquiry) if reply is None else inquiry.send(reply)
        except StopIteration as end:
            self.open[place].results[number] = end.value
        else:
            self.asked[number][backend.ask(question)] = place, inquiry

    def _diagnosed(self, number: int, opened: _Open) -> Result:
        """The result of a backend; made when its turn comes, because the order tells."""
        judged = opened.results[number]
        if judged.result.verdict is Verdict.PASS:
            self.suspects[number].passed(judged.result.case)
        result = self._explained(number, opened)
        if judged.failed is None or not self.is_puzzling(result):
            return result
        seen = evidence(opened.trial, *judged.failed)
        found = self.suspects[number].diagnose(seen) if seen else ()
        return replace(result, diagnoses=found)

    def _explained(self, number: int, opened: _Open) -> Result:
        """The result with what is known of it: by the user's ledgers, or else by the shipped."""
        judged, info = opened.results[number], self.backends[number].info

        def looks(name: str) -> bool:
            seen = evidence(opened.trial, *judged.failed) if judged.failed else None
            return seen is not None and looks_like(name, seen)

        listed = self.gate.judged(judged.result, info, looks)
        return listed or explain(self.ledgers, judged.result, info)

    def _collect(self) -> None:
        """Wait until something has come, and see what it is worth."""
        connections = [one for backend in self.backends for one in backend.connections]
        readable = wait(connections, _TICK) if connections else []
        for number, backend in enumerate(self.backends):
            for ticket, reply in backend.replies(readable):
                place, inquiry = self.asked[number].pop(ticket)
                self._go_on(number, place, inquiry, reply)
