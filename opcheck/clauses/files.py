"""The files of `clauses/`: what opcheck says of the sentences of an operator's pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from opcheck import opset
from opcheck.clauses.pages import Sentence, cited, page, quotation
from opcheck.errors import CaseFileError, Problem, did_you_mean
from opcheck.model import OpVersion, Source
from opcheck.reading import Problems, form, quoted, read_file, shipped_folder

#: The name of a case, or of one of its rows.
CaseName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(#[A-Za-z0-9_.+-]+)?$")]


class Entry(form.Fields):
    """What a file says of a sentence, or of all from there `through` another.

    Each is named by its beginning or by a part of it that no other sentence of the `part` has, or
    of the page. Without `versions` it is that of each version. `text` is one that no package has.
    """

    sentence: str = ""
    through: str = ""
    text: str = ""
    part: str = ""
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


class PagesFields(form.Fields):
    """A file of `clauses/`; `page` is the link of pages whose text no package has."""

    op: str = Field(min_length=1)
    domain: str = ""
    page: str | None = Field(default=None, pattern="^https://")
    sentences: list[Entry] = Field(min_length=1)


@dataclass(frozen=True)
class Pages:
    """The pages of an operator by version; `link` is where people read them.

    `problems` are entries whose sentence is not found: another release of onnx may word it
    differently.
    """

    link: str
    versions: Mapping[int, tuple[Sentence, ...]]
    problems: tuple[Problem, ...] = ()


@cache
def pages_of(domain: str, op: str) -> Pages | None:
    """The pages of an operator with the entries of its file; None where there is no text.

    Only that file is read: LpPool is in lp_pool.yaml.
    """
    family = {"": "onnx", "com.microsoft.dml": "dml"}.get(domain, domain)
    for file in (shipped_folder("_clauses", "clauses") / family).glob("*.yaml"):
        if file.stem.replace("_", "") == op.replace("_", "").lower():
            return load_pages(file, f"clauses/{family}/{file.name}")
    pages = _bare(domain, op)
    return pages if pages.versions else None


@cache
def rulings(clause: str, op: OpVersion) -> tuple[str, ...]:
    """The rulings on the sentences of the page of `op` that `clause` quotes, in their order."""
    pages = pages_of(op.domain, op.name)
    quotes = cited(quotation(clause, op), pages.versions.get(op.since, ()) if pages else ())
    return tuple(sentence.ruling for sentence in quotes if sentence.ruling)


def _bare(domain: str, op: str) -> Pages:
    """The pages without what a file says of them."""
    link = f"https://onnx.ai/onnx/operators/onnx_{domain.replace('.', '')}_{op}.html"
    schemas = opset.versions(domain, op).items()
    return Pages(link, {since: page(schema, link) for since, schema in schemas if schema.doc})


def load_pages(path: Path, file: str) -> Pages:
    """The pages that a file is about; messages call it `file`.

    Raises CaseFileError with every problem of its form.
    """
    problems = Problems()
    node = read_file(path, problems)
    keys = (form.aliases(PagesFields), form.aliases(Entry))
    if not node:
        raise CaseFileError([*problems])
    fields, _ = form.check(PagesFields, node, file, problems, lambda at: keys[bool(at)])
    if not fields:
        raise CaseFileError([*problems])
    bare = _bare(fields.domain, fields.op)
    texts = {} if fields.page else bare.versions
    pages = {v: [*texts.get(v, ())] for v in opset.versions(fields.domain, fields.op)}
    if not pages:
        hint = did_you_mean(fields.op, opset.operators(fields.domain))
        problems.add(file, node.at(["op"]), f"op: there is no {quoted(fields.op)}", hint)
    for n, entry in enumerate(fields.sentences):
        mark = node.at(("sentences", n))
        said: dict[str, Any] = {"cases": tuple(entry.cases), "nothing": entry.nothing}
        said |= {"ruling": entry.ruling, "source": Source(file, mark.line, mark.column)}
        wrong, missing, hint = [], [], None
        for since in entry.versions or pages:
            sentences = pages.get(since, [])
            places, unclear = _places(entry, sentences)
            again = [sentences[at].source for at in places if sentences[at].source.line]
            if entry.text and since in pages:
                sentences.append(Sentence(entry.text, entry.part, **said))
            elif unclear or again:
                why = f"{again[0]} is about it too" if again else "it has several such sentences"
                wrong.append(f"{fields.op}-{since}: {why}")
            elif not places:
                missing.append(since)
                starts = (sentence.text[: len(entry.sentence)] for sentence in sentences)
                hint = hint or did_you_mean(entry.sentence, starts)
            for at in places:
                sentences[at] = replace(sentences[at], **said)
        if missing and (entry.versions or len(missing) == len(pages)):
            names = ", ".join(map(str, missing))
            wrong.append(f"{fields.op}-{names}: there is no such sentence")
        for message in wrong:
            problems.add(file, mark, f"{quoted(entry.sentence or entry.text)}: {message}", hint)
    done = {since: tuple(sentences) for since, sentences in pages.items()}
    return Pages(fields.page or bare.link, done, tuple(problems))


def _places(entry: Entry, page: Sequence[Sentence]) -> tuple[Sequence[int], bool]:
    """Where the sentences stand that an entry names; True where it may mean others too."""
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
