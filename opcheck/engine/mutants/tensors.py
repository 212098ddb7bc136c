"""Mutants of whole tensors: misplaced elements, wrong shapes and refusals, lossy numbers.

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

from opcheck.dtypes import DTYPES, of
from opcheck.engine.evaluate import exactly, is_real
from opcheck.engine.mutants import elements as el
from opcheck.engine.mutants.elements import (
    FLOATS,
    LONG,
    NUMBERS,
    WIDTHS,
    blank,
    cut_to_bits,
    through,
    whole_vectors,
)
from opcheck.engine.mutants.mutant import Accepting, Mutant, Only, reading, refusing
from opcheck.engine.node import Node
from opcheck.engine.outputs import Expected
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
    """Return a mutant that changes each right output, but texts only where `only` is None."""

    def answer(node: Node) -> Sequence[Array]:
        return [out if only and out.dtype == object else change(out) for out in node.right]

    return Mutant(name, text, answer, only=only, **where)


def of_input(name: str, text: str, change: TensorChange, only: Only = None) -> Mutant:
    """Return a mutant that gives the right answer to changed inputs."""

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
    """Return the element at `places(place)` at each place of a tensor."""
    return x.reshape(-1)[places(np.arange(x.size))].reshape(x.shape)


def in_bits(bits: int, places: Places) -> Places:
    """Return places as so many bits keep them."""
    return places % (1 << bits)


def last_vector_for_the_tail(width: int, places: Places) -> Places:
    """Return places in the last whole vector for those behind it."""
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
    """Return the index of the elements in whole vectors of rows."""
    return np.s_[..., : whole_vectors(width, out.shape[-1])]


def first_elements(count: Callable[[Array], int], out: Array) -> Any:
    """Return the indices of the first `count(out)` elements."""
    return np.unravel_index(np.arange(count(out)), out.shape)


def all_but_the_last(out: Array) -> int:
    """Return how many elements there are without the last."""
    return out.size - 1


def in_rows_of_four_threads(out: Array) -> int:
    """Return how many elements are in rows of which four threads have as many each."""
    left_over: int = out.size % (4 * out.shape[-1])
    return out.size - left_over


def written_by_four_threads(out: Array) -> Array:
    """Mutant: of many elements, rows that four threads leave over stay zero."""
    if out.size < _THREADED:
        return out
    return written(partial(first_elements, in_rows_of_four_threads), out)


def tail_left(width: int, passes: bool, node: Node) -> Sequence[Array]:
    """Mutant: behind whole vectors is the input, where the output `passes` it, or else zeros."""
    out, *others = node.right
    x = node.lead if passes else blank(out)
    if x is None or (x.shape, x.dtype) != (out.shape, out.dtype):
        return node.right
    kept = np.arange(out.size).reshape(out.shape) < whole_vectors(width, out.size)
    return [np.where(kept, out, x), *others]


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
    """Return True if an input or output has more than four axes."""
    return any(array.ndim > 4 for array in (*node.tensors, *node.right))


def has_empty(node: Node) -> bool:
    """Return True if an input has no elements."""
    return any(not array.size for array in node.tensors)


def has_any(strange: Callable[[Array], Array], node: Node) -> bool:
    """Return True if an input of real numbers has an element that is `strange`."""
    return any(bool(strange(x).any()) for x in node.tensors if is_real(x))


def is_constant(node: Node) -> bool:
    """Return True if inputs are initializers."""
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


# ── elements of some types ────────────────────────────────────────────────────────────────────


def of_type(which: str | int, change: Callable[[Array], Any], x: Array) -> Array:
    """Change tensors of a kind of types, or of types of so many bits; they keep their type."""
    dtype = of(x)
    if dtype is None or which not in (dtype.kind, dtype.bits):
        return x
    changed: Array = change(x).astype(x.dtype)
    return changed


def neighbours_exchanged(places: Places) -> Places:
    """Return the places of the other element in a byte of two; the last one may be alone."""
    last = places.size - 1
    neighbours: Places = np.minimum(places ^ 1, last)
    return neighbours


#: Elements of 4 bits in the opposite order in each byte.
_nibbles = partial(of_type, 4, partial(taking, neighbours_exchanged))


def nibbles_exchanged(node: Node) -> Sequence[Array]:
    """Mutant: elements of outputs that share a byte are exchanged, or without such, of inputs."""
    outputs = [*map(_nibbles, node.right)]
    return node.with_inputs(_nibbles).right if outputs[0] is node.right[0] else outputs


def as_ascii(text: str) -> str:
    """Mutant: what is not ASCII is left out."""
    return text.encode("ascii", "ignore").decode()


def cut_at_nul(text: str) -> str:
    """Mutant: a text ends at a NUL character."""
    return text.partition("\0")[0]


def cut_to_64_bytes(text: str) -> str:
    """Mutant: a text has 64 bytes at most."""
    return text.encode()[:64].decode(errors="ignore")


def parts_exchanged(x: Array) -> Any:
    """Mutant: real and imaginary parts are exchanged."""
    return x.imag + 1j * x.real


# ── numbers ───────────────────────────────────────────────────────────────────────────────────


def negated(out: Array) -> Any:
    """Mutant: the sign is turned."""
    return out if out.dtype == np.bool_ else -out


def inverted(out: Array) -> Any:
    """Mutant: 1 - y, or `not y`."""
    return out ^ True if out.dtype == np.bool_ else 1 - out


def doubled(out: Array) -> Any:
    """Mutant: 2 y."""
    return out + out


def nan_everywhere(out: Array) -> Array:
    """Mutant: NaN."""
    return np.full_like(out, np.nan)


def is_zero(x: Array) -> Any:
    """Return True for elements that are 0."""
    return x == 0


def value_in_place_of(which: Callable[[Array], Array], value: float, x: Array) -> Array:
    """Return `value` for elements for which `which` is true."""
    return np.where(which(x), x.dtype.type(value), x)


def _replaced(which: Callable[[Array], Any], value: float) -> TensorChange:
    return partial(of_type, "float", partial(value_in_place_of, which, value))


def _through(name: str) -> TensorChange:
    return partial(of_type, "float", partial(through, DTYPES[name].numpy))


def flushed(x: Array) -> Array:
    """Mutant: subnormal numbers are 0, and keep their signs."""
    is_subnormal = np.abs(x) < float(el.limits_of(x).smallest_normal)
    return np.where(is_subnormal, x * x.dtype.type(0), x)


def clamped(x: Array) -> Array:
    """Mutant: infinities are the largest number."""
    return np.clip(x, el.limits_of(x).min, el.limits_of(x).max)


_finite = partial(of_type, "float", clamped)


def in_the_range_of_float16(x: Array) -> Array:
    """Mutant: finite numbers are clamped to the range of float16."""
    largest = 65504
    return np.where(np.isinf(x), x, np.clip(x, -largest, largest))


def too_large_by(part: float, x: Array) -> Array:
    """Mutant: (1 + part) y, in float64 before it is rounded."""
    return (x.astype(np.float64) * (1 + part)).astype(x.dtype)


def truncated(node: Node) -> Sequence[Array]:
    """Mutant: computed outputs are cut off, not rounded."""
    outputs = []
    for exact, right in zip(exactly(node), node.right, strict=True):
        outputs.append(el.cut_off(right, exact.values) if isinstance(exact, Expected) else right)
    return outputs


def overflow_saturates(node: Node) -> Sequence[Array]:
    """Mutant: infinite results of finite inputs are the largest number."""
    if has_any(np.isinf, node) or has_any(np.isnan, node):
        return node.right
    return [*map(_finite, node.right)]


def signs_of_zeros_lost(out: Array) -> Array:
    """Mutant: -0 is +0."""
    return np.where(out == 0, np.zeros_like(out), out)


def magnitudes_taken(node: Node) -> Node:
    """Mutant: the absolute values of the first input are read."""
    x = node.inputs[0] if node.given else None
    return node if x is None else node.with_input(0, np.abs(x))


#: Which types lose something on the way through another; of those of 16 bits float16 has more
#: digits, and bfloat16 the wider range.
_NARROWED_TO = {"float32": el.DOUBLE, "float16": el.BEYOND_FLOAT16, "bfloat16": ("float16", *LONG)}

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
    *(
        of_input(
            f"texts_{name}",
            f"texts {text}",
            partial(of_type, "string", np.vectorize(change, otypes="O")),
            ("string",),
        )
        for name, text, change in (
            ("as_ascii", "lost what is not ASCII", as_ascii),
            ("cut_at_nul", "were cut at a NUL character", cut_at_nul),
            (
                "cut_to_64_bytes",
                "were cut to 64 bytes",
                cut_to_64_bytes,
            ),
            ("stripped", "lost the spaces at their ends", str.strip),
            ("in_lower_case", "were turned to lower case", str.lower),
        )
    ),
    *(
        of_input(f"complex_{name}", text, partial(of_type, "complex", change), only)
        for name, text, change, only in (
            ("conjugated", "complex numbers were conjugated", np.conj, el.COMPLEX),
            ("real_part_alone", "imaginary parts were dropped", np.real, el.COMPLEX),
            (
                "parts_exchanged",
                "real and imaginary parts were exchanged",
                parts_exchanged,
                el.COMPLEX,
            ),
            (
                "in_complex64",
                "complex numbers were narrowed to complex64",
                partial(through, np.complex64),
                ("complex128",),
            ),
        )
    ),
    of_output(
        "negated",
        "every sign was turned",
        negated,
        NUMBERS,
        of_numbers=True,
    ),
    of_output(
        "inverted",
        "every result was taken from 1",
        inverted,
        (*NUMBERS, "bool"),
    ),
    *(
        of_output(
            f"zeros_are_{word}",
            f"{text} stood in place of every zero",
            _replaced(is_zero, value),
            FLOATS,
            of_numbers=True,
        )
        for word, text, value in (("tiny", "1e-6", 1e-6), ("nan", "NaN", np.nan))
    ),
    of_output("doubled", "every value was twice as large", doubled, NUMBERS, of_numbers=True),
    of_output("zeros", "nothing was computed, and all left zero", blank),
    of_output("nan_everywhere", "every element was NaN", nan_everywhere, FLOATS),
    # In wider types less than one ULP is lost, and every error bound allows more.
    Mutant(
        "truncated",
        "the result was cut off instead of rounded",
        truncated,
        only=("float16", "bfloat16"),
        rounded=True,
    ),
    Mutant(
        "overflow_saturates",
        "a result beyond the type's range became its largest number",
        overflow_saturates,
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
        partial(of_type, "float", flushed),
        ("float16",),
        rounded=True,
    ),
    of_input(
        "subnormal_inputs_flushed",
        "subnormal elements of the input became zero",
        partial(of_type, "float", flushed),
        FLOATS,
    ),
    *(
        of_input(f"input_in_{name}", f"the input was narrowed to {name}", _through(name), only)
        for name, only in _NARROWED_TO.items()
    ),
    of_input(
        "input_in_tf32",
        "the input was rounded to 11 bits, as in TF32",
        partial(of_type, "float", partial(cut_to_bits, bits=11)),
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
        partial(of_type, "float", in_the_range_of_float16),
        el.BEYOND_FLOAT16,
    ),
    *(
        of_input(
            f"integers_through_{name}",
            f"integers went through {name}",
            partial(of_type, "int", partial(through, name)),
            only,
        )
        for name, only in (
            ("float32", el.BEYOND_FLOAT32[1:]),
            ("float64", el.BEYOND_FLOAT64),
            ("int32", ("int64", "uint64")),
        )
    ),
    of_input(
        "whole_numbers",
        "the input was cut off to whole numbers",
        partial(of_type, "float", np.trunc),
        FLOATS,
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
            partial(too_large_by, part),
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
        signs_of_zeros_lost,
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
        magnitudes_taken,
        only=el.BELOW_0,
    ),
)
