"""Text from outside in Markdown: shown as it is, and nothing in it means anything."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from opcheck.report import words

#: GitHub refuses a job summary of more than 1 MiB, of which some room is left for other tools of
#: the same step.
LIMIT = (1 << 20) - (1 << 16)
#: What a part of a page is called, and how to come by its lines.
Part: TypeAlias = tuple[str, Callable[[], Sequence[str]]]

#: Whatever may be markup, or begin a link; what a character reference stands for is neither.
_MARKUP = re.compile(r"[#$&*<>@\[\\\]_`|~]|:(?=/)|(?<=www)\.", re.IGNORECASE)
#: GitHub looks for @names, #numbers and :smileys: in what is displayed, but for code.
_NAMES = re.compile(r"&#(?:64|35);|:(?=[\w+-]+:)")
#: Between what stands before and after it nothing is seen, and no name begins.
_NOTHING = "&#8203;"


def text(said: str) -> str:
    """A text in one line."""
    return _NAMES.sub(lambda found: f"{found[0]}{_NOTHING}", _escaped(said))


def code(said: str) -> str:
    """A text in one line, as code; "" stays nothing."""
    return f"<code>{_escaped(said)}</code>" if said else ""


def block(said: str, language: str = "") -> list[str]:
    """Lines of text, as a block of code."""
    lines = words.block(said).split("\n")
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> list[str]:
    """A table, of which as many of the last columns are flush right; cells are Markdown."""
    rules = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return [f"| {' | '.join(row)} |" for row in (head, rules, *rows)]


def fitting(parts: Iterable[Part]) -> Iterator[str]:
    """The lines of a page. Before it becomes too long it ends, and says how much is left out."""
    room = LIMIT
    left: Counter[str] = Counter()
    for name, lines_of in parts:
        lines = () if left else lines_of()
        room -= sum(len(line.encode(errors="replace")) + 1 for line in lines)
        if room < 0:
            left[name] += 1
        else:
            yield from lines
    if left:
        told = ", ".join(words.plural(count, name) for name, count in left.items())
        yield f"**{told} left out here:** a page may not be longer."


def _escaped(said: str) -> str:
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", words.one_line(said))
