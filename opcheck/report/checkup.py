"""What `opcheck doctor` prints."""

from rich.console import Console
from rich.text import Text

from opcheck.report import plain_text

_INDENT = 16


def show(console: Console, facts: "tuple[tuple[str, str], ...]") -> None:
    """Print each fact on a line, behind its name."""
    for name, text in facts:
        value = plain_text.one_line(text)
        console.print(Text.assemble((name.ljust(_INDENT), "dim"), value), soft_wrap=True)
    console.print()


def show_wrong(console: Console, wrong: "tuple[str, ...]") -> None:
    """Print what looks wrong, a line each."""
    if not wrong:
        return
    console.print(Text("To look at", "bold red"))
    for text in wrong:
        console.print(f"  {plain_text.one_line(text)}", soft_wrap=True)
    console.print()
