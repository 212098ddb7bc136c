"""The page of a run: it shows untrusted texts harmless and not too long."""

import hashlib
import re
import struct
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import zip_longest
from math import ceil, inf, log2, prod
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from opcheck import __version__, grouping
from opcheck.analysis import is_failure, outcome, reds, reds_of
from opcheck.model import Header, Known, Picture, Record, Run, Verdict
from opcheck.model.result import ComparisonRecord, ElementRecord
from opcheck.report import markdown, plain_text, totals

#: The most characters shown of a backend's text, which may have 10 MB.
MAX_BACKEND_TEXT = 1000
#: The most characters shown of any text.
_MAX_TEXT = 4000
#: The largest page, in bytes.
_MAX_PAGE = 4_800_000
#: The room for failures in bytes, even if the list of results makes the page larger.
_MIN_ROOM = 1_000_000
#: Placeholder for the case's id in a command.
PLACE = "\N{OBJECT REPLACEMENT CHARACTER}"
#: The most characters of a text in the list.
_MAX_IN_LIST = 300
#: A larger error, in parts of what is allowed, is shown as more than this.
_MAX_USED = 1000
#: A largest distance that is shown although none of the worst elements has it.
_FEW_ULP = 1000
#: A zero, as values of elements are written.
_ZERO = re.compile(r"[-+]?0+(\.0*)?")


def backend_text(text: str, limit: int = MAX_BACKEND_TEXT) -> str:
    """Return the beginning of a backend's text, in as many lines as reports show."""
    return f"{plain_text.block(text[:limit])}{_left(text, limit)}"


def shown(text: str) -> str:
    """Return any text as a page shows it."""
    return f"{plain_text.clean(text[:_MAX_TEXT])}{_left(text, _MAX_TEXT)}"


def brief(text: str) -> str:
    """Return any text in one short line."""
    return plain_text.brief(text[:_MAX_TEXT])


def render(template: str, **values: Any) -> str:
    """Render a template; values are escaped unless they are Markup."""
    return str(_environment().get_template(template).render(**values))


def document(template: str, **values: Any) -> str:
    """Return a whole page, which runs only its own script and fetches nothing."""
    script = _source("report.js")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = {"style": Markup(_source("style.css")), "script": Markup(script)}
    return render(template, **own, script_hash=f"sha256-{digest}", **values)


def _left(text: str, limit: int) -> str:
    left = len(text) - limit
    return f" … ({plain_text.plural(left, 'more character')})" if left > 0 else ""


