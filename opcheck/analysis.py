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
from itertools import chain
from typing import NamedTuple, TypeAlias

from opcheck import model
from opcheck.errors import Exit, UsageError, few, plural
from opcheck.grouping import group_by, not_none
from opcheck.model import (
    WRONG,
    CauseCounts,
    Diagnosis,
    Ending,
    Failure,
    Header,
    Record,
    Run,
    Verdict,
    cause_counts,
)
from opcheck.model.explained import ACCEPTING
from opcheck.reading import quoted

_REMARKS = (Verdict.WARN, Verdict.DIFFER, Verdict.UNEXPECTED_PASS, Verdict.UNSUPPORTED)
UNJUDGED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE)
#: Runs that began more hours apart are hardly parts of one; two nightly runs lie further apart.
MAX_HOURS_APART = 12.0


#: The name and the value of a run's option by which a listed failure may pass.
UNEXPECTED_PASSES, ALLOWED = "unexpected-passes", "allowed"


def reds(
    *, strict: bool = False, require_supported: bool = False, allow_unexpected_passes: bool = False
) -> frozenset[Verdict]:
    """The verdicts that make a run fail."""
    asked = {
        Verdict.WARN: strict,
        Verdict.UNSUPPORTED: require_supported,
        Verdict.UNEXPECTED_PASS: not allow_unexpected_passes,
    }
    return frozenset([*WRONG, *(verdict for verdict in asked if asked[verdict])])


def reds_of(header: Header) -> frozenset[Verdict]:
    """The verdicts that made this run fail."""
    return reds(
        strict=header.strict,
        require_supported=header.require_supported,
        allow_unexpected_passes=header.options.get(UNEXPECTED_PASSES) == ALLOWED,
    )


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
        count = self._count(Verdict.BAD_CASE)
        if not count:
            return None
        say = "says" if count == 1 else "say"
        return Exit.USAGE, f"{plural(count, 'result')} {say} that the case is wrong{self._also}"

    def missing(self, *, cut_short: bool, too_few: Sequence[str]) -> tuple[Exit, str] | None:
        """Return that results are missing, or that some were not run."""
        if too_few:
            return Exit.UNUSABLE, f"incomplete: {'; '.join(too_few)}{self._also}"
        if cut_short:
            count = len(self.results)
            total = self.header.results
            there = f"{count:,} of {plural(total, 'result')}"
            if count == total:  # see `too_few`
                there = "it lacks cases that it should have had"
            return Exit.UNUSABLE, f"incomplete: {there}{self._also}"
        not_run = self._count(Verdict.NOT_RUN)
        if not_run:
            return Exit.UNUSABLE, f"incomplete: {not_run:,} not run{self._also}"
        return None

    def failures(self) -> tuple[Exit, str] | None:
        """Return that results are red, or that workers died of nothing that was asked."""
        if not self._wrong:
            return None
        return Exit.NONCONFORMING, f"does not conform: {'; '.join(self._wrong)}"

    def nothing(self) -> tuple[Exit, str] | None:
        """Return that there is no result, or that a backend that was named has no judged one."""
        header = self.header
        idle = self._idle
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
        beyond = sum(result.beyond for result in failed)
        if beyond:
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
        counts = Counter(map(before_ledgers, self.results))
        remarkable = _spelt({verdict: counts[verdict] for verdict in _REMARKS})
        if remarkable:
            yield remarkable
        irreproducible = sum(result.irreproducible for result in self.results)
        if irreproducible:
            yield f"{irreproducible:,} not reproducible to the bit"
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
        # Digests of several builds are joined.
        unlike = [name for name, digests in info.made_of.items() if ", " in digests]
        if unlike:
            yield f"{info} was not made of the same everywhere: {', '.join(unlike)}"


