"""The specification of an operator, sentence by sentence, and which cases test each of them.

The text of a version is its page. An entry of a file `*.clauses.yaml` names the cases that test a
sentence. A clause is a quotation: part of a sentence, or of several in a row, with `…` for words
left out. White space, the kind of quotation marks, and the marks of code and formulas do not
matter. Where the pages word it differently, a clause quotes each with its versions behind it,
separated by semicolons: `described above (Softmax-1, 11); of rank >= axis (Softmax-13)`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from typing import Annotated, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from opcheck import opset, reading
from opcheck.errors import CaseFileError, Problem, did_you_mean
from opcheck.grouping import group_by, picked
from opcheck.model import Case, OpVersion, OutputSpec, Rejected, Source, TensorSpec
from opcheck.reading import (
    Kind,
    Problems,
    operators_in,
    quoted,
    read_file,
    shipped_files,
    shipped_name,
    validation,
)

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
    """A sentence of a page, with its entry in a file `*.clauses.yaml`."""

    text: str
    part: str
    #: Shipped cases that test it (`name` or `name#row`), besides those that quote it.
    cases: tuple[str, ...]
    #: Why it obliges a backend to nothing.
    nothing: str | None
    #: How opcheck reads one that is undecided, or was corrected in releases on `ruling_since`.
    ruling: str | None
    #: The place in a file `*.clauses.yaml`, else the link of the page.
    source: Source
    #: It is tested by the cases that have what it announces.
    heading: bool = False
    ruling_since: str | None = None


def page(schema: opset.Schema, link: str) -> tuple[Sentence, ...]:
    """The specification of a version, as in ONNX's documentation."""
    since = schema.op.since
    available = f"This version of the operator has been available since version {since}."
    parts = {"Version": (f"since_version: {since}", available), "Summary": ("", schema.doc)}
    for name, attribute in schema.attributes.items():
        parts[f"Attribute {name}"] = (_attribute(attribute), attribute.description)
    types = {}
    for word, parameters in zip(("Input", "Output"), schema.formals, strict=True):
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
        text = text.replace("<br>", " ") if schema.op.domain == opset.ML else text
        for sentence in [*filter(None, [head]), *cut(text)]:
            kind = next((kind for kind in _NOTHING if re.match(kind, sentence, re.IGNORECASE)), "")
            heading = sentence == head or part == "Version"
            fields = ((), _NOTHING.get(kind), None)
            found.append(Sentence(sentence, part, *fields, Source(link, 0, 0), heading))
    return tuple(found)


def _attribute(attribute: opset.Attribute) -> str:
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
        item = bool(re.match(r"([-*+•]|\(?\d+[.)]|\([a-z]\)) +\S", words)) and not fenced
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
    if alone := tuple(sentence for sentence in page if _find(quoted, _normal(sentence.text))):
        return alone
    for _, sentences in groupby(page, lambda sentence: sentence.part):
        part = [(sentence, _normal(sentence.text)) for sentence in sentences]
        spans = _find(quoted, " ".join(text for _, text in part))
        run, start = [], 0
        for sentence, text in part:
            end = start + len(text)
            if any(first < end and start < last for first, last in spans):
                run.append(sentence)
            start = end + 1
        if run:
            return tuple(run)
    return ()


