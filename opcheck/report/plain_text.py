"""Texts and amounts as all reports show them: untrusted texts harmless, amounts in three digits."""

import math
import re
import textwrap
from typing import TYPE_CHECKING, Any

from opcheck.errors import plural as plural
from opcheck.grouping import attributes_of as attributes_of

if TYPE_CHECKING:
    from opcheck.model import OpVersion

#: Characters that control a terminal, reorder text, or are invisible; not newline and tab.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)
#: Spellings of characters without Unicode; any other becomes "?".
ASCII = {"·": ".", "–": "-", "−": "-", "…": "...", "“": '"', "”": '"', "→": "->", "µ": "u"}
ASCII |= {"×": "x", "±": "+-", "√": "sqrt ", "Σ": "sum ", "≥": ">=", "≤": "<="}
#: The most lines of a backend's message in a report.
_LINES = 20
#: The most characters of a backend's message in a list.
_LENGTH = 200


#: How a line begins that a CI system takes for a command, GitHub's after spaces of any kind, as
#: U+00A0 or U+3000; and what GitHub and Azure take for one anywhere in a line.
_COMMAND = re.compile(r"^[^\S\n]*(?=::)|#(?=#(?:vso)?\[)", re.MULTILINE)


def without_commands(text: str) -> str:
    """Return lines that no CI system takes for commands: `::error::` becomes `\\::error::`.

    A backend prints what it likes, and its output is shown in the log of a job.
    """
    return _COMMAND.sub(r"\g<0>\\", text)


def op_record(op: "OpVersion") -> dict[str, Any]:
    """An operator's version as records of JSON have it."""
    return {"op": op.name, "domain": op.domain, "since": op.since}


def clean(text: str) -> str:
    """Untrusted text, harmless to a terminal, with its own lines."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


def block(text: str) -> str:
    """Untrusted text as a report of a failure shows it: harmless, and not too many lines."""
    lines = clean(text).split("\n")
    if len(lines) > _LINES:
        lines[_LINES:] = [f"… and {plural(len(lines) - _LINES, 'more line')}"]
    return "\n".join(lines)


def ending(text: str) -> str:
    """The last lines of a program's output, which say why it died."""
    lines = clean(text.lstrip("\r\n").rstrip()).split("\n")
    if len(lines) > _LINES:
        left = len(lines) - _LINES + 1
        lines[:left] = [f"… {plural(left, 'line')} before"]
    return "\n".join(lines)


def one_line(text: str) -> str:
    """Untrusted text, harmless and in one line."""
    return " ".join(clean(text).split())


def brief(text: str) -> str:
    """Untrusted text as a list shows it: harmless, in one line, and short."""
    line = one_line(text)
    return line if len(line) <= _LENGTH else f"{line[: _LENGTH - 2]} …"


def folded(text: str, width: int, indent: str = "") -> list[str]:
    """The lines of a paragraph, all but the first indented; words are never broken.

    A width below 1, what a margin leaves of a narrow terminal, is 1.
    """
    return textwrap.wrap(
        text,
        max(width, 1),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def broken(name: str, width: int) -> str:
    """Break a long name, which stands above numbers, into lines."""
    lines = [""]
    for part in re.findall("[^ _:]*[ _:]?", name):
        if len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def kind(reason: str) -> str:
    """A reason without numbers, and lists of them, which differ between those of one kind."""
    return re.sub(r"\[[-\d, ]*\]|-?\d+", "#", reason)


def digits(value: float) -> str:
    """Three digits that matter, in five characters: `0.012`, `1.23`, `123`, `1,235`, `2e4`."""
    if not math.isfinite(value):
        return "–"
    rounded = float(f"{value:.2e}")
    if rounded and not 0.001 <= rounded < 10_000:
        mantissa, exponent = f"{value:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    places = 2 - math.floor(math.log10(rounded)) if rounded else 0
    return f"{value:,.{min(max(places, 0), 3)}f}"


def seconds(value: float) -> str:
    """`95.0 ns`, `1.23 ms`, `2,400 s`."""
    return _with_unit(value, ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")))


def duration(value: float) -> str:
    """Return a time in whole units: `20 s`, `4 min`, `1 h 20 min`, rounded up."""
    if value < 55:
        return f"{math.ceil(value / 5) * 5} s"
    minutes = math.ceil(value / 60)
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def size(count: float) -> str:
    """`512 bytes`, `25.7 MB`: decimal, as in GB/s."""
    if abs(count) < 1000:
        return f"{count:.0f} byte{'' if count == 1 else 's'}"
    return _with_unit(count, ((1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")))


def rate(moved: float, time: float) -> str:
    """Return the bandwidth of `moved` bytes in `time` seconds."""
    return digits(moved / time / 1e9) if time > 0 else "–"


def percent(share: float) -> str:
    """`0.4 %`, `3.2 %`, `44 %`: a digit behind the point below ten."""
    if not math.isfinite(share):
        return "–"
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 else f"{100 * share:,.0f} %"


def interval(low: float, high: float) -> str:
    """`0.985–1.02`; a dash if it is boundless."""
    return f"{digits(low)}–{digits(high)}" if low > 0 and math.isfinite(high) else "–"


def _with_unit(value: float, units: tuple[tuple[float, str], ...]) -> str:
    # Rounded first, lest 999.7 µs become 1,000 µs.
    rounded = float(f"{value:.2e}")
    scale, unit = next((step for step in reversed(units) if abs(rounded) >= step[0]), units[0])
    return f"{digits(value / scale)} {unit}"
