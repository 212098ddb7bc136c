"""What `opcheck doctor` prints."""

from rich.console import Console
from rich.text import Text

from opcheck.report import plain_text

_INDENT = 16
_MARGIN = "  "


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
        line = plain_text.one_line(text)
        lines = [line]
        # A pipe has no width: its lines stay whole, for grep.
        if console.file.isatty():
            lines = plain_text.folded(line, console.width - 2 * len(_MARGIN), _MARGIN)
        for part in lines:
            console.print(Text(f"{_MARGIN}{part}"), soft_wrap=True)
    console.print()
