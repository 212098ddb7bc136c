"""Attribute the failures of a backend to causes, once all its results are there.

A mutant that any pass contradicts is dropped. Failures that no mutant explains are explained by
facts that their cases share and others do not, which `rules` finds: a condition, of one or two
facts. A *group* is the failures of one operator that fail in one way: of one kind, or also with one
message. Those *left* of it have no cause yet. A cause that is *chosen* for a case stays, unless one
is found that explains all in place of several. The *subject* of a result is its case, or the legal
twin of that. Sets of cases are bits of integers.

What looks at the passes raises what recalling one raises (`Suspects`), such as MemoryError.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

from opcheck import interrupt
from opcheck.analysis import NOT_EXPLAINED, RAISED, UNJUDGED, WAYS
from opcheck.diagnose import asking
from opcheck.diagnose.allowance import BEFORE_ASKING, NoTimeLeft
from opcheck.diagnose.asking import Ask, Candidate, Inquiry
from opcheck.diagnose.elements import ANY_VALUE, NOT_FINITE, Elements, Explanation, explanation
from opcheck.diagnose.facts import LIMIT, LIMITS, CaseFacts, Feature, invalid
from opcheck.diagnose.positions import common_places, explanation_by_place
from opcheck.diagnose.rules import (
    FEWEST,
    Condition,
    Terms,
    chance,
    condition_of,
    meeting,
    necessary,
    others_and_rank,
    rule,
)
from opcheck.diagnose.suspects import LARGEST, NOT_CHECKED, Suspects, as_diagnosis, cell_of
from opcheck.dtypes import DTYPES
from opcheck.engine.mutants import Mutant
from opcheck.grouping import not_none
from opcheck.model import LOSSES, Case, Cell, Diagnosis, Failure, Record, Verdict

#: Failures without an answer.
_WITHOUT_ANSWER = ("raised", *LOSSES)
#: Failures of what an output holds: a model that is refused shows nothing about them.
_OF_VALUES = ("values", "other_data", "distribution", "precision")
#: Failures without values.
_WITHOUT_VALUES = (*_WITHOUT_ANSWER, "count")
#: Failures whose messages, the backend's own, distinguish causes.
_WITH_MESSAGE = (*_WITHOUT_VALUES, "unstable")
#: opcheck's words in front of a backend's own message.
_OURS = re.compile(
    r"^(unlike oracle .*?: )?(takes the same model at opset (?P<opset>\d+), where .*? too; at opset"
    r" \d+: )?(raised on a legal model: |(?P<twin>(refuses )?its legal twin( too)?: ))?"
)
#: Parts that differ between messages of one kind: paths, addresses, numbers and lists of them.
_PARTICULARS = re.compile(
    r"\S*/\S*|0x[0-9a-fA-F]+|\[[-+\d., e]*\]|(?<![\w.])\d+(?:[x×]\d+)+"
    r"|(?<![\w.])[-+]?\d[\d.,]*(?:e[-+]?\d+)?"
)
#: Several of them in a row, such as the lengths of a shape.
_SEVERAL_PARTICULARS = re.compile(r"\*(?:[\s*,:;×x]*\*)+")
#: Mistakes by which a backend contradicts itself, by how the message begins.
_CONTRADICTIONS = {
    "input": "writes into its inputs",
    "the first result": "reuses the memory of outputs that it has returned",
    "answered other data of the same shape with": "answers other data with the first answer",
}
#: Length to which a message is compared.
_LONGEST = 4000
#: Length to which a message is shown, and that of an exception.
_SHOWN = 60
_SHOWN_EXCEPTION = 160
#: So many exact conditions may share the failures of a kind, each with less than half of them.
_MOST_CONDITIONS = 3
#: The mutant whose answer is the input.
_INPUT = "input_unchanged"
#: Mutants whose values any mistake may have; where they are given says more.
_SHOW_LITTLE = frozenset({"zeros", "nan_everywhere"})
#: So many questions that fail in one type, and pass in others, are about the type; so many ways to
#: fail need not have as many causes.
_SEVERAL = 2
#: An input or an output in the words of a fact.
_INPUT_OR_OUTPUT = re.compile(r"\b(?:input|output) \w+|the (?:input|output)\b")
#: How the fact ends that an input is of a type.
_TYPES = tuple(f" is {name}" for name in DTYPES)
#: A mutant that explains so many questions is no chance.
_ENOUGH = 6
#: How the cause begins of what is too large to be compared.
_PROBABLY = "probably as in smaller cases: "
#: One cause of so much of a group is likelier than several.
_NEARLY_ALL = 0.9
#: If mutants leave no more of a group, they say more than a condition of all of it.
_LEAST_LEFT = 1 / 3
#: What is likelier than this by chance is not named.
_EVEN_CHANCE = 0.5
#: Ways to fail that one mistake may have in different cases.
_WAYS_OF_ONE_MISTAKE: tuple[Failure | None, ...] = ("raised", "values", "shape", "dtype", "oom")
#: Failures of which the type and the place of the wrong elements say something.
_OF_OUTPUTS: tuple[Failure | None, ...] = ("values", "shape", "dtype", "precision")
#: A mutant that answers fewer questions than FEWEST must explain one in so many of those that fail.
_LEAST_PART = 4


def without_particulars(message: str) -> str:
    """Return a message with "*" in place of paths, addresses and numbers, one for several."""
    return _SEVERAL_PARTICULARS.sub("*", _PARTICULARS.sub("*", message))


@dataclass(frozen=True, eq=False)
class DiagnosedResult:
    """A case and its result, to be diagnosed if it is `unexplained`: no ledger has its cause."""

    case: Case
    record: Record
    unexplained: bool

    @cached_property
    def _ours(self) -> re.Match[str]:
        """The match of opcheck's words in front of the backend's message; possibly empty."""
        return not_none(_OURS.match(self.record.reason))

    @property
    def own_message(self) -> str:
        """The backend's own message: of an exception, its type and text."""
        return self.record.reason[self._ours.end() :][:_LONGEST]

    @cached_property
    def message(self) -> str:
        """The message without particulars; for an accepted model, why it is invalid.

        Particulars, such as paths, numbers and lists of them, are "*". "" for failures with values,
        whose messages are opcheck's own, and for what does not fail.
        """
        if self.record.failure in _WITH_MESSAGE:
            return " ".join(without_particulars(self.own_message).split())
        if self.record.failure == "accepted":
            return invalid(self.case)
        return ""

    @cached_property
    def subject(self) -> Case:
        """The case that failed or passed; the legal twin, if the reason is about that."""
        twin = legal_twin(self.case) if self._ours["twin"] else None
        return twin or self.case

    @cached_property
    def accepted(self) -> Case | None:
        """Another model that the backend accepted on the way to this result; None if there is none.

        It is the same model at a later opset, or the legal twin of one that it refuses.
        """
        if self._ours["opset"]:
            return replace(self.case, opset=int(self._ours["opset"]))
        return legal_twin(self.case) if self.record.refused else None

    def rules_out(self, failure: Failure | None, message: str) -> bool:
        """Return True if the case, by its result, does not fail in this way.

        `failure` is how others fail, with this `message`. What rules it out is

        - for an accepted invalid model, a refusal of one that is invalid for the same reason,
        - for an exception, a pass with an answer, or a failure with one,
        - for no answer otherwise, or a wrong number of outputs, a pass, or another failure with an
          answer,
        - for wrong values, a pass with an answer,
        - for any other failure, a pass.
        """
        own_failure = self.record.failure
        refused = self.record.refused
        passed = self.record.verdict in (Verdict.PASS, Verdict.UNEXPECTED_PASS)
        answered = not passed and own_failure not in (failure, *_WITHOUT_ANSWER)
        if failure == "accepted":
            return passed and refused and invalid(self.case) == message
        if refused and failure in _OF_VALUES:
            return False
        if failure == "raised":
            return (passed and not refused) or answered
        return passed or (answered and failure in _WITHOUT_VALUES)


def _count_nothing() -> None:
    """Do nothing: a search whose progress is not shown."""


