"""What a case's clause quotes, found on a page.

A clause is a quotation: part of a sentence, or of several in a row, with `…` for what is left out.
White space, the kind of quotation marks, and the marks of code and formulas do not matter. Where
the pages word it differently, a clause quotes each with its versions behind it, separated by
semicolons: `described above (Softmax-1, 11); of rank >= axis (Softmax-13)`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from opcheck.clauses.pages import Pages, Sentence, shipped_pages
from opcheck.model import Case, OpVersion

_GAP = "…"
#: A quotation and the versions it is from. White space has been reduced to single blanks.
_LABELLED = re.compile(r"(?P<quote>.+?) \((?P<op>\w+)-(?P<versions>\d+(?:, ?\d+)*)\) ?(?:; ?|$)")
#: Typographic quotation marks as plain ones; nothing for the marks of code and of TeX.
_ALIKE = str.maketrans({"“": '"', "”": '"', "\u2018": "'", "\u2019": "'", "`": None, "\\": None})


def quotation(clause: str, op: OpVersion) -> str:
    """What `clause` quotes from the page of `op`: all of it, unless it says for which versions.

    "" where it says so and `op` is none of them.
    """
    text = " ".join(clause.split())
    quoted, end = [], 0
    while match := _LABELLED.match(text, end):
        versions = [int(version) for version in match["versions"].split(",")]
        if match["op"] == op.name and op.since in versions:
            quoted.append(match["quote"])
        end = match.end()
    return text if end < len(text) else f" {_GAP} ".join(quoted)


def cited(quote: str, page: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """The sentences of `page` that `quote` is from; none where it is not on the page.

    A quotation that lies within one sentence cites every sentence it lies within; any other
    those of one part of the page over which it runs.
    """
    quoted = [piece.strip() for piece in _normal(quote).split(_GAP) if piece.strip()]
    # More than the whole page: not worth looking for.
    if not quoted or sum(map(len, quoted)) > sum(len(sentence.text) for sentence in page):
        return ()
    pieces = [_pattern(piece) for piece in quoted]
    alone = tuple(sentence for sentence in page if _find(pieces, _normal(sentence.text)))
    if alone:
        return alone
    for _, part in groupby(page, lambda sentence: sentence.part):
        run = _run_over(pieces, tuple(part))
        if run:
            return run
    return ()


def _run_over(
    pieces: Sequence[re.Pattern[str]], part: tuple[Sentence, ...]
) -> tuple[Sentence, ...]:
    texts = [_normal(sentence.text) for sentence in part]
    spans = _find(pieces, " ".join(texts))
    run, start = [], 0
    for sentence, text in zip(part, texts, strict=True):
        end = start + len(text)
        if any(first < end and start < last for first, last in spans):
            run.append(sentence)
        start = end + 1
    return tuple(run)


def _find(pieces: Sequence[re.Pattern[str]], text: str) -> list[tuple[int, int]]:
    """Where the pieces stand in `text`, one after the other; nothing if one of them does not."""
    spans, end = [], 0
    for piece in pieces:
        match = piece.search(text, end)
        if match is None:
            return []
        spans.append(match.span())
        end = match.end()
    return spans


def _pattern(text: str) -> re.Pattern[str]:
    """The text as it stands, and no word cut in two by its ends."""
    before = r"(?<!\w)" if text[0].isalnum() else ""
    after = r"(?!\w)" if text[-1].isalnum() else ""
    return re.compile(before + re.escape(text) + after)


def _normal(text: str) -> str:
    return " ".join(text.translate(_ALIKE).replace("...", _GAP).split())


@cache
def rulings(clause: str, op: OpVersion) -> tuple[str, ...]:
    """The rulings on the sentences of the page of `op` that `clause` quotes, in their order."""
    quoted = cited(quotation(clause, op), _sentences(op))
    return tuple(sentence.ruling for sentence in quoted if sentence.ruling)


@cache
def _sentences(op: OpVersion) -> tuple[Sentence, ...]:
    pages = (page for page in shipped_pages() if (page.domain, page.op) == (op.domain, op.name))
    return tuple(sentence for page in pages for sentence in page.page(op.since))


@dataclass(frozen=True)
class Checked:
    """A sentence and the number of concrete cases that test it, by name.

    A name with a row, `name#row`, stands for that row alone.
    """

    sentence: Sentence
    cases: Mapping[str, int]


@dataclass(frozen=True)
class Survey:
    """What tests one page; `strays` are cases that quote what does not stand on it.

    `link` is None where opcheck has no pages of the operator's version.
    """

    op: OpVersion
    link: str | None
    sentences: tuple[Checked, ...]
    strays: tuple[Case, ...]


def survey(pages: Iterable[Pages], cases: Iterable[Case]) -> tuple[Survey, ...]:
    """A survey of the page of each operator version that `cases` are about, in order.

    Names of cases mean what the shipped suites mean by them: any other case counts for what it
    quotes.
    """
    known = {(p.domain, p.op, version): p for p in pages for version in p.versions}
    about: dict[OpVersion, list[Case]] = defaultdict(list)
    for case in cases:
        about[case.op].append(case)
    return tuple(
        _survey(op, known.get((op.domain, op.name, op.since)), about[op]) for op in sorted(about)
    )


def _survey(op: OpVersion, pages: Pages | None, cases: Sequence[Case]) -> Survey:
    if pages is None:
        return Survey(op, None, (), ())
    page = pages.page(op.since)
    by_clause: dict[str, tuple[Sentence, ...]] = {}
    by_name: dict[str, list[Case]] = defaultdict(list)
    quoting: dict[Sentence, list[Case]] = defaultdict(list)
    strays = []
    for case in cases:
        by_name[case.name].append(case)
        if case.clause not in by_clause:
            by_clause[case.clause] = cited(quotation(case.clause, op), page)
        for sentence in by_clause[case.clause]:
            quoting[sentence].append(case)
        if case.clause and not by_clause[case.clause]:
            strays.append(case)
    checked = []
    for sentence in page:
        named = [case for label in sentence.cases for case in _called(label, by_name)]
        chosen = {case.id: case for case in (*named, *quoting[sentence])}
        names = {case.name for case in chosen.values()}
        whole = {name for name in names if all(case.id in chosen for case in by_name[name])}
        counts = Counter(_case_label(case, whole) for case in chosen.values())
        checked.append(Checked(sentence, dict(counts)))
    return Survey(op, pages.link, tuple(checked), tuple(strays))


def _called(label: str, by_name: Mapping[str, Sequence[Case]]) -> list[Case]:
    """The shipped cases that a file calls `name` or `name#row`."""
    name, _, row = label.partition("#")
    found = by_name.get(name, ())
    return [case for case in found if case.source.shipped and row in ("", case.row)]


def _case_label(case: Case, whole: Set[str]) -> str:
    """A case's name, with its row unless all cases of that name are meant."""
    return case.name if case.row is None or case.name in whole else f"{case.name}#{case.row}"
