"""Update a user's ledger after a run, so that the next run has no unexpected result.

A ledger lists results that a backend is known to have, in *entries*, each with *places*: conditions
on cases by field. An entry and a place go by their indices in the file, from 0. A result is *red*
if it makes a run fail.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from opcheck import analysis, diagnose, grouping
from opcheck.errors import plural
from opcheck.known import UserLedger, by_operator, is_dead, of_operators
from opcheck.known.writing import Revision, places
from opcheck.model import Case, Record, Verdict
from opcheck.model.result import Failure

#: Failures whose reasons differ by more than numbers; None is what is unsupported.
_TELLING = ("raised", "crash", "stray_crash", "unstable", "declared", None)
#: Verdicts without an answer of the backend.
UNDECIDED = (Verdict.NOT_RUN, Verdict.BAD_CASE)
_PASSES = Verdict.UNEXPECTED_PASS
#: The characters of the longest pattern of a reason.
_LONGEST = 100
#: The characters of the longest part of a cause.
_LONGEST_CAUSE = 300
#: The characters, but for `*`, of the shortest.
_SHORTEST = 8
_ELSEWHERE = "listed otherwise in another ledger, and to be mended there"
_NOT_IN_CI = "not listed, because the environment variable CI is set"
_NOT_PRUNED = "listed, and passing (--prune-known removes them)"


def update_ledger(
    ledger: UserLedger | None,
    records: Iterable[Record],
    cases: Sequence[Case],
    red: Collection[str],
    version: str,
    *,
    add: bool,
    prune: bool,
) -> tuple[Revision, list[str]]:
    """Return what to change in a ledger after a run, and messages that say what is changed or left.

    There is at least one message. Nothing is written here.

    Args:
        ledger: The ledger, None if there is none yet.
        records: The results of its backend.
        cases: All cases there are, those of the records among them.
        red: The ids of the cases that are red.
        version: The backend's version; entries about others stay as they are.
        add: List what fails, and what is unsupported; else, as in CI, it is only counted.
        prune: Remove what passes, and places that no case is at; else what passes is only counted.
    """
    of_backend = list(records)
    to_list = [record for record in of_backend if _is_to_be_listed(record, red)]
    # A case may be listed in one ledger only.
    failing = [record for record in to_list if _may_be_listed(ledger, record)]
    passing = {
        record.case for record in of_backend if record.verdict is _PASSES and _is_in(ledger, record)
    }
    gone: set[str] = set()
    added: list[dict[str, Any]] = []
    if add:
        gone |= {record.case for record in failing if _is_in(ledger, record)}
        added = [*_entries(failing, cases)]
    if prune:
        gone |= passing
    replaced = {}
    if ledger:
        replaced = dict(_replaced(ledger, cases, gone, version, prune=prune))
    messages = _counted(
        failing=len(failing),
        passing=len(passing),
        elsewhere=len(to_list) - len(failing),
        add=add,
        prune=prune,
    )
    if ledger and prune:
        messages += _messages_of_dead_places(ledger, replaced, cases)
    return Revision(added, replaced), messages or ["nothing to update"]


def _counted(*, failing: int, passing: int, elsewhere: int, add: bool, prune: bool) -> list[str]:
    """Return messages about results that fail or pass, with their numbers; none for a number of 0.

    Failing results are listed now if `add`, else left out as in CI; passing ones are taken off the
    list if `prune`, else stay on it. `elsewhere` are failures that another ledger lists otherwise.
    """
    counts: dict[str, int] = {}
    if add:
        counts["listed"] = failing
    if prune:
        counts["no longer listed"] = passing
    if not add:
        counts[_NOT_IN_CI] = failing
    if not prune:
        counts[_NOT_PRUNED] = passing
    counts[_ELSEWHERE] = elsewhere
    return [f"{plural(count, 'result')} {what}" for what, count in counts.items() if count]


def _messages_of_dead_places(
    ledger: UserLedger, replaced: Iterable[tuple[int, int]], cases: Sequence[Case]
) -> list[str]:
    """Return a message that names the lines of a ledger's places that no case is at, or none.

    A place counts if an item of one of its fields matches none of `cases`. Only the places
    `replaced`, by the numbers of entry and place, are looked at.
    """
    lines = dict.fromkeys(
        ledger.line_of(number, spot)
        for number, spot in replaced
        if is_dead(ledger.fields.known[number].where[spot], cases)
    )
    if not lines:
        return []
    label = "line" if len(lines) == 1 else "lines"
    where = f"{label} {', '.join(map(str, lines))}"
    return [f"no longer listed, because no case that was read is so: what was at {where}"]


def _is_to_be_listed(record: Record, red: Collection[str]) -> bool:
    """Return True if a result would be red under a ledger that does not list it.

    It is if it is red, and no pass that a ledger did not expect, or if the backend does not support
    the case.
    """
    unsupported = record.verdict is Verdict.UNSUPPORTED and not record.inexpressible
    return (record.case in red and record.verdict is not _PASSES) or unsupported


def _may_be_listed(ledger: UserLedger | None, record: Record) -> bool:
    """Return True unless another of the user's ledgers than `ledger` lists the case.

    `ledger` is None if there is none yet. Shipped ledgers, which have no lines here, do not count.
    """
    if record.known is None or not record.known.line:
        return True
    return _is_in(ledger, record)


def _is_in(ledger: UserLedger | None, record: Record) -> bool:
    """Return True if this ledger lists the case of a result."""
    return ledger is not None and record.known is not None and record.known.ledger == ledger.file


def _replaced(
    ledger: UserLedger, cases: Sequence[Case], gone: Collection[str], version: str, *, prune: bool
) -> Iterator[tuple[tuple[int, int], Sequence[dict[str, object]]]]:
    """Yield the rest of each place that loses a case or, if `prune`, has an item that fits none.

    Items are pairs: the numbers of the entry and of its place, and the places that take its place;
    an empty list removes it. `gone` are the ids of cases that are no longer listed. Entries about
    other versions than `version`, the backend's, are left out.
    """
    cases_by_operator = by_operator(cases)
    for number, entry in enumerate(ledger.fields.known):
        if not entry.holds_for(version):
            continue
        for spot, place in enumerate(entry.where):
            there = of_operators(cases_by_operator, place.ops)
            about = [case for case in there if place.fits(case)]
            if any(case.id in gone for case in about) or (prune and is_dead(place, about)):
                left = [case for case in about if case.id not in gone]
                yield (number, spot), places(left, there)


def _entries(failing: Iterable[Record], cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """Yield an entry for each way to fail, cause that it looks like, and pattern of the reason.

    An entry has the fields of `known.LedgerEntry`, None for those that are left out, and places
    that fit the cases of these results, but no other of `cases`. Raises KeyError for a result whose
    case is not among these.
    """
    by_way = grouping.group_by(failing, _way_to_fail)
    cases_by_operator = by_operator(cases)
    by_id = {case.id: case for case in cases}
    for (verdict, failure), of_way in by_way.items():
        for cause in analysis.causes(of_way):
            mistake = cause.diagnosis.mistake
            by_reason = grouping.group_by(cause.results, _telling_pattern)
            for reason, records in by_reason.items():
                failed = [by_id[record.case] for record in records]
                there = of_operators(cases_by_operator, (case.op.name for case in failed))
                yield {
                    "verdict": str(verdict),
                    "failure": failure if failure != verdict else None,
                    "looks": mistake,
                    "reason": reason,
                    "sometimes": True if failure == "stray_crash" else None,
                    "cause": _why(cause, records[0], is_one_message=len(by_reason) == 1),
                    "where": places(failed, there),
                }


def _way_to_fail(record: Record) -> tuple[Verdict, Failure | None]:
    """Return the verdict and the failure of a result, None for no failure."""
    return record.verdict, record.failure


def _telling_pattern(record: Record) -> str | None:
    """Return the pattern of a reason that tells failures of one kind apart.

    That is of an exception's words, of how a process died, or of what runs or declarations
    contradict. None for other failures, such as wrong values, and for too few words.
    """
    return pattern(record.reason) if record.failure in _TELLING else None


def _why(cause: analysis.Cause, first: Record, *, is_one_message: bool) -> str:
    """Return why results fail, as the run printed it; `first` is one of them.

    That is the mistake or the condition with its counts, or else the backend's own words. A failure
    that nothing explains has its case, its reason and the pattern of its numbers. Unless all
    results of the cause have one message, that of the first is added.
    """
    diagnosis = cause.diagnosis
    if cause.explained:
        evidence = cause.evidence
        counted = f": {evidence}" if evidence else ""
        likely = f"Likely cause: {_brief(diagnosis.text)}{counted}."
        return likely if is_one_message else f"{likely} Here: {_brief(first.reason)}"
    if first.verdict is Verdict.UNSUPPORTED:
        whose = "opcheck cannot ask or judge it" if first.beyond else "Not implemented"
        return f"{whose}: {_brief(first.reason)}"
    patterns = [
        _brief(likely.text)
        for likely in first.diagnoses[:1]
        # The reason has the exception.
        if not likely.text.startswith(analysis.RAISED)
    ]
    return "; ".join([f"Not known yet; {first.case}: {_brief(first.reason)}", *patterns])


def _brief(text: str) -> str:
    """Return a text in one line, cut off after 300 characters."""
    line = _printable(text, "�")
    return line if len(line) <= _LONGEST_CAUSE else f"{line[:_LONGEST_CAUSE]} …"


def _printable(text: str, instead: str) -> str:
    """Return a text in one line, `instead` in place of characters that cannot be printed."""
    line = " ".join(text[:10_000].split())  # a backend may send text of any length
    return "".join(letter if letter.isprintable() else instead for letter in line)


def pattern(reason: str) -> str | None:
    """Return a pattern that similar reasons share, `*` for the rest; None if it is too short.

    Paths, addresses and numbers become `*`. It has at most 100 characters, and at least 8 besides
    `*`; a reason matches that contains it anywhere.
    """
    text = _printable(reason, "*")[: 4 * _LONGEST]
    text = diagnose.without_particulars(text)
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rpartition(" ")[0] or text[:_LONGEST]
    text = text.strip(" *:;,")
    return text if len(text.replace("*", "")) >= _SHORTEST else None
