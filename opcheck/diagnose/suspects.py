"""The mistakes that a backend seems to make, known better with each of its answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.likeness import contradicts, reproduces
from opcheck.diagnose.numbers import resemblance
from opcheck.diagnose.precision import narrower
from opcheck.engine.mistakes import Mistake, mistakes_of
from opcheck.model import Case, Diagnosis, OpVersion

#: Of so many failures of each version are all mistakes tried; later only those that explained one
#: before, unless none of them fits.
_THOROUGHLY = 12
#: The largest input on which mistakes are tried, and of a pass that is looked at, in bytes.
_LARGEST = 8 << 20
_SMALL = 16 << 10

#: What is to be known of a case that passed, None where that is no evidence.
Recall: TypeAlias = Callable[[Case], Evidence | None]


@dataclass
class _Version:
    """What is known of one version: its failures, and one pass of every name and dtype."""

    failures: int = 0
    passes: dict[tuple[str, str], Case] = field(default_factory=dict)
    evidence: dict[str, Evidence | None] = field(default_factory=dict)
    #: For each mistake how many of the passes were held against it, and whether one speaks for it.
    asked: Counter[str] = field(default_factory=Counter)
    against: set[str] = field(default_factory=set)


class Suspects:
    """What was found of one backend; the results have to come in a fixed order.

    That is so because what explained the most failures is named first.
    """

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        #: By operator, how many failures each mistake explains.
        self._explained: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._broken: dict[str, str] = {}
        self._versions: dict[OpVersion, _Version] = defaultdict(_Version)

    def passed(self, case: Case) -> None:
        """Remember a case that passed: what it would have failed is no cause of other failures."""
        key = case.name, str(case.dtype)
        self._versions[case.op].passes.setdefault(key, case)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        """The mistakes that reproduce a failure, or else what its numbers have in common.

        First those that no pass speaks against, of these the one that explains the most failures
        up to now, among equals the most specific. Refusals that a pass speaks against are left
        out: who takes it once does not refuse it. Empty where nothing fits.
        """
        op = evidence.node.op
        explained, version = self._explained[op.domain, op.name], self._versions[op]
        version.failures += 1
        mistakes = mistakes_of(op) if evidence.nbytes <= _LARGEST else ()
        before = [mistake for mistake in mistakes if mistake.name in explained]
        thoroughly = version.failures <= _THOROUGHLY
        found = self._reproducing(mistakes if thoroughly else before, evidence)
        if not (found or thoroughly):
            found = self._reproducing([one for one in mistakes if one not in before], evidence)
        free = [one for one in found if not self._is_contradicted(one, version)]
        if evidence.got is None:
            found = free
        said = [Diagnosis(one.name, f"as if {one.text}") for one in found]
        if poorer := narrower(evidence):
            said.append(poorer)
        explained.update(one.mistake for one in said if one.mistake)
        doubtful = {one.name for one in found} - {one.name for one in free}
        said.sort(key=lambda one: (one.mistake in doubtful, -explained[str(one.mistake)]))
        if not said and (seen := resemblance(evidence)):
            said.append(Diagnosis(None, seen))
        return (*said, *self._excuses())

    def _reproducing(self, mistakes: Sequence[Mistake], evidence: Evidence) -> list[Mistake]:
        return [one for one in mistakes if self._does(reproduces, one, evidence)]

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
