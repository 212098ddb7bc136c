"""Changes from one stored run to another.

Results are matched by case and backend address. A regression is a result that became red, or that
is no longer judged.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from opcheck.analysis.status import UNJUDGED, is_red, reds_of
from opcheck.errors import Exit
from opcheck.model import OpVersion, Record, Run, Verdict

#: A pass is reported if its share of the allowed error grew by more than GREW and exceeds NEAR.
#: Between machines and numbers of threads, shares of equally good kernels differ by hundredths.
GREW, NEAR = 0.1, 0.5


class ChangeKind(StrEnum):
    """How a result changed; in the order of reports."""

    FAILS = "newly failing"
    UNLISTED = "failing, and no longer as known"
    LOST = "no longer supported"
    NOT_RUN = "no longer run"
    BAD_CASE = "the case is wrong now"
    VANISHED = "missing"
    PASSES = "newly passing"
    OTHERWISE = "failing otherwise"
    LISTED = "known now"
    WARNS = "warning now"
    UNWARNED = "warning no longer"
    ANSWERS = "answering otherwise where several answers are right"
    DECLINES = "unsupported now, and not right before"
    CHANGED = "another case now, not compared"
    APPEARED = "new, and not failing"


REGRESSIONS = frozenset(
    ChangeKind[name] for name in "FAILS UNLISTED LOST NOT_RUN BAD_CASE VANISHED".split()
)


@dataclass(frozen=True)
class Change:
    """A result that changed; None where there is none."""

    kind: ChangeKind
    old: Record | None
    new: Record | None

    @property
    def record(self) -> Record:
        """The newer of the two."""
        found = self.new or self.old
        assert found is not None
        return found


@dataclass(frozen=True)
class Growth:
    """Largest share of the allowed error over results that passed in both runs."""

    op: OpVersion
    dtype: str | None
    backend: str
    old: float
    new: float


@dataclass(frozen=True)
class Difference:
    """All changes, ordered by kind and case.

    `compared` is the number of matched results. `left_out` are results of the old run that the new
    one was not asked for. `failing` and `unjudged` (by verdict) count what was so in both.
    """

    changes: tuple[Change, ...]
    growths: tuple[Growth, ...]
    compared: int
    left_out: tuple[Record, ...]
    failing: int = 0
    unjudged: Mapping[Verdict, int] = field(default_factory=dict)

    @property
    def regressions(self) -> int:
        """Number of regressions."""
        return sum(change.kind in REGRESSIONS for change in self.changes)

    def counts(self) -> dict[ChangeKind, int]:
        """Number of changes of each kind that occurs."""
        found = Counter(change.kind for change in self.changes)
        return {kind: found[kind] for kind in ChangeKind if found[kind]}


def compare(old: Run, new: Run) -> Difference:
    """Compare two runs; known defects that were applied in one of them only count in neither."""
    applied = [(run.header.known, bool(run.header.ledgers)) for run in (old, new)]
    as_found = applied[0] != applied[1]
    before, after = (
        {pair: _without_ledgers(one, as_found) for pair, one in run.by_pair.items()}
        for run in (old, new)
    )
    heads = old.header, new.header
    red = reds_of(old.header), reds_of(new.header)
    asked = {(head.selection, head.paths, head.shard, head.seed) for head in heads}
    # Otherwise a result that is missing in the new run was not asked for.
    same_request = new.complete and len(asked) == 1
    addresses = {backend.address for backend in new.header.backends}
    changes, left_out, pairs = [], [], []
    for pair, was in before.items():
        now = after.get(pair)
        if now is None and not (same_request and was.backend in addresses):
            left_out.append(was)
            continue
        if now is not None and was.digest == now.digest:
            pairs.append((was, now))
        fails = now is not None and is_red(now, red[1])
        if kind := _kind(was, now, is_red(was, red[0]), fails):
            changes.append(Change(kind, was, now))
    for pair, now in after.items():
        if pair not in before:
            kind = ChangeKind.FAILS if is_red(now, red[1]) else ChangeKind.APPEARED
            changes.append(Change(kind, None, now))
    changes.sort(key=lambda change: [*ChangeKind].index(change.kind))
    failing = sum(is_red(was, red[0]) and is_red(now, red[1]) for was, now in pairs)
    same = Counter(now.verdict for was, now in pairs if was.verdict is now.verdict)
    idle = {verdict: same[verdict] for verdict in UNJUDGED if same[verdict]}
    growths = tuple(_growths(pairs))
    return Difference(tuple(changes), growths, len(pairs), tuple(left_out), failing, idle)


def judged(old: Run, new: Run, found: Difference, *, common: bool = False) -> tuple[Exit, str]:
    """The exit code and its meaning; if `common`, the new run may have been asked for less."""
    messages = [f"{count:,} {kind}" for kind, count in found.counts().items()]
    messages += [f"{len(found.growths):,} nearer to the limit"] * bool(found.growths)
    messages = messages or [f"{found.compared:,} results are as they were"]
    others = {"left out": len(found.left_out), "failing in both": found.failing}
    others |= {f"{verdict} in both": count for verdict, count in found.unjudged.items()}
    said = "; ".join(messages + [f"{count:,} {what}" for what, count in others.items() if count])
    if short := [name for name, run in (("OLD", old), ("NEW", new)) if not run.complete]:
        return Exit.UNUSABLE, f"incomplete: {' and '.join(short)} was cut short; {said}"
    if found.left_out and not common:
        return Exit.UNUSABLE, f"NEW was asked for less than OLD (--common: no matter); {said}"
    if found.unjudged.keys() - {Verdict.UNSUPPORTED}:
        return Exit.UNUSABLE, f"incomplete: {said}"
    if found.regressions:
        return Exit.NONCONFORMING, said
    if found.compared == sum(found.unjudged.values()):
        return Exit.NOTHING_JUDGED, f"nothing could be compared; {said}"
    return Exit.CONFORMS, f"no regression: {said}"


def _without_ledgers(record: Record, as_found: bool) -> Record:
    """Undo an unexpected pass, and if `as_found` all that ledgers made of a record."""
    # An outdated ledger says nothing about the backend.
    if record.verdict is Verdict.UNEXPECTED_PASS:
        record = replace(record, verdict=Verdict.PASS, known=None, unexpected=False)
    if not as_found:
        return record
    if record.verdict is not Verdict.KNOWN or record.found is None:
        return replace(record, known=None, unexpected=False)
    return replace(record, verdict=record.found, known=None)


def _kind(was: Record, now: Record | None, failed: bool, fails: bool) -> ChangeKind | None:
    """Return how a result changed that `failed` and now `fails`, None if it did not."""
    if now is None:
        return ChangeKind.VANISHED
    if fails and not failed:
        return ChangeKind.UNLISTED if was.verdict is Verdict.KNOWN else ChangeKind.FAILS
    if was.digest != now.digest:
        return ChangeKind.CHANGED
    if fails or was.verdict is now.verdict:
        if fails and (_cause(was) != _cause(now) or _looks_otherwise(was, now)):
            return ChangeKind.OTHERWISE
        if was.verdict is Verdict.KNOWN and _listed(was) != _listed(now):
            return ChangeKind.OTHERWISE
        answers = was.verdict is Verdict.PASS and was.alternative != now.alternative
        return ChangeKind.ANSWERS if answers else None
    good = was.verdict in (Verdict.PASS, Verdict.WARN)
    warned = was.verdict is Verdict.WARN and not failed
    became = {
        Verdict.PASS: ChangeKind.UNWARNED if warned else ChangeKind.PASSES,
        Verdict.KNOWN: ChangeKind.LISTED,
        Verdict.WARN: ChangeKind.WARNS,
        Verdict.UNSUPPORTED: ChangeKind.LOST if good else ChangeKind.DECLINES,
        Verdict.NOT_RUN: ChangeKind.NOT_RUN,
    }
    return became.get(now.verdict, ChangeKind.BAD_CASE)


def _cause(record: Record) -> tuple[object, ...]:
    # Addresses in memory differ between runs.
    return record.verdict, record.failure, re.sub(r"0x[0-9a-fA-F]{6,}", "", record.reason)


def _listed(record: Record) -> tuple[object, ...]:
    """Return a ledger's explanation, without the file."""
    known = record.known
    return (known.cause, known.link, known.expected) if known else ()


def _looks_otherwise(was: Record, now: Record) -> bool:
    """Return True if both failures were diagnosed, and differently; known defects are not."""
    # The order of mistakes, and learned rules, depend on other results.
    looks = [
        {said.mistake or said.text for said in one.diagnoses if said.mistake or not said.counts}
        for one in (was, now)
    ]
    return all(looks) and looks[0] != looks[1]


def _growths(pairs: Iterable[tuple[Record, Record]]) -> Iterator[Growth]:
    most: dict[tuple[OpVersion, str, str], tuple[float, float]] = {}
    for was, now in pairs:
        if was.verdict is now.verdict is Verdict.PASS and was.used is not None:
            key = was.op, was.dtype or "", was.backend
            before, after = most.get(key, (0.0, 0.0))
            most[key] = max(before, was.used), max(after, now.used or 0.0)
    for (op, dtype, backend), (before, after) in sorted(most.items()):
        if after > NEAR and after - before > GREW:
            yield Growth(op, dtype or None, backend, before, after)
