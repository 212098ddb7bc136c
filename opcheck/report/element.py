"""The steps that lead to one element, as `opcheck explain CASE` prints them."""

from rich.console import Console
from rich.text import Text

from opcheck.dtypes import of
from opcheck.model.element import ElementStep, ExplainedElement
from opcheck.report import formatting, plain_text

#: The column in which the text after a name begins, and that of a line that goes on.
_INDENT = 8


def show(console: Console, explained: ExplainedElement) -> None:
    """Print the steps of an element, its value, and from where to where it is right."""
    output = explained.output
    place = f"{output.name}{[*explained.index]}"
    console.print()
    console.print(Text(f"how {plain_text.one_line(place)} comes about", "bold"), soft_wrap=True)
    for step in explained.steps:
        _show_step(console, step, place)
    if explained.hidden:
        console.print(f"  {explained.hidden}", soft_wrap=True)
    dtype = of(output.values)
    value, lowest, highest = (
        formatting.number(array.item(explained.index), dtype)
        for array in (output.values, output.lowest, output.highest)
    )
    bound = f"right from {lowest} to {highest}" if lowest != highest else "no other value is right"
    if explained.may_be_anything:
        bound = "any other value is right too"
    elif not explained.is_only_answer:
        bound += " by the first answer above"
    console.print(f"  {place} as {dtype}: {value}; {bound}", soft_wrap=True)


def _show_step(console: Console, step: ElementStep, place: str) -> None:
    """Print one step, folded to the width of the console."""
    name = step.name or place
    text = f"{name} = {step.text} = {step.value:.9g}"
    lines = plain_text.folded(plain_text.one_line(text), console.width - 2, " " * _INDENT)
    for line in lines:
        console.print(f"  {line}", soft_wrap=True)
