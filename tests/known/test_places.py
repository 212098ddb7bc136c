"""Cases as places of a ledger: just these cases, and as few places as can be read."""

from itertools import product

import pytest
from hypothesis import given, strategies as st

from opcheck.dtypes import DTYPES
from opcheck.known import Place
from opcheck.known.writing import places
from opcheck.model import OpVersion
from tests.examples import examples
from tests.known.ledgers import case

ROWS = (None, "first", "last")
ALL = [
    case(name, op=op, row=row, opset=opset, dtype=dtype, more=more)
    for op, name, row, opset, dtype, more in product(
        ("Hardmax", "Softmax"),
        ("ties", "axes"),
        ROWS,
        (11, 13),
        ("float16", "float32", None),
        ("", ",inputs.input.shape=2"),
    )
]
SOME = [one for one in ALL if one.row != "last" and one.dtype and one.id.count("=") == 2]


def fitting(found, among):
    """The ids of the cases that each place fits."""
    return [{c.id for c in among if Place.model_validate(place).fits(c)} for place in found]


@examples(200)
@given(st.sets(st.sampled_from(ALL)), st.sets(st.sampled_from(ALL)))
def test_places_fit_every_case_once_and_no_other(wanted, others):
    among = [one for one in ALL if one in wanted | others]
    found = fitting(places([one for one in ALL if one in wanted], among), among)
    assert sorted(id for ids in found for id in ids) == sorted(one.id for one in wanted)


ATTRS = [
    {},
    {"axis": 0},
    {"axis": 1},
    {"axis": 1, "pads": (1, 1)},
    {"axis": 1, "pads": (2,), "mode": "SAME"},
    {"axis": 0, "alpha": 0.1},
    {"axis": 0, "alpha": float("nan")},
]
WITH_ATTRS = [
    case("ties", opset=opset, attrs=attrs, more=f",attrs={number}")
    for number, attrs in enumerate(ATTRS)
    for opset in (11, 13)
]


@examples(200)
@given(st.sets(st.sampled_from(WITH_ATTRS)))
def test_attributes_tell_cases_apart_too(wanted):
    found = fitting(places([one for one in WITH_ATTRS if one in wanted], WITH_ATTRS), WITH_ATTRS)
    assert sorted(id for ids in found for id in ids) == sorted(one.id for one in wanted)


def test_five_attributes_are_considered_and_no_more():
    def found(count):
        """Of three cases the first, which needs the first and the last of its attributes."""
        values = [0] * count, [0] * (count - 1) + [1], [1] * (count - 1) + [0]
        named = (dict(zip("abcdef", some, strict=False)) for some in values)
        among = [case("ties", attrs=some, more=f",n={n}") for n, some in enumerate(named)]
        return places(among[:1], among), among[0].id

    assert found(5)[0] == [{"op": "Hardmax", "name": "ties", "attrs": {"a": 0, "e": 0}}]
    by_id, id = found(6)
    assert by_id == [{"case": id}]


def test_an_attribute_s_values_are_listed_null_and_lists_among_them():
    name = {"op": "Hardmax", "name": "ties"}
    among = [*WITH_ATTRS[:8], case("another")]
    assert places(among[2:6], among) == [{**name, "attrs": {"axis": [0, 1], "pads": None}}]
    assert places(among[:2], among) == [{**name, "attrs": {"axis": None}}]
    assert places(among[6:8], among) == [{**name, "attrs": {"pads": [[1, 1]]}}]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({}, {}),
        ({"name": "ties"}, {"name": "ties"}),
        # What is said of all names needs none.
        ({"dtype": DTYPES["float16"]}, {"dtype": "float16"}),
    ],
)
def test_all_cases_that_share_fields_are_these(fields, place):
    shared = {"op": OpVersion("", "Hardmax", 13), **fields}.items()
    wanted = [one for one in SOME if all(getattr(one, name) == value for name, value in shared)]
    assert places(wanted, SOME) == [{"op": "Hardmax", **place}]


def test_what_is_said_of_several_names_is_said_once():
    among = [*SOME, *(case("zeros", opset=opset) for opset in (11, 13))]
    wanted = [c for c in among if c.op.name == "Hardmax" and c.name != "zeros" and c.opset == 11]
    assert places(wanted, among) == [{"op": "Hardmax", "name": ["ties", "axes"], "opset": 11}]


def test_what_no_fields_select_at_once_is_told_value_by_value():
    op = {"op": "Hardmax"}
    among = [case("ties", opset=n, dtype=d) for n in (11, 13) for d in ("float16", "float32")]
    wanted = [{**op, "opset": 11, "dtype": "float16"}, {**op, "opset": 13, "dtype": "float32"}]
    assert places([among[0], among[3]], among) == wanted
    assert [[*place] for place in places([among[0], among[3]], among)] == [[*wanted[0]]] * 2


def test_a_row_is_told_with_its_name():
    among = [case("axes", row=row) for row in ("first", "last")]
    found = places(among[:1], [*among, case("ties")])
    assert found == [{"op": "Hardmax", "name": "axes", "row": "first"}]


def test_cases_that_no_field_tells_apart_are_named_by_their_ids():
    among = [case("ties", more=f",inputs.input.shape={n}") for n in (1, 2, 3)]
    assert places(among[:2], among) == [{"case": [among[0].id, among[1].id]}]
