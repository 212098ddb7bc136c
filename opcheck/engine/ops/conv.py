"""Conv (1, 11, 22): sums of products of windows and filters, within each group of channels."""

from itertools import product
from math import prod

from opcheck import numbers as xp
from opcheck.engine.operators import operator
from opcheck.engine.windows import windows_of
from opcheck.errors import InvalidNode

OP = operator("Conv")


@OP.formula(1, 11, 22)
def plain(X, W, B=None, *, kernel_shape, strides, dilations, pads, auto_pad, group):
    """The matrix of each group's filters times that of the elements under each window."""
    check(X, W, B, kernel_shape, group)
    windows = windows_of(X.shape, W.shape[2:], strides, dilations, pads, auto_pad)
    filters = xp.reshape(W, (group, W.shape[0] // group, prod(W.shape[1:])))
    y = xp.matmul(filters, patches(X, windows, group))
    y = xp.reshape(y, (X.shape[0], W.shape[0], *windows.shape[2:]))
    return y if B is None else y + xp.reshape(B, (-1, *[1] * len(windows.axes)))


def check(X, W, B, kernel_shape, group):
    """Raise InvalidNode for shapes that do not go together."""
    if X.ndim < 3 or W.ndim != X.ndim:
        raise InvalidNode(f"X of rank {X.ndim} and W of rank {W.ndim}; allowed: both 3 or more")
    if group < 1 or X.shape[1] != W.shape[1] * group or W.shape[0] % group:
        raise InvalidNode(f"X {list(X.shape)} and W {list(W.shape)} do not fit group {group}")
    if kernel_shape is not None and tuple(kernel_shape) != tuple(W.shape[2:]):
        raise InvalidNode(f"kernel_shape {list(kernel_shape)}, and W is {list(W.shape)}")
    if B is not None and tuple(B.shape) != (W.shape[0],):
        raise InvalidNode(f"B of shape {list(B.shape)}; allowed: [{W.shape[0]}]")


def patches(X, windows, group):
    """The elements under each window, with zeros for padding: (N, group, K, places).

    K counts the channels of a group and the places of the kernel, in the order of W.
    """
    found = []
    for at in product(*(range(axis.kernel) for axis in windows.axes)):
        reach = [axis.reach(j) for axis, j in zip(windows.axes, at, strict=True)]
        part = X[(..., *(elements for _, elements in reach))]
        sizes = [axis.size for axis in windows.axes]
        free = [(w.start, size - w.stop) for (w, _), size in zip(reach, sizes, strict=True)]
        found.append(xp.pad(part, [(0, 0), (0, 0), *free]))
    channels = X.shape[1] // group
    each = xp.stack(found, axis=2)
    return xp.reshape(each, (X.shape[0], group, channels * len(found), prod(windows.shape[2:])))


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def by_operands(change):
    """All versions, with other operands: `change(X, W, B, group)`."""

    def formula(X, W, B=None, *, kernel_shape, strides, dilations, pads, auto_pad, group):
        check(X, W, B, kernel_shape, group)
        given = {"strides": strides, "dilations": dilations, "pads": pads, "auto_pad": auto_pad}
        return plain(*change(X, W, B, group), kernel_shape=None, group=group, **given)

    return dict.fromkeys((1, 11, 22), formula)


def grouped(array, axis, group):
    """`array` with the channels of its groups taken in turns along `axis`."""
    shape = array.shape
    split = xp.reshape(array, (*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :]))
    return xp.reshape(split.swapaxes(axis, axis + 1), shape)


@OP.mutant("the kernel was turned around, as in mathematics", by=by_operands)
def kernel_turned(X, W, B, group):
    return X, xp.flip(W, axis=tuple(range(2, W.ndim))), B


@OP.mutant("the first two axes of the kernel were exchanged where it is square", by=by_operands)
def kernel_transposed(X, W, B, group):
    square = W.ndim > 3 and W.shape[2] == W.shape[3]
    return X, W.swapaxes(2, 3) if square else W, B


@OP.mutant("the input's channels went to the groups in turns", by=by_operands)
def input_channels_in_turns(X, W, B, group):
    return grouped(X, 1, group), W, B


@OP.mutant("the filters went to the groups in turns", by=by_operands)
def filters_in_turns(X, W, B, group):
    return X, grouped(W, 0, group), B


@OP.mutant("the first group's filters served for all", by=by_operands)
def first_group_for_all(X, W, B, group):
    return X, xp.tile(W[: W.shape[0] // group], (group, *[1] * (W.ndim - 1))), B


@OP.mutant("of the bias the first element served for all", by=by_operands)
def first_bias_for_all(X, W, B, group):
    return X, W, None if B is None else xp.broadcast_to(B[:1], B.shape)
