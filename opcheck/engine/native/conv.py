"""Conv as products of matrices, of the elements under windows in strided views."""

from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from opcheck.engine.axes import Windows, slices
from opcheck.engine.ops.conv import by_windows, of_windows
from opcheck.model import Array

#: So many times the elements of input and output may be stored with the padding.
_PADDED = 8
#: About how many elements the columns of some groups have together.
COLUMNS = 1 << 18


def _by_views(X: Array, W: Array, B: Array | None, windows: Windows, group: int) -> Array:
    axes, (n, channels, *lengths) = windows.axes, X.shape
    padded = [max(a.span, a.begin + a.length) for a in axes]
    y = np.empty((n, len(W), *windows.shape[2:]), X.dtype)
    if not y.size or n * channels * prod(padded) > _PADDED * (X.size + y.size):
        return by_windows(X, W, B, windows, group)  # type: ignore[no-any-return]
    if padded != lengths:
        inside = tuple(slice(a.begin, a.begin + a.length) for a in axes)
        X, given = np.zeros((n, channels, *padded), X.dtype), X
        X[:, :, *inside] = given
    spatial, terms = tuple(range(2, X.ndim)), prod(W.shape[1:])
    filters = W.reshape(group, len(W) // group, terms)
    done = 0
    for part in windows.portions(n * group * terms):
        first, *others = part.axes
        start = axes[0].begin - first.begin
        rows = X[:, :, start : start + first.span]
        rows = rows[:, :, :, *(slice(0, axis.span) for axis in others)]
        under = sliding_window_view(rows, [axis.width for axis in part.axes], spatial)
        under = under[:, :, *(slice(None, None, axis.stride) for axis in part.axes),
                      *(slice(None, None, axis.dilation) for axis in part.axes)]  # fmt: skip
        kernels = tuple(range(X.ndim, under.ndim))
        under = under.transpose(0, 1, *kernels, *spatial)
        columns = under.reshape(n, group, terms, prod(part.shape[2:]))
        found = np.matmul(filters, columns).reshape(n, len(W), *part.shape[2:])
        y[:, :, done : done + first.size] = found
        done += first.size
    if B is not None:
        y += B.reshape(-1, *[1] * len(axes))
    return y


def _by_groups(X: Array, W: Array, B: Array | None, windows: Windows, group: int) -> Array:
    """A few groups at a time, whose columns fit into one small buffer."""
    size = len(X) * prod(W.shape[1:]) * prod(windows.shape[2:])
    parts = slices(group, max(1, COLUMNS // max(1, size)))
    if len(parts) == 1:
        return _by_views(X, W, B, windows, group)
    y = np.empty((len(X), len(W), *windows.shape[2:]), X.dtype)
    for some in parts:
        first, last, count = some.start, some.stop, some.stop - some.start
        channels = slice(first * W.shape[1], last * W.shape[1])
        filters = slice(first * len(W) // group, last * len(W) // group)
        bias = None if B is None else B[filters]
        y[:, filters] = _by_views(X[:, channels], W[filters], bias, windows, count)
    return y


FORMULAS = {"Conv": of_windows(_by_groups)}
