"""Pure functions on stored runs: exit codes, causes of failures, comparison and merging.

Results of two runs are matched by case and backend address. A regression is a result that became
red, or that is no longer judged.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, TypeAlias

from opcheck import model
from opcheck.errors import Exit, UsageError, few, plural
from opcheck.grouping import group_by, sure
from opcheck.model import WRONG, Diagnosis, Ending, Failure, Header, Record, Run, Verdict
from opcheck.reading import quoted

_REMARKS = (Verdict.WARN, Verdict.DIFFER, Verdict.UNSUPPORTED)
UNJUDGED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE)
#: Runs that began more hours apart are hardly parts of one; two nightly runs lie further apart.
APART = 12.0


def reds(*, strict: bool = False, require_supported: bool = False) -> frozenset[Verdict]:
    """The verdicts that make a run fail."""
    asked = {Verdict.WARN: strict, Verdict.UNSUPPORTED: require_supported}
    return frozenset([*WRONG, Verdict.UNEXPECTED_PASS, *(one for one in asked if asked[one])])


def reds_of(header: Header) -> frozenset[Verdict]:
    """The verdicts that made this run fail."""
    return reds(strict=header.strict, require_supported=header.require_supported)


def is_red(result: Record | model.LiveResult, red: Collection[Verdict]) -> bool:
    """Return True if a result fails a run in which these verdicts are red."""
    excused = result.inexpressible and not result.beyond
    return result.unexpected or (result.verdict in red and not excused)


def is_failure(result: Record | model.LiveResult, red: Collection[Verdict]) -> bool:
    """Return True if a result is shown in full and counts for --max-fail: red, or a bad case."""
    return result.verdict is Verdict.BAD_CASE or is_red(result, red)


def status(
    header: Header,
    results: Iterable[Record],
    ending: Ending | None = None,
    *,
    interrupted: bool = False,
    cut_short: bool = False,
    too_few: Sequence[str] = (),
) -> tuple[Exit, str]:
    """Return the first exit code of a run that applies, in the order of `Exit`, and its meaning.

    Each backend that the user named must be judged on something; of others, one is enough. Only
    accidents of the `ending` make a run fail, partings do not. A stored run is `cut_short` if
    results are missing because of -x or --max-fail. `too_few` says why cases are missing that the
    run should have had.
    """
    if interrupted:
        return Exit.INTERRUPTED, "interrupted: the run is incomplete"
    findings = _Findings(header, [*results], ending or Ending())
    return (
        findings.bad_cases()
        or findings.missing(cut_short=cut_short, too_few=too_few)
        or findings.failures()
        or findings.nothing()
        or findings.conforming()
    )


@dataclass(frozen=True)
class _Findings:
    """The results of a run, and the exit codes that they could mean, None where one does not."""

    header: Header
    results: Sequence[Record]
    ending: Ending

    def bad_cases(self) -> tuple[Exit, str] | None:
        """Return that cases are wrong, so that no backend is judged by them."""
        if not (count := self._count(Verdict.BAD_CASE)):
            return None
        say = "says" if count == 1 else "say"
        return Exit.USAGE, f"{plural(count, 'result')} {say} that the case is wrong{self._also}"

    def missing(self, *, cut_short: bool, too_few: Sequence[str]) -> tuple[Exit, str] | None:
        """Return that results are missing, or that some were not run."""
        if too_few:
            return Exit.UNUSABLE, f"incomplete: {'; '.join(too_few)}{self._also}"
        if cut_short:
            count, total = len(self.results), self.header.results
            there = f"{count:,} of {plural(total, 'result')}"
            if count == total:  # see `too_few`
                there = "it lacks cases that it should have had"
            return Exit.UNUSABLE, f"incomplete: {there}{self._also}"
        if count := self._count(Verdict.NOT_RUN):
            return Exit.UNUSABLE, f"incomplete: {count:,} not run{self._also}"
        return None

    def failures(self) -> tuple[Exit, str] | None:
        """Return that results are red, or that workers died of nothing that was asked."""
        if not self._wrong:
            return None
        return Exit.NONCONFORMING, f"does not conform: {'; '.join(self._wrong)}"

    def nothing(self) -> tuple[Exit, str] | None:
        """Return that there is no result, or that a backend that was named has no judged one."""
        header, idle = self.header, self._idle
        if not self.results:
            is_empty_part = header.part and header.suite.cases
            matched = f"{header.part} has no case" if is_empty_part else "no case matched"
            return Exit.NOTHING_JUDGED, f"nothing was judged: {matched}"
        are_all_idle = len(idle) == len(header.backends)
        if not idle or not (header.named or are_all_idle):
            return None
        what = "nothing was judged" if are_all_idle else "not all were judged"
        by_reason = group_by(idle, idle.__getitem__).items()
        reasons = "; ".join(f"{', '.join(addresses)} {why}" for why, addresses in by_reason)
        return Exit.NOTHING_JUDGED, f"{what}: {reasons}"

    def conforming(self) -> tuple[Exit, str]:
        """Return that nothing is unexpected, with all that is remarkable."""
        judged = plural(sum(map(is_judged, self.results)), "result")
        wrong = self._known_and_wrong()
        head = f"nothing new: {judged}" if wrong else f"conforms: {judged}, nothing unexpected"
        return Exit.CONFORMS, "; ".join([head, *wrong, *self._remarks()])

    def _count(self, verdict: Verdict) -> int:
        return sum(result.verdict is verdict for result in self.results)

    @cached_property
    def _wrong(self) -> list[str]:
        """What is red: results by verdict, those that opcheck cannot judge, and accidents."""
        red = reds_of(self.header)
        failed = [result for result in self.results if is_red(result, red)]
        wrong = [_spelt(Counter(result.verdict for result in failed))] if failed else []
        if beyond := sum(result.beyond for result in failed):
            wrong.append(f"{beyond:,} of these unsupported by opcheck, not by a backend")
        return [*wrong, *self.ending.accidents]

    @property
    def _also(self) -> str:
        """What is red, behind another reason that comes first."""
        return "".join(f"; {message}" for message in self._wrong)

    @cached_property
    def _idle(self) -> dict[str, str]:
        """Why backends, by address, were judged on nothing."""
        by_backend = group_by(self.results, lambda result: result.backend)
        reasons = {
            backend.address: _why_idle(by_backend.get(backend.address, []))
            for backend in self.header.backends
        }
        return {address: why for address, why in reasons.items() if why}

    def _known_and_wrong(self) -> list[str]:
        """Count the wrong results that ledgers excuse, by backend, in one remark."""
        known = (result for result in self.results if result.verdict is Verdict.KNOWN)
        counts = Counter(result.backend for result in known if is_wrong(result))
        if not counts:
            return []
        (first, count), *others = counts.items()
        remark = f"{first} is wrong on {plural(count, 'known case')}"
        return [remark + "".join(f", {name} on {count:,}" for name, count in others)]

    def _remarks(self) -> Iterator[str]:
        """Yield what a green run should not be silent about."""
        found = Counter(map(before_ledgers, self.results))
        if remarkable := _spelt({verdict: found[verdict] for verdict in _REMARKS}):
            yield remarkable
        if other := sum(result.irreproducible for result in self.results):
            yield f"{other:,} not reproducible to the bit"
        for address, why in self._idle.items():
            yield f"{address} {why}"
        passed = {result.backend for result in self.results if result.verdict is not Verdict.KNOWN}
        for backend in self.header.backends:
            if backend.address not in {*passed, *self._idle}:
                yield f"{backend.address} passed no case: all that it fails is listed"
        if self.header.part:
            yield f"{self.header.part} only"
        yield from several_builds(self.header)
        yield from self.ending.partings


def outcome(run: Run) -> tuple[Exit, str]:
    """Return exit code and message of a stored run; without all results it is incomplete."""
    return status(run.header, model.light(run.records), run.ending, cut_short=not run.complete)


def several_builds(whole: Header) -> Iterator[str]:
    """Yield backends that were built from different files in parts of a run, with these files."""
    for info in (*whole.backends, *whole.oracles):
        if unlike := [name for name, digests in info.made_of.items() if ", " in digests]:
            yield f"{info} was not made of the same everywhere: {', '.join(unlike)}"


def _why_idle(mine: Sequence[Record]) -> str:
    """Return why a backend with these results was judged on nothing, or ""."""
    judged = [result for result in mine if is_judged(result)]
    # Agreeing with itself proves nothing; the engine's exact mode is another answer.
    alone = (r.verdict is Verdict.PASS and r.self_check and (r.oracle or r.against) for r in judged)
    if judged and all(alone):
        return "was compared with itself only"
    declined = any(before_ledgers(result) is Verdict.UNSUPPORTED for result in mine)
    # Refusing invalid models proves nothing if no legal model of the dtype is supported.
    idle = all(result.refused for result in judged) and (declined or not judged)
    if idle and mine and all(result.beyond for result in mine):
        return "was asked nothing that opcheck itself can judge"
    return "supported no case" if idle else ""


def before_ledgers(result: Record) -> Verdict:
    """Return the verdict that a result had before any ledger excused it."""
    return result.verdict if result.verdict is not Verdict.KNOWN else result.found or Verdict.FAIL


def is_wrong(result: Record) -> bool:
    """Return True if the backend is wrong, be it listed or not."""
    verdict = before_ledgers(result)
    # Answers that differ accuse nobody.
    return verdict in WRONG and verdict is not Verdict.DIFFER


def is_judged(result: Record) -> bool:
    """Return True if the result judges a computed answer, not a known lack of support."""
    return before_ledgers(result) not in UNJUDGED


def _spelt(counts: Mapping[Verdict, int]) -> str:
    return ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in Verdict if counts.get(verdict))


#: How a backend fails, in words that fit before "where".
WAYS: dict[Failure | None, str] = {
    "count": "gives a wrong number of outputs",
    "type": "gives an output that is no tensor",
    "dtype": "gives an output of the wrong type",
    "shape": "gives an output of the wrong shape",
    "values": "gives wrong values",
    "other_data": "is wrong on other data",
    "distribution": "gives numbers of another distribution",
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


class Cause(NamedTuple):
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
    """Return the number of causes; one that combines two mutants counts as both of these."""
    mistakes = [cause.diagnosis.mistake for cause in causes if cause.explained]
    # A mutant is another cause under another condition.
    single = [one for one in mistakes if one is None or "+" not in one]
    parts = {part for one in mistakes if one for part in one.split("+")}
    return len(single) + len(parts - {*single})


def causes(results: Iterable[Record]) -> list[Cause]:
    """Group the failures of one backend by their first diagnosis, the most frequent first."""
    found: dict[tuple[bool, Diagnosis], list[Record]] = defaultdict(list)
    for result in results:
        if (first := next(iter(result.diagnoses), None)) and (first.mistake or first.counts):
            found[True, first].append(result)
        else:  # those without a diagnosis come last, grouped by how they fail
            way = WAYS.get(result.failure, str(result.verdict))
            found[False, Diagnosis(None, f"not explained: {way}")].append(result)
    ordered = sorted(found.items(), key=lambda item: (not item[0][0], -len(item[1])))
    return [Cause(diagnosis, tuple(alike), known) for (known, diagnosis), alike in ordered]


def _counts(results: Iterable[Record]) -> tuple[int, int, int, int] | None:
    first = {(one.op.domain, one.op.name): one.diagnoses[0] for one in results if one.diagnoses}
    if not (counts := [diagnosis.counts for diagnosis in first.values() if diagnosis.counts]):
        return None
    here, such, elsewhere, others = map(sum, zip(*counts, strict=True))
    return here, such, elsewhere, others


class ChangeKind(StrEnum):
    """The kinds of change of a result, in the order of reports."""

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


_WORSE = "FAILS UNLISTED LOST NOT_RUN BAD_CASE VANISHED".split()
REGRESSIONS = frozenset(ChangeKind[name] for name in _WORSE)


class Change(NamedTuple):
    """A result that changed; None where there is none."""

    kind: ChangeKind
    old: Record | None
    new: Record | None

    @property
    def record(self) -> Record:
        """The newer of the two."""
        return sure(self.new or self.old)


@dataclass(frozen=True)
class Difference:
    """All changes, ordered by kind and case, and the number of results `compared`."""

    changes: tuple[Change, ...]
    compared: int
    #: Results of the old run that the new one was not asked for.
    left_out: tuple[Record, ...]
    #: Results that were so in both; the latter by verdict.
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
    heads = old.header, new.header
    as_found = len({(head.known, bool(head.ledgers)) for head in heads}) > 1
    before, after = (
        {(one.case, one.backend): without_ledgers(one, as_found) for one in run.records}
        for run in (old, new)
    )
    red = [*map(reds_of, heads)]
    asked = {(head.selection, head.paths, head.shard, head.seed) for head in heads}
    # Otherwise a result that is missing in the new run was not asked for.
    same_request = new.complete and len(asked) == 1
    addresses = {backend.address for backend in new.header.backends}
    changes, left_out, pairs = [], [], []
    for pair in {**before, **after}:
        was, now = before.get(pair), after.get(pair)
        if was and not now and not (same_request and was.backend in addresses):
            left_out.append(was)
            continue
        if was and now and was.digest == now.digest:
            pairs.append((was, now))
        failed = was is not None and is_red(was, red[0])
        fails = now is not None and is_red(now, red[1])
        if kind := _kind(was, now, failed, fails):
            changes.append(Change(kind, was, now))
    changes.sort(key=lambda change: [*ChangeKind].index(change.kind))
    failing = sum(is_red(was, red[0]) and is_red(now, red[1]) for was, now in pairs)
    same = Counter(now.verdict for was, now in pairs if was.verdict is now.verdict)
    idle = {verdict: same[verdict] for verdict in UNJUDGED if same[verdict]}
    return Difference(tuple(changes), len(pairs), tuple(left_out), failing, idle)


def judged(old: Run, new: Run, found: Difference, *, common: bool = False) -> tuple[Exit, str]:
    """The exit code and its meaning; if `common`, the new run may have been asked for less."""
    messages = [f"{count:,} {kind}" for kind, count in found.counts().items()]
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
    if accidents := new_accidents(old, new):
        return Exit.NONCONFORMING, "; ".join([*accidents, said])
    if found.regressions:
        return Exit.NONCONFORMING, said
    if found.compared == sum(found.unjudged.values()):
        return Exit.NOTHING_JUDGED, f"nothing could be compared; {said}"
    return Exit.CONFORMS, f"no regression: {said}"


def new_accidents(old: Run, new: Run) -> tuple[str, ...]:
    """Return the processes that died between questions in the new run, if none did in the old."""
    if new.ending is None or (old.ending and old.ending.accidents):
        return ()
    return new.ending.accidents


def without_ledgers(record: Record, as_found: bool) -> Record:
    """Undo an unexpected pass, and if `as_found` all that ledgers made of a record."""
    # An outdated ledger says nothing about the backend.
    if record.verdict is Verdict.UNEXPECTED_PASS:
        record = replace(record, verdict=Verdict.PASS, known=None, unexpected=False)
    if not as_found:
        return record
    if record.verdict is not Verdict.KNOWN or record.found is None:
        return replace(record, known=None, unexpected=False)
    return replace(record, verdict=record.found, known=None)


def _kind(was: Record | None, now: Record | None, failed: bool, fails: bool) -> ChangeKind | None:
    """Return how a result changed that `failed` and now `fails`, None if it did not."""
    if was is None:
        return ChangeKind.FAILS if fails else ChangeKind.APPEARED
    if now is None:
        return ChangeKind.VANISHED
    if fails and not failed:
        return ChangeKind.UNLISTED if was.verdict is Verdict.KNOWN else ChangeKind.FAILS
    if was.digest != now.digest:
        return _kind_of_edited(was, now)
    if fails or was.verdict is now.verdict:
        if fails and (_cause(was) != _cause(now) or _looks_otherwise(was, now)):
            return ChangeKind.OTHERWISE
        if was.verdict is Verdict.KNOWN and _listed(was) != _listed(now):
            return ChangeKind.OTHERWISE
        answers = was.verdict is Verdict.PASS and was.alternative != now.alternative
        return ChangeKind.ANSWERS if answers else None
    warned = was.verdict is Verdict.WARN and not failed
    return {
        Verdict.PASS: ChangeKind.UNWARNED if warned else ChangeKind.PASSES,
        Verdict.KNOWN: ChangeKind.LISTED,
        Verdict.WARN: ChangeKind.WARNS,
        Verdict.UNSUPPORTED: ChangeKind.LOST if _was_good(was) else ChangeKind.DECLINES,
        Verdict.NOT_RUN: ChangeKind.NOT_RUN,
    }.get(now.verdict, ChangeKind.BAD_CASE)


def _kind_of_edited(was: Record, now: Record) -> ChangeKind:
    """Return how the result of a case that was edited changed, if it does not fail anew.

    Its answer is another, and is not compared. That it is no longer judged is a regression.
    """
    if now.verdict is Verdict.UNSUPPORTED and _was_good(was):
        return ChangeKind.LOST
    if now.verdict is Verdict.NOT_RUN:
        return ChangeKind.NOT_RUN
    if now.verdict is Verdict.BAD_CASE:
        return ChangeKind.BAD_CASE
    return ChangeKind.CHANGED


def _was_good(was: Record) -> bool:
    return was.verdict in (Verdict.PASS, Verdict.WARN)


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
    said = ([d for d in one.diagnoses if d.mistake or not d.counts] for one in (was, now))
    looks = [{one.mistake or one.text for one in some} for some in said]
    return all(looks) and looks[0] != looks[1]


def differences(old: Header, new: Header) -> dict[str, tuple[str, str]]:
    """Return the settings that differ between two runs, with both values; "" if missing."""
    return unlike(_facts(old), _facts(new))


def unlike(was: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the facts that differ, with both texts; "" where one is missing."""
    both = {name: (was.get(name, ""), now.get(name, "")) for name in {**was, **now}}
    return {name: (one, other) for name, (one, other) in both.items() if one != other}


