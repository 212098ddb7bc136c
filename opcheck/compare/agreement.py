"""Several answers where nobody knows the right one: which of them agree.

That backends agree proves nothing about any of them, and that most of them do proves nothing
against the rest. So all that is said of two answers that differ is that they do; where more than
half of the backends agree with each other, the others differ from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, repeat
from typing import TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.compare import verdict
from opcheck.compare.elements import Want
from opcheck.compare.outputs import compare_outputs, stated_want, too_wide
from opcheck.model import (
    Array,
    Comparison,
    Failure,
    Foreign,
    OpVersion,
    Outcome,
    OutputSpec,
    Produced,
    Raised,
    Rule,
    Tolerance,
    Verdict,
)

ALONE = "no other backend answers, so there is nothing to compare its answer with"
#: No larger majority is sought, which would take too long.
_MOST = 12
_NO_TENSOR = np.empty(0)

AnswerOutputs: TypeAlias = Sequence[Array | Foreign]


@dataclass(frozen=True, eq=False)
class Party:
    """The outcome of one of several backends; `name` is its label."""

    name: str
    outcome: Outcome


def judge_among(
    op: OpVersion,
    rule: Rule,
    parties: Sequence[Party],
    outputs: Sequence[OutputSpec],
    tolerance: Tolerance | None,
    like: Array | None = None,
) -> tuple[verdict.Judgement, ...]:
    """The verdict on each of the `parties`, which were asked the same, by each other's answers.

    Two answers agree if each is within `tolerance` of the other, None for exactly. Of an answer,
    `outputs` say how many tensors it has, and where that is known their dtypes. To refuse what
    others answer is to differ from them; who refuses what nobody answers is in error. `like` is as
    in `judge`.

    Nothing passes alone: an answer that there is none to compare with is not judged.
    """
    return _Meeting(op, rule, parties, outputs, tolerance, like).judgements()


def wants_of(
    op: OpVersion, answer: Sequence[Array], outputs: Sequence[OutputSpec]
) -> tuple[Want, ...]:
    """Outputs of `op` that a backend gave, as what others must give: type, shape and values."""
    pairs = zip(outputs, answer, strict=True)
    return tuple(stated_want(op, out.name, one, dtypes.element_type(one)) for out, one in pairs)


def steady(
    op: OpVersion, outcome: Outcome, outputs: Sequence[OutputSpec], tolerance: Tolerance | None
) -> Outcome:
    """Return `outcome` as unstable if its answers to the same data do not agree with each other.

    Where nobody knows the answer, one of two that differ by more than `tolerance` is wrong.
    """
    if not isinstance(outcome, Produced) or outcome.again is None:
        return outcome
    arrays = [one for one in outcome.outputs if isinstance(one, np.ndarray)]
    if misfit(outcome.outputs, outputs):
        return outcome
    if not _broken(compare_outputs(wants_of(op, arrays, outputs), outcome.again, tolerance)):
        return outcome
    return replace(outcome, unstable=outcome.differs)


def misfit(answer: AnswerOutputs, outputs: Sequence[OutputSpec]) -> Comparison | None:
    """In what an answer is wrong whatever its values must be; None if in nothing.

    That is the number of its outputs, their being tensors, and their dtypes as far as known.
    """
    given = chain(answer, repeat(_NO_TENSOR))
    wants = [
        Want(output.name, output.dtype, one if isinstance(one, np.ndarray) else _NO_TENSOR)
        for output, one in zip(outputs, given, strict=False)
    ]
    return next((found for found in compare_outputs(wants, answer) if found.problem), None)


@dataclass(frozen=True, eq=False)
class _Stand:
    """The position of one party on the question; `answer` is None where it refuses."""

    place: int
    name: str
    answer: tuple[Array, ...] | None
    said: str = ""


@dataclass(eq=False)
class _Meeting:
    op: OpVersion
    rule: Rule
    parties: Sequence[Party]
    outputs: Sequence[OutputSpec]
    tolerance: Tolerance | None
    like: Array | None

    def __post_init__(self) -> None:
        self._found: dict[int, verdict.Judgement] = {}
        stands = [self._stand(place, party) for place, party in enumerate(self.parties)]
        self.stands = [stand for stand in stands if stand]
        self._compared: dict[tuple[int, int], verdict.Comparisons] = {}

    def judgements(self) -> tuple[verdict.Judgement, ...]:
        answering = [stand for stand in self.stands if stand.answer is not None]
        majority = self._majority(answering)
        for stand in self.stands:
            if not answering:
                reason = f"raised, and nobody answers: {stand.said}"
                found = verdict.lesser(self.rule, Verdict.ERROR, reason, "raised")
            elif len(self.stands) == 1:
                found = verdict.Judgement(Verdict.NOT_RUN, ALONE)
            elif stand.answer is None:
                others = majority or answering
                reason = f"refuses what {_names(others)} {_verb('answer', others)}: {stand.said}"
                found = verdict.lesser(self.rule, Verdict.DIFFER, reason, "raised")
                found = replace(found, against=_who(others))
            else:
                found = self._answering(stand, majority or answering, majority)
            self._found[stand.place] = found
        return tuple(found for _, found in sorted(self._found.items()))

    def _stand(self, place: int, party: Party) -> _Stand | None:
        """Return a party's position; None where it is judged by itself."""
        outcome = party.outcome
        if not verdict.depends(outcome):
            self._found[place] = verdict.by_itself(self.rule, outcome)
            return None
        if isinstance(outcome, Raised):
            return _Stand(place, party.name, None, verdict.told(outcome))
        wrong = misfit(outcome.outputs, self.outputs)
        if wrong:
            said, kind = verdict.what_is_wrong(wrong), verdict.failure([wrong])
            self._found[place] = verdict.lesser(self.rule, Verdict.FAIL, said, kind, (wrong,))
            return None
        if said := verdict.misdeclared(outcome, [output.name for output in self.outputs]):
            self._found[place] = verdict.Judgement(Verdict.FAIL, said, "declared")
            return None
        answer = tuple(one for one in outcome.outputs if isinstance(one, np.ndarray))
        return _Stand(place, party.name, answer)

    def _majority(self, answering: Sequence[_Stand]) -> tuple[_Stand, ...]:
        """The most that agree with each other, if they are more than half of all that take part.

        Nobody where there are two such groups, which share somebody: to agree is not transitive.
        """
        for size in range(min(len(answering), _MOST), len(self.stands) // 2, -1):
            groups = [
                group
                for group in combinations(answering, size)
                if all(self._agree(*pair) for pair in combinations(group, 2))
            ]
            if groups:
                return groups[0] if len(groups) == 1 else ()
        return ()

    def _agree(self, one: _Stand, other: _Stand) -> bool:
        return not _broken(self._compare(one, other)) and not _broken(self._compare(other, one))

    def _compare(self, mine: _Stand, other: _Stand) -> verdict.Comparisons:
        assert mine.answer is not None
        assert other.answer is not None
        key = mine.place, other.place
        if key not in self._compared:
            wants = wants_of(self.op, other.answer, self.outputs)
            self._compared[key] = compare_outputs(wants, mine.answer, self.tolerance, self.like)
        return self._compared[key]

    def _answering(
        self, stand: _Stand, group: Sequence[_Stand], majority: Sequence[_Stand]
    ) -> verdict.Judgement:
        """An answer beside the `group` of those that count: the majority, or all that answer."""
        others = [other for other in group if other is not stand]
        unlike = [other for other in others if not self._agree(stand, other)]
        refusing = [other for other in self.stands if other.answer is None]
        if unlike or (refusing and not majority):
            return self._differing(stand, others, unlike, refusing, bool(majority))
        rest = [other for other in self.stands if other is not stand and other not in others]
        said = f"{_names(rest)} {_verb('differ', rest)}" if rest else ""
        if not majority and len(others) > 1:
            said = f"{_names(others)} differ from each other"
        compared = self._compare(stand, others[0])
        if wide := too_wide(wants_of(self.op, stand.answer or (), self.outputs), self.tolerance):
            return verdict.Judgement(Verdict.BAD_CASE, wide)
        return verdict.Judgement(Verdict.PASS, said, comparisons=compared, against=_who(others))

    def _differing(
        self,
        stand: _Stand,
        others: Sequence[_Stand],
        unlike: Sequence[_Stand],
        refusing: Sequence[_Stand],
        they_agree: bool,
    ) -> verdict.Judgement:
        """An answer that is unlike some of the `others`, or that some refuse to give."""
        reasons = []
        compared: verdict.Comparisons = ()
        kind: Failure | None = "accepted"
        if unlike:
            nearest = unlike[0]
            compared = self._compare(stand, nearest)
            broken = _broken(compared) or _broken(self._compare(nearest, stand))
            kind = verdict.failure(broken)
            which = ", which agree" if they_agree and len(others) > 1 else ""
            whose = f"{nearest.name}: " if len(unlike) > 1 else ""
            what = "; ".join(map(_what_differs, broken))
            reasons.append(f"differs from {_names(unlike)}{which}: {whose}{what}")
        if alike := [other for other in others if other not in unlike]:
            reasons.append(f"agrees with {_names(alike)}")
        if refusing:
            reasons.append(f"{_names(refusing)} {_verb('refuse', refusing)} what it answers")
        found = verdict.lesser(self.rule, Verdict.DIFFER, "; ".join(reasons), kind, compared)
        return replace(found, against=_who(unlike or refusing))


def _broken(comparisons: verdict.Comparisons) -> list[Comparison]:
    return [comparison for comparison in comparisons if comparison.problem]


def _what_differs(comparison: Comparison) -> str:
    """As `what_is_wrong` says it, but that nobody knows who is."""
    if comparison.problem != "values":
        return verdict.what_is_wrong(comparison)
    return f"{comparison.output}: {comparison.wrong} of {comparison.total} elements differ"


def _names(stands: Sequence[_Stand]) -> str:
    *others, last = _who(stands)
    return f"{', '.join(others)} and {last}" if others else last


def _who(stands: Sequence[_Stand]) -> tuple[str, ...]:
    return tuple(stand.name for stand in stands)


def _verb(verb: str, stands: Sequence[_Stand]) -> str:
    return f"{verb}s" if len(stands) == 1 else verb
