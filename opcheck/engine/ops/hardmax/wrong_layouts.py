"""Mistakes that only tensors of some shape show: many axes, rows of one element, rows apart."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from opcheck.engine.mistakes import Answer, Mistake, Node
from opcheck.engine.ops.hardmax.choices import index_modulo, last_of_ties
from opcheck.engine.ops.hardmax.steps import Steps
from opcheck.model import Array

_WIDTHS = (16, 8, 4)


def layouts(right: Steps) -> tuple[Mistake, ...]:
    """Those of the operator that is `right`."""
    lying_along = dict.fromkeys(("1", "11"), "a row of the coerced matrix lies along memory")
    return (
        Mistake(
            "last_of_ties_beyond_four_axes",
            "with more than four axes the last of equal maxima won",
            _beyond_four_axes(right, replace(right, choose=last_of_ties)),
        ),
        Mistake(
            "rows_of_one_copied",
            "rows of one element were left out as nothing to do, and the input copied",
            _copied_if_alone(right),
        ),
        *(
            Mistake(
                f"tail_of_{width}_across_rows_empty",
                f"of rows that lie across memory, what is left after whole vectors of {width} of "
                "them stayed empty",
                _without_the_last_rows(right, width),
                {f"Hardmax-{since}": why for since, why in lying_along.items()},
            )
            for width in _WIDTHS
        ),
        Mistake(
            "argmax_in_8_bits_across_memory",
            "where rows lie across memory, the place of the maximum in its row had 8 bits",
            _across_memory(right, replace(right, choose=index_modulo(1 << 8))),
            {f"Hardmax-{since}": why for since, why in lying_along.items()},
        ),
    )


def _beyond_four_axes(right: Steps, wrong: Steps) -> Answer:
    return lambda node: (wrong if node.inputs[0].ndim > 4 else right)(node)


def _copied_if_alone(right: Steps) -> Answer:
    def answer(node: Node) -> tuple[Array]:
        (out,) = right(node)
        x = node.inputs[0]
        length = prod(x.shape[axis] for axis in right.competing(node, right.axes(node)))
        return (x.copy() if length == 1 else out,)

    return answer


def _across_memory(right: Steps, wrong: Steps) -> Answer:
    def answer(node: Node) -> tuple[Array]:
        last = max(right.competing(node, right.axes(node)))
        return (wrong if prod(node.inputs[0].shape[last + 1 :]) > 1 else right)(node)

    return answer


def _without_the_last_rows(right: Steps, width: int) -> Answer:
    """Neighbours in memory belong to as many rows as there are elements behind the last axis."""

    def answer(node: Node) -> tuple[Array]:
        (out,) = right(node)
        last = max(right.competing(node, right.axes(node)))
        rows = prod(out.shape[last + 1 :])
        if rows < width or not out.size:
            return (out,)
        neighbours = np.ascontiguousarray(out).reshape(-1, rows)
        neighbours[:, rows // width * width :] = 0
        return (neighbours.reshape(out.shape),)

    return answer
