"""Which cases to ask a backend again with one property changed, to tell possible causes apart.

What is asked follows from cases and results alone; a function of the caller's asks it. First comes
what may refute the likeliest condition, then what conditions disagree about. If fewer than six
questions fail, or there is no condition, other cases that pass are asked with the property whose
change cured these.

A *flip* is a case with one property changed; its *base* is the failing case that it is made of.
Cases go by their numbers in `CaseFacts`; a set of them is an integer, whose bit n is case n. A
*feature* is a fact with the cases for which it holds. An answer is *decided* if the changed case
passes or fails as its base does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from opcheck.diagnose.facts import LIMIT, CaseFacts, Feature
from opcheck.diagnose.flips import Flip, flips
from opcheck.diagnose.rules import Condition, Terms, contenders, count_questions, meeting
from opcheck.diagnose.transplants import transplanted
from opcheck.model import LOSSES, Case, Failure, Given, LiveResult, TensorSpec

#: Asks the backend about a case; returns None if its answer is not decided, or not to be had.
Ask: TypeAlias = Callable[[Case], LiveResult | None]
#: So many answers are asked for to explain the failures of a kind, fewer if each ends a process.
MOST = 12
_MOST_OF_LOSSES = 6
#: So many changed cases may have no decided answer, in the search for one that has.
MOST_UNDECIDED = 40
#: Failures about which nothing is asked: of invalid models, of earlier cases, of chance, and those
#: that take long.
_NOT_ASKED: tuple[Failure | None, ...] = (
    None,
    "accepted",
    "stray_crash",
    "unstable",
    "timeout",
    "oom",
)
#: So many of the smallest failing cases are compared to choose two to ask again.
_COMPARED = 100
#: So many different questions that fail need no others to confirm their cause.
_ENOUGH = 6
#: So many passing cases, those most like a failing one, get the property that may be its cause,
#: until so many answers are decided.
_TRANSPLANTS = 12
_DECIDED = 4
#: So many facts may be needed together, of so many that may be.
_TOGETHER = (2, 3)
_MOST_FACTS = 40
#: The most answers that are shown for a cause, of each kind.
_SHOWN = 2


def most_questions(failure: Failure | None) -> int:
    """Return how many answers may be asked for about failures of a kind.

    That is 12, or 6 of a crash, which ends a process. It is 0 for those that are not asked again,
    _NOT_ASKED, and for None, which is no failure.
    """
    if failure in _NOT_ASKED:
        return 0
    return _MOST_OF_LOSSES if failure in LOSSES else MOST


class AskedAgain(NamedTuple):
    """The answer to a failing case asked again with one property changed.

    `base` and `case` are the numbers of the failing case and of the changed one, `fails` is True if
    it fails in the same way, and False if it passes. `passing` is None, or the number of a passing
    case of which the changed one is made, with the property whose change cured the failing one.
    """

    text: str
    base: int
    case: int
    fails: bool
    passing: int | None = None

    @property
    def is_other(self) -> bool:
        """True if the changed case is made of one that passes."""
        return self.passing is not None

    def cures(self, bases: int) -> bool:
        """Return True if a failing case of `bases`, which are bits, passes with its change."""
        return not self.fails and not self.is_other and bool(bases >> self.base & 1)

    def __str__(self) -> str:
        verdict = "fails too" if self.fails else "passes"
        if self.is_other:
            return f"asked a passing case {self.text}: {verdict}"
        return f"asked again {self.text}: {verdict}"


@dataclass(frozen=True)
class Candidate:
    """A changed case that may be asked about, made of a failing one.

    Attributes:
        flip: The changed case, and the change in words.
        base: The number of the failing case.
        number: That of the changed one.
        passing: The number of the passing case that gets a property of the failing one, if the
            changed case is made of that.
    """

    flip: Flip
    base: int
    number: int
    passing: int | None = None


#: Returns True if a changed case fails as the failing one does, False if it passes, None otherwise.
FailsAlike: TypeAlias = Callable[[Candidate], bool | None]


class Inquiry:
    """What was asked about the failures of one operator, whose cases are in `facts`.

    Cases go by their numbers there; a set of them is an integer, in which bit n is case n.
    """

    def __init__(self, facts: CaseFacts) -> None:
        self._facts = facts
        #: The cases of the run, without changed ones.
        self._own = facts.cases
        #: Numbers of failing cases that may have been asked again.
        self._bases: set[int] = set()
        #: Questions not asked yet.
        self._open: list[Candidate] = []
        #: Passing cases with the property of a failing one, by the answers that cured it.
        self._others: dict[AskedAgain, list[Candidate]] = {}
        #: How many answers there were before those, by the same.
        self._before: dict[AskedAgain, int] = {}
        #: The decided answers, in the order of asking.
        self.answers: list[AskedAgain] = []

    @property
    def passing(self) -> int:
        """Bits of the changed cases that pass."""
        return sum(1 << answer.case for answer in self.answers if not answer.fails)

    @property
    def asked(self) -> int:
        """Bits of all changed cases that were asked and have a decided answer."""
        return sum(1 << answer.case for answer in self.answers)

    @property
    def _own_answers(self) -> list[AskedAgain]:
        """The answers to failing cases with a change; those to passing ones are not among them.

        A passing case differs from a failing one in more than what was changed.
        """
        return [answer for answer in self.answers if not answer.is_other]

    def failing(self, bases: int) -> int:
        """Return the bits of the changed cases that fail as the one they come from, of `bases`.

        `bases` are bits of failing cases.
        """
        alike = (answer for answer in self.answers if answer.fails and bases >> answer.base & 1)
        return sum(1 << answer.case for answer in alike)

    def unrefuted(self, bases: int) -> list[Feature]:
        """Return the features that may be why the failing cases `bases` fail; these are bits.

        A feature, such as "input x has a NaN", is refuted if a changed case of `bases` that has
        lost it still fails, and none that has lost it passes. One that no answered change took away
        stays. They are in the order of `facts.features`, the likeliest causes first.
        """

        def is_refuted(feature: Feature) -> bool:
            """Return True if all changed cases without the feature fail, and there are some."""
            lost = [
                answer.fails
                for answer in self.answers
                if bases >> answer.base & 1 and _loses(feature, answer.base, answer.case)
            ]
            return bool(lost) and all(lost)

        return [feature for feature in self._facts.features if not is_refuted(feature)]

    def confirmed(self, bases: int) -> list[Feature]:
        """Return the features that a passing changed case has lost, of the failing cases `bases`.

        `bases` are bits of these. The features are in the order of `facts.features`.
        """
        cures = [answer for answer in self.answers if answer.cures(bases)]
        return [
            feature
            for feature in self._facts.features
            if any(_loses(feature, answer.base, answer.case) for answer in cures)
        ]

    def proven(self, bases: int) -> list[Feature]:
        """Return the features whose loss cures a failing case, and that make a passing one fail.

        All failing cases of `bases`, which are bits, have them, and all changed ones that fail.
        """
        failing = bases | self.failing(bases)
        cures = [answer for answer in self.answers if answer.cures(bases)]
        broken = [
            (answer.case, answer.passing)
            for answer in self.answers
            if answer.fails and answer.passing is not None and bases >> answer.base & 1
        ]
        return [
            feature
            for feature in self._facts.features
            if not failing & ~feature.holds
            and any(_loses(feature, cure.base, cure.case) for cure in cures)
            and any(_loses(feature, case, passing) for case, passing in broken)
        ]

    def needed_together(self, bases: int, others: int) -> Terms | None:
        """Return two or three facts of all failing cases `bases` that only together make them fail.

        No case of the `others` has all of them; these and `bases` are bits. For each fact there is
        a changed case that passes without it, and has the rest. Of several, the likeliest are
        returned; limits on sizes are not among them. None without any.
        """
        failing = bases | self.failing(bases)
        facts = [
            one for one in self.confirmed(bases) if one.rank < LIMIT and not bases & ~one.holds
        ]
        facts.sort(key=attrgetter("rank"))
        cures = [answer for answer in self.answers if answer.cures(bases)]

        def are_needed(terms: Terms) -> bool:
            """Return True if each of the terms alone was taken away, and the case passed."""
            lost = [[term for term in terms if _loses(term, it.base, it.case)] for it in cures]
            return all([term] in lost for term in terms)

        for count in _TOGETHER:
            for terms in combinations(facts[:_MOST_FACTS], count):
                are_met = meeting(terms, failing) == failing and not meeting(terms, others)
                if are_met and are_needed(terms):
                    return terms
        return None

    def ask(self, failing: int, others: int, most: int, fails_alike: FailsAlike) -> None:
        """Ask what tells possible causes of `failing` cases apart.

        Each question is chosen by the answers before. It ends when no open question would tell
        anything.

        Args:
            failing: Bits of the cases that fail in one way.
            others: Bits of the cases that do not fail in this way.
            most: The most questions with a decided answer; 40 undecided ones end it too.
            fails_alike: Asks a question. True and False, what it returns for a decided answer, are
                kept in `answers`, those before what it raises too.

        Adds the changed cases to `facts`. Raises what `fails_alike` raises.
        """
        self._open_questions(failing)
        are_enough = count_questions(failing, self._facts.questions) >= _ENOUGH
        asked = 0
        undecided = 0
        while asked < most and undecided < MOST_UNDECIDED:
            features = self.unrefuted(failing)
            candidate = self._next(failing, others, features)
            if candidate is None and not are_enough:
                candidate = self._next_other(failing, others)
            if candidate is None:
                return
            if candidate.passing is None:
                self._open.remove(candidate)
            fails = fails_alike(candidate)
            if fails is None:
                undecided += 1
                continue
            asked += 1
            text, base, number = candidate.flip.text, candidate.base, candidate.number
            self.answers.append(AskedAgain(text, base, number, fails, candidate.passing))

    def _open_questions(self, failing: int) -> None:
        """Add the changed cases of two of the `failing` ones to those that may be asked.

        They are the smallest one, by its inputs' bytes, and of the 100 smallest that whose facts
        differ most from it. Those whose changed cases were added before are left out.
        """
        facts = self._facts
        by_size = [n for n in range(len(self._own)) if failing >> n & 1]
        by_size.sort(key=lambda n: sum(spec.nbytes for spec in facts.cases[n].inputs))
        if not by_size:
            return
        compared = by_size[:_COMPARED]
        smallest = compared[0]
        bases = {smallest, max(compared, key=lambda n: _difference(facts.features, smallest, n))}
        added: list[tuple[int, Flip]] = []
        for base in sorted(bases - self._bases, key=compared.index):
            added += ((base, flip) for flip in flips(facts.cases[base], self._own))
        self._bases |= bases
        numbers = facts.add([flip.case for _, flip in added])
        for (base, flip), number in zip(added, numbers, strict=True):
            self._open.append(Candidate(flip, base, number))

    def _next_other(self, failing: int, others: int) -> Candidate | None:
        """Return a passing case to ask with the property whose change cured a failing one.

        None if no change cured one, or if there are no more: at most 12 for each cure, until four
        more answers are decided.
        """
        for answer in self.answers:
            if not answer.cures(failing):
                continue
            if answer not in self._others:
                self._others[answer] = self._transplants(answer, others)
                self._before[answer] = len(self.answers)
            if self._others[answer] and len(self.answers) < self._before[answer] + _DECIDED:
                return self._others[answer].pop(0)
        return None

    def _transplants(self, cure: AskedAgain, others: int) -> list[Candidate]:
        """Return passing cases with the property of a failing one that a change took away.

        They are at most 12, of different questions, those first that have most in common with the
        failing case. None is a case of the run itself. `others` are bits of the cases that pass.
        """
        facts = self._facts
        failing, cured = facts.cases[cure.base], facts.cases[cure.case]
        passing = [n for n in range(len(self._own)) if others >> n & 1]
        passing.sort(key=lambda n: _difference(facts.features, cure.base, n))
        known = {_contents(case) for case in self._own}
        changed: dict[tuple[object, ...], tuple[int, Flip]] = {}
        for number in passing:
            flip = transplanted(failing, cured, facts.cases[number])
            if flip is not None and _contents(flip.case) not in known:
                changed.setdefault((flip.case.name, flip.case.row), (number, flip))
            if len(changed) == _TRANSPLANTS:
                break
        numbers = facts.add([flip.case for _, flip in changed.values()])
        return [
            Candidate(flip, cure.base, number, origin)
            for (origin, flip), number in zip(changed.values(), numbers, strict=True)
        ]

    def _next(self, failing: int, others: int, features: Sequence[Feature]) -> Candidate | None:
        """Return the open question to ask next; None if no open question would tell anything.

        Contenders are conditions, of `features`, under which the `failing` cases may fail and the
        `others` not. The question is one that takes a fact of the likeliest contender away, which
        no answered one did; else the one about which contenders disagree most. Of equal ones, it
        is that which changes the fewest facts. Without contenders, it is a passing case with
        what cured a failing one, else the first that changes a fact not yet changed.
        """
        open_ = [candidate for candidate in self._open if failing >> candidate.base & 1]
        answers = [answer for answer in self._own_answers if failing >> answer.base & 1]
        conditions = contenders(
            features,
            failing=failing | self.failing(failing),
            others=others | self.passing,
            asked=self.passing | self.failing(failing),
        )

        def fewness(candidate: Candidate) -> int:
            """Return a number that is larger the fewer facts a question changes."""
            return -_difference(features, candidate.base, candidate.number)

        for term in conditions[0] if conditions else ():
            if not any(_loses(term, answer.base, answer.case) for answer in answers):
                losing = [
                    candidate
                    for candidate in open_
                    if _loses(term, candidate.base, candidate.number)
                ]
                if losing:
                    return max(losing, key=fewness)

        if not conditions:
            # What cured a failing case says more than what is not known yet.
            other = self._next_other(failing, others)
            return other or next(filter(self._tries_something_new, open_), None)

        def score(candidate: Candidate) -> tuple[float, int]:
            """Return what is largest for the best question: what it refutes, then few changes."""
            return _split(conditions, candidate), fewness(candidate)

        best = max(open_, key=score, default=None)
        return best if best and _split(conditions, best) > 0 else None

    def _tries_something_new(self, candidate: Candidate) -> bool:
        """Return True if a question changes a fact of its case that no answered one changed."""
        return any(
            _loses(feature, candidate.base, candidate.number)
            and not any(_loses(feature, answer.base, answer.case) for answer in self._own_answers)
            for feature in self._facts.features
        )

    def cures(self, bases: int) -> tuple[str, ...]:
        """Return the first two answers, in words, by which a changed case of `bases` passes.

        Such as "asked again without `axes`: passes". `bases` are bits of failing cases. Empty if
        none was asked, or none passes.
        """
        passing = [str(answer) for answer in self.answers if answer.cures(bases)]
        return tuple(passing[:_SHOWN])

    def shown(self, condition: Condition) -> tuple[str, ...]:
        """Return the answers that support a condition, in words: passes first, two of each kind.

        That is about failing cases for which the condition holds: changed ones pass where it does
        not hold any more, and fail where it still does.
        """
        everywhere = condition.everywhere
        of_condition = [answer for answer in self.answers if everywhere >> answer.base & 1]
        supporting = {
            fails: [
                str(answer)
                for answer in of_condition
                if answer.fails is fails and bool(everywhere >> answer.case & 1) is fails
            ]
            for fails in (False, True)
        }
        return tuple(dict.fromkeys([*supporting[False][:_SHOWN], *supporting[True][:_SHOWN]]))


def _contents(case: Case) -> tuple[object, ...]:
    """Return what a case asks, but for its opset, to be compared with that of others."""
    attrs = tuple(sorted((name, str(value)) for name, value in case.attrs.items()))
    inputs = tuple((spec.name, spec.dtype.name, spec.shape, _values(spec)) for spec in case.inputs)
    return attrs, inputs


def _values(spec: TensorSpec) -> object:
    """Return the values of an input in a form that can be compared."""
    content = spec.content
    return content.values.tobytes() if isinstance(content, Given) else content


def _loses(feature: Feature, base: int, case: int) -> bool:
    """Return True if a fact holds for the failing case, and not for the changed one."""
    return bool(feature.holds >> base & 1) and not feature.holds >> case & 1


def _holds(terms: Terms, number: int) -> bool:
    """Return True if all terms hold for the case of this number."""
    return all(term.holds >> number & 1 for term in terms)


def _split(contenders: Sequence[Terms], candidate: Candidate) -> float:
    """Return the weight of the contenders that an answer would refute at least, whatever it is.

    A contender expects the changed case to fail if it still holds there, and to pass if not; one
    that does not hold for the failing case counts nothing. The n-th, from 1, counts 1/n.
    """
    failing = 0.0
    passing = 0.0
    for place, terms in enumerate(contenders):
        if not _holds(terms, candidate.base):
            continue
        worth = 1 / (1 + place)
        if _holds(terms, candidate.number):
            failing += worth
        else:
            passing += worth
    return min(failing, passing)


def _difference(features: Sequence[Feature], one: int, other: int) -> int:
    """Return how many facts differ between two cases, by their numbers."""
    return sum((feature.holds >> one ^ feature.holds >> other) & 1 for feature in features)
