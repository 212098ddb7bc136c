"""Conv and CausalConvWithState: sums of products of filters and the elements under windows.

All versions, with W[m, c, j] the weight of filter m for channel c of its group at place j:

- Conv: Y[n, m, o] = B[m] + Σ W[m, c, j] * X[n, c, o * stride - pad + j * dilation], the sum over
  the channels c of the group of m and the places j of the kernel, where padding holds 0;
- CausalConvWithState: the same with a group for each channel, over X with the state before it, and
  an activation; the last elements are the next state.

The parts of the file: what the text leaves open; the windows; the sums; Winograd's alternative;
mutants of Conv; CausalConvWithState and its mutants. ConvTranspose and DeformConv have files of
their own.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import (
    NO_WINDOW_FITS,
    SIZE_BELOW_0,
    SIZE_UNDER_SAME,
    AxisWindows,
    Windows,
    windows_of,
)
from opcheck.engine.operators import (
    NamedMutants,
    check_one_of,
    check_shape,
    formulas_of_versions,
    operator,
)
from opcheck.engine.ops.activations import sigmoid
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

NAMES = """CausalConvWithState Conv"""

CONV = operator("Conv")
CAUSAL = operator("CausalConvWithState")

matmul = xp.primitive(xp.plain.matmul)

# ── what the text leaves open ─────────────────────────────────────────────────────────────────

#: The text has no formula of sizes: they are "functions of the kernel size, stride size, and pad
#: lengths".
OPEN_SIZES = (NO_WINDOW_FITS, SIZE_BELOW_0)
#: In version 1 "the output spatial size match the input" under SAME.
OPEN_SIZES_OF_1 = (*OPEN_SIZES, SIZE_UNDER_SAME)
INFINITE_WEIGHT_ON_PADDING = Ruling(
    "infinite-weight-on-padding",
    "Padding is zeros, which an infinite weight makes NaN of, or elements that are not there.",
    ("product_with_0", "no_product"),
    by_element=True,
)


# ── windows ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Attributes:
    """The attributes of a convolution, under the schema's names; None where left out."""

    kernel_shape: Sequence[int] | None
    strides: Sequence[int] | None
    dilations: Sequence[int] | None
    pads: Sequence[int] | None
    auto_pad: str
    group: int


def check_filters(
    X: Array,
    W: Array,
    B: Array,
    kernel_shape: Sequence[int] | None,
    group: int,
    *,
    is_transposed: bool = False,
) -> None:
    """Raise InvalidNode where X, W, B and the attributes contradict each other.

    X: N×C×D1×…×Dn; W: M×C/group×k1×…×kn, or if it `is_transposed` C×M/group×k1×…×kn; B: [M], or
    None; kernel_shape: that of W, or None. Ranks are 3 or more, and a `group` of 1 or more divides
    the first axis of W.
    """
    ranks = f"X of rank {X.ndim} and W of rank {W.ndim}; allowed: both 3 or more"
    reject(X.ndim < 3 or W.ndim != X.ndim, ranks)
    first, second = W.shape[0], W.shape[1] * group
    channels, filters = (first, second) if is_transposed else (second, first)
    if group < 1 or X.shape[1] != channels or W.shape[0] % group:
        raise InvalidNode(f"X {list(X.shape)} and W {list(W.shape)} do not fit group {group}")
    if kernel_shape is not None and tuple(kernel_shape) != tuple(W.shape[2:]):
        raise InvalidNode(f"kernel_shape {list(kernel_shape)}, and W is {list(W.shape)}")
    check_shape("B", B, (filters,))


def windows_of_filters(
    X: Array, W: Array, B: Array, attributes: Attributes, open_sizes: Collection[Ruling]
) -> Windows:
    """Return the windows over X: "kernel_shape: If not present, should be inferred from input W."

    Raises InvalidNode for X, W, B, kernel_shape and group that contradict each other; for strides,
    dilations or pads of another length or out of range, an unknown auto_pad, and pads beside it;
    and for a size below 0. Of the rulings in `open_sizes`, SIZE_BELOW_0 may make that 0,
    NO_WINDOW_FITS may refuse a size of 0 too, and SIZE_UNDER_SAME may give SAME the input's size.
    Raises MemoryError for more than 2^28 windows, counted in each channel of X.
    """
    check_filters(X, W, B, attributes.kernel_shape, attributes.group)
    return windows_of(
        X.shape,
        W.shape[2:],
        strides=attributes.strides,
        dilations=attributes.dilations,
        pads=attributes.pads,
        auto_pad=attributes.auto_pad,
        open_sizes=open_sizes,
    )


