"""How steps of LpPool are taken wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from opcheck.engine.mistakes import Answer, Node
from opcheck.engine.ops.lp_pool.axes import Axis, Read, planned
from opcheck.engine.ops.lp_pool.steps import Steps, Windows
from opcheck.engine.windows import AxisWindows
from opcheck.errors import InvalidNode

#: The attributes of an invalid node made valid; those of any other are left as they are. The
#: number is that of the spatial axes.
Repair: TypeAlias = Callable[[Read, int], Read]

VERSIONS = ("1", "2", "11", "18", "22")
#: Why a mistake can be made in some versions only.
NO_CEIL_MODE = dict.fromkeys(("1", "2", "11"), "ceil_mode came with version 18")
NO_DILATIONS = dict.fromkeys(("1", "2", "11"), "dilations came with version 18")
NO_FORMULA = dict.fromkeys(("1", "2", "11"), "the formula of the size came with version 18")
WHOLE_P = dict.fromkeys(("2", "11", "18", "22"), "p is a whole number since version 2")


def spatial_axes(node: Node) -> int:
    """How many of the input's axes are pooled."""
    return node.inputs[0].ndim - 2


def accepting(repair: Repair, steps: Steps | None = None) -> Answer:
    """Accepts what is right once it is repaired.

    The answer is that of `steps` to the node as it stands, or else the right one to the repaired.
    """

    def answer(node: Node) -> Sequence[Any]:
        try:
            return node.right
        except InvalidNode:
            right = replace(node, attrs=repair(node.attrs, spatial_axes(node))).right
            return steps.computed(node) if steps else right

    return answer


def undilated(axis: Axis) -> Axis:
    """The axis without its dilation."""
    return replace(axis, dilation=1)


def told(**changes: Callable[[Axis], Any]) -> Steps:
    """Every axis is told something else."""
    return Steps(
        axes=lambda axes: [
            replace(axis, **{name: change(axis) for name, change in changes.items()})
            for axis in axes
        ]
    )


def as_before(
    name: str, place: int, when: Callable[[list[AxisWindows]], bool] = lambda plans: True
) -> Steps:
    """The axis at a place has the attribute of this name of the one before it; not in its size."""

    def plans(plans: list[AxisWindows]) -> list[AxisWindows]:
        if len(plans) <= place or not when(plans):
            return plans
        value = getattr(plans[place - 1], name)
        return [*plans[:place], replace(plans[place], **{name: value}), *plans[place + 1 :]]

    return Steps(plans=plans)


def default(name: str, value: Callable[[Read], Any]) -> Steps:
    """An attribute that is left out is taken for something else, by the others."""
    return Steps(attrs=lambda attrs, node: {name: value(attrs), **attrs})


def sized(when: Callable[[Axis], bool], size: Callable[[Axis], int]) -> Steps:
    """Along some axes there are so many windows, which begin where they should."""
    return Steps(
        plan=lambda axis: replace(planned(axis), size=size(axis)) if when(axis) else planned(axis)
    )


def valued(change: Callable[[Windows], Any]) -> Steps:
    """Other values are added up."""
    return Steps(window=lambda w: replace(w, values=change(w)))


def shared(part: Callable[[Windows], Any]) -> Steps:
    """The root is taken of so much of the sum."""
    return Steps(norm=lambda w: w.norms * part(w) ** (1 / w.p))