def rules(header: Header) -> Mapping[str, str]:
    """Return the settings that can change a verdict, in words; "" is the default."""
    return {
        "known defects": "applied" if header.known else "judged",
        "known failures": ", ".join(f"{name} ({said})" for name, said in header.ledgers.items()),
        "warnings": "red" if header.strict else "",
        "unsupported": "red" if header.require_supported else "",
        "seed": "" if header.seed is None else str(header.seed),
        **header.options,
    }


def _release(info: model.BackendInfo) -> str:
    return " ".join(filter(None, (info.of, info.version)))


def _facts(header: Header) -> Mapping[str, str]:
    about = header.environment
    return {
        "opcheck": about.opcheck,
        "Python": about.python,
        "platform": about.platform,
        **{f"package {name}": version for name, version in about.packages.items()},
        **{f"backend {info.address}": _release(info) for info in header.backends},
        **{f"oracle {info.address}": _release(info) for info in header.oracles},
        "selection": header.selection,
        "paths": " ".join(header.paths),
        "shard": header.part.removeprefix("shard "),
        **rules(header),
    }


#: A run and what to call it.
RunPart: TypeAlias = tuple[str, Run]


def merge(parts: Sequence[RunPart]) -> tuple[Run, tuple[str, ...]]:
    """Merge `parts`, at least one; return the run, in order of cases, and its gaps.

    Raises UsageError with all misfits: another suite, other rules, another opcheck, two versions of
    a backend, a result twice, or backends to be compared with each other in different runs.
    """
    runs = [run for _, run in parts]
    first = runs[0].header
    if wrong := [*_misfits(parts), *_clashes(parts)]:
        raise UsageError("\n".join(dict.fromkeys(wrong)))
    headers = [run.header for run in runs]
    backends = _whole(info for header in headers for info in header.backends)
    header = replace(
        first,
        environment=joined([one.environment for one in headers]),
        backends=tuple(backends.values()),
        oracles=tuple(_whole(info for header in headers for info in header.oracles).values()),
        cases=first.suite.cases,
        started=min((one.started for one in headers), key=datetime.fromisoformat),
        named=any(one.named for one in headers),
        shard=None,
    )
    order = {address: number for number, address in enumerate(backends)}
    every = (record for run in runs for record in run.records)
    records = sorted(every, key=lambda record: (record.place, order[record.backend]))
    lacks = tuple(_lacks(parts, header))
    endings = [run.ending for run in runs if run.ending]
    took = round(sum(one.seconds for one in endings), 3)
    died = tuple(said for one in endings for said in one.accidents)
    left = tuple(said for one in endings for said in one.partings)
    ending = Ending(not lacks, seconds=took, accidents=died, partings=left)
    code, meaning = status(header, records, ending, cut_short=bool(lacks))
    ending = replace(ending, exit_code=int(code), meaning=meaning)
    return Run(header, tuple(records), ending), lacks


