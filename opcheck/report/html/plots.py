"""Pictures of an output's errors, by place and by size: SVG in the colours of the page's theme."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import ceil, log2, prod
from typing import TypeAlias

from markupsafe import escape

from opcheck.model import Picture
from opcheck.report import plain_text

#: Letters of `Picture.cells`, the colour of their cells, and its meaning. Colours darken, so that
#: maps can be read without them, and on a dark page.
LEVELS = (
    (".", "#d3d8dd", "no error"),
    ("abcdefghijklmnopqrstuvwxyz", "#8fbde0", "within what is allowed"),
    ("ABC", "#e0932f", "up to 8 times that"),
    ("DEFGHIJ", "#c85a20", "up to 1,024 times"),
    ("KLMNOPQRSTUVWXY", "#a02c1a", "more"),
    ("Z", "#5c1a70", "wrong where no error is allowed"),
)
_LEVEL = {letter: number for number, (letters, _, _) in enumerate(LEVELS) for letter in letters}
#: The room for the drawings of a page, in bytes.
ROOM = 800_000
#: A map, in points: the least and the largest width, the largest height, and of one cell.
_WIDTH, _HEIGHT, _CELL = (84.0, 236.0), 150.0, 20.0
#: A histogram: the width of a bar, and the largest of all, and the height.
_BAR, _WIDEST, _HIGH = 27.0, 300.0, 76.0
#: Margins for text: left, right, below, above.
_MARGINS = 40.0, 10.0, 32.0, 6.0
#: The width of a letter; and how far below the axes, or below the middle of a line, texts stand.
LETTER, MARKS, LABEL, MIDDLE = 5.0, 11.0, 24.0, 3.0


class Drawing:
    """Content of an `<svg>`, in points from the upper left corner of axes between margins."""

    def __init__(
        self, width: float, height: float, margins: Sequence[float] = _MARGINS, label: str = ""
    ) -> None:
        left, right, below, above = margins
        self.width, self.height = width + left + right, height + below + above
        self._corner, self._parts = f"{left:g} {above:g}", list[str]()
        self.text(label, width / 2, height + LABEL)

    @property
    def inside(self) -> str:
        """The elements; texts are centred."""
        begin = f'<g transform="translate({self._corner})" text-anchor="middle"'
        return f'{begin} style="fill:var(--soft)">{"".join(self._parts)}</g>'

    def add(self, kind: str, text: str = "", **attributes: str | float) -> None:
        """Add an element; numbers are rounded to tenths of a point."""
        said = {
            name: value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
            for name, value in attributes.items()
        }
        spelt = " ".join(f'{name}="{escape(value)}"' for name, value in said.items())
        self._parts.append(f"<{kind} {spelt}>{escape(text)}</{kind}>")

    def text(self, text: str, x: float, y: float, **attributes: str) -> None:
        """Add a text, unless it is empty."""
        if text:
            self.add("text", text, x=x, y=y, **attributes)

    def box(self, colour: str, x: float, y: float, width: float, height: float) -> None:
        """Add a rectangle in a colour of the page."""
        self.add("rect", x=x, y=y, width=width, height=height, style=f"fill:var({colour})")

    def line(self, colour: str, width: float, *ends: float, dashed: bool = False) -> None:
        """Add a line in a colour of the page, from x and y to x and y."""
        x1, y1, x2, y2 = ends
        style = f"stroke:var({colour});stroke-width:{width:g}{';stroke-dasharray:1 2' * dashed}"
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, style=style)


#: A drawing of the page: its name, itself, and its description.
Plot: TypeAlias = tuple[str, Drawing, str]


class Plots:
    """The drawings of a page. Equal ones are one; `left_out` counts pictures without any."""

    def __init__(self) -> None:
        self.left_out = 0
        self._room = ROOM
        self._drawn: dict[object, Plot] = {}

    @property
    def drawings(self) -> dict[str, Drawing]:
        """All drawings, by name."""
        return {name: drawing for name, drawing, _ in self._drawn.values()}

    def of(self, picture: Picture) -> list[Plot]:
        """The map and the histogram of a picture, if it has them; nothing without room."""
        # Each by what it shows, with the function that makes it and its description.
        wanted: dict[object, tuple[Callable[[Picture], Drawing], str]] = {}
        if picture.cells:
            wanted["map", picture.shape, picture.cells] = _map, _label_of_map(picture)
        if picture.ulps or picture.unordered:
            wanted["ulps", picture.ulps, picture.unordered] = _histogram, _label_of_ulps(picture)
        if self._room < 0 and wanted.keys() - self._drawn:
            self.left_out += 1
            return []
        for key, (draw, label) in wanted.items():
            if key not in self._drawn:
                self._drawn[key] = f"d{len(self._drawn)}", draw(picture), label
                self._room -= len(self._drawn[key][1].inside)
        return [self._drawn[key] for key in wanted]


def _map(picture: Picture) -> Drawing:
    across, down = len(picture.cells[0]), len(picture.cells)
    cell = min(_CELL, _WIDTH[1] / across, _HEIGHT / down)
    width, height = max(_WIDTH[0], cell * across), cell * down if down > 1 else _CELL
    shape = picture.shape
    on = Drawing(width, height, label=f"axis {len(shape) - 1}" if shape else "")
    dots = f"data:image/png;base64,{b64encode(_png(picture.cells)).decode()}"
    on.add("image", href=dots, width=width, height=height, preserveAspectRatio="none")
    # The ends of the axes, in the middle of the first and the last cell.
    if shape and shape[-1] > 1:
        for x, end in ((0.5, 0), (across - 0.5, shape[-1] - 1)):
            on.text(str(end), x * width / across, height + MARKS)
    if (rows := prod(shape[:-1])) > 1:
        last = str(rows - 1)
        for y, said in ((0.5, "0"), (down - 0.5, last)):
            on.text(said, -4, y * height / down + MIDDLE, **{"text-anchor": "end"})
        before = "axis 0" if len(shape) == 2 else f"axes 0–{len(shape) - 2}"
        turned = f"translate({max(-LETTER * len(last) - 10, -30):g} {height / 2:.1f}) rotate(-90)"
        on.text(before, 0, 0, transform=turned)
    return on


def _png(cells: Sequence[str]) -> bytes:
    """An image with a dot of its level's colour for each cell: https://www.w3.org/TR/png-3/."""
    colours = [bytes.fromhex(colour.removeprefix("#")) for _, colour, _ in LEVELS]
    data = b"".join(b"\0" + b"".join(colours[_LEVEL[one]] for one in row) for row in cells)
    head = struct.pack(">IIBBBBB", len(cells[0]), len(cells), 8, 2, 0, 0, 0)
    chunks = (b"IHDR" + head, b"IDAT" + zlib.compress(data, 9), b"IEND")
    sums = (struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)
    lengths = (struct.pack(">I", len(chunk) - 4) for chunk in chunks)
    parts = zip(lengths, chunks, sums, strict=True)
    return b"\x89PNG\r\n\x1a\n" + b"".join(b"".join(part) for part in parts)


