"""Judge every case on every backend, here or in several processes, with results in order.

A `CaseJudge` takes a few cases at a time, in their order, asks the backends and judges their
answers. In a process of its own (`JudgePool`) it sends back what a report needs. Such a process is
forked, so that it has the cases without reading them. The `Scheduler` puts results in order, and
finds the causes of failures.

A case's *place* is its index in the run, a backend's *number* its index among the backends. A case
is *open* while some backend is still to answer it.

What judges an answer, or asks for it again, raises WrongOperator if the file that declares the
operator is wrong, and what the operator's formula raises for a bound, such as NotSupported.
"""

import multiprocessing
import os
import pickle
import sys
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias, cast

from opcheck import interrupt, own_memory
from opcheck.backends import base
from opcheck.backends.isolation import cleanup
from opcheck.backends.isolation.pool import Pool
from opcheck.diagnose import (
    Allowance,
    DiagnosedResult,
    Suspects,
    attribute_causes,
    looks_like,
)
from opcheck.diagnose.allowance import NoTimeLeft
from opcheck.diagnose.asking import Ask
from opcheck.errors import BackendUnavailable
from opcheck.execution import evaluation as ev
from opcheck.execution.asking import ask_again
from opcheck.execution.earlier import EarlierCases, FailedCase
from opcheck.execution.evaluation import CaseEvaluation, EvaluatedCase, WrongAnswer, repeated
from opcheck.execution.expected import OracleAnswer
from opcheck.execution.workers import AskableBackend, Driver, Questions, ask_once
from opcheck.known import Gate, Ledger, explain
from opcheck.model import Case, Diagnosis, LiveResult, Record, Reply, Verdict, cause_counts

#: How many cases may be begun from the first one on whose results were not all yielded.
AHEAD = 512
#: How many bytes the data of all open cases may have, and those of all that wait for their turn.
_BYTES = 256 << 20
#: Returns the places of more cases to ask about: none for now, None if none are left.
Take: TypeAlias = Callable[[], Sequence[int] | None]
#: The questions to a backend about a case, as often as it is repeated.
Rounds: TypeAlias = Questions[list[EvaluatedCase]]
#: Seconds that judging processes have to end their backends.
_FAREWELL = 5.0
#: Seconds that they have to send what these left, if all was judged.
_LAST_MESSAGE = 60.0
#: Seconds to wait while other processes judge the cases that come first.
_PAUSE = 0.01
#: Seconds between two messages: to wake the parent takes as long as a small case.
_BETWEEN_MESSAGES = 0.05
#: Of so many causes, a failure is asked alone in a fresh process.
_MOST_ASKED_ALONE = 12
#: The most cases that a judging process takes at once.
_MOST_AT_ONCE = 4


@lru_cache(2 * AHEAD)  # called several times while a case is open
def _size(case: Case) -> int:
    """Return the bytes of a case's inputs."""
    return sum(spec.nbytes for spec in case.inputs)


def _with_answer(diagnoses: Sequence[Diagnosis], answer: str) -> tuple[Diagnosis, ...]:
    """Return a case's diagnoses, the first with one more answer of the backend, in words.

    Without any, the answer is the only one, as a remark.
    """
    if not diagnoses:
        return (Diagnosis(mistake=None, text=answer),)
    first, *others = diagnoses
    return (replace(first, asked=(*first.asked, answer)), *others)


def _never(result: LiveResult | Record) -> bool:
    """Return False: no causes are looked for."""
    return False