def _why_idle(results: Sequence[Record]) -> str:
    """Return why a backend with these results was judged on nothing, or ""."""
    judged = [result for result in results if is_judged(result)]
    if judged and all(_is_of_itself(result) for result in judged):
        return "was compared with itself only"
    # Refusing invalid models proves nothing if no legal model of the dtype is supported.
    declined = any(before_ledgers(result) is Verdict.UNSUPPORTED for result in results)
    if judged and not (declined and all(result.refused for result in judged)):
        return ""
    if judged:
        return "refused invalid models, and supported no legal one"
    if results and all(result.beyond for result in results):
        return "was asked nothing that opcheck itself can judge"
    return "supported no case"


def _is_of_itself(result: Record) -> bool:
    """Return True if the engine passed by its own answer, which proves nothing.

    Its exact mode is another answer.
    """
    is_compared = result.oracle or result.against
    return result.verdict is Verdict.PASS and result.self_check and bool(is_compared)


def before_ledgers(result: Record) -> Verdict:
    """Return the verdict that a result had before any ledger excused it."""
    if result.verdict is not Verdict.KNOWN:
        return result.verdict
    return result.found or Verdict.FAIL


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


#: How the cause of an exception begins, before its type and message.
RAISED = "your backend raised"
#: How begins what is said of failures without a cause.
NOT_EXPLAINED = "not explained"


#: opcheck's words in front of why a model must be refused.
_ACCEPTED = re.compile(r"^(unlike oracle .*?: )?accepts an invalid model: ")
#: Ends the cause of accepted invalid models.
_NOT_VALIDATING = "?refuses=false in its address is for a library that does not validate models"


class Cause(NamedTuple):
    """Failures with one diagnosis; not `explained` if it only says how they fail.

    `folded`: they are of several diagnoses, which the text sums up.
    """

    diagnosis: Diagnosis
    results: tuple[Record, ...]
    explained: bool = True
    folded: bool = False

    @property
    def looks(self) -> str:
        """The diagnosis with the mutant's name and its evidence."""
        if self.folded:
            return self.diagnosis.text
        return str(self._counted)

    @property
    def evidence(self) -> str:
        """The counts of all failures in words, "" where there are none."""
        return self._counted.evidence

    @property
    def _counted(self) -> Diagnosis:
        """The diagnosis with the counts of all failures."""
        return replace(self.diagnosis, counts=_counts(self.results))

    @property
    def asked(self) -> tuple[str, ...]:
        """What the backend answered when it was asked about the cause, a sentence each."""
        if self.folded:
            return ()
        asked = (result.diagnoses[0].asked for result in self.results if result.diagnoses)
        return next(filter(None, asked), ())

    @property
    def repeat(self) -> str:
        """A command that shows the first of the failures; "" if that of its case does."""
        first = self.results[0].diagnoses[:1]
        return first[0].repeat if first and not self.folded else ""

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
    single = [mistake for mistake in mistakes if mistake is None or "+" not in mistake]
    parts = {part for mistake in mistakes if mistake for part in mistake.split("+")}
    return len(single) + len(parts - {*single})


def without_numbers(reason: str) -> str:
    """Return why a model must be refused, with `#` for each number and list of them."""
    return re.sub(r"\[[-\d, ]*\]|-?\d+", "#", reason)


def causes(results: Iterable[Record], *, folded: bool = False) -> list[Cause]:
    """Group the failures of one backend by their first diagnosis, the most frequent first.

    Those without a diagnosis come later, grouped by how they fail, or by the exception. If
    `folded`, all invalid models that were accepted are one group, which comes last.
    """
    explained: dict[Diagnosis, list[Record]] = defaultdict(list)
    unexplained: dict[Diagnosis, list[Record]] = defaultdict(list)
    accepted: list[Record] = []
    for result in results:
        if folded and result.failure == "accepted":
            accepted.append(result)
            continue
        first = result.diagnoses[0] if result.diagnoses else None
        if first and (first.mistake or first.counts):
            explained[first].append(result)
        elif first and first.text.startswith((RAISED, NOT_EXPLAINED)):
            unexplained[first].append(result)
        else:
            way = WAYS.get(result.failure, str(result.verdict))
            unexplained[Diagnosis(None, f"{NOT_EXPLAINED}: {way}")].append(result)
    found = [*_by_frequency(explained, True), *_by_frequency(unexplained, False)]
    if accepted:
        found.append(_accepting(accepted))
    return found


