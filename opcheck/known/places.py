"""Cases → the places of a ledger: as few as can be read, and about no other case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from opcheck.known.fields import value_of
from opcheck.model import Case

#: What a place may say of cases of one name, and in which order.
_FIELDS = ("row", "opset", "dtype")
#: Fields and their values; hashable, so that equal ones of several names become one place.
_Said: TypeAlias = tuple[tuple[str, tuple[Any, ...]], ...]


def places(wanted: Collection[Case], among: Iterable[Case]) -> list[dict[str, Any]]:
    """Places that fit every case of `wanted` once, and none of the others in `among`.

    A value alone stands for the list of it.
    """
    ids = {case.id for case in wanted}
    by_op: dict[str, dict[str, Case]] = defaultdict(dict)
    for case in (*wanted, *among):
        by_op[case.op.name][case.id] = case
    return [
        {field: values[0] if len(values) == 1 else [*values] for field, values in place.items()}
        for op, there in by_op.items()
        for place in _of_operator(op, [*there.values()], ids)
    ]


def _of_operator(
    op: str, there: Sequence[Case], ids: Collection[str]
) -> Iterator[Mapping[str, tuple[Any, ...]]]:
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
        # A row without its name is nothing that anybody recognises.
        elif said and "row" not in fields and about == {*those}:
            yield {"op": (op,), **fields}
        else:
            yield {"op": (op,), "name": (*those,), **fields}
    if one_by_one:
        yield {"case": (*one_by_one,)}


def _said(there: Sequence[Case], ids: Collection[str]) -> list[_Said]:
    """What tells those of `ids` from all others `there`, which have the same name.

    Several, which share no case, where one product of values cannot.
    """
    mine = [case for case in there if case.id in ids]
    for count in range(len(_FIELDS) + 1):
        for fields in combinations(_FIELDS, count):
            said = {field: _values(mine, field) for field in fields}
            if None in {value for values in said.values() for value in values}:
                continue
            if sum(_fits(said, case) for case in there) == len(mine):
                return [tuple(said.items())]
    parted = [[*_parted(field, mine, there, ids)] for field in _FIELDS if _parts(field, mine)]
    if parted:
        return min(parted, key=len)
    return [(("case", tuple(case.id for case in mine)),)]


def _parts(field: str, mine: Iterable[Case]) -> bool:
    """Whether cases can be parted by the values of a field."""
    values = _values(mine, field)
    return len(values) > 1 and None not in values


def _parted(
    field: str, mine: Sequence[Case], there: Sequence[Case], ids: Collection[str]
) -> Iterator[_Said]:
    """The same, value by value of a field; values of which the same is to be said, together."""
    values: dict[_Said, list[Any]] = defaultdict(list)
    for value in _values(mine, field):
        alike = [case for case in there if value_of(case, field) == value]
        for said in _said(alike, ids):
            values[said].append(value)
    for said, those in values.items():
        fields = dict(said)
        if "case" not in fields:
            fields[field] = (*those,)
        yield tuple((name, fields[name]) for name in ("case", *_FIELDS) if name in fields)


def _values(cases: Iterable[Case], field: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(value_of(case, field) for case in cases))


def _fits(said: Mapping[str, tuple[Any, ...]], case: Case) -> bool:
    return all(value_of(case, field) in values for field, values in said.items())