def attribute_causes(
    results: Sequence[DiagnosedResult],
    suspects: Suspects,
    searched: Callable[[], None] = _count_nothing,
    ask: Ask | None = None,
) -> dict[str, tuple[Diagnosis, ...]]:
    """Return the final diagnoses of each case that is to be explained, by its id, its cause first.

    The cases are the unexplained failures among `results`, all of one backend, whose failures and
    passes `suspects` has met; those without a verdict on them are left out. A case whose cause is
    not found has its remarks alone, and () without any. Calls `searched` twice for each, to show
    progress. Conditions are told apart by what `ask` returns for changed cases; None for a backend
    that cannot be asked. Unrecognized failures that were not compared with every mutant, for want
    of time, are in `suspects.untried`. Raises KeyboardInterrupt if the user interrupts it, and what
    `ask` raises.
    """
    with suspects.allowance.searching():
        return _attributed(results, suspects, searched, ask)


def _attributed(
    results: Sequence[DiagnosedResult],
    suspects: Suspects,
    searched: Callable[[], None],
    ask: Ask | None,
) -> dict[str, tuple[Diagnosis, ...]]:
    """Return the final diagnoses of each unexplained failure, by its case's id, its cause first.

    The caller has begun to count the time (`suspects.allowance`). Results without a verdict on them
    are left out. Each operator is explained by itself; how many cases a mutant explains counts over
    all of them. Cases whose mutant was found are taken out of `suspects.untried`. Calls `searched`
    twice for each failure; `ask` is None for a backend that cannot be asked. A case whose cause is
    not found has its remarks alone, and () without any. Raises KeyboardInterrupt if the user
    interrupts it, and what `ask` raises.
    """
    unjudged = (*UNJUDGED, Verdict.DIFFER)
    judged = [result for result in results if result.record.verdict not in unjudged]
    by_operator: dict[tuple[str, str], list[DiagnosedResult]] = defaultdict(list)
    for result in judged:
        by_operator[result.case.op.domain, result.case.op.name].append(result)
    exceptions = _exceptions(judged)
    operators = [
        _OperatorFailures(of_operator, suspects, exceptions, searched, ask)
        for of_operator in by_operator.values()
        if any(result.unexplained for result in of_operator)
    ]
    # The number of cases that each mutant explains, of all operators.
    standing: Counter[str] = Counter()
    for operator in operators:
        for mutants in operator.uncontradicted.values():
            standing.update(mutants)
    diagnoses: dict[str, tuple[Diagnosis, ...]] = {}
    for operator in operators:
        interrupt.safe_place()
        diagnoses.update(operator.explained(standing))
    suspects.untried -= {
        case
        for case, of_case in diagnoses.items()
        if any(diagnosis.mistake for diagnosis in of_case)
    }
    return diagnoses


def _exceptions(results: Iterable[DiagnosedResult]) -> dict[str, str]:
    """Return the exceptions of `results` in words, by their messages without particulars.

    The words, cut to 160 letters, have the particulars if all exceptions of that message have the
    same. Results that did not raise are left out.
    """
    whole: dict[str, set[str]] = defaultdict(set)
    for result in results:
        if result.record.failure == "raised":
            whole[result.message].add(" ".join(result.own_message.split()))
    return {
        message: _cut(only.pop() if len(only) == 1 else message, _SHOWN_EXCEPTION)
        for message, only in whole.items()
    }


