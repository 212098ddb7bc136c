"""Cases → the places of a ledger: as few as can be read, and about no other case."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, TypeAlias

import numpy as np

from opcheck.known.fields import VALUES
from opcheck.model import Case

#: The fields of a place that distinguish cases of one name, in order; then come attributes.
_FIELDS = ("row", "opset", "dtype")
_ATTRIBUTE = "attrs."
#: The most attributes considered: all combinations of fields are tried.
_MOST = 5
_Fields: TypeAlias = Mapping[str, tuple[Any, ...]]
#: Fields and their values; hashable, so that equal ones of several names become one place.
_Said: TypeAlias = tuple[tuple[str, tuple[Any, ...]], ...]


def places(wanted: Collection[Case], among: Iterable[Case]) -> list[dict[str, Any]]:
    """Places that fit every case of `wanted` once, and none of the others in `among`."""
    ids = {case.id for case in wanted}
    by_op: dict[str, dict[str, Case]] = defaultdict(dict)
    for case in (*wanted, *among):
        by_op[case.op.name][case.id] = case
    found = (_of_operator(op, [*there.values()], ids) for op, there in by_op.items())
    return [_spelt(place) for place in chain.from_iterable(found)]


def _spelt(place: _Fields) -> dict[str, Any]:
    spelt: dict[str, Any] = {}
    for field, values in place.items():
        # A list alone would be taken for a list of values.
        items = [[*value] if isinstance(value, tuple) else value for value in values]
        said = items[0] if len(items) == 1 and not isinstance(items[0], list) else items
        if field.startswith(_ATTRIBUTE):
            spelt.setdefault("attrs", {})[field.removeprefix(_ATTRIBUTE)] = said
        else:
            spelt[field] = said
    return spelt


def _of_operator(op: str, there: Sequence[Case], ids: Collection[str]) -> Iterator[_Fields]:
    mine = [case for case in there if case.id in ids]
    if not mine:
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
    known = [field for field in (*_FIELDS, *_attributes(there)) if _can_be_said(field, mine)]
    for count in range(len(known) + 1):
        for fields in combinations(known, count):
            said = {field: _values(mine, field) for field in fields}
            if sum(_fits(said, case) for case in there) == len(mine):
                return [tuple(said.items())]
    several = [field for field in known if len(_values(mine, field)) > 1]
    parted = [[*_parted(field, mine, there, ids)] for field in several]
    by_id: list[_Said] = [(("case", tuple(case.id for case in mine)),)]
    return min(parted, key=len, default=by_id)


def _attributes(cases: Iterable[Case]) -> list[str]:
    cases = list(cases)
    pairs = [pair for case in cases for pair in case.attrs.items()]
    # Of a tensor nothing short can be said.
    tensors = {name for name, value in pairs if isinstance(value, np.ndarray)}
    names = dict.fromkeys(f"{_ATTRIBUTE}{name}" for name, _ in pairs if name not in tensors)
    return [name for name in names if len(_values(cases, name)) > 1][:_MOST]


def _can_be_said(field: str, cases: Iterable[Case]) -> bool:
    """Return True if a place can name the cases' values: row and dtype exist, and none is NaN."""
    values = _values(cases, field)
    is_number = all(value == value for value in values)
    return is_number and (field.startswith(_ATTRIBUTE) or None not in values)


def _parted(
    field: str, mine: Sequence[Case], there: Sequence[Case], ids: Collection[str]
) -> Iterator[_Said]:
    """Yield places value by value of a field; values with equal places are merged."""
    values: dict[_Said, list[Any]] = defaultdict(list)
    for value in _values(mine, field):
        alike = [case for case in there if _value(case, field) == value]
        for said in _said(alike, ids):
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
