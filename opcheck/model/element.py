"""How one element of an output comes of the inputs: what `opcheck explain CASE` prints."""

from dataclasses import dataclass

from opcheck.model.shown import RightOutput


@dataclass(frozen=True)
class ElementStep:
    """One step of a formula for one element: `name` = `text` = `value`, in float64.

    The last step is the element itself, whose name is "".
    """

    name: str
    text: str
    value: float


@dataclass(frozen=True, eq=False)
class ExplainedElement:
    """An element of an output at `index`, and the steps that lead to it.

    The output has its right value, and the lowest and the highest one. Without `steps`, `hidden`
    says why none are shown.
    """

    output: RightOutput
    index: tuple[int, ...]
    steps: tuple[ElementStep, ...]
    hidden: str = ""
