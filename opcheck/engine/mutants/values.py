"""Mutants of the elements of tensors: texts and numbers that lose something, wrong signs, NaN.

A change takes a tensor of any type and returns another of the same type and shape.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opcheck.dtypes import DTYPES, of
from opcheck.engine.evaluate import exactly
from opcheck.engine.mutants import elements as el
from opcheck.engine.mutants.elements import FLOATS, LONG, NUMBERS, blank, cut_to_bits, through
from opcheck.engine.mutants.mutant import Mutant, reading
from opcheck.engine.mutants.tensors import (
    Places,
    TensorChange,
    has_any,
    of_input,
    of_output,
    taking,
)
from opcheck.engine.node import Node
from opcheck.engine.outputs import Expected
from opcheck.model import Array

#: Elements of so many bits or fewer share a byte.
_BITS_OF_HALF_A_BYTE = 4

# ── elements of some types ────────────────────────────────────────────────────────────────────


def of_type(which: str | int, change: Callable[[Array], Any], x: Array) -> Array:
    """Return `x` changed if its type is of a kind, or has so many bits; others as they are.

    which: a kind of `DType`, or a number of bits. The changed tensor keeps its type.
    """
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
    """Return a mask of elements that are 0."""
    return x == 0


def value_in_place_of(which: Callable[[Array], Array], value: float, x: Array) -> Array:
    """Return `x` with `value` for elements of which the mask `which(x)` is true."""
    return np.where(which(x), x.dtype.type(value), x)


def _replaced(which: Callable[[Array], Any], value: float) -> TensorChange:
    """Return the change that puts `value` in place of floats of which the mask `which` is true.

    Tensors of other types stay.
    """
    return partial(of_type, "float", partial(value_in_place_of, which, value))


def _through(name: str) -> TensorChange:
    """Return the change of floating tensors by way of the type `name`; others stay."""
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


def with_first(change: TensorChange, node: Node) -> Node:
    """Return a node whose first input is changed; without an input the node itself."""
    first = node.inputs[0] if node.inputs else None
    return node if first is None else node.with_input(0, change(first))


#: Which types lose something on the way through another; of those of 16 bits float16 has more
#: digits, and bfloat16 the wider range.
_NARROWED_TO = {"float32": el.DOUBLE, "float16": el.BEYOND_FLOAT16, "bfloat16": ("float16", *LONG)}

MUTANTS: tuple[Mutant, ...] = (
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


def input_unchanged(node: Node) -> Sequence[Array]:
    """Mutant: the leading input in place of an output of its shape and type."""
    out, *others = node.right
    x = node.lead
    is_alike = x is not None and (x.shape, x.dtype) == (out.shape, out.dtype)
    return [x, *others] if x is not None and is_alike else node.right


def low_32_bits(x: Array) -> Array:
    """Mutant: of integers of 64 bits the low 32 are left, with their sign; others stay."""
    narrow = {"int64": np.int32, "uint64": np.uint32}.get(x.dtype.name)
    return x if narrow is None else through(narrow, x)


def read_one_a_byte(x: Array) -> Array:
    """Mutant: of elements of 4 or 2 bits each byte is read as one; the rest is zero.

    Others stay.
    """
    dtype = of(x)
    if dtype is None or dtype.kind != "int" or dtype.bits > _BITS_OF_HALF_A_BYTE:
        return x
    read: Array = blank(x).reshape(-1)
    firsts = x.reshape(-1)[:: 8 // dtype.bits]
    read[: firsts.size] = firsts
    in_shape: Array = read.reshape(x.shape)
    return in_shape


def constants_read_one_a_byte(node: Node) -> Node:
    """Mutant: the same of nodes with an initializer."""
    return node.with_inputs(read_one_a_byte) if node.constant else node


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
        partial(with_first, np.abs),
        only=el.BELOW_0,
    ),
    Mutant("input_unchanged", "the input came out unchanged", input_unchanged),
    of_input(
        "low_32_bits_of_integers",
        "of 64-bit integers the low 32 bits were taken",
        low_32_bits,
    ),
    reading(
        "low_32_bits_of_the_first_input",
        "of 64-bit integers of the first input the low 32 bits were taken",
        partial(with_first, low_32_bits),
        only=("int64", "uint64"),
    ),
    of_input(
        "log_of_the_input",
        "the logarithm of the input was taken first",
        partial(of_type, "float", np.log),
    ),
    of_input(
        "exp_of_the_input",
        "the exponential of the input was taken first",
        partial(of_type, "float", np.exp),
    ),
    of_input(
        "packed_elements_read_one_a_byte",
        "of elements that share a byte each byte was read as one",
        read_one_a_byte,
    ),
    reading(
        "packed_constants_read_one_a_byte",
        "of an initializer's elements that share a byte each byte was read as one",
        constants_read_one_a_byte,
    ),
)
