"""What a user's ledger has to say of a result that it did not expect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from opcheck.model import Known, Record, Verdict


def told(result: Record) -> str:
    """Why a result is red for a ledger's sake, and what to do; "" where it is not."""
    if not result.unexpected:
        return ""
    known = result.known
    if known is None:
        return "no ledger lists it as unsupported, and a backend that drops a case does not pass"
    listed = f"listed in {place(known)} as {known.expected}"
    if result.verdict is Verdict.UNEXPECTED_PASS:
        return f"{listed}, but it passes: {_remedy(known)}"
    return f"{listed}, but it fails otherwise: {_came(result, known)}"


def found(result: Record) -> str:
    """The reason of a verdict; one that there should not be has none."""
    passed = result.verdict is Verdict.UNEXPECTED_PASS and not result.reason
    return "the right answer" if passed else result.reason


def place(known: Known) -> str:
    """Where a ledger says it: `mine.yaml:12`."""
    return known.ledger if known.line is None else f"{known.ledger}:{known.line}"


def _came(result: Record, known: Known) -> str:
    """How a result fails, in a ledger's words; what it looks like only if the ledger says so."""
    has_way = result.failure and result.failure != result.verdict
    way = f" ({result.failure})" if has_way else ""
    if " that looks like " not in known.expected:
        return f"{result.verdict}{way}"
    mistakes = [one.mistake for one in result.diagnoses if one.mistake]
    return f"{result.verdict}{way} that looks like {next(iter(mistakes), 'no known mistake')}"


def _remedy(known: Known) -> str:
    return f"delete `{known.text}`, or leave there what still fails"


def outdated(results: Iterable[Record]) -> list[tuple[Known, int, int]]:
    """The places of users' ledgers of which some cases pass: how many, and of how many in the run.

    Where all pass, the line is to be deleted.
    """
    those = [(r.known, r.verdict) for r in results if r.known and r.known.line is not None]
    total = Counter(known for known, _ in those)
    passing = Counter(known for known, verdict in those if verdict is Verdict.UNEXPECTED_PASS)
    return [(known, count, total[known]) for known, count in passing.items()]


def advice(known: Known, passing: int, total: int) -> str:
    """What to do about a line of which some cases pass."""
    what = "delete" if passing == total else f"{total - passing} of {total} still fail: narrow"
    return f"{what} `{known.text}`"
