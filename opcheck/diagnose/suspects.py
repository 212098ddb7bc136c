"""The mistakes that a backend seems to make, known better with each of its answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from opcheck.compare import compare_outputs
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.likeness import contradicts, reproduces
from opcheck.diagnose.numbers import resemblance
from opcheck.engine.mistakes import Mistake, mistakes_of
from opcheck.model import Case, Diagnosis, OpVersion

#: Of so many failures of each version are all mistakes tried; later only those that explained one
#: before, unless none of them fits.
_THOROUGHLY = 12
#: The largest input on which mistakes are tried, and of a pass that is looked at, in bytes.
_LARGEST = 8 << 20
_SMALL = 16 << 10

#: Of an invalid model that is accepted, with an answer that no mistake gives.
_UNCHECKED = Diagnosis("not_checked", "as if it was not checked whether the model is valid")

#: What is to be known of a case that passed, None where that is no evidence.
Recall: TypeAlias = Callable[[Case], Evidence | None]


@dataclass
class _Version:
    """What is known of one version: its failures, and one pass of every name and dtype."""

    failures: int = 0
    passes: dict[tuple[str, str], Case] = field(default_factory=dict)
    evidence: dict[str, Evidence | None] = field(default_factory=dict)
    #: How many of the passes were held against each mistake, and those that one speaks against.
    asked: Counter[str] = field(default_factory=Counter)
    against: set[str] = field(default_factory=set)


class Suspects:
    """What was found of one backend; its results have to come in a fixed order.

    That is so because what explained the most failures is named first.
    """

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        #: By operator, how many failures each mistake explains.
        self._explained: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._versions: dict[OpVersion, _Version] = defaultdict(_Version)
        self._broken: dict[str, str] = {}

    def passed(self, case: Case) -> None:
        """Remember a case that passed: what it would have failed is no cause of other failures."""
        key = case.name, str(case.dtype)
        self._versions[case.op].passes.setdefault(key, case)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        """The mistakes that reproduce a failure, or else what its numbers have in common.

        First those that no pass speaks against, of these the one that explains the most failures
        up to now, among equals the most specific. Refusals that a pass speaks against are left
        out: who takes it once does not refuse it. Where none fits, they are tried once more with
        everything rounded to a narrower type. Empty where nothing fits.
        """
        op = evidence.node.op
        version, explained = self._versions[op], self._explained[op.domain, op.name]
        version.failures += 1
        found = self._reproducing(evidence, version, explained)
        doubtful = {one.name for one in found if self._is_contradicted(one, version)}
        if evidence.got is None:
            found = [one for one in found if one.name not in doubtful]
        said = [*map(_spelt, found), *self._narrower(evidence, found, version, explained)]
        explained.update(one.mistake for one in said if one.mistake)
        said.sort(key=lambda one: (one.mistake in doubtful, -explained[str(one.mistake)]))
        if not said and evidence.got is not None:
            if not evidence.admitted:
                said.append(_UNCHECKED)
            elif seen := resemblance(evidence):
                said.append(Diagnosis(None, seen))
        return (*said, *self._excuses())

    def _reproducing(
        self, evidence: Evidence, version: _Version, explained: Counter[str]
    ) -> list[Mistake]:
        if evidence.nbytes > _LARGEST:
            return []
        mistakes = mistakes_of(evidence.node.op)
        if version.failures <= _THOROUGHLY:
            return self._those_that_do(mistakes, evidence)
        before = [mistake for mistake in mistakes if mistake.name in explained]
        found = self._those_that_do(before, evidence)
        others = [mistake for mistake in mistakes if mistake.name not in explained]
        return found or self._those_that_do(others, evidence)

    def _narrower(
        self,
        evidence: Evidence,
        found: Sequence[Mistake],
        version: _Version,
        explained: Counter[str],
    ) -> list[Diagnosis]:
        """The widest narrower type in which the answer is right, or in which mistakes give it."""
        narrowed = evidence.narrowed()
        for dtype, rounded in narrowed:
            if evidence.admitted and _is_right(rounded):
                text = f"as if it was computed in {dtype}, by whose measure it is right"
                return [Diagnosis(f"computed_in_{dtype}", text)]
        if found or not narrowed:
            return []
        return [*map(_spelt, self._reproducing(narrowed[0][1], version, explained))]

    def _is_contradicted(self, mistake: Mistake, version: _Version) -> bool:
        """Whether a case that passed would have failed who makes `mistake`."""
        if mistake.name in version.against:
            return True
        for case in [*version.passes.values()][version.asked[mistake.name] :]:
            version.asked[mistake.name] += 1
            if case.id not in version.evidence:
                version.evidence[case.id] = self._remembered(case)
            seen = version.evidence[case.id]
            if seen and self._does(contradicts, mistake, seen):
                version.against.add(mistake.name)
                return True
        return False

    def _remembered(self, case: Case) -> Evidence | None:
        small = sum(spec.nbytes for spec in case.inputs) <= _SMALL
        return self._recall(case) if small else None

    def _those_that_do(self, mistakes: Sequence[Mistake], evidence: Evidence) -> list[Mistake]:
        return [one for one in mistakes if self._does(reproduces, one, evidence)]

    def _does(
        self, what: Callable[[Mistake, Evidence], bool], mistake: Mistake, evidence: Evidence
    ) -> bool:
        try:
            return what(mistake, evidence)
        # A node that the author of a mistake did not think of is no reason to end a run.
        except Exception as error:
            self._broken[mistake.name] = f"{type(error).__name__}: {error}"
            return False

    def _excuses(self) -> list[Diagnosis]:
        """What went wrong in opcheck itself meanwhile, told once."""
        broken, self._broken = self._broken, {}
        said = "a mistake of opcheck's own could not be tried"
        return [Diagnosis(None, f"{said}: {name}: {how}") for name, how in broken.items()]


def _spelt(mistake: Mistake) -> Diagnosis:
    return Diagnosis(mistake.name, f"as if {mistake.text}")


def _is_right(rounded: Evidence) -> bool:
    """Whether the answer would pass, sums of powers beyond the narrower type's range included."""
    assert rounded.got is not None
    compared = [compare_outputs(wants, rounded.got) for wants in rounded.admitted]
    return any(all(one.problem is None or one.tier == "range" for one in c) for c in compared)
