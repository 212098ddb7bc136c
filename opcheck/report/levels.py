"""A proposal for level core: rows that it lacks, rows that nobody needs, and what that changes."""

from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.table import Table

from opcheck.grouping import group_by
from opcheck.report.style import Numbers, new_table, put_all
from opcheck.suite.levels import Demand, Proposal, Row, Tally

#: The most demands shown as the reason of a row.
_REASONS = 2


def show(console: Console, proposal: Proposal, *, verbose: bool) -> None:
    """Print the rows to move, all needed rows with their reasons if `verbose`, and the totals."""
    tables = []
    if proposal.missing:
        lacks = [(proposal.rows[n], proposal.gains[n]) for n in proposal.missing]
        tables.append(_rows("Core lacks", "it would also show", lacks))
    if proposal.idle:
        idle = [(proposal.rows[n], frozenset[Demand]()) for n in proposal.idle]
        tables.append(_rows("Core does not need", "", idle))
    if verbose:
        needed = [
            (proposal.rows[n], alone)
            for n, alone in sorted(proposal.reasons.items())
            if proposal.rows[n].is_core
        ]
        tables.append(_rows("Core needs", "it alone shows", needed))
    put_all(console, *tables, _totals(proposal))


def _rows(title: str, last: str, rows: Iterable[tuple[Row, Collection[Demand]]]) -> Table:
    """Return a table of rows; those of one place are together, with their dtypes."""
    columns = ("place", "row", "operators", "types", Numbers("cases"), *filter(None, [last]))
    table = new_table(*columns, title=title)
    for of_place in group_by(rows, lambda pair: pair[0].source).values():
        first = of_place[0][0]
        demands = {demand for _, shown in of_place for demand in shown}
        cells = [
            first.source,
            str(first),
            " ".join(dict.fromkeys(op for row, _ in of_place for op in row.ops)),
            " ".join(row.place for row, _ in of_place),
            f"{sum(len(row.cases) for row, _ in of_place):,}",
        ]
        if last:
            fixed = "level smoke" if first.fixed else "–"
            cells.append(_reason(sorted(demands)) or fixed)
        table.add_row(*cells)
    return table


def _reason(demands: Sequence[Demand]) -> str:
    """Return some of the demands, and how many more there are; "" without any."""
    shown = "; ".join(map(str, demands[:_REASONS]))
    more = len(demands) - _REASONS
    return f"{shown} and {more:,} more" if more > 0 else shown


def _totals(proposal: Proposal) -> Table:
    """Return the table of operators, with their core as it is and as it is proposed."""
    counts = ("cases", "proposed", "mutants seen", "proposed", "work", "proposed")
    table = new_table("operator", *map(Numbers, counts))
    pairs = {op: (proposal.before(op), proposal.after(op)) for op in proposal.ops}
    if len(pairs) > 1:
        pairs["all"] = _sum(pairs.values())
    for number, (op, (before, after)) in enumerate(pairs.items()):
        table.add_row(
            op,
            f"{before.cases:,}",
            f"{after.cases:,}",
            f"{before.share:.1%}",
            f"{after.share:.1%}",
            f"{before.work:,}",
            f"{after.work:,}",
            end_section=number + 2 == len(pairs),
        )
    return table


def _sum(pairs: Collection[tuple[Tally, Tally]]) -> tuple[Tally, Tally]:
    """Return the sums of tallies as they are, and as they are proposed."""
    before, after = ([*side] for side in zip(*pairs, strict=True))
    return _total(before), _total(after)


def _total(tallies: Sequence[Tally]) -> Tally:
    return Tally(
        cases=sum(tally.cases for tally in tallies),
        work=sum(tally.work for tally in tallies),
        seen=sum(tally.seen for tally in tallies),
        mutants=sum(tally.mutants for tally in tallies),
    )