@dataclass(frozen=True, eq=False)
class JudgedAnswer:
    """The result of one backend on one case, as a judging process sends it.

    `CaseJudge` makes it, after the ledgers. The scheduler reads it: it puts results in the order of
    cases, and finds causes of failures.

    Attributes:
        place: The place of the case in the run.
        number: The number of the backend.
        result: A `Record` if it comes from another process.
        wrong: The wrong answer, if its cause is to be found.
        oracle_answer: The answer of the case's oracle, without which `wrong` is no evidence.
        evaluation: The evaluation that judged it, if it failed in this process.
    """

    place: int
    number: int
    result: LiveResult | Record
    wrong: WrongAnswer | None
    oracle_answer: OracleAnswer | None
    evaluation: CaseEvaluation | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for another process, which has no use for the evaluation."""
        return {**vars(self), "evaluation": None}


@dataclass(eq=False)
class _OpenCase:
    """A case that some backend is still to answer."""

    evaluation: CaseEvaluation
    #: How many backends' results are missing.
    missing: int
    #: The case's oracle has not answered yet; backends are `waiting` for that.
    needs_oracle: bool
    waiting: list[int] = field(default_factory=list)
    #: Results, by backend, that wait for those of all others, to be compared.
    uncompared: dict[int, list[EvaluatedCase]] = field(default_factory=dict)


@dataclass(eq=False)
class CaseJudge:
    """Asks every backend about every case, and judges the answers.

    Attributes:
        cases: The cases, in order; a place is an index into them.
        backends: The backends; a number is an index into them.
        ledgers: Shipped ledgers, which explain failures that the gate does not list.
        is_unexplained: Returns True for failures whose causes are to be looked for.
        oracles: The oracles that cases name, by these names.
        gate: The user's ledgers, which decide about the cases that they list.
        times: How often each case is asked.
        reproducible: Answers that differ in a bit are *unstable*.
        observe: Wraps the questions to a backend, to see its answers.
        allowance: The time that may be spent on causes.
        asks_again: Causes may be told apart by asking about other cases.
    """

    cases: Sequence[Case]
    backends: Sequence[AskableBackend]
    ledgers: Sequence[Ledger] = ()
    is_unexplained: Callable[[LiveResult | Record], bool] = _never
    oracles: Mapping[str, AskableBackend] = field(default_factory=dict)
    gate: Gate = field(default_factory=Gate)
    times: int = 1
    reproducible: bool = False
    allowance: Allowance = field(default_factory=Allowance)
    observe: Callable[[Rounds], Rounds] | None = None
    asks_again: bool = True

    def __post_init__(self) -> None:
        """Begin without an open case."""
        #: Places of the cases begun so far.
        self._begun: list[int] = []
        #: How many of them each backend was asked about.
        self._asked = [0] * len(self.backends)
        self._open: dict[int, _OpenCase] = {}
        #: How many bytes the data of the open cases have.
        self._held = 0
        #: Questions by the case's place, and the backend's number, None for the oracle.
        self._driver: Driver[tuple[int, int | None], list[EvaluatedCase] | Reply] = Driver()

    def answers(self, take: Take) -> Iterator[list[JudgedAnswer]]:
        """Yield judged answers as they come, in lists that may be empty.

        `take` gives the places of more cases. An empty list comes while it gives none and no case
        is open. Ends once `take` returns None and all is answered. Raises Defect if opcheck's own
        part of an adapter fails, BackendUnavailable if nothing can be judged in this process any
        more, UsageError if a file of a model's weights has changed, and ValueError for a tolerance
        that makes no sense where backends are compared.
        """
        is_last = self._begin(take)
        while self._driver.is_busy or not is_last:
            answers: list[JudgedAnswer] = []
            if self._driver.is_busy:
                for (place, number), result in self._driver.collect():
                    if isinstance(result, Reply) or number is None:
                        self._end_of_oracle(place, cast(Reply, result))
                    else:
                        answers += self._end(place, number, result)
            else:
                sleep(_PAUSE)
            # Asked before the yield: backends work while the caller looks at these answers.
            is_last = self._begin(take)
            yield answers

    def _begin(self, take: Take) -> bool:
        """Ask backends with room about the next cases; return False if `take` gave none for now.

        All backends get the cases in one order, each as far as it has come. True if `take` has no
        more cases, ever. Also if it was not called, because backends have no room, or the next case
        must wait for memory or its oracle: then answers are under way.
        """
        is_last = True
        for number, backend in enumerate(self.backends):
            while backend.has_room:
                if self._asked[number] == len(self._begun):
                    places = take()
                    if not places:
                        is_last = is_last and places is None
                        break
                    self._begun.extend(places)
                place = self._begun[self._asked[number]]
                if not self._may_begin(place):
                    break
                self._asked[number] += 1
                self._ask(place, number)
        return is_last

    def _may_begin(self, place: int) -> bool:
        """Return True if a case is open, or if its oracle has room and its data fit in.

        All open cases may have data of 256 MiB; any case may begin if none is open, however large.
        """
        if place in self._open:
            return True
        address = self.cases[place].expect.oracle
        if address and not self.oracles[address].has_room:
            return False
        return not self._open or self._held + _size(self.cases[place]) <= _BYTES

    def _ask(self, place: int, number: int) -> None:
        """Ask a backend about a case, or have it wait for the case's oracle; open a new case.

        An oracle, the backend that the case names for its answer, is asked when the case is opened,
        unless the data cannot be made. `place` is the case's, `number` the backend's.
        """
        if place not in self._open:
            case = self.cases[place]
            evaluation = CaseEvaluation(case)
            question = evaluation.for_the_oracle
            self._open[place] = _OpenCase(
                evaluation, missing=len(self.backends), needs_oracle=question is not None
            )
            self._held += _size(case)
            oracle = case.expect.oracle
            if oracle and question:
                self._driver.start(self.oracles[oracle], ask_once(question), (place, None))
        opened = self._open[place]
        backend = self.backends[number]
        if opened.needs_oracle:
            opened.waiting.append(number)
        else:
            questions = repeated(opened.evaluation, backend.info, self.times)
            if self.observe:
                questions = self.observe(questions)
            self._driver.start(backend, questions, (place, number))

    def _end_of_oracle(self, place: int, reply: Reply) -> None:
        """Keep the answer of a case's oracle, and ask the backends that wait for it.

        `reply` has the oracle's outcome, which need not be an answer.
        """
        opened = self._open[place]
        oracle = self.oracles[str(opened.evaluation.case.expect.oracle)].info
        opened.evaluation.oracle_answer = OracleAnswer(oracle, reply.outcome)
        opened.needs_oracle = False
        for number in opened.waiting:
            self._ask(place, number)

    def _end(self, place: int, number: int, rounds: list[EvaluatedCase]) -> Iterator[JudgedAnswer]:
        """Yield the result of a backend on a case; if compared, of all backends with the last.

        The `rounds` are its repeats. Results that are to be compared are kept until the last
        backend has answered, and nothing is yielded before. Closes the case with its last result.
        Raises ValueError for a tolerance that makes no sense, where results are compared.
        """
        opened = self._open[place]
        by_backend = {number: rounds}
        if opened.evaluation.case.expect.compares_backends:
            opened.uncompared[number] = rounds
            by_backend = {}
            if len(opened.uncompared) == len(self.backends):
                by_backend = self._compare_answers(opened)
        for of_number, of_backend in by_backend.items():
            opened.missing -= 1
            yield self._with_ledger(place, of_number, opened.evaluation, of_backend)
        if not opened.missing:
            self._held -= _size(self._open.pop(place).evaluation.case)

    def _compare_answers(self, opened: _OpenCase) -> dict[int, list[EvaluatedCase]]:
        """Compare backends: their first answers with each other, then second ones, and so on.

        Return the results of each backend, by its number, in the order of its repeats. All have as
        many. Raises ValueError for a tolerance that makes no sense.
        """
        infos = [backend.info for backend in self.backends]
        by_backend = [opened.uncompared[number] for number in range(len(infos))]
        by_round = [
            ev.judge_by_agreement(opened.evaluation, answers, infos)
            for answers in zip(*by_backend, strict=True)
        ]
        return {number: [*rounds] for number, rounds in enumerate(zip(*by_round, strict=True))}

    def _with_ledger(
        self, place: int, number: int, evaluation: CaseEvaluation, rounds: Sequence[EvaluatedCase]
    ) -> JudgedAnswer:
        """Return the result of a backend on a case, as ledgers of known defects have it.

        Several repeats, `rounds`, are combined to one; with `reproducible`, bits that differ make
        it *unstable*. It is *known* only if the ledgers explain each different failure of them;
        else the first that they do not explain is the result. `place` and `number` are those of the
        case and of the backend.
        """
        evaluated = ev.combine_repeats(rounds)
        if self.reproducible:
            evaluated = ev.require_reproducible(evaluated)
        result = self._explained(number, evaluation, evaluated)
        wrong = evaluated.wrong
        if result.verdict is Verdict.KNOWN:
            for other in evaluated.others:
                of_other = self._explained(number, evaluation, other)
                if of_other.verdict is not Verdict.KNOWN:
                    result = of_other
                    wrong = other.wrong
                    break
        return JudgedAnswer(
            place=place,
            number=number,
            result=result,
            wrong=wrong,
            oracle_answer=evaluation.oracle_answer,
            evaluation=evaluation if wrong else None,
        )

    def _explained(
        self, number: int, evaluation: CaseEvaluation, evaluated: EvaluatedCase
    ) -> LiveResult:
        """Return the result of a backend as the user's ledgers have it, or else the shipped ones.

        A listed failure becomes *known*, a listed pass *unexpected*. The result itself if no ledger
        says anything about it.
        """
        info = self.backends[number].info

        def looks(name: str) -> bool:
            """Return True if the wrong answer looks like the mistake of this name, a mutant's.

            False without evidence, such as for a crash.
            """
            if evaluated.wrong is None:
                return False
            evidence = ev.evidence(evaluation, evaluated.wrong)
            return evidence is not None and looks_like(name, evidence)

        listed = self.gate.apply(evaluated.result, info, looks)
        return listed or explain(self.ledgers, evaluated.result, info)


class Scheduler(CaseJudge):
    """A run, which yields its results in the order of cases, once; then it knows their causes.

    Of each case they come in the order of backends. To iterate over it asks and judges here.
    """

    def __post_init__(self) -> None:
        """Begin at the first case; `suspects` are mutants that may explain failures."""
        super().__post_init__()
        #: Number of cases whose results were all yielded.
        self.emitted = 0
        #: The place of the next case to be asked.
        self._next = 0
        #: How many bytes the data of the cases have whose answers wait for their turn.
        self._waiting = 0
        self.suspects = [Suspects(ev.evidence_of_pass, self.allowance) for _ in self.backends]
        #: Backends with failures that could not be asked about other cases.
        self.not_asked: list[str] = []

    @property
    def untried(self) -> int:
        """The number of failures that were not compared with every known mistake."""
        return sum(len(suspects.untried) for suspects in self.suspects)

    def with_causes(
        self, records: Sequence[Record], searched: Callable[[], None] = lambda: None
    ) -> dict[int, Record]:
        """Return, by number, the records whose diagnoses change once all are there.

        `records` are those of the whole run, all backends of a case after each other; their places
        there are the numbers. Causes are chosen anew for each backend, by what all its results have
        in common and by what it answers when it is asked again. Calls `searched` twice for each
        failure that is to be explained. A backend that cannot be asked again is added to
        `not_asked` if it fails anything. Raises KeyboardInterrupt if the user interrupts it,
        MemoryError if a passed case's data do not fit into memory, and what `ask_again` raises.
        """
        changed: dict[int, Record] = {}
        count = len(self.backends)
        for number in range(count):
            of_backend = records[number::count]
            unexplained = [self.is_unexplained(record) for record in of_backend]
            if not any(unexplained):
                continue
            results = [*map(DiagnosedResult, self.cases, of_backend, unexplained)]
            ask = self._asking(self.backends[number])
            if ask is None and any(record.failure for record in of_backend):
                self.not_asked.append(self.backends[number].info.address)
            by_case = attribute_causes(results, self.suspects[number], searched, ask)
            by_case |= self._of_earlier_cases(self.backends[number], results, by_case)
            for place, result in enumerate(results):
                old = result.record.diagnoses
                new = by_case.get(result.case.id, old)
                # Equal diagnoses may have other counts, which their texts have.
                if [*map(str, new)] != [*map(str, old)] or any(one.asked for one in new):
                    repeat = next((one.repeat for one in new if one.repeat), result.record.repeat)
                    revised = replace(result.record, diagnoses=new, repeat=repeat)
                    changed[place * count + number] = revised
        return changed

    def _asking(self, backend: AskableBackend) -> Ask | None:
        """Return a function that asks a backend about other cases; None if it cannot answer any.

        Backends that are asked once, such as saved outputs, cannot; nor can any without
        `asks_again`, as on a cluster, whose cases are sent to its workers.
        """
        if not (self.asks_again and backend.info.repeatable):
            return None

        def ask(case: Case) -> LiveResult | None:
            """Return the backend's result on a case, None if the text does not decide its answer.

            Raises NoTimeLeft while awaiting it if the time for causes is up, and what else
            `ask_again` raises.
            """
            return ask_again(case, backend, self.allowance.check)

        return ask

    def _of_earlier_cases(
        self,
        backend: AskableBackend,
        results: Sequence[DiagnosedResult],
        diagnoses: Mapping[str, tuple[Diagnosis, ...]],
    ) -> dict[str, tuple[Diagnosis, ...]]:
        """Return, by case, the diagnoses of failures that pass alone in a fresh process.

        `results` are all of the backend, in order, and `diagnoses` those found so far, by case. One
        failure of each cause is asked alone in a fresh process, of 12 causes at most, those with
        the most failures first, until there is no time. If it passes, and fails after one earlier
        case, that is the cause of all failures of its cause that pass alone too. If no one earlier
        case causes it, it keeps its diagnoses, with what was seen. Empty for a backend that cannot
        be asked again. Raises KeyboardInterrupt if the user interrupts it, and what `EarlierCases`
        raises but for NoTimeLeft.
        """
        if not (self.asks_again and isinstance(backend, Pool) and backend.info.repeatable):
            return {}
        by_cause: dict[Hashable, list[FailedCase]] = defaultdict(list)
        for place, result in enumerate(results):
            record = result.record
            if result.unexplained and record.failure:
                first = next(iter(diagnoses.get(result.case.id, ())), None)
                cause = (record.op.domain, record.op.name, record.failure, first)
                by_cause[cause].append(FailedCase(place, result.case, record))
        earlier = EarlierCases(backend, self.cases, self.allowance.check)
        found: dict[str, Diagnosis] = {}
        with self.allowance.searching(), suppress(NoTimeLeft):
            for failures in sorted(by_cause.values(), key=len, reverse=True)[:_MOST_ASKED_ALONE]:
                interrupt.safe_place()
                found |= earlier.diagnoses(failures)
        by_case = {
            result.case.id: _with_answer(
                diagnoses.get(result.case.id, result.record.diagnoses),
                earlier.remarks[result.case.id],
            )
            for result in results
            if result.case.id in earlier.remarks
        }
        # Several causes may turn out to be one.
        numbers = Counter(diagnosis.text for diagnosis in found.values())
        for case, diagnosis in found.items():
            count = numbers[diagnosis.text]
            counts = cause_counts(failing=count, judged=count)
            by_case[case] = (replace(diagnosis, counts=counts),)
        return by_case

    def __iter__(self) -> Iterator[LiveResult | Record]:
        return self.results(self.answers(self._take))

    def results(self, answers: Iterator[list[JudgedAnswer]]) -> Iterator[LiveResult | Record]:
        """Yield the results in order; `answers` come in any, those of early cases first.

        Each gets its causes in its turn. Sets `emitted`, the number of cases whose results were all
        yielded. Raises Defect if `answers` end before every result is there, what they raise, and
        MemoryError if data that a cause is sought by do not fit into memory.
        """
        waiting: dict[tuple[int, int], JudgedAnswer] = {}
        for place in range(len(self.cases)):
            for number in range(len(self.backends)):
                while (place, number) not in waiting:
                    arrived = next(answers, None)
                    if arrived is None:
                        raise base.Defect(f"{self.cases[place].id} was not judged")
                    for answer in arrived:
                        waiting[answer.place, answer.number] = answer
                        self._waiting += _size(self.cases[answer.place])
                self._waiting -= _size(self.cases[place])
                yield self._diagnosed(waiting.pop((place, number)))
            self.emitted = place + 1

    def _take(self) -> Sequence[int] | None:
        """Return the place of the next case, in a sequence of one, and count it as taken.

        An empty sequence while it is 512 cases ahead of the results, or the data of judged cases
        that wait for their turn are over 256 MiB; None at the end.
        """
        if self._next == len(self.cases):
            return None
        if self._next >= self.emitted + AHEAD or self._waiting > _BYTES:
            return ()
        self._next += 1
        return (self._next - 1,)

    def _diagnosed(self, answer: JudgedAnswer) -> LiveResult | Record:
        """Return the result with its causes; called in the order of cases, which matters.

        A pass is remembered, as it speaks against causes of later failures. A result whose cause is
        not to be found, or that has no wrong answer, is returned as it is; without evidence in it,
        such as of a crash, it has no causes. Raises MemoryError if its data, or those of a case
        that passed, do not fit into memory.
        """
        case = self.cases[answer.place]
        suspects = self.suspects[answer.number]
        # A pass counts even if a ledger calls it unexpected.
        if answer.result.verdict in (Verdict.PASS, Verdict.UNEXPECTED_PASS):
            suspects.passed(case)
        if answer.wrong is None or not self.is_unexplained(answer.result):
            return answer.result
        evaluation = answer.evaluation or CaseEvaluation(case, answer.oracle_answer)
        evidence = ev.evidence(evaluation, answer.wrong)
        if evidence is None:
            return replace(answer.result, diagnoses=())
        return replace(answer.result, diagnoses=suspects.diagnose(evidence, case.id))


def _ended_early(process: BaseProcess) -> BackendUnavailable:
    """Return the error about an ended process of a JudgePool that sent no last message."""
    how = cleanup.how_it_ended(process.exitcode or 0)
    return BackendUnavailable(f"a process that judges ended before its last message: {how}")


class JudgePool:
    """Processes that judge a run's cases, and send what a report needs.

    They are forked at once. The pools of `run` are closed here; each process has copies.

    Args:
        run: The run; only its places and results are used in this process.
        count: The number of processes.
        folder: The folder for their files.
        record: Makes what is stored of a result.
    """

    def __init__(
        self, run: Scheduler, count: int, folder: Path, record: Callable[[LiveResult], Record]
    ) -> None:
        """Close the pools of `run` in this process, and fork the processes, which begin to judge.

        Each has its own copies of the pools. Processes take cases by a counter that all share, and
        send answers through a pipe of their own.
        """
        self._run = run
        self._record = record
        self._folder = folder
        self._pools = cast("list[Pool]", [*run.backends, *run.oracles.values()])
        # Before the fork: the processes must not keep these connections open.
        for pool in self._pools:
            pool.close()
        self._parent = os.getpid()
        context = multiprocessing.get_context("fork")
        #: Shared: the places of the next case and of the first not emitted; 1 if all is to end.
        with interrupt.safe_path():
            self._next = context.Value("q", 0)
        self._emitted = context.Value("q", 0, lock=False)
        self._stopped = context.Value("b", 0, lock=False)
        self._ends: dict[Connection[Any, Any], BaseProcess] = {}
        #: The ends of processes that have sent their last message.
        self._done: set[Connection[Any, Any]] = set()
        for _ in range(count):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=self._work, args=(theirs, count), daemon=True)
            process.start()
            theirs.close()
            self._ends[ours] = process

    def answers(self) -> Iterator[list[JudgedAnswer]]:
        """Yield judged answers as they come, in lists that may be empty, until all is judged.

        Raises the errors of the processes, and BackendUnavailable if one ends before its cases.
        """
        while True:
            working = self._ends.keys() - self._done
            if not working:
                return
            self._emitted.value = self._run.emitted
            answers: list[JudgedAnswer] = []
            for end in cast("list[Connection[Any, Any]]", wait([*working])):
                match self._received(end):
                    case BaseException() as error:
                        raise error
                    case list() as received:
                        answers += received
            yield answers

    def _received(self, end: "Connection[Any, Any]") -> Any:
        """Return what a process sends: answers, an error, or last how its workers died.

        With the last message, a tuple, the process counts as done, and these deaths as the pools'
        own. That it ended without one is returned as BackendUnavailable, not raised.
        """
        try:
            received = pickle.loads(end.recv_bytes())
        except (EOFError, OSError):  # OSError if it was killed in a message
            process = self._ends[end]
            process.join(_FAREWELL)
            return _ended_early(process)
        if isinstance(received, tuple):
            self._done.add(end)
            for pool, ends in zip(self._pools, received, strict=True):
                pool.add_ends(*ends)
        return received

    def close(self) -> None:
        """End the processes, those that do not within some seconds by force, and what they started.

        Messages that they still send are read, and deaths of workers counted. Raises
        BackendUnavailable if all was judged, and the last message of one is missing.
        """
        self._stopped.value = 1
        complete = self._run.emitted == len(self._run.cases) and sys.exception() is None
        until = monotonic() + (_LAST_MESSAGE if complete else _FAREWELL)
        for end, process in self._ends.items():
            # A process could not end before its messages are read.
            while end not in self._done and end.poll(max(0.0, until - monotonic())):
                if isinstance(self._received(end), BaseException):
                    break
            end.close()
            process.join(max(0.0, until - monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        if any(process.exitcode for process in self._ends.values()):
            cleanup.kill_marked(self._is_ours)
        lost = [process for end, process in self._ends.items() if end not in self._done]
        self._ends.clear()
        if lost and complete:
            raise _ended_early(lost[0])

    def _is_ours(self, folder: str) -> bool:
        """Return True for the folder of a process that a process of this pool started."""
        return Path(folder).parent == self._folder

    def _work(self, end: "Connection[Any, Any]", count: int) -> None:
        """Judge in this process, a copy of its parent that must not go on as that, and exit.

        It is one of `count`, which share the memory. Errors are sent to the parent through `end`.
        Does not return.
        """
        own_memory.share_among(count)
        # It ends with its parent, and its backends with it.
        interrupt.follow(self._parent)

        def send(message: object) -> None:
            """Send a message to the parent; waits while that does not read."""
            end.send_bytes(pickle.dumps(message, 5))

        try:
            self._judge(send)
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            end.send_bytes(pickle.dumps(error))
        finally:
            os._exit(0)

    def _judge(self, send: Callable[[object], None]) -> None:
        """Judge cases on copies of the pools until none are left, and `send` the answers.

        It ends early if the parent says so, and leaves out what it has not sent. The last message,
        which is not sent after an error, has for each pool how its workers died. Raises Defect if
        opcheck's own part of an adapter fails, BackendUnavailable if nothing can be judged in this
        process any more, UsageError if the file of a model's weights has changed.
        """
        with ExitStack() as stack:
            pools = [stack.enter_context(closing(p.copy(self._folder))) for p in self._pools]
            oracles = dict(zip(self._run.oracles, pools[len(self._run.backends) :], strict=True))
            run = replace(self._run, backends=pools[: len(self._run.backends)], oracles=oracles)
            waiting: list[JudgedAnswer] = []
            sent = monotonic()
            try:
                for answers in run.answers(self._take):
                    if self._stopped.value:
                        break
                    waiting += map(self._stored, answers)
                    if waiting and (not answers or monotonic() - sent > _BETWEEN_MESSAGES):
                        send(waiting)
                        waiting = []
                        sent = monotonic()
            finally:
                if waiting and not self._stopped.value:
                    send(waiting)
        # Last come the deaths that are to be added to the parent's pools.
        send(tuple((dict(pool.idle_deaths), pool.unclean_exits) for pool in pools))

    def _take(self) -> Sequence[int] | None:
        """Return the places of at most 4 cases that no other process has, and mark them as taken.

        An empty sequence while these are 512 cases ahead of the results; None if none are left.
        """
        with self._next.get_lock():
            place = self._next.value
            end = len(self._run.cases)
            if place >= end:
                return None
            if place >= self._emitted.value + AHEAD:
                return ()
            self._next.value = min(place + _MOST_AT_ONCE, end)
            return range(place, self._next.value)

    def _stored(self, answer: JudgedAnswer) -> JudgedAnswer:
        """Return the answer as it is sent: its result as a record.

        The wrong answer, and that of the oracle, go with it only if its cause is to be looked for.
        """
        record = self._record(cast(LiveResult, answer.result))
        if answer.wrong and self._run.is_unexplained(record):
            return replace(answer, result=record)
        return replace(answer, result=record, wrong=None, oracle_answer=None)
