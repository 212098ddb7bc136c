"""The files of `clauses/`: the pages of an operator, each sentence marked with what tests it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from opcheck.model import Source
from opcheck.reading import Node, Problems, form, read_file, shipped_folder

#: The name of a case, or of one of its rows.
CaseName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(#[A-Za-z0-9_.+-]+)?$")]


class SentenceFields(form.Fields):
    """A sentence as a file states it; without `versions` it stands on the page of every one."""

    text: str = Field(min_length=1)
    versions: list[int] | None = Field(default=None, min_length=1)
    cases: list[CaseName] | None = Field(default=None, min_length=1)
    nothing: str | None = Field(default=None, min_length=1)
    ruling: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _is_marked(self) -> Self:
        if (self.cases is None) == (self.nothing is None):
            also = "both" if self.cases else "neither"
            raise ValueError(
                "a sentence names the `cases` that test it or says why it obliges `nothing`; "
                f"this one has {also}"
            )
        return self


class PartFields(form.Fields):
    """A part of a page, such as its summary or one attribute."""

    part: str = Field(min_length=1)
    sentences: list[SentenceFields] = Field(min_length=1)


class PagesFields(form.Fields):
    """A file of `clauses/`."""

    op: str = Field(min_length=1)
    domain: str = ""
    page: str = Field(pattern="^https://")
    versions: list[int] = Field(min_length=1)
    parts: list[PartFields] = Field(min_length=1)


@dataclass(frozen=True)
class Sentence:
    """One sentence, on the pages of one or more versions of an operator.

    Either `cases` names shipped cases that test it (`name` or `name#row`), or `nothing` says why
    it obliges a backend to nothing. `ruling` is opcheck's own: how it reads the sentence where
    that does not decide.
    """

    text: str
    part: str
    versions: tuple[int, ...]
    cases: tuple[str, ...]
    nothing: str | None
    ruling: str | None
    source: Source


@dataclass(frozen=True)
class Pages:
    """The pages of all versions of an operator; `link` is where they were read."""

    domain: str
    op: str
    link: str
    versions: tuple[int, ...]
    sentences: tuple[Sentence, ...]

    def page(self, version: int) -> tuple[Sentence, ...]:
        """The sentences of one version, in the order of its page."""
        return tuple(sentence for sentence in self.sentences if version in sentence.versions)


def shipped_pages() -> tuple[Pages, ...]:
    """The pages that ship with opcheck."""
    folder = shipped_folder("_clauses", "clauses")
    files = sorted(folder.rglob("*.yaml"))
    return load_pages((file, f"clauses/{file.relative_to(folder).as_posix()}") for file in files)


def load_pages(files: Iterable[tuple[Path, str]]) -> tuple[Pages, ...]:
    """The pages in files, each with the name that messages have for it.

    Raises CaseFileError with every problem of every file.
    """
    problems = Problems()
    found = []
    for path, name in files:
        node = read_file(path, problems)
        fields = form.validate(PagesFields, node, name, problems, _keys) if node else None
        if node and fields:
            if fields.versions != sorted(set(fields.versions)):
                problems.add(name, node.at(["versions"]), "versions: must be in order, each once")
            sentences = tuple(_sentences(fields, node, name, problems))
            versions = tuple(fields.versions)
            found.append(Pages(fields.domain, fields.op, fields.page, versions, sentences))
    problems.raise_if_any()
    return tuple(found)


def _sentences(
    fields: PagesFields, node: Node, file: str, problems: Problems
) -> Iterator[Sentence]:
    for i, part in enumerate(fields.parts):
        for j, stated in enumerate(part.sentences):
            path = ("parts", i, "sentences", j)
            versions = fields.versions if stated.versions is None else stated.versions
            if versions != [version for version in fields.versions if version in versions]:
                known = ", ".join(map(str, fields.versions))
                message = f"versions: must be some of {known}, in order, each once"
                problems.add(file, node.at((*path, "versions")), message)
            mark = node.at(path)
            yield Sentence(
                stated.text,
                part.part,
                tuple(versions),
                tuple(stated.cases or ()),
                stated.nothing,
                stated.ruling,
                Source(file, mark.line, mark.column),
            )


def _keys(container: form.Location) -> list[str]:
    if "sentences" in container:
        return form.aliases(SentenceFields)
    return form.aliases(PartFields if "parts" in container else PagesFields)
