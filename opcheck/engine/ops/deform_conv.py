"""DeformConv (19, 22): a convolution of what is sampled beside the places of the kernel."""

from functools import partial
from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import windows_of
from opcheck.engine.operators import is_open, operator
from opcheck.engine.ops.conv import grouped, matmul
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers.faulty import bare

OP = operator("DeformConv")


def offsets(x, groups, kernel, axes, sizes):
    """The offset along each axis: of shape N × groups × kernel × places of the output."""
    split = xp.reshape(x, (x.shape[0], groups, *kernel, axes, *sizes))
    return [split[(*[slice(None)] * (2 + axes), axis)] for axis in range(axes)]


def share(place, at):
    """How much of the element `at` linear interpolation at a place takes."""
    return xp.maximum(1 - xp.abs(place - at), 0.0)


def of_samples(read=offsets, share=share, change=lambda X, W, mask, *groups: (X, W, mask)):
    """Both versions, from what offsets are read as, the shares, and a change of tensors."""

    def formula(X, W, offset, B=None, mask=None, *,
                kernel_shape, strides, dilations, pads, group, offset_group):  # fmt: skip
        n, kernel = X.ndim - 2, tuple(W.shape[2:])
        if n < 1 or W.ndim != X.ndim or kernel_shape not in (None, kernel):
            raise InvalidNode(f"X {list(X.shape)}, W {list(W.shape)}, kernel_shape {kernel_shape}")
        if min(group, offset_group) < 1 or X.shape[1] % offset_group or W.shape[0] % group:
            raise InvalidNode(f"groups {group} and {offset_group} of W {list(W.shape)}")
        if X.shape[1] != W.shape[1] * group or (B is not None and B.shape != W.shape[:1]):
            raise InvalidNode(f"X {list(X.shape)} and W {list(W.shape)} in groups {group}, or B")
        windows = windows_of(X.shape, kernel, strides, dilations, pads)
        sizes, batch = windows.shape[2:], X.shape[0]
        taken = offset_group * prod(kernel)
        if offset.shape != (batch, taken * n, *sizes):
            raise InvalidNode(f"offset {list(offset.shape)}; allowed: {[batch, taken * n, *sizes]}")
        if mask is not None and mask.shape != (batch, taken, *sizes):
            if mask.shape == (batch, taken * n, *sizes):
                raise NotSupported("nothing is said of masks for each axis")
            raise InvalidNode(f"mask {list(mask.shape)}; allowed: {[batch, taken, *sizes]}")
        X, W, mask = change(X, W, mask, group, offset_group)
        if not all(np.isfinite(bare(xp.values_of(x))).all() for x in (X, offset)):
            raise NotSupported("nothing is said of what lies between numbers and none")
        # Where each element under the kernel would be without an offset.
        steps = np.ix_(*map(np.arange, (*kernel, *sizes)))
        places, margins = read(offset, offset_group, kernel, n, sizes), []
        for a, axis in enumerate(windows.axes):
            base = steps[n + a] * float(axis.stride) + steps[a] * float(axis.dilation) - axis.begin
            places[a] = places[a] + base
            margins.append((axis.begin, pads[n + a] if pads else 0))
        sampled = _sampled(X, places, margins, share)
        if mask is not None:
            sampled = sampled * xp.reshape(mask, (batch, offset_group, 1, prod(kernel + sizes)))
        filters, terms = W.shape[0], prod(W.shape[1:])

        def products(w, x):
            under = x.reshape(batch, group, terms, prod(sizes))
            y = matmul(w.reshape(group, filters // group, terms), under)
            return y.reshape(batch, filters, *sizes)

        bias = None if B is None else xp.reshape(B, (-1, *[1] * n))
        y = xp.bilinear(W, sampled, products, terms, bias)
        return xp.astype(y, X.dtype)

    return {19: formula, 22: formula}


def _sampled(X, places, pads, share):
    """X at the places, of shape N × groups × channels of each × places; 0 outside."""
    (batch, channels, *lengths), groups = X.shape, places[0].shape[1]
    count, size = prod(places[0].shape[2:]), prod(lengths)
    flat, held, shares, taps = 0, True, None, 1
    # Two elements along each axis have a share, and rounded, a place may lie beside them.
    near = np.arange(-1, 3).reshape(1, 1, 1, 4, 1)
    for place, length, pad in zip(places, lengths, pads, strict=True):
        at = bare(xp.values_of(place))
        outside = [(at > -1) & (at < 0), (at > length - 1) & (at < length)]
        if any(some.any() and not wide for some, wide in zip(outside, pad, strict=True)):
            is_open("what lies half outside the padded tensor is 0, or interpolated with 0")
        first = np.floor(np.clip(at, -3, length + 3)).astype(np.int64)
        index = first.reshape(batch, groups, 1, 1, count) + near
        parts = share(xp.reshape(place, (batch, groups, 1, 1, count)), index.astype(np.float64))
        shares = parts if shares is None else shares * parts
        flat, held = flat * length + index, held & (index >= 0) & (index < length)
        taps *= 4
        flat, held = (x.reshape(batch, groups, taps, 1, count) for x in (flat, held))
        shares = xp.reshape(shares, (batch, groups, taps, 1, count))
    planes = xp.reshape(X, (batch, groups, channels // groups, size))
    planes = xp.pad(planes, [(0, 0)] * 3 + [(0, 1)])
    taken = np.where(held, flat, size).reshape(batch, groups, 1, taps * count)
    under = xp.reshape(xp.take_along_axis(planes, taken, axis=3), (*planes.shape[:3], taps, count))
    terms = under * xp.reshape(shares, (batch, groups, 1, taps, count))
    return xp.sums(terms, partial(np.sum, axis=3), 2 ** len(lengths))


OP.formula(by=of_samples)(offsets)


def with_tensors(change):
    """Both versions on other tensors: `change(X, W, mask, group, offset_group)`."""
    return of_samples(change=change)


OP.mutant_table({
    "x_before_y": ("the offsets along the last axis came first",
        lambda *of: offsets(*of)[::-1]),
    "axes_outside_the_kernel": ("all offsets along one axis came before those along the next",
        lambda x, groups, kernel, axes, sizes: [
            xp.reshape(x, (x.shape[0], groups, axes, *kernel, *sizes))[:, :, axis]
            for axis in range(axes)]),
    "kernel_by_columns": ("offsets came by the columns of the kernel",
        lambda x, groups, kernel, axes, sizes: [
            np.moveaxis(one, range(2, 2 + axes), range(1 + axes, 1, -1)) for one in offsets(
                x, groups, kernel[::-1], axes, sizes)]),
    "offsets_subtracted": ("offsets were subtracted", lambda *of: [-one for one in offsets(*of)]),
    "first_offsets_for_all": ("the first group's offsets served for all",
        lambda *of: [xp.broadcast_to(one[:, :1], one.shape) for one in offsets(*of)]),
}, by=of_samples)  # fmt: skip
OP.mutant("the nearest element was taken", name="nearest", by=lambda by: of_samples(share=by))(
    lambda place, at: (np.floor(place + 0.5) == at) * 1.0
)
OP.mutant_table({
    "input_channels_in_turns": ("the input's channels went to the groups of offsets in turns",
        lambda X, W, mask, group, by: (grouped(X, 1, by), W, mask)),
    "filters_in_turns": ("the filters went to the groups in turns",
        lambda X, W, mask, group, by: (X, grouped(W, 0, group), mask)),
    "mask_in_turns": ("the mask went to the groups of offsets in turns",
        lambda X, W, mask, group, by: (X, W, None if mask is None else grouped(mask, 1, by))),
    "kernel_turned": ("the kernel was turned around, as in mathematics",
        lambda X, W, mask, *of: (X, xp.flip(W, axis=tuple(range(2, W.ndim))), mask)),
}, by=with_tensors)  # fmt: skip
