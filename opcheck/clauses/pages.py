"""The specification of an operator, cut into sentences, and the quotations of a case's clause.

The text of a version is its page. A clause is a quotation: part of a sentence, or of several in a
row, with `…` for what is left out. White space, the kind of quotation marks, and the marks of code
and formulas do not matter. Where the pages word it differently, a clause quotes each with its
versions behind it, separated by semicolons: `described above (Softmax-1, 11); of rank >= axis
(Softmax-13)`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np

from opcheck.model import OpVersion, Source
from opcheck.opset import Attribute, Schema

#: The beginning of a list's item.
_ITEM = re.compile(r"([-*+•]|\(?\d+[.)]|\([a-z]\)) +\S")
#: Between two sentences, some without a blank. "i.e." and an ellipsis end none.
_BETWEEN = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][)\"'`]))(?<!\.\.\.)(?<!\b[a-z]\.[a-z]\.)(?<!\betc\.)"
    r"(?<!\bvs\.)(?<!\bcf\.)(?<!^\d\.)"
    r" +(?:(?=[^a-z ])|(?<=[a-z]{2}. )(?=[a-z]))|(?<=[a-z]{2}\.)(?=[A-Z][a-z]* )"
)
#: Sentences that oblige a backend to nothing, and why.
_NOTHING = {
    r"[^=]*:\**$": "it introduces what follows",
    r"[(*]*(see|refer|reference|for more|all equations)\b.*(\]\(|://)": "it is a link",
    r"constrains? [^,]*\b(types?|tensors?)\b[^,]*$": "the list of types says which",
    r"((an?|the|first|second) )?(input|output|result|operand)( tensor| operand)?\.?$": (
        "it only says that this is an input or output"
    ),
}
_GAP = "…"
#: A quotation and the versions it is from. White space has been reduced to single blanks.
_LABELLED = re.compile(r"(?P<quote>.+?) \((?P<op>\w+)-(?P<versions>\d+(?:, ?\d+)*)\) ?(?:; ?|$)")
#: Typographic quotation marks as plain ones; nothing for the marks of code and of TeX.
_ALIKE = str.maketrans({"“": '"', "”": '"', "\u2018": "'", "\u2019": "'", "`": None, "\\": None})


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page, with its entry in `clauses/`.

    `cases` name shipped cases that test it (`name` or `name#row`), besides those that quote it;
    `nothing` is why it obliges a backend to nothing, `ruling` how opcheck reads an undecided
    one. `source` is the place in a file of `clauses/`, else the link of the page. A `heading`
    is tested by the cases that have what it announces.
    """

    text: str
    part: str
    cases: tuple[str, ...]
    nothing: str | None
    ruling: str | None
    source: Source
    heading: bool = False


def page(schema: Schema, link: str) -> tuple[Sentence, ...]:
    """The specification of a version, as in ONNX's documentation."""
    since = schema.op.since
    available = f"This version of the operator has been available since version {since}."
    parts = {"Version": (f"since_version: {since}", available), "Summary": ("", schema.doc)}
    for name, attribute in schema.attributes.items():
        parts[f"Attribute {name}"] = (_attribute(attribute), attribute.description)
    types = {}
    for word, parameters in (("Input", schema.inputs), ("Output", schema.outputs)):
        for formal in parameters:
            types[formal.constraint] = ", ".join(sorted(formal.types))
            option = () if formal.option == "single" else (formal.option,)
            marks = ", ".join((*option, *("heterogeneous",) * formal.homogeneous))
            head = f"{formal.name} ({marks}) - {formal.constraint}".replace(" ()", "")
            parts[f"{word} {formal.name}"] = (head, formal.description)
    for name, description in (schema.constraints or {}).items():
        parts[f"Type constraint {name}"] = (f"{name} in ( {types.get(name, '')} )", description)
    found = []
    for part, (head, text) in parts.items():
        for sentence in [*filter(None, [head]), *cut(text)]:
            kind = next((kind for kind in _NOTHING if re.match(kind, sentence, re.IGNORECASE)), "")
            heading = sentence == head or part == "Version"
            fields = ((), _NOTHING.get(kind), None)
            found.append(Sentence(sentence, part, *fields, Source(link, 0, 0), heading))
    return tuple(found)


def _attribute(attribute: Attribute) -> str:
    value = attribute.default
    shown: object = [*value] if isinstance(value, tuple) else value
    if isinstance(value, float):
        shown = str(np.float32(value))  # with as few digits as it needs
    default = "" if value is None else f" (default is '{shown}')"
    kind = "" if attribute.type == "other" else f" - {attribute.type.upper()}"
    return f"{attribute.name}{kind}{' (required)' if attribute.required else default}"


def cut(text: str) -> list[str]:
    """The sentences of a text; a row, a list's item, and code with an open bracket stay whole."""
    lines = text.expandtabs(4).splitlines()
    margin = min((_indent(line) for line in lines[1:] if line.strip()), default=0)
    blocks: list[tuple[str, bool]] = []  # with True for code, which no full stop cuts
    fenced, ended = False, True
    for line in lines:
        words = " ".join(line.split())
        fence, row = words.startswith("```") and words.count("```") == 1, words.startswith("|")
        item = bool(_ITEM.match(words)) and not fenced
        last, is_code = blocks[-1] if blocks else ("", False)
        deep = (ended or is_code or last.endswith(":")) and _indent(line) >= margin + 4
        code = not item and (fenced or row or deep)
        is_open = sum(map(last.count, "([{")) > sum(map(last.count, ")]}"))
        if fence or not words:
            fenced, ended = fenced != fence, True
            continue
        if code and not row and ((is_code and not ended and is_open) or last.isalpha()):
            blocks[-1] = (f"{last} {words}", True)
        elif code or item or ended or is_code:
            blocks.append((words, code))
        else:
            blocks[-1] = (f"{last} {words}", False)
        ended = False
    cut_up = ([block] if code else _BETWEEN.split(block) for block, code in blocks)
    return [sentence for found in cut_up for sentence in found if re.search(r"\w", sentence)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def quotation(clause: str, op: OpVersion) -> str:
    """The part of `clause` about `op`: all, unless it names versions, and "" if none is this."""
    text = " ".join(clause.split())
    quoted, end = [], 0
    while match := _LABELLED.match(text, end):
        versions = [int(version) for version in match["versions"].split(",")]
        if match["op"] == op.name and op.since in versions:
            quoted.append(match["quote"])
        end = match.end()
    return text if end < len(text) else f" {_GAP} ".join(quoted)


def cited(quote: str, page: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """The sentences of `page` that contain `quote` or, if none does, over which it runs."""
    quoted = [piece.strip() for piece in _normal(quote).split(_GAP) if piece.strip()]
    # More than the whole page: not worth looking for.
    if not quoted or sum(map(len, quoted)) > sum(len(sentence.text) for sentence in page):
        return ()
    pieces = [_pattern(piece) for piece in quoted]
    alone = tuple(sentence for sentence in page if _find(pieces, _normal(sentence.text)))
    if alone:
        return alone
    for _, part in groupby(page, lambda sentence: sentence.part):
        if run := _run_over(pieces, [*part]):
            return run
    return ()


def _run_over(pieces: Sequence[re.Pattern[str]], part: list[Sentence]) -> tuple[Sentence, ...]:
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
    """Return the spans of the pieces in `text`, in order; empty if one is missing."""
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
