"""Backends' answers compared with each other where the right one is unknown.

Agreement proves nothing about a backend, nor does a majority against the rest. So two answers
merely differ; if more than half of the backends agree, the others differ from these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, repeat
from typing import TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.compare import verdict
from opcheck.compare.elements import Want
from opcheck.compare.outputs import compare_outputs, stated_want, too_wide
from opcheck.model.case import Array, OpVersion, OutputSpec, Rule, Tolerance
from opcheck.model.question import Foreign, Outcome, Produced, Raised
from opcheck.model.result import Comparison, Failure, Verdict

ALONE = "no other backend answers, so there is nothing to compare its answer with"
#: Larger majorities are not searched for, which would take too long.
_MOST = 12
_NO_TENSOR = np.empty(0)

AnswerOutputs: TypeAlias = Sequence[Array | Foreign]


def judge_among(
    op: OpVersion,
    rule: Rule,
    outcomes: Mapping[str, Outcome],
    outputs: Sequence[OutputSpec],
    tolerance: Tolerance | None,
    like: Array | None = None,
) -> dict[str, verdict.Judgement]:
    """The verdict on each backend, by name, where the right answer is unknown.

    Two answers agree if each is within `tolerance` of the other, None for exactly. `outputs` give
    the number of tensors and their dtypes, if known. To refuse what others answer is to differ; to
    refuse what nobody answers is an error. A single answer is not judged. `like` is as in `judge`.
    """
    found: dict[str, verdict.Judgement] = {}
    answers: dict[str, tuple[Array, ...]] = {}
    refusals: dict[str, str] = {}
    for name, outcome in outcomes.items():
        if not verdict.depends(outcome):
            found[name] = verdict.by_itself(rule, outcome)
        elif isinstance(outcome, Raised):
            refusals[name] = verdict.in_words(outcome)
        elif wrong := misfit(outcome.outputs, outputs):
            said, kind = verdict.what_is_wrong(wrong), verdict.failure([wrong])
            found[name] = verdict.lesser(rule, Verdict.FAIL, said, kind, (wrong,))
        elif said := verdict.misdeclared(outcome, [output.name for output in outputs]):
            found[name] = verdict.Judgement(Verdict.FAIL, said, "declared")
        else:
            answers[name] = tuple(o for o in outcome.outputs if isinstance(o, np.ndarray))
    wants = {name: wants_of(op, answer, outputs) for name, answer in answers.items()}
    everybody = [name for name in outcomes if name not in found]
    meeting = _Meeting(rule, everybody, answers, refusals, wants, tolerance, like)
    return {name: found.get(name) or meeting.judgement(name) for name in outcomes}


def wants_of(op: OpVersion, got: Sequence[Array], specs: Sequence[OutputSpec]) -> tuple[Want, ...]:
    """Return a backend's outputs as the ones that others are expected to give."""
    pairs = zip(specs, got, strict=True)
    return tuple(stated_want(op, out.name, one, dtypes.of(one)) for out, one in pairs)


def steady(
    op: OpVersion, outcome: Outcome, outputs: Sequence[OutputSpec], tolerance: Tolerance | None
) -> Outcome:
    """Return `outcome` as unstable if its answers to the same data differ beyond `tolerance`."""
    if not isinstance(outcome, Produced) or outcome.again is None:
        return outcome
    if misfit(outcome.outputs, outputs):
        return outcome
    arrays = [one for one in outcome.outputs if isinstance(one, np.ndarray)]
    wants = wants_of(op, arrays, outputs)
    broken = _broken(compare_outputs(wants, outcome.again, tolerance))
    return replace(outcome, unstable=outcome.differs) if broken else outcome


def misfit(answer: AnswerOutputs, outputs: Sequence[OutputSpec]) -> Comparison | None:
    """Return a mistake in the number, types or known dtypes of outputs, None if there is none."""
    given = chain(answer, repeat(_NO_TENSOR))
    wants = [
        Want(output.name, output.dtype, one if isinstance(one, np.ndarray) else _NO_TENSOR)
        for output, one in zip(outputs, given, strict=False)
    ]
    return next((found for found in compare_outputs(wants, answer) if found.problem), None)