def _accepting(accepted: Sequence[Record]) -> Cause:
    """Return the one cause of all invalid models that were accepted.

    It shows the rule if there is only one, without its numbers unless all cases break it alike.
    """
    sentences = {_ACCEPTED.sub("", result.reason) for result in accepted}
    rules = {without_numbers(sentence) for sentence in sentences}
    cases = plural(len(accepted), "case")
    text = f"{ACCEPTING}: {cases} of {plural(len(rules), 'rule')}"
    if len(rules) == 1:
        shown = sentences if len(sentences) == 1 else rules
        text += f" ({shown.pop()})"
    diagnosis = Diagnosis(None, f"{text}; {_NOT_VALIDATING}")
    return Cause(diagnosis, tuple(accepted), folded=True)


def _by_frequency(
    by_diagnosis: Mapping[Diagnosis, list[Record]], is_explained: bool
) -> Iterator[Cause]:
    for diagnosis, results in sorted(by_diagnosis.items(), key=lambda item: -len(item[1])):
        yield Cause(diagnosis, tuple(results), is_explained)


def _counts(results: Iterable[Record]) -> CauseCounts | None:
    """Return the counts of the first diagnosis of each operator, added up; None without any."""
    first = {
        (result.op.domain, result.op.name): result.diagnoses[0]
        for result in results
        if result.diagnoses
    }
    counts = [diagnosis.counts for diagnosis in first.values() if diagnosis.counts]
    if not counts:
        return None
    failing, judged, failing_elsewhere, judged_elsewhere = map(sum, zip(*counts, strict=True))
    return cause_counts(
        failing=failing,
        judged=judged,
        failing_elsewhere=failing_elsewhere,
        judged_elsewhere=judged_elsewhere,
    )


class ChangeKind(StrEnum):
    """The kinds of change of a result, in the order of reports."""

    FAILS = "newly failing"
    UNLISTED = "failing, and no longer as known"
    LOST = "no longer supported"
    NOT_RUN = "no longer run"
    BAD_CASE = "the case is wrong now"
    SELF = "compared with itself now"
    VANISHED = "missing"
    PASSES = "newly passing"
    OTHERWISE = "failing otherwise"
    LISTED = "known now"
    WARNS = "warning now"
    UNWARNED = "warning no longer"
    ANSWERS = "answering otherwise where several answers are right"
    DECLINES = "unsupported now, and not right before"
    CHANGED = "another case now, not compared"
    DROPPED = "no longer asked by this release"
    APPEARED = "new, and not failing"


REGRESSIONS = frozenset(
    {
        ChangeKind.FAILS,
        ChangeKind.UNLISTED,
        ChangeKind.LOST,
        ChangeKind.NOT_RUN,
        ChangeKind.BAD_CASE,
        ChangeKind.SELF,
        ChangeKind.VANISHED,
    }
)


class Change(NamedTuple):
    """A result that changed; None where there is none."""

    kind: ChangeKind
    old: Record | None
    new: Record | None

    @property
    def record(self) -> Record:
        """The newer of the two."""
        return not_none(self.new or self.old)


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
        numbers = Counter(change.kind for change in self.changes)
        return {kind: numbers[kind] for kind in ChangeKind if numbers[kind]}


