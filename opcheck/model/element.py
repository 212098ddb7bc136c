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

    The output has its right value, and the lowest and the highest one, by the first answer of the
    case: `is_only_answer` if there is no other. Without `steps`, `hidden` says why none are shown.
    """

    output: RightOutput
    index: tuple[int, ...]
    steps: tuple[ElementStep, ...]
    hidden: str = ""
    is_only_answer: bool = True

    @property
    def may_be_anything(self) -> bool:
        """True if no text defines the element, so that any value is right."""
        undefined = self.output.undefined
        return undefined is not None and bool(undefined[self.index])
