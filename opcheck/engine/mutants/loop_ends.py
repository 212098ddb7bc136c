"""Causes of loops: one along an axis ends at the length of another, and leaves the rest.

Others are split into vectors, and leave what fills none, also of a tensor shorter than a vector.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.mutants.tensors import computed_up_to, not_computed
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
                partial(computed_up_to, partial(in_whole_vectors, width), passes),
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

    The rest is `not_computed`; all are right if that has nothing, and if the axis is not longer.
    A matrix has rows and columns, and no axes counted from the front.
    """
    out, *others = node.right
    needed = 2 if axis < 0 else 3
    if out.ndim < needed or out.shape[axis] <= out.shape[other]:
        return node.right
    left = not_computed(out, node, passes)
    if left is None:
        return node.right
    end = out.shape[other]
    cut = np.array(np.moveaxis(left, axis, 0))
    cut[:end] = np.moveaxis(out, axis, 0)[:end]
    return [np.moveaxis(cut, 0, axis), *others]


def in_whole_vectors(width: int, count: int) -> int:
    """Return as many of `count` elements as fill vectors, 0 of a tensor shorter than a vector."""
    return count // width * width