def _histogram(picture: Picture) -> Drawing:
    """Draw bars as high as the logarithm of their count, with gaps for powers left out."""
    bars = [(_steps(bits), count, "--wrong" if bits else "--soft") for bits, count in picture.ulps]
    places = [0.6] * bool(bars)
    places += [1.0 if b == a + 1 else 1.5 for (a, _), (b, _) in pairwise(picture.ulps)]
    if picture.unordered:
        bars.append(("NaN", picture.unordered, "--wrong"))
        places.append(1.5 if places else 0.6)
    places = [*accumulate(places)]
    width = min(max(_WIDTH[0], _BAR * (places[-1] + 0.4)), _WIDEST)
    on = Drawing(width, _HIGH, (_MARGINS[1], *_MARGINS[1:]), "ULP off")
    heights = [0.3 + log2(max(count, 1)) for _, count, _ in bars]
    wide, high = width / (places[-1] + 0.6), _HIGH / (max(heights) * 1.18 + 0.2)
    # Labels for which there is room.
    some = ceil(_BAR * len(bars) / _WIDEST)
    for number, (name, count, colour) in enumerate(bars):
        x, height = wide * places[number], high * heights[number]
        on.box(colour, x - 0.4 * wide, _HIGH - height, 0.8 * wide, height)
        if number % some == 0:
            on.text(f"{count:,}", x, _HIGH - height - 2)
            on.text(name, x, _HIGH + MARKS)
    on.line("--line", 0.8, 0, _HIGH, width, _HIGH)
    return on


def _steps(bits: int) -> str:
    """The least distance of a bar: `0`, `1`, `2`, `4`, … `512`, `2¹⁰`."""
    if bits < 11:
        return str(bits and 1 << (bits - 1))
    return "2" + str(bits - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _label_of_map(picture: Picture) -> str:
    counts = [sum(_LEVEL[one] == n for row in picture.cells for one in row) for n in range(6)]
    message = ", ".join(f"{count:,} {LEVELS[n][2]}" for n, count in enumerate(counts) if count)
    return f"Map of errors by position, of {plain_text.plural(sum(counts), 'cell')}: {message}"


def _label_of_ulps(picture: Picture) -> str:
    messages = [f"{count:,} at {_range(bits)}" for bits, count in picture.ulps]
    messages += [f"{picture.unordered:,} NaN opposite a number"] * bool(picture.unordered)
    return f"Elements by their distance in ULP: {', '.join(messages)}"


def _range(bits: int) -> str:
    low, high = bits and 1 << (bits - 1), (1 << bits) - 1
    return str(low) if low == high else f"{low:,}–{high:,}"
