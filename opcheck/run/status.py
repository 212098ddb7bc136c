"""What a run amounts to: its exit code and the sentence that goes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from opcheck.errors import Exit
from opcheck.model import BackendInfo, Result, Verdict

RED = (Verdict.FAIL, Verdict.ERROR, Verdict.UNSTABLE)
_UNJUDGED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE)


def is_red(result: Result, *, strict: bool) -> bool:
    """Whether this result alone makes the run fail."""
    return result.verdict in RED or (strict and result.verdict is Verdict.WARN)


def status(
    results: Iterable[Result],
    backends: Sequence[BackendInfo],
    *,
    strict: bool,
    interrupted: bool,
) -> tuple[Exit, str]:
    """The exit code of a run, the first that applies in the order of `Exit`, and what it means."""
    by_backend: dict[str, Counter[Verdict]] = {b.address: Counter() for b in backends}
    for result in results:
        by_backend[result.backend][result.verdict] += 1
    total = sum(by_backend.values(), Counter[Verdict]())
    red = {v: n for v, n in total.items() if v in RED or (strict and v is Verdict.WARN)}
    if interrupted:
        return Exit.INTERRUPTED, "interrupted: the counts above are incomplete"
    if total[Verdict.BAD_CASE]:
        wrong = total[Verdict.BAD_CASE]
        return (
            Exit.USAGE,
            f"{wrong} {'result says' if wrong == 1 else 'results say'} that the case is wrong",
        )
    if total[Verdict.NOT_RUN]:
        missing = _spelt({Verdict.NOT_RUN: total[Verdict.NOT_RUN]})
        return Exit.UNUSABLE, f"incomplete: {missing}{f'; {_spelt(red)}' if red else ''}"
    if red:
        return Exit.NONCONFORMING, f"does not conform: {_spelt(red)}"
    if not total:
        return Exit.NOTHING_JUDGED, "nothing was judged: no case matched"
    idle = [b for b, n in by_backend.items() if not any(n[v] for v in n if v not in _UNJUDGED)]
    if idle:
        return Exit.NOTHING_JUDGED, f"nothing was judged: {', '.join(idle)} supported no case"
    judged = sum(n for v, n in total.items() if v not in _UNJUDGED)
    listed = {v: total[v] for v in (Verdict.KNOWN, Verdict.WARN) if total[v]}
    remarks = f", with {_spelt(listed)}" if listed else ""
    return Exit.CONFORMS, f"conforms: {judged:,} results, nothing unexpected{remarks}"


def _spelt(counts: dict[Verdict, int]) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(counts.items()))
