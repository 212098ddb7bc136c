"""Pictures of an output's errors, by place and by size.

Matplotlib's SVG is made small, for a page has hundreds; its colours are those of the page's theme.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate, pairwise
from math import ceil, log2, prod
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree as xml

from opcheck.model import Picture
from opcheck.report import plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
#: Colours that stand for variables of the page; no plot has them otherwise.
COLOURS = {
    "--ink": "#010203",
    "--soft": "#010204",
    "--line": "#010205",
    "--accent": "#010206",
    "--wrong": "#010207",
    **{f"--series-{number}": f"#01021{number}" for number in range(6)},
}
_VARIABLES = {colour: f"var({name})" for name, colour in COLOURS.items()}
_COLOUR = re.compile("|".join(_VARIABLES))
_NUMBER = re.compile(r"-?\d+\.\d+")
#: Properties that the page's style sets, or that have their default.
_SAID_ELSEWHERE = {
    *("font-family", "font-size", "font"),
    *("stroke-linejoin", "stroke-linecap", "image-rendering"),
}
_NO_ROTATION = re.compile(r"rotate\(-?0(\.0+)? .*\)")
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
#: The most drawings of a page, at 8 ms each, and their bytes.
_MOST, ROOM = 300, 800_000
#: A map, in points: the least and the largest width, the largest height, and of one cell.
_WIDTH, _HEIGHT, _CELL = (84.0, 236.0), 150.0, 20.0
#: A histogram: the width of a bar, and the largest of all.
_BAR, _WIDEST = 27.0, 300.0
#: Margins for text: left, right, below, above.
_MARGINS = 40.0, 10.0, 32.0, 6.0
_FONT = 9.0
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "opcheck",
    "text.parse_math": False,
    "font.size": _FONT,
    "text.color": COLOURS["--soft"],
    "axes.labelcolor": COLOURS["--soft"],
    "axes.edgecolor": COLOURS["--line"],
    "xtick.labelcolor": COLOURS["--soft"],
    "ytick.labelcolor": COLOURS["--soft"],
    **{f"{axis}tick.{kind}.size": 0 for axis in "xy" for kind in ("major", "minor")},
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


@dataclass(frozen=True)
class Drawing:
    """Content of an `<svg>` of this size, in points."""

    width: float
    height: float
    inside: str


def compact(drawn: str) -> Drawing:
    """The drawing without groups, fonts, needless digits and names."""
    root = xml.fromstring(drawn)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    # Only the paths of markers have names.
    markers = {f"#{one.get('id')}": one for one in root.iter(f"{_SVG}path") if one.get("id")}
    found: list[xml.Element] = []
    for one in root.iter():
        match one.tag.removeprefix(_SVG):
            case "use":
                small = _small("path", markers[one.attrib[_LINK]])
                _restyle(small, one.attrib.get("style", ""))
                place = _short(f"{one.attrib['x']} {one.attrib['y']}")
                small.set("transform", f"translate({place})")
                found.append(small)
            case "path" | "text" | "image" as kind if kind != "path" or not one.get("id"):
                found.append(_small(kind, one))
    inside = "".join(xml.tostring(one, encoding="unicode") for one in found)
    return Drawing(width, height, inside.replace(" />", "/>"))


def _small(kind: str, one: xml.Element) -> xml.Element:
    small = xml.Element(kind)
    small.text = one.text.strip() if one.text else None
    for name, value in one.attrib.items():
        match name:
            case "style":
                _restyle(small, value)
            case "transform" if kind == "image":
                small.set(name, value)
            case _ if name == _LINK:
                small.set("href", "".join(value.split()))
            case _ if name not in ("id", "clip-path") and not _NO_ROTATION.fullmatch(value):
                small.set(name, _short(value))
    return small


def _restyle(small: xml.Element, style: str) -> None:
    """Turn styles into attributes, which are shorter, where possible."""
    kept = []
    for rule in filter(str.strip, style.split(";")):
        name, value = map(str.strip, rule.split(":", 1))
        if name in _SAID_ELSEWHERE:
            continue
        if _COLOUR.search(value):
            kept.append(f"{name}:{_COLOUR.sub(lambda found: _VARIABLES[found[0]], value)}")
        else:
            small.set(name, _short(value))
    if kept:
        small.set("style", ";".join(kept))


def _short(value: str) -> str:
    """Round to tenths of a point."""
    rounded = _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)
    return re.sub(r"\s*([MLz])\s*", r"\1", " ".join(rounded.split()))


#: A drawing of the page: its name, itself, and its description.
Plot: TypeAlias = tuple[str, Drawing, str]


class Plots:
    """The drawings of a page. Equal ones are one; `left_out` counts pictures without any."""

    def __init__(self, canvases: Mapping[str, Canvas]) -> None:
        self.drawings: dict[str, Drawing] = {}
        self.left_out = 0
        self._room = ROOM
        self._names: dict[object, str] = {}
        self._canvases = canvases

    def of(self, picture: Picture) -> list[Plot]:
        """The map and the histogram of a picture, if it has them; nothing without room."""
        found = []
        if picture.cells:
            key = "map", picture.shape, picture.cells
            found.append(self._add(key, _label_of_map(picture), lambda on: _map(on, picture)))
        if picture.ulps or picture.unordered:
            keys = "ulps", picture.ulps, picture.unordered
            label = _label_of_ulps(picture)
            found.append(self._add(keys, label, lambda on: _histogram(on, picture)))
        drawn = [one for one in found if one]
        if len(drawn) == len(found):
            return drawn
        self.left_out += 1
        return []

    def _add(self, key: tuple[Any, ...], label: str, draw: Callable[[Canvas], None]) -> Plot | None:
        if key not in self._names:
            if not self._canvases or len(self._names) >= _MOST or self._room < 0:
                return None
            name = self._names[key] = f"d{len(self._names)}"
            self.drawings[name] = self._canvases[key[0]].drawn(draw)
            self._room -= len(self.drawings[name].inside)
        name = self._names[key]
        return name, self.drawings[name], label


@contextmanager
def plots() -> Iterator[Plots]:
    """Context in which pictures are drawn; none are without matplotlib."""
    if not available():
        yield Plots({})
        return
    with drawing():
        yield Plots({"map": Canvas(), "ulps": Canvas()})


def available() -> bool:
    """Return True if anything can be drawn."""
    return find_spec("matplotlib") is not None


class Canvas:
    """A figure that is drawn on repeatedly, because making one takes longer than drawing."""

    def __init__(self) -> None:
        from matplotlib.figure import Figure

        self.figure: Figure = Figure()
        self.figure.patch.set_visible(False)
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.patch.set_visible(False)

    def drawn(self, draw: Callable[[Canvas], None]) -> Drawing:
        """Return the drawing that `draw` makes, with the frame and marks of earlier ones."""
        for one in (*self.axes.patches, *self.axes.images, *self.axes.texts):
            one.remove()
        draw(self)
        return saved(self.figure)

    def size(self, width: float, height: float, margins: Sequence[float] = _MARGINS) -> None:
        """Set the size of the axes in points, and the margins left, right, below and above."""
        left, right, below, above = margins
        whole = width + left + right, height + below + above
        self.figure.set_size_inches(whole[0] / 72, whole[1] / 72)
        self.axes.set_position(
            (left / whole[0], below / whole[1], width / whole[0], height / whole[1])
        )

    def bare(self) -> None:
        """Show only the lower side of the frame."""
        for side in ("left", "top", "right"):
            self.axes.spines[side].set_visible(False)


@contextmanager
def drawing(settings: dict[Any, Any] = STYLE) -> Iterator[None]:
    """Context with fixed drawing settings, whatever the user's are."""
    from matplotlib import rc_context, style

    with style.context("default"), rc_context(settings):
        yield


