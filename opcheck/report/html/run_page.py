"""The page of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from opcheck.model import Header, Record, Run, Verdict
from opcheck.records.status import outcome, reds_of
from opcheck.report import listed, tally, words
from opcheck.report.failure import wanted
from opcheck.report.html import failures, look, overview, plots, results
from opcheck.report.html.page import as_data, brief, document, render

#: How large a page may become, in bytes, and what its failures may take of that whatever else
#: there is: a page of so many results that the list alone is larger still tells some in full.
_LARGEST, _LEAST = 4_800_000, 1_000_000
#: How many diagnoses are told of a failure.
_LIKELIEST = 3
#: From more failures on, causes are folded: one wants to see all of those first.
_MANY = 30


def page(run: Run) -> str:
    """The whole document."""
    header, records, red = run.header, run.records, reds_of(run.header)
    code, meaning = outcome(run)
    known = list(tally.known(header.backends, records))
    numbers = {(address, cause): number for number, (address, cause, _) in enumerate(known)}
    data = as_data(results.table(records, red, numbers))
    rows = {id(record): number for number, record in enumerate(records)}
    broken = failures.broken(header, records, red)
    groups = [group for one in broken for group in one.groups]
    room = max(_LARGEST - plots.ROOM - len(data), _LEAST)
    with plots.plots() as drawn:
        left = failures.tell(groups, partial(_told, drawn=drawn, rows=rows, red=red), room)
    return document(
        "run.html",
        run=run,
        header=header,
        names={backend.address: brief(str(backend)) for backend in header.backends},
        code=int(code),
        meaning=meaning,
        totals=overview.totals(header, records, red),
        matrix=overview.matrix(header, records, red),
        verdicts=look.counted(records, red),
        has_self=any(record.self_check for record in records),
        broken=broken,
        failures=sum(len(group.failures) for group in groups),
        many=_MANY,
        left=left,
        known=known,
        drawings=drawn.drawings,
        undrawn=drawn.left_out,
        can_draw=plots.available(),
        levels=plots.LEVELS,
        facts=[*_facts(header)],
        data=data,
    )


def _told(
    record: Record, drawn: plots.Plots, rows: Mapping[int, int], red: Collection[Verdict]
) -> str:
    """One failure, folded, with everything that is known of it."""
    (count,) = look.counted([record], red)
    return render(
        "failure.html",
        record=record,
        found=listed.found(record),
        ledger=listed.told(record),
        wanted=wanted(record),
        number=rows[id(record)],
        count=count,
        evidence=[
            (one, drawn.of(one.picture) if one.picture else [])
            for one in record.comparisons
            if one.worst or one.unjudged or one.picture
        ],
        likeliest=_LIKELIEST,
    )


def _facts(header: Header) -> Iterator[tuple[str, str]]:
    """What may matter to somebody who repeats the run elsewhere, by name."""
    about = header.environment
    yield from (("opcheck", about.opcheck), ("Python", about.python), ("platform", about.platform))
    yield from about.packages.items()
    yield "started", header.started
    yield "selection", header.selection
    if header.paths:
        yield "paths", ", ".join(header.paths)
    yield "suite", f"{words.plural(header.suite.cases, 'case')}, {header.suite.digest[:12]}"
    if header.shard:
        first, count = header.shard
        yield "shard", f"{first} of {count}"
    if header.seed is not None:
        yield "seed", str(header.seed)
    told = {
        "--no-known": not header.known,
        "--strict": header.strict,
        "--require-supported": header.require_supported,
    }
    said = [name for name, is_on in told.items() if is_on]
    if header.ledgers:
        yield "known failures", ", ".join(header.ledgers)
    yield "options", ", ".join([*said, *(f"{k} {v}" for k, v in header.options.items())]) or "none"
