"""Rewrite a user's ledger; the rest keeps its words, comments and order."""

import io
import re
import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, combinations
from operator import itemgetter
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
_Stated: TypeAlias = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Revision:
    """Changes to a ledger: entries to append, and the places, if any, that replace another."""

    added: Sequence[Mapping[str, Any]] = ()
    replaced: Mapping[tuple[int, int], Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.replaced)


def new_ledger(backend: str) -> str:
    """Return the text of a ledger without entries for a backend's address or profile."""
    (line,) = _dumped([backend if backend.isprintable() else DoubleQuotedScalarString(backend)])
    return _NEW.format(backend=line.removeprefix("- "))


def revised(text: str, node: FileNode, file: str, revision: Revision) -> str:
    """Return the revised text of a ledger, read as `node`.

    Replaced are places by the numbers of entry and place, with nothing if there are no others; an
    entry without places is dropped. `file` is its name in messages. All other lines stay as they
    are.

    Raises UsageError for entries in brackets.
    """
    sheet = _Sheet(text.splitlines())
    entries = _items(node, "known")
    if not all(map(sheet.is_item, entries)):
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
        """Return the first line of an item, that after its last, and its dash's column, all from 0.

        Raises ValueError for a line without a dash.
        """
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
        """Replace a span, as `span` gives it, by lines that begin in the first column.

        They get the indentation of the span's dash. The text changes only in `text`.
        """
        begin, end, dash = span
        self.edits.append((begin, end, [" " * dash + line for line in lines]))

    def rewritten(self, mark: Mark, replaced: dict[int, Sequence[Mapping[str, Any]]]) -> list[str]:
        """Return the lines of an entry whose places stand in brackets, with some of them replaced.

        `replaced` has the new places by the number of the old one.
        """
        begin, end, dash = self.span(mark)
        (entry,) = _round_trip().load("\n".join(line[dash:] for line in self.lines[begin:end]))
        where = entry["where"]
        for place in sorted(replaced, reverse=True):
            where[place : place + 1] = [*map(_place, replaced[place])]
        entry["where"] = [*where]
        return _dumped([entry])

    def mend(self, key: Mark, *, empty: bool) -> None:
        """Write the list of entries as empty, or no longer so; `key` is where its name stands."""
        head, colon, value = self.lines[key.line - 1].partition(":")
        value = re.sub(r"^\s*(\[\s*\]|~|null)", "", value, flags=re.IGNORECASE)
        brackets = " []" if empty else ""
        self.edits.append((key.line - 1, key.line, [f"{head}{colon}{brackets}{value}"]))

    def text(self) -> str:
        """Return the text with all edits, and a line break at its end."""
        lines = [*self.lines]
        # From the last on, so that the numbers of earlier lines stay.
        for begin, end, new in sorted(self.edits, key=itemgetter(0), reverse=True):
            lines[begin:end] = new
        return "\n".join(lines) + "\n"


def _items(node: FileNode, *path: str | int) -> list[Mark]:
    """Return where the items of a list begin; empty for an empty list, or if there is none."""
    found = node.get(*path)
    return [item.mark for item in found.items] if found else []


