"""What `opcheck explain` prints."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from opcheck.model.explained import Explanation
from opcheck.report import plain_text

#: The column in which the text after a label begins.
_INDENT = 13


def show(console: Console, explanations: Sequence[Explanation]) -> None:
    """Print each explanation: its title, and its lines behind their labels."""
    for number, explanation in enumerate(explanations):
        if number:
            console.print()
        console.print(Text(plain_text.one_line(explanation.title), "bold"), soft_wrap=True)
        for label, text in explanation.lines:
            if text:
                _show_line(console, label, text)


def _show_line(console: Console, label: str, text: str) -> None:
    """Print a text behind its label, folded to the width of the console."""
    width = max(console.width - _INDENT, _INDENT)
    lines = plain_text.folded(plain_text.one_line(text), width)
    block = f"\n{' ' * _INDENT}".join(lines)
    console.print(Text.assemble((f"  {label}".ljust(_INDENT), "dim"), block), soft_wrap=True)
