"""Contents of the tables of a run, in a terminal, in Markdown and on a page."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
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
#: Labels, behind their number, of operators that have no row each.
OTHERS, NOTHING_JUDGED = "others", "with nothing judged"
#: The name of the engine's passes against itself.
SELF = "self"
#: The dtype of cases that have none: each of their inputs has its own.
NONE = "mixed"
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
    by_address = group_by(results, attrgetter("backend"))
    addresses = [info.address for info in backends]
    return {address: by_address[address] for address in addresses if address in by_address}


def by_operator(
    backends: Backends, results: Sequence[Record], most: int
) -> dict[str, dict[str, Counter[str]]]:
    """Count results that are `wrong`, `judged`, and of each kind, by operator and backend.

    Operators with most wrong results come first, then those with most unsupported ones. If there
    are more than `most` rows, the last ones are one, and so are the operators of which nothing was
    judged. The last row is for all.
    """
    labels = _row_labels(results, most)
    rows = {
        label: {info.address: Counter[str]() for info in backends}
        for label in dict.fromkeys((*labels.values(), ALL))
    }
    for result in results:
        kinds = [*_kinds(result)]
        rows[labels[result.op.name]][result.backend].update(kinds)
        rows[ALL][result.backend].update(kinds)
    if len(labels) < 2:
        del rows[ALL]
    return rows


def _row_labels(results: Results, most: int) -> dict[str, str]:
    """Return the label of each operator's row, by its name, in the order of the rows."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for result in sorted(results, key=attrgetter("op")):
        counts[result.op.name].update(_kinds(result))

    def severity(name: str) -> tuple[int, int]:
        return -counts[name]["wrong"], -counts[name][Verdict.UNSUPPORTED]

    judged = sorted((name for name in counts if counts[name]["judged"]), key=severity)
    idle = [name for name in counts if not counts[name]["judged"]]
    own = judged if len(judged) <= most else judged[: most - 1]
    labels = {name: name for name in own}
    others = judged[len(own) :]
    labels |= dict.fromkeys(others, f"{len(others)} {OTHERS}")
    if len(idle) > 1:
        labels |= dict.fromkeys(idle, f"{len(idle)} {NOTHING_JUDGED}")
    else:
        labels |= {name: name for name in idle}
    return labels


def _kinds(result: Record) -> Iterator[str]:
    if is_judged(result):
        yield "judged"
    if is_wrong(result):
        yield "wrong"
    name = name_of(result)
    if name != Verdict.PASS:
        yield name


def name_of(record: Record) -> str:
    """Return the verdict; SELF of the engine against itself; "known" only if listed and wrong."""
    verdict = record.verdict if is_wrong(record) else analysis.before_ledgers(record)
    return SELF if record.self_check and verdict is Verdict.PASS else verdict.value


def table(
    backends: Backends, results: Results
) -> tuple[list[str], list[tuple[OpVersion, str, list[str]]]]:
    """Return columns, and by operator version and backend the cells of a table of counts."""
    # Columns are passes, other verdicts that occur, and if bounds judged, the largest share of them
    # that a pass `used`. A dot stands for none.
    counts: dict[_Row, Counter[str]] = defaultdict(Counter)
    used: dict[_Row, float] = {}
    for result in results:
        row = (result.op, result.backend)
        counts[row][name_of(result)] += 1
        passed = result.comparisons if result.verdict is Verdict.PASS else ()
        for share in (comparison.used for comparison in passed if comparison.tier):
            used[row] = max(used.get(row, share), share)
    names = {"pass"}.union(*counts.values())
    columns = [name for name in ("pass", SELF, *list(Verdict)[1:]) if name in names]
    rows = []
    for row in _in_order(backends, counts):
        cells = [f"{counts[row][name]:,}" if counts[row][name] else "·" for name in columns]
        if used:
            cells.append(f"{used[row]:.2f}" if row in used else "·")
        rows.append((*row, cells))
    return [*columns, "used"] if used else columns, rows


#: An operator version, and the address of a backend.
_Row: TypeAlias = tuple[OpVersion, str]


