"""Rewrite a user's ledger; the rest keeps its words, comments and order."""

import io
import re
import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, combinations
from typing import Any, TypeAlias

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, FoldedScalarString

from opcheck.errors import UsageError
from opcheck.known import VALUES
from opcheck.model import Case
from opcheck.reading import FileNode, Mark

#: The width of written text, where it can be broken.
_WIDTH = 96

_NEW = """\
# What {backend} is known to fail: `opcheck run --known THIS_FILE` is green as long as
# just this fails, and in just this way. The causes are guesses from what the failures look like:
# say why it is so, and where it is worked on (link: https://…).
backend: {backend}
known: []
"""
#: The fields of a place that distinguish cases of one name, in order; then come attributes.
_FIELDS = ("row", "opset", "dtype")
_ATTRIBUTE = "attrs."
_Fields: TypeAlias = Mapping[str, tuple[Any, ...]]
#: Fields and their values; hashable, so that equal ones of several names become one place.
_Said: TypeAlias = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Revision:
    """Changes to a ledger: entries to append, and the places, if any, that replace another."""

    added: Sequence[Mapping[str, Any]] = ()
    replaced: Mapping[tuple[int, int], Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.replaced)


def new_ledger(backend: str) -> str:
    """A ledger in which nothing is listed yet."""
    (line,) = _dumped([backend if backend.isprintable() else DoubleQuotedScalarString(backend)])
    return _NEW.format(backend=line.removeprefix("- "))


def revised(text: str, node: FileNode, file: str, revision: Revision) -> str:
    """The text of a ledger, read as `node`, revised; raises UsageError for entries in brackets."""
    sheet = _Sheet(text.splitlines())
    if (entries := _items(node, "known")) and not all(map(sheet.is_item, entries)):
        message = f"{file}: the entries are written in brackets, and cannot be revised"
        raise UsageError(message, "write each with a '-' in lines of its own")
    gone = 0
    for number in sorted({entry for entry, _ in revision.replaced}):
        replaced = {p: new for (e, p), new in revision.replaced.items() if e == number}
        where = _items(node, "known", number, "where")
        if len(replaced) == len(where) and not any(replaced.values()):
            sheet.put(sheet.span(entries[number]), [])
            gone += 1
        elif all(map(sheet.is_item, where)):
            for place, others in replaced.items():
                sheet.put(sheet.span(where[place]), _dumped([*map(_place, others)]))
        else:
            sheet.put(sheet.span(entries[number]), sheet.rewritten(entries[number], replaced))
    key = node.keys["known"]
    if revision.added:
        end, dash = sheet.span(entries[-1])[1:] if entries else (key.line, key.column - 1)
        sheet.put((end, end, dash), _dumped([*map(_entry, revision.added)]))
    if bool(revision.added) > bool(entries) or gone == len(entries) > 0 == len(revision.added):
        sheet.mend(key, empty=not revision.added)
    return sheet.text()


class _Sheet:
    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        #: The lines from … up to …, and those in their place.
        self.edits: list[tuple[int, int, list[str]]] = []

    def is_item(self, mark: Mark) -> bool:
        """Return True if a dash precedes `mark` and begins its line."""
        return self.lines[mark.line - 1][: mark.column - 1].strip() == "-"

    def span(self, mark: Mark) -> tuple[int, int, int]:
        """The first line of an item, that after its last, and its dash's column, all from 0."""
        # Comments below it belong to the next.
        begin = mark.line - 1
        dash = self.lines[begin].index("-")
        end = begin + 1
        for number in range(begin + 1, len(self.lines)):
            line = self.lines[number]
            depth = len(line) - len(line.lstrip())
            is_content = bool(line.strip()) and (not line.lstrip().startswith("#") or depth > dash)
            if is_content and depth <= dash:
                break
            end = number + 1 if is_content else end
        return begin, end, dash

    def put(self, span: tuple[int, int, int], lines: Sequence[str]) -> None:
        """Replace a span by lines that begin in the first column."""
        begin, end, dash = span
        self.edits.append((begin, end, [" " * dash + line for line in lines]))

    def rewritten(self, mark: Mark, replaced: dict[int, Sequence[Mapping[str, Any]]]) -> list[str]:
        """Return an entry whose places stand in brackets, with some of them replaced."""
        begin, end, dash = self.span(mark)
        (entry,) = _round_trip().load("\n".join(line[dash:] for line in self.lines[begin:end]))
        where = entry["where"]
        for place in sorted(replaced, reverse=True):
            where[place : place + 1] = [*map(_place, replaced[place])]
        entry["where"] = [*where]
        return _dumped([entry])

    def mend(self, key: Mark, *, empty: bool) -> None:
        """Write the list of entries as empty, or no longer so."""
        head, colon, value = self.lines[key.line - 1].partition(":")
        value = re.sub(r"^\s*(\[\s*\]|~|null)", "", value, flags=re.IGNORECASE)
        self.edits.append((key.line - 1, key.line, [f"{head}{colon}{' []' * empty}{value}"]))

    def text(self) -> str:
        lines = [*self.lines]
        for begin, end, new in sorted(self.edits, key=lambda edit: edit[0], reverse=True):
            lines[begin:end] = new
        return "\n".join(lines) + "\n"


def _items(node: FileNode, *path: str | int) -> list[Mark]:
    """Return where the items of a list begin; empty for an empty list."""
    found = node.get(*path)
    return [item.mark for item in found.items] if found else []


def _round_trip() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1 << 20  # no line of the user's own is broken anew
    return yaml


def _dumped(items: Sequence[Any]) -> list[str]:
    file = io.StringIO()
    _round_trip().dump([*items], file)
    return file.getvalue().splitlines() if items else []


