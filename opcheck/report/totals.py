"""Contents of the tables of a run, in a terminal, in Markdown and on a page."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from opcheck import analysis
from opcheck.analysis import Cause, causes, is_judged, is_red, is_wrong, number_of, reds_of
from opcheck.dtypes import DTYPES
from opcheck.grouping import group_by
from opcheck.model import WRONG, BackendInfo, Header, Known, OpVersion, Record, Verdict
from opcheck.report import plain_text

Backends: TypeAlias = Iterable[BackendInfo]
Results: TypeAlias = Iterable[Record]
#: Label of all operators, and of all dtypes.
ALL = "all"
#: The name of the engine's passes against itself.
SELF = "self"
#: The dtype of cases that have none.
NONE = "none"
Tone: TypeAlias = Literal["bad", "red", "warn", "known", "pass", "self", "gap"]
#: Sign and tone of each kind of result, the worst first; results that fail the run are red.
SIGNS: Mapping[str, tuple[str, Tone]] = {
    Verdict.BAD_CASE: ("B", "bad"),
    Verdict.CRASH: ("C", "red"),
    Verdict.OOM: ("M", "red"),
    Verdict.TIMEOUT: ("T", "red"),
    Verdict.UNSTABLE: ("S", "red"),
    Verdict.FAIL: ("F", "red"),
    Verdict.DIFFER: ("D", "red"),
    Verdict.ERROR: ("E", "red"),
    Verdict.UNEXPECTED_PASS: ("U", "red"),
    Verdict.NOT_RUN: ("?", "gap"),
    Verdict.WARN: ("W", "warn"),
    Verdict.KNOWN: ("K", "known"),
    Verdict.PASS: ("✓", "pass"),
    SELF: ("≡", "self"),
    Verdict.UNSUPPORTED: ("–", "gap"),
}


def of_backends(backends: Backends, results: Results) -> dict[str, list[Record]]:
    """Group the results by backend, in the order of `backends`, without those that have none."""
    found = group_by(results, lambda result: result.backend)
    return {one.address: found[one.address] for one in backends if one.address in found}


def by_operator(
    backends: Backends, results: Sequence[Record], most: int
) -> dict[str, dict[str, Counter[str]]]:
    """Count results that are `wrong`, `judged`, and of each kind, by operator and backend."""
    kinds = [(result, [*_kinds(result)]) for result in sorted(results, key=lambda one: one.op)]
    wrong = Counter(dict.fromkeys((result.op.name for result, _ in kinds), 0))
    wrong.update(result.op.name for result, found in kinds if "wrong" in found)
    # Of more than `most` operators only the worst have a row each. The last row is for all.
    own = wrong if len(wrong) <= most else dict(wrong.most_common(most - 1))
    others = f"{len(wrong) - len(own)} others"
    labels = [*(name for name in wrong if name in own), *[others] * (len(own) < len(wrong)), ALL]
    rows = {label: {one.address: Counter[str]() for one in backends} for label in labels}
    for result, found in kinds:
        for label in (result.op.name if result.op.name in own else others, ALL):
            rows[label][result.backend].update(found)
    if len(wrong) < 2:
        del rows[ALL]
    return rows


def _kinds(result: Record) -> Iterator[str]:
    if is_judged(result):
        yield "judged"
    if is_wrong(result):
        yield "wrong"
    if (name := name_of(result)) != Verdict.PASS:
        yield name


def name_of(record: Record) -> str:
    """The verdict; SELF of the engine against itself; "known" only if listed and wrong."""
    verdict = record.verdict if is_wrong(record) else analysis.before_ledgers(record)
    return SELF if record.self_check and verdict is Verdict.PASS else verdict.value


def table(
    backends: Backends, results: Results
) -> tuple[list[str], list[tuple[OpVersion, str, list[str]]]]:
    """Return columns, and by operator version and backend the cells of a table of counts."""
    # Columns are passes, other verdicts that occur, and if bounds judged, the largest share of them
    # that a pass `used`. A dot stands for none.
    order = [backend.address for backend in backends]
    found: dict[tuple[OpVersion, str], Counter[str]] = defaultdict(Counter)
    used: dict[tuple[OpVersion, str], float] = {}
    for result in results:
        row = result.op, result.backend
        found[row][name_of(result)] += 1
        passed = result.comparisons if result.verdict is Verdict.PASS else ()
        for share in (one.used for one in passed if one.tier):
            used[row] = max(used.get(row, share), share)
    names = {"pass"}.union(*found.values())
    columns = [name for name in ("pass", SELF, *list(Verdict)[1:]) if name in names]
    rows = []
    for row in sorted(found, key=lambda row: (row[0], order.index(row[1]))):
        cells = [f"{found[row][name]:,}" if found[row][name] else "·" for name in columns]
        rows.append((*row, cells + ([f"{used[row]:.2f}" if row in used else "·"] if used else [])))
    return [*columns, *["used"] * bool(used)], rows


def cause_of(known: Known) -> Known:
    """A cause without its place in a user's ledger, which may list it many times."""
    return replace(known, line=known.line and 0, text="", expected="")