@dataclass(eq=False)
class _Meeting:
    """Backends by name, their `answers`, also as `wants` for the others, and their `refusals`."""

    rule: Rule
    everybody: Sequence[str]
    answers: Mapping[str, tuple[Array, ...]]
    refusals: Mapping[str, str]
    wants: Mapping[str, tuple[Want, ...]]
    tolerance: Tolerance | None
    like: Array | None
    compared: dict[tuple[str, str], verdict.Comparisons] = field(default_factory=dict, init=False)

    def judgement(self, name: str) -> verdict.Judgement:
        if not self.answers:
            reason = f"raised, and nobody answers: {self.refusals[name]}"
            return verdict.lesser(self.rule, Verdict.ERROR, reason, "raised")
        if len(self.everybody) == 1:
            return verdict.Judgement(Verdict.NOT_RUN, ALONE)
        group = self.majority or tuple(self.answers)
        if name in self.refusals:
            reason = f"refuses what {_names(group)} {_verb('answer', group)}: {self.refusals[name]}"
            found = verdict.lesser(self.rule, Verdict.DIFFER, reason, "raised")
            return replace(found, against=group)
        others = tuple(other for other in group if other != name)
        unlike = tuple(other for other in others if not self._agree(name, other))
        if unlike or (self.refusals and not self.majority):
            return self._differing(name, others, unlike)
        rest = [other for other in self.everybody if other not in (name, *others)]
        said = f"{_names(rest)} {_verb('differ', rest)}" if rest else ""
        if not self.majority and len(others) > 1:
            said = f"{_names(others)} differ from each other"
        compared = self._compare(name, others[0])
        if wide := too_wide(self.wants[name], self.tolerance):
            return verdict.Judgement(Verdict.BAD_CASE, wide)
        return verdict.Judgement(Verdict.PASS, said, comparisons=compared, against=others)

    @cached_property
    def majority(self) -> tuple[str, ...]:
        """The largest group that agrees with each other, if it is more than half and unique."""
        for size in range(min(len(self.answers), _MOST), len(self.everybody) // 2, -1):
            groups = [
                group
                for group in combinations(self.answers, size)
                if all(self._agree(*pair) for pair in combinations(group, 2))
            ]
            if groups:
                return groups[0] if len(groups) == 1 else ()
        return ()

    def _agree(self, one: str, other: str) -> bool:
        return not _broken(self._compare(one, other)) and not _broken(self._compare(other, one))

    def _compare(self, mine: str, other: str) -> verdict.Comparisons:
        if (mine, other) not in self.compared:
            self.compared[mine, other] = compare_outputs(
                self.wants[other], self.answers[mine], self.tolerance, self.like
            )
        return self.compared[mine, other]

    def _differing(
        self, name: str, others: Sequence[str], unlike: tuple[str, ...]
    ) -> verdict.Judgement:
        """The verdict on an answer that some of the `others` do not share or refuse to give."""
        reasons = []
        compared: verdict.Comparisons = ()
        kind: Failure | None = "accepted"
        if unlike:
            compared = self._compare(name, unlike[0])
            broken = _broken(compared) or _broken(self._compare(unlike[0], name))
            kind = verdict.failure(broken)
            which = ", which agree" if self.majority and len(others) > 1 else ""
            whose = f"{unlike[0]}: " if len(unlike) > 1 else ""
            what = "; ".join(map(_what_differs, broken))
            reasons.append(f"differs from {_names(unlike)}{which}: {whose}{what}")
        if alike := [other for other in others if other not in unlike]:
            reasons.append(f"agrees with {_names(alike)}")
        if refusing := tuple(self.refusals):
            reasons.append(f"{_names(refusing)} {_verb('refuse', refusing)} what it answers")
        found = verdict.lesser(self.rule, Verdict.DIFFER, "; ".join(reasons), kind, compared)
        return replace(found, against=unlike or refusing)


def _broken(comparisons: verdict.Comparisons) -> list[Comparison]:
    return [comparison for comparison in comparisons if comparison.problem]


def _what_differs(comparison: Comparison) -> str:
    """Describe a mismatch like `what_is_wrong`, without calling elements wrong."""
    if comparison.problem != "values":
        return verdict.what_is_wrong(comparison)
    return f"{comparison.output}: {comparison.wrong} of {comparison.total} elements differ"


def _names(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _verb(verb: str, names: Sequence[str]) -> str:
    return f"{verb}s" if len(names) == 1 else verb
