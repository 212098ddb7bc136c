"""Softmax with the wrong number taken away from each row."""

from __future__ import annotations

import numpy as np

from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.softmax.steps import (
    WIDTHS,
    Matrix,
    Steps,
    maximum,
    total,
    whole_vectors,
    wide,
)


def _maximum_of_whole_vectors(width: int) -> Steps:
    return Steps(shift=lambda x: maximum(whole_vectors(x, width)))


def _maximum_of_one_lane(width: int) -> Steps:
    return Steps(shift=lambda x: maximum(x[:, ::width]))


def _maximum_of_the_bits(x: Matrix) -> Matrix:
    """Numbers compared as integers: those below 0 come in the wrong order."""
    largest = x.view(f"i{x.dtype.itemsize}").argmax(axis=1)
    return np.take_along_axis(x, largest[:, np.newaxis], axis=1)


def _starting_at(start: float) -> Steps:
    """The running maximum starts at `start`."""
    return Steps(shift=lambda x: np.maximum(maximum(x), x.dtype.type(start)))


def _not_rescaled(steps: Steps, x: Matrix) -> Matrix:
    """Each exponential stays as it was added, below the maximum so far."""
    return np.exp(x - maximum(x)) / total(np.exp(x - np.maximum.accumulate(x, axis=1)))


def _equal_maxima_once(steps: Steps, x: Matrix) -> Matrix:
    """Elements above the maximum so far are added, and those below it."""
    so_far = np.maximum.accumulate(x, axis=1)[:, :-1]
    e = np.exp(x - maximum(x))
    added = e.copy()
    added[:, 1:][x[:, 1:] == so_far] = 0
    return e / total(added)


def _minus_infinity_less_itself(steps: Steps, x: Matrix) -> Matrix:
    """-inf below a maximum so far of -inf."""
    top, so_far = maximum(x), np.maximum.accumulate(x, axis=1)
    return np.exp(x - top) / total(np.exp(x - so_far) * np.exp(so_far - top))


def _first_block_masked(width: int) -> Steps:
    """-inf below the maximum of the first block of a longer row."""

    def shares(steps: Steps, x: Matrix) -> Matrix:
        y = steps.normalised(x)
        masked = np.isneginf(x[:, :width]).all(axis=1) & (x.shape[1] > width)
        y[masked] = np.nan
        return y

    return Steps(shares=shares)


#: Mistakes about what is taken away from a row.
SHIFTS: tuple[Mistake, ...] = (
    Mistake(
        "maximum_starts_at_the_lowest_float32",
        "the running maximum started at the lowest finite float32",
        _starting_at(float(np.finfo(np.float32).min)),
        dict.fromkeys(
            ("bfloat16", "float16", "float32"),
            "of its numbers only -inf is less, and a row of it is NaN either way",
        ),
    ),
    Mistake(
        "maximum_of_1024_elements",
        "the maximum was searched among the first 1024 elements of each row",
        Steps(shift=lambda x: maximum(x[:, :1024])),
    ),
    Mistake(
        "maximum_starts_at_minus_1e9",
        "the running maximum started at -1e9",
        _starting_at(-1e9),
        {"float16": "of all float16 only -inf is less, and a row of it is NaN either way"},
    ),
    *(
        Mistake(
            f"maximum_of_whole_vectors_of_{width}",
            f"the maximum left out what remains after the last whole vector of {width}",
            _maximum_of_whole_vectors(width),
        )
        for width in WIDTHS
    ),
    Mistake(
        "maximum_starts_at_minus_1e4",
        "the running maximum started at -1e4",
        _starting_at(-1e4),
    ),
    Mistake(
        "minus_infinity_less_minus_infinity",
        "-inf was subtracted from -inf at the start of a row",
        Steps(shares=_minus_infinity_less_itself),
    ),
    *(
        Mistake(
            f"first_block_of_{width}_masked_is_nan",
            f"-inf was subtracted from -inf where the first {width} elements of a row are all -inf",
            _first_block_masked(width),
        )
        for width in (8, 16, 32, 64, 128)
    ),
    Mistake(
        "maximum_of_the_bits",
        "the maximum was found by comparing the bits as integers",
        Steps(shift=_maximum_of_the_bits),
    ),
    Mistake(
        "maximum_starts_at_0",
        "the running maximum started at 0, or at the smallest positive number",
        _starting_at(0.0),
    ),
    Mistake(
        "shift_by_the_first_half",
        "the maximum of the second half of each row was lost",
        Steps(shift=lambda x: maximum(x[:, : x.shape[1] // 2 + 1])),
    ),
    Mistake(
        "shift_by_the_maximum_before",
        "the running maximum was not reset between rows",
        Steps(shift=lambda x: np.maximum.accumulate(maximum(x), axis=0)),
    ),
    Mistake(
        "shift_by_the_whole_maximum",
        "the maximum of the whole tensor was subtracted, not that of each row",
        Steps(shift=lambda x: np.full_like(x[:, :1], x.max())),
    ),
    *(
        Mistake(
            f"maximum_of_one_lane_of_{width}",
            f"the maximum of one lane of {width} was taken for that of the row",
            _maximum_of_one_lane(width),
        )
        for width in WIDTHS
    ),
    Mistake(
        "clamped_not_shifted",
        "the elements were clamped to [-88, 88], where e^x fits float32, and nothing subtracted",
        Steps(
            wide=lambda x: np.where(np.isinf(x), wide(x), np.clip(wide(x), -88, 88)),
            shift=lambda x: np.zeros_like(x[:, :1]),
        ),
    ),
    Mistake(
        "no_shift",
        "e^x was taken without subtracting the maximum",
        Steps(shift=lambda x: np.zeros_like(x[:, :1])),
    ),
    Mistake(
        "shift_by_the_first_element",
        "the first element of each row was subtracted, not the maximum",
        Steps(shift=lambda x: x[:, :1]),
    ),
    Mistake(
        "shift_by_the_last_element",
        "the last element of each row was subtracted, not the maximum",
        Steps(shift=lambda x: x[:, -1:]),
    ),
    Mistake(
        "shift_by_the_magnitude",
        "the largest magnitude of each row was subtracted, not the maximum",
        Steps(shift=lambda x: np.abs(x).max(axis=1, keepdims=True)),
    ),
    Mistake(
        "shift_by_the_mean",
        "the mean of each row was subtracted, not the maximum",
        Steps(shift=lambda x: x.mean(axis=1, keepdims=True, dtype=x.dtype)),
    ),
    Mistake(
        "shift_by_the_minimum",
        "the minimum of each row was subtracted, not the maximum",
        Steps(shift=lambda x: x.min(axis=1, keepdims=True)),
    ),
    Mistake(
        "equal_maxima_counted_once",
        "an element equal to the running maximum was left out of the sum",
        Steps(shares=_equal_maxima_once),
    ),
    Mistake(
        "new_maximum_does_not_rescale",
        "the running sum was not rescaled at a new maximum",
        Steps(shares=_not_rescaled),
    ),
    Mistake(
        "shift_across_the_rows",
        "the maximum was taken across the rows, not along them",
        Steps(shift=lambda x: x.max(axis=0, keepdims=True)),
    ),
)