def known(backends: Backends, results: Results) -> Iterator[tuple[str, Known, int]]:
    """Yield each backend's known defects, and the number of wrong results that each explains."""
    listed = (result for result in results if name_of(result) == Verdict.KNOWN)
    for address, mine in of_backends(backends, listed).items():
        causes = Counter(cause_of(result.known) for result in mine if result.known)
        yield from ((address, cause, count) for cause, count in causes.most_common())


def passing(backends: Backends, results: Results) -> Iterator[tuple[str, str, int, str]]:
    """Yield backends with places of ledgers, the number of cases that pass there, and advice."""
    for address, mine in of_backends(backends, results).items():
        those = [(r.known, r.verdict) for r in mine if r.known and r.known.line is not None]
        total = Counter(known for known, _ in those)
        passing = Counter(known for known, verdict in those if verdict is Verdict.UNEXPECTED_PASS)
        for known, count in passing.items():
            left, all_of = total[known] - count, total[known]
            what = f"{left} of {all_of} still fail: narrow" if left else "delete"
            yield address, known.at, count, f"{what} `{known.text}`"


#: Backends that agree with each other, and those that differ from them.
AgreementGroups: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def agreement_groups(results: Results) -> list[tuple[AgreementGroups, list[str]]]:
    """Backends that agree and that differ where no answer is known; most cases first."""
    cases: dict[str, tuple[list[str], list[str]]] = {}
    for result in (result for result in results if result.against):
        passed = result.verdict is Verdict.PASS
        cases.setdefault(result.case, ([], []))[0 if passed else 1].append(result.backend)
    found = group_by(cases, lambda case: (tuple(cases[case][0]), tuple(cases[case][1])))
    return sorted(found.items(), key=lambda company: -len(company[1]))


def oracles(results: Results) -> Iterator[str]:
    """Yield a sentence for each oracle by whose answers results were judged."""
    judged = (result.oracle for result in results if result.oracle and result.comparisons)
    for oracle, count in Counter(judged).items():
        verb = "was" if count == 1 else "were"
        yield f"{plain_text.plural(count, 'result')} {verb} judged by what oracle {oracle} answers"


def wrong(header: Header, results: Results) -> Iterator[tuple[str, str, list[Cause]]]:
    """Yield each backend with red results, their number in words, and their causes."""
    red = reds_of(header)
    # Answers that differ accuse nobody.
    some = {*WRONG, Verdict.WARN} - {Verdict.DIFFER}
    failures = [r for r in results if is_red(r, red) and r.verdict in some]
    for address, mine in of_backends(header.backends, failures).items():
        found = causes(mine)
        explained = sum(len(cause.results) for cause in found if cause.explained)
        said, left = plain_text.plural(len(mine), "failure"), len(mine) - explained
        if explained:
            said += f": {explained:,} explained by {plain_text.plural(number_of(found), 'cause')}"
        if left:
            said += f", {left:,} unexplained"
        yield address, said, found


@dataclass(frozen=True)
class Count:
    """Number of results with a verdict."""

    name: str
    sign: str
    tone: Tone
    count: int


#: A version, a backend, counts of all dtypes and of each, and in its first row the version's rows.
OverviewRow: TypeAlias = tuple[OpVersion, str, Mapping[str, tuple[Count, ...]], int]


def by_backend(
    header: Header, records: Results, red: Collection[Verdict]
) -> Iterator[tuple[str, tuple[Count, ...], int, int]]:
    """Yield each backend, its counts, and without the engine against itself, passes and judged."""
    found = group_by(records, lambda record: record.backend)
    for backend in header.backends:
        mine = found.get(backend.address, [])
        judged = [result for result in mine if is_judged(result) and not result.self_check]
        conforming = sum(record.verdict is Verdict.PASS for record in judged)
        yield backend.address, counted(mine, red), conforming, len(judged)


def matrix(
    header: Header, records: Sequence[Record], red: Collection[Verdict]
) -> tuple[tuple[str, ...], list[OverviewRow]]:
    """The dtypes, and a row for each operator version and backend."""
    found = group_by(records, lambda record: (record.op, record.backend))
    # Those of a newer opcheck come behind known ones, NONE last.
    known = {dtype: number for number, dtype in enumerate(DTYPES)} | {NONE: len(DTYPES) + 1}
    names = {record.dtype or NONE for record in records}
    dtypes = tuple(sorted(names, key=lambda name: (known.get(name, len(DTYPES)), name)))
    order = [backend.address for backend in header.backends]
    spans = Counter(op for op, _ in found)
    rows: list[OverviewRow] = []
    for op, backend in sorted(found, key=lambda key: (key[0], order.index(key[1]))):
        mine = group_by(found[op, backend], lambda record: record.dtype or NONE)
        cells = {ALL: counted(found[op, backend], red)}
        cells |= {dtype: counted(mine.get(dtype, ()), red) for dtype in dtypes}
        rows.append((op, backend, cells, spans.pop(op, 0)))
    return dtypes, rows


def counted(records: Results, red: Collection[Verdict]) -> tuple[Count, ...]:
    """Count the verdicts that occur, the worst first; those that fail the run are red."""
    found = Counter((name_of(record), is_red(record, red)) for record in records)
    counts = [
        Count(name, SIGNS[name][0], "red" if fails else SIGNS[name][1], count)
        for (name, fails), count in found.items()
    ]
    return tuple(sorted(counts, key=lambda one: (one.tone != "red", [*SIGNS].index(one.name))))