def _in_order(backends: Backends, rows: Iterable[_Row]) -> list[_Row]:
    """Sort rows by operator version, then by backend as in `backends`."""
    addresses = [backend.address for backend in backends]

    def key(row: _Row) -> tuple[OpVersion, int]:
        op, address = row
        return op, addresses.index(address)

    return sorted(rows, key=key)


def cause_of(known: Known) -> Known:
    """Return a cause without its place in a user's ledger, which may list it many times."""
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
        listed: Counter[Known] = Counter()
        passing: Counter[Known] = Counter()
        for result in mine:
            if result.known and result.known.line is not None:
                listed[result.known] += 1
                passing[result.known] += result.verdict is Verdict.UNEXPECTED_PASS
        for known, count in (+passing).items():
            failing = listed[known] - count
            advice = f"{failing} of {listed[known]} still fail: narrow" if failing else "delete"
            yield address, known.at, count, f"{advice} `{known.text}`"


#: Backends that agree with each other, and those that differ from them.
AgreementGroups: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def agreement_groups(results: Results) -> list[tuple[AgreementGroups, list[str]]]:
    """Return backends that agree, and that differ, where no answer is known; most cases first.

    Each group has the ids of its cases.
    """
    compared = group_by((result for result in results if result.against), attrgetter("case"))

    def groups_of(case: str) -> AgreementGroups:
        agreeing: list[str] = []
        differing: list[str] = []
        for result in compared[case]:
            passed = result.verdict is Verdict.PASS
            (agreeing if passed else differing).append(result.backend)
        return tuple(agreeing), tuple(differing)

    groups = [*group_by(compared, groups_of).items()]
    groups.sort(key=lambda group: len(group[1]), reverse=True)
    return groups


def oracles(results: Results) -> Iterator[str]:
    """Yield a sentence for each oracle by whose answers results were judged."""
    oracles_used = (result.oracle for result in results if result.oracle and result.comparisons)
    for oracle, count in Counter(oracles_used).items():
        verb = "was" if count == 1 else "were"
        yield f"{plain_text.plural(count, 'result')} {verb} judged by what oracle {oracle} answers"


def wrong(
    header: Header, results: Results, *, folded: bool = True
) -> Iterator[tuple[str, str, list[Cause]]]:
    """Yield each backend with red results, their number in words, and their causes.

    If `folded`, all invalid models that it accepts are one cause.
    """
    red = reds_of(header)
    # Answers that differ do not show which backend is wrong.
    wrong_verdicts = {*WRONG, Verdict.WARN} - {Verdict.DIFFER}
    failures = [
        result for result in results if is_red(result, red) and result.verdict in wrong_verdicts
    ]
    for address, mine in of_backends(header.backends, failures).items():
        its_causes = causes(mine, folded=folded)
        explained = sum(len(cause.results) for cause in its_causes if cause.explained)
        unexplained = len(mine) - explained
        count = plain_text.plural(len(mine), "failure")
        if explained:
            number = plain_text.plural(number_of(its_causes), "cause")
            count += f": {explained:,} explained by {number}"
        if unexplained:
            count += f", {unexplained:,} unexplained"
        yield address, count, its_causes


@dataclass(frozen=True)
class Count:
    """Number of results with a verdict."""

    name: str
    sign: str
    tone: Tone
    count: int


#: A version, a backend, counts of all dtypes and of each, and in its first row the version's rows.
OverviewRow: TypeAlias = tuple[OpVersion, str, Mapping[str, tuple[Count, ...]], int]


@dataclass(frozen=True)
class BackendTotals:
    """Counts of a backend's results; the engine compared with itself is in `counts` alone.

    Results `conforming` are passes, and warnings unless they fail the run; `warned` of them are
    warnings.
    """

    address: str
    counts: tuple[Count, ...]
    conforming: int
    warned: int
    judged: int


