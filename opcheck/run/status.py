"""What a run amounts to: its exit code and the sentence that goes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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
    named: bool = True,
) -> tuple[Exit, str]:
    """The exit code of a run, the first that applies in the order of `Exit`, and what it means.

    `named`: the user named the backends, so that each of them has to judge something.
    """
    by_backend: dict[str, Counter[Verdict]] = {b.address: Counter() for b in backends}
    for result in results:
        by_backend[result.backend][result.verdict] += 1
    total = sum(by_backend.values(), Counter[Verdict]())
    red = {v: n for v, n in total.items() if v in RED or (strict and v is Verdict.WARN)}
    also = f"; {_spelt(red)}" if red else ""
    if interrupted:
        return Exit.INTERRUPTED, "interrupted: the counts above are incomplete"
    if total[Verdict.BAD_CASE]:
        wrong = _counted(total[Verdict.BAD_CASE], "result says", "results say")
        return Exit.USAGE, f"{wrong} that the case is wrong{also}"
    if total[Verdict.NOT_RUN]:
        return Exit.UNUSABLE, f"incomplete: {total[Verdict.NOT_RUN]:,} not run{also}"
    if red:
        return Exit.NONCONFORMING, f"does not conform: {_spelt(red)}"
    if not total:
        return Exit.NOTHING_JUDGED, "nothing was judged: no case matched"
    idle = [b for b, n in by_backend.items() if not any(n[v] for v in n if v not in _UNJUDGED)]
    if idle and (named or len(idle) == len(backends)):
        return Exit.NOTHING_JUDGED, f"nothing was judged: {', '.join(idle)} supported no case"
    judged = _counted(sum(n for v, n in total.items() if v not in _UNJUDGED), "result", "results")
    rest = (Verdict.KNOWN, Verdict.WARN, Verdict.UNSUPPORTED)
    remarks = {verdict: total[verdict] for verdict in rest if total[verdict]}
    said = f"; {_spelt(remarks)}" if remarks else ""
    return Exit.CONFORMS, f"conforms: {judged}, nothing unexpected{said}"


def _counted(count: int, one: str, many: str) -> str:
    """`1 result`, `2,771 results`."""
    return f"{count:,} {one if count == 1 else many}"


def _spelt(counts: Mapping[Verdict, int]) -> str:
    return ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in Verdict if counts.get(verdict))