#: Computes Y, N×M×O1×…×On, from X, W, B, the windows and the number of groups.
Convolution: TypeAlias = Callable[[Array, Array, Array, Windows, int], Array]


@formulas_of_versions(each={1: OPEN_SIZES_OF_1, 11: OPEN_SIZES, 22: OPEN_SIZES}, alike=(1, 11))
def conv(
    convolution: Convolution,
    open_sizes: Collection[Ruling],
    X: Array,
    W: Array,
    B: Array = None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Return Y, N×M×O1×…×On, by a convolution of the windows that the attributes describe.

    X: N×C×D1×…×Dn; W: M×C/group×k1×…×kn; B: [M], None for zeros; attributes: None for the defaults.
    An infinite weight or NaN on padding makes NaN, or nothing: INFINITE_WEIGHT_ON_PADDING.
    convolution: computes Y; open_sizes: the rulings on sizes that this version leaves open.

    Raises InvalidNode for shapes and attributes that do not fit each other, strides, dilations or a
    group below 1, pads below 0, an unknown auto_pad, and pads beside one. Where no window fits the
    output is empty, or raises it: NO_WINDOW_FITS, SIZE_BELOW_0. In version 1 an output under SAME
    has a window for each stride, or the input's size: SIZE_UNDER_SAME. Raises MemoryError for more
    than 2^28 windows, counted in each channel of X.
    """
    attributes = Attributes(
        kernel_shape=kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        group=group,
    )
    windows = windows_of_filters(X, W, B, attributes, open_sizes)
    return convolution(X, W, B, windows, group)


# ── sums ──────────────────────────────────────────────────────────────────────────────────────


def of_channels(B: Array, axes: int) -> Array:
    """Return B, [M], as M×1×…×1 for so many spatial axes; None if it is None."""
    return None if B is None else xp.reshape(B, (-1, *[1] * axes))


@CONV.formula(build=conv)
def by_windows(X: Array, W: Array, B: Array, windows: Windows, group: int) -> Array:
    """Return for each window and filter the sum of their products, and B: N×M×O1×…×On.

    X: N×C×D1×…×Dn; W: M×C/group×k1×…×kn; B: [M], or None for no addend. A weight that is infinite
    or NaN makes NaN of padding, its product with 0, or adds nothing there:
    INFINITE_WEIGHT_ON_PADDING.
    """
    bias = of_channels(B, len(windows.axes))
    terms = prod(W.shape[1:])
    multiply = partial(products, windows, group)
    y = xp.bilinear(W, X, multiply, terms, bias)
    if np.all(xp.isfinite(W)) or np.all(windows.terms == prod(W.shape[2:])):
        return y
    if INFINITE_WEIGHT_ON_PADDING.reading() == "product_with_0":
        return y
    infinite = products_with_infinities(multiply, xp.values_of(W), xp.values_of(X))
    y = xp.bilinear(finite_part(W), finite_part(X), multiply, terms, bias)
    return y + xp.astype(infinite, X.dtype)


def finite_part(x: Array) -> Array:
    """Return `x` with 0 in place of infinities and NaN."""
    return xp.where(xp.isfinite(x), x, xp.zeros_like(x))


def products(
    windows: Windows,
    group: int,
    w: NDArray[np.generic],
    x: NDArray[np.generic],
    multiply: Callable[[Array, Array], Array] = matmul,
) -> Array:
    """Return the sums without B: the filters of each group times the elements under windows.

    w: M×C/group×k1×…×kn; x: N×C×D1×…×Dn, in which padding counts as 0; the result: N×M×O1×…×On.
    `multiply` is a product of matrices.
    """
    batch, channels, *lengths = x.shape
    filters = w.shape[0]
    terms = prod(w.shape[1:])
    matrices = w.reshape(group, filters // group, terms)
    # What stands for padding is the last element, a 0.
    padded = np.pad(x.reshape(batch, channels, prod(lengths)), [(0, 0), (0, 0), (0, 1)])
    parts = []
    for part in windows.portions(batch * terms * group):
        # Of a group, as in W: its channels, and within them the places of the kernel.
        under = np.take(padded, part.places(lengths), axis=2)
        under = under.reshape(batch, group, terms, prod(part.shape[2:]))
        parts.append(multiply(matrices, under).reshape(batch, filters, *part.shape[2:]))
    return np.concatenate(parts, axis=2)


def products_with_infinities(
    multiply: Callable[[Array, Array], Array], w: NDArray[np.float64], x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sums of those products alone that have an infinite factor, or NaN.

    w: the filters; x: the input, both in the shapes that `multiply` takes. The result has the shape
    of the output. `multiply` is `products` of windows: a sum of 0 and 1 counts products, none of
    them of padding. The result holds infinities, NaN, and 0 where there is no such product.
    """

    def number_of(is_w: NDArray[np.bool_], is_x: NDArray[np.bool_]) -> Array:
        """Return how many products of these weights and elements are not of finite numbers."""
        of_all = multiply(is_w.astype(np.float64), is_x.astype(np.float64))
        is_finite_w = is_w & np.isfinite(w)
        is_finite_x = is_x & np.isfinite(x)
        return of_all - multiply(is_finite_w.astype(np.float64), is_finite_x.astype(np.float64))

    upwards = number_of(w > 0, x > 0) + number_of(w < 0, x < 0)
    downwards = number_of(w > 0, x < 0) + number_of(w < 0, x > 0)
    # The product of an infinity and 0, or of NaN and anything, is NaN.
    has_sign = (w > 0) | (w < 0)
    is_undefined = ~(x > 0) & ~(x < 0)
    undefined = number_of(~has_sign, np.ones(x.shape, bool)) + number_of(has_sign, is_undefined)
    is_nan = (undefined > 0) | ((upwards > 0) & (downwards > 0))
    infinity = np.where(upwards > 0, np.inf, np.where(downwards > 0, -np.inf, 0.0))
    return np.where(is_nan, np.nan, infinity)


# ── Winograd's tiles ──────────────────────────────────────────────────────────────────────────

# The text gives the result and not the way, and shipped kernels make the same sums of a quarter of
# the products. But these errors are in proportion to the largest elements of a tile, not to those
# under a window, and some ten times as large: an output that they alone explains is a warning.

#: The transforms of F(4×4, 3×3) for the points 0, ±1, ±2 and infinity: of tiles, filters, outputs.
TILE = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
)
FILTER = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24
OUT = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])