class _OperatorFailures:
    """The results of one operator, whose failures get their causes in several turns.

    `exceptions` are the words for messages of exceptions; `searched` is called twice for each
    failure that is to be explained. `ask` asks about changed cases, if the backend can be asked.
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

        Notes in `suspects` which models were accepted on the way to a result, before. Calls
        `searched` once for each failure. Raises KeyboardInterrupt if the user interrupts it.
        """
        self.suspects = suspects
        self.searched = searched
        self._ask = ask
        self.exceptions = exceptions
        self.results = results
        also_accepted = [result.accepted for result in results if result.accepted]
        # Of the others, the answers are wrong, but the models were accepted.
        unanswered = (None, "accepted", *_WITHOUT_ANSWER)
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
        if any(result.record.failure not in _WITHOUT_ANSWER for result in results):
            self.tried = self.failing
        #: Mutants by case that give its answer.
        self.fitting: dict[str, dict[str, Mutant]] = {result.case.id: {} for result in self.failing}
        for result in self.tried:
            self.fitting[result.case.id] = suspects.fitting(result.case, result.record.diagnoses)
        #: Names of those of them that no pass contradicts.
        self.uncontradicted: dict[str, list[str]] = {}
        for result in self.failing:
            interrupt.safe_place()
            self.uncontradicted[result.case.id] = self._uncontradicted(result)
            searched()
        #: The cause of each case that has one.
        self.chosen: dict[str, Diagnosis] = {}
        #: What is known of others, as a remark that is no cause.
        self.known: dict[str, Diagnosis] = {}

    def _uncontradicted(self, result: DiagnosedResult, *, everywhere: bool = True) -> list[str]:
        """Return the names of mutants that fit, and that no pass of the same kernel contradicts.

        A kernel is a version with a type. If `everywhere`, passes of all kernels of the results
        contradict a mutant that is to explain an exception. A mutant is left out if there is no
        time to check it. The names are in the order of all mutants.
        """
        cells = [cell_of(result.case)]
        if result.record.failure == "raised" and everywhere:
            cells = [*self.cells]
        return self._uncontradicted_in(cells, result)

    def _uncontradicted_in(
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

    def _choose_mutants_where_legal(
        self,
        group: Sequence[DiagnosedResult],
        standing: Counter[str],
        *,
        beside_chosen: bool,
    ) -> None:
        """Choose mutants that only such passes contradict as they would refuse, in `chosen`.

        What a backend makes of a node that it has misread to an illegal one is not known. Passes of
        all kernels contradict them. Unless `beside_chosen`, nothing is chosen for what a mutant
        fits that is the cause of others of the group: a condition of that one is likelier. Nothing
        is chosen for exceptions, which show no misreading, for accepted invalid models, and where
        likelier mutants were not tried for want of time. For all others without a cause,
        `uncontradicted` has these mutants then. The group is not empty, and fails in one way.
        """
        if group[0].record.failure in (*_WITHOUT_ANSWER, "accepted"):
            return
        untried = self.suspects.untried
        left = [result for result in self._without_cause(group) if result.case.id not in untried]
        if not beside_chosen:
            causes = (self.chosen.get(result.case.id) for result in group)
            known = {cause.mistake for cause in causes if cause}
            left = [result for result in left if known.isdisjoint(self.fitting[result.case.id])]
        for result in left:
            self.uncontradicted[result.case.id] = self._uncontradicted_in(
                self.cells, result, where_legal=True
            )
        self._cover(left, standing, with_rules=False)

    def explained(self, standing: Counter[str]) -> Iterator[tuple[str, tuple[Diagnosis, ...]]]:
        """Yield the id of each failing case with its diagnoses: its cause, then mutants that fit.

        Causes are chosen in turns; the first that a case gets stays, but for one that explains all
        in place of several (3). `standing`, the number of cases by mutant over all operators,
        breaks ties. All causes are chosen before the first item
        comes. Raises KeyboardInterrupt if the user interrupts it, and what `ask` raises.
        """
        by_failure: dict[Failure | None, list[DiagnosedResult]] = defaultdict(list)
        by_message: dict[tuple[Failure | None, str], list[DiagnosedResult]] = defaultdict(list)
        for result in self.failing:
            by_failure[result.record.failure].append(result)
            by_message[result.record.failure, result.message].append(result)
        # 1. Contradictions have causes of their own.
        self._choose_contradictions(by_failure.get("unstable", []))
        # 2. One mutant for one message; a rule only if the messages distinguish causes.
        for (failure, _), group in by_message.items():
            self._ask_about_refusals(group)
            self._cover(group, standing, with_rules=failure in _WITH_MESSAGE)
        # 3. Mutants that explain other failures, also in pairs.
        self._try_chosen_mutants()
        # One cause of all is likelier than several that explain parts.
        for group in by_failure.values():
            self._choose_one_for_all_elements(group)
            self._choose_one_condition_for_all(group)
        self._choose_one_for_all_ways(by_failure)
        # 4. One mutant for several messages, or one that passes contradict, but not in such cases.
        for group in by_failure.values():
            self._cover(group, standing, with_rules=False)
            self._choose_mutants_where_legal(group, standing, beside_chosen=False)
            self._choose_by_elements(group, only_all=True, any_outcome=False)
            self._choose_by_place(group)
            self._choose_one_property_for_all(group, beside_mutants=False)
            # An exception has no values: what refuses under a condition is the condition.
            if group[0].record.failure != "raised":
                self._choose_mutants_under_conditions(group)
            self._choose_mutants_where_legal(group, standing, beside_chosen=True)
            self._choose_one_property_for_all(group, beside_mutants=True)
            self._choose_by_elements(group, only_all=True)
        # 5. Rules, for one message before those for several.
        for group in (*by_message.values(), *by_failure.values()):
            self._cover(group, standing, with_rules=True)
        for group in by_failure.values():
            self._choose_facts_needed_together(group)
            self._choose_proven_property(group)
            self._choose_by_elements(group, only_all=False)
            self._choose_type_of_all(group)
        # 6. Mutants for refusals that only other kernels contradict.
        for result in self._without_cause(self.failing):
            self.uncontradicted[result.case.id] = self._uncontradicted(result, everywhere=False)
        for group in by_message.values():
            self._cover(group, standing, with_rules=False)
        # 7. Patterns of the numbers.
        self._choose_patterns()
        # 8. What mutants were not tried on, as it is too large.
        self._choose_causes_of_smaller_ones()
        # 9. That all are wrong says less than any pattern.
        self._choose_every_case(by_failure.get("values", []))
        # 10. A mistake of many elements, though the passes that contradict it have no property.
        for group in by_failure.values():
            self._choose_telling_mutant(group)
        # 11. What is known of those without a cause.
        for group in by_failure.values():
            self._note_what_is_known(self._without_cause(group))
        for result in self.failing:
            self.searched()
            yield result.case.id, self._diagnoses_of(result)

    def _diagnoses_of(self, result: DiagnosedResult) -> tuple[Diagnosis, ...]:
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

    def _choose_telling_mutant(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose the mutant that gives all of a group without a cause, in `chosen`, if it can be.

        All of the group must be without a cause, and have many wrong elements that the mutant gives
        exactly: that is no chance. Passes contradict it, so that it must have a condition, which is
        not known: the counts have these passes. Nothing is chosen without time, and for failures
        without values.
        """
        left = self._without_cause(group)
        if len(left) < len(group) or group[0].record.failure not in _OF_OUTPUTS:
            return
        op = left[0].case.op
        for name, mutant in self.fitting[left[0].case.id].items():
            if name in _SHOW_LITTLE or not self.suspects.has_many_elements(op, name):
                continue
            if all(name in self.fitting[result.case.id] for result in left):
                with suppress(NoTimeLeft):
                    contradicting = self._against(mutant, of_legal=True)
                    counts = self._counts_with_exceptions(contradicting, left, group)
                    self._choose(Diagnosis(name, as_diagnosis(mutant).text, counts), left)
                return

    def _note_what_is_known(self, left: Sequence[DiagnosedResult]) -> None:
        """Note, in `known`, what failures of one way without a cause have in common.

        That is their types, if others pass, and the places of their wrong elements. Nothing is
        noted of exceptions, which say more, of accepted invalid models, and of single failures.
        """
        if len(left) < _SEVERAL or left[0].record.failure not in _OF_OUTPUTS:
            return
        parts = [*self._common_types(left), *self._common_places(left)]
        if parts:
            words = "; ".join([WAYS[left[0].record.failure], *parts])
            known = Diagnosis(None, f"{NOT_EXPLAINED}: {words}")
            self.known.update((result.case.id, known) for result in left)

    def _common_types(self, left: Sequence[DiagnosedResult]) -> Iterator[str]:
        """Yield the one or two types of all failures in words, if a case of another type passes."""
        types = {cell_of(result.case).dtype for result in left}
        others = {
            cell_of(result.case).dtype
            for result in self.results
            if result.record.verdict is Verdict.PASS
        }
        if len(types) <= _SEVERAL and "" not in types and others - types:
            yield f"all are of {' or '.join(sorted(types))}"

    def _common_places(self, left: Sequence[DiagnosedResult]) -> Iterator[str]:
        """Yield the first place of all wrong elements of all failures, if these are known."""
        with suppress(NoTimeLeft):
            failing = self._elements_of_failures(left)
            if len(failing) == len(left):
                for place in common_places([*failing.values()])[:1]:
                    yield f"the wrong elements are {place}"

    def _without_cause(self, group: Iterable[DiagnosedResult]) -> list[DiagnosedResult]:
        """Return the results of a group whose cause is not in `chosen` yet, in their order."""
        return [result for result in group if result.case.id not in self.chosen]

    def _choose(self, diagnosis: Diagnosis, results: Iterable[DiagnosedResult]) -> None:
        """Make a diagnosis the cause of these results, in `chosen`, instead of an earlier one."""
        self.chosen.update((result.case.id, diagnosis) for result in results)

    def _choose_contradictions(self, unstable: Sequence[DiagnosedResult]) -> None:
        """Choose the causes of unstable results by how their messages begin, in `chosen`.

        Those that begin otherwise stay without a cause.
        """
        for start, text in _CONTRADICTIONS.items():
            alike = [result for result in unstable if result.message.startswith(start)]
            self._choose(Diagnosis(None, text, (len(alike), len(unstable), 0, 0)), alike)

    def _cover(
        self, group: Sequence[DiagnosedResult], standing: Counter[str], *, with_rules: bool
    ) -> None:
        """Choose causes of a group's results, in `chosen`, that which explains most first.

        Candidates are mutants that no pass contradicts, unless they may fit by chance, as
        `_best_mutant` has it. If `with_rules`, a rule (a condition that no other case meets) that
        explains more is a candidate too; the backend is asked about it first. `standing`, the
        number of cases that each mutant explains over all operators, breaks ties. A result that no
        candidate explains stays without a cause. The group fails in one way. If it asks, raises
        KeyboardInterrupt and what `ask` raises.
        """
        while True:
            left = self._without_cause(group)
            if not left:
                return
            best, explained = self._best_mutant(left, standing, group)
            rule = None
            if with_rules and len(explained) < len(left):
                self._ask_about(left, group)
                rule = self._rule(left, group)
            if rule and len(rule[1]) > len(explained):
                diagnosis, by_rule = rule
                self._choose(diagnosis, by_rule)
            elif explained:
                mutant = self.fitting[explained[0].case.id][best]
                diagnosis = as_diagnosis(mutant)
                bases = self.facts.bits(result.subject for result in explained)
                diagnosis = replace(diagnosis, asked=self.inquiry.cures(bases))
                self._choose_mutant(diagnosis, explained)
            else:
                return

    def _choose_mutant(self, diagnosis: Diagnosis, results: Sequence[DiagnosedResult]) -> None:
        """Make a mutant's diagnosis the cause of these results, in `chosen`.

        Of those that raised, its text begins with their exception.
        """
        by_exception: dict[str, list[DiagnosedResult]] = defaultdict(list)
        for result in results:
            is_raised = result.record.failure == "raised"
            by_exception[self.exceptions[result.message] if is_raised else ""].append(result)
        for exception, alike in by_exception.items():
            text = f"{RAISED} {exception}; {diagnosis.text}" if exception else diagnosis.text
            self._choose(replace(diagnosis, text=text), alike)

    def _way(self, group: Sequence[DiagnosedResult], message: str) -> str:
        """Describe how a group fails, as the beginning of a sentence.

        `message` is what all of it share, "" for several. Of exceptions, the most frequent is
        named, and how many others there are.
        """
        failure = group[0].record.failure
        if failure != "raised":
            return f"{WAYS[failure]}{_shown(_with_particulars(group, message))}"
        messages = Counter(result.message for result in group)
        ((most_frequent, _),) = messages.most_common(1)
        text = f"{RAISED} {self.exceptions[most_frequent]}"
        if len(messages) > 1:
            text += f" (or another of {len(messages):,} messages)"
        return f"{text},"

    def _best_mutant(
        self,
        left: Sequence[DiagnosedResult],
        standing: Counter[str],
        group: Sequence[DiagnosedResult],
    ) -> tuple[str, list[DiagnosedResult]]:
        """Return the name of the mutant that explains the most of those left, and these results.

        "" and no result if none explains any, or each may fit by chance: if what it explains are
        fewer than three exceptions, or fewer than three questions and fewer than a quarter of the
        questions left, or of the whole group if the answers are of a few values. All types and
        versions of a case are one question. Ties go to the mutant with the larger `standing`, the
        number of cases that it explains over all operators, then to the one found earlier.
        """
        places: dict[str, list[int]] = defaultdict(list)
        for result in left:
            for place, name in enumerate(self.uncontradicted[result.case.id]):
                places[name].append(place)

        def weight(name: str) -> tuple[int, int, int]:
            """Return what is largest for the best mutant; of equal ones, for the earliest found."""
            return len(places[name]), standing[name], -sum(places[name])

        for best in sorted(places, key=weight, reverse=True):
            explained = [result for result in left if best in self.uncontradicted[result.case.id]]
            # An exception says more than a mutant that may fit it by chance.
            is_raised = explained[0].record.failure == "raised"
            is_little = is_raised and len(explained) < FEWEST
            is_little |= not is_raised and self._is_little_of(group, explained, best)
            if not is_little and not self._may_fit_by_chance(explained, left):
                return best, explained
        return "", []

    def _is_little_of(
        self, group: Sequence[DiagnosedResult], explained: Sequence[DiagnosedResult], mutant: str
    ) -> bool:
        """Return True if a mutant explains too little of a group, by answers of a few values."""
        op = explained[0].case.op
        return self._may_fit_by_chance(explained, group) and not self.suspects.is_telling(
            op, mutant
        )

    def _may_fit_by_chance(
        self, explained: Sequence[DiagnosedResult], left: Sequence[DiagnosedResult]
    ) -> bool:
        """Return True if what a mutant explains is too little of what is left.

        That is fewer than three questions, and fewer than a quarter of the questions left.
        """
        questions = len(self._questions_of(explained))
        return questions < FEWEST and questions * _LEAST_PART < len(self._questions_of(left))

    def _questions_of(self, results: Iterable[DiagnosedResult]) -> set[tuple[object, ...]]:
        """Return the keys of the different questions of results, whatever their type and opset."""
        return {self.facts.questions[self.facts.number(result.subject)] for result in results}

    def _try_chosen_mutants(self) -> None:
        """Try the mutants that explain other failures, and pairs of them, on the rest.

        Adds those that fit, or else any mutants that do, to `fitting`, and to `uncontradicted` if
        no pass contradicts them. Failures that there is no time for are noted in
        `suspects.untried`: a part of it is left to ask the backend. Raises KeyboardInterrupt if the
        user interrupts it.
        """
        chosen = {diagnosis.mistake for diagnosis in self.chosen.values()}
        known: dict[str, Mutant] = {}
        for fitting in self.fitting.values():
            known.update((name, mutant) for name, mutant in fitting.items() if name in chosen)
        for result in self._without_cause(self.tried):
            interrupt.safe_place()
            try:
                with self.suspects.allowance.up_to(BEFORE_ASKING):
                    fits = self.suspects.refit(result.case, [*known.values()])
            except NoTimeLeft:
                self.suspects.untried.add(result.case.id)
                continue
            self.fitting[result.case.id].update(fits)
            self.uncontradicted[result.case.id] = self._uncontradicted(result)

    def _choose_by_elements(
        self, group: Sequence[DiagnosedResult], *, only_all: bool, any_outcome: bool = True
    ) -> None:
        """Choose what is given where single elements are wrong, in `chosen`, for those left.

        If `only_all`, one condition must explain all of them; unless `any_outcome`, what is given
        there must not be just wrong. Nothing is chosen for other failures than wrong values, for
        less than half of the questions left, and without time, of which a part is left to ask the
        backend if `only_all`.
        """
        left = self._without_cause(group)
        if not left or left[0].record.failure != "values":
            return
        allowance = self.suspects.allowance
        with suppress(NoTimeLeft), allowance.up_to(BEFORE_ASKING if only_all else 1.0):
            failing = self._elements_of_failures(left)
            if not failing or (only_all and len(failing) < len(left)):
                return
            passing = self._elements_of_passes()
            while failing:
                results = [result for result in left if result.case.id in failing]
                found = explanation([*failing.values()], passing, allowance.check)
                if found is None or (found.outcome == ANY_VALUE and not any_outcome):
                    return
                explained = [results[number] for number in sorted(found.explained)]
                if not self._is_enough(found, results, group, only_all=only_all):
                    return
                counts = self._counts_of_elements(explained, group)
                self._choose(Diagnosis(None, f"gives {found.text}", counts), explained)
                for result in explained:
                    del failing[result.case.id]

    def _choose_one_for_all_elements(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose what is given where, in `chosen`, for a group of which mutants explain parts.

        It must explain nearly all whose elements are known, at least half of the group, and takes
        the place of what was chosen for these. Of larger ones it is the probable cause. Nothing is
        chosen if one mutant explains nearly all, for other failures than wrong values, and without
        time, of which a part is left to ask the backend.
        """
        if group[0].record.failure != "values" or self._has_one_cause(group):
            return
        allowance = self.suspects.allowance
        with suppress(NoTimeLeft), allowance.up_to(BEFORE_ASKING):
            failing = self._elements_of_failures(group)
            if len(failing) < max(FEWEST, len(group) / 2):
                return
            results = [result for result in group if result.case.id in failing]
            passing = self._elements_of_passes()
            for explain in (explanation_by_place, explanation):
                found = explain([*failing.values()], passing, allowance.check)
                if found and len(found.explained) >= _NEARLY_ALL * len(results):
                    explained = [results[number] for number in sorted(found.explained)]
                    counts = self._counts_of_elements(explained, group)
                    self._choose(Diagnosis(None, f"gives {found.text}", counts), explained)
                    largest = max(map(_nbytes, explained))
                    larger = [result for result in group if _nbytes(result) > largest]
                    unknown = [result for result in larger if result.case.id not in failing]
                    text = f"{_PROBABLY}gives {found.text}"
                    counts = (len(unknown), len(unknown), 0, 0)
                    self._choose(Diagnosis(None, text, counts), unknown)
                    return

    def _choose_one_condition_for_all(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose one exact fact, in `chosen`, for a group of which mutants explain a part.

        All of the group, of six questions or more, must have it, and no case that does not fail so;
        it is not a limit on a number. Nothing is chosen if mutants explain nothing, or two thirds
        of the questions: then mistakes say more than when they show. Nor is it for failures without
        outputs.
        """
        if group[0].record.failure not in _OF_OUTPUTS:
            return
        left = self._without_cause(group)
        questions = len(self._questions_of(group))
        if len(left) == len(group) or questions < _ENOUGH:
            return
        if len(self._questions_of(left)) <= _LEAST_LEFT * questions:
            return
        others = self._others(group, group)
        condition = self._condition(group, others, group) if others else None
        if condition is None or condition.text.endswith(LIMITS) or len(condition.terms) > 1:
            return
        if len(self._under(condition, group)) == len(group):
            text = f"{self._way(group, self._shared_message(group))}{_where(condition)}"
            self._choose(self._diagnosis(None, text, condition), group)

    def _has_one_cause(self, group: Sequence[DiagnosedResult]) -> bool:
        """Return True if one mutant is chosen for nearly all questions of a group.

        Causes without a mutant count together as one. Results that are too large to be compared do
        not count. True if all are.
        """
        compared = [result for result in group if _nbytes(result) <= LARGEST]
        by_cause: dict[str | None, list[DiagnosedResult]] = defaultdict(list)
        for result in compared:
            if result.case.id in self.chosen:
                by_cause[self.chosen[result.case.id].mistake].append(result)
        most = max((len(self._questions_of(one)) for one in by_cause.values()), default=0)
        return most >= _NEARLY_ALL * len(self._questions_of(compared))

    def _choose_one_for_all_ways(
        self, by_failure: Mapping[Failure | None, Sequence[DiagnosedResult]]
    ) -> None:
        """Choose a condition that all failures of the operator have, in whatever way they fail.

        No pass meets it, and it is no limit on a size. So one mistake may give wrong values here,
        and raise there. Each way keeps words of its own. Nothing is chosen for failures of one way,
        or if one mutant explains nearly all.
        """
        ways = {way: group for way, group in by_failure.items() if way in _WAYS_OF_ONE_MISTAKE}
        failing = [result for group in ways.values() for result in group]
        if len(ways) < _SEVERAL or self._has_one_cause(failing):
            return
        passes = [
            result.subject
            for result in self.results
            if result.record.verdict is Verdict.PASS and not result.record.refused
        ]
        others = self.facts.bits(passes) | self.inquiry.passing
        condition = self._condition(failing, others, failing) if passes else None
        if condition is None or not condition.text or condition.rank == LIMIT:
            return
        if len(self._under(condition, failing)) < len(failing):
            return
        for group in ways.values():
            text = f"{self._way(group, self._shared_message(group))}{_where(condition)}"
            self._choose(self._diagnosis(None, text, condition), group)

    def _choose_by_place(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose the place of wrong elements, in `chosen`, for those left of a group that have it.

        It must be that of more than half of the questions left, whatever the values. Nothing is
        chosen for other failures than wrong values, and without time, of which a part is left to
        ask the backend.
        """
        left = self._without_cause(group)
        if not left or left[0].record.failure != "values":
            return
        allowance = self.suspects.allowance
        with suppress(NoTimeLeft), allowance.up_to(BEFORE_ASKING):
            failing = self._elements_of_failures(left)
            if 2 * len(failing) <= len(left):
                return
            passing = self._elements_of_passes()
            found = explanation_by_place([*failing.values()], passing, allowance.check)
            if found is None:
                return
            results = [result for result in left if result.case.id in failing]
            explained = [results[number] for number in sorted(found.explained)]
            if 2 * len(self._questions_of(explained)) > len(self._questions_of(left)):
                counts = self._counts_of_elements(explained, group)
                self._choose(Diagnosis(None, f"gives {found.text}", counts), explained)

    def _is_incidental(
        self,
        found: Explanation,
        explained: Sequence[DiagnosedResult],
        group: Sequence[DiagnosedResult],
    ) -> bool:
        """Return True if what the rest of a group fails by may explain a few results, too.

        That is not so if they give NaN or an infinity, as few mistakes do.
        """
        return found.outcome not in NOT_FINITE and self._is_of_too_few(explained, group)

    def _is_enough(
        self,
        found: Explanation,
        results: Sequence[DiagnosedResult],
        group: Sequence[DiagnosedResult],
        *,
        only_all: bool,
    ) -> bool:
        """Return True if a condition on elements explains half of the questions of `results`.

        If `only_all`, it must explain all results. A condition of fewer questions is most often
        incidental: where cases fail by the place of an element, some have a NaN there. It must not
        be incidental in the whole `group`, either.
        """
        explained = [results[number] for number in sorted(found.explained)]
        if self._is_incidental(found, explained, group):
            return False
        if only_all:
            return len(explained) == len(results)
        return 2 * len(self._questions_of(explained)) >= len(self._questions_of(results))

    def _elements_of_failures(self, results: Iterable[DiagnosedResult]) -> dict[str, Elements]:
        """Return the elements of failures by the ids of their cases, in their order.

        Those whose elements are not known are left out. Raises NoTimeLeft.
        """
        found = (
            (result.case.id, self.suspects.elements_of_failure(result.case)) for result in results
        )
        return {case: elements for case, elements in found if elements is not None}

    def _elements_of_passes(self) -> list[Elements]:
        """Return the elements of the passes with an answer, as far as they are known.

        Raises NoTimeLeft.
        """
        found = [
            self.suspects.elements_of_pass(result.case)
            for result in self.results
            if result.record.verdict is Verdict.PASS and not result.record.refused
        ]
        return [one for one in found if one is not None]

    def _counts_of_elements(
        self, explained: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]
    ) -> tuple[int, int, int, int]:
        """Return the counts of a diagnosis of these results of a group, as in `Diagnosis`.

        No other case is like these: the first two are their number, the third is that of the rest
        of the group, and the fourth counts with these the cases of the run that do not fail so.
        """
        others = self._others(explained, group) & ~self.inquiry.asked
        rest = len(group) - len(explained)
        return len(explained), len(explained), rest, rest + others.bit_count()

    def _choose_one_property_for_all(
        self, group: Sequence[DiagnosedResult], *, beside_mutants: bool
    ) -> None:
        """Choose one condition as the cause of all of a group without a cause, which meet it.

        Several conditions, or mutants, for parts of them are incidental then. An exact condition,
        which no other case meets, is chosen if it has no limit on a size and mutants fit less than
        half of these. If none is exact for all of them, it is a property of all that few others
        have. Nothing is chosen if a mutant fits all of them, unless `beside_mutants`: then passes
        contradict it, under each condition, and it is named with the property if its values show
        anything. Nor is it for fewer than three, for accepted invalid models, and if no other case
        is known. The group is not empty, and all of it fails in one way. Raises KeyboardInterrupt
        and what `ask` raises.
        """
        left = self._without_cause(group)
        is_accepted = group[0].record.failure == "accepted"
        if is_accepted or len(left) < FEWEST or not self._others(left, group):
            return
        if self._is_of_too_few(left, group):
            return
        fitting = [{*self.fitting[result.case.id]} for result in left]
        of_all = set.intersection(*fitting)
        if of_all and not beside_mutants:
            return
        self._ask_about(left, group)
        exact = self._condition(left, self._others(left, group), group)
        if exact is None or len(self._under(exact, left)) < len(left):
            condition = self._property_of_all(left, group)
        elif exact.rank == LIMIT:
            condition = self._simpler(exact, left, group)
        elif 2 * sum(map(bool, fitting)) < len(left):
            condition = self._simpler(exact, left, group) or exact
        else:
            return
        if condition:
            self._choose(self._of_property(condition, left, group, of_all), left)

    def _simpler(
        self,
        exact: Condition,
        left: Sequence[DiagnosedResult],
        group: Sequence[DiagnosedResult],
    ) -> Condition | None:
        """Return a property of all failures left of a group that is simpler than a condition.

        A limit that only leaves some passes out says less than their number. None for a condition
        without a limit, without a property, and for a limit alone that a failing case lost when it
        was cured.
        """
        failing = self.facts.bits(result.subject for result in left)
        cured = {feature.text for feature in self.inquiry.confirmed(failing)}
        has_limit = any(term.endswith(LIMITS) for term in exact.terms)
        if not has_limit or exact.text in cured:
            return None
        return self._property_of_all(left, group)

    def _of_property(
        self,
        condition: Condition,
        left: Sequence[DiagnosedResult],
        group: Sequence[DiagnosedResult],
        of_all: Set[str],
    ) -> Diagnosis:
        """Return the diagnosis of a property of all failures left of a group.

        It has the first of the mutants that fit all of them, whose names are `of_all`, unless
        their values show little, or several fit fewer than three questions.
        """
        fitting = self.fitting[left[0].case.id]
        # That the input came out says more than which step would have made it something else.
        names = [name for name in (_INPUT, *fitting) if name in of_all - _SHOW_LITTLE]
        # Of several mistakes, few questions do not tell which it is.
        is_telling = len(names) == 1 or len(self._questions_of(left)) >= FEWEST
        telling = next(iter(names), None) if is_telling else None
        if telling:
            text = f"{as_diagnosis(fitting[telling]).text},{_where(condition)}"
        else:
            text = f"{self._way(left, self._shared_message(group))}{_where(condition)}"
        return self._diagnosis(telling, text, condition)

    def _property_of_all(
        self, left: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]
    ) -> Condition | None:
        """Return the property that all failures left of a group have and the fewest others.

        Fewer others than failures must have it, not by chance, and it is not a limit on a size.
        None if there is none.
        """
        failing = self.facts.bits(result.subject for result in left)
        return necessary(
            self.inquiry.unrefuted(failing),
            failing=failing | self.inquiry.failing(failing),
            others=self._others(left, group),
            alike=self.facts.bits(result.subject for result in group),
            questions=self.facts.questions,
            asked=self.inquiry.asked,
        )

    def _shared_message(self, group: Sequence[DiagnosedResult]) -> str:
        """Return the message that all of a group have, "" where they differ."""
        messages = {result.message for result in group}
        return messages.pop() if len(messages) == 1 else ""

    def _others(self, left: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]) -> int:
        """Return the bits of cases that do not fail as those left of a group do.

        A result counts if it rules out the failure of the group and, if they share one, its
        message; a pass without any element of an output rules out no wrong values. Models accepted
        on the way count for failures without values, and changed cases that pass always. 0 if none
        are left.
        """
        if not left:
            return 0
        failure = left[0].record.failure
        message = self._shared_message(group)
        is_of_values = failure in _OF_VALUES
        others = self.facts.bits(
            result.subject
            for result in self.results
            if result.rules_out(failure, message)
            and not (is_of_values and self._shows_no_values(result))
        )
        if failure in _WITHOUT_VALUES:
            others |= self.also_accepted
        return others | self.inquiry.passing

    def _shows_no_values(self, result: DiagnosedResult) -> bool:
        """Return True for a pass whose outputs have no element."""
        return result.record.failure is None and self.suspects.is_of_nothing(result.subject)

    def _choose_mutants_under_conditions(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose mutants that passes contradict, if any do, only in cases unlike those that failed.

        For each mutant that fits failures without a cause, the most frequent first, a condition is
        sought that at least three of them meet, and no pass that contradicts the mutant. Those that
        meet it get the mutant as their cause, in `self.chosen`. If no pass contradicts it, all of
        three or more do. Without a condition, few passes may contradict it: see `_are_exceptions`.
        Refusals of invalid models contradict nothing if a failure of the group is of a legal one.

        A mistake about an attribute that has one value wherever it shows may be another mistake as
        well: one that fits the same failures, and is not about the attribute, comes first.

        A mutant must not have given empty answers alone. A derived one must fit three different
        questions, others as many or a quarter of those without a cause. If the time runs out, the
        failures that the mutant in turn fits are noted in `suspects.untried`, and nothing more is
        chosen. Raises what recalling a pass raises, such as MemoryError.
        """
        by_mutant: dict[str, list[DiagnosedResult]] = defaultdict(list)
        without_cause = self._without_cause(group)
        for result in without_cause:
            for name in self.fitting[result.case.id]:
                by_mutant[name].append(result)

        def most_first(name: str) -> int:
            """Return what is least for the mutant that fits the most."""
            return -len(by_mutant[name])

        of_legal = any(result.record.failure != "accepted" for result in group)
        for name in sorted(by_mutant, key=most_first):
            results = self._without_cause(by_mutant[name])
            if not results:
                continue
            mutant = self.fitting[results[0].case.id][name]
            if self._shows_too_little(mutant, results, without_cause, group):
                continue
            # No condition rests on fewer questions: then one contradiction is enough.
            enough = None if len(self._questions_of(results)) >= FEWEST else 1
            try:
                with self.suspects.allowance.up_to(BEFORE_ASKING):
                    contradicting = self._against(mutant, of_legal=of_legal, enough=enough)
                if contradicting and enough:
                    continue
                condition = self._condition_of_mutant(results, contradicting)
                if condition and _is_about_attribute_of(mutant, condition):
                    alike = self._fitting_all(results, mutant)
                    mutant = self._of_same_condition(alike, results, condition, group) or mutant
            except NoTimeLeft:
                self.suspects.untried.update(result.case.id for result in results)
                return
            self._choose_under_condition(mutant, condition, results, contradicting, group)

    def _against(self, mutant: Mutant, *, of_legal: bool, enough: int | None = None) -> list[Case]:
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

    def _fitting_all(self, results: Sequence[DiagnosedResult], but: Mutant) -> Iterator[Mutant]:
        """Yield the mutants that fit all of the results, `but` one; the results are not empty."""
        for name, mutant in self.fitting[results[0].case.id].items():
            if name != but.name and all(name in self.fitting[one.case.id] for one in results):
                yield mutant

    def _of_same_condition(
        self,
        mutants: Iterable[Mutant],
        results: Sequence[DiagnosedResult],
        condition: Condition,
        group: Sequence[DiagnosedResult],
    ) -> Mutant | None:
        """Return the first mutant that is not about an attribute of a condition, and meets it.

        That is, it explains the results under the same condition. None if there is none. Raises
        NoTimeLeft.
        """
        of_legal = any(result.record.failure != "accepted" for result in group)
        for mutant in mutants:
            if _is_about_attribute_of(mutant, condition):
                continue
            its = self._condition_of_mutant(results, self._against(mutant, of_legal=of_legal))
            if its and its.text == condition.text:
                return mutant
        return None

    def _choose_under_condition(
        self,
        mutant: Mutant,
        condition: Condition | None,
        results: Sequence[DiagnosedResult],
        contradicting: Sequence[Case],
        group: Sequence[DiagnosedResult],
    ) -> None:
        """Choose a mutant for those of the results that it explains that meet a condition.

        No pass that contradicts it meets the condition. If there is none, the mutant is chosen for
        all of the results if few passes contradict it, and else for none.
        """
        text = as_diagnosis(mutant).text
        if condition:
            # Without a condition, all of its kind failed alike.
            if condition.text:
                text += f", where {condition.text}"
            diagnosis = Diagnosis(mutant.name, text, condition.counts)
            self._choose_mutant(diagnosis, self._under(condition, results))
        elif self._are_exceptions(contradicting, results):
            counts = self._counts_with_exceptions(contradicting, results, group)
            self._choose_mutant(Diagnosis(mutant.name, text, counts), results)

    def _are_exceptions(
        self, contradicting: Iterable[Case], explained: Sequence[DiagnosedResult]
    ) -> bool:
        """Return True if passes that contradict a mutant are of few questions.

        They are less than half of those that it explains, which are at least three.
        """
        numbers = {self.facts.questions[self.facts.number(case)] for case in contradicting}
        questions = len(self._questions_of(explained))
        return questions >= FEWEST and 2 * len(numbers) < questions

    def _counts_with_exceptions(
        self,
        contradicting: Sequence[Case],
        explained: Sequence[DiagnosedResult],
        group: Sequence[DiagnosedResult],
    ) -> tuple[int, int, int, int]:
        """Return the counts of a diagnosis of a mutant that `contradicting` passes contradict.

        They are what it explains, that with these passes, the other failures of the group, and
        those with the other passes.
        """
        others = self._others(explained, group).bit_count() - len(contradicting)
        rest = len(group) - len(explained)
        return len(explained), len(explained) + len(contradicting), rest, rest + max(0, others)

    def _choose_proven_property(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose the property without which no failure of a kind without a cause comes, if asked.

        Its change cures a failing case and breaks a passing one. Of several, it is that of the
        fewest changed cases that pass, then of the fewest passes, and not a limit on a size; passes
        may have it. The group is not empty.
        """
        left = self._without_cause(group)
        bases = self.facts.bits(result.subject for result in left)
        others = self._others(left, group)
        proven = [one for one in self.inquiry.proven(bases) if one.rank < LIMIT]
        if not proven or self._is_of_too_few(left, group):
            return
        changed = self.inquiry.passing

        def fewness(feature: Feature) -> tuple[int, int, int]:
            """Return what is least for the best property."""
            return (feature.holds & changed).bit_count(), *others_and_rank(others, feature)

        best = min(proven, key=fewness)
        # A change of all inputs does not tell the first one's property from that of the others.
        of_first = next(one for one in proven if _of_any_input(one) == _of_any_input(best))
        self._choose_only_where(of_first, left, group, is_sure=False)

    def _choose_only_where(
        self,
        feature: Feature,
        left: Sequence[DiagnosedResult],
        group: Sequence[DiagnosedResult],
        *,
        is_sure: bool,
    ) -> None:
        """Choose a property without which no failure left of a group comes; passes may have it.

        If as many passes as failures have it, it is named with a second one of all failures, if
        fewer passes have both, and not by chance. Unless the property `is_sure`, nothing is chosen
        if it is likelier than not that as many cases have what is named by chance.
        """
        others = self._others(left, group)
        own = others & ~self.inquiry.asked
        failing = self.facts.bits(result.subject for result in left)
        terms: Terms = (feature,)
        if (feature.holds & own).bit_count() >= len(left):
            second = necessary(
                [one for one in self.inquiry.unrefuted(failing) if one.rank < LIMIT],
                failing=failing | self.inquiry.failing(failing),
                others=others & feature.holds,
                alike=failing,
                questions=self.facts.questions,
                asked=self.inquiry.asked,
            )
            if second is not None:
                terms = (feature, Feature(second.text, second.rank, second.everywhere))
        holds = meeting(terms, ~0)
        if not is_sure and chance(holds, failing, own, self.facts.questions) > _EVEN_CHANCE:
            return
        such = len(left) + (holds & own).bit_count()
        counts = (len(left), such, 0, (own & ~holds).bit_count())
        way = self._way(left, self._shared_message(group)).removesuffix(",")
        words = " and ".join(term.text for term in terms)
        condition = Condition(words, holds, counts, holds, feature.rank)
        text = f"{way} only{_where(condition)}"
        self._choose(self._diagnosis(None, text, condition), left)

    def _choose_facts_needed_together(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose the two or three facts of all failures left that only together make them fail.

        No other case has all of them, and for each a failing case was cured by a change that took
        away that one and none of the others. Nothing is chosen for fewer than three failures, with
        those of changed cases, and if no case is known that does not fail so. The group is not
        empty.
        """
        left = self._without_cause(group)
        others = self._others(left, group)
        bases = self.facts.bits(result.subject for result in left)
        if not others or (bases | self.inquiry.failing(bases)).bit_count() < FEWEST:
            return
        if self._is_of_too_few(left, group):
            return
        terms = self.inquiry.needed_together(bases, others)
        if terms is not None:
            alike = self.facts.bits(result.subject for result in group)
            condition = condition_of(terms, alike, others, self.inquiry.asked)
            text = f"{self._way(left, self._shared_message(group))}{_where(condition)}"
            self._choose(self._diagnosis(None, text, condition), left)

    def _choose_type_of_all(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose the type of all failures of a kind without a cause, if other types pass.

        That is, each is of a question that passes in another type, in the same version, and there
        are three failures, of two questions at least; passes may have the type. The group is not
        empty.
        """
        left = self._without_cause(group)
        if len(left) < FEWEST or len(self._questions_of(left)) < _SEVERAL:
            return
        if self._is_of_too_few(left, group):
            return
        others = self._others(left, group)
        by_question: dict[tuple[object, ...], int] = defaultdict(int)
        for number, case in enumerate(self.facts.cases):
            if others >> number & 1:
                by_question[self._question_of_version(case)] |= 1 << number
        failing = self.facts.bits(result.subject for result in left)
        twins = [by_question[self._question_of_version(result.subject)] for result in left]
        if not all(twins):
            return
        of_all = [
            feature
            for feature in self.inquiry.unrefuted(failing)
            if feature.text.endswith(_TYPES)
            and not failing & ~feature.holds
            and not any(feature.holds & twin for twin in twins)
        ]
        if of_all:
            feature = min(of_all, key=partial(others_and_rank, others))
            self._choose_only_where(feature, left, group, is_sure=True)

    def _question_of_version(self, case: Case) -> tuple[object, ...]:
        """Return the key of a case's question with its version, whatever its type."""
        return *self.facts.questions[self.facts.number(case)], case.op.since, case.opset

    def _shows_too_little(
        self,
        mutant: Mutant,
        explained: Sequence[DiagnosedResult],
        left: Sequence[DiagnosedResult],
        group: Sequence[DiagnosedResult],
    ) -> bool:
        """Return True if a mutant that passes contradict explains too little of what is left.

        A derived one must fit three questions, others not by chance, and an answer with an element.
        It must not give few values of few questions of the group. If all that it fits are
        degenerate, in which mistakes look alike, it must fit all of those left. `explained` is not
        empty.
        """
        is_telling = self.suspects.is_telling(explained[0].case.op, mutant.name)
        if self._is_of_too_few(explained, group) and not is_telling:
            return True
        if mutant.derived and len(self._questions_of(explained)) < FEWEST:
            return True
        if not self.suspects.gives_elements(explained[0].case.op, mutant):
            return True
        if len(explained) < len(left) and all(
            self.suspects.is_degenerate(result.case) for result in explained
        ):
            return True
        return self._may_fit_by_chance(explained, left)

    def _condition_of_mutant(
        self, results: Sequence[DiagnosedResult], contradicting: Iterable[Case]
    ) -> Condition | None:
        """Return a condition under which cases fail as a mutant does, None if there is none.

        It holds for the most of `results`, all of which the mutant explains, and for none of the
        cases that contradict it. It must not hold by chance, next to so few questions. A fact that
        kernels branch on, and that all of the results have, need not meet that if the mutant
        explains six questions: that is no chance then.
        """
        bits = self.facts.bits(result.subject for result in results)
        others = self.facts.bits(contradicting)
        conditions = [
            rule(
                self.facts.features,
                failing=bits,
                others=others,
                alike=bits,
                keys=self.facts.keys(bits, others),
                few=few,
                asked=self.inquiry.asked,
            )
            for few in (False, True)
        ]
        sure, likely = conditions
        is_of_all = sure is not None and not bits & ~sure.everywhere
        if is_of_all or likely is None or bits & ~likely.everywhere:
            return sure
        return likely if len(self._questions_of(results)) >= _ENOUGH else sure

    def _choose_patterns(self) -> None:
        """Choose patterns of wrong values, in `chosen`, for results without a cause.

        A pattern is what `Suspects.resemblance` returns: for a result diagnosed elsewhere, or
        without a pattern of its numbers, its first remark. At least FEWEST results must share it;
        it is counted of all wrong values.
        """
        wrong = [result for result in self.failing if result.record.failure == "values"]
        by_pattern: dict[str, list[DiagnosedResult]] = defaultdict(list)
        for result in self._without_cause(wrong):
            pattern = self.suspects.resemblance(result.case, result.record.diagnoses)
            by_pattern[pattern].append(result)
        for pattern, results in by_pattern.items():
            if pattern and len(results) >= FEWEST:
                self._choose(Diagnosis(None, pattern, (len(results), len(wrong), 0, 0)), results)

    def _choose_every_case(self, group: Sequence[DiagnosedResult]) -> None:
        """Choose, in `chosen`, that values are wrong in every case, if no case shows right ones.

        At least three results must be without a cause.
        """
        left = self._without_cause(group)
        if len(left) < FEWEST or self._others(left, group):
            return
        condition = self._condition(left, 0, group)
        if condition:
            way = self._way(left, self._shared_message(group))
            self._choose(self._diagnosis(None, f"{way}{_where(condition)}", condition), left)

    def _choose_causes_of_smaller_ones(self) -> None:
        """Choose for failures on inputs beyond 1 MiB the cause that most of smaller ones have.

        That is in `chosen`, for those without a cause. Smaller ones are of the same version, type
        and kind of failure, or else of any type. Mutants are not tried on so large inputs, so that
        the cause is only probable, which its text says.
        """
        without_cause = self._without_cause(self.failing)
        too_large = [result for result in without_cause if _nbytes(result) > LARGEST]
        by_cause: dict[Diagnosis, list[DiagnosedResult]] = defaultdict(list)
        for result in too_large:
            cause = self._cause_of_smaller_ones(result)
            if cause:
                by_cause[cause].append(result)
        for cause, results in by_cause.items():
            text = f"{_PROBABLY}{cause.text}"
            counts = (len(results), len(too_large), 0, 0)
            self._choose(Diagnosis(None, text, counts), results)

    def _cause_of_smaller_ones(self, large: DiagnosedResult) -> Diagnosis | None:
        """Return the cause of more than half of the smaller failures like a large one, or None.

        Those are up to 1 MiB, of its version and kind of failure: of its type, or else of any.
        """
        alike = [
            result
            for result in self.failing
            if result.case.op == large.case.op
            and result.record.failure == large.record.failure
            and _nbytes(result) <= LARGEST
        ]
        cell = cell_of(large.case)
        of_its_type = [result for result in alike if cell_of(result.case) == cell]
        for group in (of_its_type, alike):
            with_cause = [result.case.id for result in group if result.case.id in self.chosen]
            causes = Counter(self.chosen[case] for case in with_cause)
            for cause, count in causes.most_common(1):
                if 2 * count > len(group):
                    return cause
        return None

    def _rule(
        self, left: list[DiagnosedResult], group: Sequence[DiagnosedResult]
    ) -> tuple[Diagnosis, list[DiagnosedResult]] | None:
        """Return the rule that covers the most of those left, and these; None if there is none.

        A rule says under which condition cases of the `group`, which fail in one way, do so. It
        holds for no case that does not. None, too, if the condition may be incidental: see
        `_is_typical`, and for wrong values in every case: see `_choose_every_case`. At least one is
        left.
        """
        message = self._shared_message(group)
        others = self._others(left, group)
        if left[0].record.failure == "accepted":
            return self._rule_of_accepted(message, left, group, others)
        condition = self._condition(left, others, group)
        if condition is None or (not condition.text and left[0].record.failure == "values"):
            return None
        explained = self._under(condition, left)
        if not self._is_typical(explained, left, others, group):
            return None
        if self._is_of_too_few(explained, group):
            return None
        if len(explained) == len(left):
            condition = self._simpler(condition, left, group) or condition
        text = f"{self._way(explained, message)}{_where(condition)}"
        return self._diagnosis(None, text, condition), explained

    def _is_typical(
        self,
        explained: Sequence[DiagnosedResult],
        left: Sequence[DiagnosedResult],
        others: int,
        group: Sequence[DiagnosedResult],
    ) -> bool:
        """Return True if a condition explains half of those left, or a few such explain them all.

        `explained` are those of `left` that meet the condition; up to two more conditions may
        explain the rest. A property of less than half of the failures is most often incidental:
        large tensors show more of any mistake. So is one without which most cases fail too: if the
        rest are more than the `others`, bits of cases that do not fail so, the result is False.
        """
        rest = [result for result in left if result not in explained]
        if len(rest) > others.bit_count():
            return False
        if len(rest) <= len(explained):
            return True
        for _ in range(_MOST_CONDITIONS - 1):
            condition = self._condition(rest, others, group)
            if condition is None:
                return False
            under = self._under(condition, rest)
            rest = [result for result in rest if result not in under]
            if not rest:
                return True
        return False

    def _is_of_too_few(
        self, explained: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]
    ) -> bool:
        """Return True if a condition explains less than half of a group, and few questions.

        What the rest fails by most often explains these, too: fewer than six share some property by
        chance.
        """
        questions = len(self._questions_of(explained))
        return questions < _ENOUGH and 2 * questions < len(self._questions_of(group))

    def _rule_of_accepted(
        self,
        message: str,
        left: list[DiagnosedResult],
        group: Sequence[DiagnosedResult],
        others: int,
    ) -> tuple[Diagnosis, list[DiagnosedResult]] | None:
        """Return the rule by which invalid models are accepted, and the results that it explains.

        Without a condition that distinguishes them from `others`, the bits of cases that were
        refused, it explains all of those left: that it was not checked, or not always if some were
        refused. `message` is why the models are invalid; None if they are so for different reasons,
        so that it is "".
        """
        if not message:
            return None
        condition = self._condition(left, others, group) if others else None
        if condition:
            text = f"{NOT_CHECKED.text}{_shown(message)}{_where(condition)}"
            diagnosis = Diagnosis(NOT_CHECKED.mistake, text, condition.counts)
            return diagnosis, self._under(condition, left)
        text = NOT_CHECKED.text
        counts = None
        if others:
            text = text.replace("was not checked", "was not always checked")
            counts = (len(group), len(group) + others.bit_count(), 0, 0)
        return Diagnosis(NOT_CHECKED.mistake, f"{text}{_shown(message)}", counts), [*left]

    def _condition(
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

    def _diagnosis(self, mistake: str | None, text: str, condition: Condition) -> Diagnosis:
        """Return the diagnosis of what happens under a condition, with the answers about it."""
        return Diagnosis(mistake, text, condition.counts, asked=self.inquiry.shown(condition))

    def _ask_about(self, left: Sequence[DiagnosedResult], group: Sequence[DiagnosedResult]) -> None:
        """Ask the backend what tells possible conditions of the failures left of a group apart.

        The answers are kept in `inquiry`. Nothing is asked if no case comes out otherwise, about
        kinds of failures that asking does not explain, if the backend cannot be asked, or without
        time. Raises KeyboardInterrupt and what `ask` raises.
        """
        others = self._others(left, group)
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

    def _ask_about_refusals(self, group: Sequence[DiagnosedResult]) -> None:
        """Ask about changed cases of a group that raises: a pass contradicts what refuses it.

        An exception has no values, so that each mutant that refuses these cases fits it. After new
        answers, `uncontradicted` is found anew for those of the group without a cause. Nothing is
        done without new answers, for want of time too, or for a group that fails otherwise. The
        group is not empty. Raises KeyboardInterrupt and what `ask` raises.
        """
        left = self._without_cause(group)
        may_be_refused = [result for result in left if self.uncontradicted[result.case.id]]
        if group[0].record.failure != "raised" or not may_be_refused:
            return
        before = len(self.inquiry.answers)
        self._ask_about(left, group)
        if len(self.inquiry.answers) > before:
            for result in may_be_refused:
                self.uncontradicted[result.case.id] = self._uncontradicted(result)

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

    def _under(
        self, condition: Condition, results: Iterable[DiagnosedResult]
    ) -> list[DiagnosedResult]:
        """Return the results for whose cases a condition holds, in their order.

        Raises KeyError for a case that is not among `self.facts`.
        """
        return [
            result for result in results if condition.holds >> self.facts.number(result.subject) & 1
        ]


def _of_any_input(feature: Feature) -> str:
    """Return the words of a fact without the name of the input or output that it is about."""
    return _INPUT_OR_OUTPUT.sub("*", feature.text)


def _is_about_attribute_of(mutant: Mutant, condition: Condition) -> bool:
    """Return True if the text of a mutant has the name of an attribute of a condition."""
    words = {*re.findall(r"\w+", mutant.text)}
    return not words.isdisjoint(re.findall(r"`(\w+)`", condition.text))


def _nbytes(result: DiagnosedResult) -> int:
    """Return the size of a case's inputs in bytes."""
    return sum(spec.nbytes for spec in result.subject.inputs)


def _where(condition: Condition) -> str:
    """Describe a condition, to be appended to what happens under it."""
    return f" where {condition.text}" if condition.text else " in every case"


def _with_particulars(group: Sequence[DiagnosedResult], message: str) -> str:
    """Return the backend's own message if all of a group have just this one, else `message`.

    So a time limit is named with its seconds, `no answer within 30 s`.
    """
    own = {" ".join(result.own_message.split()) for result in group}
    is_one_kind = message and len(own) == 1 and group[0].record.failure in _WITH_MESSAGE
    return own.pop() if is_one_kind else message


def _shown(message: str) -> str:
    """Return a message in brackets, cut, to be appended; "" for none."""
    return f" ({_cut(message, _SHOWN)})" if message else ""


def _cut(message: str, longest: int) -> str:
    """Return a message with "?" in place of letters that do not print.

    If it has more than `longest` letters, " …" is in place of the rest.
    """
    printable = "".join(letter if letter.isprintable() else "?" for letter in message)
    return f"{printable[:longest]} …" if len(printable) > longest else printable


def legal_twin(case: Case) -> Case | None:
    """Return the legal twin of a case that admits a refusal, at the opset of the case.

    That is the same model made valid; None for a case without one.
    """
    rejected = case.expect.rejection
    legal = rejected.legal if rejected else None
    return replace(legal, opset=case.opset) if legal else None
