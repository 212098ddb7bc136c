"""The specification of an operator, sentence by sentence, and which cases test each of them.

The text of a version is its page. An entry of a file `*.clauses.yaml` names the cases that test a
sentence. A clause is a quotation: part of a sentence, or of several in a row, with `…` for words
left out. White space, the kind of quotation marks, and the marks of code and formulas do not
matter. Where the pages word it differently, a clause quotes each with its versions behind it,
separated by semicolons: `described above (Softmax-1, 11); of rank >= axis (Softmax-13)`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from opcheck import opset, reading
from opcheck.errors import CaseFileError, Problem, did_you_mean
from opcheck.grouping import group_by
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
#: A list's item.
_ITEM = re.compile(r"([-*+•]|\(?\d+[.)]|\([a-z]\)) +\S")
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
    """Return the specification of a version, as in ONNX's documentation."""
    sentences = []
    for part, (head, text) in _parts_of_page(schema).items():
        if schema.op.domain == opset.ML:
            text = text.replace("<br>", " ")
        stated = [head, *cut(text)] if head else cut(text)
        for sentence in stated:
            sentences.append(
                Sentence(
                    text=sentence,
                    part=part,
                    cases=(),
                    nothing=_why_nothing(sentence),
                    ruling=None,
                    source=Source(link, 0, 0),
                    heading=sentence == head or part == "Version",
                )
            )
    return tuple(sentences)


def _parts_of_page(schema: opset.Schema) -> dict[str, tuple[str, str]]:
    """Return the heading and the text of each part of a page, such as "Attribute axis"."""
    since = schema.op.since
    available = f"This version of the operator has been available since version {since}."
    parts = {"Version": (f"since_version: {since}", available), "Summary": ("", schema.doc)}
    for name, attribute in schema.attributes.items():
        parts[f"Attribute {name}"] = (_attribute(attribute), attribute.description)
    types = {}
    for word, parameters in zip(("Input", "Output"), schema.formals, strict=True):
        for formal in parameters:
            types[formal.constraint] = ", ".join(sorted(formal.types))
            parts[f"{word} {formal.name}"] = (_heading_of(formal), formal.description)
    for name, description in (schema.constraints or {}).items():
        parts[f"Type constraint {name}"] = (f"{name} in ( {types.get(name, '')} )", description)
    return parts


def _heading_of(formal: opset.Parameter) -> str:
    """Return the heading of an input or output: `X (optional, heterogeneous) - T`."""
    marks: list[str] = []
    if formal.option != "single":
        marks.append(formal.option)
    if formal.homogeneous:
        marks.append("heterogeneous")
    name = f"{formal.name} ({', '.join(marks)})" if marks else formal.name
    return f"{name} - {formal.constraint}"


def _why_nothing(sentence: str) -> str | None:
    """Return why a sentence obliges a backend to nothing by its form, None if it may."""
    for form, why in _NOTHING.items():
        if re.match(form, sentence, re.IGNORECASE):
            return why
    return None


def _attribute(attribute: opset.Attribute) -> str:
    """Return the heading of an attribute: `axis - INT (default is '-1')`."""
    heading = attribute.name
    if attribute.type != "other":
        heading += f" - {attribute.type.upper()}"
    if attribute.required:
        return f"{heading} (required)"
    value = attribute.default
    if value is None:
        return heading
    shown: object = [*value] if isinstance(value, tuple) else value
    if isinstance(value, float):
        shown = str(np.float32(value))  # with as few digits as it needs
    return f"{heading} (default is '{shown}')"


def cut(text: str) -> list[str]:
    """Return the sentences of a text; a row, a list's item, and open code stay whole."""
    sentences: list[str] = []
    for block in _blocks(text):
        sentences += [block.text] if block.is_code else _BETWEEN.split(block.text)
    return [sentence for sentence in sentences if re.search(r"\w", sentence)]


class _Line(NamedTuple):
    """A line of a text: its words, how far it is indented, and what it begins with."""

    words: str
    indent: int
    is_fence: bool
    is_row: bool
    is_item: bool


class _Block(NamedTuple):
    """A paragraph, an item, a row or code, in one line; no full stop cuts rows and code."""

    text: str
    is_code: bool


def _line(text: str) -> _Line:
    words = " ".join(text.split())
    return _Line(
        words=words,
        indent=_indent(text),
        is_fence=words.startswith("```") and words.count("```") == 1,
        is_row=words.startswith("|"),
        is_item=_ITEM.match(words) is not None,
    )


