"""Axis and window arithmetic: ranges, negative axes, two dimensions; sizes, padding, elements held.

Along a spatial axis of D elements the window with number i holds the positions
i·stride − begin + j·dilation for j = 0 … kernel−1; those outside [0, D−1] are padding. Sizes are
Python integers, so that no attribute is too large to compute with, and padding is never stored.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.operators import check_one_of
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import (
    NEGATIVE_AXIS,
    NEGATIVE_AXIS_BUT_THE_LAST,
    ONE_ELEMENT_AS_A_SCALAR,
)
from opcheck.errors import InvalidNode, decline, reject
from opcheck.model import Array
from opcheck.numbers.arithmetic import Kind
from opcheck.numbers.faulty import bare

#: The most axes of NumPy's arrays.
_MOST_AXES = 64
#: The most elements of an output: no memory is to be tried for more.
_LARGEST = 1 << 28
#: Bytes of the largest element of an array.
_ITEM_SIZE = 8
#: The most elements that a portion of windows reads, and that are gathered at once.
_PORTION = 1 << 22
_GATHERED = 1 << 18
#: From here on positions are computed in Python integers: int64 may not hold sums of them.
_WIDE = 1 << 62
FloatArray: TypeAlias = NDArray[Any]
Places: TypeAlias = NDArray[np.intp]

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
#: SAME with the odd one of its padding at the other end.
OTHER_SAME = {"SAME_UPPER": "SAME_LOWER", "SAME_LOWER": "SAME_UPPER"}

# What some texts leave open about the number of windows: see `windows_of`.
SIZE_UNDER_SAME = Ruling(
    "size-under-same",
    "The padding of SAME makes the output match the input: literally, or a window for each stride.",
    ("window_for_each_stride", "size_of_the_input"),
)
PART_OF_A_WINDOW = Ruling(
    "part-of-a-window",
    "By the formula no window fits where less than a stride is missing; ONNX's shape inference cuts"
    " the fraction off, and declares one.",
    ("no_window", "one_window"),
)
NO_WINDOW_FITS = Ruling(
    "no-window-fits",
    "The text does not state whether an output of size 0 is legal.",
    ("empty", "refused"),
)
SIZE_BELOW_0 = Ruling(
    "size-below-0",
    "The text has no formula of sizes: where no window fits, the output may be empty.",
    ("refused", "empty"),
)


@xp.primitive
def from_either_end(axis: int, rank: int) -> int:
    """Return `axis` counted from the front: "Accepted range is [-r, r-1] where r = rank(input)".

    Raises InvalidNode out of that range, as every axis of rank 0 is.
    """
    reject(not -rank <= axis < rank, f"axis {axis} is outside {_range(-rank, rank)}")
    return axis % rank


def distinct(
    axes: Sequence[int], rank: int, counted: Callable[[int, int], int] = from_either_end
) -> tuple[int, ...]:
    """Return axes counted from the front by `counted`, in their order.

    Raises NotSupported if one is named twice, as texts call that undefined, or do not mention it;
    InvalidNode for an axis out of range.
    """
    places = tuple(counted(axis, rank) for axis in axes)
    decline(len({*places}) < len(places), "nothing is said of axes that are named twice")
    return places


@xp.primitive
def from_the_front(axis: int, rank: int) -> int:
    """Return `axis` where the text documents no negative values: in [0, r-1].

    A negative axis is refused, or counts from the back: NEGATIVE_AXIS. Raises InvalidNode for one
    that is refused or out of range, as every axis of rank 0 is.
    """
    if -rank <= axis < 0 and NEGATIVE_AXIS.reading() == "from_the_back":
        return axis + rank
    reject(not 0 <= axis < rank, f"axis {axis} is outside {_range(0, rank)}")
    return axis


def from_the_front_or_last(axis: int, rank: int) -> int:
    """Return `axis` counted from the front where the text documents no negative value but -1.

    Another negative axis counts from the back, or is refused: NEGATIVE_AXIS_BUT_THE_LAST. Raises
    InvalidNode for one that is refused, and for an axis outside of [-r, r-1].
    """
    is_open = -rank <= axis < -1
    if is_open and NEGATIVE_AXIS_BUT_THE_LAST.reading() == "refused":
        raise InvalidNode(f"axis {axis}: this version mentions no negative axis but -1")
    return from_either_end(axis, rank)


def listed(name: str, numbers: Any) -> list[int]:
    """Return the whole numbers of a list, which is an attribute or a tensor; fractions are cut off.

    name: in the message. Raises InvalidNode for another rank than 1.
    """
    reject(np.ndim(numbers) != 1, f"{name} of shape {list(np.shape(numbers))} is no list")
    return [int(number) for number in numbers]


def check_scalar(name: str, x: Any) -> None:
    """Raise InvalidNode for a tensor, called `name`, of no or several elements.

    One element of rank 1 or more is a scalar or refused so: ONE_ELEMENT_AS_A_SCALAR.
    """
    wrong = f"{name} of shape {list(np.shape(x))}; allowed: a scalar"
    reject(x.size != 1, wrong)
    reject(x.ndim > 0 and ONE_ELEMENT_AS_A_SCALAR.reading() == "refused", wrong)


def scalar(name: str, x: Any) -> Any:
    """Return the number of a tensor of one element, as Python has it.

    `name` is for messages. Raises InvalidNode for no or several elements, NotSupported for a number
    that rounding may have touched. One element of rank 1 or more is a scalar or refused:
    ONE_ELEMENT_AS_A_SCALAR.
    """
    x = bare(x)
    check_scalar(name, x)
    decline(isinstance(x, Kind), f"rounding decides {name}")
    return x.item()


def check_axes(count: int) -> None:
    """Raise NotSupported for an array of more axes than NumPy has."""
    decline(count > _MOST_AXES, f"NumPy has no arrays of {count} axes")


def check_size(shape: Sequence[int]) -> None:
    """Raise MemoryError for an output that is too large, NotSupported for too many axes.

    That is more than 2^28 elements, more bytes than an address counts, an empty axis counted as 1;
    more than 64 axes.
    """
    check_axes(len(shape))
    # NumPy counts an empty axis as one element where it addresses them.
    addressed = _ITEM_SIZE * prod(max(1, size) for size in shape)
    if addressed > np.iinfo(np.intp).max or prod(shape) > _LARGEST:
        raise MemoryError(f"no array can hold an output of shape {tuple(shape)}")


@xp.primitive
def elements_at(indices: Any, length: int, *, back: bool) -> Any:
    """Return indices along an axis of this length, counted from the front, in their shape.

    Those below 0 count from the `back` if the text says so. Raises InvalidNode where one is out of
    [-length, length-1], or [0, length-1] without `back`; no index fits an axis of length 0.
    """
    low = -length if back else 0
    is_outside = (indices < low) | (indices >= length)
    if is_outside.any():
        allowed = f"[{low}, {length - 1}]" if length else "an axis of length 0"
        raise InvalidNode(f"index {indices[is_outside][0]} is outside {allowed}")
    return np.where(indices < 0, indices + length, indices)


@xp.primitive
def matrix_of(shape: Sequence[int], axis: int) -> tuple[int, int]:
    """Return the shape of the matrix that versions 1 and 11 of some operators work on.

    It is [a_0 * … * a_{k-1}, a_k * … * a_{n-1}], where k is the axis, counted from the front.
    """
    return prod(shape[:axis]), prod(shape[axis:])


@xp.primitive
def broadcast(*arrays: Any) -> tuple[Any, ...]:
    """Return the arrays broadcast to each other as NumPy's are.

    Raises InvalidNode where they do not fit.
    """
    shape = common_shape(*(x.shape for x in arrays))
    return tuple(xp.broadcast_to(x, shape) for x in arrays)


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which all of the shapes broadcast.

    Raises InvalidNode where there is none.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed_shapes = ", ".join(str(list(shape)) for shape in shapes)
        raise InvalidNode(f"the shapes {listed_shapes} do not broadcast") from None


def stretches(name: str, x: Any, other: Any) -> None:
    """Raise InvalidNode unless `x` broadcasts to the shape of `other`, which stays as it is.

    name: in the message.
    """
    shape = list(x.shape)
    wanted = list(other.shape)
    fits = all(n in (1, m) for n, m in zip(shape[::-1], wanted[::-1], strict=False))
    if len(shape) > len(wanted) or not fits:
        raise InvalidNode(f"{name} of shape {shape} does not broadcast to {wanted}")


def _range(low: int, end: int) -> str:
    """Return the axes from `low` to before `end` as a message has them."""
    return f"[{low}, {end - 1}]" if low < end else f"the empty range of a rank-{end} tensor"


def slices(count: int, step: int) -> list[slice]:
    """Return slices of the numbers below `count`, `step` at a time; none for 0.

    step: 1 or more. The last slice may be shorter.
    """
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


@dataclass(frozen=True)
class AxisWindows:
    """The windows along one spatial axis.

    Attributes:
        length: The elements of the axis.
        kernel: The elements of a window.
        stride: How far a window is from the one before.
        dilation: How far an element of a window is from the one before.
        begin: The padding before the axis.
        size: The number of windows.
        end: The padding behind the axis.
        auto_pad: How padding and number follow; see `windows_of`.
        ceil: The number is rounded up.
    """

    length: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    size: int
    end: int = 0
    auto_pad: str = "NOTSET"
    ceil: bool = False

    @property
    def most(self) -> int:
        """The most elements that are no padding and may lie in one window."""
        return min(self.kernel, -(-self.length // self.dilation))

    @property
    def width(self) -> int:
        """The elements from the first of a window to its last, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def span(self) -> int:
        """The elements from the first of all windows to the last, padding included."""
        return (self.size - 1) * self.stride + self.width

    @property
    def room(self) -> int:
        """The largest distance that a window can move, where nothing is SAME."""
        return self.length + self.begin + self.end - self.width

    @property
    def same(self) -> bool:
        """True if the padding follows from the output's size."""
        return self.auto_pad.startswith("SAME")

    @property
    def is_lower(self) -> bool:
        """True if the odd one of SAME's padding comes before the input."""
        return self.auto_pad == "SAME_LOWER"

    @property
    def hangs(self) -> bool:
        """True if a window may reach beyond the padding."""
        return self.ceil and self.auto_pad == "NOTSET"

    def padding(self, size: int) -> int:
        """Return the total padding of SAME for an output of this size, at least 0."""
        return max(0, (size - 1) * self.stride + self.width - self.length)

    def begin_of_same(self, size: int) -> int:
        """Return how much of the padding of SAME for an output of this size is at the beginning.

        The odd one is there under SAME_LOWER alone.
        """
        odd = 1 if self.is_lower else 0
        return (self.padding(size) + odd) // 2

    def planned(self) -> "AxisWindows":
        """Return the windows that the arguments ask for, with `size`, and with `begin` under SAME.

        The size is 0 or less where no window fits; nothing is raised.
        """
        if self.same:
            size = up(self.length, self.stride)
            return replace(self, begin=self.begin_of_same(size), size=size)
        moves = up(self.room, self.stride) if self.hangs else self.room // self.stride
        return replace(self, size=moves + 1)

    @property
    def offsets(self) -> range:
        """The j at which any window holds an element."""
        low = up(self.begin - (self.size - 1) * self.stride, self.dilation)
        high = (self.begin + self.length - 1) // self.dilation
        return range(max(0, low), min(self.kernel - 1, high) + 1)

    def cut(self, windows: range | slice) -> "AxisWindows":
        """Return the windows from windows.start to before windows.stop, which are in range."""
        begin = self.begin - windows.start * self.stride
        return replace(self, begin=begin, size=windows.stop - windows.start)

    def reach(self, j: int) -> tuple[slice, slice]:
        """Return the windows that hold an element at offset j, and those elements.

        The first is a slice of windows, the second one of the axis with a step of `stride`; both
        have the same length, which may be 0.
        """
        at = j * self.dilation - self.begin
        low = max(0, up(-at, self.stride))
        end = max(low, min(self.size, (self.length - 1 - at) // self.stride + 1))
        first = low * self.stride + at
        return slice(low, end), slice(first, first + (end - low) * self.stride, self.stride)

    @property
    def places(self) -> Places:
        """The place of the element at each offset of each window, -1 for padding.

        It has the shape (kernel, size).
        """
        places = np.full((self.kernel, self.size), -1, np.intp)
        for j in self.offsets:
            windows, elements = self.reach(j)
            count = windows.stop - windows.start
            if count:
                places[j, windows] = elements.start + np.arange(count) * self.stride
        return places

    def spans(self, numbers: Places) -> tuple[Places, Places]:
        """Return the first element of each of these windows, and how many it holds.

        They are `dilation` apart. Padding does not count; a window of padding alone has 0 elements
        from 0. numbers: of windows, from 0 on, of any shape, which both results have.
        """
        farthest = (self.size + 1) * self.stride + self.begin + self.length
        is_wide = farthest + self.kernel * self.dilation >= _WIDE
        start = numbers.astype(object if is_wide else np.int64) * self.stride - self.begin
        low = np.maximum(0, -(start // self.dilation))
        high = np.minimum(self.kernel - 1, (self.length - 1 - start) // self.dilation)
        count = np.maximum(0, high - low + 1).astype(np.intp)
        return np.where(count > 0, start + low * self.dilation, 0).astype(np.intp), count


@dataclass(frozen=True)
class Windows:
    """The windows of a pooling over a tensor of shape N×C×D1×…×Dn.

    Attributes:
        outer: N and C.
        axes: The windows along each spatial axis.
    """

    outer: tuple[int, int]
    axes: tuple[AxisWindows, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return (*self.outer, *(axis.size for axis in self.axes))

    @cached_property
    def most(self) -> int:
        """The most elements that are no padding and may lie in one window."""
        return prod(axis.most for axis in self.axes)

    @cached_property
    def terms(self) -> Places:
        """The number of elements in each window, which broadcasts to the output's shape.

        Padding does not count. An axis along which all windows have as many has length 1.
        """
        terms = np.ones((), np.intp)
        for n, axis in enumerate(self.axes):
            _, count = axis.spans(np.arange(axis.size))
            if count.size and (count == count[0]).all():
                count = count[:1]
            behind = len(self.axes) - 1 - n
            terms = terms * count.reshape(-1, *[1] * behind)
        return terms

    def portions(self, weight: int) -> "Iterator[Windows]":
        """Yield the windows in portions along the first spatial axis, if each weighs this much.

        weight: of one window. A portion weighs _PORTION or less, or is one row of windows. Without
        windows there is one empty portion.
        """
        first, *others = self.axes
        weight_of_each = weight * prod(axis.size for axis in others)
        size = max(1, _PORTION // max(1, weight_of_each))
        for portion in slices(first.size, size) or [slice(0, 0)]:
            yield Windows(self.outer, (first.cut(portion), *others))

    def places(self, lengths: Sequence[int]) -> Places:
        """Return the row-major place of each element of each window, -1 for padding.

        It has the shape (elements, windows), and counts in a block of these lengths, one for each
        axis.
        """
        places = np.zeros((1, 1), np.intp)
        for axis, length in zip(self.axes, lengths, strict=True):
            outer = places[:, None, :, None]
            inner = axis.places[None, :, None, :]
            both = np.where((outer < 0) | (inner < 0), -1, outer * length + inner)
            places = both.reshape(len(places) * axis.kernel, places.shape[1] * axis.size)
        return places

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of `values` over every window without padding; 0 of none.

        values: of the input's shape. The result has the shape of the output.
        """
        return self.reduced(values, np.add, 0)

    def reduced(self, values: Array, function: np.ufunc, of_padding: Any) -> Array:
        """Return each window reduced by a ufunc, one axis after the other.

        The result has the shape of the output. values: of the input's shape; of_padding: what a
        window of padding alone has, neutral for function.
        """
        if not values.size or not prod(self.shape):
            return np.full(self.shape, of_padding, values.dtype)
        lengths = values.shape[2:]
        growth = [axis.size / length for axis, length in zip(self.axes, lengths, strict=True)]
        # The axes that shrink most come first, so that what lies between stays small.
        for n in sorted(range(len(self.axes)), key=growth.__getitem__):
            values = _reduced_along(values, n + 2, self.axes[n], function, of_padding)
        return values

    def folded(self, columns: FloatArray) -> FloatArray:
        """Return the windows' elements added up where they lie, and 0 where no window does.

        columns: (planes, *kernel, *windows). The result has the shape (planes, *lengths).
        """
        count = len(self.axes)
        for n, axis in enumerate(self.axes):
            # An axis of the kernel, and that of its windows behind those that are left.
            source = np.moveaxis(columns, (1, 1 + count - n), (0, 1))
            target = np.zeros((axis.length, *source.shape[2:]), columns.dtype)
            for j in axis.offsets:
                windows, elements = axis.reach(j)
                target[elements] += source[j, windows]
            columns = np.moveaxis(target, 0, -1)
        return columns

    def gathered(self, x: Array, places: Places) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the windows whose outputs have these row-major places, in portions.

        x: the input, a plain array, not empty. Each portion is a slice of `places`, and the
        windows' elements as float64 of shape (n, K), with zeros where it holds fewer (K ≥ 1).
        """
        for portion in slices(len(places), max(1, _GATHERED // max(1, self.most))):
            index, is_held = self._index_of(np.unravel_index(places[portion], self.shape))
            with np.errstate(invalid="ignore"):  # a signalling NaN is a value like any other
                values = np.where(is_held, x[index].astype(np.float64), 0.0)
            yield portion, values.reshape(len(values), -1)

    def _index_of(self, numbers: Sequence[Places]) -> tuple[tuple[Places, ...], Array]:
        """Return an index of the elements of some windows, and which of them are no padding.

        numbers: N, C and the windows along each axis, each of shape (n,). What is indexed has the
        shape (n, K1, …, Kr).
        """
        rank = len(self.axes)
        index = [number.reshape(-1, *[1] * rank) for number in numbers[:2]]
        is_held: Any = True
        for n, axis in enumerate(self.axes):
            first, count = axis.spans(numbers[n + 2])
            j = np.arange(count.max(initial=1))
            is_held_along = j < count[:, None]
            at = np.where(is_held_along, first[:, None] + j * axis.dilation, 0)
            shape = (len(at), *[1] * n, len(j), *[1] * (rank - 1 - n))
            index.append(at.reshape(shape))
            is_held = is_held & is_held_along.reshape(shape)
        return tuple(index), is_held


def _reduced_along(
    x: Array, n: int, axis: AxisWindows, function: np.ufunc, of_padding: Any
) -> Array:
    """Return each window along axis `n` of `x` reduced by a ufunc, by the cheaper of two ways.

    axis: the windows along it. A window of padding alone gives `of_padding`. The axis of the result
    has an element for each window.
    """
    if len(axis.offsets) <= axis.size:
        return _reduced_by_offsets(x, n, axis, function, of_padding)
    return _reduced_by_windows(x, n, axis, function, of_padding)


def _reduced_by_offsets(
    x: Array, n: int, axis: AxisWindows, function: np.ufunc, of_padding: Any
) -> Array:
    """Return the windows reduced with the elements at one offset of all windows at a time.

    Reductions start from `of_padding`, which has to be neutral: 0 of sums. A window of padding
    alone gives it.
    """
    out: Array = np.empty((*x.shape[:n], axis.size, *x.shape[n + 1 :]), x.dtype)
    before = (slice(None),) * n
    every = slice(0, axis.size)
    reached = [axis.reach(j) for j in axis.offsets]
    # Those that all windows hold come first, and need nothing to begin with.
    of_all = [elements for windows, elements in reached if windows == every]
    of_some = [(windows, elements) for windows, elements in reached if windows != every]
    if len(of_all) > 1:
        function(x[*before, of_all[0]], x[*before, of_all[1]], out=out)
        of_all = of_all[2:]
    else:
        out[...] = of_padding
    for windows, elements in [*((every, elements) for elements in of_all), *of_some]:
        target = out[*before, windows]
        function(target, x[*before, elements], out=target)
    return out


def _reduced_by_windows(
    x: Array, n: int, axis: AxisWindows, function: np.ufunc, of_padding: Any
) -> Array:
    """Return the windows reduced one by one: a few long ones, such as one over the whole axis.

    A window of padding alone gives `of_padding`.
    """
    out: Array = np.empty((*x.shape[:n], axis.size, *x.shape[n + 1 :]), x.dtype)
    before = (slice(None),) * n
    firsts, counts = axis.spans(np.arange(axis.size))
    for i, (first, count) in enumerate(zip(firsts.tolist(), counts.tolist(), strict=True)):
        target = out[*before, i : i + 1]
        if count:
            elements = x[*before, slice(first, first + count * axis.dilation, axis.dilation)]
            target[...] = function.reduce(elements, axis=n, keepdims=True)
        else:
            target[...] = of_padding
    return out


@xp.primitive
def windows_of(
    shape: Sequence[int],
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    open_sizes: Collection[Ruling] = (),
) -> Windows:
    """Return the windows over an input of this shape, N×C×D1×…×Dn, from an operator's attributes.

    Output sizes, with the window's width w = (kernel−1)·dilation + 1:

        NOTSET: floor((D + pads − w) / stride) + 1, or ceil under ceil_mode
        VALID: ceil((D − w + 1) / stride)
        SAME_UPPER, SAME_LOWER: ceil(D / stride), padded by max(0, (size−1)·stride + w − D)

    The odd one of SAME's padding is at the end for UPPER, at the beginning for LOWER. VALID and
    SAME ignore ceil_mode, and under it a last window counts that starts in the padding. A size of 0
    is an empty output. None stands for strides and dilations of 1 and pads of 0.

    `open_sizes` are the rulings that apply because the operator's text is not so exact:
    SIZE_UNDER_SAME, PART_OF_A_WINDOW, NO_WINDOW_FITS, SIZE_BELOW_0.

    Raises InvalidNode for an input without spatial axes; a list of another length; a kernel_shape,
    strides or dilations below 1, pads below 0; an unknown auto_pad, and pads beside one other than
    NOTSET; a ceil_mode other than 0 and 1; and a size below 0. SIZE_BELOW_0 may make that empty,
    and NO_WINDOW_FITS refuse a size of 0 too. Raises MemoryError for an output of more than 2^28
    elements, NotSupported for more than 64 axes.
    """
    spatial = shape[2:]
    rank = len(spatial)
    reject(not spatial, f"input of rank {len(shape)}; allowed: 3 or more, N×C×D1×…×Dn")
    kernel_shape = for_axes("kernel_shape", kernel_shape, rank)
    strides = for_axes("strides", strides, rank)
    dilations = for_axes("dilations", dilations, rank)
    check_one_of("auto_pad", auto_pad, *AUTO_PADS)
    check_one_of("ceil_mode", ceil_mode, 0, 1)
    padding = for_axes("pads", pads, rank, least=0, sides=2)
    if pads is not None and auto_pad != "NOTSET":
        raise InvalidNode(f"pads {list(pads)} and auto_pad {auto_pad}; allowed: one of them")
    begins = padding[:rank]
    ends = padding[rank:]
    along = partial(windows_along, auto_pad=auto_pad, ceil=bool(ceil_mode))
    planned = map(along, spatial, kernel_shape, strides, dilations, begins, ends)
    axes = tuple(_as_read(axis, open_sizes) for axis in planned)
    for n, axis in enumerate(axes):
        least = 1 if _is_refused_at_0(axis, open_sizes) else 0
        sizes = f"the window is {axis.width} wide and the output size {axis.size}"
        room = f"with {axis.length} elements and {begins[n] + ends[n]} of padding"
        place = f"kernel_shape {list(kernel_shape)}: on spatial axis {n}"
        reject(axis.size < least, f"{place} {sizes}; allowed: {least} or more, {room}")
    windows = Windows((shape[0], shape[1]), axes)
    check_size(windows.shape)
    return windows


def _as_read(axis: AxisWindows, open_sizes: Collection[Ruling]) -> AxisWindows:
    """Return the windows along an axis, in the number that the readings in force give.

    SIZE_UNDER_SAME may make it the length of the axis, PART_OF_A_WINDOW 1 of 0, and SIZE_BELOW_0
    makes it 0 of less; each only if it is among `open_sizes`. Otherwise it may still be below 0.
    """
    is_literal = axis.same and axis.size != axis.length and SIZE_UNDER_SAME in open_sizes
    if is_literal and SIZE_UNDER_SAME.reading() == "size_of_the_input":
        return replace(axis, begin=axis.begin_of_same(axis.length), size=axis.length)
    is_cut_off = axis.auto_pad == "NOTSET" and axis.size == 0 and -axis.stride < axis.room < 0
    if is_cut_off and PART_OF_A_WINDOW in open_sizes:
        return replace(axis, size=1 if PART_OF_A_WINDOW.reading() == "one_window" else 0)
    if axis.size < 0 and SIZE_BELOW_0 in open_sizes and SIZE_BELOW_0.reading() == "empty":
        return replace(axis, size=0)
    return axis


def _is_refused_at_0(axis: AxisWindows, open_sizes: Collection[Ruling]) -> bool:
    """Return True if a size of 0 by the formula is illegal, as NO_WINDOW_FITS may read it.

    It is legal unless that is among `open_sizes`. Other sizes give False.
    """
    # A size below 0 that is read as 0 is not refused again.
    is_0 = axis.size == 0 and axis.planned().size == 0
    return is_0 and NO_WINDOW_FITS in open_sizes and NO_WINDOW_FITS.reading() == "refused"


def windows_along(
    length: int,
    kernel: int,
    stride: int,
    dilation: int,
    begin: int,
    end: int,
    auto_pad: str,
    ceil: bool,
) -> AxisWindows:
    """Return the windows along one axis; their size is below 0 where the text allows none.

    The arguments are the fields of `AxisWindows`, and are in range.
    """
    asked = AxisWindows(
        length=length,
        kernel=kernel,
        stride=stride,
        dilation=dilation,
        begin=begin,
        size=0,
        end=end,
        auto_pad=auto_pad,
        ceil=ceil,
    )
    return asked.planned()


def for_axes(name: str, values: Any, n: int, least: int = 1, sides: int = 1) -> Sequence[int]:
    """Return the list of an attribute, one value for each of `n` axes, or two if `sides` is 2.

    Without the list (None) each is `least`. Raises InvalidNode for a list of another length, and
    for a value below `least`.
    """
    length = sides * n
    if values is None:
        return [least] * length
    if len(values) != length:
        number = "one" if sides == 1 else "two"
        allowed = f"{length}, {number} for each spatial axis"
        raise InvalidNode(f"{name} {list(values)} has length {len(values)}; allowed: {allowed}")
    for value in values:
        reject(value < least, f"{name} {list(values)} holds {value}; allowed: {least} or more")
    return list(values)


def up(a: int, b: int) -> int:
    """Return a / b rounded up; b > 0."""
    return -(-a // b)
