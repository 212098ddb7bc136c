"""Elements that no text defines: they are left out, and the others are judged."""

import numpy as np
import pytest

from opcheck.compare import Want, compare
from opcheck.dtypes import DTYPES
from opcheck.engine.operators import judging
from opcheck.engine.undefined import (
    PartlyDefined,
    marking,
    taken_apart,
    undefined_where,
)
from opcheck.errors import NotSupported

Y = np.int32([1, 2, 3])
MASK = np.array([False, True, False])


def test_a_backend_gives_the_output_as_it_is() -> None:
    with marking(allowed=False):
        assert undefined_where(Y, MASK, "this") is Y


def test_an_output_without_such_elements_is_not_marked() -> None:
    with judging(), marking(allowed=True):
        assert undefined_where(Y, ~MASK & MASK, "this") is Y


def test_an_evaluation_with_bounds_gets_a_mask_in_the_shape_of_the_output() -> None:
    with marking(allowed=True):
        marked = undefined_where(Y, True, "this")
    assert isinstance(marked, PartlyDefined)
    assert marked.undefined.tolist() == [True, True, True]


def test_what_others_compute_with_cannot_be_marked() -> None:
    with judging(), pytest.raises(NotSupported):
        undefined_where(Y, MASK, "this")


def test_masks_are_collected_by_place() -> None:
    found: dict[int, np.ndarray] = {}
    first, second = taken_apart([Y, PartlyDefined(Y, MASK, "this")], found)
    assert first is Y
    assert second is Y
    assert {place: mask.tolist() for place, mask in found.items()} == {1: MASK.tolist()}


def test_where_nothing_is_defined_nothing_is_judged() -> None:
    everywhere = np.ones(3, bool)
    with judging(), pytest.raises(NotSupported):
        taken_apart([PartlyDefined(Y, everywhere, "this")], {})


@pytest.mark.parametrize(
    ("got", "problem", "wrong"),
    [([1, -7, 3], None, 0), ([1, 2, 3], None, 0), ([1, -7, 4], "values", 1)],
)
def test_an_undefined_element_is_unjudged_whatever_it_is(got, problem, wrong) -> None:
    want = Want("Y", DTYPES["int32"], Y, undefined=MASK)
    judged = compare(want, np.int32(got))
    assert (judged.problem, judged.wrong, judged.unjudged, judged.total) == (problem, wrong, 1, 3)


def test_undefined_texts_are_unjudged_too() -> None:
    want = Want("Y", DTYPES["string"], np.array(["a", "b", "c"], object), undefined=MASK)
    assert compare(want, np.array(["a", "?", "c"], object)).problem is None
    assert compare(want, np.array(["?", "b", "c"], object)).wrong == 1
