"""What a run amounts to: its exit code and the sentence that goes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from opcheck.errors import Exit
from opcheck.model import BackendInfo, Result, Verdict

_RED = frozenset(
    [
        Verdict.FAIL,
        Verdict.ERROR,
        Verdict.CRASH,
        Verdict.TIMEOUT,
        Verdict.OOM,
        Verdict.UNSTABLE,
    ]
)
_UNJUDGED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE)


def reds(*, strict: bool = False, require_supported: bool = False) -> frozenset[Verdict]:
    """The verdicts each of which makes a run fail."""
    warnings = {Verdict.WARN} if strict else set()
    gaps = {Verdict.UNSUPPORTED} if require_supported else set()
    return _RED | warnings | gaps


def is_red(result: Result, red: Collection[Verdict]) -> bool:
    """Whether a result fails a run that these verdicts fail."""
    return result.verdict in red and not result.inexpressible


def status(
    results: Iterable[Result],
    backends: Sequence[BackendInfo],
    *,
    red: Collection[Verdict],
    interrupted: bool,
    named: bool = True,
    accidents: Sequence[str] = (),
    partings: Sequence[str] = (),
) -> tuple[Exit, str]:
    """The exit code of a run, the first that applies in the order of `Exit`, and what it means.

    `red` are the verdicts that fail it. `named`: the user named the backends, so that each of them
    has to judge something. `accidents` tell of processes that ended while they were asked nothing,
    for which no case can be blamed, and `partings` of those that died of being asked to leave,
    which is no matter of operators, and only told.
    """
    results = list(results)
    total = Counter(result.verdict for result in results)
    idle = [backend.address for backend in backends if _is_idle(backend, results)]
    failed = Counter(result.verdict for result in results if is_red(result, red))
    wrong = [*([_spelt(failed)] if failed else []), *accidents]
    also = "".join(f"; {said}" for said in wrong)
    if interrupted:
        return Exit.INTERRUPTED, "interrupted: the run is incomplete"
    if total[Verdict.BAD_CASE]:
        bad = _counted(total[Verdict.BAD_CASE], "result says", "results say")
        return Exit.USAGE, f"{bad} that the case is wrong{also}"
    if total[Verdict.NOT_RUN]:
        return Exit.UNUSABLE, f"incomplete: {total[Verdict.NOT_RUN]:,} not run{also}"
    if wrong:
        return Exit.NONCONFORMING, f"does not conform: {'; '.join(wrong)}"
    if not total:
        return Exit.NOTHING_JUDGED, "nothing was judged: no case matched"
    if idle and (named or len(idle) == len(backends)):
        return Exit.NOTHING_JUDGED, f"nothing was judged: {', '.join(idle)} supported no case"
    judged = _counted(sum(n for v, n in total.items() if v not in _UNJUDGED), "result", "results")
    rest = (Verdict.KNOWN, Verdict.WARN, Verdict.UNSUPPORTED)
    remarks = [_spelt({verdict: total[verdict] for verdict in rest})]
    remarks += [f"{address} supported no case" for address in idle]
    remarks += partings
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