def _entry(new: Mapping[str, Any]) -> Any:
    made = {"cause": _folded(new["cause"]), "where": [*map(_place, new["where"])]}
    return CommentedMap({name: made.get(name, value) for name, value in new.items() if value})


def _folded(text: str) -> Any:
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    if len(lines) < 2 or " ".join(lines) != text:
        return text
    folded = FoldedScalarString(text)
    folded.fold_pos = [end - 1 for end in accumulate(len(line) + 1 for line in lines[:-1])]
    return folded


def _place(fields: Mapping[str, Any]) -> Any:
    """A place in one line or, if too long, a line for each field."""
    long = sum(len(str(item)) + 2 for pair in fields.items() for item in pair) > _WIDTH - 4
    place = CommentedMap(fields)
    for name, value in fields.items():
        if isinstance(value, list | dict):
            place[name] = CommentedSeq(value) if isinstance(value, list) else CommentedMap(value)
            # Each item of a long list has its own line, so that users can delete it.
            if not (long and isinstance(value, list) and len(str(value)) > _WIDTH // 2):
                place[name].fa.set_flow_style()
    if not long:
        place.fa.set_flow_style()
    return place


def places(wanted: Collection[Case], among: Iterable[Case]) -> list[dict[str, Any]]:
    """Places that fit each of `wanted` once, and no other in `among`: as few as can be read."""
    ids = {case.id for case in wanted}
    by_op: dict[str, dict[str, Case]] = defaultdict(dict)
    for case in (*wanted, *among):
        by_op[case.op.name][case.id] = case
    found = (_of_operator(op, [*there.values()], ids) for op, there in by_op.items())
    return [_spelt(place) for place in chain.from_iterable(found)]


def _spelt(place: _Fields) -> dict[str, Any]:
    spelt: dict[str, Any] = {}
    for name, values in place.items():
        # A list alone would be taken for a list of values.
        items = [[*value] if isinstance(value, tuple) else value for value in values]
        said = items[0] if len(items) == 1 and not isinstance(items[0], list) else items
        if name.startswith(_ATTRIBUTE):
            spelt.setdefault("attrs", {})[name.removeprefix(_ATTRIBUTE)] = said
        else:
            spelt[name] = said
    return spelt


def _of_operator(op: str, there: Sequence[Case], ids: Collection[str]) -> Iterator[_Fields]:
    if not (mine := [case for case in there if case.id in ids]):
        return
    if len(mine) == len(there):
        yield {"op": (op,)}
        return
    names: dict[_Said, list[str]] = defaultdict(list)
    one_by_one: list[str] = []
    for name in dict.fromkeys(case.name for case in mine):
        for said in _said([case for case in there if case.name == name], ids):
            names[said].append(name)
    for said, those in names.items():
        fields = dict(said)
        about = {case.name for case in there if _fits(fields, case)}
        if "case" in fields:
            one_by_one += fields["case"]
        # Rows and attributes without the name are nothing that anybody recognises.
        elif said and {*fields} <= {"opset", "dtype"} and about == {*those}:
            yield {"op": (op,), **fields}
        else:
            yield {"op": (op,), "name": (*those,), **fields}
    if one_by_one:
        yield {"case": (*one_by_one,)}


def _said(there: Sequence[Case], ids: Collection[str]) -> list[_Said]:
    """Return places that select `ids` from all cases `there`, in disjoint parts if needed."""
    mine = [case for case in there if case.id in ids]
    known = []
    for name in (*_FIELDS, *_attributes(there)):
        values = _values(mine, name)
        # A place can name them: row and dtype exist, and none is NaN.
        is_there = name.startswith(_ATTRIBUTE) or None not in values
        if is_there and all(value == value for value in values):
            known.append(name)
    for count in range(len(known) + 1):
        for fields in combinations(known, count):
            said = {field: _values(mine, field) for field in fields}
            if sum(_fits(said, case) for case in there) == len(mine):
                return [tuple(said.items())]
    several = [field for field in known if len(_values(mine, field)) > 1]
    by_id: list[_Said] = [(("case", tuple(case.id for case in mine)),)]
    return min([[*_parted(field, there, ids)] for field in several], key=len, default=by_id)


def _attributes(cases: Sequence[Case]) -> list[str]:
    pairs = [pair for case in cases for pair in case.attrs.items()]
    # Of a tensor nothing short can be said.
    tensors = {name for name, value in pairs if isinstance(value, np.ndarray)}
    names = dict.fromkeys(f"{_ATTRIBUTE}{name}" for name, _ in pairs if name not in tensors)
    # Only some, since all combinations of fields are tried.
    return [name for name in names if len(_values(cases, name)) > 1][:5]


def _parted(field: str, there: Sequence[Case], ids: Collection[str]) -> Iterator[_Said]:
    """Yield places value by value of a field; values with equal places are merged."""
    values: dict[_Said, list[Any]] = defaultdict(list)
    for value in _values((case for case in there if case.id in ids), field):
        for said in _said([case for case in there if _value(case, field) == value], ids):
            values[said].append(value)
    for said, those in values.items():
        fields = dict(said)
        if "case" not in fields:
            fields[field] = (*those,)
        order = sorted(fields, key=lambda name: [*_FIELDS, name].index(name))
        yield tuple((name, fields[name]) for name in order)


def _values(cases: Iterable[Case], field: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(_value(case, field) for case in cases))


def _value(case: Case, field: str) -> Any:
    if field.startswith(_ATTRIBUTE):
        return case.attrs.get(field.removeprefix(_ATTRIBUTE))
    return VALUES[field](case)


def _fits(said: _Fields, case: Case) -> bool:
    return all(_value(case, field) in values for field, values in said.items())
