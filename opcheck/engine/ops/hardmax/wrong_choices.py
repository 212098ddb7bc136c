"""Wrong choices of the element that has the one, by name and in words.

The plain ones come before those that are made in some rows alone: an answer that is right is
evidence against the former, while the latter can always be narrowed further.
"""

from __future__ import annotations

import sys
from typing import TypeAlias

import ml_dtypes
import numpy as np

from opcheck.engine.ops.hardmax import choices, row_choices
from opcheck.engine.ops.hardmax.choices import Choice

Table: TypeAlias = tuple[tuple[str, str, Choice], ...]

#: How many elements a vector register, a warp or a block of threads holds.
WIDTHS = (256, 128, 64, 32, 16, 8, 4, 2)
#: A few of them that rows of usual lengths tell apart.
TAILS = (128, 32, 16, 8, 4, 2)
#: Rows that have a kernel of their own, by name and in words: a warp's, a block's, and the one
#: that goes through a row several times.
KERNELS = (
    ("up_to_32", "up to 32", 1, 32),
    ("33_to_1024", "33 to 1,024", 33, 1024),
    ("more_than_1024", "more than 1,024", 1025, sys.maxsize),
)
#: How many rows a grid may have: the threads of a block, and the blocks along y.
GRIDS = (1024, 65535)
#: Where a running maximum may start, by name.
STARTS = {
    "minus_infinity": -np.inf,
    "the_lowest_float32": float(np.finfo(np.float32).min),
    "the_lowest_float16": -65504.0,
    "minus_1000": -1e3,
    "minus_1": -1.0,
    "0": 0.0,
}

_NAN: Table = (
    ("nan_skipped", "NaN was skipped", choices.skipping_nan),
    (
        "nan_leaves_its_row_empty",
        "a row with NaN stayed empty, as no element equals its maximum",
        choices.none_beside_nan,
    ),
    ("last_nan", "the last NaN of a row won", choices.last_nan),
    (
        "starts_anew_behind_nan",
        "the maximum started anew behind each NaN, which no number is less than or equal to",
        choices.behind_nan,
    ),
    (
        "nan_leaves_all_rows_empty",
        "a NaN in one row left every row without a one",
        choices.none_beside_nan_anywhere,
    ),
)

_STARTS: Table = (
    *(
        (
            f"starts_at_{name}",
            f"the maximum started at {start:g}, so that a row with nothing above stayed empty",
            choices.from_start(start),
        )
        for name, start in STARTS.items()
    ),
    (
        "starts_at_0_and_index_0",
        "the maximum started at 0 with index 0, so that the first element of a negative row won",
        choices.from_start_at_0(0.0),
    ),
    (
        "starts_at_the_lowest_float32_and_index_0",
        "the maximum started at -3.40282e+38 with index 0, so that the first element won where all "
        "are lower",
        choices.from_start_at_0(STARTS["the_lowest_float32"]),
    ),
)

_TIES: Table = (
    ("last_of_ties", "the last of equal maxima won", choices.last_of_ties),
    ("all_maxima", "every maximum of a row had a one", choices.maxima),
    ("no_one_if_tied", "a row with several maxima stayed empty", choices.no_one_if_tied),
    (
        "nearly_equal",
        "what numpy.isclose takes for the maximum was one, and the first of them won",
        choices.nearly_equal,
    ),
    *(
        (
            f"last_of_ties_of_{name}",
            f"in rows of {words} elements the last of equal maxima won",
            choices.last_in_rows_of(least, most),
        )
        for name, words, least, most in KERNELS
    ),
    *(
        (
            f"last_of_ties_{distance}_apart",
            f"of equal maxima {distance} or more elements apart the last won",
            choices.last_if_far(distance),
        )
        for distance in WIDTHS[:-1]
    ),
    *(
        (
            f"later_block_of_{width}",
            f"blocks of {width} elements had their first maximum each, of which the last won",
            choices.later_block(width),
        )
        for width in (1024, *WIDTHS[:-1])
    ),
    (
        "later_half",
        "both halves of a row had their first maximum, of which the later won",
        choices.later_half,
    ),
    *(
        (
            f"lowest_of_{width}_lanes",
            f"each of {width} lanes had its first maximum, of which the lowest lane's won",
            choices.lowest_lane(width),
        )
        for width in WIDTHS
    ),
)

_PLACES: Table = (
    *(
        (
            f"row_tail_of_{width}_ignored",
            f"what is left of a row after the last whole vector of {width} was not looked at",
            choices.without_tail(width),
        )
        for width in TAILS
    ),
    *(
        (
            f"row_tail_of_{width}_zero",
            f"rows were filled up to whole vectors of {width} with zeros, which won",
            choices.zeros_in_tail(width),
        )
        for width in reversed(TAILS)
    ),
    *(
        (
            f"row_stops_at_{stop}",
            f"only the first {stop} elements of a row were looked at",
            choices.among(slice(stop)),
        )
        for stop in (1024, 256)
    ),
    *(
        (
            f"argmax_in_{bits}_bits",
            f"the place of the maximum in its row had {bits} bits",
            choices.index_modulo(1 << bits),
        )
        for bits in (16, 8, 7, 4)
    ),
    *(
        (
            f"argmax_in_{np.dtype(dtype).name}",
            f"the place of the maximum in its row was kept in {np.dtype(dtype).name}",
            choices.index_in(dtype),
        )
        for dtype in (np.float16, ml_dtypes.bfloat16)
    ),
    (
        "last_element_forgotten",
        "the last element of a row was not looked at",
        choices.among(slice(-1)),
    ),
    (
        "first_element_forgotten",
        "the first element of a row was not looked at",
        choices.among(slice(1, None)),
    ),
    ("second_maximum", "the second largest element won", choices.second),
    ("minimum", "the minimum won", choices.minimum),
    ("always_first", "the first element won whatever the others are", choices.always(0)),
    ("always_last", "the last element won whatever the others are", choices.always(-1)),
)

_ROWS: Table = (
    *(
        (
            f"rows_stop_at_{limit}",
            f"only the first {limit:,} rows were computed, and the others left at 0",
            row_choices.of_rows_before(limit),
        )
        for limit in reversed(GRIDS)
    ),
    ("last_row_missing", "the last row was left at 0", row_choices.last_row_missing),
    (
        "maximum_carried_over",
        "the maximum of the rows before was kept, so that a row that is not above it stayed empty",
        row_choices.carried_over,
    ),
    (
        "maximum_of_all_rows",
        "only rows that reach the maximum of the whole tensor had a one",
        row_choices.global_maximum,
    ),
    (
        "first_row_only",
        "only the first row was computed, and the others left at 0",
        row_choices.first_row_only,
    ),
)

CHOICES: Table = (*_NAN, *_STARTS, *_TIES, *_PLACES, *_ROWS)