def compare(old: Run, new: Run) -> Difference:
    """Compare two runs; known defects that were applied in one of them only count in neither.

    Results are paired by case and backend address. One that the new run lacks is a regression only
    if that run is complete, was asked for the same, and has the backend; otherwise it is left out.
    Another release of opcheck may ask others of its own cases by the same command: what the new run
    lacks of them is no regression.
    """
    has_other_ledgers = _ledgers(old.header) != _ledgers(new.header)
    before = _by_case(old, without_known=has_other_ledgers)
    after = _by_case(new, without_known=has_other_ledgers)
    # Otherwise a result that is missing in the new run was not asked for.
    same_request = new.complete and _request(old.header) == _request(new.header)
    addresses = {backend.address for backend in new.header.backends}
    left_out = {
        pair: was
        for pair, was in before.items()
        if pair not in after and not (same_request and was.backend in addresses)
    }
    old_red = reds_of(old.header)
    new_red = reds_of(new.header)
    changes: list[Change] = []
    for pair in {**before, **after}:
        was = before.get(pair)
        now = after.get(pair)
        kind = _kind(was, now, _is_red(was, old_red), _is_red(now, new_red))
        if kind and pair not in left_out:
            changes.append(_without_dropped(Change(kind, was, now), old.header, new.header))
    order = [*ChangeKind]
    changes.sort(key=lambda change: order.index(change.kind))
    of_same_case = [
        (was, after[pair])
        for pair, was in before.items()
        if pair in after and was.digest == after[pair].digest
    ]
    return Difference(
        changes=tuple(changes),
        compared=len(of_same_case),
        left_out=tuple(left_out.values()),
        failing=sum(is_red(was, old_red) and is_red(now, new_red) for was, now in of_same_case),
        unjudged=_unjudged_in_both(of_same_case),
    )


def _without_dropped(change: Change, old: Header, new: Header) -> Change:
    """Return the change, of kind DROPPED if a shipped case is missing in a run by another release.

    Releases may ask other cases of their own suites by one command.
    """
    was = change.old
    of_other_releases = old.environment.opcheck != new.environment.opcheck
    if change.kind is ChangeKind.VANISHED and was and was.source.shipped and of_other_releases:
        return change._replace(kind=ChangeKind.DROPPED)
    return change


def _unjudged_in_both(pairs: Iterable[tuple[Record, Record]]) -> dict[Verdict, int]:
    """Return how many pairs of results have the same verdict of those that judge nothing."""
    same = Counter(now.verdict for was, now in pairs if was.verdict is now.verdict)
    return {verdict: same[verdict] for verdict in UNJUDGED if same[verdict]}


def same_backends(old: Header, new: Header) -> dict[str, str]:
    """Return addresses of OLD that have another name in NEW, such as a profile's.

    The address behind the name has to be the same but for `threads` and `refuses`, which choose
    nothing else to be judged, and no other backend of either run may be a candidate. Versions may
    differ: they are what is compared.
    """
    before = _places(old, besides=new)
    after = _places(new, besides=old)
    return {
        addresses[0]: after[place][0]
        for place, addresses in before.items()
        if len(addresses) == len(after.get(place, ())) == 1
    }


def _places(header: Header, *, besides: Header) -> dict[tuple[str, str], list[str]]:
    """Return the addresses that the other run lacks, by what they name; see `same_backends`."""
    there = {info.address for info in besides.backends}
    places: dict[tuple[str, str], list[str]] = {}
    for info in header.backends:
        if info.address not in there:
            place = _without_free_options(info.kind, info.of or info.address)
            places.setdefault((info.kind, place), []).append(info.address)
    return places


def _without_free_options(kind: str, address: str) -> str:
    """Return an address without `threads` and `refuses`; that of a program as it is."""
    place, mark, options = address.rpartition("?")
    if not mark or kind == "cmd":
        return address
    free = ("threads=", "refuses=")
    kept = [option for option in options.split("&") if not option.startswith(free)]
    return "?".join(filter(None, (place, "&".join(sorted(kept)))))


