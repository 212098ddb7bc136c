"""The end of a run in a terminal: counts of every verdict, known defects, open answers, remarks."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from opcheck.analysis.status import is_judged
from opcheck.model import Header, Record, Verdict
from opcheck.report import failure, overview, plain_text, totals
from opcheck.report.style import Numbers, grouped, new_table, put_all

#: How many kinds of reasons a list shows for a backend before it says how many more there are.
_REASONS = 3
#: How many backends that all agree are named one by one.
_FEW = 3


@dataclass(frozen=True)
class Summary:
    """Print failures, the `slowest` results and an overview, or all in full if `verbose`."""

    console: Console
    header: Header
    results: Sequence[Record]
    complete: bool
    verbose: bool = False
    slowest: int | None = None

    @cached_property
    def names(self) -> dict[str, str]:
        """The backends in words, by their addresses; a version is the backend's own word."""
        return {backend.address: plain_text.brief(str(backend)) for backend in self.header.backends}

    def show(self) -> None:
        """Print all of it."""
        console, results = self.console, self.results
        if not self.complete:
            count = plain_text.plural(self.header.results, "result")
            console.print(Text(f"INCOMPLETE: {len(results):,} of {count}", "bold red"))
            console.print()
        if self.verbose:
            counts = self._counts()
            put_all(console, counts)
            overview.legend(console, [str(column.header) for column in counts.columns])
            put_all(console, self._open_answers())
        put_all(console, _companies(results), *self._causes())
        if self.verbose:
            mine = f"Known failures, as {plain_text.brief(', '.join(self.header.ledgers))} has them"
            shipped = "Known defects of these releases (--no-known judges them)"
            listed = plain_text.alike(results, lambda r: bool(r.known and r.known.line is not None))
            put_all(console, self._with_causes(shipped, listed.get(False, ())))
            put_all(console, self._with_causes(mine, listed.get(True, ())))
        # Without -v, only of backends that there is nothing else to say of.
        judged = set() if self.verbose else {one.backend for one in results if is_judged(one)}
        idle = [result for result in results if result.backend not in judged]
        warnings = "Warnings (in full with -vv, red with --strict)"
        put_all(
            console,
            self._passing(),
            self._reasons(results, Verdict.NOT_RUN, "Not run"),
            self._reasons(idle, Verdict.UNSUPPORTED, "Not supported"),
            self._reasons(
                results,
                Verdict.WARN,
                warnings,
                lambda one: f"{one.op.name}/{one.name}: {one.reason}",
            ),
            *([self._slowest(self.slowest)] if self.slowest else []),
        )
        remarks = [*totals.oracles(results), *self._irreproducible()]
        if self.verbose:
            remarks += [*self._unjudged(), *_outdated(results)]
        for remark in remarks:
            console.print(Text(plain_text.one_line(remark), "yellow"))
        if not self.verbose:
            if remarks:
                console.print()
            overview.show(console, self.header, results)

    def _counts(self) -> Table:
        """The verdicts that occur, by operator version and backend, and what was used of bounds."""
        columns, rows = totals.table(self.header.backends, self.results)
        groups: dict[str, list[list[str | Text]]] = {}
        for op, backend, cells in rows:
            styled = (
                Text(cell, "bright_black" if cell == "·" else overview.STYLES.get(column, ""))
                for column, cell in zip(columns, cells, strict=True)
            )
            groups.setdefault(plain_text.brief(str(op)), []).append([self.names[backend], *styled])
        head = ["operator", "backend", *map(Numbers, columns)]
        return grouped(self.console, head, groups.items(), above=0, apart=True)

    def _open_answers(self) -> Table:
        right = Verdict.PASS, Verdict.WARN
        answers = (one for one in self.results if one.alternative and one.verdict in right)
        by_name = plain_text.alike(answers, lambda result: f"{result.op.name}/{result.name}")
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, of_case in by_name.items():
            alike: dict[str, list[str]] = {}
            for address, _, mine in self._by_backend(of_case):
                given = Counter(str(result.alternative) for result in mine).items()
                said = ", ".join(f"{plain_text.brief(answer)} ×{times}" for answer, times in given)
                alike.setdefault(said, []).append(plain_text.brief(address))
            # Many names, where all of them agree, would be lost on the reader.
            for said, some in alike.items():
                agree = len(some) == len(self.names) > _FEW
                who = f"all {len(some)}" if agree else ", ".join(some)
                groups.setdefault(plain_text.brief(name), []).append((said, who))
        title = "Where the text leaves it open, the answer each backend gives"
        head = ["case", "answer", "backend"]
        return grouped(self.console, head, groups.items(), above=0, title=title)

    def _by_backend(self, results: Sequence[Record]) -> Iterator[tuple[str, str, list[Record]]]:
        """Yield each backend that has some of the results: its address, its name, and those."""
        for address, name in self.names.items():
            if mine := [result for result in results if result.backend == address]:
                yield address, name, mine

    def _causes(self) -> Iterator[Table]:
        for wrong in totals.wrong(self.header, self.results):
            title = f"What is wrong with {self.names[wrong.backend]}: {wrong.told}"
            table = new_table(Numbers("cases"), "looks", "in", title=title)
            for cause in wrong.causes:
                cells = f"{len(cause.results):,}", cause.looks, ", ".join(cause.places)
                table.add_row(*map(plain_text.one_line, cells))
            yield table

    def _with_causes(self, title: str, results: Iterable[Record]) -> Table:
        groups: dict[str, list[tuple[str, str]]] = {}
        for address, known, count in totals.known(self.header.backends, results):
            said = plain_text.one_line(known.cause)
            # In a line of its own, where it is whole if anything is.
            said += f"\n{plain_text.one_line(known.link)}" if known.link else ""
            groups.setdefault(address, []).append((f"{count:,}", said))
        named = ((self.names[address], rows) for address, rows in groups.items())
        return self._listing(title, "cause", named)

    def _passing(self) -> Table:
        columns = "backend", "listed in", Numbers("cases"), "what to do"
        table = new_table(*columns, title="Listed as failing, but passing")
        for _, name, mine in self._by_backend(self.results):
            for place, passing, advice in failure.outdated_lines(mine):
                table.add_row(name, place, f"{passing:,}", plain_text.one_line(advice))
        return table

    def _unjudged(self) -> Iterator[str]:
        """About how many elements of passes the error bounds say little, and in which cases."""
        passed = [one for one in self.results if one.verdict is Verdict.PASS and one.unjudged]
        for _, name, mine in self._by_backend(passed):
            some = sum(result.unjudged for result in mine)
            yield f"{name}: {plain_text.plural(some, 'element')} unjudged, in {_where(mine)}"

    def _irreproducible(self) -> Iterator[str]:
        """Yield how many right answers of each backend differ between runs, and in which cases."""
        those = [one for one in self.results if one.irreproducible]
        for _, name, mine in self._by_backend(those):
            said = f"{plain_text.plural(len(mine), 'result')} not reproducible to the bit"
            yield f"{name}: {said} (red with --require-reproducible), in {_where(mine)}"

    def _reasons(
        self,
        results: Iterable[Record],
        verdict: Verdict,
        title: str,
        spell: Callable[[Record], str] = attrgetter("reason"),
    ) -> Table:
        chosen = [result for result in results if result.verdict is verdict]
        found = self._by_backend(chosen)
        kinds = ((name, [*_kinds(Counter(map(spell, mine)))]) for _, name, mine in found)
        return self._listing(title, "reason", kinds)

    def _listing(
        self, title: str, last: str, groups: Iterable[tuple[str, Sequence[tuple[str, str]]]]
    ) -> Table:
        head = ["backend", Numbers("cases"), last]
        return grouped(self.console, head, groups, above=1, title=title)

    def _slowest(self, most: int) -> Table:
        chosen = sorted(self.results, key=lambda result: -result.seconds)[:most]
        timed = [result for result in chosen if result.seconds > 0]
        share = sum(one.seconds for one in timed) / (sum(one.seconds for one in self.results) or 1)
        count = plain_text.plural(len(timed), "result")
        title = f"Slowest: {count}, {plain_text.percent(share)} of the time that backends took"
        table = new_table(Numbers("time"), "backend", "case", title=title)
        for result in timed:
            names = self.names[result.backend], plain_text.one_line(result.case)
            table.add_row(plain_text.seconds(result.seconds), *names)
        return table


