"""What a suite sees of the mistakes that somebody could make, and what it would take to see all."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from opcheck.model.case import Case, OpVersion


class Fate(StrEnum):
    """What becomes of a mistake; the order is the order of columns in tables.

    A case of rule `must` is failed by who makes it; only a warning comes of it, or a failure where
    the text does not decide; no input decides against it, as is argued; or nothing is seen of it.
    """

    KILLED = "killed"
    WARNED = "warned"
    HARMLESS = "harmless"
    SURVIVED = "survived"


@dataclass(frozen=True, order=True)
class Mutant:
    """A mistake, made in one version of an operator on one dtype.

    `text` fits after "as if". `any_type`: the cases of every type decide about it together;
    `dtype` is one of them.
    """

    op: OpVersion
    dtype: str
    name: str
    text: str
    any_type: bool = False


@dataclass(frozen=True)
class Mutation:
    """What a suite sees of one mutant.

    `harmless` is the argument that no input decides against it, None where nobody argues so.
    `killers` are ids of `must` cases that fail: the first, or those of the first two names. Without
    any, `noticers` are ids of cases that come out otherwise than they should but decide nothing:
    the first of each name.
    """

    mutant: Mutant
    harmless: str | None = None
    killers: tuple[str, ...] = ()
    noticers: tuple[str, ...] = ()

    @property
    def fate(self) -> Fate:
        """What becomes of it."""
        if self.killers:
            return Fate.KILLED
        if self.noticers:
            return Fate.WARNED
        return Fate.SURVIVED if self.harmless is None else Fate.HARMLESS

    @property
    def contradicts(self) -> bool:
        """Whether a case fails because of what is argued to be harmless."""
        return self.harmless is not None and bool(self.killers)


class Score(Counter[Fate]):
    """How many mutants came to what."""

    @property
    def share(self) -> float | None:
        """The part that is seen of those that could be, None where there are none."""
        seen = self[Fate.KILLED] + self[Fate.WARNED]
        return seen / (seen + self[Fate.SURVIVED]) if seen + self[Fate.SURVIVED] else None


def score(mutations: Iterable[Mutation]) -> Score:
    """The score of `mutations`."""
    return Score(mutation.fate for mutation in mutations)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A case that kills `mutants`, which are of one mistake.

    `case` is about the first of them; for the others it is the same but for opset and dtype.
    """

    mutants: tuple[Mutant, ...]
    case: Case


@dataclass(frozen=True)
class Yardstick:
    """What ONNX's own node tests, `tests` of them, see of the mistakes in one version and dtype.

    `theirs` is their score, `ours` that of the suite at hand.
    """

    op: OpVersion
    dtype: str
    tests: int
    theirs: Score
    ours: Score


@dataclass(frozen=True, eq=False)
class Power:
    """All that is known of what a suite sees.

    `tries` is how many nodes were drawn for each mistake that survived, 0 where none was sought.
    """

    mutations: tuple[Mutation, ...]
    proposals: tuple[Proposal, ...] = ()
    yardsticks: tuple[Yardstick, ...] = ()
    tries: int = 0


@dataclass(frozen=True)
class Group:
    """The cases of one name, and what they show that no other group does.

    `alone` are the mutants that only this group kills, or that only it notices; `sentences` those
    of the specification that only it tests; `defects` the known ones of released backends that show
    in it only, each as the backend and the cause. An `example` repeats what a specification or a
    common suite shows. `undecided`: they record what backends answer where the text does not
    decide.
    """

    op: str
    name: str
    cases: int
    source: str
    alone: tuple[Mutant, ...] = ()
    sentences: tuple[str, ...] = ()
    defects: tuple[tuple[str, str], ...] = ()
    example: bool = False
    undecided: bool = False

    @property
    def shows_nothing(self) -> bool:
        """Whether everything it shows is shown without it."""
        return not (self.alone or self.sentences or self.defects or self.example or self.undecided)
