"""The failures of one operator: mutants that fit them, their cases' facts, and causes so far.

A *group* is the failures of one operator that fail in one way: of one kind, or also with one
message. Those *left* of it have no cause yet. A cause that is *chosen* for a case stays, unless one
is found that explains all in place of several. Sets of cases are bits of integers.

Causes are chosen by `mutant_causes`, `condition_causes`, `element_causes` and `other_causes`;
`attribution` says in which order. What looks at the passes raises what recalling one raises
(`Suspects`), such as MemoryError.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from opcheck import interrupt
from opcheck.analysis import RAISED, WAYS
from opcheck.diagnose import asking
from opcheck.diagnose.allowance import NoTimeLeft
from opcheck.diagnose.asking import Ask, Candidate, Inquiry
from opcheck.diagnose.elements import Elements
from opcheck.diagnose.facts import CaseFacts
from opcheck.diagnose.results import (
    OF_VALUES,
    WITHOUT_ANSWER,
    WITHOUT_VALUES,
    DiagnosedResult,
    size_of_inputs,
)
from opcheck.diagnose.rules import FEWEST, Condition, rule
from opcheck.diagnose.suspects import LARGEST, Suspects, as_diagnosis, cell_of
from opcheck.diagnose.wording import in_brackets, with_particulars
from opcheck.engine.mutants import Mutant
from opcheck.model import Case, CauseCounts, Cell, Diagnosis, Verdict, cause_counts

#: Mutants whose values any mistake may have; where they are given says more.
SHOW_LITTLE = frozenset({"zeros", "nan_everywhere"})
#: So many questions that fail in one type, and pass in others, are about the type; so many ways to
#: fail need not have as many causes.
SEVERAL = 2
#: A mutant that explains so many questions is no chance.
ENOUGH = 6
#: One cause of so much of a group is likelier than several.
NEARLY_ALL = 0.9
#: A mutant that answers fewer questions than FEWEST must explain one in so many of those that fail.
_LEAST_PART = 4


class OperatorFailures:
    """The results of one operator, whose failures get their causes in several turns.

    Of each failure that is to be explained, `searched` is called twice: here and in the search for
    its cause.
    """

    def __init__(
        self,
        results: Sequence[DiagnosedResult],
        suspects: Suspects,
        exceptions: Mapping[str, str],
        searched: Callable[[], None],
        ask: Ask | None = None,
    ) -> None:
        """Find the mutants that give each failure's answer, and those that no pass contradicts.

        Args:
            results: All of the operator, passes too.
            suspects: Tries mutants on cases.
            exceptions: Exceptions in words, by their messages without particulars.
            searched: Is called when a failure has been looked at, once here.
            ask: Asks the backend about changed cases, None if it cannot be asked.

        Notes in `suspects` which models were accepted on the way to a result, before. Raises
        KeyboardInterrupt if the user interrupts it.
        """
        self.suspects = suspects
        self.searched = searched
        self._ask = ask
        self.exceptions = exceptions
        self.results = results
        also_accepted = [result.accepted for result in results if result.accepted]
        # Of the others, the answers are wrong, but the models were accepted.
        unanswered = (None, "accepted", *WITHOUT_ANSWER)
        answered = [result.subject for result in results if result.record.failure not in unanswered]
        for case in (*also_accepted, *answered):
            suspects.accepted(case)
        #: Cases of the results, then others accepted; later also those that are asked about.
        self.facts = CaseFacts([*(result.subject for result in results), *also_accepted])
        self.inquiry = Inquiry(self.facts)
        self.also_accepted = self.facts.bits(also_accepted)
        self.cells = dict.fromkeys(cell_of(result.case) for result in results)
        self.failing = [
            result for result in results if result.unexplained and result.record.failure
        ]
        #: Failures on which mutants are tried: none of an operator that always raises, which looks
        #: like every mutant that refuses something.
        self.tried: list[DiagnosedResult] = []
        if any(result.record.failure not in WITHOUT_ANSWER for result in results):
            self.tried = self.failing
        #: Mutants by case that give its answer.
        self.fitting: dict[str, dict[str, Mutant]] = {result.case.id: {} for result in self.failing}
        for result in self.tried:
            self.fitting[result.case.id] = suspects.fitting(result.case, result.record.diagnoses)
        #: Names of those of them that no pass contradicts.
        self.uncontradicted: dict[str, list[str]] = {}
        for result in self.failing:
            interrupt.safe_place()
            self.uncontradicted[result.case.id] = self.find_uncontradicted(result)
            searched()
        #: The cause of each case that has one.
        self.chosen: dict[str, Diagnosis] = {}
        #: What is known of others, as a remark that is no cause.
        self.known: dict[str, Diagnosis] = {}

    def find_uncontradicted(self, result: DiagnosedResult, *, everywhere: bool = True) -> list[str]:
        """Return the names of mutants that fit, and that no pass of the same kernel contradicts.

        A kernel is a version with a type. If `everywhere`, passes of all kernels of the results
        contradict a mutant that is to explain an exception. A mutant is left out if there is no
        time to check it. The names are in the order of all mutants.
        """
        cells = [cell_of(result.case)]
        if result.record.failure == "raised" and everywhere:
            cells = [*self.cells]
        return self.uncontradicted_in(cells, result)

    def uncontradicted_in(
        self, cells: Collection[Cell], result: DiagnosedResult, *, where_legal: bool = False
    ) -> list[str]:
        """Return the names of mutants that fit, and that no pass of these kernels contradicts.

        With `where_legal`, passes that a mutant would have refused do not contradict it. A mutant
        is left out if there is no time to check it.
        """
        of_legal = result.record.failure != "accepted"
        return [
            name
            for name, mutant in self.fitting[result.case.id].items()
            if not any(
                self.suspects.is_contradicted(
                    mutant, cell, of_legal=of_legal, where_legal=where_legal
                )
                for cell in cells
            )
        ]

    def diagnoses_of(self, result: DiagnosedResult) -> tuple[Diagnosis, ...]:
        """Return the chosen cause of a case, other mutants, and remarks, without repeats.

        Other mutants are those that fit, and that no passed case contradicts. A case without a
        cause has remarks only, those that it was diagnosed with; one that raised has its exception
        in place of the cause.
        """
        case = result.case.id
        remarks = [diagnosis for diagnosis in result.record.diagnoses if diagnosis.is_remark]
        if case in self.chosen:
            cause = self.chosen[case]
        elif result.record.failure == "raised":
            cause = Diagnosis(None, f"{RAISED} {self.exceptions[result.message]}")
        else:
            known = [self.known[case]] if case in self.known else []
            return tuple(dict.fromkeys([*known, *remarks]))
        others = [name for name in self.uncontradicted[case] if name != cause.mistake]
        fitting = [as_diagnosis(self.fitting[case][name]) for name in others]
        return tuple(dict.fromkeys([cause, *fitting, *remarks]))

    def without_cause(self, group: Iterable[DiagnosedResult]) -> list[DiagnosedResult]:
        """Return the results of a group whose cause is not in `chosen` yet, in their order."""
        return [result for result in group if result.case.id not in self.chosen]

    def choose(self, diagnosis: Diagnosis, results: Iterable[DiagnosedResult]) -> None:
        """Make a diagnosis the cause of these results, in `chosen`, instead of an earlier one."""
        self.chosen.update((result.case.id, diagnosis) for result in results)

    def choose_mutant(self, diagnosis: Diagnosis, results: Sequence[DiagnosedResult]) -> None:
        """Make a mutant's diagnosis the cause of these results, in `chosen`.

        Of those that raised, its text begins with their exception.
        """
        by_exception: dict[str, list[DiagnosedResult]] = defaultdict(list)
        for result in results:
            is_raised = result.record.failure == "raised"
            by_exception[self.exceptions[result.message] if is_raised else ""].append(result)
        for exception, alike in by_exception.items():
            text = f"{RAISED} {exception}; {diagnosis.text}" if exception else diagnosis.text
            self.choose(replace(diagnosis, text=text), alike)

    def way(self, group: Sequence[DiagnosedResult], message: str) -> str:
        """Describe how a group fails, as the beginning of a sentence.

        `message` is what all of it share, "" for several. Of exceptions, the most frequent is
        named, and how many others there are.
        """
        failure = group[0].record.failure
        if failure != "raised":
            return f"{WAYS[failure]}{in_brackets(with_particulars(group, message))}"
        messages = Counter(result.message for result in group)
        ((most_frequent, _),) = messages.most_common(1)
        text = f"{RAISED} {self.exceptions[most_frequent]}"
        if len(messages) > 1:
            text += f" (or another of {len(messages):,} messages)"
        return f"{text},"

    def may_fit_by_chance(
        self, explained: Sequence[DiagnosedResult], left: Sequence[DiagnosedResult]
    ) -> bool:
        """Return True if what a mutant explains is too little of what is left.

        That is fewer than three questions, and fewer than a quarter of the questions left.
        """
        questions = len(self.questions_of(explained))
        return questions < FEWEST and questions * _LEAST_PART < len(self.questions_of(left))

    def questions_of(self, results: Iterable[DiagnosedResult]) -> set[tuple[object, ...]]:
        """Return the keys of the different questions of results, whatever their type and opset."""
        return {self.facts.questions[self.facts.number(result.subject)] for result in results}

    def has_one_cause(self, group: Sequence[DiagnosedResult]) -> bool:
        """Return True if one mutant is chosen for nearly all questions of a group.

        Causes without a mutant count together as one. Results that are too large to be compared do
        not count. True if all are.
        """
        compared = [result for result in group if size_of_inputs(result) <= LARGEST]
        by_cause: dict[str | None, list[DiagnosedResult]] = defaultdict(list)
        for result in compared:
            if result.case.id in self.chosen:
                by_cause[self.chosen[result.case.id].mistake].append(result)
        most = max((len(self.questions_of(one)) for one in by_cause.values()), default=0)
        return most >= NEARLY_ALL * len(self.questions_of(compared))

    def elements_of_failures(self, results: Iterable[DiagnosedResult]) -> dict[str, Elements]:
        """Return the elements of failures by the ids of their cases, in their order.

        Those whose elements are not known are left out. Raises NoTimeLeft.
        """
        found = (
            (result.case.id, self.suspects.elements_of_failure(result.case)) for result in results
        )
        return {case: elements for case, elements in found if elements is not None}

    def elements_of_passes(self) -> list[Elements]:
        """Return the elements of the passes with an answer, as far as they are known.

        Raises NoTimeLeft.
        """
        found = [
            self.suspects.elements_of_pass(result.case)
            for result in self.results
            if result.record.verdict is Verdict.PASS and not result.record.refused
        ]
        return [one for one in found if one is not None]

    def counts_of_elements(
        self, explained: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]
    ) -> CauseCounts:
        """Return the counts of a diagnosis of these results of a group.

        No other case is like these. Elsewhere the rest of the group fails, and with it the cases
        of the run are judged that do not fail so.
        """
        others = self.others(explained, group) & ~self.inquiry.asked
        rest = len(group) - len(explained)
        return cause_counts(
            failing=len(explained),
            judged=len(explained),
            failing_elsewhere=rest,
            judged_elsewhere=rest + others.bit_count(),
        )

    def shared_message(self, group: Sequence[DiagnosedResult]) -> str:
        """Return the message that all of a group have, "" where they differ."""
        messages = {result.message for result in group}
        return messages.pop() if len(messages) == 1 else ""

    def others(self, left: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]) -> int:
        """Return the bits of cases that do not fail as those left of a group do.

        A result counts if it rules out the failure of the group and, if they share one, its
        message; a pass without any element of an output rules out no wrong values. Models accepted
        on the way count for failures without values, and changed cases that pass always. 0 if none
        are left.
        """
        if not left:
            return 0
        failure = left[0].record.failure
        message = self.shared_message(group)
        is_of_values = failure in OF_VALUES
        others = self.facts.bits(
            result.subject
            for result in self.results
            if result.rules_out(failure, message)
            and not (is_of_values and self._shows_no_values(result))
        )
        if failure in WITHOUT_VALUES:
            others |= self.also_accepted
        return others | self.inquiry.passing

    def _shows_no_values(self, result: DiagnosedResult) -> bool:
        """Return True for a pass whose outputs have no element."""
        return result.record.failure is None and self.suspects.is_of_nothing(result.subject)

    def against(self, mutant: Mutant, *, of_legal: bool, enough: int | None = None) -> list[Case]:
        """Return the passes of all kernels that contradict a mutant; raises NoTimeLeft.

        With `of_legal`, refusals of invalid models do not count. The search in a kernel ends at so
        many passes as are `enough`.
        """
        against: list[Case] = []
        for cell in self.cells:
            if enough is not None and len(against) >= enough:
                break
            against += self.suspects.against(mutant, cell, enough, of_legal=of_legal)
        return against

    def counts_with_exceptions(
        self,
        contradicting: Sequence[Case],
        explained: Sequence[DiagnosedResult],
        group: Sequence[DiagnosedResult],
    ) -> CauseCounts:
        """Return the counts of a diagnosis of a mutant that `contradicting` passes contradict.

        What it explains fails, and is judged with these passes; elsewhere the other failures of
        the group are, with the other passes.
        """
        others = self.others(explained, group).bit_count() - len(contradicting)
        rest = len(group) - len(explained)
        return cause_counts(
            failing=len(explained),
            judged=len(explained) + len(contradicting),
            failing_elsewhere=rest,
            judged_elsewhere=rest + max(0, others),
        )

    def is_of_too_few(
        self, explained: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]
    ) -> bool:
        """Return True if a condition explains less than half of a group, and few questions.

        What the rest fails by most often explains these, too: fewer than six share some property by
        chance.
        """
        questions = len(self.questions_of(explained))
        return questions < ENOUGH and 2 * questions < len(self.questions_of(group))

    def condition(
        self,
        left: Iterable[DiagnosedResult],
        others: int,
        group: Iterable[DiagnosedResult],
    ) -> Condition | None:
        """Return the condition that holds for the most of those left, and none of the `others`.

        `others` are bits of cases. The whole `group` fails in this way. Features that asking has
        refuted are left out. None if fewer than three of those left, with changed cases that fail
        like them, meet any, or if it may hold by chance.
        """
        failing = self.facts.bits(result.subject for result in left)
        all_failing = failing | self.inquiry.failing(failing)
        return rule(
            self.inquiry.unrefuted(failing),
            failing=all_failing,
            others=others,
            alike=self.facts.bits(result.subject for result in group),
            keys=self.facts.keys(all_failing, others),
            asked=self.inquiry.asked,
            confirmed=self.inquiry.confirmed(failing),
        )

    def diagnosis(self, mistake: str | None, text: str, condition: Condition) -> Diagnosis:
        """Return the diagnosis of what happens under a condition, with the answers about it."""
        return Diagnosis(mistake, text, condition.counts, asked=self.inquiry.shown(condition))

    def ask_about(self, left: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]) -> None:
        """Ask the backend what tells possible conditions of the failures left of a group apart.

        The answers are kept in `inquiry`. Nothing is asked if no case comes out otherwise, about
        kinds of failures that asking does not explain, if the backend cannot be asked, or without
        time. Raises KeyboardInterrupt and what `ask` raises.
        """
        others = self.others(left, group)
        most = asking.most_questions(left[0].record.failure) if left and others else 0
        if self._ask is None or not most:
            return
        by_number = {self.facts.number(result.subject): result for result in left}

        def fails_alike(candidate: Candidate) -> bool | None:
            """Return True if the changed case fails as the one it comes from, False if it passes.

            None if it comes out otherwise. Raises NoTimeLeft, KeyboardInterrupt and what `ask`
            raises.
            """
            return self._fails_alike(by_number[candidate.base], candidate.flip.case)

        failing = self.facts.bits(result.subject for result in left)
        with suppress(NoTimeLeft):
            self.inquiry.ask(failing, others, most, fails_alike)

    def ask_about_refusals(self, group: Sequence[DiagnosedResult]) -> None:
        """Ask about changed cases of a group that raises: a pass contradicts what refuses it.

        An exception has no values, so that each mutant that refuses these cases fits it. After new
        answers, `uncontradicted` is found anew for those of the group without a cause. Nothing is
        done without new answers, for want of time too, or for a group that fails otherwise. The
        group is not empty. Raises KeyboardInterrupt and what `ask` raises.
        """
        left = self.without_cause(group)
        may_be_refused = [result for result in left if self.uncontradicted[result.case.id]]
        if group[0].record.failure != "raised" or not may_be_refused:
            return
        before = len(self.inquiry.answers)
        self.ask_about(left, group)
        if len(self.inquiry.answers) > before:
            for result in may_be_refused:
                self.uncontradicted[result.case.id] = self.find_uncontradicted(result)

    def _fails_alike(self, failing: DiagnosedResult, case: Case) -> bool | None:
        """Ask about a changed case: True if it fails as `failing` does, False if it passes.

        To fail alike is to have the same kind of failure and, without particulars, the same
        message. None if the case comes out otherwise, or if its answer is not decided. A pass is
        remembered in `suspects`, as evidence against mutants. The backend can be asked. Raises
        NoTimeLeft, KeyboardInterrupt and what `ask` raises.
        """
        assert self._ask
        self.suspects.allowance.check()
        interrupt.safe_place()
        result = self._ask(case)
        if result is None:
            return None
        if result.verdict is Verdict.PASS:
            self.suspects.passed(case)
            return False
        fields = {name: getattr(result, name) for name in ("verdict", "failure", "reason")}
        again = DiagnosedResult(case, replace(failing.record, **fields), unexplained=False)
        way = (failing.record.failure, failing.message)
        return True if (again.record.failure, again.message) == way else None

    def under(
        self, condition: Condition, results: Iterable[DiagnosedResult]
    ) -> list[DiagnosedResult]:
        """Return the results for whose cases a condition holds, in their order.

        Raises KeyError for a case that is not among `self.facts`.
        """
        return [
            result for result in results if condition.holds >> self.facts.number(result.subject) & 1
        ]
