"""Learn what failing cases have in common and all others lack: one fact, or two together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TypeAlias

from opcheck.diagnose.features import LIMIT, PLAIN, Feature

#: The fewest failures that have anything in common; and the fewest different questions, where all
#: types and opsets of one case are one question, if the facts are not what kernels branch on.
FEWEST = 3
#: How often a rule like this may come about by chance.
_CHANCE = 0.1
#: Each fact more has to explain so many times more.
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
    alike: int,
    questions: Sequence[Hashable],
    *,
    few: bool = True,
) -> Rule | None:
    """Return the condition that holds of the most `failing` cases, and of none of the `others`.

    Cases are bits. All that are `alike` fail in this way, explained or not. One or two facts are
    tried, in all versions and in each. `questions` tells by each case's number which cases ask the
    same of another type or opset; facts that kernels branch on may rest on a `few` of them.
    """
    found: list[Terms] = [] if others else [()]
    versions = [(one,) for one in features if one.text.startswith("the version is ")]
    for version in ((), *versions) if others else ():
        fail, rest = _holds(version, failing), _holds(version, others)
        # One feature for each set of cases, the most natural, if enough of them fail.
        distinct: dict[int, Feature] = {}
        for one in sorted(features, key=lambda one: one.rank):
            distinct.setdefault(one.holds & (fail | rest), one)
        tried = [one for one in distinct.values() if (one.holds & fail).bit_count() >= FEWEST]
        for terms in _consistent(tried, fail, rest):
            if _is_no_chance(terms, fail, rest, len(tried), questions, few):
                found.append((*terms, *version))
                break
    best = max(found, key=lambda terms: _weight(terms, failing), default=None)
    if best is None or _holds(best, failing).bit_count() < FEWEST:
        return None
    holds = _holds(best, alike | others)
    here, elsewhere = (holds & alike).bit_count(), (alike & ~holds).bit_count()
    counts = here, here, elsewhere, elsewhere + others.bit_count()
    return Rule(" and ".join(one.text for one in best), holds, counts)


def _holds(terms: Terms, of: int) -> int:
    for term in terms:
        of &= term.holds
    return of


def _weight(terms: Terms, failing: int) -> float:
    return _holds(terms, failing).bit_count() / _MUCH_MORE ** len(terms)


def _consistent(features: Sequence[Feature], failing: int, others: int) -> Iterable[Terms]:
    """Return all one or two features that hold of no others, what explains the most first.

    Of two, a limit is tried only if it holds of all that fails.
    """
    useful = [one for one in features if one.rank < LIMIT or one.holds & failing == failing]
    tried = (*((one,) for one in features), *combinations(useful, 2))
    found = [terms for terms in tried if not _holds(terms, others)]
    found.sort(key=lambda terms: (-_weight(terms, failing), sum(term.rank for term in terms)))
    return found


def _is_no_chance(
    terms: Terms, failing: int, others: int, tried: int, questions: Sequence[Hashable], few: bool
) -> bool:
    """Return True if a rule is about enough cases; facts that kernels branch on need few."""

    def asked(cases: int) -> int:
        return len({questions[n] for n in range(cases.bit_length()) if cases >> n & 1})

    covered = _holds(terms, failing)
    if covered.bit_count() < FEWEST:
        return False
    if few and all(term.rank == PLAIN for term in terms):
        return True
    about, fail, rest = asked(covered), asked(failing), asked(others)
    chances = comb(tried, len(terms)) * comb(fail, about)
    return about >= FEWEST and chances <= _CHANCE * comb(fail + rest, about)
