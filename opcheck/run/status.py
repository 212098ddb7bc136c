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
    results = list(results)
    total = Counter(result.verdict for result in results)
    idle = [backend.address for backend in backends if _is_idle(backend, results)]
    red = Counter(result.verdict for result in results if is_red(result, strict=strict))
    also = f"; {_spelt(red)}" if red else ""
    if interrupted:
        return Exit.INTERRUPTED, "interrupted: the run is incomplete"
    if total[Verdict.BAD_CASE]:
        wrong = _counted(total[Verdict.BAD_CASE], "result says", "results say")
        return Exit.USAGE, f"{wrong} that the case is wrong{also}"
    if total[Verdict.NOT_RUN]:
        return Exit.UNUSABLE, f"incomplete: {total[Verdict.NOT_RUN]:,} not run{also}"
    if red:
        return Exit.NONCONFORMING, f"does not conform: {_spelt(red)}"
    if not total:
        return Exit.NOTHING_JUDGED, "nothing was judged: no case matched"
    if idle and (named or len(idle) == len(backends)):
        return Exit.NOTHING_JUDGED, f"nothing was judged: {', '.join(idle)} supported no case"
    judged = _counted(sum(n for v, n in total.items() if v not in _UNJUDGED), "result", "results")
    rest = (Verdict.KNOWN, Verdict.WARN, Verdict.UNSUPPORTED)
    remarks = [_spelt({verdict: total[verdict] for verdict in rest})]
    remarks += [f"{address} supported no case" for address in idle]
    said = "; ".join(filter(None, [f"conforms: {judged}, nothing unexpected", *remarks]))
    return Exit.CONFORMS, said


def _is_idle(backend: BackendInfo, results: Iterable[Result]) -> bool:
    """Whether a backend was judged on nothing.

    Refusing the invalid models of a dtype, while none of its legal ones is supported, is nothing.
    """
    mine = [result for result in results if result.backend == backend.address]
    judged = [result for result in mine if result.verdict not in _UNJUDGED]
    declined = any(result.verdict is Verdict.UNSUPPORTED for result in mine)
    return all(result.refused for result in judged) and (declined or not judged)


def _counted(count: int, one: str, many: str) -> str:
    """`1 result`, `2,771 results`."""
    return f"{count:,} {one if count == 1 else many}"


def _spelt(counts: Mapping[Verdict, int]) -> str:
    return ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in Verdict if counts.get(verdict))
