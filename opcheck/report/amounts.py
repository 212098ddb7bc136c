"""Times, bytes and shares as people read them: three digits that matter, and a unit."""

from __future__ import annotations

import math

_TIMES = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_BYTES = ((1.0, "bytes"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
#: The parts of a cell, from an eighth to seven.
_PARTS = " ▏▎▍▌▋▊▉"


def digits(value: float) -> str:
    """Three digits that matter, in five characters: `0.012`, `1.23`, `123`, `1,235`, `2e4`."""
    if not math.isfinite(value):
        return "–"
    rounded = float(f"{value:.2e}")
    if rounded and not 0.001 <= rounded < 10_000:
        mantissa, exponent = f"{value:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    places = 2 - math.floor(math.log10(rounded)) if rounded else 0
    return f"{value:,.{min(max(places, 0), 3)}f}"


def seconds(value: float) -> str:
    """`95.0 ns`, `1.23 ms`, `2,400 s`."""
    return _with_unit(value, _TIMES)


def size(count: float) -> str:
    """`512 bytes`, `25.7 MB`: decimal, as in GB/s."""
    if abs(count) < 1000:
        return f"{count:.0f} byte{'' if count == 1 else 's'}"
    return _with_unit(count, _BYTES)


def rate(moved: float, time: float) -> str:
    """How many GB/s move if `moved` bytes do in `time` seconds."""
    return digits(moved / time / 1e9) if time > 0 else "–"


def percent(share: float) -> str:
    """`0.4 %`, `3.2 %`, `44 %`: a digit behind the point below ten."""
    if not math.isfinite(share):
        return "–"
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 else f"{100 * share:,.0f} %"


def interval(low: float, high: float) -> str:
    """`0.985–1.02`; a dash where it is boundless, because there is too little to tell."""
    return f"{digits(low)}–{digits(high)}" if low > 0 and math.isfinite(high) else "–"


def bar(share: float, width: int, *, ascii_only: bool) -> str:
    """A bar of `share` of `width` cells, in eighths of a cell where there are characters for it.

    It is never empty, because everything takes some time.
    """
    share = min(max(share, 0.0), 1.0)
    if ascii_only:
        return "#" * max(round(share * width), 1)
    full, eighths = divmod(max(round(8 * share * width), 1), 8)
    return "█" * full + _PARTS[eighths].strip()


def _with_unit(value: float, units: tuple[tuple[float, str], ...]) -> str:
    # Rounded first, lest 999.7 µs become 1,000 µs.
    rounded = float(f"{value:.2e}")
    scale, unit = next((one for one in reversed(units) if abs(rounded) >= one[0]), units[0])
    return f"{digits(value / scale)} {unit}"