def renamed(run: Run, names: Mapping[str, str]) -> Run:
    """Return a run whose backends have other addresses, those of `names` by the ones they had."""
    backends = tuple(
        replace(info, address=names.get(info.address, info.address)) for info in run.header.backends
    )
    records = [
        replace(record, backend=names.get(record.backend, record.backend)) for record in run.records
    ]
    return replace(run, header=replace(run.header, backends=backends), records=records)


def _is_red(result: Record | None, red: Collection[Verdict]) -> bool:
    return result is not None and is_red(result, red)


def _ledgers(header: Header) -> tuple[bool, bool]:
    """Return if known defects were applied in a run, and if ledgers of the user were."""
    return header.known, bool(header.ledgers)


def _request(header: Header) -> tuple[object, ...]:
    """Return what a run was asked for: runs of one request have the same cases."""
    return header.selection, header.paths, header.shard, header.seed


def _by_case(run: Run, *, without_known: bool) -> dict[tuple[str, str], Record]:
    """Return the results of a run by case and backend, see `without_ledgers`."""
    return {
        (record.case, record.backend): without_ledgers(record, without_known)
        for record in run.records
    }


def diff_status(
    old: Run, new: Run, difference: Difference, *, common: bool = False
) -> tuple[Exit, str]:
    """Return the exit code of a comparison, and its meaning.

    UNUSABLE comes first: for a run that was cut short, results left out unless `common` (the new
    run may have been asked for less then), and results that no run judged, but for unsupported
    ones. Then NONCONFORMING for processes that died anew and for regressions, NOTHING_JUDGED, and
    CONFORMS.
    """
    counts = _counted(difference)
    incomplete = [name for name, run in (("OLD", old), ("NEW", new)) if not run.complete]
    if incomplete:
        return Exit.UNUSABLE, f"incomplete: {' and '.join(incomplete)} was cut short; {counts}"
    if difference.left_out and not common:
        fewer = "NEW covers fewer cases than OLD (--common compares the cases in both)"
        return Exit.UNUSABLE, f"{fewer}; {counts}"
    if difference.unjudged.keys() - {Verdict.UNSUPPORTED}:
        return Exit.UNUSABLE, f"incomplete: {counts}"
    accidents = new_accidents(old, new)
    if accidents:
        return Exit.NONCONFORMING, "; ".join([*accidents, counts])
    if difference.regressions:
        return Exit.NONCONFORMING, counts
    if difference.compared == sum(difference.unjudged.values()):
        return Exit.NOTHING_JUDGED, f"nothing could be compared; {counts}"
    return Exit.CONFORMS, f"no regression: {counts}"


def _counted(difference: Difference) -> str:
    """Return the numbers of changes, and of results that are no changes but remarkable."""
    changes = [f"{count:,} {kind}" for kind, count in difference.counts().items()]
    if not changes:
        changes = [f"{difference.compared:,} results are as they were"]
    others = {"left out": len(difference.left_out), "failing in both": difference.failing}
    for verdict, count in difference.unjudged.items():
        others[f"{verdict} in both"] = count
    remarks = [f"{count:,} {what}" for what, count in others.items() if count]
    return "; ".join([*changes, *remarks])


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
    if now.self_check and not was.self_check and _was_good(was):
        return ChangeKind.SELF
    if was.digest != now.digest:
        return _kind_of_edited(was, now)
    if fails or was.verdict is now.verdict:
        return _kind_of_like(was, now, fails)
    return _kind_of_unlike(was, now, failed)


def _kind_of_like(was: Record, now: Record, fails: bool) -> ChangeKind | None:
    """Return how a result changed that fails in both runs, or has the same verdict."""
    if fails and (_cause(was) != _cause(now) or _looks_otherwise(was, now)):
        return ChangeKind.OTHERWISE
    if was.verdict is Verdict.KNOWN and _listed(was) != _listed(now):
        return ChangeKind.OTHERWISE
    if was.verdict is Verdict.PASS and was.alternative != now.alternative:
        return ChangeKind.ANSWERS
    return None


