"""The attributes of LpPool that say where windows lie, checked, as windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opcheck.errors import InvalidNode
from opcheck.precise.answer import Undecided
from opcheck.precise.ops.lp_pool.windows import Axis, Windows

_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True)
class Geometry:
    """The attributes as they stand in the node, None where they are absent.

    `since` is the version of the operator, which must have checked that it has them.
    """

    since: int
    auto_pad: object
    kernel_shape: object
    pads: object
    strides: object
    ceil_mode: object = 0
    dilations: object = None


def windows(shape: Sequence[int], g: Geometry) -> Windows:
    """The windows over an input of `shape`, [N, C, D1, …, Dn].

    Raises InvalidNode for what the text forbids, Undecided for what it leaves open.
    """
    space = tuple(shape[2:])
    if not space:
        raise InvalidNode(f"an input of rank {len(shape)} has no spatial axis")
    if g.auto_pad not in _AUTO_PADS:
        raise InvalidNode(f"auto_pad {g.auto_pad!r} is none of {', '.join(_AUTO_PADS)}")
    if g.pads is not None and g.auto_pad != "NOTSET":
        raise InvalidNode("pads cannot be used together with auto_pad")
    count = len(space)
    strides = _sizes("strides", g.strides, count, least=1, default=1)
    dilations = _sizes("dilations", g.dilations, count, least=1, default=1)
    pads = _sizes("pads", g.pads, 2 * count, least=0, default=0)
    if g.kernel_shape is None and g.since == 1:
        raise Undecided("version 1 does not say what a missing kernel_shape means")
    if g.kernel_shape is None:
        raise InvalidNode("kernel_shape is missing")
    kernel = _sizes("kernel_shape", g.kernel_shape, count, least=1)
    if g.ceil_mode not in (0, 1):
        raise Undecided(f"the text does not say what ceil_mode {g.ceil_mode!r} is")
    # What one axis leaves open does not matter where another is invalid.
    doubts: list[str] = []
    axes = [
        _axis(g, Axis(size, k, stride, dilation, begin, 0), end, doubts)
        for size, k, stride, dilation, begin, end in zip(
            space, kernel, strides, dilations, pads[:count], pads[count:], strict=True
        )
    ]
    if doubts:
        raise Undecided(doubts[0])
    return Windows(tuple(axes))


def _sizes(
    name: str, given: object, count: int, least: int, default: int | None = None
) -> tuple[int, ...]:
    if given is None and default is not None:
        return (default,) * count
    if not isinstance(given, (tuple, list)) or not all(isinstance(n, int) for n in given):
        raise InvalidNode(f"{name} {given!r} are no integers")
    if len(given) != count:
        raise InvalidNode(f"{name} has {len(given)} values, not {count}")
    if min(given) < least:
        raise InvalidNode(f"{name} {min(given)} is below {least}")
    return tuple(given)


def _axis(g: Geometry, a: Axis, end: int, doubts: list[str]) -> Axis:
    """`a`, with `end` for padding behind it, and how many windows there are.

    Without auto_pad these are ⌊(size + pads − width)/stride⌋ + 1, or with ceil_mode ⌈…⌉ + 1;
    VALID: ⌈(size − width + 1)/stride⌉; SAME: ⌈size/stride⌉, with "pad_shape[i] =
    (output_spatial_shape[i] - 1) * strides_spatial_shape[i] + kernel − input_spatial_shape[i]".
    What of that the text leaves open is added to `doubts`.
    """
    width = (a.kernel - 1) * a.dilation + 1
    if g.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        outputs = -(-a.size // a.stride)
        if g.since < 11 and outputs != a.size:
            doubts.append(f"version {g.since} has no size for {g.auto_pad} with strides")
        total = max(0, (outputs - 1) * a.stride + width - a.size)
        a = replace(a, begin=total // 2 if g.auto_pad == "SAME_UPPER" else total - total // 2)
    else:
        room = a.size + a.begin + end - width
        outputs, ceiling = room // a.stride + 1, -(-room // a.stride) + 1
        if g.ceil_mode and g.auto_pad == "VALID" and ceiling != outputs:
            doubts.append("the text's size for auto_pad VALID knows no ceil_mode")
        outputs = ceiling if g.ceil_mode else outputs
        if g.ceil_mode and (outputs - 1) * a.stride >= a.size + a.begin:
            doubts.append(
                "the text does not say whether ceil_mode counts a last window behind the input"
            )
    if outputs < 0 and g.since < 18 and g.auto_pad == "NOTSET":
        doubts.append(f"version {g.since} has no formula for an output's size")
    elif outputs < 0:
        raise InvalidNode(f"the output would have the size {outputs}")
    if outputs == 0:
        doubts.append("the text does not say whether an output may have the size 0")
    return replace(a, outputs=outputs)
