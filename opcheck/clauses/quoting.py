"""What a case's clause quotes, found on a page.

A clause is a quotation: part of a sentence, or of several in a row, with `…` for what is left out.
White space, the kind of quotation marks, and the marks of code and formulas do not matter. Where
the pages word it differently, a clause quotes each with its versions behind it, separated by
semicolons: `described above (Softmax-1, 11); of rank >= axis (Softmax-13)`.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import groupby

from opcheck.clauses.pages import Sentence
from opcheck.model import OpVersion

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


@cache
def _normal(text: str) -> str:
    return " ".join(text.translate(_ALIKE).replace("...", _GAP).split())
