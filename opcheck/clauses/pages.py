"""The specification of an operator, cut into sentences: the text of a version is its page."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from opcheck.model import Source
from opcheck.opset import Schema
from opcheck.opset.schema import Attribute

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


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page, with what opcheck says of it.

    `cases` name shipped cases that test it (`name` or `name#row`), besides those that quote it;
    `nothing` says why it obliges a backend to nothing, `ruling` how opcheck reads what does not
    decide. `source` is the place in a file of `clauses/`, else the link of the page. A `heading`
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
    """The page of a version, laid out as in ONNX's documentation.

    What that has besides is no text of the specification: what ONNX's own tools can do.
    """
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
            said = ((), _NOTHING.get(kind), None)
            found.append(Sentence(sentence, part, *said, Source(link, 0, 0), heading))
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
    """The sentences of a text; a line of code, a row of a table and a list's item is one or more.

    Lines of code go together while a bracket stays open.
    """
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