def _kind_of_unlike(was: Record, now: Record, failed: bool) -> ChangeKind:
    """Return how a result changed to another verdict, which is not a failure."""
    if now.verdict is Verdict.PASS:
        warned = was.verdict is Verdict.WARN and not failed
        return ChangeKind.UNWARNED if warned else ChangeKind.PASSES
    if now.verdict is Verdict.UNSUPPORTED:
        return ChangeKind.LOST if _was_good(was) else ChangeKind.DECLINES
    kinds = {
        Verdict.KNOWN: ChangeKind.LISTED,
        Verdict.WARN: ChangeKind.WARNS,
        Verdict.NOT_RUN: ChangeKind.NOT_RUN,
    }
    return kinds.get(now.verdict, ChangeKind.BAD_CASE)


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
    """Return how a result fails, without addresses in memory, which differ between runs."""
    return record.verdict, record.failure, re.sub(r"0x[0-9a-fA-F]{6,}", "", record.reason)


def _listed(record: Record) -> tuple[object, ...]:
    """Return a ledger's explanation, without the file."""
    known = record.known
    return (known.cause, known.link, known.expected) if known else ()


def _looks_otherwise(was: Record, now: Record) -> bool:
    """Return True if both failures were diagnosed, and differently; known defects are not."""
    before = _looks(was)
    after = _looks(now)
    return bool(before and after and before != after)


def _looks(record: Record) -> set[str]:
    """Return the diagnoses of a result; their order, and learned rules, depend on others."""
    return {
        diagnosis.mistake or diagnosis.text
        for diagnosis in record.diagnoses
        if diagnosis.mistake or not (diagnosis.counts or diagnosis.text.startswith(RAISED))
    }


def differences(old: Header, new: Header) -> dict[str, tuple[str, str]]:
    """Return the settings that differ between two runs, with both values; "" if missing."""
    return unlike(_facts(old), _facts(new))