def _blocks(text: str) -> list[_Block]:
    """Return the paragraphs, items, rows and code of a text."""
    lines = text.expandtabs(4).splitlines()
    margin = min((_indent(line) for line in lines[1:] if line.strip()), default=0)
    blocks: list[_Block] = []
    is_fenced = False
    has_ended = True
    for line in map(_line, lines):
        if line.is_fence or not line.words:
            is_fenced = is_fenced != line.is_fence
            has_ended = True
            continue
        last = blocks[-1] if blocks else _Block("", False)
        is_code = is_fenced or _is_code(line, last, has_ended, margin)
        if _continues(line, is_code, last, has_ended):
            blocks[-1] = _Block(f"{last.text} {line.words}", is_code)
        else:
            blocks.append(_Block(line.words, is_code))
        has_ended = False
    return blocks


def _is_code(line: _Line, last: _Block, has_ended: bool, margin: int) -> bool:
    """Return True for a row, or for a line that is indented by four and follows no paragraph.

    `has_ended`: an empty line or a fence is before it.
    """
    if line.is_row or line.is_item:
        return line.is_row
    may_begin = has_ended or last.is_code or last.text.endswith(":")
    return may_begin and line.indent >= margin + 4


def _continues(line: _Line, is_code: bool, last: _Block, has_ended: bool) -> bool:
    """Return True if a line belongs to the block before it.

    Code does if a bracket is open there, or if a single word, such as a language, is before it.
    """
    if not is_code:
        return not (line.is_item or has_ended or last.is_code)
    if line.is_row:
        return False
    return last.text.isalpha() or (last.is_code and not has_ended and _is_open(last.text))


def _is_open(text: str) -> bool:
    """Return True if a bracket is not closed in a text."""
    return sum(map(text.count, "([{")) > sum(map(text.count, ")]}"))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def quotation(clause: str, op: OpVersion) -> str:
    """Return the part of `clause` about `op`: all, unless it names versions; "" if none is this."""
    text = " ".join(clause.split())
    quotes = []
    end = 0
    while match := _LABELLED.match(text, end):
        versions = [int(version) for version in match["versions"].split(",")]
        if match["op"] == op.name and op.since in versions:
            quotes.append(match["quote"])
        end = match.end()
    return text if end < len(text) else f" {_GAP} ".join(quotes)


