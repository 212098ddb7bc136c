import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from opcheck.compare.outputs import describe
from tests.wording import Wording

SHAPE = (3, 5, 8)


def mask_of(*places: Any, shape: tuple[int, ...] = SHAPE) -> Any:
    mask = np.zeros(shape, bool)
    for place in places:
        mask[place] = True
    return mask


def rows(*indices: tuple[int, int]) -> Any:
    return mask_of(*[(i, j, slice(None)) for i, j in indices])


@pytest.mark.parametrize(
    "mask",
    [
        mask_of(),
        mask_of(...),
        np.ones((), bool),
        np.zeros((), bool),
        np.ones((0, 3), bool),
        mask_of((1, 2, 3)),
        mask_of(4, shape=(6,)),
        mask_of(np.s_[:, 2]),
        mask_of(np.s_[:, :, 7]),
        mask_of(np.s_[:, :, 4:]),
        mask_of(np.s_[:, :3]),
        mask_of(np.s_[:, :, 2:5]),
        mask_of(np.s_[:, :, 1::2]),
        mask_of(np.s_[:, :, [0, 3, 4]]),
        mask_of(np.s_[0, :, 6:]),
        ~mask_of((1, 2, 3)),
        mask_of(np.s_[2:], np.s_[:, 4:]),
        mask_of(np.s_[1, 3:], np.s_[2:]),
        np.eye(4, dtype=bool),
        rows((0, 1), (2, 3)),
        rows((0, 0), (0, 3), (1, 2), (2, 1), (2, 4)),
        mask_of((0, 0, 1), (1, 4, 1), (2, 2, 1)),
        mask_of([2, 3, 5, 11], shape=(20,)),
        mask_of([2, 3, 5, 6, 11], shape=(20,)),
        mask_of([0, 3, 5, 6, 8, 19], shape=(20,)),
    ],
)
def test_the_place_is_said_in_words(mask: Any, wording: Wording) -> None:
    assert describe(mask) == wording


def condition(text: str, shape: tuple[int, ...]) -> Any:
    """The mask that "axis 0 is 2 and axis 1 >= 3" describes, read back from the words."""
    mask = np.ones(shape, bool)
    flat = np.arange(mask.size).reshape(shape)
    grid = np.indices(shape)
    for term in text.split(" and "):
        subject, rest = re.fullmatch(r"(axis \d+|flat index) (.+)", term).groups()  # type: ignore[union-attr]  # a text of another form fails the test
        index = flat if subject == "flat index" else grid[int(subject.split()[1])]
        size = mask.size if subject == "flat index" else shape[int(subject.split()[1])]
        numbers = [int(number) for number in re.findall(r"\d+", rest)]
        match re.sub(r"\d+", "#", rest):
            case ">= #":
                mask &= index >= numbers[0]
            case "< #":
                mask &= index < numbers[0]
            case "is # to #":
                mask &= (index >= numbers[0]) & (index <= numbers[1])
            case "% # = #":
                mask &= index % numbers[0] == numbers[1]
            case "is # (the last)":
                assert numbers[0] == size - 1
                mask &= index == numbers[0]
            case "is #" | "is # or #" | "is #, # or #" | "is #, #, # or #":
                mask &= np.isin(index, numbers)
            case other:
                raise AssertionError(f"no known claim: {other!r} in {text!r}")
    return mask


def assert_true_of(text: str, wrong: Any) -> None:
    exact = {
        "exactly where ": lambda rest: condition(rest, wrong.shape),
        "everywhere but where ": lambda rest: ~condition(rest, wrong.shape),
        "only at ": lambda rest: mask_of(
            tuple(map(int, re.findall(r"\d+", rest))), shape=wrong.shape
        ),
    }
    for prefix, claimed in exact.items():
        if text.startswith(prefix):
            np.testing.assert_array_equal(claimed(text.removeprefix(prefix)), wrong)
            return
    if text in ("", "everywhere"):
        assert wrong.any() == wrong.all() == (text == "everywhere")
        return
    if lines := re.match(r"whole lines along ax[ie]s ([\d, ]+), ", text):
        for axis in map(int, lines[1].split(", ")):
            np.testing.assert_array_equal(wrong.any(axis), wrong.all(axis))
        text = text[lines.end() :]
    if text.startswith("only where "):
        claim = condition(text.removeprefix("only where "), wrong.shape)
        assert not (wrong & ~claim).any()
        assert_tight(claim, wrong, text)
    elif text == "scattered":
        assert_box(tuple(slice(0, size) for size in wrong.shape), wrong)
    else:
        (inside,) = re.fullmatch(r"scattered in \[(.+)\]", text).groups()  # type: ignore[union-attr]  # a text of another form fails the test
        box = []
        for part, size in zip(inside.split(", "), wrong.shape, strict=True):
            ends = [int(end) for end in re.findall(r"\d+", part)] or [0, size]
            box.append(slice(ends[0], ends[-1] + (len(ends) == 1)))
        assert_box(tuple(box), wrong)


def assert_tight(claim: Any, wrong: Any, text: str) -> None:
    """No index of an axis that is named is claimed without a wrong element."""
    for axis in {int(axis) for axis in re.findall(r"axis (\d+)", text)}:
        others = tuple(other for other in range(wrong.ndim) if other != axis)
        np.testing.assert_array_equal(claim.any(others), wrong.any(others))


def assert_box(box: tuple[slice, ...], wrong: Any) -> None:
    """Everything is in the box, and every face of it has a wrong element."""
    assert wrong[box].sum() == wrong.sum()
    for axis in range(wrong.ndim):
        assert np.take(wrong[box], 0, axis).any()
        assert np.take(wrong[box], -1, axis).any()


@given(arrays(bool, array_shapes(max_dims=4, max_side=7)))
def test_every_sentence_is_true(wrong: Any) -> None:
    assert_true_of(describe(wrong), wrong)


@st.composite
def regular_masks(draw: st.DrawFn) -> Any:
    """Unions and complements of strided boxes, and runs in memory: what kernels get wrong."""
    shape = draw(array_shapes(max_dims=4, max_side=9))
    wrong = np.zeros(shape, bool)
    for _ in range(draw(st.integers(1, 2))):
        box = []
        for size in shape:
            start = draw(st.integers(0, size - 1))
            stop = draw(st.integers(start + 1, size))
            box.append(draw(st.sampled_from([slice(None), slice(start, stop)])))
            box[-1] = slice(box[-1].start, box[-1].stop, draw(st.integers(1, 3)))
        wrong[tuple(box)] = True
    if draw(st.booleans()):
        wrong.reshape(-1)[draw(st.integers(0, wrong.size - 1)) :] = True
    return ~wrong if draw(st.booleans()) else wrong


@given(regular_masks())
def test_every_sentence_about_a_regular_mask_is_true(wrong: Any) -> None:
    assert_true_of(describe(wrong), wrong)


@given(regular_masks())
def test_memory_layout_does_not_matter(wrong: Any) -> None:
    assert describe(np.asfortranarray(wrong)) == describe(wrong)
    assert describe(wrong[::-1].copy()[::-1]) == describe(wrong)


@given(array_shapes(min_dims=2, max_dims=4, min_side=3, max_side=9), st.data())
def test_a_slab_is_always_named_exactly(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    index = data.draw(st.integers(0, shape[axis] - 2))
    wrong = np.zeros(shape, bool)
    np.moveaxis(wrong, axis, 0)[index] = True
    text = describe(wrong)
    assert text.startswith("exactly where ")
    assert_true_of(text, wrong)
    assert re.findall(r"\d+", text) == [str(axis), str(index)]
