"""Mutants that are wrong in one situation only, and the cases that kill them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from opcheck.model.result import Fate, MutantId, Score


@dataclass(frozen=True)
class ConditionedMutant:
    """A mutant of one operator and type, made wrong in one situation of a family at a time.

    `killed` has the situations in which a case kills it, each with that case's id. `survived` has
    those in which it shows on other data only, each with the id of the case that has the shapes and
    attributes of that data. In all other situations of the family it does not show. If the mutant
    itself `raised`, which is a mistake of opcheck's own, it says what; its situations are not
    known.
    """

    mutant: MutantId
    family: str
    killed: Mapping[str, str]
    survived: Mapping[str, str]
    raised: str = ""


def score_of(conditioned: Iterable[ConditionedMutant]) -> Score:
    """Return how many pairs of a mutant and a situation are killed, and how many survive."""
    score = Score()
    for one in conditioned:
        score[Fate.KILLED] += len(one.killed)
        score[Fate.SURVIVED] += len(one.survived)
    return score