def cited(quote: str, page: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Return the sentences of `page` that contain `quote` or, if none does, over which it runs."""
    pieces = [piece.strip() for piece in _normal(quote).split(_GAP) if piece.strip()]
    # More than the whole page: not worth looking for.
    if not pieces or sum(map(len, pieces)) > sum(len(sentence.text) for sentence in page):
        return ()
    alone = [sentence for sentence in page if _find(pieces, _normal(sentence.text))]
    if alone:
        return tuple(alone)
    for _, part in groupby(page, attrgetter("part")):
        run = _run_over([*part], pieces)
        if run:
            return run
    return ()


def _run_over(part: Sequence[Sentence], pieces: Sequence[str]) -> tuple[Sentence, ...]:
    """Return the sentences of a part over which the pieces of a quotation run."""
    texts = [_normal(sentence.text) for sentence in part]
    spans = _find(pieces, " ".join(texts))
    run = []
    start = 0
    for sentence, text in zip(part, texts, strict=True):
        end = start + len(text)
        if any(first < end and start < last for first, last in spans):
            run.append(sentence)
        start = end + 1
    return tuple(run)


def _find(pieces: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return the spans of the pieces in `text`, in order; empty if one is missing."""
    spans = []
    end = 0
    for piece in pieces:
        # To look for the words first spares most patterns.
        match = _pattern(piece).search(text, end) if piece in text else None
        if match is None:
            return []
        spans.append(match.span())
        end = match.end()
    return spans


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern of the text, with no word cut in two by its ends."""
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
    """Raise CaseFileError for files of no operator, and for names that no case has.

    Names are checked in files of the operators of `cases`; `shipped` returns an operator's cases.
    """
    problems = Problems()
    asked = {case.op.name for case in cases}
    for path in shipped_files(Kind.CLAUSES):
        try:
            pages = load_pages(path, *operators_in(path)[:1])
        except CaseFileError as error:
            problems += error.problems
            continue
        if asked.isdisjoint(pages.ops):
            continue
        own_cases = [case for op in pages.ops for case in shipped(op) if case.op.name == op]
        rows = {f"{case.name}#{case.row}" for case in own_cases if case.row is not None}
        known = sorted(rows | {case.name for case in own_cases})
        for mark, name in pages.names.items():
            if name not in known:
                message = f"cases: {', '.join(pages.ops)} has no case {quoted(name)}"
                problems.add(pages.file, mark, message, did_you_mean(name, known))
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
    """Return the pages of `op`, or of a file's first operator; raises CaseFileError."""
    file = shipped_name(path)
    node, fields = _read(path, file)
    op = op or fields.op[0]
    bare = _bare(fields.domain, op)
    texts = {} if fields.page else bare.versions
    pages = {since: [*texts.get(since, ())] for since in opset.versions(fields.domain, op)}
    names: dict[reading.Mark, str] = {}
    problems = Problems()
    for number, entry in enumerate(fields.sentences):
        mark = node.at(("sentences", number))
        for place, name in enumerate(entry.cases):
            names[node.at(("sentences", number, "cases", place))] = name
        if op in (entry.op or fields.op):
            put = _put(entry, pages, op, Source(file, mark.line, mark.column))
            wrong = [*put.wrong, *_nowhere(entry, fields, op, put.missing, len(pages))]
            hint = did_you_mean(entry.sentence, put.near) if wrong else None
            for message in wrong:
                problems.add(file, mark, f"{quoted(entry.sentence or entry.text)}: {message}", hint)
    return Pages(
        link=fields.page or bare.link,
        versions={since: tuple(sentences) for since, sentences in pages.items()},
        problems=tuple(problems),
        ops=tuple(fields.op),
        file=file,
        names=names,
    )


def _read(path: Path, file: str) -> tuple[reading.FileNode, PagesFields]:
    """Return what is in a file, called `file` in messages; raises CaseFileError."""
    problems = Problems()
    keys = {"sentences": validation.aliases(SentenceEntry)}
    node = read_file(path, problems)
    fields = node and validation.check(PagesFields, node, file, problems, keys)[0]
    if not (node and fields):
        raise CaseFileError(problems)
    validation.check_operators(node, opset.operators(fields.domain), file, problems)
    problems.raise_if_any()
    return node, fields


class _Put(NamedTuple):
    """What came of an entry that was put to its sentences."""

    #: Problems of versions.
    wrong: list[str]
    #: The versions without the sentence, and the beginnings of what they have in place of it.
    missing: list[int]
    near: list[str]


def _put(
    entry: SentenceEntry, pages: Mapping[int, list[Sentence]], op: str, source: Source
) -> _Put:
    """Put an entry of a file to its sentences of the pages, which are changed."""
    put = _Put([], [], [])
    stated = Sentence(
        text=entry.text,
        part=entry.part,
        cases=tuple(entry.cases),
        nothing=entry.nothing,
        ruling=entry.ruling,
        ruling_since=str(entry.ruling_since) if entry.ruling_since else None,
        source=source,
    )
    for since in entry.versions or pages:
        sentences = pages.get(since, [])
        places, is_unclear = _places(entry, sentences)
        earlier = [sentences[at].source for at in places if sentences[at].source.line]
        if entry.text and since in pages:
            sentences.append(stated)
        elif earlier:
            put.wrong.append(f"{op}-{since}: {earlier[0]} is about it too")
        elif is_unclear:
            put.wrong.append(f"{op}-{since}: it has several such sentences")
        elif not places:
            put.missing.append(since)
            put.near.extend(sentence.text[: len(entry.sentence)] for sentence in sentences)
        for at in places:
            own = sentences[at]
            sentences[at] = replace(stated, text=own.text, part=own.part, heading=own.heading)
    return put


def _nowhere(
    entry: SentenceEntry, fields: PagesFields, op: str, missing: Sequence[int], versions: int
) -> Iterator[str]:
    """Yield that none of an entry's operators has its sentence, or not all versions it names.

    Of several operators, the pages of the first report that.
    """
    first, *others = entry.op or fields.op
    if op != first or not missing:
        return
    is_in_others = any(_has(entry, fields.domain, other) for other in others)
    if (entry.versions or len(missing) == versions) and not is_in_others:
        yield f"{op}-{', '.join(map(str, missing))}: there is no such sentence"


def _has(entry: SentenceEntry, domain: str, op: str) -> bool:
    """Return True if an operator has the sentence of an entry in one of the versions it names."""
    pages = _bare(domain, op).versions
    return any(_places(entry, pages.get(since, ()))[0] for since in entry.versions or pages)


def _places(entry: SentenceEntry, page: Sequence[Sentence]) -> tuple[Sequence[int], bool]:
    """Return the positions of an entry's sentences, and True if it may mean others too."""
    first = _positions(entry.sentence, entry.part, page)
    last = _positions(entry.through, entry.part, page) if entry.through else first
    # Rows of tables stand there twice: through the last of them.
    if entry.through and len({page[at].text for at in last}) == 1:
        last = last[-1:]
    if len(first) != 1 or len(last) != 1:
        return (), bool(first and last)
    return range(first[0], last[0] + 1), False


def _positions(words: str, part: str, page: Sequence[Sentence]) -> list[int]:
    """Return the positions of the sentences that some words mean: one that begins so, if any."""
    in_part = [sentence for sentence in page if part in ("", sentence.part)]
    meant = cited(words, in_part)
    begun = [sentence for sentence in meant if sentence.text.startswith(words)]
    if len(begun) == 1:
        meant = tuple(begun)
    return [at for at, sentence in enumerate(page) if sentence in meant]


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
    by_version = group_by(cases, lambda case: replace(case.op, name=opset.plain(case.op.name)))
    surveys = [_survey(op, pages(op.domain, op.name), by_version[op]) for op in sorted(by_version)]
    # A problem of a file is one of the first version alone.
    first = {problem: one.op for one in reversed(surveys) for problem in one.problems}
    return tuple(
        replace(one, problems=tuple(it for it in one.problems if first[it] == one.op))
        for one in surveys
    )


def _survey(op: OpVersion, pages: Pages | None, cases: Sequence[Case]) -> Survey:
    """Survey one version by its cases."""
    page = pages.versions.get(op.since) if pages else None
    if pages is None or page is None:
        return Survey(op, None, (), ())
    quotes = {(case.op.name, case.clause): case for case in cases}
    quoted_by = {key: cited(quotation(case.clause, case.op), page) for key, case in quotes.items()}
    quoting: dict[Sentence, list[Case]] = defaultdict(list)
    strays = []
    for case in cases:
        sentences = quoted_by[case.op.name, case.clause]
        for sentence in sentences:
            quoting[sentence].append(case)
        if case.clause and not sentences:
            strays.append(case)
    by_name = group_by(cases, attrgetter("name"))
    checked = tuple(_checked(sentence, op, by_name, quoting[sentence]) for sentence in page)
    return Survey(op, pages.link, checked, tuple(strays), pages.problems)


def _checked(
    sentence: Sentence,
    op: OpVersion,
    by_name: Mapping[str, Sequence[Case]],
    quoting: Sequence[Case],
) -> CheckedSentence:
    """Return a sentence with the cases that test it, among which are those `quoting` it."""
    tested = [*_listed(sentence, by_name), *quoting]
    if sentence.heading and not (tested or sentence.cases or sentence.nothing):
        tested = _with_what_is_announced(sentence, op, chain.from_iterable(by_name.values()))
    if tested and not sentence.source.line:
        # What is quoted is tested, whatever its kind.
        sentence = replace(sentence, nothing=None)
    return CheckedSentence(sentence, _counted(tested, by_name))


def _listed(sentence: Sentence, by_name: Mapping[str, Sequence[Case]]) -> Iterator[Case]:
    """Yield the shipped cases that the entry of a sentence names."""
    for label in sentence.cases:
        name, _, row = label.partition("#")
        for case in by_name.get(name, ()):
            if case.source.shipped and row in ("", case.row):
                yield case


def _counted(cases: Iterable[Case], by_name: Mapping[str, Sequence[Case]]) -> dict[str, int]:
    """Return the numbers of cases by their name.

    A case goes by its name and row, unless all cases of its name are there.
    """
    by_id = {case.id: case for case in cases}
    names = {case.name for case in by_id.values()}
    whole = {name for name in names if all(case.id in by_id for case in by_name[name])}
    counts: Counter[str] = Counter()
    for case in by_id.values():
        has_own_name = case.row is None or case.name in whole
        counts[case.name if has_own_name else f"{case.name}#{case.row}"] += 1
    return dict(counts)


def _with_what_is_announced(heading: Sentence, op: OpVersion, cases: Iterable[Case]) -> list[Case]:
    """Return the answered cases that have what a heading announces.

    That is an attribute, its default, or a type.
    """
    answered = [case for case in cases if not isinstance(case.expect, Rejected)]
    kind, _, name = heading.part.rpartition(" ")
    if kind == "Attribute":
        is_left_out = "(default is" in heading.text
        return [case for case in answered if (name in case.attrs) != is_left_out]
    if not kind:
        return answered
    schema = opset.versions(op.domain, op.name)[op.since]
    if kind != "Type constraint":
        return [case for case in answered if _types(case, {name})]
    formals = [formal for formal in chain(*schema.formals) if formal.constraint == name]
    types = {case.id: _types(case, {formal.name for formal in formals}) for case in answered}
    every = {_type_of_tensors(text) for formal in formals for text in formal.types}
    if not every <= set().union(*types.values()):
        return []
    return [case for case in answered if types[case.id]]


def _type_of_tensors(text: str) -> str:
    """Return the type of the tensors of a sequence or an optional, which cases have."""
    return re.sub(r"^(?:optional\(|seq\()+(.*?\)).*", r"\1", text)


def _types(case: Case, names: Set[str]) -> set[str]:
    """Return the types of the inputs and outputs of a case with these names; "" for an open one."""
    tensors: list[TensorSpec | OutputSpec] = [*case.inputs, *case.outputs]
    types = set()
    for tensor in tensors:
        # A variadic `data` is written as data_0, data_1 …
        if tensor.name in names or re.sub(r"_\d+$", "", tensor.name) in names:
            types.add(tensor.dtype.text if tensor.dtype else "")
    return types
