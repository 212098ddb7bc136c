"""A run as a page of Markdown, for job summaries and pull requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from opcheck.model import ComparisonRecord, Record, Run
from opcheck.records.status import is_failure, outcome, reds_of
from opcheck.report import listed, tally, words
from opcheck.report.failure import wanted
from opcheck.report.markdown_text import Part, block, code, fitting, table, text

#: How many diagnoses are told of a failure.
_LIKELIEST = 3


def lines(run: Run) -> Iterator[str]:
    """The page, line by line; failures that would make it too long are left out, and counted."""
    return fitting(_parts(run))


def _parts(run: Run) -> Iterator[Part]:
    red = reds_of(run.header)
    failures = [result for result in run.records if is_failure(result, red)]
    for line in _head(run):
        yield "line", partial(list, (line,))
    if failures:
        yield "line", lambda: (f"### {words.plural(len(failures), 'failure')}", "")
    for result in failures:
        yield "failure", partial(_failure, result)


def _head(run: Run) -> Iterator[str]:
    """What stands before the failures."""
    header = run.header
    code_, meaning = outcome(run)
    yield from (f"## opcheck: {text(meaning)}", "", f"{_about(run)}, exit code {int(code_)}", "")
    names = {backend.address: code(words.brief(str(backend))) for backend in header.backends}
    rows = tally.counts(header.backends, run.records)
    if rows:
        yield from (*_counts(rows, names), "")
    for wrong in tally.wrong(header, run.records):
        yield from (f"### What is wrong with {names[wrong.backend]}: {wrong.told}", "")
        found = (
            (text(cause.looks), text(", ".join(cause.places)), f"{cause.failures:,}")
            for cause in wrong.causes
        )
        yield from (*table(("looks", "in", "cases"), found, numbers=1), "")
    known = [
        (names[address], text(f"{known.cause} {known.link or ''}"), f"{count:,}")
        for address, known, count in tally.known(header.backends, run.records)
    ]
    if known:
        yield from ("### Known defects", "")
        yield from (*table(("backend", "cause", "cases"), known, numbers=1), "")
    passing = [
        (names[address], code(listed.place(one)), text(listed.advice(one, *counts)))
        for address in names
        for one, *counts in listed.outdated(r for r in run.records if r.backend == address)
    ]
    if passing:
        yield from ("### Listed as failing, but passing", "")
        yield from (*table(("backend", "listed in", "what to do"), passing, numbers=0), "")


def _about(run: Run) -> str:
    about = run.header.environment
    said = [f"opcheck {about.opcheck}", f"Python {about.python}", about.platform]
    return text(", ".join([*said, run.header.selection]))


def _counts(rows: list[tally.Counts], names: dict[str, str]) -> list[str]:
    columns = tally.columns(rows)
    has_bounds = any(row.used is not None for row in rows)
    cells = (
        [
            code(str(row.op)),
            names[row.backend],
            *(f"{row.count[column]:,}" if row.count[column] else "·" for column in columns),
            *(["·" if row.used is None else f"{row.used:.2f}"] if has_bounds else []),
        ]
        for row in rows
    )
    head = ["operator", "backend", *columns, *["used"] * has_bounds]
    return table(head, cells, numbers=len(head) - 2)


def _failure(result: Record) -> list[str]:
    title = f"<b>{result.verdict.upper()}</b> {code(result.backend)} {code(result.case)}"
    told = [("asked", code(result.question)), ("clause", text(result.clause) or "none quoted")]
    told += [("ruling", text(ruling)) for ruling in result.rulings]
    told += [("rule", result.rule)] * (result.rule != "must")
    told += [("found", text(words.brief(listed.found(result))))]
    told += [("oracle", code(words.brief(result.oracle)))] * bool(result.oracle)
    told += [("looks", _looks(result))] * bool(result.diagnoses)
    told += [("ledger", text(listed.told(result)))] * result.unexpected
    told += [("where", text(f"{c.output}: {c.where}")) for c in result.comparisons if c.where]
    told += [("written", code(str(result.source)))]
    return [
        f"<details><summary>{title}</summary>",
        "",
        *(f"- {label}: {said}" for label, said in told),
        "",
        *(
            line
            for one in result.comparisons
            if one.worst
            for line in (*_worst(one, wanted(result)), "")
        ),
        *([*block(words.ending(result.printed)), ""] if result.printed.strip() else []),
        *block(result.repeat, "sh"),
        "",
        "</details>",
        "",
    ]


def _looks(result: Record) -> str:
    said = [*map(str, result.diagnoses)]
    left = len(said) - _LIKELIEST
    more = f"; or {words.plural(left, 'more mistake')}" if left > 0 else ""
    return f"{text('; or '.join(said[:_LIKELIEST]))}{more}"


def _worst(comparison: ComparisonRecord, wanted: str) -> Iterable[str]:
    rows = [
        (
            code(words.index(element.index)),
            *map(text, (element.input, element.want, element.got)),
            "" if element.ulp is None else f"{element.ulp:,}",
            text(element.allowed),
        )
        for element in comparison.worst
    ]
    left = comparison.wrong - len(comparison.worst)
    yield from table(("index", "input", wanted, "got", "ULP", "allowed"), rows, numbers=5)
    if left > 0:
        yield ""
        yield f"… and {words.plural(left, 'more element')}"
