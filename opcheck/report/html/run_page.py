"""The page of a run."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from math import inf
from typing import Any

from jinja2.utils import htmlsafe_json_dumps

from opcheck.analysis.status import is_failure, outcome, reds, reds_of
from opcheck.model import Header, Known, Record, Run, Verdict
from opcheck.report import failure, plain_text, totals
from opcheck.report.failure import wanted
from opcheck.report.html import page
from opcheck.report.html.page import brief, document, embedded, render, said, shown
from opcheck.report.totals import NONE, counted

#: The largest page, in bytes, and the room of its failures even if the list of results is larger.
_LARGEST, _LEAST = 4_800_000, 1_000_000
#: Placeholder for the case's id in a command.
PLACE = "\N{OBJECT REPLACEMENT CHARACTER}"
#: The most characters of a text in the list.
_SAID = 300


def lines(run: Run) -> Iterator[str]:
    """The whole document, line by line."""
    header, records, red = run.header, run.records, reds_of(run.header)
    code, meaning = outcome(run)
    known = list(totals.known(header.backends, records))
    numbers = {(address, cause): number for number, (address, cause, _) in enumerate(known)}
    data = htmlsafe_json_dumps(results_table(records, red, numbers), separators=(",", ":"))
    rows = {id(record): number for number, record in enumerate(records)}
    broken = broken_backends(header, records, red)
    groups = [group for *_, some in broken for group in some]
    room = max(_LARGEST - page.ROOM - len(data), _LEAST)
    dtypes, matrix = totals.matrix(header, records, red)
    options = ["--no-known"] * (not header.known) + ["--strict"] * header.strict
    options += ["--require-supported"] * header.require_supported
    options += [f"{name} {value}" for name, value in header.options.items()]
    drawn = page.Plots()
    left = show_some(groups, partial(_report, drawn=drawn, rows=rows, red=red), room)
    yield from document(
        "run.html",
        run=run,
        header=header,
        names={backend.address: brief(str(backend)) for backend in header.backends},
        code=int(code),
        meaning=meaning,
        totals=totals.by_backend(header, records, red),
        dtypes=dtypes,
        matrix=matrix,
        verdicts=counted(records, red),
        has_self=any(record.self_check for record in records),
        broken=broken,
        failures=sum(len(group.failures) for group in groups),
        many=30,  # with more, causes are folded, so that all of them are seen first
        left=left,
        known=known,
        drawings=drawn.drawings,
        undrawn=drawn.left_out,
        levels=page.LEVELS,
        options=options or ["none"],
        data=data,
    ).split("\n")


def fragment(record: Record) -> str:
    """One result as the page shows it, unfolded, for another document."""
    drawn = page.Plots()
    shown = _report(record, drawn, {id(record): 0}, reds())
    return embedded(shown, drawn.drawings)


def _report(
    record: Record, drawn: page.Plots, rows: Mapping[int, int], red: Collection[Verdict]
) -> str:
    (count,) = counted([record], red)
    return render(
        "failure.html",
        record=record,
        found=failure.finding(record),
        ledger=failure.ledger_note(record),
        wanted=wanted(record),
        number=rows[id(record)],
        count=count,
        evidence=[
            (one, drawn.of(one.picture) if one.picture else [])
            for one in record.comparisons
            if one.worst or one.unjudged or one.picture
        ],
        likeliest=failure.LIKELIEST,
    )


@dataclass
class FailureGroup:
    """Failures of a backend that look alike, and the reports of those `shown` in full."""

    title: str
    places: Sequence[str]
    failures: Sequence[Record]
    shown: list[str] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Number of failures that are not shown in full."""
        return len(self.failures) - len(self.shown)


def broken_backends(
    header: Header, records: Sequence[Record], red: Collection[Verdict]
) -> list[tuple[str, str, list[FailureGroup]]]:
    """Each backend with failures, their number in words, and groups: first those with a cause."""
    # A wrong case is shown once, though all backends meet it.
    once: dict[Hashable, Record] = {}
    for record in records:
        if is_failure(record, red):
            is_bad = record.verdict is Verdict.BAD_CASE
            once.setdefault((record.case, record.reason) if is_bad else id(record), record)
    wrong = {who: (count, causes) for who, count, causes in totals.wrong(header, once.values())}
    titles = {
        Verdict.DIFFER: "backends that differ; the right answer is unknown",
        Verdict.UNEXPECTED_PASS: "right, where a ledger says that they fail",
        Verdict.UNSUPPORTED: "unsupported, which fails this run",
        Verdict.BAD_CASE: "the case itself is wrong",
    }
    found = []
    for address, failures in totals.of_backends(header.backends, once.values()).items():
        count, causes = wrong.get(address, ("", []))
        groups = [FailureGroup(one.looks, one.places, one.results) for one in causes]
        counts = [count] if count else []
        explained = {id(record) for cause in causes for record in cause.results}
        rest = (record for record in failures if id(record) not in explained)
        for verdict, some in plain_text.alike(rest, lambda record: record.verdict).items():
            places = dict.fromkeys(str(record.op) for record in sorted(some, key=lambda r: r.op))
            groups.append(FailureGroup(titles.get(verdict, verdict.value), [*places], some))
            counts.append(f"{len(some):,} {verdict.value}")
        found.append((address, ", ".join(counts), groups))
    return found


def show_some(groups: Sequence[FailureGroup], report: Callable[[Record], str], room: int) -> int:
    """Show failures in `room` bytes, the first of each group first; return the number left out."""
    # One of each group, then the second of each, and so on.
    turns = zip_longest(*(group.failures for group in groups))
    for group, record in (pair for row in turns for pair in zip(groups, row, strict=True)):
        if record is not None and room > 0:
            text = report(record)
            room -= len(text.encode())
            group.shown += [text] * (room > 0)
    return sum(group.left for group in groups)


def results_table(
    records: Sequence[Record], red: Collection[Verdict], known: Mapping[tuple[str, Known], int]
) -> dict[str, Any]:
    """Return the data of `report.js`: `results` are rows of the columns in `columns`.

    A column whose name begins with `$` holds numbers of `texts`, 0 for "". `known` numbers the
    known defects; results without one have -1. In commands, PLACE stands for the case's id.
    """
    texts = {"": 0}
    columns = (
        *("$case", "$backend", "$verdict", "$sign", "$tone", "$op", "$dtype"),
        *("$reason", "$asked", "$clause", "$written", "$repeat", "$alternative"),
        *("used", "ms", "known"),
    )
    rows = []
    for record in records:
        (count,) = counted([record], red)
        cause = record.known and totals.cause_of(record.known)
        case, used = shown(record.case), record.used
        # A command may contain PLACE itself.
        repeat = shown(record.repeat).replace(PLACE, "\ufffd")
        # A pass needs no explanation.
        passed = record.verdict is Verdict.PASS
        found = (
            *(case, shown(record.backend), count.name, count.sign, count.tone),
            *(shown(str(record.op)), shown(record.dtype or NONE)),
            *(said(record.reason, _SAID), "" if passed else said(record.question, _SAID)),
            *(said(record.clause, _SAID), shown(str(record.source))),
            *(repeat.replace(case, PLACE), said(record.alternative or "", _SAID)),
        )
        rows.append(
            [
                *(texts.setdefault(text, len(texts)) for text in found),
                # JSON has no infinity.
                "∞" if used == inf else used and float(f"{used:.3g}"),
                round(record.seconds * 1e3, 2),
                known.get((record.backend, cause), -1) if cause else -1,
            ]
        )
    return {"columns": columns, "texts": [*texts], "results": rows}
