"""Mutants of whole tensors: misplaced elements, wrong shapes and refusals, lossy numbers; of
attributes that name an axis or several, and of coercion to a matrix."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from math import prod
from operator import methodcaller
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.dtypes import DTYPES, of
from opcheck.engine.axes import matrix_of
from opcheck.engine.evaluate import evaluate, exactly, is_real
from opcheck.engine.mutants import elements as el, mutant, rows
from opcheck.engine.mutants.elements import FLOATS, LONG, NUMBERS, WIDTHS, blank, through
from opcheck.engine.mutants.mutant import Accepting, Mutant, Only, faulty_where, reading, refusing
from opcheck.engine.node import Node
from opcheck.engine.outputs import Expected
from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.opset import Attribute, versions

#: Another axis than the one given, for tensors of a rank.
AxisChange: TypeAlias = Callable[[int, int], int]
#: Axes counted from the front and in order.
Axes: TypeAlias = tuple[int, ...]
#: The shape and the axes in place of those of the first input.
ShapeChange: TypeAlias = Callable[[tuple[int, ...], Axes], tuple[tuple[int, ...], Axes]]

_FROM_THE_BACK, _COERCED, INDEXED = "from_either_end", "matrix_of", "elements_at"
#: The axis that is taken for one out of range.
_OUTSIDE: tuple[tuple[str, str, AxisChange], ...] = (
    ("axis_wraps", "an axis out of range was taken modulo the rank", lambda axis, r: axis % r),
    (
        "axis_clamped",
        "an axis out of range was clamped to the nearest one",
        lambda axis, r: min(max(axis, 0), r - 1),
    ),
    (
        "out_of_range_is_last",
        "an axis out of range was taken for the last one",
        lambda axis, r: r - 1,
    ),
)
#: The axis that is taken for another, counted from the front.
_FOUND: tuple[tuple[str, str, AxisChange], ...] = (
    ("axis_1_always", "axis 1 was taken, whatever the attribute", lambda axis, r: min(1, r - 1)),
    ("first_axis_always", "the first axis was taken, whatever the attribute", lambda axis, r: 0),
    ("last_axis_always", "the last axis was taken, whatever the attribute", lambda a, r: r - 1),
    ("axis_mirrored", "the axis was counted from the wrong end", lambda axis, r: r - 1 - axis),
    ("axis_minus_1", "the axis before the right one was taken", lambda axis, r: (axis - 1) % r),
    ("axis_plus_1", "the axis after the right one was taken", lambda axis, r: (axis + 1) % r),
    (
        "axis_0_is_1_of_rank_5",
        "axis 1 was taken in place of axis 0 where there are more than four axes",
        lambda axis, r: (axis or 1) if r > 4 else axis,
    ),
    (
        "axes_of_four_channels_last",
        "of four axes, axis 1 was taken for the last one, and those behind it for one before",
        lambda axis, r: (0, 3, 1, 2)[axis] if r == 4 else axis,
    ),
)


def _merged(place: int, rank: int, shape: tuple[int, ...], axes: Axes) -> Any:
    at = place % max(2, len(shape))
    merged = (*shape[:at], -1, *shape[at + 2 :]), tuple(a - (a > at) for a in axes)
    return merged if len(shape) > rank else (shape, axes)


#: In which shape the first input is read, and which axes are taken then, where no formula does so.
_READ: tuple[tuple[Any, ...], ...] = (
    *(
        (
            f"{which}_two_of_more_than_{rank}_axes_merged",
            f"of more than {rank} axes the {which} two were one, so that either meant both",
            partial(_merged, place, rank),
            INDEXED,
        )
        for place, which in ((0, "first"), (-2, "last"))
        for rank in (4, 5)
    ),
    (
        "shape_reversed",
        "the shape was read from the last axis to the first",
        lambda shape, axes: (shape[::-1], axes),
    ),
    ("whole_tensor", "the whole tensor was one row", lambda shape, axes: ((1, -1), (1,)), INDEXED),
)


def names_axes(attribute: Attribute) -> bool:
    """Return True for an attribute that is called `axis` or `axes`."""
    return attribute.name.lower() in ("axis", "axes")


def _counted_from_minus_2(axis: int, rank: int) -> int:
    return axis if axis >= -1 else axis + 1


def _without_sign(axis: int, rank: int) -> int:
    return abs(axis)


def _first_of_a_vector(axis: int, rank: int) -> int:
    """Return 0 for an axis that a matrix has, where there is a vector."""
    return 0 if rank == 1 and -2 <= axis < 2 else axis


def _last_axis(axis: int, rank: int) -> int:
    return rank - 1


def _coerced_beyond_rank_4(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a matrix and its second axis in place of five or more axes."""
    if len(shape) > 4 and axes:
        return matrix_of(shape, axes[0]), (1,)
    return shape, axes


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
                unless=(_COERCED,),
            )
        for name, text, answer, primitive in (
            (
                "rows_side_by_side",
                "neighbours in a row were taken to lie side by side in memory",
                partial(self._reshaped, lambda s, axes: ((-1, prod(s[a] for a in axes)), (1,))),
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
                faulty_where(
                    lambda n: n.is_legal and prod(self._beside(n)) > 1, "argmax", rows.IN_8_BITS
                ),
                "argmax",
            ),
        ):
            yield Mutant(name, text, answer, primitive, unless=(_COERCED,))
        text = "with more than four axes the last of equal maxima won"
        answer = faulty_where(lambda n: n.rank > 4, "argmax", rows.LAST_OF_TIES)
        yield Mutant("last_of_ties_beyond_four_axes", text, answer, "argmax")

    def _of_one(self) -> Iterator[Mutant]:
        """Yield mutants that read one axis wrongly, and not a list of them."""
        for name, text, read in (
            (
                "negative_axis_off_by_one",
                "negative axes were counted from -2, so that -2 was taken for the last one",
                partial(self._stated, _counted_from_minus_2),
            ),
            (
                "minus_sign_ignored",
                "the minus sign of a negative axis was ignored",
                partial(self._stated, _without_sign),
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
        yield Mutant("left_coerced", text, self._left_coerced, _COERCED)
        text = "the rows of the matrix that the input was coerced to lacked the last axis"
        yield Mutant("coercion_without_the_last_axis", text, self._without_the_last, _COERCED)
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
            partial(self._reshaped, _coerced_beyond_rank_4),
            unless=(_COERCED, INDEXED),
        )
        if isinstance(self.default, int) and self.default > 0:
            text = "a missing axis was taken for the last one where the default is out of range"
            answer = Accepting(self._default_kept_in_range)
            yield Mutant("default_axis_kept_in_range", text, answer)

    def _is_negative(self, node: Node) -> bool:
        """Return True if a node states a negative axis."""
        return self.name in node.attrs and self.stated(node)[0] < 0

    def _as_of_a_matrix(self, node: Node) -> Sequence[Any]:
        """Return the answer of a vector whose axis may be one of a matrix of one row."""
        return self._stated(_first_of_a_vector, node).right

    def _left_coerced(self, node: Node) -> Sequence[Any]:
        """Return the outputs as the matrices that the input was coerced to."""
        return [out.reshape(matrix_of(out.shape, self.found(node)[0])) for out in node.right]

    def _unchecked_if_empty(self, node: Node) -> Sequence[Any]:
        """Return the answer along axis 0 of a tensor without elements, whatever its axis."""
        is_empty = node.rank and not node.given[0].size
        return (self.taking(node, (0,)) if is_empty else node).right

    def _of_rank_0_as_a_vector(self, node: Node) -> Sequence[Any]:
        """Return the answer of a scalar as a vector of one element, along its axis."""
        is_beyond_a_vector = self.name in node.attrs and self.stated(node)[0] not in (-1, 0)
        if node.rank or is_beyond_a_vector:
            return node.right
        return self._read_as(node, (1,), (0,), repeat(()))

    def _every_element_a_row(self, node: Node) -> Sequence[Any]:
        """Return the answer along a new last axis of one element."""
        if not node.rank:
            return node.right
        shape = node.given[0].shape
        return self._read_as(node, (*shape, 1), (node.rank,), repeat(shape))

    def _default_kept_in_range(self, node: Node) -> Sequence[Any]:
        """Return the answer along the last axis where the default is out of range."""
        return node.right if self.name in node.attrs else self._outside(_last_axis, node)

    def _outside(self, change: AxisChange, node: Node) -> Sequence[Any]:
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
        # The first of a sequence is its length.
        at = max(range(len(right)), key=lambda place: right[place].size)
        if count <= width or not right[at].size or right[at].shape[-len(inner) :] != inner:
            return right
        out = right[at].copy()
        out.reshape(-1, count)[:, count // width * width :] = blank(out.reshape(-1)[:1])
        return [*right[:at], out, *right[at + 1 :]]

    def _not_transposed_back(self, node: Node) -> Sequence[Any]:
        right, found = node.right, self.found(node)
        order = sorted(range(node.rank), key=lambda axis: (axis in found, axis))
        return [y.transpose(order).reshape(y.shape) if y.ndim == node.rank else y for y in right]

    def _without_the_last(self, node: Node) -> Sequence[Any]:
        right, x = node.right, node.given[0]
        if not x.size or self.found(node) in ((), (x.ndim - 1,)):
            return right
        moved = node.with_input(0, np.ascontiguousarray(np.moveaxis(x, -1, 0)))
        made = self.taking(moved, [self.found(node)[0] + 1]).right
        return [np.moveaxis(out, 0, -1) for out in made]


def _of_indices(of: Callable[[Any, int], Any], original: Any, i: Any, n: int, back: bool) -> Any:
    return original(of(i, n), n, back=back)


def _nearest(indices: Any, length: int) -> Any:
    return np.clip(indices, -length, length - 1) if length else indices


#: Wrong `elements_at` of some paths alone.
CLAMPED = partial(_of_indices, _nearest)

_AT = "the input was coerced to two dimensions"

FAULTS: tuple[Mutant, ...] = (
    Mutant(
        "negative_index_by_the_first_axis",
        "negative indices were counted from the end of the first axis, whichever was indexed",
        lambda node: evaluate(
            node,
            faults={
                INDEXED: partial(
                    _of_indices,
                    lambda i, n: np.where(
                        i < 0, i + (node.given[0].shape[0] if node.given[0].ndim else 0), i
                    ),
                )
            },
        ),
        INDEXED,
        any_type=True,
    ),
    *mutant.faults(
        INDEXED,
        _of_indices,
        (
            "index_wraps",
            "an index out of range was taken modulo the length",
            lambda i, n: i % n if n else i,
        ),
        ("index_clamped", "an index out of range was clamped to the nearest one", _nearest),
        (
            "index_at_the_end_taken",
            "an index one beyond the end was taken for the last one",
            lambda i, n: np.where(i == n, n - 1, i),
        ),
        (
            "indices_unchecked_but_the_first",
            "no index was checked but the first one",
            lambda i, n: np.where(
                np.arange(i.size).reshape(i.shape), np.clip(i, -n, max(0, n - 1)), i
            ),
        ),
        ("index_in_32_bits", "indices were cut down to 32 bits", through(np.int32)),
        of_validity=True,
    ),
    *mutant.faults(
        INDEXED,
        _of_indices,
        ("index_in_int8", "indices were cut down to 8 bits", through(np.int8)),
        ("index_in_int16", "indices were cut down to 16 bits", through(np.int16)),
        (
            "minus_sign_of_index_ignored",
            "the minus sign of a negative index was ignored",
            lambda i, n: np.abs(i),
        ),
        ("negative_index_is_0", "negative indices were taken for 0", lambda i, n: np.maximum(i, 0)),
        (
            "negative_index_off_by_one",
            "negative indices were counted from 0, which stood for the last",
            lambda i, n: np.where((i < 0) & (i > -n), i - 1, i),
        ),
        (
            "negative_index_unsigned",
            "negative indices were read as unsigned numbers, and refused",
            lambda i, n: np.where(i < 0, n, i),
        ),
        (
            "lowest_index_refused",
            "the index that counts from the back to the first was refused",
            lambda i, n: np.where(i == -n, n, i),
        ),
        ("index_0_always", "every index was taken for 0", lambda i, n: np.zeros_like(i)),
    ),
    mutant.faulty(
        "reflected",
        "reflect_is_symmetric",
        "the element at the edge was reflected too",
        lambda right, at, end: right(2 * at + 1, 2 * end + 2) // 2,
        any_type=True,
    ),
    mutant.faulty(
        "wrapped_around",
        "wrap_is_edge",
        "the mode wrap was taken for edge",
        lambda right, at, n: np.clip(at, 0, n - 1),
        any_type=True,
    ),
    *(
        mutant.faulty(
            f"reduced_by_{reduction}",
            name.format(reduction),
            text.format(reduction),
            fault,
            any_type=True,
        )
        for reduction in ("add", "mul", "max", "min")
        for name, text, fault in (
            ("{}_is_none", "the reduction {} was taken for none", lambda right, now, old, new: new),
            (
                "last_update_under_{}",
                "under {}, of equal indices the last alone counted",
                lambda right, now, old, new: right(old, old, new),
            ),
        )
    ),
    *mutant.faults(
        _COERCED,
        lambda at, original, shape, axis: original(shape, at(axis)),
        ("coercion_one_axis_long", f"{_AT} one axis before the right one", lambda a: max(a - 1, 0)),
        ("coercion_one_axis_short", f"{_AT} behind the axis, not before it", lambda axis: axis + 1),
    ),
)


_finfo: Any = ml_dtypes.finfo


def of_output(
    name: str, text: str, change: Callable[[Array], Any], only: Only = None, **where: Any
) -> Mutant:
    """Something is done to each right output, but to texts only where it is for all types."""
    return Mutant(
        name,
        text,
        lambda node: [out if only and out.dtype == object else change(out) for out in node.right],
        only=only,
        **where,
    )


def of_input(name: str, text: str, change: Callable[[Array], Array], only: Only = None) -> Mutant:
    """The right answer to other inputs."""
    return reading(name, text, lambda node: node.with_inputs(change), only=only, of_values=True)


def _only(index: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Write only what `index` selects of a nonempty output; the rest stays zero."""

    def write(out: Array) -> Array:
        written = blank(out)
        if out.size and out.ndim:
            written[index(out)] = out[index(out)]
        return written

    return write


def _first(count: Callable[[Array], int]) -> Callable[[Array], Array]:
    return _only(lambda out: np.unravel_index(np.arange(count(out)), out.shape))


def _taking(places: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """Have the element at `places(place)` at each place of a tensor."""
    return lambda x: x.reshape(-1)[places(np.arange(x.size))].reshape(x.shape)


#: The place in a tensor is kept in 16 bits where it is read, and where it is written.
_in_16_bits = _taking(lambda place: place % (1 << 16))


def nibbles_exchanged(node: Node) -> Sequence[Any]:
    """The outputs with elements exchanged that share a byte, or those of inputs so changed."""
    made = [*map(_nibbles, node.right)]
    return node.with_inputs(_nibbles).right if made[0] is node.right[0] else made


def tail_left(width: int, passes: bool, node: Node) -> Sequence[Any]:
    """Behind whole vectors, the input where the output `passes` it, or else zeros."""
    (out, *others), x = node.right, node.lead if passes else blank(node.right[0])
    if x is None or (x.shape, x.dtype) != (out.shape, out.dtype):
        return node.right
    kept = np.arange(out.size).reshape(out.shape) < el.whole_vectors(width)(out.size)
    return [np.where(kept, out, x), *others]


def _read_again(axis: int, node: Node) -> Node:
    x = node.lead
    if x is None or not -x.ndim <= axis < x.ndim or x.shape[axis] <= 1024:
        return node
    lead = versions(node.op.domain, node.op.name)[node.op.since].lead
    return node.with_input(lead, np.take(x, np.arange(x.shape[axis]) % 1024, axis=axis))


def _exchanged(one: int, other: int, least: int = 2) -> Callable[[Array], Array]:
    return lambda out: np.swapaxes(out, one, other).reshape(out.shape) if out.ndim >= least else out


def _without_the_attribute(node: Node) -> Sequence[Any]:
    for name in node.attrs:
        with suppress(InvalidNode):
            return node.with_attrs(**{name: None}).right
    return node.right


def _has(strange: Callable[[Array], Any]) -> Callable[[Node], bool]:
    return lambda node: any(bool(strange(one).any()) for one in node.tensors if is_real(one))


def _of(which: str | int, change: Callable[[Array], Any]) -> Callable[[Array], Array]:
    return lambda x: change(x).astype(x.dtype) if (d := of(x)) and which in (d.kind, d.bits) else x


def _through(name: str) -> Callable[[Array], Array]:
    return _of("float", through(DTYPES[name].numpy))


def _flushed(x: Array) -> Array:
    return np.where(np.abs(x) < float(_finfo(x.dtype).smallest_normal), x * x.dtype.type(0), x)


_nibbles = _of(4, _taking(lambda place: np.minimum(place ^ 1, place.size - 1)))
#: Infinities become the largest number.
_finite = _of("float", lambda x: np.clip(x, _finfo(x.dtype).min, _finfo(x.dtype).max))


def _replaced(which: Callable[[Array], Any], value: float) -> Callable[[Array], Any]:
    return _of("float", lambda x: np.where(which(x), x.dtype.type(value), x))


#: Which types lose something on the way through another; of those of 16 bits float16 has more
#: digits, and bfloat16 the wider range.
_NARROWED_TO = {"float32": el.DOUBLE, "float16": el.BEYOND_FLOAT16, "bfloat16": ("float16", *LONG)}

MUTANTS: tuple[Mutant, ...] = (
    of_output(
        "column_major",
        "the output was written in column-major order",
        lambda out: np.ascontiguousarray(out.T).reshape(out.shape),
    ),
    of_input(
        "read_column_major",
        "the input was read in column-major order",
        lambda x: x.reshape(x.shape[::-1]).T.copy(),
    ),
    of_output("transposed", "the output's axes came in the opposite order", lambda o: o.T.copy()),
    of_output(
        "channels_last",
        "the output came with axis 1 last",
        lambda out: np.moveaxis(out, 1, -1).copy() if out.ndim > 2 else out,
    ),
    of_output(
        "written_channels_last",
        "the output was written in the order of channels last",
        lambda o: np.moveaxis(o, 1, -1).reshape(o.shape) if o.ndim > 2 else o,
    ),
    of_input(
        "read_channels_last",
        "the input was read in the order of channels last",
        lambda x: (
            np.moveaxis(x.reshape(len(x), *x.shape[2:], x.shape[1]), -1, 1).copy()
            if x.ndim > 2
            else x
        ),
    ),
    of_output(
        "batches_and_channels_exchanged",
        "the output was written with axes 0 and 1 exchanged",
        _exchanged(0, 1),
    ),
    of_output(
        "last_two_axes_exchanged",
        "the output was written with its last two axes exchanged",
        _exchanged(-2, -1),
    ),
    of_output("shifted", "every element was written one place later", lambda out: np.roll(out, 1)),
    *(
        of_output(
            f"first_{name}_only",
            f"only the first entry along axis {axis} was computed, and the others left zero",
            _only(index),
        )
        for axis, name, index in (
            (0, "batch", lambda out: np.s_[:1]),
            (1, "channel", lambda out: np.s_[:, :1] if out.ndim > 1 else np.s_[:]),
        )
    ),
    of_output(
        "first_batch_for_all",
        "every entry along axis 0 got the first one's answer",
        lambda out: np.repeat(out[:1], len(out), axis=0) if out.ndim else out,
    ),
    of_output(
        "last_element_missing", "the last element was left zero", _first(lambda out: out.size - 1)
    ),
    *(
        of_output(
            f"row_tail_of_{width}_untouched",
            f"what is left of a row after its last whole vector of {width} was left zero",
            _only(
                partial(
                    lambda width, out: np.s_[..., : el.whole_vectors(width)(out.shape[-1])], width
                )
            ),
        )
        for width in WIDTHS
    ),
    *(
        of_output(
            f"tail_of_{width}_repeats",
            f"what is left of the tensor after the last whole vector of {width} repeated that",
            _taking(
                partial(
                    lambda width, place: np.where(
                        place < el.whole_vectors(width)(place.size), place, place - width
                    ),
                    width,
                )
            ),
        )
        for width in WIDTHS
    ),
    of_output(
        "rows_left_over_by_four_threads",
        "of 2,048 elements or more four threads computed as many rows each, and what was "
        "left of them stayed zero",
        lambda out: (
            out
            if out.size < 2048
            else _first(lambda out: out.size - out.size % (4 * out.shape[-1]))(out)
        ),
    ),
    # How much is read does not depend on the type: one type decides.
    *(
        reading(
            f"axis_{axis}_read_up_to_1024".replace("-", "minus_"),
            f"of more than 1,024 entries along axis {axis} the first 1,024 were read again",
            partial(_read_again, axis),
            only=("float32",),
            of_values=True,
        )
        for axis in (0, 1, -1)
    ),
    of_output(
        "index_in_8_bits",
        "an element's place in the tensor was kept in 8 bits",
        _taking(lambda place: place % (1 << 8)),
    ),
    Mutant(
        "index_in_16_bits",
        "an element's place in a tensor was kept in 16 bits",
        lambda node: [*map(_in_16_bits, node.with_inputs(_in_16_bits).right)],
        of_values=True,
    ),
    of_output(
        "axes_of_rank_5_exchanged",
        "the first two of five or more axes were exchanged",
        _exchanged(0, 1, least=5),
    ),
    of_output("flattened", "the output had one axis", lambda out: out.reshape(-1)),
    of_output(
        "vector_becomes_a_row",
        "a vector came out as a matrix of one row",
        lambda out: out.reshape(1, -1) if out.ndim == 1 else out,
    ),
    of_output("squeezed", "axes of one element were dropped", lambda out: out.squeeze()),
    of_output(
        "always_a_matrix",
        "the output had two axes whatever the input had",
        lambda out: out.reshape(len(out), -1) if out.size and out.ndim else out,
    ),
    of_output(
        "empty_becomes_one",
        "an empty tensor got one element",
        lambda out: out if out.size else np.ones(1, out.dtype),
    ),
    *(
        of_output(
            name,
            text,
            methodcaller("astype", dtype),
            [other for other in (*el.REALS, "bool") if other != np.dtype(dtype).name],
            of_numbers=dtype is np.bool_,
        )
        for name, text, dtype in (
            ("output_in_float32", "the output was float32 whatever the input", np.float32),
            ("output_in_float64", "the output was float64 whatever the input", np.float64),
            ("output_as_bool", "the output was a mask of booleans", np.bool_),
            ("output_as_int64", "the output was of type int64", np.int64),
        )
    ),
    *(
        Mutant(
            f"invalid_is_{name}",
            f"an invalid model gave {text}",
            Accepting(
                partial(
                    lambda make, node: [
                        make(
                            next(
                                (x for x in (node.lead, *node.tensors) if x is not None),
                                np.zeros(1),
                            )
                        )
                    ],
                    make,
                )
            ),
        )
        for name, text, make in (("copied", "its input back", np.copy), ("zero", "zeros", blank))
    ),
    Mutant(
        "invalid_attribute_ignored",
        "an attribute that made the model invalid was ignored",
        Accepting(_without_the_attribute),
        needs="*",
    ),
    Mutant("two_outputs", "there were two outputs", lambda node: [*node.right, *node.right]),
    Mutant("no_output", "there was no output", lambda node: []),
    Mutant("a_list", "the output was a list", lambda node: [out.tolist() for out in node.right]),
    refusing("refuses_rank_1", "vectors were not supported", lambda n: n.rank == 1),
    refusing(
        "refuses_rank_5",
        "more than four axes were not supported",
        lambda node: any(array.ndim > 4 for array in (*node.tensors, *node.right)),
    ),
    refusing(
        "refuses_empty",
        "empty tensors were not supported",
        lambda node: any(not array.size for array in node.tensors),
    ),
    refusing("refuses_infinities", "infinities were not supported", _has(np.isinf), only=FLOATS),
    refusing("refuses_nan", "NaN was not supported", _has(np.isnan), only=FLOATS),
    refusing("refuses_constants", "initializers were not supported", lambda n: n.constant),
    *(
        refusing(f"refuses_{name}", f"{name} was not supported", lambda n: True, only=(name,))
        for name in DTYPES
    ),
    *(
        of_input(
            f"texts_{name}",
            f"texts {text}",
            _of("string", np.vectorize(change, otypes="O")),
            ("string",),
        )
        for name, text, change in (
            ("as_ascii", "lost what is not ASCII", lambda s: s.encode("ascii", "ignore").decode()),
            ("cut_at_nul", "were cut at a NUL character", lambda s: s.partition("\0")[0]),
            (
                "cut_to_64_bytes",
                "were cut to 64 bytes",
                lambda s: s.encode()[:64].decode(errors="ignore"),
            ),
            ("stripped", "lost the spaces at their ends", str.strip),
            ("in_lower_case", "were turned to lower case", str.lower),
        )
    ),
    *(
        of_input(f"complex_{name}", text, _of("complex", change), only)
        for name, text, change, only in (
            ("conjugated", "complex numbers were conjugated", np.conj, el.COMPLEX),
            ("real_part_alone", "imaginary parts were dropped", np.real, el.COMPLEX),
            (
                "parts_exchanged",
                "real and imaginary parts were exchanged",
                lambda x: x.imag + 1j * x.real,
                el.COMPLEX,
            ),
            (
                "in_complex64",
                "complex numbers were narrowed to complex64",
                through(np.complex64),
                ("complex128",),
            ),
        )
    ),
    of_output(
        "negated",
        "every sign was turned",
        lambda out: out if out.dtype == np.bool_ else -out,
        NUMBERS,
        of_numbers=True,
    ),
    of_output(
        "inverted",
        "every result was taken from 1",
        lambda out: out ^ True if out.dtype == np.bool_ else 1 - out,
        (*NUMBERS, "bool"),
    ),
    *(
        of_output(
            f"zeros_are_{word}",
            f"{text} stood in place of every zero",
            _replaced(lambda out: out == 0, value),
            FLOATS,
            of_numbers=True,
        )
        for word, text, value in (("tiny", "1e-6", 1e-6), ("nan", "NaN", np.nan))
    ),
    of_output(
        "doubled", "every value was twice as large", lambda out: out + out, NUMBERS, of_numbers=True
    ),
    of_output("zeros", "nothing was computed, and all left zero", blank),
    of_output("nan_everywhere", "every element was NaN", lambda y: np.full_like(y, np.nan), FLOATS),
    # In wider types less than one ULP is lost, and every error bound allows more.
    Mutant(
        "truncated",
        "the result was cut off instead of rounded",
        lambda node: [
            el.cut_off(y, x.values) if isinstance(x, Expected) else y
            for x, y in zip(exactly(node), node.right, strict=True)
        ],
        only=("float16", "bfloat16"),
        rounded=True,
    ),
    Mutant(
        "overflow_saturates",
        "a result beyond the type's range became its largest number",
        lambda node: (
            node.right
            if _has(np.isinf)(node) or _has(np.isnan)(node)
            else [*map(_finite, node.right)]
        ),
        unbounded=True,
        rounded=True,
        only=FLOATS,
    ),
    *(
        of_output(
            f"result_through_{name}",
            f"the result went through {name}",
            _through(name),
            only,
            rounded=True,
        )
        for name, only in _NARROWED_TO.items()
    ),
    # Engines flush subnormal numbers of float32's range, and every error bound allows for that.
    of_output(
        "subnormal_results_flushed",
        "subnormal results became zero",
        _of("float", _flushed),
        ("float16",),
        rounded=True,
    ),
    of_input(
        "subnormal_inputs_flushed",
        "subnormal elements of the input became zero",
        _of("float", _flushed),
        FLOATS,
    ),
    *(
        of_input(f"input_in_{name}", f"the input was narrowed to {name}", _through(name), only)
        for name, only in _NARROWED_TO.items()
    ),
    of_input(
        "input_in_tf32",
        "the input was rounded to 11 bits, as in TF32",
        _of("float", partial(el.cut_to_bits, bits=11)),
        LONG,
    ),
    of_input("infinities_clamped", "infinities were taken for the largest number", _finite, FLOATS),
    *(
        of_input(
            f"minus_infinity_taken_for_{name}",
            f"-inf in the input was taken for {value:g}",
            _replaced(np.isneginf, value),
            only,
        )
        for name, value, only in (
            ("minus_1e4", -1e4, FLOATS),
            ("minus_1e9", -1e9, el.BEYOND_FLOAT16),
            ("nan", np.nan, FLOATS),
        )
    ),
    of_input(
        "input_in_the_range_of_float16",
        "finite numbers in the input were clamped to the range of float16",
        _of("float", lambda x: np.where(np.isinf(x), x, np.clip(x, -65504, 65504))),
        el.BEYOND_FLOAT16,
    ),
    *(
        of_input(
            f"integers_through_{name}",
            f"integers went through {name}",
            _of("int", through(name)),
            only,
        )
        for name, only in (
            ("float32", el.BEYOND_FLOAT32[1:]),
            ("float64", el.BEYOND_FLOAT64),
            ("int32", ("int64", "uint64")),
        )
    ),
    of_input(
        "whole_numbers", "the input was cut off to whole numbers", _of("float", np.trunc), FLOATS
    ),
    of_input(
        "nan_taken_for_zero", "NaN in the input was taken for zero", _replaced(np.isnan, 0), FLOATS
    ),
    of_output(
        "nan_becomes_zero",
        "NaN in the result became zero",
        _replaced(np.isnan, 0),
        FLOATS,
        rounded=True,
    ),
    # In other types the next number is more than twice as far away.
    *(
        of_output(
            f"too_large_by_{part:g}",
            f"every value was too large by {part:g} of itself",
            partial(lambda part, x: (x.astype(np.float64) * (1 + part)).astype(x.dtype), part),
            only,
            rounded=True,
        )
        for part, only in ((1e-2, FLOATS), (1e-3, ("float16", *LONG)), (1e-4, LONG), (1e-5, LONG))
    ),
)

#: What suites need not see, as they cannot in each operator: the sign of a zero is mostly open.
CAUSES: tuple[Mutant, ...] = (
    of_output(
        "zeros_lose_their_signs",
        "-0 in the result became +0",
        lambda y: np.where(y == 0, np.zeros_like(y), y),
    ),
    of_output(
        "infinite_results_saturate",
        "infinities in the result became the largest number of its type",
        _finite,
    ),
    of_input(
        "infinities_taken_for_zero",
        "infinities in the input were taken for zero",
        _replaced(np.isinf, 0),
    ),
    reading(
        "magnitudes_taken",
        "the absolute values of the first input were taken",
        lambda node: (
            node
            if not node.given or node.inputs[0] is None
            else node.with_input(0, np.abs(node.inputs[0]))
        ),
        only=el.BELOW_0,
    ),
)