def unlike(was: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the facts that differ, with both texts; "" where one is missing."""
    both = {name: (was.get(name, ""), now.get(name, "")) for name in {**was, **now}}
    return {name: texts for name, texts in both.items() if texts[0] != texts[1]}


def rules(header: Header) -> Mapping[str, str]:
    """Return the settings that can change a verdict, in words; "" is the default."""
    ledgers = [f"{name} ({digest})" for name, digest in header.ledgers.items()]
    return {
        "known defects": "applied" if header.known else "judged",
        "known failures": ", ".join(ledgers),
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
    misfits = [*_misfits(parts), *_clashes(parts)]
    if misfits:
        raise UsageError("\n".join(dict.fromkeys(misfits)))
    runs = [run for _, run in parts]
    header = _merged_header([run.header for run in runs])
    order = {backend.address: number for number, backend in enumerate(header.backends)}
    records = [record for run in runs for record in run.records]
    records.sort(key=lambda record: (record.place, order[record.backend]))
    gaps = tuple(_gaps(parts, header))
    endings = [run.ending for run in runs if run.ending]
    ending = Ending(
        complete=not gaps,
        seconds=round(sum(ending.seconds for ending in endings), 3),
        accidents=tuple(chain.from_iterable(ending.accidents for ending in endings)),
        partings=tuple(chain.from_iterable(ending.partings for ending in endings)),
    )
    code, meaning = status(header, records, ending, cut_short=bool(gaps))
    ending = replace(ending, exit_code=int(code), meaning=meaning)
    return Run(header, tuple(records), ending), gaps


def _merged_header(headers: Sequence[Header]) -> Header:
    """Return the header of a run of all backends on the whole suite."""
    first = headers[0]
    backends = _whole(info for header in headers for info in header.backends)
    oracles = _whole(info for header in headers for info in header.oracles)
    return replace(
        first,
        environment=joined([header.environment for header in headers]),
        backends=tuple(backends.values()),
        oracles=tuple(oracles.values()),
        cases=first.suite.cases,
        started=min((header.started for header in headers), key=datetime.fromisoformat),
        named=any(header.named for header in headers),
        shard=None,
    )


def _whole(infos: Iterable[model.BackendInfo]) -> dict[str, model.BackendInfo]:
    """Merge the backends by address, with all digests of their files."""
    merged: dict[str, model.BackendInfo] = {}
    for info in infos:
        before = merged.get(info.address, info).made_of
        digests = {
            name: _each([before.get(name, "none"), info.made_of.get(name, "none")])
            for name in {**before, **info.made_of}
        }
        merged[info.address] = replace(info, made_of=digests)
    return merged


def hours_apart(one: Header, other: Header) -> float:
    """Return the hours from the start of one run to that of the other."""
    first = datetime.fromisoformat(one.started)
    second = datetime.fromisoformat(other.started)
    return (second - first).total_seconds() / 3600


def _misfits(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield why parts do not fit the first part or each other."""
    first_name, first_run = parts[0]
    first = first_run.header
    for name, run in parts[1:]:
        yield from _misfits_of_two(first, run.header, f"{first_name} and {name}")
    yield from _misfits_of_shards(parts)
    yield from _misfits_of_backends(parts)
    for number, later in enumerate(parts):
        for earlier in parts[:number]:
            yield from _misfits_of_times(earlier, later)


def _misfits_of_two(first: Header, other: Header, names: str) -> Iterator[str]:
    """Yield why a run is of another suite, other rules or another opcheck than the first."""
    if other.suite != first.suite:
        counts = f"{first.suite.cases:,} and {other.suite.cases:,} cases"
        yield f"{names} are of different suites, of {counts}"
    other_rules = unlike(rules(first), rules(other))
    if other_rules:
        yield f"{names} were judged by different rules: {', '.join(sorted(other_rules))}"
    versions = (first.environment.opcheck, other.environment.opcheck)
    if versions[0] != versions[1]:
        yield f"{names} are of opcheck {versions[0]} and {versions[1]}"


def _misfits_of_shards(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield that runs are shards of different numbers of them."""
    counts: dict[int, str] = {}
    for name, run in parts:
        if run.header.shard:
            _, total = run.header.shard
            counts.setdefault(total, name)
    if len(counts) > 1:
        counted = ", ".join(f"{count} ({name})" for count, name in counts.items())
        yield f"the shards are counted differently: of {counted}"


def _misfits_of_backends(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield backends and oracles that have another version, or other settings, in two runs."""
    known: dict[tuple[str, str], tuple[model.BackendInfo, str]] = {}
    for name, run in parts:
        named = [("", info) for info in run.header.backends]
        named += [("oracle ", info) for info in run.header.oracles]
        for kind, info in named:
            before, where = known.setdefault((kind, info.address), (info, name))
            if before != info:
                is_other_version = before.version != info.version
                versions = f"{before.version} and {info.version}"
                how = versions if is_other_version else "other settings"
                yield f"{kind}{quoted(info.address)} has {how} in {where} and {name}"


def _misfits_of_times(earlier: RunPart, later: RunPart) -> Iterator[str]:
    """Yield backends of other files in runs that began at quite different times.

    Such as of a report of last night, which is hardly a part of one run with those of today.
    """
    hours = abs(hours_apart(earlier[1].header, later[1].header))
    if hours <= MAX_HOURS_APART:
        return
    before = {info.address: info.made_of for info in earlier[1].header.backends}
    for info in later[1].header.backends:
        if before.get(info.address, info.made_of) != info.made_of:
            both = f"{earlier[0]} and {later[0]} began {hours:,.1f} hours apart"
            yield f"{both}, with other files of {quoted(info.address)}"


def _clashes(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield results in two parts, and cases that differ between them, or are compared apart."""
    part_of_result: dict[tuple[str, str], int] = {}
    part_of_comparison: dict[str, int] = {}
    places: dict[str, int] = {}
    digests: dict[str, str] = {}
    moved: dict[str, list[str]] = {}
    edited: dict[str, list[str]] = {}
    twice: dict[tuple[int, int], list[Record]] = {}
    torn: dict[tuple[int, int], str] = {}
    for number, (name, run) in enumerate(parts):
        for record in run.records:
            first = part_of_result.setdefault((record.case, record.backend), number)
            if first != number:
                twice.setdefault((first, number), []).append(record)
            if digests.setdefault(record.case, record.digest) != record.digest:
                edited.setdefault(name, []).append(quoted(record.case))
            elif places.setdefault(record.case, record.place) != record.place:
                moved.setdefault(name, []).append(quoted(record.case))
            # Parts may compare different backends with each other.
            if record.against and not record.oracle:
                first = part_of_comparison.setdefault(record.case, number)
                if first != number:
                    torn.setdefault((first, number), quoted(record.case))
    for name, ids in edited.items():
        yield f"cases that {name} has otherwise than the runs before it: {few(ids, 3)}"
    for name, ids in moved.items():
        yield f"cases that {name} has in another order than the runs before it: {few(ids, 3)}"
    for (one, other), records in twice.items():
        named = few([f"{quoted(record.backend)} on {quoted(record.case)}" for record in records], 3)
        yield f"results that are in both {parts[one][0]} and {parts[other][0]}: {named}"
    for (one, other), case in torn.items():
        both = f"{parts[one][0]} and {parts[other][0]}"
        yield f"{both} compare other backends with each other on {case}"


def _gaps(parts: Sequence[RunPart], header: Header) -> Iterator[str]:
    """Yield what is missing in parts for a whole run, which has this header."""
    for name, run in parts:
        if run.ending is None:
            yield f"{name} is truncated: its last line, how the run ended, is missing"
    for name, run in parts:
        if run.ending and not run.complete and len(run.records) == run.header.results:
            yield f"{name} lacks cases that it should have had"
    for backend in header.backends:
        with_backend = [part for part in parts if backend in part[1].header.backends]
        yield from _gaps_of(backend.address, with_backend, header.suite.cases)


def _gaps_of(address: str, parts: Sequence[RunPart], cases: int) -> Iterator[str]:
    """Yield what is missing of a backend in its parts, which together should have all cases."""
    counts = [sum(record.backend == address for record in run.records) for _, run in parts]
    if sum(counts) == cases:
        return
    yield f"{address}: {sum(counts):,} of {cases:,} results"
    for (name, run), count in zip(parts, counts, strict=True):
        if count < run.header.cases:
            yield f"  {name} has {count:,} of {run.header.cases:,}"
    shards = [run.header.shard for _, run in parts]
    numbers = {shard[0] for shard in shards if shard}
    totals = [shard[1] for shard in shards if shard]
    if len(totals) == len(shards):
        for number in range(1, max(totals, default=0) + 1):
            if number not in numbers:
                yield f"  shard {number} of {max(totals)} is missing"


def joined(environments: Sequence[model.Environment]) -> model.Environment:
    """Merge environments; values that differ are listed once each."""
    names = dict.fromkeys(name for environment in environments for name in environment.packages)
    return model.Environment(
        opcheck=_each(environment.opcheck for environment in environments),
        python=_each(environment.python for environment in environments),
        platform=_each(environment.platform for environment in environments),
        packages={
            name: _each(
                environment.packages[name]
                for environment in environments
                if name in environment.packages
            )
            for name in names
        },
        machine={
            name: _each(one.machine[name] for one in environments if name in one.machine)
            for name in dict.fromkeys(name for one in environments for name in one.machine)
        },
        remarks=tuple(dict.fromkeys(text for one in environments for text in one.remarks)),
    )


def _each(values: Iterable[str]) -> str:
    """List values once each; each may be such a list already."""
    return ", ".join(dict.fromkeys(part for value in values for part in value.split(", ")))
