"""Rules: conditions on facts under which cases fail.

A rule holds for failing cases and for no others. Sets of cases are integers: bit n is case n.
*Terms* are one, two or three features that must all hold. Cases of equal *questions* differ in type
or opset alone: a rule that rests on one or two questions may be chance. Questions of one name
differ little, and share what has nothing to do with why they fail: if all of them come out alike,
they are one *unit* of evidence. If not, each is one: what differs between them is what matters.
Cases that were *asked* besides the run are variants of failing ones that the backend was asked
about; they are evidence, but not counted.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from functools import partial
from itertools import combinations
from math import comb
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from opcheck.diagnose.facts import LIMIT, LIMITS, PLAIN, Feature, Keys
from opcheck.model import CauseCounts, cause_counts

#: The fewest failures that a rule needs, and the fewest different questions, whatever their type
#: and opset.
FEWEST = 3
#: The fewest units if kernels branch on its facts, and chance is ruled out.
_TWO = 2
#: So many questions are enough for one fact that kernels branch on, and that all failures have.
_ENOUGH = 6
#: So many exact conditions are told apart by asking, and so many that only hold for all failures.
_CONTENDERS = 12
_NECESSARY = 4
#: Each additional fact must explain so many times more.
_WORTH_OF_A_FACT = 1.25
#: The largest probability that a rule arises by chance.
_CHANCE = 0.1

#: Facts that must all hold; without any, every case meets them.
Terms: TypeAlias = tuple[Feature, ...]


class Condition(NamedTuple):
    """A condition under which cases fail.

    Attributes:
        text: The facts that it needs in words, joined by "and"; "" for none.
        holds: Bits of the cases for which it holds, of those that fail in this way or do not.
        counts: As `cause_counts` makes them: "elsewhere" it does not hold.
        everywhere: Bits of all cases for which it holds, judged or not.
        rank: That of its least likely fact: PLAIN, VALUE or LIMIT.
    """

    text: str
    holds: int
    counts: CauseCounts
    everywhere: int
    rank: int

    @property
    def terms(self) -> list[str]:
        """Its facts in words."""
        return self.text.split(" and ")


def rule(
    features: Sequence[Feature],
    failing: int,
    others: int,
    alike: int,
    keys: Keys,
    *,
    few: bool = True,
    asked: int = 0,
    confirmed: Collection[Feature] = (),
) -> Condition | None:
    """Return the condition that holds for the most `failing` cases and none of the `others`.

    Cases are bits; all that are `alike` fail in this way, explained or not. One or two facts of
    `features` are tried, in all versions and in each; each fact more must explain a quarter more.
    Cases of one question, by the `keys`, and of one unit of evidence count once. A rule must rest
    on three units, and on several more, not to arise by chance. One of facts that kernels branch on
    may rest on two if `few` is True, and if it is one fact that all failures have, on three units
    or six questions. If all of its facts are `confirmed`, that a failing case passes without them,
    it may rest on one. Without `others`, the condition has no fact. None if fewer than three
    failing cases meet any, or if each may arise by chance. Cases that were `asked` besides the run
    are evidence, but are not counted.
    """
    own = failing & ~asked
    candidates: list[Terms] = []
    if others:
        versions = [
            (feature,) for feature in features if feature.text.startswith("the version is ")
        ]
        for version in ((), *versions):
            terms = _best_terms(
                features,
                failing=meeting(version, failing),
                others=meeting(version, others),
                keys=keys,
                few=few,
                asked=asked,
                confirmed=confirmed,
            )
            if terms is not None:
                candidates.append((*terms, *version))
    else:
        candidates.append(())
    best = _weightiest(candidates, own)
    if best is None or meeting(best, failing).bit_count() < FEWEST:
        return None
    return condition_of(best, alike, others, asked)


def condition_of(terms: Terms, alike: int, others: int, asked: int) -> Condition:
    """Return the condition that all of some terms hold, which no case of `others` meets.

    Cases are bits; those that are `alike` fail in one way, and those `asked` besides the run are
    not counted.
    """
    holds = meeting(terms, alike | others)
    here = (holds & alike).bit_count()
    elsewhere = (alike & ~holds).bit_count()
    counts = cause_counts(
        failing=here,
        judged=here,
        failing_elsewhere=elsewhere,
        judged_elsewhere=elsewhere + (others & ~asked).bit_count(),
    )
    every = meeting(terms, ~0)
    rank = max((feature.rank for feature in terms), default=PLAIN)
    telling = [feature for feature in terms if not _is_implied(feature)]
    text = " and ".join(feature.text for feature in telling or terms)
    return Condition(text, holds, counts, every, rank)


def _is_implied(feature: Feature) -> bool:
    """Return True for what only leaves out refused models, and tensors without an element.

    These pass whatever the mistake is: next to another fact, it says nothing.
    """
    is_of_elements = feature.text.startswith("the number of elements of ")
    is_not_empty = is_of_elements and feature.text.endswith(" is 1 or more")
    return feature.text == "the model is legal" or is_not_empty


def necessary(
    features: Sequence[Feature],
    failing: int,
    others: int,
    alike: int,
    questions: Sequence[Hashable],
    *,
    asked: int = 0,
) -> Condition | None:
    """Return the property that all `failing` cases have and the fewest `others`, None for none.

    Cases are bits; all that are `alike` fail in this way, explained or not. The property is one of
    `features` that is not a limit on a size, and fewer of the others have it than there are
    failures. Properties that all failures may have by chance, next to so few `questions` (keys as
    in `rule`), are left out. Cases that were `asked` besides the run are evidence, but are not
    counted.
    """
    tried = [one for one in features if one.rank < LIMIT and not _is_usual(one)]
    candidates = _of_all(tried, failing, others, asked)

    for feature in sorted(candidates, key=partial(others_and_rank, others)):
        if not _all_may_have_by_chance(feature, failing, others, len(tried), questions):
            holds = feature.holds & (alike | others)
            here = (holds & alike).bit_count()
            such = (holds & ~asked).bit_count()
            elsewhere = (alike & ~holds).bit_count()
            beside = elsewhere + (others & ~holds & ~asked).bit_count()
            counts = (here, such, elsewhere, beside)
            return Condition(feature.text, holds, counts, feature.holds, feature.rank)
    return None


def _is_usual(feature: Feature) -> bool:
    """Return True if an optional output is left out, as in most cases: so do failures by chance."""
    return feature.text.startswith("output ") and feature.text.endswith(" is left out")


def others_and_rank(others: int, feature: Feature) -> tuple[int, int]:
    """Return what is least for the feature of the fewest `others`, then of the lowest rank."""
    return (feature.holds & others).bit_count(), feature.rank


def _of_all(features: Iterable[Feature], failing: int, others: int, asked: int) -> list[Feature]:
    """Return the features that all `failing` cases have, and fewer of the `others` than these are.

    All are bits of cases. Those `asked` besides the run are not counted, but must have it if they
    fail.
    """
    failures = (failing & ~asked).bit_count()
    return [
        feature
        for feature in features
        if not failing & ~feature.holds and (feature.holds & others & ~asked).bit_count() < failures
    ]


def contenders(features: Sequence[Feature], failing: int, others: int, asked: int) -> list[Terms]:
    """Return conditions that may be why cases fail, the best first: some ten, to be told apart.

    `failing`, `others` and `asked` are bits of cases. Facts of at least half of the failing cases
    are tried. First come up to 12 exact conditions, of one or two: they hold for none of the
    `others`, and explain at least half as much as the best one. Then come up to four properties of
    all failing cases that fewer others have. Cases `asked` besides the run count in neither number,
    but an exact condition must not hold for any that passes. Empty if nothing holds for failing
    cases alone.
    """
    several = [
        feature
        for feature in features
        if 2 * (feature.holds & failing & ~asked).bit_count() >= (failing & ~asked).bit_count()
    ]
    exact = [*_consistent(several, failing, others, asked)]
    own = failing & ~asked
    least = _weight(exact[0], own) / 2 if exact else 0.0
    exact = [terms for terms in exact[:_CONTENDERS] if _weight(terms, own) >= least]

    plain = [feature for feature in several if feature.rank < LIMIT]
    of_all = sorted(_of_all(plain, failing, others, asked), key=partial(others_and_rank, others))
    return list(dict.fromkeys([*exact, *((feature,) for feature in of_all[:_NECESSARY])]))


def _all_may_have_by_chance(
    feature: Feature, failing: int, others: int, tried: int, questions: Sequence[Hashable]
) -> bool:
    """Return True if all failures may have one of `tried` features by chance.

    They may if they are of fewer than three questions, or if the `chance` that this happens to one
    of the features is above 1/10. `failing` and `others` are bits of cases, and `questions` has the
    key of each case.
    """
    failed = count_questions(failing, questions)
    return failed < FEWEST or tried * chance(feature.holds, failing, others, questions) > _CHANCE


def chance(holds: int, failing: int, others: int, questions: Sequence[Hashable]) -> float:
    """Return the probability that a random choice of questions all have a property.

    Of the questions of all cases, which are bits, as many are chosen as those of `failing` ones.
    `holds` are the cases with the property, and `questions` has the key of each case.
    """
    failed = count_questions(failing, questions)
    asked = count_questions(failing | others, questions)
    having = count_questions(holds & (failing | others), questions)
    return comb(having, failed) / comb(asked, failed)


def count_questions(cases: int, questions: Sequence[Hashable]) -> int:
    """Return the number of different questions of these cases, which are bits.

    `questions` has the key of each case, by number.
    """
    return len({questions[n] for n in range(cases.bit_length()) if cases >> n & 1})


def _best_terms(
    features: Sequence[Feature],
    *,
    failing: int,
    others: int,
    keys: Keys,
    few: bool,
    asked: int,
    confirmed: Collection[Feature],
) -> Terms | None:
    """Return the facts, one or two, that explain the most of `failing` and none of the `others`.

    The bits of `failing` and `others` have the cases of the run and those that were `asked` besides
    it, which decide only between equal ones. Facts are tried that hold for three failing cases or
    more. None if each rule of them may arise by chance, next to so few units. If `few` is True, a
    rule of facts that kernels branch on is compared with others of such facts alone, and one fact
    that all failures have, of three units or six questions, is no chance. None is one whose facts
    are all `confirmed`, if kernels branch on them and `few` is True. In a pair, a limit must be
    confirmed.
    """
    # One feature for each set of cases, the likeliest, if enough of them fail.
    distinct: dict[int, Feature] = {}
    for feature in sorted(features, key=attrgetter("rank")):
        distinct.setdefault(feature.holds & (failing | others), feature)
    tried = [
        feature for feature in distinct.values() if (feature.holds & failing).bit_count() >= FEWEST
    ]
    plain = sum(feature.rank == PLAIN for feature in tried)
    for terms in filter(
        partial(_has_sure_limits, confirmed), _consistent(tried, failing, others, asked)
    ):
        # Facts that kernels branch on need little evidence.
        if few and all(term.rank == PLAIN for term in terms):
            is_of_all = len(terms) == 1 and meeting(terms, failing) == failing
            if is_of_all and _rests_on_enough(failing, keys):
                return terms
            if all(_is_one_of(term, confirmed) for term in terms):
                return terms
            if not _may_be_chance(terms, failing, others, plain, keys.units, least=_TWO):
                return terms
        if not _may_be_chance(terms, failing, others, len(tried), keys.units):
            return terms
    return None


def _has_sure_limits(confirmed: Collection[Feature], terms: Terms) -> bool:
    """Return False for a pair with a limit that is not one of those `confirmed`."""
    return len(terms) == 1 or not any(_is_unsure_limit(term, confirmed) for term in terms)


def _is_unsure_limit(term: Feature, confirmed: Iterable[Feature]) -> bool:
    """Return True for a limit on a number above 1 that no failing case lost when it was cured.

    Next to another fact, some such limit leaves out the few passes that have that.
    """
    is_limit = term.text.endswith(LIMITS) and not term.text.endswith((" 0 or less", " 1 or more"))
    return is_limit and not _is_one_of(term, confirmed)


def _rests_on_enough(failing: int, keys: Keys) -> bool:
    """Return True for failing cases, which are bits, of three units or six questions."""
    if count_questions(failing, keys.units) >= FEWEST:
        return True
    return count_questions(failing, keys.questions) >= _ENOUGH


def _is_one_of(term: Feature, features: Iterable[Feature]) -> bool:
    """Return True for a feature that holds for the same cases as one of `features`."""
    return any(term.holds == feature.holds for feature in features)


def meeting(terms: Terms, cases: int) -> int:
    """Return those of `cases`, which are bits, for which all terms hold; all without a term."""
    for term in terms:
        cases &= term.holds
    return cases


def _weight(terms: Terms, failing: int) -> float:
    """Return how much terms explain: the number of `failing` cases, divided by 1.25 for each fact.

    `failing` are bits of cases.
    """
    return float(meeting(terms, failing).bit_count() / _WORTH_OF_A_FACT ** len(terms))


def _weightiest(candidates: Iterable[Terms], failing: int) -> Terms | None:
    """Return the terms that explain the most `failing` cases, None without any candidate.

    Each term must explain a quarter more. The first of equal ones is returned.
    """
    best: Terms | None = None
    most = -1.0
    for terms in candidates:
        weight = _weight(terms, failing)
        if weight > most:
            best = terms
            most = weight
    return best


def _consistent(
    features: Sequence[Feature], failing: int, others: int, asked: int
) -> Iterable[Terms]:
    """Return single features and pairs that hold for no `others`, by how much they explain.

    The best comes first. Each holds for a failing case of the run. In a pair, a limit on a size
    must hold for all failing cases, and neither fact is enough alone. Of equal ones, those come
    first that explain more of the cases `asked` besides the run, then the likelier.
    """
    own = failing & ~asked
    useful = [
        feature
        for feature in features
        if feature.rank < LIMIT or feature.holds & failing == failing
    ]
    singles: list[Terms] = [(feature,) for feature in features]
    # A fact that holds for no others is enough, and needs no other.
    pairs = combinations((feature for feature in useful if feature.holds & others), 2)

    def order(terms: Terms) -> tuple[float, int, int]:
        """Return what is least for the terms that explain most failures of the run."""
        explained = meeting(terms, failing & asked).bit_count()
        return -_weight(terms, own), -explained, sum(term.rank for term in terms)

    consistent = [
        terms for terms in (*singles, *pairs) if not meeting(terms, others) and meeting(terms, own)
    ]
    return sorted(consistent, key=order)


def _may_be_chance(
    terms: Terms,
    failing: int,
    others: int,
    tried: int,
    units: Sequence[Hashable],
    *,
    least: int = FEWEST,
) -> bool:
    """Return True if a rule, of `tried` features, rests on too few units of evidence.

    It does so with fewer than `least`, or if one of all rules of as many facts would hold by
    chance, for so many units of failing cases and no others, with a probability above 1/10.
    `failing` and `others` are bits of cases, and `units` has the key of each case.
    """
    explained = count_questions(meeting(terms, failing), units)
    failed = count_questions(failing, units)
    chances = comb(tried, len(terms)) * comb(failed, explained)
    limit = _CHANCE * comb(failed + count_questions(others, units), explained)
    return explained < least or chances > limit
