"""A run as a page of Markdown, for job summaries and pull requests."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from opcheck.analysis.status import is_failure, outcome, reds_of
from opcheck.model import ComparisonRecord, Record, Run
from opcheck.report import failure, plain_text, totals
from opcheck.report.failure import wanted

#: GitHub refuses a job summary of more than 1 MiB; other tools of the step need some room too.
LIMIT = (1 << 20) - (1 << 16)
#: Name of a part of a page, and its lines, computed only if there is room for them.
Section: TypeAlias = tuple[str, Iterable[str]]
#: Characters that may be markup or begin a link; as character references they do neither.
_MARKUP = re.compile(r"[#$&*<>@\[\\\]_`|~]|:(?=/)|(?<=www)\.", re.IGNORECASE)
#: GitHub looks for @names, #numbers and :smileys: in the displayed text, except in code.
_NAMES = re.compile(r"&#(?:64|35);|:(?=[\w+-]+:)")
#: An invisible character after which no name begins.
_NOTHING = "&#8203;"


def lines(run: Run) -> Iterator[str]:
    """The page, line by line; failures that do not fit are counted."""
    return fitting(_parts(run))


def _parts(run: Run) -> Iterator[Section]:
    red = reds_of(run.header)
    failures = [result for result in run.records if is_failure(result, red)]
    yield from plain(_head(run))
    if failures:
        yield "line", (f"### {plain_text.plural(len(failures), 'failure')}", "")
    for result in failures:
        yield "failure", _failure(result)


def _head(run: Run) -> Iterator[str]:
    header = run.header
    code_, meaning = outcome(run)
    about = header.environment
    said = f"opcheck {about.opcheck}", f"Python {about.python}", about.platform, header.selection
    yield from (f"## opcheck: {text(meaning)}", "")
    yield from (f"{text(', '.join(said))}, exit code {int(code_)}", "")
    names = {backend.address: code(plain_text.brief(str(backend))) for backend in header.backends}
    columns, rows = totals.table(header.backends, run.records)
    if rows:
        counts = ((code(str(op)), names[backend], *cells) for op, backend, cells in rows)
        head = ["operator", "backend", *columns]
        yield from (*table(head, counts, numbers=len(columns)), "")
    for address, count, causes in totals.wrong(header, run.records):
        found = [
            (text(cause.looks), text(", ".join(cause.places)), f"{len(cause.results):,}")
            for cause in causes
        ]
        title = f"What is wrong with {names[address]}: {count}"
        yield from section(title, ("looks", "in", "cases"), found, numbers=1)
    listed = totals.known(header.backends, run.records)
    known = [(names[who], text(f"{it.cause} {it.link or ''}"), f"{n:,}") for who, it, n in listed]
    yield from section("Known defects", ("backend", "cause", "cases"), known, numbers=1)
    passing = [
        (names[address], code(place), text(advice))
        for address, mine in totals.of_backends(header.backends, run.records).items()
        for place, _, advice in totals.outdated_lines(mine)
    ]
    place = "backend", "listed in", "what to do"
    yield from section("Listed as failing, but passing", place, passing)


def _failure(result: Record) -> Iterator[str]:
    title = f"<b>{result.verdict.upper()}</b> {code(result.backend)} {code(result.case)}"
    messages = [("asked", code(result.question)), ("clause", text(result.clause) or "none quoted")]
    messages += [("ruling", text(ruling)) for ruling in result.rulings]
    messages += [("rule", result.rule)] * (result.rule != "must")
    messages += [("found", text(plain_text.brief(failure.finding(result))))]
    messages += [("oracle", code(plain_text.brief(result.oracle)))] * bool(result.oracle)
    looks = [*map(str, result.diagnoses)]
    left = len(looks) - failure.LIKELIEST
    more = f"; or {plain_text.plural(left, 'more mistake')}" if left > 0 else ""
    likeliest = text("; or ".join(looks[: failure.LIKELIEST]))
    messages += [("looks", f"{likeliest}{more}")] * bool(looks)
    messages += [("ledger", text(failure.ledger_note(result)))] * result.unexpected
    messages += [("where", text(f"{c.output}: {c.where}")) for c in result.comparisons if c.where]
    messages += [("written", code(str(result.source)))]
    yield from (f"<details><summary>{title}</summary>", "")
    yield from (f"- {label}: {said}" for label, said in messages)
    yield ""
    for comparison in result.comparisons:
        if comparison.worst:
            yield from (*_worst(comparison, wanted(result)), "")
    if result.printed.strip():
        yield from (*block(plain_text.ending(result.printed)), "")
    yield from (*block(result.repeat, "sh"), "", "</details>", "")


def _worst(comparison: ComparisonRecord, wanted: str) -> Iterable[str]:
    rows = [
        (
            code(plain_text.index(element.index)),
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
        yield f"… and {plain_text.plural(left, 'more element')}"


def text(said: str) -> str:
    """Escape a text in one line."""
    return _NAMES.sub(lambda found: f"{found[0]}{_NOTHING}", _escaped(said))


def code(said: str) -> str:
    """Escape a text in one line as code; "" stays empty."""
    return f"<code>{_escaped(said)}</code>" if said else ""


def block(said: str, language: str = "") -> list[str]:
    """Lines of text, as a block of code."""
    lines = plain_text.block(said).split("\n")
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> list[str]:
    """A table whose last columns are flush right; cells are Markdown."""
    rules = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return [f"| {' | '.join(row)} |" for row in (head, rules, *rows)]


def section(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0
) -> Iterator[str]:
    """A table under its title; nothing without rows."""
    if rows:
        yield from (f"### {title}", "", *table(head, rows, numbers=numbers), "")


def plain(lines: Iterable[str]) -> Iterator[Section]:
    """Each line as a part of its own."""
    return (("line", (line,)) for line in lines)


def fitting(parts: Iterable[Section]) -> Iterator[str]:
    """The lines of a page; parts after the first that does not fit are only counted."""
    room = LIMIT
    left: Counter[str] = Counter()
    for name, part in parts:
        lines = [] if left else list(part)
        room -= sum(len(line.encode(errors="replace")) + 1 for line in lines)
        if room < 0:
            left[name] += 1
        else:
            yield from lines
    if left:
        message = ", ".join(plain_text.plural(count, name) for name, count in left.items())
        yield f"**{message} left out here:** a page may not be longer."


def _escaped(said: str) -> str:
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", plain_text.one_line(said))
