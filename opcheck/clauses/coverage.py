"""Entries of `clauses/` on the sentences of a page, and the cases that test each one."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from opcheck import opset, reading
from opcheck.clauses.pages import Sentence, cited, page, quotation
from opcheck.errors import CaseFileError, Problem, did_you_mean
from opcheck.model import Case, OpVersion, OutputSpec, Rejected, Source, TensorSpec
from opcheck.reading import Problems, operators_in, quoted, read_file, shipped_folder, validation

#: The name of a case, or of one of its rows.
CaseName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(#[A-Za-z0-9_.+-]+)?$")]


class SentenceEntry(validation.Fields):
    """A file's entry on a sentence, or on all from there `through` another.

    Each is named by its beginning or by a part of it that no other sentence of the `part` has, or
    of the page. Without `versions` it is that of each version, and without `op` of each operator
    of the file that has it. `text` is one that no package has.
    """

    sentence: str = ""
    through: str = ""
    text: str = ""
    part: str = ""
    op: validation.Operators | None = None
    versions: Sequence[int] = ()
    cases: Sequence[CaseName] = ()
    nothing: str | None = Field(default=None, min_length=1)
    ruling: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if bool(self.sentence) == bool(self.text and self.part):
            raise ValueError("an entry has a `sentence`, or a `text` and its `part`")
        if self.cases and self.nothing:
            raise ValueError("a sentence is tested by `cases` or obliges to `nothing`, not both")
        if self.sentence and not (self.cases or self.nothing or self.ruling):
            raise ValueError("an entry has `cases`, `nothing` or a `ruling`; this one has none")
        return self


class PagesFields(validation.Fields):
    """A file of `clauses/`; `page` is the link of pages whose text no package has."""

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
    family = {"": "onnx", "com.microsoft.dml": "dml"}.get(domain, domain)
    for file in (shipped_folder("_clauses", "clauses") / family).glob("*.yaml"):
        if op in operators_in(file):
            return shipped_pages(file, op)
    pages = _bare(domain, op)
    return pages if pages.versions else None


def check_files(cases: Iterable[Case], shipped: Callable[[str], Iterable[Case]]) -> None:
    """Raise CaseFileError: files of no operator; names of no `shipped` case, for ops of `cases`."""
    problems, asked = Problems(), {case.op.name for case in cases}
    for path in sorted(shipped_folder("_clauses", "clauses").rglob("*.yaml")):
        try:
            pages = shipped_pages(path, *operators_in(path)[:1])
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
    pages = pages_of(op.domain, op.name)
    quotes = cited(quotation(clause, op), pages.versions.get(op.since, ()) if pages else ())
    return tuple(sentence.ruling for sentence in quotes if sentence.ruling)


@cache
def _bare(domain: str, op: str) -> Pages:
    """The pages without the entries of a file."""
    link = f"https://onnx.ai/onnx/operators/onnx_{domain.replace('.', '')}_{op}.html"
    schemas = opset.versions(domain, op).items()
    return Pages(link, {since: page(schema, link) for since, schema in schemas if schema.doc})


@cache
def shipped_pages(path: Path, op: str = "") -> Pages:
    """The pages of `op` with what its file of `clauses` says, read once; raises CaseFileError."""
    return load_pages(path, f"clauses/{path.parent.name}/{path.name}", op)


def load_pages(path: Path, file: str, op: str = "") -> Pages:
    """The pages of `op`, or the first operator of a file, in messages called `file`.

    Raises CaseFileError.
    """
    problems = Problems()
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
        stated: dict[str, Any] = {"cases": tuple(entry.cases), "nothing": entry.nothing}
        stated |= {"ruling": entry.ruling, "source": Source(file, mark.line, mark.column)}
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
    for words in (entry.sentence, entry.through or entry.sentence):
        found = cited(words, [sentence for sentence in page if entry.part in ("", sentence.part)])
        begun = [sentence for sentence in found if sentence.text.startswith(words)]
        meant = begun if len(begun) == 1 else found
        ends.append([at for at, sentence in enumerate(page) if sentence in meant])
    first, last = ends
    # Rows of tables stand there twice: through the last of them.
    if entry.through and len({page[at].text for at in last}) == 1:
        last = last[-1:]
    if len(first) != 1 or len(last) != 1:
        return (), bool(first and last)
    return range(first[0], last[0] + 1), False


@dataclass(frozen=True)
class CheckedSentence:
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
    about: dict[OpVersion, list[Case]] = defaultdict(list)
    for case in cases:
        about[case.op].append(case)
    found = [_survey(op, pages(op.domain, op.name), about[op]) for op in sorted(about)]
    first = {problem: one.op for one in reversed(found) for problem in one.problems}
    once = [tuple(p for p in one.problems if first[p] == one.op) for one in found]
    return tuple(replace(one, problems=new) for one, new in zip(found, once, strict=True))


def _survey(op: OpVersion, pages: Pages | None, cases: Sequence[Case]) -> Survey:
    page = pages.versions.get(op.since) if pages else None
    if pages is None or page is None:
        return Survey(op, None, (), ())
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
        named = (label.partition("#") for label in sentence.cases)
        tested = [
            case
            for name, _, row in named
            for case in by_name.get(name, ())
            if case.source.shipped and row in ("", case.row)
        ]
        tested += quoting[sentence]
        if sentence.heading and not (tested or sentence.cases or sentence.nothing):
            tested = _asking(sentence, op, cases)
        chosen = {case.id: case for case in tested}
        if chosen and not sentence.source.line:
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
    formals = [*schema.inputs, *schema.outputs]
    formals = [f for f in formals if name == (f.constraint if listed else f.name)]
    types = {case.id: _types(case, {formal.name for formal in formals}) for case in answered}
    if listed and not {t for f in formals for t in f.types} <= set().union(*types.values()):
        return []
    return [case for case in answered if not kind or types[case.id]]


def _types(case: Case, names: Set[str]) -> set[str]:
    """The types of the inputs and outputs of a case with these names; "" for an open one."""
    found: list[TensorSpec | OutputSpec] = [*case.inputs, *case.outputs]
    # A variadic `data` is written as data_0, data_1 …
    named = [tensor for tensor in found if {tensor.name, re.sub(r"_\d+$", "", tensor.name)} & names]
    return {tensor.dtype.text if tensor.dtype else "" for tensor in named}
