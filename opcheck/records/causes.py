"""All failures of a backend summed up by their causes."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

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
    "timeout": "hangs",
    "oom": "takes too much memory",
    "unstable": "answers otherwise from run to run",
}
#: In front of how failures fail that have no cause in common.
UNEXPLAINED = "not explained"


@dataclass(frozen=True)
class Cause:
    """What failures have in common, the operators and dtypes they are about, and how many.

    `results` are the failures themselves. It is `explained` unless it only says how they fail.
    """

    mistake: str | None
    text: str
    ops: tuple[str, ...]
    dtypes: tuple[str, ...]
    failures: int
    explained: bool = True
    counts: tuple[int, int, int, int] | None = None
    results: tuple[Record, ...] = field(default=(), compare=False, repr=False)

    @property
    def looks(self) -> str:
        """What they look like, with the name of the mistake, and what speaks for it."""
        return str(Diagnosis(self.mistake, self.text, self.counts))

    @property
    def places(self) -> tuple[str, ...]:
        """The operators, and the dtype if there is but one."""
        return (*self.ops, *(self.dtypes if len(self.dtypes) == 1 else ()))


def causes(results: Iterable[Record]) -> list[Cause]:
    """The causes of one backend's failures, which are `results`, the most frequent first.

    Each failure counts for one; last come those without any, by how they fail.
    """
    return [_cause(diagnosis, alike) for diagnosis, alike in by_cause(results)]


def number_of(causes: Iterable[Cause]) -> int:
    """Return how many things are wrong: two mistakes made at once count as each of them."""
    explained = [cause for cause in causes if cause.explained]
    named = {part for one in explained if one.mistake for part in one.mistake.split("+")}
    return len(named) + sum(one.mistake is None for one in explained)


def by_cause(results: Iterable[Record]) -> list[tuple[Diagnosis, list[Record]]]:
    """The same causes, each with its failures; a failure's first diagnosis is its cause."""
    found: dict[tuple[bool, Diagnosis], list[Record]] = defaultdict(list)
    for result in results:
        first = next(iter(result.diagnoses), None)
        if first and (first.mistake or first.counts):
            found[True, first].append(result)
        else:
            way = WAYS.get(result.failure, str(result.verdict))
            found[False, Diagnosis(None, f"{UNEXPLAINED}: {way}")].append(result)
    ordered = sorted(found.items(), key=lambda item: (not item[0][0], -len(item[1])))
    return [(diagnosis, alike) for (_, diagnosis), alike in ordered]


def _cause(diagnosis: Diagnosis, results: list[Record]) -> Cause:
    ops = dict.fromkeys(str(result.op) for result in sorted(results, key=lambda r: r.op))
    dtypes = dict.fromkeys(result.dtype for result in results if result.dtype)
    return Cause(
        diagnosis.mistake,
        diagnosis.text,
        tuple(ops),
        tuple(sorted(dtypes)),
        len(results),
        not diagnosis.text.startswith(UNEXPLAINED),
        _counts(results),
        tuple(results),
    )


def _counts(results: Iterable[Record]) -> tuple[int, int, int, int] | None:
    """What speaks for a cause: the counts of its operators, each learned by itself, together."""
    first = {(one.op.domain, one.op.name): one.diagnoses[0] for one in results if one.diagnoses}
    counts = [diagnosis.counts for diagnosis in first.values() if diagnosis.counts]
    if not counts:
        return None
    here, such, elsewhere, others = map(sum, zip(*counts, strict=True))
    return here, such, elsewhere, others
