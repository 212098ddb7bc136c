"""Mutants of layout and form: misplaced outputs, wrong shapes, wrong refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from opcheck.dtypes import DTYPES
from opcheck.engine.mutants.mutant import (
    FLOATS,
    REALS,
    Accepting,
    Mutant,
    blank,
    floating,
    of_input,
    of_output,
    refusing,
)
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import Array

#: Elements that a vector register or a warp holds.
WIDTHS = (4, 8, 16, 32)


def _only(keep: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """What `keep` selects of an output of some elements is written; the rest stays zero."""

    def change(out: Array) -> Array:
        written = blank(out)
        if out.size and out.ndim:
            place = keep(out)
            written[place] = out[place]
        return written

    return change


def _untouched_tail(width: int) -> Callable[[Array], Array]:
    """Of rows as long as a vector at least, what is left after the last whole one stays zero."""

    def whole(out: Array) -> Any:
        length = out.shape[-1]
        return (..., slice(0, length // width * width if length >= width else length))

    return _only(whole)


def _repeated_tail(width: int) -> Callable[[Array], Array]:
    """Treat the tensor as a whole; the tail repeats the vector before it."""

    def change(out: Array) -> Array:
        flat = out.reshape(-1).copy()
        whole = flat.size // width * width
        if whole and flat.size > whole:
            flat[whole:] = flat[whole - width : whole][: flat.size - whole]
        return flat.reshape(out.shape)

    return change


def _quarters_of_rows(out: Array) -> Array:
    """Of 2,048 elements or more, each of four threads computes a quarter of the rows."""
    if out.size < 2048:
        return out
    rows = out.reshape(-1, out.shape[-1]).copy()
    rows[len(rows) // 4 * 4 :] = 0
    return rows.reshape(out.shape)


def _index_modulo(limit: int) -> Callable[[Array], Array]:
    return lambda out: out.reshape(-1)[np.arange(out.size) % limit].reshape(out.shape)


def _places_in_16_bits(node: Node) -> Sequence[Any]:
    """Elements are read from such places, and written to them."""
    wrapped = _index_modulo(1 << 16)
    return [wrapped(out) for out in node.with_inputs(wrapped).right]


def _read_again(axis: int) -> Callable[[Node], Sequence[Any]]:
    """The first 1,024 entries along an axis stand in place of all that follow."""

    def answer(node: Node) -> Sequence[Any]:
        x = node.lead
        if x is None or not -x.ndim <= axis < x.ndim or x.shape[axis] <= 1024:
            return node.right
        return node.with_lead(np.take(x, np.arange(x.shape[axis]) % 1024, axis=axis)).right

    return answer


def _lead(node: Node) -> Array:
    return node.given[0] if node.lead is None else node.lead


def _as(dtype: Any) -> Callable[[Array], Array]:
    return lambda out: out.astype(dtype)


def _exchanged(one: int, other: int, least: int = 2) -> Callable[[Array], Array]:
    """What has `least` axes or more is written as if two of them were the other way round."""
    return lambda out: np.swapaxes(out, one, other).reshape(out.shape) if out.ndim >= least else out


def _read_channels_last(array: Array) -> Array:
    if array.ndim < 3:
        return array
    batches, channels, *others = array.shape
    return np.ascontiguousarray(np.moveaxis(array.reshape(batches, *others, channels), -1, 1))


def _without_the_attribute(node: Node) -> Sequence[Any]:
    """Without the first attribute that is to blame, if one alone is."""
    for name in node.attrs:
        with suppress(InvalidNode):
            return node.with_attrs(**{name: None}).right
    return node.right


def _has(strange: Callable[[Array], Any]) -> Callable[[Node], bool]:
    """Return True if an input has such elements."""
    return lambda node: any(bool(strange(one).any()) for one in node.given if floating(one))


MUTANTS: tuple[Mutant, ...] = (
    of_output("column_major", "the output was written in column-major order",
              lambda out: np.ascontiguousarray(out.T).reshape(out.shape)),
    of_input("read_column_major", "the input was read in column-major order",
             lambda x: np.ascontiguousarray(x.reshape(x.shape[::-1]).T)),
    of_output("transposed", "the output's axes came in the opposite order", lambda o: o.T.copy()),
    of_output("channels_last", "the output came with axis 1 last",
              lambda out: np.moveaxis(out, 1, -1).copy() if out.ndim > 2 else out),
    of_output("written_channels_last", "the output was written in the order of channels last",
              lambda o: np.moveaxis(o, 1, -1).reshape(o.shape) if o.ndim > 2 else o),
    of_input("read_channels_last", "the input was read in the order of channels last",
             _read_channels_last),
    of_output("batches_and_channels_exchanged",
              "the output was written with axes 0 and 1 exchanged", _exchanged(0, 1)),
    of_output("last_two_axes_exchanged",
              "the output was written with its last two axes exchanged", _exchanged(-2, -1)),
    of_output("shifted", "every element was written one place later", lambda out: np.roll(out, 1)),
    of_output("first_batch_only",
              "only the first entry along axis 0 was computed, and the others left zero",
              _only(lambda out: np.s_[:1])),
    of_output("first_channel_only",
              "only the first entry along axis 1 was computed, and the others left zero",
              _only(lambda out: np.s_[:, :1] if out.ndim > 1 else np.s_[:])),
    of_output("first_batch_for_all", "every entry along axis 0 got the first one's answer",
              lambda out: np.repeat(out[:1], len(out), axis=0) if out.ndim else out),
    of_output("last_element_missing", "the last element was left zero",
              _only(lambda out: np.unravel_index(np.arange(out.size - 1), out.shape))),
    *(of_output(f"row_tail_of_{width}_untouched",
                f"what is left of a row after its last whole vector of {width} was left zero",
                _untouched_tail(width)) for width in WIDTHS),
    *(of_output(f"tail_of_{width}_repeats",
                f"what is left of the tensor after the last whole vector of {width} repeated that",
                _repeated_tail(width)) for width in WIDTHS),
    of_output("rows_left_over_by_four_threads",
              "of 2,048 elements or more four threads computed as many rows each, and what was "
              "left of them stayed zero", _quarters_of_rows),
    # How much is read does not depend on the type: one type decides.
    *(Mutant(f"axis_{axis}_read_up_to_1024".replace("-", "minus_"),
             f"of more than 1,024 entries along axis {axis} the first 1,024 were read again",
             _read_again(axis), only=("float32",)) for axis in (0, 1, -1)),
    of_output("index_in_8_bits", "an element's place in the tensor was kept in 8 bits",
              _index_modulo(1 << 8)),
    Mutant("index_in_16_bits", "an element's place in a tensor was kept in 16 bits",
           _places_in_16_bits),
    of_output("axes_of_rank_5_exchanged", "the first two of five or more axes were exchanged",
              _exchanged(0, 1, least=5)),
    of_output("flattened", "the output had one axis", lambda out: out.reshape(-1)),
    of_output("vector_becomes_a_row", "a vector came out as a matrix of one row",
              lambda out: out.reshape(1, -1) if out.ndim == 1 else out),
    of_output("squeezed", "axes of one element were dropped", lambda out: out.squeeze()),
    of_output("always_a_matrix", "the output had two axes whatever the input had",
              lambda out: out.reshape(len(out), -1) if out.size and out.ndim else out),
    of_output("empty_becomes_one", "an empty tensor got one element",
              lambda out: out if out.size else np.ones(1, out.dtype)),
    *(of_output(f"output_in_{name}", f"the output was {name} whatever the input",
                _as(DTYPES[name].numpy), [other for other in (*REALS, "bool") if other != name])
      for name in ("float32", "float64")),
    of_output("output_as_bool", "the output was a mask of booleans", _as(np.bool_), REALS),
    of_output("output_as_int64", "the output was of type int64", _as(np.int64),
              [*(name for name in REALS if name != "int64"), "bool"]),
    Mutant("invalid_is_copied", "an invalid model gave its input back",
           Accepting(lambda node: [_lead(node).copy()])),
    Mutant("invalid_is_zero", "an invalid model gave zeros",
           Accepting(lambda node: [blank(_lead(node))])),
    Mutant("invalid_attribute_ignored", "an attribute that made the model invalid was ignored",
           Accepting(_without_the_attribute), needs="*"),
    Mutant("two_outputs", "there were two outputs", lambda node: [*node.right, *node.right]),
    Mutant("no_output", "there was no output", lambda node: []),
    Mutant("a_list", "the output was a list", lambda node: [out.tolist() for out in node.right]),
    refusing("refuses_rank_1", "vectors were not supported", lambda n: n.rank == 1),
    refusing("refuses_rank_5", "more than four axes were not supported",
             lambda node: any(array.ndim > 4 for array in node.given)),
    refusing("refuses_empty", "empty tensors were not supported",
             lambda node: any(not array.size for array in node.given)),
    refusing("refuses_infinities", "infinities were not supported", _has(np.isinf), only=FLOATS),
    refusing("refuses_nan", "NaN was not supported", _has(np.isnan), only=FLOATS),
    refusing("refuses_constants", "initializers were not supported", lambda n: n.constant),
    *(refusing(f"refuses_{name}", f"{name} was not supported", lambda n: True, only=(name,))
      for name in DTYPES),
)  # fmt: skip
