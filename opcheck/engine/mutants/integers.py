"""Causes of integers: results kept in fewer bits, and types read with the other sign.

Suites need not see these mutants: most operators have no result that needs so many bits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.elements import through
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.node import Node
from opcheck.model import Array
from opcheck.opset import Schema

#: An integer type that holds less than another.
Narrow: TypeAlias = type[np.signedinteger[Any]] | type[np.unsignedinteger[Any]]
#: The types in which results may be kept, the widest first.
_NARROW: tuple[Narrow, ...] = (np.int32, np.uint32, np.int16, np.uint16, np.int8, np.uint8)
#: The kinds of NumPy's integers without and with a sign, and their names.
_KINDS = {"u": "unsigned", "i": "signed"}


def mutants(schema: Schema) -> Iterator[Mutant]:
    """Yield the mutants of a version whose inputs or outputs may be integers of 8 bits or more."""
    if not any("int" in text for one in (*schema.inputs, *schema.outputs) for text in one.types):
        return
    for narrow in _NARROW:
        name = narrow.__name__
        for way, words, change in (("wrap", "wrapped around", wrapped), ("end", "ended", ended)):
            yield Mutant(
                f"results_{way}_in_{name}",
                f"integers of a wider type {words} where {name} ends",
                partial(_with_outputs, partial(change, narrow)),
            )
    for kind, words in _KINDS.items():
        other = _KINDS["i" if kind == "u" else "u"]
        text = f"{words} integers were read as {other} ones"
        yield Mutant(f"{words}_read_as_{other}", text, partial(of_other_sign, kind))


def _with_outputs(change: Callable[[Array], Array], node: Node) -> Sequence[Array]:
    """Mutant: outputs of integers are changed."""
    return [change(out) if out.dtype.kind in _KINDS else out for out in node.right]


def wrapped(narrow: Narrow, out: Array) -> Array:
    """Return integers as the low bits are that a type holds; those of no wider type as they are."""
    return through(narrow, out) if out.dtype.itemsize > np.dtype(narrow).itemsize else out


def ended(narrow: Narrow, out: Array) -> Array:
    """Return integers clipped to the range of a type; those of no wider type as they are."""
    if out.dtype.itemsize <= np.dtype(narrow).itemsize:
        return out
    low = max(int(np.iinfo(narrow).min), int(np.iinfo(out.dtype).min))
    return np.asarray(np.clip(out, low, int(np.iinfo(narrow).max)))


def of_other_sign(kind: str, node: Node) -> Sequence[Array]:
    """Mutant: integers of a kind have the bits of the other one, and outputs are turned back.

    Raises InvalidNode and NotSupported if the operator does not compute that.
    """

    def turned(x: Array | None) -> Array | None:
        return x if x is None or x.dtype.kind != kind else x.view(_other_sign(x.dtype))

    inputs = tuple(map(turned, node.inputs))
    if all(mine is its for mine, its in zip(inputs, node.inputs, strict=True)):
        return node.right
    outputs = evaluate(replace(node, inputs=inputs))
    return [
        out.view(right.dtype) if out.dtype == _other_sign(right.dtype) else out
        for out, right in zip(outputs, node.right, strict=False)
    ]


def _other_sign(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the integer type of as many bits with the other sign; other types as they are."""
    if dtype.kind not in _KINDS:
        return dtype
    return np.dtype(f"{'i' if dtype.kind == 'u' else 'u'}{dtype.itemsize}")