def _round_trip() -> YAML:
    """Return a YAML reader and writer that keeps comments, quotes, order and long lines."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1 << 20  # no line of the user's own is broken anew
    return yaml


def _dumped(items: Sequence[Any]) -> list[str]:
    """Return the lines of a YAML list of these items; none for no item."""
    file = io.StringIO()
    _round_trip().dump([*items], file)
    return file.getvalue().splitlines() if items else []


def _entry(new: Mapping[str, Any]) -> Any:
    """Return an entry as it is written: its cause folded, its places short, no empty fields.

    Raises KeyError if `cause` or `where` is missing.
    """
    made = {"cause": _folded(new["cause"]), "where": [*map(_place, new["where"])]}
    return CommentedMap({name: made.get(name, value) for name, value in new.items() if value})


def _folded(text: str) -> Any:
    """Return a text that is broken into lines where it is too long for one; itself if it is not.

    So too for one with several blanks in a row, which folding would lose.
    """
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    if len(lines) < 2 or " ".join(lines) != text:
        return text
    folded = FoldedScalarString(text)
    folded.fold_pos = [end - 1 for end in accumulate(len(line) + 1 for line in lines[:-1])]
    return folded


def _place(fields: Mapping[str, Any]) -> Any:
    """Return a place in one line or, if too long, a line for each field.

    A long list has a line for each item, too.
    """
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
    """Return places that fit each of `wanted` once, and no other in `among`: as few as can be read.

    Each is a mapping of fields as a ledger spells them. Operators keep the order of their first
    case.
    """
    ids = {case.id for case in wanted}
    by_op: dict[str, dict[str, Case]] = defaultdict(dict)
    for case in (*wanted, *among):
        by_op[case.op.name][case.id] = case
    found = (_of_operator(op, [*there.values()], ids) for op, there in by_op.items())
    return [_spelt(place) for place in chain.from_iterable(found)]


def _spelt(place: _Fields) -> dict[str, Any]:
    """Return a place as a ledger spells it: a single value alone, attributes in a mapping.

    A single value that is a list stays in one, or it would be taken for several.
    """
    spelt: dict[str, Any] = {}
    for name, values in place.items():
        # A list alone would be taken for a list of values.
        items = [[*value] if isinstance(value, tuple) else value for value in values]
        stated = items[0] if len(items) == 1 and not isinstance(items[0], list) else items
        if name.startswith(_ATTRIBUTE):
            spelt.setdefault("attrs", {})[name.removeprefix(_ATTRIBUTE)] = stated
        else:
            spelt[name] = stated
    return spelt


def _of_operator(op: str, there: Sequence[Case], ids: Collection[str]) -> Iterator[_Fields]:
    """Yield places that select `ids` from all cases of an operator, which are `there`."""
    mine = [case for case in there if case.id in ids]
    if not mine:
        return
    if len(mine) == len(there):
        yield {"op": (op,)}
        return
    names_by_fields: dict[_Stated, list[str]] = defaultdict(list)
    one_by_one: list[str] = []
    for name in dict.fromkeys(case.name for case in mine):
        for stated in _stated([case for case in there if case.name == name], ids):
            names_by_fields[stated].append(name)
    for stated, names in names_by_fields.items():
        fields = dict(stated)
        about = {case.name for case in there if _fits(fields, case)}
        if "case" in fields:
            one_by_one += fields["case"]
        # A reader does not recognize rows and attributes without the name.
        elif stated and {*fields} <= {"opset", "dtype"} and about == {*names}:
            yield {"op": (op,), **fields}
        else:
            yield {"op": (op,), "name": (*names,), **fields}
    if one_by_one:
        yield {"case": (*one_by_one,)}


def _stated(there: Sequence[Case], ids: Collection[str]) -> list[_Stated]:
    """Return places that select `ids` from all cases `there`, in disjoint parts if needed.

    The fewest fields that do it, by name and values; where none do, a place for each value of a
    field, or else the cases' ids. There is at least one such case.
    """
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
            stated = {field: _values(mine, field) for field in fields}
            if sum(_fits(stated, case) for case in there) == len(mine):
                return [tuple(stated.items())]
    several = [field for field in known if len(_values(mine, field)) > 1]
    by_id: list[_Stated] = [(("case", tuple(case.id for case in mine)),)]
    return min([[*_parted(field, there, ids)] for field in several], key=len, default=by_id)


def _attributes(cases: Sequence[Case]) -> list[str]:
    """Return the names of up to five attributes, no tensors, in which these cases differ.

    Each has the prefix "attrs.".
    """
    pairs = [pair for case in cases for pair in case.attrs.items()]
    # A tensor has no short spelling.
    tensors = {name for name, value in pairs if isinstance(value, np.ndarray)}
    names = dict.fromkeys(f"{_ATTRIBUTE}{name}" for name, _ in pairs if name not in tensors)
    # Only some, since all combinations of fields are tried.
    return [name for name in names if len(_values(cases, name)) > 1][:5]


def _parted(field: str, there: Sequence[Case], ids: Collection[str]) -> Iterator[_Stated]:
    """Yield places value by value of a field; values with equal places are merged.

    Each has its fields in the order of a ledger.
    """
    values_by_fields: dict[_Stated, list[Any]] = defaultdict(list)
    for value in _values((case for case in there if case.id in ids), field):
        for stated in _stated([case for case in there if _value(case, field) == value], ids):
            values_by_fields[stated].append(value)
    for stated, values in values_by_fields.items():
        fields = dict(stated)
        if "case" not in fields:
            fields[field] = (*values,)
        yield tuple((name, fields[name]) for name in sorted(fields, key=_order))


def _order(field: str) -> int:
    """Return the place of a field among `_FIELDS`; attributes come after all of them."""
    return [*_FIELDS, field].index(field)


def _values(cases: Iterable[Case], field: str) -> tuple[Any, ...]:
    """Return the different values of a field that cases have, in the order of their first."""
    return tuple(dict.fromkeys(_value(case, field) for case in cases))


def _value(case: Case, field: str) -> Any:
    """Return the value of a field or, with the prefix "attrs.", of an attribute; None without.

    Raises KeyError for an unknown field.
    """
    if field.startswith(_ATTRIBUTE):
        return case.attrs.get(field.removeprefix(_ATTRIBUTE))
    return VALUES[field](case)


def _fits(fields: _Fields, case: Case) -> bool:
    """Return True if a case has one of the values of each field."""
    return all(_value(case, field) in values for field, values in fields.items())
