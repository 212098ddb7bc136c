"""A ruling's points on data that a case does not have are left out where the case is reported."""

from dataclasses import replace

import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.model import Case, Comparison, Fill, Given, Mismatch, Put, TensorSpec
from opcheck.report.rulings import concerning
from tests.known.ledgers import case

ORDER = "Any order."
NAN = "A NaN gives NaN."
INTEGERS = "Nothing is said of integers out of range."
EMPTY = "The sum of no elements is 0."
NEGATIVE = "Whether an axis may be negative is open."
RULING = " ".join([ORDER, NAN, INTEGERS, EMPTY, NEGATIVE])


def asked(content: Given | Fill, *, dtype: str = "float32", size: int = 2, **fields) -> Case:
    """A case with one input of this content."""
    attrs = fields.pop("attrs", {})
    spec = TensorSpec("X", DTYPES[dtype], (size,), content, **fields)
    return replace(case("sums"), inputs=(spec,), attrs=attrs)


PLAIN = Given(np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("given", "points"),
    [
        (asked(PLAIN), []),
        (asked(Given(np.array([1.0, np.nan]))), [NAN]),
        (asked(Given(np.array([1.0, -np.inf]))), [NAN, NEGATIVE]),
        (asked(PLAIN, put=(Put((0,), np.inf),)), [NAN, NEGATIVE]),
        (asked(Fill("specials", ())), [NAN, NEGATIVE]),
        (asked(Fill("constant", (np.nan,))), [NAN, NEGATIVE]),
        (asked(Fill("uniform", (0.0, 1.0))), [NEGATIVE]),
        (asked(Given(np.array([1, 2])), dtype="int32"), [INTEGERS]),
        (asked(Given(np.empty(0)), size=0), [EMPTY]),
        (asked(PLAIN, attrs={"axes": ()}), [EMPTY]),
        (asked(PLAIN, attrs={"axis": -1}), [NEGATIVE]),
        (asked(PLAIN, attrs={"axes": (0, -2)}), [NEGATIVE]),
    ],
)
def test_points_on_data_that_a_case_lacks_are_left_out(given: Case, points: list[str]) -> None:
    assert concerning([RULING], given, ()) == (" ".join([ORDER, *points]),)


def test_an_infinite_answer_to_finite_inputs_is_data_too() -> None:
    worst = (Mismatch((0,), np.inf, 1.0, None, "infinity"),)
    overflow = Comparison("Y", "values", dtype=DTYPES["float32"], worst=worst)
    assert concerning([NAN], asked(PLAIN), ()) == ()
    assert concerning([NAN], asked(PLAIN), (overflow,)) == (NAN,)


def test_an_open_case_keeps_all_points() -> None:
    given = replace(asked(PLAIN), rule="open")
    assert concerning([RULING, RULING], given, ()) == (RULING,)


def test_a_sentence_that_goes_on_stays_with_the_one_before() -> None:
    about_nan = "NaN is no maximum. It is left out."
    assert concerning([f"{about_nan} {ORDER}"], asked(PLAIN), ()) == (ORDER,)


def test_rulings_that_are_alike_are_one() -> None:
    assert concerning([ORDER, ORDER], asked(PLAIN), ()) == (ORDER,)