def _printed(value: Any) -> Any:
    """Return a value as a template prints it: every text that is not Markup is made harmless."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return shown(value)
    return value


def _ending(text: str) -> str:
    """Return the last lines of what a backend printed."""
    return plain_text.ending(text[-2 * MAX_BACKEND_TEXT :])


def _point(value: float) -> str:
    """Round a number of points to tenths."""
    return f"{value:.1f}".removesuffix(".0")


def _filter(conditions: Mapping[str, str]) -> str:
    """Return the query of a link to some results; `report.js` compares shown texts."""
    return urlencode({name: shown(value) for name, value in conditions.items() if value})


def _breakable(name: str) -> Markup:
    """Return a name that narrow screens may break between its parts."""
    return Markup(re.sub(r"([_:/?=,@.]|[a-z](?=[A-Z]))", r"\1<wbr>", str(escape(brief(name)))))


def _share(part: int, whole: int) -> str:
    """Return a part of a whole in percent, rounded down: 100 % is all."""
    return f"{part * 1000 // whole / 10:.1f} %"


def _used(share: float) -> str:
    """Return in words what part of the allowed error an answer has."""
    if share == inf:
        return "∞: no error is allowed"
    if share > _MAX_USED:
        return f"more than {_MAX_USED:,} × what is allowed"
    return f"{share:.3g} × what is allowed"


def _ulp(element: ElementRecord) -> str:
    """Return the distance in ULP; "" if the values differ in sign or one is 0.

    Such a distance counts the numbers around 0 and tells nothing about the error.
    """
    is_negative = element.want.startswith("-"), element.got.startswith("-")
    has_zero = any(_ZERO.fullmatch(text) for text in (element.want, element.got))
    if element.ulp is None or (element.ulp and (has_zero or len({*is_negative}) > 1)):
        return ""
    return f"{element.ulp:,}"


def _max_ulp(comparison: ComparisonRecord) -> str:
    """Return the largest distance in ULP, "" if it is between values around 0."""
    if comparison.max_ulp is None:
        return ""
    largest = f"{comparison.max_ulp:,}"
    of_worst = [element for element in comparison.worst if element.ulp == comparison.max_ulp]
    is_known = not comparison.worst or any(_ulp(element) for element in of_worst)
    return largest if is_known or comparison.max_ulp <= _FEW_ULP else ""


@cache
def _environment() -> Any:
    environment = markdown.templates("opcheck.report.html", autoescape=True, finalize=_printed)
    environment.filters |= {
        "backend_text": backend_text,
        "ending": _ending,
        "brief": brief,
        "point": _point,
        "filter": _filter,
        "breakable": _breakable,
    }
    environment.globals |= {"share": _share, "used": _used, "made_by": __version__}
    environment.globals |= {"ulp": _ulp, "max_ulp": _max_ulp}
    return environment


def _source(name: str) -> str:
    return Path(__file__).with_name("templates").joinpath(name).read_text("utf-8").strip()


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
#: Sizes of a map, in points.
_MIN_WIDTH = 84.0
_MAX_MAP_WIDTH = 236.0
_MAX_MAP_HEIGHT = 150.0
_MAX_CELL = 20.0
#: Sizes of a histogram, in points: the width of a bar, the largest of all, and the height.
_BAR_WIDTH = 27.0
_MAX_BARS_WIDTH = 300.0
_BARS_HEIGHT = 76.0
#: Margins for text, in points. A histogram has no text on its left.
_LEFT_OF_MAP = 40.0
_LEFT_OF_BARS = 10.0
_RIGHT = 10.0
_BELOW = 32.0
_ABOVE = 6.0


class Drawing(NamedTuple):
    """Content of an `<svg>`, its size in points, and its description."""

    width: float
    height: float
    inside: str
    about: str


def drawn(
    template: str, about: str, width: float, height: float, margin: float, **values: Any
) -> Drawing:
    """Return a drawing of axes of this size, between margins; `margin` is the left one."""
    size = {"width": width, "height": height, "corner": f"{margin:g} {_ABOVE:g}"}
    inside = render(template, **size, **values).strip()
    return Drawing(width + margin + _RIGHT, height + _BELOW + _ABOVE, inside, about)


class Plots:
    """The drawings of a page. Equal ones are one; `left_out` counts pictures without any."""

    def __init__(self) -> None:
        self.left_out = 0
        self._room = ROOM
        self._drawn: dict[object, tuple[str, Drawing]] = {}

    @property
    def drawings(self) -> dict[str, Drawing]:
        """All drawings, by name."""
        return dict(self._drawn.values())

    def of(self, picture: Picture) -> list[tuple[str, Drawing]]:
        """The map and the histogram of a picture, by name, if it has them; nothing without room."""
        # Each by what it shows, with the function that makes it.
        wanted: dict[object, Callable[[Picture], Drawing]] = {}
        if picture.cells:
            wanted["map", picture.shape, picture.cells] = _map
        if picture.ulps or picture.unordered:
            wanted["ulps", picture.ulps, picture.unordered] = _histogram
        if self._room < 0 and wanted.keys() - self._drawn:
            self.left_out += 1
            return []
        for key, draw in wanted.items():
            if key not in self._drawn:
                self._drawn[key] = f"d{len(self._drawn)}", draw(picture)
                self._room -= len(self._drawn[key][1].inside)
        return [self._drawn[key] for key in wanted]


def _map(picture: Picture) -> Drawing:
    """Draw a cell for each element or block of them, in the colour of its error."""
    letters = Counter(letter for row in picture.cells for letter in row)
    counts = Counter(
        {meaning: sum(letters[letter] for letter in its) for its, _, meaning in LEVELS}
    )
    levels = ", ".join(f"{count:,} {meaning}" for meaning, count in counts.items() if count)
    cells = plain_text.plural(counts.total(), "cell")
    across = len(picture.cells[0])
    down = len(picture.cells)
    cell = min(_MAX_CELL, _MAX_MAP_WIDTH / across, _MAX_MAP_HEIGHT / down)
    shape = picture.shape
    rows = prod(shape[:-1])
    return drawn(
        "map.svg",
        f"Map of errors by position, of {cells}: {levels}",
        width=max(_MIN_WIDTH, cell * across),
        height=cell * down if down > 1 else _MAX_CELL,
        margin=_LEFT_OF_MAP,
        label=f"axis {len(shape) - 1}" if shape else "",
        dots=Markup(f"data:image/png;base64,{b64encode(_png(picture.cells)).decode()}"),
        shape=shape,
        rows=rows,
        across=across,
        down=down,
        left=max(-5.0 * len(str(rows - 1)) - 10, -30),  # with letters of this width
    )


def _png(cells: Sequence[str]) -> bytes:
    """An image with a dot of its level's colour for each cell: https://www.w3.org/TR/png-3/."""
    colours = [bytes.fromhex(colour.removeprefix("#")) for _, colour, _ in LEVELS]
    data = b"".join(b"\0" + b"".join(colours[_LEVEL[letter]] for letter in row) for row in cells)
    head = struct.pack(">IIBBBBB", len(cells[0]), len(cells), 8, 2, 0, 0, 0)
    chunks = (b"IHDR" + head, b"IDAT" + zlib.compress(data, 9), b"IEND")
    # Each with its length before it, without its name, and its checksum after it.
    parts = (struct.pack(f">I{len(c)}sI", len(c) - 4, c, zlib.crc32(c)) for c in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _histogram(picture: Picture) -> Drawing:
    """Draw bars as high as the logarithm of their count, with gaps for powers left out."""
    bars = _bars(picture)
    places = [bar.place for bar in bars]
    heights = [0.3 + log2(max(bar.elements, 1)) for bar in bars]
    width = min(max(_MIN_WIDTH, _BAR_WIDTH * (places[-1] + 0.4)), _MAX_BARS_WIDTH)
    wide = width / (places[-1] + 0.6)
    high = _BARS_HEIGHT / (max(heights) * 1.18 + 0.2)
    return drawn(
        "histogram.svg",
        f"Elements by their distance in ULP: {', '.join(bar.meaning for bar in bars)}",
        width=width,
        height=_BARS_HEIGHT,
        margin=_LEFT_OF_BARS,
        label="ULP off",
        bars=[
            (bar.label, bar.elements, bar.colour, wide * bar.place, high * height)
            for bar, height in zip(bars, heights, strict=True)
        ],
        wide=wide,
        # Labels for which there is room.
        some=ceil(_BAR_WIDTH * len(bars) / _MAX_BARS_WIDTH),
    )


class _Bar(NamedTuple):
    """A bar of a histogram; `place` is its middle, in widths of a bar."""

    label: str
    elements: int
    colour: str
    place: float
    meaning: str


#: The middle of the first bar, and the distances of one without and with a gap before it.
_FIRST_PLACE = 0.6
_NEXT = 1.0
_AFTER_GAP = 1.5


def _bars(picture: Picture) -> list[_Bar]:
    """Return a bar for each power of two of ULP that occurs, and one for NaN."""
    bars: list[_Bar] = []
    place = _FIRST_PLACE
    last_bits = 0
    for bits, count in picture.ulps:
        if bars:
            place += _NEXT if bits == last_bits + 1 else _AFTER_GAP
        last_bits = bits
        least = _least_distance(bits)
        most = (1 << bits) - 1
        distances = f"{least}" if least == most else f"{least:,}–{most:,}"
        colour = "--wrong" if bits else "--soft"
        bars.append(_Bar(_steps(bits), count, colour, place, f"{count:,} at {distances}"))
    if picture.unordered:
        if bars:
            place += _AFTER_GAP
        meaning = f"{picture.unordered:,} NaN opposite a number"
        bars.append(_Bar("NaN", picture.unordered, "--wrong", place, meaning))
    return bars


def _least_distance(bits: int) -> int:
    """Return the least number of so many bits, 0 of none."""
    return 1 << (bits - 1) if bits else 0


def _steps(bits: int) -> str:
    """Return the least distance of a bar: `0`, `1`, `2`, `4`, … `512`, `2¹⁰`."""
    if bits <= _MAX_PLAIN_BITS:
        return str(_least_distance(bits))
    return "2" + str(bits - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


#: Distances of more bits are labeled as powers.
_MAX_PLAIN_BITS = 10


def lines(run: Run) -> Iterator[str]:
    """Yield the whole document, line by line."""
    header = run.header
    records = [*run.records]
    red = reds_of(header)
    code, meaning = outcome(run)
    known = list(totals.known(header.backends, records))
    numbers = {(address, cause): number for number, (address, cause, _) in enumerate(known)}
    data = htmlsafe_json_dumps(results_table(records, red, numbers), separators=(",", ":"))
    rows = {id(record): number for number, record in enumerate(records)}
    broken = broken_backends(header, records, red)
    groups = [group for *_, of_backend in broken for group in of_backend]
    room = max(_MAX_PAGE - ROOM - len(data), _MIN_ROOM)
    plots = Plots()
    report = partial(_report, plots=plots, rows=rows, red=red)
    yield from document(
        "run.html",
        run=run,
        header=header,
        names={backend.address: brief(str(backend)) for backend in header.backends},
        code=int(code),
        meaning=meaning,
        totals=totals.by_backend(header, records, red),
        matrix=totals.matrix(header, records, red),
        types=sorted({record.dtype or totals.NONE for record in records}),
        operators=sorted({record.op for record in records}),
        verdicts=totals.counted(records, red),
        broken=broken,
        failures=sum(len(group.failures) for group in groups),
        left=show_some(groups, report, room),
        known=known,
        drawings=plots.drawings,
        undrawn=plots.left_out,
        levels=LEVELS,
        options=_options(header) or ["none"],
        data=data,
    ).split("\n")


def _options(header: Header) -> list[str]:
    """Return the options of a run by which its verdicts may differ, as one writes them."""
    options = []
    if not header.known:
        options.append("--no-known")
    if header.strict:
        options.append("--strict")
    if header.require_supported:
        options.append("--require-supported")
    options += [f"{name} {value}" for name, value in header.options.items()]
    return options


def fragment(record: Record) -> str:
    """Return one result as the page shows it, unfolded, in a frame: its style stays inside."""
    plots = Plots()
    style = Markup(_source("style.css"))
    inside = Markup(_report(record, plots, {id(record): 0}, reds()))
    part = render("part.html", style=style, inside=inside, drawings=plots.drawings)
    return f'<iframe srcdoc="{escape(part)}" style="width:100%;height:30em;border:0"></iframe>'


def _report(record: Record, plots: Plots, rows: Mapping[int, int], red: Collection[Verdict]) -> str:
    """Render a failure; `rows` are the numbers of results in the list, by `id`."""
    (count,) = totals.counted([record], red)
    evidence = [
        (comparison, plots.of(comparison.picture) if comparison.picture else [])
        for comparison in record.comparisons
        if comparison.worst or comparison.unjudged or comparison.picture
    ]
    return render(
        "failure.html", record=record, number=rows[id(record)], count=count, evidence=evidence
    )


@dataclass
class FailureGroup:
    """Failures of a backend that look alike, and the reports of those `shown` in full."""

    title: str
    places: Sequence[str]
    failures: Sequence[Record]
    shown: list[str] = field(default_factory=list)


#: Titles of groups of failures that no mistake explains, by verdict.
_TITLES = {
    Verdict.DIFFER: "backends that differ; the right answer is unknown",
    Verdict.UNEXPECTED_PASS: "right, where a ledger says that they fail",
    Verdict.UNSUPPORTED: "unsupported, which fails this run",
    Verdict.BAD_CASE: "the case itself is wrong",
}


def broken_backends(
    header: Header, records: Sequence[Record], red: Collection[Verdict]
) -> list[tuple[str, str, list[FailureGroup]]]:
    """Each backend with failures, their number in words, and groups: first those with a cause."""
    failures = _failures(records, red)
    wrong = {address: (count, causes) for address, count, causes in totals.wrong(header, failures)}
    broken = []
    for address, of_backend in totals.of_backends(header.backends, failures).items():
        count, causes = wrong.get(address, ("", []))
        groups = [FailureGroup(cause.looks, cause.places, cause.results) for cause in causes]
        counts = [count] if count else []
        explained = {id(record) for cause in causes for record in cause.results}
        others = (record for record in of_backend if id(record) not in explained)
        for verdict, alike in grouping.group_by(others, attrgetter("verdict")).items():
            places = sorted({record.op for record in alike})
            title = _TITLES.get(verdict, verdict.value)
            groups.append(FailureGroup(title, [*map(str, places)], alike))
            counts.append(f"{len(alike):,} {verdict.value}")
        broken.append((address, ", ".join(counts), groups))
    return broken


def _failures(records: Sequence[Record], red: Collection[Verdict]) -> list[Record]:
    """Return the failures, each wrong case once, though all backends meet it."""
    once: dict[Hashable, Record] = {}
    for record in records:
        if is_failure(record, red):
            is_bad = record.verdict is Verdict.BAD_CASE
            once.setdefault((record.case, record.reason) if is_bad else id(record), record)
    return [*once.values()]


def show_some(groups: Sequence[FailureGroup], report: Callable[[Record], str], room: int) -> int:
    """Show failures in `room` bytes, the first of each group first; return the number left out."""
    # One of each group, then the second of each, and so on.
    turns = zip_longest(*(group.failures for group in groups))
    for group, record in (pair for row in turns for pair in zip(groups, row, strict=True)):
        if record is not None and room > 0:
            text = report(record)
            room -= len(text.encode())
            if room > 0:
                group.shown.append(text)
    return sum(len(group.failures) - len(group.shown) for group in groups)


def results_table(
    records: Sequence[Record], red: Collection[Verdict], known: Mapping[tuple[str, Known], int]
) -> dict[str, Any]:
    """Return the data of `report.js`: `results` are rows of the columns in `columns`.

    A column whose name begins with `$` holds numbers of `texts`, 0 for "". `known` numbers the
    known defects; results without one have -1. In commands, PLACE stands for the case's id.
    """
    texts = {"": 0}
    rows = []
    for record in records:
        fields = _row(record, red, known)
        rows.append(
            [
                texts.setdefault(value, len(texts)) if column.startswith("$") else value
                for column, value in zip(_COLUMNS, fields, strict=True)
            ]
        )
    return {"columns": _COLUMNS, "texts": [*texts], "results": rows}


_COLUMNS = (
    "$case",
    "$backend",
    "$verdict",
    "$sign",
    "$tone",
    "$op",
    "$dtype",
    "$reason",
    "$asked",
    "$clause",
    "$written",
    "$repeat",
    "$alternative",
    "used",
    "ms",
    "known",
)


def _row(
    record: Record, red: Collection[Verdict], known: Mapping[tuple[str, Known], int]
) -> tuple[Any, ...]:
    """Return the values of a result in the order of `_COLUMNS`."""
    (count,) = totals.counted([record], red)
    cause = -1
    if count.name == Verdict.KNOWN and record.known:
        cause = known.get((record.backend, totals.cause_of(record.known)), -1)
    case = shown(record.case)
    # A command may contain PLACE itself.
    repeat = shown(record.repeat).replace(PLACE, "\ufffd")
    # A pass needs no explanation.
    question = "" if record.verdict is Verdict.PASS else record.question
    return (
        case,
        shown(record.backend),
        count.name,
        count.sign,
        count.tone,
        shown(str(record.op)),
        shown(record.dtype or totals.NONE),
        backend_text(record.reason, _MAX_IN_LIST),
        backend_text(question, _MAX_IN_LIST),
        backend_text(record.clause, _MAX_IN_LIST),
        shown(str(record.source)),
        repeat.replace(case, PLACE),
        backend_text(record.alternative or "", _MAX_IN_LIST),
        _in_json(record.used),
        round(record.seconds * 1e3, 2),
        cause,
    )


def _in_json(used: float | None) -> float | str | None:
    """Return a share of the allowed error in three digits; JSON has no infinity."""
    if used is None:
        return None
    if used == inf:
        return "∞"
    return f"> {_MAX_USED:,}" if used > _MAX_USED else float(f"{used:.3g}")
