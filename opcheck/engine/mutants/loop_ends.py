"""Causes of loops: one along an axis ends at the length of another, and leaves the rest.

Others are split into vectors, and leave what fills none, also of a tensor shorter than a vector.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from opcheck.engine.mutants.elements import blank
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.node import Node
from opcheck.model import Array

#: The end of a name, the axis of the loop, and that at whose length it ends.
_LOOPS = (
    ("channels_as_batches", 1, 0),
    ("batches_as_channels", 0, 1),
    ("columns_as_rows", -1, -2),
    ("rows_as_columns", -2, -1),
)


#: The lengths of vectors that loops are split into.
_WIDTHS = (4, 8, 16)


def mutants() -> Iterator[Mutant]:
    """Yield the mutants of an operator whose loops end too early.

    They end by the length of another axis, or behind the last whole vector.
    """
    for width in _WIDTHS:
        text = f"only whole vectors of {width} were computed"
        for end, rest, passes in (("", "zero", False), ("_rest_unchanged", "the input", True)):
            yield Mutant(
                f"only_whole_vectors_of_{width}{end}",
                f"{text}; the rest was {rest}",
                partial(vectors_alone, width, passes),
            )
    for name, axis, other in _LOOPS:
        text = f"as many entries along axis {axis} were computed as axis {other} has"
        for end, rest, passes in (("", "zero", False), ("_rest_unchanged", "the input", True)):
            yield Mutant(
                f"as_many_{name}{end}",
                f"{text}; the rest was {rest}",
                partial(loop_cut, axis, other, passes),
            )


def loop_cut(axis: int, other: int, passes: bool, node: Node) -> Sequence[Array]:
    """Mutant: along an axis as many entries are computed as another axis has.

    The rest is the leading input if `passes` and it is of the output's shape and type, else 0.
    A matrix has rows and columns, and no axes counted from the front.
    """
    out, *others = node.right
    needed = 2 if axis < 0 else 3
    if out.ndim < needed or out.shape[axis] <= out.shape[other]:
        return node.right
    x = node.lead if passes else blank(out)
    if x is None or (x.shape, x.dtype) != (out.shape, out.dtype):
        return node.right
    end = out.shape[other]
    cut = np.array(np.moveaxis(x, axis, 0))
    cut[:end] = np.moveaxis(out, axis, 0)[:end]
    return [np.moveaxis(cut, 0, axis), *others]


def vectors_alone(width: int, passes: bool, node: Node) -> Sequence[Array]:
    """Mutant: what fills no vector is not computed, also of a tensor shorter than a vector.

    The rest is the leading input if `passes` and it is of the output's shape and type, else 0.
    """
    out, *others = node.right
    x = node.lead if passes else blank(out)
    if x is None or (x.shape, x.dtype) != (out.shape, out.dtype):
        return node.right
    kept = np.arange(out.size).reshape(out.shape) < out.size // width * width
    return [np.where(kept, out, x), *others]
