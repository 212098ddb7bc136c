"""The failures of a backend, grouped by cause."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from opcheck.model import Diagnosis, Failure, Record

#: How a backend fails, in words that fit before "where".
WAYS: dict[Failure | None, str] = {
    "count": "gives a wrong number of outputs",
    "type": "gives an output that is no tensor",
    "dtype": "gives an output of the wrong type",
    "shape": "gives an output of the wrong shape",
    "values": "gives wrong values",
    "precision": "is less precise than expected",
    "declared": "gives another output than it declared",
    "accepted": "accepts an invalid model",
    "raised": "refuses the model",
    "crash": "dies",
    "stray_crash": "dies of what was asked before",
    "timeout": "hangs",
    "oom": "takes too much memory",
    "unstable": "answers otherwise from run to run",
}


@dataclass(frozen=True)
class Cause:
    """Failures with one diagnosis; not `explained` if it only says how they fail."""

    diagnosis: Diagnosis
    results: tuple[Record, ...]
    explained: bool = True

    @property
    def looks(self) -> str:
        """The diagnosis with the mutant's name and its evidence."""
        return str(replace(self.diagnosis, counts=_counts(self.results)))

    @property
    def places(self) -> tuple[str, ...]:
        """The operators, and the dtype if there is but one."""
        ops = dict.fromkeys(str(result.op) for result in sorted(self.results, key=lambda r: r.op))
        dtypes = {result.dtype for result in self.results if result.dtype}
        return (*ops, *(dtypes if len(dtypes) == 1 else ()))


def number_of(causes: Iterable[Cause]) -> int:
    """Return the number of mistakes; a diagnosis that combines two mutants counts as both."""
    mistakes = [cause.diagnosis.mistake for cause in causes if cause.explained]
    return len({part for one in mistakes if one for part in one.split("+")}) + mistakes.count(None)


def causes(results: Iterable[Record]) -> list[Cause]:
    """Group the failures of one backend by their first diagnosis, the most frequent first.

    Failures without a diagnosis come last, grouped by how they fail.
    """
    found: dict[tuple[bool, Diagnosis], list[Record]] = defaultdict(list)
    for result in results:
        first = next(iter(result.diagnoses), None)
        if first and (first.mistake or first.counts):
            found[True, first].append(result)
        else:
            way = WAYS.get(result.failure, str(result.verdict))
            found[False, Diagnosis(None, f"not explained: {way}")].append(result)
    ordered = sorted(found.items(), key=lambda item: (not item[0][0], -len(item[1])))
    return [Cause(diagnosis, tuple(alike), known) for (known, diagnosis), alike in ordered]


def _counts(results: Iterable[Record]) -> tuple[int, int, int, int] | None:
    """Sum the evidence for a cause over its operators."""
    first = {(one.op.domain, one.op.name): one.diagnoses[0] for one in results if one.diagnoses}
    counts = [diagnosis.counts for diagnosis in first.values() if diagnosis.counts]
    if not counts:
        return None
    here, such, elsewhere, others = map(sum, zip(*counts, strict=True))
    return here, such, elsewhere, others