def by_backend(
    header: Header, records: Results, red: Collection[Verdict]
) -> Iterator[BackendTotals]:
    """Yield the totals of each backend."""
    by_address = group_by(records, attrgetter("backend"))
    for backend in header.backends:
        mine = by_address.get(backend.address, [])
        judged_results = [result for result in mine if is_judged(result) and not result.self_check]
        passed = sum(record.verdict is Verdict.PASS for record in judged_results)
        warned = sum(
            record.verdict is Verdict.WARN and not is_red(record, red) for record in judged_results
        )
        yield BackendTotals(
            address=backend.address,
            counts=counted(mine, red),
            conforming=passed + warned,
            warned=warned,
            judged=len(judged_results),
        )


@dataclass(frozen=True)
class Matrix:
    """Results by operator version, backend and dtype.

    Attributes:
        dtypes: The dtypes; none if all results have the same label of none.
        rows: A row for each operator version and backend: those with most red results first.
        unsupported: The operator versions that no backend supports, which have no row.
    """

    dtypes: tuple[str, ...]
    rows: list[OverviewRow]
    unsupported: tuple[OpVersion, ...]


def matrix(header: Header, records: Sequence[Record], red: Collection[Verdict]) -> Matrix:
    """Return the results by operator version, backend and dtype."""
    by_op = group_by(sorted(records, key=attrgetter("op")), attrgetter("op"))
    unsupported = [op for op, mine in by_op.items() if _is_unsupported(mine, red)]
    kept = [op for op in by_op if op not in unsupported]
    # Sorting is stable: versions with as many red results stay in their order.
    kept.sort(key=lambda op: -sum(is_red(record, red) for record in by_op[op]))
    dtypes = _dtypes_in_order({record.dtype or NONE for op in kept for record in by_op[op]})
    if dtypes == (NONE,):
        dtypes = ()
    rows = [row for op in kept for row in _matrix_rows(header, op, by_op[op], dtypes, red)]
    return Matrix(dtypes, rows, tuple(unsupported))


def _is_unsupported(records: Results, red: Collection[Verdict]) -> bool:
    """Return True if all results are unsupported, and none of them fails the run."""
    return all(
        record.verdict is Verdict.UNSUPPORTED and not is_red(record, red) for record in records
    )


def _matrix_rows(
    header: Header,
    op: OpVersion,
    records: Results,
    dtypes: Sequence[str],
    red: Collection[Verdict],
) -> list[OverviewRow]:
    """Return the rows of an operator version, one for each backend with a result."""
    by_row: dict[_Row, list[Record]] = defaultdict(list)
    for record in records:
        by_row[op, record.backend].append(record)
    backends_of = {op: len(by_row)}
    rows: list[OverviewRow] = []
    for _, backend in _in_order(header.backends, by_row):
        mine = by_row[op, backend]
        by_dtype = group_by(mine, lambda record: record.dtype or NONE)
        cells = {ALL: counted(mine, red)}
        cells |= {dtype: counted(by_dtype.get(dtype, ()), red) for dtype in dtypes}
        # The number of rows of a version stands in the first of them alone.
        rows.append((op, backend, cells, backends_of.pop(op, 0)))
    return rows


def _dtypes_in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Sort dtypes: known ones first, those of a newer opcheck behind them, NONE last."""
    places = {dtype: place for place, dtype in enumerate(DTYPES)}
    places[NONE] = len(DTYPES) + 1

    def key(name: str) -> tuple[int, str]:
        return places.get(name, len(DTYPES)), name

    return tuple(sorted(names, key=key))


def counted(records: Results, red: Collection[Verdict]) -> tuple[Count, ...]:
    """Count the verdicts that occur, the worst first; those that fail the run are red."""
    numbers = Counter((name_of(record), is_red(record, red)) for record in records)
    counts = []
    for (name, fails), number in numbers.items():
        sign, tone = SIGNS[name]
        counts.append(Count(name, sign, "red" if fails else tone, number))
    return tuple(sorted(counts, key=_severity))


def _severity(count: Count) -> tuple[bool, int]:
    """Return a key that sorts counts: red ones first, and the worst verdict first."""
    return count.tone != "red", [*SIGNS].index(count.name)
