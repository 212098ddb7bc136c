"""MelWeightMatrix: triangular bands on the mel scale, as weights of a spectrum's bins.

    mel(f) = 2595 * log10(1 + f/700)

The text does not state where the bands lie; the page's example does. From the lower edge in
num_mel_bins + 2 steps of the scale to the upper there are num_mel_bins + 2 frequencies. Each is
rounded down to a bin, floor((dft_length + 1) * f / sample_rate), and band k has the shape of a
triangle from frequency k over k + 1, its peak, to k + 2.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from opcheck import dtypes, numbers as xp
from opcheck.dtypes import DType
from opcheck.engine.axes import check_size, scalar
from opcheck.engine.operators import (
    Formula,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.grouping import not_none
from opcheck.numbers import Tensor

Reals: TypeAlias = NDArray[np.float64]
#: A function of frequencies or mels, or of the bins that frequencies make.
Function: TypeAlias = Callable[[Any], Any]
#: Makes n + 2 frequencies from the edges u and v, all in units of 700 Hz.
Frequencies: TypeAlias = Callable[[float, float, int], Reals]
#: Makes weights, [bins, bands], of their heights and widths, and of the ends of bands, [bands].
Weights: TypeAlias = Callable[[Reals, Reals, Reals], Reals]

FRACTIONS_AS_INTEGERS = Ruling(
    "fractions-as-integers",
    "The text does not state what a weight between 0 and 1 is as an integer.",
    ("cut_off", "half_to_even", "half_up"),
)
NEAREST_BIN = Ruling(
    "nearest-bin",
    "Next to a whole number, the type that is computed in decides which bin a frequency is rounded "
    "down to, and the text names none.",
    ("as_in_float64", "the_other"),
)


def log_of_ratio(f: Any) -> Any:
    """Return ln(1 + f), the mels of frequencies in units of 700 Hz, in a unit of their own."""
    return np.log1p(f)


def ratio_of_log(m: Any) -> Any:
    """Return frequencies in units of 700 Hz, of the mels of `log_of_ratio`: e^m − 1."""
    return np.expm1(m)


def equally_spaced(
    u: float,
    v: float,
    n: int,
    *,
    steps: int = 2,
    forth: Function = log_of_ratio,
    back: Function = ratio_of_log,
) -> Reals:
    """Return n + 2 frequencies from u on, of n + `steps` equal steps of the scale from u to v.

    u, v and the result: in units of 700 Hz; 0 ≤ u ≤ v. With 2 `steps`, as in the page's example,
    the last frequency lies a step below v; with 1 it is v. forth, back: to mels and from them.
    """
    first, last = forth(np.array([u, v]))
    mels: Reals = first + np.arange(n + 2) * ((last - first) / (n + steps))
    return np.asarray(back(mels))


def height_alone(height: Reals, left: Reals, right: Reals) -> Reals:
    """Return the heights of triangles as they are: "a peak value of 1.0"."""
    return height


def as_type(height: Reals, width: Reals, dtype: DType) -> Tensor:
    """Return height / width, the weights from 0 to 1, in a type.

    height, width: whole numbers of one shape, or that broadcast; the width is above 0. An integer
    that stands for a fraction is cut off, or rounded, ties to even or up: FRACTIONS_AS_INTEGERS.
    """
    weights = xp.astype(height, np.float32) / xp.astype(width, np.float32)
    has_fractions = dtype.kind == "int" and bool(np.any(height % width))
    if has_fractions:
        reading = FRACTIONS_AS_INTEGERS.reading()
        if reading == "half_to_even":
            return np.rint(height / width).astype(dtype.numpy)
        if reading == "half_up":
            return np.floor(height / width + 0.5).astype(dtype.numpy)
    # A cast cuts fractions off.
    return xp.astype(weights, dtype.numpy)


def check_edges(low: float, high: float, rate: int) -> None:
    """Raise NotSupported for edges, in Hz, that the text does not define.

    These are negative ones, infinities, NaN, and `low` above `high`; while judging, also equal
    ones, and `high` above half of the sample rate.
    """
    if not 0 <= low <= high < np.inf:
        raise_unspecified(f"bands from {low} to {high} Hz")
    if not low < high <= rate / 2:
        leave_open("bands of no width, or of more than the spectrum")


def bins_of(places: Reals, high: float, bins_per_unit: float, to_bins: Function) -> Reals:
    """Return the bin of each frequency, `to_bins` of its place, which may be between bins.

    places: [n + 2]; 0 is the first bin. high: the upper edge in units of 700 Hz. bins_per_unit:
    bins in 700 Hz. Where roundings of float32 may move a place from one bin to the next, either is
    right, by a ruling for each place: NEAREST_BIN; 0 stays 0. Raises NotSupported, while judging,
    where they may move it by more than a bin.
    """
    # Sixteen roundings of logarithms and powers in float32; 0 stays 0.
    errors = 2.0**-20 * (1 + np.log1p(high)) * (places + bins_per_unit) * (places > 0)
    bins = np.asarray(to_bins(places))
    below = to_bins(places - errors)
    above = to_bins(places + errors)
    if np.any(above - below > 1):
        leave_open("float32 cannot tell bins apart")
    for number in np.flatnonzero(above != below):
        ruling = replace(NEAREST_BIN, id=f"{NEAREST_BIN.id}-of-bin-{number}")
        if ruling.reading() == "the_other":
            bins[number] = above[number] + below[number] - bins[number]
    return bins


@formulas_of_versions(17, options=["to_bins", "change_heights", "added_length"])
def of_bands(
    frequencies: Frequencies,
    num_mel_bins: Tensor,
    dft_length: Tensor,
    sample_rate: Tensor,
    lower_edge_hertz: Tensor,
    upper_edge_hertz: Tensor,
    *,
    output_datatype: int,
    to_bins: Function = np.floor,
    change_heights: Weights = height_alone,
    added_length: int = 1,
) -> Tensor:
    """Return the weights of bins in bands, [floor(dft_length/2) + 1, num_mel_bins].

    They are of the type output_datatype. All inputs are scalars; edges are in Hz. The options are
    what mutants do otherwise: `to_bins` makes bins of places between them, `change_heights` changes
    those of triangles, and `added_length` is added to the length. Integers that stand for fractions
    follow FRACTIONS_AS_INTEGERS; no bands give an empty matrix. frequencies: makes the edges of
    bands.

    Raises InvalidNode for an input of other than one element, or of rank 1 and more by
    ONE_ELEMENT_AS_A_SCALAR. Raises NotSupported for a negative number of bands, a dft_length or
    sample_rate below 1, and edges that are negative, not finite or out of order; while judging,
    also for bands of no width or beyond half of the sample rate, and where float32 moves edges by
    more than a bin; by one, each edge follows NEAREST_BIN. Raises MemoryError for a matrix that is
    too large.
    """
    count = scalar("num_mel_bins", num_mel_bins)
    length = scalar("dft_length", dft_length)
    rate = scalar("sample_rate", sample_rate)
    low = float(scalar("lower_edge_hertz", xp.values_of(lower_edge_hertz)))
    high = float(scalar("upper_edge_hertz", xp.values_of(upper_edge_hertz)))
    if count < 0 or min(length, rate) < 1:
        raise_unspecified(f"{count} bands of {length} values, {rate} a second")
    check_edges(low, high, rate)
    rows = length // 2 + 1
    check_size((rows, count + 2))
    bins_per_unit = (length + added_length) * 700 / rate
    places = frequencies(low / 700, high / 700, count) * bins_per_unit
    bins = bins_of(places, high / 700, bins_per_unit, to_bins)
    height, width = triangles(bins, rows)
    height = change_heights(height, bins[:count], bins[2:])
    return as_type(height, width, not_none(dtypes.named(output_datatype)))


def triangles(ends: Reals, rows: int) -> tuple[Reals, Reals]:
    """Return heights and widths of bands, [rows, n] each; a weight is its height / its width.

    ends: [n + 2], ascending bins. Band k rises from ends[k], where it is 0, to its peak at
    ends[k + 1], where it is 1, and falls to 0 at ends[k + 2]. A width is the length of the side
    that a row is on, at least 1.
    """
    left, peak, right = ends[:-2], ends[1:-1], ends[2:]
    row = np.arange(rows)[:, np.newaxis]
    is_rising = row < peak
    width = np.maximum(np.where(is_rising, peak - left, right - peak), 1)
    height = np.maximum(np.where(is_rising, row - left, right - row), 0)
    # A side of length 0 has its peak too.
    return np.where(row == peak, width, height), width


MEL = operator("MelWeightMatrix", of_integers=True, of_scalars=("int32", "int64"))
MEL.formula(build=of_bands)(equally_spaced)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def linear_below_1000_hz(f: Any) -> Any:
    """Mutant: mels of Slaney's scale, which is linear up to 1000 Hz."""
    return np.where(f < 10 / 7, f * 0.7, 1 + np.log(np.maximum(f * 0.7, 1)) / 1.03)


