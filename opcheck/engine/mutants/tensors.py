"""Mutants of whole tensors: misplaced and missing elements, wrong shapes and types, refusals.

A change takes a tensor, of any type and rank, and returns another. Mutants of the output make it of
each right output, and those of the input of each input.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from operator import methodcaller
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.dtypes import DTYPES, is_real
from opcheck.engine.mutants import elements as el
from opcheck.engine.mutants.elements import (
    FLOATS,
    WIDTHS,
    blank,
    whole_vectors,
)
from opcheck.engine.mutants.mutant import Accepting, Mutant, Only, reading, refusing
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.opset import versions

#: A tensor in place of another.
TensorChange: TypeAlias = Callable[[Array], Array]
#: Places in a tensor whose axes are one.
Places: TypeAlias = NDArray[np.intp]
#: From so many elements on, work is divided among threads.
_THREADED = 2048
#: The most entries along an axis that one block reads.
_BLOCK = 1024


def of_output(
    name: str, text: str, change: TensorChange, only: Only = None, **where: Any
) -> Mutant:
    """Return a mutant that changes each right output, but texts only where `only` is None.

    `where` are attributes of the mutant. Its answer raises InvalidNode for a forbidden node.
    """

    def answer(node: Node) -> Sequence[Array]:
        return [out if only and out.dtype == object else change(out) for out in node.right]

    return Mutant(name, text, answer, only=only, **where)


def of_input(name: str, text: str, change: TensorChange, only: Only = None) -> Mutant:
    """Return a mutant that gives the right answer to changed inputs.

    Tensors of attributes are changed too. The answer raises InvalidNode if the node is then
    forbidden.
    """

    def read(node: Node) -> Node:
        return node.with_inputs(change)

    return reading(name, text, read, only=only, of_values=True)


# ── elements at other places ──────────────────────────────────────────────────────────────────


def column_major(out: Array) -> Array:
    """Mutant: elements are written from the first axis to the last."""
    return np.ascontiguousarray(out.T).reshape(out.shape)


def read_column_major(x: Array) -> Array:
    """Mutant: elements are read from the first axis to the last."""
    return x.reshape(x.shape[::-1]).T.copy()


def transposed(out: Array) -> Array:
    """Mutant: axes are in the opposite order."""
    return out.T.copy()


def channels_last(out: Array) -> Array:
    """Mutant: axis 1 of three or more is the last."""
    return np.moveaxis(out, 1, -1).copy() if out.ndim > 2 else out


def written_channels_last(out: Array) -> Array:
    """Mutant: elements are written with axis 1 last, in the right shape."""
    return np.moveaxis(out, 1, -1).reshape(out.shape) if out.ndim > 2 else out


def read_channels_last(x: Array) -> Array:
    """Mutant: elements are read with axis 1 last."""
    if x.ndim <= 2:
        return x
    stored = x.reshape(len(x), *x.shape[2:], x.shape[1])
    return np.moveaxis(stored, -1, 1).copy()


def axes_exchanged(one: int, other: int, out: Array, least_rank: int = 2) -> Array:
    """Mutant: elements are written with two axes exchanged, in the right shape."""
    return np.swapaxes(out, one, other).reshape(out.shape) if out.ndim >= least_rank else out


def one_place_later(out: Array) -> Array:
    """Mutant: each element is one place later, and the last is the first."""
    return np.roll(out, 1)


def first_batch_for_all(out: Array) -> Array:
    """Mutant: each entry along axis 0 is the first one."""
    return np.repeat(out[:1], len(out), axis=0) if out.ndim else out


def taking(places: Callable[[Places], Places], x: Array) -> Array:
    """Return a tensor of the shape of `x` that has, at each place, its element at `places(place)`.

    Places are row-major.
    """
    return x.reshape(-1)[places(np.arange(x.size))].reshape(x.shape)


def in_bits(bits: int, places: Places) -> Places:
    """Return places as so many bits keep them: without the higher ones."""
    return places % (1 << bits)


def last_vector_for_the_tail(width: int, places: Places) -> Places:
    """Return places in the last whole vector for those behind it.

    All stay where no vector is full.
    """
    return np.where(places < whole_vectors(width, places.size), places, places - width)


def in_16_bits(node: Node) -> Sequence[Array]:
    """Mutant: places are kept in 16 bits where tensors are read, and where they are written."""
    narrowed = partial(taking, partial(in_bits, 16))
    return [*map(narrowed, node.with_inputs(narrowed).right)]


# ── parts of the output that are not written ──────────────────────────────────────────────────


def written(index: Callable[[Array], Any], out: Array) -> Array:
    """Mutant: only what `index` selects of a nonempty output is written; the rest stays zero."""
    part: Array = blank(out)
    if out.size and out.ndim:
        part[index(out)] = out[index(out)]
    return part


def first_batch(out: Array) -> Any:
    """Return the index of the first entry along axis 0."""
    return np.s_[:1]


def first_channel(out: Array) -> Any:
    """Return the index of the first entry along axis 1; that of all elements without that axis."""
    return np.s_[:, :1] if out.ndim > 1 else np.s_[:]


def whole_vectors_of_rows(width: int, out: Array) -> Any:
    """Return the index of the elements in whole vectors of rows; all of rows shorter than one."""
    return np.s_[..., : whole_vectors(width, out.shape[-1])]


def first_elements(count: Callable[[Array], int], out: Array) -> Any:
    """Return the indices of the first `count(out)` elements."""
    return np.unravel_index(np.arange(count(out)), out.shape)


def all_but_the_last(out: Array) -> int:
    """Return how many elements there are without the last."""
    return out.size - 1


def in_rows_of_four_threads(out: Array) -> int:
    """Return how many elements are in rows of which four threads have as many each.

    out: of rank 1 or more, its last axis not empty.
    """
    left_over: int = out.size % (4 * out.shape[-1])
    return out.size - left_over


def written_by_four_threads(out: Array) -> Array:
    """Mutant: of many elements, rows that four threads leave over stay zero."""
    if out.size < _THREADED:
        return out
    return written(partial(first_elements, in_rows_of_four_threads), out)


def not_computed(out: Array, node: Node, passes: bool) -> Array | None:
    """Return what a kernel leaves where it does not compute an output, in the shape of `out`.

    That is the leading input of the node if it `passes`, and else zeros, of texts "". None if the
    input is missing, or is of another shape or type.
    """
    left = node.lead if passes else blank(out)
    if left is None or (left.shape, left.dtype) != (out.shape, out.dtype):
        return None
    return left


def computed_up_to(end: Callable[[int], int], passes: bool, node: Node) -> Sequence[Array]:
    """Mutant: of the first output only the first `end(size)` elements are computed.

    The others, and whether the input `passes`, are those of `not_computed`. All are right where
    that has none.
    """
    out, *others = node.right
    left = not_computed(out, node, passes)
    if left is None:
        return node.right
    is_computed = np.arange(out.size).reshape(out.shape) < end(out.size)
    return [np.where(is_computed, out, left), *others]


def first_block_read_again(axis: int, node: Node) -> Node:
    """Mutant: along an axis that is longer than a block the first block is read again."""
    x = node.lead
    if x is None or not -x.ndim <= axis < x.ndim or x.shape[axis] <= _BLOCK:
        return node
    lead = versions(node.op.domain, node.op.name)[node.op.since].lead
    return node.with_input(lead, np.take(x, np.arange(x.shape[axis]) % _BLOCK, axis=axis))


# ── shapes and types ──────────────────────────────────────────────────────────────────────────


def flattened(out: Array) -> Array:
    """Mutant: the output has one axis."""
    return out.reshape(-1)


def row_for_a_vector(out: Array) -> Array:
    """Mutant: a vector is a matrix of one row."""
    return out.reshape(1, -1) if out.ndim == 1 else out


def squeezed(out: Array) -> Array:
    """Mutant: axes of one element are dropped."""
    return out.squeeze()


def matrix(out: Array) -> Array:
    """Mutant: all axes but the first are one."""
    return out.reshape(len(out), -1) if out.size and out.ndim else out


def one_for_empty(out: Array) -> Array:
    """Mutant: an empty tensor has one element."""
    return out if out.size else np.ones(1, out.dtype)


def doubled_outputs(node: Node) -> Sequence[Array]:
    """Mutant: there are twice as many outputs."""
    return [*node.right, *node.right]


def no_outputs(node: Node) -> Sequence[Array]:
    """Mutant: there is no output."""
    return []


def lists(node: Node) -> Sequence[Any]:
    """Mutant: outputs are lists."""
    return [out.tolist() for out in node.right]


# ── what is refused, and what an invalid model gives ──────────────────────────────────────────


def has_rank_1(node: Node) -> bool:
    """Return True if the first input is a vector."""
    return node.rank == 1


def has_rank_5(node: Node) -> bool:
    """Return True if an input or output has more than four axes.

    Raises InvalidNode and NotSupported as `Node.right` does.
    """
    return any(array.ndim > 4 for array in (*node.tensors, *node.right))


def has_empty(node: Node) -> bool:
    """Return True if an input has no elements."""
    return any(not array.size for array in node.tensors)


def has_any(strange: Callable[[Array], Array], node: Node) -> bool:
    """Return True if an input of real numbers has an element that is `strange`, which makes a mask.

    Tensors of attributes count too; those of other types do not.
    """
    return any(bool(strange(x).any()) for x in node.tensors if is_real(x))


def is_constant(node: Node) -> bool:
    """Return True if one of the inputs is an initializer."""
    return node.constant


def is_any(node: Node) -> bool:
    """Return True: all nodes are refused in which the mutant is wrong."""
    return True


def made_of_the_input(make: TensorChange, node: Node) -> Sequence[Array]:
    """Mutant: something is made of the first tensor; without one, of a single zero."""
    for x in (node.lead, *node.tensors):
        if x is not None:
            return [make(x)]
    return [make(np.zeros(1))]


def without_the_attribute(node: Node) -> Sequence[Array]:
    """Mutant: an attribute is ignored without which the model is valid."""
    for name in node.attrs:
        with suppress(InvalidNode):
            return node.with_attrs(**{name: None}).right
    return node.right


MUTANTS: tuple[Mutant, ...] = (
    of_output(
        "column_major",
        "the output was written in column-major order",
        column_major,
    ),
    of_input(
        "read_column_major",
        "the input was read in column-major order",
        read_column_major,
    ),
    of_output("transposed", "the output's axes came in the opposite order", transposed),
    of_output(
        "channels_last",
        "the output came with axis 1 last",
        channels_last,
    ),
    of_output(
        "written_channels_last",
        "the output was written in the order of channels last",
        written_channels_last,
    ),
    of_input(
        "read_channels_last",
        "the input was read in the order of channels last",
        read_channels_last,
    ),
    of_output(
        "batches_and_channels_exchanged",
        "the output was written with axes 0 and 1 exchanged",
        partial(axes_exchanged, 0, 1),
    ),
    of_output(
        "last_two_axes_exchanged",
        "the output was written with its last two axes exchanged",
        partial(axes_exchanged, -2, -1),
    ),
    of_output("shifted", "every element was written one place later", one_place_later),
    *(
        of_output(
            f"first_{name}_only",
            f"only the first entry along axis {axis} was computed, and the others left zero",
            partial(written, index),
        )
        for axis, name, index in (
            (0, "batch", first_batch),
            (1, "channel", first_channel),
        )
    ),
    of_output(
        "first_batch_for_all",
        "every entry along axis 0 got the first one's answer",
        first_batch_for_all,
    ),
    of_output(
        "last_element_missing",
        "the last element was left zero",
        partial(written, partial(first_elements, all_but_the_last)),
    ),
    *(
        of_output(
            f"row_tail_of_{width}_untouched",
            f"what is left of a row after its last whole vector of {width} was left zero",
            partial(written, partial(whole_vectors_of_rows, width)),
        )
        for width in WIDTHS
    ),
    *(
        of_output(
            f"tail_of_{width}_repeats",
            f"what is left of the tensor after the last whole vector of {width} repeated that",
            partial(taking, partial(last_vector_for_the_tail, width)),
        )
        for width in WIDTHS
    ),
    of_output(
        "rows_left_over_by_four_threads",
        "of 2,048 elements or more four threads computed as many rows each, and what was "
        "left of them stayed zero",
        written_by_four_threads,
    ),
    # How much is read does not depend on the type: one type decides.
    *(
        reading(
            f"axis_{axis}_read_up_to_1024".replace("-", "minus_"),
            f"of more than 1,024 entries along axis {axis} the first 1,024 were read again",
            partial(first_block_read_again, axis),
            only=("float32",),
            of_values=True,
        )
        for axis in (0, 1, -1)
    ),
    of_output(
        "index_in_8_bits",
        "an element's place in the tensor was kept in 8 bits",
        partial(taking, partial(in_bits, 8)),
    ),
    Mutant(
        "index_in_16_bits",
        "an element's place in a tensor was kept in 16 bits",
        in_16_bits,
        of_values=True,
    ),
    of_output(
        "axes_of_rank_5_exchanged",
        "the first two of five or more axes were exchanged",
        partial(axes_exchanged, 0, 1, least_rank=5),
    ),
    of_output("flattened", "the output had one axis", flattened),
    of_output(
        "vector_becomes_a_row",
        "a vector came out as a matrix of one row",
        row_for_a_vector,
    ),
    of_output("squeezed", "axes of one element were dropped", squeezed),
    of_output(
        "always_a_matrix",
        "the output had two axes whatever the input had",
        matrix,
    ),
    of_output(
        "empty_becomes_one",
        "an empty tensor got one element",
        one_for_empty,
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
            Accepting(partial(made_of_the_input, make)),
        )
        for name, text, make in (("copied", "its input back", np.copy), ("zero", "zeros", blank))
    ),
    Mutant(
        "invalid_attribute_ignored",
        "an attribute that made the model invalid was ignored",
        Accepting(without_the_attribute),
        needs="*",
    ),
    Mutant("two_outputs", "there were two outputs", doubled_outputs),
    Mutant("no_output", "there was no output", no_outputs),
    Mutant("a_list", "the output was a list", lists),
    refusing("refuses_rank_1", "vectors were not supported", has_rank_1),
    refusing(
        "refuses_rank_5",
        "more than four axes were not supported",
        has_rank_5,
    ),
    refusing(
        "refuses_empty",
        "empty tensors were not supported",
        has_empty,
    ),
    refusing(
        "refuses_infinities",
        "infinities were not supported",
        partial(has_any, np.isinf),
        only=FLOATS,
    ),
    refusing("refuses_nan", "NaN was not supported", partial(has_any, np.isnan), only=FLOATS),
    refusing("refuses_constants", "initializers were not supported", is_constant),
    *(
        refusing(f"refuses_{name}", f"{name} was not supported", is_any, only=(name,))
        for name in DTYPES
    ),
)
