"""Mutants about an attribute that names an axis, or several, and faults of coercion to a matrix."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.axes import matrix_of
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants import rows
from opcheck.engine.mutants.elements import blank, through
from opcheck.engine.mutants.mutant import Accepting, Mutant, faults, faulty_where, reading, refusing
from opcheck.engine.node import Node
from opcheck.numbers import FaultFunction
from opcheck.opset import Attribute

#: Another axis than the one given, for tensors of a rank.
AxisChange: TypeAlias = Callable[[int, int], int]
#: Axes counted from the front and in order.
Axes: TypeAlias = tuple[int, ...]
#: The shape and the axes in place of those of the first input.
ShapeChange: TypeAlias = Callable[[tuple[int, ...], Axes], tuple[tuple[int, ...], Axes]]

_FROM_THE_BACK, _COERCED, INDEXED = "from_either_end", "matrix_of", "elements_at"


def _last(axis: int, rank: int) -> int:
    return rank - 1


#: What is taken for an axis that is out of range.
_OUTSIDE: tuple[tuple[str, str, AxisChange], ...] = (
    ("axis_wraps", "an axis out of range was taken modulo the rank", lambda axis, r: axis % r),
    ("axis_clamped", "an axis out of range was clamped to the nearest one",
     lambda axis, r: min(max(axis, 0), r - 1)),
    ("out_of_range_is_last", "an axis out of range was taken for the last one", _last),
)  # fmt: skip
#: What is taken for an axis, counted from the front.
_FOUND: tuple[tuple[str, str, AxisChange], ...] = (
    ("axis_1_always", "axis 1 was taken, whatever the attribute", lambda axis, r: min(1, r - 1)),
    ("first_axis_always", "the first axis was taken, whatever the attribute", lambda axis, r: 0),
    ("last_axis_always", "the last axis was taken, whatever the attribute", _last),
    ("axis_mirrored", "the axis was counted from the wrong end", lambda axis, r: r - 1 - axis),
    ("axis_minus_1", "the axis before the right one was taken", lambda axis, r: (axis - 1) % r),
    ("axis_plus_1", "the axis after the right one was taken", lambda axis, r: (axis + 1) % r),
    ("axis_0_is_1_of_rank_5",
     "axis 1 was taken in place of axis 0 where there are more than four axes",
     lambda axis, r: (axis or 1) if r > 4 else axis),
    ("axis_of_rank_5_exchanged", "the first two of more than four axes were exchanged",
     lambda axis, r: 1 - axis if r > 4 and axis < 2 else axis),
    ("axes_of_four_channels_last",
     "of four axes, axis 1 was taken for the last one, and those behind it for one before",
     lambda axis, r: (0, 3, 1, 2)[axis] if r == 4 else axis),
)  # fmt: skip


def _merged(place: int, rank: int, shape: tuple[int, ...], axes: Axes) -> Any:
    """Of more than `rank` axes the one at `place` and the next are one."""
    at = place % max(2, len(shape))
    merged = (*shape[:at], -1, *shape[at + 2 :]), tuple(a - (a > at) for a in axes)
    return merged if len(shape) > rank else (shape, axes)


#: In which shape the first input is read, and which axes are taken then, where no formula does so.
_READ: tuple[tuple[Any, ...], ...] = (
    *((f"{which}_two_of_more_than_{rank}_axes_merged",
       f"of more than {rank} axes the {which} two were one, so that either meant both",
       partial(_merged, place, rank), INDEXED)
      for place, which in ((0, "first"), (-2, "last")) for rank in (4, 5)),
    ("shape_reversed", "the shape was read from the last axis to the first",
     lambda shape, axes: (shape[::-1], axes)),
    ("whole_tensor", "the whole tensor was one row", lambda shape, axes: ((1, -1), (1,)), INDEXED),
)  # fmt: skip


def names_axes(attribute: Attribute) -> bool:
    """Return True for an attribute that is called `axis` or `axes`."""
    return attribute.name.lower() in ("axis", "axes")


class NamedAxes:
    """An attribute that names one axis, or a list of them."""

    def __init__(self, attribute: Attribute) -> None:
        self.name, self.default = attribute.name, attribute.default
        self.is_list = attribute.type == "ints"

    def stated(self, node: Node) -> Axes:
        """The axes as they are stated, or the default."""
        value: Any = node.attrs.get(self.name, self.default)
        return tuple(value or ()) if self.is_list or value is None else (value,)

    def found(self, node: Node) -> Axes:
        """The axes of a legal node, counted from the front, each once; none of rank 0."""
        return tuple(dict.fromkeys(axis % node.rank for axis in self.stated(node) if node.rank))

    def taking(self, node: Node, axes: Sequence[int]) -> Node:
        """The node with other axes."""
        value = tuple(dict.fromkeys(axes)) if self.is_list else axes[0] if axes else None
        return node.with_attrs(**{self.name: value})

    def mutants(self) -> Iterator[Mutant]:
        """All of them."""
        for name, text, change in _OUTSIDE:
            yield Mutant(name, text, Accepting(partial(self._outside, change)))
        for name, text, change in _FOUND:
            yield reading(name, text, partial(self._found, change))
        if not self.is_list:
            yield from self._of_one()
        for name, text, read, *unless in _READ:
            yield Mutant(name, text, partial(self._reshaped, read), unless=tuple(unless))
        # How many there are does not depend on the type: of blocks one type decides.
        for width, kind, only in ((1024, "blocks", ("float32",)), (16, "vectors", None),
                                  (8, "vectors", None), (4, "vectors", None)):  # fmt: skip
            text = f"of rows across memory, what is left by whole {kind} of {width} was zero"
            yield Mutant(f"tail_of_{width}_across_memory_missing", text,
                         partial(self._without_the_last_rows, width), only=only,
                         unless=(_COERCED,))  # fmt: skip
        for name, text, answer, primitive in (
            ("rows_side_by_side", "neighbours in a row were taken to lie side by side in memory",
             partial(self._reshaped, lambda s, axes: ((-1, prod(s[a] for a in axes)), (1,))), ""),
            ("not_transposed_back", "the axis was moved to the end, and not back in the output",
             self._not_transposed_back, ""),
            ("argmax_in_8_bits_across_memory",
             "where rows lie across memory, the place of the maximum in its row had 8 bits",
             faulty_where(lambda n: n.is_legal and prod(self._beside(n)) > 1, "argmax",
                          rows.IN_8_BITS), "argmax"),
        ):  # fmt: skip
            yield Mutant(name, text, answer, primitive, unless=(_COERCED,))
        text = "with more than four axes the last of equal maxima won"
        answer = faulty_where(lambda n: n.rank > 4, "argmax", rows.LAST_OF_TIES)
        yield Mutant("last_of_ties_beyond_four_axes", text, answer, "argmax")

    def _of_one(self) -> Iterator[Mutant]:
        """Those of a single axis."""
        for name, text, read in (
            ("negative_axis_off_by_one",
             "negative axes were counted from -2, so that -2 was taken for the last one",
             partial(self._stated, lambda axis, r: axis if axis >= -1 else axis + 1)),
            ("minus_sign_ignored", "the minus sign of a negative axis was ignored",
             partial(self._stated, lambda axis, r: abs(axis))),
            ("negative_axis_after_squeezing",
             "the last axes of one element were dropped before a negative axis was counted",
             self._squeezed_first),
        ):  # fmt: skip
            yield reading(name, text, read, primitive=_FROM_THE_BACK)
        text = "a vector, taken for a matrix of one row, had the range of a matrix's axis"
        yield Mutant("axis_of_vector_as_of_a_matrix", text, Accepting(lambda n: self._stated(
            lambda axis, r: 0 if r == 1 and -2 <= axis < 2 else axis, n).right),
            _FROM_THE_BACK)  # fmt: skip
        yield refusing("refuses_negative_axes", "negative axes were refused",
                       lambda n: self.name in n.attrs and self.stated(n)[0] < 0,
                       primitive=_FROM_THE_BACK)  # fmt: skip
        text = "the output kept the two dimensions that the input was coerced to"
        yield Mutant("left_coerced", text, lambda n: [
            out.reshape(matrix_of(out.shape, self.found(n)[0])) for out in n.right
        ], _COERCED)  # fmt: skip
        text = "the rows of the matrix that the input was coerced to lacked the last axis"
        yield Mutant("coercion_without_the_last_axis", text, self._without_the_last, _COERCED)
        for name, text, answer in (
            ("axis_of_empty_tensor_unchecked",
             "an empty tensor was returned before its axis was checked", lambda n: (
                 self.taking(n, (0,)) if n.rank and not n.given[0].size else n).right),
            ("rank_0_is_a_vector", "a tensor of rank 0 was taken for a vector", self._rank_0),
            ("out_of_range_is_no_axis", "an axis out of range made a row of every element",
             lambda n: self._read_as(n, (*(own := n.given[0].shape), 1), (n.rank,), repeat(own))
             if n.rank else n.right),
        ):  # fmt: skip
            yield Mutant(name, text, Accepting(answer))
        text = "the input was coerced to two dimensions where it has more than four"
        yield Mutant("rank_5_coerced", text, partial(self._reshaped, lambda shape, axes: (
            (matrix_of(shape, axes[0]), (1,)) if len(shape) > 4 and axes else (shape, axes))),
            unless=(_COERCED, INDEXED))  # fmt: skip
        if isinstance(self.default, int) and self.default > 0:
            text = "a missing axis was taken for the last one where the default is out of range"
            yield Mutant("default_axis_kept_in_range", text, Accepting(
                lambda n: n.right if self.name in n.attrs else self._outside(_last, n)
            ))  # fmt: skip

    def _outside(self, change: AxisChange, node: Node) -> Sequence[Any]:
        """The answer with `change` made to axes that are out of range."""
        r, axes = node.rank, self.stated(node)
        changed = [a if 0 <= a < r else change(a, r) for a in axes if r]
        return (self.taking(node, changed) if changed else node).right

    def _found(self, change: AxisChange, node: Node) -> Node:
        """The node with `change` made to its axes, counted from the front, if it is legal."""
        axes = self.found(node) if node.is_legal else ()
        changed = tuple(change(axis, node.rank) for axis in axes)
        return node if changed == axes else self.taking(node, changed)

    def _stated(self, change: AxisChange, node: Node) -> Node:
        return self.taking(node, [change(axis, node.rank) for axis in self.stated(node)])

    def _squeezed_first(self, node: Node) -> Node:
        """A negative axis, counted from the end of what is left without the last axes of one."""
        if self.name not in node.attrs:
            return node
        long = (place for place, size in enumerate(node.given[0].shape) if size != 1)
        end = max(long, default=0) + 1
        return self._stated(lambda axis, r: max(axis + end, 0) if -r <= axis < 0 else axis, node)

    def _read_as(
        self, node: Node, shape: Sequence[int], axes: Sequence[int], shapes: Iterable[Sequence[int]]
    ) -> Sequence[Any]:
        """The answer to the first input in another shape, in the output's shapes if it fits."""
        read = node.with_input(0, node.given[0].reshape(shape))
        made = zip(self.taking(read, axes).right, shapes, strict=False)
        return [out.reshape(own) if out.size == prod(own) else out for out, own in made]

    def _rank_0(self, node: Node) -> Sequence[Any]:
        if node.rank or (self.name in node.attrs and self.stated(node)[0] not in (-1, 0)):
            return node.right
        return self._read_as(node, (1,), (0,), repeat(()))

    def _reshaped(self, change: ShapeChange, node: Node) -> Sequence[Any]:
        right, x = node.right, node.inputs[0]
        if x is None or not x.size or not x.ndim:
            return right
        shape, axes = change(x.shape, found := self.found(node))
        if (shape, axes) == (x.shape, found):
            return right
        return self._read_as(node, shape, axes, [out.shape for out in right])

    def _beside(self, node: Node) -> tuple[int, ...]:
        """The shape of the rows that lie side by side in memory."""
        return node.given[0].shape[max(self.found(node), default=node.rank) + 1 :]

    def _without_the_last_rows(self, width: int, node: Node) -> Sequence[Any]:
        right, inner = node.right, self._beside(node)
        count = prod(inner)
        if count <= width or not right[0].size or right[0].shape[-len(inner) :] != inner:
            return right
        out = right[0].copy()
        out.reshape(-1, count)[:, count // width * width :] = blank(out.reshape(-1)[:1])
        return [out, *right[1:]]

    def _not_transposed_back(self, node: Node) -> Sequence[Any]:
        right, found = node.right, self.found(node)
        order = sorted(range(node.rank), key=lambda axis: (axis in found, axis))
        return [
            out.transpose(order).reshape(out.shape) if out.ndim == len(order) else out
            for out in right
        ]

    def _without_the_last(self, node: Node) -> Sequence[Any]:
        right, x = node.right, node.given[0]
        if not x.size or self.found(node) in ((), (x.ndim - 1,)):
            return right
        moved = node.with_input(0, np.ascontiguousarray(np.moveaxis(x, -1, 0)))
        made = self.taking(moved, [self.found(node)[0] + 1]).right
        return [np.moveaxis(out, 0, -1) for out in made]


def _of_indices(of: Callable[[Any, int], Any]) -> FaultFunction:
    """The elements at other indices."""
    return lambda original, indices, n, back: original(of(indices, n), n, back=back)


def _by_the_first_axis(node: Node) -> Sequence[Any]:
    first = node.given[0].shape[0] if node.rank else 0
    counted = _of_indices(lambda i, n: np.where(i < 0, i + first, i))
    return evaluate(node, faults={INDEXED: counted})


def _clamped(indices: Any, length: int) -> Any:
    return np.clip(indices, -length, length - 1) if length else indices


#: Wrong `elements_at` of some paths alone.
CLAMPED = _of_indices(_clamped)

_AT = "the input was coerced to two dimensions"

FAULTS: tuple[Mutant, ...] = (
    Mutant("negative_index_by_the_first_axis",
           "negative indices were counted from the end of the first axis, whichever was indexed",
           _by_the_first_axis, INDEXED, any_type=True),
    *faults(
        INDEXED, _of_indices,
        ("index_wraps", "an index out of range was taken modulo the length",
         lambda i, n: i % n if n else i),
        ("index_clamped", "an index out of range was clamped to the nearest one", _clamped),
        ("index_at_the_end_taken", "an index one beyond the end was taken for the last one",
         lambda i, n: np.where(i == n, n - 1, i)),
        ("indices_unchecked_but_the_first", "no index was checked but the first one",
         lambda i, n: np.where(
             np.arange(i.size).reshape(i.shape), np.clip(i, -n, max(0, n - 1)), i)),
        ("index_in_32_bits", "indices were cut down to 32 bits", through(np.int32)),
        of_validity=True,
    ),
    *faults(
        INDEXED, _of_indices,
        ("index_in_int8", "indices were cut down to 8 bits", through(np.int8)),
        ("index_in_int16", "indices were cut down to 16 bits", through(np.int16)),
        ("minus_sign_of_index_ignored", "the minus sign of a negative index was ignored",
         lambda i, n: np.abs(i)),
        ("negative_index_is_0", "negative indices were taken for 0", lambda i, n: np.maximum(i, 0)),
        ("negative_index_off_by_one",
         "negative indices were counted from 0, which stood for the last",
         lambda i, n: np.where((i < 0) & (i > -n), i - 1, i)),
        ("negative_index_unsigned", "negative indices were read as unsigned numbers, and refused",
         lambda i, n: np.where(i < 0, n, i)),
        ("lowest_index_refused", "the index that counts from the back to the first was refused",
         lambda i, n: np.where(i == -n, n, i)),
        ("index_0_always", "every index was taken for 0", lambda i, n: np.zeros_like(i)),
    ),
    *faults(
        _COERCED, lambda at: lambda original, shape, axis: original(shape, at(axis)),
        ("coercion_one_axis_long", f"{_AT} one axis before the right one",
         lambda axis: max(axis - 1, 0)),
        ("coercion_one_axis_short", f"{_AT} behind the axis, not before it", lambda axis: axis + 1),
    ),
)  # fmt: skip
