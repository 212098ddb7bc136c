"""Mutants of attributes that name an axis or several."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.axes import matrix_of
from opcheck.engine.mutants import places
from opcheck.engine.mutants.elements import blank
from opcheck.engine.mutants.indices import COERCED, INDEXED
from opcheck.engine.mutants.mutant import Accepting, Mutant, faulty_where, reading, refusing
from opcheck.engine.node import Node
from opcheck.opset import Attribute, Parameter

#: Another axis than the one given, for tensors of a rank.
AxisChange: TypeAlias = Callable[[int, int], int]
Shape: TypeAlias = tuple[int, ...]
#: Axes counted from the front and in order.
Axes: TypeAlias = tuple[int, ...]
#: The shape and the axes in place of those of the first input.
ShapeChange: TypeAlias = Callable[[Shape, Axes], tuple[Shape, Axes]]

#: The helper of formulas that counts negative axes from the back.
_FROM_THE_BACK = "from_either_end"


# ── other axes than the given one, for tensors of a rank ──────────────────────────────────────


def modulo_rank(axis: int, rank: int) -> int:
    """Return the axis modulo the rank, which is 1 or more."""
    return axis % rank


def nearest_axis(axis: int, rank: int) -> int:
    """Return the nearest axis in [0, rank-1]."""
    return min(max(axis, 0), rank - 1)


def first_axis(axis: int, rank: int) -> int:
    """Return the first axis."""
    return 0


def second_axis(axis: int, rank: int) -> int:
    """Return axis 1, or 0 for a vector, which has no axis 1."""
    return min(1, rank - 1)


def last_axis(axis: int, rank: int) -> int:
    """Return the last axis."""
    return rank - 1


def mirrored_axis(axis: int, rank: int) -> int:
    """Return the axis that is as far from the other end; the axis is counted from the front."""
    return rank - 1 - axis


def axis_before(axis: int, rank: int) -> int:
    """Return the axis before, or the last for the first."""
    return (axis - 1) % rank


def axis_after(axis: int, rank: int) -> int:
    """Return the axis after, or the first for the last."""
    return (axis + 1) % rank


def second_for_the_first_of_five(axis: int, rank: int) -> int:
    """Return axis 1 for axis 0, where there are more than four axes."""
    return axis or 1 if rank > 4 else axis


def channels_last_of_four(axis: int, rank: int) -> int:
    """Return the axis of N×H×W×C for one of N×C×H×W; of other ranks the axis itself."""
    return (0, 3, 1, 2)[axis] if rank == 4 else axis


def counted_from_minus_2(axis: int, rank: int) -> int:
    """Return the axis that is meant if -2 is the last one."""
    return axis if axis >= -1 else axis + 1


def without_sign(axis: int, rank: int) -> int:
    """Return the axis without its minus sign, which may be out of range."""
    return abs(axis)


def first_of_a_vector(axis: int, rank: int) -> int:
    """Return 0 for an axis that a matrix has, where there is a vector."""
    return 0 if rank == 1 and -2 <= axis < 2 else axis


def axis_of_squeezed(end: int, axis: int, rank: int) -> int:
    """Return a negative axis counted from `end`, behind which axes are dropped."""
    return max(axis + end, 0) if -rank <= axis < 0 else axis


# ── other shapes than the first input's, and its axes there ───────────────────────────────────


def merged(place: int, rank: int, shape: Shape, axes: Axes) -> tuple[Shape, Axes]:
    """Return a shape of more than `rank` axes with two axes merged, the first at `place`.

    Other shapes stay. `place` may count from the end; axes behind it are one lower.
    """
    if len(shape) <= rank:
        return shape, axes
    at = place % max(2, len(shape))
    moved = tuple(axis - (axis > at) for axis in axes)
    return (*shape[:at], -1, *shape[at + 2 :]), moved


def reversed_shape(shape: Shape, axes: Axes) -> tuple[Shape, Axes]:
    """Return the shape from the last axis to the first; the axes stay."""
    return shape[::-1], axes


def one_row(shape: Shape, axes: Axes) -> tuple[Shape, Axes]:
    """Return a matrix of one row, and its second axis."""
    return (1, -1), (1,)


def rows_side_by_side(shape: Shape, axes: Axes) -> tuple[Shape, Axes]:
    """Return a matrix of as long rows, and its second axis: a row lies side by side in memory."""
    return (-1, prod(shape[axis] for axis in axes)), (1,)


def coerced_beyond_rank_4(shape: Shape, axes: Axes) -> tuple[Shape, Axes]:
    """Return a matrix and its second axis in place of five or more axes; others stay."""
    if len(shape) > 4 and axes:
        return matrix_of(shape, axes[0]), (1,)
    return shape, axes


#: The axis that is taken for one out of range.
_OUTSIDE: tuple[tuple[str, str, AxisChange], ...] = (
    ("axis_wraps", "an axis out of range was taken modulo the rank", modulo_rank),
    (
        "axis_clamped",
        "an axis out of range was clamped to the nearest one",
        nearest_axis,
    ),
    (
        "out_of_range_is_last",
        "an axis out of range was taken for the last one",
        last_axis,
    ),
)
#: The axis that is taken for another, counted from the front.
_FOUND: tuple[tuple[str, str, AxisChange], ...] = (
    ("axis_1_always", "axis 1 was taken, whatever the attribute", second_axis),
    ("first_axis_always", "the first axis was taken, whatever the attribute", first_axis),
    ("last_axis_always", "the last axis was taken, whatever the attribute", last_axis),
    ("axis_mirrored", "the axis was counted from the wrong end", mirrored_axis),
    ("axis_minus_1", "the axis before the right one was taken", axis_before),
    ("axis_plus_1", "the axis after the right one was taken", axis_after),
    (
        "axis_0_is_1_of_rank_5",
        "axis 1 was taken in place of axis 0 where there are more than four axes",
        second_for_the_first_of_five,
    ),
    (
        "axes_of_four_channels_last",
        "of four axes, axis 1 was taken for the last one, and those behind it for one before",
        channels_last_of_four,
    ),
)
#: In which shape the first input is read, and which axes are taken then, where no formula does so.
_READ: tuple[tuple[Any, ...], ...] = (
    *(
        (
            f"{which}_two_of_more_than_{rank}_axes_merged",
            f"of more than {rank} axes the {which} two were one, so that either meant both",
            partial(merged, place, rank),
            INDEXED,
        )
        for place, which in ((0, "first"), (-2, "last"))
        for rank in (4, 5)
    ),
    (
        "shape_reversed",
        "the shape was read from the last axis to the first",
        reversed_shape,
    ),
    ("whole_tensor", "the whole tensor was one row", one_row, INDEXED),
)


def names_axes(declared: Attribute | Parameter) -> bool:
    """Return True for an attribute or an input that is called `axis` or `axes`."""
    return declared.name.lower() in ("axis", "axes")


def has_more_than_four_axes(node: Node) -> bool:
    """Return True if the first input has five axes or more."""
    return node.rank > 4


class NamedAxes:
    """An attribute that names one axis, or a list of them."""

    def __init__(self, attribute: Attribute) -> None:
        self.name = attribute.name
        self.default = attribute.default
        self.is_list = attribute.type == "ints"

    def stated(self, node: Node) -> Axes:
        """Return the axes as they are stated, or the default; () without either."""
        value: Any = node.attrs.get(self.name, self.default)
        return tuple(value or ()) if self.is_list or value is None else (value,)

    def found(self, node: Node) -> Axes:
        """Return the axes of a legal node, counted from the front, each once; none of rank 0."""
        return tuple(dict.fromkeys(axis % node.rank for axis in self.stated(node) if node.rank))

    def taking(self, node: Node, axes: Sequence[int]) -> Node:
        """Return the node with other axes, in their order and each once.

        Without axes, a list is empty and one axis is left out.
        """
        if self.is_list:
            return node.with_attrs(**{self.name: tuple(dict.fromkeys(axes))})
        return node.with_attrs(**{self.name: axes[0] if axes else None})

    def mutants(self) -> Iterator[Mutant]:
        """Yield the mutants of the attribute; there are more of one axis than of a list."""
        for name, text, change in _OUTSIDE:
            yield Mutant(name, text, Accepting(partial(self._outside, change)))
        for name, text, change in _FOUND:
            yield reading(name, text, partial(self._found, change))
        if not self.is_list:
            yield from self._of_one()
        for name, text, read, *unless in _READ:
            yield Mutant(name, text, partial(self._reshaped, read), unless=tuple(unless))
        # How many there are does not depend on the type: of blocks one type decides.
        for width, kind, only in (
            (1024, "blocks", ("float32",)),
            (16, "vectors", None),
            (8, "vectors", None),
            (4, "vectors", None),
        ):
            text = f"of rows across memory, what is left by whole {kind} of {width} was zero"
            yield Mutant(
                f"tail_of_{width}_across_memory_missing",
                text,
                partial(self._without_the_last_rows, width),
                only=only,
                unless=(COERCED,),
            )
        for name, text, answer, primitive in (
            (
                "rows_side_by_side",
                "neighbours in a row were taken to lie side by side in memory",
                partial(self._reshaped, rows_side_by_side),
                "",
            ),
            (
                "not_transposed_back",
                "the axis was moved to the end, and not back in the output",
                self._not_transposed_back,
                "",
            ),
            (
                "argmax_in_8_bits_across_memory",
                "where rows lie across memory, the place of the maximum in its row had 8 bits",
                faulty_where(self._has_rows_across_memory, "argmax", places.IN_8_BITS),
                "argmax",
            ),
        ):
            yield Mutant(name, text, answer, primitive, unless=(COERCED,))
        text = "with more than four axes the last of equal maxima won"
        answer = faulty_where(has_more_than_four_axes, "argmax", places.LAST_OF_TIES)
        yield Mutant("last_of_ties_beyond_four_axes", text, answer, "argmax")

    def _of_one(self) -> Iterator[Mutant]:
        """Yield mutants that read one axis wrongly, and not a list of them."""
        for name, text, read in (
            (
                "negative_axis_off_by_one",
                "negative axes were counted from -2, so that -2 was taken for the last one",
                partial(self._stated, counted_from_minus_2),
            ),
            (
                "minus_sign_ignored",
                "the minus sign of a negative axis was ignored",
                partial(self._stated, without_sign),
            ),
            (
                "negative_axis_after_squeezing",
                "the last axes of one element were dropped before a negative axis was counted",
                self._squeezed_first,
            ),
        ):
            yield reading(name, text, read, primitive=_FROM_THE_BACK)
        text = "a vector, taken for a matrix of one row, had the range of a matrix's axis"
        answer = Accepting(self._as_of_a_matrix)
        yield Mutant("axis_of_vector_as_of_a_matrix", text, answer, _FROM_THE_BACK)
        yield refusing(
            "refuses_negative_axes",
            "negative axes were refused",
            self._is_negative,
            primitive=_FROM_THE_BACK,
        )
        text = "the output kept the two dimensions that the input was coerced to"
        yield Mutant("left_coerced", text, self._left_coerced, COERCED)
        text = "the rows of the matrix that the input was coerced to lacked the last axis"
        yield Mutant("coercion_without_the_last_axis", text, self._without_the_last, COERCED)
        for name, text, repair in (
            (
                "axis_of_empty_tensor_unchecked",
                "an empty tensor was returned before its axis was checked",
                self._unchecked_if_empty,
            ),
            (
                "rank_0_is_a_vector",
                "a tensor of rank 0 was taken for a vector",
                self._of_rank_0_as_a_vector,
            ),
            (
                "out_of_range_is_no_axis",
                "an axis out of range made a row of every element",
                self._every_element_a_row,
            ),
        ):
            yield Mutant(name, text, Accepting(repair))
        yield Mutant(
            "rank_5_coerced",
            "the input was coerced to two dimensions where it has more than four",
            partial(self._reshaped, coerced_beyond_rank_4),
            unless=(COERCED, INDEXED),
        )
        if isinstance(self.default, int) and self.default > 0:
            text = "a missing axis was taken for the last one where the default is out of range"
            answer = Accepting(self._default_kept_in_range)
            yield Mutant("default_axis_kept_in_range", text, answer)

    def _is_negative(self, node: Node) -> bool:
        """Return True if a node states a negative axis."""
        return self.name in node.attrs and self.stated(node)[0] < 0

    def _as_of_a_matrix(self, node: Node) -> Sequence[Any]:
        """Return the answer of a vector whose axis may be one of a matrix of one row.

        Raises InvalidNode for an axis that neither has.
        """
        return self._stated(first_of_a_vector, node).right

    def _left_coerced(self, node: Node) -> Sequence[Any]:
        """Return the outputs as the matrices that the input was coerced to.

        The node has one axis, and a rank above 0.
        """
        return [out.reshape(matrix_of(out.shape, self.found(node)[0])) for out in node.right]

    def _unchecked_if_empty(self, node: Node) -> Sequence[Any]:
        """Return the answer along axis 0 of a tensor without elements, whatever its axis.

        Other nodes are answered right: raises InvalidNode for one that is forbidden.
        """
        is_empty = node.rank and not node.given[0].size
        return (self.taking(node, (0,)) if is_empty else node).right

    def _of_rank_0_as_a_vector(self, node: Node) -> Sequence[Any]:
        """Return the answer of a scalar as a vector of one element, along its axis.

        Other nodes are answered right: raises InvalidNode for one that is forbidden.
        """
        is_beyond_a_vector = self.name in node.attrs and self.stated(node)[0] not in (-1, 0)
        if node.rank or is_beyond_a_vector:
            return node.right
        return self._read_as(node, (1,), (0,), repeat(()))

    def _every_element_a_row(self, node: Node) -> Sequence[Any]:
        """Return the answer along a new last axis of one element; that of a scalar is right.

        Raises InvalidNode for a node that is forbidden so too.
        """
        if not node.rank:
            return node.right
        shape = node.given[0].shape
        return self._read_as(node, (*shape, 1), (node.rank,), repeat(shape))

    def _default_kept_in_range(self, node: Node) -> Sequence[Any]:
        """Return the answer along the last axis where the default is out of range.

        A node that states its axis is answered right: raises InvalidNode if it is forbidden.
        """
        return node.right if self.name in node.attrs else self._outside(last_axis, node)

    def _outside(self, change: AxisChange, node: Node) -> Sequence[Any]:
        """Return the answer with `change` made to axes that are not in [0, rank).

        A node of rank 0 stays. Raises InvalidNode for a node that is forbidden so too.
        """
        changed = []
        for axis in self.stated(node) if node.rank else ():
            is_counted_from_the_front = 0 <= axis < node.rank
            changed.append(axis if is_counted_from_the_front else change(axis, node.rank))
        return (self.taking(node, changed) if changed else node).right

    def _found(self, change: AxisChange, node: Node) -> Node:
        """Return a legal node with `change` made to its axes, counted from the front.

        Other nodes stay as they are.
        """
        axes = self.found(node) if node.is_legal else ()
        changed = tuple(change(axis, node.rank) for axis in axes)
        return node if changed == axes else self.taking(node, changed)

    def _stated(self, change: AxisChange, node: Node) -> Node:
        """Return the node with `change` made to its axes as they are stated."""
        return self.taking(node, [change(axis, node.rank) for axis in self.stated(node)])

    def _squeezed_first(self, node: Node) -> Node:
        """Return the node with negative axes counted where the last axes of 1 are dropped.

        A node that states no axis stays.
        """
        if self.name not in node.attrs:
            return node
        long = (place for place, size in enumerate(node.given[0].shape) if size != 1)
        end = max(long, default=0) + 1
        return self._stated(partial(axis_of_squeezed, end), node)

    def _read_as(
        self, node: Node, shape: Sequence[int], axes: Sequence[int], shapes: Iterable[Sequence[int]]
    ) -> Sequence[Any]:
        """Return the answer to the first input in another shape, along other axes.

        Outputs have `shapes` again, if they have as many elements; there are no more of them than
        `shapes`. Raises InvalidNode if such a node is forbidden.
        """
        read = node.with_input(0, node.given[0].reshape(shape))
        outputs = zip(self.taking(read, axes).right, shapes, strict=False)
        return [out.reshape(own) if out.size == prod(own) else out for out, own in outputs]

    def _reshaped(self, change: ShapeChange, node: Node) -> Sequence[Any]:
        """Return the answer to the first input in the shape, and along the axes, of `change`.

        It is right for an input that is left out, empty or of rank 0. Raises InvalidNode for a
        forbidden node, also one that is so in that shape.
        """
        right = node.right
        x = node.inputs[0]
        if x is None or not x.size or not x.ndim:
            return right
        found = self.found(node)
        shape, axes = change(x.shape, found)
        if (shape, axes) == (x.shape, found):
            return right
        return self._read_as(node, shape, axes, [out.shape for out in right])

    def _beside(self, node: Node) -> tuple[int, ...]:
        """Return the shape of the rows that lie side by side in memory."""
        return node.given[0].shape[max(self.found(node), default=node.rank) + 1 :]

    def _has_rows_across_memory(self, node: Node) -> bool:
        """Return True for a legal node whose rows are not contiguous."""
        return node.is_legal and prod(self._beside(node)) > 1

    def _without_the_last_rows(self, width: int, node: Node) -> Sequence[Any]:
        """Return zeros for those of the rows side by side that whole vectors of `width` leave over.

        Outputs are right where there are no more rows than a vector holds, or where they have other
        axes.
        """
        right = node.right
        inner = self._beside(node)
        count = prod(inner)
        # The first of a sequence is its length.
        at = max(range(len(right)), key=lambda place: right[place].size)
        if count <= width or not right[at].size or right[at].shape[-len(inner) :] != inner:
            return right
        out = right[at].copy()
        out.reshape(-1, count)[:, count // width * width :] = blank(out.reshape(-1)[:1])
        return [*right[:at], out, *right[at + 1 :]]

    def _not_transposed_back(self, node: Node) -> Sequence[Any]:
        """Return outputs of the input's rank in the order of memory with the axes last."""
        found = self.found(node)
        others = [axis for axis in range(node.rank) if axis not in found]
        order = [*others, *sorted(found)]
        outputs = []
        for y in node.right:
            outputs.append(y.transpose(order).reshape(y.shape) if y.ndim == node.rank else y)
        return outputs

    def _without_the_last(self, node: Node) -> Sequence[Any]:
        """Return the answer to the last axis first, behind which the input is coerced.

        It is right for an empty input, and along the last axis.
        """
        right = node.right
        x = node.given[0]
        if not x.size or self.found(node) in ((), (x.ndim - 1,)):
            return right
        moved = node.with_input(0, np.ascontiguousarray(np.moveaxis(x, -1, 0)))
        outputs = self.taking(moved, [self.found(node)[0] + 1]).right
        return [np.moveaxis(out, 0, -1) for out in outputs]
