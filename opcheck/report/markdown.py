"""A run as a page of Markdown, for job summaries and pull requests."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

from markupsafe import Markup

from opcheck.analysis import is_failure, outcome, reds_of
from opcheck.model import Run, light
from opcheck.report import plain_text, summary, totals

#: GitHub refuses a job summary of more than 1 MiB; other tools of the step need some room too.
LIMIT = (1 << 20) - (1 << 16)
#: A line of a page, or the name of a part and its lines, computed only if there is room for them.
Section: TypeAlias = str | tuple[str, Iterable[str]]
#: Characters that may be markup or begin a link; as character references they do neither.
_MARKUP = re.compile(r"[#$&*<>@\[\\\]_`|~]|:(?=/)|(?<=www)\.", re.IGNORECASE)
#: GitHub looks for @names, #numbers and :smileys: in the displayed text, except in code.
_NAMES = re.compile(r"&#(?:64|35);|:(?=[\w+-]+:)")


def lines(run: Run) -> Iterator[str]:
    """Yield the page, line by line; failures that do not fit are counted."""
    return fitting(_parts(run))


def _parts(run: Run) -> Iterator[Section]:
    header = run.header
    records = light(run.records)
    code_, meaning = outcome(run)
    columns, rows = totals.table(header.backends, run.records)
    yield from rendered(
        "run.md",
        header=header,
        meaning=meaning,
        code=int(code_),
        names={info.address: _code_markup(plain_text.brief(str(info))) for info in header.backends},
        columns=columns,
        rows=rows,
        wrong=totals.wrong(header, records),
        known=[*totals.known(header.backends, records)],
        passing=[*totals.passing(header.backends, records)],
    )
    red = reds_of(header)
    failures = [result for result in run.records if is_failure(result, red)]
    if failures:
        yield from (f"### {plain_text.plural(len(failures), 'failure')}", "")
    yield from (("failure", rendered("failure.md", result=result)) for result in failures)


def rendered(template: str, **values: Any) -> Iterator[str]:
    """Yield the lines of a template, in which each text is escaped unless it is Markup."""
    yield from _environment().get_template(template).render(**values).removesuffix("\n").split("\n")


def templates(package: str = "opcheck.report", **settings: Any) -> Any:
    """Return the templates of a package, as an environment of Jinja with these settings."""
    # Terminal reports share this module, and need no templates.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    settings |= {"loader": PackageLoader(package), "undefined": StrictUndefined}
    environment: Any = Environment(trim_blocks=True, lstrip_blocks=True, **settings)
    environment.filters["brief"] = plain_text.brief
    environment.globals |= {
        "plural": plain_text.plural,
        "finding": summary.finding,
        "ledger_note": summary.ledger_note,
        "likeliest": summary.LIKELIEST,
        "wanted": summary.wanted,
    }
    return environment


@cache
def _environment() -> Any:
    environment = templates(finalize=_printed)
    environment.filters["code"] = _code_markup
    environment.globals |= {"block": _block_markup, "ending": plain_text.ending}
    return environment


def _printed(value: Any) -> Any:
    """Return a value as a template prints it: every text that is not Markup is escaped."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return text(value)
    return value


def _code_markup(untrusted: str) -> Markup:
    return Markup(code(untrusted))


def _block_markup(untrusted: str, language: str = "") -> Markup:
    return Markup("\n".join(block(untrusted, language)))


def text(untrusted: str) -> str:
    """Escape a text in one line."""
    # No name begins after this character, which is invisible.
    return _NAMES.sub(r"\g<0>&#8203;", _escaped(untrusted))


def code(untrusted: str) -> str:
    """Escape a text in one line as code; "" stays empty."""
    return f"<code>{_escaped(untrusted)}</code>" if untrusted else ""


def block(untrusted: str, language: str = "") -> list[str]:
    """Return the lines of a text as a block of code."""
    lines = plain_text.block(untrusted).split("\n")
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> list[str]:
    """Return a table whose last columns are flush right; cells are Markdown."""
    rules = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return [f"| {' | '.join(row)} |" for row in (head, rules, *rows)]


def fitting(parts: Iterable[Section]) -> Iterator[str]:
    """Yield the lines of a page; parts after the first that does not fit are only counted."""
    room = LIMIT
    left: Counter[str] = Counter()
    for section in parts:
        name, part = ("line", [section]) if isinstance(section, str) else section
        lines = [] if left else list(part)
        room -= sum(len(line.encode(errors="replace")) + 1 for line in lines)
        if room < 0:
            left[name] += 1
        else:
            yield from lines
    if left:
        message = ", ".join(plain_text.plural(count, name) for name, count in left.items())
        yield f"**{message} left out here:** a page may not be longer."


def _escaped(untrusted: str) -> str:
    return _MARKUP.sub(_character_reference, plain_text.one_line(untrusted))


def _character_reference(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"