def _find(pieces: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return the spans of the pieces in `text`, in order; empty if one is missing."""
    spans, end = [], 0
    for piece in pieces:
        # To look for the words first spares most patterns.
        if piece not in text or (match := _pattern(piece).search(text, end)) is None:
            return []
        spans.append(match.span())
        end = match.end()
    return spans


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """The text as it stands, and no word cut in two by its ends."""
    before = r"(?<!\w)" if text[0].isalnum() else ""
    after = r"(?!\w)" if text[-1].isalnum() else ""
    return re.compile(before + re.escape(text) + after)


@cache
def _normal(text: str) -> str:
    return " ".join(text.translate(_ALIKE).replace("...", _GAP).split())


class SentenceEntry(validation.Fields):
    """A file's entry on a sentence, or on all from there `through` another."""

    #: Each by its beginning, or a part of it that no other sentence of the `part` or page has.
    sentence: str = ""
    through: str = ""
    #: One that no package has.
    text: str = ""
    part: str = ""
    #: By default each operator of the file that has it, and each version.
    op: validation.Operators | None = None
    versions: Sequence[int] = ()
    #: Names of cases, or of their rows.
    cases: Sequence[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(#[A-Za-z0-9_.+-]+)?$")]] = ()
    nothing: str | None = Field(default=None, min_length=1)
    ruling: str | None = Field(default=None, min_length=1)
    ruling_since: Annotated[date, Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if bool(self.sentence) == bool(self.text and self.part):
            raise ValueError("an entry has a `sentence`, or a `text` and its `part`")
        if self.cases and self.nothing:
            raise ValueError("a sentence is tested by `cases` or obliges to `nothing`, not both")
        if self.sentence and not (self.cases or self.nothing or self.ruling):
            raise ValueError("an entry has `cases`, `nothing` or a `ruling`; this one has none")
        if self.ruling_since and not self.ruling:
            raise ValueError("`ruling_since` is the day of a `ruling`, and this one has none")
        return self


class PagesFields(validation.Fields):
    """A file `*.clauses.yaml`; `page` is the link of pages whose text no package has."""

    op: validation.Operators
    domain: str = ""
    page: str | None = Field(default=None, pattern="^https://")
    sentences: list[SentenceEntry] = Field(min_length=1)


@dataclass(frozen=True)
class Pages:
    """The pages of an operator by version; `link` is where people read them."""

    link: str
    versions: Mapping[int, tuple[Sentence, ...]]
    #: Entries without a sentence: a release of onnx may word it differently.
    problems: tuple[Problem, ...] = ()
    #: The operators of the `file`, and names of their cases in it, by place.
    ops: tuple[str, ...] = ()
    file: str = ""
    names: Mapping[reading.Mark, str] = field(default_factory=dict)


@cache
def pages_of(domain: str, op: str) -> Pages | None:
    """The pages of an operator with the entries of its file alone; None where there is no text."""
    folders = {"": "onnx", opset.DML: "dml", opset.ML: "ml", opset.TRAINING: "training"}
    for file in shipped_files(Kind.CLAUSES, folders.get(domain, domain)):
        if op in operators_in(file):
            return load_pages(file, op)
    pages = _bare(domain, op)
    return pages if pages.versions else None


def check_files(cases: Iterable[Case], shipped: Callable[[str], Iterable[Case]]) -> None:
    """Raise CaseFileError: files of no operator; names of no `shipped` case, for ops of `cases`."""
    problems, asked = Problems(), {case.op.name for case in cases}
    for path in shipped_files(Kind.CLAUSES):
        try:
            pages = load_pages(path, *operators_in(path)[:1])
            ops = ", ".join(pages.ops)
            names = {} if asked.isdisjoint(pages.ops) else pages.names
            mine = [c for op in pages.ops for c in shipped(op) if c.op.name == op] if names else []
            rows = {f"{case.name}#{case.row}" for case in mine if case.row is not None}
            known = sorted(rows | {case.name for case in mine})
            for mark, name in names.items():
                if name not in known:
                    message = f"cases: {ops} has no case {quoted(name)}"
                    problems.add(pages.file, mark, message, did_you_mean(name, known))
        except CaseFileError as error:
            problems += error.problems
    problems.raise_if_any()


@cache
def rulings(clause: str, op: OpVersion) -> tuple[str, ...]:
    """The rulings on the sentences of the page of `op` that `clause` quotes, in their order."""
    pages = pages_of(op.domain, opset.plain(op.name))
    quotes = cited(quotation(clause, op), pages.versions.get(op.since, ()) if pages else ())
    return tuple(sentence.ruling for sentence in quotes if sentence.ruling)


@cache
def _bare(domain: str, op: str) -> Pages:
    """The pages without the entries of a file."""
    link = f"https://onnx.ai/onnx/operators/onnx_{domain.replace('.', '')}_{op}.html"
    schemas = opset.versions(domain, op).items()
    return Pages(link, {since: page(schema, link) for since, schema in schemas if schema.doc})


@cache
def load_pages(path: Path, op: str = "") -> Pages:
    """The pages of `op`, or of a file's first operator, read once; raises CaseFileError."""
    problems = Problems()
    file = shipped_name(path)
    node = read_file(path, problems)
    keys = {"sentences": validation.aliases(SentenceEntry)}
    fields = node and validation.check(PagesFields, node, file, problems, keys)[0]
    if not (node and fields):
        raise CaseFileError(problems)
    validation.check_operators(node, opset.operators(fields.domain), file, problems)
    problems.raise_if_any()
    op = op or fields.op[0]
    bare = _bare(fields.domain, op)
    texts = {} if fields.page else bare.versions
    pages = {v: [*texts.get(v, ())] for v in opset.versions(fields.domain, op)}
    labels: dict[reading.Mark, str] = {}
    for n, entry in enumerate(fields.sentences):
        mark = node.at(("sentences", n))
        labels |= {node.at(("sentences", n, "cases", i)): c for i, c in enumerate(entry.cases)}
        if op not in (entry.op or fields.op):
            continue
        stated = picked(entry, "nothing ruling") | {"cases": tuple(entry.cases)}
        stated["ruling_since"] = entry.ruling_since and str(entry.ruling_since)
        stated["source"] = Source(file, mark.line, mark.column)
        wrong, missing, near = [], [], list[str]()
        for since in entry.versions or pages:
            sentences = pages.get(since, [])
            places, unclear = _places(entry, sentences)
            again = [sentences[at].source for at in places if sentences[at].source.line]
            if entry.text and since in pages:
                sentences.append(Sentence(entry.text, entry.part, **stated))
            elif unclear or again:
                why = f"{again[0]} is about it too" if again else "it has several such sentences"
                wrong.append(f"{op}-{since}: {why}")
            elif not places:
                missing.append(since)
                near += [sentence.text[: len(entry.sentence)] for sentence in sentences]
            for at in places:
                sentences[at] = replace(sentences[at], **stated)
        # Of several operators the first is asked about the others.
        first, *others = entry.op or fields.op
        if op == first and missing and (entry.versions or len(missing) == len(pages)):
            names = ", ".join(map(str, missing))
            if not any(_has(entry, fields.domain, other) for other in others):
                wrong.append(f"{op}-{names}: there is no such sentence")
        hint = did_you_mean(entry.sentence, near) if wrong else None
        for message in wrong:
            problems.add(file, mark, f"{quoted(entry.sentence or entry.text)}: {message}", hint)
    done = {since: tuple(sentences) for since, sentences in pages.items()}
    return Pages(fields.page or bare.link, done, tuple(problems), tuple(fields.op), file, labels)


def _has(entry: SentenceEntry, domain: str, op: str) -> bool:
    """Return True if an operator has the sentence of an entry in one of the versions it names."""
    pages = _bare(domain, op).versions
    return any(_places(entry, pages.get(since, ()))[0] for since in entry.versions or pages)


def _places(entry: SentenceEntry, page: Sequence[Sentence]) -> tuple[Sequence[int], bool]:
    """Return the positions of an entry's sentences, and True if it may mean others too."""
    ends = []
    for words in dict.fromkeys((entry.sentence, entry.through or entry.sentence)):
        found = cited(words, [sentence for sentence in page if entry.part in ("", sentence.part)])
        begun = [sentence for sentence in found if sentence.text.startswith(words)]
        meant = begun if len(begun) == 1 else found
        ends.append([at for at, sentence in enumerate(page) if sentence in meant])
    first, last = ends[0], ends[-1]
    # Rows of tables stand there twice: through the last of them.
    if entry.through and len({page[at].text for at in last}) == 1:
        last = last[-1:]
    if len(first) != 1 or len(last) != 1:
        return (), bool(first and last)
    return range(first[0], last[0] + 1), False


class CheckedSentence(NamedTuple):
    """A sentence and the number of cases that test it, by name, or `name#row` for one row."""

    sentence: Sentence
    cases: Mapping[str, int]


@dataclass(frozen=True)
class Survey:
    """Tests of one page; `link` is None for a version without pages."""

    op: OpVersion
    link: str | None
    sentences: tuple[CheckedSentence, ...]
    #: Cases that quote text missing from the page.
    strays: tuple[Case, ...]
    #: Problems of the operator's file, in the survey of one version only.
    problems: tuple[Problem, ...] = ()


def survey(
    cases: Iterable[Case], pages: Callable[[str, str], Pages | None] = pages_of
) -> tuple[Survey, ...]:
    """Survey each operator version of `cases`; a case that is not shipped counts for its quote."""
    about = group_by(cases, lambda case: replace(case.op, name=opset.plain(case.op.name)))
    found = [_survey(op, pages(op.domain, op.name), about[op]) for op in sorted(about)]
    first = {problem: one.op for one in reversed(found) for problem in one.problems}
    once = [tuple(p for p in one.problems if first[p] == one.op) for one in found]
    return tuple(replace(one, problems=new) for one, new in zip(found, once, strict=True))


def _survey(op: OpVersion, pages: Pages | None, cases: Sequence[Case]) -> Survey:
    page = pages.versions.get(op.since) if pages else None
    if pages is None or page is None:
        return Survey(op, None, (), ())
    quoted: dict[tuple[str, str], tuple[Sentence, ...]] = {}
    by_name = group_by(cases, lambda case: case.name)
    quoting: dict[Sentence, list[Case]] = defaultdict(list)
    strays = []
    for case in cases:
        if (by := (case.op.name, case.clause)) not in quoted:
            quoted[by] = cited(quotation(case.clause, case.op), page)
        for sentence in quoted[by]:
            quoting[sentence].append(case)
        if case.clause and not quoted[by]:
            strays.append(case)
    checked = []
    for sentence in page:
        tested = [
            case
            for name, _, row in (label.partition("#") for label in sentence.cases)
            for case in by_name.get(name, ())
            if case.source.shipped and row in ("", case.row)
        ]
        tested += quoting[sentence]
        if sentence.heading and not (tested or sentence.cases or sentence.nothing):
            tested = _asking(sentence, op, cases)
        if (chosen := {case.id: case for case in tested}) and not sentence.source.line:
            # What is quoted is tested, whatever its kind.
            sentence = replace(sentence, nothing=None)
        names = {case.name for case in chosen.values()}
        whole = {name for name in names if all(case.id in chosen for case in by_name[name])}
        # A case goes by its name, with its row unless all cases of that name are meant.
        counts = Counter(
            one.name if one.row is None or one.name in whole else f"{one.name}#{one.row}"
            for one in chosen.values()
        )
        checked.append(CheckedSentence(sentence, dict(counts)))
    return Survey(op, pages.link, tuple(checked), tuple(strays), pages.problems)


def _asking(heading: Sentence, op: OpVersion, cases: Sequence[Case]) -> list[Case]:
    """The answered cases that have what a heading announces: an attribute, its default, a type."""
    answered = [case for case in cases if not isinstance(case.expect, Rejected)]
    kind, _, name = heading.part.rpartition(" ")
    if kind == "Attribute":
        left_out = "(default is" in heading.text
        return [case for case in answered if (name in case.attrs) != left_out]
    schema = opset.versions(op.domain, op.name)[op.since]
    listed = kind == "Type constraint"
    formals = [f for f in chain(*schema.formals) if name == (f.constraint if listed else f.name)]
    types = {case.id: _types(case, {formal.name for formal in formals}) for case in answered}
    # Of a sequence or an optional a case has the tensors.
    every = {re.sub(r"^(?:optional\(|seq\()+(.*?\)).*", r"\1", t) for f in formals for t in f.types}
    if listed and not every <= set().union(*types.values()):
        return []
    return [case for case in answered if not kind or types[case.id]]


def _types(case: Case, names: Set[str]) -> set[str]:
    """The types of the inputs and outputs of a case with these names; "" for an open one."""
    found: list[TensorSpec | OutputSpec] = [*case.inputs, *case.outputs]
    # A variadic `data` is written as data_0, data_1 …
    named = [tensor for tensor in found if {tensor.name, re.sub(r"_\d+$", "", tensor.name)} & names]
    return {tensor.dtype.text if tensor.dtype else "" for tensor in named}
