"""Windows that move over the last axes: strides, dilations and pads, by axis.

Along one axis every combination is asked. Along two, one property at a time is that of one axis
only, or unequal along both: a kernel that confuses the axes, or the ends of `pads`, shows there.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations.family import Family

_LEFT_OUT = (
    "Three and more axes, `auto_pad`, and combinations of properties along two axes: other cases "
    "ask some of each. `ceil_mode` where the stride is 1, which changes nothing."
)
_POOLS = frozenset({"AveragePool", "MaxPool", "LpPool"})
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
_PADS = {
    (False, False): "no pads",
    (True, False): "pads at the beginning",
    (False, True): "pads at the end",
    (True, True): "equal pads",
}
#: Before the situations in which AveragePool counts pads.
_COUNTED = "count_include_pad, "
_UNEQUAL_PADS = "unequal pads"
_OF_PLANES = (
    *(f"stride {where}" for where in ("of axis 0", "of axis 1", "unequal")),
    *(f"dilation {where}" for where in ("of axis 0", "of axis 1", "unequal")),
    *(f"pad {end} axis {axis}" for end, axis in product(("before", "after"), (0, 1))),
    "four unequal pads",
)


class Window(NamedTuple):
    """The attributes of a window over `axes` axes; `pads` as ONNX orders them."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]

    @property
    def axes(self) -> int:
        """The number of axes that the window moves along."""
        return len(self.strides)


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of a pool or a convolution."""
    op = schema.op.name
    if schema.op.domain or op not in _POOLS | _CONVOLUTIONS:
        return
    each = [*_each(op)]
    yield from each
    if op == "AveragePool":
        yield from (_COUNTED + one for one in each if "pad" in one and "no pads" not in one)


def _each(op: str) -> Iterator[str]:
    for stride, dilation, pads in product((1, 2), (1, 2), (*_PADS.values(), _UNEQUAL_PADS)):
        yield _along_one_axis(stride, dilation, pads, ceil=False)
        if op in _POOLS and stride > 1:
            yield _along_one_axis(stride, dilation, pads, ceil=True)
    yield from (f"two axes: {one}" for one in _OF_PLANES)
    if op != "ConvTranspose":
        yield from (f"two axes: kernel longer than axis {axis}" for axis in (0, 1))


def found_in(case: Case) -> Iterator[str]:
    """Yield the situations that the attributes of a case are in."""
    if (
        case.op.name not in _POOLS | _CONVOLUTIONS
        or case.attrs.get("auto_pad", "NOTSET") != "NOTSET"
    ):
        return
    counted = _COUNTED if case.attrs.get("count_include_pad", 0) else ""
    yield from (counted + one for one in _found(case, _window(case)))


def _found(case: Case, window: Window) -> Iterator[str]:
    if window.axes == 1:
        pads = _pads(*window.pads)
        ceil = bool(case.attrs.get("ceil_mode", 0)) and window.strides[0] > 1
        yield _along_one_axis(window.strides[0], window.dilations[0], pads, ceil)
    elif window.axes == 2:
        yield from (f"two axes: {one}" for one in _along_two_axes(case, window))


def _window(case: Case) -> Window:
    axes = len(case.inputs[0].shape) - 2
    return Window(
        strides=_numbers(case, "strides", (1,) * axes),
        dilations=_numbers(case, "dilations", (1,) * axes),
        pads=_numbers(case, "pads", (0,) * axes * 2),
    )


def _numbers(case: Case, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    value = case.attrs.get(name, default)
    return tuple(int(n) for n in value) if isinstance(value, tuple) else default


def _along_one_axis(stride: int, dilation: int, pads: str, ceil: bool) -> str:
    words = ["stride" if stride > 1 else "", "dilation" if dilation > 1 else "", pads]
    return "one axis: " + ", ".join(filter(None, [*words, "ceil_mode" if ceil else ""]))


def _pads(begin: int, end: int) -> str:
    if begin and end and begin != end:
        return _UNEQUAL_PADS
    return _PADS[begin > 0, end > 0]


def _along_two_axes(case: Case, window: Window) -> Iterator[str]:
    yield from _by_axis("stride", window.strides)
    yield from _by_axis("dilation", window.dilations)
    padded = [place for place, pad in enumerate(window.pads) if pad]
    if len(padded) == 1:
        yield f"pad {('before', 'after')[padded[0] // 2]} axis {padded[0] % 2}"
    elif len({*window.pads}) == len(window.pads):
        yield "four unequal pads"
    kernel = _kernel(case)
    longer = [axis for axis in (0, 1) if kernel[axis] > case.inputs[0].shape[axis + 2]]
    if len(longer) == 1:
        yield f"kernel longer than axis {longer[0]}"


def _by_axis(name: str, values: tuple[int, ...]) -> Iterator[str]:
    moved = [axis for axis, value in enumerate(values) if value > 1]
    if len(moved) == 1:
        yield f"{name} of axis {moved[0]}"
    elif moved and values[0] != values[1]:
        yield f"{name} unequal"


def _kernel(case: Case) -> tuple[int, ...]:
    weights = case.inputs[1].shape[2:] if case.op.name in _CONVOLUTIONS else (1, 1)
    return _numbers(case, "kernel_shape", weights)


FAMILY = Family(
    name="windows",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
)
