"""MaxUnpool, all versions: values back at the indices where MaxPool found them, zeros between.

The parts of the file: what the text leaves open; the sizes; the formula; its mutants.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, elements_at, listed
from opcheck.engine.operators import formulas_of_versions, leave_open, operator
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Tensor
from opcheck.numbers.faulty import bare

MAX_UNPOOL = operator("MaxUnpool", exact=True)

#: Indices in a tensor as a list.
Places: TypeAlias = NDArray[np.intp]

SHAPE_OF_INDICES = Ruling(
    "shape-of-indices",
    "Indices are of the output by the text, and by ONNX's node test of the usual shape, which is"
    " then in a corner of the output.",
    ("of_the_usual_shape", "of_the_output"),
)


# ── sizes ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Attributes:
    """The attributes of a node, with their defaults filled in; see `attributes_of`."""

    kernel_shape: Sequence[int]
    strides: Sequence[int]
    pads: Sequence[int]

    def __str__(self) -> str:
        """Return the lists under their names."""
        pads = list(self.pads)
        return f"kernel_shape {[*self.kernel_shape]}, strides {[*self.strides]}, pads {pads}"

    def usual_sizes(self, lengths: Sequence[int]) -> list[int]:
        """Return the spatial sizes of an output before its pads are cut off.

        lengths: those of the input. Each size is (length - 1) * stride + kernel.
        """
        triples = zip(lengths, self.strides, self.kernel_shape, strict=True)
        return [(length - 1) * stride + kernel for length, stride, kernel in triples]

    def padding(self) -> list[int]:
        """Return the padding of each spatial axis, at both ends together."""
        axes = len(self.kernel_shape)
        return [a + b for a, b in zip(self.pads[:axes], self.pads[axes:], strict=True)]


def attributes_of(
    X: Tensor,
    I: Tensor,  # noqa: E741
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None,
    pads: Sequence[int] | None,
) -> Attributes:
    """Return the attributes of a node; strides that are left out are 1, and pads 0.

    Raises InvalidNode unless X has rank 3 or more, X and I have one shape, there is a kernel size
    and a stride for each spatial axis, both 1 or more, and two pads for each, from 0 on.
    """
    axes = X.ndim - 2
    attributes = Attributes(kernel_shape, strides or (1,) * axes, pads or (0,) * (2 * axes))
    lists = [attributes.kernel_shape, attributes.strides, attributes.pads]
    lengths = [len(values) for values in lists]
    if axes < 1 or lengths != [axes, axes, 2 * axes] or X.shape != I.shape:
        raise InvalidNode(f"X {list(X.shape)}, indices {list(I.shape)}, {attributes}")
    if min(*attributes.kernel_shape, *attributes.strides) < 1 or min(attributes.pads) < 0:
        raise InvalidNode(f"{attributes}; allowed: 1 or more, pads from 0 on")
    return attributes


# ── the formula ───────────────────────────────────────────────────────────────────────────────

#: The output of this shape, from X, the place of each of its values, and that shape.
Unpooling: TypeAlias = Callable[[Tensor, Places, Sequence[int]], Tensor]


@formulas_of_versions(9, 11, 22)
def max_unpool(
    unpool: Unpooling,
    X: Tensor,
    I: Tensor,  # noqa: E741
    output_shape: Tensor | None = None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Tensor:
    """Return the output: the values of X at the places I, and 0 between.

    X, I: N×C×D1×…×Dn; I counts elements of the whole output in row-major order. output_shape: the
    shape of the output, [rank]; "If 'output_shape' is specified, 'pads' values are ignored."
    Without it the spatial sizes are (D - 1) * stride + kernel less the pads. unpool: fills the
    output. Indices are of the stated shape or of the usual one: SHAPE_OF_INDICES.

    Raises InvalidNode for an X of rank below 3, an I of another shape, lists of another length,
    kernels or strides below 1 and pads below 0; unless output_shape is a list of a size for each
    axis of X; for a size below 0; and for an index outside of the output. Raises NotSupported,
    while judging, where the text does not decide what the indices are of, or which of several
    values a place has. Raises MemoryError for an output of more than 2^28 elements.
    """
    attributes = attributes_of(X, I, kernel_shape, strides, pads)
    sizes = attributes.usual_sizes(X.shape[2:])
    if output_shape is None:
        pairs = zip(sizes, attributes.padding(), strict=True)
        sizes = [size - padding for size, padding in pairs]
    usual = [*X.shape[:2], *sizes]
    shape = usual if output_shape is None else listed("output_shape", output_shape)
    if len(shape) != X.ndim:
        raise InvalidNode(f"output_shape {shape} for X of rank {X.ndim}")
    reject(min(shape) < 0, f"an output of shape {shape}; allowed: 0 or more")
    check_size(shape)
    places = elements_at(I, prod(shape), back=False)
    if shape != usual:
        places = places_as_read(places, usual, shape)
    return unpool(X, places, shape)


def places_as_read(places: Places, usual: Sequence[int], shape: Sequence[int]) -> Places:
    """Return the places in an output of a stated `shape`, row-major there: SHAPE_OF_INDICES.

    By the text they count in that shape already; by ONNX's node test they count in the `usual` one,
    which lies in the output's corner. Raises NotSupported, while judging, where the usual shape
    does not fit into the stated one, or has no place of some index; otherwise they are the text's.
    """
    is_larger = all(a >= b for a, b in zip(shape, usual, strict=True))
    if not is_larger or prod(usual) <= places.max(initial=-1):
        leave_open("it is not said which shape indices are in")
        return places
    in_the_corner = np.ravel_multi_index(np.unravel_index(places, usual), shape)
    if (in_the_corner == places).all() or SHAPE_OF_INDICES.reading() == "of_the_output":
        return places
    return in_the_corner


@MAX_UNPOOL.formula(build=max_unpool)
def unpooled(X: Tensor, places: Places, shape: Sequence[int]) -> Tensor:
    """Return each value of X at its place, and 0 between, in the stated shape.

    places: as X, row-major in `shape`. Several values may share a place if they are equal, as the
    maximum of windows that overlap. Raises NotSupported, while judging, if they differ; otherwise
    the last one counts.
    """
    # For each place the number of its value in X; X.size, a 0 appended to X, where it has none.
    source = np.full(prod(shape), X.size)
    source[places] = np.arange(X.size).reshape(X.shape)
    flat = xp.reshape(X, (-1,))
    values = bare(flat)
    if not np.array_equal(values[source[places.reshape(-1)]], values, equal_nan=True):
        leave_open("nothing is said of several values of one place")
    return xp.reshape(xp.take(xp.pad(flat, [(0, 1)]), source, axis=0), tuple(shape))


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def indices_of_planes(X: Tensor, places: Places, shape: Sequence[int]) -> Tensor:
    """Mutant: indices begin anew with each channel.

    Raises NotSupported, while judging, if values that differ share a place.
    """
    size = max(1, prod(shape[2:]))
    planes = np.arange(prod(shape[:2])).reshape(*shape[:2], *[1] * (len(shape) - 2))
    moved = places % size + prod(shape[2:]) * planes
    return unpooled(X, moved.reshape(X.shape), shape)


def by_columns(X: Tensor, places: Places, shape: Sequence[int]) -> Tensor:
    """Mutant: indices count in column-major order.

    Raises NotSupported, while judging, if values that differ share a place.
    """
    numbers = np.unravel_index(places.reshape(-1), shape)
    return unpooled(X, np.ravel_multi_index(numbers, shape, order="F").reshape(X.shape), shape)


def added(X: Tensor, places: Places, shape: Sequence[int]) -> Tensor:
    """Mutant: values of windows that overlap are added up."""
    y = np.zeros(prod(shape), X.dtype)
    np.add.at(y, places.reshape(-1), bare(X).reshape(-1))
    return y.reshape(shape)


MAX_UNPOOL.mutant_table(
    {
        "indices_of_planes": ("indices began anew with each channel", indices_of_planes),
        "by_columns": ("indices counted in column-major order", by_columns),
        "added": ("values of windows that overlap were added up", added),
    },
    build=max_unpool,
)
