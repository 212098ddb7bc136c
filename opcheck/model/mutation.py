"""Results of mutation testing: which mutants a suite kills, and which shipped cases kill others."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from opcheck.model.case import Case, OpVersion


class Fate(StrEnum):
    """Fate of a mutant; the order is the order of columns in tables."""

    #: A `must` case fails.
    KILLED = "killed"
    #: At most a warning, or a failure where the text does not decide.
    WARNED = "warned"
    #: Argued to be equivalent.
    HARMLESS = "harmless"
    SURVIVED = "survived"


@dataclass(frozen=True, order=True)
class MutantId:
    """A mutant, made in one version of an operator on one dtype."""

    op: OpVersion
    dtype: str
    name: str
    #: It fits after "as if".
    text: str
    #: True if the cases of every type decide about it together; `dtype` is one of them.
    any_type: bool = False


@dataclass(frozen=True)
class Mutation:
    """The fate of one mutant under a suite.

    `harmless` is the argument that it is equivalent, if any. `killers` are ids of `must` cases that
    fail: the first, or those of the first two names. Without any, `noticers` are ids of cases that
    come out wrong but decide nothing: the first of each name.
    """

    mutant: MutantId
    harmless: str | None = None
    killers: tuple[str, ...] = ()
    noticers: tuple[str, ...] = ()

    @property
    def fate(self) -> Fate:
        """The fate of a mutant."""
        if self.killers:
            return Fate.KILLED
        if self.noticers:
            return Fate.WARNED
        return Fate.SURVIVED if self.harmless is None else Fate.HARMLESS

    @property
    def contradicts(self) -> bool:
        """Return True if a case kills a mutant that is argued to be harmless."""
        return self.harmless is not None and bool(self.killers)


class Score(Counter[Fate]):
    """Counts of mutants by fate."""

    @property
    def share(self) -> float | None:
        """The part that is seen of those that could be, None where there are none."""
        seen = self[Fate.KILLED] + self[Fate.WARNED]
        return seen / (seen + self[Fate.SURVIVED]) if seen + self[Fate.SURVIVED] else None


def score(mutations: Iterable[Mutation]) -> Score:
    """The score of `mutations`."""
    return Score(mutation.fate for mutation in mutations)


@dataclass(frozen=True, eq=False)
class Power:
    """All results of mutation testing for a suite, and shipped cases that kill its survivors."""

    mutations: tuple[Mutation, ...]
    elsewhere: Mapping[MutantId, Case] = field(default_factory=dict)