def is_of_3(axis: AxisWindows) -> bool:
    """Return True for windows of three neighbors that move by one element."""
    return (axis.kernel, axis.stride, axis.dilation) == (3, 1, 1)


@CONV.alternative("where tiles are filtered by Winograd's F(4×4, 3×3)", build=conv)
def by_tiles(X: Array, W: Array, B: Array, windows: Windows, group: int) -> Array:
    """Return for each window and filter the sum of their products, and B: N×M×O1×…×On.

    X: N×C×D1×…×Dn; W: M×C/group×k1×…×kn; B: [M], or None. Filters of 3×3, with strides and
    dilations of 1, are computed in tiles of 4×4 outputs, from transforms of 6×6 elements: an
    infinity or NaN may reach all outputs of its tile. Others are computed window by window, where
    an infinite weight makes NaN of padding, or adds nothing: INFINITE_WEIGHT_ON_PADDING.
    """
    axes = windows.axes
    if len(axes) != 2 or not all(map(is_of_3, axes)):
        return by_windows(X, W, B, windows, group)
    batch, channels, *lengths = X.shape
    filters, channels_of_group = W.shape[:2]
    counts = [-(-axis.size // 4) for axis in axes]
    tiles = [
        replace(axis, kernel=6, stride=4, size=count)
        for axis, count in zip(axes, counts, strict=True)
    ]
    places = Windows((batch, channels), tuple(tiles)).places(lengths)
    # What stands for padding is the last element, a 0.
    x = xp.pad(xp.reshape(X, (batch, channels, prod(lengths))), ((0, 0), (0, 0), (0, 1)))
    x = transformed(TILE, xp.take(x, places, axis=2), 2)
    w = transformed(FILTER, xp.reshape(W, (filters, channels_of_group, 9)), 2)
    w = xp.reshape(w, (36, 1, group, filters // group, channels_of_group))
    x = xp.reshape(x, (36, batch, group, channels_of_group, prod(counts)))
    y = xp.matmul(w, x)
    y = xp.reshape(transformed(OUT, y, 0), (4, 4, batch, filters, *counts))
    y = xp.permute_dims(y, (2, 3, 4, 0, 5, 1))
    y = xp.reshape(y, (batch, filters, 4 * counts[0], 4 * counts[1]))
    y = y[:, :, : axes[0].size, : axes[1].size]
    return y if B is None else y + of_channels(B, 2)


def transformed(matrix: NDArray[Any], x: Array, axis: int) -> Array:
    """Return M x M^T of each square x, whose elements lie along `axis` in row-major order.

    matrix: M, which need not be square. The elements of the result lie along its first axis.
    """
    # As one product: kron(M, M) times the elements. The error bound is of two products of M.
    both = partial(np.tensordot, axes=([1], [axis]))
    return xp.bilinear(np.kron(matrix, matrix), x, both, 2 * matrix.shape[1])


# ── mutants of Conv ───────────────────────────────────────────────────────────────────────────

#: X, W and B, which is None if it is left out.
Operands: TypeAlias = tuple[Array, Array, Array]
#: What a mutant makes of X, W and B, from these and the number of groups.
OperandsChange: TypeAlias = Callable[[Array, Array, Array, int], Operands]


def dealt_to_groups(x: Array, axis: int, group: int) -> Array:
    """Return `x` with its channels along `axis` dealt to the groups in turns.

    The first channel is the first group's, the second the second group's, and so on: of 6 channels
    and 2 groups they come in the order 0, 2, 4, 1, 3, 5. `group` divides the number of channels.
    """
    shape = x.shape
    split = (*shape[:axis], shape[axis] // group, group, *shape[axis + 1 :])
    hands: Array = xp.reshape(x, split)
    return xp.reshape(hands.swapaxes(axis, axis + 1), shape)


def taken_from_groups(x: Array, axis: int, group: int) -> Array:
    """Return `x` with its channels along `axis` taken from the groups in turns.

    The first channel of each group comes first, then the second ones, and so on: of 6 channels and
    2 groups they come in the order 0, 3, 1, 4, 2, 5. `group` divides the number of channels.
    """
    shape = x.shape
    split = (*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :])
    groups: Array = xp.reshape(x, split)
    return xp.reshape(groups.swapaxes(axis, axis + 1), shape)


def turned(W: Array) -> Array:
    """Return filters, M×C×k1×…×kn, with each spatial axis from its end to its beginning."""
    return xp.flip(W, axis=tuple(range(2, W.ndim)))


def kernel_turned(X: Array, W: Array, B: Array, group: int) -> Operands:
    """Mutant: a convolution as in mathematics."""
    return X, turned(W), B


def last_tap_missing(X: Array, W: Array, B: Array, group: int) -> Operands:
    """Mutant: the last weight of each filter and channel is 0."""
    kernel = W.shape[2:]
    is_kept = np.arange(prod(kernel))[::-1].reshape(kernel)
    return X, np.where(is_kept, W, W.dtype.type(0)), B


def kernel_transposed(X: Array, W: Array, B: Array, group: int) -> Operands:
    """Mutant: the first two axes of a square kernel are exchanged."""
    is_square = W.shape[2:3] == W.shape[3:4]
    return X, W.swapaxes(2, 3) if is_square else W, B


def input_channels_in_turns(X: Array, W: Array, B: Array, group: int) -> Operands:
    """Mutant: the first channel is the first group's, the second the second group's, and so on."""
    return dealt_to_groups(X, 1, group), W, B


def filters_in_turns(X: Array, W: Array, B: Array, group: int) -> Operands:
    """Mutant: the first filter is the first group's, the second the second group's, and so on."""
    return X, dealt_to_groups(W, 0, group), B


def first_group_for_all(X: Array, W: Array, B: Array, group: int) -> Operands:
    """Mutant: each group has the filters of the first."""
    return X, xp.concat([W[: len(W) // group]] * group), B


def first_bias_for_all(X: Array, W: Array, B: Array, group: int) -> Operands:
    """Mutant: each filter has the first one's bias."""
    return X, W, first_for_all(B)


def first_for_all(x: Array) -> Array:
    """Return `x` with its first entry in place of all; None if it is None."""
    return None if x is None else xp.broadcast_to(x[:1], x.shape)


#: Mutants that every convolution has.
OPERANDS: NamedMutants[OperandsChange] = {
    "kernel_turned": ("the kernel was turned around, as in mathematics", kernel_turned),
    "last_tap_missing": ("the last tap of each filter was left out", last_tap_missing),
    "kernel_transposed": (
        "the first two axes of the kernel were exchanged where it is square",
        kernel_transposed,
    ),
    "input_channels_in_turns": (
        "the input's channels went to the groups in turns",
        input_channels_in_turns,
    ),
    "filters_in_turns": ("the filters went to the groups in turns", filters_in_turns),
    "first_group_for_all": ("the first group's filters served for all", first_group_for_all),
    "first_bias_for_all": (
        "of the bias the first element served for all",
        first_bias_for_all,
    ),
}


def of_operands(
    convolution: Convolution, changes: NamedMutants[OperandsChange]
) -> NamedMutants[Convolution]:
    """Return mutants, by name, that compute rightly with wrong operands.

    `changes` has for each a text, and what makes X, W and B of these and the number of groups. Each
    is a text and the convolution, as `mutant_table` takes them.
    """

    def changed(
        change: OperandsChange, X: Array, W: Array, B: Array, windows: Windows, group: int
    ) -> Array:
        """Return the convolution of what `change` makes of X, W and B."""
        X, W, B = change(X, W, B, group)
        return convolution(X, W, B, windows, group)

    return {name: (text, partial(changed, change)) for name, (text, change) in changes.items()}


def outputs_in_turns(X: Array, W: Array, B: Array, windows: Windows, group: int) -> Array:
    """Mutant: the outputs of filters are written in turns of the groups."""
    y = taken_from_groups(by_windows(X, W, None, windows, group), 1, group)
    return y if B is None else y + of_channels(B, X.ndim - 2)


def groups_in_turns(X: Array, W: Array, B: Array, windows: Windows, group: int) -> Array:
    """Mutant: the second filter takes the second group of channels, and so on."""
    return outputs_in_turns(X, dealt_to_groups(W, 0, group), B, windows, group)


CONV.mutant_table(of_operands(by_windows, OPERANDS), build=conv)
CONV.mutant_table(
    {
        "groups_in_turns": ("each filter was given the next group of channels", groups_in_turns),
        "outputs_in_turns": (
            "the filters' outputs were written in turns of the groups",
            outputs_in_turns,
        ),
    },
    build=conv,
)


# ── CausalConvWithState ───────────────────────────────────────────────────────────────────────


def over_time(x: Array, weight: Array, bias: Array) -> Array:
    """Return each channel's sums of products of its kernel and the elements under windows.

    x: [batch_size, channels, k - 1 + L]; weight: [channels, 1, k]; bias: [channels], or None; the
    result: [batch_size, channels, L], empty where x is. There is no padding. Raises MemoryError for
    more than 2^28 elements.
    """
    if not x.size:
        return x[..., weight.shape[2] - 1 :]
    return by_windows(x, weight, bias, windows_of(x.shape, weight.shape[2:]), x.shape[1])


def as_computed(y: Array, dtype: np.dtype[np.generic]) -> Array:
    """Return the sums as they are; a step that an alternative does otherwise."""
    return y


def stored(y: Array, dtype: np.dtype[np.generic]) -> Array:
    """Return the sums rounded to `dtype` if it has 16 bits, else as they are.

    They are so kept between two operators.
    """
    # What is computed of such a type is in float32: a cast to its own type alone rounds nothing.
    return xp.astype(xp.astype(y, np.float32), dtype) if dtype.itemsize == 2 else y


def swish(y: Array) -> Array:
    """Return silu(y), which is swish with alpha = 1: y * sigmoid(y)."""
    return y * sigmoid(y)


def last_elements(x: Array, length: int) -> Array:
    """Return the next state: the last k - 1 elements of `x`, the state with the input behind it.

    length: that of the input.
    """
    return x[:, :, length:]


@dataclass(frozen=True)
class Steps:
    """The steps of CausalConvWithState, each of which some mutant does otherwise.

    Attributes:
        convolution: From the state with the input behind it, `weight` and `bias`; see `over_time`.
        between: What is made of the sums before the activation, by the input's type.
        activation: silu, which is also called swish.
        state: The next state, from the state with the input behind it, and the input's length.
    """

    convolution: Callable[[Array, Array, Array], Array] = over_time
    between: Callable[[Array, np.dtype[np.generic]], Array] = as_computed
    activation: Callable[[Array], Array] = swish
    state: Callable[[Array, int], Array] = last_elements


@formulas_of_versions(27)
def causal_conv_with_state(
    steps: Steps,
    input: Array,
    weight: Array,
    bias: Array = None,
    past_state: Array = None,
    *,
    activation: str,
) -> tuple[Array, Array]:
    """Return the output, of the input's shape, and the next state, [batch_size, channels, k - 1].

    input: [batch_size, channels, L]; weight: [channels, 1, k]; bias: [channels], None for zeros;
    past_state as the next one, zeros if it is None. L may be 0: the state then stays. silu and
    swish are one activation, y * sigmoid(y).

    Raises InvalidNode for other shapes, a k of 0, and an activation other than silu, swish and
    none; MemoryError for an output of more than 2^28 elements.
    """
    kernel = weight.shape[-1] if weight.ndim == 3 else 0
    channels = input.shape[1:2]
    if input.ndim != 3 or not kernel or weight.shape != (*channels, 1, kernel):
        raise InvalidNode(f"input {list(input.shape)} and weight {list(weight.shape)}")
    before = (*input.shape[:2], kernel - 1)
    check_shape("bias", bias, channels)
    check_shape("past_state", past_state, before)
    check_one_of("activation", activation, "silu", "swish", "none")
    past = np.zeros(before, np.float32) if past_state is None else past_state
    x = xp.concat([xp.astype(past, input.dtype), input], axis=2)
    y = steps.between(steps.convolution(x, weight, bias), input.dtype)
    state = steps.state(x, input.shape[2])
    return y if activation == "none" else steps.activation(y), state


CAUSAL.formula(build=causal_conv_with_state)(Steps())
# The function body rounds between its operators.
CAUSAL.alternative("", build=causal_conv_with_state)(Steps(between=stored))


# ── mutants of CausalConvWithState ────────────────────────────────────────────────────────────


def over_time_backwards(x: Array, weight: Array, bias: Array) -> Array:
    """Mutant: a convolution as in mathematics, with the kernel turned around in time.

    Raises MemoryError for more than 2^28 elements.
    """
    return over_time(x, weight[..., ::-1], bias)


def ahead(x: Array, weight: Array, bias: Array) -> Array:
    """Mutant: half of the kernel is on elements that follow, and on zeros behind the last.

    Raises MemoryError for more than 2^28 elements.
    """
    half = weight.shape[2] // 2
    moved = np.concat([x[..., half:], np.zeros_like(x[..., :half])], axis=2)
    return over_time(moved, weight, bias)


def by_the_first_kernel(x: Array, weight: Array, bias: Array) -> Array:
    """Mutant: each channel has the first one's kernel.

    Raises MemoryError for more than 2^28 elements.
    """
    return over_time(x, np.broadcast_to(weight[:1], weight.shape), bias)


def by_the_first_bias(x: Array, weight: Array, bias: Array) -> Array:
    """Mutant: each channel has the first one's bias.

    Raises MemoryError for more than 2^28 elements.
    """
    return over_time(x, weight, first_for_all(bias))


def first_elements(x: Array, length: int) -> Array:
    """Mutant: the first k - 1 elements are the next state."""
    return x[:, :, : x.shape[2] - length]


def zeros_before(x: Array, length: int) -> Array:
    """Mutant: an input shorter than the state has zeros before it, and not the past."""
    is_past = np.arange(x.shape[2]) < x.shape[2] - length
    return np.where(is_past, 0, x)[:, :, length:].astype(x.dtype)


CAUSAL.mutant_table(
    {
        "kernel_turned": (
            "the kernel was turned around, as in mathematics",
            Steps(convolution=over_time_backwards),
        ),
        "ahead": ("half of the kernel stood on elements that follow", Steps(convolution=ahead)),
        "first_kernel_for_all": (
            "the first channel's kernel served for all",
            Steps(convolution=by_the_first_kernel),
        ),
        "first_bias_for_all": (
            "of the bias the first element served for all",
            Steps(convolution=by_the_first_bias),
        ),
        "sigmoid_alone": ("the sigmoid did not multiply its argument", Steps(activation=sigmoid)),
        "first_elements_kept": (
            "the first elements became the state, not the last",
            Steps(state=first_elements),
        ),
        "zeros_before_short_inputs": (
            "of inputs shorter than the state the past was not kept",
            Steps(state=zeros_before),
        ),
    },
    build=causal_conv_with_state,
)
