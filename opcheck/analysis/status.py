"""The exit code of a run and the sentence that explains it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from opcheck.errors import Exit
from opcheck.model import WRONG, BackendInfo, Ending, Header, LiveResult, Record, Run, Verdict
from opcheck.model.result import Diagnosis, Failure

_RED = frozenset([*WRONG, Verdict.UNEXPECTED_PASS])
_REMARKS = (Verdict.WARN, Verdict.DIFFER, Verdict.UNSUPPORTED)
UNJUDGED = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE)


def reds(*, strict: bool = False, require_supported: bool = False) -> frozenset[Verdict]:
    """The verdicts that make a run fail."""
    asked = {Verdict.WARN: strict, Verdict.UNSUPPORTED: require_supported}
    return _RED.union(verdict for verdict, is_asked in asked.items() if is_asked)


def reds_of(header: Header) -> frozenset[Verdict]:
    """The verdicts that made this run fail."""
    return reds(strict=header.strict, require_supported=header.require_supported)


def is_red(result: Record | LiveResult, red: Collection[Verdict]) -> bool:
    """Return True if a result fails a run in which these verdicts are red."""
    excused = result.inexpressible and not result.beyond
    return result.unexpected or (result.verdict in red and not excused)


def is_failure(result: Record | LiveResult, red: Collection[Verdict]) -> bool:
    """Return True if a result is shown in full and counts for --max-fail: red, or a bad case."""
    return result.verdict is Verdict.BAD_CASE or is_red(result, red)


def status(
    header: Header,
    results: Iterable[Record],
    ending: Ending | None = None,
    *,
    interrupted: bool = False,
    cut_short: bool = False,
) -> tuple[Exit, str]:
    """The exit code of a run, the first that applies in the order of `Exit`, and its meaning.

    Each backend that the user named must be judged on something; of others, one is enough. Only
    accidents of the `ending` make a run fail, partings do not. A stored run is `cut_short` if
    results are missing because of -x or --max-fail.
    """
    results, ending = list(results), ending or Ending()
    red = reds_of(header)
    total = Counter(result.verdict for result in results)
    asked = {backend.address: _why_idle(backend, results) for backend in header.backends}
    idle = {address: why for address, why in asked.items() if why}
    idly = [
        f"{', '.join(address for address in idle if idle[address] == why)} {why}"
        for why in dict.fromkeys(idle.values())
    ]
    failed = [result for result in results if is_red(result, red)]
    wrong = [_spelt(Counter(result.verdict for result in failed))] * bool(failed)
    if beyond := sum(result.beyond for result in failed):
        wrong.append(f"{beyond:,} of these unsupported by opcheck, not by a backend")
    wrong += ending.accidents
    also = "".join(f"; {said}" for said in wrong)
    if interrupted:
        return Exit.INTERRUPTED, "interrupted: the run is incomplete"
    if total[Verdict.BAD_CASE]:
        bad = _counted(total[Verdict.BAD_CASE], "result says", "results say")
        return Exit.USAGE, f"{bad} that the case is wrong{also}"
    if cut_short:
        there = f"{len(results):,} of {_counted(header.results, 'result', 'results')}"
        return Exit.UNUSABLE, f"incomplete: {there}{also}"
    if total[Verdict.NOT_RUN]:
        return Exit.UNUSABLE, f"incomplete: {total[Verdict.NOT_RUN]:,} not run{also}"
    if wrong:
        return Exit.NONCONFORMING, f"does not conform: {'; '.join(wrong)}"
    if not total:
        is_empty_part = header.part and header.suite.cases
        matched = f"{header.part} has no case" if is_empty_part else "no case matched"
        return Exit.NOTHING_JUDGED, f"nothing was judged: {matched}"
    if idle and (header.named or len(idle) == len(header.backends)):
        return Exit.NOTHING_JUDGED, f"nothing was judged: {'; '.join(idly)}"
    judged = _counted(sum(map(is_judged, results)), "result", "results")
    off = {*WRONG} - {Verdict.DIFFER}
    excused = (result for result in results if result.verdict is Verdict.KNOWN)
    known = Counter(result.backend for result in excused if before_ledgers(result) in off)
    found = Counter(before_ledgers(result) for result in results)
    remarks = []
    if known:
        (first, count), *others = known.items()
        remarks.append(f"{first} is wrong on {_counted(count, 'known case', 'known cases')}")
        remarks[0] += "".join(f", {name} on {count:,}" for name, count in others)
    remarks += [_spelt({verdict: found[verdict] for verdict in _REMARKS})]
    other = sum(result.irreproducible for result in results)
    remarks += [f"{other:,} not reproducible to the bit"] * bool(other)
    remarks += [f"{address} {why}" for address, why in idle.items()]
    passed = {result.backend for result in results if result.verdict is not Verdict.KNOWN}
    remarks += [
        f"{backend.address} passed no case: all that it fails is listed"
        for backend in header.backends
        if backend.address not in {*passed, *idle}
    ]
    remarks += [f"{header.part} only"] * bool(header.part)
    remarks += [*several_builds(header), *ending.partings]
    head = f"nothing new: {judged}" if known else f"conforms: {judged}, nothing unexpected"
    return Exit.CONFORMS, "; ".join(filter(None, [head, *remarks]))


def outcome(run: Run) -> tuple[Exit, str]:
    """Return exit code and message of a stored run; without all results it is incomplete."""
    return status(run.header, run.records, run.ending, cut_short=not run.complete)


def several_builds(whole: Header) -> Iterator[str]:
    """Yield backends that were built from different files in parts of a run, with these files."""
    for info in (*whole.backends, *whole.oracles):
        if unlike := [name for name, digests in info.made_of.items() if ", " in digests]:
            yield f"{info} was not made of the same everywhere: {', '.join(unlike)}"


def _why_idle(backend: BackendInfo, results: Iterable[Record]) -> str:
    """Return why a backend was judged on nothing, or ""."""
    mine = [result for result in results if result.backend == backend.address]
    judged = [result for result in mine if is_judged(result)]
    # Agreeing with itself proves nothing; the engine's exact mode is another answer.
    if judged and all(
        result.verdict is Verdict.PASS and result.self_check and (result.oracle or result.against)
        for result in judged
    ):
        return "was compared with itself only"
    declined = any(before_ledgers(result) is Verdict.UNSUPPORTED for result in mine)
    # Refusing invalid models proves nothing if no legal model of the dtype is supported.
    idle = all(result.refused for result in judged) and (declined or not judged)
    return "supported no case" if idle else ""


def before_ledgers(result: Record) -> Verdict:
    """Return the verdict that a result had before any ledger excused it."""
    return result.verdict if result.verdict is not Verdict.KNOWN else result.found or Verdict.FAIL


def is_judged(result: Record) -> bool:
    """Return True if the result judges a computed answer, not a known lack of support."""
    return before_ledgers(result) not in UNJUDGED


def _counted(count: int, one: str, many: str) -> str:
    """`1 result`, `2,771 results`."""
    return f"{count:,} {one if count == 1 else many}"


def _spelt(counts: Mapping[Verdict, int]) -> str:
    return ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in Verdict if counts.get(verdict))


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
    "stray_crash": "dies of what was asked before",
    "timeout": "hangs",
    "oom": "takes too much memory",
    "unstable": "answers otherwise from run to run",
}


@dataclass(frozen=True)
class Cause:
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
    """Return the number of mistakes; a diagnosis that combines two mutants counts as both."""
    mistakes = [cause.diagnosis.mistake for cause in causes if cause.explained]
    return len({part for one in mistakes if one for part in one.split("+")}) + mistakes.count(None)


def causes(results: Iterable[Record]) -> list[Cause]:
    """Group the failures of one backend by their first diagnosis, the most frequent first.

    Failures without a diagnosis come last, grouped by how they fail.
    """
    found: dict[tuple[bool, Diagnosis], list[Record]] = defaultdict(list)
    for result in results:
        if (first := next(iter(result.diagnoses), None)) and (first.mistake or first.counts):
            found[True, first].append(result)
        else:
            way = WAYS.get(result.failure, str(result.verdict))
            found[False, Diagnosis(None, f"not explained: {way}")].append(result)
    ordered = sorted(found.items(), key=lambda item: (not item[0][0], -len(item[1])))
    return [Cause(diagnosis, tuple(alike), known) for (known, diagnosis), alike in ordered]


def _counts(results: Iterable[Record]) -> tuple[int, int, int, int] | None:
    """Sum the evidence for a cause over its operators."""
    first = {(one.op.domain, one.op.name): one.diagnoses[0] for one in results if one.diagnoses}
    if not (counts := [diagnosis.counts for diagnosis in first.values() if diagnosis.counts]):
        return None
    here, such, elsewhere, others = map(sum, zip(*counts, strict=True))
    return here, such, elsewhere, others