def back_from_linear(m: Any) -> Any:
    """Return frequencies of Slaney's mels, in units of 700 Hz."""
    return np.where(m < 1, m, np.exp((m - 1) * 1.03)) / 0.7


def log_of_ratio_in(kind: Any, f: Any) -> Any:
    """Mutant: mels in a type of fewer digits."""
    return np.log1p(f.astype(kind))


def ratio_of_log_in(kind: Any, m: Any) -> Any:
    """Mutant: frequencies in a type of fewer digits."""
    return np.expm1(m.astype(kind)).astype(np.float64)


def flat_within_a_bin(height: Reals, left: Reals, right: Reals) -> Reals:
    """Mutant of `height_alone`: a band within one bin has no peak."""
    return height * (left < right)


def of_area_1(height: Reals, left: Reals, right: Reals) -> Reals:
    """Mutant of `height_alone`: the triangles have the same area, and not the same peak."""
    return np.asarray(height * (2 / np.maximum(right - left, 1)))


def computed_in(kind: Any) -> Frequencies:
    """Return a mutant's frequencies, with mels in the NumPy type `kind`, of fewer digits."""
    return partial(
        equally_spaced,
        forth=partial(log_of_ratio_in, kind),
        back=partial(ratio_of_log_in, kind),
    )


MEL.mutant_table(
    {
        "up_to_the_upper_edge": (
            "the last band ended at the upper edge",
            partial(equally_spaced, steps=1),
        ),
        "linear_below_1000_hz": (
            "the mel scale was linear below 1000 Hz",
            partial(equally_spaced, forth=linear_below_1000_hz, back=back_from_linear),
        ),
        "computed_in_float16": (
            "frequencies were computed in float16",
            computed_in(np.float16),
        ),
        "computed_in_bfloat16": (
            "frequencies were computed in bfloat16",
            computed_in(ml_dtypes.bfloat16),
        ),
    },
    build=of_bands,
)


def with_options(options: Mapping[str, Any]) -> Mapping[int, Formula]:
    """Return the formulas of all versions with other options than the text's: see `of_bands`."""
    return of_bands(equally_spaced, **options)


MEL.mutant_table(
    {
        "rounded_to_nearest": ("frequencies were rounded to the nearest bin", {"to_bins": np.rint}),
        "between_bins": ("frequencies lay between bins", {"to_bins": np.positive}),
        "length_as_it_is": (
            "bins were counted by the length, and not by one more",
            {"added_length": 0},
        ),
        "flat_within_a_bin": (
            "bands within a bin had no peak",
            {"change_heights": flat_within_a_bin},
        ),
        "of_area_1": (
            "triangles had the same area, and not the same peak",
            {"change_heights": of_area_1},
        ),
    },
    build=with_options,
)