def _whole(infos: Iterable[model.BackendInfo]) -> dict[str, model.BackendInfo]:
    """Merge the backends by address, with all digests of their files."""
    found: dict[str, model.BackendInfo] = {}
    for info in infos:
        both = found.get(info.address, info).made_of, info.made_of
        made = {n: _each(one.get(n, "none") for one in both) for n in {**both[0], **both[1]}}
        found[info.address] = replace(info, made_of=made)
    return found


def apart(one: Header, other: Header) -> float:
    """Return the hours between the starts of two runs."""
    first, second = (datetime.fromisoformat(header.started) for header in (one, other))
    return (second - first).total_seconds() / 3600


def _misfits(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield why parts do not fit the first part or each other."""
    first, run = parts[0]
    one = run.header
    shards: dict[int, str] = {}
    known: dict[tuple[str, str], tuple[model.BackendInfo, str]] = {}
    for number, (name, run) in enumerate(parts):
        other = run.header
        both = f"{first} and {name}"
        if other.suite != one.suite:
            counts = f"{one.suite.cases:,} and {other.suite.cases:,} cases"
            yield f"{both} are of different suites, of {counts}"
        if other_rules := unlike(rules(one), rules(other)):
            yield f"{both} were judged by different rules: {', '.join(sorted(other_rules))}"
        if other.shard and shards.setdefault(other.shard[1], name) == name:
            counted = ", ".join(f"{count} ({where})" for count, where in shards.items())
            if len(shards) > 1:
                yield f"the shards are counted differently: of {counted}"
        named = [("", info) for info in other.backends]
        named += [("oracle ", info) for info in other.oracles]
        for what, info in named:
            before, where = known.setdefault((what, info.address), (info, name))
            if before != info:
                versions = before.version, info.version
                how = " and ".join(versions) if versions[0] != versions[1] else "other settings"
                yield f"{what}{quoted(info.address)} has {how} in {where} and {name}"
        ours, theirs = one.environment.opcheck, other.environment.opcheck
        if theirs != ours:
            yield f"{both} are of opcheck {ours} and {theirs}"
        for earlier, before_it in parts[:number]:  # such as a report of last night
            hours = abs(apart(before_it.header, other))
            made = {info.address: info.made_of for info in before_it.header.backends}
            for info in other.backends if hours > APART else ():
                if made.get(info.address, info.made_of) != info.made_of:
                    both = f"{earlier} and {name} began {hours:,.1f} hours apart"
                    yield f"{both}, with other files of {quoted(info.address)}"


def _clashes(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield results in two parts, and cases that differ between them, or are compared apart."""
    first: dict[tuple[str, str], int] = {}
    cases: dict[str, tuple[int, str]] = {}
    twice: dict[tuple[int, int], list[Record]] = {}
    compared: dict[str, int] = {}
    torn: dict[tuple[int, int], str] = {}
    for number, (name, run) in enumerate(parts):
        for record in run.records:
            case = quoted(record.case)
            if (other := first.setdefault((record.case, record.backend), number)) != number:
                twice.setdefault((other, number), []).append(record)
            about = record.place, record.digest
            if cases.setdefault(record.case, about) != about:
                yield f"{name} has another case {case} than the runs before it"
            # Parts may compare different backends with each other.
            by_others = record.against and not record.oracle
            if by_others and (other := compared.setdefault(record.case, number)) != number:
                torn.setdefault((other, number), case)
    for (one, other), records in twice.items():
        named = few([f"{quoted(r.backend)} on {quoted(r.case)}" for r in records], 3)
        yield f"results that stand in both {parts[one][0]} and {parts[other][0]}: {named}"
    for (one, other), case in torn.items():
        both = f"{parts[one][0]} and {parts[other][0]}"
        yield f"{both} compare other backends with each other on {case}"


def _lacks(parts: Sequence[RunPart], header: Header) -> Iterator[str]:
    for name in (name for name, run in parts if run.ending is None):
        yield f"{name} was cut short, and nobody knows how it ended"
    for name, run in parts:
        if run.ending and not run.complete and len(run.records) == run.header.results:
            yield f"{name} lacks cases that it should have had"
    for backend in header.backends:
        mine = [(name, run) for name, run in parts if backend in run.header.backends]
        counts = [sum(one.backend == backend.address for one in run.records) for _, run in mine]
        if sum(counts) == header.suite.cases:
            continue
        yield f"{backend.address}: {sum(counts):,} of {header.suite.cases:,} results"
        for (name, run), count in zip(mine, counts, strict=True):
            if count < run.header.cases:
                yield f"  {name} has {count:,} of {run.header.cases:,}"
        shards = [run.header.shard for _, run in mine]
        there = {shard[0] for shard in shards if shard}
        total = max((shard[1] for shard in shards if shard), default=0)
        missing = sorted({*range(1, total + 1)} - there) if all(shards) else ()
        yield from (f"  shard {number} of {total} is missing" for number in missing)


def joined(all_: Sequence[model.Environment]) -> model.Environment:
    """Merge environments; values that differ are listed once each."""
    names = dict.fromkeys(name for one in all_ for name in one.packages)
    packages = {n: _each(one.packages[n] for one in all_ if n in one.packages) for n in names}
    texts = zip(*((one.opcheck, one.python, one.platform) for one in all_), strict=True)
    opcheck, python, platform = map(_each, texts)
    return model.Environment(opcheck, python, platform, packages)


def _each(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(part for value in values for part in value.split(", ")))
