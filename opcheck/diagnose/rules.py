"""Learn what failing cases have in common and all others lack: one fact, or two together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TypeAlias

from opcheck.diagnose.features import LIMIT, PLAIN, Feature

#: The fewest failures that have anything in common, and the fewest different questions among them
#: where the fact is no natural cause: all types and opsets of one case are one question.
FEWEST, _QUESTIONS = 3, 3
#: How often a rule like this may come about by chance.
_CHANCE = 0.1
#: Two facts have to explain so many times more than one.
_MUCH_MORE = 1.25


Terms: TypeAlias = tuple[Feature, ...]


@dataclass(frozen=True)
class Rule:
    """A condition in words, "" for none, the cases that it holds of, and what is known of them.

    `counts`: of how many failing cases it holds, of how many in all; how many others fail, of how
    many in all.
    """

    text: str
    holds: int
    counts: tuple[int, int, int, int]


def rule(
    features: Sequence[Feature],
    failing: int,
    others: int,
    *,
    all_failing: int,
    within: Sequence[Feature],
    questions: Sequence[Hashable],
    few: bool = True,
) -> Rule | None:
    """Return the condition that holds of the most `failing` cases, and of none of the `others`.

    Cases are bits. `all_failing` are those that fail in this way, explained or not. One or two
    facts are tried, everywhere and `within` each of some others. `questions` tells by each case's
    number which cases ask the same of another type or opset; facts that kernels branch on may rest
    on a `few` of them.
    """
    if not others and failing.bit_count() >= FEWEST:
        return _rule((), all_failing, others)
    found: list[Terms] = []
    for context in ((), *((one,) for one in within)):
        fail, rest = _holds(context, failing), _holds(context, others)
        if fail.bit_count() >= FEWEST:
            tried = _distinct(features, fail, rest)
            for terms in _consistent(tried, fail, rest):
                if _is_no_chance(terms, fail, rest, len(tried), questions, few):
                    found.append((*terms, *context))
                    break
    best = max(found, key=lambda terms: _weight(terms, failing), default=None)
    return _rule(best, all_failing, others) if best else None


def _rule(terms: Terms, failing: int, others: int) -> Rule:
    holds = _holds(terms, failing | others)
    here, elsewhere = (holds & failing).bit_count(), (failing & ~holds).bit_count()
    counts = here, here, elsewhere, elsewhere + others.bit_count()
    return Rule(" and ".join(one.text for one in terms), holds, counts)


def _holds(terms: Terms, of: int) -> int:
    for term in terms:
        of &= term.holds
    return of


def _weight(terms: Terms, failing: int) -> float:
    return _holds(terms, failing).bit_count() / _MUCH_MORE ** len(terms)


def _distinct(features: Iterable[Feature], failing: int, others: int) -> list[Feature]:
    """Return the features that hold of enough that fails, one for each set of cases."""
    found: dict[int, Feature] = {}
    for one in features:
        if (one.holds & failing).bit_count() >= FEWEST:
            found.setdefault(one.holds & (failing | others), one)
    return [*found.values()]


def _consistent(features: Sequence[Feature], failing: int, others: int) -> list[Terms]:
    """Return all one or two features that hold of no others, what explains the most first.

    Of two, a limit is tried only if it holds of all that fails.
    """
    useful = [one for one in features if one.rank < LIMIT or one.holds & failing == failing]
    tried = (*((one,) for one in features), *combinations(useful, 2))
    found = [(terms, _weight(terms, failing)) for terms in tried if not _holds(terms, others)]
    least = FEWEST / _MUCH_MORE**2
    found = [(terms, weight) for terms, weight in found if weight >= least]
    found.sort(key=lambda pair: (-pair[1], sum(term.rank for term in pair[0])))
    return [terms for terms, _ in found]


def _is_no_chance(
    terms: Terms, failing: int, others: int, tried: int, questions: Sequence[Hashable], few: bool
) -> bool:
    """Return True if a rule is about enough cases; facts that kernels branch on need few."""
    covered = _holds(terms, failing)
    if covered.bit_count() < FEWEST:
        return False
    if few and all(term.rank == PLAIN for term in terms):
        return True
    asked, fail, answered = (_asked(cases, questions) for cases in (covered, failing, others))
    if asked < _QUESTIONS:
        return False
    chances = comb(tried, len(terms)) * comb(fail, asked)
    return chances <= _CHANCE * comb(fail + answered, asked)


def _asked(cases: int, questions: Sequence[Hashable]) -> int:
    return len({questions[n] for n in range(cases.bit_length()) if cases >> n & 1})