def saved(figure: Figure) -> Drawing:
    """A figure as a drawing of a page."""
    for one in figure.findobj():
        one.set_clip_on(False)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return compact(file.getvalue())


def _map(on: Canvas, picture: Picture) -> None:
    from matplotlib.colors import ListedColormap

    rows = [[_LEVEL[letter] for letter in row] for row in picture.cells]
    across, down = len(rows[0]), len(rows)
    cell = min(_CELL, _WIDTH[1] / across, _HEIGHT / down)
    width = max(_WIDTH[0], cell * across)
    on.size(width, cell * down if down > 1 else _CELL)
    colours = ListedColormap([colour for _, colour, _ in LEVELS])
    on.axes.imshow(
        rows, interpolation="none", aspect="auto", cmap=colours, vmin=0, vmax=len(LEVELS) - 1
    )
    shape = picture.shape
    _ends(on.axes.set_xticks, across, shape[-1] if shape else 1)
    _ends(on.axes.set_yticks, down, prod(shape[:-1]))
    before = {0: "", 1: "", 2: "axis 0"}.get(len(shape), f"axes 0–{len(shape) - 2}")
    on.axes.set_xlabel(f"axis {len(shape) - 1}" if shape else "", labelpad=1)
    on.axes.set_ylabel(before, labelpad=1)


def _ends(set_ticks: Callable[..., Any], cells: int, elements: int) -> None:
    if elements > 1:
        set_ticks([0, cells - 1], ["0", str(elements - 1)])
    else:
        set_ticks([])


def _histogram(on: Canvas, picture: Picture) -> None:
    """Draw bars as high as the logarithm of their count, with gaps for powers left out."""
    bars = [(_steps(bits), count, "--wrong" if bits else "--soft") for bits, count in picture.ulps]
    places = [0.0] * bool(bars)
    places += [1.0 if b == a + 1 else 1.5 for (a, _), (b, _) in pairwise(picture.ulps)]
    if picture.unordered:
        bars.append(("NaN", picture.unordered, "--wrong"))
        places.append(1.5)
    places = [*accumulate(places)]
    first, last = places[0], places[-1]
    width = min(max(_WIDTH[0], _BAR * (last - first + 1)), _WIDEST)
    on.size(width, 76, (_MARGINS[1], *_MARGINS[1:]))
    heights = [0.3 + log2(max(count, 1)) for _, count, _ in bars]
    on.axes.bar(places, heights, color=[COLOURS[name] for *_, name in bars], width=0.8, linewidth=0)
    on.axes.set_xlim(first - 0.6, last + 0.6)
    on.axes.set_ylim(0, max(heights) * 1.18 + 0.2)
    # Labels for which there is room.
    some = slice(None, None, ceil(_BAR * len(bars) / _WIDEST))
    for place, height, (_, count, _) in [*zip(places, heights, bars, strict=True)][some]:
        on.axes.text(place, height, f"{count:,}", ha="center", va="bottom", fontsize=_FONT)
    on.axes.set_xticks(places[some], [name for name, *_ in bars[some]])
    on.axes.set_yticks([])
    on.axes.set_xlabel("ULP off", labelpad=1)
    on.bare()


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