def _companies(results: Iterable[Record]) -> Table:
    title = "Where nobody knows the answer, who agrees: no proof of anything"
    table = new_table("agree", "differ", Numbers("cases"), "such as", title=title)
    for company, cases in totals.companies(results):
        who = (", ".join(map(plain_text.brief, backends)) or "–" for backends in company)
        table.add_row(*who, f"{len(cases):,}", plain_text.brief(cases[0]))
    return table


def _where(results: Iterable[Record]) -> str:
    cases = sorted({f"{result.op.name}/{result.name}" for result in results})
    more = f" and {len(cases) - _REASONS} more" if len(cases) > _REASONS else ""
    return f"{', '.join(cases[:_REASONS])}{more}"


def _outdated(results: Iterable[Record]) -> Iterable[str]:
    """Causes that explain no failure any more: a remark, because the ledgers are ours to mend."""
    said = [(r.verdict, (r.known.ledger, r.known.cause)) for r in results if r.known]
    applied = {cause for verdict, cause in said if verdict is Verdict.KNOWN}
    passing = Counter(c for verdict, c in said if verdict is Verdict.PASS and c not in applied)
    for (ledger, cause), count in passing.items():
        verb = "passes" if count == 1 else "pass"
        yield f"listed in {ledger}, but {plain_text.plural(count, 'such case')} {verb}: {cause}"


def _kinds(reasons: Counter[str]) -> Iterator[tuple[str, str]]:
    kinds: dict[str, Counter[str]] = {}
    for reason, count in reasons.items():
        kinds.setdefault(plain_text.kind(reason), Counter())[reason] += count
    by_size = sorted(kinds.values(), key=lambda kind: -kind.total())
    for kind in by_size[:_REASONS]:
        alike = f" (and {len(kind) - 1} more like it)" if len(kind) > 1 else ""
        yield f"{kind.total():,}", f"{plain_text.brief(next(iter(kind)))}{alike}"
    if left := by_size[_REASONS:]:
        total = sum(kind.total() for kind in left)
        yield f"{total:,}", plain_text.plural(len(left), "other reason")
