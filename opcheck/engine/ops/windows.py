"""Windows of cosines, for periodic and symmetric signals."""

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from opcheck import dtypes
from opcheck import numbers as xp
from opcheck.engine.axes import check_size, scalar
from opcheck.engine.operators import is_open, operator
from opcheck.errors import NotSupported

NAMES = """
BlackmanWindow HammingWindow HannWindow
"""


def _window(points, size, output_datatype, periodic, cut=lambda y: y):
    """`points(cosine, n, period)` of the whole numbers n below `size`."""
    count = scalar("size", size)
    if count < 0 or periodic not in (0, 1):
        raise NotSupported(f"nothing is said of {count} points, periodic={periodic}")
    check_size((count,))
    if count == 1 and not periodic:
        is_open("a symmetric window of one point would have a period of 0")
    n = xp.astype(np.arange(count), np.float32)
    y = points(xp.cos, n, (count if periodic else count - 1) or 1)
    kind = dtypes.named(output_datatype)
    assert kind
    return xp.astype(cut(y) if kind.kind == "int" else y, kind.numpy)


def _by(step):
    """The formula from `step(size, output_datatype, periodic)`."""

    def formula(size, *, output_datatype, periodic):
        return step(size, output_datatype, periodic)

    return {17: formula}


def _pi():
    """More digits of π than float64 has, where the kind of numbers in force has them."""
    return xp.real(np.pi) + xp.real(1.2246467991473532e-16)


def _cosines(a, b, c, cos, n, period):
    """The function bodies' sum, of shares whose last is 0 but for one window."""
    angle = n * (2 * _pi() / xp.real(period))
    y = a - b * cos(angle)
    return y + c * cos(2 * angle) if c else y


def _squares(cos, n, period):
    """A Hann window as squares of sines."""
    half = xp.sin(n * (_pi() / xp.real(period)))
    return half * half


#: The shares of 1, of the cosine, and of that of twice the angle, as the function bodies have them.
_SHARES = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0),
           "BlackmanWindow": (0.42, 0.5, 0.08)}  # fmt: skip
#: Those that others give a window of that name, or the next window's.
_OTHERS: Any = {"HannWindow": _SHARES["HammingWindow"], "HammingWindow": (0.54, 0.46, 0),
                "BlackmanWindow": (7938 / 18608, 9240 / 18608, 1430 / 18608)}  # fmt: skip
_HALF = (np.float16, ml_dtypes.bfloat16)
for _name, _shares in _SHARES.items():
    _op = operator(_name, of_integers=True, of_scalars=("int32", "int64"))
    _of: Any = partial(_cosines, *_shares)
    _op.formula(by=_by)(partial(_window, _of))
    if _name == "HannWindow":
        _op.also_honest("", by=_by)(partial(_window, _squares))
    for _called, _text, _points in (
        ("of_other_shares", "other shares of the cosines were in use",
         partial(_cosines, *_OTHERS[_name])),
        ("between_points", "points lay in the middle of steps",
         lambda cos, n, period, of=_of: of(cos, n + 0.5, period)),
        ("period_of_one_more", "the period had a step more",
         lambda cos, n, period, of=_of: of(cos, n, period + 1)),
        ("half_a_turn", "the window was its first half, stretched",
         lambda cos, n, period, of=_of: of(cos, n, 2 * period)),
        ("begins_in_the_middle", "the window began with its middle",
         lambda cos, n, period, of=_of: of(lambda x: -cos(x), n, period)),
        *((f"computed_in_{_t.__name__}", f"the window was computed in {_t.__name__}",
           lambda cos, n, period, of=_of, t=_t: of(
               cos, n.astype(t), t(period)).astype(t)) for _t in _HALF),
    ):  # fmt: skip
        _op.mutant(_text, name=_called, by=_by)(partial(_window, _points))
    for _called, _text, _cast in (
        ("rounded_to_nearest", "integers were rounded and not cut off", np.rint),
        ("rounded_up", "integers were rounded up", lambda y: np.ceil(y - 1e-6)),
    ):
        _op.mutant(_text, name=_called, by=_by)(partial(_window, _of, cut=_cast))
